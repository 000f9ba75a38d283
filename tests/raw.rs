//! Raw binary, arrays inside files, several in one file, and descriptions that
//! open them again.

use std::fs::{self, File};

use npymap::{
    CreateOptions, ErrorKind, MappedArray, Mode, OpenOptions, Order, Result, Source, WriteOptions,
    array::{AnyArray, Description, RawSpec},
};

use crate::errors::assert_error;
use crate::support::{
    WIDE, create, directory, file, header_text_with, header_with, is_error, map_file, map_mut_file,
    names, npy, open_mode_with, open_mut, read_with, walk_with,
};

fn raw(descr: &str) -> RawSpec {
    RawSpec::new(descr.parse().unwrap())
}

fn options(raw: RawSpec) -> OpenOptions {
    OpenOptions::new().raw(raw)
}

/// Opens in a mode and returns the elements' bytes in memory order.
fn elements(mode: Mode, path: &std::path::Path, options: &OpenOptions) -> Result<Vec<u8>> {
    match open_mode_with(options, mode, path)? {
        AnyArray::ReadOnly(array) => Ok(array.into_data().as_ref().to_vec()),
        AnyArray::Writable(array) => Ok(array.into_data().as_ref().to_vec()),
    }
}

const MODES: [Mode; 3] = [Mode::ReadOnly, Mode::ReadWrite, Mode::CopyOnWrite];

