//! The arrays of a file that are to be stored another way, with the names they
//! get.

use std::collections::HashSet;

use npymap::npz::{Member, Npz};
use npymap::{AnyFile, MappedArray, Result, ShardMember};

use crate::place::Place;
use crate::{open, words};

/// An array that is opened when its turn comes.
pub(crate) struct Input<'a> {
    /// What it is called where arrays have names.
    pub(crate) name: String,
    pub(crate) open: Box<dyn Fn() -> Result<MappedArray> + 'a>,
}

/// A file, open, and which of its arrays are meant.
pub(crate) struct Inputs<'a> {
    place: &'a Place,
    file: AnyFile,
}

impl<'a> Inputs<'a> {
    pub(crate) fn open(place: &'a Place, max_header_len: usize) -> Result<Inputs<'a>> {
        Ok(Inputs { place, file: open::any(&place.path, max_header_len)? })
    }

    /// The array that is meant, or the only one there is.
    pub(crate) fn one(&self) -> Result<MappedArray> {
        self.file.get(self.place.member.as_deref())
    }

    /// The arrays in their order, or the one that is meant. Members that are
    /// no arrays are left out, and that is said.
    pub(crate) fn arrays(&self) -> Result<Vec<Input<'_>>> {
        let member = self.place.member.as_deref();
        match &self.file {
            AnyFile::Npz(npz) if member.is_none() => {
                let mut inputs = Vec::new();
                for member in keyed(npz) {
                    if member.header()?.is_none() {
                        left_out(self.place, member.name());
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
                    if member.is_ten()? {
                        let ten = member.ten()?;
                        for at in 0..ten.len() {
                            let (name, ten) = (format!("{name}[{at}]"), ten.clone());
                            inputs.push(Input { name, open: Box::new(move || ten.get(at)) });
                        }
                    } else if member.header()?.is_some() {
                        let name = name.strip_suffix(".npy").unwrap_or(name).to_owned();
                        inputs.push(Input { name, open: Box::new(move || member.open()) });
                    } else {
                        left_out(self.place, name);
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
}

/// The members that are meant by the names of all: `w` comes before `w.npy`.
fn keyed(npz: &Npz) -> Vec<Member<'_>> {
    let is_bare = |member: &Member<'_>| member.full_name() == member.name();
    let bare: HashSet<_> = npz.members().filter(is_bare).map(|member| member.name()).collect();
    let meant = |member: &Member<'_>| is_bare(member) || !bare.contains(member.name());
    last_of_each(npz.members().filter(meant), Member::full_name)
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

fn left_out(place: &Place, member: &str) {
    let path = place.path.display();
    words::note(&format!("{path}[{member}]: is no array and is left out"));
}
