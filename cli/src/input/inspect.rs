//! Lists the arrays of a file: the one array of a `.npy`, or the members of an
//! archive.

use crate::input::lengths::to_u64;
use std::fmt;
use std::io;

use npymap::{
    Header, MappedArray, Order, Result,
    any::Format,
    array::Trailing,
    layout::Layout,
    npy::{HeaderText, Version},
    npz::{self, Npz},
    tar::{self, TarFile},
    ten::{Ten, TenHeader},
};

use crate::input::array_path::ArrayPath;
use crate::input::escape::escaped;
use crate::input::globs::NamePattern;
use crate::input::{digest, header_len, open, parallel, text, trailing};

/// An array of a file, or a member that is not an array.
pub(crate) struct FileEntry {
    /// The name of the format in JSON.
    pub(crate) format: &'static str,
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
    /// The text of an array's header, as stored, or the binary header of a `.ten` as a
    /// Python literal.
    Header(String),
    /// Not an array.
    Other,
}

/// Facts about an array.
pub(crate) struct ArrayInfo {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// The version of a `.npy`.
    pub(crate) version: Option<Version>,
    /// Where the elements start in the file; `None` if they are deflated.
    pub(crate) data_offset: Option<u64>,
    /// SHA-256 of the elements, if requested.
    pub(crate) digest: Option<String>,
    /// What follows the elements in a `.npy` file.
    pub(crate) trailing: Option<Trailing>,
}

impl ArrayInfo {
    /// Facts about an array without a header of its own.
    pub(crate) fn new(layout: Layout, order: Order, data_offset: Option<u64>) -> ArrayInfo {
        ArrayInfo { layout, order, version: None, data_offset, digest: None, trailing: None }
    }

    /// Facts from the header of a `.npy`.
    pub(crate) fn from_header(header: &Header, data_offset: Option<u64>) -> Result<ArrayInfo> {
        let info = ArrayInfo::new(header.layout()?, header.order, data_offset);
        Ok(ArrayInfo { version: Some(header.version), ..info })
    }
}

/// Lists arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inspector(pub(crate) Wanted);

/// What is read of each array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Facts,
    /// And the digest, those of several members at a time, on so many threads.
    Digests(usize),
    HeaderText,
}

type Visit<'v> = &'v mut dyn FnMut(FileEntry) -> io::Result<()>;

/// As `Visit`, whose errors end the list.
type Add<'v> = &'v mut dyn FnMut(FileEntry) -> Result<()>;

impl Inspector {
    /// An array, with its digest if that is wanted.
    pub(crate) fn array(
        self,
        mut info: ArrayInfo,
        array: impl FnOnce() -> Result<MappedArray>,
    ) -> Result<EntryContent> {
        if let Wanted::Digests(_) = self.0 {
            info.digest = Some(digest::sha256(&array()?)?);
        }
        Ok(EntryContent::Array(Box::new(info)))
    }

    /// Calls `visit` with each entry of a file, or with those members that `path`
    /// names. A file that cannot be opened is an entry as well.
    pub(crate) fn for_each_entry(self, path: &ArrayPath, visit: Visit<'_>) -> io::Result<()> {
        let matching = self.matching(path)?;
        if !matching.is_empty() {
            return matching.into_iter().try_for_each(visit);
        }
        self.for_each_named(path, visit)
    }

