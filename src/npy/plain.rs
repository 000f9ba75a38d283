//! A short way through the headers that NumPy writes for plain types.
//!
//! Most files have one. Reading it word by word takes a third of the
//! instructions of the dictionary's reader and, after the system calls of an
//! open have cooled the branch predictors, a quarter of the time; see
//! `benches/`. Whatever looks different goes to the reader, and a test holds
//! that both agree.

use crate::dtype::{DType, MAX_NDIM};
use crate::layout::Order;

/// What the three keys say.
pub(super) type Values = (DType, Order, Vec<usize>);

/// What NumPy's padding looks like at its longest for a plain type.
const PADDING: &str = "                                                                                                                                ";

/// Reads `{'descr': '…', 'fortran_order': …, 'shape': (…), }` and padding.
pub(super) fn read(text: &str) -> Option<Values> {
    let rest = text.strip_prefix("{'descr': '")?;
    let (typestr, rest) =
        rest.split_at_checked(rest.as_bytes().iter().position(|&b| b == b'\'')?)?;
    let rest = rest.strip_prefix("', 'fortran_order': ")?;
    let (order, rest) = match rest.strip_prefix("False, 'shape': (") {
        Some(rest) => (Order::C, rest),
        None => (Order::F, rest.strip_prefix("True, 'shape': (")?),
    };
    let (shape, rest) = shape(rest)?;
    let padding = rest.strip_prefix("), }")?.strip_suffix('\n')?;
    let is_padding = PADDING.get(..padding.len())? == padding;
    let dtype = if typestr.contains('\\') { None } else { DType::plain(typestr) };
    if is_padding { Some((dtype?, order, shape)) } else { None }
}

/// Reads `3, 4`, `3,` or nothing.
fn shape(text: &str) -> Option<(Vec<usize>, &str)> {
    let mut shape = Vec::with_capacity(4);
    let mut rest = text;
    while !rest.starts_with(')') {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(digits)?;
        if number.is_empty() || (number.starts_with('0') && digits > 1) || shape.len() == MAX_NDIM {
            return None;
        }
        shape.push(number.parse::<isize>().ok()?.unsigned_abs());
        rest = match after.strip_prefix(", ") {
            Some(next) => Some(next).filter(|next| next.starts_with(|c: char| c.is_ascii_digit())),
            None if shape.len() == 1 => {
                after.strip_prefix(',').filter(|rest| rest.starts_with(')'))
            }
            None => Some(after).filter(|after| after.starts_with(')')),
        }?;
    }
    Some((shape, rest))
}

#[cfg(test)]
mod tests {
    use super::super::header::dictionary;
    use super::*;

    #[test]
    fn the_short_way_leads_where_the_long_one_does() {
        for dtype in ["<f8", "|b1", ">U7", "<M8[25s]", "|V0"] {
            for (order, shape) in
                [("False", "()"), ("True", "(3,)"), ("False", "(3, 4)"), ("True", "(0, 1, 12)")]
            {
                let text = format!(
                    "{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}   \n"
                );
                let (dtype, order, shape) = dictionary(&text, true).unwrap();
                assert_eq!(read(&text), Some((dtype, order, shape)), "{text}");
            }
        }
    }

    #[test]
    fn whatever_looks_different_takes_the_long_way() {
        for text in [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,4), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, ), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4,), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (03, 4), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (,), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } x\n",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,), }\n",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }\n",
            "{'descr': '<f\\x38', 'fortran_order': False, 'shape': (3, 4), }\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
