//! Python literals in many spellings.

use super::random::{Part, Random};

/// White space, and other text between two tokens.
const GAPS: [&str; 16] = [
    "", "", " ", "  ", "\n", "\t", "\r", "\r\n", "\x0c", " \n ", "\\\n", "# c\n", "\x0b", "\u{a0}",
    "\0", "\\",
];

/// The text between two tokens: as NumPy writes it, or odd.
pub(super) fn random_space(r: &mut Random, usual: &str) -> String {
    if r.is_odd(Part::Spelling) { r.pick(&GAPS).to_owned() } else { usual.to_owned() }
}

/// A string as Python prints it, or in another spelling.
pub(super) fn string(r: &mut Random, value: &str) -> String {
    if r.is_odd(Part::Spelling) && r.one_in(4) {
        let cut = value.char_indices().nth(1).map_or(0, |(at, _)| at);
        let (a, b) = value.split_at(cut);
        return format!("{}{}{}", string(r, a), random_space(r, " "), string(r, b));
    }
    let odd = r.is_odd(Part::Spelling);
    let quote = match odd {
        true => r.pick(&["'", "\"", "\"", "'''", "\"\"\""]),
        false if value.contains('\'') && !value.contains('"') => "\"",
        false => "'",
    };
    let prefix = if odd { r.pick(&["", "", "u", "U", "u", "r", "b", "f", "rb", "ur"]) } else { "" };
    let inner: String = value.chars().map(|c| character(r, c, quote)).collect();
    format!("{prefix}{quote}{inner}{quote}")
}

fn character(r: &mut Random, c: char, quote: &str) -> String {
    if r.is_odd(Part::Spelling) && r.one_in(3) {
        let code = u32::from(c);
        return match r.below(9) {
            0 => format!("\\x{:02x}", code & 0xff),
            1 => format!("\\u{:04X}", code & 0xffff),
            2 => format!("\\U{code:08x}"),
            3 => format!("\\{:o}", code & 0o777),
            4 => format!("\\\n{c}"),
            5 => format!("\\{c}"),
            6 => "\\N{DIGIT FOUR}".to_owned(),
            7 => format!("\\x{code:x}"),
            _ => c.to_string(),
        };
    }
    match c {
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        c if quote.starts_with(c) => format!("\\{c}"),
        c if c < ' ' || c == '\x7f' => format!("\\x{:02x}", u32::from(c)),
        c => c.to_string(),
    }
}

/// An integer with the given digits, in some spelling.
pub(super) fn integer(r: &mut Random, digits: &str) -> String {
    if !r.is_odd(Part::Spelling) {
        return digits.to_owned();
    }
    let number: u64 = digits.parse().unwrap_or(3);
    match r.below(16) {
        0 => format!("{number:#x}"),
        1 => format!("{number:#o}"),
        2 => format!("{number:#b}"),
        3 => format!("{digits}_0"),
        4 => format!("0{digits}"),
        5 => format!("({digits})"),
        6 => format!("{digits} L"),
        7 => format!("+{digits}"),
        8 => format!("+ {digits}"),
        9 => format!("{digits}l"),
        10 => format!("{digits}.0"),
        11 => format!("{digits}e0"),
        12 => format!("-{digits}"),
        _ => format!("{digits}L"),
    }
}

/// A sequence in brackets; in round ones, a Python tuple.
pub(super) fn sequence(r: &mut Random, brackets: [&str; 2], items: &[String]) -> String {
    let [open, close] = brackets;
    let mut text = format!("{open}{}", random_space(r, ""));
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            text += &random_space(r, "");
            text += ",";
            text += &random_space(r, " ");
        }
        text += item;
    }
    let lone = items.len() == 1 && open == "(";
    let comma = if r.is_odd(Part::Spelling) { r.pick(&["", ",", ",", " ,", ",,"]) } else { "" };
    text += if comma.is_empty() && lone && !r.is_odd(Part::Spelling) { "," } else { comma };
    text += &random_space(r, "");
    text + close
}

/// A sequence of random tokens.
pub(super) fn random_tokens(r: &mut Random, tokens: usize) -> String {
    const TOKENS: [&str; 46] = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ",",
        ":",
        " ",
        "\n",
        "'descr'",
        "'fortran_order'",
        "'shape'",
        "'<f8'",
        "'|u1'",
        "'a'",
        "'b'",
        "''",
        "True",
        "False",
        "None",
        "0",
        "1",
        "2",
        "3",
        "-",
        "+",
        "L",
        "u''",
        "\\",
        "#",
        "'",
        "\"",
        "0x",
        "_",
        ".",
        "...",
        "1j",
        "int",
        "(2,)",
        "()",
        "('a', '<i4')",
        "[('a', '<i4')]",
        "\t",
        "\r",
    ];
    (0..tokens).map(|_| r.pick(&TOKENS)).collect()
}
