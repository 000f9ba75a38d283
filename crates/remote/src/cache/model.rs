//! Tests the marks with loom: processes and threads read and write the same blocks in every
//! order of up to two preemptions. Each block and each mark is an atomic.

mod key {
    pub(super) use crate::cache::key::HEADER;
}

/// Files in memory.
#[allow(clippy::unnecessary_wraps, reason = "as those of files")]
mod shared {
    use std::io;

    use loom::sync::Arc;
    pub(super) use loom::sync::atomic::AtomicBool;
    use loom::sync::atomic::{AtomicU8, Ordering};

    use super::marks::BLOCK;
    use super::{HEADER, RIGHT, SYNCED};

    /// A file of blocks, each represented by its first byte.
    #[derive(Clone)]
    pub(super) struct File {
        cells: Arc<Vec<AtomicU8>>,
        /// What is on the disk, for the data.
        disk: Arc<Vec<AtomicU8>>,
        is_marks: bool,
        /// Whether the disk fails for this process.
        fails: bool,
    }

    impl File {
        /// The data and the marks of some blocks.
        pub(super) fn pair(marks: &[u8]) -> [File; 2] {
            let new =
                |bytes: &[u8]| Arc::new(bytes.iter().map(|byte| AtomicU8::new(*byte)).collect());
            let disk = new(&vec![0; marks.len()]);
            let data = new(&vec![0; marks.len()]);
            [(data, false), (new(marks), true)].map(|(cells, is_marks)| File {
                cells,
                disk: Arc::clone(&disk),
                is_marks,
                fails: false,
            })
        }

        pub(super) fn failing(self) -> File {
            File { fails: true, ..self }
        }

        pub(super) fn sync_data(&self) -> io::Result<()> {
            assert!(!self.is_marks);
            if self.fails {
                return Err(io::ErrorKind::Other.into());
            }
            for (cell, disk) in self.cells.iter().zip(&*self.disk) {
                match cell.load(Ordering::Acquire) {
                    0 => {}
                    byte => disk.store(byte, Ordering::Release),
                }
            }
            Ok(())
        }

        fn place(&self, offset: u64) -> usize {
            let place = if self.is_marks { offset - HEADER } else { offset / BLOCK };
            usize::try_from(place).unwrap()
        }
    }

    pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let cells = &file.cells[file.place(offset)..];
        for (byte, cell) in buffer.iter_mut().zip(cells) {
            *byte = cell.load(Ordering::Acquire);
        }
        Ok(buffer.len())
    }

    pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        let step = if file.is_marks { 1 } else { usize::try_from(BLOCK).unwrap() };
        let start = file.place(offset);
        for (place, byte) in (start..).zip(bytes.iter().step_by(step)) {
            if file.is_marks && *byte == SYNCED {
                assert_eq!(file.disk[place].load(Ordering::Acquire), RIGHT, "not on the disk");
            }
            file.cells[place].store(*byte, Ordering::Release);
        }
        Ok(())
    }
}

#[path = "marks.rs"]
mod marks;

use std::ops::Range;

use loom::thread;

use key::HEADER;
use marks::{BLOCK, Blocks};
use shared::File;

const WRITTEN: u8 = 1;
const SYNCED: u8 = 2;

/// The bytes of all the object's blocks.
const RIGHT: u8 = 7;
static BYTES: [u8; 2 << 16] = [RIGHT; 2 << 16];

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(test);
}

/// A process that has opened an object of some blocks.
fn open([data, marks]: &[File; 2], blocks: u64, trusts_written: bool) -> Blocks {
    Blocks::new(data.clone(), marks.clone(), blocks * BLOCK, trusts_written)
}

fn write(blocks: &Blocks, numbers: &Range<u64>) {
    let len = usize::try_from((numbers.end - numbers.start) * BLOCK).unwrap();
    blocks.write(&BYTES[..len], numbers).unwrap();
}

/// As when the object is closed.
fn close(blocks: &Blocks) {
    if blocks.is_unsynced() {
        blocks.sync(false).unwrap();
    }
}

