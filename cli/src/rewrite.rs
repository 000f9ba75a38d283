//! Changes a member of an `.npz` archive, by writing the archive anew.

use std::path::Path;

use npymap::npz::{Compression, Member, NpzWriter};
use npymap::{MappedArrayMut, source::MapMut};

use crate::draft::{Draft, IfExists};
use crate::edit::EditOptions;
use crate::error::CliError;
use crate::inputs::last_of_each;
use crate::open;

/// Has a member changed and the archive replaced when it is whole and on the
/// disk. Members stay stored or deflated as they are.
pub(crate) fn member(
    path: &Path,
    name: &str,
    asked: EditOptions,
    change: impl FnOnce(&mut MappedArrayMut) -> npymap::Result<usize>,
) -> Result<usize, CliError> {
    // Locked before it is read, so that nothing that others change is lost.
    let draft = Draft::named(path, IfExists::Replaced(asked.wait))?;
    let npz = open::npz_copy_on_write(path, asked.max_header_len).map_err(CliError::library)?;
    let meant = npz.member(name).map_err(CliError::library)?;
    // What is damaged would be so with a new checksum.
    npz.verify().map_err(CliError::library)?;
    for member in npz.members() {
        let is_array = member.header().map_err(CliError::library)?.is_some();
        if !is_array || member.full_name() == member.name() {
            let reason = "contains members that are not .npy files and would be lost";
            return Err(CliError::Refused { path: path.to_owned(), reason });
        }
    }
    let mut array = meant.open().map_err(CliError::library)?;
    let count = change(&mut array).map_err(CliError::library)?;
    let mut writer = NpzWriter::new(draft.file());
    for member in last_of_each(npz.members(), Member::full_name) {
        writer.compression(if member.is_stored() {
            Compression::Stored
        } else {
            Compression::Deflated(6)
        });
        let written = if same(&member, &meant) {
            writer.write(member.name(), &array)
        } else {
            let other = member.open().map_err(CliError::library)?;
            writer.write(member.name(), &other)
        };
        written.map_err(CliError::at(path))?;
    }
    writer.into_inner().map_err(CliError::at(path))?;
    // What it takes the place of.
    drop((array, npz));
    draft.commit()?;
    Ok(count)
}

/// True for the member that is meant; of equal names the writer takes one.
fn same(member: &Member<'_, MapMut>, meant: &Member<'_, MapMut>) -> bool {
    member.full_name() == meant.full_name()
}
