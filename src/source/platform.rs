//! All that differs by platform. What a system lacks is an error or does
//! nothing, as said at each function here; nothing else in the library knows
//! what it runs on.
#![allow(unsafe_code)]

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

#[cfg(unix)]
use crate::kernel::pages;

/// Memory maps. Where systems have none, memory that belongs to no file comes
/// from the heap, and mapping a file is an error.
#[cfg(not(any(unix, windows)))]
pub(crate) use crate::source::heap as mmap;
#[cfg(any(unix, windows))]
pub(crate) use memmap2 as mmap;

// Files.

/// A length in memory as one in a file.
pub(crate) fn file_len(len: usize) -> u64 {
    u64::try_from(len).expect("lengths in memory have 64 bits at most")
}

/// What tells a file from all others that exist, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// What is asked of a file when it is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Which file it is, where the system tells.
    pub(crate) id: Option<Id>,
}

/// Identifies the file that metadata is about, where systems can.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems don't identify files")]
pub(crate) fn id(metadata: &Metadata) -> Option<Id> {
    use std::os::unix::fs::MetadataExt as _;
    Some(Id { device: metadata.dev(), inode: metadata.ino() })
}

#[cfg(not(unix))]
pub(crate) fn id(_: &Metadata) -> Option<Id> {
    None
}

/// What a path leads to, if not to a regular file.
pub(crate) fn irregular(metadata: &Metadata) -> Option<&'static str> {
    match metadata.file_type() {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        _ => Some("a pipe or device"),
    }
}

/// Has opening a pipe without a writer not wait for one. Elsewhere pipes are
/// no files.
#[cfg(unix)]
pub(crate) fn never_wait(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Ok(flag) = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()) {
        options.custom_flags(flag);
    }
}

#[cfg(not(unix))]
pub(crate) fn never_wait(_: &mut OpenOptions) {}

/// What a file is, if not regular, its length and identity. `fstat` costs two
/// thirds of the call that the standard library makes.
#[cfg(unix)]
pub(crate) fn stat(file: &File) -> io::Result<(Option<&'static str>, Stat)> {
    use rustix::fs::FileType;
    /// The numbers are of other types on other systems, and never negative.
    fn wide(number: impl TryInto<u64>) -> u64 {
        number.try_into().unwrap_or(0)
    }
    let stat = rustix::fs::fstat(file)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        _ => Some("a pipe or device"),
    };
    let id = Id { device: wide(stat.st_dev), inode: wide(stat.st_ino) };
    Ok((kind, Stat { len: wide(stat.st_size), id: Some(id) }))
}

/// Elsewhere the standard library doesn't tell files apart.
#[cfg(not(unix))]
pub(crate) fn stat(file: &File) -> io::Result<(Option<&'static str>, Stat)> {
    let metadata = file.metadata()?;
    Ok((irregular(&metadata), Stat { len: metadata.len(), id: None }))
}

/// Reads at an offset, and maybe less than asked for. Elsewhere than on Unix the
/// file's own position moves, and back.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    in_place(file, |file| std::os::windows::fs::FileExt::seek_read(file, buffer, offset))
}

/// Writes at an offset, and maybe less than asked for. Elsewhere than on Unix
/// the file's own position moves, and back.
#[cfg(unix)]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    in_place(file, |file| std::os::windows::fs::FileExt::seek_write(file, bytes, offset))
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read as _, Seek as _};

    in_place(file, |mut file| {
        file.seek(io::SeekFrom::Start(offset))?;
        file.read(buffer)
    })
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    use std::io::{Seek as _, Write as _};

    in_place(file, |mut file| {
        file.seek(io::SeekFrom::Start(offset))?;
        file.write(bytes)
    })
}

/// Puts the file's position back where it was.
#[cfg(not(unix))]
fn in_place<T>(mut file: &File, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
    use std::io::{Seek as _, SeekFrom};

    let at = file.stream_position()?;
    let done = act(file);
    file.seek(SeekFrom::Start(at))?;
    done
}

