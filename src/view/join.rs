//! Work that is divided among the threads of rayon's current pool.
//!
//! The code that rayon needs for a function that another thread may call is large. Here it
//! is compiled once, and not for each type of element and each operation.

use crate::error::invariant::Invariant;

const CALLED: &str = "`rayon::join` calls both functions";

/// Calls two functions, perhaps on two threads.
pub(super) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut of_a, mut of_b) = (None, None);
    join_erased(&mut || of_a = a.take().map(|a| a()), &mut || of_b = b.take().map(|b| b()));
    (of_a.invariant(CALLED), of_b.invariant(CALLED))
}

#[inline]
fn join_erased(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    rayon::join(a, b);
}

/// Maps parts of a slice, each on one thread. Returns the results of all, in order.
pub(super) fn map_parts<T: Sync, U: Send>(
    items: &[T],
    map: &(dyn Fn(&[T]) -> Vec<U> + Sync),
) -> Vec<U> {
    map_halves(items, items.len().div_ceil(32 * rayon::current_num_threads()), map)
}

/// Maps parts of at most `share` items.
fn map_halves<T: Sync, U: Send>(
    items: &[T],
    share: usize,
    map: &(dyn Fn(&[T]) -> Vec<U> + Sync),
) -> Vec<U> {
    if items.len() <= share {
        return map(items);
    }
    let (low, high) = items.split_at(items.len() / 2);
    let (mut low, high) = join(|| map_halves(low, share, map), || map_halves(high, share, map));
    low.extend(high);
    low
}
