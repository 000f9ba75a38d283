//! Arrays in storage that is read at an offset.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use npymap::ndarray::{Axis, IxDyn};
use npymap::source::ReadAt;
use npymap::{
    ArrayFile, DType, ErrorKind, MappedArray, OpenOptions, Order, RowSource as _, Source, Value,
    WriteOptions,
};

use crate::support::{is_error, npy};

/// A file in memory that logs the ranges that are requested together.
#[derive(Clone, Default)]
struct Logged {
    bytes: Arc<Vec<u8>>,
    calls: Arc<Mutex<Vec<Vec<Range<u64>>>>>,
}

impl Logged {
    /// The number of ranges of each call since the last time.
    fn calls(&self) -> Vec<usize> {
        self.calls.lock().unwrap().drain(..).map(|ranges| ranges.len()).collect()
    }
}

impl ReadAt for Logged {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.bytes.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        io::Read::read(&mut &bytes[..], buffer)
    }

    fn read_ranges_at(&self, ranges: &[Range<u64>], buffer: &mut [u8]) -> io::Result<()> {
        self.calls.lock().unwrap().push(ranges.to_vec());
        let mut rest = buffer;
        for range in ranges {
            let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
            let (own, after) = rest.split_at_mut(end - start);
            let bytes = self.bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
            own.copy_from_slice(bytes);
            rest = after;
        }
        assert!(rest.is_empty());
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(u64::try_from(self.bytes.len()).unwrap())
    }
}

/// An array of shape `(1000, 5, 7)`, and the log of its reads.
fn numbers(order: Order) -> (ArrayFile, Logged) {
    let bytes: Vec<u8> = (0..35_000_u32).flat_map(u32::to_le_bytes).collect();
    let file = npy("<u4", &[1000, 5, 7], order, &bytes);
    let storage = Logged { bytes: Arc::new(file), ..Logged::default() };
    let source = Source::from_read_at(storage.clone()).unwrap();
    (ArrayFile::new(source, OpenOptions::new()).unwrap(), storage)
}

/// The number of ranges of adjacent rows.
fn ranges(rows: &[usize]) -> usize {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows.dedup();
    rows.chunk_by(|row, next| row + 1 == *next).count()
}

#[test]
fn rows_of_a_batch_are_requested_by_one_call() {
    let scattered: Vec<usize> = (0..256).map(|i| i * 389 % 1000).chain([0, 999, 0]).collect();
    for order in [Order::C, Order::F] {
        let (file, log) = numbers(order);
        let columns = if order == Order::C { 1 } else { 35 };
        // In Fortran order, each row is requested once, together with adjacent ones.
        let requests = |rows: &[usize]| match order {
            Order::C => rows.len(),
            Order::F => 35 * ranges(rows),
        };
        let all = file.read().unwrap();
        assert_eq!(log.calls(), [1]);
        let all = all.view::<u32>().unwrap().to_ndarray::<IxDyn>().unwrap();

        let mut batch = vec![0_u32; 259 * 35];
        file.take(&scattered, &mut batch).unwrap();
        assert_eq!(log.calls(), [requests(&scattered)]);
        assert!(all.select(Axis(0), &scattered).iter().eq(&batch));

        let mut batch = vec![0_u32; 64 * 4 * 35];
        file.windows(4).unwrap().take(&scattered[..64], &mut batch).unwrap();
        let rows: Vec<_> = scattered[..64].iter().flat_map(|&row| row..row + 4).collect();
        assert_eq!(log.calls(), [if order == Order::C { 64 } else { requests(&rows) }]);
        assert!(all.select(Axis(0), &rows).iter().eq(&batch));

        let some = file.select_rows(&scattered).unwrap();
        assert_eq!(log.calls(), [requests(&scattered)]);
        assert!(some.view::<u32>().unwrap().iter().eq(all.select(Axis(0), &scattered)));

        let slice = file.rows(10..700).unwrap();
        assert_eq!(log.calls(), [columns]);
        let rows: Vec<_> = (10..700).collect();
        assert!(slice.view::<u32>().unwrap().iter().eq(all.select(Axis(0), &rows)));
    }
}

/// Announces more bytes than it has.
struct Longer(Logged);

impl ReadAt for Longer {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size().map(|size| size + 1)
    }
}

#[test]
fn storage_that_ends_early_is_an_error() {
    let (file, log) = numbers(Order::C);
    let short = log.bytes[..log.bytes.len() - 1].to_vec();
    let source = Source::from_read_at(Logged { bytes: Arc::new(short), ..log }).unwrap();
    let error = MappedArray::from_source(source).unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "the elements end at byte"), "{error}");

    drop(file);
    let (_, log) = numbers(Order::C);
    let short = log.bytes[..log.bytes.len() - 1].to_vec();
    let longer = Longer(Logged { bytes: Arc::new(short), ..log });
    let source = Source::from_read_at(longer).unwrap();
    let file = ArrayFile::new(source, OpenOptions::new()).unwrap();
    let mut rows = vec![0_u32; 2 * 35];
    file.take(&[5, 998], &mut rows).unwrap();
    let error = file.take(&[5, 999], &mut rows).unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "the elements end at byte"), "{error}");
}

/// An array of more bytes than an address space has.
struct Endless(Vec<u8>);

