//! How the bytes of an element become those of another layout of it: in
//! another byte order, with or without its padding.
//!
//! Bytes are moved and turned round, never decoded, so that what no type can
//! say (invalid text, `True` as 2) stays what it is.

use npymap::{ByteOrder, DType, Kind};

/// What becomes of the bytes no field covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    Keep,
    Zero,
}

/// How to copy elements of one dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    itemsize: usize,
    steps: Vec<Step>,
}

/// A part of an element, by its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Copy {
        at: usize,
        len: usize,
    },
    Zero {
        at: usize,
        len: usize,
    },
    /// Turns round each `width` bytes.
    Swap {
        at: usize,
        len: usize,
        width: usize,
    },
    /// Does the same for elements that follow each other.
    Each {
        at: usize,
        count: usize,
        plan: Plan,
    },
}

impl Plan {
    /// Plans copies whose numbers are in `order`; without one they stay as
    /// they are.
    pub(crate) fn new(dtype: &DType, order: Option<ByteOrder>, padding: Padding) -> Plan {
        let mut plan = Plan { itemsize: dtype.itemsize(), steps: Vec::new() };
        plan.add(dtype, 0, order, padding);
        plan
    }

    /// True when the copy is the same bytes.
    pub(crate) fn is_same(&self) -> bool {
        match self.steps.as_slice() {
            [] => true,
            [Step::Copy { len, .. }] => *len == self.itemsize,
            _ => false,
        }
    }

    /// Bytes of an element.
    pub(crate) fn itemsize(&self) -> usize {
        self.itemsize
    }

    /// True when an element is one number that is turned round.
    fn is_turned(&self) -> bool {
        match self.steps.as_slice() {
            [Step::Swap { width, .. }] => *width == self.itemsize,
            _ => false,
        }
    }

    /// Copies elements that lie `stride` bytes apart to lie together; `to`
    /// says how many.
    pub(crate) fn gather(&self, from: &[u8], stride: usize, to: &mut [u8]) {
        if stride == self.itemsize {
            return self.copy(from, to);
        }
        match (self.is_same(), self.is_turned(), self.itemsize) {
            (_, _, 0) => {}
            (true, _, 1) => gather::<1>(from, stride, to, |_| {}),
            (true, _, 2) => gather::<2>(from, stride, to, |_| {}),
            (true, _, 4) => gather::<4>(from, stride, to, |_| {}),
            (true, _, 8) => gather::<8>(from, stride, to, |_| {}),
            (true, _, 16) => gather::<16>(from, stride, to, |_| {}),
            (_, true, 2) => gather::<2>(from, stride, to, |number| number.reverse()),
            (_, true, 4) => gather::<4>(from, stride, to, |number| number.reverse()),
            (_, true, 8) => gather::<8>(from, stride, to, |number| number.reverse()),
            _ => {
                let elements = from.chunks(stride.max(1));
                for (from, to) in elements.zip(to.chunks_exact_mut(self.itemsize)) {
                    self.copy(from, to);
                }
            }
        }
    }

    /// Copies elements that follow each other, as many as fit.
    pub(crate) fn copy(&self, from: &[u8], to: &mut [u8]) {
        match self.steps.as_slice() {
            _ if self.itemsize == 0 => {}
            [step] if step.is_whole(self.itemsize) => step.run(from, to),
            steps => {
                let elements = from.chunks_exact(self.itemsize);
                for (from, to) in elements.zip(to.chunks_exact_mut(self.itemsize)) {
                    for step in steps {
                        step.part(from, to);
                    }
                }
            }
        }
    }

    fn add(&mut self, dtype: &DType, at: usize, order: Option<ByteOrder>, padding: Padding) {
        let len = dtype.itemsize();
        match dtype.kind() {
            Kind::Struct => self.add_fields(dtype, at, order, padding),
            Kind::Subarray => self.add_subarray(dtype, at, order, padding),
            _ if order.is_some_and(|order| turns(dtype, order)) => {
                self.push(Step::Swap { at, len, width: width(dtype) });
            }
            _ => self.push(Step::Copy { at, len }),
        }
    }

    /// Goes through fields and what lies between them in the order of bytes,
    /// so that what is copied as it is joins.
    fn add_fields(&mut self, dtype: &DType, at: usize, order: Option<ByteOrder>, padding: Padding) {
        let mut covered = 0;
        let mut fields: Vec<_> = dtype.fields().iter().collect();
        fields.sort_by_key(|field| field.offset);
        for field in fields {
            self.add_padding(at + covered, field.offset.saturating_sub(covered), padding);
            self.add(&field.dtype, at + field.offset, order, padding);
            covered = covered.max(field.offset + field.dtype.itemsize());
        }
        self.add_padding(at + covered, dtype.itemsize().saturating_sub(covered), padding);
    }

    fn add_padding(&mut self, at: usize, len: usize, padding: Padding) {
        self.push(match padding {
            Padding::Keep => Step::Copy { at, len },
            Padding::Zero => Step::Zero { at, len },
        });
    }