/// Whether a file was opened to append, so that `pwrite` ignores its offset
/// ("BUGS" in its manual). Windows appends with a right of its own, which
/// leaves offsets alone.
#[cfg(unix)]
pub(crate) fn appends(file: &File) -> io::Result<bool> {
    Ok(rustix::fs::fcntl_getfl(file)?.contains(rustix::fs::OFlags::APPEND))
}

#[cfg(not(unix))]
pub(crate) fn appends(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Whether a file takes less space than it is long: it may have holes.
/// Elsewhere systems are not asked.
#[cfg(unix)]
pub(crate) fn is_sparse(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = file.metadata()?;
    Ok(metadata.blocks().saturating_mul(512) < metadata.len())
}

#[cfg(not(unix))]
pub(crate) fn is_sparse(_: &File) -> io::Result<bool> {
    Ok(true)
}

/// Whether space that is reserved behind the end of a file makes it longer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Grows,
    Stays,
}

/// Reserves space on the disk; false where systems have no such call.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn allocate(file: &File, offset: u64, len: u64, length: Length) -> io::Result<bool> {
    use rustix::fs::FallocateFlags;
    use rustix::io::Errno;

    let flags = match length {
        Length::Grows => FallocateFlags::empty(),
        Length::Stays => FallocateFlags::KEEP_SIZE,
    };
    loop {
        match rustix::fs::fallocate(file, flags, offset, len) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            done => return Ok(done.map(|()| true)?),
        }
    }
}

/// NTFS reserves space for as long as a file is, and nothing behind its end.
#[cfg(windows)]
pub(crate) fn allocate(file: &File, offset: u64, len: u64, length: Length) -> io::Result<bool> {
    if length == Length::Grows {
        file.set_len(offset.saturating_add(len))?;
    }
    Ok(true)
}

#[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
pub(crate) fn allocate(_: &File, _: u64, _: u64, _: Length) -> io::Result<bool> {
    Ok(false)
}

/// Bytes that are asked for by one call. Linux cuts longer ones to what the
/// device reads at most at once, without a word; that is hardly less anywhere.
#[cfg(unix)]
const READ_AHEAD: usize = 128 << 10;

