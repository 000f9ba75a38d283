//! Writes and flushes reach the file.

use std::fs;

use npymap::ndarray::{IxDyn, s};
use npymap::{
    CreateOptions, ErrorKind, MappedArray, MappedArrayMut, OpenOptions, Order, Value,
    layout::Layout,
};

use crate::support::{
    create, directory, file, is_error, map_mut_file, native, npy, open, open_copy_on_write,
    open_mut,
};

fn numbers() -> Vec<u8> {
    (0..12_u16).flat_map(|n| (n * 257).to_be_bytes()).collect()
}

/// Whatever the dtype, also where elements are not made of parts.
#[test]
fn bytes_that_a_value_does_not_have_are_kept() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|V8", &[2], Order::C, &[7; 16]));
    let mut array = open_mut(&path).unwrap();
    array
        .element_writer()
        .unwrap()
        .write(&[0], &[npymap::element::Pad::<8>::default(); 2])
        .unwrap();
    assert_eq!(array.as_slice::<[u8; 8]>().unwrap(), [[7; 8]; 2]);
    let error = array.view::<npymap::element::Pad<4>>().unwrap_err();
    assert_eq!(error.kind(), npymap::ErrorKind::DTypeMismatch, "{error}");
}

#[test]
fn writes_go_to_the_file_and_every_map_of_it() {
    let directory = directory();
    for order in [Order::C, Order::F] {
        let path = file(&directory, "a.npy", &npy(">u2", &[3, 4], order, &numbers()));
        let mut array = open_mut(&path).unwrap();
        let other = open(&path).unwrap();
        let mut expected = other.view::<u16>().unwrap().to_ndarray::<IxDyn>().unwrap();
        array.element_writer().unwrap().write(&[1, 2], &[1_u16]).unwrap();
        expected[[1, 2]] = 1;
        array.element_writer().unwrap().write(&[2], &[7_u16, 8]).unwrap();
        expected[[2, 0]] = 7;
        expected[if order == Order::C { [2, 1] } else { [0, 1] }] = 8;
        array.element_writer().unwrap().write(&[2, 3], &[Value::UInt(9)]).unwrap();
        expected[[2, 3]] = 9;
        array.element_writer().unwrap().write::<u16>(&[2, 3], &[]).unwrap();
        assert_eq!(other.view::<u16>().unwrap().to_ndarray::<IxDyn>().unwrap(), expected);
        array.flush_rows(1..2).unwrap();
        array.flush_async().unwrap();
        array.close().unwrap();
        assert_eq!(
            open(&path).unwrap().view::<u16>().unwrap().to_ndarray::<IxDyn>().unwrap(),
            expected
        );
    }
}

