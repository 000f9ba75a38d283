//! The constants of the interface. Their values never change.

/// NPYMAP_OK, NPYMAP_END, or a negative NPYMAP_ERROR_ value.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type npymap_status = i32;
/// How a file is opened: NPYMAP_READ_ONLY, NPYMAP_READ_WRITE, NPYMAP_COPY_ON_WRITE or
/// NPYMAP_IN_MEMORY.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type npymap_mode = i32;
/// A type of numbers in memory: NPYMAP_FLOAT64 or another.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type npymap_type = i32;

/// Success.
pub const NPYMAP_OK: i32 = 0;
/// There is no next index. Not an error.
pub const NPYMAP_END: i32 = 1;
/// The file, member or field does not exist.
pub const NPYMAP_ERROR_NOT_FOUND: i32 = -1;
/// A file of this name exists, and NPYMAP_OVERWRITE was not given.
pub const NPYMAP_ERROR_ALREADY_EXISTS: i32 = -2;
/// The operating system failed: see npymap_error_os_code.
pub const NPYMAP_ERROR_IO: i32 = -3;
/// The file ends before its last element.
pub const NPYMAP_ERROR_TRUNCATED: i32 = -4;
/// The contents of the file violate its format.
pub const NPYMAP_ERROR_CORRUPT: i32 = -5;
/// The file may be valid, but is not supported: Python objects, encryption.
pub const NPYMAP_ERROR_UNSUPPORTED: i32 = -6;
/// A limit on what is read into memory was exceeded.
pub const NPYMAP_ERROR_LIMIT_EXCEEDED: i32 = -7;
/// Another process or handle changed or replaced the file.
pub const NPYMAP_ERROR_CHANGED: i32 = -8;
/// Another writer has locked the file.
pub const NPYMAP_ERROR_LOCKED: i32 = -9;
/// The elements do not have the requested type.
pub const NPYMAP_ERROR_DTYPE_MISMATCH: i32 = -10;
/// The shape or memory order does not fit, or a buffer has the wrong size.
pub const NPYMAP_ERROR_SHAPE_MISMATCH: i32 = -11;
/// An index or a row is out of range, or has the wrong number of axes.
pub const NPYMAP_ERROR_OUT_OF_BOUNDS: i32 = -12;
/// An argument is invalid whatever the file (such as a null pointer), or the
/// call is not possible for this array (such as a store to a read-only one).
pub const NPYMAP_ERROR_INVALID_INPUT: i32 = -13;
/// A value does not fit the element or the variable.
pub const NPYMAP_ERROR_INVALID_VALUE: i32 = -14;
/// Any other error.
pub const NPYMAP_ERROR_OTHER: i32 = -15;
/// A bug in the library.
pub const NPYMAP_ERROR_INTERNAL: i32 = -16;

/// Map the file read-only.
pub const NPYMAP_READ_ONLY: i32 = 0;
/// Map the file read-write: stores go to the file.
pub const NPYMAP_READ_WRITE: i32 = 1;
/// Map the file copy-on-write: stores stay in memory.
pub const NPYMAP_COPY_ON_WRITE: i32 = 2;
/// Read the file into memory. The file may change at any time.
pub const NPYMAP_IN_MEMORY: i32 = 3;

/// Any dtype without a constant of its own: see npymap_descr.
pub const NPYMAP_OTHER: i32 = 0;
/// `bool`.
pub const NPYMAP_BOOL: i32 = 1;
/// `int8_t`.
pub const NPYMAP_INT8: i32 = 2;
/// `int16_t`.
pub const NPYMAP_INT16: i32 = 3;
/// `int32_t`.
pub const NPYMAP_INT32: i32 = 4;
/// `int64_t`.
pub const NPYMAP_INT64: i32 = 5;
/// `uint8_t`.
pub const NPYMAP_UINT8: i32 = 6;
/// `uint16_t`.
pub const NPYMAP_UINT16: i32 = 7;
/// `uint32_t`.
pub const NPYMAP_UINT32: i32 = 8;
/// `uint64_t`.
pub const NPYMAP_UINT64: i32 = 9;
/// Half precision: `_Float16`, or its bits as `uint16_t`.
pub const NPYMAP_FLOAT16: i32 = 10;
/// `float`.
pub const NPYMAP_FLOAT32: i32 = 11;
/// `double`.
pub const NPYMAP_FLOAT64: i32 = 12;
/// `float complex`, or `float[2]`: the real part, then the imaginary part.
pub const NPYMAP_COMPLEX64: i32 = 13;
/// `double complex`, or `double[2]`.
pub const NPYMAP_COMPLEX128: i32 = 14;

/// Replace an existing file. Programs that have it mapped or open keep it.
pub const NPYMAP_OVERWRITE: u32 = 1;
/// Reserve no space on the disk. If it is full, a later store raises SIGBUS.
pub const NPYMAP_SPARSE: u32 = 2;
/// Align the elements to 4096 bytes in the file.
pub const NPYMAP_PAGE_ALIGNED: u32 = 4;
/// Fortran order: the first axis varies fastest.
pub const NPYMAP_FORTRAN_ORDER: u32 = 8;
/// Deflate the member of an archive.
pub const NPYMAP_COMPRESS: u32 = 16;
/// With NPYMAP_OVERWRITE, drop what follows the elements of the previous file: rows of
/// a writer that died, which `npymap recover` keeps, or another array. Without this
/// flag, replacing such a file returns NPYMAP_ERROR_CORRUPT.
pub const NPYMAP_DISCARD_TRAILING: u32 = 32;
/// Wait for the lock of another writer, instead of returning NPYMAP_ERROR_LOCKED.
pub const NPYMAP_WAIT: u32 = 64;

/// No particular pattern of access.
pub const NPYMAP_ADVICE_NORMAL: i32 = 0;
/// Random access: nothing is read ahead.
pub const NPYMAP_ADVICE_RANDOM: i32 = 1;
/// From first to last: much is read ahead.
pub const NPYMAP_ADVICE_SEQUENTIAL: i32 = 2;
/// Soon: reading starts now.
pub const NPYMAP_ADVICE_WILL_NEED: i32 = 3;