/// Whether the system is asked to read files ahead by their descriptors.
pub(crate) const READS_AHEAD: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Asks the system to read bytes of a file into its cache. Elsewhere they are
/// read when they are needed.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn read_ahead(file: &File, offset: u64, len: u64) -> io::Result<()> {
    use rustix::fs::{Advice, fadvise};

    let end = offset.saturating_add(len);
    let step = std::num::NonZero::<usize>::new(READ_AHEAD).and_then(|n| n.try_into().ok());
    let mut start = offset;
    while start < end {
        fadvise(file, start, step, Advice::WillNeed)?;
        start = start.saturating_add(step.map_or(len, std::num::NonZeroU64::get));
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn read_ahead(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

/// Asks the system to keep none of these bytes in memory. Elsewhere they stay
/// for as long as it likes.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn forget(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let Some(len) = std::num::NonZeroU64::new(len) else { return Ok(()) };
    Ok(rustix::fs::fadvise(file, offset, Some(len), rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn forget(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
}

// Names.

/// Whether a file can get a name while it is mapped; it is unmapped for that
/// where not.
pub(crate) const RENAMES_WHAT_IS_MAPPED: bool = cfg!(unix);

/// Whether a file can be replaced while it is open. Windows refuses to, and it
/// is closed for that if it is our own.
pub(crate) const REPLACES_WHAT_IS_OPEN: bool = cfg!(not(windows));

/// Creates a file without a name in a directory, if the system and the file
/// system have such files and can name them later.
#[cfg(target_os = "linux")]
pub(crate) fn unnamed_file(directory: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(directory, flags, Mode::from_raw_mode(mode)).ok()?);
    // Linking goes through /proc, which is not mounted everywhere.
    std::fs::metadata(descriptor_path(&file)).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn unnamed_file(_: &Path, _: u32) -> Option<File> {
    None
}

/// Gives an unnamed file a name that is free.
#[cfg(target_os = "linux")]
pub(crate) fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};

    Ok(rustix::fs::linkat(CWD, descriptor_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The path that leads to an open file of this process.
#[cfg(target_os = "linux")]
fn descriptor_path(file: &File) -> String {
    use std::os::fd::AsRawFd as _;

    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives a file to be made permissions of at most `mode`. Elsewhere it has
/// those of its directory.
#[cfg(unix)]
pub(crate) fn permit(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
}

#[cfg(not(unix))]
pub(crate) fn permit(_: &mut tempfile::Builder<'_, '_>, _: u32) {}

/// A path without links and dots; WASI only has paths as they are given.
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    if cfg!(target_family = "wasm") { Ok(path.to_owned()) } else { path.canonicalize() }
}

/// Makes an empty file with a random name, which is removed when it is dropped.
#[cfg(any(unix, windows))]
pub(crate) fn named_file(
    builder: &tempfile::Builder<'_, '_>,
    directory: &Path,
) -> io::Result<NamedTempFile> {
    builder.tempfile_in(directory)
}

/// Where tempfile itself can't open one.
#[cfg(not(any(unix, windows)))]
pub(crate) fn named_file(
    builder: &tempfile::Builder<'_, '_>,
    directory: &Path,
) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    builder.make_in(directory, |path| options.open(path))
}

/// Gives such a file its name, which another file may have only if this
/// replaces it.
#[cfg(any(unix, windows))]
pub(crate) fn rename(file: NamedTempFile, path: &Path, replaces: bool) -> io::Result<File> {
    let done = if replaces { file.persist(path) } else { file.persist_noclobber(path) };
    Ok(done?)
}

/// Where tempfile itself can't.
#[cfg(not(any(unix, windows)))]
pub(crate) fn rename(file: NamedTempFile, path: &Path, replaces: bool) -> io::Result<File> {
    let (file, name) = file.into_parts();
    // A link is made only if the name is free; the random name is then removed.
    if replaces {
        std::fs::rename(&name, path)?;
    } else {
        std::fs::hard_link(&name, path)?;
    }
    Ok(file)
}

/// Gives a new file the permissions and, if that is allowed, the owner of an
/// old one. Windows keeps a file from being written, and no more.
#[cfg(unix)]
pub(crate) fn keep_access(new: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let own = new.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        // Who may not give a file away may still give it a group.
        if !give(new, Some(old.uid()), old.gid())? {
            give(new, None, old.gid())?;
        }
    }
    new.set_permissions(old.permissions())
}

#[cfg(windows)]
pub(crate) fn keep_access(new: &File, old: &Metadata) -> io::Result<()> {
    new.set_permissions(old.permissions())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn keep_access(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Sets owner and group; false where the system doesn't allow it.
#[cfg(unix)]
fn give(file: &File, owner: Option<u32>, group: u32) -> io::Result<bool> {
    match std::os::unix::fs::fchown(file, owner, Some(group)) {
        Ok(()) => Ok(true),
        // Invalid are users that this namespace doesn't have.
        Err(error) => match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => Ok(false),
            _ => Err(error),
        },
    }
}

/// Waits until the names in a directory are on the disk. Windows does that by
/// itself.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory) {
        // A name that is gone has nowhere to be.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_all(),
    }
}

#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The standard output or error of this process, as it stands, if that is what
/// a name below `/proc/self/fd` says: opened anew it would stand elsewhere, and
/// a socket can't be.
#[cfg(unix)]
pub(crate) fn standard(descriptor: &Path) -> Option<io::Result<File>> {
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
pub(crate) fn standard(_: &Path) -> Option<io::Result<File>> {
    None
}

// Locks.

/// What a lock is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Reading: others may hold such a lock too.
    Shared,
    /// Writing: nobody else holds any.
    Exclusive,
}

/// Locks an opening of a file; false when others hold it and this doesn't
/// wait. Elsewhere an error: locks there would keep others from reading.
#[cfg(unix)]
pub(crate) fn lock(file: &File, kind: LockKind, waits: bool) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    let operation = match (kind, waits) {
        (LockKind::Shared, true) => FlockOperation::LockShared,
        (LockKind::Shared, false) => FlockOperation::NonBlockingLockShared,
        (LockKind::Exclusive, true) => FlockOperation::LockExclusive,
        (LockKind::Exclusive, false) => FlockOperation::NonBlockingLockExclusive,
    };
    loop {
        match flock(file, operation) {
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if !waits => return Ok(false),
            done => return Ok(done.map(|()| true)?),
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn lock(_: &File, _: LockKind, _: bool) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether an error says that the system or the file system has no locks.
#[cfg(unix)]
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP))
}

#[cfg(not(unix))]
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

#[cfg(unix)]
pub(crate) fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingUnlock);
}

