//! Four threads count in one file, each under a lock.
//!
//! ```python
//! import fcntl, threading
//! np.save("counter.npy", np.zeros(1, "i8"))
//! def count():
//!     for _ in range(50):
//!         with open("counter.npy") as file:
//!             fcntl.flock(file, fcntl.LOCK_EX)
//!             np.load("counter.npy", mmap_mode="r+")[0] += 1
//! threads = [threading.Thread(target=count) for _ in range(4)]
//! for thread in threads:
//!     thread.start()
//! for thread in threads:
//!     thread.join()
//! print(np.load("counter.npy")[0])
//! ```
//!
//! ```text
//! [200]
//! ```

use npymap::ndarray::{Array1, array};
use npymap::source::{FileLock, LockKind, Locking};
use npymap::{MappedArray, OpenOptions, WriteOptions};

fn count() -> npymap::Result<()> {
    for _ in 0..50 {
        let _lock = FileLock::acquire("counter.npy", LockKind::Exclusive, Locking::Wait)?;
        // SAFETY: everyone who uses the file holds its lock.
        let mut counter = unsafe { MappedArray::open_mut("counter.npy")? };
        counter.as_slice_mut::<i64>()?[0] += 1;
    }
    Ok(())
}

fn main() -> npymap::Result<()> {
    WriteOptions::new().write("counter.npy", &array![0_i64])?;
    let threads = [(); 4].map(|()| std::thread::spawn(count));
    threads.into_iter().try_for_each(|thread| thread.join().unwrap())?;
    println!("{}", OpenOptions::new().read_ndarray::<i64, _>("counter.npy")? as Array1<i64>);
    Ok(())
}
