//! An array that is changed in place, in steps that report progress.

use npymap::array::Outline;
use npymap::ndarray::SliceInfoElem;
use npymap::{MappedArray, MappedArrayMut, Result, element::Casting};

use crate::input::lengths::to_isize;
use crate::input::progress::Progress;
use crate::input::row_blocks::WHOLE;
use crate::select::new_value::{NewValue, Target};

/// The elements that are written in a step, in bytes.
const STEP: usize = 8 << 20;

/// An array that is changed.
pub(crate) struct Edited {
    pub(crate) array: MappedArrayMut,
    /// The same array, to be read.
    pub(crate) stored: MappedArray,
}

impl Edited {
    /// Progress through the elements of a selection.
    pub(crate) fn progress(&self, shape: &[usize]) -> Progress {
        // A list may name rows several times, so there may be more than the array has.
        let size = self.array.dtype().itemsize();
        Progress::new(shape.iter().fold(size, |nbytes, dim| nbytes.saturating_mul(*dim)))
    }

    /// Writes a value to elements, and returns how many there are. `values` are those of
    /// [`broadcast`](NewValue::broadcast) for this part.
    pub(crate) fn write(
        &mut self,
        (value, values): (&NewValue, Option<&Outline<'_>>),
        target: &Target<'_>,
        casting: Casting,
        progress: &mut Progress,
    ) -> Result<usize> {
        let size = self.array.dtype().itemsize();
        let Some(Halves { parts, axis, at }) = halve(target.part, self.stored.shape(), size) else {
            let count = value.write(&mut self.array, target, values, casting)?;
            progress.add(count * size);
            return Ok(count);
        };
        let (low, high) = values.map(|values| values.split_at(axis, at)).transpose()?.unzip();
        let mut count = 0;
        for (part, values) in parts.iter().zip([low, high]) {
            let target = Target { part, ..*target };
            count += self.write((value, values.as_ref()), &target, casting, progress)?;
        }
        Ok(count)
    }
}

/// The halves of a part of an array along an axis of the selection.
#[derive(Debug, PartialEq, Eq)]
struct Halves {
    parts: [Vec<SliceInfoElem>; 2],
    axis: usize,
    /// The number of indices of the first half.
    at: usize,
}

/// Halves a part of an array of this shape along its first axis of several indices, unless
/// it is a step.
fn halve(part: &[SliceInfoElem], shape: &[usize], size: usize) -> Option<Halves> {
    let given = part.iter().filter(|element| !matches!(element, SliceInfoElem::NewAxis)).count();
    let missing = std::iter::repeat_n(WHOLE, shape.len() - given);
    let part: Vec<SliceInfoElem> = part.iter().copied().chain(missing).collect();
    let (mut dims, mut axis, mut nbytes, mut first) = (shape.iter(), 0, size, None);
    for (position, element) in part.iter().enumerate() {
        let (start, end, step) = match *element {
            SliceInfoElem::NewAxis => (0, 1, 1),
            SliceInfoElem::Index(_) => {
                dims.next();
                continue;
            }
            SliceInfoElem::Slice { start, end, step } => {
                let dim = *dims.next().expect("each other element has an axis");
                (start, end.unwrap_or_else(|| to_isize(dim)), step)
            }
        };
        let count = end.abs_diff(start).div_ceil(step.unsigned_abs());
        nbytes *= count;
        if count > 1 && first.is_none() {
            first = Some((position, axis, count / 2, start, end, step));
        }
        axis += 1;
    }
    let (position, axis, at, start, end, step) = first.filter(|_| nbytes > STEP)?;
    let slice = |start, end| {
        let mut part = part.clone();
        let own = SliceInfoElem::Slice { start, end: Some(end), step };
        part.get_mut(position).into_iter().for_each(|element| *element = own);
        part
    };
    // A negative step counts from the end.
    let middle = to_isize(at) * step + if step < 0 { end } else { start };
    let (low, high) = (slice(start, middle), slice(middle, end));
    Some(Halves { parts: if step < 0 { [high, low] } else { [low, high] }, axis, at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use npymap::ndarray::s;
    use npymap::{DType, IndexExpr};

    #[test]
    fn halves_have_all_elements_in_order() {
        let mut array = MappedArray::zeros(&DType::of::<u8>(), &[7, 5]).unwrap();
        array.as_slice_mut::<u8>().unwrap().iter_mut().zip(0..).for_each(|(to, at)| *to = at);
        let all = array.dyn_view().unwrap();
        for text in ["", ":, 3", "::-2", "5:1:-3, 1:", "2, ::-1", "None, 1::2, None, 1", "3:5, 4:"]
        {
            let index: IndexExpr = text.parse().unwrap();
            let part = index.resolve(all.shape()).unwrap().slices;
            let whole = all.slice(&part).unwrap();
            // Elements of 8 MiB, of which a step has one.
            let Some(Halves { parts, axis, at }) = halve(&part, all.shape(), STEP) else {
                panic!("{text}");
            };
            let (low, high) = whole.split_at(axis, at).unwrap();
            for (half, part) in [low, high].iter().zip(&parts) {
                let own = all.slice(part).unwrap();
                let [own, half] = [&own, half].map(|view| view.view::<u8>().unwrap());
                assert_eq!(own.shape(), half.shape(), "{text}");
                assert_eq!(own.to_vec(), half.to_vec(), "{text}");
            }
        }
        let one = s![2, 3..4];
        assert_eq!(halve(one.as_ref(), &[7, 5], usize::MAX), None);
        assert_eq!(halve(&[], &[7, 5], STEP / 35), None);
    }
}
