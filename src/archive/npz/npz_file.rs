//! The file that an archive is written to.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::invariant::Invariant;
use crate::source::atomic::AtomicFile;

/// A file renamed to its final name when its archive is finished.
///
/// # Examples
///
/// ```
/// use npymap::ndarray::arr1;
/// use npymap::npz::{NpzFile, NpzWriter};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("arrays.npz");
/// let mut archive: NpzWriter<NpzFile> = NpzWriter::create(&path)?;
/// archive.write("x", &arr1(&[0.5, 1.5]))?;
/// assert!(!path.exists());
/// archive.finish()?;
/// assert!(path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpzFile {
    pub(super) output: Arc<OutputFile>,
    pub(super) atomic: AtomicFile,
}

/// The file under its temporary name.
#[derive(Debug)]
pub(super) struct OutputFile {
    pub(super) file: File,
    /// Whether writing only moves the position, because the bytes are zeros and
    /// the file has reserved space that is zero already.
    pub(super) skips: AtomicBool,
}

impl Write for NpzFile {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = &self.output.file;
        if self.output.skips.load(Ordering::Relaxed) {
            file.seek_relative(
                i64::try_from(bytes.len()).invariant("slices have at most `isize::MAX` bytes"),
            )?;
            return Ok(bytes.len());
        }
        file.write(bytes)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for NpzFile {
    #[inline]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&self.output.file).seek(to)
    }
}
