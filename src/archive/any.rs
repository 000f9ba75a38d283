//! Files of any format this crate opens, recognised by their contents.
#![allow(unsafe_code)]

use std::path::Path;

#[cfg(feature = "npz")]
use crate::archive::npz::Npz;
#[cfg(feature = "tar")]
use crate::archive::shard::Shard;
use crate::archive::ten::{self, Ten, TenOptions};
use crate::array::{MappedArray, OpenOptions, on};
use crate::error::{ArchiveError, Error, ErrorKind, Result, SystemError};
use crate::npy::MAGIC;
use crate::source::file;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One array, as `numpy.save` writes it.
    Npy,
    /// An archive of arrays, as `numpy.savez` writes it.
    Npz,
    /// A list of arrays, as webdataset writes it.
    Ten,
    /// A tar file of `.npy` and `.ten` members.
    Tar,
}

impl Format {
    /// Recognises a file by its first bytes. Where they say nothing, as in an
    /// empty `.ten` file or a zip archive behind other bytes, its name does;
    /// where that says nothing either, it is taken for `.npy`.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io),
    /// [`Unsupported`](crate::ErrorKind::Unsupported).
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(npymap::Format::recognize("data/penguins.npy")?, npymap::Format::Npy);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn recognize(path: impl AsRef<Path>) -> Result<Format> {
        on(path.as_ref(), recognize)
    }
}

/// Where tar files have theirs, after the first member's name and more.
const USTAR: std::ops::Range<usize> = 257..262;

fn recognize(path: &Path) -> Result<Format> {
    let (file, _) = file::open(path, false)?;
    let mut start = [0; 512];
    let found = file::read_at(&file, &mut start, 0).map_err(SystemError::io("read the header"))?;
    let start = start.get(..found).unwrap_or_default();
    let extension = path.extension().unwrap_or_default();
    Ok(match start {
        _ if start.starts_with(&MAGIC) => Format::Npy,
        [b'P', b'K', 3 | 5 | 6, ..] => Format::Npz,
        _ if start.starts_with(b"~TenBin~") => Format::Ten,
        _ if start.get(USTAR) == Some(b"ustar") => Format::Tar,
        _ if extension == "npz" || extension == "zip" => Format::Npz,
        _ if ten::has_extension(path) => Format::Ten,
        _ if extension == "tar" => Format::Tar,
        _ => Format::Npy,
    })
}

/// A file of any format, open.
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is one a file; a box would be in the way")]
pub enum AnyFile {
    /// One array.
    Npy(MappedArray),
    /// An archive of arrays.
    #[cfg(feature = "npz")]
    Npz(Npz),
    /// A list of arrays.
    Ten(Ten),
    /// A tar file.
    #[cfg(feature = "tar")]
    Tar(Shard),
}

/// Opens a `.npy`, `.npz`, `.ten` or tar file, recognised by its contents,
/// read-only.
///
/// # Safety
///
/// As [`MappedArray::open`], for the elements of each array that is taken from
/// it, as long as that array or a clone lives.
///
/// # Errors
///
/// Those of the format's own: [`MappedArray::open`], [`Npz::open`],
/// [`Ten::open`], [`Shard::open`].
///
/// # Examples
///
/// ```
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let file = unsafe { npymap::open_any("data/penguins.npy")? };
/// assert_eq!(file.get(None)?.shape(), [342, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub unsafe fn open_any(path: impl AsRef<Path>) -> Result<AnyFile> {
    let path = path.as_ref();
    match Format::recognize(path)? {
        // SAFETY: asks for the same promises.
        Format::Npy => unsafe { OpenOptions::new().open(path) }.map(AnyFile::Npy),
        Format::Ten => {
            let mut options = TenOptions::new();
            let options = options.any_extension(true);
            // SAFETY: asks for the same promises.
            unsafe { options.open(path) }.map(AnyFile::Ten)
        }
        #[cfg(feature = "npz")]
        // SAFETY: asks for the same promises.
        Format::Npz => unsafe { Npz::open(path) }.map(AnyFile::Npz),
        #[cfg(feature = "tar")]
        // SAFETY: asks for the same promises.
        Format::Tar => unsafe { Shard::open(path) }.map(AnyFile::Tar),
        #[cfg(not(all(feature = "npz", feature = "tar")))]
        format => Err(unsupported(format).at(path)),
    }
}

#[cfg(not(all(feature = "npz", feature = "tar")))]
fn unsupported(format: Format) -> Error {
    let expected = "build npymap with its feature for it";
    ArchiveError::unsupported(format!("a file of the format {format:?}"), expected)
}

impl AnyFile {
    /// Opens the array of this name, or the only one there is: in a `.ten`
    /// file a position or an info, in a tar file the name of a `.npy` or of a
    /// `.ten` with a position or info in brackets, as `000000.ten[0]`.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound),
    /// [`Damaged`](crate::ErrorKind::Damaged) without a name when there are
    /// several, or with one when there is only one array; and those of opening
    /// a member.
    pub fn get(&self, member: Option<&str>) -> Result<MappedArray> {
        self.find(member).map_err(|error| match self.path() {
            Some(path) => error.at(path),
            None => error,
        })
    }

    fn path(&self) -> Option<&Path> {
        match self {
            AnyFile::Npy(array) => array.path(),
            #[cfg(feature = "npz")]
            AnyFile::Npz(npz) => npz.path(),
            AnyFile::Ten(ten) => ten.path(),
            #[cfg(feature = "tar")]
            AnyFile::Tar(shard) => shard.path(),
        }
    }

    fn find(&self, member: Option<&str>) -> Result<MappedArray> {
        match (self, member) {
            (AnyFile::Npy(array), None) => Ok(array.clone()),
            (AnyFile::Npy(_), Some(_)) => Err(ArchiveError::refused(
                ErrorKind::NotFound,
                "holds one array without a name",
                "ask for no member",
            )),
            #[cfg(feature = "npz")]
            (AnyFile::Npz(npz), Some(name)) => npz.get(name),
            #[cfg(feature = "npz")]
            (AnyFile::Npz(npz), None) => match npz.members().collect::<Vec<_>>().as_slice() {
                [only] => only.open(),
                several => Err(unnamed(several.len())),
            },
            (AnyFile::Ten(ten), Some(name)) => ten.get(ten.index(name)?),
            (AnyFile::Ten(ten), None) if ten.len() == 1 => ten.get(0),
            (AnyFile::Ten(ten), None) => Err(unnamed(ten.len())),
            #[cfg(feature = "tar")]
            (AnyFile::Tar(shard), Some(whole)) => match in_brackets(whole) {
                Some((name, inner))
                    if shard.member(whole).is_err() && shard.member(name).is_ok() =>
                {
                    let ten = shard.member(name)?.ten()?;
                    ten.get(ten.index(inner)?)
                }
                _ => shard.get(whole),
            },
            #[cfg(feature = "tar")]
            (AnyFile::Tar(shard), None) => match shard.members().collect::<Vec<_>>().as_slice() {
                [only] => only.open(),
                several => Err(unnamed(several.len())),
            },
        }
    }
}

fn unnamed(count: usize) -> Error {
    let expected = "name one of them";
    ArchiveError::misuse(format!("holds {count} members"), expected)
}

/// Parts `name[inner]`.
#[cfg(feature = "tar")]
fn in_brackets(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix(']')?.rsplit_once('[')
}
