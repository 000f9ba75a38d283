//! Messages on standard error.

use std::fmt::Display;
use std::path::Path;

use crate::error::rephrase_advice;
use crate::escape::safe;
use crate::style::{ERROR, LABEL};

pub(crate) fn print_error(message: &dyn Display) {
    anstream::eprintln!("{ERROR}error:{ERROR:#} {}", safe(rephrase_advice(message)));
}

pub(crate) fn print_note(message: &dyn Display) {
    anstream::eprintln!("{LABEL}note:{LABEL:#} {}", safe(message));
}

/// Prints that the program waits while another process writes a file.
pub(crate) fn print_waiting(path: &Path) {
    print_note(&format_args!("{}: waiting for another process that is writing it", path.display()));
}
