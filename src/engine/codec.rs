//! Serialisation of messages between processes.
//!
//! A message is the length of a header, the header in bincode, and a body. The header and the body
//! are padded to multiples of eight bytes. The numbers of a block or a partial sum are the body, in
//! raw little-endian form. A received block refers to the received bytes, without a copy. Payloads
//! that never leave a worker are sent as [`Payload::Nothing`].

use std::io::Write;
use std::sync::Arc;

use bincode::Options as _;
use serde::{Deserialize, Serialize};
use timely::bytes::arc::Bytes;
use timely::dataflow::channels::ContainerBytes;

use super::error::EngineError;
use super::leader;
use super::message::{Block, BlockData, Message, Partial, Payload};
use super::tree::{Combine, Node};
use crate::kernel::panel::stride;

#[cfg(target_endian = "big")]
compile_error!("blocks travel as raw little-endian numbers");

/// Bytes of the length of the header.
const LENGTH_BYTES: usize = 8;
/// The words of a node before its values: level and number.
const NODE_WORDS: usize = 2;

#[derive(Serialize, Deserialize)]
struct Header {
    weight: i64,
    sender: usize,
    of: usize,
    content: Content,
}

/// A payload without its numbers.
#[derive(Serialize, Deserialize)]
enum Content {
    Nothing,
    Block { total_rows: usize, first_row: usize, rows: usize, cols: usize },
    Partial { combine: Combine, tiles: usize, length: usize, cols: usize },
    Bytes { worker: usize, length: usize },
    Failure(EngineError),
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(8)
}

impl Header {
    fn of(message: &Message) -> Self {
        let content = match &message.payload {
            &Payload::Block(Block { total_rows, first_row, rows, cols, .. }) => {
                Content::Block { total_rows, first_row, rows, cols }
            }
            Payload::Partial(partial) => {
                let &Partial { combine, tiles, length, cols, .. } = &**partial;
                Content::Partial { combine, tiles, length, cols }
            }
            Payload::Bytes(worker, bytes) => Content::Bytes { worker: *worker, length: bytes.len() },
            Payload::Failure(error) => Content::Failure((**error).clone()),
            Payload::Nothing
            | Payload::Shard(_)
            | Payload::Columns(..)
            | Payload::Shards(_)
            | Payload::Fetch(..)
            | Payload::Requests(_)
            | Payload::Gathered(_)
            | Payload::Values(_)
            | Payload::Reduced(_) => Content::Nothing,
        };
        Self { weight: message.weight, sender: message.sender, of: message.of, content }
    }
}

impl ContainerBytes for Message {
    fn from_bytes(bytes: Bytes) -> Self {
        decode(bytes).unwrap_or_else(|reason| {
            Message::local(Payload::Failure(Arc::new(EngineError::DamagedBlock { reason: reason.into() })))
        })
    }

    fn length_in_bytes(&self) -> usize {
        let header = leader::coding().serialized_size(&Header::of(self)).expect("a header is plain data");
        let body = match &self.payload {
            Payload::Block(block) => size_of_val(block.numbers()),
            Payload::Partial(partial) => partial.nodes.len() * 8 * (NODE_WORDS + partial.length),
            Payload::Bytes(_, bytes) => padded(bytes.len()),
            _ => 0,
        };
        LENGTH_BYTES + padded(header as usize) + body
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        encode(self, writer).expect("a message is written to memory that was reserved for it");
    }
}

fn encode<W: Write>(message: &Message, writer: &mut W) -> std::io::Result<()> {
    let header = leader::encode(&Header::of(message));
    writer.write_all(&(header.len() as u64).to_le_bytes())?;
    write_padded(writer, &header)?;
    match &message.payload {
        Payload::Block(block) => writer.write_all(bytemuck::cast_slice(block.numbers())),
        Payload::Partial(partial) => partial.nodes.iter().try_for_each(|node| {
            writer.write_all(bytemuck::cast_slice(&[u64::from(node.level), node.number as u64]))?;
            writer.write_all(bytemuck::cast_slice(&node.values))
        }),
        Payload::Bytes(_, bytes) => write_padded(writer, bytes),
        _ => Ok(()),
    }
}

fn write_padded<W: Write>(writer: &mut W, bytes: &[u8]) -> std::io::Result<()> {
    writer.write_all(bytes)?;
    writer.write_all(&[0; 8][..padded(bytes.len()) - bytes.len()])
}

/// Splits bytes of this length off the front, with their padding.
fn split_padded(bytes: &[u8], length: usize) -> Option<(&[u8], &[u8])> {
    let (front, rest) = bytes.split_at_checked(length.checked_next_multiple_of(8)?)?;
    let (front, padding) = front.split_at(length);
    padding.iter().all(|&byte| byte == 0).then_some((front, rest))
}

