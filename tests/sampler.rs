//! Orders of rows are the same everywhere, contain each row once, and can be
//! resumed.

use npymap::{
    ErrorKind, Sampler,
    loader::{SamplerState, Shard, Tail},
};

fn kinds(len: usize, seed: u64) -> Vec<Sampler> {
    vec![
        Sampler::sequential(len),
        Sampler::shuffled(len, seed),
        Sampler::blocks(len, 7, seed),
        Sampler::blocks(len, 7, seed).buffer(3).unwrap(),
        Sampler::with_replacement(len, len, seed),
        Sampler::weighted(vec![1.0; len], len, seed).unwrap(),
    ]
}

#[test]
fn orders_are_pinned() {
    let mut later = Sampler::shuffled(100, 1);
    later.set_epoch(1);
    let found = [
        first_rows(Sampler::shuffled(100, 1)),
        first_rows(later),
        first_rows(Sampler::shuffled(100, 2)),
        first_rows(Sampler::shuffled(1_000_000, 1)),
        first_rows(Sampler::blocks(100, 8, 1)),
        first_rows(Sampler::blocks(100, 8, 1).buffer(4).unwrap()),
        first_rows(Sampler::with_replacement(100, 8, 1)),
        first_rows(Sampler::weighted([0.5, 0.0, 3.5, 4.0], 8, 1).unwrap()),
        first_rows(Sampler::sequential(100)),
    ];
    assert_eq!(found, PINNED);
}

fn first_rows(sampler: Sampler) -> Vec<usize> {
    sampler.take(8).collect::<Vec<_>>()
}

/// The first four and the sixth were also computed in Python from the documentation of
/// `Sampler`.
const PINNED: [[usize; 8]; 9] = [
    [76, 82, 89, 85, 48, 8, 63, 12],
    [16, 28, 31, 67, 85, 37, 83, 0],
    [58, 88, 59, 40, 65, 34, 97, 6],
    [5585, 779_224, 76_747, 703_697, 175_484, 377_872, 963_651, 853_204],
    [93, 92, 89, 95, 90, 94, 91, 88],
    [96, 95, 57, 56, 77, 61, 76, 74],
    [76, 99, 7, 52, 76, 41, 90, 86],
    [3, 3, 2, 3, 3, 2, 3, 3],
    [0, 1, 2, 3, 4, 5, 6, 7],
];

#[test]
fn an_epoch_has_each_row_once() {
    for len in [1, 2, 6, 7, 8, 50, 1000] {
        for sampler in &mut kinds(len, 3)[..4] {
            for epoch in 0..2 {
                sampler.set_epoch(epoch);
                let mut rows: Vec<usize> = sampler.by_ref().collect();
                rows.sort_unstable();
                assert!(rows.into_iter().eq(0..len), "{len}");
            }
        }
    }
    for mut sampler in
        [Sampler::shuffled(0, 1), Sampler::blocks(0, 3, 1), Sampler::with_replacement(0, 9, 1)]
    {
        assert!(sampler.next().is_none());
    }
}

#[test]
fn epochs_and_seeds_have_different_orders() {
    for sampler in &kinds(1000, 3)[1..] {
        let mut later = sampler.clone();
        later.set_epoch(1);
        assert_eq!((later.epoch(), later.len()), (1, 1000));
        assert_ne!(later.clone().collect::<Vec<_>>(), sampler.clone().collect::<Vec<_>>());
        later.set_epoch(0);
        assert!(later.eq(sampler.clone()));
    }
    assert!(!Sampler::shuffled(1000, 3).eq(Sampler::shuffled(1000, 4)));
}

fn shards(sampler: &Sampler, world: usize, workers: usize, tail: Tail) -> Vec<Vec<usize>> {
    let all = (0..world).flat_map(|rank| (0..workers).map(move |worker| (rank, worker)));
    all.map(|(rank, worker)| {
        let shard = Shard { rank, world_size: world, worker, num_workers: workers };
        let own = sampler.clone().tail(tail).shard(shard).unwrap();
        assert_eq!(own.len(), own.clone().count());
        own.collect()
    })
    .collect()
}

