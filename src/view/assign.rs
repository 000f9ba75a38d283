//! Stores elements of one dtype into elements of another.

use super::assign_text::{format_text, parse_text, store_text};
use super::cast::{inexact, value_changed};
use super::{DynView, DynViewMut, View, ViewMut};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::element::cast::{Casting, Number, WideNumber, cannot_cast, check_cast, is_same_value};
use crate::element::recode::{Recoding, has_gaps};
use crate::element::value::{Value, units};
use crate::element::{Element as _, Ticks};
use crate::error::invariant::{IN_BUFFER, IN_BYTES, Invariant, PAIRED};
use crate::error::{Error, Result, memory};
use crate::kernel::{self, ElementFormat};
use crate::with_type;

/// The most elements of a tile: both sides of a tile fit the L2 cache.
const TILE: usize = 16 * 1024;

/// The most bytes in a tile of several elements.
const TILE_BYTES: usize = 1 << 20;

impl ViewMut<'_, Value> {
    /// Casts the elements of another view to this dtype and stores them,
    /// [broadcast](View::broadcast) to the shape of this view: NumPy's
    /// `copyto(self, from, casting=…)`.
    ///
    /// Numbers, dates, time differences and text are cast by NumPy's rules, and
    /// structs field by field, by position. The elements are cast tile by tile,
    /// so that both sides can be larger than memory, in whatever memory order.
    /// Bytes of the elements that belong to no field are not changed.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](crate::ErrorKind::DTypeMismatch) if the cast is not
    /// allowed or not implemented, and
    /// [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the views cannot be
    /// broadcast. These errors leave the elements unchanged. Returns
    /// [`InvalidValue`](crate::ErrorKind::InvalidValue) for text that cannot be
    /// parsed, dates that do not fit, and with [`Casting::SameValue`] for a
    /// value that would change. Some elements, or fields of them, have then
    /// been stored.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, element::Casting};
    ///
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let mut small = MappedArray::zeros(&">f4".parse()?, &[342, 4])?;
    /// small.dyn_view_mut()?.assign_as(&penguins.dyn_view()?, Casting::SameKind)?;
    /// assert_eq!(small.view::<f32>()?.at([0, 3]), 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[inline]
    pub fn assign_as(&mut self, from: &DynView<'_>, casting: Casting) -> Result<()> {
        check_assign(from.dtype(), self.dtype(), casting)?;
        let from = from.broadcast(self.shape())?;
        // There may be too many elements of zero size to visit them all.
        if self.is_empty() || self.codec.itemsize() == 0 {
            return Ok(());
        }
        let (to, from) = flatten(self.reborrow(), from);
        store_tiles(to, &from, casting == Casting::SameValue)
    }
}

/// Rejects dtypes that [`assign_as`](ViewMut::assign_as) cannot cast.
#[inline]
pub(crate) fn check_assign(from: &DType, to: &DType, casting: Casting) -> Result<()> {
    check_cast(from, to, casting)?;
    check_implemented(from, to, casting)
}

/// Rejects casts that are allowed but not implemented.
#[inline]
fn check_implemented(from: &DType, to: &DType, casting: Casting) -> Result<()> {
    match (from.subarray(), to.subarray()) {
        (Some((base, shape)), Some((other, same))) if shape == same => {
            return check_implemented(base, other, casting);
        }
        (None, Some((base, _))) => return check_implemented(from, base, casting),
        _ => {}
    }
    if from.kind() == Kind::Struct && to.kind() == Kind::Struct {
        let mut pairs = from.fields().iter().zip(to.fields());
        return pairs.try_for_each(|(from, to)| check_implemented(&from.dtype, &to.dtype, casting));
    }
    alternative(from, to).map_or(Ok(()), |works| Err(cannot_cast(from, to, casting, works)))
}

