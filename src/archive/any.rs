//! Opens files of any supported format, recognized by their contents.

#[cfg(feature = "tar")]
use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;

#[cfg(feature = "npz")]
use crate::archive::npz::{Member, Npz};
#[cfg(feature = "tar")]
use crate::archive::tar::{self, TarFile};
use crate::archive::ten::{self, Ten};
use crate::array::{MappedArray, OpenOptions, Place};
#[cfg(feature = "tar")]
use crate::error::invariant::to_u64;
use crate::error::invariant::{Invariant, READ};
use crate::error::{ArchiveError, Error, ErrorKind, IoContext as _, Result};
use crate::npy::MAGIC;
use crate::source::Source;
use crate::source::map::Map;
use crate::source::pages::Mapping;
use crate::source::storage::Storage;

/// The format of a file.
///
/// # Examples
///
/// ```
/// use npymap::{Source, any::Format};
///
/// let source = Source::open("data/penguins.npy")?;
/// assert_eq!(Format::recognize(&source)?, Format::Npy);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One array, as `numpy.save` writes it.
    Npy,
    /// An archive of arrays, as `numpy.savez` writes it.
    Npz,
    /// A list of arrays, as webdataset writes it.
    Ten,
    /// A tar file of `.npy`, `.npz` and `.ten` members.
    Tar,
}

impl Format {
    /// Recognizes the format of a file by its first bytes. If these are not
    /// conclusive, as in an empty `.ten` file or a zip archive with a prefix,
    /// the file's extension decides. If that is also unknown, the format is
    /// `.npy`.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](crate::ErrorKind::Io) if the source cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// let source = npymap::Source::open("data/penguins.npy")?;
    /// assert_eq!(npymap::any::Format::recognize(&source)?, npymap::any::Format::Npy);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn recognize<D>(source: &Source<D>) -> Result<Format> {
        let storage = source.storage();
        storage.add_path_on_err(recognize(storage))
    }
}

/// The position of the magic bytes in a tar file.
const USTAR: std::ops::Range<usize> = 257..262;

#[inline]
fn recognize(storage: &Storage) -> Result<Format> {
    let mut start = [0; 512];
    let found = storage.read_at(&mut start, 0).context("read the header")?;
    let path = storage.path().unwrap_or(Path::new(""));
    let start = start.get(..found).invariant(READ);
    let extension = path.extension().unwrap_or_default(); // None is none of those below.
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

/// An open file of any format.
///
/// # Examples
///
/// ```
/// use npymap::{Source, any::AnyFile};
///
/// match npymap::open_any(Source::open("data/penguins.npy")?)? {
///     AnyFile::Npy(npy) => assert_eq!(npy.open()?.shape(), [342, 4]),
///     AnyFile::Ten(list) => println!("{} arrays", list.headers().len()),
///     file => println!("{file:?}"),
/// }
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "there is only one per file")]
pub enum AnyFile<D = Map> {
    /// One array.
    Npy(Npy<D>),
    /// An archive of arrays.
    #[cfg(feature = "npz")]
    Npz(Npz<D>),
    /// A list of arrays.
    Ten(Ten<D>),
    /// A tar file.
    #[cfg(feature = "tar")]
    Tar(TarFile<D>),
}

/// A source that holds one array.
///
/// # Examples
///
/// ```
/// use npymap::{OpenOptions, Source, any::Npy};
///
/// let npy = Npy::new(Source::open("data/penguins.npy")?, OpenOptions::new())?;
/// assert_eq!(npy.open()?.shape(), [342, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Debug)]
pub struct Npy<D = Map> {
    source: Source<D>,
    place: Place,
}

impl<D: Mapping> Npy<D> {
    /// Finds the array in a source, without mapping it.
    ///
    /// # Errors
    ///
    /// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if it is not a valid
    /// `.npy` file, [`Unsupported`](crate::ErrorKind::Unsupported) if its
    /// elements are Python objects or its version is unknown,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its header is
    /// longer than the limit, and [`Truncated`](crate::ErrorKind::Truncated) if
    /// elements are missing. Returns [`Io`](crate::ErrorKind::Io) if reading
    /// fails.
    #[allow(clippy::needless_pass_by_value, reason = "an option type, as everywhere by value")]
    pub fn new(source: Source<D>, options: OpenOptions) -> Result<Npy<D>> {
        let place = source.storage().add_path_on_err(options.place(source.storage()))?;
        Ok(Npy { source, place })
    }

    /// Opens the array.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if the file was
    /// truncated after the source was opened,
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the source is mapped
    /// read-write and an earlier array of it is still in use, and
    /// [`Io`](crate::ErrorKind::Io) if reading or mapping fails.
    pub fn open(&self) -> Result<MappedArray<D>> {
        let Npy { source, place } = self;
        let data = source.obtain_checked(place.offset, place.layout.nbytes());
        let data = source.storage().add_path_on_err(data)?;
        Ok(MappedArray::from_place(source, data, place.clone(), None))
    }
}

