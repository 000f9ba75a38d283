//! Reads many ranges of a storage in one call.

use std::io;
use std::ops::Range;

use super::file;
use super::storage::{ReadAt, read_full_at};
use super::tuning::GAP;
use crate::error::invariant::{IN_BUFFER, Invariant, to_u64, to_usize};

/// The most bytes read at a time to get several nearby ranges.
const SPAN: u64 = 1 << 20;

/// The number of bytes in a range, which does not end before its start.
#[inline]
pub(crate) fn len(range: &Range<u64>) -> u64 {
    range.end - range.start
}

/// Returns whether a range starts inside or shortly after `near`, so that they can be
/// read together.
#[inline]
pub(crate) fn is_near(near: &Range<u64>, range: &Range<u64>) -> bool {
    near.start <= range.start
        && range.start.checked_sub(near.end).is_none_or(|gap| gap <= to_u64(GAP))
        && range.end.max(near.end) - near.start <= SPAN
}

/// The most ranges read by one call, which bounds the list of them.
const BATCH: usize = 1 << 14;

/// Splits ranges, and the buffer that they fill in turn, into parts for one call each: none
/// if the ranges are empty.
pub(crate) fn batches(
    mut ranges: impl Iterator<Item = Range<u64>>,
    mut buffer: &mut [u8],
) -> impl Iterator<Item = (Vec<Range<u64>>, &mut [u8])> {
    std::iter::from_fn(move || {
        if buffer.is_empty() {
            return None;
        }
        let batch: Vec<_> = ranges.by_ref().take(BATCH).collect();
        let all = std::mem::take(&mut buffer);
        let (own, rest) = all.split_at_mut(to_usize(batch.iter().map(len).sum()));
        buffer = rest;
        (!batch.is_empty()).then_some((batch, own))
    })
}

/// Reads ranges in order, and nearby ranges together.
pub(crate) fn read_in_order(
    from: &(impl ReadAt + ?Sized),
    ranges: &[Range<u64>],
    buffer: &mut [u8],
) -> io::Result<()> {
    check_len(ranges, buffer.len())?;
    let (mut ranges, mut buffer) = (ranges, buffer);
    while let Some(first) = ranges.first() {
        let (count, span) = count_near(ranges, first.clone());
        let (near, rest) = ranges.split_at(count);
        buffer = read_together(from, near, span, buffer)?;
        ranges = rest;
    }
    Ok(())
}

/// Checks that no range ends before its start, and that a buffer has the length of
/// all ranges together.
#[inline]
pub(crate) fn check_len(ranges: &[Range<u64>], found: usize) -> io::Result<()> {
    let text = if let Some(Range { start, end }) = ranges.iter().find(|r| r.start > r.end) {
        format!("the range {start}..{end} ends before its start")
    } else {
        let needed = ranges.iter().try_fold(0_u64, |sum, range| sum.checked_add(len(range)));
        if needed.is_some_and(|needed| u64::try_from(found) == Ok(needed)) {
            return Ok(());
        }
        let needed = needed.map_or("at least 2⁶⁴".to_owned(), |needed| needed.to_string());
        format!("the buffer has {found} bytes, but the ranges have {needed}")
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// How many of the first ranges are read together, and the range that contains them.
#[inline]
fn count_near(ranges: &[Range<u64>], first: Range<u64>) -> (usize, Range<u64>) {
    let mut span = first;
    for (count, range) in ranges.iter().enumerate().skip(1) {
        if !is_near(&span, range) {
            return (count, span);
        }
        span.end = span.end.max(range.end);
    }
    (ranges.len(), span)
}

/// Reads nearby ranges, which are inside `span`, into the start of `buffer`, and returns
/// the rest of it.
fn read_together<'b>(
    from: &(impl ReadAt + ?Sized),
    near: &[Range<u64>],
    span: Range<u64>,
    buffer: &'b mut [u8],
) -> io::Result<&'b mut [u8]> {
    if near.len() == 1 {
        let (own, rest) = buffer.split_at_mut(to_usize(len(&span)));
        read_exact_at(from, own, span.start)?;
        return Ok(rest);
    }
    let mut window = vec![0; to_usize(len(&span))];
    read_exact_at(from, &mut window, span.start)?;
    let mut buffer = buffer;
    for range in near {
        let start = to_usize(range.start - span.start);
        let (own, rest) = buffer.split_at_mut(to_usize(len(range)));
        own.copy_from_slice(window.get(start..start + own.len()).invariant(IN_BUFFER));
        buffer = rest;
    }
    Ok(buffer)
}

