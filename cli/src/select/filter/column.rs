//! The values of a field, and their comparisons.

use std::cmp::Ordering;

use npymap::element::{Real, Ticks};
use npymap::{DType, Error, ErrorKind, Result, Value, dtype::Kind, view::DynView, with_type};

use super::syntax::{Comparison, Number, Operand};
use crate::input::text::code_points;

/// The values of a field, one per row.
pub(super) struct Column {
    /// The field, as in messages.
    name: String,
    dtype: DType,
    values: Values,
}

enum Values {
    Bool(Vec<bool>),
    Int(Vec<i128>),
    Float(Vec<f64>),
    /// Code points, which need not be valid Unicode.
    Text(Vec<Vec<u32>>),
    Bytes(Vec<Vec<u8>>),
    /// Dates and time differences.
    Ticks(Vec<i64>),
}

impl Comparison {
    /// The comparison with its operands exchanged.
    pub(super) fn reversed(self) -> Comparison {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
            symmetric => symmetric,
        }
    }

    /// Returns whether the comparison holds for operands in this order, which is `None` for
    /// NaN and `NaT`.
    fn holds(self, order: Option<Ordering>) -> bool {
        match (self, order) {
            (Comparison::Eq, order) => order == Some(Ordering::Equal),
            (Comparison::Ne, order) => order != Some(Ordering::Equal),
            (_, None) => false,
            (Comparison::Lt, Some(order)) => order.is_lt(),
            (Comparison::Le, Some(order)) => order.is_le(),
            (Comparison::Gt, Some(order)) => order.is_gt(),
            (Comparison::Ge, Some(order)) => order.is_ge(),
        }
    }
}

impl Values {
    /// Returns whether the comparison holds for each value and the one in the same row of
    /// `other`, or its only one; `None` if they are not compared.
    fn compare(&self, by: Comparison, other: &Values) -> Option<Vec<bool>> {
        use Values as V;
        Some(match (self, other) {
            (V::Bool(a), V::Bool(b)) => mask(a, b, |a, b| by.holds(Some(a.cmp(b)))),
            (V::Int(a), V::Int(b)) => mask(a, b, |a, b| by.holds(Some(a.cmp(b)))),
            (V::Float(a), V::Float(b)) => mask(a, b, |a, b| by.holds(a.partial_cmp(b))),
            (V::Int(a), V::Float(b)) => mask(a, b, |&a, &b| by.holds(order(a, b))),
            (V::Float(_), V::Int(_)) => return other.compare(by.reversed(), self),
            (V::Text(a), V::Text(b)) => mask(a, b, |a, b| by.holds(Some(a.cmp(b)))),
            (V::Bytes(a), V::Bytes(b)) => mask(a, b, |a, b| by.holds(Some(a.cmp(b)))),
            (V::Ticks(a), V::Ticks(b)) => mask(a, b, |&a, &b| by.holds(order_of_ticks(a, b))),
            _ => return None,
        })
    }
}

impl Column {
    pub(super) fn new(name: String, view: &DynView<'_>) -> Result<Column> {
        let dtype = view.dtype().clone();
        let values = match (dtype.kind(), dtype.itemsize()) {
            (Kind::Bool, _) => Values::Bool(view.view::<bool>()?.to_vec()),
            (Kind::Int | Kind::UInt, _) => with_type!(dtype, integer T => {
                Values::Int(view.view::<T>()?.iter().map(i128::from).collect())
            }, _ => return Err(incomparable(&name, &dtype))),
            (Kind::Float, 2 | 4 | 8) => with_type!(dtype, float T => {
                Values::Float(view.view::<T>()?.iter().map(Real::to_f64).collect())
            }, _ => return Err(incomparable(&name, &dtype))),
            (Kind::Unicode, _) => {
                Values::Text(view.element_bytes().map(|text| code_points(&dtype, text)).collect())
            }
            (Kind::Bytes, _) => Values::Bytes(view.iter().map(bytes).collect()),
            (Kind::DateTime | Kind::TimeDelta, _) => {
                Values::Ticks(view.view::<Ticks>()?.iter().map(|ticks| ticks.0).collect())
            }
            _ => return Err(incomparable(&name, &dtype)),
        };
        Ok(Column { name, dtype, values })
    }

    /// Returns which values are NaN or `NaT`.
    pub(super) fn is_nan(&self) -> Result<Vec<bool>> {
        match &self.values {
            Values::Float(values) => Ok(values.iter().map(|value| value.is_nan()).collect()),
            Values::Ticks(values) => Ok(values.iter().map(|&value| is_nat(value)).collect()),
            _ => Err(self.mismatch("isnan() is for floats, dates and time differences")),
        }
    }

    /// Returns which values are true.
    pub(super) fn is_true(&self) -> Result<Vec<bool>> {
        match &self.values {
            Values::Bool(values) => Ok(values.clone()),
            _ => Err(self.mismatch("only a boolean is a condition by itself: compare it")),
        }
    }

