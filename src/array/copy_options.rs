//! Options of copies into files.

use crate::element::cast::Casting;

/// The most threads of one operation. The kernel also has a limit, beyond which
/// starting a thread does not always fail: the process may be aborted.
pub(crate) const MAX_THREADS: usize = 1024;

/// Options of [`MappedArray::write_array`](crate::MappedArray::write_array).
///
/// # Examples
///
/// ```
/// use npymap::{DType, MappedArray, array::CopyOptions, element::Casting};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("small.npy");
/// // SAFETY: no other process writes to or truncates the files.
/// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
/// let (dtype, shape) = (DType::of::<f32>(), penguins.shape());
/// // SAFETY: as above.
/// let mut small = unsafe { MappedArray::create(&path, &dtype, shape)? };
/// let options = CopyOptions::new().casting(Casting::SameKind).threads(2);
/// small.write_array(&penguins, &options, |_| {})?;
/// assert_eq!(small.view::<f32>()?.at([341, 3]), 3775.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CopyOptions {
    pub(super) casting: Casting,
    pub(super) over_zeros: bool,
    pub(super) memory: Option<usize>,
    pub(super) threads: usize,
}

impl Default for CopyOptions {
    #[inline]
    fn default() -> CopyOptions {
        CopyOptions { casting: Casting::Equiv, over_zeros: false, memory: None, threads: 1 }
    }
}

impl CopyOptions {
    /// Returns the defaults: [`Casting::Equiv`], one thread, and as much memory
    /// as is useful.
    #[inline]
    pub fn new() -> CopyOptions {
        CopyOptions::default()
    }

    /// Sets the allowed casts. By default, only byte orders and the offsets of
    /// fields may differ.
    #[inline]
    pub fn casting(self, casting: Casting) -> CopyOptions {
        CopyOptions { casting, ..self }
    }

    /// Declares that the target is all zeros, like a new array.
    ///
    /// If you set this, holes of the source (see
    /// [`stored_ranges`](crate::MappedArray::stored_ranges)) are not read where
    /// zeros stay zeros, and pages of zeros are not written. This means that a
    /// sparse file stays sparse if you [created the target
    /// sparse](crate::CreateOptions::sparse).
    #[inline]
    pub fn over_zeros(self, over_zeros: bool) -> CopyOptions {
        CopyOptions { over_zeros, ..self }
    }

    /// Limits the memory, in bytes, for elements converted at a time, by all
    /// threads together. The same amount of each file should also fit into
    /// memory.
    ///
    /// It matters most if the memory orders differ and the arrays don't fit
    /// into memory: the more memory, the longer are the runs of bytes read and
    /// written. The default is 64 MiB, or more if runs would be shorter than 16
    /// KiB, but at most an eighth of the available memory, in the machine or
    /// the control group.
    #[inline]
    pub fn memory(self, nbytes: usize) -> CopyOptions {
        CopyOptions { memory: Some(nbytes), ..self }
    }

    /// Sets the number of threads that read, convert and write, from 1 to 1,024. A
    /// small array is copied by fewer. The result is the same for any number, and so
    /// is the first error.
    #[inline]
    pub fn threads(self, threads: usize) -> CopyOptions {
        CopyOptions { threads: threads.clamp(1, MAX_THREADS), ..self }
    }
}
