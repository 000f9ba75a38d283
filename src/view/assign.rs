//! Stores elements of one dtype into elements of another.

use super::cast::value_changed;
use super::{DynView, DynViewMut, View, ViewMut};
use crate::dtype::{DType, Kind};
use crate::element::cast::{Casting, Number, WideNumber, check_cast, is_same_value};
use crate::element::recode::Recoding;
use crate::element::value::{Value, units};
use crate::element::{Element as _, Ticks, decode_points, trim_nuls};
use crate::error::invariant::{Invariant, PAIRED};
use crate::error::{DTypeError, Result};
use crate::kernel::{self, ElementFormat};
use crate::layout::geometry::Geometry;
use crate::with_type;

/// Elements that are cast at once: both sides of a tile stay in a cache.
const TILE: usize = 16 * 1024;

impl ViewMut<'_, Value> {
    /// Stores the elements of another view as this dtype, repeated to fill
    /// this one as in [`View::broadcast`]: NumPy's
    /// `copyto(self, from, casting=…)`.
    ///
    /// Numbers, dates, time differences and text become each other by NumPy's
    /// rules; structs go field by field, by position. Whatever the two orders
    /// in memory, it goes tile by tile, so that neither side need fit into
    /// memory.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when the cast isn't allowed
    /// or isn't there, before anything is stored;
    /// [`WrongShape`](crate::ErrorKind::WrongShape),
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for text that is no
    /// value, dates that don't fit, and with [`Casting::SameValue`] for a value
    /// that would change: elements stored before it are replaced then.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, element::Casting};
    ///
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
    /// let mut small = MappedArray::anonymous(&">f4".parse()?, &[342, 4])?;
    /// small.dyn_view_mut()?.assign_as(&penguins.dyn_view()?, Casting::SameKind)?;
    /// assert_eq!(small.view::<f32>()?.at([0, 3]), 3750.0);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    pub fn assign_as(&mut self, from: &DynView<'_>, casting: Casting) -> Result<()> {
        check_assign(from.dtype(), self.dtype(), casting)?;
        let from = from.broadcast(self.shape())?;
        // Elements of no bytes there may be more of than anybody can wait for.
        if self.is_empty() || self.codec.itemsize() == 0 {
            return Ok(());
        }
        let (to, from) = joined(self.reborrow(), from);
        tiles(to, &from, casting)
    }
}

/// Rejects what [`assign_as`](ViewMut::assign_as) cannot cast, whatever the
/// values.
pub(crate) fn check_assign(from: &DType, to: &DType, casting: Casting) -> Result<()> {
    check_cast(from, to, casting)?;
    is_there(from, to, casting)
}

/// Refuses dtypes that no cast is written for.
fn is_there(from: &DType, to: &DType, casting: Casting) -> Result<()> {
    let refused = |works: &str| {
        let (from, to) = (from.to_string(), to.to_string());
        Err(DTypeError::Cast { from, to, casting: casting.to_string(), works: works.to_owned() }
            .into())
    };
    match (from.subarray(), to.subarray()) {
        (Some((base, shape)), Some((other, same))) if shape == same => {
            return is_there(base, other, casting);
        }
        (None, Some((base, _))) => return is_there(from, base, casting),
        (None, None) => {}
        _ => return refused("the shapes of the subarrays differ"),
    }
    match (from.kind(), to.kind()) {
        (Kind::Struct, Kind::Struct) => {
            let mut pairs = from.fields().iter().zip(to.fields());
            pairs.try_for_each(|(from, to)| is_there(&from.dtype, &to.dtype, casting))
        }
        (Kind::Struct, _) | (_, Kind::Struct) => refused("select a field with `field` first"),
        _ if copies(from, to) => Ok(()),
        (_, Kind::Float) if to.itemsize() == 16 => {
            refused("long doubles can only be copied, use doubles")
        }
        (Kind::Float, _) if from.itemsize() == 16 => refused("long doubles can only be copied"),
        (_, Kind::Complex) if to.itemsize() == 32 => {
            refused("complex long doubles can only be copied, use complex doubles")
        }
        (Kind::Complex, _) if from.itemsize() == 32 => refused("long doubles can only be copied"),
        (Kind::Void, _) => refused("give its bytes a dtype with `view_as`"),
        (Kind::TimeDelta, Kind::TimeDelta) if !counts(from, to) => {
            refused("months and years have no fixed length in weeks or shorter units")
        }
        (Kind::TimeDelta, Kind::DateTime) | (Kind::DateTime, Kind::TimeDelta) => {
            refused("subtract dates to get time differences")
        }
        (Kind::TimeDelta, Kind::Bytes | Kind::Unicode) => refused("format the values as text"),
        (Kind::Bytes | Kind::Unicode, Kind::Bool | Kind::TimeDelta) => refused("parse the text"),
        _ => Ok(()),
    }
}