/// Fills a buffer with the bytes at an offset.
pub(super) fn read_exact_at(
    from: &(impl ReadAt + ?Sized),
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<()> {
    let found = read_full_at(from, buffer, offset)?;
    if found == buffer.len() {
        return Ok(());
    }
    Err(file::short_file(offset, buffer.len(), found, from.current_size().ok()).into())
}

#[cfg(test)]
// Lists of one range are meant.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// 3 MiB of bytes that count, and the reads of them.
    #[derive(Default)]
    struct Counting(Mutex<Vec<(u64, usize)>>);

    const SIZE: u64 = 3 << 20;

    impl ReadAt for Counting {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.0.lock().unwrap().push((offset, buffer.len()));
            let bytes = (offset..SIZE).map(|at| u8::try_from(at % 251).unwrap());
            Ok(buffer.iter_mut().zip(bytes).map(|(to, from)| *to = from).count())
        }

        fn size(&self) -> io::Result<u64> {
            Ok(SIZE)
        }
    }

    #[test]
    fn batches_fill_the_buffer_and_end() {
        let bytes = (0..40_000).map(|at| at..at + 1);
        let mut buffer = vec![0; 40_000];
        let found: Vec<_> =
            batches(bytes, &mut buffer).map(|(ranges, part)| (ranges.len(), part.len())).collect();
        assert_eq!(found, [(BATCH, BATCH), (BATCH, BATCH), (7232, 7232)]);
        // No rows of columns, of which there may be many.
        let mut walked = 0;
        let columns = (0..40_000).inspect(|_| walked += 1).map(|at| at..at);
        assert!(batches(columns, &mut []).next().is_none());
        assert_eq!(walked, 0);
    }

    #[track_caller]
    fn assert_reads(ranges: &[Range<u64>], reads: &[(u64, usize)]) {
        let storage = Counting::default();
        let mut bytes = vec![0; to_usize(ranges.iter().map(len).sum())];
        storage.read_ranges_at(ranges, &mut bytes).unwrap();
        let expected = ranges.iter().cloned().flatten().map(|at| u8::try_from(at % 251).unwrap());
        assert!(bytes.into_iter().eq(expected));
        assert_eq!(*storage.0.lock().unwrap(), reads);
    }

    #[test]
    fn near_ranges_are_read_together() {
        let gap = to_u64(GAP);
        assert_reads(&[], &[]);
        assert_reads(&[5..9], &[(5, 4)]);
        assert_reads(&[5..9, 9..10, 10 + gap..11 + gap], &[(5, 6 + GAP)]);
        assert_reads(&[5..9, 10 + gap..11 + gap], &[(5, 4), (10 + gap, 1)]);
        assert_reads(&[0..1, 1..SPAN, SPAN..SPAN + 1], &[(0, 1 << 20), (SPAN, 1)]);
        assert_reads(&[5..99, 6..8, 90..100, 95..96], &[(5, 95)]);
    }

    #[test]
    fn ranges_are_read_in_their_order() {
        assert_reads(&[9..10, 5..9, 5..9], &[(9, 1), (5, 4)]);
        assert_reads(&[7..7, 0..SIZE], &[(0, to_usize(SIZE))]);
    }

    #[test]
    fn ranges_outside_and_wrong_buffers_are_errors() {
        let storage = Counting::default();
        let error = storage.read_ranges_at(&[SIZE - 1..SIZE + 1], &mut [0; 2]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let text = "the elements end at byte 3145729 and the file at 3145728";
        assert!(error.to_string().starts_with(text), "{error}");
        let error = storage.read_ranges_at(&[0..3, 5..6], &mut [0; 3]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "the buffer has 3 bytes, but the ranges have 4");
        let error = storage.read_ranges_at(&[0..u64::MAX, 0..2], &mut []).unwrap_err();
        assert_eq!(error.to_string(), "the buffer has 0 bytes, but the ranges have at least 2⁶⁴");
        let reversed = Range { start: 3, end: 2 };
        let error = storage.read_ranges_at(&[reversed, 0..1], &mut [0]).unwrap_err();
        assert_eq!(error.to_string(), "the range 3..2 ends before its start");
    }
}
