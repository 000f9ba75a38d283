//! Copies the bytes of a member of an archive to a file.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use npymap::npz::MemberReader;

use crate::input::error::CliError;
use crate::input::memory;

/// Copies a member, and verifies its checksum. `path` names it in errors. `add` gets the number
/// of bytes of each step.
pub(crate) fn copy(
    mut from: MemberReader<'_>,
    path: &Path,
    (mut to, to_path): (&File, &Path),
    add: &mut dyn FnMut(usize),
) -> Result<(), CliError> {
    let mut block = memory::zeros(1 << 20).map_err(CliError::Library)?;
    loop {
        let n = from.read(&mut block).map_err(|error| match error.downcast::<npymap::Error>() {
            Ok(error) => CliError::WithPath { path: path.to_owned(), error },
            Err(error) => CliError::io(path, "read")(error),
        })?;
        if n == 0 {
            return Ok(());
        }
        let written = to.write_all(block.split_at(n).0);
        written.map_err(CliError::io(to_path, "write"))?;
        add(n);
    }
}
