//! Handles of arrays that were checked once, and ranges of rows.

use std::sync::Arc;
use std::thread;

use npymap::ndarray::{ArrayD, Ix1, Ix2, Ix3, IxDyn, s};
use npymap::{
    Be, DType, ErrorKind, Le, MappedArray, Mode, Order, RowSource as _, Source,
    array::{AnyArray, TypedArray},
    bytemuck,
    element::{Bool, Bytes, InPlace, Ticks},
    half::f16,
    layout::Layout,
    num_complex::Complex,
    source::{Advice, Map},
};

use crate::support::{
    directory, file, foreign, is_error, native, npy, open, open_copy_on_write, open_mut, raw, text,
};

const SHAPES: [&[usize]; 9] =
    [&[], &[5], &[0], &[4, 3], &[3, 0], &[0, 3], &[1, 4], &[2, 3, 4], &[2, 1, 3, 2, 2]];

/// The memory of an array, aligned to 16 bytes, and the layout of its elements
/// `offset` bytes after the start.
fn memory(dtype: &str, shape: &[usize], order: Order, offset: usize) -> (Vec<u128>, Layout) {
    let layout = Layout::new(dtype.parse().unwrap(), shape, order, offset).unwrap();
    let mut memory = vec![0_u128; (layout.offset() + layout.nbytes()).div_ceil(16) + 1];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
    bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 37 % 251) as u8);
    (memory, layout)
}

/// The length of a slice, and where its elements are.
fn place<T>(slice: &[T]) -> (usize, Option<*const T>) {
    (slice.len(), slice.first().map(std::ptr::from_ref))
}

/// A handle shows the elements that ndarray views and slices show, or is refused
/// with the same error.
fn same_as_ndarray<T: InPlace + std::fmt::Debug>(dtype: &str) {
    for (shape, order) in SHAPES.iter().flat_map(|&shape| [(shape, Order::C), (shape, Order::F)]) {
        for offset in [0, 1, 2, 4, 8, 16] {
            let (memory, layout) = memory(dtype, shape, order, offset);
            let bytes: &[u8] = bytemuck::cast_slice(&memory);
            let array = MappedArray::from_parts(bytes, layout).unwrap();
            let what = format!("{dtype} {shape:?} {order:?} at {offset}");
            let expected = array.as_ndarray::<T, IxDyn>();
            match (array.clone().into_typed::<T, IxDyn>(), expected) {
                (Ok(handle), Ok(expected)) => {
                    let (found, addresses) =
                        (handle.view(), expected.iter().map(std::ptr::from_ref));
                    assert_eq!(found.shape(), shape, "{what}");
                    assert!(found.iter().map(std::ptr::from_ref).eq(addresses), "{what}");
                    let slice = array.as_slice::<T>().ok().map(place);
                    assert_eq!(handle.view().to_slice().map(place), slice, "{what}");
                    assert_eq!(handle.shape(), shape, "{what}");
                    assert_eq!(handle.as_bytes().unwrap().len(), { array.nbytes() });
                }
                (Err(error), Err(expected)) => {
                    assert_eq!(error.to_string(), expected.to_string(), "{what}");
                }
                (found, expected) => panic!("{what}: {found:?}, ndarray {expected:?}"),
            }
        }
    }
}

#[test]
fn a_handle_views_what_ndarray_views_or_is_refused_alike() {
    for order in ['<', '>'] {
        same_as_ndarray::<f32>(&format!("{order}f4"));
        same_as_ndarray::<f64>(&format!("{order}f8"));
        same_as_ndarray::<i16>(&format!("{order}i2"));
        same_as_ndarray::<u64>(&format!("{order}u8"));
        same_as_ndarray::<f16>(&format!("{order}f2"));
        same_as_ndarray::<Le<f64>>(&format!("{order}f8"));
        same_as_ndarray::<Be<i32>>(&format!("{order}i4"));
        same_as_ndarray::<Complex<f32>>(&format!("{order}c8"));
        same_as_ndarray::<Ticks>(&format!("{order}M8[ns]"));
        same_as_ndarray::<[f32; 3]>(&format!("('{order}f4', (3,))"));
        same_as_ndarray::<f32>(&format!("{order}f8"));
    }
    same_as_ndarray::<u8>("|u1");
    same_as_ndarray::<Bool>("|b1");
    same_as_ndarray::<Bytes<5>>("|S5");
    same_as_ndarray::<[u8; 6]>("[('id', '<u2'), ('energy', '>f4')]");
    same_as_ndarray::<[u8; 0]>("|V0");
}

