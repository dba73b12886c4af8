//! Arrays as numpy stores them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::FormatError;
use super::rows::Pairs;
use crate::dataset::budget::{Budget, OverBudget, Reservation};
use crate::kernel::elementwise::first_non_finite;

const SAVE_AGAIN: &str = "save the array again with another type";

/// The kind of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementKind {
    /// Whole numbers with a sign.
    Signed,
    /// Whole numbers without a sign.
    Unsigned,
    /// Floating-point numbers.
    Float,
    /// True and false.
    Boolean,
    /// Text of a fixed length, in bytes.
    Bytes,
    /// Text of a fixed length, in 32-bit characters.
    Text,
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementType {
    /// Their kind.
    pub kind: ElementKind,
    /// Bytes of one.
    pub size: usize,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

impl ElementType {
    /// From numpy's short form, such as `<i8`; `None` for types that no dataset needs.
    pub fn parse(text: &str) -> Option<Self> {
        let (order, rest) = match text.as_bytes().first()? {
            b'<' | b'>' | b'|' | b'=' => text.split_at_checked(1)?,
            _ => ("=", text),
        };
        let (kind, size) = rest.split_at_checked(1)?;
        let size: usize = size.parse().ok()?;
        let (kind, size) = match (kind, size) {
            ("i", 1 | 2 | 4 | 8) => (ElementKind::Signed, size),
            ("u", 1 | 2 | 4 | 8) => (ElementKind::Unsigned, size),
            ("f", 2 | 4 | 8) => (ElementKind::Float, size),
            ("b", 1) => (ElementKind::Boolean, 1),
            ("S" | "a", 1..=65_536) => (ElementKind::Bytes, size),
            ("U", 1..=16_384) => (ElementKind::Text, 4 * size),
            _ => return None,
        };
        Some(Self { kind, size, big_endian: order == ">" })
    }

    pub(crate) fn is_whole(self) -> bool {
        matches!(self.kind, ElementKind::Signed | ElementKind::Unsigned | ElementKind::Boolean)
    }

    /// A whole number; `bytes` are those of one element.
    #[inline]
    pub(crate) fn whole(self, bytes: &[u8]) -> i128 {
        let mut wide = [0u8; 8];
        let n = self.size.min(8);
        wide[..n].copy_from_slice(&bytes[..n]);
        if self.big_endian {
            wide[..n].reverse();
        }
        let unsigned = u64::from_le_bytes(wide);
        let unused = 64 - 8 * n as u32;
        match self.kind {
            ElementKind::Signed => i128::from((unsigned << unused) as i64 >> unused),
            _ => i128::from(unsigned),
        }
    }

    pub(crate) fn float(self, bytes: &[u8]) -> f64 {
        if self.is_whole() {
            return self.whole(bytes) as f64;
        }
        let bits = Self { kind: ElementKind::Unsigned, ..self }.whole(bytes) as u64;
        match self.size {
            2 => half(bits as u16),
            4 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }
}

fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    match exponent {
        0 => sign * fraction * f64::powi(2.0, -24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * f64::powi(2.0, exponent - 15),
    }
}

/// An array: its shape, and its elements as bytes of a file.
#[derive(Debug, Clone)]
pub struct Array<'a> {
    pub(crate) path: PathBuf,
    /// Where in the file the elements start.
    pub(crate) offset: u64,
    /// How many elements there are along each axis.
    pub shape: Vec<usize>,
    /// The type of the elements.
    pub element: ElementType,
    /// Whether the first index runs fastest.
    pub fortran: bool,
    pub(crate) bytes: Cow<'a, [u8]>,
    /// The memory of the bytes, if the array owns them.
    pub(crate) _reserved: Reservation,
}

impl<'a> Array<'a> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn elements(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.element.size)
    }

    fn wrong(&self, at: usize, found: String, expected: &'static str, remedy: &'static str) -> FormatError {
        FormatError::byte(&self.path, self.offset + (at * self.element.size) as u64, found, expected, remedy)
    }

    /// Reserves memory for a list of the elements.
    fn reserve_elements<T>(&self) -> Result<Reservation, FormatError> {
        Budget::current().reserve_for::<T>(self.len()).map_err(|over| over.reading(&self.path))
    }

    fn wrong_type(&self, expected: &'static str) -> FormatError {
        let found = format!("an array of {:?} elements of {} bytes", self.element.kind, self.element.size);
        self.wrong(0, found, expected, SAVE_AGAIN)
    }

    /// Where a stored element is in a matrix, for messages.
    fn place(&self, at: usize) -> String {
        let &[rows, columns] = &self.shape[..] else { return String::new() };
        let (row, column) = if self.fortran { (at % rows, at / rows) } else { (at / columns, at % columns) };
        format!(" in row {row}, column {column} (from 0)")
    }

    /// Its elements as whole numbers, in the order they are stored.
    pub fn integers(&self) -> Result<Vec<i64>, FormatError> {
        if !self.element.is_whole() {
            return Err(self.wrong_type("whole numbers"));
        }
        self.reserve_elements::<i64>()?.keep();
        let number = |(at, bytes)| {
            let number = self.element.whole(bytes);
            i64::try_from(number)
                .map_err(|_| self.wrong(at, number.to_string(), "a number that 63 bits hold", SAVE_AGAIN))
        };
        self.elements().enumerate().map(number).collect()
    }

    /// Its elements as numbers of rows or columns below `bound`, in the order they are stored.
    pub fn indices(&self, bound: usize) -> Result<Vec<u32>, FormatError> {
        if !self.element.is_whole() {
            return Err(self.wrong_type("whole numbers"));
        }
        self.reserve_elements::<u32>()?.keep();
        let index = |(at, bytes)| {
            let number = self.element.whole(bytes);
            let fits = u32::try_from(number).ok().filter(|&index| (index as usize) < bound);
            fits.ok_or_else(|| {
                let expected = format!("a number from 0 and below {bound}");
                let at = self.offset + (at * self.element.size) as u64;
                FormatError::byte(&self.path, at, number.to_string(), expected, "state more nodes, or repair the file")
            })
        };
        self.elements().enumerate().map(index).collect()
    }

    /// Its elements as finite numbers, row after row, however they are stored.
    pub fn floats(&self) -> Result<Vec<f32>, FormatError> {
        if !self.element.is_whole() && self.element.kind != ElementKind::Float {
            return Err(self.wrong_type("numbers"));
        }
        self.reserve_elements::<f32>()?.keep();
        let plain = ElementType { kind: ElementKind::Float, size: 4, big_endian: false };
        let stored: Vec<f32> = if self.element == plain {
            self.bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
        } else {
            self.elements().map(|bytes| self.element.float(bytes) as f32).collect()
        };
        if let Some(at) = first_non_finite(&stored) {
            let size = self.element.size;
            let found = format!("{}{}", self.element.float(&self.bytes[at * size..][..size]), self.place(at));
            let remedy = "repair the array and save it again";
            return Err(self.wrong(at, found, "a finite number of 32 bits", remedy));
        }
        let &[rows, columns] = &self.shape[..] else { return Ok(stored) };
        if !self.fortran || rows < 2 || columns < 2 {
            return Ok(stored);
        }
        let _stored = self.reserve_elements::<f32>()?;
        let place = |n: usize| stored[n % columns * rows + n / columns];
        Ok((0..stored.len()).map(place).collect())
    }

    /// Its elements as whole numbers, `None` where there is none, in the order they are stored.
    pub(crate) fn nullable(&self) -> Result<Vec<Option<i64>>, FormatError> {
        self.reserve_elements::<Option<i64>>()?.keep();
        if self.element.is_whole() {
            return Ok(self.integers()?.into_iter().map(Some).collect());
        }
        if self.element.kind != ElementKind::Float {
            return Err(self.wrong_type("numbers"));
        }
        let number = |(at, bytes)| {
            let number = self.element.float(bytes);
            if number.is_nan() {
                return Ok(None);
            }
            let whole = number.fract() == 0.0 && number.abs() < 2f64.powi(53);
            let wrong = || self.wrong(at, number.to_string(), "a whole number", SAVE_AGAIN);
            if whole { Ok(Some(number as i64)) } else { Err(wrong()) }
        };
        self.elements().enumerate().map(number).collect()
    }

    /// Its text, if that is what it holds: one element, without zeros at its end.
    pub(crate) fn text(&self) -> Option<String> {
        if self.len() != 1 {
            return None;
        }
        let text = match self.element.kind {
            ElementKind::Bytes => String::from_utf8(self.bytes.to_vec()).ok()?,
            ElementKind::Text => {
                let character = ElementType { kind: ElementKind::Unsigned, size: 4, ..self.element };
                let characters = self.bytes.chunks_exact(4).map(|bytes| char::from_u32(character.whole(bytes) as u32));
                characters.collect::<Option<String>>()?
            }
            _ => return None,
        };
        Some(text.trim_end_matches('\0').to_owned())
    }

    /// Pairs of ids: `n × 2`, or `2 × n` as some programs store them.
    pub(crate) fn pairs(&self) -> Result<ArrayPairs, FormatError> {
        let (count, in_columns) = self.pair_shape()?;
        if !self.element.is_whole() {
            return Err(self.wrong_type("whole numbers"));
        }
        // The two ids of a pair are adjacent, or all first ids come before all second ones.
        let are_adjacent = in_columns == self.fortran;
        let (budget, over) = (Budget::current(), |over: OverBudget| over.reading(&self.path));
        let (mut pairs, mut reserved) = (Pairs::default(), Reservation::default());
        pairs.reserve_within(count, &budget, &mut reserved).map_err(over)?;
        for n in 0..count {
            let (from, to) = if are_adjacent { (2 * n, 2 * n + 1) } else { (n, count + n) };
            pairs.push_within(self.id(from)?, self.id(to)?, &budget, &mut reserved).map_err(over)?;
        }
        Ok(ArrayPairs { pairs, reserved, in_columns })
    }

    /// The number of pairs, and whether each column is one.
    fn pair_shape(&self) -> Result<(usize, bool), FormatError> {
        match self.shape[..] {
            [count, 2] => Ok((count, false)),
            [2, count] => Ok((count, true)),
            _ => {
                let found = format!("an array of shape {:?}", self.shape);
                let remedy = "save an array with two ids in each row";
                Err(self.wrong(0, found, "pairs: a shape of [n, 2] or [2, n]", remedy))
            }
        }
    }

    fn id(&self, at: usize) -> Result<u64, FormatError> {
        let size = self.element.size;
        let number = self.element.whole(&self.bytes[at * size..][..size]);
        let negative =
            |_| self.wrong(at, format!("the negative id {number}"), "an id of 0 or more", "renumber the nodes");
        u64::try_from(number).map_err(negative)
    }
}

