//! The path of an array: a file, or a member of one, as
//! `weights.npz[layer1/w]`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use npymap::any::AnyFile;

use crate::input::error::CliError;
use crate::input::url;

/// The path of a file, or of a member of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArrayPath {
    /// The argument as given.
    given: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) member: Option<String>,
}

impl From<OsString> for ArrayPath {
    /// Splits `FILE[MEMBER]` at the last bracket that follows the name of an
    /// existing file: names of files and members may contain brackets too. If
    /// the whole text is the name of a file or a directory, no member is named.
    fn from(text: OsString) -> ArrayPath {
        let text = url::local(text);
        let is_file = |path: &Path| path.exists() && !path.is_dir();
        let split = text.to_str().filter(|text| !Path::new(text).exists());
        let split = split.and_then(|text| split_member(text, is_file));
        split.unwrap_or_else(|| {
            let path = PathBuf::from(text);
            ArrayPath { given: path.clone(), path, member: None }
        })
    }
}

fn split_member(text: &str, is_file: impl Fn(&Path) -> bool) -> Option<ArrayPath> {
    let inner = text.strip_suffix(']')?;
    let parts = inner.match_indices('[').map(|(at, _)| inner.split_at(at));
    let parts: Vec<_> = parts.filter(|(path, _)| !path.is_empty()).collect();
    let existing = parts.iter().rev().find(|(path, _)| is_file(Path::new(path)));
    let (path, member) = existing.or(parts.first())?;
    let member = Some(member.strip_prefix('[')?.to_owned());
    Some(ArrayPath { given: text.into(), path: path.into(), member })
}

impl ArrayPath {
    /// The path of a file, whose name may contain brackets.
    pub(crate) fn from_file(path: &Path) -> ArrayPath {
        ArrayPath { given: path.to_owned(), path: path.to_owned(), member: None }
    }

    /// The same member of another file.
    pub(crate) fn of_file(&self, path: &Path) -> ArrayPath {
        let Some(member) = &self.member else { return ArrayPath::from_file(path) };
        let mut given = path.as_os_str().to_owned();
        given.push(format!("[{member}]"));
        ArrayPath { given: given.into(), path: path.to_owned(), member: Some(member.clone()) }
    }

    /// The path of a member of the same file.
    pub(crate) fn with_member(&self, member: &str) -> ArrayPath {
        ArrayPath { member: Some(member.to_owned()), ..self.clone() }
    }

    /// The offset in `FILE[@152]`: that of one of several arrays in a `.npy` file. In an
    /// archive, it is the name of a member.
    pub(crate) fn offset(&self) -> Option<u64> {
        self.member.as_deref()?.strip_prefix('@')?.parse().ok()
    }

    /// The member to open of a file that was opened at the offset, if there is one.
    pub(crate) fn member_of(&self, file: &AnyFile) -> Option<&str> {
        let is_npy = matches!(file, AnyFile::Npy(_));
        if is_npy && self.offset().is_some() { None } else { self.member.as_deref() }
    }

    /// The path of the file. If a member is named, `reason` explains why it is
    /// rejected.
    pub(crate) fn require_file(&self, reason: &'static str) -> Result<&Path, CliError> {
        match self.member {
            None => Ok(&self.path),
            Some(_) => Err(CliError::rejected(&self.given, reason)),
        }
    }

    /// Rejects a member where a file is to be created.
    pub(crate) fn reject_member(&self) -> Result<(), CliError> {
        let extension = self.path.extension().and_then(OsStr::to_str);
        if !matches!(extension, Some("npz" | "ten" | "tb" | "tar")) {
            return Ok(());
        }
        self.require_file("names a member, and only whole files can be created: name the file")?;
        Ok(())
    }

    /// The argument as given, for messages.
    pub(crate) fn name(&self) -> &Path {
        &self.given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bracket_after_a_file_name_splits() {
        let files = ["a.npz", "b[1].npz", "c[1]", "a.npz[x]"];
        for (text, path, member) in [
            ("a.npz[w]", "a.npz", "w"),
            ("a.npz[layer[0]/w]", "a.npz", "layer[0]/w"),
            ("b[1].npz[w]", "b[1].npz", "w"),
            ("a.npz[]", "a.npz", ""),
            ("a.npz[x][w]", "a.npz[x]", "w"),
            ("absent.npz[w]", "absent.npz", "w"),
            ("a.npz[@152]", "a.npz", "@152"),
        ] {
            let split = split_member(text, |path| files.iter().any(|file| path == Path::new(file)))
                .unwrap();
            assert_eq!((split.path.to_str(), split.member.as_deref()), (Some(path), Some(member)));
        }
        for text in ["a.npz", "b[1].npz", "[w]", "w]", "]"] {
            assert_eq!(
                split_member(text, |path| files.iter().any(|file| path == Path::new(file))),
                None,
                "{text}"
            );
        }
    }
}
