//! Errors of texts, with their position and a remedy.

use isvd_dist::matrix::text::{Formula, MOST_BYTES, MOST_DEPTH, Problem};
use proptest::prelude::*;

use super::world::World;

/// The complete message for a text of one line: the error, the carets below the text, and the help
/// if there is one.
#[track_caller]
fn assert_refused(text: &str, message: &str, carets: &str, help: Option<&str>) {
    let error = World::small().read(text).expect_err(text);
    let help = help.map_or_else(String::new, |help| format!("\n  = help: {help}"));
    assert_eq!(error.to_string(), format!("{message}\n  |\n  | {text}\n  | {carets}{help}"));
}

#[test]
fn texts_that_cannot_be_read() {
    let example = "state one, such as `walk(T, 5) - 0.02 * (J - A)`";
    assert_refused("", "the text is empty: it states no matrix", "^", Some(example));
    assert_refused("  ", "the text is empty: it states no matrix", "^", Some(example));
    assert_refused("A + (B @ C", "this `(` is never closed", "    ^", Some("add `)`"));
    assert_refused("[A, B", "this `[` is never closed", "^", Some("add `]`"));
    assert_refused("rows(A, s", "this `(` is never closed", "    ^", Some("add `)`"));
    assert_refused("A + B)", "this `)` closes nothing", "     ^", Some("leave it out"));
    assert_refused("(A]", "`]` stands where an operator or `)` is expected", "  ^", None);
    assert_refused("A +", "the text ends where a matrix is expected", "   ^", None);
    assert_refused("A + )", "`)` stands where a matrix is expected", "    ^", None);
    assert_refused("+ A", "`+` stands where a matrix is expected", "^", Some("leave the `+` out"));
    assert_refused("A ** 2", "`*` stands where a matrix is expected", "   ^", Some("a power is `A^2`"));
    let product = "the product of two matrices is `a @ b`, a multiple of one is `2 * a`";
    assert_refused("A B", "the matrix is complete before `B`", "  ^", Some(product));
    assert_refused("2 A", "the matrix is complete before `A`", "  ^", Some(product));
    let brackets = "matrices side by side are `[a, b]`, one above the other `[a; b]`";
    assert_refused("A, B", "the matrix is complete before `,`", " ^", Some(brackets));
    let help = "the product with `BB` is `@ BB`, or `* BB` after a number";
    assert_refused("(A BB)", "`BB` stands where an operator or `)` is expected", "   ^^", Some(help));
    assert_refused("[]", "`]` stands where a matrix is expected", " ^", None);
    assert_refused(
        "[A, B; C]",
        "`,` and `;` stand in the same brackets",
        "     ^",
        Some("one bracket for each: `[[a, b]; c]`"),
    );
    let help = "put what is meant first in parentheses: `(a^2)^3`";
    assert_refused("A^2^3", "a power of a power can be read in two ways", "   ^", Some(help));
    assert_refused("1e999 * A", "this number is too large", "^^^^^", None);
    assert_refused("A # B", "`#` means nothing here", "  ^", None);
    let help = "the transpose of `A` is `A.T`; a number has digits after its point";
    assert_refused("A.t", "`.` means nothing here", " ^", Some(help));
}

#[test]
fn signs_of_mathematics_say_what_to_type() {
    assert_refused(
        "A · B",
        "`·` means nothing here",
        "  ^",
        Some("use `*` for a multiple and `@` for the product of matrices"),
    );
    assert_refused("A − B", "`−` means nothing here", "  ^", Some("use the plain minus, `-`"));
    assert_refused("Aᵀ @ B", "`ᵀ` means nothing here", " ^", Some("the transpose of `A` is `A.T`"));
    assert_refused("A² + 漢字", "`²` means nothing here", " ^", Some("the square of `A` is `A^2`"));
    assert_refused("Â @ X", "`Â` means nothing here", "^", Some("write `Ahat`"));
    // A wide character takes two columns.
    assert_refused("A + 漢 + ü", "`漢` means nothing here", "    ^^", None);
}

