//! An array as C knows it: what it is, and its elements.

use std::ffi::CString;
use std::ops::Range;
use std::sync::OnceLock;

use npymap::array::AnyArray;
use npymap::layout::Layout;
use npymap::view::{DynView, DynViewMut};
use npymap::{DType, MappedArrayMut, Mode, Order, RowSource as _, Rows, Value};

use crate::error::{Failure, Result};
use crate::number;
use crate::status;

/// An array.
#[derive(Debug)]
pub struct Array {
    any: AnyArray,
    /// The text of the dtype, once it was asked for.
    descr: OnceLock<CString>,
    /// Where `take` reads rows from, once it was called.
    rows: OnceLock<Box<Rows>>,
}

/// Evaluates an expression for an array of either kind.
macro_rules! each {
    ($any:expr, $array:ident => $body:expr) => {
        match $any {
            AnyArray::ReadOnly($array) => $body,
            AnyArray::Writable($array) => $body,
        }
    };
}

pub(crate) use each;

/// C may use an object in any thread, and call functions that do not change it in
/// several.
const fn assert_shareable<T: Send + Sync>() {}
const _: () = assert_shareable::<Array>();

impl From<AnyArray> for Array {
    fn from(array: AnyArray) -> Array {
        Array { any: array, descr: OnceLock::new(), rows: OnceLock::new() }
    }
}

impl From<MappedArrayMut> for Array {
    fn from(array: MappedArrayMut) -> Array {
        AnyArray::Writable(array).into()
    }
}

impl Array {
    pub(crate) fn layout(&self) -> &Layout {
        each!(&self.any, array => array.layout())
    }

    pub(crate) fn dtype(&self) -> &DType {
        self.layout().dtype()
    }

    /// The text of the dtype, in the notation of headers.
    pub(crate) fn descr(&self) -> &CString {
        // Quotes are escaped in a literal, and so is NUL.
        self.descr.get_or_init(|| CString::new(self.dtype().to_string()).unwrap_or_default())
    }

    /// The memory order: that of the header if both would be right.
    pub(crate) fn order(&self) -> Order {
        let layout = self.layout();
        match (layout.is_c_contiguous(), layout.is_f_contiguous()) {
            (true, true) => {
                each!(&self.any, array => array.header()).map_or(Order::C, |header| header.order)
            }
            (false, _) => Order::F,
            (true, false) => Order::C,
        }
    }

    pub(crate) fn mode(&self) -> i32 {
        match each!(&self.any, array => array.mode()) {
            None => status::NPYMAP_IN_MEMORY,
            Some(Mode::ReadOnly) => status::NPYMAP_READ_ONLY,
            Some(Mode::CopyOnWrite) => status::NPYMAP_COPY_ON_WRITE,
            Some(Mode::ReadWrite | Mode::Create) => status::NPYMAP_READ_WRITE,
        }
    }

    pub(crate) fn data_offset(&self) -> Option<u64> {
        each!(&self.any, array => array.data_offset())
    }

