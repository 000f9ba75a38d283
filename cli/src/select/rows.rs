//! Rows of an array that a command processes block by block: all rows, or those
//! that satisfy a condition.

use std::convert::Infallible;
use std::ops::Range;
use std::path::Path;

use npymap::array::{Outline, Window};
use npymap::{
    DType, Error, ErrorKind, MappedArray, MappedArrayMut, Order, Result, element::Casting,
    layout::Layout, view::DynView,
};

use crate::input::array_bytes::{self, ArrayBytes};
use crate::input::error::{At as _, CliError};
use crate::input::lengths::with_length;
use crate::input::memory;
use crate::input::parallel;
use crate::input::progress::Progress;
use crate::input::row_blocks::RowBlocks;

use crate::select::fields::Fields;
use crate::select::filter::{Filter, leading_axes};
use crate::select::limits;
use crate::select::selection::IndexArg;

/// The rows of a view that satisfy a condition, and what of them is selected.
pub(crate) struct RowSelection<'a> {
    /// The path for errors.
    pub(crate) path: &'a Path,
    /// The array that the rows are of, unless they are in memory.
    array: Option<&'a MappedArray>,
    rows: Outline<'a>,
    leading: usize,
    filter: Option<&'a Filter>,
    /// An index of the rows that satisfy the condition, of which it selects all.
    index: IndexArg,
    fields: Fields,
    pub(crate) blocks: RowBlocks,
    /// Whether the first axis is not that of rows: one of them is selected by an index.
    pub(crate) is_single: bool,
}

/// The first or last rows that satisfy a condition.
pub(crate) struct SomeRows {
    /// Whole rows, along one axis.
    pub(crate) array: MappedArray<Vec<u8>>,
    /// Their numbers among all rows.
    pub(crate) numbers: Vec<usize>,
    /// Whether there are more.
    pub(crate) has_more: bool,
}