#[test]
fn texts_without_a_meaning() {
    let known = "known are `A`, `B`, `C`, `X`, `d`, `far`, `k`, `s`";
    assert_refused("A + Q @ B", "nothing is called `Q`", "    ^", Some(known));
    assert_refused("A + fra", "nothing is called `fra`", "    ^^^", Some(&format!("did you mean `far`? {known}")));
    assert_refused("a + B", "nothing is called `a`", "^", Some(&format!("did you mean `A`? {known}")));
    let known = "known are `rows`, `cols`, `diag`, `walk`, `sqrt`, `inv`, `center`, `dropout`, `I`, `J`";
    assert_refused("wlak(A, 3)", "there is no function `wlak`", "^^^^", Some(&format!("did you mean `walk`? {known}")));
    assert_refused("A(3)", "there is no function `A`", "^", Some(known));
    assert_refused("A + walk", "`walk` is a function", "    ^^^^", Some("write `walk(T, 10)`"));
    assert_refused("walk(A)", "`walk` does not take 1 argument", "^^^^", Some("write `walk(T, 10)`"));
    assert_refused("diag()", "`diag` does not take 0 arguments", "^^^^", Some("write `diag(degree)`"));
    assert_refused("test", "`test` cannot be used here: there is no split", "^^^^", None);
}

#[test]
fn one_kind_of_thing_where_another_is_needed() {
    assert_refused("A * B", "`*` stands between two matrices", "  ^", Some("use `@` for the product of matrices"));
    let message = "`@` is the product of two matrices, and one of these is a number";
    assert_refused("2 @ A", message, "  ^", Some("use `*` for a multiple of a matrix"));
    assert_refused("2 @ 3", message, "  ^", Some("use `*` for a multiple of a matrix"));
    let number = "a number at every entry is `2 * J`, one on the diagonal `2 * I`";
    assert_refused("A + 2", "a number and a matrix cannot be added or subtracted", "  ^", Some(number));
    assert_refused("1 + 1", "a number stands where a matrix is needed", "^^^^^", Some(number));
    assert_refused("[A, 2]", "a number stands where a matrix is needed", "    ^", Some(number));
    assert_refused("2.T", "a number stands where a matrix is needed", "^", Some(number));
    let diagonal = "the diagonal matrix of a vector is `diag(degree)`";
    assert_refused("A @ d", "a vector stands where a matrix is needed", "    ^", Some(diagonal));
    assert_refused("2 * sqrt(d)", "a vector stands where a matrix is needed", "    ^^^^^^^", Some(diagonal));
    assert_refused(
        "s + A",
        "an index set stands where a matrix is needed",
        "^",
        Some("the rows of a matrix in a set are `rows(M, train)`"),
    );
    let set = "a set is a name such as `train`, or a list such as `[0, 2, 5]`";
    assert_refused("rows(A, B)", "a matrix stands where an index set is needed", "        ^", Some(set));
    assert_refused("rows(A, 1)", "a number stands where an index set is needed", "        ^", Some(set));
    assert_refused(
        "diag(A)",
        "a matrix stands where a vector is needed",
        "     ^",
        Some("a vector is a name such as `degree`, or `sqrt` or `inv` of one"),
    );
    assert_refused("A / 2", "a matrix stands where a number is needed", "^", None);
    assert_refused("walk(A, B)", "a matrix stands where a number is needed", "        ^", None);
}

#[test]
fn numbers_out_of_range() {
    assert_refused("A^0.5", "the power is 0.5: expected a whole number from 0 to 1000", "  ^^^", None);
    assert_refused("A^-1", "the power is -1: expected a whole number from 0 to 1000", "  ^^", None);
    assert_refused("A^1001", "the power is 1001: expected a whole number from 0 to 1000", "  ^^^^", None);
    assert_refused("walk(A, 0)", "the longest walk is 0: expected a whole number from 1 to 1000", "        ^", None);
    assert_refused(
        "rows(A, [-1])",
        "an index is -1: expected a whole number from 0 to 4294967295",
        "         ^^",
        None,
    );
    assert_refused("I(0.5)", "the number of rows is 0.5: expected a whole number from 1 to 4294967295", "  ^^^", None);
    assert_refused(
        "dropout(X, 1)",
        "the rate of dropout is 1: expected a number from 0 and below 1",
        "           ^",
        None,
    );
    assert_refused("1 / 0 * A", "the result is inf: only finite numbers can be used", "  ^", None);
    assert_refused("sqrt(-1) * A", "the result is NaN: only finite numbers can be used", "^^^^^^^^", None);
}

