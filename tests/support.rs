//! Helpers that tests share: making and opening files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use npymap::{
    CreateOptions, DType, Element, Error, ErrorKind, Header, IndexExpr, MappedArray,
    MappedArrayMut, Mode, OpenOptions, Order, Result, Source,
    array::{AnyArray, Walk},
    ndarray::SliceInfoElem,
    npy::HeaderText,
    source::{AnySource, MapMut},
};
use tempfile::TempDir;

/// Writes arrays to a deflated archive.
#[cfg(feature = "npz")]
pub(crate) fn savez_deflated(path: &Path, arrays: &[(&str, &dyn npymap::write::Save)]) {
    let mut writer = npymap::npz::NpzWriter::create(path).unwrap();
    writer.compression(npymap::npz::Compression::Deflated(6));
    for (name, array) in arrays {
        writer.write(name, *array).unwrap();
    }
    writer.finish().unwrap();
}

/// An index without a field, and of lists only `[]`.
pub(crate) fn slices(text: &str, shape: &[usize]) -> Result<Vec<SliceInfoElem>> {
    let mut resolved = text.parse::<IndexExpr>()?.resolve(shape)?;
    match resolved.list {
        Some(list) if list.indices.is_empty() && list.axis == 0 => {
            resolved.slices[0] = SliceInfoElem::Slice { start: 0, end: Some(0), step: 1 };
        }
        Some(_) => return Err(Error::new(ErrorKind::InvalidInput, "a list")),
        None => {}
    }
    Ok(resolved.slices)
}

/// A directory that is removed after the test.
pub(crate) fn directory() -> TempDir {
    // WebAssembly has no directory for temporary files; it may have been set
    // before.
    #[cfg(target_family = "wasm")]
    tempfile::env::override_temp_dir(Path::new("/tmp")).ok();
    tempfile::tempdir().unwrap()
}

/// A file whose header is as NumPy writes it.
pub(crate) fn npy(descr: &str, shape: &[usize], order: Order, elements: &[u8]) -> Vec<u8> {
    let header = Header::new(descr.parse().unwrap(), shape, order).unwrap();
    let mut bytes = header.encode(None).unwrap().bytes;
    bytes.extend(elements);
    bytes
}

/// A version 1.0 file with exactly this header text.
pub(crate) fn raw(text: &str, elements: &[u8]) -> Vec<u8> {
    let len = u16::try_from(text.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], text.as_bytes(), elements].concat()
}

/// The text of a header, padded to `len` bytes.
pub(crate) fn text(descr: &str, shape: &str, order: Order, len: usize) -> String {
    let fortran_order = if order == Order::F { "True" } else { "False" };
    let text =
        format!("{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}");
    format!("{text:<width$}\n", width = len - 1)
}

/// Writes bytes to a new file.
pub(crate) fn file(directory: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Opens a file of the test read-only.
pub(crate) fn open(path: impl AsRef<Path>) -> Result<MappedArray> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    unsafe { MappedArray::open(path) }
}

/// Opens a file of the test read-write.
pub(crate) fn open_mut(path: impl AsRef<Path>) -> Result<MappedArrayMut> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    unsafe { MappedArray::open_mut(path) }
}

/// Opens a file of the test copy-on-write.
pub(crate) fn open_copy_on_write(path: impl AsRef<Path>) -> Result<MappedArrayMut> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    unsafe { MappedArray::open_copy_on_write(path) }
}

/// A source that maps a file of the test read-only.
pub(crate) fn map(path: impl AsRef<Path>) -> Result<Source> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    unsafe { Source::map(path) }
}

/// A source that maps a file of the test read-write.
pub(crate) fn map_mut(path: impl AsRef<Path>) -> Result<Source<MapMut>> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    unsafe { Source::map_mut(path) }
}

/// A source that maps an open file of the test read-only.
pub(crate) fn map_file(file: &File) -> Result<Source> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    unsafe { Source::map_file(file.try_clone().unwrap()) }
}

/// A source that maps an open file of the test read-write.
pub(crate) fn map_mut_file(file: &File) -> Result<Source<MapMut>> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    unsafe { Source::map_mut_file(file.try_clone().unwrap()) }
}

/// Opens a file of the test in the mode of this name.
pub(crate) fn open_mode(mode: &str, path: impl AsRef<Path>) -> Result<AnyArray> {
    open_mode_with(&OpenOptions::new(), mode.parse()?, path)
}

