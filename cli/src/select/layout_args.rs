//! Options that give an array other axes.

use clap::Args;
use npymap::{Error, ErrorKind, array::Outline, layout::Layout};
use npymap::{MappedArrayMut, Order, Result, element::Casting};

use crate::input::array_bytes;
use crate::input::memory;
use crate::input::shape_arg::{self, PartialShape};
use crate::input::text;
use crate::select::axis_arg;

/// The axes of the output.
#[derive(Args, Clone, Debug)]
pub(crate) struct LayoutArgs {
    /// Axes of IN in their order in OUT, as for NumPy's transpose: 2,0,1
    #[arg(long, value_parser = parse_axes)]
    axes: Option<AxesArg>,

    /// New shape of the elements, in C order and after --axes, like in NumPy's
    /// reshape. One axis can be -1
    #[arg(long, value_name = "SHAPE", value_parser = shape_arg::parse)]
    pub(crate) reshape: Option<PartialShape>,
}

/// An order of axes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AxesArg(Vec<isize>);

impl LayoutArgs {
    /// Returns whether any option was given.
    pub(crate) fn is_given(&self) -> bool {
        self.axes.is_some() || self.reshape.is_some()
    }

    /// Elements with other axes, and the shape of the array that they are written to.
    pub(crate) fn arrange<'a>(&self, part: &Outline<'a>) -> Result<(Outline<'a>, Vec<usize>)> {
        let part = match &self.axes {
            Some(AxesArg(axes)) => {
                let axes = axes.iter().map(|&axis| axis_arg::resolve(axis, part.shape()));
                let axes = axes
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|what| Error::new(ErrorKind::OutOfBounds, format!("has {what}")))?;
                part.permuted_axes(&axes)?
            }
            None => part.clone(),
        };
        let shape = match &self.reshape {
            Some(shape) => shape.fill(part.len())?,
            None => part.shape().to_vec(),
        };
        let count = shape.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim));
        if count != Some(part.len()) {
            let (found, wanted) = (text::plural(part.len(), "element"), text::shape(&shape));
            let text = format!(
                "has {found}, which do not have a shape {wanted}: pass another --reshape, in which one axis may be -1"
            );
            return Err(Error::new(ErrorKind::ShapeMismatch, text));
        }
        Ok((part, shape))
    }
}

/// Writes arranged elements to a new array, in C order if it was reshaped.
pub(crate) fn write(from: &Outline<'_>, mut to: MappedArrayMut, casting: Casting) -> Result<()> {
    let shape = from.shape();
    // Elements in C order have the same places in every shape.
    if to.shape() != shape {
        let layout = Layout::new(to.dtype().clone(), shape, Order::C, 0)?;
        to = to.with_layout(layout)?;
    }
    array_bytes::fill(to, from, &memory::copy_options().casting(casting))
}

fn parse_axes(text: &str) -> Result<AxesArg, &'static str> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    let axes = inner.split(',').map(|axis| axis.trim().parse());
    let axes = axes.collect::<Result<Vec<_>, std::num::ParseIntError>>();
    axes.map(AxesArg).map_err(|_| "expected axes such as 2,0,1")
}