#[test]
fn shards_of_all_ranks_together_are_one_epoch() {
    for len in [0, 1, 5, 6, 100, 997] {
        for sampler in kinds(len.max(1), 9) {
            let mut expected: Vec<usize> = sampler.clone().collect();
            expected.sort_unstable();
            for (world, workers) in [(1, 1), (3, 1), (1, 4), (4, 3), (7, 2)] {
                let mut all = shards(&sampler, world, workers, Tail::Keep).concat();
                all.sort_unstable();
                assert_eq!(all, expected, "{sampler:?} {world} {workers}");
            }
        }
    }
}

#[test]
fn dropping_and_padding_give_all_ranks_the_same_length() {
    for sampler in kinds(101, 9) {
        for (tail, each) in [(Tail::Drop, 25), (Tail::Pad, 26)] {
            let ranks = shards(&sampler, 4, 1, tail);
            assert!(ranks.iter().all(|rank| rank.len() == each));
            let workers = shards(&sampler, 4, 3, tail);
            for (rank, workers) in ranks.iter().zip(workers.chunks(3)) {
                let (mut own, mut dealt) = (rank.clone(), workers.concat());
                own.sort_unstable();
                dealt.sort_unstable();
                assert_eq!(own, dealt, "workers share what their rank has");
            }
        }
    }
    let mut padded = shards(&Sampler::shuffled(3, 1), 5, 1, Tail::Pad).concat();
    padded.sort_unstable();
    padded.dedup();
    assert_eq!(padded, [0, 1, 2]);
}

#[test]
fn a_resumed_sampler_gives_the_same_order() {
    let shard = Shard { rank: 1, world_size: 2, worker: 0, num_workers: 3 };
    for sampler in kinds(500, 11) {
        let mut sampler = sampler.shard(shard).unwrap();
        sampler.set_epoch(3);
        for taken in [0, 1, 40, 83] {
            sampler.seek(0);
            sampler.by_ref().take(taken).for_each(drop);
            let words: [u64; 4] = sampler.state().into();
            let mut again = kinds(500, 11);
            let again = again.iter_mut().find_map(|fresh| {
                let mut fresh = fresh.clone().shard(shard).unwrap();
                fresh.resume(SamplerState::from(words)).ok().map(|()| fresh)
            });
            assert!(again.unwrap().eq(sampler.clone()));
        }
    }
    let state = Sampler::shuffled(10, 1).state();
    let error = Sampler::shuffled(11, 1).resume(state).unwrap_err().to_string();
    assert!(error.contains("a sampler with the same rows, order and shard"), "{error}");
    assert!(Sampler::blocks(10, 3, 1).resume(state).is_err());
    assert!(Sampler::shuffled(10, 1).resume(SamplerState { position: 11, ..state }).is_err());
}

#[test]
fn blocks_are_not_split() {
    let rows: Vec<usize> = Sampler::blocks(103, 10, 2).collect();
    let mut blocks: Vec<usize> = rows.iter().map(|row| row / 10).collect();
    blocks.dedup();
    assert_eq!(blocks.len(), 11);
    assert!(rows.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() < 30);
}

#[test]
fn a_buffer_mixes_the_rows_of_its_blocks_and_of_no_others() {
    for (len, block, buffer) in [(1003, 10, 4), (1000, 10, 1), (64, 16, 99), (37, 1, 5)] {
        let sampler = Sampler::blocks(len, block, 2).buffer(buffer).unwrap();
        let rows: Vec<usize> = sampler.clone().collect();
        let mut farthest = 0;
        for number in 0..len.div_ceil(block) {
            let own = (0..len).filter(|&position| rows[position] / block == number);
            let (first, last) = (own.clone().min().unwrap(), own.max().unwrap());
            farthest = farthest.max(last - first);
        }
        assert!(farthest < block * buffer, "{farthest} {block} {buffer}");
        assert!(farthest > (block * buffer).min(len) * 2 / 3 || block == 1, "{farthest}");
    }
    let state = Sampler::blocks(100, 10, 1).buffer(3).unwrap().state();
    assert!(Sampler::blocks(100, 10, 1).buffer(4).unwrap().resume(state).is_err());
    assert!(Sampler::blocks(100, 10, 1).resume(state).is_err());
    let error = Sampler::shuffled(9, 1).buffer(4).unwrap_err();
    let expected = "a buffer of blocks for an order without blocks: expected a sampler made by \
                    `Sampler::blocks`";
    assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::InvalidInput, expected));
}

