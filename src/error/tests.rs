//! The messages and kinds of all errors.

use std::io;

use super::{
    ArchiveError, DTypeError, Error, ErrorKind as K, ExtentError, HeaderError, RequestError,
    ShapeError, SystemError,
};

fn text(text: &str) -> String {
    text.to_owned()
}

#[track_caller]
fn assert_error(error: impl Into<Error>, kind: K, text: &str) {
    let error = error.into();
    assert_eq!(error.to_string(), text);
    assert_eq!(error.kind(), kind, "{text}");
}

fn open_error(kind: io::ErrorKind) -> SystemError {
    SystemError::Io { action: "open", source: kind.into() }
}

#[test]
fn system_errors() {
    assert_error(open_error(io::ErrorKind::NotFound), K::NotFound, "cannot open: entity not found");
    assert_error(
        open_error(io::ErrorKind::AlreadyExists),
        K::AlreadyExists,
        "cannot open: entity already exists",
    );
    assert_error(
        open_error(io::ErrorKind::UnexpectedEof),
        K::Truncated,
        "cannot open: unexpected end of file",
    );
    assert_error(
        open_error(io::ErrorKind::PermissionDenied),
        K::Io,
        "cannot open: permission denied",
    );
    assert_error(SystemError::Plain(io::Error::other("x")), K::Io, "x");
    let source = io::Error::other("x");
    assert_error(
        SystemError::Map { action: "map", len: 5, source },
        K::Io,
        "cannot map 5 bytes: x",
    );
    let reason = open_error(io::ErrorKind::NotFound).into();
    assert_error(
        SystemError::NotLoaded { len: 5, reason },
        K::NotFound,
        "cannot bring all 5 bytes of the elements into memory: cannot open: entity not found: use parts of them, by `MappedArray::window` or `for_each_window`",
    );
    let source = io::ErrorKind::StorageFull.into();
    assert_error(
        SystemError::Space { asked: 6, free: 5, source },
        K::Io,
        "cannot reserve space: 6 bytes are needed, 5 are free: no storage space",
    );
    let found = "a directory";
    let only = "is a directory, not a regular file";
    assert_error(SystemError::NotRegular { found }, K::Unsupported, only);
    assert_error(
        SystemError::NotImmutable,
        K::Unsupported,
        "may change while it is mapped: only a memfd sealed against writing and shrinking, or a file with fs-verity, can be opened without `unsafe`; use `MappedArray::open`, or `MappedArray::load` for a copy",
    );
    assert_error(
        SystemError::Exists,
        K::AlreadyExists,
        "already exists: choose another name, or allow replacing it with `CreateOptions::overwrite`",
    );
    assert_error(
        SystemError::MountPoint { source: io::Error::other("busy") },
        K::Io,
        "cannot replace a mount point, such as a file that is mounted into a container (busy): mount its directory, or overwrite it in place with `WriteOptions::write_to`",
    );
    assert_error(
        SystemError::Replaced,
        K::Changed,
        "was replaced by another file since it was opened: open it again; arrays that map it still have the old elements",
    );
    assert_error(
        SystemError::Changed { expected: 5, found: 6 },
        K::Changed,
        "the file has 6 bytes, expected 5: another process or handle changed it during the append",
    );
    assert_error(
        SystemError::Vanished,
        K::Changed,
        "was truncated while it was mapped: the elements after its end are lost",
    );
}

#[test]
fn batches_of_another_process() {
    assert_error(
        RequestError::Forked,
        K::InvalidInput,
        "these batches were started before the fork: start new ones in the child process",
    );
}

fn remainder(offset: u64, itemsize: usize) -> ExtentError {
    ExtentError::Remainder { offset, itemsize, found: 9 }
}

