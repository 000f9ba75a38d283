//! Copies to another memory order read and write each page once or twice, also if
//! nothing stays in memory for long.

use std::path::Path;

use npymap::array::CopyOptions;
use npymap::{CreateOptions, Order};

use crate::support::*;

/// Bytes that this thread has read from disks, and bytes of pages that it has made
/// dirty; `None` if the system does not count them.
fn disk_bytes() -> Option<[u64; 2]> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some([count("read_bytes:")?, count("write_bytes:")?])
}

/// Copies an array of a shape to a memory order, in little memory. Returns how often its
/// bytes are read and written.
fn copy(place: &Path, shape: &[usize], order: Order, memory: usize) -> Option<[f64; 2]> {
    let (path, copy) = (place.join("from.npy"), place.join("to.npy"));
    let other = if order == Order::C { Order::F } else { Order::C };
    let options = CreateOptions::new().overwrite(true).order(other);
    let mut from = create(&path, "<f8", shape, &options).unwrap();
    from.write_fill_slice([], None, &1.5_f64).unwrap();
    drop(from);
    let from = open(&path).unwrap();
    let options = CreateOptions::new().overwrite(true).order(order);
    let mut to = create(&copy, "<f8", shape, &options).unwrap();
    let target = open(&copy).unwrap();
    from.drop_cache(..).unwrap();
    let before = disk_bytes()?;
    let mut since = 0;
    to.write_array(&from, &CopyOptions::new().memory(memory), |nbytes| {
        since += nbytes;
        // As if memory held two tiles only.
        if since >= 2 * memory {
            since = 0;
            from.drop_cache(..).unwrap();
            target.drop_cache(..).unwrap();
        }
    })
    .unwrap();
    let after = disk_bytes()?;
    let (mut numbers, one) = (to.as_bytes().unwrap().chunks_exact(8), 1.5_f64.to_le_bytes());
    assert!(numbers.all(|number| number == one));
    Some([0, 1].map(|i| (after[i] - before[i]) as f64 / from.nbytes() as f64))
}

#[test]
fn each_page_is_read_and_written_once_or_twice_in_little_memory() {
    let (memory, part) = if quick() { (1 << 20, 4) } else { (4 << 20, 1) };
    let place = directory();
    for (shape, order) in [
        (&[1500 / part, 1400][..], Order::F),
        (&[1500 / part, 1400], Order::C),
        (&[30, 70, 1000 / part], Order::F),
        (&[(1 << 20) / part, 2], Order::C),
    ] {
        let mut found = Vec::new();
        let is_enough = |_| {
            let counts = copy(place.path(), shape, order, memory);
            found.extend(counts);
            // Pages at the ends of runs of the target are read, too, before they are
            // changed again. Memory file systems read and write nothing.
            counts.is_none_or(|[read, written]| read < 2.5 && written < 2.2)
        };
        // If other programs need memory, the system drops or writes pages early.
        assert!((0..10).any(is_enough), "{shape:?} {order:?}: {found:?}");
    }
}