    /// The bytes of all elements, in memory order.
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        Ok(each!(&self.any, array => array.as_bytes())?)
    }

    /// As [`bytes`](Array::bytes), for writing.
    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        Ok(self.writable()?.as_bytes_mut()?)
    }

    pub(crate) fn writable(&mut self) -> Result<&mut MappedArrayMut> {
        match &mut self.any {
            AnyArray::Writable(array) => Ok(array),
            AnyArray::ReadOnly(_) => Err(read_only()),
        }
    }

    pub(crate) fn any(&self) -> &AnyArray {
        &self.any
    }

    pub(crate) fn into_any(self) -> AnyArray {
        self.any
    }

    /// Views the elements, or a field of them.
    fn view(&self, field: Option<&str>) -> Result<DynView<'_>> {
        Ok(match field {
            None => each!(&self.any, array => array.dyn_view())?,
            Some(field) => each!(&self.any, array => array.dyn_view()?.field(field))?,
        })
    }

    fn view_mut(&mut self, field: Option<&str>) -> Result<DynViewMut<'_>> {
        let array = self.writable()?;
        Ok(match field {
            None => array.dyn_view_mut()?,
            Some(field) => array.dyn_view_mut()?.into_field(field)?,
        })
    }

    /// The range of bytes of an element, counted from the first element.
    pub(crate) fn element(&self, index: &[usize]) -> Result<Range<usize>> {
        let layout = self.layout();
        let shape = layout.shape();
        check_index(index, shape)?;
        // Strides are positive, and their sum was checked when the array was opened.
        let steps = index.iter().zip(layout.byte_strides());
        let start = steps.fold(0, |sum, (&at, stride)| sum + at * stride.unsigned_abs());
        Ok(start..start + layout.dtype().itemsize())
    }

    /// Copies a number to a variable of type `to`.
    pub(crate) fn get(&self, index: &[usize], to: i32, out: &mut [u8]) -> Result<()> {
        number::load(self.dtype(), self.element_bytes(index)?, to, out)
    }

    /// Stores the number in a variable of type `from`.
    pub(crate) fn set(&mut self, index: &[usize], from: i32, value: &[u8]) -> Result<()> {
        let dtype = self.dtype().clone();
        number::save(from, value, &dtype, self.element_bytes_mut(index)?)
    }

    /// The bytes of an element, as they are stored.
    pub(crate) fn element_bytes(&self, index: &[usize]) -> Result<&[u8]> {
        part(self.bytes()?, self.element(index)?)
    }

    /// As [`element_bytes`](Array::element_bytes), for writing.
    pub(crate) fn element_bytes_mut(&mut self, index: &[usize]) -> Result<&mut [u8]> {
        let range = self.element(index)?;
        part_mut(self.bytes_mut()?, range)
    }

    /// As [`get`](Array::get), for a field.
    pub(crate) fn get_field(
        &self,
        field: &str,
        index: &[usize],
        to: i32,
        out: &mut [u8],
    ) -> Result<()> {
        let view = self.view(Some(field))?;
        check_index(index, view.shape())?;
        let element = index.iter().try_fold(view, |view, &at| view.index_axis(0, at))?;
        let bytes = element.element_bytes().next().ok_or_else(wrong_blocks)?;
        number::load(element.dtype(), bytes, to, out)
    }

    /// As [`set`](Array::set), for a field.
    pub(crate) fn set_field(
        &mut self,
        field: &str,
        index: &[usize],
        from: i32,
        value: &[u8],
    ) -> Result<()> {
        let view = self.view_mut(Some(field))?;
        check_index(index, view.shape())?;
        let mut element = index.iter().try_fold(view, |view, &at| view.index_axis(0, at))?;
        let dtype = element.dtype().clone();
        // The largest number.
        let mut stored = [0; 16];
        let stored = part_mut(&mut stored, 0..number::itemsize(&dtype)?)?;
        number::save(from, value, &dtype, stored)?;
        let layout = Layout::new(dtype, &[], Order::C, 0)?;
        Ok(element.assign(&DynView::from_bytes(stored, &layout)?)?)
    }

    /// The text of an element, or of a field of it.
    pub(crate) fn text(&self, field: Option<&str>, index: &[usize]) -> Result<String> {
        let view = self.view(field)?;
        let value = view.get(index).ok_or_else(|| out_of_bounds(index, view.shape()))?;
        Ok(value.to_string())
    }

    /// Parses the text of an element, or of a field of it, and stores the value.
    pub(crate) fn set_text(
        &mut self,
        field: Option<&str>,
        index: &[usize],
        text: &str,
    ) -> Result<()> {
        let mut view = self.view_mut(field)?;
        let value = Value::parse(text, view.dtype())?;
        Ok(view.set(index, value)?)
    }

    /// Copies all elements, or a field of them, in C order, as numbers in memory.
    pub(crate) fn copy(&self, field: Option<&str>, to: i32, out: &mut [u8]) -> Result<()> {
        copy(&self.view(field)?, to, out)
    }

    /// Like [`copy`](Array::copy), for rows next to each other.
    pub(crate) fn copy_rows(&self, rows: Range<usize>, to: i32, out: &mut [u8]) -> Result<()> {
        let (before, _) = self.view(None)?.split_at(0, rows.end)?;
        copy(&before.split_at(0, rows.start)?.1, to, out)
    }

    /// Copies the bytes of all elements, in C order.
    pub(crate) fn copy_bytes(&self, order: npymap::ByteOrder, out: &mut [u8]) -> Result<()> {
        let view = self.view(None)?;
        check_size(out.len(), self.layout().nbytes())?;
        let mut rest = out;
        let blocks = view.byte_blocks().zero_padding();
        let blocks = match order {
            npymap::ByteOrder::NotApplicable => blocks,
            order => blocks.byte_order(order),
        };
        blocks.try_for_each(|block| {
            let all = std::mem::take(&mut rest);
            let (out, after) = all.split_at_mut_checked(block.len()).ok_or_else(wrong_blocks)?;
            out.copy_from_slice(block);
            rest = after;
            Ok(())
        })
    }

    /// Stores numbers in memory, in C order, to all elements or a field of them.
    pub(crate) fn assign(&mut self, field: Option<&str>, from: i32, values: &[u8]) -> Result<()> {
        let mut view = self.view_mut(field)?;
        let layout = buffer_layout(from, view.shape(), values.len())?;
        let casting = number::bulk_casting(layout.dtype(), view.dtype())?;
        Ok(view.assign_as(&DynView::from_bytes(values, &layout)?, casting)?)
    }

    /// Copies rows as numbers in memory.
    pub(crate) fn take(&self, indices: &[usize], to: i32, out: &mut [u8]) -> Result<()> {
        let layout = buffer_layout(to, &self.taken_shape(indices)?, out.len())?;
        let casting = number::bulk_casting(self.dtype(), layout.dtype())?;
        match self.rows()? {
            Some(rows) if number::is_aligned(to, out)? => number::take(rows, indices, to, out),
            _ => {
                let view = self.view(None)?;
                let mut taken = DynViewMut::from_bytes(out, &layout)?;
                for (place, &row) in indices.iter().enumerate() {
                    let row = view.index_axis(0, row)?;
                    taken.reborrow().index_axis(0, place)?.assign_as(&row, casting)?;
                }
                number::normalize(to, out);
                Ok(())
            }
        }
    }

    /// Copies rows as they are stored.
    pub(crate) fn take_bytes(&self, indices: &[usize], out: &mut [u8]) -> Result<()> {
        let shape = self.taken_shape(indices)?;
        let layout = Layout::new(self.dtype().clone(), &shape, Order::C, 0)?;
        check_size(out.len(), layout.nbytes())?;
        if let Some(rows) = self.rows()? {
            return Ok(rows.take_bytes(indices, out)?);
        }
        let view = self.view(None)?;
        let mut out = DynViewMut::from_bytes(out, &layout)?;
        for (place, &row) in indices.iter().enumerate() {
            out.reborrow().index_axis(0, place)?.assign(&view.index_axis(0, row)?)?;
        }
        Ok(())
    }

    /// Maps the rows that were appended to the file.
    pub(crate) fn reload(&mut self) -> Result<()> {
        let AnyArray::ReadOnly(array) = &mut self.any else {
            return Err(Failure::misuse("only read-only arrays are reloaded"));
        };
        array.reload()?;
        // They are those of the old header and map.
        (self.descr, self.rows) = (OnceLock::new(), OnceLock::new());
        Ok(())
    }

    /// Where rows are read from, if the array is read-only.
    fn rows(&self) -> Result<Option<&Rows>> {
        let AnyArray::ReadOnly(array) = &self.any else { return Ok(None) };
        if let Some(rows) = self.rows.get() {
            return Ok(Some(rows));
        }
        let rows = array.rows()?;
        Ok(Some(self.rows.get_or_init(|| Box::new(rows))))
    }

    /// The shape of rows that are taken, if they exist.
    fn taken_shape(&self, indices: &[usize]) -> Result<Vec<usize>> {
        let shape = self.layout().shape();
        let Some((&count, row)) = shape.split_first() else {
            let text = "an array without axes has no rows: use npymap_get";
            return Err(Failure::new(status::NPYMAP_ERROR_SHAPE_MISMATCH, text));
        };
        if let Some(&wrong) = indices.iter().find(|&&index| index >= count) {
            return Err(out_of_bounds(&[wrong], shape));
        }
        Ok([&[indices.len()], row].concat())
    }
}