impl<'a> RowSelection<'a> {
    /// All rows of a selection of an array, or of one in memory.
    pub(crate) fn all(
        path: &'a Path,
        array: Option<&'a MappedArray>,
        rows: Outline<'a>,
        fields: Fields,
    ) -> Result<RowSelection<'a>> {
        RowSelection::new((path, array), rows, None, IndexArg::default(), fields)
    }

    /// Selects rows: all, or those that satisfy a condition. `index` selects all of them, or
    /// some elements of each. Checks that the condition, the index and the fields suit them.
    pub(crate) fn new(
        (path, array): (&'a Path, Option<&'a MappedArray>),
        rows: Outline<'a>,
        filter: Option<&'a Filter>,
        index: IndexArg,
        fields: Fields,
    ) -> Result<RowSelection<'a>> {
        let (dtype, ndim) = (rows.dtype(), rows.ndim());
        let leading = match filter {
            Some(filter) => filter.leading(dtype, ndim),
            None => leading_axes(dtype, ndim),
        };
        let dims = rows.shape().split_at(leading).0;
        let row: usize = rows.shape().iter().skip(leading).product();
        let blocks = RowBlocks::new(dims, row * rows.itemsize());
        if let Some(filter) = filter {
            if leading == 0 {
                let text = "has no rows to select: its shape is ()";
                return Err(Error::new(ErrorKind::ShapeMismatch, text));
            }
            filter.mask(&rows.split_at(0, 0)?.0.view()?, leading)?;
        }
        let is_single = false;
        let selection =
            RowSelection { path, array, rows, leading, filter, index, fields, blocks, is_single };
        selection.template()?;
        Ok(selection)
    }

    /// All rows, or none of those that satisfy the condition: with the dtype and the axes of
    /// what is selected.
    pub(crate) fn template(&self) -> Result<Outline<'a>> {
        if !self.is_filtered() {
            return self.unfiltered();
        }
        let none = self.matched(Vec::new(), 0)?;
        let selected = self.index.select_loaded(&none.dyn_view()?)?;
        let selected = selected.outline();
        let layout = Layout::new(selected.dtype().clone(), selected.shape(), Order::C, 0)?;
        self.fields.select(DynView::from_bytes(&[], &layout)?.into())
    }

    /// Rows that satisfy the condition, along one axis, by their bytes.
    fn matched(&self, bytes: Vec<u8>, count: usize) -> Result<MappedArray<Vec<u8>>> {
        let inner = self.rows.shape().split_at(self.leading).1;
        let shape: Vec<usize> = std::iter::once(count).chain(inner.iter().copied()).collect();
        let layout = Layout::new(self.rows.dtype().clone(), &shape, Order::C, 0)?;
        MappedArray::from_parts(bytes, layout)
    }

    /// Copies the first `count` rows that satisfy the condition, and reads no
    /// further than the next one.
    pub(crate) fn first(&self, count: usize) -> Result<SomeRows> {
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for number in 0..self.blocks.len() {
            let (block, of_block) = self.matches(number)?;
            bytes.extend_from_slice(&block);
            numbers.extend(of_block);
            if numbers.len() > count {
                break;
            }
        }
        let has_more = numbers.len() > count;
        numbers.truncate(count);
        bytes.truncate(numbers.len() * self.row_nbytes());
        Ok(SomeRows { array: self.matched(bytes, numbers.len())?, numbers, has_more })
    }

    /// Copies the last `count` rows that satisfy the condition, and reads no blocks before
    /// them.
    pub(crate) fn last(&self, count: usize) -> Result<SomeRows> {
        let (mut blocks, mut found) = (Vec::new(), 0);
        for number in (0..self.blocks.len()).rev() {
            if found >= count {
                break;
            }
            let block = self.matches(number)?;
            found += block.1.len();
            blocks.push(block);
        }
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        for (block, of_block) in blocks.into_iter().rev() {
            bytes.extend_from_slice(&block);
            numbers.extend(of_block);
        }
        let skipped = numbers.len() - count.min(numbers.len());
        numbers.drain(..skipped);
        bytes.drain(..skipped * self.row_nbytes());
        let array = self.matched(bytes, numbers.len())?;
        Ok(SomeRows { array, numbers, has_more: false })
    }

    /// Brings rows into memory.
    fn window(&self, rows: &Outline<'a>) -> Result<Window<'a>> {
        match self.array {
            Some(array) => array.window(rows),
            None => Ok(rows.view()?.into()),
        }
    }

    /// Calls `work` with rows; the condition is ignored.
    fn with_fields<T>(
        &self,
        rows: &Outline<'a>,
        work: impl FnOnce(&DynView<'_>) -> Result<T>,
    ) -> Result<T> {
        let window = self.window(rows)?;
        work(&self.fields.select(window.view().into())?.view()?)
    }

    /// Calls `work` with all rows; the condition is ignored.
    pub(crate) fn with_whole<T>(&self, work: impl FnOnce(&DynView<'_>) -> Result<T>) -> Result<T> {
        self.with_fields(&self.rows, work)
    }

    /// All rows with the selected fields, which need not be in memory; the condition is
    /// ignored.
    pub(crate) fn unfiltered(&self) -> Result<Outline<'a>> {
        self.fields.select(self.rows.clone())
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Rejects more rows without elements than are printed: a header can claim any
    /// number.
    pub(crate) fn check_empty(&self) -> Result<(), CliError> {
        let rows: usize = self.rows.shape().iter().take(self.leading).product();
        limits::check_empty_rows(self.path, if self.rows.is_empty() { rows } else { 0 })
    }

    /// All rows of a block, and their numbers.
    fn part(&self, number: usize) -> Result<(Outline<'a>, Range<usize>)> {
        let (slice, rows) = self.blocks.slice(number, self.rows.ndim());
        Ok((self.rows.slice(slice)?, rows))
    }

    /// Calls `work` with the selected rows of a block. If there is a condition, they are a copy
    /// with one axis of rows.
    fn with_block<T>(
        &self,
        number: usize,
        work: impl FnOnce(&DynView<'_>) -> Result<T>,
    ) -> Result<T> {
        if !self.is_filtered() {
            return self.with_fields(&self.part(number)?.0, work);
        }
        let (bytes, numbers) = self.matches(number)?;
        let rows = self.matched(bytes, numbers.len())?;
        let selected = self.index.select_loaded(&rows.dyn_view()?)?;
        work(&self.fields.select(selected.outline())?.view()?)
    }

    /// The bytes and the numbers of the rows of a block that satisfy the condition.
    fn matches(&self, number: usize) -> Result<(Vec<u8>, Vec<usize>)> {
        let (block, rows) = self.part(number)?;
        let window = self.window(&block)?;
        let block = window.view();
        let mask = self.mask(&block)?;
        Ok((self.bytes_of_matches(&block, &mask)?, matches(rows, &mask).collect()))
    }

    /// Returns which rows of a block satisfy the condition.
    fn mask(&self, block: &DynView<'_>) -> Result<Vec<bool>> {
        self.filter.expect("there is a condition").mask(block, self.leading)
    }

    /// Calls `visit` with the numbers of the rows of each block that satisfy the condition.
    pub(crate) fn each_match(&self, mut visit: impl FnMut(Vec<usize>) -> Result<()>) -> Result<()> {
        let mut progress = Progress::new(self.rows.nbytes());
        parallel::in_order(
            0..self.blocks.len(),
            |number| self.numbers(number),
            |(numbers, bytes)| {
                visit(numbers)?;
                progress.add(bytes);
                Ok(())
            },
        )
    }

    /// The numbers of the rows of a block that satisfy the condition, and the bytes that
    /// were read for them.
    pub(crate) fn numbers(&self, number: usize) -> Result<(Vec<usize>, usize)> {
        let (block, rows) = self.part(number)?;
        let mask = self.mask(&self.window(&block)?.view())?;
        Ok((matches(rows, &mask).collect(), block.nbytes()))
    }

    /// The size of a row, in bytes.
    fn row_nbytes(&self) -> usize {
        let inner = self.rows.shape().split_at(self.leading).1;
        inner.iter().product::<usize>() * self.rows.itemsize()
    }

    /// Copies the rows of a block that satisfy the condition.
    fn bytes_of_matches(&self, block: &DynView<'_>, mask: &[bool]) -> Result<Vec<u8>> {
        let row = self.row_nbytes();
        let count = mask.iter().filter(|holds| **holds).count();
        let mut bytes = memory::with_capacity(count * row)?;
        if count > 0 && row > 0 {
            let all = bytes_of(block)?;
            let rows = all.chunks_exact(row).zip(mask);
            rows.filter(|(_, holds)| **holds).for_each(|(row, _)| bytes.extend_from_slice(row));
        }
        Ok(bytes)
    }

    /// The number of rows that satisfy the condition.
    pub(crate) fn count(&self) -> Result<usize> {
        let mut count = 0;
        self.each_match(|numbers| {
            count += numbers.len();
            Ok(())
        })?;
        Ok(count)
    }

    /// The dtype of what is selected.
    pub(crate) fn dtype(&self) -> Result<DType> {
        Ok(self.template()?.dtype().clone())
    }

    /// The dtype and shape of a new array of these rows.
    pub(crate) fn dtype_and_shape(&self) -> Result<(DType, Vec<usize>)> {
        let template = self.template()?;
        let dtype = self.fields.packed_dtype(&template)?;
        if self.is_filtered() {
            return Ok((dtype, with_length(template.shape(), 0, self.count()?)));
        }
        Ok((dtype, template.shape().to_vec()))
    }

    /// Writes the rows to a new array of a file, whose dtype may differ as `casting` allows.
    /// It is in C order if a condition selects the rows.
    pub(crate) fn write(
        &self,
        to: MappedArrayMut,
        path: &Path,
        casting: Casting,
    ) -> Result<(), CliError> {
        if !self.is_filtered() {
            let from = self.unfiltered().at(self.path)?;
            let written = array_bytes::fill(to, &from, &memory::copy_options().casting(casting));
            return written.map_err(CliError::of_copy(self.path, path));
        }
        let dtype = to.dtype().clone();
        let mut to = ArrayBytes::new(to).at(path)?;
        self.bytes(&dtype, casting, |block| to.push(block).at(path))?;
        to.close().at(path)
    }

    /// Calls `visit` with the bytes of each block of rows, in C order.
    pub(crate) fn bytes(
        &self,
        dtype: &DType,
        casting: Casting,
        mut visit: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let convert = |view: &DynView<'_>| converted(view, dtype, casting);
        // There may be any number of rows without elements, which have no bytes.
        if self.rows.is_empty() {
            let all = self.template().and_then(|all| all.view()).at(self.path)?;
            convert(&all).at(self.path)?;
            return Ok(());
        }
        self.each_block(convert, |bytes| visit(&bytes))
    }

    /// Calls `work` with each block of rows, on several threads, and `visit` with
    /// the results in order.
    pub(crate) fn each_block<T: Send>(
        &self,
        work: impl Fn(&DynView<'_>) -> Result<T> + Sync,
        mut visit: impl FnMut(T) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut progress = Progress::new(self.rows.nbytes());
        parallel::in_order(
            0..self.blocks.len(),
            |number| {
                let result = self.with_block(number, &work).at(self.path)?;
                Ok((result, self.part(number).at(self.path)?.0.nbytes()))
            },
            |(result, nbytes)| {
                visit(result)?;
                progress.add(nbytes);
                Ok(())
            },
        )
    }
}

/// The numbers of rows that satisfy a condition.
fn matches(rows: Range<usize>, mask: &[bool]) -> impl Iterator<Item = usize> {
    rows.zip(mask).filter(|(_, holds)| **holds).map(|(row, _)| row)
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
