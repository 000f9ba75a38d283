//! The ways to decode rows. A source calls the one that it is given, so no row is decoded
//! or copied twice.

use std::ops::Range;

use crate::dtype::DType;
use crate::element::Element;
use crate::element::fast_path::FastPath as _;
use crate::error::Result;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::view::{CastSlices, SelectedSlices, SliceCast};

/// Decodes rows of a source to their places in an output. Only this crate implements it.
pub trait DecodeRows {
    /// Decodes slices to places in the output, which are counted in rows. Slices after these
    /// places are only prefetched.
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>);

    /// The output, if its bytes are those of the rows as they are stored.
    fn stored(&mut self) -> Option<&mut [u8]> {
        None
    }
}

/// An output in which a row has `each` items.
pub(super) struct Output<'o, U> {
    pub(super) items: &'o mut [U],
    pub(super) each: usize,
}

impl<U> Output<'_, U> {
    fn at(&mut self, places: Range<usize>) -> &mut [U] {
        let items = places.start * self.each..places.end * self.each;
        self.items.get_mut(items).invariant(IN_BUFFER)
    }
}

/// Decodes elements.
pub(super) struct Elements<'o, T: Element> {
    pub(super) codec: T::Codec,
    pub(super) out: Output<'o, T>,
}

impl<T: Element> DecodeRows for Elements<'_, T> {
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        slices.decode_over(&self.codec, self.out.at(places));
    }

    fn stored(&mut self) -> Option<&mut [u8]> {
        match T::fast_path().copy_target(&self.codec, self.out.items)? {
            (format, bytes) if !format.swap => Some(bytes),
            _ => None,
        }
    }
}

/// Decodes elements that have no zero value. A source may provide rows in any order, so each
/// element is an `Option` until it is decoded.
pub(super) struct Values<'o, T: Element> {
    pub(super) codec: T::Codec,
    pub(super) out: Output<'o, Option<T>>,
}

impl<T: Element> DecodeRows for Values<'_, T> {
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        let mut values = Vec::new();
        slices.get(..places.len()).decode_onto(&self.codec, &mut values);
        self.out.at(places).iter_mut().zip(values).for_each(|(place, value)| *place = Some(value));
    }
}

/// Converts elements.
pub(super) struct Converted<'o, T: Element, U, F> {
    pub(super) codec: T::Codec,
    pub(super) out: Output<'o, U>,
    pub(super) convert: F,
}

impl<T: Element + Copy, U, F: Fn(T) -> U> DecodeRows for Converted<'_, T, U, F> {
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        slices.convert_over(&self.codec, self.out.at(places), &self.convert);
    }
}

/// Converts rows, each as a whole.
pub(super) struct WholeRows<'o, T: Element, U, F> {
    pub(super) codec: T::Codec,
    pub(super) out: Output<'o, U>,
    pub(super) convert: F,
}

impl<T: Element, U, F: Fn(&[T], &mut [U])> DecodeRows for WholeRows<'_, T, U, F> {
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        let (count, each) = (places.len(), self.out.each.max(1));
        let mut out = self.out.at(places).chunks_exact_mut(each);
        slices.for_each_decoded(&self.codec, count, |row| {
            (self.convert)(row, out.next().unwrap_or_default());
        });
    }
}

/// Casts numbers of a dtype.
pub(super) struct Numbers<'o, U> {
    pub(super) cast: CastSlices<U>,
    pub(super) from: &'o DType,
    pub(super) out: Output<'o, U>,
}

impl<U> DecodeRows for Numbers<'_, U> {
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        (self.cast)(slices, self.from, self.out.at(places));
    }
}

/// Copies bytes as they are stored.
pub(super) struct Bytes<'o>(pub(super) Output<'o, u8>);

impl DecodeRows for Bytes<'_> {
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        slices.copy(self.0.at(places));
    }

    fn stored(&mut self) -> Option<&mut [u8]> {
        Some(&mut *self.0.items)
    }
}

/// Casts bytes, until a value can't be cast.
pub(super) struct CastBytes<'o> {
    pub(super) cast: SliceCast<'o>,
    pub(super) out: Output<'o, u8>,
    pub(super) result: Result<()>,
}

impl DecodeRows for CastBytes<'_> {
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        if self.result.is_ok() {
            self.result = self.cast.run(slices, self.out.at(places));
        }
    }
}
