//! torch's `.pt`: its older form, pickles one after the other, and the newer one, a zip archive.

use std::collections::HashMap;
use std::path::Path;

use super::array::bytes_of_shape;
use super::input::Input;
use super::packed::{self, Archive};
use super::pickle::{Machine, Node, Payload, Pickle, StoredArray, Tensor, Value, read_file};
use super::{FormatError, npz};
use crate::dataset::budget::Budget;

/// The start of the older form: a pickle of torch's magic number.
const MAGIC: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
const REMEDY: &str = "save it again with `torch.save`, or the arrays with `numpy.savez`";

/// Reads what `torch.save` wrote: values, numpy arrays and dense tensors. Nothing in the file is
/// run.
pub fn read_torch(path: &Path) -> Result<Pickle, FormatError> {
    let input = Input::open(path)?;
    if input.start().starts_with(packed::MAGIC) {
        return read_zip(input);
    }
    let (bytes, reserved) = read_file(input)?;
    let old = bytes.starts_with(MAGIC);
    let mut machine = Machine::new(bytes, reserved, path);
    if !old {
        let root = machine.run()?;
        return finish(machine, root, &HashMap::new());
    }
    machine.at = MAGIC.len();
    let version = machine.run()?;
    if !matches!(machine.nodes[version as usize], Node::Int(1001)) {
        return Err(machine.wrong("an unknown version", "version 1001 of torch's older form"));
    }
    machine.run()?;
    let root = machine.run()?;
    let keys = machine.run()?;
    let storages = read_storages(&mut machine, keys)?;
    finish(machine, root, &storages)
}

/// The storages that follow the pickles of the older form: for each its length and its elements.
fn read_storages(machine: &mut Machine, keys: u32) -> Result<HashMap<String, Payload>, FormatError> {
    let mut sizes = HashMap::new();
    for node in &machine.nodes {
        if let Node::Tensor(tensor) = node {
            sizes.insert(tensor.key.clone(), tensor.element.size);
        }
    }
    let keys = match &machine.nodes[keys as usize] {
        Node::List(keys) => keys.clone(),
        _ => return Err(machine.wrong("no list", "the keys of the storages")),
    };
    let mut storages = HashMap::new();
    for key in keys {
        let key = machine.text(key).map(|key| String::from_utf8_lossy(key).into_owned());
        let size = key.as_ref().and_then(|key| sizes.get(key)).copied();
        let Some((key, size)) = key.zip(size) else {
            return Err(machine.wrong("a storage of an unknown type", "one that a tensor names"));
        };
        let count = machine.unsigned(8)?;
        let len = usize::try_from(count).ok().and_then(|count| count.checked_mul(size)).unwrap_or(usize::MAX);
        let start = machine.at;
        machine.take(len)?;
        storages.insert(key, Payload { source: 0, start, len });
    }
    Ok(storages)
}

