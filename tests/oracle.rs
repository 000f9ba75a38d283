//! A NumPy process that tests query.
//!
//! Without Python, NumPy and pytest (which NumPy's own tests need), these tests
//! pass without checking anything, unless `NPYMAP_REQUIRE_NUMPY=1` is set.
//! `NPYMAP_PYTHON` names another interpreter than `python3`.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A running NumPy process.
pub(crate) struct Oracle {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Oracle {
    /// Starts a script of `tests/numpy`, or prints why that is not possible.
    pub(crate) fn start(script: &str) -> Option<Oracle> {
        let started = Oracle::spawn(script);
        if let Err(why) = &started {
            let required = env::var("NPYMAP_REQUIRE_NUMPY").is_ok_and(|value| value == "1");
            assert!(!required, "no NumPy to ask: {why}");
            eprintln!("nothing was tested, there is no NumPy to ask: {why}");
        }
        started.ok()
    }

    fn spawn(script: &str) -> Result<Oracle, String> {
        let python = env::var_os("NPYMAP_PYTHON").unwrap_or_else(|| "python3".into());
        let mut child = Command::new(python)
            .arg("-B")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numpy").join(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut oracle = Oracle { child, to, from };
        let hello = oracle.answer().ok_or("it did not start")?;
        if hello["numpy"].is_string() { Ok(oracle) } else { Err(hello["error"].to_string()) }
    }

    fn answer(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.from.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Calls a function of the script with these arguments.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.try_ask(request).unwrap_or_else(|| panic!("no answer to {request}"))
    }

    /// As [`ask`](Oracle::ask), for calls that may crash Python.
    pub(crate) fn try_ask(&mut self, request: &Value) -> Option<Value> {
        writeln!(self.to.as_ref().unwrap(), "{request}").ok()?;
        self.answer()
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.to = None;
        self.child.wait().unwrap();
    }
}

/// The bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}
