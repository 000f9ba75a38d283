//! Which array of a file an argument names.

use std::path::Path;

use npymap::any::AnyFile;
use npymap::{Error, ErrorKind, MappedArray, Result};

use crate::input::array_path::ArrayPath;
use crate::input::url::shown;

/// How many members an error lists.
const LISTED: usize = 3;

/// The longest name that it lists, in characters.
const LONGEST: usize = 100;

/// Opens the array that an argument names: that of a `.npy`, a member, or the only one.
pub(crate) fn open(file: &AnyFile, input: &ArrayPath) -> Result<MappedArray> {
    let found = file.get(input.member_of(file));
    if found.is_ok() || input.member.is_some() {
        return found;
    }
    match choice(file, &input.path) {
        Some(text) => Err(Error::new(ErrorKind::InvalidInput, text)),
        None => found,
    }
}

/// What an archive of several members holds, and how to name one of them.
pub(crate) fn choice(file: &AnyFile, path: &Path) -> Option<String> {
    let names = file.names();
    if names.len() < 2 {
        return None;
    }
    let is_short = |name: &&String| name.chars().count() <= LONGEST;
    let listed: Vec<&String> = names.iter().take(LISTED).take_while(is_short).collect();
    let mut list: Vec<String> = listed.iter().map(|name| format!("`{name}`")).collect();
    if list.len() < names.len() {
        list.push("…".to_owned());
    }
    let member = listed.first().map_or("MEMBER", |name| name.as_str());
    // As a shell reads it.
    let argument = format!("{}[{member}]", shown(path)).replace('\'', r"'\''");
    let (count, list) = (names.len(), list.join(", "));
    Some(format!("holds {count} members, {list}: name one, as in `npymap get '{argument}' :`"))
}