    fn add_subarray(
        &mut self,
        dtype: &DType,
        at: usize,
        order: Option<ByteOrder>,
        padding: Padding,
    ) {
        let Some((base, shape)) = dtype.subarray() else { return };
        let plan = Plan::new(base, order, padding);
        match plan.steps.as_slice() {
            [step] if step.is_whole(plan.itemsize) => {
                self.push(step.placed(at, dtype.itemsize()));
            }
            _ => self.push(Step::Each { at, count: shape.iter().product(), plan }),
        }
    }

    /// Adds a step, joined to the one before it where that does the same.
    fn push(&mut self, step: Step) {
        match (self.steps.last_mut(), &step) {
            (
                _,
                Step::Copy { len: 0, .. } | Step::Zero { len: 0, .. } | Step::Swap { len: 0, .. },
            ) => {}
            (Some(Step::Copy { at, len }), Step::Copy { at: next, len: more })
                if *at + *len == *next =>
            {
                *len += more;
            }
            (
                Some(Step::Swap { at, len, width }),
                Step::Swap { at: next, len: more, width: same },
            ) if *at + *len == *next && width == same => {
                *len += more;
            }
            _ => self.steps.push(step),
        }
    }
}

impl Step {
    /// True when it does the same to any number of elements at once.
    fn is_whole(&self, itemsize: usize) -> bool {
        match self {
            Step::Copy { len, .. } | Step::Zero { len, .. } | Step::Swap { len, .. } => {
                *len == itemsize
            }
            Step::Each { .. } => false,
        }
    }

    /// The same for other bytes.
    fn placed(&self, at: usize, len: usize) -> Step {
        match *self {
            Step::Zero { .. } => Step::Zero { at, len },
            Step::Swap { width, .. } => Step::Swap { at, len, width },
            _ => Step::Copy { at, len },
        }
    }

    /// Does it to its part of one element.
    fn part(&self, from: &[u8], to: &mut [u8]) {
        let (at, len) = match self {
            Step::Copy { at, len } | Step::Zero { at, len } | Step::Swap { at, len, .. } => {
                (*at, *len)
            }
            Step::Each { at, count, plan } => (*at, count * plan.itemsize),
        };
        if let (Some(from), Some(to)) = (from.get(at..at + len), to.get_mut(at..at + len)) {
            self.run(from, to);
        }
    }

    /// Does it to all these bytes.
    fn run(&self, from: &[u8], to: &mut [u8]) {
        match self {
            Step::Copy { .. } => {
                let len = from.len().min(to.len());
                if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
                    to.copy_from_slice(from);
                }
            }
            Step::Zero { .. } => to.fill(0),
            Step::Swap { width: 2, .. } => swap::<2>(from, to),
            Step::Swap { width: 4, .. } => swap::<4>(from, to),
            Step::Swap { width: 8, .. } => swap::<8>(from, to),
            Step::Swap { .. } => swap::<16>(from, to),
            Step::Each { plan, .. } => plan.copy(from, to),
        }
    }
}

/// Copies elements of `N` bytes that lie `stride` bytes apart, and changes
/// each.
fn gather<const N: usize>(
    from: &[u8],
    stride: usize,
    to: &mut [u8],
    change: impl Fn(&mut [u8; N]),
) {
    let (to, _) = to.as_chunks_mut::<N>();
    for (from, to) in from.chunks(stride.max(1)).zip(to) {
        if let Some(from) = from.first_chunk::<N>() {
            *to = *from;
            change(to);
        }
    }
}

/// Copies numbers of `N` bytes, turned round.
fn swap<const N: usize>(from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<N>();
    let (to, _) = to.as_chunks_mut::<N>();
    for (from, to) in from.iter().zip(to) {
        *to = *from;
        to.reverse();
    }
}

/// True when a scalar's bytes are in another order.
fn turns(dtype: &DType, order: ByteOrder) -> bool {
    let own = dtype.byte_order();
    own != ByteOrder::NotApplicable && own != order && width(dtype) > 1
}

/// The bytes of a scalar that are turned round together.
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

    fn little(descr: &str, from: &[u8]) -> Vec<u8> {
        let plan = Plan::new(&descr.parse().unwrap(), Some(ByteOrder::Little), Padding::Zero);
        let mut to = vec![0xFF; from.len()];
        plan.copy(from, &mut to);
        to
    }

    #[test]
    fn numbers_are_turned_round_by_their_parts() {
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
        let same = |descr: &str, padding| {
            Plan::new(&descr.parse().unwrap(), Some(ByteOrder::Little), padding).is_same()
        };
        assert!(same("<f8", Padding::Zero));
        assert!(same("[('a', '|u1'), ('b', '<u2', (2,)), ('c', '|S3')]", Padding::Zero));
        assert!(!same("[('a', '|u1'), ('b', '>u2')]", Padding::Zero));
        assert!(!same("[('a', '|u1'), ('', '|V1')]", Padding::Zero));
        assert!(!same("[('a', '|u1'), ('', '|V1'), ('b', '|u1')]", Padding::Zero));
        assert!(same("|V0", Padding::Zero));
        assert!(same("[]", Padding::Zero));
    }
}
