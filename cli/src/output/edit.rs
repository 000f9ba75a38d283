//! Edits an array in place: a file, or a member of one.

use std::borrow::Cow;

use npymap::any::Format;
use npymap::source::{FileLock, LockKind};

use crate::input::array_path::ArrayPath;
use crate::input::error::{At as _, CliError};
use crate::input::{members, open, platform, remote, stream};
use crate::output::locking::WaitArgs;
use crate::output::{member_copy, npz_update};
use crate::select::edited::Edited;

const NOT_EDITABLE: &str = "cannot be edited: name an array of an .npz or .ten as FILE[MEMBER], or extract one from a tar file with `npymap convert`";

const STREAM: &str = "a stream cannot be changed in place: write it to a file first, with `npymap convert - FILE.npy`";

/// Options of commands that edit an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditOptions {
    /// Wait until the data is on disk.
    pub(crate) flush: bool,
    pub(crate) max_header_len: usize,
    pub(crate) wait: WaitArgs,
}

impl EditOptions {
    /// Applies `change` to an array and returns its result. A member of an
    /// `.npz` is changed by rewriting the archive.
    pub(crate) fn edit(
        self,
        target: &ArrayPath,
        change: impl FnOnce(&mut Edited) -> npymap::Result<usize>,
    ) -> Result<usize, CliError> {
        let ArrayPath { path, member, .. } = target;
        reject_stream(target)?;
        let format = open::format(path, self.max_header_len).map_err(CliError::Library)?;
        match (format, member) {
            (Format::Npy, member) if member.is_none() || target.offset().is_some() => {
                self.edit_in_place(target, change).at(target.name())
            }
            (Format::Ten, Some(_)) => self.edit_in_place(target, change).at(target.name()),
            (Format::Npz, Some(name)) => edit_member(target, name, self, change),
            (Format::Npz | Format::Ten, None) => {
                let path = target.name();
                let source = open::map_arrays(path, self.max_header_len);
                let file =
                    source.and_then(|file| open::any_of(target, file, self.max_header_len, false));
                let text = members::choice(&file.at(path)?, path).map(Cow::from);
                Err(CliError::rejected(path, text.unwrap_or(NOT_EDITABLE.into())))
            }
            _ => Err(CliError::rejected(target.name(), NOT_EDITABLE)),
        }
    }

    fn edit_in_place(
        self,
        target: &ArrayPath,
        change: impl FnOnce(&mut Edited) -> npymap::Result<usize>,
    ) -> npymap::Result<usize> {
        let path = &target.path;
        let lock = self
            .wait
            .with_lock(path, |locking| FileLock::acquire(path, LockKind::Exclusive, locking))?;
        let (array, stored) = open::write_array(target, self.max_header_len)?;
        // A program that does not lock may have replaced the file before it was
        // opened.
        lock.as_ref().map_or(Ok(()), |lock| lock.check(path))?;
        let mut edited = Edited { array, stored };
        let count = change(&mut edited)?;
        if self.flush {
            edited.array.close()?;
        }
        Ok(count)
    }
}

/// Rejects standard input, pipes and URLs, which cannot be changed in place.
pub(crate) fn reject_stream(target: &ArrayPath) -> Result<(), CliError> {
    remote::reject_change(target.name())?;
    CliError::rejected_if(
        stream::is_standard(&target.path) || platform::is_stream(&target.path),
        target.name(),
        STREAM,
    )
}

/// Applies `change` to a copy of a member in a file without a name, and replaces the archive
/// once the new one is complete and on disk. Members stay stored or deflated.
fn edit_member(
    target: &ArrayPath,
    name: &str,
    options: EditOptions,
    change: impl FnOnce(&mut Edited) -> npymap::Result<usize>,
) -> Result<usize, CliError> {
    let (path, to_error) = (&target.path, CliError::with_path(target.name()));
    let mut update = npz_update::begin(path, options.wait, options.max_header_len)?;
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
    let (array, stored) = open::write_unnamed(copy, options.max_header_len).map_err(&to_error)?;
    let mut edited = Edited { array, stored };
    let count = change(&mut edited).map_err(to_error)?;
    let changed = || Ok(edited.stored.clone());
    update.set_deferred(&full_name, &changed).map_err(CliError::Library)?;
    update.commit().map_err(CliError::Library)?;
    Ok(count)
}
