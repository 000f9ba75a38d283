//! Writes archives of arrays, one member after another.

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use ndarray::{ArrayRef, Dimension};
use rawzip::extra_fields::ExtraFieldId;
use rawzip::path::{EntryPath, ZipFilePath};
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter, ZipEntryWriter};

use super::member_writer::{Compression, MemberWriter, WriterState, zip_error};
use super::name;
use super::npz_file::OutputFile;
use super::save::Save;
use crate::dtype::DType;
use crate::element::Element;
use crate::error::invariant::{Invariant, to_u64, to_usize};
use crate::error::{ArchiveError, Error, Result, SystemError, excerpt};
use crate::layout::Order;
use crate::npy::Header;
use crate::write::ndarray_io::WriteOptions;

/// The length of a local header without its name.
const LOCAL_HEADER: u64 = 30;

/// The modification time of all members: 1980-01-01, the earliest date of the
/// format. It is constant so that equal arrays give equal archives.
pub(super) const DATE: i64 = 315_532_800;

/// The type and the permissions of new members. They mark the archive as made on Unix:
/// `unzip` does not decode names as UTF-8 in archives of other systems.
pub(super) const MODE: u32 = 0o100_644;

/// That of directories.
pub(super) const DIRECTORY_MODE: u32 = 0o040_755;

/// The alignment of the elements of stored members.
const ALIGN: u64 = 64;
/// The alignment that [`NpzWriter::page_aligned`] requests.
pub(super) const PAGE: u64 = 4096;

/// Writes an `.npz` archive, one member after another. Arrays are not buffered
/// in memory.
///
/// Elements of stored members start at a multiple of 64 bytes, so that native
/// numbers can be borrowed in place. NumPy, Python's `zipfile` and `unzip` can
/// read the archive.
///
/// # Examples
///
/// ```
/// use npymap::Source;
/// use npymap::ndarray::array;
/// use npymap::npz::{Compression, Npz, NpzWriter};
///
/// let mut writer = NpzWriter::new(Vec::new());
/// writer.write("a", &array![1_u8, 2, 3])?;
/// writer.compression(Compression::Deflated(6)).write("zeros", &npymap::ndarray::Array1::<f64>::zeros(100))?;
/// let bytes = writer.into_inner()?;
///
/// let npz = Npz::open(Source::bytes(bytes))?;
/// assert_eq!(npz.get("a")?.as_slice::<u8>()?, [1, 2, 3]);
/// assert!(!npz.member("zeros")?.is_stored());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct NpzWriter<W: Write> {
    pub(super) zip: ZipArchiveWriter<BufWriter<W>>,
    pub(super) compression: Compression,
    pub(super) align: u64,
    /// The full names of the members.
    names: HashSet<String>,
    /// The file, if members can be mapped.
    pub(super) output: Option<Arc<OutputFile>>,
    pub(super) path: Option<PathBuf>,
    pub(super) state: WriterState,
}

impl<W: Write> NpzWriter<W> {
    /// Starts an archive in any writer.
    pub fn new(to: W) -> NpzWriter<W> {
        NpzWriter {
            zip: ZipArchiveWriter::new(BufWriter::new(to)),
            compression: Compression::Stored,
            align: ALIGN,
            names: HashSet::new(),
            output: None,
            path: None,
            state: WriterState::Ready,
        }
    }

    /// Sets the compression of the members that follow.
    pub fn compression(&mut self, compression: Compression) -> &mut NpzWriter<W> {
        self.compression = compression;
        self
    }

    /// Aligns the elements of the stored members that follow to 4096 bytes, so
    /// that rows of one page touch only one page. The default is 64 bytes.
    pub fn page_aligned(&mut self, aligned: bool) -> &mut NpzWriter<W> {
        self.align = if aligned { PAGE } else { ALIGN };
        self
    }

    /// Writes an array as a member: `name` is its key, without `.npy`.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when a member of that
    /// name already exists, when the format cannot store the name, or when an
    /// earlier member was not finished; those of [`Header::new`],
    /// [`Io`](crate::ErrorKind::Io).
    pub fn write(&mut self, name: &str, array: &(impl Save + ?Sized)) -> Result<()> {
        self.write_file(&file_name(name), array)
    }