#[cfg(not(unix))]
pub(crate) fn unlock(_: &File) {}

// Time.

/// Measures time from when it is made. It stands still where the system has no
/// clock for us, as in a browser.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use std::time::Instant as Clock;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Clock {
    pub(crate) fn now() -> Clock {
        Clock
    }

    #[expect(clippy::unused_self, reason = "as the standard library's")]
    pub(crate) fn elapsed(self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}

// Memory.

/// How elements will be used, so that the system reads ahead as much as helps:
/// `madvise`. It changes speed, never values. Systems other than Unix take no
/// advice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// In no special way: some pages are read ahead.
    #[default]
    Normal,
    /// Here and there: nothing is read ahead, which is best for rows in random
    /// order that are not much larger than a page.
    Random,
    /// From first to last: much is read ahead.
    Sequential,
    /// Soon: reading starts now.
    WillNeed,
}

/// Tells how memory will be used. Elsewhere systems find out.
#[cfg(unix)]
pub(crate) fn advise(bytes: &[u8], advice: Advice) -> io::Result<()> {
    use rustix::mm;

    if advice == Advice::WillNeed && bytes.len() > READ_AHEAD {
        return bytes.chunks(READ_AHEAD).try_for_each(|part| advise(part, advice));
    }
    let advice = match advice {
        Advice::Normal => mm::Advice::Normal,
        Advice::Random => mm::Advice::Random,
        Advice::Sequential => mm::Advice::Sequential,
        Advice::WillNeed => mm::Advice::WillNeed,
    };
    let (page, len) = pages(bytes);
    // SAFETY: this advice changes no byte of the memory, and which pages are
    // read ahead is no matter to whoever has what shares a page with `bytes`.
    unsafe { mm::madvise(page.cast_mut().cast(), len, advice) }.map_err(io::Error::from)
}

#[cfg(not(unix))]
pub(crate) fn advise(_: &[u8], _: Advice) -> io::Result<()> {
    Ok(())
}