/// The pairs of an array.
pub(crate) struct ArrayPairs {
    pub pairs: Pairs,
    pub reserved: Reservation,
    /// Whether each column of the array is a pair, rather than each row.
    pub in_columns: bool,
}

/// Axes of the largest array, as of numpy.
const MOST_AXES: usize = 64;

/// Bytes of an array of a shape; `None` if no memory can hold it.
pub(crate) fn bytes_of_shape(shape: &[usize], element: ElementType) -> Option<usize> {
    let size = shape.iter().try_fold(element.size, |product, &length| product.checked_mul(length.max(1)));
    let is_sound = shape.len() <= MOST_AXES && size.is_some_and(|size| size <= isize::MAX as usize);
    is_sound.then(|| shape.iter().product::<usize>() * element.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_every_size_and_order() {
        for (text, bytes, number) in [
            ("<i2", &[0xfe, 0xff][..], -2),
            (">i4", &[0xff, 0xff, 0xff, 0xfe], -2),
            (">u2", &[1, 2], 258),
            ("|u1", &[255], 255),
            ("i1", &[255], -1),
            ("<u8", &[255; 8], i128::from(u64::MAX)),
        ] {
            assert_eq!(ElementType::parse(text).unwrap().whole(bytes), number, "{text}");
        }
        assert!(["", "<", "<i3", "|O", "<c8", "é8", "<M8[ns]"].iter().all(|text| ElementType::parse(text).is_none()));
    }

    #[test]
    fn shapes_that_no_memory_holds_are_none() {
        let element = ElementType { kind: ElementKind::Float, size: 8, big_endian: false };
        let bytes = |shape: &[usize]| bytes_of_shape(shape, element);
        assert_eq!((bytes(&[]), bytes(&[3, 2]), bytes(&[0, 5])), (Some(8), Some(48), Some(0)));
        for shape in [&[1 << 60][..], &[0, 1 << 62, 8], &[1 << 62, 8, 0], &[1; 65]] {
            assert_eq!(bytes(shape), None, "{shape:?}");
        }
    }

    #[test]
    fn half_precision() {
        let numbers = [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_477_539_063e-8), (0x7bff, 65504.0)];
        assert!(numbers.iter().all(|&(bits, number)| half(bits) == number));
        assert!(half(0x7c00).is_infinite() && half(0x7c01).is_nan());
    }
}
