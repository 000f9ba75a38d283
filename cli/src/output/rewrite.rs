//! Edits a member of an `.npz` archive by replacing the archive.

use std::path::Path;

use npymap::MappedArrayMut;

use crate::input::error::CliError;
use crate::input::open;
use crate::output::edit::EditOptions;
use crate::output::signals;

/// Applies `change` to a member, and replaces the archive once the new one is
/// complete and on disk. Members stay stored or deflated.
pub(crate) fn edit_member(
    path: &Path,
    name: &str,
    options: EditOptions,
    change: impl FnOnce(&mut MappedArrayMut) -> npymap::Result<usize>,
) -> Result<usize, CliError> {
    signals::watch().map_err(CliError::io(path, "create"))?;
    let npz_options = open::npz_options(options.max_header_len);
    let update = options.wait.with_lock(path, |locking| npz_options.update(path, locking));
    let mut update = update.map_err(CliError::Library)?;
    let member = update.npz().member(name).map_err(CliError::Library)?;
    // Finds the same member, even if another is called as this one without `.npy`.
    let full_name = member.full_name().to_owned();
    let mut array = member.open().map_err(CliError::Library)?;
    let count = change(&mut array).map_err(CliError::Library)?;
    update.set(&full_name, &array).map_err(CliError::Library)?;
    update.commit().map_err(CliError::Library)?;
    Ok(count)
}
