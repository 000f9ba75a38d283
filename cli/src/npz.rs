//! `npymap npz`: extracts and verifies archives.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use npymap::npy::MAX_HEADER_LEN;
use npymap::npz::Member;

use crate::draft::{Draft, IfExists};
use crate::error::CliError;
use crate::escape::{self, safe};
use crate::inputs::last_of_each_name;
use crate::locking::WaitArgs;
use crate::progress::Progress;
use crate::{messages, open, text};

/// Extracts and verifies .npz archives.
#[derive(Debug, Args)]
pub(crate) struct NpzArgs {
    #[command(subcommand)]
    command: NpzCommand,
}

#[derive(Debug, Subcommand)]
enum NpzCommand {
    Extract(ExtractArgs),
    Verify(VerifyArgs),
}

/// Extracts members, inflating them and verifying their checksums.
///
/// Each file has the path of the member in the archive and gets its name only
/// when it is complete. Damaged members are reported and skipped.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz extract weights.npz
  npymap npz extract weights.npz layer1/w layer1/b --directory layers

Exit status: 0 if everything was extracted, 1 if something was not, 2 for a
usage error.")]
struct ExtractArgs {
    /// .npz file
    file: PathBuf,

    /// Members, with or without .npy [default: all]
    #[arg(value_name = "MEMBER")]
    members: Vec<String>,

    /// Directory to extract to
    #[arg(long, short, default_value = ".", value_name = "DIRECTORY")]
    directory: PathBuf,

    /// Replace existing files
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    wait: WaitArgs,
}

/// Reads all members and verifies their lengths and CRC-32 checksums.
///
/// Opening a stored member does not verify its checksum.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap npz verify weights.npz
  npymap npz verify --json *.npz

Exit status: 0 if all members are intact, 1 if one is not, 2 for a usage error.")]
struct VerifyArgs {
    /// .npz files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print a line of JSON for each member
    #[arg(long)]
    json: bool,
}

impl NpzArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, CliError> {
        match &self.command {
            NpzCommand::Extract(extract) => extract.run(),
            NpzCommand::Verify(verify) => verify.run(),
        }
    }
}

