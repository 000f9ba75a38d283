//! The ranges that are read ahead of batches, and those that are requested for them.

use super::*;
use crate::array::MappedArray;
use crate::dtype::DType;
use crate::loader::{Shard, Tail};
use crate::source::tuning::IN_MEMORY;

/// Takes all batches of a sampler, and checks that their rows were queued
/// before, in blocks that are queued once. Returns the numbers of rows that
/// were queued but not taken yet.
fn rows_ahead(sampler: &Sampler, size: usize) -> Vec<usize> {
    let mut ahead = Ahead::default();
    let (mut queued, mut taken, mut waiting) = (Vec::new(), 0, Vec::new());
    let mut starts = Vec::new();
    let mut sampler = sampler.clone();
    while sampler.remaining() > 0 {
        for (start, blocks) in ahead.next_blocks(&sampler) {
            starts.push(start);
            queued.extend(blocks.into_iter().flatten());
        }
        let batch = sampler.next_batch(size);
        assert!(batch.iter().all(|row| queued.contains(row)), "{batch:?}");
        waiting.push(queued.len() - taken);
        taken += batch.len();
    }
    assert!(starts.is_sorted(), "{starts:?}");
    let count = queued.len();
    queued.sort_unstable();
    queued.dedup();
    assert_eq!(queued.len(), count, "nothing is queued twice");
    waiting
}

#[test]
fn blocks_are_queued_once_before_their_rows_and_in_bounded_number() {
    for (len, block, buffer) in [(1000, 10, 5), (1003, 10, 7), (30, 100, 4), (640, 64, 1)] {
        let sampler = Sampler::blocks(len, block, 3).buffer(buffer).unwrap();
        // Batches that end where groups end contain no rows of the next group.
        let size = if len % 10 == 0 { 10 } else { 1 };
        let waiting = rows_ahead(&sampler, size);
        assert!(waiting.iter().all(|rows| *rows <= 2 * block * buffer), "{waiting:?}");
        assert!(waiting[0] >= len.min(2 * (block - 1) * buffer), "{waiting:?}");
    }
}

#[test]
fn shares_and_resumed_epochs_queue_only_their_blocks() {
    let shard = Shard { rank: 1, world_size: 4, ..Shard::default() };
    let sampler = Sampler::blocks(1600, 10, 3).buffer(4).unwrap();
    let shard = sampler.clone().shard(shard).unwrap().tail(Tail::Drop);
    assert!(rows_ahead(&shard, 1).iter().all(|rows| *rows <= 80));
    let mut ahead = Ahead::default();
    let mut resumed = sampler.clone();
    resumed.seek(1590);
    assert_eq!(ahead.next_blocks(&resumed).len(), 1, "the last group");
    assert!(ahead.next_blocks(&resumed).is_empty());
}

#[test]
fn other_orders_and_huge_groups_queue_nothing() {
    let huge = Sampler::blocks(usize::MAX, 1, 1).buffer(usize::MAX).unwrap();
    for sampler in [Sampler::shuffled(100, 1), Sampler::sequential(100), huge] {
        assert!(Ahead::default().next_blocks(&sampler).is_empty());
    }
}

#[test]
fn rows_are_requested_from_the_array_that_has_them() {
    let array = |len: usize| {
        let array = MappedArray::zeros(&DType::of::<u8>(), &[len, 4]).unwrap();
        array.into_read_only().unwrap().rows().unwrap().rows_ahead()
    };
    let mut concat = RowsAhead::concat([(0, array(10)), (10, array(1)), (11, array(9))]);
    let each = Duration::from_nanos(IN_MEMORY);
    assert_eq!(concat.request(vec![19, 0, 10, 9, 11, 30]), 5 * each);
    concat.parts[2].is_streamed = true;
    assert_eq!(concat.request(vec![19, 0, 10, 9, 11]), 3 * each);
    // An array in Fortran order has no part.
    let gaps = RowsAhead::concat([(5, array(10)), (20, array(5))]);
    assert_eq!(gaps.request(vec![0, 4, 5, 14, 15, 19, 20, 24, 25]), 4 * each);
    assert_eq!(concat.request(vec![]), Duration::ZERO);
    assert_eq!(concat.windows(2).request(vec![0]), Duration::ZERO);
    assert!(!array(1).was_cold());
}

