//! The values of a pickle.

use std::borrow::Cow;

use super::{Class, Pickle};
use crate::dataset::budget::{Reservation, bytes_of};
use crate::dataset::format::FormatError;
use crate::dataset::format::array::{Array, ElementType};
use crate::dataset::format::sparse::{Arrays, Entries, Layout};

/// Bytes of one of the sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payload {
    pub source: u32,
    pub start: usize,
    pub len: usize,
}

/// An array, its bytes elsewhere.
#[derive(Debug)]
pub(crate) struct StoredArray {
    pub shape: Vec<usize>,
    pub element: ElementType,
    pub fortran: bool,
    pub bytes: Payload,
}

/// A piece of a torch storage.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub element: ElementType,
    pub key: String,
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
}

/// A value; others are named by their numbers.
#[derive(Debug)]
pub(crate) enum Node {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Text, or bytes: old pickles do not tell them apart.
    Text(Payload),
    List(Vec<u32>),
    Dict(Vec<(u32, u32)>),
    Class(Class),
    ElementType(ElementType),
    /// An array that is not filled yet has none.
    Array(Option<Box<StoredArray>>),
    /// An object of a class with its state.
    Object(Class, Option<u32>),
    /// A torch storage by its key.
    Storage(ElementType, Payload),
    Tensor(Box<Tensor>),
}

impl Node {
    /// Bytes that it takes, with what is its own.
    pub fn bytes(&self) -> u64 {
        // A piece of memory of its own takes a little more than it holds.
        const PIECE: u64 = 32;
        let own = match self {
            Self::List(list) if !list.is_empty() => PIECE + bytes_of::<u32>(list.capacity()),
            Self::Dict(entries) if !entries.is_empty() => PIECE + bytes_of::<(u32, u32)>(entries.capacity()),
            Self::Array(Some(array)) => {
                2 * PIECE + bytes_of::<StoredArray>(1) + bytes_of::<usize>(array.shape.capacity())
            }
            Self::Tensor(tensor) => {
                let lengths = tensor.shape.capacity() + tensor.strides.capacity();
                4 * PIECE + bytes_of::<Tensor>(1) + tensor.key.capacity() as u64 + bytes_of::<usize>(lengths)
            }
            _ => 0,
        };
        // The list of all values grows by doubling.
        bytes_of::<[Self; 2]>(1) + own
    }
}

/// A value in a pickle.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    pub(crate) pickle: &'a Pickle,
    pub(crate) node: u32,
}

impl<'a> Value<'a> {
    pub(crate) fn node(self) -> &'a Node {
        &self.pickle.nodes[self.node as usize]
    }

    fn at(self, node: u32) -> Self {
        Self { node, ..self }
    }

    /// The kind of the value, for messages.
    pub fn kind(self) -> &'static str {
        match self.node() {
            Node::None => "None",
            Node::Bool(_) => "a truth value",
            Node::Int(_) => "a whole number",
            Node::Float(_) => "a number",
            Node::Text(_) => "text",
            Node::List(_) => "a list",
            Node::Dict(_) => "a dict",
            Node::Array(_) | Node::Tensor(_) => "an array",
            Node::Object(..) => "a sparse matrix",
            Node::Class(_) | Node::ElementType(_) | Node::Storage(..) => "a type",
        }
    }

    /// Whether it is `None`.
    pub fn is_none(self) -> bool {
        matches!(self.node(), Node::None)
    }

    /// A whole number; truth values are 0 and 1.
    pub fn as_int(self) -> Option<i64> {
        match *self.node() {
            Node::Int(number) => Some(number),
            Node::Bool(truth) => Some(i64::from(truth)),
            _ => None,
        }
    }

    /// A number.
    pub fn as_float(self) -> Option<f64> {
        match *self.node() {
            Node::Float(number) => Some(number),
            _ => self.as_int().map(|number| number as f64),
        }
    }

    /// Text, if it is UTF-8.
    pub fn as_text(self) -> Option<&'a str> {
        self.as_bytes().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Text or bytes.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self.node() {
            Node::Text(payload) => Some(self.pickle.bytes(*payload)),
            _ => None,
        }
    }

    /// The items of a list, a tuple or a set.
    pub fn items(self) -> Option<impl ExactSizeIterator<Item = Value<'a>>> {
        match self.node() {
            Node::List(items) => Some(items.iter().map(move |&node| self.at(node))),
            _ => None,
        }
    }

    /// The entries of a dict; a key that comes again takes the place of the one before.
    pub fn entries(self) -> Option<impl DoubleEndedIterator<Item = (Value<'a>, Value<'a>)>> {
        match self.node() {
            Node::Dict(entries) => Some(entries.iter().map(move |&(key, value)| (self.at(key), self.at(value)))),
            _ => None,
        }
    }

    /// The value of a key of a dict.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        let (_, value) = self.entries()?.rev().find(|(name, _)| name.as_text() == Some(key))?;
        Some(value)
    }

    /// An array.
    pub fn as_array(self) -> Option<Array<'a>> {
        match self.node() {
            Node::Array(Some(array)) => {
                let StoredArray { shape, element, fortran, bytes } = array.as_ref();
                let offset = if bytes.source == 0 { bytes.start as u64 } else { 0 };
                Some(Array {
                    path: self.pickle.path.clone(),
                    offset,
                    shape: shape.clone(),
                    element: *element,
                    fortran: *fortran,
                    bytes: Cow::Borrowed(self.pickle.bytes(*bytes)),
                    _reserved: Reservation::default(),
                })
            }
            _ => None,
        }
    }

    /// A scipy matrix, checked.
    pub(crate) fn as_sparse(self) -> Option<Result<Entries, FormatError>> {
        let Node::Object(Class::Sparse(layout), state) = self.node() else { return None };
        let path = &self.pickle.path;
        let incomplete = || {
            let remedy = "save the matrix with `scipy.sparse.save_npz` instead";
            FormatError::content(path, "a scipy matrix without its arrays", "data, indices and shape", remedy)
        };
        let arrays = state.and_then(|state| self.at(state).matrix(*layout));
        Some(arrays.ok_or_else(incomplete).and_then(|arrays| arrays.entries(path)))
    }

    fn matrix(self, layout: Layout) -> Option<Arrays<'a>> {
        // Some versions keep the dict in a tuple, with the slots.
        let state =
            if self.entries().is_some() { self } else { self.items()?.find(|item| item.entries().is_some())? };
        let mut shape = state.get("_shape").or_else(|| state.get("shape"))?.items()?.map(Value::as_int);
        let shape = (shape.next()??, shape.next()??);
        let array = |name: &str| state.get(name).and_then(Value::as_array);
        let (first, second) = match layout {
            Layout::Coordinates => match state.get("coords").and_then(Value::items) {
                Some(mut coords) => (coords.next()?.as_array()?, coords.next()?.as_array()?),
                None => (array("row")?, array("col")?),
            },
            _ => (array("indices")?, array("indptr")?),
        };
        Some(Arrays { layout, shape, first, second, data: array("data")? })
    }
}

impl Pickle {
    pub(crate) fn bytes(&self, payload: Payload) -> &[u8] {
        &self.sources[payload.source as usize][payload.start..][..payload.len]
    }
}