/// Suggests an alternative to a cast that is not implemented. Returns `None` if
/// it is.
#[inline]
fn alternative(from: &DType, to: &DType) -> Option<&'static str> {
    Some(match (from.kind(), to.kind()) {
        (Kind::Subarray, _) | (_, Kind::Subarray) => {
            "a subarray can only be cast to one of the same shape"
        }
        (Kind::Struct, _) | (_, Kind::Struct) => "select a field with `field` first",
        _ if is_byte_copy(from, to) => return None,
        (_, Kind::Float) if to.itemsize() == 16 => "long doubles can only be copied, use doubles",
        (Kind::Float, _) if from.itemsize() == 16 => "long doubles can only be copied",
        (_, Kind::Complex) if to.itemsize() == 32 => {
            "complex long doubles can only be copied, use complex doubles"
        }
        (Kind::Complex, _) if from.itemsize() == 32 => "long doubles can only be copied",
        (Kind::Void, _) => "give its bytes a dtype with `view_as`",
        (Kind::DateTime, Kind::DateTime) | (Kind::TimeDelta, Kind::TimeDelta)
            if from.unit().is_some() && to.unit().is_none() =>
        {
            "name the unit in the dtype"
        }
        (Kind::TimeDelta, Kind::TimeDelta) if !has_fixed_ratio(from, to) => {
            "months and years have no fixed length in weeks or shorter units"
        }
        (Kind::TimeDelta, Kind::DateTime) | (Kind::DateTime, Kind::TimeDelta) => {
            "subtract dates to get time differences"
        }
        (Kind::TimeDelta, Kind::Bytes | Kind::Unicode) => "format the values as text",
        (Kind::Bytes | Kind::Unicode, Kind::Bool | Kind::TimeDelta) => "parse the text",
        _ => return None,
    })
}

/// Whether the units of two time differences can be converted exactly.
#[inline]
fn has_fixed_ratio(from: &DType, to: &DType) -> bool {
    match (from.unit(), to.unit()) {
        (Some(from), Some(to)) => units::convert_difference(Ticks(0), from, to).is_some(),
        (unit, _) => unit.is_none(),
    }
}

/// Whether a cast copies bytes, except that it may change their order or pad them
/// with zeros.
#[inline]
fn is_byte_copy(from: &DType, to: &DType) -> bool {
    to.kind() == Kind::Void || from.with_byte_order(to.byte_order()) == *to
}

/// Merges all axes into one, if that is possible for both views.
#[inline]
fn flatten<'t, 'f>(to: DynViewMut<'t>, from: DynView<'f>) -> (DynViewMut<'t>, DynView<'f>) {
    let axes = to.geometry.axes_by_stride();
    match (to.geometry.permuted(&axes), from.geometry.permuted(&axes)) {
        (Ok(own), Ok(other)) => {
            let (own, other) = (own.merged(), other.merged());
            if own.ndim() < 2 && own.shape == other.shape {
                return (ViewMut { geometry: own, ..to }, View { geometry: other, ..from });
            }
            (to, from)
        }
        _ => (to, from),
    }
}

/// Halves the longest axis until the views are tiles, and casts these.
#[inline]
pub(super) fn store_tiles(to: DynViewMut<'_>, from: &DynView<'_>, exact: bool) -> Result<()> {
    let longest = (0..to.ndim()).rev().max_by_key(|&axis| to.shape().get(axis).copied());
    let size = to.codec.itemsize().max(from.itemsize());
    let most = TILE.min(TILE_BYTES / size.max(1)).max(1);
    let (Some(axis), true) = (longest, to.len() > most) else {
        return store_tile(to, from, exact);
    };
    let half = to.shape().get(axis).map_or(0, |dim| dim / 2);
    let (low, high) = to.geometry.split_at(axis, half)?;
    let (from_low, from_high) = from.split_at(axis, half)?;
    let (bytes, codec) = (to.bytes, to.codec);
    store_tiles(ViewMut { bytes, geometry: low, codec: codec.clone() }, &from_low, exact)?;
    store_tiles(ViewMut { bytes, geometry: high, codec }, &from_high, exact)
}

