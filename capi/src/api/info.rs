//! What an array is.

use std::ffi::{c_char, c_void};
use std::ptr;

use npymap::dtype::Kind;
use npymap::{ByteOrder, Order};

use crate::array::Array;
use crate::boundary::{In, Out};
use crate::error::{Failure, Result, done, value};
use crate::status::{npymap_mode, npymap_status, npymap_type};
use crate::{number, status};

/// Returns a fact about an array, or `none` if C passed a null pointer.
fn fact<T>(array: &In<Array>, none: T, f: impl FnOnce(&Array) -> Result<T>) -> T {
    value(none, || f(array.get("`array`")?))
}

/// An ASCII character as C has it.
fn character(byte: u8) -> c_char {
    c_char::try_from(byte).unwrap_or(0)
}

/// The number of axes; 0 for a single element, and for a null pointer, which is an
/// error as in the functions that follow.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_ndim(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.layout().ndim()))
}

/// The length of each axis; null for a null pointer. It is valid until the array is
/// closed or reloaded.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_shape(array: In<Array>) -> *const usize {
    fact(&array, ptr::null(), |array| Ok(array.layout().shape().as_ptr()))
}

/// Bytes from one element to the next along each axis; null for a null pointer. It is
/// valid until the array is closed or reloaded.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_byte_strides(array: In<Array>) -> *const isize {
    fact(&array, ptr::null(), |array| Ok(array.layout().byte_strides().as_ptr()))
}

/// The number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_len(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.layout().len()))
}

/// The size of one element in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_itemsize(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.dtype().itemsize()))
}

/// The size of all elements in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_nbytes(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.layout().nbytes()))
}

/// The type of the elements in either byte order: NPYMAP_FLOAT64 or another;
/// NPYMAP_OTHER if they are not numbers of up to 8 bytes (16 if complex).
#[unsafe(no_mangle)]
pub extern "C" fn npymap_type_of(array: In<Array>) -> npymap_type {
    fact(&array, status::NPYMAP_OTHER, |array| Ok(number::type_of(array.dtype())))
}

/// NumPy's dtype.kind: 'b', 'i', 'u', 'f', 'c', 'm', 'M', 'S', 'U' or 'V', which
/// includes structs and subarrays; 0 for a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_kind(array: In<Array>) -> c_char {
    fact(&array, 0, |array| {
        Ok(character(match array.dtype().kind() {
            Kind::Bool => b'b',
            Kind::Int => b'i',
            Kind::UInt => b'u',
            Kind::Float => b'f',
            Kind::Complex => b'c',
            Kind::TimeDelta => b'm',
            Kind::DateTime => b'M',
            Kind::Bytes => b'S',
            Kind::Unicode => b'U',
            _ => b'V',
        }))
    })
}

/// The byte order of the elements: '<', '>', or '|' if they have none, as bytes and
/// structs; 0 for a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_byte_order(array: In<Array>) -> c_char {
    fact(&array, 0, |array| {
        Ok(character(match array.dtype().byte_order() {
            ByteOrder::Little => b'<',
            ByteOrder::Big => b'>',
            ByteOrder::NotApplicable => b'|',
        }))
    })
}

/// The dtype as in the header of a file: "'<f8'", with quotes, or
/// "[('t', '<i8'), ('pos', '<f4', (3,))]"; null for a null pointer. It is valid until
/// the array is closed or reloaded.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_descr(array: In<Array>) -> *const c_char {
    fact(&array, ptr::null(), |array| Ok(array.descr().as_ptr()))
}

/// The memory order: 'C', or 'F' if the first axis varies fastest; 0 for a null
/// pointer. If it would be both, as with one axis, it is that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_order(array: In<Array>) -> c_char {
    fact(&array, 0, |array| {
        Ok(character(match array.order() {
            Order::C => b'C',
            Order::F => b'F',
        }))
    })
}

/// The mode that the array was opened in. It is NPYMAP_IN_MEMORY for members that
/// were inflated, NPYMAP_READ_WRITE for files that were created; -1 for a null
/// pointer.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_mode_of(array: In<Array>) -> npymap_mode {
    fact(&array, -1, |array| Ok(array.mode()))
}

/// The offset of the first element in the file; UINT64_MAX if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_data_offset(array: In<Array>) -> u64 {
    fact(&array, u64::MAX, |array| Ok(array.data_offset().unwrap_or(u64::MAX)))
}

/// The first element, as it is stored: see npymap_borrow for numbers. The address is
/// that of the map, and is valid until the array is closed or reloaded. Null for a null
/// pointer; not null for an array without elements.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_data(array: In<Array>) -> *const c_void {
    fact(&array, ptr::null(), |array| Ok(array.bytes()?.as_ptr().cast()))
}

/// As npymap_data, for writing; null for a read-only array, which is an error.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_data_mut(mut array: Out<Array>) -> *mut c_void {
    value(ptr::null_mut(), || Ok(array.get_mut("`array`")?.bytes_mut()?.as_mut_ptr().cast()))
}

/// The elements in place, as numbers of this machine: an error unless they have
/// exactly this type and this machine's byte order, and are aligned, which members of
/// a `.npz` need not be: npymap_copy reads those. Booleans are read, because other bytes
/// than 0 and 1, which files can have, are an error. Along each axis, elements are
/// npymap_byte_strides apart.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_borrow(
    array: In<Array>,
    number: npymap_type,
    mut data: Out<*const c_void>,
) -> npymap_status {
    done(|| {
        let array = array.get("`array`")?;
        check_in_place(array, number)?;
        let bytes = array.bytes()?;
        let first = if bytes.is_empty() { ALIGNED } else { bytes.as_ptr().cast() };
        data.write(first, "`data`")
    })
}

/// As npymap_borrow, for writing.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_borrow_mut(
    mut array: Out<Array>,
    number: npymap_type,
    mut data: Out<*mut c_void>,
) -> npymap_status {
    done(|| {
        let array = array.get_mut("`array`")?;
        check_in_place(array, number)?;
        let bytes = array.bytes_mut()?;
        let first = if bytes.is_empty() { ALIGNED } else { bytes.as_mut_ptr().cast() };
        data.write(first, "`data`")
    })
}

/// The address of the elements of an array without any: aligned for every type, as
/// programs expect of a pointer to numbers, also where nothing is allocated.
const ALIGNED: *mut c_void = ptr::dangling_mut::<u128>().cast();

/// Checks that elements are numbers of this type as they are in memory.
fn check_in_place(array: &Array, number: npymap_type) -> Result<()> {
    let asked = number::dtype_of(number)?;
    let advice = "use npymap_get or npymap_copy, which convert";
    if *array.dtype() != asked {
        let text = format!("stored as {}, asked for {asked} in place: {advice}", array.dtype());
        return Err(Failure::new(status::NPYMAP_ERROR_DTYPE_MISMATCH, text));
    }
    let bytes = array.bytes()?;
    if bytes.is_empty() || number::is_in_place(number, bytes)? {
        return Ok(());
    }
    let problem = match number {
        status::NPYMAP_BOOL => "some elements are neither 0 nor 1".to_owned(),
        _ => format!("the elements are not aligned for {asked} in place"),
    };
    let text = format!("{problem}: {advice}");
    Err(Failure::new(status::NPYMAP_ERROR_DTYPE_MISMATCH, text))
}
