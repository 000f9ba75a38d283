//! Casts slices along an axis to a dtype known only at run time.

use bytemuck::Pod;

use super::assign::store_tiles;
use super::axis_slices::SelectedSlices;
use super::{View, ViewMut};
use crate::dtype::DType;
use crate::element::cast::{Casting, Number};
use crate::element::recode::has_gaps;
use crate::error::Result;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::layout::geometry::Geometry;
use crate::layout::{Layout, Order};
use crate::with_type;

/// The number of elements that are cast together: both sides fit the L2 cache.
const BLOCK: usize = 16 * 1024;

/// A cast of stored elements to another dtype, which
/// [`check_assign`](super::check_assign) allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceCast<'a> {
    pub(crate) from: &'a DType,
    pub(crate) to: &'a DType,
    pub(crate) casting: Casting,
}

impl SliceCast<'_> {
    /// Casts slices into `out` until it is full. Those of the same dtype are copied.
    #[inline]
    pub(crate) fn run(&self, selected: SelectedSlices<'_>, out: &mut [u8]) -> Result<()> {
        if self.from == self.to {
            selected.copy(out);
            return Ok(());
        }
        let SelectedSlices { slices, bytes, indices } = selected;
        let each = slices.len * self.to.itemsize();
        if each == 0 || self.convert(selected, out) {
            return Ok(());
        }
        if slices.len > BLOCK {
            let places = out.chunks_exact_mut(each);
            return places
                .zip(indices)
                .try_for_each(|(out, &index)| self.cast(&slices.geometry_of(index), bytes, out));
        }
        // Short slices are copied together first, because a cast of few elements
        // takes about as long as one of many.
        let room = BLOCK / slices.len;
        let mut block = vec![0; room.min(out.len() / each) * slices.nbytes()];
        for (out, indices) in out.chunks_mut(room * each).zip(indices.chunks(room)) {
            let count = out.len() / each;
            let block = block.get_mut(..count * slices.nbytes()).invariant(IN_BUFFER);
            slices.select(bytes, indices).copy(block);
            let line = Geometry::line(0, count * slices.len, self.from.itemsize());
            self.cast(&line, block, out)?;
        }
        Ok(())
    }

    /// Casts the elements of one geometry to adjacent elements.
    #[inline]
    fn cast(&self, geometry: &Geometry, bytes: &[u8], out: &mut [u8]) -> Result<()> {
        let layout = Layout::new(self.to.clone(), &geometry.shape, Order::C, 0)?;
        let from = View { bytes, geometry: geometry.clone(), codec: self.from.clone() };
        if has_gaps(self.to) {
            out.fill(0);
        }
        let geometry = layout.geometry().clone();
        store_tiles(
            ViewMut { bytes: out, geometry, codec: self.to.clone() },
            &from,
            self.casting == Casting::SameValue,
        )
    }

    /// Converts numbers to the types that are used most, if the output is aligned.
    /// Any other cast takes several times as long.
    #[inline]
    fn convert(&self, slices: SelectedSlices<'_>, out: &mut [u8]) -> bool {
        if self.casting == Casting::SameValue {
            return false;
        }
        self.convert_to::<f32>(slices, out)
            || self.convert_to::<i64>(slices, out)
            || self.convert_to::<f64>(slices, out)
    }

    /// Converts numbers to `U`, if that is the dtype of the output.
    fn convert_to<U: Number + Pod>(&self, slices: SelectedSlices<'_>, out: &mut [u8]) -> bool {
        if *self.to != U::dtype() {
            return false;
        }
        let Ok(out) = bytemuck::try_cast_slice_mut::<u8, U>(out) else { return false };
        let Some(cast) = number_cast(self.from) else { return false };
        cast(slices, self.from, out);
        true
    }
}

/// Casts slices of elements of a dtype into an output until it is full.
pub(crate) type CastSlices<U> = fn(SelectedSlices<'_>, &DType, &mut [U]);

/// Returns the function that casts slices of numbers to `U`. Returns `None`
/// unless elements of the dtype are numbers.
//
// Everything that casts rows calls it, so that the loops are compiled once for each
// pair of types.
pub(crate) fn number_cast<U: Number>(from: &DType) -> Option<CastSlices<U>> {
    with_type!(from, number T => Some(cast_numbers::<T, U>), _ => None)
}

/// The function of [`number_cast`] for elements of type `T`.
fn cast_numbers<T: Number, U: Number>(slices: SelectedSlices<'_>, from: &DType, out: &mut [U]) {
    let codec = T::codec(from).invariant("the type is that of the dtype");
    slices.convert_over(&codec, out, &T::cast::<U>);
}