    /// Writes an array as the member with this full name.
    pub(super) fn write_file(
        &mut self,
        file_name: &str,
        array: &(impl Save + ?Sized),
    ) -> Result<()> {
        let header_len = array.header_len()?;
        let done = self.start(file_name, header_len, None).and_then(|mut member| {
            array.write_npy(&mut member)?;
            member.finish()
        });
        self.name_file(done)
    }

    /// Writes an ndarray array with another dtype, as
    /// [`WriteOptions::write`] does.
    ///
    /// # Errors
    ///
    /// As [`write`](NpzWriter::write), and those of
    /// [`WriteOptions::write_to`].
    pub fn write_as<T: Element, D: Dimension>(
        &mut self,
        name: &str,
        array: &ArrayRef<T, D>,
        options: &WriteOptions,
    ) -> Result<()> {
        let header_len = options.header_len(array)?;
        let done = self.start(&file_name(name), header_len, None).and_then(|mut member| {
            options.write_to(&mut member, array)?;
            member.finish()
        });
        self.name_file(done)
    }

    /// Starts a member and returns a writer for its elements, which must be in
    /// `order` and in the byte order of `dtype`. Call
    /// [`finish`](MemberWriter::finish) after the last one.
    ///
    /// # Errors
    ///
    /// As [`write`](NpzWriter::write).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write as _;
    ///
    /// use npymap::npz::{Npz, NpzWriter};
    /// use npymap::{Order, Source};
    ///
    /// let mut writer = NpzWriter::new(Vec::new());
    /// let mut member = writer.begin("counts", &"<u2".parse()?, &[3], Order::C)?;
    /// for count in [1_u16, 2, 3] {
    ///     member.write_all(&count.to_le_bytes())?;
    /// }
    /// member.finish()?;
    /// let npz = Npz::open(Source::bytes(writer.into_inner()?))?;
    /// assert_eq!(npz.get("counts")?.view::<u16>()?.to_vec(), [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(
        &mut self,
        name: &str,
        dtype: &DType,
        shape: &[usize],
        order: Order,
    ) -> Result<MemberWriter<'_, W>> {
        let header = Header::new(dtype.clone(), shape, order)?;
        let nbytes = to_u64(header.layout()?.nbytes());
        let encoded = header.encode(None)?;
        let len = Some(nbytes.saturating_add(to_u64(encoded.bytes.len())));
        let mut member = self.start(&file_name(name), encoded.bytes.len(), len)?;
        member.write_all(&encoded.bytes).map_err(SystemError::io("write the header"))?;
        Ok(member)
    }

    /// Finishes the archive and returns the underlying writer.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when a member was not
    /// finished, [`Io`](crate::ErrorKind::Io).
    pub fn into_inner(self) -> Result<W> {
        self.check_finished()?;
        let to = self.zip.finish().map_err(zip_error)?;
        to.into_inner().map_err(|error| SystemError::io("write the archive")(error.into_error()))
    }

    /// Starts a member of `len` bytes, which include `header_len` of the header.
    fn start(
        &mut self,
        file_name: &str,
        header_len: usize,
        len: Option<u64>,
    ) -> Result<MemberWriter<'_, W>> {
        self.check_finished()?;
        check_file_name(file_name)?;
        self.add_name(file_name)?;
        let path = entry_path(file_name);
        self.state = WriterState::InMember;
        let compression = self.compression;
        let (method, aligned) = match compression {
            Compression::Deflated(_) => (CompressionMethod::DEFLATE, None),
            Compression::Stored => (CompressionMethod::STORE, Some((header_len, self.align))),
        };
        let file = (path, file_name.len(), Some(MODE));
        let entry = start_entry(&mut self.zip, file, method, aligned)?;
        Ok(MemberWriter::new(entry, compression, len, &mut self.state))
    }

    /// Records the full name of a new member, which no other may have.
    pub(super) fn add_name(&mut self, file_name: &str) -> Result<()> {
        if self.names.insert(file_name.to_owned()) {
            return Ok(());
        }
        Err(existing_name(file_name))
    }

    /// Frees the name of a member that was not written.
    pub(super) fn remove_name(&mut self, file_name: &str) {
        self.names.remove(file_name);
    }

    /// Checks that no member is unfinished.
    pub(super) fn check_finished(&self) -> Result<()> {
        if self.state == WriterState::Ready {
            return Ok(());
        }
        let found = "a member was left unfinished";
        Err(ArchiveError::misuse(found, "start a new archive"))
    }

    /// Adds the path of the archive to an error.
    pub(super) fn name_file<T>(&self, result: Result<T>) -> Result<T> {
        match &self.path {
            Some(path) => result.map_err(|error| error.with_path(path)),
            None => result,
        }
    }
}

