//! Files larger than memory.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use npymap::{
    ArrayFile, CreateOptions, DType, ErrorKind, Header, Loader, MappedArray, Mode, OpenOptions,
    Order, RowSource as _, Sampler, Source,
    array::{AnyArray, RawSpec},
    loader::Ragged,
    source::Advice,
};

use crate::support::{
    create, directory, file, is_alone, is_error, open, open_mode, open_mode_with, open_mut,
    open_mut_with, open_with,
};

const ENORMOUS: usize = 100 << 30;

/// The resident memory of this process in KiB.
fn memory() -> usize {
    status("VmRSS:")
}

/// A number about the memory of this process in KiB.
fn status(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_file_larger_than_memory_opens_in_every_mode_and_is_edited() {
    let directory = directory();
    let header = Header::new(DType::of::<u64>(), &[ENORMOUS / 8], Order::C).unwrap();
    let path = file(&directory, "enormous.npy", &header.encode(None).unwrap().bytes);
    let sparse = File::options().write(true).open(&path).unwrap();
    sparse.set_len((header.data_offset + ENORMOUS) as u64).unwrap();

    let mut array = open_mut(&path).unwrap();
    *array.as_slice_mut::<u64>().unwrap().last_mut().unwrap() = 7;
    array.close().unwrap();

    let AnyArray::Writable(mut private) = open_mode("c", &path).unwrap() else { panic!() };
    let elements = private.as_slice_mut::<u64>().unwrap();
    assert_eq!(elements.last(), Some(&7));
    elements[elements.len() / 2] = 8;
    assert_eq!(private.as_slice::<u64>().unwrap()[ENORMOUS / 16], 8);

    let array = open(&path).unwrap();
    let elements = array.as_slice::<u64>().unwrap();
    assert_eq!((elements[ENORMOUS / 16], elements.last()), (0, Some(&7)));
    let read = ArrayFile::open(&path).unwrap();
    assert_eq!(read.get::<u64>([ENORMOUS / 16]).unwrap(), 0);
    assert_eq!(read.get::<u64>([ENORMOUS / 8 - 1]).unwrap(), 7);
}

const ROW: usize = 1 << 20;

#[test]
fn a_raw_file_larger_than_memory_is_edited_and_read_in_bounded_memory() {
    const NAME: &str =
        "enormous::a_raw_file_larger_than_memory_is_edited_and_read_in_bounded_memory";
    if !is_alone(NAME) {
        return;
    }
    let directory = directory();
    let path = file(&directory, "enormous.bin", b"");
    File::options().write(true).open(&path).unwrap().set_len(ENORMOUS as u64 + 1).unwrap();
    let shape = [ENORMOUS / ROW, ROW / 8];
    let raw = RawSpec::new("<u8".parse().unwrap()).shape(&shape).offset(1);
    let options = OpenOptions::new().raw(raw);
    let before = memory();

    let mut array = open_mut_with(&options, &path).unwrap();
    array.advise(.., Advice::Random).unwrap();
    let mut view = array.view_mut::<u64>().unwrap();
    for i in 0..50 {
        view.set([row(shape[0], i), i], i as u64 + 1).unwrap();
    }
    array.drop_cache(..).unwrap();
    array.close().unwrap();

    // SAFETY: the file is the test's own.
    let AnyArray::Writable(mut private) =
        open_mode_with(&options, Mode::CopyOnWrite, &path).unwrap()
    else {
        panic!()
    };
    let mut view = private.view_mut::<u64>().unwrap();
    for i in 0..50 {
        assert_eq!(view.as_view().at([row(shape[0], i), i]), i as u64 + 1);
        view.set([row(shape[0], i), 500], 7).unwrap();
    }
    drop(private);

    let array = open_with(&options, &path).unwrap();
    let view = array.view::<u64>().unwrap();
    let read =
        Source::open(&path).and_then(|source| ArrayFile::new(source, options.clone())).unwrap();
    for i in 0..50 {
        assert_eq!(
            (view.at([row(shape[0], i), i]), view.at([row(shape[0], i), 500])),
            (i as u64 + 1, 0)
        );
        assert_eq!(read.get::<u64>([row(shape[0], i), i]).unwrap(), i as u64 + 1);
    }
    array.populate(row(shape[0], 49)..row(shape[0], 49) + 4).unwrap();
    assert_eq!(
        array
            .view::<u64>()
            .unwrap()
            .slice(npymap::ndarray::s![row(shape[0], 49), ..])
            .unwrap()
            .iter()
            .sum::<u64>(),
        50
    );
    let rows = read.rows(row(shape[0], 49)..row(shape[0], 49) + 4).unwrap();
    assert_eq!(rows.view::<u64>().unwrap().iter().sum::<u64>(), 50);
    assert!(memory() - before.min(memory()) < 256 << 10, "KiB: {before} to {}", memory());
    assert!(fs::metadata(&path).unwrap().blocks() * 512 < 1 << 30, "it still is sparse");
}

/// An epoch of a file takes as much memory as its batches, and fits the address space of a job
/// that the file exceeds. The file has 2 GiB with `NPYMAP_TEST_FAULTS=all`.
#[test]
fn batches_take_bounded_memory() {
    const NAME: &str = "enormous::batches_take_bounded_memory";
    /// The address space and the resident memory that an epoch may need, in KiB.
    const MOST: [usize; 2] = [128 << 10, 64 << 10];
    if !is_alone(NAME) {
        return;
    }
    let is_thorough = std::env::var("NPYMAP_TEST_FAULTS").is_ok_and(|value| value == "all");
    let count: usize = if is_thorough { 1 << 15 } else { 1 << 12 };
    let directory = directory();
    let path = directory.path().join("a.npy");
    let (shape, sparse) = ([count, 1 << 16], CreateOptions::new().sparse(true));
    create(&path, "|u1", &shape, &sparse).unwrap().close().unwrap();
    let limit = (status("VmSize:") + MOST[0]) << 10;
    let limit = libc::rlimit { rlim_cur: limit as u64, rlim_max: limit as u64 };
    // SAFETY: the limit lives until the call returns.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    assert!(is_error(&open(&path).unwrap_err(), ErrorKind::Io, "cannot map"));
    let before = status("VmHWM:");
    let source = Source::open(&path).unwrap();
    let rows = Arc::new(ArrayFile::new(source, OpenOptions::new()).unwrap());
    for sampler in [Sampler::sequential(count), Sampler::shuffled(count, 1)] {
        let loader = Loader::new::<u8>(&rows).threads(2).prefetch(2);
        let mut found = 0;
        for batch in loader.batches(sampler, 64).unwrap() {
            found += batch.unwrap().data().len() >> 16;
        }
        assert_eq!(found, count);
    }
    let more = status("VmHWM:") - before;
    assert!(more < MOST[1], "{more} KiB");
}

#[test]
fn rows_that_no_vector_can_hold_are_refused() {
    const LEN: usize = 1 << 40;
    let directory = directory();
    let sparse = CreateOptions::new().sparse(true);
    for (shape, span) in [([1, LEN], [0, 1]), ([LEN, 1], [0, LEN as i64])] {
        let path = directory.path().join(format!("{}.npy", shape[0]));
        create(&path, "<f8", &shape, &sparse).unwrap().close().unwrap();
        let rows = open(&path).unwrap().rows().unwrap();
        let mut offsets = MappedArray::zeros(&DType::of::<i64>(), &[2]).unwrap();
        offsets.view_mut::<i64>().unwrap().copy_from_slice(&span).unwrap();
        let offsets = offsets.into_read_only().unwrap().rows().unwrap();
        let ragged = Ragged::new(rows.clone(), offsets).unwrap();
        // 2⁶³ bytes fit into `usize`, but not into a vector.
        let indices = vec![0; 1 << 20];
        let error = ragged.take_vec::<f64>(&indices, &mut Vec::new()).unwrap_err();
        assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
        if shape[0] == 1 {
            let error = rows.take_array::<f64>(&indices).unwrap_err();
            assert!(is_error(&error, ErrorKind::InvalidInput, "-bit address space"), "{error}");
        }
    }
}

fn row(rows: usize, i: usize) -> usize {
    i * (rows / 50)
}

#[test]
fn a_file_larger_than_memory_is_created_and_partly_filled() {
    if !is_alone("enormous::a_file_larger_than_memory_is_created_and_partly_filled") {
        return;
    }
    let directory = directory();
    let path = directory.path().join("enormous.npy");
    let (rows, row) = (ENORMOUS >> 20, 1 << 20);
    let sparse = CreateOptions::new().sparse(true);
    let mut array = create(&path, "|u1", &[rows, row], &sparse).unwrap();
    let before = memory();
    let twos = vec![2_u8; row];
    for i in 0..64 {
        array.view_mut::<u8>().unwrap().set([i * (rows / 64), 7], 1).unwrap();
        array.element_writer().unwrap().write(&[i * (rows / 64) + 1], &twos).unwrap();
    }
    assert_eq!(array.view::<u8>().unwrap().at([rows / 64 + 1, row - 1]), 2);
    array.close().unwrap();
    // Elements that were written, a mebibyte at a time, are not mapped.
    let used = memory().saturating_sub(before);
    assert!(used < 32 << 10, "{used} KiB");
    assert_eq!(open(&path).unwrap().view::<u8>().unwrap().at([0, 7]), 1);
}