/// Whether the units of two differences can become each other.
fn counts(from: &DType, to: &DType) -> bool {
    match (from.unit(), to.unit()) {
        (Some(from), Some(to)) => units::convert_difference(Ticks(0), from, to).is_some(),
        (unit, _) => unit.is_none(),
    }
}

/// Whether the bytes of one become the other's as they are, but for their
/// order, or for zeros behind them.
fn copies(from: &DType, to: &DType) -> bool {
    to.kind() == Kind::Void || from.with_byte_order(to.byte_order()) == *to
}

/// The same elements along as few axes as can be, when that is one for both.
fn joined<'t, 'f>(to: DynViewMut<'t>, from: DynView<'f>) -> (DynViewMut<'t>, DynView<'f>) {
    let mut axes: Vec<usize> = (0..to.ndim()).collect();
    axes.sort_by_key(|&axis| {
        std::cmp::Reverse(to.geometry.strides.get(axis).map_or(0, |stride| stride.unsigned_abs()))
    });
    let by_memory = |geometry: &Geometry| geometry.permuted(&axes).map(|turned| turned.merged());
    match (by_memory(&to.geometry), by_memory(&from.geometry)) {
        (Ok(own), Ok(other)) if own.ndim() < 2 && own.shape == other.shape => {
            (ViewMut { geometry: own, ..to }, View { geometry: other, ..from })
        }
        _ => (to, from),
    }
}

/// Halves the longest axis until what is left is a tile.
fn tiles(to: DynViewMut<'_>, from: &DynView<'_>, casting: Casting) -> Result<()> {
    let longest = (0..to.ndim()).rev().max_by_key(|&axis| to.shape().get(axis).copied());
    let Some(axis) = longest.filter(|_| to.len() > TILE) else { return store(to, from, casting) };
    let half = to.shape().get(axis).map_or(0, |dim| dim / 2);
    let (low, high) = to.geometry.split_at(axis, half)?;
    let (from_low, from_high) = from.split_at(axis, half)?;
    let (bytes, codec) = (to.bytes, to.codec);
    tiles(ViewMut { bytes, geometry: low, codec: codec.clone() }, &from_low, casting)?;
    tiles(ViewMut { bytes, geometry: high, codec }, &from_high, casting)
}

/// Casts a tile.
fn store(to: DynViewMut<'_>, from: &DynView<'_>, casting: Casting) -> Result<()> {
    let mut to = to;
    if to.is_empty() || to.codec.itemsize() == 0 {
        return Ok(());
    }
    let (own, other) = (to.dtype().clone(), from.dtype().clone());
    let recode = Recoding::new(&other, Some(own.byte_order()), false);
    if own == other || (copies(&other, &own) && recode.is_single_copy() && own.kind() != Kind::Void)
    {
        let format =
            if own == other { ElementFormat::opaque(own.itemsize()) } else { recode.format };
        copy_runs(&mut to, from, format);
        return Ok(());
    }
    if own.kind() == Kind::Struct {
        for (own, other) in own.fields().iter().zip(other.fields()) {
            let part = to.reborrow().getfield(&own.dtype, own.offset)?;
            let from = from.getfield(&other.dtype, other.offset)?;
            let from = widened(from, part.ndim()).broadcast(part.shape())?;
            store(part, &from, casting)?;
        }
        return Ok(());
    }
    match (other.kind(), own.kind()) {
        _ if copies(&other, &own) => copy(&mut to, from, casting),
        (Kind::DateTime, Kind::DateTime) => dates(to, from, units::convert_date, casting),
        (Kind::TimeDelta, Kind::TimeDelta) => dates(to, from, units::convert_difference, casting),
        (Kind::Bytes | Kind::Unicode, Kind::Bytes | Kind::Unicode) => text(&mut to, from, casting),
        (Kind::Bytes | Kind::Unicode, _) => parsed(&mut to, from),
        (_, Kind::Bytes | Kind::Unicode) => printed(&mut to, from, casting),
        _ => numbers(to, &read(from)?, casting),
    }
}

