//! Splits arrays into tiles and processes them on several threads.

use std::num::NonZero;
use std::sync::mpsc;
use std::thread;

use npymap::{Result, view::DynView};

/// The maximum size of a tile of more than one element, in bytes.
const TILE: usize = 16 << 20;

/// Part of a view, and the index of its first element in that view.
#[derive(Clone, Debug)]
pub(crate) struct Tile<'a> {
    pub(crate) view: DynView<'a>,
    pub(crate) origin: Vec<usize>,
}

impl<'a> Tile<'a> {
    /// Splits a view along its slowest axes, so that the elements of each tile
    /// are close together in the file.
    pub(crate) fn split(view: &DynView<'a>) -> Result<Vec<Tile<'a>>> {
        let mut tiles = Vec::new();
        let whole = Tile { view: view.clone(), origin: vec![0; view.ndim()] };
        whole.halve(&mut tiles)?;
        Ok(tiles)
    }

    /// Halves the tile until the parts are small enough.
    fn halve(self, tiles: &mut Vec<Tile<'a>>) -> Result<()> {
        let dims = self.view.byte_strides().iter().zip(self.view.shape()).enumerate();
        let divisible = dims.filter(|(_, (_, dim))| **dim > 1);
        let slowest = divisible.max_by_key(|(_, (stride, _))| stride.unsigned_abs());
        let bytes = self.view.len().saturating_mul(self.view.itemsize());
        let Some((axis, (_, dim))) = slowest.filter(|_| bytes > TILE) else {
            tiles.push(self);
            return Ok(());
        };
        let half = dim / 2;
        let (low, high) = self.view.split_at(axis, half)?;
        let mut origin = self.origin.clone();
        if let Some(start) = origin.get_mut(axis) {
            *start += half;
        }
        Tile { view: low, origin: self.origin }.halve(tiles)?;
        Tile { view: high, origin }.halve(tiles)
    }
}

/// Calls `work` with each tile, on one thread per processor, and `merge` with the
/// results.
///
/// Results are merged in the order of the tiles, so that sums of floats do not
/// depend on the number of threads. Only a few results wait to be merged.
pub(crate) fn process<'a, T: Send>(
    tiles: &[Tile<'a>],
    work: impl Fn(&Tile<'a>) -> Result<T> + Sync,
    mut merge: impl FnMut(&Tile<'a>, T),
) -> Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(tiles.len());
    if threads < 2 {
        return tiles.iter().try_for_each(|tile| {
            merge(tile, work(tile)?);
            Ok(())
        });
    }
    let work = &work;
    thread::scope(|scope| {
        let results: Vec<_> = (0..threads)
            .map(|first| {
                let (send, receive) = mpsc::sync_channel(1);
                scope.spawn(move || {
                    // Nothing is received after an error: the rest is not needed.
                    let mut own = tiles.iter().skip(first).step_by(threads);
                    own.all(|tile| send.send(work(tile)).is_ok())
                });
                receive
            })
            .collect();
        for (tile, results) in tiles.iter().zip(results.iter().cycle()) {
            // A thread that panicked sends nothing, and the scope panics too.
            let Ok(result) = results.recv() else { break };
            merge(tile, result?);
        }
        Ok(())
    })
}
