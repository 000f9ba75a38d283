//! The values that C passes. All unsafe blocks of the interface are in this file.
//!
//! [`In`], [`Out`] and [`Handle`] are pointers as C declares them. Their fields
//! are private and nothing here makes an `In` or an `Out`, so safe code cannot
//! forge one: each is an argument that a C caller passed to an exported function.
//! The contract at the top of `npymap.h` says what the caller guarantees of it.
//! Null, wrong alignment and wrong lengths are checked, and are errors.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr;
use std::slice;

use npymap::bytemuck::Pod;
use npymap::source::AnySource;
use npymap::{CreateOptions, DType, MappedArrayMut, Mode, Source};

use crate::error::{Failure, Result};
use crate::status;

/// A pointer to values that C passes for reading: `const T *`.
#[derive(Debug)]
#[repr(transparent)]
pub struct In<T>(*const T);

/// A pointer to values that C passes for writing: `T *`.
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

/// An object that C owns: `T *`, null if there is none.
#[derive(Debug)]
#[repr(transparent)]
pub struct Handle<T>(*mut T);

/// The error for a null pointer.
fn null(what: &str) -> Failure {
    Failure::misuse(format!("{what} is null"))
}

impl<T> In<T> {
    /// Returns whether C passed a null pointer.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The object that the pointer refers to.
    pub(crate) fn get(&self, what: &str) -> Result<&T> {
        check_alignment(self.0, what)?;
        // SAFETY: the contract says that a pointer to an object is null or points to
        // one that is alive, and that during the call nobody changes it. The
        // reference lives no longer than the argument. The alignment was checked.
        unsafe { self.0.as_ref() }.ok_or_else(|| null(what))
    }
}

impl<T: Pod> In<T> {
    /// The `len` values that the pointer refers to; it may be null if there are
    /// none.
    pub(crate) fn slice(&self, len: usize, what: &str) -> Result<&[T]> {
        if len == 0 {
            return Ok(&[]);
        }
        check_range(self.0, len, what)?;
        // SAFETY: the pointer is aligned, not null, and the range is not larger
        // than the address space, as checked above. The contract says that `len`
        // values are readable there, and that nobody writes them during the call,
        // which the slice does not outlive.
        Ok(unsafe { slice::from_raw_parts(self.0, len) })
    }
}

impl In<c_void> {
    /// The bytes that the pointer refers to; it may be null if there are none.
    pub(crate) fn bytes(&self, len: usize, what: &str) -> Result<&[u8]> {
        if len == 0 {
            return Ok(&[]);
        }
        let bytes = self.0.cast::<u8>();
        check_range(bytes, len, what)?;
        // SAFETY: as in `slice`.
        Ok(unsafe { slice::from_raw_parts(bytes, len) })
    }
}

impl In<c_char> {
    /// The text that the pointer refers to.
    pub(crate) fn text(&self, what: &str) -> Result<&str> {
        let text = self.c_str(what)?;
        text.to_str().map_err(|_| Failure::misuse(format!("{what} is not UTF-8")))
    }

    /// The text that the pointer refers to; `None` for a null pointer.
    pub(crate) fn optional_text(&self, what: &str) -> Result<Option<&str>> {
        if self.is_null() { Ok(None) } else { self.text(what).map(Some) }
    }

    /// The dtype that the pointer describes.
    pub(crate) fn dtype(&self) -> Result<DType> {
        Ok(self.text("`descr`")?.parse()?)
    }

