//! A loader yields each row once, with the right bytes, however many threads read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use npymap::loader::{Batches, RowSource, Shard};
use npymap::ndarray::{Array2, Array3, Axis, s};
use npymap::{BatchOptions, DType, ErrorKind, Loader, MappedArray, Order, Rows, Sampler};

use crate::support::{directory, is_error, open};

/// Rows of two numbers, twice the number of the row and one more.
fn numbers(count: u32) -> Rows {
    let mut array = MappedArray::zeros(&"<u4".parse().unwrap(), &[count as usize, 2]).unwrap();
    let mut view = array.view_mut::<u32>().unwrap();
    view.copy_from_slice(&(0..2 * count).collect::<Vec<_>>()).unwrap();
    array.into_read_only().unwrap().rows().unwrap()
}

/// Checks the rows of all batches, and returns their numbers in order.
fn checked(batches: Batches<Vec<u32>>) -> Vec<usize> {
    let mut all = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        let expected = batch.indices().iter().flat_map(|&row| [2 * row as u32, 2 * row as u32 + 1]);
        assert!(expected.eq(batch.data().iter().copied()), "{batch:?}");
        all.extend(batch.indices());
    }
    all
}

#[test]
fn each_row_is_yielded_once_in_the_order_of_the_sampler() {
    let (rows, sampler) = (numbers(20_000), Sampler::shuffled(20_000, 5));
    let expected: Vec<usize> = sampler.clone().collect();
    assert_eq!(checked(rows.batches::<u32>(sampler.clone(), 64).unwrap()), expected);
    for (threads, prefetch) in [(1, 1), (1, 4), (2, 3), (4, 1), (4, 9)] {
        let loader = Loader::new::<u32>(&rows).threads(threads).prefetch(prefetch);
        assert_eq!(checked(loader.batches(sampler.clone(), 64).unwrap()), expected);
    }
}

#[test]
fn threads_that_come_and_go_change_no_batch() {
    // The time for a batch changes, so that threads are tried.
    let rows = numbers(4000);
    let expected: Vec<usize> = Sampler::shuffled(4000, 3).epochs(3).flatten().collect();
    let loader = Loader::new::<u32>(&rows).epochs(3);
    let mut found = Vec::new();
    for (number, batch) in loader.batches(Sampler::shuffled(4000, 3), 10).unwrap().enumerate() {
        let batch = batch.unwrap();
        if number % 400 < 200 {
            std::thread::sleep(Duration::from_micros(300));
        }
        assert_eq!(batch.data()[0], 2 * batch.indices()[0] as u32);
        found.extend_from_slice(batch.indices());
    }
    assert_eq!(found, expected);
}

#[test]
fn several_arrays_have_the_same_rows() {
    let (left, right, count) = (numbers(500), numbers(500), numbers(500));
    let loader = Loader::new::<u32>(&left).and::<f32>(&right).cast().and::<u64>(&count).cast();
    let mut seen = 0;
    for batch in loader.threads(2).batches(Sampler::shuffled(500, 1), 32).unwrap() {
        let batch = batch.unwrap();
        let (a, b, c) = batch.data();
        for ((a, b), c) in a.iter().zip(b).zip(c) {
            assert!(f64::from(*a) == f64::from(*b) && u64::from(*a) == *c);
        }
        assert_eq!(a.len(), 2 * batch.indices().len());
        assert_eq!((b.len(), c.len()), (a.len(), a.len()));
        seen += batch.indices().len();
    }
    assert_eq!(seen, 500);
}

#[test]
fn parts_of_an_array_in_a_file_have_rows() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let array = Array3::from_shape_fn((60, 5, 7), |(i, j, k)| (35 * i + 7 * j + k) as u16);
    for order in [Order::C, Order::F] {
        let fortran = array.view().reversed_axes().as_standard_layout().into_owned();
        let stored = match order {
            Order::C => array.view(),
            Order::F => fortran.view().reversed_axes(),
        };
        npymap::WriteOptions::new().write(&path, &stored).unwrap();
        let rows = open(&path).unwrap().rows().unwrap();
        for part in [
            s![.., .., ..],
            s![5..50, .., ..],
            s![..;3, .., ..],
            s![..;-1, .., ..],
            s![3..40;-5, 1..3, ..;2],
            s![.., .., 2..3],
            s![.., 1..4;-1, ..;-2],
        ] {
            let (own, expected) = (rows.slice(part).unwrap(), array.slice(part));
            assert_eq!(own.shape(), expected.shape());
            for size in [1, 16] {
                let sampler = Sampler::shuffled(own.row_count(), 2);
                for batch in own.batches::<u16>(sampler, size).unwrap() {
                    let batch = batch.unwrap();
                    let expected = expected.select(Axis(0), batch.indices());
                    assert!(expected.iter().eq(batch.data()), "{order:?} {part:?}");
                }
            }
        }
        let column = rows.slice(s![.., 3, 6]).unwrap();
        assert_eq!(column.shape(), [60]);
        let taken = column.take_array::<u16>(&[59, 0]).unwrap();
        assert!(taken.iter().eq(&[35 * 59 + 27, 27]));
        let error = rows.slice(s![1, 2, 3]).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::OutOfBounds, Some(&*path)));
        assert!(rows.slice(s![.., 5, ..]).is_err());
    }
}

