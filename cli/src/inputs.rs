//! The arrays of a file that are to be stored another way, with the names they
//! get.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use npymap::npz::{Member, Npz};
use npymap::{MappedArray, Result, any::AnyFile, tar::ShardMember};

use crate::array_path::ArrayPath;
use crate::error::CliError;
use crate::{open, text};

/// An array that is opened when its turn comes.
pub(crate) struct Input<'a> {
    /// What it is called where arrays have names.
    pub(crate) name: String,
    pub(crate) open: Box<dyn Fn() -> Result<MappedArray> + 'a>,
}

/// A file, open, and which of its arrays are meant.
pub(crate) struct Inputs<'a> {
    place: &'a ArrayPath,
    file: AnyFile,
    /// The file will be replaced: members that are left out would be lost.
    is_replaced: bool,
}

impl<'a> Inputs<'a> {
    pub(crate) fn open(place: &'a ArrayPath, max_header_len: usize) -> Result<Inputs<'a>> {
        let file = open::any(&place.path, max_header_len)?;
        Ok(Inputs { place, file, is_replaced: false })
    }

    /// Refuses to leave out members if `output` is the file itself.
    pub(crate) fn replaced_by(&mut self, output: &Path) {
        let same = self.place.path.canonicalize().ok().zip(output.canonicalize().ok());
        self.is_replaced = same.is_some_and(|(input, output)| input == output);
    }

    /// The array that is meant, or the only one there is.
    pub(crate) fn one(&self) -> Result<MappedArray> {
        self.file.get(self.place.member.as_deref())
    }

    /// The arrays in their order, or the one that is meant. Members that are
    /// not arrays are left out with a note, or refused if they would be lost.
    pub(crate) fn arrays(&self) -> Result<Vec<Input<'_>>, CliError> {
        let member = self.place.member.as_deref();
        match &self.file {
            AnyFile::Npz(npz) if member.is_none() => {
                let mut inputs = Vec::new();
                let members = keyed(npz);
                let shadowed = npz.len() > members.len() && self.is_replaced;
                if let Some(name) = shadowed.then(|| unread(npz, &members)).flatten() {
                    return Err(self.lost(name));
                }
                for member in members {
                    if member.header().map_err(CliError::library)?.is_none() {
                        self.leave_out(member.full_name())?;
                        continue;
                    }
                    let name = member.name().to_owned();
                    inputs.push(Input { name, open: Box::new(move || member.open()) });
                }
                Ok(inputs)
            }
            AnyFile::Ten(ten) if member.is_none() => {
                let infos: Vec<_> = ten.infos().collect();
                let inputs = infos.iter().enumerate().map(|(at, info)| Input {
                    name: named(&infos, at, info),
                    open: Box::new(move || ten.get(at)),
                });
                Ok(inputs.collect())
            }
            AnyFile::Tar(shard) if member.is_none() => {
                let mut inputs: Vec<Input<'_>> = Vec::new();
                for member in last_of_each(shard.members(), ShardMember::name) {
                    let name = member.name();
                    if member.is_ten().map_err(CliError::library)? {
                        let ten = member.ten().map_err(CliError::library)?;
                        for at in 0..ten.len() {
                            let (name, ten) = (format!("{name}[{at}]"), ten.clone());
                            inputs.push(Input { name, open: Box::new(move || ten.get(at)) });
                        }
                    } else if member.header().map_err(CliError::library)?.is_some() {
                        let name = name.strip_suffix(".npy").unwrap_or(name).to_owned();
                        inputs.push(Input { name, open: Box::new(move || member.open()) });
                    } else {
                        self.leave_out(name)?;
                    }
                }
                Ok(inputs)
            }
            file => {
                let name = member.unwrap_or("arr_0").to_owned();
                Ok(vec![Input { name, open: Box::new(move || file.get(member)) }])
            }
        }
    }

    fn leave_out(&self, member: &str) -> Result<(), CliError> {
        if self.is_replaced {
            return Err(self.lost(member));
        }
        let member = self.path_of(member);
        text::note(&format!("{}: is not an array and is skipped", member.display()));
        Ok(())
    }

    fn lost(&self, member: &str) -> CliError {
        let reason = "would be lost: choose another name for the output";
        CliError::Refused { path: self.path_of(member), reason }
    }

    fn path_of(&self, member: &str) -> PathBuf {
        format!("{}[{member}]", self.place.path.display()).into()
    }
}

/// The members that are meant by the names of all: `w` comes before `w.npy`.
fn keyed(npz: &Npz) -> Vec<Member<'_>> {
    let is_bare = |member: &Member<'_>| member.full_name() == member.name();
    let bare: HashSet<_> = npz.members().filter(is_bare).map(|member| member.name()).collect();
    let meant = |member: &Member<'_>| is_bare(member) || !bare.contains(member.name());
    last_of_each(npz.members().filter(meant), Member::full_name)
}

/// The full name of a member that none of these has, if there is one.
fn unread<'a>(npz: &'a Npz, members: &[Member<'_>]) -> Option<&'a str> {
    let names: HashSet<_> = members.iter().map(Member::full_name).collect();
    npz.members().map(|member| member.full_name()).find(|name| !names.contains(name))
}

/// Of members of equal names the last ones, which count everywhere.
pub(crate) fn last_of_each<'a, T>(
    members: impl Iterator<Item = T>,
    name: impl Fn(&T) -> &'a str,
) -> Vec<T> {
    let mut members: Vec<T> = members.collect();
    members.reverse();
    let mut names = HashSet::new();
    members.retain(|member| names.insert(name(member)));
    members.reverse();
    members
}

/// The info of an array, where it is its own; else what NumPy calls an array
/// without a name.
fn named(infos: &[&str], at: usize, info: &str) -> String {
    let is_own = !info.is_empty() && infos.iter().filter(|&other| *other == info).count() == 1;
    if is_own { info.to_owned() } else { format!("arr_{at}") }
}