impl ExtractArgs {
    fn run(&self) -> Result<ExitCode, CliError> {
        let npz = open::quiet_npz(&self.file).map_err(CliError::Library)?;
        let requested = self.members.iter().map(|name| npz.member(name));
        let members: Vec<Member<'_>> = match self.members.len() {
            // Of members with the same name, the last one counts.
            0 => last_of_each_name(npz.members(), Member::full_name),
            _ => requested.collect::<npymap::Result<_>>().map_err(CliError::Library)?,
        };
        let members: Vec<_> =
            members.into_iter().filter(|member| !member.full_name().ends_with('/')).collect();
        let total = members.iter().map(Member::size).fold(0, u64::saturating_add);
        let mut progress = Progress::new(usize::try_from(total).unwrap_or(usize::MAX));
        // All names are checked before anything is written.
        let targets = members.iter().map(|member| self.target(member));
        let targets = targets.collect::<Result<Vec<_>, _>>()?;
        self.check(&members, &targets)?;
        let mut damaged = 0;
        for (member, target) in members.iter().zip(&targets) {
            match self.extract(member, target, &mut progress) {
                Err(failure) if is_about_member(&failure) => {
                    messages::print_error(&failure);
                    damaged += 1;
                }
                done => done?,
            }
        }
        let count = text::plural(members.len() - damaged, "member");
        writeln!(io::stdout(), "{}: {count} extracted", safe(self.file.display()))?;
        Ok(if damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Checks that each file can be created: that no two members have the same
    /// path, that none is a file where another needs a directory, and that
    /// existing files and directories do not conflict.
    fn check(&self, members: &[Member<'_>], targets: &[PathBuf]) -> Result<(), CliError> {
        let mut names = HashSet::new();
        for (member, target) in members.iter().zip(targets) {
            if !names.insert(target.as_path()) {
                let reason = "another member has the same path: extract one of them by name";
                return Err(CliError::Rejected { path: self.path_of(member), reason });
            }
        }
        for (member, target) in members.iter().zip(targets) {
            let ancestors = target.ancestors().skip(1);
            let ancestors: Vec<_> =
                ancestors.take_while(|path| path.starts_with(&self.directory)).collect();
            if ancestors.iter().any(|directory| names.contains(directory)) {
                let reason = "another member is a file where this one needs a directory: extract one of them by name";
                return Err(CliError::Rejected { path: self.path_of(member), reason });
            }
            if let Some(file) = ancestors.iter().find(|path| path.exists() && !path.is_dir()) {
                let reason = "is not a directory: extract to another one with --directory";
                return Err(CliError::Rejected { path: file.to_path_buf(), reason });
            }
            if target.is_dir() {
                let reason = "is a directory: extract to another one with --directory";
                return Err(CliError::Rejected { path: target.clone(), reason });
            }
        }
        Ok(())
    }

    fn path_of(&self, member: &Member<'_>) -> PathBuf {
        format!("{}[{}]", self.file.display(), member.name()).into()
    }

    /// The file to extract a member to. Names that point outside the directory
    /// are rejected.
    fn target(&self, member: &Member<'_>) -> Result<PathBuf, CliError> {
        let name = Path::new(member.full_name());
        let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || name.as_os_str().is_empty() || member.full_name().contains('\\') {
            let path = self.path_of(member);
            let reason = "its name points outside the directory: extract it with `npymap convert`";
            return Err(CliError::Rejected { path, reason });
        }
        let target = self.directory.join(name);
        match fs::symlink_metadata(&target) {
            Ok(_) if !self.overwrite => Err(CliError::Exists { path: target }),
            Ok(metadata) if metadata.is_symlink() => {
                let reason =
                    "is a symbolic link, which may point outside the directory: remove it first";
                Err(CliError::Rejected { path: target, reason })
            }
            _ => Ok(target),
        }
    }

    /// How to treat an existing file.
    fn if_exists(&self) -> IfExists {
        if self.overwrite { IfExists::Replace(self.wait) } else { IfExists::Fail }
    }

    fn extract(
        &self,
        member: &Member<'_>,
        target: &Path,
        progress: &mut Progress,
    ) -> Result<(), CliError> {
        let directory = target.parent().unwrap_or(&self.directory);
        fs::create_dir_all(directory).map_err(CliError::io(directory, "create"))?;
        let to_error = CliError::io(target, "write");
        let draft = Draft::begin_at(target, self.if_exists())?;
        let mut file = draft.file();
        let mut from = member.reader().map_err(CliError::Library)?;
        let mut block = vec![0; 1 << 20];
        loop {
            let n = from.read(&mut block).map_err(|error| self.read_error(member, error))?;
            if n == 0 {
                break;
            }
            file.write_all(block.get(..n).unwrap_or_default()).map_err(&to_error)?;
            progress.add(n);
        }
        draft.commit_unsynced()
    }

    fn read_error(&self, member: &Member<'_>, error: io::Error) -> CliError {
        let path = self.path_of(member);
        match error.downcast::<npymap::Error>() {
            Ok(error) => CliError::WithPath { path, error },
            Err(error) => CliError::io(&path, "read")(error),
        }
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

impl VerifyArgs {
    fn run(&self) -> Result<ExitCode, CliError> {
        let mut failures = 0;
        for path in &self.files {
            failures += self.verify(path)?;
        }
        Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Verifies an archive and returns how many members are damaged.
    fn verify(&self, path: &Path) -> io::Result<usize> {
        let out = &mut io::stdout();
        let npz = match open::npz(path, MAX_HEADER_LEN) {
            Ok(npz) => npz,
            Err(error) => {
                messages::print_error(&error);
                self.print_json(out, path, None, Some(&error))?;
                return Ok(1);
            }
        };
        let mut failures = 0;
        for member in npz.members() {
            let checked = member.verify();
            failures += usize::from(checked.is_err());
            if let Err(error) = &checked {
                messages::print_error(error);
            }
            self.print_json(out, path, Some(member.name()), checked.err().as_ref())?;
        }
        if !self.json && failures == 0 {
            let count = text::plural(npz.len(), "member");
            writeln!(out, "{}: {count} intact", safe(path.display()))?;
        }
        Ok(failures)
    }

    fn print_json(
        &self,
        out: &mut impl Write,
        path: &Path,
        member: Option<&str>,
        error: Option<&npymap::Error>,
    ) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        // JSON is Unicode, but file names need not be.
        let path = path.to_string_lossy();
        let line = match error.map(ToString::to_string) {
            None => serde_json::json!({ "path": path, "member": member, "intact": true }),
            Some(error) => serde_json::json!({
                "path": path, "member": member, "intact": false, "error": error,
            }),
        };
        escape::json_line(out, &line)
    }
}
