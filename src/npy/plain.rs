//! A fast path for the headers that NumPy writes for scalar dtypes; the limits of
//! `header.rs` apply here too.
//!
//! Most files have such a header. Matching it literally takes a third of the
//! instructions of the general parser and, after the system calls of opening a
//! file have cooled the branch predictors, a quarter of the time; see
//! `benches/`. All other headers go to the general parser, and a test checks
//! that both agree.

use crate::dtype::{DType, MAX_NDIM};
use crate::layout::Order;

/// The values of the three keys.
pub(super) type HeaderValues = (DType, Order, Vec<usize>);

/// The longest padding that NumPy writes for a scalar dtype.
const PADDING: &[u8] = b"                                                                                                                                ";

/// Parses `{'descr': '…', 'fortran_order': …, 'shape': (…), }` and padding;
/// `None` for any other header.
pub(super) fn parse(text: &[u8]) -> Option<HeaderValues> {
    let rest = text.strip_prefix(b"{'descr': '")?;
    let (typestr, rest) = rest.split_at_checked(rest.iter().position(|&b| b == b'\'')?)?;
    let rest = rest.strip_prefix(b"', 'fortran_order': ")?;
    let (order, rest) = match rest.strip_prefix(b"False, 'shape': (") {
        Some(rest) => (Order::C, rest),
        None => (Order::F, rest.strip_prefix(b"True, 'shape': (")?),
    };
    let (shape, rest) = parse_shape(rest)?;
    let padding = rest.strip_prefix(b"), }")?.strip_suffix(b"\n")?;
    if PADDING.get(..padding.len())? != padding || typestr.contains(&b'\\') {
        return None;
    }
    Some((DType::from_typestr(std::str::from_utf8(typestr).ok()?)?, order, shape))
}

/// Parses `3, 4`, `3,` or nothing.
fn parse_shape(text: &[u8]) -> Option<(Vec<usize>, &[u8])> {
    let mut shape = Vec::with_capacity(4);
    let mut rest = text;
    while !at_end(rest) {
        let (dim, after) = parse_dim(rest)?;
        if shape.len() == MAX_NDIM {
            return None;
        }
        shape.push(dim);
        rest = match after.strip_prefix(b", ") {
            Some(next) => Some(next).filter(|next| next.first().is_some_and(u8::is_ascii_digit)),
            None if shape.len() == 1 => after.strip_prefix(b",").filter(|rest| at_end(rest)),
            None => Some(after).filter(|after| at_end(after)),
        }?;
    }
    Some((shape, rest))
}

/// Parses the length of an axis, without leading zeros.
fn parse_dim(text: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_isize;
    let mut rest = text;
    while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
        value = value.checked_mul(10)?.checked_add(isize::from(digit - b'0'))?;
        rest = after;
    }
    let digits = text.len() - rest.len();
    let is_canonical = digits == 1 || (digits > 1 && text.first() != Some(&b'0'));
    Some((value.unsigned_abs(), rest)).filter(|_| is_canonical)
}

/// Whether the closing parenthesis is next.
fn at_end(text: &[u8]) -> bool {
    text.first() == Some(&b')')
}

#[cfg(test)]
mod tests {
    use super::super::header::parse_dictionary;
    use super::*;

    #[test]
    fn both_parsers_agree() {
        for dtype in ["<f8", "|b1", ">U7", "<M8[25s]", "|V0"] {
            for (order, shape) in
                [("False", "()"), ("True", "(3,)"), ("False", "(3, 4)"), ("True", "(0, 1, 12)")]
            {
                let text = format!(
                    "{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}   \n"
                );
                let ((dtype, order, shape), _) = parse_dictionary(&text, true).unwrap();
                assert_eq!(parse(text.as_bytes()), Some((dtype, order, shape)), "{text}");
            }
        }
    }

    #[test]
    fn other_headers_are_left_to_the_general_parser() {
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
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
