//! The types of numbers that C names, and their conversion.

use std::any::TypeId;

use npymap::bytemuck::{self, NoUninit, Pod};
use npymap::dtype::Kind;
use npymap::element::{Casting, Number};
use npymap::{DType, Element as _, RowSource as _, Rows, with_type};

use crate::error::{Failure, Result};
use crate::status;

/// Evaluates `$body` with the Rust type of a constant.
macro_rules! with_number {
    ($type:expr, $T:ident => $body:expr) => {
        match $type {
            status::NPYMAP_BOOL => {
                type $T = bool;
                $body
            }
            other => with_pod!(other, $T => $body),
        }
    };
}

/// As `with_number`, for types that every bit pattern is a value of: all but `bool`.
macro_rules! with_pod {
    ($type:expr, $T:ident => $body:expr) => {
        match $type {
            status::NPYMAP_INT8 => with_pod!(@ i8, $T => $body),
            status::NPYMAP_INT16 => with_pod!(@ i16, $T => $body),
            status::NPYMAP_INT32 => with_pod!(@ i32, $T => $body),
            status::NPYMAP_INT64 => with_pod!(@ i64, $T => $body),
            status::NPYMAP_UINT8 => with_pod!(@ u8, $T => $body),
            status::NPYMAP_UINT16 => with_pod!(@ u16, $T => $body),
            status::NPYMAP_UINT32 => with_pod!(@ u32, $T => $body),
            status::NPYMAP_UINT64 => with_pod!(@ u64, $T => $body),
            status::NPYMAP_FLOAT16 => with_pod!(@ npymap::half::f16, $T => $body),
            status::NPYMAP_FLOAT32 => with_pod!(@ f32, $T => $body),
            status::NPYMAP_FLOAT64 => with_pod!(@ f64, $T => $body),
            status::NPYMAP_COMPLEX64 => with_pod!(@ npymap::num_complex::Complex<f32>, $T => $body),
            status::NPYMAP_COMPLEX128 => with_pod!(@ npymap::num_complex::Complex<f64>, $T => $body),
            other => Err($crate::number::unknown_type(other)),
        }
    };
    (@ $type:ty, $T:ident => $body:expr) => {{
        type $T = $type;
        $body
    }};
}

pub(crate) use {with_number, with_pod};

pub(crate) fn unknown_type(found: i32) -> Failure {
    Failure::misuse(format!(
        "no type of numbers has the value {found}: use NPYMAP_FLOAT64 or another"
    ))
}

/// The constant for a dtype.
pub(crate) fn type_of(dtype: &DType) -> i32 {
    match (dtype.kind(), dtype.itemsize()) {
        (Kind::Bool, _) => status::NPYMAP_BOOL,
        (Kind::Int, 1) => status::NPYMAP_INT8,
        (Kind::Int, 2) => status::NPYMAP_INT16,
        (Kind::Int, 4) => status::NPYMAP_INT32,
        (Kind::Int, 8) => status::NPYMAP_INT64,
        (Kind::UInt, 1) => status::NPYMAP_UINT8,
        (Kind::UInt, 2) => status::NPYMAP_UINT16,
        (Kind::UInt, 4) => status::NPYMAP_UINT32,
        (Kind::UInt, 8) => status::NPYMAP_UINT64,
        (Kind::Float, 2) => status::NPYMAP_FLOAT16,
        (Kind::Float, 4) => status::NPYMAP_FLOAT32,
        (Kind::Float, 8) => status::NPYMAP_FLOAT64,
        (Kind::Complex, 8) => status::NPYMAP_COMPLEX64,
        (Kind::Complex, 16) => status::NPYMAP_COMPLEX128,
        _ => status::NPYMAP_OTHER,
    }
}

/// The size of an element that is a number.
pub(crate) fn itemsize(dtype: &DType) -> Result<usize> {
    if type_of(dtype) == status::NPYMAP_OTHER {
        return Err(not_a_number(dtype));
    }
    Ok(dtype.itemsize())
}

/// The dtype of the numbers of a constant, in memory.
pub(crate) fn dtype_of(number: i32) -> Result<DType> {
    with_number!(number, T => Ok(DType::of::<T>()))
}

/// The size of a number of C in bytes.
pub(crate) fn size_of(number: i32) -> Result<usize> {
    with_number!(number, T => Ok(std::mem::size_of::<T>()))
}

/// Decodes a stored number and stores it in a variable of another type.
pub(crate) fn load(dtype: &DType, stored: &[u8], to: i32, out: &mut [u8]) -> Result<()> {
    with_type!(dtype, number T => with_number!(to, U => {
        let value = T::decode(&T::codec(dtype)?, stored);
        store::<U>(convert::<T, U>(value)?, out)
    }), _ => Err(not_a_number(dtype)))
}

/// Encodes the value of a variable as an element of another dtype.
pub(crate) fn save(from: i32, value: &[u8], dtype: &DType, stored: &mut [u8]) -> Result<()> {
    with_type!(dtype, number T => with_number!(from, U => {
        Ok(convert::<U, T>(read::<U>(value)?)?.encode(&T::codec(dtype)?, stored)?)
    }), _ => Err(not_a_number(dtype)))
}

