//! Readable mathematics.

use std::fmt::{self, Display, Formatter, Write};

use super::{Kind, Matrix};

/// How tightly a form binds: one that binds less tightly than its place asks for goes in
/// parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Sum,
    Product,
    Power,
}

/// Indices of a gather that are shown before the rest is left out.
const INDICES_SHOWN: usize = 4;

impl Display for Matrix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_kind(self, f)
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({self}: {})", self.shape())
    }
}

/// The expression, cut off after a line's length: a shared expression can be exponentially longer
/// written out than stored.
pub(super) fn brief(matrix: &Matrix) -> String {
    let mut line = Line(String::new());
    match write!(line, "{matrix}") {
        Ok(()) => line.0,
        Err(fmt::Error) => line.0 + "…",
    }
}

/// Refuses text beyond a line's length, which stops the writing.
struct Line(String);

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const LINE_LENGTH: usize = 100;
        if self.0.len() + text.len() > LINE_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn binding(matrix: &Matrix) -> Binding {
    match matrix.kind() {
        Kind::Sum(..) | Kind::Difference(..) => Binding::Sum,
        Kind::Polynomial { coefficients, .. } if coefficients.iter().filter(|&&c| c != 0.0).count() > 1 => Binding::Sum,
        Kind::Scaled(..) | Kind::Product(..) | Kind::Polynomial { .. } => Binding::Product,
        _ => Binding::Power,
    }
}

/// Writes an operand, in parentheses when it binds less tightly than `least`.
fn operand(matrix: &Matrix, least: Binding, f: &mut Formatter<'_>) -> fmt::Result {
    if binding(matrix) < least { write!(f, "({matrix})") } else { write!(f, "{matrix}") }
}

/// Writes the operand of a power or a transpose: those do not stack without parentheses.
fn base(matrix: &Matrix, f: &mut Formatter<'_>) -> fmt::Result {
    let is_raised = matches!(matrix.kind(), Kind::Power(..) | Kind::Transpose(..));
    if is_raised { write!(f, "({matrix})") } else { operand(matrix, Binding::Power, f) }
}

fn write_kind(matrix: &Matrix, f: &mut Formatter<'_>) -> fmt::Result {
    match matrix.kind() {
        Kind::Dense { name, mask: Some(_), .. } => write!(f, "dropout({name})"),
        Kind::Sparse { name, .. } | Kind::Dense { name, .. } | Kind::Diagonal { name, .. } => f.write_str(name),
        Kind::Own { name, .. } => f.write_str(name),
        Kind::Identity => f.write_str("I"),
        Kind::Ones => f.write_str("J"),
        Kind::Zero => f.write_str("0"),
        Kind::Sum(left, right) => {
            operand(left, Binding::Sum, f)?;
            f.write_str(" + ")?;
            operand(right, Binding::Product, f)
        }
        Kind::Difference(left, right) => {
            operand(left, Binding::Sum, f)?;
            f.write_str(" − ")?;
            operand(right, Binding::Product, f)
        }
        Kind::Scaled(coefficient, inner) => {
            write_coefficient(*coefficient, f)?;
            operand(inner, Binding::Product, f)
        }
        Kind::Product(left, right) => {
            operand(left, Binding::Product, f)?;
            f.write_str("·")?;
            operand(right, Binding::Product, f)
        }
        Kind::Power(inner, exponent) => {
            base(inner, f)?;
            write_superscript(*exponent as usize, f)
        }
        Kind::Transpose(inner) => {
            base(inner, f)?;
            f.write_str("ᵀ")
        }
        Kind::Hstack(parts) => write_list(parts, ", ", f),
        Kind::Vstack(parts) => write_list(parts, "; ", f),
        Kind::Rows(inner, indices) => write_gather("rows", inner, indices, f),
        Kind::Columns(inner, indices) => write_gather("cols", inner, indices, f),
        Kind::Polynomial { coefficients, base } => write_polynomial(coefficients, base, f),
    }
}

