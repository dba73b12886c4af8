//! The map: nodes in the plane, coloured by group.

use std::fmt::Write as _;

use super::legend;
use super::text::{cut, escape};
use crate::report::details::NodeMap;
use crate::report::table::thousands;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 560.0;
const MARGIN: f64 = 14.0;
/// Colours there are.
const COLOURS: usize = 10;
/// Groups that can be told apart: by colour, filled or not.
const GROUPS: usize = 2 * COLOURS;
/// The colour of what is left.
const REST: usize = 10;
/// Names written onto the map at most.
const LABELS: usize = 14;

/// A group as it is drawn.
struct Drawn<'a> {
    name: String,
    colour: usize,
    mark: &'static str,
    points: Vec<usize>,
    map: &'a NodeMap,
}

/// The map with its legend; a small one has fewer points and no names on it.
pub(super) fn scatter(map: &NodeMap, is_small: bool) -> String {
    let mut svg = format!(
        "<svg class=\"chart map hover\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"A map of {} nodes\">\n",
        thousands(map.ids.len())
    );
    let groups = groups(map);
    let (every, radius) = if is_small { (map.ids.len().div_ceil(800).max(1), 4.2) } else { (1, 2.9) };
    for group in &groups {
        // Writing to a String cannot fail.
        let _ = writeln!(svg, "<g class=\"{} c{}\">", group.mark, group.colour);
        for &point in group.points.iter().filter(|&&point| point % every == 0) {
            let (x, y) = place(map, point);
            let group = map.groups.get(map.group[point] as usize).map_or("", String::as_str);
            let _ = write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{}\n{}</title></circle>",
                escape(&map.ids[point]),
                escape(group)
            );
        }
        svg.push_str("\n</g>\n");
    }
    if !is_small {
        names(&mut svg, &groups);
    }
    svg.push_str("</svg>");
    let entry = |group: &Drawn| {
        let name = format!("{} ({})", cut(&group.name, 40), thousands(group.points.len()));
        (group.colour, if group.mark == "rings" { "ring" } else { "dot" }, name)
    };
    if !is_small {
        svg.push_str(&legend(&groups.iter().map(entry).collect::<Vec<_>>()));
    }
    svg
}

fn place(map: &NodeMap, point: usize) -> (f64, f64) {
    let scale = |share: f32, length: f64| MARGIN + f64::from((share + 1.0) / 2.0) * (length - 2.0 * MARGIN);
    (scale(map.x[point], WIDTH), scale(-map.y[point], HEIGHT))
}

/// The groups that are there, the largest first to get a look of their own; all others look alike.
fn groups(map: &NodeMap) -> Vec<Drawn<'_>> {
    let mut members = vec![Vec::new(); map.groups.len()];
    map.group.iter().enumerate().for_each(|(point, &group)| members[group as usize].push(point));
    let mut order: Vec<usize> = (0..members.len()).filter(|&group| !members[group].is_empty()).collect();
    order.sort_by_key(|&group| std::cmp::Reverse(members[group].len()));
    let mut drawn: Vec<Drawn> = Vec::new();
    let kept = if order.len() <= GROUPS { order.len() } else { GROUPS - 1 };
    for (place, &group) in order[..kept].iter().enumerate() {
        let is_rest = map.groups[group] == "no label";
        let mark = if place < COLOURS || is_rest { "dots" } else { "rings" };
        let colour = if is_rest { REST } else { place % COLOURS };
        let points = std::mem::take(&mut members[group]);
        drawn.push(Drawn { name: map.groups[group].clone(), colour, mark, points, map });
    }
    let rest: Vec<usize> = order[kept..].iter().flat_map(|&group| std::mem::take(&mut members[group])).collect();
    if !rest.is_empty() {
        let name = format!("{} smaller groups", order.len() - kept);
        drawn.push(Drawn { name, colour: REST, mark: "dots", points: rest, map });
    }
    drawn
}

/// Writes names just above the middle of their groups, where they do not cover each other.
fn names(svg: &mut String, groups: &[Drawn]) {
    let mut taken: Vec<[f64; 4]> = Vec::new();
    for group in groups.iter().filter(|group| group.colour != REST).take(LABELS) {
        let name = cut(&group.name, 24);
        let half = 4.8 * name.chars().count() as f64;
        let (x, y) = middle(group);
        let (x, y) = (x.clamp(half + 2.0, WIDTH - half - 2.0), (y - 12.0).clamp(14.0, HEIGHT - 6.0));
        let own = [x - half, y - 14.0, x + half, y + 5.0];
        let meets = |other: &[f64; 4]| own[0] < other[2] && other[0] < own[2] && own[1] < other[3] && other[1] < own[3];
        if taken.iter().any(meets) {
            continue;
        }
        taken.push(own);
        // Writing to a String cannot fail.
        let _ = writeln!(svg, "<text class=\"place mid\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(&name));
    }
}

/// The place of the point that is nearest to all others of its group, as far as a hundred of them
/// tell.
fn middle(group: &Drawn) -> (f64, f64) {
    let every = group.points.len().div_ceil(100).max(1);
    let places: Vec<(f64, f64)> = group.points.iter().step_by(every).map(|&point| place(group.map, point)).collect();
    let sum = |from: &(f64, f64)| places.iter().map(|to| (to.0 - from.0).hypot(to.1 - from.1)).sum::<f64>();
    let nearer = |one: &&(f64, f64), other: &&(f64, f64)| sum(one).total_cmp(&sum(other));
    places.iter().min_by(nearer).copied().unwrap_or((WIDTH / 2.0, HEIGHT / 2.0))
}