#[test]
fn extent_errors() {
    let (needed, found) = (152, 151);
    assert_error(
        ExtentError::ShortFile { needed, found },
        K::Truncated,
        "the elements end at byte 152 and the file at 151: it was truncated, or is still being written",
    );
    let short = ExtentError::ShortBuffer { needed: 152, found: 151 };
    assert_error(short, K::Truncated, "the elements end at byte 152 and the buffer at 151");
    assert_error(
        ExtentError::Empty,
        K::Truncated,
        "is empty, so there is nothing to map: for a shape without elements, open it in mode 'r+'",
    );
    assert_error(
        remainder(0, 2),
        K::Corrupt,
        "the file has 9 bytes from byte 0 on, not a multiple of the itemsize 2: pass a shape",
    );
    let beyond = "the elements start at byte 10 and the file ends at 9";
    assert_error(remainder(10, 2), K::Truncated, beyond);
    let uncounted =
        "the length of the file does not give the number of zero-size elements: pass a shape";
    assert_error(remainder(0, 0), K::InvalidInput, uncounted);
    assert_error(
        ExtentError::Trailing { end: 5, found: 6 },
        K::Corrupt,
        "the elements end at byte 5 and the file at 6: `recover` turns the bytes that follow into rows",
    );
    for (rows, is_array, message) in [
        (2, false, ", 2 more rows: `recover` keeps them, and `discard_trailing` drops them"),
        (1, false, ", 1 more row: `recover` keeps them, and `discard_trailing` drops them"),
        (0, false, ": `discard_trailing` allows it"),
        (0, true, ", another array: `discard_trailing` allows it"),
    ] {
        let start = "replacing the file would drop 16 bytes after its elements";
        let error = ExtentError::Dropped { nbytes: 16, rows, is_array };
        assert_error(error, K::Corrupt, &format!("{start}{message}"));
    }
    let follows = "another array follows the elements at byte 5: no rows can be recovered";
    assert_error(ExtentError::Follows { end: 5 }, K::Unsupported, follows);
}

fn invalid_dtype() -> DTypeError {
    DTypeError::Invalid { descr: text("x"), reason: text("why") }
}

#[test]
fn dtype_errors() {
    let (stored, asked, works) = (text("'<f8'"), text("f32"), text("f64"));
    let fit =
        DTypeError::Fit { stored: stored.clone(), asked: asked.clone(), works: works.clone() };
    assert_error(fit, K::DTypeMismatch, "stored as '<f8', asked for `f32`: use `f64`");
    assert_error(
        DTypeError::ByteOrder { stored, asked: asked.clone(), works: works.clone() },
        K::DTypeMismatch,
        "stored as '<f8', asked for `f32` in place: use `f64`, or `view::<f32>()`",
    );
    assert_error(
        DTypeError::Alignment { align: 4, asked, works },
        K::DTypeMismatch,
        "elements are not aligned to 4 bytes, asked for `f32` in place: use `f64`, or `view::<f32>()`",
    );
    let record = DTypeError::Record { record: "Hit", field: text("x"), reason: text("why") };
    assert_error(record, K::DTypeMismatch, "record `Hit`, field `x`: why");
    let (from, to) = (text("'<f8'"), text("'<f4'"));
    assert_error(
        DTypeError::Cast {
            from: from.clone(),
            to: to.clone(),
            casting: text("safe"),
            works: text("why"),
        },
        K::DTypeMismatch,
        "cannot cast '<f8' to '<f4' with casting `safe`: why",
    );
    assert_error(
        DTypeError::Rows { stored: from.clone(), asked: to.clone() },
        K::DTypeMismatch,
        "the file has elements of '<f8', asked for rows of '<f4'",
    );
    assert_error(
        DTypeError::Reinterpret { from, to, reason: text("why") },
        K::DTypeMismatch,
        "elements of '<f8' cannot be viewed as '<f4' in place: why",
    );
    assert_error(invalid_dtype(), K::InvalidInput, "dtype `x`: why");
    assert_error(Error::from(invalid_dtype()).treat_as_damage(), K::Corrupt, "dtype `x`: why");
    let no_field = DTypeError::NoField { descr: text("x"), reason: text("why") };
    assert_error(no_field, K::NotFound, "dtype `x`: why");
    assert_error(
        DTypeError::Object { descr: text("x") },
        K::Unsupported,
        "dtype 'x' holds Python objects, which are pickled and cannot be mapped: load the array with numpy.load(allow_pickle=True) and save it with a fixed-size dtype",
    );
    let (value, expected) = (text("1"), text("2"));
    let stored = DTypeError::Stored { value: value.clone(), expected: expected.clone() };
    assert_error(stored, K::Corrupt, "1: expected 2");
    assert_error(DTypeError::Value { value, expected }, K::InvalidValue, "1: expected 2");
}