#[test]
fn shapes_that_do_not_fit_point_at_the_operator_or_the_operand() {
    assert_refused("A + X", "cannot add A (2×2) and X (2×3): both must have the same shape", "  ^", None);
    let message = "cannot multiply X (2×3) and A (2×2): the columns of the first must equal the rows of the second";
    assert_refused("B + X @ A", message, "      ^", None);
    assert_refused("X^2", "cannot take powers of X (2×3): it is not square", "^", None);
    assert_refused("A + walk(X, 2)", "cannot take powers of X (2×3): it is not square", "         ^", None);
    let message = "cannot put side by side A (2×2) and Xᵀ (3×2): both must have the same number of rows";
    assert_refused("[A, B, X.T, A]", message, "       ^^^", None);
    let message = "cannot stack A (2×2) and X (2×3): both must have the same number of columns";
    assert_refused("[A; X]", message, "    ^", None);
    let message = "cannot gather row 7 of A (2×2): entry 1 of the list must be below 2";
    assert_refused("rows(A, far)", message, "        ^^^", None);
    let message = "`dropout` cannot be used here: cannot drop entries of A·A (2×2): it is not a stored dense matrix, form it first";
    assert_refused("dropout(A @ A, 0.5)", message, "^^^^^^^^^^^^^^^^^^^", None);
}

#[test]
fn of_several_lines_the_one_is_shown() {
    let error = World::small().read("A +\n  B @\n\tX * C # D\n").unwrap_err().to_string();
    assert_eq!(error, "`#` means nothing here\n    |\n  3 |  X * C # D\n    |        ^");
    let long = format!("{}Q{}", "A + ".repeat(50), " + B".repeat(40));
    let error = World::small().read(&long).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[2].starts_with("  | …") && lines[2].ends_with('…'), "{error}");
    let column = |line: &str, wanted: char| line.chars().position(|found| found == wanted).unwrap();
    assert_eq!(column(lines[2], 'Q'), column(lines[3], '^'), "{error}");
}

#[test]
fn length_and_depth_are_bounded() {
    let problem = |text: String| Formula::parse(&text).unwrap_err();
    assert!(matches!(problem("A".repeat(MOST_BYTES + 1)).problem(), Problem::TooLong { .. }));
    for (open, close) in [("(", ")"), ("[", "]"), ("-", ""), ("rows(", ", s)"), ("(-", ").T")] {
        let nested = |depth: usize| format!("{}A{}", open.repeat(depth), close.repeat(depth));
        assert!(matches!(problem(nested(MOST_DEPTH + 1)).problem(), Problem::TooDeep), "{open}");
        assert!(matches!(problem(nested(900)).problem(), Problem::TooDeep), "{open}");
        assert!(Formula::parse(&nested(MOST_DEPTH / 2 - 1)).is_ok(), "{open}");
    }
    assert!(matches!(problem(format!("A{}", " + A".repeat(MOST_DEPTH))).problem(), Problem::TooDeep));
    assert!(matches!(problem(format!("A{}", ".T".repeat(4000))).problem(), Problem::TooDeep));
    let error = problem(format!("A{}", " + A".repeat(MOST_DEPTH))).to_string();
    assert!(error.contains("half by half"), "{error}");
    assert!(Formula::parse(&format!("[A{}]", ", A".repeat(2000))).is_ok(), "lists are wide, not deep");
}

/// Too large powers are refused with a message.
#[test]
fn products_are_bounded() {
    let error = World::small().read("((A^1000)^1000)^1000").unwrap_err();
    assert!(matches!(error.problem(), Problem::TooManyProducts { products: 1_000_000_000 }), "{error}");
    assert!(error.to_string().contains("lower powers"), "{error}");
    assert!(World::small().read("walk(A, 1000) + (A^10)^100").is_ok());
}

/// Every text gives either a matrix or a message with a caret.
fn read(text: &str) {
    if let Err(error) = World::small().read(text) {
        let message = error.to_string();
        assert!(message.contains("\n  ") && message.contains('^'), "{message}");
        assert!(text.get(error.span()).is_some(), "{text:?}: {:?}", error.span());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(&[
        "A", "B", "X", "d", "s", "k", "2", "0.5", "1e-3", "+", "-", "*", "/", "@", "^", ".T", "(", ")", "[", "]", ",", ";", "rows(",
        "cols(", "diag(", "walk(", "sqrt(", "inv(", "center(", "dropout(", "I(", "J(", "\n", " ", "é", "漢", "\u{301}", "\u{1b}", "…",
    ][..]), 0..40)) {
        read(&words.concat());
    }
}
