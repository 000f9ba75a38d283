//! Finds entries by name without going through all of them.

use std::sync::OnceLock;

/// The positions of an archive's entries, sorted by name: one word an entry,
/// allocated when the first name is looked up.
#[derive(Clone, Debug, Default)]
pub(super) struct NameIndex(OnceLock<Box<[usize]>>);

impl NameIndex {
    /// The first and the last of the entries called `name`, out of `len`.
    pub(super) fn find<'a>(
        &self,
        len: usize,
        name_at: impl Fn(usize) -> &'a str,
        name: &str,
    ) -> Option<(usize, usize)> {
        let sorted = self.0.get_or_init(|| {
            let mut positions: Box<[usize]> = (0..len).collect();
            // A stable sort: equal names stay in the order of the archive.
            positions.sort_by_key(|&position| name_at(position));
            positions
        });
        let first = sorted.partition_point(|&position| name_at(position) < name);
        let end = sorted.partition_point(|&position| name_at(position) <= name);
        let equal = sorted.get(first..end)?;
        Some((*equal.first()?, *equal.last()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_of_equal_names_are_found() {
        let names = ["b", "a", "b", "", "a.npy", "b"];
        let index = NameIndex::default();
        let find = |name| index.find(names.len(), |position| names[position], name);
        assert_eq!(find("b"), Some((0, 5)));
        assert_eq!(find("a"), Some((1, 1)));
        assert_eq!(find(""), Some((3, 3)));
        assert_eq!((find("c"), find("a.np"), find("A")), (None, None, None));
        assert_eq!(NameIndex::default().find(0, |_| "", ""), None);
    }
}
