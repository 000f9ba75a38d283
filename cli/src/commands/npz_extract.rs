//! `npymap npz extract`: writes members to files.

use crate::input::lengths::to_usize;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::ops::Bound::{Excluded, Unbounded};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use npymap::npz::{Member, Npz};
use serde_json::json;

use crate::input::error::CliError;
use crate::input::escape::safe;
use crate::input::inputs::last_of_each_name;
use crate::input::progress::Progress;
use crate::input::url::{self, shown};
use crate::input::{messages, open, stream, text};
use crate::output::draft::Draft;
use crate::output::member_copy;
use crate::output::output_format;
use crate::output::overwrite::OverwriteArgs;
use crate::output::report;

/// Extract members, inflating them and verifying their checksums.
///
/// Each file has the path of the member in the archive and gets its name only
/// when it is complete. Damaged members are reported and skipped. Other
/// obstacles, such as files that exist, prevent everything, unless --keep-going
/// is given. With --output, the bytes of one member go to a file of any name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz extract weights.npz
  npymap npz extract weights.npz layer1/w -o w.npy
  npymap npz extract weights.npz layer1/w layer1/b --directory layers
  npymap npz extract weights.npz --keep-going --directory layers

Exit status: 0 if everything was extracted, 1 if something was not, 2 for a
usage error.")]
pub(crate) struct ExtractArgs {
    /// .npz file
    #[arg(value_parser = url::parser())]
    file: PathBuf,

    /// Members, with or without .npy [default: all]
    #[arg(value_name = "MEMBER")]
    members: Vec<String>,

    /// Directory to extract to
    #[arg(long, short, default_value = ".", value_name = "DIRECTORY",
        value_parser = url::parser())]
    directory: PathBuf,

    /// New file for the only MEMBER, or - for standard output
    #[arg(short, long, value_name = "OUT", conflicts_with_all = ["directory", "keep_going"],
        value_parser = url::parser())]
    output: Option<PathBuf>,

    #[command(flatten)]
    replace: OverwriteArgs,

    /// Extract the other members if some cannot be: because files exist, names
    /// point outside the directory, or two members have the same path
    #[arg(long)]
    keep_going: bool,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

const ONE_MEMBER: &str = "--output takes the bytes of one member: name one after the file, or extract several with --directory";

const LINK: &str = "is a symbolic link, which may point outside the directory: remove it first";

const NEEDS_DIRECTORY: &str =
    "another member is a file where this one needs a directory: extract one of them by name";

const IN_THE_WAY: &str =
    "is a file where another member needs a directory: extract one of them by name";

/// Why a new member cannot be extracted beside others, of which none is in another: one of the
/// two is a file where the other one needs a directory.
fn conflict(others: &BTreeSet<PathBuf>, target: &Path) -> Option<&'static str> {
    // Sorted by their parts, a directory is next to what is in it.
    let (before, after) = ((Unbounded, Excluded(target)), (Excluded(target), Unbounded));
    let (mut before, mut after) = (others.range::<Path, _>(before), others.range::<Path, _>(after));
    if before.next_back().is_some_and(|path| target.starts_with(path)) {
        return Some(NEEDS_DIRECTORY);
    }
    after.next()?.starts_with(target).then_some(IN_THE_WAY)
}

