use super::*;
use crate::experiment::details::{Confusion, Degrees, SplitCurves, StageDetails};
use crate::experiment::metrics::{self, EMBEDDING, KernelFigures, NetworkFigures, Stage, WorkerFigures};
use crate::report::details::{Details, NodeMap};
use crate::report::shown::Shown;
use crate::svd::ConvergenceCheck;

/// A name that would break a page that does not escape it.
const HOSTILE: &str = "<script>alert('x')</script> & \"y\"\u{1}";

/// A run that has everything there is to show, whose names are hostile.
fn full() -> Shown {
    let mut metrics = metrics::example();
    (metrics.config, metrics.dataset) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    let epoch = |epoch| crate::finetune::network::EpochFigures {
        epoch,
        loss: 1.0 / epoch as f64,
        valid_accuracy: Some(0.5),
        seconds: 0.1,
    };
    metrics.stages[0].ranks_tried = Some([(8, 0.5), (16, 0.75)].into());
    metrics.stages.push(Stage {
        kernel: Some(KernelFigures { mean: 1.0, sharpness: 2.0, loss: 0.5 }),
        network: Some(NetworkFigures {
            parameters: 12,
            kept_epoch: 2,
            start_accuracy: Some(0.25),
            epochs: (1..4).map(epoch).collect(),
        }),
        peak_memory_bytes: Some(1 << 24),
        ..Stage::new("finetune", 0.5)
    });
    metrics.time_by_worker = (0..2)
        .map(|worker| WorkerFigures {
            worker,
            computing: 1.0,
            waiting: 0.5,
            waiting_for: [(1 - worker, 0.5)].into(),
            sent_bytes: Some(12),
        })
        .collect();
    let first = StageDetails {
        singular_values: vec![9.0, 3.0, 1.0],
        relative_residuals: vec![1e-7, 1e-3, 0.0],
        convergence: vec![ConvergenceCheck { iterations: 1, operator_columns: 50, worst_residual: 0.5 }],
        curves: Some(SplitCurves {
            split: HOSTILE.to_owned(),
            curves: crate::evaluate::curves(&[3.0, 1.0], &[2.0, 0.0], 300).unwrap(),
        }),
        confusion: Confusion::new("test", vec![vec![3, 1], vec![0, 4]]),
        losses: vec![3.0, 2.0, 1.0],
    };
    let map = NodeMap {
        of: "embedding".to_owned(),
        nodes: 3,
        colour: "label".to_owned(),
        groups: vec![HOSTILE.to_owned(), "b".to_owned()],
        ids: vec![HOSTILE.to_owned(), "n1".to_owned()],
        x: vec![-1.0, 1.0],
        y: vec![0.0, 0.5],
        group: vec![0, 1],
    };
    let details = Details {
        command: format!("isvd-dist {HOSTILE}"),
        written: "now".to_owned(),
        classes: vec![HOSTILE.to_owned(), "b".to_owned()],
        stages: vec![first, StageDetails::default()],
        degrees: Some(Degrees::of(&[0.0, 1.0, 2.0, 40.0], 1)),
        map: Some(map),
        plan: Some(HOSTILE.to_owned()),
        ..Details::default()
    };
    Shown { name: HOSTILE.to_owned(), metrics, details }
}

/// Panics unless every element is closed in its turn; says how many there are of each.
fn elements(page: &str) -> std::collections::BTreeMap<String, usize> {
    let mut open: Vec<&str> = Vec::new();
    let mut counts = std::collections::BTreeMap::new();
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    for tag in body.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{tag}"),
            None => {
                *counts.entry(name.to_owned()).or_default() += 1;
                if !tag.ends_with('/') {
                    open.push(name);
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    counts
}

#[test]
fn a_report_has_every_chart_and_nothing_of_it_is_taken_for_markup() {
    let page = report(&full());
    let counts = elements(&page);
    // The map, three of the decomposition, ROC, precision, ranks, kernel, two of the network,
    // degrees, three of the cost.
    assert_eq!(counts["svg"], 14);
    assert_eq!(counts["section"], 9);
    assert!(!counts.contains_key("script"));
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;\u{fffd}"));
    for word in ["http://", "https://", "url(", "@import", "src="] {
        let found = page.replace("http://www.w3.org/2000/svg", "").contains(word);
        assert!(!found, "{word}: a page that loads nothing");
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn a_run_of_which_little_is_known_has_a_report_too() {
    let mut run = full();
    run.details = Details { stages: vec![StageDetails::default(); 2], ..Details::default() };
    run.metrics.stages.iter_mut().for_each(|stage| *stage = Stage::new(EMBEDDING, 0.0));
    let counts = elements(&report(&run));
    assert_eq!(counts["svg"], 2, "times by stage and by worker");
    run.metrics.stages.clear();
    run.details.stages.clear();
    elements(&report(&run));
}

#[test]
fn runs_are_compared_side_by_side() {
    let mut other = full();
    other.name = "other".to_owned();
    other.metrics.stages[0].test = None;
    let page = compare(&[full(), other]);
    let counts = elements(&page);
    // Spectra, residuals, convergence, worst residual, times, memory of neither, two maps.
    assert_eq!(counts["svg"], 7);
    assert!(
        page.contains("<td class=\"best\">0.8750 <small>0.7500</small></td><td>– <small>0.7500</small></td>"),
        "{page}"
    );
    elements(&compare(&[]));
}
