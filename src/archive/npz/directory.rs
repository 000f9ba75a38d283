//! What an archive's directory says of its members.

use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord};

use super::name;
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// Enough to find a directory and read most of them; on the stack.
const BUFFER: usize = 4096;

/// A zip archive.
pub(super) type Archive = ZipArchive<Source>;

impl rawzip::ReaderAt for Source {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        Source::read_at(self, buffer, offset)
    }
}

/// One member, by what the directory says.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its name as it stands in the archive.
    pub(super) name: String,
    pub(super) raw_name: Box<[u8]>,
    pub(super) method: CompressionMethod,
    pub(super) is_encrypted: bool,
    pub(super) crc32: u32,
    /// Bytes it takes in the archive.
    pub(super) stored: u64,
    /// Bytes it is.
    pub(super) size: u64,
    pub(super) way: ZipArchiveEntryWayfinder,
    /// Where its header starts.
    start: u64,
    /// Where the next member starts, or the directory.
    pub(super) limit: u64,
}

/// Finds an archive's directory and reads it.
pub(super) fn read(source: Source) -> Result<(Archive, Vec<Entry>)> {
    let len = source.len();
    let mut buffer = [0; BUFFER];
    let located = rawzip::ZipLocator::new().locate_in_reader(source, &mut buffer, len);
    let archive = located.map_err(|(source, error)| no_archive(&source, error))?;
    let entries = match self::entries(&archive, &mut buffer) {
        // Names and comments may be long.
        Err(error) if matches!(error.kind(), rawzip::ErrorKind::BufferTooSmall { .. }) => {
            let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
            self::entries(&archive, &mut buffer)
        }
        done => done,
    };
    let mut entries = entries.map_err(|error| damaged(error, "the directory"))?;
    let listed = u64::try_from(entries.len()).unwrap_or(u64::MAX);
    // Without a 64-bit directory the number wraps around.
    let said = archive.entries_hint();
    if listed != said && listed & 0xffff != said {
        return Err(ErrorKind::Archive {
            found: format!("the directory lists {listed} members and announces {said}"),
            expected: "the archive was truncated, or is damaged",
        }
        .into());
    }
    limit(&mut entries, archive.directory_offset());
    Ok((archive, entries))
}

fn entries(archive: &Archive, buffer: &mut [u8]) -> Result<Vec<Entry>, rawzip::Error> {
    let mut entries = Vec::new();
    let mut records = archive.entries(buffer);
    while let Some(record) = records.next_entry()? {
        entries.push(Entry::new(&record));
    }
    Ok(entries)
}

impl Entry {
    fn new(record: &ZipFileHeaderRecord<'_>) -> Entry {
        let (raw_name, flags) = (record.file_path(), record.flags());
        let raw_name = raw_name.as_bytes();
        Entry {
            name: name::decode(raw_name, flags.is_utf8()),
            raw_name: raw_name.into(),
            method: record.compression_method(),
            is_encrypted: flags.is_encrypted() || flags.is_masked(),
            crc32: record.crc32(),
            stored: record.compressed_size_hint(),
            size: record.uncompressed_size_hint(),
            way: record.wayfinder(),
            start: record.local_header_offset(),
            limit: 0,
        }
    }
}

/// Bounds each member by what follows it: what two members share would be
/// unpacked twice, as in zip bombs.
fn limit(entries: &mut [Entry], directory: u64) {
    let mut order: Vec<&mut Entry> = entries.iter_mut().collect();
    order.sort_by_key(|entry| entry.start);
    let mut limit = directory;
    for entry in order.into_iter().rev() {
        entry.limit = limit;
        limit = entry.start;
    }
}

/// Says why there is no archive.
fn no_archive(source: &Source, error: rawzip::Error) -> Error {
    let mut start = [0; 8];
    let found = source.read_at(&mut start, 0).unwrap_or(0);
    let start = start.get(..found).unwrap_or_default();
    match error.kind() {
        rawzip::ErrorKind::MissingEndOfCentralDirectory => ErrorKind::Archive {
            found: if start.starts_with(b"PK") {
                "a zip archive without its end".to_owned()
            } else {
                format!("starts with b\"{}\" and is no zip archive", start.escape_ascii())
            },
            expected: if start.starts_with(b"PK") {
                "it was truncated, or is still being written"
            } else if start.starts_with(b"\x93NUMPY") {
                "it is a .npy file, open it with `MappedArray::open`"
            } else {
                "expected an .npz file, as numpy.savez writes them"
            },
        }
        .into(),
        _ => damaged(error, "the end of the archive"),
    }
}

/// Says what rawzip found, in our words.
pub(super) fn damaged(error: rawzip::Error, what: &str) -> Error {
    let reason = match error.into_kind() {
        rawzip::ErrorKind::IO(io) if io.kind() != std::io::ErrorKind::UnexpectedEof => {
            return ErrorKind::io("read the archive")(io);
        }
        rawzip::ErrorKind::IO(_) | rawzip::ErrorKind::Eof => "leads outside the archive".to_owned(),
        rawzip::ErrorKind::InvalidSignature { expected, actual } => {
            format!("starts with {actual:08x} instead of {expected:08x}")
        }
        _ => "contradicts itself".to_owned(),
    };
    let expected = "the archive was truncated, or is damaged";
    ErrorKind::Archive { found: format!("{what} {reason}"), expected }.into()
}
