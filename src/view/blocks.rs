//! Blocks of elements in memory order.

use std::fmt;

use super::runs::Run;
use crate::element::fast_path::FastPath as _;
use crate::element::{Element, decode_onto, decode_over};
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::layout::geometry::Geometry;

/// The size of the buffer that elements are decoded into, in bytes: it fits the L1 cache
/// besides what it is decoded from. With 16 KiB, a sum of big-endian elements took 2.3 times
/// as long on a processor with 32 KiB (AMD EPYC).
pub(super) const BLOCK: usize = 8 * 1024;

/// An iterator over all elements of a view in blocks, in memory order.
/// [`View::blocks`](crate::View::blocks) returns it.
///
/// If the elements are stored exactly as `T` and aligned, a block is a reference
/// to a whole contiguous run of them. Otherwise elements are decoded into a
/// buffer of 8 KiB. A loop over a foreign byte order is about as fast as over
/// the native one. It borrows the array and not the view.
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let table = penguins.view::<f64>()?;
/// let mut blocks = table.blocks();
/// let mut sum = 0.0;
/// while let Some(block) = blocks.next() {
///     sum += block.iter().sum::<f64>();
/// }
/// assert_eq!(sum.round(), 1526600.0);
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct Blocks<'a, T: Element> {
    bytes: &'a [u8],
    codec: T::Codec,
    geometry: Geometry,
    position: Position,
    buffer: Vec<T>,
    /// Whether the values of the last block are overwritten rather than dropped.
    is_reused: bool,
}

/// The first element of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// The rest of the current run.
    run: Run,
    /// The number of the next run.
    next: usize,
    /// The number of elements left.
    left: usize,
}

impl<'a, T: Element> Blocks<'a, T> {
    pub(super) fn new(bytes: &'a [u8], geometry: &Geometry, codec: T::Codec) -> Blocks<'a, T> {
        let left = geometry.len();
        let geometry = geometry.memory_order().merged();
        Blocks {
            bytes,
            codec,
            geometry,
            position: Position { run: Run::EMPTY, next: 0, left },
            buffer: Vec::new(),
            is_reused: T::fast_path().zeros(0).is_some(),
        }
    }

    /// Returns the next block. Returns `None` after the last.
    #[expect(clippy::should_implement_trait, reason = "the block borrows from the iterator")]
    pub fn next(&mut self) -> Option<&[T]> {
        let run = self.current_run()?;
        if let Some(block) = self.borrow(run) {
            self.take(run.count);
            return Some(block);
        }
        let room = self.room();
        if self.buffer.is_empty() {
            // Values of types without a zero are appended.
            self.buffer = T::fast_path().zeros(room).unwrap_or_default();
        }
        if !self.is_reused {
            self.buffer.clear();
        }
        let mut filled = 0;
        while filled < room {
            let Some(piece) = self.take(room - filled) else { break };
            match self.buffer.get_mut(filled..filled + piece.count) {
                Some(over) => piece.decode_over(self.bytes, &self.codec, over),
                None => piece.decode_onto(self.bytes, &self.codec, &mut self.buffer),
            }
            filled += piece.count;
        }
        self.buffer.get(..filled)
    }

    /// Skips a block; returns where it is and its length.
    #[cfg(feature = "rayon")]
    pub(super) fn skip(&mut self) -> Option<(Position, usize)> {
        let run = self.current_run()?;
        let position = self.position;
        let most = self.borrow(run).map_or(self.room(), <[T]>::len);
        let mut len = 0;
        while len < most {
            let Some(piece) = self.take(most - len) else { break };
            len += piece.count;
        }
        Some((position, len))
    }

    /// Returns the block at a position.
    #[cfg(feature = "rayon")]
    pub(super) fn at(&mut self, position: Position) -> &[T] {
        self.position = position;
        self.next().invariant("a block starts at each position")
    }

    /// Borrows a run if it is a block of its own.
    fn borrow(&self, run: Run) -> Option<&'a [T]> {
        let size = T::itemsize(&self.codec);
        let (bytes, stride) = run.forward(self.bytes, size)?;
        let is_large = run.count * size >= BLOCK.min(self.position.left * size);
        if stride == size && is_large { T::fast_path().borrow(&self.codec, bytes) } else { None }
    }

    /// The number of elements that the next block has if it is decoded, or more
    /// if fewer are left.
    fn room(&self) -> usize {
        (BLOCK / size_of::<T>().max(1)).clamp(1, self.position.left)
    }

    /// Returns the rest of the current run, or the next run.
    fn current_run(&mut self) -> Option<Run> {
        if self.position.left == 0 {
            return None;
        }
        if self.position.run.count == 0 {
            self.position.run = self.geometry.run(self.position.next);
            self.position.next += 1;
        }
        Some(self.position.run)
    }

    /// Takes up to `most` elements of one run.
    fn take(&mut self, most: usize) -> Option<Run> {
        let run = self.current_run()?;
        let piece = Run { count: run.count.min(most), ..run };
        self.position.run = run.without_first(piece.count);
        self.position.left -= piece.count;
        Some(piece)
    }
}

impl Run {
    /// Decodes the run's elements and appends them to `out`.
    pub(super) fn decode_onto<T: Element>(self, bytes: &[u8], codec: &T::Codec, out: &mut Vec<T>) {
        let size = T::itemsize(codec);
        match self.forward(bytes, size) {
            Some((bytes, stride)) => decode_onto(codec, bytes, stride, out),
            None => out.extend(self.elements(bytes, size).map(|element| T::decode(codec, element))),
        }
    }

    /// Decodes the run's elements into the start of `buffer`, and returns them. Values
    /// in the buffer are overwritten.
    //
    // Casts call it for each type of the result; inlined, it would be most of their code.
    #[inline(never)]
    pub(super) fn decode_into<'b, T: Element>(
        self,
        bytes: &[u8],
        codec: &T::Codec,
        buffer: &'b mut Vec<T>,
    ) -> &'b [T] {
        if let Some(over) = buffer.get_mut(..self.count) {
            self.decode_over(bytes, codec, over);
        } else {
            buffer.clear();
            self.decode_onto(bytes, codec, buffer);
        }
        buffer.get(..self.count).invariant(IN_BUFFER)
    }

    /// Decodes the run's elements into `out`, which has the same length.
    pub(super) fn decode_over<T: Element>(self, bytes: &[u8], codec: &T::Codec, out: &mut [T]) {
        let size = T::itemsize(codec);
        let (forward, turned) = self.to_forward();
        if let Some((bytes, stride)) = forward.forward(bytes, size) {
            decode_over(codec, bytes, stride, out);
            if turned {
                out.reverse();
            }
        } else {
            let elements = self.elements(bytes, size);
            out.iter_mut().zip(elements).for_each(|(to, element)| *to = T::decode(codec, element));
        }
    }
}

impl<T: Element> fmt::Debug for Blocks<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("left", &self.position.left).finish_non_exhaustive()
    }
}