#[test]
fn mutable_handles_write_to_the_elements() {
    let directory = directory();
    for order in [Order::C, Order::F] {
        let path = file(&directory, "a.npy", &npy(&native("u2"), &[3, 2], order, &[0; 12]));
        let mut handle = open_mut(&path).unwrap().into_typed::<u16, Ix2>().unwrap();
        handle.view_mut()[[2, 1]] = 7;
        match handle.view_mut().into_slice() {
            Some(slice) => slice[1] = 9,
            None => handle.view_mut()[[0, 1]] = 9,
        }
        assert_eq!(handle.view().to_slice().is_some(), order == Order::C);
        drop(handle);
        let array = open(&path).unwrap();
        assert_eq!(array.view::<u16>().unwrap().to_vec(), [0, 9, 0, 0, 0, 7], "{order:?}");
    }
    for shape in SHAPES {
        let anonymous = MappedArray::zeros(&DType::of::<f64>(), shape).unwrap();
        let mut handle = anonymous.into_typed::<f64, IxDyn>().unwrap();
        handle.view_mut().fill(1.5);
        assert_eq!(handle.view(), ArrayD::from_elem(shape, 1.5));
        assert_eq!(handle.view_mut().into_slice().unwrap().len(), handle.len());
    }
    let mut unbacked = MappedArray::zeros(&"|V0".parse().unwrap(), &[2, 3])
        .unwrap()
        .into_typed::<[u8; 0], Ix2>()
        .unwrap();
    assert_eq!(unbacked.view_mut().dim(), (2, 3));
    assert_eq!(unbacked.view_mut().into_slice().unwrap().len(), 6);
}

#[test]
fn handles_are_shared_by_threads() {
    fn is_shareable<T: Send + Sync + Clone + 'static>(_: &T) {}
    let directory = directory();
    let numbers: Vec<u8> = (0..20_u32).flat_map(u32::to_ne_bytes).collect();
    let path = file(&directory, "a.npy", &npy(&native("u4"), &[10, 2], Order::C, &numbers));
    let handle: TypedArray<u32, Ix2> = open(&path).unwrap().into_typed().unwrap();
    is_shareable(&handle);
    let threads = [0, 1].map(|column| {
        let handle = handle.clone();
        thread::spawn(move || handle.view().column(column).sum())
    });
    assert_eq!(threads.map(|thread| thread.join().unwrap()), [90, 100]);
    assert_eq!(handle.view().as_ptr(), handle.clone().view().as_ptr());
    assert_eq!(handle.path(), Some(path.as_path()));
    assert!(format!("{handle:?}").starts_with("TypedArray { array: MappedArray"));

    let copy = Arc::new(MappedArray::load(&path).unwrap().into_typed::<u32, Ix2>().unwrap());
    let other = Arc::clone(&copy);
    assert_eq!(thread::spawn(move || other.view().sum()).join().unwrap(), copy.view().sum());
}

#[test]
fn a_wrong_type_or_number_of_axes_is_refused_with_what_works() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy(&foreign("f8"), &[3, 2], Order::C, &[0; 48]));
    let error = open(&path).unwrap().into_typed::<f64, Ix2>().unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for `f64`"), "{error}");
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    let error = open(&path).unwrap().into_typed::<[u8; 8], Ix3>().unwrap_err();
    assert!(is_error(&error, ErrorKind::ShapeMismatch, "has 2 axes, asked for 3: use `Ix2`"));
    let text = text("'<f8'", "(3,)", Order::C, 59);
    let path = file(&directory, "b.npy", &raw(&text, &[0; 24]));
    let error = open(&path).unwrap().into_typed::<f64, Ix1>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DTypeMismatch);
    assert!(open(&path).unwrap().into_typed::<Le<f64>, Ix1>().is_ok());
}