/// Casts a tile.
#[inline]
fn store_tile(to: DynViewMut<'_>, from: &DynView<'_>, exact: bool) -> Result<()> {
    let mut to = to;
    if to.is_empty() || to.codec.itemsize() == 0 {
        return Ok(());
    }
    let (own, other) = (to.dtype().clone(), from.dtype().clone());
    let recode = Recoding::new(&other, Some(own.byte_order()), false);
    let is_whole_copy = own == other
        || (is_byte_copy(&other, &own) && recode.is_single_copy() && own.kind() != Kind::Void);
    // Bytes between fields may be fields that this view does not have.
    if is_whole_copy && !has_gaps(&own) {
        let format =
            if own == other { ElementFormat::opaque(own.itemsize()) } else { recode.format };
        copy_runs(&mut to, from, format);
        return Ok(());
    }
    if own == other {
        return copy_between_gaps(&mut to, from);
    }
    let mut store_part = |own: &DType, at, other: &DType, other_at| {
        if own.itemsize() == 0 {
            return Ok(());
        }
        let to = to.reborrow().getfield(own, at)?;
        let from = append_axes(from.getfield(other, other_at)?, to.ndim());
        let from = from.broadcast(to.shape())?;
        // A subarray can have more elements than a tile.
        store_tiles(to, &from, exact)
    };
    if own.kind() == Kind::Struct {
        let mut pairs = own.fields().iter().zip(other.fields());
        return pairs.try_for_each(|(own, other)| {
            store_part(&own.dtype, own.offset, &other.dtype, other.offset)
        });
    }
    if own.kind() == Kind::Subarray {
        return store_part(&own, 0, &other, 0);
    }
    match (other.kind(), own.kind()) {
        _ if is_byte_copy(&other, &own) => copy_bytes(&mut to, from, exact),
        (Kind::DateTime, Kind::DateTime) => store_ticks(to, from, units::convert_date, exact),
        (Kind::TimeDelta, Kind::TimeDelta) => {
            store_ticks(to, from, units::convert_difference, exact)
        }
        (Kind::Bytes | Kind::Unicode, Kind::Bytes | Kind::Unicode) => {
            store_text(&mut to, from, exact)
        }
        (Kind::Bytes | Kind::Unicode, _) => parse_text(&mut to, from, exact),
        (_, Kind::Bytes | Kind::Unicode) => format_text(&mut to, from, exact),
        _ => store_numbers(to, from, exact),
    }
}

/// Copies elements run by run, in the byte order of `format`.
#[inline]
fn copy_runs(to: &mut DynViewMut<'_>, from: &DynView<'_>, format: ElementFormat) {
    let geometry = to.geometry.clone();
    for (to_run, from_run) in geometry.runs().zip(from.geometry.runs()) {
        let adjacent = to_run.forward_mut(to.bytes, format.size);
        let adjacent =
            adjacent.filter(|(_, stride)| *stride == format.size).map(|(bytes, _)| bytes);
        if let (Some(to), Some((from, stride))) =
            (adjacent, from_run.forward(from.bytes, format.size))
        {
            kernel::copy(format, from, stride, to);
            continue;
        }
        let mut at = to_run.start;
        for element in from_run.elements(from.bytes, format.size) {
            let own = to.bytes.get_mut(at..at.wrapping_add(format.size));
            let own = own.expect("elements lie inside the bytes of their view");
            kernel::copy(format, element, format.size, own);
            at = at.wrapping_add_signed(to_run.stride);
        }
    }
}

/// Copies elements of the same dtype, except for their bytes that belong to no field.
#[inline]
fn copy_between_gaps(to: &mut DynViewMut<'_>, from: &DynView<'_>) -> Result<()> {
    let gaps = Recoding::new(to.dtype(), None, true);
    let mut elements = from.element_bytes();
    to.try_for_each_in_c_order(|_, own| {
        gaps.copy_between_gaps(elements.next().invariant(PAIRED), own);
        Ok(())
    })
}