#[test]
fn labels_in_memory_have_rows() {
    let labels = Array2::from_shape_fn((100, 3), |(i, j)| (i * 10 + j) as i32);
    let copy = Rows::copy_of(labels.slice(s![..;-1, 1..])).unwrap();
    let images = numbers(100);
    let loader = Loader::new::<u32>(&images).and::<i32>(&copy);
    for batch in loader.batches(Sampler::shuffled(100, 1), 7).unwrap() {
        let batch = batch.unwrap();
        let expected =
            batch.indices().iter().flat_map(|i| [1, 2].map(|j| ((99 - i) * 10 + j) as i32));
        assert!(expected.eq(batch.data().1.iter().copied()));
    }
    let number = npymap::ndarray::arr0(1.0);
    assert_eq!(Rows::copy_of(number.view()).unwrap_err().kind(), ErrorKind::OutOfBounds);
    assert_eq!(Rows::copy_of(Array2::<u8>::zeros((0, 4)).view()).unwrap().row_count(), 0);
}

#[test]
fn strings_are_loaded_too() {
    let text = MappedArray::zeros(&"<U3".parse().unwrap(), &[9]).unwrap();
    let text = text.into_read_only().unwrap().rows().unwrap();
    let batches = text.batches::<String>(Sampler::sequential(9), 4).unwrap();
    let lens: Vec<usize> = batches.map(|batch| batch.unwrap().data().len()).collect();
    assert_eq!(lens, [4, 4, 1]);
}

#[test]
fn epochs_follow_each_other_and_are_resumed_after_any_batch() {
    let rows = numbers(50);
    let shard = Shard { rank: 1, world_size: 2, ..Shard::default() };
    let sampler = Sampler::shuffled(50, 7).shard(shard).unwrap();
    for drops_last in [false, true] {
        let loader = Loader::new::<u32>(&rows).epochs(3);
        let loader = if drops_last { loader.drop_last() } else { loader };
        let all: Vec<_> = loader.batches(sampler.clone(), 4).unwrap().map(Result::unwrap).collect();
        assert_eq!(all.len(), if drops_last { 18 } else { 21 });
        for (number, batch) in all.iter().enumerate() {
            let mut resumed = sampler.clone();
            resumed.resume(batch.state()).unwrap();
            let left = loader.clone().epochs(3 - resumed.epoch());
            let next = left.batches(resumed, 4).unwrap();
            let expected = all[number + 1..].iter().map(|batch| batch.indices().to_vec());
            assert!(next.map(|batch| batch.unwrap().indices().to_vec()).eq(expected));
        }
    }
}

#[test]
fn an_endless_number_of_empty_epochs_ends() {
    let rows = numbers(5);
    let loader = Loader::new::<u32>(&rows).epochs(u64::MAX).drop_last();
    assert_eq!(loader.batches(Sampler::sequential(5), 6).unwrap().count(), 0);
    let mut some = loader.batches(Sampler::sequential(5), 5).unwrap();
    assert_eq!(some.nth(1000).unwrap().unwrap().state().epoch, 1000);
}

#[test]
fn what_does_not_fit_is_an_error_before_the_first_batch() {
    let (rows, fewer) = (numbers(9), numbers(8));
    let sampler = || Sampler::sequential(9);
    let error = rows.batches::<f64>(sampler(), 4).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "u32"), "{error}");
    let error = Loader::new::<u8>(&rows).cast().batches(sampler(), 4).unwrap();
    drop(error);
    let error = rows.batches::<u32>(sampler(), 0).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "batches of 0 rows"), "{error}");
    let error = rows.batches::<u32>(Sampler::sequential(10), 4).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "a sampler of 10 rows"), "{error}");
    let pair = Loader::new::<u32>(&rows).and::<u32>(&fewer);
    let error = pair.batches(Sampler::sequential(8), 4).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "[9, 8]"), "{error}");
    assert_eq!(fewer.batches::<u32>(Sampler::sequential(3), 2).unwrap().count(), 2);
}

