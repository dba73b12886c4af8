//! Fuzzing targets: everything that parses bytes from the network or from a checkpoint.
//!
//! Not part of the public interface. `tests/fuzz` changes valid bytes and hands them to the
//! targets.

use std::ops::{Deref, DerefMut};

use timely::bytes::arc::{Bytes, BytesMut};
use timely::dataflow::channels::ContainerBytes;

use super::codec::decode;
use super::message::{Block, BlockData, Message, Partial, Payload};
use super::tree::{Combine, Node, Tree};
use super::{EngineError, checkpoint, mesh};
use crate::kernel::buffer::Buffer;
use crate::kernel::panel::stride;

/// A parser of bytes from elsewhere.
pub struct Target {
    /// What it parses.
    pub name: &'static str,
    /// Valid bytes, of a random value.
    pub example: fn(&mut Draw<'_>) -> Vec<u8>,
    /// Parses bytes, and says whether they were accepted. Panics if the value differs from the
    /// bytes.
    pub takes: fn(&[u8]) -> bool,
    /// Memory that it may allocate, beside a multiple of the length of its input.
    pub room: usize,
}

/// Draws a number below a bound.
pub type Draw<'a> = dyn FnMut(usize) -> usize + 'a;

/// The limit of most targets.
pub(super) const ROOM: usize = 64 << 10;

/// All that parses bytes from elsewhere.
pub fn targets() -> Vec<Target> {
    let message = Target { name: "message", example: example_message, takes: takes_message, room: ROOM };
    [message].into_iter().chain(mesh::fuzz::targets()).chain(checkpoint::fuzz::targets()).collect()
}

/// Bytes as timely hands them over: word-aligned.
pub(super) fn received(bytes: &[u8]) -> Bytes {
    let mut words = Words(vec![0; bytes.len().div_ceil(8)]);
    words[..bytes.len()].copy_from_slice(bytes);
    BytesMut::from(words).freeze().extract_to(bytes.len())
}

struct Words(Vec<u64>);

impl Deref for Words {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

fn example_message(draw: &mut Draw<'_>) -> Vec<u8> {
    let payload = match draw(5) {
        0 => Payload::Nothing,
        1 => {
            let (rows, cols, first_row) = (draw(5), draw(20), draw(9));
            let buffer = Buffer::zeroed(rows * stride(cols));
            let data = BlockData::Shared(buffer.into(), 0..rows * stride(cols));
            Payload::Block(Block { total_rows: first_row + rows + draw(9), first_row, rows, cols, data })
        }
        2 => {
            let (cols, tiles) = (draw(4), draw(40));
            let combine = [Combine::Sum, Combine::Peak][draw(2)];
            let (length, first) = (cols * cols, draw(tiles + 1));
            let run = first..first + draw(tiles - first + 1);
            let nodes =
                Tree::of_tiles(tiles, run, combine, length, |tile, values| values.fill(tile as f64 * 0.7)).into_nodes();
            Payload::Partial(Partial { combine, tiles, length, cols, nodes }.into())
        }
        3 => Payload::Bytes(vec![7; draw(40)].into()),
        _ => Payload::Failure(EngineError::Stopped { worker: draw(99), message: "„so“".repeat(draw(9)) }.into()),
    };
    written(&Message { weight: 1 + draw(9) as i64, to: draw(9), sender: draw(9), of: draw(9), payload })
}

fn written(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.length_in_bytes());
    message.into_bytes(&mut bytes);
    bytes
}

/// Nodes of an accepted message must lie within their tree.
fn takes_message(bytes: &[u8]) -> bool {
    let Ok(message) = decode(received(bytes)) else { return false };
    let again = written(&message);
    match &message.payload {
        Payload::Block(block) => assert_eq!(block.numbers().len(), block.rows * stride(block.cols)),
        Payload::Partial(partial) => {
            let mut tree = Tree::new(partial.tiles, partial.combine);
            partial.nodes.iter().for_each(|Node { level, number, values }| {
                tree.insert(Node { level: *level, number: *number, values: values.clone() });
            });
            assert!(tree.into_root().is_none_or(|root| root.len() == partial.length));
        }
        _ => {}
    }
    match &message.payload {
        // The same error can be written in many ways.
        Payload::Failure(_) => assert_eq!(written(&Message::from_bytes(received(&again))), again),
        _ => assert_eq!(again, bytes),
    }
    true
}
