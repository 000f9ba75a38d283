//! Patterns that names are compared with: `layers.*`.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use regex_automata::meta::Regex;

/// A pattern with `*`, `?`, `[a-z]`, `[!a-z]` and `{a,b}`, and a backslash, after which a
/// character has no special meaning. `*` also matches slashes and dots.
#[derive(Clone, Debug)]
pub(crate) struct NamePattern {
    text: String,
    regex: Regex,
}

impl FromStr for NamePattern {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<NamePattern, &'static str> {
        let regex = Regex::new(&to_regex(text)?).map_err(|_| "the pattern is too long")?;
        Ok(NamePattern { text: text.to_owned(), regex })
    }
}

impl NamePattern {
    /// Returns whether a text has characters with a special meaning in patterns.
    pub(crate) fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }

    /// Returns whether a whole name matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        if cfg!(windows) {
            // Where names of files have backslashes between directories.
            return self.regex.is_match(&name.replace('\\', "/"));
        }
        self.regex.is_match(name)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The regular expression of a pattern.
fn to_regex(pattern: &str) -> Result<String, &'static str> {
    let (mut regex, mut depth) = (r"(?s)\A(?:".to_owned(), 0);
    let mut rest = pattern.chars();
    let mut is_start = true;
    while let Some(c) = rest.next() {
        let starts_name = std::mem::replace(&mut is_start, c == '/');
        let is_star = c == '*' && starts_name;
        if let (Some(after), true) = (rest.as_str().strip_prefix("*/"), is_star) {
            // Any directories, or none.
            regex.push_str("(?:.*/)?");
            rest = after.chars();
            is_start = true;
            continue;
        }
        match c {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => push_class(&mut regex, &mut rest)?,
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                regex.push(')');
            }
            ',' if depth > 0 => regex.push('|'),
            '\\' => push(&mut regex, rest.next().ok_or(r"`\` at the end")?),
            c => push(&mut regex, c),
        }
    }
    if depth > 0 {
        return Err("`{` without `}`");
    }
    Ok(regex + r")\z")
}

/// Adds a character without a special meaning.
fn push(regex: &mut String, c: char) {
    // Writing to a string cannot fail.
    let _ = write!(regex, r"\x{{{:x}}}", u32::from(c));
}

/// Adds the characters up to the next `]`, which may also be the first one.
fn push_class(
    regex: &mut String,
    rest: &mut impl Iterator<Item = char>,
) -> Result<(), &'static str> {
    const OPEN: &str = "`[` without `]`: write `\\[` for the character";
    regex.push('[');
    let mut next = rest.next().ok_or(OPEN)?;
    if matches!(next, '!' | '^') {
        regex.push('^');
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
    let mut left = own.as_slice();
    while let [first, after @ ..] = left {
        push(regex, *first);
        left = after;
        if let ['-', last, after @ ..] = left {
            if last < first {
                return Err("a range such as `[z-a]`, whose end is before its start");
            }
            regex.push('-');
            push(regex, *last);
            left = after;
        }
    }
    regex.push(']');
    Ok(())
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
        for pattern in ["w[", "w[]", "w[a", "w{a", r"w\", "w[z-a]"] {
            assert!(pattern.parse::<NamePattern>().is_err(), "{pattern}");
        }
        assert!(NamePattern::is_pattern("a*") && !NamePattern::is_pattern("layers.0/w"));
        assert_eq!("a*".parse::<NamePattern>().unwrap().to_string(), "a*");
    }
}
