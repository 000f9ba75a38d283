//! Edits an array in place: a file, or a member of one.

use std::borrow::Cow;

use npymap::any::Format;

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::{members, open, remote, stream};
use crate::output::locking::WaitArgs;
use crate::output::{member_copy, npz_update};
use crate::select::edited::Edited;

const NOT_EDITABLE: &str = "cannot be edited: name an array of an .npz or .ten as FILE[MEMBER], or extract one from a tar file with `npymap convert`";

const STREAM: &str = "a stream cannot be changed in place: write it to a file first, with `npymap convert - FILE.npy`";

/// Applies `change` to an array and returns its result. A member of an
/// `.npz` is changed by rewriting the archive. `flush` waits until the data is on disk.
pub(crate) fn edit(
    target: &ArrayPath,
    wait: WaitArgs,
    flush: bool,
    change: impl FnOnce(&mut Edited) -> npymap::Result<usize>,
) -> Result<usize, CliError> {
    let ArrayPath { path, member, .. } = target;
    reject_stream(target)?;
    let format = open::format(path).map_err(CliError::Library)?;
    match (format, member) {
        (Format::Npz, Some(name)) => edit_member(target, name, wait, change),
        (Format::Npz | Format::Ten, None) => {
            let path = target.name();
            let file = open::map_arrays(path).and_then(|file| open::any_of(target, file, false));
            let text = members::choice(&file.at(path)?, path).map(Cow::from);
            Err(CliError::rejected(path, text.unwrap_or(NOT_EDITABLE.into())))
        }
        (Format::Npy, member) if member.is_none() || target.offset().is_some() => {
            edit_in_place(target, wait, flush, change).at(target.name())
        }
        (Format::Ten, Some(_)) => edit_in_place(target, wait, flush, change).at(target.name()),
        _ => Err(CliError::rejected(target.name(), NOT_EDITABLE)),
    }
}

fn edit_in_place(
    target: &ArrayPath,
    wait: WaitArgs,
    flush: bool,
    change: impl FnOnce(&mut Edited) -> npymap::Result<usize>,
) -> npymap::Result<usize> {
    let path = &target.path;
    let lock = wait.lock(path)?;
    let (array, stored) = open::write_array(target)?;
    // A program that does not lock may have replaced the file before it was
    // opened.
    lock.as_ref().map_or(Ok(()), |lock| lock.check(path))?;
    let mut edited = Edited { array, stored };
    let count = change(&mut edited)?;
    if flush {
        edited.array.close()?;
    }
    Ok(count)
}

/// Rejects standard input, pipes and URLs, which cannot be changed in place.
pub(crate) fn reject_stream(target: &ArrayPath) -> Result<(), CliError> {
    remote::reject_change(target.name())?;
    CliError::rejected_if(stream::is_output(&target.path), target.name(), STREAM)
}

/// Applies `change` to a copy of a member in a file without a name, and replaces the archive
/// once the new one is complete and on disk. Members stay stored or deflated.
fn edit_member(
    target: &ArrayPath,
    name: &str,
    wait: WaitArgs,
    change: impl FnOnce(&mut Edited) -> npymap::Result<usize>,
) -> Result<usize, CliError> {
    let (path, to_error) = (&target.path, CliError::with_path(target.name()));
    let mut update = npz_update::begin(path, wait)?;
    let member = update.npz().member(name).map_err(CliError::Library)?;
    // Finds the same member, even if another is called as this one without `.npy`.
    let full_name = member.full_name().to_owned();
    // Checks that the array is the whole member.
    member.header().map_err(CliError::Library)?;
    // Where the new archive needs space, too.
    let copy = path
        .canonicalize()
        .and_then(|path| tempfile::tempfile_in(path.parent().expect("it is in a directory")));
    let copy = copy.map_err(CliError::io(path, "create a copy of"))?;
    let reader = member.reader().map_err(CliError::Library)?;
    member_copy::copy(reader, target.name(), (&copy, path), &mut |_| ())?;
    let (array, stored) = open::write_unnamed(copy).map_err(&to_error)?;
    let mut edited = Edited { array, stored };
    let count = change(&mut edited).map_err(to_error)?;
    let changed = || Ok(edited.stored.clone());
    update.set_deferred(&full_name, &changed).map_err(CliError::Library)?;
    update.commit().map_err(CliError::Library)?;
    Ok(count)
}