/// Copies elements run by run, numbers reversed if need be.
fn copy_runs(to: &mut DynViewMut<'_>, from: &DynView<'_>, format: ElementFormat) {
    let geometry = to.geometry.clone();
    for (to_run, from_run) in geometry.runs().zip(from.geometry.runs()) {
        let together = to_run.forward_mut(to.bytes, format.size);
        let together =
            together.filter(|(_, stride)| *stride == format.size).map(|(bytes, _)| bytes);
        if let (Some(to), Some((from, stride))) =
            (together, from_run.forward(from.bytes, format.size))
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

/// Puts axes of length 1 behind the others, up to so many.
fn widened(view: DynView<'_>, ndim: usize) -> DynView<'_> {
    let mut view = view;
    while view.ndim() < ndim {
        view.geometry.shape.push(1);
        view.geometry.strides.push(0);
    }
    view
}

/// Copies bytes, turned round where the order of numbers differs; zeros fill
/// what void has more of.
fn copy(to: &mut DynViewMut<'_>, from: &DynView<'_>, casting: Casting) -> Result<()> {
    let turned = to.dtype() != from.dtype() && to.dtype().kind() != Kind::Void;
    let elements = from.element_bytes().collect::<Vec<_>>();
    let mut elements = elements.into_iter();
    to.try_for_each_in_c_order(|dtype, bytes| {
        let element = elements.next().invariant(PAIRED);
        let mut cut = element.iter().skip(bytes.len());
        if casting == Casting::SameValue && cut.any(|&byte| byte != 0) {
            let value = Value::Void(element.to_vec()).to_string();
            return Err(DTypeError::Value {
                value,
                expected: format!("a value that fits {dtype}"),
            }
            .into());
        }
        bytes.fill(0);
        bytes.iter_mut().zip(element).for_each(|(to, from)| *to = *from);
        Ok(())
    })?;
    if turned { to.byteswap_inplace() } else { Ok(()) }
}

/// Reads numbers, and the counts of dates.
fn read(from: &DynView<'_>) -> Result<Vec<WideNumber>> {
    let mut out = Vec::with_capacity(from.len());
    let dtype = from.dtype().clone();
    if matches!(dtype.kind(), Kind::DateTime | Kind::TimeDelta) {
        from.view::<Ticks>()?.fold((), |(), ticks| out.push(WideNumber::Int(ticks.0)));
        return Ok(out);
    }
    with_type!(dtype, number T => {
        from.view::<T>()?.fold((), |(), value| out.push(value.widen()));
    }, _ => {});
    Ok(out)
}

/// Stores numbers.
fn numbers(to: DynViewMut<'_>, values: &[WideNumber], casting: Casting) -> Result<()> {
    let dtype = to.dtype().clone();
    let exact = casting == Casting::SameValue;
    if matches!(dtype.kind(), Kind::DateTime | Kind::TimeDelta) {
        let ticks = values.iter().map(|value| match value {
            WideNumber::Float(value) if value.is_nan() => Ok(Ticks::NAT),
            value => kept::<i64>(*value, exact, &dtype).map(Ticks),
        });
        return to.into_view::<Ticks>()?.store_all(ticks);
    }
    with_type!(dtype, number T => {
        to.into_view::<T>()?.store_all(values.iter().map(|value| kept::<T>(*value, exact, &dtype)))
    }, _ => Ok(()))
}

fn kept<T: Number>(value: WideNumber, exact: bool, dtype: &DType) -> Result<T> {
    let cast = T::narrow(value);
    if exact && !is_same_value(value, cast.widen()) {
        Err(value_changed(&value, dtype))
    } else {
        Ok(cast)
    }
}

/// Stores dates or differences in another unit.
fn dates(
    to: DynViewMut<'_>,
    from: &DynView<'_>,
    convert: fn(Ticks, crate::dtype::Unit, crate::dtype::Unit) -> Option<Ticks>,
    casting: Casting,
) -> Result<()> {
    let (own, other) = (to.dtype().clone(), from.dtype().clone());
    let (Some(unit), Some(other_unit)) = (own.unit(), other.unit()) else {
        // A count without a unit becomes one of any.
        return numbers(to, &read(from)?, casting);
    };
    let exact = casting == Casting::SameValue;
    let ticks = from.view::<Ticks>()?.to_vec().into_iter().map(|ticks| {
        let cast = convert(ticks, other_unit, unit);
        let back = || cast.and_then(|cast| convert(cast, unit, other_unit));
        cast.filter(|_| !exact || back() == Some(ticks)).ok_or_else(|| {
            let value = Value::decode(&other, &element(&other, ticks)).to_string();
            DTypeError::Value { value, expected: format!("a value that {own} can hold") }.into()
        })
    });
    to.into_view::<Ticks>()?.store_all(ticks)
}

fn element(dtype: &DType, ticks: Ticks) -> [u8; 8] {
    let mut bytes = [0; 8];
    let _ = ticks.encode(&dtype.byte_order(), &mut bytes);
    bytes
}

/// Stores text in another encoding or room. Bytes beyond ASCII have no code
/// points, as in NumPy.
fn text(to: &mut DynViewMut<'_>, from: &DynView<'_>, casting: Casting) -> Result<()> {
    let (own, other) = (to.dtype().clone(), from.dtype().clone());
    let exact = casting == Casting::SameValue;
    let crosses = own.kind() != other.kind();
    let elements: Vec<Vec<u32>> = from.element_bytes().map(|e| points(&other, e)).collect();
    let mut elements = elements.into_iter();
    let width = if own.kind() == Kind::Unicode { 4 } else { 1 };
    to.try_for_each_in_c_order(|_, bytes| {
        let points = elements.next().invariant(PAIRED);
        let refused = |expected: String| {
            let shown: String = points.iter().filter_map(|&p| char::from_u32(p)).collect();
            DTypeError::Value { value: format!("'{shown}'"), expected }.into()
        };
        if crosses && points.iter().any(|&point| point >= 0x80) {
            return Err(refused(format!("ASCII that fits {own}")));
        }
        if exact && points.len() > bytes.len() / width {
            return Err(refused(format!("a value that fits {own}")));
        }
        bytes.fill(0);
        for (to, &point) in bytes.chunks_exact_mut(width).zip(&points) {
            match to {
                [byte] => *byte = u8::try_from(point).unwrap_or(b'?'),
                to => point.encode(&own.byte_order(), to)?,
            }
        }
        Ok(())
    })
}

/// The code points of text, or its bytes, without trailing NULs.
fn points(dtype: &DType, bytes: &[u8]) -> Vec<u32> {
    if dtype.kind() == Kind::Bytes {
        return trim_nuls(bytes).iter().copied().map(u32::from).collect();
    }
    decode_points(dtype.byte_order(), bytes).collect()
}

/// Stores what text says.
fn parsed(to: &mut DynViewMut<'_>, from: &DynView<'_>) -> Result<()> {
    let other = from.dtype().clone();
    let elements: Vec<Vec<u32>> = from.element_bytes().map(|e| points(&other, e)).collect();
    let mut elements = elements.into_iter();
    to.try_for_each_in_c_order(|dtype, bytes| {
        let points = elements.next().invariant(PAIRED);
        let text: String = points.iter().filter_map(|&point| char::from_u32(point)).collect();
        Value::parse(&text, dtype)?.encode(dtype, bytes)
    })
}

/// Stores numbers and dates as NumPy prints them.
fn printed(to: &mut DynViewMut<'_>, from: &DynView<'_>, casting: Casting) -> Result<()> {
    let exact = casting == Casting::SameValue;
    let mut values = from.to_vec().into_iter();
    to.try_for_each_in_c_order(|dtype, bytes| {
        let text = values.next().invariant(PAIRED).to_string();
        let width = if dtype.kind() == Kind::Unicode { 4 } else { 1 };
        if exact && text.len() > bytes.len() / width {
            return Err(DTypeError::Value {
                value: text,
                expected: format!("a value that fits {dtype}"),
            }
            .into());
        }
        bytes.fill(0);
        for (to, c) in bytes.chunks_exact_mut(width).zip(text.bytes()) {
            match to {
                [byte] => *byte = c,
                to => u32::from(c).encode(&dtype.byte_order(), to)?,
            }
        }
        Ok(())
    })
}