/// The variance of the means of batches of 256 sorted values, in units of that of
/// shuffled ones, over several epochs.
fn variance_of_means(buffer: usize) -> f64 {
    const LEN: usize = 1 << 18;
    let mut sampler = Sampler::blocks(LEN, 512, 7).buffer(buffer).unwrap();
    let (mut sum, mut count) = (0.0, 0.0);
    for epoch in 0..2 {
        sampler.set_epoch(epoch);
        for rows in sampler.batches(256) {
            let values = rows.iter().map(|&row| row as f64 / LEN as f64 - 0.5);
            sum += (values.sum::<f64>() / rows.len() as f64).powi(2);
            count += 1.0;
        }
    }
    sum / count * 12.0 * 256.0
}

#[test]
fn batches_of_sorted_rows_vary_as_documented() {
    let found = [1, 16, 256].map(variance_of_means);
    println!("{found:?}");
    assert!((240.0..270.0).contains(&found[0]), "{found:?}");
    assert!((12.0..22.0).contains(&found[1]), "{found:?}");
    assert!((1.1..2.0).contains(&found[2]), "{found:?}");
}

#[test]
fn draws_with_replacement_are_even_and_weighted_ones_follow_their_weights() {
    let mut counts = [0_i32; 50];
    for row in Sampler::with_replacement(50, 100_000, 4) {
        counts[row] += 1;
    }
    assert!(counts.iter().all(|count| (count - 2000).abs() < 250), "{counts:?}");

    let mut counts = [0_i32; 4];
    let weights = [0.0, 1.0, 0.0, 3.0];
    for row in Sampler::weighted(weights, 100_000, 4).unwrap() {
        counts[row] += 1;
    }
    assert_eq!((counts[0], counts[2]), (0, 0));
    assert!((counts[1] - 25_000).abs() < 700, "{counts:?}");
}

#[test]
fn invalid_weights_and_shards_are_errors() {
    assert_eq!(
        weights_error(&[1.0, -0.5]),
        "weight -0.5 of row 1: expected a finite weight of at least 0"
    );
    assert!(weights_error(&[f64::NAN]).contains("NaN of row 0"));
    let nothing = "weights whose sum is 0: expected at least one weight above 0";
    assert_eq!([weights_error(&[0.0, 0.0]), weights_error(&[])], [nothing; 2]);
    assert_eq!(
        weights_error(&[f64::MAX, f64::MAX]),
        "weights whose sum is inf: expected a finite sum: scale them down"
    );
    let shard = Shard { rank: 2, world_size: 2, ..Shard::default() };
    let error = Sampler::sequential(3).shard(shard).unwrap_err().to_string();
    assert_eq!(error, "rank 2 of 2: expected a rank below the count");
    assert!(Sampler::sequential(3).shard(Shard { num_workers: 0, ..Shard::default() }).is_err());
}

fn weights_error(weights: &[f64]) -> String {
    Sampler::weighted(weights, 1, 1).unwrap_err().to_string()
}

#[test]
fn ascending_weights_are_weights_and_not_their_sums() {
    let mut counts = [0_i32; 3];
    for row in Sampler::weighted([0.1, 0.2, 0.7], 100_000, 4).unwrap() {
        counts[row] += 1;
    }
    for (count, expected) in counts.into_iter().zip([10_000, 20_000, 70_000]) {
        assert!((count - expected).abs() < 700, "{counts:?}");
    }
}

