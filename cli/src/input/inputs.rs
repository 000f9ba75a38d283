//! The arrays of a file that are converted, with their names.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use npymap::npz::{Member, Npz};
use npymap::{MappedArray, Result, any::AnyFile, tar, ten::Ten};

use crate::input::array_path::ArrayPath;
use crate::input::error::CliError;
use crate::input::globs::NamePattern;
use crate::input::input_args::InputOptions;
use crate::input::inspect::MemberName;
use crate::input::lengths::to_u64;
use crate::input::members;
use crate::input::messages;
use crate::input::platform;
use crate::input::text;
use crate::input::url::shown;

/// An array that is opened when it is needed.
pub(crate) struct Input<'a> {
    /// Its name in formats that have names.
    pub(crate) name: String,
    /// The member of an archive that it is.
    pub(crate) member: Option<MemberName>,
    /// What finds the member, and no other one: a full name or a position.
    pub(crate) key: Option<String>,
    /// Its path in messages: `FILE[MEMBER]`, or the argument as given.
    pub(crate) path: PathBuf,
    /// Opens it, or returns the error if that is not possible.
    pub(crate) open: Box<dyn Fn() -> Result<MappedArray> + 'a>,
}

impl Input<'_> {
    /// An array that is open already.
    pub(crate) fn of_array(path: &Path, array: MappedArray) -> Input<'static> {
        Input {
            name: "arr_0".to_owned(),
            member: None,
            key: None,
            path: path.to_owned(),
            open: Box::new(move || Ok(array.clone())),
        }
    }
}

/// An open file, and which of its arrays to convert.
pub(crate) struct Inputs {
    input: ArrayPath,
    file: AnyFile,
    /// The output replaces the file, so members that are left out would be
    /// lost.
    pub(crate) is_replaced: bool,
}

impl Inputs {
    pub(crate) fn open(input: &ArrayPath, options: InputOptions<'_>) -> Result<Inputs> {
        Ok(Inputs { input: input.clone(), file: options.file(input)?, is_replaced: false })
    }

    /// Makes it an error to skip members if `output` is the file itself.
    pub(crate) fn set_output(&mut self, output: &Path) {
        self.is_replaced = platform::is_same_file(&self.input.path, output);
    }

    /// Returns whether this is an archive, without the name of one member.
    pub(crate) fn is_collection(&self) -> bool {
        let is_archive = !matches!(self.file, AnyFile::Npy(_));
        is_archive && (self.member().is_none() || self.pattern().is_some())
    }

    /// The member that is named.
    fn member(&self) -> Option<&str> {
        self.input.member_of(&self.file)
    }

