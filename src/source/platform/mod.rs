//! Code that depends on the operating system, one file per subject. Where a
//! system lacks a feature, its function returns an error or does nothing, as
//! documented there.

mod available;
mod cache;
mod clock;
mod file;
mod lock;
mod memory;
mod name;
mod process;
mod space;

pub use file::FileId;
pub use lock::LockKind;
pub use memory::Advice;

pub(crate) use available::available_memory;
pub(crate) use cache::{
    HAS_READ_AHEAD, HUGE_PAGE, cached_samples, evict, read_ahead, read_huge_pages, read_in,
};
pub(crate) use clock::Clock;
pub(crate) use file::{
    FileStat, append, file_id, irregular_kind, is_append_only, read_at, set_nonblocking, stat,
    write_at,
};
pub(crate) use lock::{has_no_locks, lock, needs_write_access, unlock};
pub(crate) use memory::{
    Memmap, advise, disk_waits, fault_huge_pages, page_out, populate, resident, start_writeback,
    sync, unload, unmap,
};
pub(crate) use name::{
    CAN_RENAME_MAPPED_FILES, CAN_REPLACE_OPEN_FILES, canonical, keep_access, link, named_file,
    rename, standard_stream, sync_directory, unnamed_file,
};
pub(crate) use process::process_id;
pub(crate) use space::{
    FileSize, allocate, allocated, disk_full, free_space, is_sparse, next_data, next_hole,
};

/// Memory maps. On systems without them, anonymous memory comes from the heap
/// and mapping a file returns an error.
#[cfg(not(any(unix, windows)))]
pub(crate) use crate::source::heap as mmap;
#[cfg(any(unix, windows))]
pub(crate) use memmap2 as mmap;
