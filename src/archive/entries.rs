//! The entries of an archive, found by name without a search through all of
//! them.

use std::ops::Deref;
use std::sync::OnceLock;

use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{ArchiveError, Error, excerpt};

/// The entries of an archive, in the order of the archive.
#[derive(Clone, Debug)]
pub(super) struct EntryList<T> {
    entries: Vec<T>,
    /// The name that an entry is found by.
    name: fn(&T) -> &str,
    /// The positions of the entries, sorted by name. Allocated when the first
    /// name is looked up.
    sorted: OnceLock<Box<[usize]>>,
}

impl<T> EntryList<T> {
    pub(super) fn new(entries: Vec<T>, name: fn(&T) -> &str) -> EntryList<T> {
        EntryList { entries, name, sorted: OnceLock::new() }
    }

    /// The positions of the entries with this name, in ascending order.
    pub(super) fn positions(&self, name: &str) -> &[usize] {
        let sorted = self.sorted.get_or_init(|| {
            let names = self.entries.iter().map(self.name);
            // Equal names stay in the order of the archive.
            let mut pairs: Vec<(&str, usize)> = names.zip(0..).collect();
            pairs.sort_unstable();
            pairs.into_iter().map(|(_, position)| position).collect()
        });
        let first = sorted.partition_point(|&position| self.name_at(position) < name);
        let end = sorted.partition_point(|&position| self.name_at(position) <= name);
        sorted.get(first..end).invariant(IN_BUFFER)
    }

    fn name_at(&self, position: usize) -> &str {
        self.entries.get(position).map_or("", self.name)
    }
}

impl<T> Deref for EntryList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.entries
    }
}

/// The error for a name that no member has. Lists the first of the names that
/// there are.
pub(super) fn no_member<'a>(asked: &str, names: impl ExactSizeIterator<Item = &'a str>) -> Error {
    /// More names would make the message hard to read.
    const SHOWN: usize = 8;
    let count = names.len();
    let shown: Vec<String> = names.take(SHOWN).map(|name| format!("`{}`", excerpt(name))).collect();
    let shown = shown.join(", ");
    let members = match count {
        0 => "there are no members".to_owned(),
        1 => format!("the only member is {shown}"),
        _ if count > SHOWN => format!("the members are {shown} and {} more", count - SHOWN),
        _ => format!("the members are {shown}"),
    };
    ArchiveError::NoMember { asked: excerpt(asked), members }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_equal_names_ascend() {
        let entries = EntryList::new(vec!["b", "a", "b", "", "a.npy", "b"], |name| name);
        assert_eq!(entries.positions("b"), [0, 2, 5]);
        assert_eq!(entries.positions("a"), [1]);
        assert_eq!(entries.positions(""), [3]);
        for absent in ["c", "a.np", "A"] {
            assert!(entries.positions(absent).is_empty());
        }
        assert!(EntryList::<&str>::new(Vec::new(), |name| name).positions("").is_empty());
    }

    #[test]
    fn an_error_lists_at_most_eight_names() {
        let names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        for (count, expected) in [
            (0, "no member `x`: there are no members"),
            (1, "no member `x`: the only member is `0`"),
            (2, "no member `x`: the members are `0`, `1`"),
            (
                10,
                "no member `x`: the members are `0`, `1`, `2`, `3`, `4`, `5`, `6`, `7` and 2 more",
            ),
        ] {
            assert_eq!(no_member("x", names.into_iter().take(count)).to_string(), expected);
        }
    }
}