    /// As [`arrays`](Inputs::arrays), and all arrays of a `.npy` file of several.
    pub(crate) fn all_arrays<'s>(
        &'s self,
        options: InputOptions<'s>,
    ) -> Result<Vec<Input<'s>>, CliError> {
        if !matches!(self.file, AnyFile::Npy(_)) {
            return self.arrays();
        }
        let offsets =
            options.offsets(&self.input).map_err(CliError::of_input(self.input.name()))?;
        if let [_] = offsets.as_slice() {
            return self.arrays();
        }
        let inputs = offsets.into_iter().enumerate().map(|(position, offset)| {
            let input = self.input.with_member(&format!("@{offset}"));
            Input {
                name: format!("arr_{position}"),
                member: None,
                key: Some(format!("@{offset}")),
                path: self.path_of(&format!("@{offset}")),
                open: Box::new(move || options.array(&input)),
            }
        });
        Ok(inputs.collect())
    }

    /// The selected array, or the only one of the file.
    pub(crate) fn single(&self) -> Result<MappedArray> {
        members::open(&self.file, &self.input)
    }

    /// The selected array, those whose names match a pattern, or all arrays in
    /// order. Members that are not arrays are skipped with a note, or rejected if
    /// they would be lost.
    pub(crate) fn arrays(&self) -> Result<Vec<Input<'_>>, CliError> {
        let Some(pattern) = self.pattern() else {
            return self.members(self.member());
        };
        let mut inputs = self.members(None)?;
        inputs.retain(|input| {
            let member = input.member.as_ref().map(MemberName::text);
            pattern.matches(&input.name) || member.is_some_and(|m| pattern.matches(&m))
        });
        if inputs.is_empty() {
            let reason = "no member matches this pattern: list the members with `npymap ls`";
            return Err(CliError::rejected(self.input.name(), reason));
        }
        Ok(inputs)
    }

    /// The array with the key of an input, which is an offset if a `.npy` has several arrays.
    pub(crate) fn get(&self, key: Option<&str>, options: InputOptions<'_>) -> Result<MappedArray> {
        match key {
            Some(offset) if matches!(self.file, AnyFile::Npy(_)) => {
                options.array(&self.input.with_member(offset))
            }
            _ => self.file.get(key),
        }
    }

    /// Checks that no array is lost if the output replaces the file: these must be the keys
    /// of all arrays.
    pub(crate) fn check_lost(&self, kept: &HashSet<String>) -> Result<(), CliError> {
        if !self.is_replaced {
            return Ok(());
        }
        let inputs = self.members(None)?;
        let is_lost =
            |input: &&Input<'_>| input.key.as_ref().is_some_and(|key| !kept.contains(key));
        let lost = inputs.iter().find(is_lost);
        match lost.and_then(|input| input.member.as_ref()) {
            Some(lost) => Err(self.loss_error(&lost.text())),
            None => Ok(()),
        }
    }

    /// The pattern that selects members. Names have precedence over patterns, as
    /// they may contain the same characters.
    fn pattern(&self) -> Option<NamePattern> {
        let member = self.member().filter(|name| NamePattern::is_pattern(name))?;
        let is_name = match &self.file {
            AnyFile::Npz(npz) => npz.member(member).is_ok(),
            AnyFile::Ten(ten) => ten.index(member).is_ok(),
            AnyFile::Tar(_) => self.file.get(Some(member)).is_ok(),
            _ => true,
        };
        if is_name { None } else { member.parse().ok() }
    }

    /// One member, or all arrays in order. Those that can't be opened are among
    /// them, so that the others can be used.
    fn members<'s>(&'s self, member: Option<&'s str>) -> Result<Vec<Input<'s>>, CliError> {
        match &self.file {
            AnyFile::Npz(npz) if member.is_none() => self.arrays_of_npz(None, npz),
            AnyFile::Ten(ten) if member.is_none() => {
                let names = unique_names(ten.headers().map(|header| header.info.as_str()));
                let inputs = names.into_iter().enumerate().map(|(index, name)| Input {
                    name,
                    member: Some(MemberName::Position(index)),
                    key: Some(index.to_string()),
                    path: self.path_of(&index.to_string()),
                    open: Box::new(move || ten.get(index)),
                });
                Ok(inputs.collect())
            }
            AnyFile::Tar(tar) if member.is_none() => self.members_of_tar(tar),
            file => {
                // Its name is that among all members, which it may be called without.
                let mut name = member.unwrap_or("arr_0").to_owned();
                let mut key = member.map(str::to_owned);
                let mut own = member.map(|member| MemberName::Text(member.to_owned()));
                match (file, member) {
                    (AnyFile::Npz(npz), Some(member)) => {
                        if let Ok(found) = npz.member(member) {
                            (name, key) = (found.name().into(), Some(found.full_name().into()));
                        }
                    }
                    (AnyFile::Ten(ten), Some(member)) => {
                        if let Ok(index) = ten.index(member) {
                            name = unique_names(ten.headers().map(|header| header.info.as_str()))
                                .swap_remove(index);
                            key = Some(index.to_string());
                            own = Some(MemberName::Position(index));
                        }
                    }
                    (AnyFile::Tar(_), Some(member)) => {
                        name = text::without_npy(member);
                    }
                    _ => {}
                }
                let path = self.input.name().to_owned();
                let open = Box::new(move || file.get(member));
                Ok(vec![Input { name, member: own, key, path, open }])
            }
        }
    }

    /// The arrays of a tar file, in order, with those of archives in it.
    fn members_of_tar<'s>(&'s self, tar: &'s tar::TarFile) -> Result<Vec<Input<'s>>, CliError> {
        let mut inputs: Vec<Input<'_>> = Vec::new();
        tar.prefetch_headers().map_err(CliError::Library)?;
        let names: HashSet<_> = tar.members().map(|member| member.name()).collect();
        for member in last_of_each_name(tar.members(), tar::Member::name) {
            let name = member.name();
            // The names of others may differ in bytes that are not UTF-8.
            tar.member(name).map_err(CliError::Library)?;
            if member.is_npz().is_ok_and(|is_npz| is_npz) {
                match member.npz() {
                    Ok(npz) => {
                        self.check_names(&member, npz.members().len())?;
                        inputs.extend(self.arrays_of_npz(Some(name), Rc::new(npz))?);
                    }
                    // Opening it returns the error.
                    Err(_) => {
                        inputs.push(self.text_input(name, name, move || member.npz()?.get("")));
                    }
                }
            } else if member.is_ten().is_ok_and(|is_ten| is_ten) {
                match member.ten() {
                    Ok(ten) => {
                        self.check_names(&member, ten.headers().len())?;
                        inputs.extend(self.arrays_of_ten(name, &ten));
                    }
                    Err(_) => {
                        inputs.push(self.text_input(name, name, move || member.ten()?.get(0)));
                    }
                }
            } else if member.header().is_ok_and(|header| header.is_none()) {
                self.skip(name, NO_ARRAY)?;
            } else {
                let input = self.text_input(name, name, move || member.open());
                // Unless it is the name of another member.
                let short = name.strip_suffix(".npy").filter(|name| !names.contains(name));
                inputs.push(Input { name: short.unwrap_or(name).to_owned(), ..input });
            }
        }
        Ok(inputs)
    }

    /// A member with this name, that the key finds.
    fn text_input<'s>(
        &self,
        name: &str,
        key: &str,
        open: impl Fn() -> Result<MappedArray> + 's,
    ) -> Input<'s> {
        Input {
            name: name.to_owned(),
            member: Some(MemberName::Text(name.to_owned())),
            key: Some(key.to_owned()),
            path: self.path_of(name),
            open: Box::new(open),
        }
    }

    /// Rejects an archive whose arrays would have names that are much longer than they are.
    fn check_names(&self, member: &tar::Member<'_>, arrays: usize) -> Result<(), CliError> {
        let [len, arrays] = [member.name().len(), arrays].map(|n| u128::from(to_u64(n)));
        if len * arrays <= u128::from(MOST_NAMES) * u128::from(member.size()) {
            return Ok(());
        }
        let reason = "has too many arrays for a name of this length: unpack the tar file first";
        Err(CliError::rejected(self.path_of(member.name()), reason))
    }

    /// The arrays of an `.npz`, which may be the member `outer` of a tar file.
    fn arrays_of_npz<'s>(
        &self,
        outer: Option<&str>,
        npz: impl Deref<Target = Npz> + Clone + 's,
    ) -> Result<Vec<Input<'s>>, CliError> {
        let in_file =
            |name: &str| outer.map_or_else(|| name.to_owned(), |outer| format!("{outer}[{name}]"));
        let members = reachable(&npz);
        // Of a member of a tar file, this would drop what the tar file announced.
        if outer.is_none() {
            npz.prefetch_headers().map_err(CliError::Library)?;
        }
        let hidden = npz.members().len() > members.len();
        for name in hidden.then(|| unreachable(&npz, &members)).into_iter().flatten() {
            self.skip(&in_file(name), "has the same name as another member")?;
        }
        let mut inputs = Vec::new();
        for member in members {
            if member.header().is_ok_and(|header| header.is_none()) {
                self.skip(&in_file(member.full_name()), NO_ARRAY)?;
                continue;
            }
            let (npz, full_name) = (npz.clone(), member.full_name().to_owned());
            let (name, key) = (in_file(member.name()), in_file(&full_name));
            inputs.push(self.text_input(&name, &key, move || npz.get(&full_name)));
        }
        Ok(inputs)
    }

    /// The arrays of a `.ten` in a tar file.
    fn arrays_of_ten<'s>(&self, name: &str, ten: &Ten) -> Vec<Input<'s>> {
        let inputs = (0..ten.headers().len()).map(|index| {
            let (name, ten) = (format!("{name}[{index}]"), ten.clone());
            self.text_input(&name, &name, move || ten.get(index))
        });
        inputs.collect()
    }

    /// Prints that a member is skipped, unless it would be lost.
    fn skip(&self, member: &str, why: &str) -> Result<(), CliError> {
        if self.is_replaced {
            return Err(self.loss_error(member));
        }
        let member = shown(&self.path_of(member));
        messages::print_note(&format_args!("{member}: {why} and is skipped"));
        Ok(())
    }

    fn loss_error(&self, member: &str) -> CliError {
        let reason = "would be lost: choose another name for the output";
        CliError::rejected(self.path_of(member), reason)
    }

    fn path_of(&self, member: &str) -> PathBuf {
        format!("{}[{member}]", self.input.path.display()).into()
    }
}