#[test]
#[should_panic(expected = "are fewer than when it was made")]
fn a_handle_whose_bytes_become_fewer_panics() {
    struct Shrinks(std::sync::atomic::AtomicUsize);
    impl AsRef<[u8]> for Shrinks {
        fn as_ref(&self) -> &[u8] {
            let calls = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if calls < 3 { &[1; 8] } else { &[] }
        }
    }
    let layout = Layout::new("|u1".parse().unwrap(), &[8], Order::C, 0).unwrap();
    let shrinks = MappedArray::from_parts(Shrinks(0.into()), layout).unwrap();
    let handle = shrinks.into_typed::<u8, Ix1>().unwrap();
    while handle.view().len() == 8 {}
}

/// Arrays of 10 rows of each dtype, shape and order; `None` for those without
/// bytes.
const DTYPES: [&str; 7] =
    ["|u1", "<f8", ">f8", "<M8[s]", "|S3", "[('a', '<i2'), ('b', '>f4', (2,))]", "|V0"];

#[test]
fn a_range_of_rows_is_the_slice_of_the_array() {
    for dtype in DTYPES {
        for shape in [&[10][..], &[10, 3], &[10, 0], &[10, 2, 3], &[10, 1]] {
            let (memory, layout) = memory(dtype, shape, Order::C, 3);
            let bytes: &[u8] = bytemuck::cast_slice(&memory);
            let array = MappedArray::from_parts(bytes, layout).unwrap();
            let view = array.dyn_view().unwrap();
            for (start, end) in [(0, 10), (0, 0), (10, 10), (3, 7), (9, 10), (5, 5)] {
                let range = array.row_range(start..end).unwrap();
                let expected = view.slice(&s![start..end, ..].as_ref()[..1]).unwrap();
                let what = format!("{dtype} {shape:?} {start}..{end}");
                assert_eq!(range.shape(), expected.shape(), "{what}");
                let found = range.dyn_view().unwrap();
                let elements: Vec<_> = found.element_bytes().collect();
                assert!(elements.iter().copied().eq(expected.element_bytes()), "{what}");
                assert_eq!(range.as_bytes().unwrap(), elements.concat(), "{what}");
                assert_eq!(range.nbytes(), range.as_bytes().unwrap().len(), "{what}");
                let again = range.row_range(..).unwrap();
                assert_eq!(again.layout(), range.layout(), "{what}");
            }
        }
    }
}

#[test]
fn rows_are_ranged_in_every_notation_and_checked() {
    let bytes = npy("|u1", &[6, 2], Order::C, b"aabbccddeeff");
    let array = MappedArray::from_bytes(&bytes).unwrap();
    let text = |rows: MappedArray<&Vec<u8>>| String::from_utf8(rows.as_bytes().unwrap().to_vec());
    assert_eq!(text(array.row_range(..).unwrap()).unwrap(), "aabbccddeeff");
    assert_eq!(text(array.row_range(4..).unwrap()).unwrap(), "eeff");
    assert_eq!(text(array.row_range(..=1).unwrap()).unwrap(), "aabb");
    assert_eq!(text(array.row_range(1..5).unwrap().row_range(1..=2).unwrap()).unwrap(), "ccdd");
    for (start, end) in [(0, 7), (7, 7), (5, 4)] {
        let error = array.row_range(start..end).unwrap_err();
        let asked = format!("range {start}..{end} is out of bounds for axis 0 of shape (6, 2)");
        assert!(is_error(&error, ErrorKind::OutOfBounds, &asked), "{error}");
    }
    assert!(array.row_range(..=usize::MAX).is_err());
    assert!(array.row_range(1..3).unwrap().row_range(..3).is_err());
    let scalar = MappedArray::zeros(&DType::of::<u8>(), &[]).unwrap().into_read_only().unwrap();
    assert_eq!(scalar.row_range(..).unwrap_err().kind(), ErrorKind::OutOfBounds);
}

#[test]
fn ranges_in_fortran_order_are_refused_unless_they_are_contiguous() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[3, 2], Order::F, b"acebdf"));
    let array = open(&path).unwrap();
    let error = array.row_range(1..3).unwrap_err();
    let what = "rows 1..3 of shape (3, 2) in Fortran order are not contiguous: slice a view";
    assert!(is_error(&error, ErrorKind::ShapeMismatch, what), "{error}");
    let all = array.row_range(..3).unwrap();
    assert_eq!(all.view::<u8>().unwrap().to_vec(), b"abcdef");
    assert_eq!(all.description().unwrap(), array.description().unwrap());
    let none = array.row_range(2..2).unwrap();
    assert_eq!((none.shape(), none.as_slice::<u8>().unwrap()), (&[0, 2][..], &[][..]));
    let line = file(&directory, "b.npy", &npy("|u1", &[3], Order::F, b"abc"));
    assert_eq!(open(line).unwrap().row_range(1..).unwrap().as_slice::<u8>().unwrap(), b"bc");
}

