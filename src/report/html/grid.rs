//! A table of counts whose shades show where they are large.

use std::fmt::Write as _;

use super::text::{cut, escape};
use crate::report::table::thousands;

/// The most classes beside each other.
const MOST: usize = 40;

/// Counts of nodes by class (rows) and by the class they were put in (columns). Of many classes the
/// largest are shown.
pub(super) fn confusion(classes: &[String], counts: &[Vec<u64>]) -> String {
    let sizes: Vec<u64> = counts.iter().map(|row| row.iter().sum()).collect();
    let mut shown: Vec<usize> = (0..counts.len()).collect();
    if shown.len() > MOST {
        shown.sort_by_key(|&class| std::cmp::Reverse(sizes[class]));
        shown.truncate(MOST);
        shown.sort_unstable();
    }
    let name = |class: usize| classes.get(class).map_or_else(|| format!("class {class}"), Clone::clone);
    let mut html = String::from("<div class=\"wide\"><table class=\"confusion\">\n<thead><tr><th></th>");
    // Writing to a String cannot fail.
    for &class in &shown {
        let _ = write!(html, "<th scope=\"col\"><span>{}</span></th>", escape(&cut(&name(class), 22)));
    }
    html.push_str("<th>right</th></tr></thead>\n<tbody>\n");
    for &class in &shown {
        let of = sizes[class].max(1) as f64;
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(&cut(&name(class), 26)));
        for &found in &shown {
            let count = counts[class].get(found).copied().unwrap_or(0);
            let share = count as f64 / of;
            let kind = match (class == found, share > 0.45) {
                (true, true) => " class=\"own dark\"",
                (true, false) => " class=\"own\"",
                (false, true) => " class=\"dark\"",
                (false, false) => "",
            };
            let tone = if class == found { "0,114,178" } else { "213,94,0" };
            let style = match count {
                0 => String::new(),
                _ => format!(" style=\"background:rgba({tone},{:.2})\"", 0.08 + 0.87 * share),
            };
            let text = if count == 0 { String::new() } else { thousands(count) };
            let _ = write!(
                html,
                "<td{kind}{style} title=\"{} nodes of {} put in {}\">{text}</td>",
                thousands(count),
                escape(&name(class)),
                escape(&name(found)),
            );
        }
        let own = counts[class].get(class).copied().unwrap_or(0);
        let _ = writeln!(html, "<td class=\"share\">{:.0}%</td></tr>", 100.0 * own as f64 / of);
    }
    html.push_str("</tbody>\n</table></div>");
    if shown.len() < counts.len() {
        let _ = write!(html, "<p class=\"note\">The {MOST} largest of {} classes.</p>", counts.len());
    }
    html
}
