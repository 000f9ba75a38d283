//! A forked child has its parent's maps, shared or copied as before.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use npymap::{BatchOptions, ErrorKind};

use crate::support::{directory, file, npy, open, open_copy_on_write, open_mut};

/// Runs `child` in a forked process and returns its exit status.
///
/// The child has no other threads, but they may have held locks, so it must not
/// panic, and allocate only with allocators that handle forks, as glibc's does.
fn run_in_child(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child only loads and stores what is mapped, and ends by
    // `_exit`, which is safe in the child of a process with several threads.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let status = i32::from(!child());
        // SAFETY: it ends this process and runs nothing of the parent's.
        unsafe { libc::_exit(status) }
    }
    assert!(process > 0, "{}", std::io::Error::last_os_error());
    let mut status = -1;
    // SAFETY: `status` is valid for writes; the child is this process's own.
    let waited = unsafe { libc::waitpid(process, &raw mut status, 0) };
    assert_eq!(waited, process);
    status
}

#[test]
fn a_child_shares_what_is_shared_and_copies_what_is_private() {
    let directory = directory();
    let bytes = npy("|u1", &[3], npymap::Order::C, &[1, 2, 3]);
    let path = file(&directory, "a.npy", &bytes);
    let mut shared = open_mut(&path).unwrap();
    let mut private = open_copy_on_write(&path).unwrap();
    let read_only = open(&path).unwrap();
    private.as_slice_mut::<u8>().unwrap()[0] = 70;
    {
        let shared = shared.as_slice_mut::<u8>().unwrap();
        let private = private.as_slice_mut::<u8>().unwrap();
        let status = run_in_child(|| {
            // Stores before the fork are visible; the child's own stores to the
            // private map stay private.
            let there = shared[0] == 1 && private[0] == 70;
            shared[1] = 20;
            private[2] = 99;
            there && private[2] == 99
        });
        assert_eq!(status, 0);
    }
    assert_eq!(shared.as_slice::<u8>().unwrap(), [1, 20, 3]);
    assert_eq!(read_only.as_slice::<u8>().unwrap(), [1, 20, 3]);
    assert_eq!(private.as_slice::<u8>().unwrap()[0], 70);
    assert_eq!(private.as_slice::<u8>().unwrap()[2], 3);
    shared.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap()[128..], [1, 20, 3]);
}

#[test]
fn a_child_reads_an_unlinked_file() {
    let directory = directory();
    let path = file(&directory, "a.npy", &npy("|u1", &[2], npymap::Order::C, &[5, 6]));
    let array = open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let elements = array.as_slice::<u8>().unwrap();
    assert_eq!(run_in_child(|| elements[0] == 5 && elements[1] == 6), 0);
    assert_eq!(array.as_slice::<u8>().unwrap(), [5, 6]);
}

#[test]
fn batches_of_the_parent_are_an_error_in_a_child() {
    let gate = Arc::new(Mutex::new(()));
    let (closed, read_gate) = (gate.lock().unwrap(), Arc::clone(&gate));
    let read = move |_: &[usize], (): &mut ()| {
        drop(read_gate.lock());
        Ok::<_, npymap::Error>(())
    };
    let batches = BatchOptions::new().threads(2).start([vec![1], vec![2]], read).unwrap();
    let mut batches = Some(batches);
    // The threads hold a lock now, and wait for another one.
    assert!(!batches.as_ref().unwrap().wait(Duration::from_millis(20)));
    let status = run_in_child(|| {
        let Some(mut own) = batches.take() else { return false };
        let error = own.wait(Duration::MAX).then(|| own.next()).flatten();
        let is_error =
            matches!(&error, Some(Err(error)) if error.error.kind() == ErrorKind::InvalidInput);
        let ends = own.next().is_none();
        drop(own);
        is_error && ends
    });
    assert_eq!(status, 0);
    drop(closed);
    let own = batches.take().unwrap();
    assert_eq!(own.filter_map(Result::ok).count(), 2);
}