#[test]
fn epochs_are_announced_if_they_need_much_of_an_array() {
    let array = MappedArray::zeros(&DType::of::<u8>(), &[64, 1024]).unwrap();
    let rows = array.into_read_only().unwrap().rows().unwrap();
    for (count, expected) in [(64, true), (4, true), (3, false), (0, false)] {
        let mut ahead = rows.rows_ahead();
        ahead.expect(count, (0, 1), platform::available_memory());
        let expected = expected && cfg!(target_os = "linux");
        assert_eq!(ahead.parts[0].is_streamed, expected, "{count}");
    }
    // Each of four shards has a sixteenth.
    let mut ahead = rows.rows_ahead();
    ahead.expect(1, (0, 4), platform::available_memory());
    assert_eq!(ahead.parts[0].is_streamed, cfg!(target_os = "linux"));
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_fit_are_read_whole() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let geometry = Geometry {
        offset: 0,
        shape: [1000, 100].into_iter().collect(),
        strides: [400, 4].into_iter().collect(),
    };
    let mut ahead = RowsAhead::opened(file, 128, &geometry, 4);
    ahead.expect(10, (0, 1), platform::available_memory());
    assert!(!ahead.parts[0].is_streamed, "few rows");
    ahead.expect(1000, (1, 4), platform::available_memory());
    assert!(ahead.parts[0].is_streamed);
    let Place::Opened(opened) = &ahead.parts[0].place else { panic!("a file") };
    assert_eq!(opened.extent, 128..400_128);
    assert!(!opened.planner.is_interested(false), "not before the second batch");
    // The time of each wait is limited, and then the reading thread may still use its queue.
    ahead.wait(true, (1, 4));
    while opened.planner.is_interested(false) {
        ahead.wait(false, (1, 4));
    }
    assert_eq!(opened.queued(), 0);
    let (all, queue) = (0..1000, Arc::default());
    assert_eq!(ahead.queue(std::slice::from_ref(&all), &queue), 0, "no block is read again");
}

#[test]
#[expect(clippy::single_range_in_vec_init, reason = "there is one range")]
fn rows_are_ranges_of_bytes_of_their_file() {
    let file = || tempfile::tempfile().unwrap();
    let geometry = |shape: &[usize], strides: &[isize]| Geometry {
        offset: 7,
        shape: shape.iter().copied().collect(),
        strides: strides.iter().copied().collect(),
    };
    let rows = RowsAhead::opened(file(), 128, &geometry(&[100, 10_000], &[40_000, 4]), 4);
    let concat = RowsAhead::concat([(0, rows.clone()), (100, rows.clone())]);
    let [first, second] = &concat.parts[..] else { panic!("two parts") };
    assert_eq!(first.bytes(&[0..2, 99..150], 0), [7..80_007, 3_960_007..4_000_007]);
    assert_eq!(second.bytes(&[0..2, 99..102], 0), [7..80_007]);
    assert!(first.bytes(&[100..200], 0).is_empty());
    assert_eq!(first.bytes(&[0..1], rows.windows(3).extra), [7..120_007]);
    // Rows in Fortran order are scattered over the file.
    let columns = RowsAhead::opened(file(), 0, &geometry(&[100, 10], &[4, 400]), 4);
    assert!(columns.parts.is_empty());
    let scalar = RowsAhead::opened(file(), 0, &geometry(&[], &[]), 4);
    assert!(scalar.parts.is_empty());
}

