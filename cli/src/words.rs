//! Words that several commands use: what they call things, counts, and text cut
//! to a width.

use std::fmt::Display;

use comfy_table::Cell;
use humansize::{BINARY, format_size};
use npymap::Format;

use crate::style::{ERROR, LABEL};

/// Says on standard error what went wrong.
pub(crate) fn error(message: &dyn Display) {
    anstream::eprintln!("{ERROR}error:{ERROR:#} {message}");
}

/// Says on standard error what is worth knowing.
pub(crate) fn note(message: &dyn Display) {
    anstream::eprintln!("{LABEL}note:{LABEL:#} {message}");
}

pub(crate) fn heading(text: &str) -> Cell {
    Cell::new(text).add_attribute(comfy_table::Attribute::Bold)
}

/// What `--json` calls a format.
pub(crate) fn format(format: Format) -> &'static str {
    match format {
        Format::Npz => "npz",
        Format::Ten => "ten",
        Format::Tar => "tar",
        _ => "npy",
    }
}

/// The shape as Python prints it.
pub(crate) fn shape(shape: &[usize]) -> String {
    if let [one] = shape {
        return format!("({one},)");
    }
    let axes: Vec<_> = shape.iter().map(ToString::to_string).collect();
    format!("({})", axes.join(", "))
}

pub(crate) fn bytes(count: usize) -> String {
    format_size(count, BINARY)
}

/// How many columns of a terminal text takes, nearly: some characters take two.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| if matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{ffdc}' | '\u{1f300}'..='\u{3fffd}') { 2 } else { 1 }).sum()
}

/// Text that takes at most so many columns, with an ellipsis when it is cut.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if width(&short) + 2 > room {
            break;
        }
        short.push(c);
    }
    short + "…"
}

/// The end of ASCII text, with an ellipsis when it is cut.
pub(crate) fn ending(text: &str, room: usize) -> String {
    match text.len().checked_sub(room.max(1)) {
        None | Some(0) => text.to_owned(),
        Some(cut) => format!("…{}", text.get(cut + 1..).unwrap_or(text)),
    }
}

pub(crate) fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// `18 bytes`
pub(crate) fn bytes_exactly(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}
