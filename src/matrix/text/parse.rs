//! A recursive-descent parser: tokens become an [`Expression`], with one function for each level of
//! precedence.
//!
//! From the loosest: `+ -`, then `* / @`, then the minus of one operand, then `^` and `.T`.
//! Operators of one level go from left to right, as Rust's do.

use std::ops::Range;

use super::error::{Fault, Found, Problem};
use super::syntax::{Expression, Form, Operator};
use super::token::{Placed, Token, tokens};
use super::{MOST_BYTES, MOST_DEPTH};

type Parsed = Result<Expression, Fault>;

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Parsed {
    if text.len() > MOST_BYTES {
        return Err(Fault::new(0..0, Problem::TooLong { bytes: text.len() }));
    }
    let mut parser = Parser { tokens: tokens(text)?, position: 0, end: text.trim_end().len(), depth: 0 };
    if parser.tokens.is_empty() {
        return Err(Fault::new(0..0, Problem::Empty));
    }
    let expression = parser.sum()?;
    match parser.next() {
        None => Ok(expression),
        Some((Token::Sign(closing @ (')' | ']')), span)) => Err(Fault::new(span, Problem::NeverOpened { closing })),
        Some((token, span)) => Err(Fault::new(span, Problem::Trailing { found: found(token) })),
    }
}

