//! Batches are read ahead in order and into reused memory, and report errors at
//! their position.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::is_error;
use npymap::{
    BatchOptions, ErrorKind, MappedArray, RowSource as _, Rows, Sampler, loader::Batches,
};

fn numbers(count: u32) -> Rows {
    let mut array = MappedArray::zeros(&"<u4".parse().unwrap(), &[count as usize, 2]).unwrap();
    let mut view = array.view_mut::<u32>().unwrap();
    view.copy_from_slice(&(0..2 * count).collect::<Vec<_>>()).unwrap();
    array.into_read_only().unwrap().rows().unwrap()
}

#[test]
fn batches_are_in_the_order_of_the_sampler() {
    let rows = numbers(1000);
    let sampler = Sampler::shuffled(1000, 5);
    for (threads, ahead) in [(1, 1), (1, 3), (3, 1), (4, 8)] {
        let (left, right) = (rows.clone(), rows.clone());
        let batches = BatchOptions::new().threads(threads).prefetch(ahead).start(
            sampler.batches(64),
            move |rows: &[usize], batch: &mut (Vec<u32>, Vec<u32>)| {
                left.take_vec(rows, &mut batch.0)?;
                right.take_vec(rows, &mut batch.1)
            },
        );
        let mut expected = sampler.batches(64);
        for (number, batch) in batches.unwrap().enumerate() {
            let batch = batch.unwrap();
            assert_eq!(
                (batch.index(), batch.indices()),
                (number as u64, &*expected.next().unwrap())
            );
            let own = batch.indices().iter().flat_map(|&row| [2 * row as u32, 2 * row as u32 + 1]);
            let (left, right) = batch.data();
            assert!(own.eq(left.iter().copied()) && left == right);
        }
        assert!(expected.next().is_none());
    }
}

/// A batch's memory that counts how often it was created.
#[derive(Default)]
struct Counted(Vec<u32>, Option<Arc<AtomicUsize>>);

fn counted(
    made: &Arc<AtomicUsize>,
) -> impl Fn(&[usize], &mut Counted) -> npymap::Result<()> + use<> {
    let (rows, made) = (numbers(1000), Arc::clone(made));
    move |indices, batch| {
        if batch.1.is_none() {
            made.fetch_add(1, Ordering::Relaxed);
            batch.1 = Some(Arc::clone(&made));
        }
        rows.take_vec(indices, &mut batch.0)
    }
}

#[test]
fn memory_is_reused_and_collecting_does_not_hang() {
    let made = Arc::new(AtomicUsize::new(0));
    let options = BatchOptions::new().threads(2).prefetch(3);
    let sampler = Sampler::shuffled(1000, 5);
    for batch in options.start(sampler.batches(10), counted(&made)).unwrap() {
        assert_eq!(batch.unwrap().data().0.len(), 20);
    }
    let few = made.swap(0, Ordering::Relaxed);
    assert!((1..=6).contains(&few), "{few}");
    let all: Vec<_> = options.start(sampler.batches(10), counted(&made)).unwrap().collect();
    assert_eq!((all.len(), made.load(Ordering::Relaxed)), (100, 100));
    let kept = all.into_iter().next().unwrap().unwrap().into_data();
    assert_eq!(kept.0.len(), 20);
}

#[test]
fn the_consumer_of_a_prompt_iterator_reads_beside_the_thread() {
    let consumer = thread::current().id();
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    // After the first batch, the thread finishes one when the consumer has read another.
    let read = move |indices: &[usize], (): &mut ()| -> Result<(), mpsc::RecvTimeoutError> {
        if thread::current().id() == consumer {
            sender.send(()).unwrap();
        } else if *indices != [0] {
            receiver.lock().unwrap().recv_timeout(Duration::from_secs(20))?;
        }
        Ok(())
    };
    let batches = Sampler::sequential(3).batches(1);
    let batches = BatchOptions::new().threads(1).prompt().start(batches, read).unwrap();
    assert_eq!(batches.map(Result::unwrap).count(), 3);
}

