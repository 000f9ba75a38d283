//! Output of commands whose exit status answers even a caller that has stopped
//! reading.

use std::io::{self, ErrorKind, Write};

/// A writer that discards what follows once the reader has closed the pipe.
pub(crate) struct UntilClosed<W> {
    to: W,
    is_closed: bool,
}

impl<W: Write> UntilClosed<W> {
    pub(crate) fn new(to: W) -> UntilClosed<W> {
        UntilClosed { to, is_closed: false }
    }

    /// Calls `write`; once the pipe is closed, only returns `otherwise`.
    fn attempt<T>(
        &mut self,
        otherwise: T,
        write: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        if !self.is_closed {
            match write(&mut self.to) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.is_closed = true,
                done => return done,
            }
        }
        Ok(otherwise)
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), W::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is closed after a byte.
    struct Closing(Vec<u8>);

    impl Write for Closing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.0.is_empty() {
                return Err(ErrorKind::BrokenPipe.into());
            }
            self.0.extend(bytes.first());
            Ok(1)
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn only_a_closed_pipe_is_ignored() {
        let mut out = UntilClosed::new(Closing(Vec::new()));
        assert_eq!(out.flush().unwrap_err().kind(), ErrorKind::StorageFull);
        out.write_all(b"abc").unwrap();
        assert_eq!(out.to.0, b"a");
        out.flush().unwrap();
    }
}
