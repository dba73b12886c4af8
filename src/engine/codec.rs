//! The form of messages between processes.
//!
//! A message is a header of little-endian 64-bit words and a body, both a multiple of eight bytes
//! long. Panel entries are copied raw and stay, on arrival, in the bytes that they came in. Only
//! messages to other workers have a form: blocks, partial sums, bytes and failures.

use std::io::Write;
use std::sync::Arc;

use timely::bytes::arc::Bytes;
use timely::dataflow::channels::ContainerBytes;

use super::error::EngineError;
use super::message::{Block, BlockData, Message, Partial, Payload};
use super::tree::{Combine, Node};
use crate::kernel::panel::stride;

#[cfg(target_endian = "big")]
compile_error!("blocks travel as raw little-endian numbers");

/// The first word of a message: its kind.
mod tag {
    pub(super) const NOTHING: u64 = 0;
    pub(super) const BLOCK: u64 = 1;
    pub(super) const PARTIAL: u64 = 2;
    pub(super) const FAILURE: u64 = 3;
    pub(super) const BYTES: u64 = 4;
}

/// Words of the header: tag, weight, sender, count, bytes of the body, and four that depend on the
/// tag.
const HEADER_WORDS: usize = 9;
const HEADER_BYTES: usize = HEADER_WORDS * 8;
/// The words before the numbers of each node.
const NODE_WORDS: usize = 2;

fn padded(length: usize) -> usize {
    length.next_multiple_of(8)
}

impl ContainerBytes for Message {
    fn from_bytes(bytes: Bytes) -> Self {
        decode(bytes).unwrap_or_else(|reason| {
            Message::local(Payload::Failure(Arc::new(EngineError::DamagedBlock { reason: reason.into() })))
        })
    }

    fn length_in_bytes(&self) -> usize {
        HEADER_BYTES
            + match &self.payload {
                Payload::Block(block) => padded(size_of_val(block.numbers())),
                Payload::Partial(partial) => partial.nodes.len() * 8 * (NODE_WORDS + partial.length),
                Payload::Failure(error) => padded(failure_text(error).len()),
                Payload::Bytes(bytes) => padded(bytes.len()),
                _ => 0,
            }
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        encode(self, writer).expect("a message is written to memory that was reserved for it");
    }
}

fn failure_text(error: &EngineError) -> Vec<u8> {
    serde_json::to_vec(error).expect("an engine error is plain data")
}

fn encode<W: Write>(message: &Message, writer: &mut W) -> std::io::Result<()> {
    let (tag, words, text) = match &message.payload {
        Payload::Block(block) => (tag::BLOCK, [block.total_rows, block.first_row, block.rows, block.cols], None),
        Payload::Partial(partial) => {
            let combine = match partial.combine {
                Combine::Sum => 0,
                Combine::Peak => 1,
            };
            (tag::PARTIAL, [combine, partial.tiles, partial.length, partial.cols], None)
        }
        Payload::Failure(error) => {
            let text = failure_text(error);
            (tag::FAILURE, [text.len(), 0, 0, 0], Some(text))
        }
        Payload::Bytes(bytes) => (tag::BYTES, [bytes.len(), 0, 0, 0], None),
        Payload::Nothing
        | Payload::Shard(_)
        | Payload::Columns(..)
        | Payload::Shards(_)
        | Payload::Gathered(_)
        | Payload::Reduced(_) => (tag::NOTHING, [0; 4], None),
    };
    let body = message.length_in_bytes() - HEADER_BYTES;
    for word in [tag, message.weight as u64, message.sender as u64, message.of as u64, body as u64] {
        writer.write_all(&word.to_le_bytes())?;
    }
    for word in words {
        writer.write_all(&(word as u64).to_le_bytes())?;
    }
    let mut pad_after = |bytes: &[u8]| -> std::io::Result<()> {
        writer.write_all(bytes)?;
        writer.write_all(&[0; 8][..padded(bytes.len()) - bytes.len()])
    };
    match &message.payload {
        Payload::Block(block) => pad_after(bytemuck::cast_slice(block.numbers()))?,
        Payload::Partial(partial) => {
            for node in &partial.nodes {
                pad_after(&u64::from(node.level).to_le_bytes())?;
                pad_after(&(node.number as u64).to_le_bytes())?;
                pad_after(bytemuck::cast_slice(&node.values))?;
            }
        }
        Payload::Bytes(bytes) => pad_after(bytes)?,
        _ => pad_after(&text.unwrap_or_default())?,
    }
    Ok(())
}