#[test]
fn no_more_is_read_ahead_than_requested_and_dropping_stops() {
    let made = Arc::new(AtomicUsize::new(0));
    let read = {
        let made = Arc::clone(&made);
        move |_: &[usize], (): &mut ()| {
            made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, npymap::Error>(())
        }
    };
    let mut batches = BatchOptions::new()
        .prefetch(4)
        .start(Sampler::sequential(usize::MAX / 2).batches(1), read)
        .unwrap();
    for _ in 0..10 {
        batches.next().unwrap().unwrap();
    }
    drop(batches);
    assert!(made.load(Ordering::Relaxed) <= 14);
}

#[test]
fn one_thread_reads_four_batches_ahead_of_a_consumer_that_reads_too() {
    let made = Arc::new(AtomicUsize::new(0));
    let sampler = Sampler::sequential(100);
    let options = BatchOptions::new().threads(1).prompt();
    let mut batches = options.start(sampler.batches(1), {
        let made = Arc::clone(&made);
        move |_: &[usize], (): &mut ()| {
            made.fetch_add(1, Ordering::Relaxed);
            Ok::<_, npymap::Error>(())
        }
    });
    batches.as_mut().unwrap().next().unwrap().unwrap();
    let start = Instant::now();
    // The fifth is read when half of the others have been taken, or the first was slow.
    while made.load(Ordering::Relaxed) < 4 {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(1));
    }
    drop(batches);
    assert!(made.load(Ordering::Relaxed) <= 5);
}

#[test]
fn an_error_names_its_rows_and_later_batches_follow() {
    let rows = numbers(20);
    let wanted = [vec![1, 2], vec![3, 20], vec![19, 0]];
    let mut batches = BatchOptions::new()
        .start(wanted, move |indices: &[usize], batch: &mut Vec<u32>| rows.take_vec(indices, batch))
        .unwrap();
    assert_eq!(*batches.next().unwrap().unwrap().data(), [2, 3, 4, 5]);
    let error = batches.next().unwrap().unwrap_err();
    assert_eq!((error.index, &*error.indices), (1, &[3, 20][..]));
    assert!(is_error(&error.error, ErrorKind::OutOfBounds, "is out of bounds for "));
    let what = "batch 1, rows [3, 20]: index 20 is out of bounds for axis 0 of shape (20, 2)";
    assert_eq!(error.to_string(), what);
    assert_eq!(*batches.next().unwrap().unwrap().data(), [38, 39, 0, 1]);
    assert!(batches.next().is_none() && batches.next().is_none());
}

#[test]
#[should_panic(expected = "a panic of the reader")]
fn a_panic_of_the_reader_is_the_consumers() {
    let batches = BatchOptions::new().threads(2).start(
        Sampler::sequential(9).batches(1),
        |indices: &[usize], (): &mut ()| {
            assert!(indices[0] < 3, "a panic of the reader");
            Ok::<_, npymap::Error>(())
        },
    );
    batches.unwrap().for_each(drop);
}

type ListedBatches = Batches<Vec<u32>, Vec<usize>>;

/// Batches of the indices that come through a channel, and the memory captured
/// by the closure, which counts its owners.
fn from_channel(threads: usize) -> (mpsc::Sender<Vec<usize>>, ListedBatches, Weak<()>) {
    let (send, receive) = mpsc::channel::<Vec<usize>>();
    let (rows, held) = (numbers(100), Arc::new(()));
    let holder = Arc::downgrade(&held);
    let batches = BatchOptions::new()
        .threads(threads)
        .prefetch(4)
        .start(receive, move |indices: &[usize], batch: &mut Vec<u32>| {
            drop(Arc::clone(&held));
            rows.take_vec(indices, batch)
        })
        .unwrap();
    (send, batches, holder)
}

