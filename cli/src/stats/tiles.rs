//! Splits arrays into tiles and processes them on several threads.

use std::num::NonZero;
use std::sync::mpsc;
use std::thread;

use npymap::{Result, array::Outline};

use crate::input::memory;

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
    let own = part.nbytes();
    let axes = part.byte_strides().iter().zip(part.shape());
    let reach =
        axes.map(|(stride, dim)| dim.saturating_sub(1).saturating_mul(stride.unsigned_abs()));
    let all = reach.fold(part.itemsize(), usize::saturating_add);
    if all / PAGE > part.len() { own } else { own.max(all) }
}

/// Calls `work` with each item, such as a tile, on several threads, and `merge`
/// with the results.
///
/// Results are merged in the order of the items, so that sums of floats do not
/// depend on the number of threads. Only a few results wait to be merged.
pub(crate) fn process<I: Sync, T: Send>(
    threads: NonZero<usize>,
    items: &[I],
    work: impl Fn(&I) -> Result<T> + Sync,
    mut merge: impl FnMut(&I, T),
) -> Result<()> {
    let threads = threads.get().min(items.len());
    if threads < 2 {
        return items.iter().try_for_each(|item| {
            merge(item, work(item)?);
            Ok(())
        });
    }
    let work = &work;
    thread::scope(|scope| {
        let results: Vec<_> = (0..threads)
            .map(|first| {
                let (send, receive) = mpsc::sync_channel(1);
                let run = move || {
                    // Nothing is received after an error: the rest is not needed.
                    let mut own = items.iter().skip(first).step_by(threads);
                    own.all(|item| send.send(work(item)).is_ok())
                };
                let started = memory::check_thread().is_ok()
                    && thread::Builder::new().spawn_scoped(scope, run).is_ok();
                started.then_some(receive)
            })
            .collect();
        for (item, results) in items.iter().zip(results.iter().cycle()) {
            // The work of a thread that could not be started is done here.
            let Some(results) = results else {
                merge(item, work(item)?);
                continue;
            };
            // A thread that panicked sends nothing, and the scope panics too.
            let Ok(result) = results.recv() else { break };
            merge(item, result?);
        }
        Ok(())
    })
}
