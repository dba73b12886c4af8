//! The calls in a pickle that make data.

use super::{Class, Machine, Node, Payload, StoredArray, Tensor};
use crate::dataset::format::FormatError;
use crate::dataset::format::array::{ElementKind, ElementType, bytes_of_shape};

impl Machine {
    /// Calls a class with its arguments.
    pub(super) fn make(&mut self, callable: u32, arguments: u32) -> Result<u32, FormatError> {
        let class = match self.nodes[callable as usize] {
            Node::Class(class) => class,
            _ => return Err(self.wrong("a call of what is no class", "a class")),
        };
        let Node::List(list) = &self.nodes[arguments as usize] else {
            return Err(self.wrong("a call without arguments", "a tuple of arguments"));
        };
        let mut given = [None; 6];
        given.iter_mut().zip(list).for_each(|(place, &node)| *place = Some(node));
        let node = match (class, given) {
            (Class::Array, _) => Node::Array(None),
            (Class::ArrayOfBuffer, [Some(bytes), Some(element), Some(shape), Some(order), ..]) => {
                let fortran = self.text(order) == Some(b"F");
                Node::Array(Some(Box::new(self.array(shape, element, fortran, bytes)?)))
            }
            (Class::Scalar, [Some(element), Some(bytes), ..]) => self.scalar(element, bytes)?,
            (Class::ElementType, [Some(name), ..]) => {
                let name = self.text(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                let element = name.as_deref().and_then(ElementType::parse);
                let found = || format!("elements of the type `{}`", name.as_deref().unwrap_or("?").escape_default());
                Node::ElementType(element.ok_or_else(|| self.wrong(found(), "numbers or text"))?)
            }
            (Class::Encode | Class::Bytes, [Some(text), encoding, ..]) => {
                let latin = encoding.is_none_or(|name| matches!(self.text(name), Some(b"latin1" | b"latin-1")));
                let bytes = self.text(text).filter(|_| latin).and_then(latin_bytes);
                let bytes = bytes.ok_or_else(|| self.wrong("bytes in an unknown form", "text in latin1"))?;
                self.add_text(bytes)?
            }
            (Class::Bytes, _) => self.add_text(vec![])?,
            (Class::Dict, [Some(pairs), ..]) => self.dict(pairs)?,
            (Class::Dict, _) => Node::Dict(vec![]),
            // A list of a list is as good as that list, when nothing runs.
            (Class::List, [Some(items), ..]) => return Ok(items),
            (Class::List, _) => Node::List(vec![]),
            (Class::Sparse(_), _) => Node::Object(class, None),
            (Class::Reconstruct, [Some(class), ..]) => match self.nodes[class as usize] {
                Node::Class(class @ Class::Sparse(_)) => Node::Object(class, None),
                Node::Class(Class::Dict) => Node::Dict(vec![]),
                _ => return Err(self.wrong("an object", "a scipy matrix or a dict")),
            },
            (Class::Tensor, [Some(storage), Some(offset), Some(shape), Some(strides), ..]) => {
                self.tensor(storage, offset, shape, strides)?
            }
            _ => return Err(self.wrong("a call with too few arguments", "numpy's, scipy's or torch's own")),
        };
        self.add(node)
    }

    /// Gives a made object its state.
    pub(super) fn fill(&mut self, object: u32, state: u32) -> Result<(), FormatError> {
        let filled = match (&self.nodes[object as usize], &self.nodes[state as usize]) {
            (Node::Array(None), Node::List(state)) => {
                let &[_, shape, element, fortran, bytes] = &state[..] else {
                    return Err(self.wrong("an array with an unknown state", "version, shape, type, order and bytes"));
                };
                let fortran = matches!(self.nodes[fortran as usize], Node::Bool(true) | Node::Int(1));
                Node::Array(Some(Box::new(self.array(shape, element, fortran, bytes)?)))
            }
            (&Node::ElementType(element), Node::List(state)) => {
                let big_endian = state.get(1).is_some_and(|&order| self.text(order) == Some(b">"));
                Node::ElementType(ElementType { big_endian, ..element })
            }
            (&Node::Object(class, _), _) => Node::Object(class, Some(state)),
            (Node::Dict(_), _) => return Ok(()),
            _ => return Err(self.wrong("a state for what has none", "an array, a type or a matrix")),
        };
        self.nodes[object as usize] = filled;
        Ok(())
    }

    fn array(&self, shape: u32, element: u32, fortran: bool, bytes: u32) -> Result<StoredArray, FormatError> {
        let Node::ElementType(element) = self.nodes[element as usize] else {
            return Err(self.wrong("an array without a type", "numpy's type of its elements"));
        };
        let Node::Text(bytes) = self.nodes[bytes as usize] else {
            return Err(self.wrong("an array of objects", "an array of numbers"));
        };
        let shape = self.lengths(shape)?;
        if bytes_of_shape(&shape, element) != Some(bytes.len) {
            let found = format!("{} bytes for an array of shape {shape:?}", bytes.len);
            return Err(self.wrong(found, "as many as its shape needs"));
        }
        Ok(StoredArray { shape, element, fortran, bytes })
    }

    fn lengths(&self, node: u32) -> Result<Vec<usize>, FormatError> {
        const AXES: usize = 32;
        let length = |&node: &u32| match self.nodes[node as usize] {
            Node::Int(length) => usize::try_from(length).ok(),
            _ => None,
        };
        let lengths = match &self.nodes[node as usize] {
            Node::List(lengths) if lengths.len() <= AXES => lengths.iter().map(length).collect(),
            _ => None,
        };
        lengths.ok_or_else(|| self.wrong("a shape that is none", "a tuple of lengths"))
    }

    fn scalar(&self, element: u32, bytes: u32) -> Result<Node, FormatError> {
        let (element, bytes) = match (&self.nodes[element as usize], self.text(bytes)) {
            (Node::ElementType(element), Some(bytes)) if bytes.len() == element.size => (element, bytes),
            _ => return Err(self.wrong("a number in an unknown form", "numpy's type and bytes")),
        };
        Ok(match element.kind {
            ElementKind::Float => Node::Float(element.float(bytes)),
            ElementKind::Boolean => Node::Bool(bytes[0] != 0),
            _ => match i64::try_from(element.whole(bytes)) {
                Ok(number) if element.is_whole() => Node::Int(number),
                _ => return Err(self.wrong("a number in an unknown form", "a number of 64 bits")),
            },
        })
    }

    /// A dict of pairs; of a class, it is the one that `defaultdict` would fill missing entries
    /// with.
    fn dict(&mut self, pairs: u32) -> Result<Node, FormatError> {
        let Node::List(pairs) = &self.nodes[pairs as usize] else { return Ok(Node::Dict(vec![])) };
        let entry = |&pair: &u32| match &self.nodes[pair as usize] {
            Node::List(pair) => pair.first().copied().zip(pair.get(1).copied()),
            _ => None,
        };
        let entries: Option<Vec<_>> = pairs.iter().map(entry).collect();
        let entries = entries.ok_or_else(|| self.wrong("a dict of what are no pairs", "pairs of key and value"))?;
        self.charge_copy(8 * entries.len())?;
        self.charge_memory(8 * entries.len() as u64)?;
        Ok(Node::Dict(entries))
    }

    /// A torch storage from its persistent id: `("storage", type, key, device, length)`.
    pub(super) fn storage(&self, id: u32) -> Result<Node, FormatError> {
        if let Node::List(parts) = &self.nodes[id as usize]
            && let &[tag, class, key, ..] = &parts[..]
            && let (Some(b"storage"), &Node::Class(Class::Storage(element)), Node::Text(key)) =
                (self.text(tag), &self.nodes[class as usize], &self.nodes[key as usize])
        {
            return Ok(Node::Storage(element, *key));
        }
        Err(self.wrong("a value kept elsewhere", "a torch storage"))
    }

    fn tensor(&self, storage: u32, offset: u32, shape: u32, strides: u32) -> Result<Node, FormatError> {
        let (&Node::Storage(element, Payload { source, start, len }), &Node::Int(offset)) =
            (&self.nodes[storage as usize], &self.nodes[offset as usize])
        else {
            return Err(self.wrong("a tensor without a storage", "a storage and an offset"));
        };
        let key = String::from_utf8_lossy(&self.sources[source as usize][start..][..len]).into_owned();
        let (shape, strides) = (self.lengths(shape)?, self.lengths(strides)?);
        let offset = usize::try_from(offset).ok().filter(|_| shape.len() == strides.len() && key.len() < 256);
        let offset = offset.ok_or_else(|| self.wrong("a tensor of an unknown form", "offset, shape and strides"))?;
        Ok(Node::Tensor(Box::new(Tensor { element, key, offset, shape, strides })))
    }
}

/// The bytes that text in UTF-8 stands for when every character is one.
fn latin_bytes(text: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(text).ok()?.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}
