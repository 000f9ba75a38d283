//! One field of each element in a source of rows.

use std::ops::Range;

use super::ahead::RowsAhead;
use super::decode::DecodeRows;
use super::gather;
use super::row_source::RowSource;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::view::field_geometry;

/// One field of each element of any [`RowSource`], as rows. If the field is a
/// subarray, its axes come last. Whole rows are read.
///
/// [`Rows::field`](crate::Rows::field) is a [`Rows`](crate::Rows) again, and
/// [`Concat::field`](crate::loader::Concat::field) a `Concat`.
///
/// # Examples
///
/// ```
/// use npymap::{ArrayFile, OpenOptions, RowSource as _, Source, array::RawSpec, loader::FieldRows};
///
/// let spec = RawSpec::new("[('id', '<u2'), ('at', '<f4', (2,))]".parse()?).shape(&[3]);
/// let options = OpenOptions::new().raw(spec);
/// let events = ArrayFile::new(Source::bytes([0; 30]), options)?;
/// let positions = FieldRows::new(events, "at")?;
/// assert_eq!(positions.shape(), [3, 2]);
/// assert_eq!(positions.take_array::<f32>(&[2, 0])?.shape(), [2, 2]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FieldRows<S> {
    source: S,
    path: String,
    dtype: DType,
    shape: Vec<usize>,
}

impl<S: RowSource> FieldRows<S> {
    /// Selects one field of each element, such as `"x"` or `"pos.z"`.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the field does not
    /// exist, and lists the fields that do, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements of zero size than can be counted.
    pub fn new(source: S, path: impl Into<String>) -> Result<FieldRows<S>> {
        let path = path.into();
        let (dtype, shape) = field_of(&source, &path).map_err(|error| source.add_path(error))?;
        Ok(FieldRows { source, path, dtype, shape })
    }
}

/// A field's dtype, and the shape of its array.
fn field_of(source: &impl RowSource, path: &str) -> Result<(DType, Vec<usize>)> {
    let layout = Layout::new(source.dtype().clone(), source.shape(), Order::C, 0)?;
    let (geometry, dtype) = field_geometry(layout.geometry(), layout.dtype(), path)?;
    Ok((dtype, geometry.shape.to_vec()))
}

impl<S: RowSource> RowSource for FieldRows<S> {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        self.take_bytes(&gather::rows_in(self, ranges, out)?, out)
    }

    fn visit(&self, starts: &[usize], len: usize, decode: &mut dyn DecodeRows) -> Result<()> {
        gather::visit_stored(&self.source, starts, len, Some(&self.path), decode)
    }

    fn add_path(&self, error: Error) -> Error {
        self.source.add_path(error)
    }

    fn rows_ahead(&self) -> RowsAhead {
        self.source.rows_ahead()
    }
}
