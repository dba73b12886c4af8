//! Read-only arrays: owned, or part of a memory-mapped file.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

/// A memory-mapped file: pages are read on first use, and dropped when memory is short.
#[derive(Debug)]
pub struct Mapped(Mmap);

impl Mapped {
    /// Maps a file as long as it is now. It must not change while it is mapped.
    pub fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes are only read, and every bit pattern of the types that they are read as
        // is a value. What maps cannot exclude is another program that writes to the file
        // meanwhile. Files of a store never change: a store is written under another name and then
        // renamed, and what was there before keeps its pages until it is unmapped.
        Ok(Self(unsafe { Mmap::map(file)? }))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A read-only array: a vector, or part of a mapped file.
///
/// ```
/// use isvd_kernel::Array;
/// let array = Array::from(vec![1u16, 2, 3]);
/// assert_eq!(array[1..], [2, 3]);
/// ```
#[derive(Clone)]
pub struct Array<T>(Kind<T>);

#[derive(Clone)]
enum Kind<T> {
    Owned(Vec<T>),
    Mapped { file: Arc<Mapped>, bytes: Range<usize> },
}

impl<T: Pod> Array<T> {
    /// A part of a mapped file; `None` if it is out of bounds, misaligned, or no whole number of
    /// entries.
    pub fn mapped(file: &Arc<Mapped>, bytes: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(file.get(bytes.clone())?).ok()?;
        Some(Self(Kind::Mapped { file: Arc::clone(file), bytes }))
    }

    /// The entries as a vector; those of a file are copied.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Kind::Owned(entries) => entries,
            Kind::Mapped { .. } => self.to_vec(),
        }
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Kind::Owned(entries) => entries,
            Kind::Mapped { file, bytes } => bytemuck::cast_slice(&file[bytes.clone()]),
        }
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(entries: Vec<T>) -> Self {
        Self(Kind::Owned(entries))
    }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Pod + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_mapped_array_is_what_the_file_holds() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytemuck::cast_slice(&[1u32, 2, 3, 4])).unwrap();
        let map = Arc::new(Mapped::new(&file).unwrap());
        let part = Array::<u32>::mapped(&map, 4..12).unwrap();
        assert_eq!(part, Array::from(vec![2, 3]));
        assert_eq!(Array::<u32>::mapped(&map, 16..16).unwrap().len(), 0);
        for outside in [12..20, 17..17, 2..6, 0..3] {
            assert!(Array::<u32>::mapped(&map, outside.clone()).is_none(), "{outside:?}");
        }
        drop(map);
        assert_eq!(part[1], 3, "an array keeps its file mapped");
    }
}