/// Copies elements in C order, as numbers in memory.
fn copy(view: &DynView<'_>, to: i32, out: &mut [u8]) -> Result<()> {
    let layout = buffer_layout(to, view.shape(), out.len())?;
    let casting = number::bulk_casting(view.dtype(), layout.dtype())?;
    DynViewMut::from_bytes(out, &layout)?.assign_as(view, casting)?;
    number::normalize(to, out);
    Ok(())
}

/// The layout of a buffer of numbers in C order, which must have exactly this size.
fn buffer_layout(number: i32, shape: &[usize], found: usize) -> Result<Layout> {
    let layout = Layout::new(number::dtype_of(number)?, shape, Order::C, 0)?;
    check_size(found, layout.nbytes())?;
    Ok(layout)
}

pub(crate) fn check_size(found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(number::wrong_size("the buffer", found, expected)) }
}

fn part(bytes: &[u8], range: Range<usize>) -> Result<&[u8]> {
    bytes.get(range).ok_or_else(wrong_blocks)
}

fn part_mut(bytes: &mut [u8], range: Range<usize>) -> Result<&mut [u8]> {
    bytes.get_mut(range).ok_or_else(wrong_blocks)
}

/// The error if the elements do not have the size that their layout says.
fn wrong_blocks() -> Failure {
    Failure::new(status::NPYMAP_ERROR_INTERNAL, "internal error: the elements have another size")
}

/// Checks that there is an element at an index.
pub(crate) fn check_index(index: &[usize], shape: &[usize]) -> Result<()> {
    if index.len() == shape.len() && index.iter().zip(shape).all(|(at, dim)| at < dim) {
        return Ok(());
    }
    Err(out_of_bounds(index, shape))
}

#[cold]
pub(crate) fn out_of_bounds(index: &[usize], shape: &[usize]) -> Failure {
    let text = format!("index {index:?} is out of bounds for shape {shape:?}");
    Failure::new(status::NPYMAP_ERROR_OUT_OF_BOUNDS, text)
}

#[cold]
fn read_only() -> Failure {
    let advice = "open it with NPYMAP_READ_WRITE or NPYMAP_COPY_ON_WRITE";
    Failure::misuse(format!("the array is read-only: {advice}"))
}
