//! The order of names, in which numbers count by value.

use std::cmp::Ordering;
use std::path::Path;

/// Compares paths by their parts, and numbers in them by value: `part-2` is before `part-10`.
pub(crate) fn by_name(a: &Path, b: &Path) -> Ordering {
    let parts = |path: &Path| {
        let parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.collect::<Vec<_>>()
    };
    let (own, other) = (parts(a), parts(b));
    let different = own.iter().zip(&other).map(|(a, b)| by_number(a, b)).find(|o| o.is_ne());
    different.unwrap_or_else(|| own.len().cmp(&other.len())).then_with(|| a.cmp(b))
}

/// Compares texts, and numbers in them by value.
pub(crate) fn by_number(a: &str, b: &str) -> Ordering {
    let (mut own, mut other) = (a, b);
    loop {
        let (Some(first), Some(second)) = (own.chars().next(), other.chars().next()) else {
            return own.len().cmp(&other.len()).then_with(|| a.cmp(b));
        };
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (number, next) = (digits(&mut own), digits(&mut other));
            number.len().cmp(&next.len()).then_with(|| number.cmp(next))
        } else {
            (own, other) = (own.split_at(first.len_utf8()).1, other.split_at(second.len_utf8()).1);
            first.cmp(&second)
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Takes the digits that a text starts with, without zeros before them.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    number.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_in_the_order_of_their_values() {
        let sorted = [
            "a", "a/b", "a/x2", "a/x10", "a01", "a1", "a2", "a2b", "a10", "a10b", "b", "b-9",
            "b-10", "ä", "ä2",
        ];
        for (at, first) in sorted.iter().enumerate() {
            for (other, second) in sorted.iter().enumerate() {
                let found = by_name(Path::new(first), Path::new(second));
                assert_eq!(found, at.cmp(&other), "{first} {second}");
            }
        }
    }
}
