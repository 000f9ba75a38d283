//! What files hold: the one array of a `.npy`, or the members of an archive,
//! one after the other.

use std::path::Path;

use npymap::{
    OpenOptions, Result, Source,
    any::Format,
    npy::HeaderText,
    tar::{Shard, ShardMember},
    ten::{Ten, TenHeader},
};

use crate::array_info::ArrayInfo;
use crate::array_path::ArrayPath;
use crate::escape::escaped;
use crate::{digest, open, text};

/// One array, or what stands where one could.
pub(crate) struct FileEntry {
    pub(crate) format: Format,
    pub(crate) member: Option<MemberName>,
    /// The info of an array in a `.ten` file.
    pub(crate) info: Option<String>,
    pub(crate) what: Result<EntryContent>,
}

/// What a member is called.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum MemberName {
    Text(String),
    Position(usize),
}

impl std::fmt::Display for MemberName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MemberName::Text(name) => f.write_str(&escaped(name)),
            MemberName::Position(at) => at.fmt(f),
        }
    }
}

/// What a member is.
pub(crate) enum EntryContent {
    Array(Box<ArrayInfo>),
    /// No array.
    Other,
}

impl EntryContent {
    fn array(found: ArrayInfo) -> EntryContent {
        EntryContent::Array(Box::new(found))
    }
}

/// What is asked of each array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inspector {
    pub(crate) max_header_len: usize,
    pub(crate) digest: bool,
}

impl Inspector {
    pub(crate) fn options(self) -> OpenOptions {
        OpenOptions::new().max_header_len(self.max_header_len)
    }

