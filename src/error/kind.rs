//! What can go wrong, with all that is known of it.

use std::io;

use super::Error;

/// The facts of a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be opened, read, written or replaced.
    #[error("cannot {action}: {source}")]
    #[non_exhaustive]
    Io {
        /// What was tried: `open`, `read the header`, …
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },

    /// Memory could not be mapped, flushed or unmapped.
    #[error("cannot {action} {len} bytes: {source}")]
    #[non_exhaustive]
    Map {
        /// What was tried: `map`, `flush` or `unmap`.
        action: &'static str,
        /// How many bytes.
        len: usize,
        /// What the operating system said.
        source: io::Error,
    },

    /// The path leads to a directory, pipe or device.
    #[error("is {found}, not a regular file: only those can be mapped")]
    #[non_exhaustive]
    NotRegular {
        /// What the path leads to.
        found: &'static str,
    },

    /// The first six bytes are not `\x93NUMPY`.
    #[error("starts with b\"{}\", expected b\"\\x93NUMPY\"{}", found.escape_ascii(), hint_at(found))]
    #[non_exhaustive]
    Magic {
        /// The first bytes of the file, at most six.
        found: Vec<u8>,
    },

    /// The format version is none that NumPy defined.
    #[error("format version {major}.{minor}, expected 1.0, 2.0 or 3.0")]
    #[non_exhaustive]
    Version {
        /// The seventh byte of the file.
        major: u8,
        /// The eighth byte of the file.
        minor: u8,
    },

    /// The file ends too early to hold a header.
    #[error("ends inside the {what}: {found} of {needed} bytes are there")]
    #[non_exhaustive]
    Eof {
        /// What ought to have been there.
        what: &'static str,
        /// How many bytes it takes.
        needed: usize,
        /// How many there are.
        found: usize,
    },

    /// The header is longer than allowed.
    #[error(
        "the header has {found} characters and the limit is {limit}: raise it with `max_header_len` if you trust the file"
    )]
    #[non_exhaustive]
    HeaderLimit {
        /// Its length in characters (bytes, when that alone is too much).
        found: usize,
        /// The limit in force, in characters.
        limit: usize,
    },

    /// A version 3.0 header is not UTF-8.
    #[error("the header is not UTF-8 at byte {at}, as version 3.0 requires")]
    #[non_exhaustive]
    Utf8 {
        /// How many bytes of the header are good.
        at: usize,
    },

    /// The header (or a dtype's text) is no Python literal.
    #[error("at character {at}: found {found}, expected {expected}")]
    #[non_exhaustive]
    Syntax {
        /// How many characters stand before the place.
        at: usize,
        /// What stands there.
        found: String,
        /// What would be accepted there.
        expected: &'static str,
    },

    /// The header's dictionary lacks a key, or has one too many.
    #[error("the header's keys are {found}, expected exactly 'descr', 'fortran_order' and 'shape'")]
    #[non_exhaustive]
    Keys {
        /// The keys that were found.
        found: String,
    },

    /// A value in the header is of the wrong kind.
    #[error("`{key}` is `{found}`, expected {expected}")]
    #[non_exhaustive]
    Header {
        /// The key the value belongs to.
        key: &'static str,
        /// The value as it is written, shortened.
        found: String,
        /// What would be accepted.
        expected: &'static str,
    },

    /// A dtype description that NumPy doesn't have, or that no file can hold.
    #[error("dtype `{descr}`: {reason}")]
    #[non_exhaustive]
    DType {
        /// The part of the description that is refused.
        descr: String,
        /// Why, and what would be accepted.
        reason: String,
    },

    /// The array holds Python objects.
    #[error(
        "dtype '{descr}' holds Python objects, which are pickled and can't be mapped: load the array with numpy.load(allow_pickle=True) and save it with a dtype of fixed size"
    )]
    #[non_exhaustive]
    Object {
        /// The type string.
        descr: String,
    },

    /// More axes than NumPy has.
    #[error("{found} axes, NumPy arrays have at most 64")]
    #[non_exhaustive]
    Axes {
        /// How many were asked for.
        found: usize,
    },

    /// The elements would not fit into the address space.
    #[error(
        "shape {shape} with elements of {itemsize} bytes is more than {} bits can address",
        usize::BITS
    )]
    #[non_exhaustive]
    Size {
        /// The shape, as Python prints it.
        shape: String,
        /// Bytes of one element.
        itemsize: usize,
    },

    /// The file ends before the last element.
    #[error(
        "the elements end at byte {needed} and the file at {found}: it was truncated, or is still being written"
    )]
    #[non_exhaustive]
    ShortFile {
        /// Where the last element ends, in bytes from the start of the file.
        needed: u64,
        /// The length of the file in bytes.
        found: u64,
    },

    /// A file of no bytes, which can't be mapped.
    #[error(
        "is empty, so there is nothing to map: open it in mode 'r+', which needs no bytes for a shape without elements"
    )]
    Empty,

    /// The bytes of a raw file don't tell its shape.
    #[error("{}", remainder(*offset, *itemsize, *found))]
    #[non_exhaustive]
    Remainder {
        /// Where the elements start.
        offset: u64,
        /// Bytes of one element.
        itemsize: usize,
        /// The length of the file in bytes.
        found: u64,
    },

    /// Another file has the path now.
    #[error(
        "was replaced by another file since it was opened: the array still is the old one, open it anew"
    )]
    Replaced,

    /// Rows are added to whole `.npy` files only.
    #[error("rows are added to files that are one `.npy`: leave out `at` and `raw`")]
    Placed,

    /// The array is of no file that has a path.
    #[error("the array was not opened by path: open it by its path to {wanted}")]
    #[non_exhaustive]
    NoPath {
        /// What takes a path.
        wanted: &'static str,
    },

    /// Elements of no bytes that no file has to hold, too many to copy.
    #[error(
        "shape {shape} is of elements of no bytes: of those at most {limit} are read into memory, map or view the array instead"
    )]
    #[non_exhaustive]
    Unbacked {
        /// The shape, as Python prints it.
        shape: String,
        /// How many are read.
        limit: usize,
    },

    /// The asked format version can't hold this header.
    #[error(
        "version {asked} can't hold this header: {reason}; use {works}, or let the version be chosen"
    )]
    #[non_exhaustive]
    Encode {
        /// The version that was asked for.
        asked: String,
        /// What doesn't fit.
        reason: &'static str,
        /// The version that holds it.
        works: String,
    },

    /// Elements of this dtype aren't what the asked type stands for.
    #[error("stored as {stored}, asked for `{asked}`: use `{works}`")]
    #[non_exhaustive]
    Fit {
        /// The dtype, as its descr.
        stored: String,
        /// The Rust type that was asked for.
        asked: String,
        /// A Rust type that works.
        works: String,
    },

    /// A field of the elements isn't what a record has for it.
    #[error("record `{record}`, field `{field}`: {reason}")]
    #[non_exhaustive]
    Record {
        /// The Rust type that was asked for.
        record: &'static str,
        /// The first field that differs.
        field: String,
        /// How it differs, and what would work.
        reason: String,
    },

    /// Numbers are stored in another byte order than the asked type's.
    #[error(
        "stored as {stored}, asked for `{asked}` in place: use `{works}`, or `view::<{asked}>()`"
    )]
    #[non_exhaustive]
    ByteOrder {
        /// The dtype, as its descr.
        stored: String,
        /// The Rust type that was asked for.
        asked: String,
        /// A Rust type that works in place.
        works: String,
    },

    /// The first element lies at an address the asked type can't have.
    #[error(
        "elements lie at an address that is no multiple of {align}, asked for `{asked}` in place: use `{works}`"
    )]
    #[non_exhaustive]
    Alignment {
        /// The alignment the asked type needs, in bytes.
        align: usize,
        /// The Rust type that was asked for.
        asked: String,
        /// A Rust type that works.
        works: String,
    },

    /// The array has another number of axes than asked for.
    #[error(
        "shape {shape} has {} axes, asked for {asked}: use `{works}`, or `IxDyn` for any number",
        ndim
    )]
    #[non_exhaustive]
    Rank {
        /// The shape, as Python prints it.
        shape: String,
        /// The number of axes of the array.
        ndim: usize,
        /// The number of axes asked for.
        asked: usize,
        /// ndarray's name of a dimension that works.
        works: String,
    },

    /// The elements are not one run in C order.
    #[error(
        "elements of shape {shape} are in Fortran order, a slice needs C order: use `as_ndarray`"
    )]
    #[non_exhaustive]
    NotContiguous {
        /// The shape, as Python prints it.
        shape: String,
    },

    /// An index or range reaches outside an axis.
    #[error("index {asked} of axis {axis} is outside shape {shape}")]
    #[non_exhaustive]
    Index {
        /// The axis.
        axis: usize,
        /// What was asked for on it.
        asked: String,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// An axis that isn't there.
    #[error("axis {asked} of shape {shape}: axes count from 0")]
    #[non_exhaustive]
    Axis {
        /// The axis asked for.
        asked: usize,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// An order of axes that doesn't name each of them once.
    #[error("axes {asked} are no order of {ndim} axes: name each from 0 once")]
    #[non_exhaustive]
    Permutation {
        /// The order asked for.
        asked: String,
        /// The number of axes.
        ndim: usize,
    },

    /// Elements can't stand under another shape without a copy.
    #[error("shape {from} is not {to} in place: {reason}")]
    #[non_exhaustive]
    Reshape {
        /// The shape there is.
        from: String,
        /// The shape asked for.
        to: String,
        /// Why not.
        reason: &'static str,
    },

    /// A shape can't be repeated to fill another.
    #[error("shape {from} does not broadcast to {to}: axes must be equal or 1, from the last on")]
    #[non_exhaustive]
    Broadcast {
        /// The shape there is.
        from: String,
        /// The shape asked for.
        to: String,
    },

    /// An element that isn't there.
    #[error("index {asked} is outside shape {shape}")]
    #[non_exhaustive]
    Element {
        /// The index asked for.
        asked: String,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// Elements are no whole number of `T` apart, or lie on each other.
    #[error(
        "elements lie {strides} bytes apart, which ndarray can't say: use the view, or copy with `to_ndarray`"
    )]
    #[non_exhaustive]
    Strides {
        /// The byte strides.
        strides: String,
    },

    /// Parts whose bytes interleave can't be written apart.
    #[error(
        "parts along axis {axis} of shape {shape} interleave in memory: part along the slowest axis"
    )]
    #[non_exhaustive]
    Interleaved {
        /// The axis asked for.
        axis: usize,
        /// The shape, as Python prints it.
        shape: String,
    },

    /// A slice has another length than the array.
    #[error("{found} values for {expected} elements")]
    #[non_exhaustive]
    Length {
        /// The number of values.
        found: usize,
        /// The number of elements.
        expected: usize,
    },

    /// A value doesn't fit into an element.
    #[error("{value}: expected {expected}")]
    #[non_exhaustive]
    Value {
        /// The value.
        value: String,
        /// What would fit.
        expected: String,
    },

    /// A cast that isn't allowed, or that isn't there.
    #[error("{from} does not become {to} with casting `{casting}`: {works}")]
    #[non_exhaustive]
    Cast {
        /// The dtype there is.
        from: String,
        /// The dtype asked for.
        to: String,
        /// What was allowed.
        casting: String,
        /// What would work.
        works: String,
    },

    /// The bytes of elements can't be elements of another dtype where they
    /// lie.
    #[error("elements of {from} are no elements of {to} where they lie: {reason}")]
    #[non_exhaustive]
    Reinterpret {
        /// The dtype there is.
        from: String,
        /// The dtype asked for.
        to: String,
        /// Why not.
        reason: String,
    },

    /// Text is no index.
    #[error("`{found}` is no index: expected an integer, a slice such as `2:8:2`, `...` or `None`")]
    #[non_exhaustive]
    Notation {
        /// The part that isn't.
        found: String,
    },

    /// The bytes given to an array end before its last element.
    #[error("the elements end at byte {needed} and the buffer at {found}")]
    #[non_exhaustive]
    ShortBuffer {
        /// Where the last element ends in the buffer.
        needed: usize,
        /// The buffer's length in bytes.
        found: usize,
    },

    /// No mode of `numpy.memmap` has this name.
    #[error(
        "mode '{found}', expected 'r' or 'readonly', 'r+' or 'readwrite', 'w+' or 'write', 'c' or 'copyonwrite'"
    )]
    #[non_exhaustive]
    Mode {
        /// The name that was given.
        found: String,
    },

    /// Opening in mode `w+` lacks a dtype and a shape.
    #[error("mode 'w+' makes a new array and needs its dtype and shape: use `MappedArray::create`")]
    CreateMode,

    /// A new array would take the place of a file.
    #[error(
        "exists: choose another name, or allow it to be replaced with `CreateOptions::overwrite`"
    )]
    Exists,

    /// A container of arrays is damaged, or stores a member in a way that
    /// can't be read.
    #[error("{found}: {expected}")]
    #[non_exhaustive]
    Archive {
        /// What is there.
        found: String,
        /// What was expected, or what would work.
        expected: &'static str,
    },

    /// The bytes of a member of an archive are not those that were stored.
    #[error(
        "the CRC-32 of its bytes is {found:08x}, the archive says {expected:08x}: it is damaged"
    )]
    #[non_exhaustive]
    Checksum {
        /// What the bytes give.
        found: u32,
        /// What the archive says.
        expected: u32,
    },

    /// An archive has no member of this name.
    #[error("no member `{asked}`: there {has}")]
    #[non_exhaustive]
    NoMember {
        /// The name asked for.
        asked: String,
        /// The names there are.
        has: String,
    },

    /// A compressed member needs more memory than is allowed.
    #[error(
        "takes {size} bytes of memory and the limit is {limit}: raise it with `max_inflated` if you trust the file"
    )]
    #[non_exhaustive]
    Inflated {
        /// Its size in bytes.
        size: u64,
        /// The limit in force, in bytes.
        limit: u64,
    },

    /// Something was to be written to a file, and there is none.
    #[error(
        "what is stored in this array goes to no file: store through `view_mut`, or open it with `open_mut`"
    )]
    NoFile,

    /// Elements were to be written through a descriptor that only appends.
    #[error(
        "the file was opened with `O_APPEND`, which writes at its end only: open it without, or store through `view_mut`"
    )]
    Appends,

    /// Rows were to be added to an array that has none, or counted in it.
    #[error("shape () has no axis to grow along: arrays of one axis or more have rows")]
    NoRows,

    /// What was to be added is no row, or no whole number of rows.
    #[error("rows of shape {expected}, {found} given")]
    #[non_exhaustive]
    Rows {
        /// What was given.
        found: String,
        /// The shape of one row or more, `*` where any length will do.
        expected: String,
    },

    /// Something follows the elements where rows are to be added.
    #[error(
        "the elements end at byte {end} and the file at {found}: `recover` makes rows of what follows"
    )]
    #[non_exhaustive]
    Trailing {
        /// Where the last element ends, in bytes from the start of the file.
        end: u64,
        /// The length of the file in bytes.
        found: u64,
    },

    /// What follows the elements is another array, not rows.
    #[error("another array follows the elements at byte {end}, and no rows")]
    #[non_exhaustive]
    Follows {
        /// Where the last element ends, in bytes from the start of the file.
        end: u64,
    },

    /// The file got longer or shorter while rows were added to it.
    #[error(
        "the file has {found} bytes and had {expected}: something else changed it while rows were added"
    )]
    #[non_exhaustive]
    Changed {
        /// The length it should have, in bytes.
        expected: u64,
        /// The length it has.
        found: u64,
    },

    /// The operating system can't promise that the file never changes.
    #[error(
        "may change while it is mapped: only a memfd sealed against writing and shrinking, or a file with fs-verity, can be opened without `unsafe`; use `MappedArray::open`, or `OpenOptions::read` for a copy"
    )]
    NotImmutable,
}

