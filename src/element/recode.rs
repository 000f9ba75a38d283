//! Plans how elements are copied to another byte order, or with padding zeroed.
//!
//! Bytes are moved and reversed, never decoded, so values that no Rust type can
//! represent (invalid text, `True` stored as 2) stay the same.

use std::ops::Range;

use crate::dtype::{ByteOrder, DType, Field, Kind};
use crate::kernel::ElementFormat;

/// The widest numbers that kernels can reverse while copying.
const MAX_KERNEL_WIDTH: usize = 8;

/// How elements of one dtype are copied: by a kernel, then fixed in place.
#[derive(Clone, Debug)]
pub(crate) struct Recoding {
    pub(crate) format: ElementFormat,
    fixes: Vec<Fix>,
}

/// A change to the bytes of an element from `offset` on.
#[derive(Clone, Debug)]
enum Fix {
    Zero {
        offset: usize,
        len: usize,
    },
    /// Reverses every `width` bytes.
    Swap {
        offset: usize,
        len: usize,
        width: usize,
    },
    /// Fixes `count` contiguous items of `size` bytes.
    Each {
        offset: usize,
        count: usize,
        size: usize,
        fixes: Vec<Fix>,
    },
    /// Fixes fields that overlap, each from the original bytes, in order.
    Overlapping {
        offset: usize,
        len: usize,
        fields: Vec<FieldFixes>,
        zero_padding: bool,
    },
}

/// The fixes of one field among overlapping fields. They zero its padding,
/// which is not copied.
#[derive(Clone, Debug)]
struct FieldFixes {
    offset: usize,
    len: usize,
    fixes: Vec<Fix>,
}

impl Recoding {
    /// Plans copies with numbers in `order` (`None` keeps theirs), and with
    /// padding zeroed if `zero_padding` is set.
    #[inline]
    pub(crate) fn new(dtype: &DType, order: Option<ByteOrder>, zero_padding: bool) -> Recoding {
        let size = dtype.itemsize();
        let is_scalar = !matches!(dtype.kind(), Kind::Struct | Kind::Subarray | Kind::Unicode);
        let number = swap_width(dtype);
        if is_scalar && number <= MAX_KERNEL_WIDTH {
            let swap = is_swapped(dtype, order);
            return Recoding { format: ElementFormat { size, number, swap }, fixes: Vec::new() };
        }
        let mut fixes = FixList { order, zero_padding, fixes: Vec::new() };
        fixes.add(dtype, 0);
        Recoding { format: ElementFormat::opaque(size), fixes: fixes.fixes }
    }

    /// Returns whether a kernel does everything, so that there is nothing to
    /// [`finish`](Recoding::finish).
    #[inline]
    pub(crate) fn is_single_copy(&self) -> bool {
        self.fixes.is_empty()
    }

    /// Returns whether the copied bytes are unchanged.
    #[inline]
    pub(crate) fn is_identity(&self) -> bool {
        !self.format.swap && self.fixes.is_empty()
    }

    /// Copies an element, except for its bytes that belong to no field, which have to be
    /// among the fixes.
    #[inline]
    pub(crate) fn copy_between_gaps(&self, from: &[u8], to: &mut [u8]) {
        copy_between_gaps(&self.fixes, from, to);
    }

    /// Fixes elements that a kernel has copied.
    #[inline]
    pub(crate) fn finish(&self, bytes: &mut [u8]) {
        if !self.fixes.is_empty() && self.format.size > 0 {
            let elements = bytes.chunks_exact_mut(self.format.size);
            elements.for_each(|element| apply(&self.fixes, element));
        }
    }
}

/// The fixes of one element, while they are planned.
struct FixList {
    order: Option<ByteOrder>,
    zero_padding: bool,
    fixes: Vec<Fix>,
}

impl FixList {
    #[inline]
    fn add(&mut self, dtype: &DType, offset: usize) {
        let len = dtype.itemsize();
        // A subarray without bytes can have more items than fit into a `usize`.
        if len == 0 {
            return;
        }
        if dtype.kind() == Kind::Struct {
            return self.add_fields(dtype, offset);
        }
        if let Some((base, shape)) = dtype.subarray() {
            let fixes = self.plan(base);
            match fixes.as_slice() {
                [] => {}
                // Numbers without gaps are swapped as one run.
                [Fix::Swap { offset: 0, len: item_len, width }] if *item_len == base.itemsize() => {
                    self.fixes.push(Fix::Swap { offset, len, width: *width });
                }
                _ => {
                    let (count, size) = (shape.iter().product(), base.itemsize());
                    self.fixes.push(Fix::Each { offset, count, size, fixes });
                }
            }
        } else if is_swapped(dtype, self.order) {
            self.fixes.push(Fix::Swap { offset, len, width: swap_width(dtype) });
        }
    }

