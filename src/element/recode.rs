//! Elements as other bytes: numbers in one byte order, padding as zeros.
//!
//! Bytes are moved and reversed, never decoded, so that what no type can say
//! (invalid text, `True` as 2) stays what it is.

use crate::dtype::{ByteOrder, DType, Kind};
use crate::kernel::ElementFormat;

/// The widest numbers that kernels reverse on their way.
const WIDEST: usize = 8;

/// How elements of one dtype are copied: by a kernel, and then changed where
/// they are.
#[derive(Clone, Debug)]
pub(crate) struct Recoding {
    pub(crate) format: ElementFormat,
    fixes: Vec<Fix>,
}

/// A change to a part of an element, from its byte `at` on.
#[derive(Clone, Debug)]
enum Fix {
    Zero {
        at: usize,
        len: usize,
    },
    /// Reverses each `width` bytes.
    Swap {
        at: usize,
        len: usize,
        width: usize,
    },
    /// Changes elements of `size` bytes that follow each other.
    Each {
        at: usize,
        count: usize,
        size: usize,
        fixes: Vec<Fix>,
    },
}

impl Recoding {
    /// Plans copies whose numbers are in `order`, or stay in their own, and
    /// whose padding is zero if `zero_padding`.
    pub(crate) fn new(dtype: &DType, order: Option<ByteOrder>, zero_padding: bool) -> Recoding {
        let size = dtype.itemsize();
        let is_one = !matches!(dtype.kind(), Kind::Struct | Kind::Subarray | Kind::Unicode);
        let number = width(dtype);
        if is_one && number <= WIDEST {
            let swap = order.is_some_and(|order| differs(dtype, order));
            return Recoding { format: ElementFormat { size, number, swap }, fixes: Vec::new() };
        }
        let mut fixes = Vec::new();
        add(&mut fixes, dtype, 0, order, zero_padding);
        Recoding { format: ElementFormat::opaque(size), fixes }
    }

    /// True when a kernel does all of it.
    pub(crate) fn is_single_copy(&self) -> bool {
        self.fixes.is_empty()
    }

    /// True when copies are the same bytes.
    pub(crate) fn is_identity(&self) -> bool {
        !self.format.swap && self.fixes.is_empty()
    }

    /// Finishes elements that a kernel copied.
    pub(crate) fn finish(&self, bytes: &mut [u8]) {
        if !self.fixes.is_empty() && self.format.size > 0 {
            bytes.chunks_exact_mut(self.format.size).for_each(|element| fix(&self.fixes, element));
        }
    }
}

fn add(fixes: &mut Vec<Fix>, dtype: &DType, at: usize, order: Option<ByteOrder>, zero: bool) {
    let len = dtype.itemsize();
    if dtype.kind() == Kind::Struct {
        return add_fields(fixes, dtype, at, order, zero);
    }
    if let Some((base, shape)) = dtype.subarray() {
        let mut inner = Vec::new();
        add(&mut inner, base, 0, order, zero);
        match inner.as_slice() {
            [] => {}
            [Fix::Swap { at: 0, len: one, width }] if *one == base.itemsize() => {
                fixes.push(Fix::Swap { at, len, width: *width });
            }
            _ => {
                let (count, size) = (shape.iter().product(), base.itemsize());
                fixes.push(Fix::Each { at, count, size, fixes: inner });
            }
        }
    } else if len > 0 && order.is_some_and(|order| differs(dtype, order)) {
        fixes.push(Fix::Swap { at, len, width: width(dtype) });
    }
}

/// Goes through fields, and what lies between them, in the order of bytes.
fn add_fields(
    fixes: &mut Vec<Fix>,
    dtype: &DType,
    at: usize,
    order: Option<ByteOrder>,
    zero: bool,
) {
    let mut fields: Vec<_> = dtype.fields().iter().collect();
    fields.sort_by_key(|field| field.offset);
    let mut covered = 0;
    let pad = |fixes: &mut Vec<Fix>, from: usize, to: usize| {
        if zero && from < to {
            fixes.push(Fix::Zero { at: at + from, len: to - from });
        }
    };
    for field in fields {
        pad(fixes, covered, field.offset);
        add(fixes, &field.dtype, at + field.offset, order, zero);
        covered = covered.max(field.offset + field.dtype.itemsize());
    }
    pad(fixes, covered, dtype.itemsize());
}

fn fix(fixes: &[Fix], element: &mut [u8]) {
    for change in fixes {
        match change {
            Fix::Zero { at, len } => part(element, *at, *len).fill(0),
            Fix::Swap { at, len, width } => {
                part(element, *at, *len).chunks_exact_mut(*width).for_each(<[u8]>::reverse);
            }
            Fix::Each { at, count, size, fixes } => {
                let elements = part(element, *at, count * size).chunks_exact_mut((*size).max(1));
                elements.for_each(|element| fix(fixes, element));
            }
        }
    }
}

fn part(element: &mut [u8], at: usize, len: usize) -> &mut [u8] {
    element.get_mut(at..at + len).expect("fields lie inside their element")
}

/// True when a scalar's bytes are in another order.
fn differs(dtype: &DType, order: ByteOrder) -> bool {
    let own = dtype.byte_order();
    own != ByteOrder::NotApplicable && own != order && width(dtype) > 1
}

/// The bytes of a scalar that are reversed together.
fn width(dtype: &DType) -> usize {
    match dtype.kind() {
        Kind::Complex => dtype.itemsize() / 2,
        Kind::Unicode => 4,
        _ => dtype.itemsize(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel;

    fn little(descr: &str, from: &[u8]) -> Vec<u8> {
        let recode = Recoding::new(&descr.parse().unwrap(), Some(ByteOrder::Little), true);
        let mut to = vec![0xFF; from.len()];
        kernel::copy(recode.format, from, recode.format.size, &mut to);
        recode.finish(&mut to);
        to
    }

    #[test]
    fn numbers_are_reversed_by_their_parts() {
        assert_eq!(little(">u2", &[1, 2, 3, 4]), [2, 1, 4, 3]);
        assert_eq!(little("<u2", &[1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(little(">c8", &[1, 2, 3, 4, 5, 6, 7, 8]), [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(little(">U1", &[0, 0, 0, 65]), [65, 0, 0, 0]);
        assert_eq!(little("|b1", &[2, 0]), [2, 0]);
        let long: Vec<u8> = (0..16).collect();
        assert_eq!(little(">f16", &long), (0..16).rev().collect::<Vec<_>>());
    }

    #[test]
    fn padding_is_zero_and_fields_are_by_themselves() {
        let descr = "[('a', '|u1'), ('', '|V1'), ('b', '>u2', (2,)), ('c', [('x', '>u2'), ('', '|V1')], (2,))]";
        let from: Vec<u8> = (1..=12).collect();
        assert_eq!(little(descr, &from), [1, 0, 4, 3, 6, 5, 8, 7, 0, 11, 10, 0]);
    }

    #[test]
    fn what_is_the_same_is_known_to_be() {
        let same = |descr: &str| {
            Recoding::new(&descr.parse().unwrap(), Some(ByteOrder::Little), true).is_identity()
        };
        for descr in ["<f8", "[('a', '|u1'), ('b', '<u2', (2,)), ('c', '|S3')]", "|V0", "[]", "<U3"]
        {
            assert!(same(descr), "{descr}");
        }
        for descr in ["[('a', '|u1'), ('b', '>u2')]", "[('a', '|u1'), ('', '|V1')]", ">U3"] {
            assert!(!same(descr), "{descr}");
        }
    }
}