/// Takes words off the front of a slice.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> Result<u64, &'static str> {
        let (word, rest) = self.0.split_first_chunk::<8>().ok_or("it ends within its header")?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*word))
    }

    fn next_size(&mut self) -> Result<usize, &'static str> {
        usize::try_from(self.next()?).map_err(|_| "a size in it is too large")
    }
}

pub(super) fn decode(bytes: Bytes) -> Result<Message, &'static str> {
    let mut words = Words(&bytes);
    let tag = words.next()?;
    let weight = words.next()? as i64;
    let sender = words.next_size()?;
    let of = words.next_size()?;
    let body = words.next_size()?;
    let [a, b, c, d] = [words.next_size()?, words.next_size()?, words.next_size()?, words.next_size()?];
    if body != words.0.len() {
        return Err("it is shorter or longer than it says");
    }
    let payload = match tag {
        tag::NOTHING if [body, a, b, c, d] == [0; 5] => Payload::Nothing,
        tag::BLOCK => {
            // Panels have at most 2³² columns, so the stride does not overflow.
            let stride = u32::try_from(d).ok().map(|cols| stride(cols as usize));
            let numbers = stride.and_then(|stride| stride.checked_mul(c));
            let bytes_of_numbers = numbers.and_then(|numbers| numbers.checked_mul(size_of::<f32>()));
            if bytes_of_numbers.map(padded) != Some(body) || b.checked_add(c).is_none_or(|end| end > a) {
                return Err("its length does not fit its rows and columns");
            }
            if !bytes.as_ptr().addr().is_multiple_of(align_of::<f32>()) {
                return Err("it does not lie on a boundary of numbers");
            }
            let data = BlockData::Received(Arc::new(bytes), HEADER_BYTES);
            Payload::Block(Block { total_rows: a, first_row: b, rows: c, cols: d, data })
        }
        tag::PARTIAL => {
            let combine = match a {
                0 => Combine::Sum,
                1 => Combine::Peak,
                _ => return Err("it is combined in an unknown way"),
            };
            if u32::try_from(b).is_err() {
                return Err("it is of more tiles than there can be");
            }
            let node_bytes = c.checked_add(NODE_WORDS).and_then(|words| words.checked_mul(8));
            let node_bytes = node_bytes.filter(|&node_bytes| body.is_multiple_of(node_bytes));
            let count = body / node_bytes.ok_or("its length is not that of whole nodes")?;
            let nodes = (0..count).map(|_| decode_node(&mut words, b, c)).collect::<Result<_, _>>()?;
            Payload::Partial(Arc::new(Partial { combine, tiles: b, length: c, cols: d, nodes }))
        }
        tag::FAILURE => {
            let text = words.0.get(..a).ok_or("its message is cut off")?;
            let error = serde_json::from_slice(text).map_err(|_| "its message is no error of ours")?;
            Payload::Failure(Arc::new(error))
        }
        tag::BYTES => {
            let (bytes, padding) = words.0.split_at_checked(a).ok_or("its bytes are cut off")?;
            if body != padded(a) || [b, c, d] != [0; 3] || padding.iter().any(|&byte| byte != 0) {
                return Err("its length does not fit its bytes");
            }
            Payload::Bytes(bytes.into())
        }
        _ => return Err("its kind is unknown"),
    };
    Ok(Message { weight, to: 0, sender, of, payload })
}

