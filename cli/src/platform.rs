//! What differs by platform: what a system lacks does nothing.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Has `clean` done when the program is interrupted, before it ends.
#[cfg(unix)]
pub(crate) fn on_interrupt<T>(clean: impl Fn() -> T + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            // Held to the end.
            let _cleaned = clean();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn on_interrupt<T>(_: impl Fn() -> T + Send + 'static) -> io::Result<()> {
    Ok(())
}

/// Has writes beyond the limit on the size of files fail, instead of the
/// signal for it end the program.
#[cfg(unix)]
pub(crate) fn bear_size_limits() {
    let seen = std::sync::Arc::default();
    // Without it the program ends as others do.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
}

#[cfg(not(unix))]
pub(crate) fn bear_size_limits() {}

/// Gives a file to be made the permissions of new files, and not of passing
/// ones. Elsewhere it has those of its directory.
#[cfg(unix)]
pub(crate) fn permit_all(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
}

#[cfg(not(unix))]
pub(crate) fn permit_all(_: &mut tempfile::Builder<'_, '_>) {}

/// Gives a new file the permissions and, if that is allowed, the owner of an
/// old one.
#[cfg(unix)]
pub(crate) fn keep_access(new: &Path, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    match chown(new, Some(old.uid()), Some(old.gid())) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
        _ => {}
    }
    std::fs::set_permissions(new, old.permissions())
}

#[cfg(not(unix))]
pub(crate) fn keep_access(new: &Path, old: &Metadata) -> io::Result<()> {
    std::fs::set_permissions(new, old.permissions())
}

/// Brings the names in a directory to the disk. Windows does that by itself.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The space that is free on the disk of a directory, in bytes, where systems
/// tell.
#[cfg(unix)]
pub(crate) fn free_space(directory: &Path) -> io::Result<Option<u64>> {
    let disk = rustix::fs::statvfs(directory)?;
    Ok(Some(disk.f_bavail.saturating_mul(disk.f_frsize)))
}

#[cfg(not(unix))]
pub(crate) fn free_space(_: &Path) -> io::Result<Option<u64>> {
    Ok(None)
}

/// What a file takes on the disk, in bytes, where systems tell.
#[cfg(unix)]
pub(crate) fn space_taken(file: &File) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Some(file.metadata().ok()?.blocks().saturating_mul(512))
}

#[cfg(not(unix))]
pub(crate) fn space_taken(_: &File) -> Option<u64> {
    None
}

/// What this process has in memory, mapped pages included, in bytes, where
/// systems tell.
pub(crate) fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}
