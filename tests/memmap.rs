//! The properties that NumPy's own tests of `memmap` check, under their names.
//! The test of subclasses has no counterpart; whether a result is a map is part
//! of its type.

use std::fs::File;

use npymap::ndarray::{Array2, Axis, Ix2, aview1, s};
use npymap::{
    ArrayFile, CreateOptions, ErrorKind, MappedArrayMut, Mode, OpenOptions, Source,
    array::{AnyArray, RawSpec},
};
use tempfile::TempDir;

use crate::support::{create, directory, is_error, map_file, map_mut_file, native, open_mut_with};

const GRANULARITY: usize = 64 * 1024;

/// The spec of the tests' `float32` array of shape `(3, 4)`.
fn spec() -> RawSpec {
    RawSpec::new(native("f4").parse().unwrap()).shape(&[3, 4])
}

fn bytes(shape: &[usize]) -> RawSpec {
    RawSpec::new("|u1".parse().unwrap()).shape(shape)
}

fn data() -> Array2<f32> {
    Array2::from_shape_fn((3, 4), |(i, j)| (4 * i + j) as f32)
}

/// `memmap(file, mode=mode, …)`
fn memmap(file: &File, mode: Mode, raw: RawSpec) -> npymap::Result<AnyArray> {
    let options = OpenOptions::new().raw(raw);
    Ok(match mode {
        Mode::ReadOnly => AnyArray::ReadOnly(options.open(map_file(file)?)?),
        _ => AnyArray::Writable(options.open(map_mut_file(file)?)?),
    })
}

fn writable(file: &File, raw: RawSpec) -> MappedArrayMut {
    let AnyArray::Writable(array) = memmap(file, Mode::ReadWrite, raw).unwrap() else { panic!() };
    array
}

/// `memmap(name, mode='w+', offset=offset, …)`
fn created(directory: &TempDir, offset: u64, shape: &[usize]) -> MappedArrayMut {
    let path = directory.path().join("mmap");
    let options = CreateOptions::new().raw(offset).overwrite(true);
    create(path, &native("f4"), shape, &options).unwrap()
}

#[test]
fn test_roundtrip() {
    let file = tempfile::tempfile().unwrap();
    let mut fp = writable(&file, spec());
    fp.as_ndarray_mut::<f32, Ix2>().unwrap().assign(&data());
    drop(fp);
    let newfp = memmap(&file, Mode::ReadOnly, spec()).unwrap();
    let AnyArray::ReadOnly(newfp) = newfp else { panic!("it is not writable") };
    assert_eq!(newfp.as_ndarray::<f32, Ix2>().unwrap(), data());
}

#[test]
fn test_open_with_filename() {
    let directory = directory();
    let mut fp = created(&directory, 0, &[3, 4]);
    fp.as_ndarray_mut::<f32, Ix2>().unwrap().assign(&data());
}

#[test]
fn test_unnamed_file() {
    let file = tempfile::tempfile().unwrap();
    let fp = writable(&file, spec());
    assert_eq!((fp.path(), file.metadata().unwrap().len()), (None, 48));
}

#[test]
fn test_attributes() {
    let directory = directory();
    let fp = created(&directory, 1, &[3, 4]);
    assert_eq!((fp.data_offset(), fp.mode()), (Some(1), Some(Mode::Create)));
    assert_eq!(fp.mode().unwrap().to_string(), "w+");
}

#[test]
fn test_filename() {
    let directory = directory();
    let fp = created(&directory, 0, &[3, 4]);
    assert_eq!(fp.path(), Some(&*directory.path().join("mmap")));
    let description = fp.description().unwrap();
    assert_eq!(description.path, std::path::absolute(directory.path().join("mmap")).unwrap());
}

#[test]
fn test_path() {
    let directory = directory();
    let fp = created(&directory, 0, &[3, 4]);
    let path = fp.path().unwrap().canonicalize().unwrap();
    assert_eq!(path, directory.path().canonicalize().unwrap().join("mmap"));
}

#[test]
fn test_flush() {
    let file = tempfile::tempfile().unwrap();
    let mut fp = writable(&file, spec());
    fp.as_ndarray_mut::<f32, Ix2>().unwrap().assign(&data());
    assert_eq!(fp.as_ndarray::<f32, Ix2>().unwrap().row(0), data().row(0));
    fp.flush().unwrap();
}

#[test]
fn test_del() {
    let file = tempfile::tempfile().unwrap();
    let mut fp_base = writable(&file, spec());
    let mut table = fp_base.as_ndarray_mut::<f32, Ix2>().unwrap();
    table.row_mut(0).fill(5.0);
    {
        let fp_view = table.slice(s![0..1, ..]);
        assert_eq!(fp_view.row(0), aview1(&[5.0_f32; 4]));
    }
    assert_eq!(table.row(0), aview1(&[5.0_f32; 4]));
    table.row_mut(0).fill(6.0);
    assert_eq!(table.row(0), aview1(&[6.0_f32; 4]));
}

/// The name of an open file is unknown.
#[test]
fn test_filename_fileobj() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(writable(file.as_file(), spec()).path(), None);
    let options = OpenOptions::new();
    let fp = open_mut_with(&options.raw(spec()), file.path()).unwrap();
    assert_eq!(fp.path(), Some(file.path()));
}

#[test]
fn test_arithmetic_drops_references() {
    let file = tempfile::tempfile().unwrap();
    let mut fp = writable(&file, spec());
    let tmp = &fp.as_ndarray::<f32, Ix2>().unwrap() + 10.0;
    fp.view_mut::<f32>().unwrap().fill(&1.0).unwrap();
    assert_eq!(tmp, Array2::<f32>::from_elem((3, 4), 10.0));
}

