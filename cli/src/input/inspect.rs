//! Lists the arrays of a file: the one array of a `.npy`, or the members of an
//! archive.

use crate::input::lengths::to_u64;
use std::fmt;
use std::io;
use std::num::NonZero;
use std::path::Path;

use npymap::{
    MappedArray, OpenOptions, Result,
    any::Format,
    npy::HeaderText,
    npz::{self, Npz},
    tar::{self, TarFile},
    ten::{Ten, TenHeader},
};

use crate::input::array_info::ArrayInfo;
use crate::input::array_path::ArrayPath;
use crate::input::escape::escaped;
use crate::input::globs::NamePattern;
use crate::input::{digest, open, parallel, text, trailing};

/// An array of a file, or a member that is not an array.
pub(crate) struct FileEntry {
    pub(crate) format: Format,
    pub(crate) member: Option<MemberName>,
    /// The info of an array in a `.ten` file.
    pub(crate) info: Option<String>,
    pub(crate) content: Result<EntryContent>,
}

/// The name of a member, or its position in a `.ten` file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum MemberName {
    Text(String),
    Position(usize),
}

impl fmt::Display for MemberName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberName::Text(name) => f.write_str(&escaped(name)),
            MemberName::Position(position) => position.fmt(f),
        }
    }
}

impl MemberName {
    /// The name as it is, without escapes.
    pub(crate) fn text(&self) -> String {
        match self {
            MemberName::Text(name) => name.clone(),
            MemberName::Position(position) => position.to_string(),
        }
    }
}

/// The content of an entry.
pub(crate) enum EntryContent {
    Array(Box<ArrayInfo>),
    /// Not an array.
    Other,
}

impl EntryContent {
    fn array(info: ArrayInfo) -> EntryContent {
        EntryContent::Array(Box::new(info))
    }
}

/// Why listing a file stopped.
enum ListError {
    /// The file cannot be opened.
    Open(npymap::Error),
    /// The entries cannot be printed.
    Output(io::Error),
}

impl From<npymap::Error> for ListError {
    fn from(error: npymap::Error) -> ListError {
        ListError::Open(error)
    }
}

impl From<io::Error> for ListError {
    fn from(error: io::Error) -> ListError {
        ListError::Output(error)
    }
}

/// Lists arrays, with digests if requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inspector {
    max_header_len: usize,
    /// The number of threads that compute digests, if they are requested.
    digest_threads: Option<NonZero<usize>>,
}

impl Inspector {
    pub(crate) fn new(max_header_len: usize) -> Inspector {
        Inspector { max_header_len, digest_threads: None }
    }

    /// Computes the digest of each array; those of several members at a time.
    pub(crate) fn with_digests(self, threads: NonZero<usize>) -> Inspector {
        Inspector { digest_threads: Some(threads), ..self }
    }

    /// The digest of an array, if it is requested.
    fn digest(self, array: impl FnOnce() -> Result<MappedArray>) -> Result<Option<String>> {
        self.digest_threads.map(|_| digest::sha256(&array()?)).transpose()
    }

    fn options(self) -> OpenOptions {
        OpenOptions::new().max_header_len(self.max_header_len)
    }

