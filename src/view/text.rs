//! Elements as text.

use super::View;
use crate::dtype::{DType, Kind};
use crate::element::value::Value;
use crate::element::{as_utf8, decode_points, to_char, trim_nuls};
use crate::error::{DTypeError, Result};

impl<'a> View<'a, Value> {
    /// Iterates over elements of dtype `S` in C order, as text without trailing
    /// NULs. Yields an error for an element that is not valid UTF-8.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) unless the dtype is
    /// `S`. Text of dtype `U` is not stored as UTF-8: use
    /// [`strings`](View::strings).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut codes = MappedArray::zeros(&"|S4".parse()?, &[2])?;
    /// codes.view_mut::<String>()?.set(0, "EGLL".to_owned())?;
    /// let view = codes.dyn_view()?;
    /// assert_eq!(view.strs()?.collect::<npymap::Result<Vec<&str>>>()?, ["EGLL", ""]);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn strs(&self) -> Result<impl Iterator<Item = Result<&'a str>> + '_> {
        if self.dtype().kind() != Kind::Bytes {
            return Err(dtype_mismatch(self.dtype(), "&str"));
        }
        Ok(self.element_bytes().map(|bytes| as_utf8(trim_nuls(bytes))))
    }

    /// Iterates over elements of dtype `S` or `U` in C order, as text without
    /// trailing NULs. Yields an error for an element that is not valid text, where
    /// a [`view`](View::view) of `String` returns U+FFFD.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the dtype is not
    /// text.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::MappedArray;
    ///
    /// let mut names = MappedArray::zeros(&"<U2".parse()?, &[2])?;
    /// names.dyn_view_mut()?.view_as(&"<u4".parse()?)?.into_view::<u32>()?.fill(&0xd800)?;
    /// let view = names.dyn_view()?;
    /// let error = view.strings()?.next().unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "U+D800: expected a Unicode code point");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn strings(&self) -> Result<impl Iterator<Item = Result<String>> + '_> {
        let (kind, order) = (self.dtype().kind(), self.dtype().byte_order());
        if !matches!(kind, Kind::Bytes | Kind::Unicode) {
            return Err(dtype_mismatch(self.dtype(), "String"));
        }
        Ok(self.element_bytes().map(move |bytes| match kind {
            Kind::Bytes => as_utf8(trim_nuls(bytes)).map(str::to_owned),
            _ => decode_points(order, bytes).map(to_char).collect(),
        }))
    }
}

#[inline]
fn dtype_mismatch(dtype: &DType, asked: &str) -> crate::error::Error {
    let works = match dtype.kind() {
        Kind::Unicode => "String".to_owned(),
        _ => crate::element::suggested_type(dtype),
    };
    DTypeError::Fit { stored: dtype.to_string(), asked: asked.to_owned(), works }.into()
}
