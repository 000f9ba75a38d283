//! What differs by platform: what a system lacks does nothing.

use std::fs::File;
use std::io;
use std::path::Path;

/// Has `clean` done when the program is interrupted, before it ends.
#[cfg(unix)]
pub(crate) fn on_interrupt<T>(clean: impl Fn() -> T + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let ends = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = Signals::new(ends)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            // Held to the end.
            let _cleaned = clean();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Whether whoever started the program has it ignore a signal, as `nohup` does.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Elsewhere systems are not asked, so the one of `nohup` is left alone.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(signal: i32) -> bool {
    signal == signal_hook::consts::SIGHUP
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

/// Whether a file takes less space than its length, where systems tell.
pub(crate) fn is_sparse(path: &Path) -> bool {
    let file = File::open(path).ok();
    let taken = file.and_then(|file| Some((space_taken(&file)?, file.metadata().ok()?.len())));
    taken.is_some_and(|(taken, len)| taken < len)
}

/// What this process has in memory, mapped pages included, in bytes, where
/// systems tell.
pub(crate) fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}