/// Blocks that are complete have the right bytes. Returns how many there are.
fn read(blocks: &Blocks, count: u64) -> u64 {
    let mut complete = 0;
    for (range, is_complete) in blocks.parts(&(0..count * BLOCK)) {
        for block in (range.start / BLOCK..range.end / BLOCK).filter(|_| is_complete) {
            let mut byte = [0];
            shared::read_at(&blocks.data, &mut byte, block * BLOCK).unwrap();
            assert_eq!(byte, [RIGHT], "block {block} is marked but not written");
            complete += 1;
        }
    }
    complete
}

fn marks(files: &[File; 2], count: usize) -> Vec<u8> {
    let mut marks = vec![0; count];
    shared::read_at(&files[1], &mut marks, HEADER).unwrap();
    marks
}

#[test]
fn marked_blocks_are_written() {
    check(|| {
        let files = File::pair(&[0; 2]);
        let writers = [0..2, 1..2].map(|numbers| {
            let blocks = open(&files, 2, true);
            thread::spawn(move || write(&blocks, &numbers))
        });
        let reader = open(&files, 2, true);
        let before = read(&reader, 2);
        assert!(before <= read(&reader, 2));
        for writer in writers {
            writer.join().unwrap();
        }
        assert_eq!(read(&reader, 2), 2);
    });
}

/// The files assert that a block is on the disk when its mark says so.
#[test]
fn blocks_that_others_write_meanwhile_are_not_marked_as_synced_too_early() {
    check(|| {
        let files = File::pair(&[0; 2]);
        let [first, second] = [0..1, 1..2].map(|numbers| {
            let blocks = open(&files, 2, true);
            thread::spawn(move || {
                write(&blocks, &numbers);
                close(&blocks);
            })
        });
        first.join().unwrap();
        second.join().unwrap();
        assert_eq!(marks(&files, 2), [SYNCED; 2]);
    });
}

#[test]
fn blocks_that_a_thread_writes_during_a_sync_are_synced_in_the_end() {
    check(|| {
        let files = File::pair(&[0]);
        let blocks = loom::sync::Arc::new(open(&files, 1, true));
        let writer = {
            let blocks = loom::sync::Arc::clone(&blocks);
            thread::spawn(move || write(&blocks, &(0..1)))
        };
        blocks.sync(false).unwrap();
        writer.join().unwrap();
        close(&blocks);
        assert_eq!(marks(&files, 1), [SYNCED]);
    });
}

#[test]
fn blocks_that_could_not_be_synced_are_forgotten() {
    check(|| {
        let files = File::pair(&[0; 2]);
        let writer = {
            let blocks = open(&files, 2, true);
            thread::spawn(move || {
                write(&blocks, &(0..1));
                close(&blocks);
            })
        };
        let [data, marked] = files.clone();
        let failing = open(&[data.failing(), marked], 2, true);
        write(&failing, &(1..2));
        let synced = failing.sync(false);
        read(&open(&files, 2, true), 2);
        writer.join().unwrap();
        // The other process may have synced it, too.
        let mark = marks(&files, 2)[1];
        assert!(mark == SYNCED || (mark == 0 && synced.is_err()), "{mark}");
    });
}

#[test]
fn without_a_run_of_the_system_blocks_are_synced_before_they_are_marked() {
    check(|| {
        let files = File::pair(&[0; 2]);
        let writer = {
            let blocks = open(&files, 2, false);
            thread::spawn(move || write(&blocks, &(0..2)))
        };
        let other = open(&files, 2, false);
        write(&other, &(1..2));
        read(&other, 2);
        writer.join().unwrap();
        assert_eq!(marks(&files, 2), [SYNCED; 2]);
    });
}

/// The marks are of a run that ended when the power failed: the bytes are lost.
#[test]
fn blocks_of_another_run_of_the_system_are_forgotten_while_others_read() {
    check(|| {
        let files = File::pair(&[WRITTEN, 0]);
        let reader = open(&files, 2, false);
        let writer = {
            let mut blocks = open(&files, 2, false);
            thread::spawn(move || {
                blocks.forget_written(|_| Ok(())).unwrap();
                write(&blocks, &(1..2));
                assert_eq!(read(&blocks, 2), 1);
                close(&blocks);
            })
        };
        read(&reader, 2);
        writer.join().unwrap();
        assert_eq!(read(&reader, 2), 1);
    });
}