#[test]
fn writes_out_of_bounds_or_of_another_type_are_rejected() {
    let directory = directory();
    let bytes = npy(">u2", &[3, 4], Order::C, &numbers());
    let path = file(&directory, "a.npy", &bytes);
    let mut array = open_mut(&path).unwrap();
    for (at, values, text) in [
        (&[3][..], 1, "index (3,) is out of bounds for shape (3, 4)"),
        (&[0, 4], 1, "index (0, 4) is out of bounds for shape (3, 4)"),
        (&[0, 0, 0], 1, "index (0, 0, 0) is out of bounds for shape (3, 4)"),
        (&[2, 1], 4, "expected at most 3 values, found 4"),
        (&[], 13, "expected at most 12 values, found 13"),
    ] {
        let error = array.element_writer().unwrap().write(at, &vec![1_u16; values]).unwrap_err();
        assert_eq!(error.to_string(), with_path(&path, text));
    }
    let error = array.element_writer().unwrap().write(&[], &[1_u32]).unwrap_err();
    assert!(is_error(&error, ErrorKind::DTypeMismatch, "asked for"), "{error}");
    let error = array.flush_rows(2..4).unwrap_err();
    assert_eq!(
        error.to_string(),
        with_path(&path, "range 2..4 is out of bounds for axis 0 of shape (3, 4)")
    );
    drop(array);
    let mut private = open_copy_on_write(&path).unwrap();
    let text = "changes to this array are not written to a file: store through `view_mut`, or open it with `open_mut`";
    let error = private.element_writer().unwrap_err();
    assert_eq!(error.to_string(), with_path(&path, text));
    assert!(is_error(
        &private.write_fill_slice([], None, &1_u16).unwrap_err(),
        ErrorKind::InvalidInput,
        "not written to a file"
    ));
    private.flush_async().unwrap();
    private.flush_rows(0..3).unwrap();
    private.flush().unwrap();
    let mut memory = MappedArray::zeros(&">u2".parse().unwrap(), &[2]).unwrap();
    assert!(is_error(
        &memory.element_writer().unwrap_err(),
        ErrorKind::InvalidInput,
        "not written to a file"
    ));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

fn with_path(path: &std::path::Path, text: &str) -> String {
    format!("{}: {text}", path.display())
}

#[test]
fn arrays_without_elements_or_axes_can_be_written() {
    let directory = directory();
    let path = file(&directory, "0d.npy", &npy(&native("f8"), &[], Order::C, &[0; 8]));
    let mut array = open_mut(&path).unwrap();
    array.element_writer().unwrap().write(&[], &[1.5_f64]).unwrap();
    array.flush_rows(0..1).unwrap();
    assert_eq!(array.as_slice::<f64>().unwrap(), [1.5]);
    let path = file(&directory, "empty.npy", &npy("<f8", &[0, 3], Order::C, &[]));
    let mut array = open_mut(&path).unwrap();
    array.element_writer().unwrap().write::<f64>(&[], &[]).unwrap();
    array.write_fill_slice([], None, &1.0_f64).unwrap();
    array.element_writer().unwrap().write(&[], &[1.5_f64]).unwrap_err();
    array.flush_rows(0..0).unwrap();
    array.flush_async().unwrap();
    array.close().unwrap();
    let path = file(&directory, "V0.npy", &npy("|V0", &[3], Order::C, &[]));
    let mut array = open_mut(&path).unwrap();
    array.element_writer().unwrap().write(&[1], &[[0_u8; 0]; 2]).unwrap();
    array.write_fill_slice([], None, &[0_u8; 0]).unwrap();
}

#[test]
fn a_file_filled_by_writes_is_full() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let len = 1_000_003;
    let mut array = create(&path, ">i2", &[len], &CreateOptions::new()).unwrap();
    array.write_fill_slice([], None, &-2_i16).unwrap();
    assert!(array.view::<i16>().unwrap().iter().all(|value| value == -2));
    array.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), npy(">i2", &[len], Order::C, &[0xff, 0xfe].repeat(len)));
    let mut array =
        create(directory.path().join("b.npy"), &native("i4"), &[len], &CreateOptions::new())
            .unwrap();
    let values: Vec<i32> = (0..len as i32).collect();
    array.element_writer().unwrap().write(&[0], &values).unwrap();
    assert_eq!(array.as_slice::<i32>().unwrap(), values);
}

#[test]
fn only_a_selection_is_written() {
    let directory = directory();
    let shape = [40, 300];
    for order in [Order::C, Order::F] {
        // Few enough ranges, with enough elements, to be stored through the
        // map.
        for slice in [s![3..5, ..], s![.., 7..8], s![..;-2, ..;3], s![1..1, ..]] {
            let bytes = npy(">u2", &shape, order, &[1, 2].repeat(12_000));
            let path = file(&directory, "a.npy", &bytes);
            let mut array = open_mut(&path).unwrap();
            let mut expected = array.view::<u16>().unwrap().to_ndarray::<IxDyn>().unwrap();
            let selected = expected.slice(slice).len();
            expected.slice_mut(slice).fill(7);
            assert_eq!(array.write_fill_slice(slice, None, &7_u16).unwrap(), selected);
            assert_eq!(array.view::<u16>().unwrap().to_ndarray::<IxDyn>().unwrap(), expected);
            drop(array);
            assert_eq!(
                open(&path).unwrap().view::<u16>().unwrap().to_ndarray::<IxDyn>().unwrap(),
                expected
            );
        }
    }
}

