//! Several files as one array.

use std::fs;
use std::path::PathBuf;

use npymap::{Order, Result, RowSource as _, loader::Concat};

use crate::support::{directory, file, npy, open, thorough};

/// Creates files with the given numbers of rows of two elements, numbered
/// across files.
fn files(directory: &tempfile::TempDir, counts: &[usize]) -> Vec<PathBuf> {
    let mut next = 0_u32;
    let numbers = counts.iter().enumerate().map(|(at, &count)| {
        let end = next + 2 * count as u32;
        let bytes: Vec<u8> = (next..end).flat_map(u32::to_be_bytes).collect();
        next = end;
        let order = if at % 2 == 0 || count == 0 { Order::C } else { Order::F };
        let bytes = if order == Order::C { bytes } else { in_fortran_order(&bytes, count) };
        file(directory, &format!("{at}.npy"), &npy(">u4", &[count, 2], order, &bytes))
    });
    numbers.collect()
}

/// The same rows of two elements in Fortran order.
fn in_fortran_order(bytes: &[u8], count: usize) -> Vec<u8> {
    let places = (0..2).flat_map(|column| (0..count).map(move |row| offset(column, row)));
    places.flat_map(|at| bytes[at..at + 4].to_vec()).collect()
}

fn offset(column: usize, row: usize) -> usize {
    8 * row + 4 * column
}

fn stack(paths: &[PathBuf]) -> Result<Concat> {
    Concat::new(paths.iter().map(open).collect::<Result<Vec<_>>>()?)
}

#[test]
fn rows_are_those_of_all_files_in_sequence() {
    let directory = directory();
    let concat = stack(&files(&directory, &[3, 0, 5, 1, 0, 40, 0])).unwrap();
    assert_eq!((concat.shape(), concat.row_count(), concat.row_len()), (&[49, 2][..], 49, 2));
    let indices: Vec<usize> = (0..200).map(|i| i * 31 % 49).collect();
    let taken = concat.take_array::<u32>(&indices).unwrap();
    assert_eq!(taken.shape(), [200, 2]);
    let expected = indices.iter().flat_map(|row| [2 * row, 2 * row + 1]);
    assert!(taken.iter().map(|value| *value as usize).eq(expected));
    let error = concat.take(&[0, 49], &mut [0_u32; 4]).unwrap_err();
    assert_eq!(error.to_string(), "index 49 is out of bounds for axis 0 of shape (49, 2)");
    assert!(
        concat.take(&[0], &mut [0_u32; 4]).is_err() && concat.take(&[0], &mut [0_i8; 2]).is_err()
    );
}

// On Windows, a map keeps a handle of its file.
#[cfg(not(windows))]
#[test]
fn thousands_of_files_use_no_descriptors() {
    let directory = directory();
    // More than a process can usually have open.
    let count = if thorough() { 10_000 } else { 1_200 };
    let concat = stack(&files(&directory, &vec![1; count])).unwrap();
    let indices: Vec<usize> = (0..count).rev().collect();
    let mut out = vec![0_u32; 2 * count];
    concat.take(&indices, &mut out).unwrap();
    assert!(out.chunks(2).zip(indices).all(|(own, row)| own[1] as usize == 2 * row + 1));
    #[cfg(target_os = "linux")]
    {
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
        assert_eq!(
            descriptors
                .filter(|link: &fs::DirEntry| {
                    fs::read_link(link.path()).is_ok_and(|to| to.starts_with(&directory))
                })
                .count(),
            0
        );
    }
}

#[test]
fn files_that_differ_are_rejected() {
    let directory = directory();
    let mut paths = files(&directory, &[3, 2]);
    paths.push(file(&directory, "x.npy", &npy(">u4", &[1, 3], Order::C, &[0; 12])));
    let error = stack_error(&paths.clone());
    let differs =
        "x.npy: rows '>u4' of shape (3,): expected '>u4' of shape (2,), as in the first file";
    assert!(error.ends_with(differs), "{error}");
    paths[2] = file(&directory, "y.npy", &npy("<u4", &[1, 2], Order::C, &[0; 8]));
    assert!(stack_error(&paths.clone()).contains("y.npy: rows '<u4'"));
    paths[2] = file(&directory, "z.npy", &npy("<u4", &[], Order::C, &[0; 4]));
    assert!(stack_error(&paths).contains("z.npy: axis 0 is out of bounds for shape ()"));
    assert_eq!(stack_error(&Vec::new()), "no files: expected at least one");
}

fn stack_error(paths: &[PathBuf]) -> String {
    stack(paths).unwrap_err().to_string()
}

/// A file of the same shape that replaced the opened one used to be read
/// instead.
#[cfg(unix)]
#[test]
fn files_that_are_replaced_are_not_read() {
    let directory = directory();
    let paths = files(&directory, &[3, 2]);
    let concat = stack(&paths).unwrap();
    for path in paths {
        let other = file(&directory, "other", &npy(">u4", &[3, 2], Order::C, &[9; 24]));
        fs::rename(other, path).unwrap();
    }
    let mut out = [0_u32; 10];
    concat.take(&[0, 1, 2, 3, 4], &mut out).unwrap();
    assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/// Stacks the files that Dask wrote to a directory.
fn dask_stack(directory: &tempfile::TempDir) -> npymap::Result<Concat> {
    Concat::npy_stack_paths(directory.path()).and_then(|paths| stack(&paths))
}

fn dask_error(directory: &tempfile::TempDir) -> String {
    dask_stack(directory).unwrap_err().to_string()
}

#[test]
fn stacks_of_dask_are_opened() {
    let directory = directory();
    files(&directory, &[3, 2, 4]);
    let info = directory.path().join("info");
    let own = directory.path().to_str().unwrap();
    assert!(dask_error(&directory).starts_with(&format!("{own}: cannot open: ")));
    // pickle.dumps({"chunks": ((3, 2, 4), (2,)), "dtype": "x", "axis": 0}, 4)
    let pickle = b"\x80\x04\x95\x36\0\0\0\0\0\0\0}\x94(\x8c\x06chunks\x94K\x03K\x02K\x04\x87\x94K\x02\x85\x94\x86\x94\x8c\x05dtype\x94\x8c\x01x\x94\x8c\x04axis\x94K\0u.";
    fs::write(&info, pickle).unwrap();
    assert_eq!(dask_stack(&directory).unwrap().shape(), [9, 2]);
    let mut other = pickle.to_vec();
    let at = other.len() - 3;
    other[at] = 1;
    fs::write(&info, &other).unwrap();
    assert_eq!(
        dask_error(&directory),
        format!("{own}: a stack along axis 1: expected one along axis 0")
    );
    fs::write(&info, b"nothing").unwrap();
    assert!(dask_error(&directory).contains("the output of Dask's to_npy_stack"));
    fs::write(&info, pickle).unwrap();
    fs::remove_file(directory.path().join("1.npy")).unwrap();
    assert_eq!(
        dask_error(&directory),
        format!("{own}: no 1.npy: expected consecutive files from 0.npy on")
    );
}