#[test]
fn archive_errors() {
    assert_error(ArchiveError::damaged("a", "b"), K::Corrupt, "a: b");
    assert_error(ArchiveError::truncated("a", "b"), K::Truncated, "a: b");
    assert_error(ArchiveError::unsupported("a", "b"), K::Unsupported, "a: b");
    assert_error(ArchiveError::misuse("a", "b"), K::InvalidInput, "a: b");
    let member =
        ArchiveError::NoMember { asked: text("x"), members: text("the only member is `y`") };
    assert_error(member, K::NotFound, "no member `x`: the only member is `y`");
}

#[cfg(feature = "npz")]
#[test]
fn zip_errors() {
    assert_error(
        ArchiveError::Checksum { found: 1, expected: 2 },
        K::Corrupt,
        "the CRC-32 is 00000001, but the archive records 00000002: the member is damaged",
    );
    assert_error(
        ArchiveError::Inflated { size: 2, limit: 1 },
        K::LimitExceeded,
        "needs 2 bytes of memory, but the limit is 1: raise it with `max_inflated` if you trust the file",
    );
}

#[test]
fn request_errors() {
    let argument = RequestError::Argument { found: text("1"), expected: text("2") };
    assert_error(argument, K::InvalidInput, "1: expected 2");
    let call = RequestError::Call { found: "1", expected: "2" };
    assert_error(call, K::InvalidInput, "1: expected 2");
    for (error, text) in [
        (
            RequestError::Placed,
            "rows can only be added to a file that is a single `.npy`: leave out `offset` and `raw`",
        ),
        (
            RequestError::NoPath { operation: "check, lock or drop it" },
            "the array was not opened by path: open it by path to check, lock or drop it",
        ),
        (
            RequestError::NoFile,
            "changes to this array are not written to a file: store through `view_mut`, or open it with `open_mut`",
        ),
        (
            RequestError::CreateMode,
            "mode 'w+' creates an array and needs its dtype and shape: use `MappedArray::create`",
        ),
    ] {
        assert_error(error, K::InvalidInput, text);
    }
}

