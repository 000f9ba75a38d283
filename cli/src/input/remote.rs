//! URLs: objects in stores and files on web servers.

use std::path::Path;

use crate::input::error::CliError;
use crate::input::url::is_url;

#[cfg(feature = "remote")]
pub(crate) use crate::input::remote_object::{
    Upload, end_upload, finish, set_headers, source, upload,
};
#[cfg(not(feature = "remote"))]
pub(crate) use missing::{Upload, end_upload, finish, set_headers, source, upload};

/// Rejects URLs where a file is changed.
pub(crate) fn reject_change(path: &Path) -> Result<(), CliError> {
    if !is_url(path) {
        return Ok(());
    }
    let reason = "objects can't be changed, only replaced: write a new one";
    Err(CliError::rejected(path, reason))
}

/// In builds without the feature, URLs are errors.
#[cfg(not(feature = "remote"))]
mod missing {
    use std::fs::File;
    use std::path::Path;

    use npymap::{Error, ErrorKind, Result, Source, source::MapMut};

    /// There is none in these builds.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Upload {}

    pub(crate) fn upload(path: &Path, _: bool) -> Result<Option<Upload>> {
        reject(path).map(|()| None)
    }

    pub(crate) fn finish(upload: Upload, _: File) -> Result<()> {
        match upload {}
    }

    pub(crate) fn end_upload(_: &mut dyn FnMut() -> bool) {}

    pub(crate) fn set_headers(_: Vec<(String, String)>) {}

    const MISSING: &str = "this build of npymap has no support for URLs: install it with `cargo install npymap-cli --features remote`";

    pub(crate) fn source(path: &Path) -> Result<Option<Source<MapMut>>> {
        reject(path).map(|()| None)
    }

    fn reject(path: &Path) -> Result<()> {
        if crate::input::url::is_url(path) {
            Err(Error::new(ErrorKind::Unsupported, MISSING))
        } else {
            Ok(())
        }
    }
}
