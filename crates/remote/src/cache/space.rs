//! The space of a cache: which objects there are, and which to remove for new objects.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use super::entry;
use super::key::is_file_name;
use crate::files;

/// The files of an object.
struct Found {
    name: String,
    /// The bytes they take on the disk.
    bytes: u64,
    used: SystemTime,
}

/// Removes closed objects until at most `bytes` are taken, the least recently used first.
/// Returns how many are taken. The directory must be locked.
pub(super) fn reduce_to(directory: &Path, bytes: u64) -> io::Result<u64> {
    let mut objects = find(directory)?;
    let mut taken: u64 = objects.iter().map(|object| object.bytes).sum();
    objects.sort_by_key(|object| object.used);
    for object in objects {
        if taken <= bytes {
            break;
        }
        if remove_unused(directory, &object.name) {
            taken -= object.bytes;
        }
    }
    Ok(taken)
}

/// The objects in a directory, which may also have other files.
fn find(directory: &Path) -> io::Result<Vec<Found>> {
    let mut objects = BTreeMap::new();
    for file in fs::read_dir(directory)? {
        let file = file?;
        let file_name = file.file_name();
        let parts = file_name.to_str().and_then(|name| name.rsplit_once('.'));
        let Some((name, "data" | "blocks")) = parts.filter(|(name, _)| is_file_name(name)) else {
            continue;
        };
        // It may just have been removed.
        let Ok(metadata) = file.metadata() else { continue };
        let (bytes, used) = objects.entry(name.to_owned()).or_insert((0, SystemTime::UNIX_EPOCH));
        *bytes += files::allocated(&metadata);
        *used = metadata.modified().map_or(*used, |modified| modified.max(*used));
    }
    let objects = objects.into_iter();
    Ok(objects.map(|(name, (bytes, used))| Found { name, bytes, used }).collect())
}

/// Removes the files of an object unless it is open. Returns whether they are gone.
fn remove_unused(directory: &Path, name: &str) -> bool {
    let [data, _] = entry::paths(directory, name);
    match files::lock(&data, false) {
        Ok(None) => false,
        // The file may be missing, or of another kind.
        Ok(Some(_)) | Err(_) => remove(directory, name),
    }
}

/// Removes the names of an object's files. Processes that have them open keep them.
/// Returns whether they are gone.
pub(super) fn remove(directory: &Path, name: &str) -> bool {
    let mut files = entry::paths(directory, name);
    // First the marks, without which the other file is nothing.
    files.reverse();
    let [marks, data] = files.map(fs::remove_file).map(|removed| match removed {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(()) => true,
    });
    marks && data
}
