//! Batches know their epoch, their number and the state to resume from, for every
//! combination of order, shard, size and position.

use std::fmt::Error as NotRead;

use npymap::{
    BatchOptions, ErrorKind, Sampler,
    loader::{IndexBatch, Shard, Tail},
};

const EPOCHS: u64 = 2;

fn samplers(len: usize) -> [Sampler; 4] {
    [
        Sampler::sequential(len),
        Sampler::shuffled(len, 3),
        Sampler::blocks(len, 2, 3),
        Sampler::with_replacement(len, len, 3),
    ]
}

fn shards() -> impl Iterator<Item = Shard> {
    [(1, 1), (3, 1), (1, 2), (2, 2)]
        .into_iter()
        .flat_map(|(world, workers)| shards_of(world, workers))
}

fn shards_of(world: usize, workers: usize) -> impl Iterator<Item = Shard> {
    (0..world * workers).map(move |number| Shard {
        rank: number / workers,
        world_size: world,
        worker: number % workers,
        num_workers: workers,
    })
}

/// The batches of all epochs that are left.
fn batches(
    sampler: &Sampler,
    size: usize,
    drop_last: bool,
) -> impl Iterator<Item = IndexBatch> + Send + use<> {
    sampler.epochs(EPOCHS).flat_map(move |epoch| {
        let batches = epoch.batches(size);
        if drop_last { batches.drop_last() } else { batches }
    })
}

/// The same, from the rows one by one.
fn expected(sampler: &Sampler, size: usize, drop_last: bool) -> Vec<(u64, u64, Vec<usize>)> {
    let mut all = Vec::new();
    for epoch in 0..EPOCHS {
        let mut sampler = sampler.clone();
        sampler.set_epoch(epoch);
        let rows: Vec<usize> = sampler.collect();
        let chunks = rows.chunks(size).filter(|chunk| !drop_last || chunk.len() == size);
        all.extend(chunks.zip(0..).map(|(chunk, number)| (epoch, number, chunk.to_vec())));
    }
    all
}

/// Calls `check` with every small sampler, batch size, and whether the last batch
/// is dropped.
fn for_each_case(mut check: impl FnMut(Sampler, usize, bool)) {
    for len in [0, 1, 5, 8, 13] {
        for sampler in samplers(len) {
            for (shard, tail) in shards()
                .flat_map(|shard| [Tail::Keep, Tail::Drop, Tail::Pad].map(|tail| (shard, tail)))
            {
                let sampler = sampler.clone().tail(tail).shard(shard).unwrap();
                for size in [1, 2, 3, 5, 20] {
                    for drop_last in [false, true] {
                        check(sampler.clone(), size, drop_last);
                    }
                }
            }
        }
    }
}

#[test]
fn batches_have_their_rows_number_and_epoch() {
    for_each_case(|sampler, size, drop_last| {
        let found: Vec<_> = batches(&sampler, size, drop_last)
            .map(|batch| (batch.state().epoch, batch.index(), batch.to_vec()))
            .collect();
        assert_eq!(found, expected(&sampler, size, drop_last), "{sampler:?} {size} {drop_last}");
        let mut first = sampler.batches(size);
        for left in (0..=sampler.clone().count().div_ceil(size)).rev() {
            assert_eq!(first.len(), left);
            assert_eq!(first.next().is_some(), left > 0);
        }
    });
}

#[test]
fn the_remaining_batches_follow_the_state_of_each_batch() {
    for_each_case(|mut sampler, size, drop_last| {
        let all: Vec<_> = batches(&sampler, size, drop_last).collect();
        for (number, batch) in all.iter().enumerate() {
            sampler.resume(batch.state()).unwrap();
            assert!(batches(&sampler, size, drop_last).eq(all[number + 1..].iter().cloned()));
            assert_eq!(sampler.state(), batch.state());
        }
    });
}

#[test]
fn shares_together_have_each_row_of_an_epoch_once() {
    for len in [1, 5, 8, 13] {
        for sampler in &samplers(len)[..3] {
            for (world, workers, size) in [(1, 1, 3), (3, 1, 2), (1, 4, 2), (2, 3, 1)] {
                let own = shards_of(world, workers).flat_map(|shard| {
                    let batches = sampler.clone().shard(shard).unwrap().batches(size);
                    batches.flat_map(|batch| batch.to_vec())
                });
                let mut rows: Vec<usize> = own.collect();
                rows.sort_unstable();
                assert!(rows.into_iter().eq(0..len));
            }
        }
    }
}

