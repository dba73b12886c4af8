//! A panel whose rows lie in several places.

use std::ops::Range;

use super::{Buffer, Panel, stride};

/// All rows of a panel, in consecutive segments as their owners hold them.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    /// Columns of the panel.
    pub cols: usize,
    /// First row and entries of each segment, in order; rows are [`stride`]`(cols)` entries apart.
    pub parts: Vec<(usize, &'a [f32])>,
}

impl<'a> Segments<'a> {
    /// A panel in one segment.
    pub fn whole(panel: Panel<'a>) -> Self {
        Segments { cols: panel.cols(), parts: vec![(0, panel.data())] }
    }

    /// Rows of the panel.
    pub fn rows(&self) -> usize {
        self.parts.last().map_or(0, |(first, data)| first + data.len() / stride(self.cols).max(1))
    }

    /// All rows in one piece: the only segment, or a copy of all of them in `buffer`.
    pub fn joined<'s>(&self, buffer: &'s mut Buffer) -> &'s [f32]
    where
        'a: 's,
    {
        self.joined_range(&(0..self.rows()), buffer)
    }

    /// Consecutive rows in one piece: part of a segment, or a copy in `buffer`.
    pub(super) fn joined_range<'s>(&self, rows: &Range<usize>, buffer: &'s mut Buffer) -> &'s [f32]
    where
        'a: 's,
    {
        self.inside(rows).unwrap_or_else(|| {
            buffer.resize(rows.len() * stride(self.cols));
            self.copy(rows, buffer);
            buffer
        })
    }

    pub(super) fn assert_consecutive(&self, rows: usize) {
        let stride = stride(self.cols).max(1);
        let mut next = 0;
        for (first, data) in &self.parts {
            assert!(
                *first == next && data.len() % stride == 0,
                "segments of a panel are whole rows that follow each other"
            );
            next += data.len() / stride;
        }
        assert_eq!(next, rows, "rows of the panel and columns of the matrix");
    }

    /// The rows of a range, if one segment has them all.
    fn inside(&self, range: &Range<usize>) -> Option<&'a [f32]> {
        let stride = stride(self.cols);
        let part = self.parts.partition_point(|(first, _)| *first <= range.start).checked_sub(1)?;
        let (first, data) = self.parts[part];
        data.get((range.start - first) * stride..(range.end - first) * stride)
    }

    /// Copies the rows of a range from their segments.
    fn copy(&self, range: &Range<usize>, out: &mut [f32]) {
        let stride = stride(self.cols);
        for (first, data) in &self.parts {
            let rows = range.start.max(*first)..range.end.min(first + data.len() / stride);
            if rows.start < rows.end {
                let from = &data[(rows.start - first) * stride..(rows.end - first) * stride];
                out[(rows.start - range.start) * stride..(rows.end - range.start) * stride].copy_from_slice(from);
            }
        }
    }
}
