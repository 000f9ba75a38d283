//! The bytes of all elements in C order, one block at a time.

use super::{DynView, planes};
use crate::dtype::ByteOrder;
use crate::element::recode::Recoding;
use crate::kernel;
use crate::layout::offsets::nbytes;

/// The longest block, in bytes, unless a single element is longer.
const BLOCK: usize = 8 << 20;

/// An iterator over the bytes of a view's elements in C order, one block at a
/// time, to write, send or hash them. [`DynView::byte_blocks`] returns it.
///
/// The array may be larger than memory. Bytes are copied unchanged, including
/// invalid text, except for byte order and padding if requested.
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let mut nbytes = 0;
/// penguins.dyn_view()?.byte_blocks().try_for_each(|block| {
///     nbytes += block.len();
///     Ok::<(), npymap::Error>(())
/// })?;
/// assert_eq!(nbytes, penguins.nbytes());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByteBlocks<'a> {
    view: DynView<'a>,
    byte_order: Option<ByteOrder>,
    zero_padding: bool,
}

impl<'a> DynView<'a> {
    /// Returns the bytes of all elements in C order, one block at a time. For
    /// Fortran order, call this on [`t`](crate::View::t).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ByteOrder;
    ///
    /// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
    /// let mut bytes = Vec::new();
    /// let blocks = penguins.dyn_view()?.byte_blocks().byte_order(ByteOrder::Big);
    /// blocks.try_for_each(|block| {
    ///     bytes.extend_from_slice(block);
    ///     Ok::<(), npymap::Error>(())
    /// })?;
    /// assert_eq!(bytes[..8], 39.1_f64.to_be_bytes());
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn byte_blocks(&self) -> ByteBlocks<'a> {
        ByteBlocks { view: self.clone(), byte_order: None, zero_padding: false }
    }

    /// Copies the bytes of all elements in C order, recoded.
    #[inline]
    pub(crate) fn copy_recoded(&self, recode: &Recoding, out: &mut [u8]) {
        let (part, geometry) = (recode.format, self.geometry.merged());
        if part.size == 0 || planes::transpose(part, self.bytes, &geometry, out) {
            return recode.finish(out);
        }
        let mut rest = &mut *out;
        for run in geometry.runs() {
            let (own, after) = rest.split_at_mut(run.count * part.size);
            if let Some((bytes, stride)) = run.forward(self.bytes, part.size) {
                kernel::copy(part, bytes, stride, own);
            } else {
                let elements = run.elements(self.bytes, part.size);
                for (to, from) in own.chunks_exact_mut(part.size).zip(elements) {
                    kernel::copy(part, from, part.size, to);
                }
            }
            rest = after;
        }
        recode.finish(out);
    }
}

impl ByteBlocks<'_> {
    /// Converts all numbers, also in fields, to this byte order. Without it
    /// each keeps its own.
    #[must_use]
    #[inline]
    pub fn byte_order(self, order: ByteOrder) -> Self {
        ByteBlocks { byte_order: Some(order), ..self }
    }

    /// Replaces bytes that no field covers with zeros. Without it they are
    /// copied.
    #[must_use]
    #[inline]
    pub fn zero_padding(self) -> Self {
        ByteBlocks { zero_padding: true, ..self }
    }

    /// Calls `f` with each block of whole elements, and stops at the first
    /// error. Contiguous bytes that need no change are not copied.
    ///
    /// # Errors
    ///
    /// Returns the first error that `f` returns.
    pub fn try_for_each<E>(&self, mut f: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let recode = Recoding::new(self.view.dtype(), self.byte_order, self.zero_padding);
        visit_blocks(&self.view, &recode, &mut Vec::new(), &mut f)
    }
}

fn visit_blocks<E>(
    view: &DynView<'_>,
    recode: &Recoding,
    buffer: &mut Vec<u8>,
    f: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let size = recode.format.size;
    let nbytes = nbytes(view.len(), size);
    if nbytes == 0 {
        return Ok(());
    }
    if let (Some(bytes), true) = (view.as_bytes(), recode.is_identity()) {
        return bytes.chunks((BLOCK / size).max(1) * size).try_for_each(f);
    }
    if nbytes <= BLOCK || view.ndim() == 0 {
        buffer.resize(nbytes, 0);
        view.copy_recoded(recode, buffer);
        return f(buffer);
    }
    let row = nbytes / view.shape().first().copied().unwrap_or(1);
    if row > BLOCK {
        return view.outer_iter().try_for_each(|row| visit_blocks(&row, recode, buffer, f));
    }
    let rows = view.axis_chunks(0, BLOCK / row).expect("a view with rows has a first axis");
    rows.into_iter().try_for_each(|rows| visit_blocks(&rows, recode, buffer, f))
}
