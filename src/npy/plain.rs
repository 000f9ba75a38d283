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
pub(super) type HeaderValues = (DType, Order, Vec<usize>);

/// What NumPy's padding looks like at its longest for a plain type.
const PADDING: &[u8] = b"                                                                                                                                ";

/// Reads `{'descr': '…', 'fortran_order': …, 'shape': (…), }` and padding.
pub(super) fn read(text: &[u8]) -> Option<HeaderValues> {
    let rest = text.strip_prefix(b"{'descr': '")?;
    let (typestr, rest) = rest.split_at_checked(rest.iter().position(|&b| b == b'\'')?)?;
    let rest = rest.strip_prefix(b"', 'fortran_order': ")?;
    let (order, rest) = match rest.strip_prefix(b"False, 'shape': (") {
        Some(rest) => (Order::C, rest),
        None => (Order::F, rest.strip_prefix(b"True, 'shape': (")?),
    };
    let (shape, rest) = shape(rest)?;
    let padding = rest.strip_prefix(b"), }")?.strip_suffix(b"\n")?;
    if PADDING.get(..padding.len())? != padding || typestr.contains(&b'\\') {
        return None;
    }
    Some((DType::from_typestr(std::str::from_utf8(typestr).ok()?)?, order, shape))
}

/// Reads `3, 4`, `3,` or nothing.
fn shape(text: &[u8]) -> Option<(Vec<usize>, &[u8])> {
    let mut shape = Vec::with_capacity(4);
    let mut rest = text;
    while !ends(rest) {
        let (dim, after) = dim(rest)?;
        if shape.len() == MAX_NDIM {
            return None;
        }
        shape.push(dim);
        rest = match after.strip_prefix(b", ") {
            Some(next) => Some(next).filter(|next| next.first().is_some_and(u8::is_ascii_digit)),
            None if shape.len() == 1 => after.strip_prefix(b",").filter(|rest| ends(rest)),
            None => Some(after).filter(|after| ends(after)),
        }?;
    }
    Some((shape, rest))
}

/// Reads a number that a length can be, without a leading zero.
fn dim(text: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_isize;
    let mut rest = text;
    while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
        value = value.checked_mul(10)?.checked_add(isize::from(digit - b'0'))?;
        rest = after;
    }
    let digits = text.len() - rest.len();
    let is_plain = digits == 1 || (digits > 1 && text.first() != Some(&b'0'));
    Some((value.unsigned_abs(), rest)).filter(|_| is_plain)
}

fn ends(text: &[u8]) -> bool {
    text.first() == Some(&b')')
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
                assert_eq!(read(text.as_bytes()), Some((dtype, order, shape)), "{text}");
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
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
