//! Decodes the names of members, and converts them to NumPy's keys.

/// The characters of code page 437 from 128 on, for names without the UTF-8 flag
/// (APPNOTE.TXT, appendix D; Python's `cp437`).
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The key of a member: its name without `.npy`, as in NumPy's `files`.
#[inline]
pub(super) fn key(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

/// Decodes a name as UTF-8 or as code page 437, as Python's `zipfile` does.
/// Rejects names that other readers would truncate or could not decode.
#[inline]
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

#[inline]
fn cp437(byte: u8) -> char {
    match byte.checked_sub(128) {
        None => char::from(byte),
        Some(index) => CP437.chars().nth(usize::from(index)).unwrap_or(char::REPLACEMENT_CHARACTER),
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
    fn a_key_lacks_one_suffix() {
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