fn write_list(parts: &[Matrix], separator: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{part}")?;
    }
    f.write_str("]")
}

fn write_gather(verb: &str, inner: &Matrix, indices: &[usize], f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{verb}({inner}, [")?;
    for (position, index) in indices.iter().take(INDICES_SHOWN).enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{index}")?;
    }
    if indices.len() > INDICES_SHOWN {
        write!(f, ", … {} in all", indices.len())?;
    }
    f.write_str("])")
}

fn write_polynomial(coefficients: &[f64], inner: &Matrix, f: &mut Formatter<'_>) -> fmt::Result {
    let mut is_first = true;
    for (power, &coefficient) in coefficients.iter().enumerate().filter(|(_, c)| **c != 0.0) {
        let magnitude = if is_first { coefficient } else { coefficient.abs() };
        if !is_first {
            f.write_str(if coefficient < 0.0 { " − " } else { " + " })?;
        }
        is_first = false;
        if magnitude != 1.0 {
            write_coefficient(magnitude, f)?;
        }
        match power {
            0 => f.write_str("I")?,
            1 => operand(inner, Binding::Product, f)?,
            _ => {
                base(inner, f)?;
                write_superscript(power, f)?;
            }
        }
    }
    if is_first { f.write_str("0") } else { Ok(()) }
}

fn write_coefficient(coefficient: f64, f: &mut Formatter<'_>) -> fmt::Result {
    if coefficient == -1.0 {
        f.write_str("−")
    } else if coefficient < 0.0 {
        write!(f, "−{}·", -coefficient)
    } else {
        write!(f, "{coefficient}·")
    }
}

fn write_superscript(number: usize, f: &mut Formatter<'_>) -> fmt::Result {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    for digit in number.to_string().bytes() {
        write!(f, "{}", DIGITS[usize::from(digit - b'0')])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    fn leaf(name: &str) -> Matrix {
        Matrix::dense(name, Dense::new(2, 2, vec![1.0; 4]).unwrap()).unwrap()
    }

    #[test]
    fn a_shared_expression_is_cut_short_in_messages() {
        let mut a = leaf("A");
        for _ in 0..60 {
            a = &a + &a;
        }
        let text = brief(&a);
        assert!(text.len() < 110 && text.ends_with('…'), "{text}");
    }

    #[test]
    fn expressions_read_as_mathematics() {
        let (a, b) = (leaf("A"), leaf("B"));
        let cases = [
            (&a + &b * 0.5, "A + 0.5·B"),
            (&a - (&b - &a), "A − (B − A)"),
            ((&a + &b) * &a, "(A + B)·A"),
            ((&a * &b).t(), "(A·B)ᵀ"),
            (a.t().pow(12), "(Aᵀ)¹²"),
            (-&a, "−A"),
            (-2.0 * &a, "−2·A"),
            (Matrix::hstack(&[a.clone(), b.t()]), "[A, Bᵀ]"),
            (Matrix::vstack(&[a.clone(), &a + &b]), "[A; A + B]"),
            (a.rows(&[1, 0, 1]), "rows(A, [1, 0, 1])"),
            (a.columns(&[1, 0, 1, 0, 1]), "cols(A, [1, 0, 1, 0, … 5 in all])"),
            (a.polynomial(&[0.0, 0.5, 0.0, -0.25]), "0.5·A − 0.25·A³"),
            (a.polynomial(&[2.0, 1.0]), "2·I + A"),
            ((&a * &b).polynomial(&[0.0, 0.5, 0.5]), "0.5·A·B + 0.5·(A·B)²"),
            (a.polynomial(&[]), "0"),
            (Matrix::identity(2) + Matrix::ones(2, 2) - Matrix::zero(2, 2), "I + J − 0"),
        ];
        for (matrix, text) in cases {
            assert_eq!(matrix.to_string(), text);
        }
    }
}
