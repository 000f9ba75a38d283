//! Many files as one array.

use std::fs;
use std::path::PathBuf;

use npymap::{ErrorKind, Order, Result, Stacked};

use crate::support::{directory, file, is_error, npy};

/// Many files.
const FILES: usize = 10_000;

/// Files of so many rows of two, numbered on from file to file.
fn files(directory: &tempfile::TempDir, counts: &[usize]) -> Vec<PathBuf> {
    let mut next = 0_u32;
    let numbers = counts.iter().enumerate().map(|(at, &count)| {
        let end = next + 2 * count as u32;
        let bytes: Vec<u8> = (next..end).flat_map(u32::to_be_bytes).collect();
        next = end;
        let order = if at % 2 == 0 || count == 0 { Order::C } else { Order::F };
        let bytes = if order == Order::C { bytes } else { turned(&bytes, count) };
        file(directory, &format!("{at}.npy"), &npy(">u4", &[count, 2], order, &bytes))
    });
    numbers.collect()
}

/// The same rows of two in Fortran order.
fn turned(bytes: &[u8], count: usize) -> Vec<u8> {
    let place = |column: usize, row: usize| 8 * row + 4 * column;
    let places = (0..2).flat_map(|column| (0..count).map(move |row| place(column, row)));
    places.flat_map(|at| bytes[at..at + 4].to_vec()).collect()
}

fn open(paths: Vec<PathBuf>) -> Result<Stacked> {
    // SAFETY: the test that owns the files changes none of them meanwhile.
    unsafe { Stacked::open(paths) }
}

#[test]
fn rows_are_those_of_all_files_one_after_the_other() {
    let directory = directory();
    let stacked = open(files(&directory, &[3, 0, 5, 1, 0, 40, 0])).unwrap();
    assert_eq!((stacked.shape(), stacked.len(), stacked.row_len()), (&[49, 2][..], 49, 2));
    for most in [1, 2, 100] {
        let stacked = open(files(&directory, &[3, 0, 5, 1, 0, 40, 0])).unwrap().most_open(most);
        let indices: Vec<usize> = (0..200).map(|i| i * 31 % 49).collect();
        let taken = stacked.take_array::<u32>(&indices).unwrap();
        assert_eq!(taken.shape(), [200, 2]);
        let expected = indices.iter().flat_map(|row| [2 * row, 2 * row + 1]);
        assert!(taken.iter().map(|value| *value as usize).eq(expected));
    }
    let all: usize = stacked.iter().map(|array| array.unwrap().shape()[0]).sum();
    assert_eq!(all, 49);
    let error = stacked.take(&[0, 49], &mut [0_u32; 4]).unwrap_err();
    assert_eq!(error.to_string(), "index 49 of axis 0 is outside shape (49, 2)");
    assert!(
        stacked.take(&[0], &mut [0_u32; 4]).is_err() && stacked.take(&[0], &mut [0_i8; 2]).is_err()
    );
}

#[test]
fn thousands_of_files_work_with_few_mapped() {
    let directory = directory();
    let stacked = open(files(&directory, &vec![1; FILES])).unwrap().most_open(8);
    let indices: Vec<usize> = (0..FILES).rev().collect();
    let mut out = vec![0_u32; 2 * FILES];
    stacked.take(&indices, &mut out).unwrap();
    assert!(out.chunks(2).zip(indices).all(|(own, row)| own[1] as usize == 2 * row + 1));
    #[cfg(target_os = "linux")]
    {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let own = directory.path().to_str().unwrap();
        assert!(maps.lines().filter(|line| line.contains(own)).count() <= 8);
    }
}

#[test]
fn files_that_differ_are_refused() {
    let directory = directory();
    let mut paths = files(&directory, &[3, 2]);
    paths.push(file(&directory, "x.npy", &npy(">u4", &[1, 3], Order::C, &[0; 12])));
    let says = |paths: Vec<PathBuf>| open(paths).unwrap_err().to_string();
    let error = says(paths.clone());
    assert!(error.ends_with(
        "x.npy: rows '>u4' of shape (3,): expected '>u4' of shape (2,), as in the first file"
    ));
    paths[2] = file(&directory, "y.npy", &npy("<u4", &[1, 2], Order::C, &[0; 8]));
    assert!(says(paths.clone()).contains("y.npy: rows '<u4'"));
    paths[2] = file(&directory, "z.npy", &npy("<u4", &[], Order::C, &[0; 4]));
    assert!(says(paths).contains("z.npy: axis 0 of shape ()"));
    assert_eq!(says(Vec::new()), "no files: expected at least one");

    let stacked = open(files(&directory, &[3, 2])).unwrap();
    files(&directory, &[3, 1]);
    let error = stacked.take(&[0, 4], &mut [0_u32; 4]).unwrap_err();
    assert!(is_error(&error, ErrorKind::Changed, "was replaced by another file"), "{error}");
    assert!(error.path().unwrap().ends_with("1.npy"));
}

#[test]
fn stacks_of_dask_are_opened() {
    let directory = directory();
    files(&directory, &[3, 2, 4]);
    // SAFETY: the test that owns the files changes none of them meanwhile.
    let open = || unsafe { Stacked::open_npy_stack(directory.path()) };
    let says = || open().unwrap_err().to_string();
    let own = directory.path().to_str().unwrap();
    assert!(says().starts_with(&format!("{own}: cannot open: ")));
    let info = |bytes: &[u8]| fs::write(directory.path().join("info"), bytes).unwrap();
    // pickle.dumps({"chunks": ((3, 2, 4), (2,)), "dtype": "x", "axis": 0}, 4)
    let pickle = b"\x80\x04\x95\x36\0\0\0\0\0\0\0}\x94(\x8c\x06chunks\x94K\x03K\x02K\x04\x87\x94K\x02\x85\x94\x86\x94\x8c\x05dtype\x94\x8c\x01x\x94\x8c\x04axis\x94K\0u.";
    info(pickle);
    assert_eq!(open().unwrap().shape(), [9, 2]);
    let mut other = pickle.to_vec();
    let at = other.len() - 3;
    other[at] = 1;
    info(&other);
    assert_eq!(says(), format!("{own}: a stack along axis 1: expected one along axis 0"));
    info(b"nothing");
    assert!(says().contains("what Dask's to_npy_stack writes"));
    info(pickle);
    fs::remove_file(directory.path().join("1.npy")).unwrap();
    assert_eq!(says(), format!("{own}: no 1.npy: expected files from 0.npy on, without a gap"));
}