struct Parser<'a> {
    tokens: Vec<Placed<'a>>,
    position: usize,
    /// Where the text ends, spaces aside.
    end: usize,
    /// How many forms are being read inside each other.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.position).map(|(token, _)| *token)
    }

    fn next(&mut self) -> Option<Placed<'a>> {
        let placed = self.tokens.get(self.position).cloned();
        self.position += 1;
        placed
    }

    /// Takes the next word if it is this sign.
    fn take(&mut self, sign: char) -> Option<Range<usize>> {
        let (_, span) = self.tokens.get(self.position).filter(|(token, _)| *token == Token::Sign(sign))?;
        self.position += 1;
        Some(span.clone())
    }

    /// Takes the next word if it is one of these operators.
    fn operator(&mut self, operators: &[(char, Operator)]) -> Option<(Operator, Range<usize>)> {
        operators.iter().find_map(|&(sign, operator)| self.take(sign).map(|span| (operator, span)))
    }

    /// Parses a nested form. The depth is limited because parsing recurses.
    fn inside(&mut self, read: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            let span = self.tokens.get(self.position).map_or(self.end..self.end, |(_, span)| span.clone());
            return Err(Fault::new(span, Problem::TooDeep));
        }
        let expression = read(self)?;
        self.depth -= 1;
        Ok(expression)
    }

    fn sum(&mut self) -> Parsed {
        self.inside(|parser| {
            let signs = [('+', Operator::Add), ('-', Operator::Subtract)];
            let mut left = parser.product()?;
            while let Some((operator, span)) = parser.operator(&signs) {
                left = binary(operator, span, left, parser.product()?)?;
            }
            Ok(left)
        })
    }

    fn product(&mut self) -> Parsed {
        let signs = [('*', Operator::Scale), ('/', Operator::Divide), ('@', Operator::Multiply)];
        let mut left = self.signed()?;
        while let Some((operator, span)) = self.operator(&signs) {
            left = binary(operator, span, left, self.signed()?)?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Parsed {
        let Some(sign) = self.take('-') else { return self.raised() };
        let inner = self.inside(Self::signed)?;
        bounded(sign.start..inner.span.end, &sign, Form::Negated(Box::new(inner)))
    }

    /// `a`, `a.T`, `a^2`, `a^2.T`: what follows an operand belongs to all that stands before it.
    fn raised(&mut self) -> Parsed {
        let mut base = self.operand()?;
        let mut is_power = false;
        loop {
            if let Some(sign) = self.take('^') {
                if is_power {
                    return Err(Fault::new(sign, Problem::PowerOfPower));
                }
                let exponent = self.exponent()?;
                base = binary(Operator::Power, sign, base, exponent)?;
                is_power = true;
            } else if self.peek() == Some(Token::Transpose) {
                let (start, sign) = (base.span.start, self.tokens[self.position].1.clone());
                self.position += 1;
                base = bounded(start..sign.end, &sign, Form::Transposed(Box::new(base)))?;
                is_power = false;
            } else {
                return Ok(base);
            }
        }
    }

    /// A minus is read here to be refused for what it is: there are no negative powers.
    fn exponent(&mut self) -> Parsed {
        let Some(sign) = self.take('-') else { return self.operand() };
        let inner = self.operand()?;
        bounded(sign.start..inner.span.end, &sign, Form::Negated(Box::new(inner)))
    }

    fn operand(&mut self) -> Parsed {
        let Some((token, span)) = self.next() else {
            return Err(Fault::new(self.end..self.end, Problem::Ends { expected: "a matrix" }));
        };
        match token {
            Token::Number(digits) => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Expression::new(span, Form::Number(number))),
                _ => Err(Fault::new(span, Problem::TooLargeNumber)),
            },
            Token::Name(name) => match self.take('(') {
                None => Ok(Expression::new(span, Form::Name(name.to_owned()))),
                Some(opening) => self.call(name, span, opening),
            },
            Token::Sign('(') => {
                let inner = self.sum()?;
                let closing = self.close(&span, '(', ')', "an operator or `)`")?;
                Ok(Expression { span: span.start..closing.end, ..inner })
            }
            Token::Sign('[') => self.list(span),
            Token::Sign(_) | Token::Transpose => {
                Err(Fault::new(span, Problem::Unexpected { found: found(token), expected: "a matrix" }))
            }
        }
    }

    fn call(&mut self, name: &str, name_span: Range<usize>, opening: Range<usize>) -> Parsed {
        let mut arguments = Vec::new();
        if self.peek() != Some(Token::Sign(')')) {
            arguments.push(self.sum()?);
            while self.take(',').is_some() {
                arguments.push(self.sum()?);
            }
        }
        let closing = self.close(&opening, '(', ')', "an operator, `,` or `)`")?;
        let (span, name) = (name_span.start..closing.end, name.to_owned());
        bounded(span, &name_span.clone(), Form::Call { name, name_span, arguments })
    }

    fn list(&mut self, opening: Range<usize>) -> Parsed {
        let mut parts = vec![self.sum()?];
        let separator = match self.peek() {
            Some(Token::Sign(sign @ (',' | ';'))) => sign,
            _ => ',',
        };
        while self.take(separator).is_some() {
            parts.push(self.sum()?);
        }
        if let Some(Token::Sign(',' | ';')) = self.peek() {
            return Err(Fault::new(self.tokens[self.position].1.clone(), Problem::MixedBrackets));
        }
        let closing = self.close(&opening, '[', ']', "an operator, `,`, `;` or `]`")?;
        let form = if separator == ';' { Form::Vstack(parts) } else { Form::Hstack(parts) };
        bounded(opening.start..closing.end, &opening, form)
    }

    /// Takes the sign that closes what `span` opened.
    fn close(
        &mut self,
        span: &Range<usize>,
        opening: char,
        closing: char,
        expected: &'static str,
    ) -> Result<Range<usize>, Fault> {
        if let Some(span) = self.take(closing) {
            return Ok(span);
        }
        match self.next() {
            None => Err(Fault::new(span.clone(), Problem::NeverClosed { opening, closing })),
            Some((token, span)) => Err(Fault::new(span, Problem::Unexpected { found: found(token), expected })),
        }
    }
}

fn binary(operator: Operator, sign: Range<usize>, left: Expression, right: Expression) -> Parsed {
    let span = left.span.start..right.span.end;
    let (left, right) = (Box::new(left), Box::new(right));
    bounded(span, &sign.clone(), Form::Binary { operator, operator_span: sign, left, right })
}

/// A form that is not too tall: long sums lean to the left, and whoever walks them walks all the
/// way down.
fn bounded(span: Range<usize>, at: &Range<usize>, form: Form) -> Parsed {
    let expression = Expression::new(span, form);
    match expression.height > MOST_DEPTH {
        true => Err(Fault::new(at.clone(), Problem::TooDeep)),
        false => Ok(expression),
    }
}

fn found(token: Token<'_>) -> Found {
    match token {
        Token::Number(text) => Found::Number(text.to_owned()),
        Token::Name(text) => Found::Name(text.to_owned()),
        Token::Transpose => Found::Sign(".T".to_owned()),
        Token::Sign(sign) => Found::Sign(sign.to_string()),
    }
}
