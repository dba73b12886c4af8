use super::*;
use crate::model::embedding::Normalize;

fn parse(text: &str) -> Result<Experiment, ConfigError> {
    Experiment::parse("ppi", "ppi.toml", text, &[])
}

fn set(assignment: &str) -> Result<Experiment, ConfigError> {
    let assignments = [assignment.to_owned()];
    Experiment::parse("ppi", "ppi.toml", "dataset = \"demo\"", &assignments)
}

#[test]
fn an_almost_empty_config_takes_the_defaults() {
    let experiment = parse("dataset = \"demo\"").unwrap();
    assert_eq!(experiment.seed, DEFAULT_SEED);
    assert_eq!(experiment.metrics, DEFAULT_METRICS);
    let options = &experiment.embedding;
    assert_eq!((&options.walks, options.negative), (&Walks::Window(DEFAULT_WINDOW), DEFAULT_NEGATIVE));
    assert_eq!((options.svd.rank, options.svd.iterations), (DEFAULT_RANK, svd::DEFAULT_ITERATIONS));
    assert_eq!((options.svd.oversample, options.svd.tolerance), (None, None));
}

#[test]
fn every_key_is_read() {
    let text = r#"
        dataset = "demo"
        seed = 7
        [embedding]
        window = 10
        negative = 1
        normalize = "symmetric"
        degree_weighted = true
        rank = 1_00
        oversample = 0x0a
        iterations = 0
        tolerance = 2e-2
        completeness = "off"
        method = "subspace"
        [evaluate]
        metrics = ["hits@20", "auc"]
    "#;
    let experiment = parse(text).unwrap();
    let svd = svd::Options {
        rank: 100,
        keep: Keep::All,
        oversample: Some(10),
        iterations: 0,
        tolerance: Some(0.02),
        seed: 7,
        basis: None,
        completeness: Completeness::Off,
        method: svd::Method::Subspace,
        start: None,
    };
    let expected = embedding::Options {
        walks: Walks::Window(10),
        negative: 1.0,
        normalize: Normalize::Symmetric,
        degree_weighted: true,
        self_loops: false,
        svd,
    };
    assert_eq!(experiment.embedding, expected);
    assert_eq!(experiment.metrics.iter().map(Metric::to_string).collect::<Vec<_>>(), ["hits@20", "auc"]);
}

#[test]
fn edges_that_r_mat_draws_again_count_once_unless_told_otherwise() {
    let duplicates = |text: &str| parse(text).unwrap().import.duplicates;
    assert_eq!(duplicates("dataset = \"rmat-8\"\n"), Duplicates::Once);
    assert_eq!(duplicates("dataset = \"rmat-8\"\ndata.duplicates = \"add\"\n"), Duplicates::Add);
    assert_eq!(duplicates("dataset = \"demo\"\n"), Duplicates::Add);
}

#[test]
fn unknown_keys_are_refused_with_their_line_and_the_nearest_one() {
    let error = parse("dataset = \"demo\"\n\n[embedding]\nrank = 3\nwindw = 5\n").unwrap_err().to_string();
    assert_eq!(error, "ppi.toml:5: unknown key `embedding.windw`: did you mean `window`?");
    let error = parse("dataset = \"demo\"\nembedding.windw = 5\n").unwrap_err().to_string();
    assert_eq!(error, "ppi.toml:2: unknown key `embedding.windw`: did you mean `window`?");
    let error = parse("dataset = \"demo\"\n[kubernetes]\npods = 2\n").unwrap_err().to_string();
    assert_eq!(
        error,
        "ppi.toml:2: unknown key `kubernetes`: known here are `dataset`, `seed`, `seeds`, `matrix`, `data`, `embedding`, `finetune`, `update`, \
         `features`, `classifier`, `network`, `evaluate`"
    );
}

#[test]
fn the_first_fault_of_a_file_is_the_one_told() {
    let error = parse("zzz = 1\naaa = 2\n").unwrap_err().to_string();
    assert!(error.starts_with("ppi.toml:1: unknown key `zzz`"), "{error}");
}

