//! Rows of an array that a command processes block by block: all rows, or those
//! that satisfy a condition.

use std::convert::Infallible;
use std::path::Path;

use npymap::{
    CreateOptions, DType, Error, ErrorKind, MappedArray, MappedArrayMut, OpenOptions, Order,
    Result, dtype::Kind, element::Casting, layout::Layout, view::DynView,
};

use crate::input::error::CliError;
use crate::input::memory;
use crate::input::open;
use crate::input::parallel;
use crate::input::progress::Progress;
use crate::input::row_blocks::RowBlocks;
use crate::select::fields::Fields;
use crate::select::filter::Filter;
use crate::select::limits;
use crate::select::selection::IndexArg;

/// The number of axes that enumerate the rows of a view: all axes of records,
/// all but the last of other arrays.
pub(crate) fn leading_axes(view: &DynView<'_>) -> usize {
    let is_record = view.dtype().kind() == Kind::Struct;
    if is_record || view.ndim() < 2 { view.ndim() } else { view.ndim() - 1 }
}

/// The rows of a view that satisfy a condition, and some of their fields.
pub(crate) struct RowSelection<'a> {
    rows: DynView<'a>,
    leading: usize,
    filter: Option<&'a Filter>,
    fields: Fields,
    blocks: RowBlocks,
}

/// Some of the rows.
pub(crate) struct RowBlock<'a> {
    content: Content<'a>,
    /// The numbers of the rows, if a condition selected them.
    pub(crate) numbers: Option<Vec<usize>>,
    /// The bytes of the array that were read for them.
    pub(crate) bytes_read: usize,
}

enum Content<'a> {
    View(DynView<'a>),
    /// Rows that were selected, with the fields to use.
    Copy(MappedArray<Vec<u8>>, Fields),
}

impl RowBlock<'_> {
    pub(crate) fn view(&self) -> Result<DynView<'_>> {
        match &self.content {
            Content::View(view) => Ok(view.clone()),
            Content::Copy(rows, fields) => fields.select(rows.dyn_view()?),
        }
    }
}

/// The first rows that satisfy a condition.
pub(crate) struct FirstRows {
    rows: MappedArray<Vec<u8>>,
    fields: Fields,
    /// Their numbers among all rows.
    pub(crate) numbers: Vec<usize>,
    /// The number of axes that enumerate all rows.
    pub(crate) leading: usize,
    /// Whether there are more.
    pub(crate) has_more: bool,
}

impl FirstRows {
    pub(crate) fn view(&self) -> Result<DynView<'_>> {
        self.fields.select(self.rows.dyn_view()?)
    }
}