#[test]
fn rows_in_a_range_of_bytes_are_those_with_bytes_in_it() {
    for (step, span) in [(10, 10), (10, 7), (10, 25), (1, 1), (1, 4), (16, 16)] {
        let strides = [step, 1].into_iter().collect();
        let geometry = Geometry { offset: 3, shape: [20, 1].into_iter().collect(), strides };
        let file = tempfile::tempfile().unwrap();
        let mut part = RowsAhead::opened(file, 0, &geometry, 1).parts.remove(0);
        part.span = span;
        part.rows = 100..120;
        let end = part.end_before(120);
        for start in 3..end {
            for end in start + 1..=end {
                let has_bytes = |row: &u64| {
                    part.start_of(*row) < end && part.start_of(*row) + part.span > start
                };
                let rows: Vec<u64> = (100..120).filter(has_bytes).collect();
                let found = part.rows_in(&(start..end));
                let found: Vec<u64> = (found.start..found.end.min(120)).collect();
                assert_eq!(found, rows, "{start}..{end} of rows of {span} bytes, {step} apart");
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod sequence {
    use super::*;

    const ROW: u64 = 1 << 20;
    const WINDOW: u64 = 128 << 20;

    /// Arrays of rows of 1 MiB, in files that are too short for the thread to read them.
    fn source(lens: &[usize]) -> RowsAhead {
        let mut first = 0;
        let parts = lens.iter().map(|&len| {
            let strides = [usize::try_from(ROW).unwrap(), 1].map(usize::cast_signed);
            let shape = [len, strides[0].unsigned_abs()];
            let (shape, strides) = (shape.into_iter().collect(), strides.into_iter().collect());
            let geometry = Geometry { offset: 0, shape, strides };
            let ahead = RowsAhead::opened(tempfile::tempfile().unwrap(), 128, &geometry, 1);
            let start = first;
            first += len;
            (start, ahead)
        });
        RowsAhead::concat(parts.collect::<Vec<_>>())
    }

    fn until(end: u64) -> Sequence {
        Sequence { end, ..Sequence::default() }
    }

    /// Queues what batches of some rows need, and checks that each batch is queued before it
    /// is taken, in order. Returns all that was queued.
    fn queued(source: &RowsAhead, rows: Range<u64>, size: u64) -> Vec<Piece> {
        let (parts, queue) = (&source.parts, Arc::default());
        let mut sequence = until(rows.end);
        let mut all: Vec<Piece> = Vec::new();
        for start in rows.clone().step_by(usize::try_from(size).unwrap()) {
            let batch = start..(start + size).min(rows.end);
            // A thread may hold the lock of the queue.
            for _ in 0..100 {
                sequence.queue(parts, &batch, WINDOW, &queue);
            }
            for piece in &sequence.pieces {
                let before = all.last().map_or(0, |last| last.added);
                if piece.added > before {
                    assert_eq!(piece.added - piece.nbytes, before, "in order, and nothing twice");
                    all.push(piece.clone());
                }
            }
            assert!(all.last().unwrap().rows.end >= batch.end, "{batch:?}: {:?}", all.last());
            assert!(sequence.pieces.len() <= PIECES);
            let ahead: u64 = sequence.pieces.iter().map(|piece| piece.nbytes).sum();
            assert!(ahead <= WINDOW + size * ROW + PIECE, "{ahead}");
        }
        all
    }

    #[test]
    fn each_row_is_queued_once_before_its_batch() {
        let source = source(&[300]);
        for (rows, size) in [(0..300, 7), (100..300, 1), (0..50, 64), (0..300, 300), (299..300, 1)]
        {
            let mut at = rows.start * ROW;
            for Piece { rows: own, nbytes, .. } in queued(&source, rows.clone(), size) {
                let end = at + nbytes;
                assert_eq!(own, at / ROW..end.div_ceil(ROW), "{rows:?}");
                at = end;
                assert!((at + 128).is_multiple_of(PIECE) || at == rows.end * ROW, "{rows:?}");
            }
            assert_eq!(at, rows.end * ROW, "{rows:?}");
        }
    }

    #[test]
    fn files_are_opened_when_they_are_needed_soon() {
        let source = source(&[1; 200]);
        let pieces = queued(&source, 100..180, 3).into_iter();
        let expected = (100..180).map(|row| (row..row + 1, ROW));
        assert!(pieces.map(|piece| (piece.rows, piece.nbytes)).eq(expected));
        let mut sequence = until(200);
        sequence.queue(&source.parts, &(0..1), WINDOW, &Arc::default());
        assert!(sequence.pieces.len() <= PIECES);
    }

    #[test]
    fn rows_before_a_part_need_nothing_of_it_yet() {
        // Rows 0 to 4 are those of an array in Fortran order.
        let mut source = RowsAhead::concat([(5, source(&[10]))]);
        source.parts[0].start = 64;
        let (mut sequence, queue) = (until(15), Arc::default());
        for _ in 0..100 {
            sequence.queue(&source.parts, &(0..2), 0, &queue);
        }
        assert_eq!(sequence.pieces.len(), 1);
        assert_eq!((sequence.added_before(2), sequence.added_before(6)), (None, Some(10 * ROW)));
    }

    #[test]
    fn rows_that_were_taken_are_not_queued() {
        let source = source(&[1; 200]);
        let (mut sequence, queue) = (until(200), Arc::default());
        for first in (0..192).step_by(64) {
            for _ in 0..100 {
                sequence.queue(&source.parts, &(first..first + 64), WINDOW, &queue);
            }
            let rows: Vec<_> = sequence.pieces.iter().map(|piece| piece.rows.start).collect();
            assert_eq!(rows, (first..first + 32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_is_queued_after_the_last_row() {
        let source = source(&[10, 20]);
        for rows in [0..0, 30..30, 40..50] {
            let mut sequence = until(rows.end);
            let queue = Arc::default();
            sequence.queue(&source.parts, &source.rows_of(rows.start, 4), WINDOW, &queue);
            assert!(sequence.pieces.is_empty(), "{rows:?}");
            assert_eq!(sequence.added_before(rows.end), None, "{rows:?}");
        }
    }

    #[test]
    fn batches_wait_for_their_last_row() {
        let source = source(&[40, 40]);
        let mut sequence = until(80);
        // Rows 10 to 31 and a part of the next one, and the rest of the first file; the second
        // file is in memory up to row 59; its rest was not queued.
        let cut = PIECE - 128;
        for (part, bytes, added) in
            [(0, 10 * ROW..cut, 5), (0, cut..40 * ROW, 6), (1, 0..20 * ROW, 7)]
        {
            let rows = source.parts[part].rows_in(&bytes);
            sequence.pieces.push_back(Piece { rows, nbytes: bytes.end - bytes.start, added });
        }
        for (end, expected) in [
            (10, None),
            (11, Some(5)),
            (31, Some(5)),
            (32, Some(6)),
            (40, Some(6)),
            (41, Some(7)),
            (60, Some(7)),
            (90, Some(7)),
        ] {
            assert_eq!(sequence.added_before(end), expected, "{end}");
        }
        // Without the first file, which is in memory.
        sequence.pieces.drain(..2);
        assert_eq!(sequence.added_before(40), None);
        assert_eq!(sequence.added_before(41), Some(7));
    }

    #[test]
    fn a_batch_is_queued_without_what_follows() {
        let source = source(&[100]);
        let (mut sequence, queue) = (until(100), Arc::default());
        for (window, expected) in [(0, PIECE - 128), (0, PIECE - 128), (WINDOW, 100 * ROW)] {
            for _ in 0..100 {
                sequence.queue(&source.parts, &(0..8), window, &queue);
            }
            assert_eq!(sequence.pieces.back().unwrap().added, expected);
        }
    }
}
