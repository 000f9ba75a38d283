//! The arrays that are put into an archive, with their names there.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use clap::Args;
use npymap::MappedArray;
use npymap::npz::Compression;

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::file_set;
use crate::input::input_args::{InputArgs, InputOptions};
use crate::input::inputs::{Input, Inputs};
use crate::input::stream;
use crate::input::text;
use crate::input::walk::{self, Depth};

/// The arrays to put into an archive.
#[derive(Debug, Args)]
pub(crate) struct MemberArgs {
    /// Name of the array in an IN, in the order of the INs [default: the names
    /// of the files or members]
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,

    /// Deflate the arrays, at a level from 0 to 9
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
        default_missing_value = "6", value_parser = clap::value_parser!(u32).range(..=9))]
    pub(crate) deflate: Option<u32>,

    #[command(flatten)]
    pub(crate) read: InputArgs,
}

/// A file to take arrays from, and its name in the archive.
struct NamedFile {
    path: ArrayPath,
    name: Option<String>,
    /// Whether the name is that of the file in a directory.
    is_in_directory: bool,
}

/// The files to take arrays from, which are opened again when their arrays are written. One of
/// them is open at a time, because a process may have only about a thousand.
pub(crate) struct MemberFiles<'a> {
    files: Vec<NamedFile>,
    options: InputOptions<'a>,
    /// The file that the output replaces.
    output: Option<&'a Path>,
    /// The archive that is open, with its position: its members usually follow each other.
    recent: RefCell<Option<(usize, Inputs)>>,
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

    /// The files to take arrays from: those in directories, too. If the output replaces one
    /// of them, none of its arrays may be left out.
    pub(crate) fn files<'a>(
        &'a self,
        inputs: &[ArrayPath],
        output: Option<&'a Path>,
    ) -> Result<MemberFiles<'a>, CliError> {
        let inputs = &file_set::matched(inputs)?;
        if let Some(extra) = self.name.get(inputs.len()) {
            let reason = format!("has no IN for the name `{extra}`: give one name for each IN");
            return Err(CliError::usage(Path::new("--name"), reason));
        }
        let names = self.name.iter().map(Some).chain(std::iter::repeat(None));
        let mut files = Vec::new();
        for (input, name) in inputs.iter().zip(names) {
            if input.member.is_some() || !input.path.is_dir() {
                let (path, name) = (input.clone(), name.cloned());
                files.push(NamedFile { path, name, is_in_directory: false });
            } else if name.is_some() {
                return Err(CliError::rejected(input.name(), DIRECTORY_NAME));
            } else {
                find_arrays(&input.path, &mut files)?;
            }
        }
        let options = self.read.options().whole().taking_all();
        Ok(MemberFiles { files, options, output, recent: RefCell::default() })
    }
}

impl MemberFiles<'_> {
    /// The arrays of all files, which must have different names. They are opened when they
    /// are needed, as they are then.
    pub(crate) fn arrays(&self) -> Result<Vec<Input<'_>>, CliError> {
        let mut arrays = Vec::new();
        let mut replaced: Option<(usize, HashSet<String>)> = None;
        for (position, file) in self.files.iter().enumerate() {
            let name_file = CliError::with_path(file.path.name());
            let inputs = self.inputs(position).map_err(name_file)?;
            let mut found = inputs.all_arrays(self.options)?;
            match (&file.name, found.as_mut_slice()) {
                (Some(name), [array]) => array.name.clone_from(name),
                (Some(name), several) if file.is_in_directory || !inputs.is_collection() => {
                    number(several, name);
                }
                (Some(_), _) => {
                    return Err(CliError::rejected(file.path.name(), MANY));
                }
                (None, _) if inputs.is_collection() => {}
                // `arr_0`, as NumPy calls arrays without a name.
                (None, _) if stream::is_standard(file.path.name()) => {}
                (None, [array]) => array.name = stem(&file.path)?,
                (None, several) => number(several, &stem(&file.path)?),
            }
            if inputs.is_replaced {
                let kept = &mut replaced.get_or_insert((position, HashSet::new())).1;
                kept.extend(found.iter().filter_map(|array| array.key.clone()));
            }
            arrays.extend(found.into_iter().map(|array| {
                let Input { name, member, key, path, .. } = array;
                let own = key.clone();
                let open = move || self.open(position, own.as_deref());
                Input { name, member, key, path, open: Box::new(open) }
            }));
            self.keep(position, inputs);
        }
        if let Some((position, kept)) = replaced {
            let inputs = self.inputs(position).map_err(CliError::Library)?;
            inputs.check_lost(&kept)?;
        }
        let mut names = HashSet::new();
        match arrays.iter().find(|array| !names.insert(array.name.as_str())) {
            Some(array) => {
                let what = format!(
                    "the name `{}`, as an array before it: choose others with --name",
                    array.name
                );
                Err(CliError::mismatch(&array.path, what))
            }
            None => Ok(arrays),
        }
    }

    /// Closes all files.
    pub(crate) fn close(&self) {
        self.recent.take();
    }

    fn open(&self, position: usize, key: Option<&str>) -> npymap::Result<MappedArray> {
        let inputs = self.inputs(position)?;
        let array = inputs.get(key, self.options);
        self.keep(position, inputs);
        array
    }

    /// A file that is open, or else opens it.
    fn inputs(&self, position: usize) -> npymap::Result<Inputs> {
        if let Some((known, inputs)) = self.recent.take()
            && known == position
        {
            return Ok(inputs);
        }
        let file = self.files.get(position).expect("it is the position of a file");
        let mut inputs = Inputs::open(&file.path, self.options)?;
        if let Some(output) = self.output {
            inputs.set_output(output);
        }
        Ok(inputs)
    }

    /// Leaves an archive open.
    fn keep(&self, position: usize, inputs: Inputs) {
        if inputs.is_collection() {
            self.recent.replace(Some((position, inputs)));
        }
    }
}

/// Names the arrays that one file has after each other.
fn number(arrays: &mut [Input<'_>], name: &str) {
    for (position, array) in arrays.iter_mut().enumerate() {
        array.name = format!("{name}_{position}");
    }
}

/// The name of a file without its extension, or of a member.
fn stem(path: &ArrayPath) -> Result<String, CliError> {
    if let Some(member) = &path.member {
        return Ok(text::without_npy(member));
    }
    let stem = path.path.file_stem().and_then(|stem| stem.to_str());
    let error = || CliError::rejected(path.name(), NOT_UNICODE);
    stem.map(str::to_owned).ok_or_else(error)
}

/// Finds the `.npy` files in a directory and below, in the order of their names.
/// Their names in the archive are their paths from there, with `/`.
fn find_arrays(directory: &Path, found: &mut Vec<NamedFile>) -> Result<(), CliError> {
    let listing = walk::list(directory, Depth::All).map_err(CliError::io(directory, "list"))?;
    if let Some((inner, error)) = listing.unreadable.into_iter().next() {
        return Err(CliError::io(&directory.join(inner), "list")(error));
    }
    for file in &listing.files {
        if file.extension().is_none_or(|extension| extension != "npy") {
            continue;
        }
        let path = directory.join(file);
        let parts = file.iter().map(OsStr::to_str).collect::<Option<Vec<_>>>();
        let Some(parts) = parts else { return Err(CliError::rejected(path, NOT_UNICODE)) };
        let (path, name) = (ArrayPath::from_file(&path), text::without_npy(&parts.join("/")));
        found.push(NamedFile { path, name: Some(name), is_in_directory: true });
    }
    Ok(())
}