/// Opens a `.npy`, `.npz`, `.ten` or tar file, recognized by its contents.
///
/// # Errors
///
/// Returns [`Corrupt`](crate::ErrorKind::Corrupt) if the contents are not a
/// valid file of the recognized format,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if it needs a disabled
/// feature or contains Python objects,
/// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if a header is longer
/// than the limit, [`Truncated`](crate::ErrorKind::Truncated) if it ends too
/// early, [`InvalidInput`](crate::ErrorKind::InvalidInput) for an `.npz` in a
/// source that is mapped read-write, and [`Io`](crate::ErrorKind::Io) if
/// reading fails.
///
/// # Examples
///
/// ```
/// // SAFETY: no other process writes to or truncates this file.
/// let source = unsafe { npymap::Source::map("data/penguins.npy")? };
/// assert_eq!(npymap::open_any(source)?.get(None)?.shape(), [342, 4]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub fn open_any<D: Mapping>(source: Source<D>) -> Result<AnyFile<D>> {
    match Format::recognize(&source)? {
        Format::Npy => Npy::new(source, OpenOptions::new()).map(AnyFile::Npy),
        Format::Ten => Ten::open(source).map(AnyFile::Ten),
        #[cfg(feature = "npz")]
        Format::Npz => Npz::open(source).map(AnyFile::Npz),
        #[cfg(feature = "tar")]
        Format::Tar => TarFile::open(source).map(AnyFile::Tar),
        #[cfg(not(all(feature = "npz", feature = "tar")))]
        format => Err(source.storage().add_path(unsupported(format))),
    }
}

#[cfg(not(all(feature = "npz", feature = "tar")))]
#[inline]
fn unsupported(format: Format) -> Error {
    let expected = "build npymap with the feature for this format";
    ArchiveError::unsupported(format!("a file in the format {format:?}"), expected)
}

impl<D: Mapping> AnyFile<D> {
    /// Opens the array called `member`, or with `None` the only array. In a
    /// `.ten` file, `member` is a position or an info. In a tar file, the name
    /// of a `.npy` member, or the name of a `.ten` or `.npz` member followed by
    /// that of its array in brackets, such as `000000.ten[0]`.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the member does not
    /// exist, or if you pass a `member` for a `.npy` file, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if `member` is `None`
    /// and there is more than one array. Returns
    /// [`Corrupt`](crate::ErrorKind::Corrupt) if the array is not valid,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it contains Python
    /// objects, is encrypted, or is compressed by a method other than deflate,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if its inflated size
    /// exceeds the limit, [`Truncated`](crate::ErrorKind::Truncated) if
    /// elements are missing, and [`Io`](crate::ErrorKind::Io) if reading or
    /// mapping fails.
    pub fn get(&self, member: Option<&str>) -> Result<MappedArray<D>> {
        match (self, member) {
            (AnyFile::Npy(npy), None) => npy.open(),
            (AnyFile::Npy(npy), Some(_)) => {
                let (found, expected) = ("holds a single unnamed array", "leave out the member");
                let error = ArchiveError::with_kind(ErrorKind::NotFound, found, expected);
                Err(npy.source.storage().add_path(error))
            }
            #[cfg(feature = "npz")]
            (AnyFile::Npz(npz), name) => array_of_npz(npz, name),
            (AnyFile::Ten(ten), name) => array_of_ten(ten, name),
            #[cfg(feature = "tar")]
            (AnyFile::Tar(tar), Some(name)) => {
                // A member whose own name ends in brackets comes first.
                if tar.member(name).is_err() {
                    let mut splits = split_brackets(name);
                    if let Some((outer, inner)) =
                        splits.find(|(outer, _)| tar.member(outer).is_ok())
                    {
                        return array_of_tar_member(&tar.member(outer)?, Some(inner));
                    }
                }
                tar.get(name)
            }
            #[cfg(feature = "tar")]
            (AnyFile::Tar(tar), None) => match tar.members().collect::<Vec<_>>().as_slice() {
                // A link may replace it.
                [only] => array_of_tar_member(&tar.member(only.name())?, None),
                members => Err(tar.name_file(no_only_member(members.len()))),
            },
        }
    }