#[test]
fn test_indexing_drops_references() {
    let file = tempfile::tempfile().unwrap();
    let mut fp = writable(&file, spec());
    let tmp = fp.as_ndarray::<f32, Ix2>().unwrap().select(Axis(0), &[1, 2]);
    fp.view_mut::<f32>().unwrap().fill(&1.0).unwrap();
    assert_eq!(tmp, Array2::<f32>::zeros((2, 4)));
}

#[test]
fn test_view() {
    let file = tempfile::tempfile().unwrap();
    let fp = writable(&file, spec());
    let new1 = fp.view::<f32>().unwrap();
    let new2 = new1.clone();
    let new_array = fp.as_ndarray::<f32, Ix2>().unwrap();
    let base = fp.as_slice::<f32>().unwrap().as_ptr();
    assert_eq!(new1.as_slice().unwrap().as_ptr(), base);
    assert_eq!(new2.as_slice().unwrap().as_ptr(), base);
    assert_eq!(new_array.as_ptr(), base);
}

#[test]
fn test_getitem() {
    let file = tempfile::tempfile().unwrap();
    let mut fp = writable(&file, spec());
    fp.as_ndarray_mut::<f32, Ix2>().unwrap().assign(&data());
    let view = fp.view::<f32>().unwrap();
    let part = view.slice(s![1.., ..3]).unwrap();
    assert_eq!(part.to_ndarray::<Ix2>().unwrap(), data().slice(s![1.., ..3]));
    let taken =
        ArrayFile::new(Source::from_file(file).unwrap(), OpenOptions::new().raw(spec())).unwrap();
    let taken = taken.select_rows(&[0, 1]).unwrap();
    assert_eq!(taken.as_ndarray::<f32, Ix2>().unwrap(), data().slice(s![..2, ..]));
}

#[test]
fn test_slicing_keeps_references() {
    let file = tempfile::tempfile().unwrap();
    let fp = writable(&file, spec());
    let view = fp.view::<f32>().unwrap();
    let part = view.slice(s![..2, ..2]).unwrap().slice(s![0, ..]).unwrap();
    let start = part.as_slice().unwrap().as_ptr();
    assert_eq!(start, fp.as_slice::<f32>().unwrap().as_ptr());
}

#[test]
fn test_ufunc_return_ndarray() {
    let file = tempfile::tempfile().unwrap();
    let mut fp = writable(&file, spec());
    let mut table = fp.as_ndarray_mut::<f32, Ix2>().unwrap();
    table.assign(&data());
    assert_eq!(table.sum().to_bits(), 66_f32.to_bits());
    assert_eq!(table.sum_axis(Axis(0)), aview1(&[12.0, 15.0, 18.0, 21.0]));
    assert_eq!(&table + &data(), data() * 2.0);
    table += 1.0;
    assert_eq!(fp.as_ndarray::<f32, Ix2>().unwrap(), data() + 1.0);
}

#[test]
fn test_mmap_offset_greater_than_allocation_granularity() {
    let directory = directory();
    let (size, offset) = (5 * GRANULARITY, GRANULARITY as u64 + 1);
    let path = directory.path().join("mmap");
    let options = CreateOptions::new().raw(offset);
    let mut fp = create(path, "|u1", &[size], &options).unwrap();
    assert_eq!(fp.data_offset(), Some(offset));
    fp.as_slice_mut::<u8>().unwrap().fill(1);
    fp.close().unwrap();
    let stored = std::fs::read(directory.path().join("mmap")).unwrap();
    assert_eq!(stored.len(), size + offset as usize);
    assert_eq!(stored.iter().position(|&byte| byte == 1), Some(offset as usize));
}

#[test]
fn test_empty_array_with_offset_multiple_of_allocation_granularity() {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &vec![b'a'; GRANULARITY]).unwrap();
    let fp = writable(&file, bytes(&[0]).offset(GRANULARITY as u64));
    assert_eq!(fp.data_offset(), Some(GRANULARITY as u64));
}

#[test]
fn test_no_shape() {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &[b'a'; 16]).unwrap();
    let mm = writable(&file, RawSpec::new("<f8".parse().unwrap()));
    assert_eq!(mm.shape(), [2]);
}

#[test]
fn test_empty_array() {
    let file = tempfile::tempfile().unwrap();
    let error = memmap(&file, Mode::ReadOnly, bytes(&[0, 4])).unwrap_err();
    assert!(is_error(&error, ErrorKind::Truncated, "is empty"), "{error}");
    assert!(error.to_string().contains("is empty"));
    for _ in 0..2 {
        let fp = writable(&file, bytes(&[0, 4]));
        assert_eq!((fp.shape(), fp.len()), (&[0, 4][..], 0));
        // NumPy extends it to one byte.
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}

#[test]
fn test_shape_type() {
    let directory = directory();
    assert_eq!(created(&directory, 0, &[3]).shape(), [3]);
    assert_eq!(created(&directory, 0, &[3, 4]).shape(), [3, 4]);
    assert_eq!(created(&directory, 0, [3, 4].to_vec().as_slice()).shape(), [3, 4]);
    assert_eq!(created(&directory, 0, aview1(&[3, 4]).as_slice().unwrap()).shape(), [3, 4]);
    assert_eq!(created(&directory, 0, &[]).shape(), [0; 0]);
}