#[test]
fn batches_are_delivered_while_the_iterator_of_indices_blocks() {
    for threads in [1, 3] {
        let (send, mut batches, _) = from_channel(threads);
        for row in 0..20_u32 {
            send.send(vec![row as usize]).unwrap();
            assert_eq!(*batches.next().unwrap().unwrap().data(), [2 * row, 2 * row + 1]);
        }
        drop(send);
        assert!(batches.next().is_none());
    }
}

#[test]
fn dropping_batches_does_not_wait_for_an_iterator_that_blocks() {
    for threads in [1, 3] {
        let (send, mut batches, holder) = from_channel(threads);
        send.send(vec![1]).unwrap();
        assert_eq!(*batches.next().unwrap().unwrap().data(), [2, 3]);
        drop(batches);
        assert!(holder.upgrade().is_none(), "the reader is dropped though a thread is blocked");
        drop(send);
    }
}

#[test]
#[should_panic(expected = "cannot read")]
fn a_panic_of_the_reader_arrives_while_the_iterator_blocks() {
    let (send, receive) = mpsc::channel::<Vec<usize>>();
    let mut batches = BatchOptions::new()
        .threads(2)
        .start(receive, |_: &[usize], (): &mut ()| -> npymap::Result<()> { panic!("cannot read") })
        .unwrap();
    send.send(vec![1]).unwrap();
    batches.next();
}

#[test]
fn waiting_ends_with_a_batch_or_the_time() {
    let (send, batches, _) = from_channel(2);
    let mut batches = batches;
    assert!(!batches.wait(Duration::ZERO));
    assert!(!batches.wait(Duration::from_millis(2)));
    send.send(vec![7]).unwrap();
    assert!(batches.wait(Duration::MAX) && batches.wait(Duration::ZERO));
    assert_eq!(*batches.next().unwrap().unwrap().data(), [14, 15]);
    assert!(!batches.wait(Duration::from_millis(2)));
    drop(send);
    assert!(batches.wait(Duration::MAX));
    assert!(batches.next().is_none() && batches.wait(Duration::MAX));
}

#[test]
fn waiting_for_a_thread_ends_with_the_time_although_the_consumer_reads() {
    let consumer = thread::current().id();
    let (begin, started) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let (started, released) = (Mutex::new(started), Mutex::new(released));
    // The thread ends its batch when it is released. The consumer reads after it has begun.
    let read = move |indices: &[usize], (): &mut ()| -> Result<(), mpsc::RecvTimeoutError> {
        let patience = Duration::from_secs(20);
        if thread::current().id() != consumer {
            begin.send(()).unwrap();
            return released.lock().unwrap().recv_timeout(patience);
        }
        if *indices == [1] { started.lock().unwrap().recv_timeout(patience) } else { Ok(()) }
    };
    let batches = Sampler::sequential(9).batches(1);
    let options = BatchOptions::new().threads(1).prefetch(3).prompt();
    let mut batches = options.start(batches, read).unwrap();
    let mut count = 0;
    while batches.wait(Duration::from_millis(20)) {
        batches.next().unwrap().unwrap();
        count += 1;
        assert!(count < 9);
    }
    (0..9).for_each(|_| release.send(()).unwrap());
    assert_eq!(batches.map(Result::unwrap).count(), 9 - count);
}

#[test]
fn waiting_ends_when_the_reader_panics() {
    let batches = BatchOptions::new()
        .start([vec![1]], |_: &[usize], (): &mut ()| -> npymap::Result<()> {
            panic!("cannot read")
        })
        .unwrap();
    assert!(batches.wait(Duration::MAX));
}

#[test]
fn at_most_1024_threads_are_started() {
    for (threads, expected) in [(0, 1), (3, 3), (1024, 1024), (usize::MAX, 1024)] {
        let options = format!("{:?}", BatchOptions::new().threads(threads));
        assert!(options.contains(&format!("threads: Some({expected}),")), "{options}");
    }
}
