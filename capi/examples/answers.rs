//! Prints what the Rust library says about files, in the form of
//! `tests/c/answers.c`, which asks it from C. The two must print the same.
#![allow(unsafe_code, clippy::unwrap_used, clippy::indexing_slicing)]

use std::fmt::Write as _;

use npymap::any::{AnyFile, open_any};
use npymap::element::Casting;
use npymap::ndarray::IxDyn;
use npymap::source::{AnySource, Mapping};
use npymap::{ByteOrder, Error, ErrorKind, MappedArray, Mode, Order, Source, with_type};

#[path = "../src/advice.rs"]
mod advice;

/// The hash FNV-1a.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

fn hash_elements<D: AsRef<[u8]>>(array: &MappedArray<D>) -> u64 {
    let view = array.dyn_view().unwrap();
    let mut hash = FNV_START;
    let blocks = view.byte_blocks().byte_order(ByteOrder::Little).zero_padding();
    let done: Result<(), Error> = blocks.try_for_each(|block| {
        hash = fnv(hash, block);
        Ok(())
    });
    done.unwrap();
    if array.len() <= 4096 {
        with_type!(array.dtype(), real _T => {
            view.to_ndarray_as::<f64, IxDyn>(Casting::SameKind).unwrap();
        }, _ => ());
    }
    hash
}

fn emit_array<D: AsRef<[u8]>>(out: &mut String, array: &MappedArray<D>) {
    let layout = array.layout();
    write!(out, "{} (", array.dtype()).unwrap();
    for dim in array.shape() {
        write!(out, "{dim},").unwrap();
    }
    let order = match array.header() {
        Some(header) => header.order,
        None if layout.is_c_contiguous() => Order::C,
        None => Order::F,
    };
    // An array of several axes has the order of its strides.
    let order = if layout.is_c_contiguous() && layout.is_f_contiguous() {
        order
    } else if layout.is_c_contiguous() {
        Order::C
    } else {
        Order::F
    };
    let byte_order = match array.dtype().byte_order() {
        ByteOrder::Little => '<',
        ByteOrder::Big => '>',
        ByteOrder::NotApplicable => '|',
    };
    let (itemsize, len) = (array.dtype().itemsize(), array.len());
    let offset = array.data_offset().unwrap_or(u64::MAX);
    let hash = hash_elements(array);
    write!(out, ") {order:?} {byte_order} {itemsize} {len} {offset} {hash:016x}").unwrap();
    if len > 0 {
        let index = vec![0; array.ndim()];
        write!(out, " {}", array.dyn_view().unwrap().at(&index[..])).unwrap();
    }
    out.push('\n');
}

fn emit_error(out: &mut String, error: &Error) {
    let status = match error.kind() {
        ErrorKind::NotFound => 1,
        ErrorKind::AlreadyExists => 2,
        ErrorKind::Io => 3,
        ErrorKind::Truncated => 4,
        ErrorKind::Corrupt => 5,
        ErrorKind::Unsupported => 6,
        ErrorKind::LimitExceeded => 7,
        ErrorKind::Changed => 8,
        ErrorKind::Locked => 9,
        ErrorKind::DTypeMismatch => 10,
        ErrorKind::ShapeMismatch => 11,
        ErrorKind::OutOfBounds => 12,
        ErrorKind::InvalidInput => 13,
        ErrorKind::InvalidValue => 14,
        _ => 15,
    };
    writeln!(out, "error {status} {}", advice::with_advice(error.to_string())).unwrap();
}

fn emit_file<D: Mapping>(out: &mut String, file: Result<AnyFile<D>, Error>) {
    let file = match file {
        Ok(file) => file,
        Err(error) => return emit_error(out, &error),
    };
    let names: Vec<Option<String>> = match &file {
        AnyFile::Npy(_) => vec![None],
        file => file.names().into_iter().map(Some).collect(),
    };
    for name in names {
        write!(out, "{}: ", name.as_deref().unwrap_or_default()).unwrap();
        match file.get(name.as_deref()) {
            Ok(array) => emit_array(out, &array),
            Err(error) => emit_error(out, &error),
        }
    }
}

fn emit_source(out: &mut String, source: AnySource) {
    match source {
        AnySource::ReadOnly(source) => emit_file(out, open_any(source)),
        AnySource::Writable(source) => emit_file(out, open_any(source)),
    }
}

fn emit_bytes(out: &mut String, bytes: &[u8]) {
    emit_source(out, AnySource::Writable(Source::bytes(bytes.to_vec())));
}

fn damaged(bytes: &mut [u8], step: usize) -> u64 {
    let (mut hash, mut lines) = (FNV_START, String::new());
    for at in (0..bytes.len()).step_by(step) {
        emit_bytes(&mut lines, &bytes[..at]);
        let old = bytes[at];
        bytes[at] = old ^ (1 << (at % 8));
        emit_bytes(&mut lines, bytes);
        bytes[at] = old;
        hash = fnv(hash, lines.as_bytes());
        lines.clear();
    }
    hash
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let step: usize = arguments.next().unwrap().parse().unwrap();
    for path in arguments {
        let mut out = format!("{path}\n");
        for mode in [Mode::ReadOnly, Mode::CopyOnWrite] {
            // SAFETY: nobody changes the files of the tests.
            match unsafe { AnySource::map(&path, mode) } {
                Ok(source) => emit_source(&mut out, source),
                Err(error) => emit_error(&mut out, &error),
            }
        }
        match Source::open(&path) {
            Ok(source) => emit_source(&mut out, AnySource::Writable(source)),
            Err(error) => emit_error(&mut out, &error),
        }
        let mut bytes = std::fs::read(&path).unwrap();
        emit_bytes(&mut out, &bytes);
        if step > 0 {
            writeln!(out, "damaged: {:016x}", damaged(&mut bytes, step)).unwrap();
        }
        print!("{out}");
    }
}
