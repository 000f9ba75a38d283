//! `.ten` files: all ways of reading and writing them, and the errors for
//! damaged ones.

use std::fs;

use npymap::ndarray::{Array1, Array2, Axis, arr0, arr1, arr2};
use npymap::source::MapMut;
use npymap::ten::{Ten, TenWriteOptions};
use npymap::write::Save;
use npymap::{Be, ErrorKind, Le, MappedArray, Mode, Source};

use crate::support::{directory, file, map, map_mut, names, some};

/// `encode_buffer([f4 2×3], infos=['img'])`, as webdataset writes it.
fn image() -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = [*b"~TenBin~", 40_u64.to_le_bytes(), *b"f4\0\0\0\0\0\0", *b"img\0\0\0\0\0"];
    bytes.extend(header.concat());
    bytes.extend([2, 2, 3, 0, 0, 0].map(u64::to_le_bytes).concat());
    bytes.extend([*b"~TenBin~", 24_u64.to_le_bytes()].concat());
    bytes.extend([0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0].iter().flat_map(|n| n.to_le_bytes()));
    bytes.resize(160, 0);
    bytes
}

fn table() -> Array2<f32> {
    arr2(&[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
}

#[test]
fn bytes_equal_webdatasets() {
    let options = TenWriteOptions::new().infos(&["img"]);
    assert!(write(&options, &[&table()]).unwrap() == image());
    let empty = write(&TenWriteOptions::new(), &[]).unwrap();
    assert!(empty.is_empty() && opened(empty).headers().len() == 0);
}

fn write(options: &TenWriteOptions, arrays: &[&dyn Save]) -> npymap::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    options.write(&mut bytes, arrays)?;
    Ok(bytes)
}

fn opened(bytes: Vec<u8>) -> Ten<MapMut> {
    Ten::open(Source::bytes(bytes)).unwrap()
}

#[test]
fn all_orders_and_byte_orders_are_written_the_same() {
    let turned = table().reversed_axes().as_standard_layout().into_owned();
    let turned = turned.t();
    let mut array = MappedArray::zeros(&">f4".parse().unwrap(), &[2, 3]).unwrap();
    array.view_mut::<f32>().unwrap().copy_from(table().view()).unwrap();
    let mut fortran = Vec::new();
    npymap::WriteOptions::new().write_to(&mut fortran, &turned).unwrap();
    let fortran = MappedArray::from_bytes(fortran).unwrap();
    assert!(fortran.layout().is_f_contiguous());
    let sources: [&dyn Save; 3] = [&array, &fortran, &table()];
    let mut reversed = table();
    reversed.invert_axis(Axis(0));
    reversed.invert_axis(Axis(0));
    for array in sources.into_iter().chain([&reversed as &dyn Save]) {
        let options = TenWriteOptions::new().infos(&["img"]);
        assert!(write(&options, &[array]).unwrap() == image());
    }
}

#[test]
fn all_ways_of_reading_agree() {
    let directory = directory();
    let path = directory.path().join("x.ten");
    let numbers = arr1(&[1_i64, -2]);
    TenWriteOptions::new().infos(&["img", "n"]).save(&path, &[&table(), &numbers]).unwrap();
    let bytes = fs::read(&path).unwrap();
    let mapped = map(&path).and_then(Ten::open).unwrap();
    let read = Source::open(&path).unwrap();
    let memory = Source::bytes(bytes.clone());
    let others = [read, memory].map(|source| Ten::open(source.into_read_only()).unwrap());
    for ten in [&mapped].into_iter().chain(&others) {
        assert_eq!(
            ten.headers().map(|header| header.info.as_str()).collect::<Vec<_>>(),
            ["img", "n"]
        );
        assert_eq!(
            ten.get(ten.position("n").unwrap()).unwrap().as_slice::<Le<i64>>().unwrap(),
            [1, -2].map(Le::new)
        );
        assert_eq!(ten.get(0).unwrap().shape(), [2, 3]);
        assert_eq!((ten.index("1").unwrap(), ten.index("n").unwrap()), (1, 1));
        assert_eq!(ten.data_offset(1).unwrap(), 256);
    }
    let private = map(&path).unwrap().into_copy_on_write();
    for source in [private, Source::open(&path).unwrap(), Source::bytes(bytes.clone())] {
        let mut copy = Ten::open(source).unwrap().get(1).unwrap();
        copy.as_slice_mut::<Le<i64>>().unwrap()[0] = 9.into();
    }
    assert_eq!(mapped.get(0).unwrap().mode(), Some(Mode::ReadOnly));
    assert!(fs::read(&path).unwrap() == bytes);
}

#[test]
fn elements_are_changed_in_place() {
    let directory = directory();
    let path = file(&directory, "x.ten", &image());
    let ten = map_mut(&path).and_then(Ten::open).unwrap();
    let mut array = ten.get(0).unwrap();
    array.as_slice_mut::<Le<f32>>().unwrap()[5] = (-1.0).into();
    array.close().unwrap();
    assert_eq!(ten.get(0).unwrap().as_slice::<Le<f32>>().unwrap()[5..], [Le::new(-1.0)]);
    assert_eq!(fs::read(&path).unwrap()[116..120], (-1.0_f32).to_le_bytes());
}

/// Encodes two arrays with these infos.
fn encode_two(infos: &[&str]) -> npymap::Result<Vec<u8>> {
    write(&TenWriteOptions::new().infos(infos), &[&arr1(&[1_u8]), &arr1(&[2_u8])])
}

#[test]
fn infos_are_one_for_all_or_one_each() {
    let ten = opened(encode_two(&["x"]).unwrap());
    assert_eq!(ten.headers().map(|header| header.info.as_str()).collect::<Vec<_>>(), ["x", "x"]);
    for (given, expected) in [
        (&["x", "y", "z"][..], "3 infos for 2 arrays: expected one for all, or one each"),
        (&[], "0 infos for 2 arrays: expected one for all, or one each"),
        (&["123456789"], "the info `123456789`: expected ASCII of at most 8 bytes"),
        (&["ä"], "the info `ä`: expected ASCII of at most 8 bytes"),
    ] {
        assert_eq!(encode_two(given).unwrap_err().to_string(), expected);
    }
}

#[test]
fn only_dtypes_of_the_format_are_written() {
    let expected = "dtype `'<u4'`: webdataset can't read u4: store i8 or u8, or allow it with `TenWriteOptions::allow_u4`";
    let words = arr1(&[1_u32, 2]);
    assert_eq!(encode(&words).unwrap_err().to_string(), expected);
    let bytes = write(&TenWriteOptions::new().allow_u4(true), &[&words]).unwrap();
    assert_eq!(first(bytes).view::<u32>().unwrap().at(1), 2);
    let refused = encode(&arr1(&[true])).unwrap_err().to_string();
    assert_eq!(
        refused,
        "dtype `'|b1'`: a .ten file supports only f2, f4, f8, i1 to i8 and u1 to u8: use .npz"
    );
    let deep = Array1::<u8>::zeros(1).into_shape_with_order(vec![1; 10]).unwrap();
    assert_eq!(encode(&deep).unwrap_err().to_string(), "10 axes: a .ten array has at most 9");
    assert_eq!(first(encode(&arr0(7_u8)).unwrap()).ndim(), 0);
    let empty = encode(&Array2::<f64>::zeros((3, 0))).unwrap();
    assert_eq!(first(empty).shape(), [3, 0]);
}

fn first(bytes: Vec<u8>) -> MappedArray<MapMut> {
    opened(bytes).get(0).unwrap()
}

#[test]
fn numbers_of_either_byte_order_are_written() {
    let expected = encode(&arr1(&[1.5_f32, -2.0])).unwrap();
    assert_eq!(encode(&arr1(&[1.5_f32, -2.0].map(Be::new))).unwrap(), expected);
    assert_eq!(encode(&arr1(&[1.5_f32, -2.0].map(Le::new))).unwrap(), expected);
    let columns = arr2(&[[1_i16, 2], [3, 4]]);
    let expected = encode(&columns.t().to_owned()).unwrap();
    assert_eq!(encode(&columns.mapv(Be::new).reversed_axes()).unwrap(), expected);
}

fn encode(array: &dyn Save) -> npymap::Result<Vec<u8>> {
    write(&TenWriteOptions::new(), &[array])
}

#[test]
fn other_extensions_are_read_and_not_saved() {
    let directory = directory();
    let path = directory.path().join("x.bin");
    let expected = format!(
        "{}: the name ends neither in .ten nor in .tb: rename it, webdataset refuses others",
        path.display()
    );
    let options = TenWriteOptions::new();
    assert_eq!(options.save(&path, &[&table()]).unwrap_err().to_string(), expected);
    assert!(names(directory.path()).is_empty());
    options.write(fs::File::create(&path).unwrap(), &[&table()]).unwrap();
    assert_eq!(Source::open(&path).and_then(Ten::open).unwrap().headers().len(), 1);
    let (penguins, path) =
        (MappedArray::load("data/penguins.npy").unwrap(), directory.path().join("x.tb"));
    options.save(&path, &[&penguins]).unwrap();
    let list = Source::open(&path).and_then(Ten::open).unwrap();
    assert_eq!(list.get(0).unwrap().len(), 1368);
}

#[test]
fn bytes_after_the_elements_of_a_replaced_file_are_kept() {
    let directory = directory();
    let path = directory.path().join("x.ten");
    let mut bytes = fs::read("data/penguins.npy").unwrap();
    bytes.extend([0; 2]);
    fs::write(&path, &bytes).unwrap();
    let error = TenWriteOptions::new().save(&path, &[&table()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(names(directory.path()), ["x.ten"]);
}

/// Changes words of a good file.
fn changed(words: &[(usize, [u8; 8])]) -> Vec<u8> {
    let mut bytes = image();
    for (at, word) in words {
        bytes[*at..at + 8].copy_from_slice(word);
    }
    bytes
}

#[test]
fn each_damaged_file_has_its_error() {
    let number = i64::to_le_bytes;
    let damaged = "the file is damaged: the shape and the number of elements differ";
    let cases: Vec<(Vec<u8>, String)> = vec![
        (b"hello, world, hello".to_vec(), "at byte 0: a chunk starts with b\"hello, w\": expected b\"~TenBin~\"".into()),
        (changed(&[(80, *b"~tenbin~")]), "at byte 80: a chunk starts with b\"~tenbin~\": expected b\"~TenBin~\"".into()),
        (truncated(7), "ends inside the start of a chunk: found 7 of 16 bytes".into()),
        (truncated(30), "ends inside the header of an array: found 14 of 40 bytes".into()),
        (truncated(80), "at byte 0: a header without elements: the file was truncated, or is still being written".into()),
        (truncated(90), "ends inside the start of a chunk: found 10 of 16 bytes".into()),
        (truncated(100), "ends inside the elements: found 4 of 24 bytes".into()),
        (changed(&[(8, number(-1))]), "at byte 0: a chunk of -1 bytes: expected 0 or more".into()),
        (changed(&[(8, number(i64::MAX))]), "at byte 0: the header of an array has 9223372036854775807 bytes: expected 24 bytes and 8 per axis".into()),
        (changed(&[(8, number(16))]), "ends inside the header of an array: found 16 of 24 bytes".into()),
        (changed(&[(8, number(0))]), "ends inside the header of an array: found 0 of 24 bytes".into()),
        (changed(&[(8, number(48))]), "2 axes in a header of 48 bytes: a header has 24 bytes and 8 per axis".into()),
        (changed(&[(88, number(-24))]), "at byte 80: a chunk of -24 bytes: expected 0 or more".into()),
        (changed(&[(88, number(23))]), format!("an array of 24 bytes in a chunk of 23: {damaged}")),
        (changed(&[(88, number(64))]), format!("an array of 24 bytes in a chunk of 64: {damaged}")),
        (changed(&[(88, number(i64::MAX))]), format!("an array of 24 bytes in a chunk of 9223372036854775807: {damaged}")),
        (changed(&[(16, *b"f3\0\0\0\0\0\0")]), "the type code b\"f3\": expected f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 or u8".into()),
        (changed(&[(16, *b"f2\0\0\0\0\0\0")]), format!("an array of 12 bytes in a chunk of 24: {damaged}")),
        (changed(&[(24, *b"\xff\0\0\0\0\0\0\0")]), "the info b\"\\xff\\x00\\x00\\x00\\x00\\x00\\x00\\x00\": expected ASCII".into()),
        (changed(&[(32, number(-2))]), "an array of -2 axes: expected 0 or more".into()),
        (changed(&[(32, number(3))]), "3 axes in a header of 40 bytes: a header has 24 bytes and 8 per axis".into()),
        (changed(&[(32, number(65))]), "65 axes, NumPy arrays have at most 64".into()),
        (changed(&[(32, number(i64::MAX))]), "axes, NumPy arrays have at most 64".into()),
        (changed(&[(40, number(-1))]), "an axis of length -1: expected 0 or more".into()),
        (changed(&[(40, number(isize::MAX as i64 / 4)), (48, number(8))]), format!("exceeds a {}-bit address space", usize::BITS)),
        (changed(&[(40, number(1 << 27))]), format!("an array of 1610612736 bytes in a chunk of 24: {damaged}")),
        (changed(&[(40, number(0)), (48, number(isize::MAX as i64))]), format!("exceeds a {}-bit address space", usize::BITS)),
        #[cfg(target_pointer_width = "32")]
        (changed(&[(40, number(1 << 40))]), "an axis of length 1099511627776: expected a length that this machine can address".into()),
    ];
    for (bytes, expected) in &cases {
        let error = Ten::open(Source::bytes(bytes.clone())).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}

fn truncated(len: usize) -> Vec<u8> {
    image()[..len].to_vec()
}

#[test]
fn every_truncation_except_of_padding_is_rejected() {
    let bytes = image();
    for len in some(1..bytes.len()) {
        let cut = &bytes[..len];
        let is_whole = len >= 120;
        assert_eq!(Ten::open(Source::bytes(cut.to_vec())).is_ok(), is_whole, "{len}");
    }
}

#[test]
fn no_changed_byte_causes_a_panic() {
    for at in some(0..image().len()) {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = image();
            bytes[at] = byte;
            let Ok(ten) = Ten::open(Source::bytes(bytes)) else { continue };
            (0..ten.headers().len()).for_each(|index| drop(ten.get(index)));
        }
    }
}

#[test]
fn members_that_are_absent_are_named() {
    let ten = Ten::open(Source::bytes(image())).unwrap();
    assert_eq!(ten.get(1).unwrap_err().to_string(), "no member `1`: members are numbered 0..1");
    assert_eq!(
        ten.position("x").unwrap_err().to_string(),
        "no member `x`: the only member is `img`"
    );
}

#[test]
fn numbers_with_zeros_or_signs_are_infos() {
    let [one, two] = [10_u8, 20].map(|value| npymap::ndarray::arr1(&[value]));
    let options = TenWriteOptions::new().infos(&["01", "+0"]);
    let ten = opened(write(&options, &[&one, &two]).unwrap());
    let found = ["01", "1", "+0", "0"].map(|text| ten.index(text).unwrap());
    assert_eq!(found, [0, 1, 1, 0]);
    assert_eq!(ten.index("001").unwrap_err().kind(), npymap::ErrorKind::NotFound);
}
