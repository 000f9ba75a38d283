//! Parses the pax headers of tar files.

/// The keywords of a pax header that describe a member's name and bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pax {
    path: Option<Vec<u8>>,
    /// Whether `path` ended in a slash, as for a directory.
    pub(super) has_slash: bool,
    /// The target of a link.
    pub(super) link: Option<Vec<u8>>,
    /// The name of a sparse member, for which `path` is a placeholder.
    sparse_name: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    /// The length of a sparse member, including its holes.
    pub(super) real_size: Option<u64>,
    pub(super) is_sparse: bool,
}

impl Pax {
    /// Parses records of the form `27 path=name of a member\n`. The error is a
    /// description of the problem.
    #[inline]
    pub(super) fn parse(mut records: &[u8]) -> Result<Pax, &'static str> {
        let mut pax = Pax::default();
        // NULs after the last record are padding.
        while records.first().is_some_and(|&byte| byte != 0) {
            let (keyword, value, rest) =
                split_record(records).ok_or("a pax header is malformed")?;
            pax.set(keyword, value)?;
            records = rest;
        }
        Ok(pax)
    }

    #[inline]
    pub(super) fn name(&self) -> Option<&[u8]> {
        self.sparse_name.as_deref().or(self.path.as_deref())
    }

    #[inline]
    fn set(&mut self, keyword: &[u8], value: &[u8]) -> Result<(), &'static str> {
        match keyword {
            b"path" => {
                self.path = Some(parse_name(without_slashes(value))?);
                self.has_slash = value.ends_with(b"/");
            }
            b"linkpath" => self.link = Some(value.to_vec()),
            b"GNU.sparse.name" => self.sparse_name = Some(parse_name(value)?),
            b"size" => self.size = Some(parse_size(value)?),
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => {
                self.real_size = Some(parse_size(value)?);
            }
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => {
                parse_size(value)?;
            }
            _ => {}
        }
        self.is_sparse |= keyword.starts_with(b"GNU.sparse.");
        Ok(())
    }
}

/// Splits off the first record: its keyword, its value and the records after
/// it.
#[inline]
fn split_record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = records.iter().take(20).position(|&byte| byte == b' ')?;
    let digits = records.get(..space)?;
    let len = parse_decimal(digits).and_then(|len| usize::try_from(len).ok())?;
    let (record, rest) = records.split_at_checked(len)?;
    let content = record.get(space.checked_add(1)?..)?.strip_suffix(b"\n")?;
    let equals = content.iter().position(|&byte| byte == b'=').filter(|&equals| equals > 0)?;
    let (keyword, value) = content.split_at_checked(equals)?;
    Some((keyword, value.get(1..)?, rest))
}

/// Parses a name. Empty values are rejected, because programs disagree on
/// whether they cancel the name in the member's own header.
#[inline]
fn parse_name(value: &[u8]) -> Result<Vec<u8>, &'static str> {
    if value.is_empty() || value.contains(&0) {
        return Err("a name is empty or contains a NUL");
    }
    Ok(value.to_vec())
}

/// A name without slashes at its end, which Python removes even from names of files.
#[inline]
pub(super) fn without_slashes(mut name: &[u8]) -> &[u8] {
    while let Some(shorter) = name.strip_suffix(b"/") {
        name = shorter;
    }
    name
}

#[inline]
fn parse_size(value: &[u8]) -> Result<u64, &'static str> {
    parse_decimal(value).ok_or("the size of a member is not a number")
}

#[inline]
fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_as_long_as_they_say() {
        let pax = Pax::parse(b"12 path=a\nb\n12 size=123\n\0\0").unwrap();
        assert_eq!((pax.name(), pax.size), (Some(&b"a\nb"[..]), Some(123)));
        let pax = b"10 path=x\n21 GNU.sparse.name=y\n28 GNU.sparse.realsize=4096\n";
        let pax = Pax::parse(pax).unwrap();
        assert_eq!(pax.name(), Some(&b"y"[..]));
        assert_eq!((pax.real_size, pax.is_sparse), (Some(4096), true));
        assert_eq!(Pax::parse(b"12 path=a//\n").unwrap().name(), Some(&b"a"[..]));
        assert_eq!(Pax::parse(b""), Ok(Pax::default()));
        assert_eq!(Pax::parse(b"12 comment=\n"), Ok(Pax::default()));
        for text in [
            &b"8 path=x\n"[..],
            b"11 path=x\n",
            b"10 path=x",
            b"path=x\n",
            b"+10 path=x\n",
            b"10 path x\n",
            b"5 =x\n",
            b"99999999999999999999 path=x\n",
            b"12 path=a\0b\n",
            b"10 size=x\n",
            b"8 path=\n",
            b"11 path=//\n",
            b"8 size=\n",
            b"23 GNU.sparse.offset=x\n",
        ] {
            assert!(Pax::parse(text).is_err(), "{}", text.escape_ascii());
        }
    }
}