    /// Lists the names of the members, in the order of the file:
    /// [`get`](AnyFile::get) opens each. This includes members that are not
    /// arrays, and opening them returns an error. A name that several members
    /// have is listed once. Arrays of `.ten` files are called by their
    /// positions. A `.npy` has no names.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Source, ndarray::arr1, npz, open_any};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("run.npz");
    /// npz::savez(&path, &[("steps", &arr1(&[41_u64])), ("loss", &arr1(&[0.5]))])?;
    /// let file = open_any(Source::open(&path)?)?;
    /// assert_eq!(file.names(), ["steps", "loss"]);
    /// for name in file.names() {
    ///     assert_eq!(file.get(Some(&name))?.shape(), [1]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut listed = HashSet::new();
        let mut names = match self {
            AnyFile::Npy(_) => Vec::new(),
            #[cfg(feature = "npz")]
            AnyFile::Npz(npz) => npz.members().map(|member| npz_name(npz, &member)).collect(),
            AnyFile::Ten(ten) => (0..ten.headers().len()).map(|index| index.to_string()).collect(),
            #[cfg(feature = "tar")]
            AnyFile::Tar(tar) => {
                // Of members with one name, `get` opens the last one.
                let members = tar.members().map(|member| (member.name(), member.offset()));
                let last: HashMap<_, _> = members.collect();
                let members = tar.members();
                let found =
                    members.filter(|member| last.get(member.name()) == Some(&member.offset()));
                found.flat_map(|member| tar_names(&member)).collect()
            }
        };
        names.retain(|name| listed.insert(name.clone()));
        names
    }
}

/// A named array of an archive, or its only array.
#[cfg(feature = "npz")]
fn array_of_npz<D: Mapping>(npz: &Npz<D>, name: Option<&str>) -> Result<MappedArray<D>> {
    let mut members = npz.members();
    match (name, members.len(), members.next()) {
        (Some(name), ..) => npz.get(name),
        (None, 1, Some(only)) => only.open(),
        (None, count, _) => npz.name_file(Err(no_only_member(count))),
    }
}

/// An array of a `.ten` file, by its index or info, or its only array.
fn array_of_ten<D: Mapping>(ten: &Ten<D>, name: Option<&str>) -> Result<MappedArray<D>> {
    match (name, ten.headers().len()) {
        (Some(name), _) => ten.get(ten.index(name)?),
        (None, 1) => ten.get(0),
        (None, count) => Err(ten.name_file(no_only_member(count))),
    }
}

/// An array of a member that is an archive, or the member if it is an array itself.
#[cfg(feature = "tar")]
fn array_of_tar_member<D: Mapping>(
    member: &tar::Member<'_, D>,
    inner: Option<&str>,
) -> Result<MappedArray<D>> {
    #[cfg(feature = "npz")]
    if member.is_npz()? {
        return array_of_npz(&member.npz()?, inner);
    }
    if inner.is_none() && !member.is_ten()? {
        return member.open();
    }
    array_of_ten(&member.ten()?, inner)
}

/// The name that finds a member: without `.npy`, unless another member is called
/// that.
#[cfg(feature = "npz")]
fn npz_name<D: Mapping>(npz: &Npz<D>, member: &Member<'_, D>) -> String {
    let found = npz.member(member.name()).map(|found| found.full_name());
    let is_own = found.is_ok_and(|full_name| full_name == member.full_name());
    if is_own { member.name().to_owned() } else { member.full_name().to_owned() }
}

/// How much longer than a `.ten` the names of its arrays in a tar file are at most.
#[cfg(feature = "tar")]
const MOST_NAMES: u64 = 16;

/// A member's array names: its own, or one per array of an `.npz` or a `.ten`, unless
/// these names would be much longer than the arrays.
#[cfg(feature = "tar")]
fn tar_names<D: Mapping>(member: &tar::Member<'_, D>) -> Vec<String> {
    let name = member.name();
    // A name has at most 1 MiB, so that this fits 64 bits.
    let is_short =
        |count| (to_u64(name.len()) * to_u64(count)).div_ceil(MOST_NAMES) <= member.size();
    #[cfg(feature = "npz")]
    if let Ok(true) = member.is_npz() {
        return match member.npz() {
            Ok(npz) if is_short(npz.members().len()) => {
                let inner = npz.members().map(|inner| npz_name(&npz, &inner));
                inner.map(|inner| format!("{name}[{inner}]")).collect()
            }
            _ => vec![name.to_owned()],
        };
    }
    match member.is_ten().and_then(|is_ten| is_ten.then(|| member.ten()).transpose()) {
        Ok(Some(ten)) if is_short(ten.headers().len()) => {
            (0..ten.headers().len()).map(|index| format!("{name}[{index}]")).collect()
        }
        // If it cannot be read, opening it by this name says why.
        _ => vec![name.to_owned()],
    }
}

/// The error when no member is named and there is not exactly one.
#[inline]
fn no_only_member(count: usize) -> Error {
    let expected = "name one of them";
    ArchiveError::misuse(format!("holds {count} members"), expected)
}

/// Splits `name[inner]` into `name` and `inner`, at each bracket, starting with
/// the last bracket: both can contain more brackets.
#[cfg(feature = "tar")]
#[inline]
fn split_brackets(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let inside = name.strip_suffix(']').unwrap_or("");
    inside.match_indices('[').rev().filter_map(|(at, _)| {
        let (outer, inner) = inside.split_at_checked(at)?;
        Some((outer, inner.strip_prefix('[')?))
    })
}