pub(crate) fn open_mode_with(
    options: &OpenOptions,
    mode: Mode,
    path: impl AsRef<Path>,
) -> Result<AnyArray> {
    // SAFETY: the test that owns the file changes none of it while it is borrowed.
    options.open_mode(unsafe { AnySource::map(path, mode) }?)
}

pub(crate) fn open_with(options: &OpenOptions, path: impl AsRef<Path>) -> Result<MappedArray> {
    options.open(map(path)?)
}

pub(crate) fn open_mut_with(
    options: &OpenOptions,
    path: impl AsRef<Path>,
) -> Result<MappedArrayMut> {
    options.open(map_mut(path)?)
}

pub(crate) fn read_with(options: &OpenOptions, path: impl AsRef<Path>) -> Result<MappedArrayMut> {
    options.open(Source::open(path)?)
}

pub(crate) fn header_with(options: &OpenOptions, path: impl AsRef<Path>) -> Result<Header> {
    options.header(&Source::open(path)?)
}

pub(crate) fn header_text_with(
    options: &OpenOptions,
    path: impl AsRef<Path>,
) -> Result<HeaderText<'static>> {
    options.header_text(&Source::open(path)?)
}

pub(crate) fn walk_with(options: &OpenOptions, path: impl AsRef<Path>) -> Result<Walk> {
    options.walk(Source::open(path)?)
}

/// Creates a file of the test.
pub(crate) fn create(
    path: impl AsRef<Path>,
    descr: &str,
    shape: &[usize],
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    let dtype: DType = descr.parse()?;
    // SAFETY: nobody else uses the test's directory.
    unsafe { options.create(path, &dtype, shape) }
}

/// The names of the files in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// This machine's byte order.
pub(crate) const NATIVE: char = if cfg!(target_endian = "big") { '>' } else { '<' };

/// A type string with this machine's byte order.
pub(crate) fn native(code: &str) -> String {
    format!("{NATIVE}{code}")
}

/// A type string with the other byte order.
pub(crate) fn foreign(code: &str) -> String {
    format!("{}{code}", if NATIVE == '<' { '>' } else { '<' })
}

/// Text for or from a little-endian machine, adapted to this one: on a
/// big-endian machine, the byte orders are swapped.
pub(crate) fn here(text: &str) -> String {
    if cfg!(target_endian = "little") {
        return text.to_owned();
    }
    swap_words(&swap_words(text, "'<", "'>"), "Le<", "Be<")
}

fn swap_words(text: &str, one: &str, other: &str) -> String {
    let parts: Vec<_> = text.split(one).map(|part| part.replace(other, one)).collect();
    parts.join(other)
}

/// Two axes of this length have more elements than can be addressed.
pub(crate) const WIDE: usize = 1 << (usize::BITS / 2 + 8);

/// A command that runs a program of this host; where it is emulated, by
/// `NPYMAP_TEST_RUNNER`.
pub(crate) fn command(program: &Path) -> std::process::Command {
    let runner = std::env::var("NPYMAP_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else { return std::process::Command::new(program) };
    let mut command = std::process::Command::new(first);
    command.args(words).arg(program);
    command
}

/// Runs a test again in a process of its own, where no other test uses memory, and
/// returns whether this is that process.
#[cfg(target_os = "linux")]
pub(crate) fn is_alone(test: &str) -> bool {
    const ALONE: &str = "NPYMAP_TEST_ALONE";
    if std::env::var(ALONE).is_ok_and(|name| name == test) {
        return true;
    }
    let mut child = command(&std::env::current_exe().unwrap());
    // Else glibc reserves 64 MiB of address space for each thread, 128 MiB for a moment,
    // and tests that limit the address space fail now and then.
    child.env("MALLOC_ARENA_MAX", "1");
    let output = child.args(["--exact", test, "--nocapture"]).env(ALONE, test).output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success() && out.contains(" 1 passed"), "{out}{error}");
    false
}

/// Whether long tests are shortened: with `NPYMAP_TEST_QUICK=1`, on emulated
/// processors.
pub(crate) fn quick() -> bool {
    std::env::var("NPYMAP_TEST_QUICK").is_ok_and(|value| value == "1")
}

/// Whether nothing is left out to save time: with `NPYMAP_TEST_FAULTS=all`.
pub(crate) fn thorough() -> bool {
    std::env::var("NPYMAP_TEST_FAULTS").is_ok_and(|value| value == "all")
}

