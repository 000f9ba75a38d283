//! Checks type strings in `#[record(dtype = "…")]` at compile time.
//!
//! The library parses dtypes, but it depends on this package, and a package cannot
//! contain files of another package. A third package for both would be compiled twice in each
//! build, once for this macro. So this repeats the rules, and a test of the library compares the two.

/// Scalar types without a byte order, by name.
const NAMES: &str = "bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 \
    float64 float128 complex64 complex128 complex256 byte ubyte short ushort intc uintc int uint \
    int_ intp uintp long ulong longlong ulonglong half single float double longdouble csingle \
    complex cdouble clongdouble str str_ unicode bytes bytes_ void a";

/// Scalar types by letter, with or without a byte order.
const LETTERS: &str = "?bBhHiIlLnNpPqQefdgFDGcSUVMm";

const UNITS: [&str; 14] =
    ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as"];

/// Names and letters of types of variable size, whose default size is 0.
const FLEXIBLE: [&str; 8] = ["S", "U", "V", "a", "str", "unicode", "bytes", "void"];

/// The size of NumPy's largest element, in bytes.
pub(crate) const MAX_ITEMSIZE: u64 = 0x7fff_ffff;

/// Returns whether the library parses `text` as a type string.
pub(crate) fn is_typestr(text: &str) -> bool {
    itemsize(text).is_some()
}

/// Returns the itemsize of a type string; `None` if it is not a type string.
pub(crate) fn itemsize(text: &str) -> Option<u64> {
    match text.strip_prefix(['<', '>', '=', '|']) {
        Some(code) if is_letter(code) => Some(itemsize_of_name(code)),
        Some(code) => itemsize_of_code(code),
        None if is_letter(text) || NAMES.split_whitespace().any(|name| name == text) => {
            Some(itemsize_of_name(text))
        }
        None => itemsize_of_code(text),
    }
}

fn is_letter(code: &str) -> bool {
    code.chars().count() == 1 && LETTERS.contains(code)
}

fn itemsize_of_name(name: &str) -> u64 {
    let name = name.trim_end_matches('_');
    if FLEXIBLE.contains(&name) {
        return 0;
    }
    let bits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    if let Ok(bits) = bits.parse::<u64>() {
        return bits / 8;
    }
    match name {
        "?" | "b" | "B" | "c" | "bool" | "byte" | "ubyte" => 1,
        "h" | "H" | "e" | "short" | "ushort" | "half" => 2,
        "i" | "I" | "f" | "intc" | "uintc" | "single" => 4,
        "g" | "D" | "longdouble" | "complex" | "cdouble" => 16,
        "G" | "clongdouble" => 32,
        _ => 8,
    }
}

/// Returns the itemsize of a letter and a size, or of a date or time difference
/// with its unit.
fn itemsize_of_code(code: &str) -> Option<u64> {
    let dates = ["M8", "m8", "datetime64", "timedelta64"];
    if let Some(unit) = dates.iter().find_map(|date| code.strip_prefix(date)) {
        return (unit.is_empty() || is_unit(unit)).then_some(8);
    }
    let (letter, digits) = code.split_at_checked(1)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse::<u64>().ok()?;
    let is_size = match letter {
        "b" => size == 1,
        "i" | "u" => matches!(size, 1 | 2 | 4 | 8),
        "f" => matches!(size, 2 | 4 | 8 | 16),
        "c" => matches!(size, 8 | 16 | 32),
        "M" | "m" => size == 8,
        "S" | "a" | "V" => size <= MAX_ITEMSIZE,
        "U" => size <= MAX_ITEMSIZE / 4,
        _ => false,
    };
    is_size.then_some(if letter == "U" { size.saturating_mul(4) } else { size })
}

/// Returns whether `text` is a unit such as `[ns]`, `[25s]` or `[generic]`.
fn is_unit(text: &str) -> bool {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let Some(inner) = inner else { return false };
    let letters = inner.trim_start_matches(|c: char| c.is_ascii_digit());
    let multiple = inner.strip_suffix(letters).unwrap_or_default();
    (multiple.is_empty() || multiple.parse::<i32>().is_ok())
        && (letters == "generic" || UNITS.contains(&letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_strings_are_checked_as_numpy_does() {
        for text in [
            "<f4",
            ">u8",
            "|b1",
            "=i2",
            "|S6",
            "S6",
            "<U3",
            "|V0",
            "<M8[ns]",
            "m8[25s]",
            "<M8",
            "datetime64[D]",
            "<m8[generic]",
            "float64",
            "?",
            "<d",
            "c",
            "<M8[μs]",
            "c16",
            "f16",
        ] {
            assert!(is_typestr(text), "{text}");
        }
        for text in [
            "",
            "<",
            "<Q9",
            "<f3",
            "i16",
            "<c4",
            "float65",
            "b2",
            "O",
            "|O8",
            "<M4",
            "<M8[x]",
            "<M8[ns",
            "<float64",
            "|S2147483648",
            "<U536870912",
            "x",
            "f4,f4",
            "<M8[2147483648s]",
            " <f4",
            "S-1",
            "é",
            "[('x', '<f4')]",
        ] {
            assert!(!is_typestr(text), "{text}");
        }
    }

    #[test]
    fn names_have_numpys_sizes() {
        for (names, size) in [
            ("bool_ int8 ubyte ? B c", 1),
            ("int16 half ushort e <h", 2),
            ("float32 uint32 intc single >f", 4),
            ("int64 float int_ uintp complex64 csingle F <d M datetime64", 8),
            ("complex128 float128 cdouble g", 16),
            ("complex256 clongdouble G", 32),
            ("S str_ bytes V", 0),
        ] {
            for name in names.split(' ') {
                assert_eq!(itemsize(name), Some(size), "{name}");
            }
        }
    }
}
