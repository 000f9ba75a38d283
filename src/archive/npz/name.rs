//! Names of members: as bytes in the archive, and as NumPy's keys.

/// What the bytes from 128 on stand for in names that aren't said to be UTF-8
/// (APPNOTE.TXT, appendix D; Python's `cp437`).
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The key of a member: its name without `.npy`, as in NumPy's `files`.
pub(super) fn key(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

/// Decodes a name as Python's `zipfile` does, as UTF-8 or as code page 437.
/// Names that other readers would cut off, or could not decode, are refused.
pub(super) fn decode(bytes: &[u8], is_utf8: bool) -> Result<String, String> {
    if bytes.contains(&0) {
        return Err(format!("the name b\"{}\" contains a NUL", bytes.escape_ascii()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if is_utf8 || text.is_ascii() => Ok(text.to_owned()),
        _ if is_utf8 => Err(format!("the name b\"{}\" is not UTF-8", bytes.escape_ascii())),
        _ => Ok(bytes.iter().map(|&byte| cp437(byte)).collect()),
    }
}

fn cp437(byte: u8) -> char {
    match byte.checked_sub(128) {
        None => char::from(byte),
        Some(at) => CP437.chars().nth(usize::from(at)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_as_python_does() {
        assert_eq!(CP437.chars().count(), 128);
        for (bytes, is_utf8, expected) in [
            (&b"a.npy"[..], false, "a.npy"),
            ("整.npy".as_bytes(), true, "整.npy"),
            (b"\x82t\x82.npy", false, "été.npy"),
            (b"\xff", false, "\u{a0}"),
            (b"", false, ""),
        ] {
            assert_eq!(decode(bytes, is_utf8).unwrap(), expected);
        }
        for (bytes, expected) in [
            (&b"\xff"[..], "the name b\"\\xff\" is not UTF-8"),
            (b"a\0b", "the name b\"a\\x00b\" contains a NUL"),
        ] {
            assert_eq!(decode(bytes, true).unwrap_err(), expected);
        }
    }

    #[test]
    fn one_suffix_is_taken_off() {
        for (name, expected) in [
            ("a.npy", "a"),
            ("a", "a"),
            (".npy", ""),
            ("a.npy.npy", "a.npy"),
            ("layer1/w.npy", "layer1/w"),
            ("a.NPY", "a.NPY"),
        ] {
            assert_eq!(key(name), expected);
        }
    }
}
