//! Differences between platforms. Functions that a system lacks do nothing.

use std::fs::File;
use std::io;
use std::path::Path;

/// Calls `clean` when the program is interrupted, before it ends. Its argument returns
/// whether there was another interrupt meanwhile.
#[cfg(unix)]
pub(crate) fn on_interrupt<T>(
    clean: impl Fn(&mut dyn FnMut() -> bool) -> T + Send + 'static,
) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::sync::mpsc;

    let ends = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = Signals::new(ends)?;
    let (started, starts) = mpsc::channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let _ = started.send(());
        loop {
            let Some(signal) = signals.wait().next() else { continue };
            // The result holds locks until the program ends.
            let _cleaned = clean(&mut || signals.pending().next().is_some());
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    // If the thread has not enough memory, the program ends before it writes anything.
    let _ = starts.recv();
    Ok(())
}

/// Returns whether the program was started with a signal ignored, as by
/// `nohup`.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// As `nohup` does; ignored signals are not queried on other systems.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(signal: i32) -> bool {
    signal == signal_hook::consts::SIGHUP
}

#[cfg(not(unix))]
pub(crate) fn on_interrupt<T>(
    _: impl Fn(&mut dyn FnMut() -> bool) -> T + Send + 'static,
) -> io::Result<()> {
    Ok(())
}

/// Makes writes beyond the limit on file sizes return an error. By default, a
/// signal ends the program.
#[cfg(unix)]
pub(crate) fn ignore_size_limit_signal() {
    let seen = std::sync::Arc::default();
    // If this fails, the program ends by the signal.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
}

#[cfg(not(unix))]
pub(crate) fn ignore_size_limit_signal() {}

/// The limit on address space, if there is one.
#[cfg(unix)]
pub(crate) fn address_space() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(not(unix))]
pub(crate) fn address_space() -> Option<u64> {
    None
}

/// Writes to standard error without its lock.
pub(crate) fn write_error(text: &[u8]) {
    #[cfg(unix)]
    let _ = rustix::io::write(io::stderr(), text);
    #[cfg(not(unix))]
    let _ = io::Write::write_all(&mut io::stderr(), text);
}

/// Ends the program without waiting for other threads or for output.
pub(crate) fn exit_at_once(status: i32) -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(status);
    #[cfg(not(unix))]
    std::process::exit(status)
}

/// Returns whether the system could not access the memory that a call was given: the bytes
/// of a mapped file that was truncated.
#[cfg(unix)]
pub(crate) fn is_fault(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::FAULT.raw_os_error())
}

#[cfg(not(unix))]
pub(crate) fn is_fault(_: &io::Error) -> bool {
    false
}

/// Standard input as a file.
#[cfg(unix)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn standard_input() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether two paths lead to the same file, which exists.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns whether a path names a pipe, a socket or a device, which can be read
/// only once and in order.
pub(crate) fn is_stream(path: &Path) -> bool {
    let kind = std::fs::metadata(path).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// Returns whether a file takes less disk space than its length; `false` if the
/// system does not report it.
#[cfg(unix)]
pub(crate) fn is_sparse(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.blocks() * 512 < metadata.len())
}

#[cfg(not(unix))]
pub(crate) fn is_sparse(_: &Path) -> bool {
    false
}

/// Writes bytes at an offset of a file.
#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let (mut bytes, mut offset) = (bytes, offset);
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.split_at(written).1;
                offset += crate::input::lengths::to_u64(written);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn write_all_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek as _, Write as _};
    // Only one thread writes at a time.
    static POSITION: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _held = POSITION.lock();
    file.seek(io::SeekFrom::Start(offset))?;
    file.write_all(bytes)
}
