//! Converts values one by one, several at once where the compiler finds how.
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for AVX2")]

use super::{Job, run};

/// Converts values over as many others.
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
