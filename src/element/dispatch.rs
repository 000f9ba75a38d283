//! Runs generic code with the Rust type of a dtype known at run time.

/// Runs generic code with the Rust type of a dtype's elements.
///
/// `with_type!(dtype, set T => code, _ => other)` runs `code` with the type
/// `T`, or `other` when the dtype isn't in the set:
///
/// | set | types |
/// |---|---|
/// | `integer` | `i8` … `i64`, `u8` … `u64` |
/// | `float` | [`half::f16`](crate::half::f16), `f32`, `f64` |
/// | `real` | `bool` and the types of `integer` and `float` |
/// | `complex` | `Complex<f32>`, `Complex<f64>` |
/// | `number` | the types of `real` and `complex` |
/// | `any` | the types of `number`, and [`Ticks`](crate::element::Ticks) for dates and time differences |
///
/// # Examples
///
/// The mean of a numeric array, in any byte order:
///
/// ```
/// use npymap::{MappedArray, Result, with_type};
///
/// fn mean<D: AsRef<[u8]>>(array: &MappedArray<D>) -> Result<Option<f64>> {
///     let sum = with_type!(array.dtype(), real T => {
///         array.view::<T>()?.iter().fold(0.0, |sum, x| sum + npymap::element::Real::to_f64(x))
///     }, _ => return Ok(None));
///     Ok(Some(sum / npymap::element::Real::to_f64(array.len() as u64)))
/// }
///
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// assert_eq!(mean(&penguins)?.map(f64::round), Some(1116.0));
/// # Ok::<(), npymap::Error>(())
/// ```
#[macro_export]
macro_rules! with_type {
    ($dtype:expr, $set:ident $T:ident => $body:expr, _ => $other:expr $(,)?) => {{
        let dtype: &$crate::DType = &$dtype;
        $crate::__with_type!($set(dtype.kind(), dtype.itemsize()), $T, $body, $other)
    }};
}

/// The implementation of [`with_type`].
#[doc(hidden)]
#[macro_export]
macro_rules! __with_type {
    (integer $($rest:tt)*) => {
        $crate::__with_type!(@match $($rest)*; Int 1 i8, Int 2 i16, Int 4 i32, Int 8 i64,
            UInt 1 u8, UInt 2 u16, UInt 4 u32, UInt 8 u64)
    };
    (float $($rest:tt)*) => {
        $crate::__with_type!(@match $($rest)*; Float 2 $crate::half::f16, Float 4 f32, Float 8 f64)
    };
    (real $($rest:tt)*) => {
        $crate::__with_type!(@match $($rest)*; Bool 1 bool, Int 1 i8, Int 2 i16, Int 4 i32, Int 8 i64,
            UInt 1 u8, UInt 2 u16, UInt 4 u32, UInt 8 u64,
            Float 2 $crate::half::f16, Float 4 f32, Float 8 f64)
    };
    (complex $($rest:tt)*) => {
        $crate::__with_type!(@match $($rest)*; Complex 8 $crate::num_complex::Complex<f32>,
            Complex 16 $crate::num_complex::Complex<f64>)
    };
    (number $($rest:tt)*) => {
        $crate::__with_type!(@match $($rest)*; Bool 1 bool, Int 1 i8, Int 2 i16, Int 4 i32, Int 8 i64,
            UInt 1 u8, UInt 2 u16, UInt 4 u32, UInt 8 u64,
            Float 2 $crate::half::f16, Float 4 f32, Float 8 f64,
            Complex 8 $crate::num_complex::Complex<f32>, Complex 16 $crate::num_complex::Complex<f64>)
    };
    (any $($rest:tt)*) => {
        $crate::__with_type!(@match $($rest)*; Bool 1 bool, Int 1 i8, Int 2 i16, Int 4 i32, Int 8 i64,
            UInt 1 u8, UInt 2 u16, UInt 4 u32, UInt 8 u64,
            Float 2 $crate::half::f16, Float 4 f32, Float 8 f64,
            Complex 8 $crate::num_complex::Complex<f32>, Complex 16 $crate::num_complex::Complex<f64>,
            DateTime 8 $crate::element::Ticks, TimeDelta 8 $crate::element::Ticks)
    };
    (@match $key:expr, $T:ident, $body:expr, $other:expr; $($kind:ident $size:literal $type:ty),*) => {
        match $key {
            $(($crate::dtype::Kind::$kind, $size) => {
                type $T = $type;
                $body
            })*
            _ => $other,
        }
    };
    ($set:ident $($rest:tt)*) => {
        ::std::compile_error!(::std::concat!(
            "`with_type!` has no set `", ::std::stringify!($set),
            "`: expected `integer`, `float`, `real`, `complex`, `number` or `any`"
        ))
    };
}