#[test]
fn a_range_keeps_path_mode_and_its_place_in_the_file() {
    let directory = directory();
    let numbers: Vec<u8> = (0..30_u16).flat_map(u16::to_le_bytes).collect();
    let path = file(&directory, "a.npy", &npy("<u2", &[10, 3], Order::C, &numbers));
    let array = open(&path).unwrap();
    let range = array.row_range(4..9).unwrap();
    drop(array);
    assert_eq!(range.path(), Some(path.as_path()));
    assert_eq!((range.mode(), range.header()), (Some(Mode::ReadOnly), None));
    assert_eq!(range.data_offset(), Some(128 + 4 * 6));
    let rows: Vec<u16> = (12..27).collect();
    assert_eq!(range.view::<u16>().unwrap().to_vec(), rows);

    let description = range.row_range(1..3).unwrap().description().unwrap();
    assert_eq!((description.offset, &*description.shape), (128 + 5 * 6, &[2, 3][..]));
    // SAFETY: nobody changes the file of the test.
    let source = unsafe { npymap::source::AnySource::map(&description.path, description.mode) };
    let AnyArray::ReadOnly(again) = description.options().open_mode(source.unwrap()).unwrap()
    else {
        panic!()
    };
    assert_eq!(again.view::<u16>().unwrap().to_vec(), rows[3..9]);

    let mut taken = [0_u16; 6];
    range.rows().unwrap().take(&[4, 0], &mut taken).unwrap();
    assert_eq!(taken, [24, 25, 26, 12, 13, 14]);
    assert!(range.rows().unwrap().take(&[5], &mut taken[..3]).is_err());
    let handle = range.clone().into_typed::<Le<u16>, Ix2>().unwrap();
    assert_eq!(handle.view()[[4, 2]].get(), 26);
    assert_eq!(handle.data_offset(), range.data_offset());

    range.advise(1..3, Advice::Random).unwrap();
    range.prefetch(..).unwrap();
    range.populate(..).unwrap();
    range.populate(2..4).unwrap();
    assert!(range.populate(2..6).is_err());
    range.check_unchanged().unwrap();
    range.drop_cache(..).unwrap();
    let stored = range.stored_ranges().unwrap();
    assert_eq!((stored.len(), &stored[0]), (1, &(0..30)));
    assert_eq!(range.into_data().as_ref().len(), 60);
}

/// The end of a range is compared with the length of the file, not that of the
/// array. Windows does not truncate a mapped file.
#[test]
#[cfg(unix)]
fn a_range_is_checked_to_its_own_end() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[10], Order::C, &[7; 10]));
    let array = open(&path).unwrap();
    let (first, last) = (array.row_range(..5).unwrap(), array.row_range(5..).unwrap());
    std::fs::File::options().write(true).open(&path).unwrap().set_len(128 + 7).unwrap();
    first.check_unchanged().unwrap();
    let error = last.check_unchanged().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
}

#[test]
fn writable_arrays_are_ranged_when_they_are_read_only() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[4], Order::C, b"abcd"));
    let mut array = open_copy_on_write(&path).unwrap();
    array.as_slice_mut::<u8>().unwrap()[3] = b'z';
    let array = array.into_read_only().unwrap();
    assert_eq!(array.row_range(2..).unwrap().as_slice::<u8>().unwrap(), b"cz");
    let read: MappedArray<Map> =
        MappedArray::from_source(Source::open(&path).unwrap().into_read_only()).unwrap();
    let range = read.row_range(1..2).unwrap();
    assert_eq!((range.as_slice::<u8>().unwrap(), range.mode()), (&b"b"[..], None));
    assert_eq!(range.data_offset(), Some(129));
}

/// Appends rows to a file that is mapped.
#[cfg(unix)]
fn append(path: &std::path::Path, rows: &[u16]) {
    let mut appender = npymap::Appender::open(path).unwrap();
    appender.append_slice(rows).unwrap();
    appender.close().unwrap();
}

