//! A report as one HTML page that needs nothing else: charts are SVG, made here, and readable
//! without scripts; a small script only shows what the pointer is over.

mod chart;
mod compare;
mod cost;
mod degrees;
mod grid;
mod quality;
mod run;
mod scatter;
mod spectra;
mod text;
mod training;

pub use compare::compare;
pub use run::report;

use text::escape;

/// How the page looks, light and dark, on paper and on a phone.
const STYLE: &str = include_str!("style.css");
/// Shows the title of what the pointer is nearest to.
const SCRIPT: &str = include_str!("hover.js");

/// A page with a title, a line below it, and its sections.
fn page(title: &str, lead: &str, sections: &[String]) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n</header>\n<main>\n{}\n</main>\n\
         <footer>Written by isvd-dist. This page loads nothing from anywhere.</footer>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        sections.join("\n"),
        title = escape(title),
        lead = escape(lead),
    )
}

/// A part of a page; nothing where there is nothing to show.
fn section(id: &str, title: &str, about: &str, content: &[String]) -> Option<String> {
    let content: Vec<&str> = content.iter().map(String::as_str).filter(|content| !content.is_empty()).collect();
    (!content.is_empty()).then(|| {
        let about = if about.is_empty() { String::new() } else { format!("<p>{}</p>\n", escape(about)) };
        format!(
            "<section id=\"{id}\">\n<h2>{}</h2>\n{about}<div class=\"cards\">\n{}\n</div>\n</section>",
            escape(title),
            content.join("\n")
        )
    })
}

/// A chart with its caption.
fn figure(kind: &str, caption: &str, chart: &str) -> String {
    format!("<figure class=\"{kind}\">\n<figcaption>{}</figcaption>\n{chart}\n</figure>", escape(caption))
}

/// What the colours of a chart stand for: the number of the colour, the style of the mark, and a
/// name.
fn legend(entries: &[(usize, &str, String)]) -> String {
    let entry = |(colour, mark, name): &(usize, &str, String)| {
        format!("<li><i class=\"key {mark} c{colour}\"></i>{}</li>", escape(name))
    };
    format!("<ul class=\"legend\">{}</ul>", entries.iter().map(entry).collect::<String>())
}

/// A table with a head.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let cells = |kind: &str, row: &[String]| -> String {
        row.iter().map(|cell| format!("<{kind}>{}</{kind}>", escape(cell))).collect()
    };
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let rows: String = rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>",
        cells("th", &head)
    )
}

#[cfg(test)]
mod tests;
