//! A shape on the command line, one of whose axes may be unknown.

use crate::input::lengths::{to_u64, to_usize};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use npymap::Order;
use npymap::{Error, ErrorKind, Result};

/// A shape; `None` is the axis whose length follows from the number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartialShape(Vec<Option<usize>>);

impl PartialShape {
    /// The shape of an array whose length along `axis` is not known.
    pub(crate) fn unknown_along(shape: &[usize], axis: usize) -> PartialShape {
        let dims = shape.iter().enumerate();
        PartialShape(dims.map(|(at, &dim)| (at != axis).then_some(dim)).collect())
    }

    /// The shape, if the length of all axes is known.
    pub(crate) fn known(self) -> Option<Vec<usize>> {
        self.0.into_iter().collect()
    }

    /// The bytes of the elements, if the length of all axes is known.
    pub(crate) fn known_nbytes(&self, itemsize: usize) -> Option<u64> {
        let mut dims = self.0.iter();
        dims.try_fold(to_u64(itemsize), |nbytes, dim| nbytes.checked_mul(to_u64((*dim)?)))
    }

    /// The shape of a raw file with this many bytes of elements.
    pub(crate) fn of_bytes(&self, nbytes: u64, itemsize: usize) -> Result<Vec<usize>> {
        let known = self.0.iter().flatten();
        // One that is too large divides no length.
        let step = known.fold(itemsize, |bytes, dim| bytes.saturating_mul(*dim));
        let nbytes = to_usize(nbytes);
        if self.0.contains(&None) && nbytes.checked_rem(step).unwrap_or(nbytes) != 0 {
            let text = match step {
                0 => format!(
                    "has {nbytes} bytes of elements, not a multiple of the 0 bytes of an index of axis -1: pass another shape or dtype"
                ),
                step => format!(
                    "has {nbytes} bytes of elements, not a multiple of the {step} bytes of an index of axis -1: it is incomplete, or has another shape or offset"
                ),
            };
            return Err(Error::new(ErrorKind::ShapeMismatch, text));
        }
        let unknown = nbytes.checked_div(step).unwrap_or(0);
        Ok(self.0.iter().map(|dim| dim.unwrap_or(unknown)).collect())
    }

    /// The shape of `count` elements, as NumPy's `reshape` computes it. If none
    /// fits, the number of elements differs.
    pub(crate) fn fill(&self, count: usize) -> Result<Vec<usize>> {
        // As above.
        let known =
            self.0.iter().flatten().fold(1, |product: usize, dim| product.saturating_mul(*dim));
        let dims = self.0.iter().map(|dim| dim.or_else(|| count.checked_div(known)));
        dims.collect::<Option<_>>().ok_or_else(|| {
            let text = "the length of axis -1 can't be computed if that of another one is 0: pass both lengths";
            Error::new(ErrorKind::ShapeMismatch, text)
        })
    }
}

/// Parses `(3, 4)`, `-1,64,80`, `100` or `()`.
pub(crate) fn parse(text: &str) -> Result<PartialShape, &'static str> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if inner.is_none() && text.is_empty() {
        return Err(SHAPE);
    }
    let inner = inner.unwrap_or(text).trim();
    if inner.is_empty() {
        return Ok(PartialShape(Vec::new()));
    }
    let axes = inner.strip_suffix(',').unwrap_or(inner).split(',').map(parse_dim);
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    if axes.iter().filter(|dim| dim.is_none()).count() > 1 {
        return Err("only one axis can be -1");
    }
    Ok(PartialShape(axes))
}

fn parse_dim(text: &str) -> Result<Option<usize>, &'static str> {
    match text.trim() {
        "-1" => Ok(None),
        dim => dim.parse().map(Some).map_err(|_| SHAPE),
    }
}

const SHAPE: &str = "expected a shape such as '(3, 4)', '(3,)', '()' or -1,64,80";

/// Parses a memory order.
pub(crate) fn order_parser() -> impl TypedValueParser<Value = Order> {
    let orders = [("C", "c", "The last one"), ("F", "f", "The first one")];
    let orders = orders.map(|(name, alias, help)| PossibleValue::new(name).alias(alias).help(help));
    let is_f = |name: &str| name.eq_ignore_ascii_case("F");
    PossibleValuesParser::new(orders).map(move |name| if is_f(&name) { Order::F } else { Order::C })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_axis_is_computed_from_the_length_of_a_file() {
        for (text, nbytes, expected) in [
            ("-1,64,80", 4 * 64 * 80 * 3, vec![3, 64, 80]),
            ("(2, -1)", 80, vec![2, 10]),
            ("()", 4, vec![]),
            ("(0, -1)", 0, vec![0, 0]),
            ("-1, 2147483647, 9", 0, vec![0, 2_147_483_647, 9]),
        ] {
            assert_eq!(parse(text).unwrap().of_bytes(nbytes, 4).unwrap(), expected, "{text}");
        }
        for (text, nbytes) in [("-1", 7), ("(0, -1)", 4), ("-1, 3", 16)] {
            let error = parse(text).unwrap().of_bytes(nbytes, 4).unwrap_err();
            assert!(error.to_string().contains("not a multiple of the"), "{error}");
        }
    }

    #[test]
    fn one_axis_is_computed() {
        for (text, count, expected) in [
            ("-1,64,80", 64 * 80 * 3, vec![3, 64, 80]),
            ("(2, -1)", 20, vec![2, 10]),
            ("-1", 2, vec![2]),
            ("(3,)", 0, vec![3]),
            ("()", 1, vec![]),
        ] {
            assert_eq!(parse(text).unwrap().fill(count).unwrap(), expected, "{text}");
        }
        parse("(0, -1)").unwrap().fill(0).unwrap_err();
        assert_eq!(parse("-1,-1"), Err("only one axis can be -1"));
        for text in ["", "(", "(3", "-2", "3,,4", "a", "1.5", "(,)"] {
            assert_eq!(parse(text), Err(SHAPE), "{text}");
        }
    }
}