/// How much longer than a `.ten` the names of its arrays in a tar file are at most.
const MOST_NAMES: u64 = 16;

const NO_ARRAY: &str = "is not an array";

/// The members that names select: `w` takes precedence over `w.npy`, and of
/// members with the same name the last one counts.
fn reachable(npz: &Npz) -> Vec<Member<'_>> {
    let bare = npz.members().filter(has_bare_name).map(|member| member.name());
    let bare: HashSet<_> = bare.collect();
    let members = npz.members();
    let members = members.filter(|member| has_bare_name(member) || !bare.contains(member.name()));
    last_of_each_name(members, Member::full_name)
}

/// Returns whether the name of a member does not end in `.npy`.
fn has_bare_name(member: &Member<'_>) -> bool {
    member.full_name() == member.name()
}

/// The full names of members that are not among `members`.
fn unreachable<'a>(npz: &'a Npz, members: &[Member<'_>]) -> Vec<&'a str> {
    let names: HashSet<_> = members.iter().map(Member::full_name).collect();
    npz.members().map(|member| member.full_name()).filter(|name| !names.contains(name)).collect()
}

/// The last member of each name, in order.
pub(crate) fn last_of_each_name<'a, T>(
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

/// For each array its info if that is unique, otherwise the name that NumPy gives to
/// unnamed arrays.
fn unique_names<'a>(infos: impl Iterator<Item = &'a str>) -> Vec<String> {
    let infos: Vec<&str> = infos.collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for info in &infos {
        *counts.entry(info).or_default() += 1;
    }
    let is_unique = |info: &str| !info.is_empty() && counts.get(info) == Some(&1);
    let all_unique = infos.iter().all(|info| is_unique(info));
    // Such an info could be the name of another array.
    let is_free = |info: &str| all_unique || !info.starts_with("arr_");
    let names = infos.iter().enumerate().map(|(index, info)| {
        let is_name = is_unique(info) && is_free(info);
        if is_name { (*info).to_owned() } else { format!("arr_{index}") }
    });
    names.collect()
}
