//! Statistics of elements whose type is known at run time.

use crate::input::lengths::to_u64;
use crate::select::filter::Number;
use crate::stats::keys::KeyRange;
use std::fmt;

use npymap::{
    DType, Element, Result, Value, View,
    dtype::Kind,
    element::{Real, Ticks},
    view::DynView,
    with_type,
};
use serde::{Serialize, Serializer};

use crate::input::float_text;
use crate::input::json_value::JsonScalar;
use crate::stats::keys::{self, Key};
use crate::stats::quantiles::Population;
use crate::stats::scan::Ignored;
use crate::stats::tiles::with_zeros;

/// The statistics of a column. Those that its dtype does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) count: usize,
    /// The number of elements in the sum and the extremes.
    numbers: usize,
    pub(crate) nan: Option<usize>,
    pub(crate) nat: Option<usize>,
    pub(crate) infinite: Option<usize>,
    /// Exact if it is of integers.
    pub(crate) sum: Option<Number>,
    pub(crate) min: Option<Value>,
    pub(crate) max: Option<Value>,
    /// The keys of the minimum and the maximum.
    keys: Option<KeyRange>,
    /// The finite minimum and maximum.
    pub(crate) finite: Option<(f64, f64)>,
}

fn add(a: Number, b: Number) -> Number {
    match (a, b) {
        // No file holds enough integers for 128 bits to overflow.
        (Number::Int(a), Number::Int(b)) => Number::Int(a.wrapping_add(b)),
        (a, b) => Number::Float(a.to_f64() + b.to_f64()),
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(number) => number.fmt(f),
            Number::Float(number) => f.write_str(&float_text::text(&Value::F64(*number))),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Number::Int(number) => to.serialize_i128(*number),
            Number::Float(number) => JsonScalar(Value::F64(*number)).serialize(to),
        }
    }
}

impl Summary {
    /// Computes the statistics of all elements of a view.
    pub(crate) fn compute(view: &DynView<'_>, ignored: Ignored) -> Result<Summary> {
        let dtype = view.dtype().clone();
        if matches!(dtype.kind(), Kind::DateTime | Kind::TimeDelta) {
            return Ok(summarize_dates(&view.view::<Ticks>()?, &dtype));
        }
        with_type!(dtype, real T => {
            Ok(summarize_numbers(&view.view::<T>()?, &dtype, ignored))
        }, _ => Ok(Summary { count: view.len(), ..Summary::default() }))
    }

    /// The statistics of no elements.
    pub(crate) fn none(dtype: &DType, ignored: Ignored) -> Result<Summary> {
        with_zeros(dtype, 0, |none| Summary::compute(none, ignored))
    }

    /// Those of this many elements that equal the one of this summary.
    pub(crate) fn repeated(self, count: usize) -> Summary {
        Summary { count, numbers: count, ..self }
    }

    /// The mean of the elements that are not ignored.
    pub(crate) fn mean(&self) -> Option<f64> {
        let sum = self.sum.filter(|_| self.numbers > 0)?;
        Some(sum.to_f64() / to_u64(self.numbers).to_f64())
    }

    /// The standard deviation, given the sum of the squares of the distances
    /// from the mean.
    pub(crate) fn std(&self, squares: f64) -> Option<f64> {
        self.sum.filter(|_| self.numbers > 0)?;
        Some((squares / to_u64(self.numbers).to_f64()).sqrt())
    }

    /// The numbers that are not ignored, if there are any.
    pub(crate) fn population(&self, kind: Kind) -> Option<Population> {
        let count = to_u64(self.numbers);
        self.keys.map(|range| Population { count, range, kind })
    }

    /// Adds the statistics of another part of the column.
    pub(crate) fn merge(&mut self, other: Summary) {
        self.count += other.count;
        self.numbers += other.numbers;
        self.nan = joined(self.nan, other.nan, |a, b| a + b);
        self.nat = joined(self.nat, other.nat, |a, b| a + b);
        self.infinite = joined(self.infinite, other.infinite, |a, b| a + b);
        self.sum = joined(self.sum, other.sum, add);
        let (min, max) = (self.min.take(), self.max.take());
        self.min = joined(min, other.min, |a, b| if is_less(&b, &a) { b } else { a });
        self.max = joined(max, other.max, |a, b| if is_less(&a, &b) { b } else { a });
        self.keys = joined(self.keys, other.keys, |a, b| KeyRange {
            first: a.first.min(b.first),
            last: a.last.max(b.last),
        });
        self.finite = joined(self.finite, other.finite, |(min, max), (low, high)| {
            (min.min(low), max.max(high))
        });
    }
}