#[test]
fn every_offset_and_mode_maps_the_same_elements() {
    let directory = directory();
    let bytes: Vec<u8> = (0..200_000_u32).flat_map(|i| (i as u16).to_le_bytes()).collect();
    let path = file(&directory, "a.bin", &bytes);
    for offset in [0, 1, 7, 4095, 4096, 4097, 65_535, 65_536, 65_537, 399_000] {
        let options = options(raw("<u2").shape(&[3, 5]).offset(offset as u64));
        for mode in MODES {
            let found = elements(mode, &path, &options).unwrap();
            assert_eq!(found, bytes[offset..offset + 30], "{mode} {offset}");
        }
        let copy = read_with(&options, &path).unwrap();
        assert_eq!(copy.into_data().as_ref(), &bytes[offset..offset + 30]);
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn the_axes_of_a_subarray_follow_the_shapes() {
    let directory = directory();
    let path = file(&directory, "a.bin", &(0..48).collect::<Vec<u8>>());
    let spec = raw("('<u2', (3,))").shape(&[2, 4]);
    for (order, shape, strides) in
        [(Order::C, [2, 4, 3], [24, 6, 2]), (Order::F, [2, 4, 3], [2, 4, 16])]
    {
        let array = read_with(&options(spec.clone().order(order)), &path).unwrap();
        assert_eq!((array.shape(), array.byte_strides()), (&shape[..], &strides[..]));
    }
    let array = read_with(&options(raw("('<u2', (3,))")), &path).unwrap();
    assert_eq!(array.shape(), [8, 3]);
}

#[test]
fn files_are_extended_only_in_mode_r_plus() {
    let directory = directory();
    let path = file(&directory, "a.bin", b"abc");
    let spec = raw("|u1").shape(&[70_000]).offset(1);
    let needed = 70_001;
    for mode in [Mode::ReadOnly, Mode::CopyOnWrite] {
        let error = elements(mode, &path, &options(spec.clone())).unwrap_err();
        let text = "the elements end at byte 70001 and the file at 3";
        assert!(is_error(&error, ErrorKind::Truncated, text), "{error}");
    }
    assert!(read_with(&options(spec.clone()), &path).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    let found = elements(Mode::ReadWrite, &path, &options(spec)).unwrap();
    assert_eq!(found[..2], *b"bc");
    assert!(found[2..].iter().all(|&byte| byte == 0));
    let stored = fs::read(&path).unwrap();
    assert_eq!((&stored[..3], stored.len()), (&b"abc"[..], needed as usize));
}

#[test]
fn a_file_that_was_extended_meanwhile_is_not_cleared() {
    let directory = directory();
    let path = file(&directory, "a.bin", &[7; 16]);
    let files = [(); 2].map(|()| File::options().read(true).write(true).open(&path).unwrap());
    let [first, second] = files.map(|file| map_mut_file(&file).unwrap());
    let open = |source| options(raw("|u1").shape(&[4096])).open(source).unwrap();
    let mut array = open(first);
    array.as_slice_mut::<u8>().unwrap()[1000..2000].fill(9);
    array.flush().unwrap();
    drop(array);
    let array = open(second);
    let elements = array.as_slice::<u8>().unwrap();
    assert_eq!((&elements[..16], &elements[1000..2000]), (&[7; 16][..], &[9; 1000][..]));
    assert_eq!(fs::metadata(&path).unwrap().len(), 4096);
}

#[test]
fn a_failed_open_leaves_the_file_unchanged() {
    let directory = directory();
    let path = file(&directory, "a.bin", b"abc");
    for spec in [
        raw("<u2"),
        raw("<u2").offset(4),
        raw("|V0"),
        raw("|u1").shape(&[1]).offset(u64::MAX),
        raw("|u1").shape(&[usize::MAX]),
        raw("<f8").shape(&[WIDE; 2]),
        raw("|u1").shape(&[1; 65]),
    ] {
        for mode in MODES {
            let options = options(spec.clone());
            assert!(elements(mode, &path, &options).is_err(), "{mode} {spec:?}");
            assert!(read_with(&options, &path).is_err());
        }
    }
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    assert_eq!(names(directory.path()), ["a.bin"]);
}

#[cfg(target_pointer_width = "64")]
#[test]
fn a_full_disk_is_an_error_and_keeps_the_length() {
    let directory = directory();
    let path = file(&directory, "a.bin", b"abc");
    let spec = raw("|u1").shape(&[1 << 46]);
    let error = elements(Mode::ReadWrite, &path, &options(spec)).unwrap_err();
    // Wine has a different reason.
    let reason = if cfg!(windows) { "cannot extend" } else { " bytes are needed, " };
    assert!(is_error(&error, ErrorKind::Io, reason), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"abc");
}

#[test]
fn mode_w_plus_makes_raw_files_and_replaces_none() {
    let directory = directory();
    let path = directory.path().join("new.bin");
    let options = CreateOptions::new().raw(5);
    let made = create(&path, ">i4", &[2, 3], &options).unwrap();
    assert_eq!((made.mode(), made.into_data().as_ref()), (Some(Mode::Create), &[0; 24][..]));
    assert_eq!(fs::read(&path).unwrap(), [0; 29]);
    let error = create(&path, ">i4", &[2, 3], &options).unwrap_err();
    assert!(is_error(&error, ErrorKind::AlreadyExists, "exists"));
    let error = open_mode_with(&OpenOptions::new(), Mode::Create, &path).unwrap_err();
    assert!(is_error(&error, ErrorKind::InvalidInput, "mode 'w+'"));
    for (descr, shape, offset) in [
        ("|u1", vec![1], u64::MAX),
        ("|u1", vec![usize::MAX], 0),
        ("<f8", vec![WIDE; 2], 0),
        ("|u1", vec![1; 65], 0),
    ] {
        let new = directory.path().join("none");
        assert!(create(&new, descr, &shape, &CreateOptions::new().raw(offset)).is_err());
        assert!(!new.exists());
    }
    let mut array = create(&path, ">i4", &[2, 3], &options.overwrite(true).sparse(true)).unwrap();
    array.view_mut::<i32>().unwrap().fill(&1).unwrap();
    array.close().unwrap();
    assert_eq!(fs::read(&path).unwrap()[5..9], [0, 0, 0, 1]);
}

#[test]
fn an_npy_inside_another_file_opens_at_its_offset() {
    let directory = directory();
    let inner = npy("<u4", &[3], Order::C, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    for before in [0, 1, 1000, 4096] {
        let bytes = [vec![b'x'; before], inner.clone(), b"behind".to_vec()].concat();
        let path = file(&directory, "a.bin", &bytes);
        let options = OpenOptions::new().offset(before as u64);
        for mode in MODES {
            assert_eq!(elements(mode, &path, &options).unwrap(), inner[128..], "{mode} {before}");
        }
        let array = read_with(&options, &path).unwrap();
        assert_eq!(array.data_offset(), Some(before as u64 + 128));
        assert_eq!(array.header(), Some(header_with(&options, &path).unwrap()));
        assert_eq!(header_text_with(&options, &path).unwrap().as_str().trim_end().len(), 57);
        let whole: npymap::ndarray::Array1<u32> = options.read_ndarray(&path).unwrap();
        assert_eq!(whole.to_vec(), [1, 2, 3]);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn long_headers_are_read_at_an_offset_too() {
    let directory = directory();
    let fields: Vec<_> = (0..300).map(|i| format!("('field number {i}', '<f8')")).collect();
    let inner = npy(&format!("[{}]", fields.join(", ")), &[1], Order::C, &[7; 2400]);
    let path = file(&directory, "a.bin", &[&b"abc"[..], &inner].concat());
    let array = read_with(&OpenOptions::new().offset(3), &path).unwrap();
    assert_eq!((array.dtype().fields().len(), array.len()), (300, 1));
}

#[test]
fn several_arrays_are_walked_to_the_end_or_the_first_error() {
    let directory = directory();
    let one = npy("<u2", &[2], Order::C, &[1, 0, 2, 0]);
    let two = npy("<f8", &[0, 3], Order::F, b"");
    let three = npy("|S1", &[], Order::C, b"x");
    let bytes = [&one[..], &two, &three].concat();
    let path = file(&directory, "a.bin", &bytes);
    let walked: Vec<_> =
        walk_with(&OpenOptions::new(), &path).unwrap().collect::<Result<Vec<_>>>().unwrap();
    let places: Vec<_> = walked.iter().map(|array| (array.offset, array.end)).collect();
    assert_eq!(places, [(0, 132), (132, 260), (260, 389)]);
    let third = read_with(&OpenOptions::new().offset(walked[2].offset), &path).unwrap();
    assert_eq!(third.header().as_ref(), Some(&walked[2].header));
    assert_eq!(third.as_slice::<[u8; 1]>().unwrap(), [*b"x"]);
    assert_eq!(walk_with(&OpenOptions::new().offset(132), &path).unwrap().count(), 2);
    assert_eq!(walk_with(&OpenOptions::new().offset(389), &path).unwrap().count(), 0);

    for (bytes, good) in [(&bytes[..388], 2), (&[&bytes[..], b"rest"].concat(), 3)] {
        fs::write(&path, bytes).unwrap();
        let mut walk = walk_with(&OpenOptions::new(), &path).unwrap();
        assert!(walk.by_ref().take(good).all(|array| array.is_ok()));
        let error = walk.next().unwrap().unwrap_err();
        assert_eq!(error.offset(), Some(if good == 2 { 260 } else { 389 }));
        assert!(walk.next().is_none());
    }
}

#[test]
fn descriptions_open_the_array_again() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<u2", &[2, 1], Order::F, &[1, 0, 2, 0]));
    let array = open_mut(&path).unwrap();
    let description = array.description().unwrap();
    let expected = Description {
        path: path.clone(),
        offset: 128,
        dtype: "<u2".parse().unwrap(),
        shape: vec![2, 1],
        order: Order::F,
        mode: Mode::ReadWrite,
        file_id: Source::open(&path).unwrap().file_id(),
        file_len: 132,
    };
    assert_eq!(description, expected);
    assert_eq!(description.file_id.is_some(), cfg!(unix));
    let again = open_mode_with(&description.options(), description.mode, &description.path);
    let AnyArray::Writable(mut again) = again.unwrap() else { panic!() };
    again.view_mut::<u16>().unwrap().set([1, 0], 7).unwrap();
    assert_eq!(array.view::<u16>().unwrap().to_vec(), [1, 7]);
    assert_eq!(again.description().unwrap(), description);

    // Opening a description does not extend the file.
    let longer = Description { shape: vec![3, 1], ..description };
    let error = open_mode_with(&longer.options(), longer.mode, &longer.path).unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "the elements end at byte"), "{error}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 132);

    let copy = MappedArray::load(&path).unwrap();
    assert!(is_error(
        &copy.description().unwrap_err(),
        ErrorKind::InvalidInput,
        "was not opened by path"
    ));
    let nameless = map_file(&File::open(&path).unwrap())
        .and_then(|source| OpenOptions::new().open(source))
        .unwrap();
    assert!(is_error(
        &nameless.description().unwrap_err(),
        ErrorKind::InvalidInput,
        "was not opened by path"
    ));
}

#[cfg(feature = "serde")]
#[test]
fn descriptions_are_sent_as_json() {
    let penguins = crate::support::open("data/penguins.npy").unwrap();
    let description = penguins.description().unwrap();
    let json = serde_json::to_value(&description).unwrap();
    let path = description.path.to_str().unwrap();
    let expected = serde_json::json!({
        "path": path, "offset": 128, "dtype": "<f8", "shape": [342, 4], "order": "C", "mode": "r",
        "file_id": description.file_id, "file_len": 128 + 342 * 4 * 8
    });
    assert_eq!(json, expected);
    let again: Description = serde_json::from_value(json).unwrap();
    assert_eq!(again, description);
    for (key, value) in [("order", "A"), ("mode", "x"), ("dtype", "<f3")] {
        let mut bad = expected.clone();
        bad[key] = value.into();
        assert!(serde_json::from_value::<Description>(bad).is_err(), "{key}");
    }
}

#[test]
fn errors_name_what_works() {
    let directory = directory();
    let path = file(&directory, "a.bin", b"abc");
    let name = path.display();
    for (spec, kind, text) in [
        (
            raw("<u2").offset(0),
            ErrorKind::Corrupt,
            "the file has 3 bytes from byte 0 on, not a multiple of the itemsize 2: pass a shape",
        ),
        (
            raw("<u2").offset(4),
            ErrorKind::Truncated,
            "the elements start at byte 4 and the file ends at 3",
        ),
        (
            raw("|S0"),
            ErrorKind::InvalidInput,
            "the length of the file does not give the number of zero-size elements: pass a shape",
        ),
    ] {
        assert_error(read_with(&options(spec), &path), kind, &format!("{name}: {text}"));
    }
    let error = header_with(&OpenOptions::new().offset(1), &path).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{name}: the array at byte 1: starts with b\"bc\", expected b\"\\x93NUMPY\", open raw elements with `OpenOptions::raw`"
        )
    );
    fs::write(&path, b"").unwrap();
    assert_error(
        read_with(&options(raw("|u1")), &path),
        ErrorKind::Truncated,
        &format!(
            "{name}: is empty, so there is nothing to map: for a shape without elements, open it in mode 'r+'"
        ),
    );
    assert_error(
        OpenOptions::new().offset(1).append(&path),
        ErrorKind::InvalidInput,
        &format!(
            "{name}: rows can only be added to a file that is a single `.npy`: leave out `offset` and `raw`"
        ),
    );
    let memory = MappedArray::zeros(&"|u1".parse().unwrap(), &[1]).unwrap();
    assert_error(
        memory.description(),
        ErrorKind::InvalidInput,
        "the array was not opened by path: open it by path to share its description",
    );
}

#[test]
fn open_files_are_created_and_mapped() {
    let directory = directory();
    let (new, name) = open_temporary(&directory);
    let (dtype, create) = (">u2".parse().unwrap(), CreateOptions::new().raw(5).order(Order::F));
    let spec = raw(">u2").shape(&[3, 4]).offset(5).order(Order::F);
    create.initialize(&new, &dtype, &[3, 4]).unwrap();
    let mut array = map_mut_file(&new).and_then(|source| options(spec).open(source)).unwrap();
    array.view_mut::<u16>().unwrap().set([1, 0], 7).unwrap();
    assert_eq!((array.mode(), array.path()), (Some(Mode::ReadWrite), None));
    array.close().unwrap();
    assert_eq!(fs::read(name.path()).unwrap(), [&[0; 8][..], &[7], &[0; 20]].concat());
    let again = create.initialize(&new, &dtype, &[3, 4]);
    assert!(is_error(&again.unwrap_err(), ErrorKind::AlreadyExists, "exists"));
    let longer = map_mut_file(&new)
        .and_then(|source| options(raw("|u1").shape(&[40])).open(source))
        .unwrap();
    assert_eq!((longer.as_slice::<u8>().unwrap()[8], new.metadata().unwrap().len()), (7, 40));
    let (none, _name) = open_temporary(&directory);
    for (shape, offset) in [(usize::MAX / 2, 0), (1, u64::MAX)] {
        let made = CreateOptions::new().raw(offset).initialize(&none, &dtype, &[shape]);
        assert!(made.is_err() && none.metadata().unwrap().len() == 0);
    }

    let error = longer.check_unchanged().unwrap_err().to_string();
    assert!(error.ends_with("to check, lock or drop it"), "{error}");
}

fn open_temporary(directory: &tempfile::TempDir) -> (File, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new_in(directory).unwrap();
    (file.reopen().unwrap(), file)
}

#[test]
fn a_npy_that_is_no_raw_file_is_named() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    WriteOptions::new().write(&path, &npymap::ndarray::arr1(&[1_u8, 2, 3])).unwrap();
    for spec in [raw("<f8"), raw("<f8").shape(&[100])] {
        let error = read_with(&options(spec), &path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = "the file has an NPY header: open it as a .npy, not with `OpenOptions::raw`";
        assert_eq!(error.message().to_string(), text);
        assert_eq!(error.reason(), "the file has an NPY header");
    }
    // Elsewhere, and of single bytes, it is one.
    assert_eq!(read_with(&options(raw("|u1").offset(128)), &path).unwrap().shape(), [3]);
    assert_eq!(read_with(&options(raw("|u1")), &path).unwrap().shape(), [131]);
    let error = read_with(&options(raw("<f8").offset(128)), &path).unwrap_err();
    assert!(
        error.to_string().ends_with("not a multiple of the itemsize 8: pass a shape"),
        "{error}"
    );
}
