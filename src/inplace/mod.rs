//! Types whose values are the file's bytes, so that references to them can be
//! lent without a copy.

mod boolean;
mod endian;
mod scalar;

use bytemuck::Pod;

use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::{ErrorKind, Result};

pub use boolean::Bool;
pub use endian::{Be, Le};
pub use scalar::{Scalar, Ticks};

/// A type whose values are the bytes of an element.
///
/// | dtype | types |
/// |---|---|
/// | `b1` | [`Bool`] |
/// | `i1` … `i8`, `u1` … `u8` | `i8` … `i64`, `u8` … `u64` |
/// | `f2`, `f4`, `f8` | [`half::f16`], `f32`, `f64` |
/// | `c8`, `c16` | [`Complex<f32>`](num_complex::Complex), `Complex<f64>` |
/// | `M8`, `m8`, any unit | [`Ticks`] |
/// | `V2` written by `ml_dtypes` | [`half::bf16`] on little-endian machines |
/// | every dtype of `N` > 0 bytes | `[u8; N]` |
///
/// Plain numbers need this machine's byte order and an aligned address;
/// [`Le`] and [`Be`] of them stand at any address.
///
/// It is safe to implement, for a record of one's own for example: the promise
/// is [`Pod`]'s, and [`check`](InPlace::check) only decides where the type is
/// let in.
///
/// # Examples
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use npymap::{DType, InPlace, Le, MappedArray, Result};
///
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[repr(C)]
/// struct Event {
///     id: Le<u16>,
///     energy: Le<f32>,
/// }
///
/// impl InPlace for Event {
///     fn check(dtype: &DType) -> Result<()> {
///         assert_eq!(dtype.to_string(), "[('id', '<u2'), ('energy', '<f4')]");
///         Ok(())
///     }
/// }
///
/// let dtype = "[('id', '<u2'), ('energy', '<f4')]".parse()?;
/// let mut events = MappedArray::anonymous(&dtype, &[10])?;
/// events.as_slice_mut::<Event>()?[3].energy = Le::new(1.5);
/// assert_eq!(events.as_slice::<Event>()?[3].energy.get(), 1.5);
/// # Ok::<(), npymap::Error>(())
/// ```
pub trait InPlace: Pod {
    /// Checks that elements of `dtype` are values of this type as they lie.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Fit`], naming a type that works.
    fn check(dtype: &DType) -> Result<()>;

    /// The type to name when elements lie at an address this one can't have.
    #[doc(hidden)]
    #[must_use]
    fn unaligned() -> String {
        format!("[u8; {}]", size_of::<Self>())
    }
}

/// A type that determines its dtype.
pub trait Typed {
    /// The dtype, in this machine's byte order unless the type fixes it.
    fn dtype() -> DType;
}

impl<const N: usize> InPlace for [u8; N] {
    fn check(dtype: &DType) -> Result<()> {
        if dtype.itemsize() == N { Ok(()) } else { Err(unfit(dtype, format!("[u8; {N}]"))) }
    }
}

impl Typed for bool {
    fn dtype() -> DType {
        Bool::dtype()
    }
}

/// The error of asking for a type that isn't what is stored.
fn unfit(dtype: &DType, asked: impl Into<String>) -> crate::Error {
    ErrorKind::Fit { stored: dtype.to_string(), asked: asked.into(), works: works_for(dtype) }
        .into()
}

/// The type that stands on elements of this dtype at any address; the plain
/// one where that is known to be in this machine's order.
fn works_for(dtype: &DType) -> String {
    let bits = 8 * dtype.itemsize();
    let name = match (dtype.kind(), dtype.itemsize()) {
        (Kind::Bool, _) => "Bool".to_owned(),
        (Kind::Int, _) => format!("i{bits}"),
        (Kind::UInt, _) => format!("u{bits}"),
        (Kind::Float, 2 | 4 | 8) => format!("f{bits}"),
        (Kind::Complex, 8 | 16) => format!("Complex<f{}>", bits / 2),
        (Kind::DateTime | Kind::TimeDelta, _) => "Ticks".to_owned(),
        (_, itemsize) => return format!("[u8; {itemsize}]"),
    };
    match dtype.byte_order() {
        order if order == ByteOrder::NATIVE || order == ByteOrder::NotApplicable => name,
        ByteOrder::Big => format!("Be<{name}>"),
        _ => format!("Le<{name}>"),
    }
}
