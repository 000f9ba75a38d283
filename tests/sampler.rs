//! Orders of rows: the same everywhere, each row once, resumed where they
//! stopped.

use npymap::{Sampler, SamplerState, Share, Tail};

fn kinds(len: usize, seed: u64) -> Vec<Sampler> {
    vec![
        Sampler::sequential(len),
        Sampler::shuffled(len, seed),
        Sampler::blocks(len, 7, seed),
        Sampler::with_replacement(len, len, seed),
        Sampler::weighted((1..=len).map(|sum| sum as f64).collect::<Vec<_>>(), len, seed).unwrap(),
    ]
}

#[test]
fn orders_are_pinned() {
    let first = |sampler: Sampler| sampler.take(8).collect::<Vec<_>>();
    let mut later = Sampler::shuffled(100, 1);
    later.next_epoch();
    let found = [
        first(Sampler::shuffled(100, 1)),
        first(later),
        first(Sampler::shuffled(100, 2)),
        first(Sampler::shuffled(1_000_000, 1)),
        first(Sampler::blocks(100, 8, 1)),
        first(Sampler::with_replacement(100, 8, 1)),
        first(Sampler::weighted(vec![0.5, 0.5, 4.0, 8.0], 8, 1).unwrap()),
        first(Sampler::sequential(100)),
    ];
    assert_eq!(found, PINNED);
}

/// The first four also come of the algorithm as `Sampler` documents it, written
/// down in Python.
const PINNED: [[usize; 8]; 8] = [
    [76, 82, 89, 85, 48, 8, 63, 12],
    [16, 28, 31, 67, 85, 37, 83, 0],
    [58, 88, 59, 40, 65, 34, 97, 6],
    [5585, 779_224, 76_747, 703_697, 175_484, 377_872, 963_651, 853_204],
    [93, 92, 89, 95, 90, 94, 91, 88],
    [76, 99, 7, 52, 76, 41, 90, 86],
    [3, 3, 2, 3, 3, 2, 3, 3],
    [0, 1, 2, 3, 4, 5, 6, 7],
];

