//! Splits arrays into tiles and processes them on several threads.

use npymap::view::DynView;
use npymap::{DType, Order, Result, array::Outline, layout::Layout};

use crate::input::parallel;
use crate::input::progress::Progress;

/// The maximum size of a tile of more than one element, in bytes.
const TILE: usize = 16 << 20;

/// Elements that are further apart are read one by one, in bytes.
const PAGE: usize = 4096;

/// Some elements, and the index of the first one in the whole.
#[derive(Clone, Debug)]
pub(crate) struct Tile<'a> {
    pub(crate) part: Outline<'a>,
    pub(crate) origin: Vec<usize>,
}

impl<'a> Tile<'a> {
    /// Splits elements along their slowest axes, so that the elements of each tile
    /// are close together in the file.
    pub(crate) fn split(whole: &Outline<'a>) -> Result<Vec<Tile<'a>>> {
        let mut tiles = Vec::new();
        let tile = Tile { part: whole.clone(), origin: vec![0; whole.ndim()] };
        tile.halve(&mut tiles)?;
        Ok(tiles)
    }

    /// The elements of another array of the same shape at the same indices.
    pub(crate) fn same_part<'b>(&self, other: &Outline<'b>) -> Result<Outline<'b>> {
        let mut part = other.clone();
        for (axis, (&start, &dim)) in self.origin.iter().zip(self.part.shape()).enumerate() {
            let (_, after) = part.split_at(axis, start)?;
            (part, _) = after.split_at(axis, dim)?;
        }
        Ok(part)
    }

    /// Halves the tile until the parts are small enough.
    fn halve(self, tiles: &mut Vec<Tile<'a>>) -> Result<()> {
        let dims = self.part.byte_strides().iter().zip(self.part.shape()).enumerate();
        let divisible = dims.filter(|(_, (_, dim))| **dim > 1);
        let slowest = divisible.max_by_key(|(_, (stride, _))| stride.unsigned_abs());
        let bytes = bytes_read(&self.part);
        let (Some((axis, (_, dim))), true) = (slowest, bytes > TILE) else {
            tiles.push(self);
            return Ok(());
        };
        let half = dim / 2;
        let (low, high) = self.part.split_at(axis, half)?;
        let mut origin = self.origin.clone();
        if let Some(start) = origin.get_mut(axis) {
            *start += half;
        }
        Tile { part: low, origin: self.origin }.halve(tiles)?;
        Tile { part: high, origin }.halve(tiles)
    }
}

/// The bytes of a file that have the elements, with those between them.
fn bytes_read(part: &Outline<'_>) -> usize {
    if part.is_empty() {
        return 0;
    }
    let own = part.nbytes();
    let axes = part.byte_strides().iter().zip(part.shape());
    let reach = axes.map(|(stride, dim)| (dim - 1) * stride.unsigned_abs());
    let all = part.itemsize() + reach.sum::<usize>();
    if all / PAGE > part.len() { own } else { own.max(all) }
}

/// Calls `f` with some zeros of a dtype.
pub(crate) fn with_zeros<T>(
    dtype: &DType,
    count: usize,
    f: impl FnOnce(&DynView<'_>) -> Result<T>,
) -> Result<T> {
    let layout = Layout::new(dtype.clone(), &[count], Order::C, 0)?;
    f(&DynView::from_bytes(&vec![0; layout.nbytes()], &layout)?)
}

/// Calls `work` with each tile of some elements, on several threads, and `merge` with the
/// results, in their order. Shows progress.
pub(crate) fn process<'a, T: Send>(
    whole: &Outline<'a>,
    work: impl Fn(&Tile<'a>) -> Result<T> + Sync,
    mut merge: impl FnMut(T),
) -> Result<()> {
    let mut progress = Progress::new(whole.nbytes());
    parallel::in_order(
        Tile::split(whole)?.into_iter(),
        |tile| Ok((tile.part.nbytes(), work(&tile)?)),
        |(nbytes, result)| {
            merge(result);
            progress.add(nbytes);
            Ok(())
        },
    )
}