    /// Compares each value with a constant.
    pub(super) fn compare_with(&self, by: Comparison, constant: &Operand) -> Result<Vec<bool>> {
        use Values as V;
        let constant = match (&self.values, constant) {
            (V::Bool(_), Operand::Bool(bool)) => V::Bool(vec![*bool]),
            (V::Int(_), Operand::Number(Number::Int(number))) => V::Int(vec![*number]),
            (V::Int(_), Operand::Number(Number::Float(number))) => V::Float(vec![*number]),
            (V::Float(_), Operand::Number(number)) => V::Float(vec![self.rounded(*number)?]),
            (V::Text(_), Operand::Text(text)) => {
                V::Text(vec![text.chars().map(u32::from).collect()])
            }
            (V::Bytes(_), Operand::Text(text)) => V::Bytes(vec![text.clone().into_bytes()]),
            (V::Ticks(_), Operand::Text(text)) => V::Ticks(vec![self.ticks(text)?]),
            (V::Ticks(_), Operand::Number(Number::Int(count)))
                if self.dtype.kind() == Kind::TimeDelta =>
            {
                V::Ticks(vec![self.ticks(&count.to_string())?])
            }
            _ => {
                let text = format!("it is not compared with {constant}: {}", self.expected());
                return Err(self.mismatch(&text));
            }
        };
        Ok(self.values.compare(by, &constant).expect("the constant is of their type"))
    }

    /// Compares each value with a second field in the same row.
    pub(super) fn compare(&self, by: Comparison, other: &Column) -> Result<Vec<bool>> {
        let units = [self, other].map(|column| (column.dtype.kind(), column.dtype.unit()));
        let is_other_unit = matches!(self.values, Values::Ticks(_)) && units[0] != units[1];
        let mask = if is_other_unit { None } else { self.values.compare(by, &other.values) };
        mask.ok_or_else(|| {
            let text = format!("it is not compared with {} of dtype {}", other.name, other.dtype);
            self.mismatch(&text)
        })
    }

    /// A constant rounded to the field's type, as NumPy does: `x == 0.1` holds for
    /// the `f4` that is nearest to 0.1.
    fn rounded(&self, number: Number) -> Result<f64> {
        let text = match number {
            Number::Int(int) => int.to_string(),
            Number::Float(float) => float.to_string(),
        };
        let Ok(value) = Value::parse(&text, &self.dtype) else {
            // Too large for the type.
            return Ok(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
        };
        value.as_f64().ok_or_else(|| self.mismatch("it is not a number"))
    }

    /// A date or a time difference in the field's unit.
    fn ticks(&self, text: &str) -> Result<i64> {
        match Value::parse(text, &self.dtype)? {
            Value::DateTime(ticks, _) | Value::TimeDelta(ticks, _) if ticks == Ticks::NAT => {
                Err(self.mismatch("nothing compares equal to NaT: write `isnan(FIELD)`"))
            }
            Value::DateTime(ticks, _) | Value::TimeDelta(ticks, _) => Ok(ticks.0),
            _ => Err(self.mismatch(self.expected())),
        }
    }

    /// Advice on values to compare the field with.
    fn expected(&self) -> &'static str {
        match self.values {
            Values::Bool(_) => "write True or False",
            Values::Int(_) | Values::Float(_) => "write a number",
            Values::Text(_) | Values::Bytes(_) => "write text in quotes",
            Values::Ticks(_) if self.dtype.kind() == Kind::DateTime => {
                "write a date of its unit in quotes, such as \"2020-02-29\" for days"
            }
            Values::Ticks(_) => "write a count of its unit",
        }
    }

    fn mismatch(&self, what: &str) -> Error {
        let text = format!("{} has dtype {}: {what}", self.name, self.dtype);
        Error::new(ErrorKind::DTypeMismatch, text)
    }
}

fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => Vec::new(),
    }
}

fn incomparable(name: &str, dtype: &DType) -> Error {
    let text = format!("{name} has dtype {dtype}, which cannot be compared");
    Error::new(ErrorKind::DTypeMismatch, text)
}

fn mask<A, B>(a: &[A], b: &[B], holds: impl Fn(&A, &B) -> bool) -> Vec<bool> {
    match b {
        [b] => a.iter().map(|a| holds(a, b)).collect(),
        _ => a.iter().zip(b).map(|(a, b)| holds(a, b)).collect(),
    }
}

fn is_nat(ticks: i64) -> bool {
    Ticks(ticks) == Ticks::NAT
}

fn order_of_ticks(a: i64, b: i64) -> Option<Ordering> {
    (!is_nat(a) && !is_nat(b)).then(|| a.cmp(&b))
}

/// The order of an integer of at most 64 bits and a float, which NaN does not have.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it is whole, or far")]
fn order(value: i128, float: f64) -> Option<Ordering> {
    let is_less = if float.fract() == 0.0 { Ordering::Equal } else { Ordering::Less };
    (!float.is_nan()).then(|| value.cmp(&(float.floor() as i128)).then(is_less))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_compared_exactly() {
        let large = (1_i128 << 53) + 1;
        for (value, float, order) in [
            (large, 9_007_199_254_740_992.0, Some(Ordering::Greater)),
            (3, 3.5, Some(Ordering::Less)),
            (4, 3.5, Some(Ordering::Greater)),
            (-4, -3.5, Some(Ordering::Less)),
            (-3, -3.5, Some(Ordering::Greater)),
            (0, -0.0, Some(Ordering::Equal)),
            (i64::MAX.into(), 1e300, Some(Ordering::Less)),
            (i64::MIN.into(), -f64::INFINITY, Some(Ordering::Greater)),
            (0, f64::NAN, None),
        ] {
            assert_eq!(super::order(value, float), order, "{value} {float}");
        }
    }
}
