//! Rows as keys of bytes that compare as NumPy compares the rows.

use std::ops::Range;

use npymap::{Error, ErrorKind, Result, array::Outline};
use npymap::{dtype::Kind, view::DynView};

use crate::input::lengths::first_len;
use crate::select::leaf_fields;
use crate::select::origins::{AxisIndices, AxisOrigin};
use crate::select::selection::{IndexArg, Selected};
use crate::sort::number_keys;
use crate::sort::numbers::NumberFormat;
use crate::sort::records::{Records, VALUE};

/// How records are compared: by what each INDEX selects of them, in turn.
pub(super) struct Keys<'a> {
    pub(super) records: Records<'a>,
    /// Empty for all of a record.
    by: &'a [IndexArg],
    is_reversed: bool,
    /// Whether all complex numbers with a NaN are equal, as in NumPy's unique.
    pub(super) has_one_nan: bool,
    /// The length of a key, in bytes.
    pub(super) len: usize,
}

/// The longest key, in bytes: sizes of records and keys can be added.
const MAX_LEN: usize = isize::MAX.unsigned_abs() / 2;

const TOO_LONG: &str = "has rows that are too long to compare: choose part of each with --by";

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
            let longer = key_len(leaf)?.checked_add(len).filter(|&len| len <= MAX_LEN);
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
            let start = at;
            at += key_len(leaf)?;
            if at > start { self.write(leaf, start..at, keys) } else { Ok(()) }
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
    fn write(&self, leaf: &DynView<'_>, place: Range<usize>, keys: &mut [u8]) -> Result<()> {
        let dtype = leaf.dtype();
        let (size, format) = (number_keys::size(dtype)?, NumberFormat::of(dtype, false));
        let own = self.parts(place.clone(), keys).flat_map(|part| part.chunks_exact_mut(size));
        for (key, stored) in own.zip(leaf.element_bytes()) {
            match format {
                Some(format) => format.write_key(stored, key),
                None => number_keys::write(dtype, stored, key),
            }
        }
        if self.has_one_nan && dtype.kind() == Kind::Complex {
            let numbers = self.parts(place, keys).flat_map(|part| part.chunks_exact_mut(size));
            let nans = numbers.filter(|number| number.first().is_some_and(|&rank| rank > 0));
            nans.for_each(|number| number.fill(0xff));
        }
        Ok(())
    }

    /// The same part of each key.
    fn parts<'k>(
        &self,
        place: Range<usize>,
        keys: &'k mut [u8],
    ) -> impl Iterator<Item = &'k mut [u8]> {
        let keys = keys.chunks_exact_mut(self.len);
        keys.filter_map(move |key| key.get_mut(place.clone()))
    }
}

/// The length of the part of each key that a field has.
fn key_len(leaf: &DynView<'_>) -> Result<usize> {
    let count: usize = leaf.shape().iter().skip(1).product();
    Ok(count * number_keys::size(leaf.dtype())?)
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