    /// Calls `visit` with each entry of a file, or with those members that `path`
    /// names. A file that cannot be opened is an entry as well.
    pub(crate) fn for_each_entry(
        self,
        path: &ArrayPath,
        visit: &mut impl FnMut(FileEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        let matching = self.matching(path)?;
        if !matching.is_empty() {
            return matching.into_iter().try_for_each(visit);
        }
        self.for_each_named(path, visit)
    }

    /// The entries that match the pattern in `path`. There are none if it is the
    /// name of a member.
    fn matching(self, path: &ArrayPath) -> io::Result<Vec<FileEntry>> {
        let member = path.member.as_deref().filter(|member| NamePattern::is_pattern(member));
        let Some(pattern) = member.and_then(|member| member.parse::<NamePattern>().ok()) else {
            return Ok(Vec::new());
        };
        let (mut entries, mut is_name) = (Vec::new(), false);
        self.for_each_named(&ArrayPath::from_file(&path.path), &mut |entry| {
            let name = entry.member.as_ref().map(MemberName::text).unwrap_or_default();
            is_name |= path.member.as_deref() == Some(name.as_str());
            let info = entry.info.as_deref();
            if pattern.matches(&name) || info.is_some_and(|info| pattern.matches(info)) {
                entries.push(entry);
            }
            Ok(())
        })?;
        Ok(if is_name { Vec::new() } else { entries })
    }

    /// Calls `visit` with each entry of a file, or with the member of the name in
    /// `path`.
    fn for_each_named(
        self,
        path: &ArrayPath,
        visit: &mut impl FnMut(FileEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.list(path, visit) {
            Ok(()) => Ok(()),
            Err(ListError::Output(error)) => Err(error),
            Err(ListError::Open(error)) => visit(FileEntry {
                format: Format::Npy,
                member: path.member.clone().map(MemberName::Text),
                info: None,
                content: Err(error),
            }),
        }
    }

    fn list(
        self,
        path: &ArrayPath,
        visit: &mut impl FnMut(FileEntry) -> io::Result<()>,
    ) -> Result<(), ListError> {
        match open::format(&path.path, self.max_header_len)? {
            Format::Npz => self.list_npz(path, visit),
            Format::Ten => self.list_ten(path, visit),
            Format::Tar => {
                let tar = open::tar_file(&path.path)?;
                let entries = self.tar_entries(&tar, path.member.as_deref())?;
                Ok(entries.into_iter().try_for_each(visit)?)
            }
            format if path.member.is_none() || path.offset().is_some() => {
                let content = self.npy(path).map(EntryContent::array);
                let member = path.member.clone().map(MemberName::Text);
                Ok(visit(FileEntry { format, member, info: None, content })?)
            }
            // Fails: this format has no members.
            _ => {
                open::any(&path.path, self.max_header_len)?.get(path.member.as_deref())?;
                Ok(())
            }
        }
    }

    fn npy(self, input: &ArrayPath) -> Result<ArrayInfo> {
        let path = &input.path;
        let (options, at) = open::npy_options(input, self.max_header_len);
        let source = open::read_source(path, self.max_header_len)?;
        let header = options.header(&source)?;
        let offset = to_u64(header.data_offset).saturating_add(at.unwrap_or(0));
        let mut info = ArrayInfo::from_header(&header, Some(offset))?;
        info.trailing = trailing::note(path, &source, &options, at.is_some());
        info.digest = self.digest(|| options.open(open::map_arrays(path, self.max_header_len)?))?;
        Ok(info)
    }

    fn list_npz(
        self,
        path: &ArrayPath,
        visit: &mut impl FnMut(FileEntry) -> io::Result<()>,
    ) -> Result<(), ListError> {
        let npz = open::npz(&path.path, self.max_header_len)?;
        let mut members = npz_members(&npz, path.member.as_deref())?.into_iter();
        if path.member.is_none() {
            npz.prefetch_headers()?;
        }
        parallel::pipeline(
            self.digest_threads.map_or(1, NonZero::get),
            || Ok(members.next()),
            |member| {
                let name = Some(MemberName::Text(member.name().to_owned()));
                let content = self.npz_content(&member);
                Ok(FileEntry { format: Format::Npz, member: name, info: None, content })
            },
            |entry| Ok(visit(entry)?),
        )
    }

    fn npz_content(self, member: &npz::Member<'_>) -> Result<EntryContent> {
        let Some(header) = member.header()? else { return Ok(EntryContent::Other) };
        let mut info = ArrayInfo::from_header(&header, member.data_offset()?)?;
        info.digest = self.digest(|| member.open())?;
        Ok(EntryContent::array(info))
    }

    fn list_ten(
        self,
        path: &ArrayPath,
        visit: &mut impl FnMut(FileEntry) -> io::Result<()>,
    ) -> Result<(), ListError> {
        let ten = open::ten(&path.path)?;
        let requested = path.member.as_deref().map(|name| ten.index(name)).transpose()?;
        for (index, info) in ten.infos().enumerate() {
            if requested.is_none_or(|requested| requested == index) {
                visit(FileEntry {
                    format: Format::Ten,
                    member: Some(MemberName::Position(index)),
                    info: Some(info.to_owned()),
                    content: self.ten_content(&ten, index),
                })?;
            }
        }
        Ok(())
    }

    fn ten_content(self, ten: &Ten, index: usize) -> Result<EntryContent> {
        let offset = ten.data_offset(index)?;
        let array = ten.get(index)?;
        let mut info = ArrayInfo::from_ten(array.layout().clone(), offset);
        info.digest = self.digest(|| Ok(array))?;
        Ok(EntryContent::array(info))
    }

    /// The entries of a tar file: each `.npy`, and each array of each `.npz` and `.ten`.
    fn tar_entries(self, tar: &TarFile, requested: Option<&str>) -> Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        if requested.is_none() {
            tar.prefetch_headers()?;
        }
        for member in select_members(tar, requested)? {
            let name = member.name().to_owned();
            if member.is_npz()? {
                match member.npz() {
                    Ok(npz) => entries.extend(self.npz_entries(&npz, &name, requested)),
                    Err(error) => entries.push(tar_entry(name, None, Err(error))),
                }
                continue;
            }
            if !member.is_ten()? {
                entries.push(tar_entry(name, None, self.tar_content(&member)));
                continue;
            }
            match member.ten() {
                Ok(ten) => entries.extend(self.ten_entries(&ten, &name, requested)),
                Err(error) => entries.push(tar_entry(name, None, Err(error))),
            }
        }
        check_selection(tar, requested, entries.is_empty())?;
        Ok(entries)
    }

    /// The selected arrays of an `.npz` that is the member `name` of a tar file.
    fn npz_entries(
        self,
        npz: &Npz,
        name: &str,
        requested: Option<&str>,
    ) -> impl Iterator<Item = FileEntry> {
        let selected = npz.members().filter(move |member| is_in_npz(requested, name, member));
        selected.map(move |member| {
            tar_entry(format!("{name}[{}]", member.name()), None, self.npz_content(&member))
        })
    }

    fn tar_content(self, member: &tar::Member<'_>) -> Result<EntryContent> {
        let Some(header) = member.header()? else { return Ok(EntryContent::Other) };
        let start = to_u64(header.data_offset);
        let offset = member.offset().saturating_add(start);
        let mut info = ArrayInfo::from_header(&header, Some(offset))?;
        info.digest = self.digest(|| member.open())?;
        Ok(EntryContent::array(info))
    }

    /// The selected arrays of a `.ten` that is the member `name` of a tar file.
    fn ten_entries(
        self,
        ten: &Ten,
        name: &str,
        requested: Option<&str>,
    ) -> impl Iterator<Item = FileEntry> {
        let infos = ten.infos().enumerate();
        let selected = infos.filter(move |(index, _)| is_selected(requested, name, ten, *index));
        selected.map(move |(index, info)| {
            let content = self.ten_content(ten, index);
            tar_entry(format!("{name}[{index}]"), Some(info.to_owned()), content)
        })
    }

    /// The text of each header of a file, as stored; the binary headers of a
    /// `.ten` as Python literals.
    pub(crate) fn header_texts(self, path: &ArrayPath) -> Result<Vec<Result<String>>> {
        let matching = self.matching(path).unwrap_or_default();
        let members = matching.into_iter().map(|entry| entry.member);
        match members.collect::<Option<Vec<_>>>() {
            Some(members) if !members.is_empty() => {
                let own = members.iter().map(|name| self.texts(&path.with_member(&name.text())));
                Ok(own.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
            }
            // No member matches, or the file has an error, which is returned.
            _ => self.texts(path),
        }
    }

    /// The texts of all members, or of the one that is named.
    fn texts(self, path: &ArrayPath) -> Result<Vec<Result<String>>> {
        match open::format(&path.path, self.max_header_len)? {
            Format::Npz => self.npz_texts(path),
            Format::Ten => {
                let ten = open::ten(&path.path)?;
                let requested = path.member.as_deref().map(|name| ten.index(name)).transpose()?;
                let headers = ten.headers().enumerate();
                let headers = headers.filter(|(index, _)| requested.is_none_or(|i| i == *index));
                Ok(headers.map(|(_, header)| Ok(python_literal(header))).collect())
            }
            Format::Tar => self.tar_texts(path),
            _ if path.member.is_none() || path.offset().is_some() => {
                let (options, at) = open::npy_options(path, self.max_header_len);
                let source = open::read_source(&path.path, self.max_header_len)?;
                trailing::note(&path.path, &source, &options, at.is_some());
                Ok(vec![options.header_text(&source).map(|text| trimmed(&text))])
            }
            // Fails: this format has no members.
            _ => open::any(&path.path, self.max_header_len)?
                .get(path.member.as_deref())
                .map(|_| Vec::new()),
        }
    }

    fn npz_texts(self, path: &ArrayPath) -> Result<Vec<Result<String>>> {
        let npz = open::npz(&path.path, self.max_header_len)?;
        let members = npz_members(&npz, path.member.as_deref())?;
        if path.member.is_none() {
            npz.prefetch_headers()?;
        }
        let arrays = members.into_iter().filter(|member| !matches!(member.header(), Ok(None)));
        Ok(arrays.map(|member| self.npz_text(&member)).collect())
    }

    fn npz_text(self, member: &npz::Member<'_>) -> Result<String> {
        let text = HeaderText::read(member.reader()?, self.max_header_len);
        // Those of `header` name the member.
        let text = text.map_err(|error| member.header().err().unwrap_or(error))?;
        Ok(trimmed(&text))
    }

    fn tar_texts(self, path: &ArrayPath) -> Result<Vec<Result<String>>> {
        let tar = open::tar_file(&path.path)?;
        let requested = path.member.as_deref();
        let mut texts = Vec::new();
        if requested.is_none() {
            tar.prefetch_headers()?;
        }
        for member in select_members(&tar, requested)? {
            if member.is_npz()? {
                match member.npz() {
                    Ok(npz) => texts.extend(self.npz_texts_in(&npz, member.name(), requested)),
                    Err(error) => texts.push(Err(error)),
                }
                continue;
            }
            if !member.is_ten()? {
                texts.extend(self.tar_text(&path.path, &member).transpose());
                continue;
            }
            match member.ten() {
                Ok(ten) => {
                    let headers = ten.headers().enumerate();
                    let selected = headers
                        .filter(|(index, _)| is_selected(requested, member.name(), &ten, *index));
                    texts.extend(selected.map(|(_, header)| Ok(python_literal(header))));
                }
                Err(error) => texts.push(Err(error)),
            }
        }
        check_selection(&tar, requested, texts.is_empty())?;
        Ok(texts)
    }

    /// The texts of the selected arrays of an `.npz` that is the member `name` of a tar file.
    fn npz_texts_in(self, npz: &Npz, name: &str, requested: Option<&str>) -> Vec<Result<String>> {
        let selected = npz.members().filter(|member| is_in_npz(requested, name, member));
        let arrays = selected.filter(|member| !matches!(member.header(), Ok(None)));
        arrays.map(|member| self.npz_text(&member)).collect()
    }

    /// The header text of a `.npy` in a tar file; `None` for other members.
    fn tar_text(self, path: &Path, member: &tar::Member<'_>) -> Result<Option<String>> {
        if member.header()?.is_none() {
            return Ok(None);
        }
        let options = self.options().offset(member.offset());
        options
            .header_text(&open::read_source(path, self.max_header_len)?)
            .map(|text| Some(trimmed(&text)))
    }
}

fn tar_entry(name: String, info: Option<String>, content: Result<EntryContent>) -> FileEntry {
    FileEntry { format: Format::Tar, member: Some(MemberName::Text(name)), info, content }
}

/// The requested member of an archive, or all of them.
fn npz_members<'a>(npz: &'a npz::Npz, requested: Option<&str>) -> Result<Vec<npz::Member<'a>>> {
    match requested {
        Some(name) => Ok(vec![npz.member(name)?]),
        None => Ok(npz.members().collect()),
    }
}

