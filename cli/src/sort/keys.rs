//! Rows as keys of bytes that compare as NumPy compares the rows.

use npymap::{DType, Error, ErrorKind, Result, array::Outline};
use npymap::{dtype::Kind, view::DynView, with_type};

use crate::input::lengths::first_len;
use crate::select::leaf_fields;
use crate::select::origins::{AxisIndices, AxisOrigin};
use crate::select::selection::{IndexArg, Selected};
use crate::sort::number_keys::{self, LONG_DOUBLE, NumberKey};
use crate::sort::numbers::NumberFormat;
use crate::sort::records::{Records, VALUE};

/// How records are compared: by what each INDEX selects of them, in turn.
pub(super) struct Keys<'a> {
    pub(super) records: Records<'a>,
    /// Empty for all of a record.
    by: &'a [IndexArg],
    is_reversed: bool,
    /// Whether all complex numbers with a NaN are equal.
    has_one_nan: bool,
    /// The length of a key, in bytes.
    pub(super) len: usize,
}

/// The longest key, in bytes: sizes of records and keys can be added.
const MAX_LEN: usize = isize::MAX.unsigned_abs() / 2;

const TOO_LONG: &str = "has rows that are too long to compare: choose part of each with --by";

/// A part of each key.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    len: usize,
}

impl<'a> Keys<'a> {
    /// Checks that each INDEX selects something of each record, which can be compared.
    pub(super) fn new(
        records: Records<'a>,
        by: &'a [IndexArg],
        is_reversed: bool,
    ) -> Result<Keys<'a>> {
        for index in by {
            check_index(index, &records.part)?;
        }
        let mut keys = Keys { records, by, is_reversed, has_one_nan: false, len: 0 };
        let none = keys.records.array(&[], false)?;
        let mut len = 0_usize;
        keys.each_leaf(&none.dyn_view()?, &mut |leaf| {
            let longer = place(leaf, 0)?.len.checked_add(len).filter(|&len| len <= MAX_LEN);
            len = longer.ok_or_else(|| Error::new(ErrorKind::LimitExceeded, TOO_LONG))?;
            Ok(())
        })?;
        keys.len = len;
        Ok(keys)
    }

    /// The format of records that are single numbers.
    pub(super) fn numbers(&self) -> Option<NumberFormat> {
        let is_number = self.by.is_empty() && self.records.inner.is_empty();
        if is_number { NumberFormat::of(&self.records.dtype, self.is_reversed) } else { None }
    }

    /// Makes complex numbers equal if any part of them is NaN, as in NumPy's unique.
    pub(super) fn with_one_nan(self) -> Keys<'a> {
        Keys { has_one_nan: true, ..self }
    }

    /// Replaces `keys` with the keys of some records, which have counts if `is_counted`.
    pub(super) fn encode(&self, bytes: &[u8], is_counted: bool, keys: &mut Vec<u8>) -> Result<()> {
        let array = self.records.array(bytes, is_counted)?;
        let view = array.dyn_view()?;
        let view = if is_counted { view.field(VALUE)? } else { view };
        let count = first_len(view.shape());
        keys.clear();
        keys.resize(count * self.len, 0);
        let mut at = 0;
        self.each_leaf(&view, &mut |leaf| {
            let place = place(leaf, at)?;
            at += place.len;
            if place.len > 0 { self.write(leaf, place, keys) } else { Ok(()) }
        })?;
        if self.is_reversed {
            for byte in keys {
                *byte = !*byte;
            }
        }
        Ok(())
    }

    /// Calls `visit` with each compared field, except structs.
    fn each_leaf(
        &self,
        view: &DynView<'_>,
        visit: &mut dyn FnMut(&DynView<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut visit_all = |selected: &DynView<'_>| {
            let leaves = leaf_fields::find(&selected.clone().into())?;
            leaves.iter().try_for_each(|(_, leaf)| visit(&leaf.view()?))
        };
        if self.by.is_empty() {
            return visit_all(view);
        }
        self.by.iter().try_for_each(|index| {
            let selected: Selected<'_> = index.select_loaded(view)?;
            visit_all(&selected.outline().view()?)
        })
    }

    /// Writes a part of each key.
    fn write(&self, leaf: &DynView<'_>, place: Place, keys: &mut [u8]) -> Result<()> {
        self.write_values(leaf, place, keys)?;
        if self.has_one_nan && leaf.dtype().kind() == Kind::Complex {
            let size = key_size(leaf.dtype())?;
            let numbers = self.parts(place, keys).flat_map(|part| part.chunks_exact_mut(size));
            let nans = numbers.filter(|number| number.first().is_some_and(|&rank| rank > 0));
            nans.for_each(|number| number.fill(0xff));
        }
        Ok(())
    }

    /// The same part of each key.
    fn parts<'k>(&self, place: Place, keys: &'k mut [u8]) -> impl Iterator<Item = &'k mut [u8]> {
        let keys = keys.chunks_exact_mut(self.len);
        keys.filter_map(move |key| key.get_mut(place.at..place.at + place.len))
    }

    fn write_values(&self, leaf: &DynView<'_>, place: Place, keys: &mut [u8]) -> Result<()> {
        let dtype = leaf.dtype();
        let parts = self.parts(place, keys);
        let size = key_size(dtype)?;
        with_type!(dtype, any T => {
            write_numbers::<T>(leaf, parts)
        }, _ => {
            let mut stored = leaf.element_bytes();
            let order = dtype.byte_order();
            for part in parts.flat_map(|part| part.chunks_exact_mut(size)) {
                let Some(bytes) = stored.next() else { break };
                match dtype.kind() {
                    Kind::Float => part.copy_from_slice(&number_keys::long_double(bytes, order)),
                    Kind::Complex => {
                        let (re, im) = bytes.split_at(bytes.len() / 2);
                        let parts = [re, im].map(|part| number_keys::long_double(part, order));
                        number_keys::write_complex(part, parts);
                    }
                    Kind::Unicode => write_code_points(part, bytes, dtype),
                    _ => part.copy_from_slice(bytes),
                }
            }
            Ok(())
        })
    }
}

