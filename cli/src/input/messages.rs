//! Messages on standard error.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use std::process::ExitCode;

use clap::error::ContextValue;

use crate::input::error::{CliError, rephrase_advice};
use crate::input::escape::{escaped, safe};
use crate::input::style::{ERROR, LABEL};
use crate::input::url::without_queries;

/// Prints a line on standard error. An error of that is ignored.
fn print_line(line: &dyn Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

pub(crate) fn print_error(message: &dyn Display) {
    let message = without_queries(&rephrase_advice(message));
    print_line(&format_args!("{ERROR}error:{ERROR:#} {}", safe(message)));
}

/// Prints a usage error, or the help, and returns the exit status. Parts of
/// arguments that it repeats are made safe to print.
pub(crate) fn print_usage_error(mut error: clap::Error) -> ExitCode {
    if error.use_stderr() {
        let unsafe_parts: Vec<_> =
            error.context().filter_map(|(kind, part)| Some((kind, safe_part(part)?))).collect();
        for (kind, part) in unsafe_parts {
            error.insert(kind, part);
        }
    }
    let text = error.to_string();
    if error.use_stderr() && text.lines().any(|line| escaped(line) != line) {
        // The parser of a value repeats it.
        text.lines().for_each(|line| print_line(&safe(line)));
    } else if error.print().is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
        return ExitCode::FAILURE;
    }
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// A part of a usage error that is safe to print, if it was not.
fn safe_part(part: &ContextValue) -> Option<ContextValue> {
    match part {
        ContextValue::String(text) if escaped(text) != *text => {
            Some(ContextValue::String(safe(text)))
        }
        ContextValue::Strings(texts) => {
            Some(ContextValue::Strings(texts.iter().map(safe).collect()))
        }
        _ => None,
    }
}

/// The value, or `None` if the error was printed. An error of the output ends a command.
pub(crate) fn ok_or_print<T>(result: Result<T, CliError>) -> Result<Option<T>, CliError> {
    match result {
        Err(error) if !matches!(error, CliError::Output(_)) => {
            print_error(&error);
            Ok(None)
        }
        result => result.map(Some),
    }
}

pub(crate) fn print_note(message: &dyn Display) {
    let message = without_queries(&message.to_string());
    print_line(&format_args!("{LABEL}note:{LABEL:#} {}", safe(message)));
}
