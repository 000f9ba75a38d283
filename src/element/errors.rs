//! The errors of elements, also for implementations outside this crate.

use std::fmt::Display;

use super::{short_name, type_mismatch};
use crate::dtype::DType;
use crate::error::{DTypeError, Error};

impl Error {
    /// Returns the error of [`Element::codec`](crate::Element::codec) if
    /// elements of a dtype cannot be decoded as `T`, of kind
    /// [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch). It names the dtype, the
    /// type, and a type that works.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{DType, Element, Error, MappedArray, Result};
    ///
    /// /// A token below 50257.
    /// #[derive(Debug, PartialEq)]
    /// struct Token(u16);
    ///
    /// impl Element for Token {
    ///     type Codec = <u16 as Element>::Codec;
    ///
    ///     fn codec(dtype: &DType) -> Result<Self::Codec> {
    ///         u16::codec(dtype).map_err(|_| Error::dtype_mismatch::<Token>(dtype))
    ///     }
    ///
    ///     fn itemsize(codec: &Self::Codec) -> usize {
    ///         u16::itemsize(codec)
    ///     }
    ///
    ///     fn decode(codec: &Self::Codec, bytes: &[u8]) -> Token {
    ///         Token(u16::decode(codec, bytes))
    ///     }
    ///
    ///     fn encode(&self, codec: &Self::Codec, bytes: &mut [u8]) -> Result<()> {
    ///         if self.0 >= 50_257 {
    ///             return Err(Error::invalid_value(self.0, "a token below 50257"));
    ///         }
    ///         self.0.encode(codec, bytes)
    ///     }
    /// }
    ///
    /// let mut tokens = MappedArray::zeros(&"<u2".parse()?, &[3])?;
    /// let error = tokens.view_mut::<Token>()?.set(0, Token(60_000)).unwrap_err();
    /// assert_eq!(error.to_string(), "60000: expected a token below 50257");
    /// let floats = MappedArray::zeros(&"<f4".parse()?, &[3])?;
    /// let error = floats.view::<Token>().unwrap_err();
    /// assert_eq!(error.to_string(), "stored as '<f4', asked for `Token`: use `f32`");
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[cold]
    #[must_use]
    pub fn dtype_mismatch<T>(stored: &DType) -> Error {
        type_mismatch(stored, short_name::<T>())
    }

    /// Returns the error of [`Element::encode`](crate::Element::encode) for a
    /// value that does not fit, of kind
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue): the value and what was
    /// expected, as in `60000: expected a token below 50257`.
    #[cold]
    #[must_use]
    pub fn invalid_value(value: impl Display, expected: impl Display) -> Error {
        let (value, expected) = (value.to_string(), expected.to_string());
        DTypeError::Value { value, expected }.into()
    }
}
