//! Single elements, and all of them.

use std::ffi::{c_char, c_void};

use npymap::ByteOrder;

use crate::array::{Array, check_size};
use crate::boundary::{In, Out};
use crate::error::{Failure, Result, done};
use crate::number;
use crate::status::{npymap_status, npymap_type};

/// Copies an element to the variable `value` of type `number`, converted from either
/// byte order and any alignment.
///
/// `index` has one position for each of the `ndim` axes. The type can differ from the
/// stored type if NumPy's casting 'same_kind' allows it. Floats are rounded, and
/// integers must fit.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_get(
    array: In<Array>,
    index: In<usize>,
    ndim: usize,
    number: npymap_type,
    mut value: Out<c_void>,
) -> npymap_status {
    done(|| {
        let out = value.bytes_mut(number::size_of(number)?, "`value`")?;
        array.get("`array`")?.get(index.slice(ndim, "`index`")?, number, out)
    })
}

/// Stores the variable `value` of type `number` to an element. It is converted like in
/// npymap_get.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_set(
    mut array: Out<Array>,
    index: In<usize>,
    ndim: usize,
    number: npymap_type,
    value: In<c_void>,
) -> npymap_status {
    done(|| {
        let value = value.bytes(number::size_of(number)?, "`value`")?;
        array.get_mut("`array`")?.set(index.slice(ndim, "`index`")?, number, value)
    })
}

/// Copies the field `field` of an element, such as "x" or "pos.z", to a variable, like
/// npymap_get. The axes of a subarray follow the axes of the array in `index`.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_get_field(
    array: In<Array>,
    field: In<c_char>,
    index: In<usize>,
    ndim: usize,
    number: npymap_type,
    mut value: Out<c_void>,
) -> npymap_status {
    done(|| {
        let out = value.bytes_mut(number::size_of(number)?, "`value`")?;
        let (field, index) = (field.text("`field`")?, index.slice(ndim, "`index`")?);
        array.get("`array`")?.get_field(field, index, number, out)
    })
}

/// Stores a variable to the field `field` of an element, like npymap_set.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_set_field(
    mut array: Out<Array>,
    field: In<c_char>,
    index: In<usize>,
    ndim: usize,
    number: npymap_type,
    value: In<c_void>,
) -> npymap_status {
    done(|| {
        let value = value.bytes(number::size_of(number)?, "`value`")?;
        let (field, index) = (field.text("`field`")?, index.slice(ndim, "`index`")?);
        array.get_mut("`array`")?.set_field(field, index, number, value)
    })
}

/// Copies the npymap_itemsize bytes of an element of any dtype, as stored.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_get_bytes(
    array: In<Array>,
    index: In<usize>,
    ndim: usize,
    mut bytes: Out<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let element = array.get("`array`")?.element_bytes(index.slice(ndim, "`index`")?)?;
        check_size(nbytes, element.len())?;
        bytes.bytes_mut(nbytes, "`bytes`")?.copy_from_slice(element);
        Ok(())
    })
}

/// Stores the npymap_itemsize bytes of an element of any dtype.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_set_bytes(
    mut array: Out<Array>,
    index: In<usize>,
    ndim: usize,
    bytes: In<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let array = array.get_mut("`array`")?;
        let element = array.element_bytes_mut(index.slice(ndim, "`index`")?)?;
        check_size(nbytes, element.len())?;
        element.copy_from_slice(bytes.bytes(nbytes, "`bytes`")?);
        Ok(())
    })
}

/// Formats an element of any dtype, such as "1.5", "b'abc'" or "2026-08-21T12:00". If
/// `field` is not null, this formats this field of the element. Text of dtype 'U' is
/// UTF-8 without quotes, and may contain NUL characters.
///
/// This stores at most `capacity` bytes in `text`, including a NUL at the end. If `len`
/// is not null, it gets the length without the NUL. If the length is `capacity` or
/// more, the text was cut. `text` may be null if `capacity` is 0.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_get_text(
    array: In<Array>,
    field: In<c_char>,
    index: In<usize>,
    ndim: usize,
    mut text: Out<c_void>,
    capacity: usize,
    mut len: Out<usize>,
) -> npymap_status {
    done(|| {
        let (field, index) = (field.optional_text("`field`")?, index.slice(ndim, "`index`")?);
        let found = array.get("`array`")?.text(field, index)?;
        copy_text(&found, text.bytes_mut(capacity, "`text`")?);
        if len.is_null() { Ok(()) } else { len.write(found.len(), "`len`") }
    })
}

/// Parses `text` in the form of npymap_get_text, and stores the value to an element or
/// its field.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_set_text(
    mut array: Out<Array>,
    field: In<c_char>,
    index: In<usize>,
    ndim: usize,
    text: In<c_char>,
) -> npymap_status {
    done(|| {
        let (field, index) = (field.optional_text("`field`")?, index.slice(ndim, "`index`")?);
        array.get_mut("`array`")?.set_text(field, index, text.text("`text`")?)
    })
}

/// Copies all elements to a buffer of numbers in C order, `nbytes` long. If `field` is
/// not null, this copies this field of each element. The buffer has room for npymap_len
/// numbers, or more if the field is a subarray.
///
/// The type can differ from the stored type if every value fits, like in NumPy's
/// casting 'safe'. Floats may also be rounded.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_copy(
    array: In<Array>,
    field: In<c_char>,
    number: npymap_type,
    mut numbers: Out<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let out = numbers.bytes_mut(nbytes, "`numbers`")?;
        array.get("`array`")?.copy(field.optional_text("`field`")?, number, out)
    })
}

/// Stores a buffer of numbers in C order to all elements. They are converted like in
/// npymap_copy.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_assign(
    mut array: Out<Array>,
    field: In<c_char>,
    number: npymap_type,
    numbers: In<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let values = numbers.bytes(nbytes, "`numbers`")?;
        array.get_mut("`array`")?.assign(field.optional_text("`field`")?, number, values)
    })
}

/// Copies the bytes of all elements of any dtype, in C order, with padding set to
/// zero. `byte_order` is '<' or '>' to convert every number, '=' for the order of this
/// machine, '|' to convert none. `nbytes` must be npymap_nbytes.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_copy_bytes(
    array: In<Array>,
    byte_order: c_char,
    mut bytes: Out<c_void>,
    nbytes: usize,
) -> npymap_status {
    done(|| {
        let order = parse_byte_order(byte_order)?;
        array.get("`array`")?.copy_bytes(order, bytes.bytes_mut(nbytes, "`bytes`")?)
    })
}

fn parse_byte_order(character: c_char) -> Result<ByteOrder> {
    match u8::try_from(character) {
        Ok(b'<') => Ok(ByteOrder::Little),
        Ok(b'>') => Ok(ByteOrder::Big),
        Ok(b'=') => Ok(ByteOrder::NATIVE),
        Ok(b'|') => Ok(ByteOrder::NotApplicable),
        _ => Err(Failure::misuse(format!("byte order {character}, expected '<', '>', '=' or '|'"))),
    }
}

/// Copies as much of a text as fits, and a NUL.
fn copy_text(text: &str, out: &mut [u8]) {
    let Some(most) = out.len().checked_sub(1) else { return };
    let mut count = text.len().min(most);
    while !text.is_char_boundary(count) {
        count -= 1;
    }
    let bytes = text.bytes().take(count).chain([0]);
    out.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
}
