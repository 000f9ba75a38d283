//! Values of `bfloat16`, which NumPy stores as void of two bytes.

use std::ops::Range;
use std::str::FromStr;

use clap::Args;
use npymap::array::Outline;
use npymap::dtype::Kind;
use npymap::element::Casting;
use npymap::half::bf16;
use npymap::ndarray::Axis;
use npymap::view::DynView;
use npymap::{CreateOptions, DType, Error, ErrorKind, MappedArray, Order, Result};

use crate::input::array_bytes::ArrayBytes;
use crate::input::dtype_arg;
use crate::input::input_args::InputArgs;
use crate::input::open::Temporary;
use crate::select::cast;
use crate::select::selection::Selected;

/// A dtype to convert to.
#[derive(Clone, Debug)]
pub(crate) enum TargetDType {
    Stored(DType),
    BFloat16,
}

impl FromStr for TargetDType {
    type Err = Error;

    fn from_str(text: &str) -> Result<TargetDType> {
        match text {
            "bfloat16" => Ok(TargetDType::BFloat16),
            _ if dtype_arg::is_of_ml_dtypes(text) => {
                let what =
                    "of the types of ml_dtypes, only the values of bfloat16 are read and written";
                Err(Error::new(ErrorKind::InvalidInput, what))
            }
            _ => text.parse().map(TargetDType::Stored),
        }
    }
}

fn parse_value_dtype(text: &str) -> Result<TargetDType> {
    if dtype_arg::is_of_ml_dtypes(text) {
        return text.parse();
    }
    let what = "expected bfloat16: the dtypes of NumPy are in the header";
    Err(Error::new(ErrorKind::InvalidInput, what))
}

/// How to read inputs, and to take elements that NumPy stores as void.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArgs {
    /// Take elements of dtype V2 as this type of `ml_dtypes`: bfloat16
    #[arg(long, value_name = "DTYPE", value_parser = parse_value_dtype)]
    dtype: Option<TargetDType>,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl ReadArgs {
    /// The array, or its values in a temporary array.
    pub(crate) fn of_array(&self, array: MappedArray) -> Result<MappedArray> {
        if !self.apply(array.dtype()) {
            return Ok(array);
        }
        values(&array, &array.outline())
    }

    /// Returns whether values are taken of elements of this dtype.
    pub(crate) fn apply(&self, stored: &DType) -> bool {
        self.dtype.is_some() && stored.kind() == Kind::Void && stored.itemsize() == 2
    }

    /// The values of some rows of a table of elements, in a temporary array where all other
    /// rows are zeros; `None` if the elements are taken as they are.
    pub(crate) fn of_rows(
        &self,
        (array, view): (&MappedArray, &Outline<'_>),
        rows: Range<usize>,
    ) -> Result<Option<MappedArray>> {
        let each = match view.shape() {
            [_, inner @ .., _] => inner.iter().product::<usize>().max(1),
            _ => 1,
        };
        self.of_indices((array, view), rows.start / each..rows.end.div_ceil(each))
    }

    /// As [`of_rows`](ReadArgs::of_rows), at some indices of the first axis.
    pub(crate) fn of_indices(
        &self,
        (array, view): (&MappedArray, &Outline<'_>),
        indices: Range<usize>,
    ) -> Result<Option<MappedArray>> {
        if !self.apply(view.dtype()) {
            return Ok(None);
        }
        let Some(&len) = view.shape().first() else { return values(array, view).map(Some) };
        let end = indices.end.min(len);
        let start = indices.start.min(end);
        let some = cast::axis_range(view.ndim(), Axis(0), start, end - start);
        let part = view.slice(some)?;
        let before = start * (view.len() / len.max(1)) * VALUE;
        copy(array, (&part, view.shape(), before), &"<f4".parse()?, Order::C, to_values).map(Some)
    }

    /// The elements that are selected of an array, or their values in a temporary array.
    pub(crate) fn of_selected<'a>(
        &self,
        array: &MappedArray,
        selected: Selected<'a>,
    ) -> Result<Selected<'a>> {
        if !self.apply(selected.outline().dtype()) {
            return Ok(selected);
        }
        values(array, &selected.outline()).map(|values| Selected::Own(Box::new(values)))
    }
}

/// The size of a value, in bytes.
const VALUE: usize = size_of::<f32>();

/// The values of elements of `bfloat16`, which `f4` holds exactly.
fn values(array: &MappedArray, from: &Outline<'_>) -> Result<MappedArray> {
    copy(array, (from, from.shape(), 0), &"<f4".parse()?, Order::C, to_values)
}

fn to_values(block: &DynView<'_>) -> Result<Vec<u8>> {
    let values = block.view::<bf16>()?;
    Ok(values.iter().flat_map(|value| f32::from(value).to_le_bytes()).collect())
}

/// Converts numbers to `bfloat16`, in a temporary array of the same memory order.
pub(crate) fn to_bfloat16(from: &MappedArray, casting: Casting) -> Result<MappedArray> {
    let dtype = from.dtype();
    if !matches!(dtype.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Float) {
        let text = format!("has dtype {dtype}, and only real numbers are converted to bfloat16");
        return Err(Error::new(ErrorKind::DTypeMismatch, text));
    }
    let is_f = from.layout().is_f_contiguous() && !from.layout().is_c_contiguous();
    let order = if is_f { Order::F } else { Order::C };
    let all = from.outline();
    copy(from, (&all, all.shape(), 0), &"|V2".parse()?, order, |block| {
        let mut doubles = MappedArray::zeros(&DType::of::<f64>(), block.shape())?;
        doubles.dyn_view_mut()?.assign_as(block, casting)?;
        let doubles = doubles.as_slice::<f64>()?;
        let rounded = doubles.iter().map(|&value| (value, bf16::from_f64(value)));
        let bytes = rounded.map(|(value, rounded)| {
            if casting == Casting::SameValue
                && f64::from(rounded).to_bits() != value.to_bits()
                && !value.is_nan()
            {
                let text = format!("{value} is not a value that bfloat16 can hold exactly");
                return Err(Error::new(ErrorKind::InvalidValue, text));
            }
            Ok(rounded.to_le_bytes())
        });
        Ok(bytes.collect::<Result<Vec<_>>>()?.concat())
    })
}

/// Writes what `convert` makes of each block of a view of an array to a temporary array of a
/// shape, from a byte on. All other elements are zeros that take no space.
fn copy(
    array: &MappedArray,
    (from, shape, start): (&Outline<'_>, &[usize], usize),
    dtype: &DType,
    order: Order,
    convert: impl Fn(&DynView<'_>) -> Result<Vec<u8>>,
) -> Result<MappedArray> {
    let file = Temporary::new()?;
    let options = CreateOptions::new().order(order).sparse(from.shape() != shape);
    let to = file.create(dtype, shape, &options)?;
    let mut to = ArrayBytes::new(to)?.skipping(start);
    let in_order = if order == Order::F { from.t() } else { from.clone() };
    array.for_each_window(&in_order, |block| to.push(&convert(block)?))?;
    to.close()?;
    file.open()
}
