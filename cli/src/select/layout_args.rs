//! Options that give an array other axes.

use clap::Args;
use npymap::{DType, MappedArray, MappedArrayMut, Order, Result, element::Casting};
use npymap::{Error, ErrorKind, layout::Layout, view::DynView};

use crate::input::memory;
use crate::input::progress::Progress;
use crate::input::shape_arg::{self, PartialShape};
use crate::input::text;

/// The axes of the output.
#[derive(Args, Clone, Debug)]
pub(crate) struct LayoutArgs {
    /// Axes of IN in their order in OUT, as for NumPy's transpose: 2,0,1
    #[arg(long, value_parser = parse_axes)]
    axes: Option<AxesArg>,

    /// New shape of the elements, in C order and after --axes, like in NumPy's
    /// reshape. One axis can be -1
    #[arg(long, value_name = "SHAPE", value_parser = shape_arg::parse)]
    reshape: Option<PartialShape>,
}

/// An order of axes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AxesArg(Vec<isize>);

/// A view with other axes, and the shape of the array that it is written to.
pub(crate) struct Arranged<'a> {
    array: &'a MappedArray,
    view: DynView<'a>,
    pub(crate) shape: Vec<usize>,
}

impl LayoutArgs {
    /// Returns whether any option was given.
    pub(crate) fn is_given(&self) -> bool {
        self.axes.is_some() || self.reshape.is_some()
    }

    /// Returns whether the shape changes, which only arrays in C order can.
    pub(crate) fn reshapes(&self) -> bool {
        self.reshape.is_some()
    }

    /// The elements of a view as they are written.
    pub(crate) fn arrange<'a>(
        &self,
        array: &'a MappedArray,
        view: &DynView<'a>,
    ) -> Result<Arranged<'a>> {
        let view = match &self.axes {
            Some(axes) => view.permuted_axes(&axes.resolve(view.ndim()))?,
            None => view.clone(),
        };
        let shape = match &self.reshape {
            Some(shape) => shape.fill(view.len())?,
            None => view.shape().to_vec(),
        };
        let count = shape.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim));
        if count != Some(view.len()) {
            let (found, wanted) = (text::plural(view.len(), "element"), text::shape(&shape));
            let text = format!(
                "has {found}, which do not have a shape {wanted}: pass another --reshape, in which one axis may be -1"
            );
            return Err(Error::new(ErrorKind::ShapeMismatch, text));
        }
        Ok(Arranged { array, view, shape })
    }
}

impl Arranged<'_> {
    /// Writes the elements to a new array of this shape, in C order if it was
    /// reshaped.
    pub(crate) fn write(&self, array: MappedArrayMut, casting: Casting) -> Result<()> {
        let mut progress = Progress::new(array.nbytes());
        // Elements in C order have the same places in every shape.
        let mut array = if array.shape() == self.view.shape() {
            array
        } else {
            let dtype: DType = array.dtype().clone();
            let layout = Layout::new(dtype, self.view.shape(), Order::C, 0)?;
            array.with_layout(layout)?
        };
        let options = memory::copy_options().casting(casting);
        array
            .write_array(&(self.array, self.view.clone()), &options, |bytes| progress.add(bytes))?;
        array.close()
    }
}

impl AxesArg {
    /// The axes counted from the first. Others are left for the library to
    /// reject.
    fn resolve(&self, ndim: usize) -> Vec<usize> {
        let axes = self.0.iter().map(|&axis| match usize::try_from(axis) {
            Ok(axis) => axis,
            Err(_) => ndim.checked_add_signed(axis).unwrap_or(usize::MAX),
        });
        axes.collect()
    }
}

fn parse_axes(text: &str) -> Result<AxesArg, &'static str> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    let axes = inner.split(',').map(|axis| axis.trim().parse());
    let axes = axes.collect::<Result<Vec<_>, std::num::ParseIntError>>();
    axes.map(AxesArg).map_err(|_| "expected axes such as 2,0,1")
}