/// All members of a tar file, or the last one with the requested name: the name
/// of a `.npy`, of a `.ten`, or of an array in a `.ten`, as `000000.ten[0]`.
fn select_members<'a>(tar: &'a TarFile, requested: Option<&str>) -> Result<Vec<tar::Member<'a>>> {
    let Some(requested) = requested else { return Ok(tar.members().collect()) };
    let exact = tar.members().filter(|member| member.name() == requested).last();
    let member = exact.or_else(|| {
        tar.members().filter(|member| array_in_ten(requested, member.name()).is_some()).last()
    });
    // Without a match, fails with an error that lists the names there are.
    member.map_or_else(|| tar.member(requested), Ok).map(|member| vec![member])
}

/// Fails if nothing was found under the requested name, with an error that
/// lists the names there are.
fn check_selection(tar: &TarFile, requested: Option<&str>, is_empty: bool) -> Result<()> {
    match requested {
        Some(name) if is_empty => {
            tar.member(name)?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The part of `000000.ten[0]` in brackets, if the rest is `name`.
fn array_in_ten<'a>(requested: &'a str, name: &str) -> Option<&'a str> {
    requested.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')
}

/// Returns whether a member of an `.npz` in a tar file is selected: all are, unless one is
/// requested.
fn is_in_npz(requested: Option<&str>, name: &str, member: &npz::Member<'_>) -> bool {
    let requested = requested.filter(|&requested| requested != name);
    requested.is_none_or(|requested| {
        let array = array_in_ten(requested, name);
        array.is_some_and(|array| [member.name(), member.full_name()].contains(&array))
    })
}

/// Returns whether an array of a `.ten` in a tar file is selected: all are,
/// unless one is requested by its position or info.
fn is_selected(requested: Option<&str>, name: &str, ten: &Ten, index: usize) -> bool {
    let requested = requested.filter(|&requested| requested != name);
    requested.is_none_or(|requested| {
        array_in_ten(requested, name).is_some_and(|array| ten.index(array).ok() == Some(index))
    })
}

fn trimmed(text: &HeaderText<'_>) -> String {
    text.as_str().trim_end().to_owned()
}

fn python_literal(header: &TenHeader) -> String {
    let code = header.dtype.to_string();
    let code = code.trim_matches(['\'', '<', '|']);
    let (info, shape) = (header.info.escape_default(), text::shape(&header.shape));
    format!("{{'code': '{code}', 'info': '{info}', 'shape': {shape}}}")
}
