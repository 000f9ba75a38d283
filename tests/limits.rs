//! The limits are those that `SECURITY.md` lists.

use std::fs;
use std::path::Path;

use npymap::ndarray::IxDyn;
use npymap::npz::Npz;
use npymap::tar::TarFile;
use npymap::{DType, MappedArray, Order, Source, npy};

use crate::support::{npy as file, raw, text};
use crate::tar_extensions::extended;
use crate::zips::{Zip, Zipped, deflated, stored};

/// Returns whether something of this size is accepted.
type Accepts = fn(u64) -> bool;

/// The rows of the table, by their first words.
const ROWS: [(&str, Accepts); 9] = [
    ("characters in a header", has_header),
    ("nested brackets in a header", has_brackets),
    ("axes of an array", has_axes),
    ("bytes of an element", has_itemsize),
    ("elements without bytes, or rows without elements, in memory or as text", has_unbacked),
    ("bytes of a deflated member, in memory", is_inflated),
    ("uncompressed bytes per deflated byte", has_ratio),
    ("bytes of a long name or pax header in a tar file", has_extension),
    ("bytes between two members of a zip archive", has_gap),
];

#[test]
fn limits_are_as_documented() {
    assert_eq!(npy::MAX_HEADER_LEN, 10_000);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("SECURITY.md");
    let page = fs::read_to_string(page).unwrap();
    let (page, _) = page.split_once("## Not promised").unwrap();
    let table = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    // Those of the program have tests of their own.
    let table: Vec<&str> = table.filter(|line| !line.contains("in the program")).collect();
    assert_eq!(table.len(), ROWS.len());
    for (line, (what, accepts)) in table.iter().zip(ROWS) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells[1], what);
        let limit: u64 = cells[2].replace(',', "").parse().unwrap();
        assert!(accepts(limit), "{what}: {limit} is refused");
        assert!(!accepts(limit + 1), "{what}: more than {limit} is accepted");
    }
}

fn has_gap(len: u64) -> bool {
    let descriptor = vec![0; len as usize];
    let member = Zipped { descriptor, ..stored("a.npy", &file("'|u1'", &[1], Order::C, &[7])) };
    let npz = Npz::open(Source::bytes(Zip::of(&[member]))).unwrap();
    npz.get("a").is_ok()
}

fn has_header(len: u64) -> bool {
    let text = text("'|u1'", "(0,)", Order::C, len as usize);
    MappedArray::from_bytes(raw(&text, b"").as_slice()).is_ok()
}

/// The brackets of the header itself are one level.
fn has_brackets(depth: u64) -> bool {
    let depth = depth as usize - 1;
    let descr = format!("{}{}", "(".repeat(depth), ")".repeat(depth));
    let text = text(&descr, "(0,)", Order::C, 1000);
    let error = MappedArray::from_bytes(raw(&text, b"").as_slice()).unwrap_err();
    !error.to_string().contains("nested brackets")
}

fn has_axes(ndim: u64) -> bool {
    let shape = format!("({})", "0,".repeat(ndim as usize));
    MappedArray::from_bytes(raw(&text("'|u1'", &shape, Order::C, 500), b"").as_slice()).is_ok()
}

fn has_itemsize(size: u64) -> bool {
    format!("|V{size}").parse::<DType>().is_ok()
}

fn has_unbacked(count: u64) -> bool {
    let bytes = file("'|V0'", &[count as usize], Order::C, b"");
    let array = MappedArray::from_bytes(bytes.as_slice()).unwrap();
    array.dyn_view().unwrap().to_ndarray::<IxDyn>().is_ok()
}

/// An archive of a member that claims to have `size` bytes, deflated to
/// `stored`.
fn claims(size: u64, stored: usize) -> npymap::Error {
    let array = file("'|u1'", &[size as usize - 128], Order::C, b"");
    let mut member = deflated("a.npy", &array);
    member.data.resize(stored, 0);
    member.stored = stored.try_into().unwrap();
    let numbers = [size, stored as u64];
    member.extra = crate::zips::zip64(&numbers);
    member.local_extra.clone_from(&member.extra);
    (member.size, member.stored) = (u32::MAX, u32::MAX);
    let npz = Npz::open(Source::bytes(Zip::of(&[member]))).unwrap();
    npz.get("a").unwrap_err()
}

/// A member of exactly the limit's size is not tested, since memory for all of it
/// would be allocated; the error for a larger one contains the limit.
fn is_inflated(size: u64) -> bool {
    let error = claims(17 << 30, 18 << 20).to_string();
    let limit = error.split("the limit is ").nth(1).and_then(|rest| rest.split(':').next());
    size <= limit.unwrap().parse().unwrap()
}

fn has_ratio(ratio: u64) -> bool {
    !claims(ratio * 2000, 2000).to_string().contains("can't be deflated")
}

fn has_extension(len: u64) -> bool {
    let mut bytes = extended(b'L', len);
    bytes.resize(512 + (len as usize).next_multiple_of(512), b'n');
    let error = TarFile::open(Source::bytes(bytes)).unwrap_err();
    !error.to_string().contains("at most 1 MiB")
}