/// Writes the local header of a member with a path, of a length, and a mode. `aligned`
/// is the number of bytes before the elements, and their alignment, if they are stored
/// uncompressed.
pub(super) fn start_entry<'z, W: Write>(
    zip: &'z mut ZipArchiveWriter<BufWriter<W>>,
    (path, name_len, mode): (EntryPath<'_>, usize, Option<u32>),
    method: CompressionMethod,
    aligned: Option<(usize, u64)>,
) -> Result<ZipEntryWriter<'z, BufWriter<W>>> {
    let start = zip.stream_offset() + LOCAL_HEADER + to_u64(name_len);
    let builder = zip.new_file(path).last_modified(UtcDateTime::from_unix(DATE));
    let mut builder = builder.compression_method(method);
    if let Some(mode) = mode {
        builder = builder.unix_permissions(mode);
    }
    let padding =
        aligned.and_then(|(header_len, align)| padding(start + to_u64(header_len), align));
    if let Some(padding) = padding {
        let id = ExtraFieldId::ANDROID_ZIP_ALIGNMENT;
        let field = builder.extra_field(id, &padding, rawzip::Header::LOCAL);
        builder = field.map_err(zip_error)?;
    }
    builder.start().map(|(entry, _)| entry).map_err(zip_error)
}

/// The path of a member in the archive.
pub(super) fn entry_path(file_name: &str) -> EntryPath<'_> {
    if file_name.is_ascii() {
        EntryPath::verbatim(file_name.as_bytes())
    } else {
        EntryPath::conformant(file_name)
    }
}

/// The error for a full name that another member has.
pub(super) fn existing_name(file_name: &str) -> Error {
    let found = format!("a member `{}` already exists", excerpt(name::key(file_name)));
    ArchiveError::misuse(found, "choose another name")
}

/// The full name of a new member.
pub(super) fn file_name(name: &str) -> String {
    format!("{name}.npy")
}

/// Checks that an array can be written with this full name, and that readers
/// will decode the same name.
pub(super) fn check_file_name(file_name: &str) -> Result<()> {
    let name = name::key(file_name);
    if file_name.len() > usize::from(u16::MAX) {
        return Err(invalid_name(name, "expected at most 65531 bytes"));
    }
    if name.contains('\0') {
        return Err(invalid_name(name, "expected no NUL, where some readers end the name"));
    }
    if file_name.ends_with('/') {
        return Err(invalid_name(name, "expected no directory, whose name ends with '/'"));
    }
    if !name.is_ascii() && !is_normal(file_name) {
        let expected = "with letters other than ASCII, expected no `\\` or `:`, and no directory called `.`, `..` or nothing";
        return Err(invalid_name(name, expected));
    }
    Ok(())
}

/// Returns whether a name with non-ASCII characters is stored unchanged.
pub(super) fn is_normal(file_name: &str) -> bool {
    ZipFilePath::from_str(file_name).as_str() == file_name
}

fn invalid_name(name: &str, expected: &'static str) -> Error {
    ArchiveError::misuse(format!("the member name `{}`", excerpt(name)), expected)
}

/// The content of an extra field that moves data from `start` to the next
/// multiple of `align`; `None` if `start` is one already. Like Android's
/// zipalign, it contains the alignment and zeros.
fn padding(start: u64, align: u64) -> Option<Vec<u8>> {
    /// The length of the field without zeros: ID, length and alignment.
    const MIN: u64 = 6;
    if start % align == 0 {
        return None;
    }
    let extra = MIN + (start + MIN).wrapping_neg() % align;
    let mut field =
        u16::try_from(align).invariant("alignments have 16 bits at most").to_le_bytes().to_vec();
    field.resize(to_usize(extra - 4), 0);
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_aligns_elements() {
        for align in [ALIGN, PAGE] {
            for start in 1..2 * align {
                match padding(start, align) {
                    None => assert_eq!(start % align, 0),
                    Some(field) => {
                        let extra = 4 + u64::try_from(field.len()).unwrap();
                        assert_eq!((start + extra) % align, 0, "{start} {align}");
                        assert!(extra < align + 6);
                    }
                }
            }
        }
    }
}
