//! Lends the elements where they lie, as slices and ndarray views.

use bytemuck::PodCastError;
use ndarray::{ArrayView, ArrayViewMut, Dimension, IxDyn, ShapeBuilder as _, StrideShape};

use super::MappedArray;
use crate::error::{Error, ErrorKind, Result};
use crate::inplace::InPlace;
use crate::layout::Layout;
use crate::literal::tuple;

impl<D: AsRef<[u8]>> MappedArray<D> {
    /// Lends all elements as a slice in C order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Fit`] when the elements are no `T`,
    /// [`ErrorKind::Alignment`] when they lie at an address `T` can't have
    /// (both name a type that works), [`ErrorKind::NotContiguous`] when they
    /// are in Fortran order.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Be, MappedArray};
    ///
    /// let header = npymap::Header::new(">i4".parse()?, &[2], npymap::Order::C)?;
    /// let mut file = header.encode(None)?.bytes;
    /// file.extend([0, 0, 0, 1, 0, 0, 1, 0]);
    ///
    /// let array = MappedArray::from_bytes(&file)?;
    /// assert_eq!(array.as_slice::<Be<i32>>()?[1].get(), 256);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn as_slice<T: InPlace>(&self) -> Result<&[T]> {
        c_order(&self.layout)?;
        elements(&self.layout, self.bytes()?)
    }

    /// Lends all elements as an ndarray view of `N` axes, in C or Fortran
    /// order as they lie.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Rank`] when the array has another number of axes,
    /// [`ErrorKind::Fit`] and [`ErrorKind::Alignment`] as
    /// [`as_slice`](MappedArray::as_slice).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, ndarray::Ix2};
    ///
    /// let file = std::fs::read("data/penguins.npy")?;
    /// let penguins = MappedArray::from_bytes(&file)?;
    /// // Where a `Vec` starts is chance, so ask for a type that stands anywhere.
    /// let table = penguins.as_ndarray::<npymap::Le<f64>, Ix2>()?;
    /// assert_eq!(table[[0, 3]].get(), 3750.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::missing_panics_doc, reason = "a layout's elements fill its shape")]
    pub fn as_ndarray<T: InPlace, N: Dimension>(&self) -> Result<ArrayView<'_, T, N>> {
        let shape = shape::<N>(&self.layout)?;
        let elements = elements(&self.layout, self.bytes()?)?;
        Ok(ArrayView::from_shape(shape, elements).expect("a layout's elements fill its shape"))
    }
}

impl<D: AsMut<[u8]>> MappedArray<D> {
    /// Lends all elements as a slice in C order, to be written.
    ///
    /// # Errors
    ///
    /// As [`as_slice`](MappedArray::as_slice).
    pub fn as_slice_mut<T: InPlace>(&mut self) -> Result<&mut [T]> {
        c_order(&self.layout)?;
        let layout = self.layout.clone();
        elements_mut(&layout, self.bytes_mut()?)
    }

    /// Lends all elements as an ndarray view of `N` axes, to be written.
    ///
    /// # Errors
    ///
    /// As [`as_ndarray`](MappedArray::as_ndarray).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, MappedArray, ndarray::Ix2};
    ///
    /// let mut array = MappedArray::anonymous(&DType::of::<f32>(), &[3, 4])?;
    /// array.as_ndarray_mut::<f32, Ix2>()?.row_mut(1).fill(1.0);
    /// assert_eq!(array.as_slice::<f32>()?.iter().sum::<f32>(), 4.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[expect(clippy::missing_panics_doc, reason = "a layout's elements fill its shape")]
    pub fn as_ndarray_mut<T: InPlace, N: Dimension>(&mut self) -> Result<ArrayViewMut<'_, T, N>> {
        let shape = shape::<N>(&self.layout)?;
        let layout = self.layout.clone();
        let elements = elements_mut(&layout, self.bytes_mut()?)?;
        Ok(ArrayViewMut::from_shape(shape, elements).expect("a layout's elements fill its shape"))
    }
}

fn c_order(layout: &Layout) -> Result<()> {
    if layout.is_c_contiguous() {
        Ok(())
    } else {
        Err(ErrorKind::NotContiguous { shape: tuple(layout.shape()) }.into())
    }
}

/// The shape for ndarray, with the order the elements lie in.
fn shape<N: Dimension>(layout: &Layout) -> Result<StrideShape<N>> {
    let ndim = layout.ndim();
    let rank = || {
        let works = if ndim <= 6 { format!("Ix{ndim}") } else { "IxDyn".to_owned() };
        ErrorKind::Rank {
            shape: tuple(layout.shape()),
            ndim,
            asked: N::NDIM.unwrap_or(ndim),
            works,
        }
    };
    let dim = N::from_dimension(&IxDyn(layout.shape())).ok_or_else(rank)?;
    Ok(dim.set_f(!layout.is_c_contiguous()).into())
}

fn elements<'a, T: InPlace>(layout: &Layout, bytes: &'a [u8]) -> Result<&'a [T]> {
    T::check(layout.dtype())?;
    if bytes.is_empty() {
        return Ok(Box::leak(no_bytes(layout)));
    }
    bytemuck::try_cast_slice(bytes).map_err(|error| refused::<T>(layout, error))
}

fn elements_mut<'a, T: InPlace>(layout: &Layout, bytes: &'a mut [u8]) -> Result<&'a mut [T]> {
    T::check(layout.dtype())?;
    if bytes.is_empty() {
        return Ok(Box::leak(no_bytes(layout)));
    }
    bytemuck::try_cast_slice_mut(bytes).map_err(|error| refused::<T>(layout, error))
}

/// No elements, or elements of no bytes, stand at any address and take no
/// memory, so none is leaked with them.
fn no_bytes<T: InPlace>(layout: &Layout) -> Box<[T]> {
    bytemuck::zeroed_slice_box(layout.len())
}

/// What kept bytes from being lent as a type that passed its own check.
fn refused<T: InPlace>(layout: &Layout, error: PodCastError) -> Error {
    let asked = short_name::<T>();
    if error == PodCastError::TargetAlignmentGreaterAndInputNotAligned {
        return ErrorKind::Alignment { align: align_of::<T>(), asked, works: T::unaligned() }
            .into();
    }
    let works = format!("[u8; {}]", layout.dtype().itemsize());
    ErrorKind::Fit { stored: layout.dtype().to_string(), asked, works }.into()
}

/// A type's name without the modules of its parts.
fn short_name<T>() -> String {
    let mut name = String::new();
    let mut word = String::new();
    for c in std::any::type_name::<T>().chars() {
        match c {
            ':' => word.clear(),
            _ if c.is_alphanumeric() || c == '_' => word.push(c),
            _ => {
                name.push_str(&word);
                name.push(c);
                word.clear();
            }
        }
    }
    name + &word
}