impl ReadAt for Endless {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        buffer.fill(0);
        let own = self.0.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let len = own.len().min(buffer.len());
        buffer[..len].copy_from_slice(&own[..len]);
        Ok(buffer.len())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64 + (1 << 60))
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn elements_that_do_not_fit_into_memory_are_used_in_parts() {
    let source = Source::from_read_at(Endless(npy("|u1", &[1 << 60], Order::C, &[]))).unwrap();
    let array = MappedArray::from_source(source.into_read_only().on_demand()).unwrap();
    let works = "cannot bring all 1152921504606846976 bytes of the elements into memory: ";
    let check = |error: npymap::Error| {
        assert!(is_error(&error, ErrorKind::Io, works), "{error}");
        assert!(error.to_string().contains("for_each_window"), "{error}");
        assert!(error.io_error().is_some() && !error.reason().contains("window"), "{error}");
    };
    check(array.dyn_view().unwrap_err());
    check(array.view::<u8>().unwrap_err());
    check(array.as_bytes().unwrap_err());
    check(array.as_slice::<u8>().unwrap_err());
    check(array.rows().unwrap_err());
    check(array.clone().into_rows().unwrap_err());
    check(array.clone().into_typed::<u8, npymap::ndarray::Ix1>().unwrap_err());
    check(array.populate(..).unwrap_err());
}

#[test]
fn elements_on_demand_that_cannot_be_read_are_that_error() {
    let (_, log) = numbers(Order::C);
    let short = log.bytes[..log.bytes.len() - 1].to_vec();
    let longer = Longer(Logged { bytes: Arc::new(short), ..log });
    let source = Source::from_read_at(longer).unwrap().into_read_only().on_demand();
    let array = MappedArray::from_source(source).unwrap();
    let error = array.dyn_view().unwrap_err();
    let text = "cannot bring all 140000 bytes of the elements into memory: ";
    assert!(is_error(&error, ErrorKind::Truncated, text), "{error}");
}

#[test]
fn outlines_are_windows_of_their_own_array_only() {
    let on_demand = |log: Logged| {
        let source = Source::from_read_at(log).unwrap().into_read_only().on_demand();
        MappedArray::from_source(source).unwrap()
    };
    let large = on_demand(numbers(Order::C).1);
    let small = on_demand(Logged {
        bytes: Arc::new(npy("|u1", &[2, 3], Order::C, &[1, 2, 3, 4, 5, 6])),
        ..Logged::default()
    });
    let loaded = MappedArray::zeros(&"|u1".parse().unwrap(), &[2]).unwrap();
    let loaded = loaded.into_read_only().unwrap();
    let text = "the elements are not in memory: expected `MappedArray::window`";
    let error = small.outline().view().unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, text), "{error}");

    let text = "the elements are not those of this array";
    for error in [
        small.window(&large.outline()).unwrap_err(),
        large.window(&small.outline()).unwrap_err(),
        loaded.window(&small.outline()).unwrap_err(),
        small.for_each_window(&large.outline(), |_| Ok(())).unwrap_err(),
        loaded.window_at(&small.outline(), 0, &[0]).unwrap_err(),
    ] {
        assert!(is_error(&error, ErrorKind::InvalidInput, text), "{error}");
    }
    assert_eq!(loaded.byte_range(&small.outline()), None);
    assert_eq!(large.byte_range(&small.outline()), None);

    // Elements that are in memory are anybody's.
    let row = small.outline().index_axis(0, 1).unwrap();
    let window = small.window(&row).unwrap();
    let part = window.view().into();
    assert_eq!(loaded.window(&part).unwrap().view().view::<u8>().unwrap().to_vec(), [4, 5, 6]);
    assert_eq!(small.byte_range(&row), Some(3..6));
}

#[test]
fn storage_is_no_longer_than_any_file() {
    struct Long(u64);

    impl ReadAt for Long {
        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            Ok(0)
        }

        fn size(&self) -> io::Result<u64> {
            Ok(self.0)
        }
    }

    assert!(Source::from_read_at(Long(i64::MAX as u64)).is_ok());
    let error = Source::from_read_at(Long(1 << 63)).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "9223372036854775808 bytes"), "{error}");
}

#[test]
fn rows_of_a_range_are_those_of_a_file() {
    let (_, log) = numbers(Order::C);
    let source = Source::from_read_at(log).unwrap().into_read_only().on_demand();
    let array = MappedArray::from_source(source).unwrap();
    let rows = array.row_range(10..20).unwrap();
    let mut read = vec![0; 280];
    rows.to_file().unwrap().unwrap().take_bytes(&[0, 9], &mut read).unwrap();
    assert_eq!(read[..140], rows.as_bytes().unwrap()[..140]);
    assert_eq!(read[140..], rows.as_bytes().unwrap()[9 * 140..]);
}

#[test]
fn outlines_may_have_elements_without_bytes_and_more_than_memory() {
    let dtype: DType = "[('a', '<f8'), ('b', '|S0')]".parse().unwrap();
    let mut bytes = Vec::new();
    let zeros = MappedArray::zeros(&dtype, &[3]).unwrap();
    WriteOptions::new().write_to(&mut bytes, &zeros).unwrap();
    let log = Logged { bytes: Arc::new(bytes), ..Logged::default() };
    let source = Source::from_read_at(log).unwrap().into_read_only().on_demand();
    let array = MappedArray::from_source(source).unwrap();

    let one = array.outline().index_axis(0, 2).unwrap().field("b").unwrap();
    let window = array.window(&one).unwrap();
    assert_eq!(window.view().at([]), Value::Bytes(Vec::new()));

    let many = array.outline().field("a").unwrap().broadcast(&[1 << 61, 3]).unwrap();
    let error = array.window(&many).unwrap_err();
    assert!(is_error(&error, ErrorKind::Io, "cannot allocate"), "{error}");
}