/// A third of these rounds of random cases, all if nothing is left out, or a few in quick
/// runs.
pub(crate) fn rounds(all: u32) -> u32 {
    match () {
        () if quick() => all.min(8),
        () if thorough() => all,
        () => all.div_ceil(3),
    }
}

/// All of these, or one in 16 in quick runs.
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if quick() { 16 } else { 1 })
}

/// Parses hexadecimal.
pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// The bytes of any element: an implementation of [`Element`] outside the
/// crate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl Element for Raw {
    type Codec = usize;

    fn codec(dtype: &DType) -> Result<usize> {
        Ok(dtype.itemsize())
    }

    fn itemsize(size: &usize) -> usize {
        *size
    }

    fn decode(_: &usize, bytes: &[u8]) -> Raw {
        Raw(bytes.to_vec())
    }

    fn encode(&self, _: &usize, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}

/// Returns whether an error has this kind and a message with this text.
pub(crate) fn is_error(error: &Error, kind: ErrorKind, text: &str) -> bool {
    error.kind() == kind && error.to_string().contains(text)
}

/// The kind of errors whose messages contain this text.
const KINDS: [(&str, ErrorKind); 40] = [
    (" has no elements along axis ", ErrorKind::ShapeMismatch),
    ("a mask of shape ", ErrorKind::ShapeMismatch),
    ("are not aligned to", ErrorKind::DTypeMismatch),
    (", asked for `", ErrorKind::DTypeMismatch),
    ("record `", ErrorKind::DTypeMismatch),
    ("cannot cast ", ErrorKind::DTypeMismatch),
    (" cannot be viewed as ", ErrorKind::DTypeMismatch),
    (" are not a permutation of ", ErrorKind::InvalidInput),
    (" axes, asked for ", ErrorKind::ShapeMismatch),
    (" axis, asked for ", ErrorKind::ShapeMismatch),
    ("a slice needs C order", ErrorKind::ShapeMismatch),
    (" in place: ", ErrorKind::ShapeMismatch),
    ("cannot be broadcast", ErrorKind::ShapeMismatch),
    ("cannot be expressed by ndarray", ErrorKind::ShapeMismatch),
    ("interleave in memory", ErrorKind::ShapeMismatch),
    (", one per element, found ", ErrorKind::ShapeMismatch),
    ("rows of shape ", ErrorKind::ShapeMismatch),
    ("no axis to append along", ErrorKind::ShapeMismatch),
    ("is out of bounds for ", ErrorKind::OutOfBounds),
    ("axes are numbered from 0", ErrorKind::OutOfBounds),
    ("is not an index: ", ErrorKind::InvalidInput),
    ("NumPy arrays have at most 64", ErrorKind::InvalidInput),
    ("-bit address space", ErrorKind::InvalidInput),
    ("cannot hold this header", ErrorKind::InvalidInput),
    ("mode '", ErrorKind::InvalidInput),
    ("was not opened by path", ErrorKind::InvalidInput),
    ("not written to a file", ErrorKind::InvalidInput),
    ("leave out `offset` and `raw`", ErrorKind::InvalidInput),
    ("no field `", ErrorKind::NotFound),
    ("has no fields", ErrorKind::NotFound),
    ("no member `", ErrorKind::NotFound),
    ("dtype `", ErrorKind::InvalidInput),
    ("exists: ", ErrorKind::AlreadyExists),
    ("the elements end at byte", ErrorKind::Truncated),
    ("and the buffer at", ErrorKind::Truncated),
    ("may change while it is mapped", ErrorKind::Unsupported),
    ("not a regular file", ErrorKind::Unsupported),
    ("holds Python objects", ErrorKind::Unsupported),
    ("was replaced by another file", ErrorKind::Changed),
    ("expected ", ErrorKind::InvalidValue),
];

/// Asserts that a result is an error with exactly this text, and of its kind.
#[track_caller]
pub(crate) fn refused<T>(result: Result<T>, text: &str) {
    let Err(error) = result else { panic!("not refused: {text}") };
    assert_eq!(error.to_string(), text);
    let kind = KINDS.iter().find(|(part, _)| text.contains(part)).map(|(_, kind)| *kind);
    assert_eq!(Some(error.kind()), kind, "{text}");
}