fn write_numbers<'k, T: NumberKey>(
    leaf: &DynView<'_>,
    parts: impl Iterator<Item = &'k mut [u8]>,
) -> Result<()> {
    let view = leaf.view::<T>()?;
    let mut numbers = view.iter();
    for part in parts.flat_map(|part| part.chunks_exact_mut(T::LEN)) {
        let Some(number) = numbers.next() else { break };
        part.copy_from_slice(number.key().as_ref());
    }
    Ok(())
}

/// Code points compare as numbers.
fn write_code_points(part: &mut [u8], stored: &[u8], dtype: &DType) {
    part.copy_from_slice(stored);
    if dtype.byte_order() != npymap::ByteOrder::Big {
        part.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    }
}

/// The length of the key of an element.
fn key_size(dtype: &DType) -> Result<usize> {
    with_type!(dtype, any T => Ok(T::LEN), _ => match (dtype.kind(), dtype.itemsize()) {
        (Kind::Float, 16) => Ok(LONG_DOUBLE),
        (Kind::Complex, 32) => Ok(2 * LONG_DOUBLE + 1),
        (Kind::Bytes | Kind::Unicode | Kind::Void, size) => Ok(size),
        _ => Err(Error::new(ErrorKind::DTypeMismatch, format!("elements of dtype {dtype} have no order"))),
    })
}

/// The part of each key that a field has.
fn place(leaf: &DynView<'_>, at: usize) -> Result<Place> {
    let count: usize = leaf.shape().iter().skip(1).product();
    Ok(Place { at, len: count * key_size(leaf.dtype())? })
}

/// Checks that an INDEX selects something of each row.
fn check_index(index: &IndexArg, part: &Outline<'_>) -> Result<()> {
    let shape = part.shape();
    let origins = index.origins(shape)?;
    let is_whole = matches!(
        origins.axes.first(),
        Some(AxisOrigin::Axis(AxisIndices::Slice { start: 0, step: 1 }))
    );
    let is_first = origins.list.is_none_or(|(moved, _)| moved > 0);
    let selected = index.shape(part)?;
    if (is_whole || origins.axes.is_empty()) && is_first && selected.first() == shape.first() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidInput, NOT_OF_EACH))
}

const NOT_OF_EACH: &str =
    "--by selects part of each row, so its first axis is `:`: for column 0, use --by ':, 0'";