    /// Adds the fields of a struct and the gaps between them, by offset.
    #[inline]
    fn add_fields(&mut self, dtype: &DType, offset: usize) {
        let mut fields: Vec<&Field> = dtype.fields().iter().collect();
        fields.sort_by_key(|field| field.offset);
        let overlaps = overlap(&fields);
        if overlaps && self.add_overlapping(dtype, offset) {
            return;
        }
        let mut covered = 0;
        for field in fields {
            self.add_padding(offset, covered..field.offset);
            if !overlaps {
                self.add(&field.dtype, offset + field.offset);
            }
            covered = covered.max(field.range().end);
        }
        self.add_padding(offset, covered..dtype.itemsize());
    }

    /// Adds a struct with overlapping fields, if one of them has fixes. Each
    /// field is planned once, however deep it is.
    #[inline]
    fn add_overlapping(&mut self, dtype: &DType, offset: usize) -> bool {
        let plan = FixList { order: self.order, zero_padding: true, fixes: Vec::new() };
        let fields = dtype.fields().iter().map(|field| {
            let (offset, len) = (field.offset, field.dtype.itemsize());
            FieldFixes { offset, len, fixes: plan.plan(&field.dtype) }
        });
        let (len, fields) = (dtype.itemsize(), fields.collect::<Vec<_>>());
        let zero_padding = self.zero_padding;
        let has_fixes = fields.iter().any(|field| has_fixes(&field.fixes, zero_padding));
        if has_fixes {
            self.fixes.push(Fix::Overlapping { offset, len, fields, zero_padding });
        }
        has_fixes
    }

    /// The fixes of a single element.
    #[inline]
    fn plan(&self, dtype: &DType) -> Vec<Fix> {
        let mut own = FixList { fixes: Vec::new(), ..*self };
        own.add(dtype, 0);
        own.fixes
    }

    /// Adds a gap in a struct, if there is one: fields can overlap.
    #[inline]
    fn add_padding(&mut self, offset: usize, gap: Range<usize>) {
        if self.zero_padding && !gap.is_empty() {
            self.fixes.push(Fix::Zero { offset: offset + gap.start, len: gap.len() });
        }
    }
}

/// Returns whether some fixes change bytes of fields, or padding if that is zeroed.
#[inline]
fn has_fixes(fixes: &[Fix], zero_padding: bool) -> bool {
    fixes.iter().any(|fix| match fix {
        Fix::Zero { .. } => zero_padding,
        Fix::Swap { .. } => true,
        Fix::Each { fixes, .. } => has_fixes(fixes, zero_padding),
        Fix::Overlapping { fields, .. } => {
            fields.iter().any(|field| has_fixes(&field.fixes, zero_padding))
        }
    })
}

/// Returns whether fields, which are sorted by offset, have bytes in common.
#[inline]
fn overlap(fields: &[&Field]) -> bool {
    let mut covered = 0;
    fields.iter().filter(|field| field.dtype.itemsize() > 0).any(|field| {
        let is_free = field.offset >= covered;
        covered = covered.max(field.range().end);
        !is_free
    })
}

/// Returns whether some bytes of the elements may belong to no field.
#[inline]
pub(crate) fn has_gaps(dtype: &DType) -> bool {
    matches!(dtype.kind(), Kind::Struct | Kind::Subarray)
        && !Recoding::new(dtype, None, true).is_single_copy()
}

#[inline]
fn copy_between_gaps(fixes: &[Fix], from: &[u8], to: &mut [u8]) {
    let mut at = 0;
    for fix in fixes {
        let (offset, len) = match fix {
            Fix::Swap { .. } => continue,
            Fix::Each { offset, count, size, .. } => (*offset, count * size),
            Fix::Zero { offset, len } | Fix::Overlapping { offset, len, .. } => (*offset, *len),
        };
        // Fields can overlap.
        if let Some(before) = offset.checked_sub(at) {
            bytes_mut(to, at, before).copy_from_slice(bytes(from, at, before));
        }
        let (part, to) = (bytes(from, offset, len), bytes_mut(to, offset, len));
        match fix {
            Fix::Each { size, fixes, .. } => {
                let items = part.chunks_exact(*size).zip(to.chunks_exact_mut(*size));
                items.for_each(|(from, item)| copy_between_gaps(fixes, from, item));
            }
            Fix::Overlapping { fields, .. } => {
                for FieldFixes { offset, len, fixes } in fields {
                    let (from, to) = (bytes(part, *offset, *len), bytes_mut(to, *offset, *len));
                    copy_between_gaps(fixes, from, to);
                }
            }
            Fix::Zero { .. } | Fix::Swap { .. } => {}
        }
        at = at.max(offset + len);
    }
    let rest = from.len() - at;
    bytes_mut(to, at, rest).copy_from_slice(bytes(from, at, rest));
}

