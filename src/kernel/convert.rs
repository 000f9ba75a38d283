//! Converts slices of values, in a loop that the compiler can vectorize.
#![expect(clippy::inline_always, reason = "only inlined code is compiled for AVX2")]

use super::{Job, run};

/// Converts each value of `from` into the value at the same index of `to`.
pub(crate) fn convert<T: Copy, U>(from: &[T], to: &mut [U], f: &impl Fn(T) -> U) {
    run(ConvertLoop { from, to, f });
}

struct ConvertLoop<'a, T, U, F> {
    from: &'a [T],
    to: &'a mut [U],
    f: &'a F,
}

impl<T: Copy, U, F: Fn(T) -> U> Job for ConvertLoop<'_, T, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (to, &from) in self.to.iter_mut().zip(self.from) {
            *to = (self.f)(from);
        }
    }
}
