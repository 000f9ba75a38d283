//! Rows of several sources, one after another.

use std::ops::Range;
use std::slice;

use npymap::loader::RowSource;
use npymap::{DType, Error, ErrorKind, Result};

/// Several sources as one.
pub(crate) struct Joined<S> {
    parts: Vec<S>,
    /// The number of rows up to the end of each part.
    ends: Vec<usize>,
    dtype: DType,
    shape: Vec<usize>,
}

impl<S: RowSource> Joined<S> {
    /// Joins sources, or says why they cannot be joined.
    pub(crate) fn new(parts: Vec<S>) -> std::result::Result<Joined<S>, String> {
        let first = parts.first().ok_or("nothing to stack, expected at least one array")?;
        let (dtype, mut shape) = (first.dtype().clone(), first.shape().to_vec());
        let (mut ends, mut count) = (Vec::with_capacity(parts.len()), 0_usize);
        for (number, part) in parts.iter().enumerate() {
            let has_same_rows = part.shape().get(1..) == shape.get(1..);
            if *part.dtype() != dtype || !has_same_rows {
                return Err(format!(
                    "array {number} has dtype {} and shape {:?}, the first {dtype} and {shape:?}: all \
                     need the same dtype and the same axes after the first",
                    part.dtype(),
                    part.shape(),
                ));
            }
            count = count.checked_add(part.row_count()).ok_or("more rows than can be counted")?;
            ends.push(count);
        }
        if let Some(len) = shape.first_mut() {
            *len = count;
        }
        Ok(Joined { parts, ends, dtype, shape })
    }
}

impl<S: RowSource> RowSource for Joined<S> {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read_ranges(&self, ranges: &[Range<usize>], mut out: &mut [u8]) -> Result<()> {
        let row = self.row_len() * self.dtype.itemsize();
        for range in ranges {
            let mut start = range.start;
            while start < range.end {
                let number = self.ends.partition_point(|end| *end <= start);
                let (Some(part), Some(end)) = (self.parts.get(number), self.ends.get(number))
                else {
                    let text = format!("row {start} of {}", self.row_count());
                    return Err(Error::new(ErrorKind::OutOfBounds, text));
                };
                let (first, stop) = (end - part.row_count(), range.end.min(*end));
                let Some((own, rest)) = out.split_at_mut_checked((stop - start) * row) else {
                    return Err(Error::new(ErrorKind::ShapeMismatch, "out is too short"));
                };
                let own_rows = start - first..stop - first;
                part.read_ranges(slice::from_ref(&own_rows), own)?;
                (out, start) = (rest, stop);
            }
        }
        Ok(())
    }
}