#[test]
fn samplers_of_the_most_rows_and_shares_stay_in_bounds() {
    const MAX: usize = usize::MAX;
    let lens = [1, 2, 3, MAX / 2, MAX / 2 + 1, MAX - 1, MAX];
    let counts = [1, 2, MAX / 2, MAX / 2 + 1, MAX / 2 + 2, MAX - 1, MAX];
    for len in lens {
        let samplers = [
            Sampler::sequential(len),
            Sampler::shuffled(len, 1),
            Sampler::blocks(len, 3, 1),
            Sampler::blocks(len, 3, 1).buffer(MAX).unwrap(),
            Sampler::blocks(len, MAX / 2 + 2, 1).buffer(2).unwrap(),
            Sampler::blocks(len, MAX, 1),
            Sampler::with_replacement(len, MAX, 1),
            Sampler::weighted([1.0, 2.0], len, 1).unwrap(),
        ];
        for sampler in samplers {
            for (world, workers) in counts.iter().flat_map(|&w| counts.map(|n| (w, n))) {
                for tail in [Tail::Keep, Tail::Drop, Tail::Pad] {
                    ends_stay_inside(&sampler.clone().tail(tail), world, workers);
                }
            }
        }
    }
}

#[test]
fn batches_equal_the_rows_one_by_one() {
    for sampler in kinds(1000, 3) {
        for (world, workers, tail) in [(1, 1, Tail::Keep), (3, 2, Tail::Keep), (7, 3, Tail::Pad)] {
            let shard = Shard {
                rank: world - 1,
                world_size: world,
                worker: workers - 1,
                num_workers: workers,
            };
            let mut sampler = sampler.clone().tail(tail).shard(shard).unwrap();
            let all: Vec<usize> = sampler.clone().collect();
            for size in [1, 31, 32, 33, 256, 5000, usize::MAX] {
                let batches: Vec<_> = sampler.batches(size).collect();
                assert!(batches.iter().rev().skip(1).all(|batch| batch.len() == size));
                let rows = batches.iter().flat_map(|batch| batch.iter());
                assert!(rows.eq(&all), "{size}");
            }
            assert!(sampler.batches(0).next().is_none());
            let first = sampler.next_batch(5);
            assert_eq!((&first[..], sampler.state().position), (&all[..5], 5));
            assert_eq!(sampler.next(), Some(all[5]));
        }
    }
}

/// Draws the first and last rows of the first and last shards.
fn ends_stay_inside(sampler: &Sampler, world: usize, workers: usize) {
    for (rank, worker) in [(0, 0), (world - 1, 0), (0, workers - 1), (world - 1, workers - 1)] {
        let mut own = sampler
            .clone()
            .shard(Shard { rank, world_size: world, worker, num_workers: workers })
            .unwrap();
        let rows = sampler.rows();
        assert!(own.next().is_none_or(|row| row < rows));
        own.seek(u64::MAX);
        assert_eq!(own.next(), None);
        let end = own.state().position;
        own.seek(end.saturating_sub(1));
        assert!(own.next().is_none_or(|row| row < rows));
        assert_eq!(own.nth(usize::MAX), None);
    }
}

#[test]
fn a_position_behind_the_end_of_a_smaller_share_becomes_its_end() {
    let shard = Shard { rank: 1, world_size: 3, ..Shard::default() };
    let mut sampler = Sampler::shuffled(10, 5);
    sampler.seek(9);
    for mut sampler in [sampler.clone().shard(shard).unwrap(), sampler.tail(Tail::Drop)] {
        sampler.seek(u64::MAX);
        let mut sampler = sampler.shard(shard).unwrap().tail(Tail::Drop);
        let state = sampler.state();
        assert_eq!(state.position, 3);
        sampler.resume(state).unwrap();
    }
}

#[test]
fn options_apply_to_a_position_in_any_order() {
    let shard = Shard { rank: 1, world_size: 2, ..Shard::default() };
    let mut sampler = Sampler::sequential(5);
    sampler.seek(3);
    let padded = [
        sampler.clone().shard(shard).unwrap().tail(Tail::Pad),
        sampler.tail(Tail::Pad).shard(shard).unwrap(),
    ];
    for mut sampler in padded {
        assert_eq!((sampler.state().position, sampler.next()), (3, None));
    }
}