#[test]
fn wrong_values_are_refused_with_key_line_and_what_is_accepted() {
    for (entry, message) in [
        ("embedding.rank = -3", "`embedding.rank` is -3: expected a whole number from 1 to 4294967295"),
        ("embedding.window = 1001", "`embedding.window` is 1001: expected a whole number from 1 to 1000"),
        ("embedding.rank = 0", "`embedding.rank` is 0: expected a whole number from 1"),
        ("embedding.rank = 4294967296", "`embedding.rank` is 4294967296: expected a whole number from 1"),
        ("embedding.rank = 1.5", "`embedding.rank` is 1.5: expected a whole number"),
        ("embedding.rank = \"8\"", "`embedding.rank` is \"8\": expected a whole number"),
        ("embedding.rank = { energy = 1.5 }", "`embedding.rank` is { energy = 1.5 }: expected a whole number from 1"),
        ("embedding.rank = { energy = 0, max = 9 }", "is { energy = 0, max = 9 }: expected a whole number"),
        ("embedding.rank = { tolerance = nan }", "is { tolerance = NaN }: expected a whole number"),
        ("embedding.rank = { max = 9 }", "is { max = 9 }: expected a whole number"),
        ("embedding.rank = { enrgy = 0.9 }", "is { enrgy = 0.9 }: expected a whole number"),
        ("embedding.rank = { energy = 0.9, max = 0 }", "is { energy = 0.9, max = 0 }: expected a whole number"),
        ("embedding.rank = { energy = 0.9, tolerance = 0.1 }", "{ energy = 0.9, max = 256 } or { tolerance = 0.1, max"),
        ("embedding.rank = {}", "`embedding.rank` is a table: expected a whole number"),
        ("embedding.rank = 99999999999999999999999999999999999999999999", "expected a whole number from 1"),
        ("embedding.window = 0", "`embedding.window` is 0: expected a whole number from 1"),
        ("embedding.negative = nan", "`embedding.negative` is NaN: expected a finite number, at least 0"),
        ("embedding.negative = -0.1", "`embedding.negative` is -0.1: expected a finite number, at least 0"),
        (
            "embedding.completeness = 0",
            "`embedding.completeness` is 0: expected a number above 0 and at most 10, or \"off\"",
        ),
        ("embedding.completeness = \"on\"", "expected a number above 0 and at most 10, or \"off\""),
        ("embedding.completeness = 1e300", "expected a number above 0 and at most 10, or \"off\""),
        ("embedding.completeness = 10.5", "`embedding.completeness` is 10.5: expected a number above 0 and at most 10"),
        ("embedding.tolerance = 0", "`embedding.tolerance` is 0: expected a finite number above 0"),
        ("embedding.tolerance = -1e-3", "`embedding.tolerance` is -0.001: expected a finite number above 0"),
        ("embedding.tolerance = inf", "`embedding.tolerance` is inf: expected a finite number above 0"),
        ("embedding.tolerance = 1e999", "expected a finite number above 0"),
        ("features.tolerance = 0", "`features.tolerance` is 0: expected a finite number above 0"),
        ("embedding.normalize = \"rows\"", "is \"rows\": expected \"row\" or \"symmetric\""),
        ("embedding.degree_weighted = 1", "is 1: expected true or false"),
        ("embedding.method = \"lanczos\"", "is \"lanczos\": expected \"subspace\", \"krylov\""),
        ("embedding.basis = 0", "`embedding.basis` is 0: expected a whole number from 1"),
        ("embedding.method = 1979-05-27", "is a date or time: expected"),
        ("embedding = 3", "`embedding` is 3: expected a table of settings"),
        ("seed = -1", "`seed` is -1: expected a whole number from 0"),
        ("evaluate.metrics = []", "`evaluate.metrics` is []: expected a list of one or more metrics"),
        ("evaluate.metrics = \"auc\"", "`evaluate.metrics` is \"auc\": expected a list"),
        ("evaluate.metrics = [\"auc\", \"hits@0\"]", "is [\"auc\", \"hits@0\"]: expected a list"),
    ] {
        let error = parse(&format!("dataset = \"demo\"\n{entry}\n")).expect_err(entry).to_string();
        assert!(error.starts_with("ppi.toml:2: ") && error.contains(message), "{entry}: {error}");
    }
}

/// Catches a tolerance that is accepted and has no effect, and one that does not arrive.
#[test]
fn principal_components_have_a_tolerance() {
    let error = parse("dataset = \"cora\"\n[features]\ntolerance = 0.1\n").unwrap_err().to_string();
    assert_start(&error, "ppi.toml: `features.components` and `features.tolerance` do not go together: ");
    let of = |text: &str| {
        let text = format!("dataset = \"cora\"\n[features]\ncomponents = 5\n{text}\n");
        parse(&text).unwrap().nodes.unwrap().components.unwrap().tolerance
    };
    assert_eq!((of(""), of("tolerance = 0.1")), (Some(1e-3), Some(0.1)));
}