/// Appends axes of length 1 until there are `ndim` axes.
#[inline]
fn append_axes(view: DynView<'_>, ndim: usize) -> DynView<'_> {
    let mut view = view;
    while view.ndim() < ndim {
        view.geometry.shape.push(1);
        view.geometry.strides.push(0);
    }
    view
}

/// Copies bytes, and swaps numbers if the byte orders differ. As void, they are
/// native. Longer elements are padded with zeros, and shorter elements
/// truncated.
#[inline]
fn copy_bytes(to: &mut DynViewMut<'_>, from: &DynView<'_>, exact: bool) -> Result<()> {
    let is_void = to.dtype().kind() == Kind::Void;
    let order = if is_void { ByteOrder::NATIVE } else { to.dtype().byte_order() };
    let recode = Recoding::new(from.dtype(), Some(order), false);
    let mut recoded = Vec::new();
    let mut elements: Vec<&[u8]> = memory::with_capacity(from.len())?;
    if recode.is_identity() {
        elements.extend(from.element_bytes());
    } else {
        memory::resize(&mut recoded, from.len() * from.dtype().itemsize())?;
        from.copy_recoded(&recode, &mut recoded);
        elements.extend(recoded.chunks_exact(from.dtype().itemsize()));
    }
    let mut elements = elements.into_iter();
    to.try_for_each_in_c_order(|dtype, bytes| {
        let element = elements.next().invariant(PAIRED);
        let mut cut = element.iter().skip(bytes.len());
        if exact && cut.any(|&byte| byte != 0) {
            return Err(inexact(Value::Void(element.to_vec()), dtype));
        }
        bytes.fill(0);
        bytes.iter_mut().zip(element).for_each(|(to, from)| *to = *from);
        Ok(())
    })
}

/// Reads numbers, and dates and time differences as counts.
#[inline]
fn read_numbers(from: &DynView<'_>) -> Result<Vec<WideNumber>> {
    let counts = counts_dtype(from.dtype());
    with_type!(counts, number T => widen_all::<T>(from, &T::codec(&counts)?), _ => Ok(Vec::new()))
}

/// The dtype of integers for dates and time differences; any other unchanged.
#[inline]
fn counts_dtype(dtype: &DType) -> DType {
    match dtype.kind() {
        Kind::DateTime | Kind::TimeDelta => {
            DType::new_scalar(Kind::Int, dtype.byte_order(), dtype.itemsize())
        }
        _ => dtype.clone(),
    }
}

/// Decodes numbers in C order. Only what depends on the type is compiled for
/// each: an iterator over a typed view is several times as much code.
fn widen_all<T: Number>(from: &DynView<'_>, codec: &T::Codec) -> Result<Vec<WideNumber>> {
    let mut numbers = memory::with_capacity(from.len())?;
    for run in from.geometry.merged().runs() {
        let elements = run.elements(from.bytes, size_of::<T>());
        numbers.extend(elements.map(|element| T::decode(codec, element).widen()));
    }
    Ok(numbers)
}

/// Stores numbers, including counts of dates and time differences.
#[inline]
fn store_numbers(mut to: DynViewMut<'_>, from: &DynView<'_>, exact: bool) -> Result<()> {
    let mut values = read_numbers(from)?;
    let dtype = to.dtype().clone();
    let counts = counts_dtype(&dtype);
    if exact && is_date(from.dtype()) != is_date(&dtype) && values.iter().any(is_nat) {
        let value = if is_date(from.dtype()) { "NaT".to_owned() } else { Ticks::NAT.0.to_string() };
        return Err(inexact(value, &dtype));
    }
    if counts != dtype {
        for value in &mut values {
            let is_none = match *value {
                WideNumber::Float(value) => value.is_nan() || (!exact && !is_count(value)),
                WideNumber::Complex(value, _) => !exact && !is_count(value),
                _ => false,
            };
            if is_none {
                *value = WideNumber::Int(Ticks::NAT.0);
            }
        }
    }
    let mut bytes = memory::zeros(values.len() * dtype.itemsize())?;
    let cast = with_type!(counts, number T => {
        narrow_all::<T>(&T::codec(&counts)?, &values, exact, &mut bytes)?
    }, _ => 0);
    store_first(&mut to, bytes.get(..cast * dtype.itemsize()).invariant(IN_BUFFER));
    match values.get(cast) {
        Some(changed) => Err(value_changed(changed, &dtype)),
        None => Ok(()),
    }
}

#[inline]
fn is_date(dtype: &DType) -> bool {
    matches!(dtype.kind(), Kind::DateTime | Kind::TimeDelta)
}

/// Returns whether a number, as a count, is `NaT`.
#[inline]
fn is_nat(number: &WideNumber) -> bool {
    const NAT: f64 = -9_223_372_036_854_775_808.0;
    match *number {
        WideNumber::Int(count) => count == Ticks::NAT.0,
        WideNumber::Float(count) => count == NAT,
        WideNumber::Complex(count, imaginary) => count == NAT && imaginary == 0.0,
        WideNumber::UInt(_) => false,
    }
}

/// Returns whether a float is inside the range of counts; NaN is not.
#[inline]
fn is_count(value: f64) -> bool {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (-END..END).contains(&value)
}

/// Casts numbers and encodes them to adjacent elements. Returns how many were
/// cast: if `exact`, it stops at the first value that changes.
fn narrow_all<T: Number>(
    codec: &T::Codec,
    values: &[WideNumber],
    exact: bool,
    bytes: &mut [u8],
) -> Result<usize> {
    for (i, (&value, bytes)) in
        values.iter().zip(bytes.chunks_exact_mut(size_of::<T>())).enumerate()
    {
        let cast = T::narrow(value);
        if exact && !is_same_value(value, cast.widen()) {
            return Ok(i);
        }
        cast.encode(codec, bytes)?;
    }
    Ok(values.len())
}

/// Stores the bytes of the first elements in C order.
#[inline]
fn store_first(to: &mut DynViewMut<'_>, elements: &[u8]) {
    match to.codec.itemsize() {
        1 => store_first_of_size::<1>(to, elements),
        2 => store_first_of_size::<2>(to, elements),
        4 => store_first_of_size::<4>(to, elements),
        8 => store_first_of_size::<8>(to, elements),
        _ => store_first_of_size::<16>(to, elements),
    }
}

fn store_first_of_size<const N: usize>(to: &mut DynViewMut<'_>, elements: &[u8]) {
    let mut rest = elements;
    for run in to.geometry.merged().runs() {
        let (own, after) = rest.split_at(rest.len().min(run.count * N));
        rest = after;
        if usize::try_from(run.stride) == Ok(N) {
            let bytes = to.bytes.get_mut(run.start..run.start + own.len());
            bytes.invariant(IN_BYTES).copy_from_slice(own);
            continue;
        }
        let mut at = run.start;
        for element in own.chunks_exact(N) {
            let bytes = to.bytes.get_mut(at..at.wrapping_add(N)).invariant(IN_BYTES);
            bytes.copy_from_slice(element);
            at = at.wrapping_add_signed(run.stride);
        }
    }
}

/// Stores dates or time differences in a different unit.
#[inline]
fn store_ticks(
    to: DynViewMut<'_>,
    from: &DynView<'_>,
    convert: fn(Ticks, crate::dtype::Unit, crate::dtype::Unit) -> Option<Ticks>,
    exact: bool,
) -> Result<()> {
    let (own, other) = (to.dtype().clone(), from.dtype().clone());
    let (Some(unit), Some(other_unit)) = (own.unit(), other.unit()) else {
        // A count without a unit can have any unit.
        return store_numbers(to, from, exact);
    };
    let ticks = from.view::<Ticks>()?.to_vec().into_iter().map(|ticks| {
        let cast = convert(ticks, other_unit, unit);
        let exact_cast =
            cast.filter(|&cast| !exact || convert(cast, unit, other_unit) == Some(ticks));
        exact_cast.ok_or_else(|| {
            let value = match other.kind() {
                Kind::DateTime => Value::DateTime(ticks, other.unit()),
                _ => Value::TimeDelta(ticks, other.unit()),
            };
            let exactly = if cast.is_some() { " exactly" } else { "" };
            Error::invalid_value(value, format_args!("a value that {own} can hold{exactly}"))
        })
    });
    to.into_view::<Ticks>()?.store_all(ticks)
}