    /// The path that the pointer refers to: bytes on Unix, elsewhere UTF-8.
    pub(crate) fn path(&self) -> Result<&Path> {
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt as _;
            let path = self.c_str("the path")?;
            Ok(Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())))
        }
        #[cfg(not(unix))]
        self.text("the path").map(Path::new)
    }

    pub(crate) fn c_str(&self, what: &str) -> Result<&CStr> {
        if self.is_null() {
            return Err(null(what));
        }
        // SAFETY: the contract says that texts end with a NUL byte and that nobody
        // changes them during the call, which the reference does not outlive.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

impl<T> Out<T> {
    /// Returns whether C passed a null pointer.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The object that the pointer refers to.
    pub(crate) fn get_mut(&mut self, what: &str) -> Result<&mut T> {
        check_alignment(self.0, what)?;
        // SAFETY: the contract says that a pointer to an object is null or points to
        // one that is alive, and that nobody else uses an object during a call to
        // which its pointer is passed without `const`. The reference lives no longer
        // than the argument. The alignment was checked.
        unsafe { self.0.as_mut() }.ok_or_else(|| null(what))
    }

    /// Stores a result where the pointer refers to, without reading or dropping
    /// the value that it replaces.
    pub(crate) fn write(&mut self, value: T, what: &str) -> Result<()> {
        check_range(self.0, 1, what)?;
        // SAFETY: the pointer is aligned and not null, as checked above. The
        // contract says that the result fits there and that nobody else uses it
        // during the call.
        unsafe { self.0.write(value) };
        Ok(())
    }
}

impl<T: Pod> Out<T> {
    /// The `len` values that the pointer refers to; it may be null if there are
    /// none.
    pub(crate) fn slice_mut(&mut self, len: usize, what: &str) -> Result<&mut [T]> {
        if len == 0 {
            return Ok(&mut []);
        }
        check_range(self.0, len, what)?;
        // SAFETY: the pointer is aligned, not null, and the range is not larger than
        // the address space, as checked above. The contract says that `len` values
        // are writable there, and that nobody else uses them during the call, which
        // the slice does not outlive. Any bytes are a valid `T`. C may not have
        // stored any yet, but that is not known on this side of the boundary: memory
        // that a foreign caller passes has unspecified contents.
        Ok(unsafe { slice::from_raw_parts_mut(self.0, len) })
    }
}

impl Out<c_void> {
    /// The bytes that the pointer refers to; it may be null if there are none.
    pub(crate) fn bytes_mut(&mut self, len: usize, what: &str) -> Result<&mut [u8]> {
        if len == 0 {
            return Ok(&mut []);
        }
        let bytes = self.0.cast::<u8>();
        check_range(bytes, len, what)?;
        // SAFETY: as in `slice_mut`.
        Ok(unsafe { slice::from_raw_parts_mut(bytes, len) })
    }
}

impl<T> Handle<T> {
    /// No object.
    pub(crate) const NULL: Handle<T> = Handle(ptr::null_mut());

    /// Gives an object to C.
    pub(crate) fn new(object: T) -> Handle<T> {
        Handle(Box::into_raw(Box::new(object)))
    }

    /// Takes the object back and leaves a null pointer; `None` if there was none.
    pub(crate) fn take(&mut self) -> Option<Box<T>> {
        let object = std::mem::replace(&mut self.0, ptr::null_mut());
        if object.is_null() {
            return None;
        }
        // SAFETY: a handle that is not null was made by `new` for the same type,
        // because C stores only what it got from a function of the same type. It is
        // taken once, because a null pointer replaces it; the contract says that C
        // uses no other copy of the pointer afterwards.
        Some(unsafe { Box::from_raw(object) })
    }
}

/// Rejects a misaligned pointer.
fn check_alignment<T>(pointer: *const T, what: &str) -> Result<()> {
    if pointer.is_aligned() {
        return Ok(());
    }
    let align = align_of::<T>();
    Err(Failure::misuse(format!("{what} is not aligned: expected a multiple of {align}")))
}

/// Rejects a pointer that cannot refer to `len` values.
fn check_range<T>(pointer: *const T, len: usize, what: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(null(what));
    }
    let nbytes = len.checked_mul(size_of::<T>()).and_then(|n| isize::try_from(n).ok());
    if nbytes.is_none() {
        return Err(Failure::misuse(format!("{what} cannot have {len} values")));
    }
    check_alignment(pointer, what)
}

/// Opens a file for mapping, or for reading.
pub(crate) fn source(path: &Path, mode: i32) -> Result<AnySource> {
    let mode = match mode {
        status::NPYMAP_READ_ONLY => Mode::ReadOnly,
        status::NPYMAP_READ_WRITE => Mode::ReadWrite,
        status::NPYMAP_COPY_ON_WRITE => Mode::CopyOnWrite,
        status::NPYMAP_IN_MEMORY => return Ok(AnySource::Writable(Source::open(path)?)),
        _ => {
            return Err(Failure::misuse(format!(
                "no mode has the value {mode}: use NPYMAP_READ_ONLY or another"
            )));
        }
    };
    // SAFETY: the contract requires the promise of `Source` of the C caller, for
    // everything that is opened from the file.
    Ok(unsafe { AnySource::map(path, mode) }?)
}

/// Creates a file and maps it.
pub(crate) fn create(
    path: &Path,
    dtype: &DType,
    shape: &[usize],
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    // SAFETY: as in `source`.
    Ok(unsafe { options.create(path, dtype, shape) }?)
}
