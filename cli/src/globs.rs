//! Patterns that names are compared with: `layers.*`.

use std::fmt;
use std::str::FromStr;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// A pattern with `*`, `?`, `[a-z]` and `{a,b}`. `*` also matches slashes and
/// dots.
#[derive(Clone, Debug)]
pub(crate) struct NamePattern {
    matcher: GlobMatcher,
}

impl FromStr for NamePattern {
    type Err = globset::Error;

    fn from_str(text: &str) -> Result<NamePattern, globset::Error> {
        let glob: Glob = GlobBuilder::new(text).backslash_escape(true).build()?;
        Ok(NamePattern { matcher: glob.compile_matcher() })
    }
}

impl NamePattern {
    /// Returns whether a text has characters with a special meaning in patterns.
    pub(crate) fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }

    /// Returns whether a whole name matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.matcher.glob().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_slashes_and_dots() {
        for (pattern, name, matches) in [
            ("layers.*", "layers.0.weight", true),
            ("layers.*", "layers.0/weight", true),
            ("layers.*", "my.layers.0", false),
            ("*.{weight,bias}", "a/b.bias", true),
            ("w[0-3]", "w2", true),
            ("w?", "w", false),
            (r"w\[0\]", "w[0]", true),
            ("漢*", "漢字", true),
        ] {
            assert_eq!(pattern.parse::<NamePattern>().unwrap().matches(name), matches, "{pattern}");
        }
        assert!("w[".parse::<NamePattern>().is_err());
        assert!(NamePattern::is_pattern("a*") && !NamePattern::is_pattern("layers.0/w"));
    }
}
