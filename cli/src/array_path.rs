//! Where an array is: a file, or a member of one, `weights.npz[layer1/w]`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// A file, and the member of it that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArrayPath {
    /// As it was given.
    whole: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) member: Option<String>,
}

impl From<OsString> for ArrayPath {
    /// Parts a text at the last bracket behind which a file's name ends; the
    /// names of files and members may have brackets too, and the whole text may
    /// be the name of a file.
    fn from(text: OsString) -> ArrayPath {
        let place = text.to_str().and_then(|text| parted(text, Path::is_file));
        place.unwrap_or_else(|| {
            let path = PathBuf::from(text);
            ArrayPath { whole: path.clone(), path, member: None }
        })
    }
}

fn parted(text: &str, is_file: impl Fn(&Path) -> bool) -> Option<ArrayPath> {
    let inner = text.strip_suffix(']').filter(|_| !is_file(Path::new(text)))?;
    let parts = inner.match_indices('[').map(|(at, _)| inner.split_at(at));
    let parts: Vec<_> = parts.filter(|(path, _)| !path.is_empty()).collect();
    let there = parts.iter().rev().find(|(path, _)| is_file(Path::new(path)));
    let (path, member) = there.or(parts.first())?;
    let member = Some(member.strip_prefix('[')?.to_owned());
    Some(ArrayPath { whole: text.into(), path: path.into(), member })
}

impl ArrayPath {
    /// The file, when no member of it is meant; `reason` says why that would
    /// be refused.
    pub(crate) fn alone(&self, reason: &'static str) -> Result<&Path, CliError> {
        match self.member {
            None => Ok(&self.path),
            Some(_) => Err(CliError::Refused { path: self.whole.clone(), reason }),
        }
    }

    /// An error when a member is named where a file is to be made.
    pub(crate) fn no_member(&self) -> Result<(), CliError> {
        let extension = self.path.extension().and_then(OsStr::to_str);
        if !matches!(extension, Some("npz" | "ten" | "tb" | "tar")) {
            return Ok(());
        }
        self.alone("names a member, and only whole files can be created: name the file").map(drop)
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> &Path {
        &self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bracket_behind_a_file_parts() {
        let files = ["a.npz", "b[1].npz", "c[1]", "a.npz[x]"];
        let is_file = |path: &Path| files.iter().any(|file| path == Path::new(file));
        for (text, path, member) in [
            ("a.npz[w]", "a.npz", "w"),
            ("a.npz[layer[0]/w]", "a.npz", "layer[0]/w"),
            ("b[1].npz[w]", "b[1].npz", "w"),
            ("a.npz[]", "a.npz", ""),
            ("a.npz[x][w]", "a.npz[x]", "w"),
            ("absent.npz[w]", "absent.npz", "w"),
        ] {
            let place = parted(text, is_file).unwrap();
            assert_eq!((place.path.to_str(), place.member.as_deref()), (Some(path), Some(member)));
        }
        for text in ["a.npz", "a.npz[x]", "c[1]", "b[1].npz", "[w]", "w]", "]"] {
            assert_eq!(parted(text, is_file), None, "{text}");
        }
    }
}
