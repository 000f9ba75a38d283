//! NumPy, timed in a Python process that waits between batches.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::rounds::Peer;

/// A running `numpy_peer.py`; it ends when its input does.
#[derive(Debug)]
pub(crate) struct NumPy {
    /// NumPy's version, and which other packages are installed.
    version: String,
    pipes: RefCell<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl NumPy {
    pub(crate) fn start(directory: &Path) -> Result<NumPy> {
        let mut child = Command::new("python3")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/numpy_peer.py"))
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("python3 does not start: {error}"))?;
        let input = child.stdin.take().ok_or("no pipe to python3")?;
        let output = BufReader::new(child.stdout.take().ok_or("no pipe from python3")?);
        let mut pipes = Pipes { input, output };
        let version = pipes.answer()?;
        Ok(NumPy { version, pipes: RefCell::new(pipes) })
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Whether Python has another package.
    pub(crate) fn has(&self, package: &str) -> bool {
        self.version.split(", ").any(|word| word.strip_prefix("with ") == Some(package))
    }

    /// NumPy running the benchmark that `numpy_peer.py` calls `benchmark`.
    pub(crate) fn peer<'a>(
        &'a self,
        benchmark: &'static str,
        call: &str,
        target: Option<f64>,
    ) -> Peer<'a> {
        self.package_peer(benchmark, format!("NumPy {call}"), target)
    }

    /// Another Python package running a benchmark.
    pub(crate) fn package_peer<'a>(
        &'a self,
        benchmark: &'static str,
        name: impl Into<String>,
        target: Option<f64>,
    ) -> Peer<'a> {
        Peer::new(
            name,
            target,
            Box::new(move |iterations| self.pipes.borrow_mut().time(benchmark, iterations)),
        )
    }
}

impl Pipes {
    fn time(&mut self, benchmark: &str, iterations: u32) -> Result<Duration> {
        writeln!(self.input, "{benchmark} {iterations}")?;
        Ok(Duration::from_nanos(self.answer()?.parse()?))
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        match line.trim_end() {
            "" => Err("the Python process ended".into()),
            line => Ok(line.to_owned()),
        }
    }
}
