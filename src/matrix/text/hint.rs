//! Hints: what to write instead.

use super::error::{Found, Problem};

/// The hint for a problem, if there is one.
pub(super) fn hint(problem: &Problem) -> Option<String> {
    let fixed = |text: &str| Some(text.to_owned());
    match problem {
        Problem::Empty => fixed("state one, such as `walk(T, 5) - 0.02 * (J - A)`"),
        Problem::TooLong { .. } => fixed("state long matrices in Rust, with the operators of `Matrix`"),
        Problem::TooDeep => fixed("put a long sum or product in parentheses, half by half: `(a + b) + (c + d)`"),
        Problem::TooManyProducts { .. } => fixed("take lower powers: `(a^m)^n` takes m·n products"),
        Problem::Character { character } => of_character(*character).map(str::to_owned),
        Problem::Unexpected { found: Found::Sign(sign), .. } if sign == "+" => fixed("leave the `+` out"),
        Problem::Unexpected { found: Found::Sign(sign), .. } if sign == "*" => fixed("a power is `A^2`"),
        Problem::Unexpected { found: Found::Name(name), expected } if expected.contains("operator") => {
            Some(format!("the product with `{name}` is `@ {name}`, or `* {name}` after a number"))
        }
        Problem::NeverClosed { closing, .. } => Some(format!("add `{closing}`")),
        Problem::NeverOpened { .. } => fixed("leave it out"),
        Problem::Trailing { found: Found::Sign(sign) } if sign == "," || sign == ";" => {
            fixed("matrices side by side are `[a, b]`, one above the other `[a; b]`")
        }
        Problem::Trailing { .. } => fixed("the product of two matrices is `a @ b`, a multiple of one is `2 * a`"),
        Problem::MixedBrackets => fixed("one bracket for each: `[[a, b]; c]`"),
        Problem::PowerOfPower => fixed("put what is meant first in parentheses: `(a^2)^3`"),
        Problem::UnknownName { nearest, known, .. } => Some(of_names(nearest.as_deref(), known)),
        Problem::UnknownFunction { nearest, known, .. } => Some(of_names(*nearest, known)),
        Problem::FunctionAlone { usage, .. } | Problem::WrongCount { usage, .. } => Some(format!("write `{usage}`")),
        Problem::WrongKind { found, needed } => of_kinds(found, needed).map(str::to_owned),
        Problem::StarOfMatrices => fixed("use `@` for the product of matrices"),
        Problem::ProductWithNumber => fixed("use `*` for a multiple of a matrix"),
        Problem::NumberPlusMatrix => fixed("a number at every entry is `2 * J`, one on the diagonal `2 * I`"),
        _ => None,
    }
}

fn of_character(character: char) -> Option<&'static str> {
    match character {
        '·' | '×' | '⋅' | '∙' => Some("use `*` for a multiple and `@` for the product of matrices"),
        '−' | '–' | '—' => Some("use the plain minus, `-`"),
        'ᵀ' | '\'' | '′' => Some("the transpose of `A` is `A.T`"),
        '.' => Some("the transpose of `A` is `A.T`; a number has digits after its point"),
        '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' => Some("the square of `A` is `A^2`"),
        'Â' => Some("write `Ahat`"),
        '{' | '}' => Some("use `(` and `)` to group, `[` and `]` to put matrices together"),
        '"' => Some("names need no quotes"),
        '=' => Some("one expression, without a name of its own"),
        _ => None,
    }
}

fn of_kinds(found: &str, needed: &str) -> Option<&'static str> {
    match (found, needed) {
        ("a number", "a matrix") => Some("a number at every entry is `2 * J`, one on the diagonal `2 * I`"),
        ("a vector", "a matrix") => Some("the diagonal matrix of a vector is `diag(degree)`"),
        ("an index set", "a matrix") => Some("the rows of a matrix in a set are `rows(M, train)`"),
        (_, "an index set") => Some("a set is a name such as `train`, or a list such as `[0, 2, 5]`"),
        ("a matrix", "a vector") => Some("a vector is a name such as `degree`, or `sqrt` or `inv` of one"),
        _ => None,
    }
}

fn of_names(nearest: Option<&str>, known: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = known.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    let known = match quoted.is_empty() {
        true => "nothing is known here".to_owned(),
        false => format!("known are {}", quoted.join(", ")),
    };
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`? {known}"),
        None => known,
    }
}

/// The most similar of some names, if one is so similar that it can be meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let distance = |name: &str| match name.eq_ignore_ascii_case(word) {
        true => 0,
        false => strsim::damerau_levenshtein(word, name),
    };
    // One letter differs from every other letter by one: that says nothing.
    let can_be_meant = |found: usize, name: &str| found == 0 || (found <= limit && word.len().max(name.len()) > 1);
    known
        .map(|name| (distance(name), name))
        .filter(|&(distance, name)| can_be_meant(distance, name))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}