#[test]
fn kinds_of_shape_errors() {
    for (error, kind) in [
        (ShapeError::Axes { found: 65 }, K::InvalidInput),
        (ShapeError::Size { shape: text("(2, 3)"), itemsize: 8 }, K::InvalidInput),
        (ShapeError::Permutation { asked: text("(0, 0)"), ndim: 2 }, K::InvalidInput),
        (ShapeError::Notation { found: text("x") }, K::InvalidInput),
        (ShapeError::Lists { found: text("[0], [1]") }, K::InvalidInput),
        (ShapeError::Unbacked { shape: text("(2, 3)"), limit: 5 }, K::LimitExceeded),
        (ShapeError::SumsOfNothing { axis: 0, shape: text("(0, 9)"), limit: 5 }, K::LimitExceeded),
        (ShapeError::Index { axis: 0, asked: text("5"), shape: text("(2, 3)") }, K::OutOfBounds),
        (ShapeError::Axis { asked: 2, shape: text("(2, 3)") }, K::OutOfBounds),
        (ShapeError::Element { asked: text("5"), shape: text("(2, 3)") }, K::OutOfBounds),
        (
            ShapeError::Rank { shape: text("(2, 3)"), ndim: 2, asked: 1, works: text("Ix2") },
            K::ShapeMismatch,
        ),
        (ShapeError::NotContiguous { shape: text("(2, 3)") }, K::ShapeMismatch),
        (
            ShapeError::ScatteredRows { shape: text("(2, 3)"), asked: text("0..1") },
            K::ShapeMismatch,
        ),
        (
            ShapeError::Reshape { from: text("(2, 3)"), to: text("(2, 3)"), reason: "why" },
            K::ShapeMismatch,
        ),
        (ShapeError::LastAxis { shape: text("(2, 3)"), len: 4, reason: "why" }, K::ShapeMismatch),
        (ShapeError::Broadcast { from: text("(2, 3)"), to: text("(2, 3)") }, K::ShapeMismatch),
        (ShapeError::Strides { strides: text("[3]") }, K::ShapeMismatch),
        (ShapeError::Interleaved { axis: 0, shape: text("(2, 3)") }, K::ShapeMismatch),
        (ShapeError::Length { found: 1, expected: 2 }, K::ShapeMismatch),
        (ShapeError::OutputBytes { found: 1, expected: 2 }, K::ShapeMismatch),
        (
            ShapeError::Mask { found: text("(2,)"), shape: text("(2, 3)"), expected: "x" },
            K::ShapeMismatch,
        ),
        (ShapeError::Rows { found: text("1"), expected: text("(*,)") }, K::ShapeMismatch),
        (ShapeError::NoRows, K::ShapeMismatch),
    ] {
        let error = Error::from(error);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().to_string().chars().next().is_some_and(|c| !c.is_uppercase()));
    }
}

#[test]
fn one_of_a_thing_is_singular() {
    for (error, expected) in [
        (
            ShapeError::Rank { shape: text("(3,)"), ndim: 1, asked: 2, works: text("Ix1") },
            "shape (3,) has 1 axis, asked for 2: use `Ix1`, or `IxDyn` for any number",
        ),
        (
            ShapeError::Length { found: 1, expected: 0 },
            "expected 0 values, one per element, found 1",
        ),
        (
            ShapeError::Length { found: 0, expected: 1 },
            "expected 1 value, one per element, found 0",
        ),
        (
            ShapeError::OutputBytes { found: 1, expected: 8 },
            "expected an output of 8 bytes, found 1",
        ),
    ] {
        assert_eq!(Error::from(error).to_string(), expected);
    }
    let rest = ExtentError::Remainder { offset: 8, itemsize: 2, found: 9 };
    assert_error(
        rest,
        K::Corrupt,
        "the file has 1 byte from byte 8 on, not a multiple of the itemsize 2: pass a shape",
    );
}

#[test]
fn kinds_of_header_errors() {
    for (error, kind) in [
        (HeaderError::Magic { found: Vec::new() }, K::Truncated),
        (HeaderError::Magic { found: b"PK".to_vec() }, K::Corrupt),
        (HeaderError::Version { major: 4, minor: 0 }, K::Unsupported),
        (HeaderError::Eof { what: "header", needed: 2, found: 1 }, K::Truncated),
        (HeaderError::Limit { found: 2, limit: 1 }, K::LimitExceeded),
        (HeaderError::Utf8 { at: 1 }, K::Corrupt),
        (HeaderError::Syntax { at: 1, found: text("x"), expected: "y" }, K::InvalidInput),
        (HeaderError::Keys { found: text("none") }, K::Corrupt),
        (HeaderError::Value { key: "shape", found: text("x"), expected: "y" }, K::Corrupt),
    ] {
        let error = Error::from(error);
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[test]
fn an_error_of_a_caller_is_formatted_as_it_asks() {
    #[derive(Debug)]
    struct Nested;

    impl std::fmt::Display for Nested {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(if f.alternate() { "outer: inner" } else { "outer" })
        }
    }

    impl std::error::Error for Nested {}

    let error = Error::new(K::Io, Nested);
    assert_eq!((format!("{error}"), format!("{error:#}")), ("outer".into(), "outer: inner".into()));
}
