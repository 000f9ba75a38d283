//! Writes archives of arrays, one member after another.

use std::collections::HashSet;
use std::io::{Seek, Write};
use std::path::PathBuf;

use super::member_writer::{Compression, MemberWriter, WRITE_ARCHIVE, WriterState};
use super::name;
use super::open::{ProgressCallback, SILENT};
use super::records::Method;
use super::report::Reported;
use super::zip_writer::{MemberStart, ZipWriter};
use crate::dtype::DType;
use crate::error::invariant::to_u64;
use crate::error::{ArchiveError, Error, IoContext as _, Result, excerpt};
use crate::kernel::PAGE;
use crate::layout::Order;
use crate::npy::Header;
use crate::write::Save;

/// The type and the permissions of a new member, or directory. They mark the archive as
/// made on Unix: `unzip` does not decode names as UTF-8 in archives of other systems.
#[inline]
pub(super) fn new_mode(name: &[u8]) -> u32 {
    if name.ends_with(b"/") { 0o040_755 } else { 0o100_644 }
}

/// The alignment of stored elements.
const ALIGN: u64 = 64;

/// A writer for `.npz` archives, which does not buffer arrays in memory.
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
    pub(super) zip: ZipWriter<W>,
    pub(super) compression: Compression,
    pub(super) align: u64,
    /// The full names of the members.
    names: HashSet<String>,
    pub(super) path: Option<PathBuf>,
    pub(super) state: WriterState,
}

impl<W: Write> NpzWriter<W> {
    /// Starts an archive in any writer.
    ///
    /// The size and the CRC-32 of a member follow it, unless it is a
    /// [copy](NpzWriter::copy). Programs that do not use the directory, for
    /// example because they read the archive from a pipe, can refuse stored
    /// members, or find only the first member. Use
    /// [`new_seekable`](NpzWriter::new_seekable) for files.
    pub fn new(to: W) -> NpzWriter<W> {
        NpzWriter::with_zip(ZipWriter::new(to))
    }

    /// Starts an archive in a file, or in memory, at its current position. The size and
    /// the CRC-32 of a member are written to the header before it when it is complete.
    ///
    /// If the position cannot be set, because the writer is a pipe, they follow the member
    /// as by [`new`](NpzWriter::new). Truncate a file before: readers use the end of an
    /// older archive, if there is one after this one. The first member that is not a copy
    /// fails if a file is open for appending.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the position cannot be read or
    /// set for a different reason than that the writer has none: `NotSeekable`
    /// or `Unsupported`, kinds of [`std::io::ErrorKind`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use npymap::npz::{Npz, NpzWriter};
    /// use npymap::{Source, ndarray::arr1};
    ///
    /// let mut writer = NpzWriter::new_seekable(Cursor::new(Vec::new()))?;
    /// writer.write("x", &arr1(&[0.5, 1.5]))?;
    /// let bytes = writer.into_inner()?.into_inner();
    /// assert_eq!(Npz::open(Source::bytes(bytes))?.get("x")?.as_slice::<f64>()?, [0.5, 1.5]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn new_seekable(to: W) -> Result<NpzWriter<W>>
    where
        W: Seek,
    {
        ZipWriter::new_seekable(to).map(NpzWriter::with_zip).context(WRITE_ARCHIVE)
    }

    fn with_zip(zip: ZipWriter<W>) -> NpzWriter<W> {
        NpzWriter {
            zip,
            compression: Compression::Stored,
            align: ALIGN,
            names: HashSet::new(),
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
        self.align = if aligned { to_u64(PAGE) } else { ALIGN };
        self
    }

    /// Writes an array as a member: `name` is its key, without `.npy`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a member of that
    /// name exists, if the format cannot store the name, if an earlier member was
    /// not finished, or if a descr cannot express the dtype. Returns
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if elements cannot be stored as
    /// the dtype, [`InvalidValue`](crate::ErrorKind::InvalidValue) for text that is
    /// too long, and [`Io`](crate::ErrorKind::Io) if writing fails.
    pub fn write(&mut self, name: &str, array: &dyn Save) -> Result<()> {
        self.write_file(&file_name(name), array, &SILENT)
    }

    /// Writes an array as the member with this full name.
    pub(super) fn write_file(
        &mut self,
        file_name: &str,
        array: &dyn Save,
        progress: &ProgressCallback,
    ) -> Result<()> {
        let header = array.header()?;
        let (key, size) = (name::key(file_name), to_u64(header.layout()?.nbytes()));
        let done = self.start(file_name, &header).and_then(|mut member| {
            let mut reported = Reported::new(&mut member, progress, key, size);
            array.write_elements(header.order, &mut reported)?;
            member.finish()
        });
        self.name_file(done)
    }

    /// Starts a member and returns a writer for its elements, which must be in
    /// `order` and in the byte order of `dtype`. Call
    /// [`finish`](MemberWriter::finish) after the last byte.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a member of
    /// that name exists, if the format cannot store the name, or if an earlier
    /// member was not finished, or a descr cannot express the dtype. Returns
    /// [`Io`](crate::ErrorKind::Io) if writing fails.
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
        self.start(&file_name(name), &header)
    }

    /// Finishes the archive and returns the underlying writer.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if a member was
    /// not finished, and [`Io`](crate::ErrorKind::Io) if writing fails.
    pub fn into_inner(self) -> Result<W> {
        self.check_finished()?;
        self.zip.finish().context(WRITE_ARCHIVE)
    }

    /// Starts the member of an array, and writes its header.
    fn start(&mut self, file_name: &str, header: &Header) -> Result<MemberWriter<'_, W>> {
        let (bytes, nbytes) = (header.encode(None)?.bytes, header.layout()?.nbytes());
        self.check_finished()?;
        check_file_name(file_name)?;
        self.add_name(file_name)?;
        self.state = WriterState::InMember;
        let (compression, header_len) = (self.compression, to_u64(bytes.len()));
        let (method, aligned) = match compression {
            Compression::Deflated(_) => (Method::DEFLATED, None),
            Compression::Stored => (Method::STORED, Some((header_len, self.align))),
        };
        let name = file_name.as_bytes();
        let mode = Some(new_mode(name));
        let member = MemberStart { name, is_utf8: true, method, mode, aligned };
        let len = to_u64(nbytes) + header_len;
        let entry = self.zip.start_unknown(&member, len).context(WRITE_ARCHIVE)?;
        let mut member = MemberWriter::new(entry, compression, len, &mut self.state)?;
        member.write_all(&bytes).context("write the header")?;
        Ok(member)
    }

    /// Records the full name of a new member, which must be unique.
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

/// The error for a full name that another member has.
#[inline]
pub(super) fn existing_name(file_name: &str) -> Error {
    let found = format!("a member `{}` already exists", excerpt(name::key(file_name)));
    ArchiveError::misuse(found, "choose another name")
}

/// The full name of a new member.
#[inline]
pub(super) fn file_name(name: &str) -> String {
    format!("{name}.npy")
}

/// Checks that an array can be written with this full name, and that readers
/// will decode the same name.
#[inline]
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
    Ok(())
}

#[inline]
fn invalid_name(name: &str, expected: &'static str) -> Error {
    ArchiveError::misuse(format!("the member name `{}`", excerpt(name)), expected)
}
