//! Fuzzing targets: everything that parses bytes from the network or from a checkpoint.
//!
//! Not part of the public interface. `tests/fuzz` changes valid bytes and hands them to the
//! targets.

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
    /// Parses bytes, and returns whether they were accepted. Panics if the value differs from the
    /// bytes.
    pub accepts: fn(&[u8]) -> bool,
    /// Bytes that it may allocate in addition to a multiple of the length of its input.
    pub overhead: usize,
}

/// Draws a number below a bound.
pub type Draw<'a> = dyn FnMut(usize) -> usize + 'a;

/// The overhead of most targets.
pub(super) const OVERHEAD: usize = 64 << 10;

/// All parsers of bytes from elsewhere.
pub fn targets() -> Vec<Target> {
    let message = Target { name: "message", example: example_message, accepts: accepts_message, overhead: OVERHEAD };
    [message].into_iter().chain(mesh::fuzz::targets()).chain(checkpoint::fuzz::targets()).collect()
}

/// Bytes as timely delivers them. An allocation of bytes is aligned for words on all platforms.
pub(super) fn received(bytes: &[u8]) -> Bytes {
    BytesMut::from(bytes.to_vec()).freeze()
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
        3 => Payload::Bytes(draw(9), vec![7; draw(40)].into()),
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
fn accepts_message(bytes: &[u8]) -> bool {
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
    assert_eq!(again, bytes);
    true
}