impl ErrorKind {
    /// Wraps what the operating system said about a file; an error of ours
    /// that a reader handed on stays itself.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| match source.downcast::<Error>() {
            Ok(error) => error,
            Err(source) => ErrorKind::Io { action, source }.into(),
        }
    }

    /// Wraps what the operating system said about memory.
    pub(crate) fn map(action: &'static str, len: usize) -> impl FnOnce(io::Error) -> Error {
        move |source| ErrorKind::Map { action, len, source }.into()
    }
}

/// What a file that is no `.npy` seems to be, by its first bytes.
fn hint_at(found: &[u8]) -> &'static str {
    match found {
        [] => ": it is empty",
        [b'P', b'K', 3 | 5, ..] => ": a zip archive, as .npz files are",
        [0x80, 2..=5, ..] => ": a Python pickle",
        [b'~', b'T', b'e', b'n', b'B', b'i', ..] => ": a webdataset .ten file",
        [0x89, b'H', b'D', b'F', ..] => ": an HDF5 file",
        [0x1f, 0x8b, ..] => ": compressed with gzip, unpack it first",
        _ => "",
    }
}

/// Why a raw file doesn't tell the shape.
fn remainder(offset: u64, itemsize: usize, found: u64) -> String {
    match found.checked_sub(offset) {
        _ if itemsize == 0 => {
            "elements of no bytes are not counted by the file's length: give the shape".to_owned()
        }
        None => format!("the elements start at byte {offset} and the file ends at {found}"),
        Some(rest) => format!(
            "the {rest} bytes from byte {offset} on are no whole number of elements of {itemsize} bytes: give the shape"
        ),
    }
}