/// Reads a number from a variable, which may have any alignment.
pub(crate) fn read<U: Number>(bytes: &[u8]) -> Result<U> {
    let size = std::mem::size_of::<U>();
    if bytes.len() != size {
        return Err(wrong_size("the variable", bytes.len(), size));
    }
    Ok(U::decode(&U::codec(&U::dtype())?, bytes))
}

/// Reads numbers from a buffer, which may have any alignment.
pub(crate) fn read_all<U: Number>(bytes: &[u8]) -> Result<Vec<U>> {
    let size = std::mem::size_of::<U>();
    let mut values = Vec::new();
    if values.try_reserve_exact(bytes.len() / size.max(1)).is_err() {
        let text = format!("there is no memory for {} bytes", bytes.len());
        return Err(Failure::new(status::NPYMAP_ERROR_IO, text));
    }
    for bytes in bytes.chunks(size.max(1)) {
        values.push(read(bytes)?);
    }
    Ok(values)
}

/// Stores a number in a variable, which may have any alignment.
pub(crate) fn store<U: NoUninit>(value: U, out: &mut [u8]) -> Result<()> {
    let bytes = bytemuck::bytes_of(&value);
    if out.len() != bytes.len() {
        return Err(wrong_size("the variable", out.len(), bytes.len()));
    }
    out.copy_from_slice(bytes);
    Ok(())
}

/// Converts a number as NumPy's `same_kind` allows: floats may be rounded,
/// integers must fit.
pub(crate) fn convert<T: Number, U: Number>(value: T) -> Result<U> {
    let cast: U = value.cast();
    if TypeId::of::<T>() == TypeId::of::<U>() {
        return Ok(cast);
    }
    let (from, to) = (T::dtype(), U::dtype());
    if !from.can_cast(&to, Casting::SameKind) {
        return Err(no_conversion(&from, &to));
    }
    // Of two integers that are equal modulo the smaller size, only one with the
    // wrong sign or too many digits differs as a float.
    let fits = !matches!(to.kind(), Kind::Int | Kind::UInt)
        || (cast.cast::<T>() == value && cast.cast::<f64>().total_cmp(&value.cast()).is_eq());
    if fits { Ok(cast) } else { Err(does_not_fit(&value, &to)) }
}

/// The casting between whole arrays, if it is allowed: every value must fit,
/// except that floats are rounded.
pub(crate) fn bulk_casting(from: &DType, to: &DType) -> Result<Casting> {
    let is_rounded = matches!(from.kind(), Kind::Float | Kind::Complex) && from.kind() == to.kind();
    let casting = if is_rounded { Casting::SameKind } else { Casting::Safe };
    if from.can_cast(to, casting) { Ok(casting) } else { Err(no_conversion(from, to)) }
}

/// Copies rows to a buffer that is aligned.
pub(crate) fn take(rows: &Rows, indices: &[usize], to: i32, out: &mut [u8]) -> Result<()> {
    if to == status::NPYMAP_BOOL {
        return Ok(rows.take_with(indices, out, |value: bool| value.into())?);
    }
    with_pod!(to, U => Ok(rows.take_as::<U>(indices, aligned(out)?)?))
}

/// Whether a buffer is aligned for numbers. It is not read: C need not have stored any.
pub(crate) fn is_aligned(number: i32, bytes: &[u8]) -> Result<bool> {
    if number == status::NPYMAP_BOOL {
        return Ok(true);
    }
    with_pod!(number, U => Ok(bytemuck::try_cast_slice::<u8, U>(bytes).is_ok()))
}

/// Whether stored elements of this type are numbers of C where they are.
pub(crate) fn is_in_place(number: i32, stored: &[u8]) -> Result<bool> {
    if number == status::NPYMAP_BOOL {
        return Ok(stored.iter().all(|&byte| byte <= 1));
    }
    is_aligned(number, stored)
}

/// Makes copied elements numbers of C, where a `bool` is 0 or 1; files can have other bytes.
pub(crate) fn normalize(number: i32, out: &mut [u8]) {
    if number == status::NPYMAP_BOOL {
        for byte in out {
            *byte = u8::from(*byte != 0);
        }
    }
}

fn aligned<U: Pod>(bytes: &mut [u8]) -> Result<&mut [U]> {
    bytemuck::try_cast_slice_mut(bytes).map_err(|error| Failure::misuse(error.to_string()))
}

pub(crate) fn not_a_number(dtype: &DType) -> Failure {
    let advice = "use npymap_get_bytes, npymap_get_text or a field";
    Failure::new(
        status::NPYMAP_ERROR_DTYPE_MISMATCH,
        format!("stored as {dtype:?}, not a number: {advice}"),
    )
}

fn no_conversion(from: &DType, to: &DType) -> Failure {
    let text = format!("{from} cannot be converted to {to}: use a type that holds every value");
    Failure::new(status::NPYMAP_ERROR_DTYPE_MISMATCH, text)
}

fn does_not_fit<T: Number>(value: &T, to: &DType) -> Failure {
    let value: f64 = value.cast();
    Failure::new(status::NPYMAP_ERROR_INVALID_VALUE, format!("the value {value} does not fit {to}"))
}

/// The error for a buffer of the wrong size.
pub(crate) fn wrong_size(what: &str, found: usize, expected: usize) -> Failure {
    let text = format!("{what} has {found} bytes, expected {expected}");
    Failure::new(status::NPYMAP_ERROR_SHAPE_MISMATCH, text)
}
