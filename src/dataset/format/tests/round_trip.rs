//! What is written is what is read.

use super::*;
use proptest::prelude::*;

/// How a line is written.
#[derive(Debug, Clone)]
struct Line {
    from: u64,
    to: u64,
    weight: i16,
    separator: usize,
    noise: u8,
}

const SEPARATORS: [&str; 7] = [" ", "\t", ",", ";", ", ", "  ", " \t "];

fn id() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..50, 1 => any::<u64>(), 1 => 0u64..5_000_000]
}

fn line() -> impl Strategy<Value = Line> {
    (id(), id(), any::<i16>(), 0..SEPARATORS.len(), any::<u8>()).prop_map(|(from, to, weight, separator, noise)| Line {
        from,
        to,
        weight,
        separator,
        noise,
    })
}

fn text(lines: &[Line], weighted: bool, crlf: bool, last: bool, name: impl Fn(u64) -> String) -> String {
    let end = if crlf { "\r\n" } else { "\n" };
    let mut text = String::new();
    for line in lines {
        match line.noise % 16 {
            0 => text += &format!("# a comment, {} of it{end}", line.noise),
            1 => text += &format!("%{end}"),
            2 => text += &format!("  {end}"),
            3 => text += "\t ",
            _ => {}
        }
        let separator = SEPARATORS[line.separator];
        text += &format!("{}{separator}{}", name(line.from), name(line.to));
        if weighted {
            text += &format!("{separator}{}", f32::from(line.weight) / 8.0);
        }
        text += if line.noise % 16 == 4 { " " } else { "" };
        text += end;
    }
    if !last {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text
}

/// The obvious way: numbers sorted, names as they come.
fn expected(lines: &[Line], names: bool) -> (Vec<u64>, Vec<(u32, u32)>) {
    let mut order: Vec<u64> = vec![];
    for id in lines.iter().flat_map(|line| [line.from, line.to]) {
        if !order.contains(&id) {
            order.push(id);
        }
    }
    if !names {
        order.sort_unstable();
    }
    let row = |id| order.iter().position(|&other| other == id).unwrap() as u32;
    (order.clone(), lines.iter().map(|line| (row(line.from), row(line.to))).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn texts(
        lines in prop::collection::vec(line(), 1..80),
        (names, weighted, crlf, last, packed, header) in any::<(bool, bool, bool, bool, bool, bool)>(),
        threads in 1usize..5,
    ) {
        let name = |id: u64| if names { format!("n{id}") } else { id.to_string() };
        let mut content = text(&lines, weighted, crlf, last, name);
        if header {
            content = format!("from,to{}\n{content}", if weighted { ",weight" } else { "" });
        }
        let bytes = if packed { gzip(content.as_bytes()) } else { content.into_bytes() };
        // Names cannot tell a header from an edge; a single line cannot either.
        let options = EdgeOptions {
            signed: true,
            threads: Some(threads),
            header: Some(header).filter(|_| names || lines.len() < 2),
            ..EdgeOptions::default()
        };
        let read = read("some.txt", &bytes, &options).unwrap();
        let (order, edges) = expected(&lines, names);
        prop_assert_eq!(&read.edges.edges, &edges);
        prop_assert_eq!(read.edges.nodes, order.len());
        prop_assert_eq!(read.header, header);
        prop_assert_eq!(read.ids.iter().map(|id| id.into_owned()).collect::<Vec<_>>(), order.iter().map(|&id| name(id)).collect::<Vec<_>>());
        prop_assert!(order.iter().enumerate().all(|(row, &id)| read.ids.row(&name(id)) == Some(row)));
        let weights: Vec<f32> = lines.iter().map(|line| f32::from(line.weight) / 8.0).collect();
        let kept = weighted && weights.iter().any(|&weight| weight != 1.0);
        prop_assert_eq!(read.edges.weights, kept.then_some(weights));
    }

    /// Blocks are small in tests, so some hundred lines are many of them.
    #[test]
    fn threads_do_not_matter(seed: u64, count in 100usize..2000, wide: bool) {
        let draw = |n: u64| crate::kernel::random::bits(seed, 1, n, 0) >> if wide { 0 } else { 50 };
        let content: String = (0..count as u64).map(|n| format!("{} {}\n", draw(2 * n), draw(2 * n + 1))).collect();
        let written = write("some.txt", content);
        let by = |threads| read_edges(&written.path, &EdgeOptions { threads: Some(threads), ..EdgeOptions::default() }).unwrap();
        let one = by(1);
        prop_assert!(one == by(2) && one == by(5));
        prop_assert_eq!(one.edges.edges.len(), count);
    }
}

#[test]
fn ids_may_be_names_with_blanks() {
    let read = read("cities.csv", "New York, Rio\nRio,Ulan Bator\n", &EdgeOptions::default()).unwrap();
    assert_eq!(read.ids.iter().collect::<Vec<_>>(), ["New York", "Rio", "Ulan Bator"]);
    assert_eq!(read.edges.edges, [(0, 1), (1, 2)]);
}

#[test]
fn columns_may_be_ignored() {
    let text = "1 2 5 1999\n2 3 7 2001\n";
    let with = |weights| read("e.txt", text, &EdgeOptions { weights, ..EdgeOptions::default() }).unwrap().edges;
    assert_eq!(with(Weights::Ignore).weights, None);
    assert_eq!(with(Weights::Third).weights, Some(vec![5.0, 7.0]));
}

#[test]
fn rows_keep_nodes_without_edges() {
    let options = EdgeOptions { ids: IdKind::Rows, directed: Some(true), ..EdgeOptions::default() };
    let read = read("e.txt", "0 5\n2 2\n", &options).unwrap();
    assert_eq!((read.edges.nodes, read.edges.edges, read.edges.directed), (6, vec![(0, 5), (2, 2)], true));
}

#[test]
fn a_mark_before_the_text_is_no_part_of_it() {
    let read = read("e.csv", b"\xef\xbb\xbf1,2\r\n2,3\r\n", &EdgeOptions::default()).unwrap();
    assert_eq!(read.edges.edges, [(0, 1), (1, 2)]);
    assert_eq!(read.ids, crate::dataset::Ids::counted(1, 3));
}