fn decode_node(words: &mut Words<'_>, tiles: usize, length: usize) -> Result<Node, &'static str> {
    let level = u32::try_from(words.next()?).map_err(|_| "a level in it is too large")?;
    let number = words.next_size()?;
    if level >= u64::BITS || (number as u128) << level >= tiles as u128 {
        return Err("a node in it is not of its tree");
    }
    let values = (0..length).map(|_| words.next().map(f64::from_bits)).collect::<Result<_, _>>()?;
    Ok(Node { level, number, values })
}

#[cfg(all(test, feature = "fuzzing"))]
pub(super) mod tests {
    use super::*;
    use crate::engine::fuzz::received;
    use crate::kernel::buffer::Buffer;
    use proptest::prelude::*;

    fn written(message: &Message) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.into_bytes(&mut bytes);
        assert_eq!(bytes.len(), message.length_in_bytes());
        assert!(bytes.len().is_multiple_of(8));
        bytes
    }

    /// A message as another process gets it.
    pub(in crate::engine) fn over_the_wire(message: &Message) -> Message {
        read(&written(message))
    }

    fn read(bytes: &[u8]) -> Message {
        Message::from_bytes(received(bytes))
    }

    fn block(first_row: usize, rows: usize, cols: usize) -> Message {
        let mut buffer = Buffer::zeroed(rows * stride(cols));
        buffer.iter_mut().enumerate().for_each(|(place, number)| *number = place as f32 * 0.5);
        let range = 0..buffer.len();
        let data = BlockData::Shared(Arc::new(buffer), range);
        let payload = Payload::Block(Block { total_rows: first_row + rows, first_row, rows, cols, data });
        Message { weight: 1, to: 0, sender: 2, of: 7, payload }
    }

    fn partial(nodes: usize, length: usize, combine: Combine) -> Message {
        let node = |number| Node { level: 3, number, values: (0..length).map(|i| (i as f64).sqrt()).collect() };
        let nodes = (0..nodes).map(node).collect();
        let payload = Payload::Partial(Arc::new(Partial { combine, tiles: 99, length, cols: 4, nodes }));
        Message { weight: 1, to: 0, sender: 0, of: 1, payload }
    }

    proptest! {
        #[test]
        fn blocks_arrive_as_they_left(first_row in 0usize..100, rows in 0usize..50, cols in 0usize..70) {
            let sent = block(first_row, rows, cols);
            let got = over_the_wire(&sent);
            prop_assert_eq!((got.weight, got.sender, got.of), (1, 2, 7));
            let (Payload::Block(sent), Payload::Block(got)) = (&sent.payload, &got.payload) else { unreachable!() };
            prop_assert_eq!((got.total_rows, got.first_row, got.rows, got.cols), (first_row + rows, first_row, rows, cols));
            prop_assert_eq!(sent.numbers(), got.numbers());
        }

        #[test]
        fn partial_sums_arrive_as_they_left(nodes in 0usize..5, length in 0usize..40, kind in 0usize..2) {
            let combine = [Combine::Sum, Combine::Peak][kind];
            let sent = partial(nodes, length, combine);
            let got = over_the_wire(&sent);
            let (Payload::Partial(sent), Payload::Partial(got)) = (&sent.payload, &got.payload) else { unreachable!() };
            prop_assert_eq!((got.combine, got.tiles, got.length, got.cols), (combine, 99, length, 4));
            prop_assert_eq!(&sent.nodes, &got.nodes);
        }

        /// Truncated or changed bytes neither panic nor pass as the original.
        #[test]
        fn damaged_bytes_are_an_error_or_another_message(cut in 0usize..200, place in 0usize..200, flip in 1u8..=255) {
            for message in [block(3, 2, 5), partial(2, 3, Combine::Sum)] {
                let whole = written(&message);
                let shorter = &whole[..cut.min(whole.len() - 1)];
                prop_assert!(matches!(read(shorter).payload, Payload::Failure(_)));
                let mut changed = whole.clone();
                let place = place % changed.len();
                changed[place] ^= flip;
                let _ = read(&changed);
            }
        }
    }

    /// Sizes that overflow, and nodes outside their tree.
    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let with = |message: &Message, word: usize, value: u64| {
            let mut bytes = written(message);
            bytes[8 * word..][..8].copy_from_slice(&value.to_le_bytes());
            matches!(read(&bytes).payload, Payload::Failure(_))
        };
        let (nothing, sums) = (Message::local(Payload::Nothing), partial(2, 25, Combine::Sum));
        let empty = block(0, 0, 0);
        for (message, word, value) in [
            (&empty, HEADER_WORDS - 1, u64::MAX),
            (&empty, HEADER_WORDS - 1, 1 << 40),
            (&nothing, HEADER_WORDS - 1, 1),
            (&sums, 5, 2),
            (&sums, 6, u64::MAX),
            (&sums, HEADER_WORDS, 64),
            (&sums, HEADER_WORDS + 1, 99),
        ] {
            assert!(!with(message, 2, 1), "another sender is none of it");
            assert!(with(message, word, value), "word {word} is {value}");
        }
    }

    #[test]
    fn errors_arrive_as_they_left() {
        let error = EngineError::Panicked { worker: 3, step: "v1 = spmm A·G".into(), message: "„so“".into() };
        let sent = Message::local(Payload::Failure(Arc::new(error.clone())));
        let Payload::Failure(got) = read(&written(&sent)).payload else { unreachable!() };
        assert_eq!(*got, error);
    }
}
