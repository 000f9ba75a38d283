//! The arrays that are put into an archive, with their names there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use npymap::npz::Compression;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::input_args::InputArgs;
use crate::input::inputs::{Input, Inputs};

/// The arrays to put into an archive.
#[derive(Debug, Args)]
pub(crate) struct MemberArgs {
    /// Name of the array of an IN, in the order of the INs [default: the names of
    /// the files or members]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,

    /// Deflate the arrays, at a level from 0 to 9
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
        default_missing_value = "6", value_parser = clap::value_parser!(u32).range(..=9))]
    deflate: Option<u32>,

    #[command(flatten)]
    read: InputArgs,
}

/// A file to take arrays from, and its name in the archive.
struct NamedFile {
    path: ArrayPath,
    name: Option<String>,
}

/// Open files.
pub(crate) struct MemberFiles {
    files: Vec<NamedFile>,
}

const DIRECTORY_NAME: &str =
    "is a directory, whose arrays are named after their files: omit --name";

const NOT_UNICODE: &str =
    "its name is not Unicode, as names of members are: choose one with --name";

const MANY: &str = "contains several arrays: name one as FILE[MEMBER], or omit --name";

impl MemberArgs {
    pub(crate) fn compression(&self) -> Compression {
        self.deflate.map_or(Compression::Stored, Compression::Deflated)
    }

    /// Whether the compression was chosen.
    pub(crate) fn is_deflated(&self) -> bool {
        self.deflate.is_some()
    }

    pub(crate) fn max_header_len(&self) -> usize {
        self.read.file.max_header_len
    }

    /// The files to take arrays from: those in directories, too.
    pub(crate) fn files(&self, inputs: &[ArrayPath]) -> Result<MemberFiles, CliError> {
        if let Some(extra) = self.name.get(inputs.len()) {
            let reason = format!("has no IN for the name `{extra}`: give one name for each IN");
            return Err(CliError::usage(Path::new("--name"), reason));
        }
        let names = self.name.iter().map(Some).chain(std::iter::repeat(None));
        let mut files = Vec::new();
        for (input, name) in inputs.iter().zip(names) {
            if input.member.is_some() || !input.path.is_dir() {
                files.push(NamedFile { path: input.clone(), name: name.cloned() });
            } else if name.is_some() {
                let path = input.name().to_owned();
                return Err(CliError::Rejected { path, reason: DIRECTORY_NAME });
            } else {
                find_arrays(&input.path, "", &mut files)?;
            }
        }
        Ok(MemberFiles { files })
    }
}

impl MemberFiles {
    /// Opens the files.
    pub(crate) fn open<'a>(&'a self, args: &'a MemberArgs) -> Result<Vec<Inputs<'a>>, CliError> {
        let options = args.read.options();
        let inputs = self.files.iter().map(|file| {
            Inputs::open(&file.path, options).map_err(CliError::with_path(file.path.name()))
        });
        inputs.collect()
    }

    /// The arrays of open files, which must have different names.
    pub(crate) fn arrays<'a>(&self, inputs: &'a [Inputs<'_>]) -> Result<Vec<Input<'a>>, CliError> {
        let mut arrays = Vec::new();
        for (file, inputs) in self.files.iter().zip(inputs) {
            let mut found = inputs.arrays()?;
            match (&file.name, found.as_mut_slice()) {
                (Some(name), [array]) => array.name.clone_from(name),
                (Some(_), _) => {
                    return Err(CliError::Rejected {
                        path: file.path.name().to_owned(),
                        reason: MANY,
                    });
                }
                (None, [array]) if !inputs.is_collection() => array.name = stem(&file.path)?,
                (None, _) => {}
            }
            arrays.append(&mut found);
        }
        let mut names = HashSet::new();
        match arrays.iter().find(|array| !names.insert(array.name.clone())) {
            Some(array) => {
                let what = format!(
                    "the name `{}`, as an array before it: choose others with --name",
                    array.name
                );
                Err(CliError::Mismatch { path: array.path.clone(), what })
            }
            None => Ok(arrays),
        }
    }
}

/// The name of a file without its extension, or of a member.
fn stem(path: &ArrayPath) -> Result<String, CliError> {
    if let Some(member) = &path.member {
        return Ok(member.strip_suffix(".npy").unwrap_or(member).to_owned());
    }
    let stem = path.path.file_stem().and_then(|stem| stem.to_str());
    let error = || CliError::Rejected { path: path.name().to_owned(), reason: NOT_UNICODE };
    stem.map(str::to_owned).ok_or_else(error)
}

/// Finds the `.npy` files in a directory and below, in the order of their names.
/// Their names in the archive are their paths from there, with `/`.
fn find_arrays(directory: &Path, prefix: &str, found: &mut Vec<NamedFile>) -> Result<(), CliError> {
    let to_error = CliError::io(directory, "read");
    let entries = fs::read_dir(directory).map_err(&to_error)?;
    let mut paths: Vec<(OsString, PathBuf)> = Vec::new();
    for entry in entries {
        let entry = entry.map_err(&to_error)?;
        paths.push((entry.file_name(), entry.path()));
    }
    paths.sort();
    for (name, path) in paths {
        let is_array = path.extension().is_some_and(|extension| extension == "npy");
        // Links to directories may lead back here.
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        if !(is_directory || is_array && path.is_file()) {
            continue;
        }
        let Some(name) = name.to_str() else {
            return Err(CliError::Rejected { path, reason: NOT_UNICODE });
        };
        if is_directory {
            find_arrays(&path, &format!("{prefix}{name}/"), found)?;
        } else {
            let name = format!("{prefix}{}", name.strip_suffix(".npy").unwrap_or(name));
            found.push(NamedFile { path: ArrayPath::from_file(&path), name: Some(name) });
        }
    }
    Ok(())
}