#[inline]
fn apply(fixes: &[Fix], element: &mut [u8]) {
    for fix in fixes {
        match fix {
            Fix::Zero { offset, len } => bytes_mut(element, *offset, *len).fill(0),
            Fix::Swap { offset, len, width } => {
                let numbers = bytes_mut(element, *offset, *len).chunks_exact_mut(*width);
                numbers.for_each(<[u8]>::reverse);
            }
            Fix::Each { offset, count, size, fixes } => {
                let items = bytes_mut(element, *offset, count * size);
                items.chunks_exact_mut(*size).for_each(|item| apply(fixes, item));
            }
            Fix::Overlapping { offset, len, fields, zero_padding } => {
                let to = bytes_mut(element, *offset, *len);
                let from = to.to_vec();
                if *zero_padding {
                    to.fill(0);
                }
                for field in fields {
                    let mut own = bytes(&from, field.offset, field.len).to_vec();
                    apply(&field.fixes, &mut own);
                    copy_between_gaps(&field.fixes, &own, bytes_mut(to, field.offset, field.len));
                }
            }
        }
    }
}

#[inline]
fn bytes(element: &[u8], offset: usize, len: usize) -> &[u8] {
    element.get(offset..offset + len).expect("fields lie inside their element")
}

#[inline]
fn bytes_mut(element: &mut [u8], offset: usize, len: usize) -> &mut [u8] {
    element.get_mut(offset..offset + len).expect("fields lie inside their element")
}

/// Returns whether the bytes of a scalar must be reversed for `order`.
#[inline]
fn is_swapped(dtype: &DType, order: Option<ByteOrder>) -> bool {
    let stored = dtype.byte_order();
    ![order, Some(stored)].contains(&Some(ByteOrder::NotApplicable))
        && order.is_some_and(|order| order != stored)
        && swap_width(dtype) > 1
}

