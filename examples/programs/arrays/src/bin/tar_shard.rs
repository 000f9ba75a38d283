//! Adds up the arrays in a tar file.
//!
//! ```python
//! import io, tarfile
//! with tarfile.open("shard.tar") as tar:
//!     print(sum(np.load(io.BytesIO(tar.extractfile(member).read())).sum() for member in tar))
//! ```
//!
//! ```text
//! 370.78493917980484
//! ```

use npymap::{Source, tar::TarFile};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let tar = TarFile::open(unsafe { Source::map("shard.tar")? })?;
    let mut sum = 0.0;
    for member in tar.members() {
        sum += member.open()?.view::<f64>()?.sum();
    }
    println!("{sum}");
    Ok(())
}
