//! Rows are the same however they are read, and whether or not they are in memory.

use npymap::loader::{Concat, ReadStrategy};
use npymap::ndarray::{Array2, ShapeBuilder as _};
use npymap::{MappedArray, Order, RowSource as _, Sampler, WriteOptions};

const ROWS: usize = 700;
const WAYS: [ReadStrategy; 3] = [ReadStrategy::Auto, ReadStrategy::Pages, ReadStrategy::Stream];

/// An array of `<u4` whose elements are their positions, 100 in each row.
fn array(directory: &std::path::Path, order: Order) -> MappedArray {
    let path = directory.join(format!("{order:?}.npy"));
    let shape = (ROWS, 100).set_f(order == Order::F);
    let elements = Array2::from_shape_fn(shape, |(row, column)| (row * 100 + column) as u32);
    WriteOptions::new().write(&path, &elements).unwrap();
    // SAFETY: nobody else uses the file.
    unsafe { MappedArray::open(path) }.unwrap()
}

fn orders() -> [Sampler; 4] {
    [
        Sampler::sequential(ROWS),
        Sampler::shuffled(ROWS, 1),
        Sampler::blocks(ROWS, 40, 1).buffer(3).unwrap(),
        Sampler::with_replacement(ROWS, ROWS, 1),
    ]
}

#[test]
fn an_epoch_is_the_same_however_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    for order in [Order::C, Order::F] {
        let array = array(directory.path(), order);
        for (way, sampler) in WAYS.into_iter().flat_map(|way| orders().map(|order| (way, order))) {
            array.drop_cache(..).unwrap();
            let rows = array.rows().unwrap().reading(way);
            let windows = rows.windows(2).unwrap();
            for batch in sampler.batches(256) {
                let taken = rows.take_array::<u32>(&batch).unwrap();
                for (values, row) in taken.outer_iter().zip(batch.iter()) {
                    assert!(values.iter().enumerate().all(|(i, &x)| x as usize == row * 100 + i));
                }
                let starts: Vec<usize> = batch.iter().map(|row| row % (ROWS - 1)).collect();
                let pairs = windows.take_array::<u32>(&starts).unwrap();
                assert!(pairs.outer_iter().zip(&starts).all(|(pair, start)| {
                    pair[[0, 0]] as usize == start * 100
                        && pair[[1, 99]] as usize == start * 100 + 199
                }));
            }
        }
    }
}

#[test]
fn stacked_arrays_are_the_same_however_they_are_read() {
    let directory = tempfile::tempdir().unwrap();
    for way in WAYS {
        let arrays = [Order::C, Order::F].map(|order| array(directory.path(), order));
        for array in &arrays {
            array.drop_cache(..).unwrap();
        }
        let rows = Concat::new(arrays).unwrap().reading(way);
        for batch in Sampler::shuffled(2 * ROWS, 1).batches(500) {
            let taken = rows.take_array::<u32>(&batch).unwrap();
            let first = taken.outer_iter().map(|values| values[0] as usize / 100);
            assert!(first.eq(batch.iter().map(|row| row % ROWS)));
        }
    }
}

#[test]
fn an_epoch_of_a_file_that_is_not_mapped_is_the_same_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    for order in [Order::C, Order::F] {
        let array = array(directory.path(), order);
        let file = npymap::ArrayFile::open(array.path().unwrap()).unwrap();
        for sampler in orders() {
            array.drop_cache(..).unwrap();
            for batch in sampler.batches(256) {
                let starts: Vec<usize> = batch.iter().map(|row| row % (ROWS - 1)).collect();
                let pairs = file.windows(2).unwrap().take_array::<u32>(&starts).unwrap();
                assert!(pairs.outer_iter().zip(&starts).all(|(pair, start)| {
                    pair.iter().enumerate().all(|(i, &x)| x as usize == start * 100 + i)
                }));
                let taken = file.take_array::<u32>(&batch).unwrap();
                assert!(taken.outer_iter().zip(batch.iter()).all(|(values, row)| {
                    values.iter().enumerate().all(|(i, &x)| x as usize == row * 100 + i)
                }));
            }
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_epoch_brings_an_array_that_fits_into_memory() {
    let directory = tempfile::tempdir().unwrap();
    let array = array(directory.path(), Order::C);
    let is_brought = |_| {
        array.drop_cache(..).unwrap();
        let rows = array.rows().unwrap().reading(ReadStrategy::Stream);
        let mut out = [0_u32; 100];
        // A batch from memory starts nothing, so not only the first row is taken.
        for row in (0..ROWS).rev() {
            rows.take(&[row], &mut out).unwrap();
            assert_eq!(out[99] as usize, row * 100 + 99);
        }
        drop(rows);
        array.resident_bytes(..).unwrap() >= Some(array.nbytes() / 16 * 15)
    };
    // The system may drop pages again.
    assert!((0..1000).any(is_brought), "{:?}", array.resident_bytes(..));
}

#[test]
#[cfg(target_os = "linux")]
fn only_the_rows_of_a_range_are_brought_into_memory() {
    let directory = tempfile::tempdir().unwrap();
    let array = array(directory.path(), Order::C);
    array.drop_cache(..).unwrap();
    let before = array.resident_bytes(..200).unwrap();
    let rows = array.row_range(300..).unwrap().rows().unwrap().reading(ReadStrategy::Stream);
    let mut out = [0_u32; 100];
    for row in (0..rows.row_count()).rev() {
        rows.take(&[row], &mut out).unwrap();
        assert_eq!(out[99] as usize, (row + 300) * 100 + 99);
    }
    let after = array.resident_bytes(..200).unwrap();
    assert!(after <= before, "{before:?} to {after:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn blocks_of_the_next_batches_are_brought_into_memory() {
    use npymap::loader::RowSource;

    let directory = tempfile::tempdir().unwrap();
    let array = array(directory.path(), Order::C);
    let sampler = Sampler::blocks(ROWS, 70, 1).buffer(2).unwrap();
    let file = npymap::ArrayFile::open(array.path().unwrap()).unwrap();
    let concat = {
        // SAFETY: nobody else uses the file.
        let again = unsafe { MappedArray::open(array.path().unwrap()) }.unwrap();
        Concat::new([again]).unwrap().reading(ReadStrategy::Pages)
    };
    // Otherwise all of the array would be read, because it fits.
    let rows = array.rows().unwrap().reading(ReadStrategy::Pages);
    let windows = rows.windows(2).unwrap();
    let sources: [&dyn RowSource; 4] = [&rows, &windows, &concat, &file];
    for source in sources {
        array.drop_cache(..).unwrap();
        let mut batches = sampler.batches(20).announce_to(source);
        // An array in a file that is not mapped is read after the first batch.
        batches.nth(1).unwrap();
        // Nearly all rows of two groups of two blocks: the system may drop pages again.
        let count_missing = || {
            let rows = sampler.clone().take(4 * 70);
            rows.filter(|&row| array.resident_bytes(row..=row).unwrap() != Some(400)).count()
        };
        for _ in 0..60_000 {
            if count_missing() <= 20 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(count_missing() <= 20, "{}", count_missing());
        assert!(batches.flat_map(|batch| batch.to_vec()).eq(sampler.clone().skip(40)));
    }
}