#[test]
fn an_epoch_has_each_row_once() {
    for len in [1, 2, 6, 7, 8, 50, 1000] {
        for sampler in &mut kinds(len, 3)[..3] {
            for _ in 0..2 {
                let mut rows: Vec<usize> = sampler.by_ref().collect();
                rows.sort_unstable();
                assert!(rows.into_iter().eq(0..len), "{len}");
                sampler.next_epoch();
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
fn epochs_and_seeds_have_orders_of_their_own() {
    for sampler in &kinds(1000, 3)[1..] {
        let mut later = sampler.clone();
        later.next_epoch();
        assert_eq!((later.epoch(), later.len()), (1, 1000));
        assert_ne!(later.clone().collect::<Vec<_>>(), sampler.clone().collect::<Vec<_>>());
        later.set_epoch(0);
        assert!(later.eq(sampler.clone()));
    }
    assert!(!Sampler::shuffled(1000, 3).eq(Sampler::shuffled(1000, 4)));
}

fn shares(sampler: &Sampler, world: usize, workers: usize, tail: Tail) -> Vec<Vec<usize>> {
    let all = (0..world).flat_map(|rank| (0..workers).map(move |worker| (rank, worker)));
    all.map(|(rank, worker)| {
        let share = Share { rank, world, worker, workers };
        let own = sampler.clone().tail(tail).share(share).unwrap();
        assert_eq!(own.len(), own.clone().count());
        own.collect()
    })
    .collect()
}

#[test]
fn shards_of_all_ranks_together_are_the_epoch_once() {
    for len in [0, 1, 5, 6, 100, 997] {
        for sampler in kinds(len.max(1), 9) {
            let mut expected: Vec<usize> = sampler.clone().collect();
            expected.sort_unstable();
            for (world, workers) in [(1, 1), (3, 1), (1, 4), (4, 3), (7, 2)] {
                let mut all = shares(&sampler, world, workers, Tail::Keep).concat();
                all.sort_unstable();
                assert_eq!(all, expected, "{sampler:?} {world} {workers}");
            }
        }
    }
}

#[test]
fn dropping_and_padding_gives_every_rank_as_many() {
    for sampler in kinds(101, 9) {
        for (tail, each) in [(Tail::Drop, 25), (Tail::Pad, 26)] {
            let ranks = shares(&sampler, 4, 1, tail);
            assert!(ranks.iter().all(|rank| rank.len() == each));
            let workers = shares(&sampler, 4, 3, tail);
            for (rank, workers) in ranks.iter().zip(workers.chunks(3)) {
                let (mut own, mut dealt) = (rank.clone(), workers.concat());
                own.sort_unstable();
                dealt.sort_unstable();
                assert_eq!(own, dealt, "workers share what their rank has");
            }
        }
    }
    let mut padded = shares(&Sampler::shuffled(3, 1), 5, 1, Tail::Pad).concat();
    padded.sort_unstable();
    padded.dedup();
    assert_eq!(padded, [0, 1, 2]);
}

#[test]
fn a_resumed_sampler_gives_the_same_order() {
    let share = Share { rank: 1, world: 2, worker: 0, workers: 3 };
    for sampler in kinds(500, 11) {
        let mut sampler = sampler.share(share).unwrap();
        sampler.set_epoch(3);
        for taken in [0, 1, 40, 83] {
            sampler.seek(0);
            sampler.by_ref().take(taken).for_each(drop);
            let words: [u64; 4] = sampler.state().into();
            let mut again = kinds(500, 11);
            let again = again.iter_mut().find_map(|fresh| {
                let mut fresh = fresh.clone().share(share).unwrap();
                fresh.resume(SamplerState::from(words)).ok().map(|()| fresh)
            });
            assert!(again.unwrap().eq(sampler.clone()));
        }
    }
    let state = Sampler::shuffled(10, 1).state();
    let error = Sampler::shuffled(11, 1).resume(state).unwrap_err().to_string();
    assert!(error.contains("a sampler of the same rows, order and share"), "{error}");
    assert!(Sampler::blocks(10, 3, 1).resume(state).is_err());
    assert!(Sampler::shuffled(10, 1).resume(SamplerState { position: 11, ..state }).is_err());
}

#[test]
fn blocks_come_whole() {
    let rows: Vec<usize> = Sampler::blocks(103, 10, 2).collect();
    let mut blocks: Vec<usize> = rows.iter().map(|row| row / 10).collect();
    blocks.dedup();
    assert_eq!(blocks.len(), 11);
    assert!(rows.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() < 30);
}

#[test]
fn draws_with_replacement_are_even_and_weighted_ones_follow_their_weights() {
    let mut counts = [0_i32; 50];
    for row in Sampler::with_replacement(50, 100_000, 4) {
        counts[row] += 1;
    }
    assert!(counts.iter().all(|count| (count - 2000).abs() < 250), "{counts:?}");

    let mut counts = [0_i32; 4];
    let weights = vec![0.0, 1.0, 1.0, 4.0];
    for row in Sampler::weighted(weights, 100_000, 4).unwrap() {
        counts[row] += 1;
    }
    assert_eq!((counts[0], counts[2]), (0, 0));
    assert!((counts[1] - 25_000).abs() < 700, "{counts:?}");
}

#[test]
fn weights_and_shards_that_are_none_are_errors() {
    let says = |weights: &[f64]| Sampler::weighted(weights, 1, 1).unwrap_err().to_string();
    assert_eq!(
        says(&[1.0, 0.5]),
        "cumulative weight 0.5 of row 1: expected a finite one of at least 1"
    );
    assert!(says(&[f64::NAN]).contains("NaN of row 0"));
    assert_eq!(says(&[0.0]), "cumulative weights that end at 0: expected a row of some weight");
    assert!(Sampler::weighted(vec![], 1, 1).is_err());
    let share = Share { rank: 2, world: 2, ..Share::default() };
    let error = Sampler::sequential(3).share(share).unwrap_err().to_string();
    assert_eq!(error, "rank 2 of 2: expected a rank below their number");
    assert!(Sampler::sequential(3).share(Share { workers: 0, ..Share::default() }).is_err());
}
