//! Copies of numbers with a cast.

use std::fmt::Display;

use ndarray::{Array, Dimension};

use super::View;
use super::in_place::dimension;
use crate::dtype::{ByteOrder, DType};
use crate::element::cast::{Casting, Number, WideNumber, cannot_cast, check_cast, is_same_value};
use crate::element::fast_path::FastPath as _;
use crate::element::value::Value;
use crate::error::invariant::{Invariant, PAIRED};
use crate::error::{Error, Result};
use crate::with_type;

impl<T: Number> View<'_, T> {
    /// Copies all elements in C order into an array of another numeric type with
    /// `N` axes: NumPy's `a.astype(U, casting=…)`.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the view has the
    /// wrong number of axes. Returns
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if `casting` does not allow
    /// the cast, naming one that does. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) with
    /// [`Casting::SameValue`] for the first number that would change.
    ///
    /// # Panics
    ///
    /// Like [`to_vec`](View::to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{element::Casting, ndarray::Ix2};
    ///
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let table = penguins.view::<f64>()?;
    /// let small = table.to_ndarray_as::<f32, Ix2>(Casting::SameKind)?;
    /// assert_eq!(small[[0, 3]], 3750.0);
    /// assert!(table.to_ndarray_as::<f32, Ix2>(Casting::Safe).is_err());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn to_ndarray_as<U: Number, N: Dimension>(&self, casting: Casting) -> Result<Array<U, N>> {
        let shape = dimension::<N>(&self.geometry)?;
        check_cast(&self.number_dtype(), &U::dtype(), casting)?;
        let mut out = Vec::with_capacity(self.len());
        cast_onto(self.iter(), casting, &mut out)?;
        Ok(Array::from_shape_vec(shape, out).invariant(PAIRED))
    }

    /// The dtype of the elements, byte order included.
    pub(super) fn number_dtype(&self) -> DType {
        let own = T::dtype();
        let foreign = match own.byte_order() {
            ByteOrder::Little => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        if T::fast_path().is_exact(&self.codec) { own } else { own.with_byte_order(foreign) }
    }
}

impl View<'_, Value> {
    /// Like [`to_ndarray_as`](View::to_ndarray_as), for a dtype that you only
    /// learn at run time.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) unless the elements
    /// are numbers of up to 8 bytes (16 if complex) and `casting` allows the
    /// cast, [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the view does not
    /// have the axes of `N`, and
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) with
    /// [`Casting::SameValue`] for the first number that would change.
    ///
    /// # Panics
    ///
    /// Like [`to_vec`](View::to_vec).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, element::Casting, ndarray::Ix1};
    ///
    /// let counts = MappedArray::zeros(&"[('n', '>u2')]".parse()?, &[3])?;
    /// let wide = counts.dyn_view()?.field("n")?.to_ndarray_as::<f64, Ix1>(Casting::Safe)?;
    /// assert_eq!(wide.sum(), 0.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn to_ndarray_as<U: Number, N: Dimension>(&self, casting: Casting) -> Result<Array<U, N>> {
        let dtype = self.dtype().clone();
        with_type!(dtype, number T => self.view::<T>()?.to_ndarray_as(casting), _ => {
            Err(not_a_number(&dtype, &U::dtype(), casting))
        })
    }
}

/// Casts numbers and appends them to `out`. With [`Casting::SameValue`], fails if
/// one would change, with the first of these.
pub(crate) fn cast_onto<T: Number, U: Number>(
    values: impl Iterator<Item = T>,
    casting: Casting,
    out: &mut Vec<U>,
) -> Result<()> {
    cast_each(values, casting, |cast| out.push(cast))
}

/// Casts numbers, and passes them to `store`; fails as [`cast_onto`].
pub(super) fn cast_each<T: Number, U: Number>(
    values: impl Iterator<Item = T>,
    casting: Casting,
    mut store: impl FnMut(U),
) -> Result<()> {
    let mut lost = None;
    values.for_each(|value| {
        let cast: U = value.cast();
        if casting == Casting::SameValue && !is_same_value(value.widen(), cast.widen()) {
            lost.get_or_insert(value);
        }
        store(cast);
    });
    lost.map_or(Ok(()), |value| Err(value_changed(&value.widen(), &U::dtype())))
}

/// The error for elements that are not numbers.
#[inline]
pub(crate) fn not_a_number(dtype: &DType, to: &DType, casting: Casting) -> Error {
    let works = "only numbers can be cast: select a field, or copy with `to_ndarray`";
    cannot_cast(dtype, to, casting, works)
}

/// The error for a number that would change.
#[inline]
pub(super) fn value_changed(value: &WideNumber, to: &DType) -> Error {
    let value = match value {
        WideNumber::Int(value) => value.to_string(),
        WideNumber::UInt(value) => value.to_string(),
        WideNumber::Float(value) => Value::F64(*value).to_string(),
        WideNumber::Complex(re, im) => Value::C128(num_complex::Complex::new(*re, *im)).to_string(),
    };
    inexact(value, to)
}

/// The error for a value that a dtype would change.
pub(super) fn inexact(value: impl Display, to: &DType) -> Error {
    Error::invalid_value(value, format_args!("a value that {to} can hold exactly"))
}