impl ExtractArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        // Progress is shown of what is extracted.
        let npz = open::map_arrays(&self.file).and_then(Npz::open).map_err(CliError::Library)?;
        if let Some(output) = &self.output {
            return self.extract_one(&npz, output);
        }
        let mut failures = 0;
        let mut targets: Vec<(Member<'_>, PathBuf)> = Vec::new();
        let mut others = BTreeSet::new();
        // All names are checked before anything is written.
        for member in self.members(&npz, &mut failures)? {
            match self.checked_target(&member, &others) {
                Ok(target) => {
                    others.insert(target.clone());
                    targets.push((member, target));
                }
                Err(error) => self.skip(error, &mut failures)?,
            }
        }
        // For progress: the archive may state any sizes.
        let total = targets.iter().map(|(member, _)| member.size()).fold(0, u64::saturating_add);
        let mut progress = Progress::new(to_usize(total));
        let mut extracted = Vec::new();
        for (member, target) in &targets {
            match self.extract(member, target, &mut progress) {
                Err(failure) if is_about_member(&failure) => {
                    messages::print_error(&failure);
                    failures += 1;
                }
                done => {
                    done?;
                    extracted.push(member.name());
                }
            }
        }
        let done = format!("{} extracted", text::plural(extracted.len(), "member"));
        self.print(&self.file, &done, &extracted, failures)?;
        Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Writes the bytes of the only member to a file.
    fn extract_one(&self, npz: &Npz, output: &Path) -> Result<ExitCode, CliError> {
        let [name] = self.members.as_slice() else {
            return Err(CliError::usage(&self.file, ONE_MEMBER));
        };
        let member = npz.member(name).map_err(CliError::Library)?;
        if Path::new(member.full_name()).extension().is_some_and(|extension| extension == "npy") {
            output_format::require_npy(output)?;
        }
        CliError::usage_if(self.json && stream::is_output(output), output, output_format::STREAM)?;
        let draft = Draft::begin(output, self.replace)?;
        let mut progress = Progress::new(to_usize(member.size()));
        self.copy(&member, &draft, &mut progress)?;
        drop(progress);
        draft.commit()?;
        if !stream::is_output(output) {
            self.print(output, "was written", &[member.name()], 0)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The members to extract, without directories.
    fn members<'a>(&self, npz: &'a Npz, failures: &mut usize) -> Result<Vec<Member<'a>>, CliError> {
        let mut members = Vec::new();
        for name in &self.members {
            match npz.member(name).map_err(CliError::Library) {
                Ok(member) => members.push(member),
                Err(error) => self.skip(error, failures)?,
            }
        }
        if self.members.is_empty() {
            // Of members with the same name, the last one counts.
            members = last_of_each_name(npz.members(), Member::full_name);
        }
        // A name may be given twice.
        let mut names = HashSet::new();
        members.retain(|member| {
            !member.full_name().ends_with('/') && names.insert(member.full_name())
        });
        Ok(members)
    }

    /// Reports a member that is not extracted, if others are to be extracted
    /// nevertheless.
    fn skip(&self, error: CliError, failures: &mut usize) -> Result<(), CliError> {
        if !self.keep_going {
            return Err(error);
        }
        messages::print_error(&error);
        *failures += 1;
        Ok(())
    }

    fn print(
        &self,
        path: &Path,
        done: &str,
        extracted: &[&str],
        failures: usize,
    ) -> Result<(), CliError> {
        let (file, count) = (shown(&self.file), text::plural(extracted.len(), "member"));
        let line = json!({ "path": file, "extracted": extracted, "failed": failures });
        let text = format!("{}: {count} extracted", safe(file));
        report::done(path, done, self.json.then_some(line), &text)
    }

    /// The file to extract a member to. Checks that it can be created: that its name
    /// does not point outside the directory, that no other member has the same path,
    /// or is a file where this one needs a directory, and that existing files and
    /// directories do not conflict.
    fn checked_target(
        &self,
        member: &Member<'_>,
        others: &BTreeSet<PathBuf>,
    ) -> Result<PathBuf, CliError> {
        let name = self.relative_path(member)?;
        let target = self.directory.join(name);
        if others.contains(&target) {
            let reason = "another member has the same path: extract one of them by name";
            return Err(CliError::rejected(self.path_of(member.name()), reason));
        }
        if let Some(reason) = conflict(others, &target) {
            return Err(CliError::rejected(self.path_of(member.name()), reason));
        }
        self.check_directories(name)?;
        self.check_existing(&target)?;
        Ok(target)
    }

    fn path_of(&self, member: &str) -> PathBuf {
        format!("{}[{member}]", self.file.display()).into()
    }

    /// The path of a member in the directory. Names that point outside are rejected.
    fn relative_path<'a>(&self, member: &Member<'a>) -> Result<&'a Path, CliError> {
        let name = Path::new(member.full_name());
        let name = name.strip_prefix(".").unwrap_or(name);
        let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || name.as_os_str().is_empty() || member.full_name().contains('\\') {
            let path = self.path_of(member.name());
            let reason = "its name points outside the directory: extract it with `npymap convert`";
            return Err(CliError::rejected(path, reason));
        }
        Ok(name)
    }

    /// Checks what exists of the directories that a path leads through. Only
    /// --directory itself may be a link.
    fn check_directories(&self, name: &Path) -> Result<(), CliError> {
        let not_a_directory = "is not a directory: extract to another one with --directory";
        let mut path = self.directory.clone();
        CliError::rejected_if(path.exists() && !path.is_dir(), &path, not_a_directory)?;
        for part in name.parent().into_iter().flat_map(Path::components) {
            path.push(part);
            // Nothing is in a directory that does not exist.
            let Ok(metadata) = fs::symlink_metadata(&path) else { break };
            CliError::rejected_if(metadata.is_symlink(), &path, LINK)?;
            CliError::rejected_if(!metadata.is_dir(), &path, not_a_directory)?;
        }
        Ok(())
    }

    /// Checks that a file does not exist, or may be replaced.
    fn check_existing(&self, target: &Path) -> Result<(), CliError> {
        let Ok(metadata) = fs::symlink_metadata(target) else { return Ok(()) };
        if metadata.is_dir() {
            let reason = "is a directory: extract to another one with --directory";
            return Err(CliError::rejected(target, reason));
        }
        if !self.replace.overwrite {
            return Err(CliError::exists(target));
        }
        CliError::rejected_if(metadata.is_symlink(), target, LINK)?;
        // It may be a `.npy` that must not be replaced.
        Draft::begin_at(target, self.replace)?;
        Ok(())
    }

    fn extract(
        &self,
        member: &Member<'_>,
        target: &Path,
        progress: &mut Progress,
    ) -> Result<(), CliError> {
        let directory = target.parent().expect("it is in the directory");
        fs::create_dir_all(directory).map_err(CliError::io(directory, "create"))?;
        let draft = Draft::begin_at(target, self.replace)?;
        self.copy(member, &draft, progress)?;
        draft.commit_unsynced()
    }

    fn copy(
        &self,
        member: &Member<'_>,
        draft: &Draft,
        progress: &mut Progress,
    ) -> Result<(), CliError> {
        let from = member.reader().map_err(CliError::Library)?;
        let (path, to) = (self.path_of(member.name()), (draft.file(), draft.path()));
        member_copy::copy(from, &path, to, &mut |bytes| progress.add(bytes))
    }
}

/// Returns whether only this member cannot be read: others may be intact, while
/// a full disk concerns all.
fn is_about_member(failure: &CliError) -> bool {
    matches!(
        failure,
        CliError::WithPath { .. } | CliError::Library(_) | CliError::Io { action: "read", .. }
    )
}
