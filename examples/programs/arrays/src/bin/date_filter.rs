//! Counts the events of one day.
//!
//! ```python
//! time = np.load("events.npy", mmap_mode="r")["time"]
//! day = (time >= np.datetime64("2020-03-01")) & (time < np.datetime64("2020-03-02"))
//! print(day.sum())
//! ```
//!
//! ```text
//! 24
//! ```

use std::cmp::Ordering;

use npymap::{MappedArray, element::DateTime64};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let events = unsafe { MappedArray::open("events.npy")? };
    let (start, end): (DateTime64, DateTime64) = ("2020-03-01".parse()?, "2020-03-02".parse()?);
    let time = events.dyn_view()?.field("time")?.view::<DateTime64>()?;
    let day = time.iter().filter(|time| {
        time.compare(start).is_some_and(Ordering::is_ge)
            && time.compare(end).is_some_and(Ordering::is_lt)
    });
    println!("{}", day.count());
    Ok(())
}