    /// Calls `tell` with each array of a file, or with the one that is meant.
    /// What can't be opened is told like the others.
    pub(crate) fn each<E>(
        self,
        place: &ArrayPath,
        tell: &mut impl FnMut(FileEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        let done = match open::format(&place.path) {
            Err(error) => Err(error),
            Ok(Format::Npz) => self.npz(place, tell),
            Ok(Format::Ten) => self.ten(place, tell),
            Ok(Format::Tar) => self.tar(place, tell),
            Ok(format) if place.member.is_none() => {
                let what = self.npy(&place.path).map(EntryContent::array);
                return tell(FileEntry { format, member: None, info: None, what });
            }
            // Says why it has no members.
            Ok(_) => open::array(place, self.max_header_len).map(|_| Ok(())),
        };
        done.unwrap_or_else(|error| {
            let member = place.member.clone().map(MemberName::Text);
            tell(FileEntry { format: Format::Npy, member, info: None, what: Err(error) })
        })
    }

    fn npy(self, path: &Path) -> Result<ArrayInfo> {
        let header = self.options().header(&Source::read(path)?)?;
        let offset = u64::try_from(header.data_offset).unwrap_or(u64::MAX);
        let mut found = ArrayInfo::npy(&header, Some(offset))?;
        if self.digest {
            found.digest = Some(digest::sha256(&open::read(path, &self.options())?)?);
        }
        Ok(found)
    }

    fn npz<E>(
        self,
        place: &ArrayPath,
        tell: &mut impl FnMut(FileEntry) -> Result<(), E>,
    ) -> Result<Result<(), E>> {
        let npz = open::npz(&place.path, self.max_header_len)?;
        let members: Vec<_> = match &place.member {
            Some(name) => vec![npz.member(name)?],
            None => npz.members().collect(),
        };
        for member in members {
            let found = || {
                let Some(header) = member.header()? else { return Ok(EntryContent::Other) };
                let mut found = ArrayInfo::npy(&header, member.data_offset()?)?;
                if self.digest {
                    found.digest = Some(digest::sha256(&member.open()?)?);
                }
                Ok(EntryContent::array(found))
            };
            let name = Some(MemberName::Text(member.name().to_owned()));
            let item = FileEntry { format: Format::Npz, member: name, info: None, what: found() };
            if let Err(error) = tell(item) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn ten<E>(
        self,
        place: &ArrayPath,
        tell: &mut impl FnMut(FileEntry) -> Result<(), E>,
    ) -> Result<Result<(), E>> {
        let ten = open::ten(&place.path)?;
        let asked = place.member.as_deref().map(|name| ten.index(name)).transpose()?;
        for (index, info) in ten.infos().enumerate() {
            if asked.is_some_and(|asked| asked != index) {
                continue;
            }
            let item = FileEntry {
                format: Format::Ten,
                member: Some(MemberName::Position(index)),
                info: Some(info.to_owned()),
                what: self.ten_array(&ten, index).map(EntryContent::array),
            };
            if let Err(error) = tell(item) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    fn ten_array(self, ten: &Ten, index: usize) -> Result<ArrayInfo> {
        let offset = ten.data_offset(index)?;
        let array = ten.get(index)?;
        let mut found = ArrayInfo::ten(array.layout().clone(), offset);
        if self.digest {
            found.digest = Some(digest::sha256(&array)?);
        }
        Ok(found)
    }

    fn tar<E>(
        self,
        place: &ArrayPath,
        tell: &mut impl FnMut(FileEntry) -> Result<(), E>,
    ) -> Result<Result<(), E>> {
        let shard = open::shard(&place.path)?;
        for item in self.shard(&shard, place.member.as_deref())? {
            if let Err(error) = tell(item) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// The arrays of a tar file: each `.npy`, and each array of each `.ten`.
    fn shard(self, shard: &Shard, asked: Option<&str>) -> Result<Vec<FileEntry>> {
        let item = |name, info, what| {
            let member = Some(MemberName::Text(name));
            FileEntry { format: Format::Tar, member, info, what }
        };
        let mut found = Vec::new();
        for member in meant(shard, asked)? {
            let name = member.name().to_owned();
            if !member.is_ten()? {
                let what = || {
                    let Some(header) = member.header()? else { return Ok(EntryContent::Other) };
                    let start = u64::try_from(header.data_offset).unwrap_or(u64::MAX);
                    let offset = member.offset().saturating_add(start);
                    let mut found = ArrayInfo::npy(&header, Some(offset))?;
                    if self.digest {
                        found.digest = Some(digest::sha256(&member.open()?)?);
                    }
                    Ok(EntryContent::array(found))
                };
                found.push(item(name, None, what()));
                continue;
            }
            let ten = match member.ten() {
                Ok(ten) => ten,
                Err(error) => {
                    found.push(item(name, None, Err(error)));
                    continue;
                }
            };
            for (index, info) in ten.infos().enumerate() {
                if is_meant(asked, &name, &ten, index) {
                    let what = self.ten_array(&ten, index).map(EntryContent::array);
                    found.push(item(format!("{name}[{index}]"), Some(info.to_owned()), what));
                }
            }
        }
        if let (true, Some(name)) = (found.is_empty(), asked) {
            // Says what there is instead.
            shard.member(name)?;
        }
        Ok(found)
    }

    /// The text of each header of a file, as it stands there; those of a
    /// `.ten`, which are no text, as a Python literal.
    pub(crate) fn header_texts(self, place: &ArrayPath) -> Result<Vec<Result<String>>> {
        match open::format(&place.path)? {
            Format::Npz => self.npz_texts(place),
            Format::Ten => {
                let ten = open::ten(&place.path)?;
                let asked = place.member.as_deref().map(|name| ten.index(name)).transpose()?;
                let headers = ten.headers().enumerate();
                let headers = headers.filter(|(at, _)| asked.is_none_or(|asked| asked == *at));
                Ok(headers.map(|(_, header)| Ok(literal(header))).collect())
            }
            Format::Tar => self.tar_texts(place),
            _ if place.member.is_none() => {
                let source = Source::read(&place.path)?;
                Ok(vec![self.options().header_text(&source).map(|read| text(&read))])
            }
            // Says why it has no members.
            _ => open::array(place, self.max_header_len).map(|_| Vec::new()),
        }
    }

    fn npz_texts(self, place: &ArrayPath) -> Result<Vec<Result<String>>> {
        let npz = open::npz(&place.path, self.max_header_len)?;
        let members: Vec<_> = match &place.member {
            Some(name) => vec![npz.member(name)?],
            None => npz.members().collect(),
        };
        let arrays = members.into_iter().filter(|member| !matches!(member.header(), Ok(None)));
        let read = |member: npymap::npz::Member<'_>| {
            Ok(text(&HeaderText::read(member.reader()?, self.max_header_len)?))
        };
        Ok(arrays.map(read).collect())
    }

    fn tar_texts(self, place: &ArrayPath) -> Result<Vec<Result<String>>> {
        let shard = open::shard(&place.path)?;
        let asked = place.member.as_deref();
        let mut texts = Vec::new();
        for member in meant(&shard, asked)? {
            if member.is_ten()? {
                match member.ten() {
                    Ok(ten) => {
                        let meant = |at| is_meant(asked, member.name(), &ten, at);
                        let headers = ten.headers().enumerate().filter(|(at, _)| meant(*at));
                        texts.extend(headers.map(|(_, header)| Ok(literal(header))));
                    }
                    Err(error) => texts.push(Err(error)),
                }
            } else {
                let at = |_| {
                    let options = self.options().offset(member.offset());
                    options.header_text(&Source::read(&place.path)?).map(|read| text(&read))
                };
                texts.extend(member.header().transpose().map(|header| header.and_then(at)));
            }
        }
        if let (true, Some(name)) = (texts.is_empty(), asked) {
            // Says what there is instead.
            shard.member(name)?;
        }
        Ok(texts)
    }
}

/// The members of a tar file, or the last one of the name that is asked for:
/// that of a `.npy`, of a `.ten`, or of one of its arrays, `000000.ten[0]`.
fn meant<'a>(shard: &'a Shard, asked: Option<&str>) -> Result<Vec<ShardMember<'a>>> {
    let Some(asked) = asked else { return Ok(shard.members().collect()) };
    let last = |is_meant: &dyn Fn(&str) -> bool| {
        shard.members().filter(|member| is_meant(member.name())).last()
    };
    let member = last(&|name| name == asked).or_else(|| last(&|name| inner(asked, name).is_some()));
    // Says what there is instead.
    member.map_or_else(|| shard.member(asked), Ok).map(|member| vec![member])
}

/// `0` of `000000.ten[0]`.
fn inner<'a>(asked: &'a str, name: &str) -> Option<&'a str> {
    asked.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')
}

/// True when all arrays of a `.ten` in a tar file are asked for, or the one at
/// this position, by that or by its info.
fn is_meant(asked: Option<&str>, name: &str, ten: &Ten, index: usize) -> bool {
    let asked = asked.filter(|&asked| asked != name);
    asked.is_none_or(|asked| {
        inner(asked, name).is_some_and(|inner| ten.index(inner).ok() == Some(index))
    })
}

fn text(text: &HeaderText<'_>) -> String {
    text.as_str().trim_end().to_owned()
}

fn literal(header: &TenHeader) -> String {
    let code = header.dtype.to_string();
    let code = code.trim_matches(['\'', '<', '|']);
    let (info, shape) = (header.info.escape_default(), text::shape(&header.shape));
    format!("{{'code': '{code}', 'info': '{info}', 'shape': {shape}}}")
}
