//! The identity of a cached object: the name of its files, and the header of its
//! marks file.

use crate::object::Version;

/// The length of the header, which the marks follow.
pub(super) const HEADER: u64 = 4096;

/// The first line of the header.
const MAGIC: &str = "npymap cache 2";

/// The identity of a cached object.
#[derive(Debug, PartialEq)]
pub(crate) struct Key {
    /// Its URL, and the settings that say which store that is.
    pub(crate) place: String,
    pub(crate) version: Version,
}

/// An object's file name, without extension: the FNV-1a hash of the place. Objects with
/// equal names by accident differ in the header.
pub(super) fn file_name(place: &str) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    let hash =
        place.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}

/// Returns whether files of this name, without extension, belong to an object.
pub(super) fn is_file_name(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Key {
    /// The header of the marks file, or `None` if it cannot identify the object.
    pub(super) fn encode(&self, boot: &str) -> Option<Vec<u8>> {
        let Version { size, e_tag, .. } = &self.version;
        let e_tag = e_tag.as_deref().filter(|tag| !tag.starts_with("W/"))?;
        let size = size.to_string();
        let lines = [MAGIC, boot, &size, e_tag, &self.place, ""];
        // Each in one line, and no padding inside.
        if lines.iter().any(|line| line.contains(['\n', '\0'])) {
            return None;
        }
        let mut header = lines.join("\n").into_bytes();
        let len = usize::try_from(HEADER).ok().filter(|&len| header.len() < len)?;
        header.resize(len, 0);
        Some(header)
    }

    /// Parses a header, and returns it with the boot that wrote the blocks.
    pub(super) fn parse(header: &[u8]) -> Option<(Key, &str)> {
        let text = header.split(|&byte| byte == 0).next()?;
        let lines: Vec<&str> = std::str::from_utf8(text).ok()?.split('\n').collect();
        let [MAGIC, boot, size, e_tag, place, ""] = *lines.as_slice() else { return None };
        let version = Version {
            size: size.parse().ok()?,
            e_tag: Some(e_tag.to_owned()),
            number: None,
            changed: None,
        };
        Some((Key { place: place.to_owned(), version }, boot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(e_tag: &str, place: &str) -> Key {
        let version =
            Version { size: 7, e_tag: Some(e_tag.to_owned()), number: None, changed: None };
        Key { place: place.to_owned(), version }
    }

    #[test]
    fn headers_are_parsed_as_encoded() {
        let key = key("\"a\"", "s3://b/ü npy");
        let header = key.encode("boot").unwrap();
        assert_eq!(header.len(), 4096);
        assert_eq!(Key::parse(&header), Some((key, "boot")));
        for end in 0..header.iter().position(|&byte| byte == 0).unwrap() {
            assert_eq!(Key::parse(&header[..end]), None);
        }
    }

    #[test]
    fn objects_that_a_header_cannot_identify_are_not_cached() {
        for key in [
            key("W/\"a\"", "a"),
            key("\"a\n\"", "a"),
            key("\"a\"", "\0"),
            key("\"a\"", &"a".repeat(4096)),
        ] {
            assert_eq!(key.encode("boot"), None);
        }
        let mut weak = key("", "a");
        weak.version.e_tag = None;
        assert_eq!(weak.encode("boot"), None);
    }

    #[test]
    fn names_of_files_are_those_of_the_hash() {
        assert_eq!(file_name(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(file_name("foobar"), "343e1662793c64bf6f0d3597ba446f18");
        assert!(is_file_name(&file_name("s3://a/b")));
        for name in
            ["", "lock", "../c62272e07bb014262b821756295c58", "6C62272E07BB014262B821756295C58D"]
        {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