#[test]
fn states_of_batches_read_ahead_are_those_of_the_batch_and_not_of_the_sampler() {
    let shard = Shard { rank: 1, world_size: 2, ..Shard::default() };
    let mut sampler = Sampler::shuffled(50, 7).shard(shard).unwrap();
    let all: Vec<_> = batches(&sampler, 4, true).collect();
    for (number, stopped) in all.iter().enumerate().step_by(3) {
        sampler.resume(stopped.state()).unwrap();
        let options = BatchOptions::new().threads(3).prefetch(5);
        let read = |rows: &[usize], out: &mut Vec<usize>| {
            out.clear();
            out.extend(rows);
            Ok::<_, NotRead>(())
        };
        let mut left = all[number + 1..].iter();
        for (batch, expected) in
            options.start(batches(&sampler, 4, true), read).unwrap().zip(left.by_ref())
        {
            let batch = batch.unwrap();
            assert_eq!(
                (batch.index(), batch.state().epoch),
                (expected.index(), expected.state().epoch)
            );
            assert_eq!(batch.state(), expected.state());
            assert!(batch.indices() == &**expected && *batch.data() == **expected);
        }
        assert!(left.next().is_none());
    }
}

#[test]
fn a_resumed_epoch_may_have_another_batch_size() {
    let mut sampler = Sampler::shuffled(20, 1);
    let rows: Vec<usize> = sampler.clone().collect();
    sampler.resume(sampler.batches(6).next().unwrap().state()).unwrap();
    let rest: Vec<_> = sampler.batches(4).collect();
    assert!(rest.iter().flat_map(|batch| batch.iter()).eq(&rows[6..]));
    assert!(rest.iter().map(IndexBatch::index).eq([1, 2, 3, 4]));
}

#[test]
fn epochs_end_before_the_given_one() {
    let mut sampler = Sampler::shuffled(5, 1);
    assert!(sampler.epochs(3).map(|epoch| epoch.epoch()).eq([0, 1, 2]));
    sampler.set_epoch(2);
    sampler.seek(3);
    let lens: Vec<_> = sampler.epochs(4).map(|epoch| (epoch.epoch(), epoch.len())).collect();
    assert_eq!(lens, [(2, 2), (3, 5)]);
    assert_eq!(sampler.epochs(2).count() + sampler.epochs(0).count(), 0);
    assert!(sampler.batches(0).next().is_none() && sampler.batches(0).drop_last().len() == 0);
    assert_eq!(Sampler::sequential(usize::MAX).batches(1).len(), usize::MAX);
}

#[test]
fn errors_name_the_epoch_and_keep_the_place_of_the_batch() {
    let mut sampler = Sampler::sequential(6);
    sampler.set_epoch(1);
    let read = |rows: &[usize], (): &mut ()| if rows[0] == 2 { Err("unreadable") } else { Ok(()) };
    let mut batches = BatchOptions::new().threads(2).start(sampler.batches(2), read).unwrap();
    assert_eq!(batches.next().unwrap().unwrap().index(), 0);
    let error = batches.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "epoch 1, batch 1, rows [2, 3]: unreadable");
    assert_eq!((error.epoch, error.index, error.indices), (Some(1), 1, vec![2, 3]));
    let last = batches.next().unwrap().unwrap();
    assert_eq!((last.index(), last.state().position), (2, 6));
    assert!(batches.next().is_none());
}

#[test]
fn an_iterator_of_indices_may_fail() {
    let indices = [Ok(vec![1]), "2,x".split(',').map(str::parse).collect(), Ok(vec![3])];
    let read = |rows: &[usize], out: &mut Vec<usize>| {
        out.splice(.., rows.iter().copied());
        Ok::<_, NotRead>(())
    };
    let mut batches = BatchOptions::new().start(indices, read).unwrap();
    assert_eq!(*batches.next().unwrap().unwrap().data(), [1]);
    let error = batches.next().unwrap().unwrap_err();
    assert!(error.error.get_ref().unwrap().is::<std::num::ParseIntError>());
    assert_eq!(error.to_string(), "batch 1: invalid digit found in string");
    assert_eq!((error.epoch, error.error.kind()), (None, ErrorKind::Other));
    assert_eq!(*batches.next().unwrap().unwrap().data(), [3]);
    assert!(batches.next().is_none());
    let sampled = Sampler::sequential(3).batches(2).map(Ok::<_, NotRead>);
    let batches = BatchOptions::new().start(sampled, read).unwrap();
    assert!(batches.map(|batch| batch.unwrap().state().position).eq([2, 3]));
}

#[cfg(feature = "serde")]
#[test]
fn states_are_serialized() {
    let mut sampler = Sampler::shuffled(usize::MAX, u64::MAX);
    sampler.set_epoch(u64::MAX);
    sampler.seek(u64::MAX);
    let state = sampler.state();
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<npymap::loader::SamplerState>(&json).unwrap(), state);
    let names = ["fingerprint", "seed", "epoch", "position"];
    assert!(names.iter().all(|name| json.contains(name)), "{json}");
    assert!(serde_json::from_str::<npymap::loader::SamplerState>("[1, 2, 3]").is_err());
}
