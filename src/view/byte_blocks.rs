//! The bytes of all elements in C order, a block at a time.

use super::{DynView, planes};
use crate::dtype::ByteOrder;
use crate::element::recode::Recoding;
use crate::kernel;

/// The longest block, in bytes, unless a single element is longer.
const BLOCK: usize = 8 << 20;

/// The bytes of all elements of a view in C order, a block at a time, for
/// writing, sending or hashing them; made by [`DynView::byte_blocks`].
///
/// Arrays larger than memory pass through. Elements stay what they are, text
/// that is not valid included; what may change is the byte order of their
/// numbers, and padding.
#[derive(Clone, Debug)]
pub struct ByteBlocks<'a> {
    view: DynView<'a>,
    byte_order: Option<ByteOrder>,
    zero_padding: bool,
}

impl<'a> DynView<'a> {
    /// The bytes of all elements in C order, a block at a time. For Fortran
    /// order, take those of [`t`](crate::View::t).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::ByteOrder;
    ///
    /// let penguins = npymap::MappedArray::read("data/penguins.npy")?;
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
    pub fn byte_blocks(&self) -> ByteBlocks<'a> {
        ByteBlocks { view: self.clone(), byte_order: None, zero_padding: false }
    }

    /// Copies all elements in C order.
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
    /// Has all numbers in this byte order, those of fields too. Without it each
    /// keeps its own.
    #[must_use]
    pub fn byte_order(self, order: ByteOrder) -> Self {
        ByteBlocks { byte_order: Some(order), ..self }
    }

    /// Has bytes that no field covers as zeros. Without it they are what they
    /// are.
    #[must_use]
    pub fn zero_padding(self) -> Self {
        ByteBlocks { zero_padding: true, ..self }
    }

    /// Calls `f` with each block, which holds whole elements, and stops at the
    /// first error. Bytes that need no change are not copied.
    ///
    /// # Errors
    ///
    /// Those of `f`.
    pub fn try_for_each<E>(&self, mut f: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let recode = Recoding::new(self.view.dtype(), self.byte_order, self.zero_padding);
        visit(&self.view, &recode, &mut Vec::new(), &mut f)
    }
}

fn visit<E>(
    view: &DynView<'_>,
    recode: &Recoding,
    buffer: &mut Vec<u8>,
    f: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let size = recode.format.size;
    let nbytes = view.len() * size;
    if nbytes == 0 {
        return Ok(());
    }
    if let Some(bytes) = view.as_bytes().filter(|_| recode.is_identity()) {
        return bytes.chunks((BLOCK / size).max(1) * size).try_for_each(f);
    }
    if nbytes <= BLOCK || view.ndim() == 0 {
        buffer.resize(nbytes, 0);
        view.copy_recoded(recode, buffer);
        return f(buffer);
    }
    let row = nbytes / view.shape().first().copied().unwrap_or(1);
    if row > BLOCK {
        return view.outer_iter().try_for_each(|row| visit(&row, recode, buffer, f));
    }
    let rows = view.axis_chunks(0, BLOCK / row).expect("a view with rows has a first axis");
    rows.into_iter().try_for_each(|rows| visit(&rows, recode, buffer, f))
}