    /// All entries of a file, as [`for_each_entry`](Inspector::for_each_entry) visits them.
    pub(crate) fn entries(self, path: &ArrayPath) -> io::Result<Vec<FileEntry>> {
        let mut entries = Vec::new();
        self.for_each_entry(path, &mut |entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    }

    /// The entries that match the pattern in `path`. There are none if it is the
    /// name of a member.
    fn matching(self, path: &ArrayPath) -> io::Result<Vec<FileEntry>> {
        let member = path.member.as_deref().filter(|member| NamePattern::is_pattern(member));
        // A text that is no valid pattern is a name.
        let Some(Ok(pattern)) = member.map(str::parse::<NamePattern>) else {
            return Ok(Vec::new());
        };
        let (mut entries, mut is_name) = (Vec::new(), false);
        self.for_each_named(&ArrayPath::from_file(&path.path), &mut |entry| {
            let name = entry.member.as_ref().map_or_else(String::new, MemberName::text);
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
    fn for_each_named(self, path: &ArrayPath, visit: Visit<'_>) -> io::Result<()> {
        // The error of `visit`, which is about the output.
        let mut failure = None;
        let listed = self.list(path, &mut |entry| {
            visit(entry).map_err(|error| {
                failure = Some(error);
                io::Error::from(io::ErrorKind::Other).into()
            })
        });
        match (failure, listed) {
            (Some(failure), _) => Err(failure),
            (None, Ok(())) => Ok(()),
            (None, Err(error)) => visit(FileEntry {
                format: "npy",
                member: path.member.clone().map(MemberName::Text),
                info: None,
                content: Err(error),
            }),
        }
    }

    fn list(self, path: &ArrayPath, add: Add<'_>) -> Result<()> {
        let requested = path.member.as_deref();
        let source = open::map_arrays(&path.path)?;
        match Format::recognize(&source)? {
            Format::Npz => {
                let npz = open::npz_options().open(source)?;
                self.list_npz(&npz, None, requested, add)
            }
            Format::Ten => self.list_ten(&Ten::open(source)?, None, requested, add),
            Format::Tar => self.list_tar(path, &TarFile::open(source)?, add),
            _ if path.member.is_none() || path.offset().is_some() => {
                let member = path.member.clone().map(MemberName::Text);
                let content = self.npy(path);
                add(FileEntry { format: "npy", member, info: None, content })
            }
            // Fails: this format has no members.
            _ => open::any(&path.path)?.get(requested).map(drop),
        }
    }

    fn npy(self, input: &ArrayPath) -> Result<EntryContent> {
        let path = &input.path;
        let (options, at) = open::npy_options(input);
        let source = open::read_source(path)?;
        if self.0 == Wanted::HeaderText {
            trailing::note(path, &source, &options, at.is_some());
            return options.header_text(&source).map(|text| header_text(&text));
        }
        let header = options.header(&source)?;
        let offset = to_u64(header.data_offset) + at.unwrap_or(0);
        let mut info = ArrayInfo::from_header(&header, Some(offset))?;
        info.trailing = trailing::note(path, &source, &options, at.is_some());
        self.array(info, || options.open(open::map_arrays(path)?))
    }

    /// Lists the members of an `.npz`, which may be a member of a tar file itself.
    fn list_npz(
        self,
        npz: &Npz,
        outer: Option<&str>,
        requested: Option<&str>,
        add: Add<'_>,
    ) -> Result<()> {
        let members: Vec<_> = if let Some(name) = requested {
            vec![npz.member(name)?]
        } else {
            // Of a member of a tar file, this would drop what the tar file announced.
            if outer.is_none() {
                npz.prefetch_headers()?;
            }
            npz.members().collect()
        };
        let most = if let Wanted::Digests(threads) = self.0 { threads } else { 1 };
        parallel::on_threads(
            most,
            members.into_iter(),
            |member| {
                let name = MemberName::Text(member.name().to_owned());
                Ok(FileEntry::of_archive("npz", outer, name, self.npz_content(&member)))
            },
            add,
        )
    }

    fn npz_content(self, member: &npz::Member<'_>) -> Result<EntryContent> {
        let header = match member.header() {
            Ok(None) => return Ok(EntryContent::Other),
            header if self.0 == Wanted::HeaderText => {
                let text = HeaderText::read(member.reader()?, header_len::max());
                // Errors of `header` name the member.
                return match (text, header) {
                    (Ok(text), _) => Ok(header_text(&text)),
                    (Err(_), Err(error)) | (Err(error), Ok(_)) => Err(error),
                };
            }
            Ok(Some(header)) => header,
            Err(error) => return Err(error),
        };
        let info = ArrayInfo::from_header(&header, member.data_offset()?)?;
        self.array(info, || member.open())
    }

    /// Lists the arrays of a `.ten`, which may be a member of a tar file.
    fn list_ten(
        self,
        ten: &Ten,
        outer: Option<&str>,
        requested: Option<&str>,
        add: Add<'_>,
    ) -> Result<()> {
        let requested = requested.map(|name| ten.index(name)).transpose()?;
        let headers = ten.headers().enumerate();
        let mut own = headers.filter(|(index, _)| requested.is_none_or(|own| own == *index));
        own.try_for_each(|(index, header)| {
            let (name, content) =
                (MemberName::Position(index), self.ten_content(ten, index, header));
            let entry = FileEntry::of_archive("ten", outer, name, content);
            add(FileEntry { info: Some(header.info.clone()), ..entry })
        })
    }

    fn ten_content(self, ten: &Ten, index: usize, header: &TenHeader) -> Result<EntryContent> {
        if self.0 == Wanted::HeaderText {
            return Ok(EntryContent::Header(python_literal(header)));
        }
        let offset = ten.data_offset(index)?;
        let array = ten.get(index)?;
        let info = ArrayInfo::new(array.layout().clone(), Order::C, Some(offset));
        self.array(info, || Ok(array))
    }

    /// Lists each `.npy` of a tar file, and each array of each `.npz` and `.ten`.
    fn list_tar(self, path: &ArrayPath, tar: &TarFile, add: Add<'_>) -> Result<()> {
        let (members, requested) = if let Some(requested) = path.member.as_deref() {
            let (member, inner) = select_member(tar, requested)?;
            (vec![member], inner)
        } else {
            tar.prefetch_headers()?;
            (tar.members().collect(), None)
        };
        for member in members {
            let name = member.name();
            let listed = if member.is_npz()? {
                member.npz().map(|npz| self.list_npz(&npz, Some(name), requested, add))
            } else if member.is_ten()? {
                member.ten().map(|ten| self.list_ten(&ten, Some(name), requested, add))
            } else {
                let member_name = MemberName::Text(name.to_owned());
                let content = self.tar_content(path, &member);
                Ok(add(FileEntry::of_archive("tar", None, member_name, content)))
            };
            listed.unwrap_or_else(|error| {
                let name = MemberName::Text(name.to_owned());
                add(FileEntry::of_archive("tar", None, name, Err(error)))
            })?;
        }
        Ok(())
    }

    fn tar_content(self, path: &ArrayPath, member: &tar::Member<'_>) -> Result<EntryContent> {
        let Some(header) = member.header()? else { return Ok(EntryContent::Other) };
        if self.0 == Wanted::HeaderText {
            let source = open::read_source(&path.path)?;
            let text = header_len::options().offset(member.offset()).header_text(&source)?;
            return Ok(header_text(&text));
        }
        let offset = member.offset() + to_u64(header.data_offset);
        self.array(ArrayInfo::from_header(&header, Some(offset))?, || member.open())
    }
}

impl FileEntry {
    pub(crate) fn array(&self) -> Option<&ArrayInfo> {
        match &self.content {
            Ok(EntryContent::Array(array)) => Some(array),
            _ => None,
        }
    }

    /// A member of an archive, which may be the member `outer` of a tar file.
    fn of_archive(
        format: &'static str,
        outer: Option<&str>,
        member: MemberName,
        content: Result<EntryContent>,
    ) -> FileEntry {
        let (format, member) = match outer {
            Some(outer) => ("tar", MemberName::Text(format!("{outer}[{}]", member.text()))),
            None => (format, member),
        };
        FileEntry { format, member: Some(member), info: None, content }
    }
}

/// The last member of a tar file with the requested name: that of a `.npy`, of an archive, or
/// of an array in one, as `000000.ten[0]`, whose own name is returned as well.
fn select_member<'a, 'n>(
    tar: &'a TarFile,
    requested: &'n str,
) -> Result<(tar::Member<'a>, Option<&'n str>)> {
    if let Some(exact) = tar.members().filter(|member| member.name() == requested).last() {
        return Ok((exact, None));
    }
    let inner = |name: &str| requested.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']');
    let found = tar.members().filter_map(|member| Some((member, inner(member.name())?)));
    match found.last() {
        Some((member, inner)) => Ok((member, Some(inner))),
        // Fails with an error that lists the names there are.
        None => tar.member(requested).map(|member| (member, None)),
    }
}

fn header_text(text: &HeaderText<'_>) -> EntryContent {
    EntryContent::Header(text.as_str().trim_end().to_owned())
}

fn python_literal(header: &TenHeader) -> String {
    let code = header.dtype.to_string();
    let code = code.trim_matches(['\'', '<', '|']);
    let (info, shape) = (header.info.escape_default(), text::shape(&header.shape));
    format!("{{'code': '{code}', 'info': '{info}', 'shape': {shape}}}")
}