#[test]
fn a_field_of_a_selection_is_written_and_padding_is_kept() {
    let directory = directory();
    let dtype = "{'names': ['a', 'b'], 'formats': ['u1', '<u2'], 'offsets': [0, 2], 'itemsize': 5}";
    let path = file(&directory, "a.npy", &npy(dtype, &[3], Order::C, &[9; 15]));
    let mut array = open_mut(&path).unwrap();
    array.write_fill_slice(s![1..], Some("b"), &513_u16).unwrap();
    assert_eq!(array.as_bytes().unwrap(), [9, 9, 9, 9, 9, 9, 9, 1, 2, 9, 9, 9, 1, 2, 9]);
    let record = Value::parse("(5, 6)", array.dtype()).unwrap();
    array.write_fill_slice(s![0], None, &record).unwrap();
    assert_eq!(array.as_bytes().unwrap()[..5], [5, 9, 6, 0, 9]);
    let error = array.write_fill_slice(s![0], Some("c"), &1_u8).unwrap_err();
    assert!(error.to_string().ends_with("no field `c`, expected `a`, `b`"), "{error}");
    array.write_fill_slice(s![3], None, &record).unwrap_err();
    let mut private = open_copy_on_write(&path).unwrap();
    let error = private.write_fill_slice(s![0], None, &record).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// A map of 64 bytes, and an array of four numbers at byte 32 of it.
fn inside_a_map(directory: &tempfile::TempDir) -> (std::path::PathBuf, MappedArrayMut) {
    let path = file(directory, "a.npy", &npy(&native("u4"), &[16], Order::C, &[7; 64]));
    let map = open_mut(&path).unwrap().into_data();
    let layout = Layout::new(native("u4").parse().unwrap(), &[4], Order::C, 32).unwrap();
    (path, MappedArray::from_parts(map, layout).unwrap())
}

#[test]
fn writes_to_an_array_inside_a_map_start_at_its_offset() {
    let directory = directory();
    let (path, mut array) = inside_a_map(&directory);
    array.write_fill_slice([], None, &1_u32).unwrap();
    assert_eq!(array.as_slice::<u32>().unwrap(), [1; 4]);
    array.element_writer().unwrap().write(&[1], &[2_u32, 3, 4]).unwrap();
    array.element_writer().unwrap().write(&[0], &[5_u32]).unwrap();
    assert_eq!(array.as_slice::<u32>().unwrap(), [5, 2, 3, 4]);
    let error = array.element_writer().unwrap().write(&[2], &[0_u32; 3]).unwrap_err();
    assert_eq!(error.to_string(), "expected at most 2 values, found 3");
    let bytes = fs::read(&path).unwrap();
    assert!(bytes[128..160] == [7; 32] && bytes[176..] == [7; 16], "only its own bytes");
}

#[test]
fn flushing_and_advice_about_an_array_inside_a_map_start_at_its_offset() {
    let directory = directory();
    let path =
        file(&directory, "a.npy", &npy(&native("u4"), &[1 << 16], Order::C, &vec![7; 1 << 18]));
    let map = open_mut(&path).unwrap().into_data();
    let (rows, offset) = (1 << 14, (1 << 18) - (1 << 16));
    let layout = Layout::new(native("u4").parse().unwrap(), &[rows], Order::C, offset).unwrap();
    let mut array = MappedArray::from_parts(map, layout).unwrap();
    array.as_slice_mut::<u32>().unwrap().fill(1);
    array.flush_rows(rows - 1..rows).unwrap();
    array.flush_rows(0..rows).unwrap();
    array.populate(..).unwrap();
    array.prefetch(rows - 1..).unwrap();
    assert!(array.as_slice::<u32>().unwrap().iter().all(|&value| value == 1));
}

#[cfg(unix)]
#[test]
fn writes_through_an_append_only_descriptor_are_rejected() {
    let directory = directory();
    let bytes = npy(&native("u2"), &[4], Order::C, &[7; 8]);
    let path = file(&directory, "a.npy", &bytes);
    let appending = fs::File::options().read(true).append(true).open(&path).unwrap();
    let mut array =
        map_mut_file(&appending).and_then(|source| OpenOptions::new().open(source)).unwrap();
    let text = "the file was opened with `O_APPEND`, which only writes at its end: open it without `O_APPEND`, or store through `view_mut`";
    assert_eq!(array.element_writer().unwrap_err().to_string(), text);
    assert_eq!(array.write_fill_slice([], None, &1_u16).unwrap_err().to_string(), text);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    array.view_mut::<u16>().unwrap().fill(&1).unwrap();
    assert_eq!(open(&path).unwrap().as_slice::<u16>().unwrap(), [1; 4]);
}

#[cfg(not(target_family = "wasm"))]
#[test]
fn threads_write_elements_of_any_order_and_type() {
    for (dtype, order) in [("<i4", Order::C), (">i4", Order::C), ("<i4", Order::F)] {
        let directory = directory();
        let path = directory.path().join("a.npy");
        let options = CreateOptions::new().order(order);
        // SAFETY: nobody else knows of the file.
        let array = unsafe { options.create(&path, &dtype.parse().unwrap(), &[16, 16]) };
        let mut array = array.unwrap();
        let writer = array.element_writer().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let writer = &writer;
                // Elements of all threads are scattered among each other.
                scope.spawn(move || {
                    for position in (thread..256_usize).step_by(4) {
                        let at = [position / 16, position % 16];
                        writer.write(&at, &[i32::try_from(position).unwrap()]).unwrap();
                    }
                });
            }
        });
        let error = writer.write(&[16], &[1_i32]).unwrap_err();
        assert!(error.to_string().ends_with("index (16,) is out of bounds for shape (16, 16)"));
        assert!(error.path().is_some());
        let expected: Vec<i32> = (0..256).collect();
        assert_eq!(array.view::<i32>().unwrap().to_vec(), expected, "{dtype} {order:?}");
        array.close().unwrap();
        assert_eq!(open(&path).unwrap().view::<i32>().unwrap().to_vec(), expected);
    }
}
