//! Merges sorted runs. Equal records keep the order of their runs.

use std::cmp::Ordering;

use npymap::Result;

use crate::input::lengths::{part, to_usize};
use crate::input::memory;
use crate::sort::batch::{self, PREFIX};
use crate::sort::blocks::{Blocks, split_count};
use crate::sort::keys::Keys;
use crate::sort::runs::{Run, RunFile, Runs};

/// Merges runs into blocks, with `buffer` bytes of memory per run.
pub(super) fn merge(
    keys: &Keys<'_>,
    Runs { file, size, ranges }: Runs<'_>,
    buffer: usize,
    blocks: &mut Blocks<'_>,
) -> Result<()> {
    let room = (buffer / (size + keys.len)).max(1) * size;
    let is_counted = blocks.is_counted;
    let cursors = ranges.iter().map(|run| {
        let len = to_usize(run.end - run.start);
        let buffers = (memory::with_capacity(room.min(len))?, Vec::new());
        Ok(Cursor {
            keys,
            file,
            size,
            is_counted,
            left: run.clone(),
            room,
            buffers,
            at: 0,
            count: 0,
        })
    });
    let mut tree = Tree::new(cursors.collect::<Result<_>>()?)?;
    while let Some(cursor) = tree.first() {
        if is_counted {
            let (record, count) = split_count(cursor.record());
            blocks.push_counted(cursor.key(), record, count)?;
        } else {
            blocks.push(cursor.record())?;
        }
        tree.advance()?;
    }
    Ok(())
}

/// A position in a run.
struct Cursor<'a> {
    keys: &'a Keys<'a>,
    file: &'a RunFile,
    size: usize,
    is_counted: bool,
    /// What is not in memory.
    left: Run,
    /// The length of a block to read, in bytes.
    room: usize,
    /// The records in memory, and their keys.
    buffers: (Vec<u8>, Vec<u8>),
    /// The number of the current one, and of all.
    at: usize,
    count: usize,
}

impl Cursor<'_> {
    #[inline]
    fn record(&self) -> &[u8] {
        part(&self.buffers.0, self.at * self.size..(self.at + 1) * self.size)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        let len = self.keys.len;
        // None after the last record.
        self.buffers.1.get(self.at * len..(self.at + 1) * len).unwrap_or_default()
    }

    #[inline]
    fn rest(&self) -> &[u8] {
        self.key().get(PREFIX..).unwrap_or_default()
    }

    #[inline]
    fn head(&self) -> Head {
        Head { is_done: self.at == self.count, prefix: batch::prefix(self.key()) }
    }

    /// Goes to the next record.
    #[inline]
    fn advance(&mut self) -> Result<()> {
        self.at += 1;
        if self.at < self.count { Ok(()) } else { self.load() }
    }

    /// Reads the next block, if there is one.
    fn load(&mut self) -> Result<()> {
        let (records, keys) = &mut self.buffers;
        self.file.read_next(&mut self.left, self.room, records)?;
        self.keys.encode(records, self.is_counted, keys)?;
        (self.at, self.count) = (0, records.len() / self.size);
        Ok(())
    }
}

/// What is compared of a run first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    is_done: bool,
    prefix: u64,
}

/// A tournament of runs. Each inner node remembers the loser, so finding the next record
/// takes as many comparisons as the tree is high.
struct Tree<'a> {
    cursors: Vec<Cursor<'a>>,
    heads: Vec<Head>,
    /// The first is the winner, and the others are the losers at each node.
    nodes: Vec<usize>,
}

/// No run has played at a node yet.
const NONE: usize = usize::MAX;

impl<'a> Tree<'a> {
    fn new(mut cursors: Vec<Cursor<'a>>) -> Result<Tree<'a>> {
        cursors.iter_mut().try_for_each(Cursor::load)?;
        let heads = cursors.iter().map(Cursor::head).collect();
        let nodes = vec![NONE; cursors.len()];
        let mut tree = Tree { cursors, heads, nodes };
        (0..tree.cursors.len()).for_each(|run| tree.play(run));
        Ok(tree)
    }

    /// The run with the first record, or `None` if all records were used.
    #[inline]
    fn first(&self) -> Option<&Cursor<'a>> {
        let winner = *self.nodes.first()?;
        self.cursors.get(winner).filter(|cursor| cursor.at < cursor.count)
    }

    /// Goes to the next record.
    #[inline]
    fn advance(&mut self) -> Result<()> {
        let Some(&winner) = self.nodes.first() else { return Ok(()) };
        if let (Some(cursor), Some(head)) =
            (self.cursors.get_mut(winner), self.heads.get_mut(winner))
        {
            cursor.advance()?;
            *head = cursor.head();
            self.play(winner);
        }
        Ok(())
    }

    /// Plays from a leaf to the root, or to the first node without a loser.
    #[inline]
    fn play(&mut self, run: usize) {
        let mut winner = run;
        let mut at = usize::midpoint(run, self.cursors.len());
        while at > 0 {
            let is_before = |a, b| self.is_before(a, b);
            match self.nodes.get(at).copied() {
                Some(NONE) | None => break,
                Some(other) if is_before(other, winner) => {
                    if let Some(node) = self.nodes.get_mut(at) {
                        *node = winner;
                    }
                    winner = other;
                }
                Some(_) => {}
            }
            at /= 2;
        }
        if let Some(node) = self.nodes.get_mut(at) {
            *node = winner;
        }
    }

    /// Returns whether the record of run `a` comes before that of run `b`.
    #[inline]
    fn is_before(&self, a: usize, b: usize) -> bool {
        let order = self.heads.get(a).cmp(&self.heads.get(b));
        let order = order.then_with(|| {
            let rest = |run: usize| self.cursors.get(run).map(Cursor::rest);
            if self.cursors.first().is_some_and(|cursor| cursor.keys.len > PREFIX) {
                rest(a).cmp(&rest(b))
            } else {
                Ordering::Equal
            }
        });
        order.then(a.cmp(&b)).is_lt()
    }
}
