//! Reads objects of stores and web servers, and writes them to stores.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use npymap::any::Format;
use npymap::source::{MapMut, ReadAt as _};
use npymap::{ArrayFile, Error, ErrorKind, MappedArray, OpenOptions, Order, Result, Source};
use npymap_remote::{Cache, Remote, RemoteOptions, RemoteWriter};

use crate::input::array_path::ArrayPath;
use crate::input::open;
use crate::input::progress::Progress;
use crate::input::remote::is_url;
use crate::select::selection::IndexArg;

/// The objects that were opened: a command opens a file several times.
static OPENED: Mutex<Vec<(PathBuf, Remote)>> = Mutex::new(Vec::new());

/// Opens a URL; `None` for other paths.
fn open_url(path: &Path) -> Result<Option<Remote>> {
    let Some(url) = path.to_str().filter(|_| is_url(path)) else { return Ok(None) };
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, object)) = opened.iter().find(|(known, _)| known == path) {
        return Ok(Some(object.clone()));
    }
    let object = options()?.open(url)?;
    opened.push((path.to_owned(), object.clone()));
    Ok(Some(object))
}

/// The options with which objects are opened, with the cache that the environment names.
fn options() -> Result<RemoteOptions> {
    let Some(directory) = env::var_os("NPYMAP_CACHE").filter(|value| !value.is_empty()) else {
        return Ok(RemoteOptions::new());
    };
    let bytes = match env::var("NPYMAP_CACHE_BYTES") {
        Ok(text) => text.parse().map_err(|_| {
            let text = format!("NPYMAP_CACHE_BYTES='{}': expected a number", text.escape_debug());
            Error::new(ErrorKind::InvalidInput, text)
        })?,
        Err(_) => CACHE_BYTES,
    };
    let cache = Cache::open(&directory, bytes).map_err(|error| {
        let text = format!("NPYMAP_CACHE='{}': {}", directory.display(), error.message());
        // Of another kind, so that it is not taken for one about the object.
        Error::new(ErrorKind::Other, text)
    })?;
    Ok(RemoteOptions::new().cache(&cache))
}

/// The size of the cache, by default.
const CACHE_BYTES: u64 = 16 << 30;

/// The source of a URL; `None` for other paths.
pub(crate) fn source(path: &Path) -> Result<Option<Source<MapMut>>> {
    Ok(open_url(path)?.map(|object| object.source()))
}

/// Reads a URL from its start; `None` for other paths.
pub(crate) fn reader(path: &Path) -> Result<Option<Reader>> {
    Ok(open_url(path)?.map(|object| Reader { object, offset: 0 }))
}

/// An object that is written.
pub(crate) type Upload = RemoteWriter;

/// Starts to write to a URL; `None` for other paths.
pub(crate) fn upload(path: &Path, overwrites: bool) -> Result<Option<Upload>> {
    let Some(url) = path.to_str().filter(|_| is_url(path)) else { return Ok(None) };
    RemoteOptions::new().overwrite(overwrites).create(url).map(Some)
}

/// Sends a complete file.
pub(crate) fn finish(mut upload: Upload, mut file: File) -> Result<()> {
    file.rewind()?;
    let mut progress =
        Progress::new(file.metadata().map_or(0, |file| usize::try_from(file.len()).unwrap_or(0)));
    let mut bytes = vec![0; 1 << 20];
    loop {
        match file.read(&mut bytes)? {
            0 => return upload.finish(),
            len => {
                upload.write_all(bytes.get(..len).unwrap_or_default())?;
                progress.add(len);
            }
        }
    }
}

/// Reads an object from its start.
pub(crate) struct Reader {
    object: Remote,
    offset: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.object.read_at(buffer, self.offset)?;
        self.offset += to_u64(n);
        Ok(n)
    }
}

/// Reads the rows that indices select from a `.npy` at a URL, and returns the whole
/// array, with zeros in place of the others, which take no space. `None` for other
/// inputs, and if all rows are selected.
pub(crate) fn selected_rows(
    input: &ArrayPath,
    max_header_len: usize,
    selections: &[IndexArg],
) -> Result<Option<MappedArray>> {
    let Some(object) = open_url(&input.path)? else { return Ok(None) };
    let source = object.source();
    // Elsewhere, the zeros would take space on the disk.
    let has_holes = cfg!(unix) && input.member.is_none();
    if !has_holes || Format::recognize(&source)? != Format::Npy {
        return Ok(None);
    }
    let file = ArrayFile::new(source, OpenOptions::new().max_header_len(max_header_len))?;
    let is_c = file.header().is_some_and(|header| header.order == Order::C);
    let rows = selections.iter().map(|selection| selection.row_range(file.shape()));
    let rows = rows.reduce(|all, next| all.zip(next).map(|(a, b)| unite(&a, &b))).flatten();
    match rows {
        Some(rows) if is_c && Some(&rows.len()) != file.shape().first() => {
            partial_copy(&object, &file, rows).map(Some)
        }
        _ => Ok(None),
    }
}

fn unite(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.min(b.start)..a.end.max(b.end)
}

/// Copies the header and some rows to a temporary file, at their places.
fn partial_copy(object: &Remote, file: &ArrayFile, rows: Range<usize>) -> Result<MappedArray> {
    let mut header = vec![0; usize::try_from(file.data_offset()).unwrap_or(usize::MAX)];
    let start = 0..file.data_offset();
    object.read_ranges_at(std::slice::from_ref(&start), &mut header)?;
    let nbytes = file.layout().nbytes();
    let row = file.shape().first().and_then(|&count| nbytes.checked_div(count)).unwrap_or(0);
    let start = file.data_offset().saturating_add(to_u64(row.saturating_mul(rows.start)));
    let some = file.rows(rows)?;
    let mut copy: File = tempfile::tempfile()?;
    copy.write_all(&header)?;
    copy.set_len(file.data_offset().saturating_add(to_u64(nbytes)))?;
    copy.seek(SeekFrom::Start(start))?;
    copy.write_all(some.as_bytes()?)?;
    open::read_file(copy, &OpenOptions::new().max_header_len(usize::MAX))
}

fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
