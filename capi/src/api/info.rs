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

/// Returns the number of axes, which is 0 for a single element. For a null pointer,
/// this sets an error and returns 0, like the functions that follow.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_ndim(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.layout().ndim()))
}

/// Returns the length of each axis, or null for a null pointer. This is valid until you
/// close or reload the array.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_shape(array: In<Array>) -> *const usize {
    fact(&array, ptr::null(), |array| Ok(array.layout().shape().as_ptr()))
}

/// Returns the number of bytes from one element to the next along each axis, or null
/// for a null pointer. This is valid until you close or reload the array.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_byte_strides(array: In<Array>) -> *const isize {
    fact(&array, ptr::null(), |array| Ok(array.layout().byte_strides().as_ptr()))
}

/// Returns the number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_len(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.layout().len()))
}

/// Returns the size of one element in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_itemsize(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.dtype().itemsize()))
}

/// Returns the size of all elements in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_nbytes(array: In<Array>) -> usize {
    fact(&array, 0, |array| Ok(array.layout().nbytes()))
}

/// Returns the type of the elements in either byte order, such as NPYMAP_FLOAT64. This
/// is NPYMAP_OTHER if they are not numbers of up to 8 bytes (16 if complex).
#[unsafe(no_mangle)]
pub extern "C" fn npymap_type_of(array: In<Array>) -> npymap_type {
    fact(&array, status::NPYMAP_OTHER, |array| Ok(number::type_of(array.dtype())))
}

/// Returns NumPy's dtype.kind: 'b', 'i', 'u', 'f', 'c', 'm', 'M', 'S', 'U' or 'V',
/// which includes structs and subarrays. This is 0 for a null pointer.
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

/// Returns the byte order of the elements: '<', '>', or '|' if they have none, like
/// bytes and structs. This is 0 for a null pointer.
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

/// Returns the dtype as in the header of a file: "'<f8'", with quotes, or
/// "[('t', '<i8'), ('pos', '<f4', (3,))]". This is null for a null pointer. It is
/// valid until you close or reload the array.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_descr(array: In<Array>) -> *const c_char {
    fact(&array, ptr::null(), |array| Ok(array.descr().as_ptr()))
}

/// Returns the memory order: 'C', or 'F' if the first axis varies fastest, or 0 for a
/// null pointer. If both are true, for example with one axis, this is the order in the
/// header.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_order(array: In<Array>) -> c_char {
    fact(&array, 0, |array| {
        Ok(character(match array.order() {
            Order::C => b'C',
            Order::F => b'F',
        }))
    })
}

/// Returns the mode that you opened the array in. This is NPYMAP_IN_MEMORY for inflated
/// members, NPYMAP_READ_WRITE for created files, and -1 for a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_mode_of(array: In<Array>) -> npymap_mode {
    fact(&array, -1, |array| Ok(array.mode()))
}

/// Returns the offset of the first element in the file, or UINT64_MAX if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_data_offset(array: In<Array>) -> u64 {
    fact(&array, u64::MAX, |array| Ok(array.data_offset().unwrap_or(u64::MAX)))
}

/// Returns the first element, as stored. To use numbers in place, see npymap_borrow.
/// The address belongs to the map, and is valid until you close or reload the array.
/// This is null for a null pointer, but not for an array without elements.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_data(array: In<Array>) -> *const c_void {
    fact(&array, ptr::null(), |array| Ok(array.bytes()?.as_ptr().cast()))
}

/// Returns the first element for writing, at the address of npymap_data, which is valid
/// for as long. For a read-only array, this sets an error and returns null.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_data_mut(mut array: Out<Array>) -> *mut c_void {
    value(ptr::null_mut(), || Ok(array.get_mut("`array`")?.bytes_mut()?.as_mut_ptr().cast()))
}

/// Borrows the elements in place, as numbers of this machine.
///
/// This returns an error unless they have exactly this type and this machine's byte
/// order, and are aligned. Members of a `.npz` may not be aligned, but npymap_copy
/// reads them. Booleans are checked, because files can have bytes other than 0 and 1,
/// which return an error. Along each axis, elements are npymap_byte_strides apart.
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

/// Borrows the elements in place for writing. This has the same conditions as
/// npymap_borrow.
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