/// How many bytes of a scalar are reversed together.
#[inline]
fn swap_width(dtype: &DType) -> usize {
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

    fn to_little_endian(descr: &str, from: &[u8]) -> Vec<u8> {
        let recode = Recoding::new(&descr.parse().unwrap(), Some(ByteOrder::Little), true);
        let mut to = vec![0xFF; from.len()];
        kernel::copy(recode.format, from, recode.format.size, &mut to);
        recode.finish(&mut to);
        to
    }

    #[test]
    fn the_parts_of_complex_numbers_and_text_are_swapped_separately() {
        assert_eq!(to_little_endian(">u2", &[1, 2, 3, 4]), [2, 1, 4, 3]);
        assert_eq!(to_little_endian("<u2", &[1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(to_little_endian(">c8", &[1, 2, 3, 4, 5, 6, 7, 8]), [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(to_little_endian(">U1", &[0, 0, 0, 65]), [65, 0, 0, 0]);
        assert_eq!(to_little_endian("|b1", &[2, 0]), [2, 0]);
        let long: Vec<u8> = (0..16).collect();
        assert_eq!(to_little_endian(">f16", &long), (0..16).rev().collect::<Vec<_>>());
    }

    #[test]
    fn padding_is_zeroed_and_fields_are_swapped_separately() {
        let descr = "[('a', '|u1'), ('', '|V1'), ('b', '>u2', (2,)), ('c', [('x', '>u2'), ('', '|V1')], (2,))]";
        let from: Vec<u8> = (1..=12).collect();
        assert_eq!(to_little_endian(descr, &from), [1, 0, 4, 3, 6, 5, 8, 7, 0, 11, 10, 0]);
    }

    fn overlapping(formats: &str, offsets: &str, itemsize: usize) -> String {
        format!(
            "{{'names': ['a', 'b'], 'formats': [{formats}], 'offsets': [{offsets}], \
             'itemsize': {itemsize}}}"
        )
    }

    #[test]
    fn fields_that_overlap_are_fixed_one_by_one() {
        // A field in the padding of another one is not padding.
        let in_padding = overlapping("[('x', '|u1'), ('', '|V3')], '|u1'", "0, 2", 5);
        assert_eq!(to_little_endian(&in_padding, &[1, 2, 3, 4, 5]), [1, 0, 3, 0, 0]);
        // Swapped once, from the original bytes.
        let union = overlapping("'>f4', '>i4'", "0, 0", 4);
        assert_eq!(to_little_endian(&union, &[1, 2, 3, 4]), [4, 3, 2, 1]);
        let part = overlapping("'>u4', '>u2'", "0, 2", 5);
        assert_eq!(to_little_endian(&part, &[1, 2, 3, 4, 5]), [4, 3, 4, 3, 0]);
        let twice = format!("[('f', {part}, (2,)), ('g', '>u2')]");
        let from: Vec<u8> = (1..=12).collect();
        let expected = [4, 3, 4, 3, 0, 9, 8, 9, 8, 0, 12, 11];
        assert_eq!(to_little_endian(&twice, &from), expected);
        let is_identity = |descr: &str, zero_padding| {
            Recoding::new(&descr.parse().unwrap(), None, zero_padding).is_identity()
        };
        assert!(is_identity(&in_padding, false) && is_identity(&union, true));
        assert!(!is_identity(&in_padding, true));
        // Deep ones are planned once.
        let mut deep = "[('x', '|u1'), ('', '|V1'), ('z', '>u2')]".to_owned();
        let levels = if cfg!(miri) { 9 } else { 90 };
        for _ in 0..levels {
            deep = overlapping(&format!("{deep}, '|u1'"), "0, 0", 4);
        }
        assert!(is_identity(&deep, false) && !is_identity(&deep, true));
        assert_eq!(to_little_endian(&deep, &[1, 2, 3, 4]), [1, 0, 4, 3]);
    }

    #[test]
    fn bytes_between_gaps_are_copied() {
        for (descr, expected) in [
            ("[('', '|V1'), ('a', '|u1'), ('', '|V2'), ('b', '<u2')]", [9, 1, 9, 9, 4, 5]),
            ("[('a', [('x', '|u1'), ('', '|V1')], (2,)), ('b', '<u2')]", [0, 9, 2, 9, 4, 5]),
            (
                "{'names': ['a', 'b'], 'formats': [[('', '|V2'), ('x', '<u2')], '<u2'], \
                 'offsets': [0, 3], 'itemsize': 6}",
                [9, 9, 2, 3, 4, 9],
            ),
            (
                "{'names': ['a', 'b'], 'formats': [[('x', '|u1'), ('', '|V3')], '|u1'], \
                 'offsets': [0, 2], 'itemsize': 6}",
                [0, 9, 2, 9, 9, 9],
            ),
        ] {
            let mut to = [9; 6];
            let recoding = Recoding::new(&descr.parse().unwrap(), None, true);
            recoding.copy_between_gaps(&[0, 1, 2, 3, 4, 5], &mut to);
            assert_eq!(to, expected, "{descr}");
        }
    }

    #[test]
    fn gaps_are_found_in_nested_fields_but_not_where_fields_overlap() {
        let overlapping =
            "{'names': ['a', 'b'], 'formats': ['<u4', '<u2'], 'offsets': [0, 2], 'itemsize': 4}";
        for descr in ["<f8", ">f16", "|V3", "[]", "[('a', '|u1'), ('b', '>u2', (2,))]", overlapping]
        {
            assert!(!has_gaps(&descr.parse().unwrap()), "{descr}");
        }
        for descr in [
            "[('a', '|u1'), ('', '|V1')]",
            "[('a', [('x', '|u1'), ('', '|V1')], (2,))]",
            "([('', '|V1'), ('x', '|u1')], (2,))",
            "{'names': ['a'], 'formats': ['<u2'], 'offsets': [1], 'itemsize': 3}",
        ] {
            assert!(has_gaps(&descr.parse().unwrap()), "{descr}");
        }
    }

    fn is_identity(descr: &str) -> bool {
        Recoding::new(&descr.parse().unwrap(), Some(ByteOrder::Little), true).is_identity()
    }

    #[test]
    fn copies_that_change_nothing_are_recognized() {
        for descr in ["<f8", "[('a', '|u1'), ('b', '<u2', (2,)), ('c', '|S3')]", "|V0", "[]", "<U3"]
        {
            assert!(is_identity(descr), "{descr}");
        }
        for descr in ["[('a', '|u1'), ('b', '>u2')]", "[('a', '|u1'), ('', '|V1')]", ">U3"] {
            assert!(!is_identity(descr), "{descr}");
        }
    }
}
