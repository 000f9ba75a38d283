//! The ranges that are read ahead of batches, and those that are requested for them.

use super::*;
use crate::array::MappedArray;
use crate::dtype::DType;
use crate::loader::{Shard, Tail};

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
    let each = IN_MEMORY;
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
        ahead.expect(count, false, (0, 1), platform::available_memory());
        let expected = expected && cfg!(target_os = "linux");
        assert_eq!(ahead.parts[0].is_streamed, expected, "{count}");
    }
    let mut ahead = rows.rows_ahead();
    ahead.expect(64, true, (0, 1), platform::available_memory());
    assert!(!ahead.parts[0].is_streamed);
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
    ahead.expect(10, false, (0, 1), platform::available_memory());
    assert!(!ahead.parts[0].is_streamed, "few rows");
    assert_eq!(ahead.parts[0].place_in_file(128), 128..400_128);
    for is_sequential in [false, true] {
        ahead.expect(1000, is_sequential, (0, 1), platform::available_memory());
        assert!(ahead.parts[0].is_streamed);
        ahead.wait();
        // That time is limited, and then the reading thread may still use its queue.
        while ahead.parts[0].read_ahead.queued() != 0 {
            std::thread::yield_now();
        }
    }
    let all = 0..1000;
    assert!(ahead.queue(std::slice::from_ref(&all)).is_empty(), "no block is read again");
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
