//! The tokens of a text: numbers, names and signs, each with its span.

use std::ops::Range;

use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{alt, not, opt};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::stream::LocatingSlice;
use winnow::token::{one_of, take_while};

use super::error::{Fault, Problem};

/// A token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    /// Digits, with a point and a power of ten if need be.
    Number(&'a str),
    /// A letter, then letters, digits and underscores.
    Name(&'a str),
    /// `.T`
    Transpose,
    /// Everything else is one character.
    Sign(char),
}

/// A token and its span in bytes.
pub(super) type Placed<'a> = (Token<'a>, Range<usize>);

type Input<'a> = LocatingSlice<&'a str>;
type Read<T> = winnow::Result<T, EmptyError>;

const SIGNS: [char; 12] = ['+', '-', '*', '/', '@', '^', '(', ')', '[', ']', ',', ';'];

/// Splits a text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed<'_>>, Fault> {
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::new();
    loop {
        // Zero or more cannot fail.
        let _: Read<&str> = multispace0.parse_next(&mut input);
        let Some(character) = input.chars().next() else { return Ok(tokens) };
        let start = text.len() - input.len();
        match token.with_span().parse_next(&mut input) {
            Ok(placed) => tokens.push(placed),
            Err(EmptyError) => {
                return Err(Fault::new(start..start + character.len_utf8(), Problem::Character { character }));
            }
        }
    }
}

fn token<'a>(input: &mut Input<'a>) -> Read<Token<'a>> {
    alt((number, name, transpose, one_of(SIGNS).map(Token::Sign))).parse_next(input)
}

/// A point without digits after it is no part of a number: `2.T` is the transpose of 2, and refused
/// as such.
fn number<'a>(input: &mut Input<'a>) -> Read<Token<'a>> {
    let digits = alt(((digit1, opt(('.', digit1))).void(), ('.', digit1).void()));
    let power = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    (digits, opt(power)).take().map(Token::Number).parse_next(input)
}

fn name<'a>(input: &mut Input<'a>) -> Read<Token<'a>> {
    (one_of(|c: char| c.is_ascii_alphabetic() || c == '_'), take_while(0.., is_in_name))
        .take()
        .map(Token::Name)
        .parse_next(input)
}

fn transpose<'a>(input: &mut Input<'a>) -> Read<Token<'a>> {
    (".T", not(one_of(is_in_name))).map(|_| Token::Transpose).parse_next(input)
}

fn is_in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