#[cfg(unix)]
#[test]
fn reloaded_arrays_have_the_rows_that_were_appended() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    npymap::WriteOptions::new()
        .write(&path, &npymap::ndarray::arr2(&[[1_u16, 2], [3, 4]]))
        .unwrap();
    let mut array = open(&path).unwrap();
    let before = array.clone();
    let rows = array.rows().unwrap();
    append(&path, &[5, 6, 7, 8]);
    assert_eq!(array.shape(), [2, 2]);
    array.reload().unwrap();
    assert_eq!(array.as_slice::<u16>().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((array.shape(), array.mode()), (&[4, 2][..], Some(Mode::ReadOnly)));
    assert_eq!(array.header().unwrap().shape, [4, 2]);
    assert_eq!((before.shape(), rows.row_count()), (&[2, 2][..], 2));
    assert_eq!(before.as_slice::<u16>().unwrap(), [1, 2, 3, 4]);
    array.reload().unwrap();
    append(&path, &vec![0; 20_000]);
    array.reload().unwrap();
    assert_eq!(array.shape(), [10_004, 2]);
    assert_eq!(array.row_range(10_003..).unwrap().as_slice::<u16>().unwrap(), [0, 0]);
}

#[cfg(unix)]
#[test]
fn an_array_inside_a_file_is_reloaded_at_its_offset() {
    let directory = directory();
    let first = npy("<u2", &[1], Order::C, &[1, 0]);
    let whole = [&first[..], &npy("<u2", &[2], Order::C, &[2, 0, 3, 0])].concat();
    let path = file(&directory, "a.npy", &whole);
    let options = npymap::OpenOptions::new().offset(first.len() as u64);
    let mut array = crate::support::open_with(&options, &path).unwrap();
    array.reload().unwrap();
    assert_eq!(array.view::<u16>().unwrap().to_vec(), [2, 3]);
}

#[cfg(unix)]
#[test]
fn arrays_without_rows_are_reloaded_when_there_are_some() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    npymap::WriteOptions::new()
        .write(&path, &npymap::ndarray::Array2::<u16>::zeros((0, 2)))
        .unwrap();
    let mut array = open(&path).unwrap();
    let before = array.clone();
    array.reload().unwrap();
    assert_eq!(array.shape(), [0, 2]);
    append(&path, &[1, 2, 3, 4]);
    array.reload().unwrap();
    assert_eq!((array.shape(), array.as_slice::<u16>().unwrap()), (&[2, 2][..], &[1, 2, 3, 4][..]));
    assert!(before.as_slice::<u16>().unwrap().is_empty());
}

/// Some file systems give a new file the identity of one that was removed just before.
#[cfg(unix)]
#[test]
fn a_new_file_is_not_taken_for_one_without_rows() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[0], Order::C, b""));
    let mut array = open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file(&directory, "a.npy", &npy("|u1", &[3], Order::C, b"cde"));
    let error = array.reload().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(array.is_empty());
}

/// Windows does not replace a mapped file.
#[test]
#[cfg(unix)]
fn another_file_is_not_reloaded() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[2], Order::C, b"ab"));
    let mut array = open(&path).unwrap();
    let other = file(&directory, "b.npy", &npy("|u1", &[3], Order::C, b"cde"));
    std::fs::rename(other, &path).unwrap();
    let error = array.reload().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert_eq!(array.as_slice::<u8>().unwrap(), b"ab");
}

#[test]
fn arrays_without_a_header_or_a_map_of_their_own_are_not_reloaded() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[2], Order::C, b"ab"));
    let raw = npymap::array::RawSpec::new("|u1".parse().unwrap());
    let raw = npymap::OpenOptions::new().raw(raw);
    let arrays = [
        open(&path).unwrap().row_range(..1).unwrap(),
        crate::support::open_with(&raw, &path).unwrap(),
        MappedArray::load(&path).unwrap().into_read_only().unwrap(),
        open_mut(&path).unwrap().into_read_only().unwrap(),
    ];
    for mut array in arrays {
        let error = array.reload().unwrap_err();
        let what = "the array cannot be mapped again";
        assert!(is_error(&error, ErrorKind::InvalidInput, what), "{error}");
    }
    let mut anonymous =
        MappedArray::zeros(&DType::of::<u8>(), &[2]).unwrap().into_read_only().unwrap();
    let error = anonymous.reload().unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "was not opened by path"), "{error}");
}
