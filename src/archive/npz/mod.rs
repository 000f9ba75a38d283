//! Archives of arrays: the `.npz` files that `numpy.savez` writes. A zip
//! archive whose members are `.npy` files.

mod create;
mod directory;
mod end;
mod extra;
mod local;
mod member;
mod member_writer;
mod name;
mod npz_file;
mod open;
mod reader;
mod records;
mod save;
mod writer;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::names::NameIndex;
use crate::array::MappedArray;
use crate::error::{ArchiveError, Error, Result, excerpt};
use crate::source::Source;
use crate::source::map::Map;
use crate::source::pages::Mapping;

pub use create::{savez, savez_compressed};
use directory::DirectoryEntry;
pub use member::Member;
pub use member_writer::{Compression, MemberWriter};
pub use npz_file::NpzFile;
use open::ProgressCallback;
pub use open::{MemberProgress, NpzOptions};
pub use reader::MemberReader;
pub use save::Save;
pub use writer::NpzWriter;

/// An archive of arrays: an `.npz` file.
///
/// Stored members of a mapped source are used in place, whatever their
/// alignment, with their elements mapped and nothing else; deflated ones are
/// inflated into memory. Both yield a [`MappedArray`] that outlives the archive
/// and can be written if the source's arrays can.
///
/// Names are NumPy's: those in the archive without `.npy`. Of two members of
/// one name the last counts. What is no array is listed like the others.
///
/// # Examples
///
/// ```
/// use npymap::Source;
/// use npymap::ndarray::array;
/// use npymap::npz::{Npz, NpzWriter};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("weights.npz");
/// let mut writer = NpzWriter::create(&path)?;
/// writer.write("layer1/w", &array![[1.5_f32, 2.0], [3.0, 4.0]])?;
/// writer.write("layer1/b", &array![0.5_f32, -0.5])?;
/// writer.finish()?;
///
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let npz = Npz::open(unsafe { Source::map(&path)? })?;
/// assert_eq!(npz.names().collect::<Vec<_>>(), ["layer1/w", "layer1/b"]);
/// let bias = npz.get("layer1/b")?;
/// drop(npz);
/// assert_eq!(bias.as_slice::<f32>()?, [0.5, -0.5]); // the file's bytes, no copy
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Npz<D = Map> {
    source: Source<D>,
    entries: Vec<DirectoryEntry>,
    index: NameIndex,
    options: NpzOptions,
}

impl<D: Mapping> Npz<D> {
    /// Opens the archive that a source holds.
    ///
    /// # Errors
    ///
    /// [`Damaged`](crate::ErrorKind::Damaged) when it is no zip archive, or damaged;
    /// [`Io`](crate::ErrorKind::Io); [`InvalidInput`](crate::ErrorKind::InvalidInput) for
    /// [`Source::map_mut`](crate::Source::map_mut), because a store would not
    /// change the checksum of its member.
    pub fn open(source: Source<D>) -> Result<Npz<D>> {
        NpzOptions::new().open(source)
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The members in the order of the archive, arrays or not.
    #[must_use]
    pub fn members(&self) -> impl ExactSizeIterator<Item = Member<'_, D>> {
        self.entries.iter().map(|entry| Member::new(self, entry))
    }

    /// Their names without `.npy`: NumPy's `files`.
    #[must_use]
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.members().map(|member| member.name())
    }

    /// A member by its name, with or without `.npy`. As in NumPy, a name as
    /// it stands in the archive comes first, and the last of equal ones.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound).
    pub fn member(&self, name: &str) -> Result<Member<'_, D>> {
        let key = || self.position(&format!("{name}.npy"));
        match self.position(name).or_else(key).and_then(|position| self.entries.get(position)) {
            Some(entry) => Ok(Member::new(self, entry)),
            None => self.named(Err(self.no_member(name))),
        }
    }

    /// Opens an array by its name, with or without `.npy`. See
    /// [`Member::open`].
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), and those of [`Member::open`].
    pub fn get(&self, name: &str) -> Result<MappedArray<D>> {
        self.member(name)?.open()
    }

    /// Opens several arrays, on as many threads as there are processors: what
    /// is deflated takes time to inflate.
    ///
    /// # Errors
    ///
    /// As [`get`](Npz::get), each by itself.
    pub fn get_many(&self, names: &[&str]) -> Vec<Result<MappedArray<D>>> {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some((at, name)) = names.iter().enumerate().nth(take(&next)) {
                let array = self.get(name);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((at, array));
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.min(names.len()) {
                // With fewer threads it takes longer.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, array)| array).collect()
    }

    /// Opens all arrays one after the other, with their names; what is no
    /// array is left out.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Result<MappedArray<D>>)> {
        self.members().filter_map(|member| match member.open() {
            Err(error) if error.is_wrong_magic() => None,
            opened => Some((member.name(), opened)),
        })
    }

    /// Reads all members and checks their lengths and CRC-32s, arrays or not.
    ///
    /// # Errors
    ///
    /// As [`Member::verify`], for the first that fails.
    pub fn verify(&self) -> Result<()> {
        self.members().try_for_each(|member| member.verify())
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.source.path()
    }

    /// The position of the last entry of this full name.
    fn position(&self, name: &str) -> Option<usize> {
        let name_at =
            |position| self.entries.get(position).map_or("", |entry: &DirectoryEntry| &entry.name);
        self.index.find(self.entries.len(), name_at, name).map(|(_, last)| last)
    }

    fn source(&self) -> &Source<D> {
        &self.source
    }

    fn max_header_len(&self) -> usize {
        self.options.max_header_len
    }

    fn told(&self) -> &ProgressCallback {
        &self.options.told
    }

    fn max_inflated(&self) -> u64 {
        self.options.max_inflated
    }

    /// Names the file in an error.
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        self.source.storage().add_path_on_err(result)
    }

    fn no_member(&self, name: &str) -> Error {
        /// More names would hide the point.
        const SHOWN: usize = 8;
        let shown: Vec<String> =
            self.names().take(SHOWN).map(|name| format!("`{}`", excerpt(name))).collect();
        let members = match self.len() {
            0 => "there are no members".to_owned(),
            1 => format!("the only member is {}", shown.join(", ")),
            n if n > SHOWN => {
                format!("the members are {} and {} more", shown.join(", "), n - SHOWN)
            }
            _ => format!("the members are {}", shown.join(", ")),
        };
        ArchiveError::NoMember { asked: excerpt(name), members }.into()
    }
}

fn take(next: &AtomicUsize) -> usize {
    next.fetch_add(1, Ordering::Relaxed)
}