/// Reads memory ahead, so that what can't be read is an error; false where
/// systems have no such call, as Linux before 5.14.
#[cfg(target_os = "linux")]
pub(crate) fn populate(bytes: &[u8]) -> io::Result<bool> {
    use rustix::mm;

    let (page, len) = pages(bytes);
    // SAFETY: reading changes no byte of the memory, also of what shares a
    // page with `bytes`.
    match unsafe { mm::madvise(page.cast_mut().cast(), len, mm::Advice::LinuxPopulateRead) } {
        Err(rustix::io::Errno::INVAL) => Ok(false),
        done => Ok(done.map(|()| true)?),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn populate(_: &[u8]) -> io::Result<bool> {
    Ok(false)
}

/// Counts the bytes of a map that are in memory; `None` where systems are not
/// asked.
#[cfg(target_os = "linux")]
pub(crate) fn resident(bytes: &[u8]) -> io::Result<Option<usize>> {
    /// Pages asked about at once.
    const PAGES: usize = 4096;

    let page = rustix::param::page_size();
    let mut are_resident = [0_u8; PAGES];
    let (mut rest, mut count) = (bytes, 0);
    while !rest.is_empty() {
        let (start, len) = pages(rest);
        let before = len - rest.len();
        let asked = len.min(PAGES * page);
        // SAFETY: the pages are mapped, since `rest` is borrowed and they hold
        // it; a byte is stored for each, of which there are at most `PAGES`.
        let done =
            unsafe { libc::mincore(start.cast_mut().cast(), asked, are_resident.as_mut_ptr()) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        let (_, after) = rest.split_at(asked - before);
        for (number, state) in are_resident.iter().take(asked.div_ceil(page)).enumerate() {
            // The first and the last page hold bytes of others too.
            let (from, to) = ((number * page).max(before), ((number + 1) * page).min(asked));
            count += if state & 1 == 1 { to - from } else { 0 };
        }
        rest = after;
    }
    Ok(Some(count))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn resident(_: &[u8]) -> io::Result<Option<usize>> {
    Ok(None)
}

/// Takes pages out of this process' memory, until they are touched. Elsewhere
/// they stay.
///
/// # Safety
///
/// All pages that the bytes lie in are of one map that is shared with a file.
#[cfg(unix)]
pub(crate) unsafe fn unload(bytes: &[u8]) -> io::Result<()> {
    use rustix::mm;

    #[cfg(target_os = "linux")]
    let advice = mm::Advice::LinuxDontNeed;
    #[cfg(not(target_os = "linux"))]
    let advice = mm::Advice::DontNeed;
    let (page, len) = pages(bytes);
    // SAFETY: what is read from a shared map after is the same page of the
    // file as before; nothing is lost, for what was stored stays in that page.
    unsafe { mm::madvise(page.cast_mut().cast(), len, advice) }.map_err(io::Error::from)
}

/// # Safety
///
/// None is needed where nothing is done.
#[cfg(not(unix))]
pub(crate) unsafe fn unload(_: &[u8]) -> io::Result<()> {
    Ok(())
}

/// Has the system begin to write to the disk what was stored into a map of a
/// file, from `offset` bytes in that on, and does not wait. On Linux `msync`
/// would do nothing (`MS_ASYNC` in its manual).
#[cfg(target_os = "linux")]
pub(crate) fn begin_writing(file: &File, offset: u64, map: &mmap::MmapMut) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let offset = i64::try_from(offset).map_err(invalid)?;
    let len = i64::try_from(map.len()).map_err(invalid)?;
    // SAFETY: the descriptor is open as long as `file` is borrowed, and the
    // call touches no memory of ours.
    let done = unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset, len, libc::SYNC_FILE_RANGE_WRITE)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn begin_writing(_: &File, _: u64, map: &mmap::MmapMut) -> io::Result<()> {
    map.flush_async()
}

/// Waits until what was stored into a map of a file is on the disk.
pub(crate) fn finish_writing(file: &File, map: Option<&mmap::MmapMut>) -> io::Result<()> {
    // On Linux the file is all there is to wait for, also for what was stored
    // through maps.
    if let Some(map) = map.filter(|_| cfg!(not(target_os = "linux"))) {
        map.flush()?;
    }
    file.sync_data()
}

/// Unmaps a map of memmap2's and returns what the system said, which dropping
/// would not. Elsewhere systems' answers are not had.
#[cfg(unix)]
pub(crate) fn unmap(map: impl Memmap) -> io::Result<()> {
    let (page, len) = pages(map.as_ref());
    mem::forget(map);
    // SAFETY: memmap2 maps whole pages from the one that holds the first byte
    // on, which it no longer owns; `map` was passed by value, so nothing
    // borrows from it.
    unsafe { rustix::mm::munmap(page.cast_mut().cast(), len) }.map_err(io::Error::from)
}

#[cfg(not(unix))]
pub(crate) fn unmap(map: impl Memmap) -> io::Result<()> {
    mem::drop(map);
    Ok(())
}

/// What memmap2 made.
pub(crate) trait Memmap: AsRef<[u8]> {}

impl Memmap for mmap::Mmap {}
impl Memmap for mmap::MmapMut {}

/// Where the next byte that a file stores is, from `at` on; `None` if there is
/// none. Where the system does not report holes, all bytes are stored.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn next_data(file: &File, at: u64) -> io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(at) => Ok(Some(at)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(Some(at)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn next_data(_: &File, at: u64) -> io::Result<Option<u64>> {
    Ok(Some(at))
}

/// Where the next hole of a file is, from `at` on, or its end.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn next_hole(file: &File, at: u64) -> io::Result<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(at)) {
        Ok(at) => Ok(at),
        Err(rustix::io::Errno::NXIO | rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => {
            Ok(u64::MAX)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn next_hole(_: &File, _: u64) -> io::Result<u64> {
    Ok(u64::MAX)
}
