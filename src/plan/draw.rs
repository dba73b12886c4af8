//! A program as a drawing, for Graphviz or Mermaid.

use std::fmt::Write as _;

use super::program::{Program, Value};

/// In which language a drawing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Drawing {
    /// Graphviz.
    Dot,
    /// Mermaid.
    Mermaid,
}

impl Program {
    /// The steps and what they read; a thick line is a panel of which all rows are gathered first. Names of nodes start
    /// with `prefix`, so that several programs can share a drawing.
    pub fn draw(&self, drawing: Drawing, prefix: &str) -> String {
        let mut text = String::new();
        let name = |value: Value| format!("{prefix}{}", value.0);
        let mut node = |value: Value, label: &str| {
            // Writing to a String cannot fail.
            let _ = match drawing {
                Drawing::Dot => writeln!(text, "    {} [label={:?}];", name(value), label),
                Drawing::Mermaid => writeln!(text, "    {}[\"{}\"]", name(value), escaped(label)),
            };
        };
        node(Value::INPUT, "G");
        for (position, step) in self.steps().iter().enumerate() {
            node(Value(position + 1), &format!("{} = {step}", Value(position + 1)));
        }
        for (position, step) in self.steps().iter().enumerate() {
            let gathered = step.action.gathered();
            for input in step.action.inputs() {
                let (from, to) = (name(input), name(Value(position + 1)));
                let _ = match (drawing, gathered.contains(&input)) {
                    (Drawing::Dot, true) => writeln!(text, "    {from} -> {to} [penwidth=3];"),
                    (Drawing::Dot, false) => writeln!(text, "    {from} -> {to};"),
                    (Drawing::Mermaid, true) => writeln!(text, "    {from} ==> {to}"),
                    (Drawing::Mermaid, false) => writeln!(text, "    {from} --> {to}"),
                };
            }
        }
        text
    }
}

impl Drawing {
    /// A drawing of several programs, each in a frame with its title.
    pub fn of<'a>(self, programs: impl IntoIterator<Item = (&'a str, &'a Program)>) -> String {
        let mut text = match self {
            Drawing::Dot => "digraph plan {\n  node [shape=box];\n".to_owned(),
            Drawing::Mermaid => "flowchart TD\n".to_owned(),
        };
        for (number, (title, program)) in programs.into_iter().enumerate() {
            let inner = program.draw(self, &format!("p{number}v"));
            let _ = match self {
                Drawing::Dot => write!(text, "  subgraph cluster_{number} {{\n    label={title:?};\n{inner}  }}\n"),
                Drawing::Mermaid => write!(text, "  subgraph p{number}[\"{}\"]\n{inner}  end\n", escaped(title)),
            };
        }
        text.push_str(if self == Drawing::Dot { "}\n" } else { "" });
        text
    }
}

/// Quotes end a label.
fn escaped(label: &str) -> String {
    label.replace('"', "#quot;")
}