#[test]
fn errors_of_the_file_name_it() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    npymap::WriteOptions::new()
        .write(&path, &npymap::ndarray::Array2::<u16>::zeros((9, 2)))
        .unwrap();
    let file = Arc::new(npymap::ArrayFile::open(&path).unwrap());
    let error = file.batches::<f64>(Sampler::sequential(9), 2).unwrap_err();
    assert_eq!(error.path(), Some(&*path));
    let mut batches = file.batches::<u16>(Sampler::sequential(9), 2).unwrap();
    assert_eq!(*batches.next().unwrap().unwrap().data(), [0; 4]);
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(140).unwrap();
    let error = batches.find_map(Result::err).unwrap();
    assert_eq!((error.epoch, error.error.path()), (Some(0), Some(&*path)));
}

/// A source that counts how often rows are read, and panics at one row.
#[derive(Clone)]
struct Counting {
    dtype: DType,
    reads: Arc<AtomicUsize>,
    panics_at: usize,
}

impl RowSource for Counting {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[usize] {
        &[1000]
    }

    fn read_ranges(&self, ranges: &[std::ops::Range<usize>], out: &mut [u8]) -> npymap::Result<()> {
        for (range, out) in ranges.iter().zip(out) {
            assert!(range.start != self.panics_at, "a panic of the source");
            *out = range.start as u8;
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn counting(panics_at: usize) -> Counting {
    Counting { dtype: DType::of::<u8>(), reads: Arc::default(), panics_at }
}

#[test]
fn batches_that_are_dropped_half_way_read_no_more() {
    for threads in [None, Some(1), Some(3)] {
        let source = counting(usize::MAX);
        let loader = Loader::new::<u8>(&source);
        let loader = threads.map_or(loader.clone(), |threads| loader.threads(threads).prefetch(4));
        let mut batches = loader.batches(Sampler::sequential(1000), 10).unwrap();
        for _ in 0..20 {
            batches.next().unwrap().unwrap();
        }
        drop(batches);
        let read = source.reads.load(Ordering::Relaxed);
        assert!((200..=250).contains(&read), "{read}");
        assert_eq!(Arc::strong_count(&source.reads), 2, "the loader and the source");
    }
}

#[test]
fn a_panic_of_the_source_is_the_consumers_and_ends_the_batches() {
    for threads in [None, Some(1), Some(3)] {
        let source = counting(500);
        let loader = Loader::new::<u8>(&source);
        let loader = threads.map_or(loader.clone(), |threads| loader.threads(threads));
        let mut batches = loader.batches(Sampler::sequential(1000), 10).unwrap();
        let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for batch in &mut batches {
                batch.unwrap();
            }
        }));
        let panic = taken.unwrap_err();
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        assert_eq!(text.as_deref(), Some("a panic of the source"));
        assert!(batches.next().is_none());
    }
}

#[test]
fn memory_is_that_of_batches_that_were_dropped() {
    let rows = numbers(1000);
    let mut addresses = Vec::new();
    let mut kept = Vec::new();
    for (number, batch) in rows.batches::<u32>(Sampler::sequential(1000), 8).unwrap().enumerate() {
        let batch = batch.unwrap();
        addresses.push(batch.data().as_ptr().addr());
        if number == 7 {
            kept.push(batch);
        }
    }
    assert_eq!(kept[0].data()[0], 2 * kept[0].indices()[0] as u32, "it was not used again");
    addresses.sort_unstable();
    addresses.dedup();
    assert!(addresses.len() <= 8, "{}", addresses.len());
}

#[test]
fn without_threads_batches_are_read_when_they_are_taken() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let read = move |_: &[usize], (): &mut ()| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok::<_, npymap::Error>(())
    };
    let mut batches = BatchOptions::new().start([vec![1], vec![2]], read).unwrap();
    assert!(batches.wait(Duration::ZERO) && reads.load(Ordering::Relaxed) == 0);
    assert!(batches.next().is_some() && reads.load(Ordering::Relaxed) == 1);
    assert_eq!(batches.count(), 1);
}

#[test]
fn rows_of_an_index_batch_are_iterated() {
    let sampler = Sampler::sequential(5);
    let mut rows = Vec::new();
    for batch in sampler.batches(2) {
        for row in &batch {
            rows.push(*row);
        }
    }
    assert_eq!(rows, [0, 1, 2, 3, 4]);
}