pub(super) fn decode(bytes: Bytes) -> Result<Message, &'static str> {
    let (length, rest) = bytes.split_first_chunk().ok_or("it has no header")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| "its header is too long")?;
    let (header, body) = split_padded(rest, length).ok_or("its header is cut off")?;
    let Header { weight, sender, of, content } = leader::decode(header).ok_or("its header is damaged")?;
    let is_empty = body.is_empty();
    let payload = match content {
        Content::Nothing if is_empty => Payload::Nothing,
        Content::Failure(error) if is_empty => Payload::Failure(Arc::new(error)),
        Content::Nothing | Content::Failure(_) => return Err("it is longer than it should be"),
        Content::Bytes { worker, length } => match split_padded(body, length) {
            Some((bytes, [])) => Payload::Bytes(worker, bytes.into()),
            _ => return Err("its length does not fit its bytes"),
        },
        Content::Block { total_rows, first_row, rows, cols } => {
            // Panels have at most 2³² columns, so the stride does not overflow.
            let stride = u32::try_from(cols).ok().map(|cols| stride(cols as usize));
            let numbers = stride.and_then(|stride| stride.checked_mul(rows));
            let body_bytes = numbers.and_then(|numbers| numbers.checked_mul(size_of::<f32>()));
            if body_bytes != Some(body.len()) || first_row.checked_add(rows).is_none_or(|end| end > total_rows) {
                return Err("its length does not fit its rows and columns");
            }
            if !body.as_ptr().addr().is_multiple_of(align_of::<f32>()) {
                return Err("its numbers are not aligned");
            }
            let offset = bytes.len() - body.len();
            let data = BlockData::Received(Arc::new(bytes), offset);
            Payload::Block(Block { total_rows, first_row, rows, cols, data })
        }
        Content::Partial { combine, tiles, length, cols } => {
            if u32::try_from(tiles).is_err() {
                return Err("it has more tiles than possible");
            }
            let node_bytes = length.checked_add(NODE_WORDS).and_then(|words| words.checked_mul(8));
            let node_bytes = node_bytes.filter(|&node_bytes| body.len().is_multiple_of(node_bytes));
            let nodes = body.chunks_exact(node_bytes.ok_or("its length is not that of complete nodes")?);
            let nodes = nodes.map(|node| decode_node(node, tiles)).collect::<Option<_>>();
            let nodes = nodes.ok_or("a node is not part of its tree")?;
            Payload::Partial(Arc::new(Partial { combine, tiles, length, cols, nodes }))
        }
    };
    Ok(Message { weight, to: 0, sender, of, payload })
}

/// A node; `None` if a tree of `tiles` tiles has no such node.
fn decode_node(bytes: &[u8], tiles: usize) -> Option<Node> {
    let [level, number, values @ ..] = bytes.as_chunks().0 else { return None };
    let level = u32::try_from(u64::from_le_bytes(*level)).ok()?;
    let number = usize::try_from(u64::from_le_bytes(*number)).ok()?;
    let is_in_tree = level < u64::BITS && ((number as u128) << level) < tiles as u128;
    is_in_tree.then(|| Node { level, number, values: values.iter().map(|&value| f64::from_le_bytes(value)).collect() })
}

#[cfg(all(test, feature = "fuzzing"))]
pub(super) mod tests {
    use super::*;
    use crate::engine::fuzz::received;

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

    /// Sizes that overflow, and nodes outside their tree.
    #[test]
    fn impossible_sizes_are_refused() {
        let is_refused = |header: Header, body: &[u64]| {
            let mut bytes = Vec::new();
            let header = leader::encode(&header);
            bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
            write_padded(&mut bytes, &header).unwrap();
            bytes.extend_from_slice(bytemuck::cast_slice(body));
            matches!(read(&bytes).payload, Payload::Failure(_))
        };
        let header = |content| Header { weight: 1, sender: 0, of: 1, content };
        let empty = |cols| header(Content::Block { total_rows: 0, first_row: 0, rows: 0, cols });
        assert!(!is_refused(empty(5), &[]));
        assert!(is_refused(empty(usize::MAX), &[]) && is_refused(empty(1 << 40), &[]));
        assert!(is_refused(header(Content::Nothing), &[0]));
        let sum = |length, tiles| header(Content::Partial { combine: Combine::Sum, tiles, length, cols: 1 });
        assert!(!is_refused(sum(1, 99), &[3, 12, 0]));
        for (header, body) in [
            (sum(2, 99), [3, 12, 0]),
            (sum(1, usize::MAX), [3, 12, 0]),
            (sum(1, 99), [64, 0, 0]),
            (sum(1, 99), [3, 13, 0]),
        ] {
            assert!(is_refused(header, &body), "{body:?}");
        }
    }
}
