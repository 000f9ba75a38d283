//! Files are recovered, whatever state their writer left them in.

use std::fs;
use std::path::Path;

use npymap::{
    ErrorKind, Order,
    write::{RecoverOptions, Recovery},
};

use crate::support::{directory, file, header_with, is_error, names, npy, raw, text};

fn plan(path: &Path, zero_fill: bool) -> Recovery {
    RecoverOptions::new().zero_fill(zero_fill).plan(path).unwrap()
}

#[test]
fn the_shape_is_that_of_the_existing_rows() {
    let directory = directory();
    let elements: Vec<u8> = (1..=250).collect();
    for order in [Order::C, Order::F] {
        for said in [0, 1, 9, 10, 11] {
            for len in [0, 1, 4, 5, 6, 44, 45, 46, 49, 50, 51, 112_usize] {
                for zero_fill in [false, true] {
                    let bytes =
                        [npy("|u1", &shape(order, said), order, &[]), elements[..len].to_vec()]
                            .concat();
                    let path = file(&directory, "a.npy", &bytes);
                    let planned = plan(&path, zero_fill);
                    assert_eq!(fs::read(&path).unwrap(), bytes, "a plan changes nothing");
                    let done = RecoverOptions::new().zero_fill(zero_fill).recover(&path).unwrap();
                    assert_eq!(done, planned);
                    let (whole, rest) = (len / 5, len % 5);
                    let fills = zero_fill && rest > 0;
                    let rows = whole + usize::from(fills);
                    assert_eq!(
                        (&done.header_shape, &done.shape),
                        (&shape(order, said), &shape(order, rows))
                    );
                    let (dropped, filled) = if fills { (0, 5 - rest) } else { (rest, 0) };
                    assert_eq!((done.dropped, done.filled), (dropped as u64, filled as u64));
                    let mut kept = elements[..len].to_vec();
                    kept.resize(rows * 5, 0);
                    assert_eq!(
                        fs::read(&path).unwrap(),
                        npy("|u1", &shape(order, rows), order, &kept)
                    );
                    assert!(plan(&path, zero_fill).is_complete());
                }
            }
        }
    }
}

fn shape(order: Order, rows: usize) -> Vec<usize> {
    if order == Order::C { vec![rows, 5] } else { vec![5, rows] }
}

#[test]
fn recovery_can_be_interrupted_at_every_step() {
    // The file after each step of the longest recovery, and of a writer: rows
    // beyond the header's count, or fewer than it announces.
    let directory = directory();
    let whole = npy("<u2", &[7], Order::C, &[1; 14]);
    for header in [5, 7, 10] {
        for len in [0, 1, 13, 14] {
            let bytes = [npy("<u2", &[header], Order::C, &[]), vec![1; len]].concat();
            let path = file(&directory, "a.npy", &bytes);
            RecoverOptions::new().recover(&path).unwrap();
            let rows = len / 2;
            assert_eq!(fs::read(&path).unwrap()[128..], whole[128..128 + 2 * rows]);
            assert_eq!(header_with(&npymap::OpenOptions::new(), &path).unwrap().shape, [rows]);
        }
    }
}

#[test]
fn a_header_without_room_is_extended() {
    let directory = directory();
    let tight = text("'|u1'", "(7,)", Order::C, 60);
    let path = file(&directory, "a.npy", &raw(&tight, &[7; 12_345]));
    let done = RecoverOptions::new().recover(&path).unwrap();
    assert_eq!(done.shape, [12_345]);
    assert_eq!(fs::read(&path).unwrap(), npy("|u1", &[12_345], Order::C, &[7; 12_345]));
    assert_eq!(names(directory.path()), ["a.npy"]);
}

#[test]
fn files_that_no_crash_explains_are_rejected() {
    let directory = directory();
    let one = npy("<f8", &[1], Order::C, &[0; 8]);
    let two = file(&directory, "two.npy", &[one.clone(), one.clone()].concat());
    let error = RecoverOptions::new().recover(&two).unwrap_err();
    let text = "another array follows the elements at byte 136: no rows can be recovered";
    assert_eq!(error.to_string(), format!("{}: {text}", two.display()));
    let scalar = file(&directory, "0d.npy", &npy("<f8", &[], Order::C, &[0; 9]));
    assert!(is_error(
        &RecoverOptions::new().recover(&scalar).unwrap_err(),
        ErrorKind::ShapeMismatch,
        "no axis to append along"
    ));
    for len in [0, 5, 127] {
        let cut = file(&directory, "cut.npy", &one[..len]);
        RecoverOptions::new().recover(&cut).unwrap_err();
        assert_eq!(fs::read(&cut).unwrap(), one[..len]);
    }
    assert_eq!(fs::read(&two).unwrap().len(), 272);
}

#[test]
fn rows_of_no_bytes_are_counted_by_the_header() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("<f8", &[5, 0], Order::C, b"rest"));
    let done = RecoverOptions::new().recover(&path).unwrap();
    assert_eq!((done.shape, done.dropped), (vec![5, 0], 4));
    assert_eq!(fs::read(&path).unwrap(), npy("<f8", &[5, 0], Order::C, &[]));
    let path = file(&directory, "b.npy", &npy("<f8", &[0, usize::MAX >> 5], Order::C, b"rest"));
    assert_eq!(RecoverOptions::new().recover(&path).unwrap().dropped, 4);
}
