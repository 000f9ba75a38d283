//! Edits a member of an `.npz` archive by rewriting the archive.

use std::path::Path;

use npymap::MappedArrayMut;
use npymap::npz::{Compression, Member, NpzWriter};

use crate::draft::{Draft, IfExists};
use crate::edit::EditOptions;
use crate::error::CliError;
use crate::inputs::last_of_each_name;
use crate::open;

/// Applies `change` to a member, and replaces the archive once the new one is
/// complete and on disk. Members stay stored or deflated.
pub(crate) fn edit_member(
    path: &Path,
    name: &str,
    options: EditOptions,
    change: impl FnOnce(&mut MappedArrayMut) -> npymap::Result<usize>,
) -> Result<usize, CliError> {
    // Locked before it is read, so that no change by others is lost.
    let draft = Draft::begin_at(path, IfExists::Replace(options.wait))?;
    let npz = open::npz_copy_on_write(path, options.max_header_len).map_err(CliError::Library)?;
    let target = npz.member(name).map_err(CliError::Library)?;
    // Rewriting would give damaged members a valid checksum.
    npz.verify().map_err(CliError::Library)?;
    for member in npz.members() {
        let is_array = member.header().map_err(CliError::Library)?.is_some();
        if !is_array || member.full_name() == member.name() {
            let reason = "contains members that are not .npy files, which rewriting would lose";
            return Err(CliError::Rejected { path: path.to_owned(), reason });
        }
    }
    let mut array = target.open().map_err(CliError::Library)?;
    let count = change(&mut array).map_err(CliError::Library)?;
    let mut writer = NpzWriter::new(draft.file());
    for member in last_of_each_name(npz.members(), Member::full_name) {
        writer.compression(if member.is_stored() {
            Compression::Stored
        } else {
            Compression::Deflated(6)
        });
        let written = if member.full_name() == target.full_name() {
            writer.write(member.name(), &array)
        } else {
            let other = member.open().map_err(CliError::Library)?;
            writer.write(member.name(), &other)
        };
        written.map_err(CliError::with_path(path))?;
    }
    writer.into_inner().map_err(CliError::with_path(path))?;
    // Windows does not replace a file that is mapped.
    drop((array, npz));
    draft.commit()?;
    Ok(count)
}