fn read_zip(input: Input) -> Result<Pickle, FormatError> {
    let path = &input.path().to_owned();
    let mut archive = Archive::of(input)?;
    let name = archive.names().find(|name| name.ends_with("/data.pkl") || *name == "data.pkl").map(str::to_owned);
    let Some(name) = name else {
        let remedy = if archive.names().any(|name| name.ends_with(".npy")) { npz::REMEDY } else { REMEDY };
        return Err(FormatError::content(path, "an archive without `data.pkl`", "torch's archive", remedy));
    };
    let folder = name.trim_end_matches("data.pkl").to_owned();
    let (bytes, reserved) = archive.read(&name)?.unwrap_or_default();
    let big = archive.read(&format!("{folder}byteorder"))?.is_some_and(|(order, _)| order == b"big");
    let mut machine = Machine::new(bytes, reserved, &archive.place(&name));
    let root = machine.run()?;
    let mut keys: Vec<String> = vec![];
    for node in &mut machine.nodes {
        if let Node::Tensor(tensor) = node {
            tensor.element.big_endian = big;
            keys.push(tensor.key.clone());
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let mut storages = HashMap::new();
    for key in keys {
        let Some((bytes, reserved)) = archive.read(&format!("{folder}data/{key}"))? else {
            let found = format!("no entry `{folder}data/{key}`");
            return Err(FormatError::content(path, found, "one for each storage", REMEDY));
        };
        storages.insert(key, Payload { source: machine.sources.len() as u32, start: 0, len: bytes.len() });
        machine.allow_copies_of(bytes.len());
        machine.sources.push(bytes);
        machine.reserved.push(reserved);
    }
    finish(machine, root, &storages)
}

/// Turns tensors into arrays.
fn finish(mut machine: Machine, root: u32, storages: &HashMap<String, Payload>) -> Result<Pickle, FormatError> {
    for n in 0..machine.nodes.len() {
        let Node::Tensor(tensor) = &machine.nodes[n] else { continue };
        // Offsets of the elements; two lists of them exist while they are computed.
        let held = storages.get(&tensor.key).map_or(0, |storage| storage.len);
        let bytes = bytes_of_shape(&tensor.shape, tensor.element).map_or(0, |bytes| bytes.min(held));
        let order = Budget::current().reserve_for::<[usize; 2]>(bytes / tensor.element.size);
        let _order = order.map_err(|over| over.reading(&machine.path))?;
        let placed = storages.get(&tensor.key).and_then(|storage| place(tensor, *storage));
        let Some((array, order)) = placed else {
            let found = format!("a tensor of shape {:?} in a storage that does not hold it", tensor.shape);
            return Err(FormatError::content(&machine.path, found, "a dense tensor", REMEDY));
        };
        let array = match order {
            None => array,
            Some(order) => gather(&mut machine, array, &order)?,
        };
        machine.nodes[n] = Node::Array(Some(Box::new(array)));
    }
    Ok(machine.finish(root))
}

/// The array of a tensor, and the offsets of its elements in the storage unless they are
/// contiguous.
fn place(tensor: &Tensor, storage: Payload) -> Option<(StoredArray, Option<Vec<usize>>)> {
    let Tensor { element, offset, shape, strides, .. } = tensor;
    let held = storage.len / element.size;
    let count = bytes_of_shape(shape, *element)? / element.size;
    // A stride of zero could blow a small storage up to any size.
    if count > held {
        return None;
    }
    let axes = || shape.iter().zip(strides).filter(|&(&length, _)| length > 1);
    let last = axes().try_fold(*offset, |last, (length, stride)| last.checked_add(stride.checked_mul(length - 1)?))?;
    if count > 0 && last >= held {
        return None;
    }
    let follow = |axes: &[(&usize, &usize)]| {
        let mut expected = 1usize;
        axes.iter().all(|&(&length, &stride)| {
            let fits = stride == expected;
            expected = expected.wrapping_mul(length);
            fits
        })
    };
    let mut long: Vec<_> = axes().collect();
    let fortran = shape.len() == 2 && follow(&long);
    long.reverse();
    let rows = count == 0 || follow(&long);
    let fortran = fortran && !rows;
    let start = storage.start + if count == 0 { 0 } else { offset * element.size };
    let bytes = Payload { source: storage.source, start, len: count * element.size };
    let array = StoredArray { shape: shape.clone(), element: *element, fortran, bytes };
    if rows || fortran {
        return Some((array, None));
    }
    let mut order = vec![0usize];
    for (&length, &stride) in shape.iter().zip(strides) {
        order = order.iter().flat_map(|&at| (0..length).map(move |n| at + n * stride)).collect();
    }
    Some((array, Some(order)))
}

fn gather(machine: &mut Machine, array: StoredArray, order: &[usize]) -> Result<StoredArray, FormatError> {
    machine.charge_copy(array.bytes.len)?;
    machine.charge_memory(array.bytes.len as u64)?;
    let size = array.element.size;
    let source = &machine.sources[array.bytes.source as usize][array.bytes.start..];
    let bytes: Vec<u8> = order.iter().flat_map(|&at| &source[at * size..][..size]).copied().collect();
    let payload = Payload { source: machine.sources.len() as u32, start: 0, len: bytes.len() };
    machine.sources.push(bytes);
    Ok(StoredArray { bytes: payload, ..array })
}

/// An array of a dict that torch or pickle saved.
pub(crate) fn array_of<'a>(value: Value<'a>, name: &str) -> Option<super::Array<'a>> {
    value.get(name).and_then(Value::as_array)
}