impl<'a> RowSelection<'a> {
    /// Selects rows, and checks that the condition and the fields suit them.
    pub(crate) fn new(
        rows: DynView<'a>,
        filter: Option<&'a Filter>,
        fields: Fields,
    ) -> Result<RowSelection<'a>> {
        let leading = leading_axes(&rows);
        let dims = rows.shape().get(..leading).unwrap_or_default();
        let row: usize = rows.shape().iter().skip(leading).product();
        let blocks = RowBlocks::new(dims, row.saturating_mul(rows.itemsize()));
        if let Some(filter) = filter {
            if leading == 0 {
                let text = "has no rows to select: its shape is ()";
                return Err(Error::new(ErrorKind::ShapeMismatch, text));
            }
            filter.mask(&rows.split_at(0, 0)?.0, leading)?;
        }
        fields.select(rows.clone())?;
        Ok(RowSelection { rows, leading, filter, fields, blocks })
    }

    /// Copies the first `count` rows that satisfy the condition, and reads no
    /// further than the next one.
    pub(crate) fn first(&self, count: usize) -> Result<FirstRows> {
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        let inner = self.rows.shape().get(self.leading..).unwrap_or_default();
        let row = inner.iter().product::<usize>() * self.rows.itemsize();
        for number in 0..self.blocks() {
            let block = self.block(number)?;
            let Content::Copy(rows, _) = &block.content else { break };
            bytes.extend_from_slice(rows.as_bytes()?);
            numbers.extend(block.numbers.unwrap_or_default());
            if numbers.len() > count {
                break;
            }
        }
        let has_more = numbers.len() > count;
        numbers.truncate(count);
        bytes.truncate(numbers.len() * row);
        let shape: Vec<usize> =
            std::iter::once(numbers.len()).chain(inner.iter().copied()).collect();
        let layout = Layout::new(self.rows.dtype().clone(), &shape, Order::C, 0)?;
        let (rows, fields) = (MappedArray::from_parts(bytes, layout)?, self.fields.clone());
        Ok(FirstRows { rows, fields, numbers, leading: self.leading, has_more })
    }

    /// All rows with the selected fields; the condition is ignored.
    pub(crate) fn unfiltered(&self) -> Result<DynView<'a>> {
        self.fields.select(self.rows.clone())
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Rejects more rows without elements than are printed: a header can claim any
    /// number.
    pub(crate) fn check_empty(&self, path: &Path) -> Result<(), CliError> {
        let rows: usize = self.rows.shape().iter().take(self.leading).product();
        limits::check_empty_rows(path, if self.rows.is_empty() { rows } else { 0 })
    }

    /// The number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The size of all rows, in bytes.
    pub(crate) fn nbytes(&self) -> usize {
        self.rows.len().saturating_mul(self.rows.itemsize())
    }

    /// The selected rows of a block. If there is a condition, they are a copy with
    /// one axis of rows.
    pub(crate) fn block(&self, number: usize) -> Result<RowBlock<'a>> {
        let (slice, rows) = self.blocks.slice(number, self.rows.ndim());
        let block = self.rows.try_slice(slice)?;
        let bytes_read = block.len().saturating_mul(block.itemsize());
        let Some(filter) = self.filter else {
            let content = Content::View(self.fields.select(block)?);
            return Ok(RowBlock { content, numbers: None, bytes_read });
        };
        let mask = filter.mask(&block, self.leading)?;
        let numbers = rows.zip(&mask).filter(|(_, holds)| **holds).map(|(row, _)| row).collect();
        let content = Content::Copy(self.matching(&block, &mask)?, self.fields.clone());
        Ok(RowBlock { content, numbers: Some(numbers), bytes_read })
    }

    /// Copies the rows of a block that satisfy the condition.
    fn matching(&self, block: &DynView<'_>, mask: &[bool]) -> Result<MappedArray<Vec<u8>>> {
        let inner = block.shape().get(self.leading..).unwrap_or_default();
        let row = inner.iter().product::<usize>() * block.itemsize();
        let count = mask.iter().filter(|holds| **holds).count();
        let mut bytes = memory::with_capacity(count * row)?;
        if count > 0 && row > 0 {
            let all = bytes_of(block)?;
            let rows = all.chunks_exact(row).zip(mask);
            rows.filter(|(_, holds)| **holds).for_each(|(row, _)| bytes.extend_from_slice(row));
        }
        let shape: Vec<usize> = std::iter::once(count).chain(inner.iter().copied()).collect();
        MappedArray::from_parts(bytes, Layout::new(block.dtype().clone(), &shape, Order::C, 0)?)
    }

    /// The number of rows that satisfy the condition.
    fn count(&self) -> Result<usize> {
        let mut count = 0;
        let mut progress = Progress::new(self.nbytes());
        parallel::in_order(
            self.blocks(),
            |number| {
                let (slice, _) = self.blocks.slice(number, self.rows.ndim());
                let block = self.rows.try_slice(slice)?;
                let mask = match self.filter {
                    Some(filter) => filter.mask(&block, self.leading)?,
                    None => Vec::new(),
                };
                let bytes = block.len().saturating_mul(block.itemsize());
                Ok::<_, Error>((mask.into_iter().filter(|holds| *holds).count(), bytes))
            },
            |_, (matches, bytes)| {
                count += matches;
                progress.add(bytes);
                Ok(())
            },
        )?;
        Ok(count)
    }

    /// The dtype and shape of a new array of these rows.
    pub(crate) fn dtype_and_shape(&self) -> Result<(DType, Vec<usize>)> {
        let all = self.unfiltered()?;
        let dtype = self.fields.packed_dtype(&all)?;
        if !self.is_filtered() {
            return Ok((dtype, all.shape().to_vec()));
        }
        let inner = all.shape().iter().skip(self.leading).copied();
        Ok((dtype, std::iter::once(self.count()?).chain(inner).collect()))
    }

    /// Writes the rows to a new array, whose dtype may differ as `casting` allows.
    /// It is in C order if a condition selects the rows.
    pub(crate) fn write(
        &self,
        mut to: MappedArrayMut,
        casting: Casting,
        to_error: &(dyn Fn(Error) -> CliError + Sync),
    ) -> Result<(), CliError> {
        if !self.is_filtered() {
            let mut progress = Progress::new(to.nbytes());
            let options = npymap::array::CopyOptions::new().casting(casting);
            let written = self
                .unfiltered()
                .and_then(|from| to.write_array(&from, &options, |bytes| progress.add(bytes)));
            return written.and_then(|()| to.close()).map_err(to_error);
        }
        let dtype = to.dtype().clone();
        // Bytes can be written whatever the dtype is.
        let bytes = Layout::new(DType::of::<u8>(), &[to.nbytes()], Order::C, 0);
        let bytes = bytes.and_then(|bytes| MappedArray::from_parts(to.into_data(), bytes));
        let mut to = bytes.map_err(to_error)?;
        let (writer, mut written) = (to.element_writer().map_err(to_error)?, 0);
        self.bytes(&dtype, casting, to_error, |block| {
            writer.write(&[written], block).map_err(to_error)?;
            written += block.len();
            Ok(())
        })?;
        to.close().map_err(to_error)
    }

    /// Calls `visit` with the bytes of each block of rows, in C order.
    pub(crate) fn bytes(
        &self,
        dtype: &DType,
        casting: Casting,
        to_error: &(dyn Fn(Error) -> CliError + Sync),
        mut visit: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let convert = |view: &DynView<'_>| converted(view, dtype, casting);
        // There may be any number of rows without elements, which have no bytes.
        if self.rows.is_empty() {
            return self.unfiltered().and_then(|all| convert(&all)).map(drop).map_err(to_error);
        }
        self.each_block(to_error, convert, |bytes| visit(&bytes))
    }

    /// Calls `work` with each block of rows, on several threads, and `visit` with
    /// the results in order.
    pub(crate) fn each_block<T: Send>(
        &self,
        to_error: &(dyn Fn(Error) -> CliError + Sync),
        work: impl Fn(&DynView<'_>) -> Result<T> + Sync,
        mut visit: impl FnMut(T) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut progress = Progress::new(self.nbytes());
        parallel::in_order(
            self.blocks(),
            |number| {
                let block = self.block(number).map_err(to_error)?;
                let result = block.view().and_then(|view| work(&view)).map_err(to_error)?;
                Ok((result, block.bytes_read))
            },
            |_, (result, bytes_read)| {
                visit(result)?;
                progress.add(bytes_read);
                Ok(())
            },
        )
    }
}

