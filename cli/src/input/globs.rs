//! Patterns that names are compared with: `layers.*`.

use std::collections::BTreeSet;
use std::mem::take;
use std::ops::RangeInclusive;
use std::str::{Chars, FromStr};

/// The most braces inside each other.
const MAX_DEPTH: usize = 64;

/// A pattern with `*`, `?`, `[a-z]`, `[!a-z]` and `{a,b}`, and a backslash, after which a
/// character has no special meaning. `*` also matches slashes and dots.
#[derive(Clone, Debug)]
pub(crate) struct NamePattern(Vec<Part>);

/// What a part of a pattern matches.
#[derive(Clone, Debug)]
enum Part {
    /// One of the characters of these ranges, or if that is false, one of the others.
    One(Vec<RangeInclusive<char>>, bool),
    Any,
    /// Any directories, or none.
    Directories,
    Either(Vec<Vec<Part>>),
}

impl FromStr for NamePattern {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<NamePattern, &'static str> {
        parse(text).map(NamePattern)
    }
}

impl NamePattern {
    /// Returns whether a text has characters with a special meaning in patterns.
    pub(crate) fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }

    /// Returns whether a whole name matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        // On Windows, names of files have backslashes between directories.
        let to_slash = |c| if cfg!(windows) && c == '\\' { '/' } else { c };
        let name: Vec<char> = name.chars().map(to_slash).collect();
        let ends = advance(&self.0, &name, vec![0]);
        ends.last() == Some(&name.len())
    }
}

/// Returns the places in a name where the parts may end, if what is before them may end at
/// these. Both ascend: most parts of most patterns have only one place.
fn advance(parts: &[Part], name: &[char], mut ends: Vec<usize>) -> Vec<usize> {
    for part in parts {
        let Some(&first) = ends.first() else { break };
        let after = |matches: &dyn Fn(&char) -> bool| -> Vec<usize> {
            let matching = ends.iter().filter(|end| name.get(**end).is_some_and(matches));
            matching.map(|end| end + 1).collect()
        };
        ends = match part {
            Part::One(ranges, is_in) => {
                after(&|c| ranges.iter().any(|range| range.contains(c)) == *is_in)
            }
            Part::Any => (first..=name.len()).collect(),
            Part::Directories => {
                let slashes = name.iter().enumerate().skip(first).filter(|(_, c)| **c == '/');
                united(ends.iter().copied().chain(slashes.map(|(slash, _)| slash + 1)))
            }
            Part::Either(alternatives) => {
                united(alternatives.iter().flat_map(|parts| advance(parts, name, ends.clone())))
            }
        };
    }
    ends
}

fn united(places: impl Iterator<Item = usize>) -> Vec<usize> {
    places.collect::<BTreeSet<_>>().into_iter().collect()
}

fn parse(pattern: &str) -> Result<Vec<Part>, &'static str> {
    let mut parts = Vec::new();
    // What is before each open brace, and the alternatives since.
    let mut open: Vec<(Vec<Part>, Vec<Vec<Part>>)> = Vec::new();
    let mut rest = pattern.chars();
    let mut is_start = true;
    while let Some(c) = rest.next() {
        let starts_name = std::mem::replace(&mut is_start, c == '/');
        let is_star = c == '*' && starts_name;
        if let (Some(after), true) = (rest.as_str().strip_prefix("*/"), is_star) {
            parts.push(Part::Directories);
            rest = after.chars();
            is_start = true;
            continue;
        }
        match (c, open.last_mut()) {
            ('*', _) => parts.push(Part::Any),
            ('?', _) => parts.push(Part::One(Vec::new(), false)),
            ('[', _) => parts.push(class(&mut rest)?),
            ('{', _) => {
                open.push((take(&mut parts), Vec::new()));
                if open.len() > MAX_DEPTH {
                    return Err("more than 64 `{` inside each other");
                }
            }
            ('}', Some((before, alternatives))) => {
                alternatives.push(take(&mut parts));
                let either = Part::Either(take(alternatives));
                parts = take(before);
                parts.push(either);
                open.pop();
            }
            (',', Some((_, alternatives))) => alternatives.push(take(&mut parts)),
            ('\\', _) => {
                let c = rest.next().ok_or(r"`\` at the end")?;
                parts.push(Part::One(vec![c..=c], true));
            }
            _ => parts.push(Part::One(vec![c..=c], true)),
        }
    }
    if open.is_empty() { Ok(parts) } else { Err("`{` without `}`") }
}

/// The characters up to the next `]`, which may also be the first one.
fn class(rest: &mut Chars<'_>) -> Result<Part, &'static str> {
    const OPEN: &str = "`[` without `]`: write `\\[` for the character";
    let mut next = rest.next().ok_or(OPEN)?;
    let is_negated = matches!(next, '!' | '^');
    if is_negated {
        next = rest.next().ok_or(OPEN)?;
    }
    let mut own = Vec::new();
    loop {
        own.push(next);
        next = rest.next().ok_or(OPEN)?;
        if next == ']' {
            break;
        }
    }
    let (mut left, mut ranges) = (own.as_slice(), Vec::new());
    while let [first, after @ ..] = left {
        let mut end = *first;
        left = after;
        if let ['-', last, after @ ..] = left {
            if last < first {
                return Err("a range such as `[z-a]`, whose end is before its start");
            }
            end = *last;
            left = after;
        }
        ranges.push(*first..=end);
    }
    Ok(Part::One(ranges, !is_negated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_match_as_in_a_shell_but_a_star_also_matches_slashes_and_dots() {
        for (pattern, name, matches) in [
            ("layers.*", "layers.0.weight", true),
            ("layers.*", "layers.0/weight", true),
            ("layers.*", "my.layers.0", false),
            ("*.{weight,bias}", "a/b.bias", true),
            ("{a,b{c,d}}x", "bdx", true),
            ("{a,b{c,d}}x", "bx", false),
            ("{a,}x", "x", true),
            ("**/x", "x", true),
            ("a/**/x", "a/b/c/x", true),
            ("a/**/x", "a/x", true),
            ("a**/x", "ax", false),
            ("**/x", "ax", false),
            ("a{/**/,-}x", "a/b/x", true),
            ("{a*b}c", "acbc", true),
            ("a{}b", "ab", true),
            ("w[0-3]", "w2", true),
            ("w[!0-3]", "w2", false),
            ("w[^0-3]", "wé", true),
            ("w[]-]", "w]", true),
            ("w[a-]", "w-", true),
            ("w?", "w", false),
            ("w?", "wé", true),
            ("?", "漢", true),
            ("w[à-ï]", "wé", true),
            ("w[é]", "wé", true),
            (r"w\[0\]", "w[0]", true),
            (r"w\*", "wx", false),
            ("漢*", "漢字", true),
            ("a.b", "axb", false),
            ("a*b", "a\nb", true),
            ("a}, b", "a}, b", true),
        ] {
            assert_eq!(pattern.parse::<NamePattern>().unwrap().matches(name), matches, "{pattern}");
        }
        let nested = |depth| "{".repeat(depth) + "a" + &"}".repeat(depth);
        assert!(nested(MAX_DEPTH).parse::<NamePattern>().unwrap().matches("a"));
        for pattern in ["w[", "w[]", "w[a", "w{a", r"w\", "w[z-a]", &nested(MAX_DEPTH + 1)] {
            assert!(pattern.parse::<NamePattern>().is_err(), "{pattern}");
        }
        assert!(NamePattern::is_pattern("a*") && !NamePattern::is_pattern("layers.0/w"));
    }
}
