//! The keywords of pax headers in tar files that say what a member is.

/// What a pax header says of a member's name and bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pax {
    path: Option<Vec<u8>>,
    /// The name of a sparse member, whose `path` is a made-up one.
    sparse_name: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    /// The length of a sparse member with its holes.
    pub(super) real_size: Option<u64>,
    pub(super) is_sparse: bool,
}

impl Pax {
    /// Parses records of the form `27 path=name of a member\n`, or reports
    /// what is wrong with them.
    pub(super) fn parse(mut records: &[u8]) -> Result<Pax, &'static str> {
        let mut pax = Pax::default();
        // What follows the last record is padding.
        while records.first().is_some_and(|&byte| byte != 0) {
            let (keyword, value, rest) = record(records).ok_or("a malformed pax header")?;
            pax.set(keyword, value)?;
            records = rest;
        }
        Ok(pax)
    }

    pub(super) fn name(&self) -> Option<&[u8]> {
        self.sparse_name.as_deref().or(self.path.as_deref())
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Pax::default()
    }

    fn set(&mut self, keyword: &[u8], value: &[u8]) -> Result<(), &'static str> {
        match keyword {
            b"path" => self.path = name(value)?,
            b"GNU.sparse.name" => self.sparse_name = name(value)?,
            b"size" => self.size = size(value)?,
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => self.real_size = size(value)?,
            _ => {}
        }
        self.is_sparse |= keyword.starts_with(b"GNU.sparse.");
        Ok(())
    }
}

/// The keyword and the value of the first record, and the records after it.
fn record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = records.iter().take(20).position(|&byte| byte == b' ')?;
    let digits = records.get(..space)?;
    let len = decimal(digits).and_then(|len| usize::try_from(len).ok())?;
    let (record, rest) = records.split_at_checked(len)?;
    let content = record.get(space.checked_add(1)?..)?.strip_suffix(b"\n")?;
    let equals = content.iter().position(|&byte| byte == b'=')?;
    let (keyword, value) = content.split_at_checked(equals)?;
    Some((keyword, value.get(1..)?, rest))
}

/// A name. Programs differ in whether an empty one takes back the one in the
/// header.
fn name(value: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    if value.is_empty() || value.contains(&0) {
        return Err("a name is empty or contains a NUL");
    }
    Ok(Some(value.to_vec()))
}

fn size(value: &[u8]) -> Result<Option<u64>, &'static str> {
    decimal(value).map(Some).ok_or("the size of a member is not a number")
}

fn decimal(digits: &[u8]) -> Option<u64> {
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
        let parse = |text: &[u8]| Pax::parse(text);
        let pax = parse(b"12 path=a\nb\n12 size=123\n\0\0").unwrap();
        assert_eq!((pax.name(), pax.size), (Some(&b"a\nb"[..]), Some(123)));
        let pax = parse(b"10 path=x\n21 GNU.sparse.name=y\n28 GNU.sparse.realsize=4096\n").unwrap();
        assert_eq!(pax.name(), Some(&b"y"[..]));
        assert_eq!((pax.real_size, pax.is_sparse), (Some(4096), true));
        assert!(parse(b"").unwrap().is_default());
        assert!(parse(b"12 comment=\n").unwrap().is_default());
        for text in [
            &b"8 path=x\n"[..],
            b"11 path=x\n",
            b"10 path=x",
            b"path=x\n",
            b"+10 path=x\n",
            b"10 path x\n",
            b"99999999999999999999 path=x\n",
            b"12 path=a\0b\n",
            b"10 size=x\n",
            b"8 path=\n",
            b"8 size=\n",
        ] {
            assert!(parse(text).is_err(), "{}", text.escape_ascii());
        }
    }
}
