//! The meaning of texts.

use isvd_dist::matrix::{Kind, Matrix};

use super::world::World;

/// Texts and the displays of their matrices.
#[test]
fn texts_and_what_they_mean() {
    let mut world = World::small();
    for (text, meaning) in [
        ("A", "A"),
        (" ( ( A ) ) ", "A"),
        ("A+B-C", "A + B − C"),
        ("A - (B - C)", "A − (B − C)"),
        ("A - B @ C", "A − B·C"),
        ("(A - B) @ C", "(A − B)·C"),
        ("2 * A @ B", "2·A·B"),
        ("A * 2", "2·A"),
        ("-A", "−A"),
        ("-A^2", "−A²"),
        ("(-A)^2", "(−A)²"),
        ("-0.5 * A", "−0.5·A"),
        ("- - A", "−−A"),
        ("A^2 @ B", "A²·B"),
        ("A @ B^3", "A·B³"),
        ("A.T^2", "(Aᵀ)²"),
        ("A^2.T", "(A²)ᵀ"),
        ("(A^2)^3", "(A²)³"),
        ("A.T.T", "(Aᵀ)ᵀ"),
        ("A^0", "A⁰"),
        ("A @ B.T", "A·Bᵀ"),
        ("(A @ B).T", "(A·B)ᵀ"),
        ("[A, B, C]", "[A, B, C]"),
        ("[A; B + C]", "[A; B + C]"),
        ("[[A, B]; [B, C]]", "[[A, B]; [B, C]]"),
        ("[A]", "[A]"),
        ("rows(A, s)", "rows(A, [1, 0, 1])"),
        ("cols(A @ B, [1])", "cols(A·B, [1])"),
        ("rows(A, [k - 1, 0])", "rows(A, [1, 0])"),
        ("diag(d)", "D"),
        ("diag(sqrt(d)) @ A @ diag(inv(sqrt(d)))", "D^½·A·D^-½"),
        ("diag(inv(d)) + diag(sqrt(inv(d)))", "D⁻¹ + D^-½"),
        ("walk(A, 1)", "A"),
        ("walk(A, 3)", "0.5·A + 0.3333333333333333·A² + 0.16666666666666666·A³"),
        ("center(X)", "X − J·meanᵀ"),
        ("dropout(X, 0.5)", "dropout(X)"),
        ("I(2) + J(2, 2)", "I + J"),
        ("J(2, k + 1) - X", "J − X"),
        // Arithmetic of numbers.
        ("(1 + 2 * 3 - 4) * A", "3·A"),
        ("1 / 4 * A", "0.25·A"),
        ("2^3 * A", "8·A"),
        ("-2^2 * A", "−4·A"),
        ("(-2)^2 * A", "4·A"),
        ("k * k * A", "4·A"),
        ("sqrt(16) * inv(8) * A", "0.5·A"),
        (".5 * A + 1e-2 * B - 2.5E+1 * C", "0.5·A + 0.01·B − 25·C"),
        ("A^k", "A²"),
        ("A\n\t+\r\nB", "A + B"),
    ] {
        match world.read(text) {
            Ok(matrix) => assert_eq!(matrix.to_string(), meaning, "{text}"),
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

/// The display omits redundant parentheses. These are all parentheses.
fn tree(matrix: &Matrix) -> String {
    match matrix.kind() {
        Kind::Sum(a, b) => format!("({}+{})", tree(a), tree(b)),
        Kind::Difference(a, b) => format!("({}-{})", tree(a), tree(b)),
        Kind::Product(a, b) => format!("({}@{})", tree(a), tree(b)),
        Kind::Scaled(c, a) => format!("({c}*{})", tree(a)),
        _ => matrix.to_string(),
    }
}

#[test]
fn operators_of_one_level_go_from_left_to_right() {
    let mut world = World::small();
    for (text, expected) in [
        ("A + B + C", "((A+B)+C)"),
        ("A - B + C", "((A-B)+C)"),
        ("A @ B @ C", "((A@B)@C)"),
        ("A @ (B @ C)", "(A@(B@C))"),
        ("2 * A @ B", "((2*A)@B)"),
        ("A @ B * 2", "(2*(A@B))"),
        ("A * 2 @ B", "((2*A)@B)"),
        ("2 * 3 * A", "(6*A)"),
        ("A * 2 * 3", "(3*(2*A))"),
        ("-A @ B", "((-1*A)@B)"),
        ("A @ -B", "(A@(-1*B))"),
        ("A - -B", "(A-(-1*B))"),
    ] {
        assert_eq!(tree(&world.read(text).unwrap()), expected, "{text}");
    }
}

/// The same node, so that a plan multiplies by it once.
#[test]
fn a_repeated_subexpression_is_one_node() {
    let mut world = World::small();
    let mut parts = |text: &str| match world.read(text).unwrap().kind() {
        Kind::Hstack(parts) => parts.to_vec(),
        _ => unreachable!(),
    };
    let twice = "A @ B + 0.5 * walk(A, 3).T - diag(sqrt(d)) @ rows(A, [1, 0]) + A^2 - J(2, 2)";
    let equal = parts(&format!("[{twice}, {twice}, B]"));
    assert_eq!(equal[0].identity_key(), equal[1].identity_key());
    let steps = parts("[X, A @ X, A @ (A @ X)]");
    match steps[2].kind() {
        Kind::Product(_, right) => assert_eq!(right.identity_key(), steps[1].identity_key()),
        _ => unreachable!(),
    }
    for different in [
        "[2 * A, 3 * A]",
        "[A + B, B + A]",
        "[A^2, A^3]",
        "[rows(A, s), rows(A, [1, 0, 0])]",
        "[walk(A, 2), walk(A, 3)]",
        "[diag(d), diag(sqrt(d))]",
        "[dropout(X, 0.5, 0), dropout(X, 0.5, 1)]",
    ] {
        let different = parts(different);
        assert_ne!(different[0].identity_key(), different[1].identity_key());
    }
}

#[test]
fn spans_are_those_of_the_text() {
    let text = "walk(A, 3) - 0.5 * (B + C)";
    let formula = isvd_dist::matrix::text::Formula::parse(text).unwrap();
    let isvd_dist::matrix::text::Form::Binary { operator_span, left, right, .. } = &formula.expression().form else {
        unreachable!()
    };
    assert_eq!(&text[left.span.clone()], "walk(A, 3)");
    assert_eq!(&text[operator_span.clone()], "-");
    assert_eq!(&text[right.span.clone()], "0.5 * (B + C)");
    assert_eq!(formula.to_string(), text);
}
