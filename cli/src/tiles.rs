//! Parts of an array that threads take one after the other.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use npymap::{Result, view::DynView};

/// A part is at most so many bytes, when it can be.
const PART: usize = 16 << 20;

/// A part, and the index of its first element in the whole.
#[derive(Clone, Debug)]
pub(crate) struct Tile<'a> {
    pub(crate) view: DynView<'a>,
    pub(crate) origin: Vec<usize>,
}

impl<'a> Tile<'a> {
    /// Parts a view along its slowest axes, so that each part lies together
    /// in the file.
    pub(crate) fn all(view: &DynView<'a>) -> Result<Vec<Tile<'a>>> {
        let mut tiles = Vec::new();
        let whole = Tile { view: view.clone(), origin: vec![0; view.ndim()] };
        whole.halve(&mut tiles)?;
        Ok(tiles)
    }

    fn halve(self, tiles: &mut Vec<Tile<'a>>) -> Result<()> {
        let each = self.view.byte_strides().iter().zip(self.view.shape()).enumerate();
        let long = each.filter(|(_, (_, dim))| **dim > 1);
        let slowest = long.max_by_key(|(_, (stride, _))| stride.unsigned_abs());
        let bytes = self.view.len().saturating_mul(self.view.itemsize());
        let Some((axis, (_, dim))) = slowest.filter(|_| bytes > PART) else {
            tiles.push(self);
            return Ok(());
        };
        let half = dim / 2;
        let (low, high) = self.view.split_at(axis, half)?;
        let mut origin = self.origin.clone();
        if let Some(first) = origin.get_mut(axis) {
            *first += half;
        }
        Tile { view: low, origin: self.origin }.halve(tiles)?;
        Tile { view: high, origin }.halve(tiles)
    }
}

/// Does something to each tile, on as many threads as there are processors;
/// `done` gets the results in the order of the tiles, so that sums of them are
/// the same each time.
pub(crate) fn each<T: Send>(
    tiles: &[Tile<'_>],
    work: impl Fn(&Tile<'_>) -> Result<T> + Sync,
    done: impl FnMut(&Tile<'_>, T) + Send,
) -> Result<()> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(tiles.len());
    let (next, results) = (AtomicUsize::new(0), Mutex::new((BTreeMap::new(), 0, done)));
    let run = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(tile) = tiles.get(number) else { return Ok(()) };
            let result = work(tile)?;
            let Ok(mut results) = results.lock() else { return Ok(()) };
            let (waiting, expected, done) = &mut *results;
            waiting.insert(number, (tile, result));
            while let Some((tile, result)) = waiting.remove(expected) {
                done(tile, result);
                *expected += 1;
            }
        }
    };
    thread::scope(|scope| {
        let running: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let own = run();
        let others = running.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        others.fold(own, Result::and)
    })
}