#[track_caller]
fn assert_start(text: &str, start: &str) {
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn the_dataset_must_be_a_known_one() {
    let error = parse("seed = 1\ndataset = \"pip\"").unwrap_err().to_string();
    assert_start(&error, "ppi.toml:2: `dataset` is \"pip\": expected a known dataset: \"demo\", \"ppi\"");
    let error = parse("seed = 1").unwrap_err().to_string();
    assert_start(&error, "ppi.toml: `dataset` is missing: expected a known dataset: \"demo\"");
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    let error = parse("dataset = \"demo\"\nseed = = 3\n").unwrap_err().to_string();
    assert!(error.starts_with("ppi.toml:2: this is not valid TOML: "), "{error}");
    let error = parse("seed = 1\nseed = 2\n").unwrap_err().to_string();
    assert!(error.starts_with("ppi.toml:2: this is not valid TOML: "), "{error}");
}

#[test]
fn set_overrides_entries() {
    assert_eq!(set("embedding.rank=64").unwrap().embedding.svd.rank, 64);
    assert_eq!(set(" embedding.rank = 64 ").unwrap().embedding.svd.rank, 64);
    for (assignment, keep, rank) in [
        ("embedding.rank={energy=0.9,max=64}", Keep::Energy(0.9), 64),
        ("embedding.rank={ energy = 1 }", Keep::Energy(1.0), DEFAULT_MOST_RANK),
        ("embedding.rank={tolerance=0.1}", Keep::Above(0.1), DEFAULT_MOST_RANK),
    ] {
        let svd = set(assignment).unwrap().embedding.svd;
        assert_eq!((svd.keep, svd.rank), (keep, rank), "{assignment}");
    }
    assert_eq!(set("embedding.normalize=symmetric").unwrap().embedding.normalize, Normalize::Symmetric);
    assert_eq!(set("embedding.normalize=\"symmetric\"").unwrap().embedding.normalize, Normalize::Symmetric);
    assert_eq!(set("embedding={rank = 3, window = 2}").unwrap().embedding.walks, Walks::Window(2));
    assert_eq!(set("evaluate.metrics=[\"ap\"]").unwrap().metrics, [Metric::AveragePrecision]);
    let twice = ["seed=3".to_owned(), "seed=4".to_owned()];
    assert_eq!(Experiment::load("demo".as_ref(), &twice).unwrap().seed, 4);
}

#[test]
fn an_override_is_refused_in_the_words_of_a_file() {
    for (assignment, message) in [
        ("embedding.windw=5", "embedding.windw=5: unknown key `embedding.windw`: did you mean `window`?"),
        ("embeding.window=5", "unknown key `embeding.window`: did you mean `embedding.window`?"),
        ("embedding.rank=many", "embedding.rank=many: `embedding.rank` is \"many\": expected a whole number"),
        ("embedding.rank=", "embedding.rank=: `embedding.rank` is \"\": expected a whole number"),
        ("embedding.rank", "embedding.rank: expected key=value"),
        ("=5", "=5: expected key=value"),
        ("embedding..rank=5", "embedding..rank=5: expected key=value"),
        ("embedding=5", "`embedding` is 5: expected a table of settings"),
    ] {
        let error = set(assignment).expect_err(assignment).to_string();
        assert!(error.contains(message), "{assignment}: {error}");
    }
}

#[test]
fn the_seed_reaches_the_svd() {
    let experiment = parse("dataset = \"demo\"\nseed = 5").unwrap();
    assert_eq!(experiment.embedding.svd.seed, 5);
    let experiment = experiment.with_seed(6);
    assert_eq!((experiment.seed, experiment.embedding.svd.seed), (6, 6));
}

#[test]
fn every_shipped_config_is_valid() {
    for config in shipped::SHIPPED {
        let experiment = Experiment::load(config.name.as_ref(), &[]).unwrap();
        assert_eq!(experiment.name, config.name);
    }
}

#[test]
fn stages_are_asked_for_by_their_tables() {
    let plain = parse("dataset = \"demo\"\n").unwrap();
    assert!(plain.finetune.is_none() && plain.update.is_none() && plain.rank_search.is_none());
    let text = "dataset = \"demo\"\nseed = 7\n[embedding]\nrank = \"best\"\nranks = [2, 4]\nwalk_weights = [1, 0.5]\n\
                [finetune]\nlearning_rate = 0.1\n[update]\nedges = \"valid\"\nwarm_start = false\n";
    let all = parse(text).unwrap();
    assert_eq!(all.embedding.walks, Walks::Weights(vec![1.0, 0.5]));
    assert_eq!(all.rank_search.map(|search| search.candidates), Some(vec![2, 4]));
    let finetune = all.finetune.unwrap();
    assert_eq!((finetune.learning_rate, finetune.batch, finetune.seed), (0.1, DEFAULT_BATCH, 7));
    assert_eq!(all.update, Some(Update { warm_start: false, iterations: None }));
}