/// Copies the rows that satisfy a condition to a temporary array: memory does not
/// limit their number. `selection` is applied first.
pub(crate) fn copy_matching(
    path: &Path,
    array: &MappedArray,
    selection: Option<&IndexArg>,
    filter: &Filter,
) -> Result<MappedArray, CliError> {
    let to_error = CliError::with_path(path);
    let to_io_error = CliError::io(path, "create a copy of");
    let index = selection.cloned().unwrap_or_default();
    let all = array.dyn_view().map_err(&to_error)?;
    limits::check_count(path, all.itemsize(), all.len())?;
    let selected = index.without_field().select(&all).map_err(&to_error)?;
    let fields = index.fields(&all);
    let rows = selected.view().map_err(&to_error)?;
    let rows = RowSelection::new(rows, Some(filter), fields).map_err(&to_error)?;
    let (dtype, shape) = rows.dtype_and_shape().map_err(&to_error)?;
    let file = tempfile::tempfile().map_err(&to_io_error)?;
    let to = file.try_clone().map_err(&to_io_error)?;
    let to = open::create(to, &dtype, &shape, &CreateOptions::new()).map_err(&to_error)?;
    rows.write(to, Casting::Equiv, &to_error)?;
    let options = OpenOptions::new().max_header_len(usize::MAX);
    open::read_file(file, &options).map_err(to_error)
}

/// The bytes of all elements, in C order.
fn bytes_of(view: &DynView<'_>) -> Result<Vec<u8>> {
    let mut bytes = memory::with_capacity(view.len() * view.itemsize())?;
    let Ok(()) = view.byte_blocks().try_for_each(|part| {
        bytes.extend_from_slice(part);
        Ok::<(), Infallible>(())
    });
    Ok(bytes)
}

/// The bytes of the rows in another dtype, in C order.
fn converted(view: &DynView<'_>, dtype: &DType, casting: Casting) -> Result<Vec<u8>> {
    if view.dtype() == dtype {
        return bytes_of(view);
    }
    let layout = Layout::new(dtype.clone(), view.shape(), Order::C, 0)?;
    let mut bytes: Vec<u8> = memory::zeros(layout.nbytes())?;
    MappedArray::from_parts(bytes.as_mut_slice(), layout)?
        .dyn_view_mut()?
        .assign_as(view, casting)?;
    Ok(bytes)
}
