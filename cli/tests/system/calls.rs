//! The system calls about files, and the errors that they may return.

use std::path::{Path, PathBuf};

use libc::{EACCES, EINTR, EINVAL, EIO, EMFILE, ENOLCK, ENOMEM, ENOSPC, EOPNOTSUPP, EPERM, c_long};

use crate::trace::{Action, Call};

/// The argument of a call that names its file.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Descriptor(usize),
    Path(usize),
    /// A path, or an empty one for the descriptor before it.
    PathOrDescriptor(usize),
    /// An address in a map of the file.
    Address(usize),
}

/// A system call that works on files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    number: c_long,
    subject: Subject,
    errors: &'static [i32],
    /// The argument with the number of bytes; the call may process fewer.
    count: Option<usize>,
    /// Whether it takes disk space.
    takes_space: bool,
}

const fn kind(
    name: &'static str,
    number: c_long,
    subject: Subject,
    errors: &'static [i32],
) -> Kind {
    Kind { name, number, subject, errors, count: None, takes_space: false }
}

/// A call that may do less than it is asked for.
const fn partial(kind: Kind, count: usize, takes_space: bool) -> Kind {
    Kind { count: Some(count), takes_space, ..kind }
}

const READ: &[i32] = &[EIO, EINTR];
const WRITE: &[i32] = &[EIO, ENOSPC, EINTR];
const SYNC: &[i32] = &[EIO, ENOSPC, EINTR];
const STAT: &[i32] = &[EIO, ENOMEM];
const NAME: &[i32] = &[EIO, ENOSPC, EACCES];
const MEMORY: &[i32] = &[ENOMEM, EINVAL, EIO];

use Subject::{Address, Descriptor, PathOrDescriptor};

/// All calls that are watched. Closing and removing files is not: the first
/// cannot fail in a way that matters, and after the second no file can be
/// removed.
const KINDS: &[Kind] = &[
    kind("open", libc::SYS_openat, Subject::Path(1), &[EIO, ENOSPC, EINTR, EMFILE, EACCES]),
    kind("fstat", libc::SYS_fstat, Descriptor(0), STAT),
    kind("stat", libc::SYS_newfstatat, PathOrDescriptor(1), STAT),
    kind("statx", libc::SYS_statx, PathOrDescriptor(1), STAT),
    kind("readlink", libc::SYS_readlink, Subject::Path(0), &[EIO]),
    partial(kind("read", libc::SYS_read, Descriptor(0), READ), 2, false),
    partial(kind("pread", libc::SYS_pread64, Descriptor(0), READ), 2, false),
    kind("readv", libc::SYS_readv, Descriptor(0), READ),
    partial(kind("write", libc::SYS_write, Descriptor(0), WRITE), 2, true),
    partial(kind("pwrite", libc::SYS_pwrite64, Descriptor(0), WRITE), 2, true),
    kind("pwritev2", libc::SYS_pwritev2, Descriptor(0), WRITE),
    partial(kind("writev", libc::SYS_writev, Descriptor(0), WRITE), 2, true),
    partial(kind("copy_file_range", libc::SYS_copy_file_range, Descriptor(2), WRITE), 4, true),
    kind("sendfile", libc::SYS_sendfile, Descriptor(0), WRITE),
    kind("ftruncate", libc::SYS_ftruncate, Descriptor(0), &[EIO, EINTR]),
    Kind {
        takes_space: true,
        ..kind(
            "fallocate",
            libc::SYS_fallocate,
            Descriptor(0),
            &[ENOSPC, EIO, EINTR, EINVAL, EOPNOTSUPP],
        )
    },
    kind("fsync", libc::SYS_fsync, Descriptor(0), SYNC),
    kind("fdatasync", libc::SYS_fdatasync, Descriptor(0), SYNC),
    kind("sync_file_range", libc::SYS_sync_file_range, Descriptor(0), SYNC),
    kind("flock", libc::SYS_flock, Descriptor(0), &[EINTR, EIO, ENOLCK]),
    kind("lseek", libc::SYS_lseek, Descriptor(0), &[EIO, EINVAL]),
    kind("fcntl", libc::SYS_fcntl, Descriptor(0), &[EIO, EMFILE]),
    kind("fchmod", libc::SYS_fchmod, Descriptor(0), &[EPERM, EIO]),
    kind("fchown", libc::SYS_fchown, Descriptor(0), &[EPERM, EIO]),
    kind("rename", libc::SYS_rename, Subject::Path(1), NAME),
    kind("rename", libc::SYS_renameat, Subject::Path(3), NAME),
    kind("rename", libc::SYS_renameat2, Subject::Path(3), NAME),
    kind("link", libc::SYS_linkat, Subject::Path(3), NAME),
    kind("mmap", libc::SYS_mmap, Descriptor(4), &[ENOMEM, EINVAL]),
    kind("munmap", libc::SYS_munmap, Address(0), &[ENOMEM]),
    kind("mprotect", libc::SYS_mprotect, Address(0), MEMORY),
    kind("madvise", libc::SYS_madvise, Address(0), MEMORY),
    kind("msync", libc::SYS_msync, Address(0), MEMORY),
];

impl Kind {
    /// All ways in which a call may fail, or do less.
    pub(crate) fn faults(&self) -> impl Iterator<Item = Action> + use<> {
        let errors = self.errors.iter().map(|&error| Action::Fail(error));
        errors.chain(self.count.map(Action::Shorten))
    }

    /// Returns whether the call fails on a full disk.
    pub(crate) fn takes_space(&self) -> bool {
        self.takes_space
    }

    pub(crate) fn is_sync(&self) -> bool {
        matches!(self.name, "fsync" | "fdatasync" | "msync")
    }
}

/// Recognizes calls about files in a directory.
#[derive(Debug)]
pub(crate) struct Watcher {
    directory: PathBuf,
    /// The maps of its files.
    maps: Vec<std::ops::Range<u64>>,
}

impl Watcher {
    /// `directory` must be absolute and without links.
    pub(crate) fn new(directory: &Path) -> Watcher {
        Watcher { directory: directory.to_owned(), maps: Vec::new() }
    }

    /// The kind of a call, if it is about a file in the directory.
    pub(crate) fn kind(&self, call: &Call) -> Option<&'static Kind> {
        let kind = KINDS.iter().find(|kind| kind.number == call.number)?;
        let path = match kind.subject {
            Descriptor(at) => call.file(at),
            Subject::Path(at) => call.path(at),
            PathOrDescriptor(at) => match call.path(at) {
                Some(path) if path.as_os_str().is_empty() => call.file(at - 1),
                path => path,
            },
            Address(at) => {
                let is_map = self.maps.iter().any(|map| map.contains(&call.arguments[at]));
                return is_map.then_some(kind);
            }
        };
        path?.starts_with(&self.directory).then_some(kind)
    }

    /// Remembers the maps that a call has made, and forgets those it has removed.
    pub(crate) fn after(&mut self, call: &Call, result: i64) {
        if call.number == libc::SYS_munmap && result == 0 {
            self.maps.retain(|map| map.start != call.arguments[0]);
        }
        let is_map = call.number == libc::SYS_mmap && result > 0;
        if is_map && call.file(4).is_some_and(|path| path.starts_with(&self.directory)) {
            let start = result as u64;
            self.maps.push(start..start + call.arguments[1]);
        }
    }
}
