//! Appends rows in one thread while another one waits for them.
//!
//! NumPy cannot append: the file is written again for each row.
//!
//! ```python
//! import os, threading
//! np.save("log.npy", np.zeros((0, 3)))
//! def write():
//!     for row in range(20):
//!         np.save("new.npy", np.append(np.load("log.npy"), [[row, 0.5, 1.5]], axis=0))
//!         os.replace("new.npy", "log.npy")
//! threading.Thread(target=write).start()
//! while len(log := np.load("log.npy")) < 20:
//!     pass
//! print(log.sum())
//! ```
//!
//! ```text
//! 230
//! ```

use npymap::{Appender, ArrayFile, CreateOptions, DType};

fn main() -> npymap::Result<()> {
    let mut log = Appender::create("log.npy", &DType::of::<f64>(), &[3], &CreateOptions::new())?;
    let writer = std::thread::spawn(move || {
        for row in 0..20 {
            log.append_slice(&[f64::from(row), 0.5, 1.5])?;
            log.flush()?;
        }
        log.close()
    });
    let mut file = ArrayFile::open("log.npy")?;
    while file.shape()[0] < 20 {
        file.reload()?;
    }
    println!("{}", file.read()?.view::<f64>()?.sum());
    writer.join().unwrap()
}
