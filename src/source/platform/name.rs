//! Names, owners and permissions of files.

#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Whether a file can be renamed while it is mapped. Elsewhere it is unmapped
/// first.
pub(crate) const CAN_RENAME_MAPPED_FILES: bool = cfg!(unix);

/// Whether a file can be replaced while it is open. Windows refuses, so we
/// close our own descriptors first.
pub(crate) const CAN_REPLACE_OPEN_FILES: bool = cfg!(not(windows));

/// Creates a file without a name in a directory. `None` if the kernel or the
/// file system does not support that, or the file could not be named later.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn unnamed_file(directory: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(directory, flags, Mode::from_raw_mode(mode)).ok()?);
    // Linking goes through /proc, which is not mounted everywhere.
    std::fs::metadata(descriptor_path(&file)).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn unnamed_file(_: &Path, _: u32) -> Option<File> {
    None
}

/// Links an unnamed file to a name that must not exist.
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};

    Ok(rustix::fs::linkat(CWD, descriptor_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// An open file's path under `/proc`.
#[cfg(target_os = "linux")]
#[inline]
fn descriptor_path(file: &File) -> String {
    use std::os::fd::AsRawFd as _;

    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Resolves links and dots. WASI cannot, so there the path is returned
/// unchanged.
#[inline]
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    if cfg!(target_family = "wasm") { Ok(path.to_owned()) } else { path.canonicalize() }
}

/// Creates an empty file with a random name. It is removed when it is dropped.
///
/// tempfile picks the name, and we open the file: its own function returns errors without
/// their codes, and supports Unix and Windows only.
#[inline]
pub(crate) fn named_file(
    builder: &tempfile::Builder<'_, '_>,
    directory: &Path,
    mode: u32,
) -> io::Result<NamedTempFile> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    builder.make_in(directory, |path| options.open(path))
}

/// Renames a temporary file to its final name. It is an error if that exists,
/// unless `replaces` is set.
#[cfg(any(unix, windows))]
#[inline]
pub(crate) fn rename(file: NamedTempFile, path: &Path, replaces: bool) -> io::Result<File> {
    if replaces {
        return Ok(file.persist(path)?);
    }
    let file = match file.persist_noclobber(path) {
        Err(refused) if cannot_link(&refused.error) => refused.file,
        renamed => return Ok(renamed?),
    };
    // The temporary name is removed when its file is dropped.
    match std::fs::hard_link(file.path(), path) {
        Err(refused) if cannot_link(&refused) => rename_over_new(file, path),
        linked => linked.map(|()| file.into_file()),
    }
}

/// Returns whether a file system or a sandbox may have neither a rename that replaces nothing
/// nor links.
#[cfg(unix)]
#[inline]
fn cannot_link(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let errno = Errno::from_io_error(error);
    let refusals =
        [Errno::INVAL, Errno::NOSYS, Errno::PERM, Errno::ACCESS, Errno::MLINK, Errno::XDEV];
    errno.is_some_and(|errno| refusals.contains(&errno)) || has_errno_of_no_support(error)
}

#[cfg(windows)]
#[inline]
fn cannot_link(_: &io::Error) -> bool {
    false
}

/// Renames a file to a name under which there is an empty file for a moment: it reserves the
/// name.
#[cfg(any(unix, windows))]
#[inline]
fn rename_over_new(file: NamedTempFile, path: &Path) -> io::Result<File> {
    File::create_new(path)?;
    file.persist(path).map_err(|refused| {
        // Best effort: the first error is returned.
        let _ = std::fs::remove_file(path);
        refused.error
    })
}

/// Returns whether an error means that the file system does not support an operation. On
/// some systems it has two numbers.
#[cfg(unix)]
#[inline]
pub(super) fn has_errno_of_no_support(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let errno = Errno::from_io_error(error);
    errno == Some(Errno::OPNOTSUPP) || errno == Some(Errno::NOTSUP)
}

#[cfg(not(any(unix, windows)))]
#[inline]
pub(crate) fn rename(file: NamedTempFile, path: &Path, replaces: bool) -> io::Result<File> {
    let (file, name) = file.into_parts();
    if replaces {
        std::fs::rename(&name, path)?;
    } else {
        // Unlike `rename`, `hard_link` fails if `path` exists. The random name
        // is removed when `name` is dropped.
        std::fs::hard_link(&name, path)?;
    }
    Ok(file)
}

/// Gives a new file the permissions of an old one, and its owner, group and, on
/// Linux, access control list if the kernel allows it. If it does not allow the
/// group, a different group gets the permissions of all users. Without the
/// list, only the owner gets any. On Windows it copies the read-only flag.
#[cfg(unix)]
#[inline]
pub(crate) fn keep_access(new: &File, old: &Metadata, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let own = new.metadata()?;
    let mut keeps_group = own.gid() == old.gid();
    if !keeps_group || own.uid() != old.uid() {
        // A user who cannot change the owner may still change the group.
        keeps_group |=
            set_owner(new, Some(old.uid()), old.gid())? || set_owner(new, None, old.gid())?;
    }
    // Without the set-user-ID bit, which would give away the rights of the new owner.
    let mode = old.permissions().mode() & 0o777;
    let mode = if !keep_acl(new, path, keeps_group) {
        // The list may have forbidden somebody what all others may do.
        mode & 0o700
    } else if keeps_group {
        mode
    } else {
        without_group(mode)
    };
    new.set_permissions(Permissions::from_mode(mode))
}

/// Gives the group the permissions of all users.
#[cfg(unix)]
#[inline]
fn without_group(mode: u32) -> u32 {
    mode & !0o070 | (mode & 0o7) << 3
}

/// Gives a new file the access control list of an old one, or none if that has
/// none. Returns `false` if the replaced file may have a list that the new file
/// does not get.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
fn keep_acl(new: &File, old: &Path, keeps_group: bool) -> bool {
    use rustix::io::Errno;

    const NAME: &str = "system.posix_acl_access";
    // The longest value that Linux allows.
    let mut list = vec![0; 1 << 16];
    let found = rustix::fs::getxattr(old, NAME, &mut list[..]);
    if let (Ok(len), true) = (found, keeps_group) {
        list.truncate(len);
        if rustix::fs::fsetxattr(new, NAME, &list, rustix::fs::XattrFlags::empty()).is_ok() {
            return true;
        }
    }
    // It may have the list that new files get in its directory.
    let removed = rustix::fs::fremovexattr(new, NAME);
    let has_none = |errno| matches!(errno, Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS);
    removed.map_or_else(has_none, |()| true) && found.is_err_and(has_none)
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
#[inline]
fn keep_acl(_: &File, _: &Path, _: bool) -> bool {
    true
}

#[cfg(windows)]
#[inline]
pub(crate) fn keep_access(new: &File, old: &Metadata, _: &Path) -> io::Result<()> {
    new.set_permissions(old.permissions())
}

#[cfg(not(any(unix, windows)))]
#[inline]
pub(crate) fn keep_access(_: &File, _: &Metadata, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Sets owner and group; `false` if the kernel does not allow it.
#[cfg(unix)]
#[inline]
fn set_owner(file: &File, owner: Option<u32>, group: u32) -> io::Result<bool> {
    match std::os::unix::fs::fchown(file, owner, Some(group)) {
        Ok(()) => Ok(true),
        // `InvalidInput`: the user namespace has no such user or group.
        Err(error) => match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => Ok(false),
            _ => Err(error),
        },
    }
}

/// Waits until the names in a directory are on the disk. Windows needs no
/// such call.
#[cfg(unix)]
#[inline]
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory) {
        // If the directory was removed, no name is left to be synced.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // It cannot be read, only written: everything is synced.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            rustix::fs::sync();
            Ok(())
        }
        opened => match opened?.sync_all() {
            // The file system syncs no directories.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        },
    }
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Duplicates this process's standard output or error if `descriptor` names it
/// under `/proc/self/fd`. Opening that path instead would start at another
/// position, and fails for sockets.
#[cfg(unix)]
#[inline]
pub(crate) fn standard_stream(descriptor: &Path) -> Option<io::Result<File>> {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    let directory = descriptor.parent()?.canonicalize().ok()?;
    if directory != Path::new("/proc/self/fd").canonicalize().ok()? {
        return None;
    }
    let owned = match descriptor.file_name()?.to_str()? {
        "1" => io::stdout().flush().and_then(|()| io::stdout().as_fd().try_clone_to_owned()),
        "2" => io::stderr().as_fd().try_clone_to_owned(),
        _ => return None,
    };
    Some(owned.map(File::from))
}

#[cfg(not(unix))]
#[inline]
pub(crate) fn standard_stream(_: &Path) -> Option<io::Result<File>> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(unix)]
    fn another_group_gets_the_permissions_of_all_others() {
        for (mode, expected) in [(0o660, 0o600), (0o664, 0o644), (0o757, 0o777), (0o640, 0o600)] {
            assert_eq!(super::without_group(mode), expected, "{mode:o}");
        }
    }
}