/// What two columns have together, of which either may have nothing.
pub(crate) fn joined<T>(a: Option<T>, b: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (a, b) => a.or(b),
    }
}

/// The summary of a column of numbers.
fn summarize_numbers<T: Key>(view: &View<'_, T>, dtype: &DType, ignored: Ignored) -> Summary {
    let stats = view.stats();
    let floats = dtype.kind() == Kind::Float;
    let sum = stats.integer_sum.map_or(Number::Float(stats.sum), Number::Int);
    let all =
        NumberStats { count: stats.count - stats.nan, sum, extremes: stats.min.zip(stats.max) };
    let finite = if stats.infinite > 0 { finite_stats(view) } else { all };
    let chosen = if ignored == Ignored::Infinite { finite } else { all };
    let (min, max) = chosen.extremes.unzip();
    Summary {
        count: stats.count,
        numbers: chosen.count,
        nan: floats.then_some(stats.nan),
        nat: None,
        infinite: floats.then_some(stats.infinite),
        sum: Some(chosen.sum),
        min: min.map(|min| to_value(&min, dtype)),
        max: max.map(|max| to_value(&max, dtype)),
        keys: chosen.extremes.map(|(min, max)| keys::range(min, max)),
        finite: finite.extremes.map(|(min, max)| (min.to_f64(), max.to_f64())),
    }
}

/// The statistics of elements that are not NaN.
#[derive(Clone, Copy, Debug)]
struct NumberStats<T> {
    count: usize,
    sum: Number,
    extremes: Option<(T, T)>,
}

/// The statistics of the finite elements of a view that has others.
fn finite_stats<T: Real>(view: &View<'_, T>) -> NumberStats<T> {
    let (mut count, mut total, mut extremes) = (0, 0.0, None);
    let mut blocks = view.blocks();
    while let Some(block) = blocks.next() {
        for part in block.chunks(2048) {
            let mut sum = 0.0;
            for &element in part.iter().filter(|element| element.to_f64().is_finite()) {
                let (min, max) = extremes.unwrap_or((element, element));
                count += 1;
                sum += element.to_f64();
                extremes = Some((
                    if element < min { element } else { min },
                    if element > max { element } else { max },
                ));
            }
            total += sum;
        }
    }
    NumberStats { count, sum: Number::Float(total), extremes }
}

/// Converts an element to a value.
fn to_value<T: Element>(number: &T, dtype: &DType) -> Value {
    let mut bytes = vec![0; dtype.itemsize()];
    let encoded = T::codec(dtype).and_then(|codec| number.encode(&codec, &mut bytes));
    encoded.expect("it is an element of this dtype");
    Value::decode(dtype, &bytes)
}

/// The summary of a column of dates or time differences.
fn summarize_dates(view: &npymap::View<'_, Ticks>, dtype: &DType) -> Summary {
    let (mut nat, mut ends) = (0, None);
    for ticks in view {
        if ticks == Ticks::NAT {
            nat += 1;
        } else {
            let (min, max) = ends.unwrap_or((ticks, ticks));
            ends = Some((ticks.min(min), ticks.max(max)));
        }
    }
    let count = view.len();
    let (min, max) = ends.unzip();
    let [min, max] = [min, max].map(|end| end.map(|ticks| to_value(&ticks, dtype)));
    Summary { count, nat: Some(nat), min, max, ..Summary::default() }
}

/// Compares values of one type.
fn is_less(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a < b,
        (Value::UInt(a), Value::UInt(b)) => a < b,
        (Value::DateTime(a, _), Value::DateTime(b, _))
        | (Value::TimeDelta(a, _), Value::TimeDelta(b, _)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}
