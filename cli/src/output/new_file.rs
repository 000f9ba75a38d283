//! Options of commands that create files, and their parsers.

use std::path::Path;

use clap::Args;
use npymap::{CreateOptions, Order, npy::Version};

use crate::input::error::CliError;
use crate::input::shape_arg::{self, PartialShape};
use crate::output::overwrite::OverwriteArgs;

/// How to create a new file.
#[derive(Debug, Args)]
pub(crate) struct NewFileArgs {
    /// Format version [default: the lowest that can hold the header]
    #[arg(long, value_name = "1|2|3", value_parser = parse_version)]
    pub(crate) version: Option<Version>,

    #[command(flatten)]
    pub(crate) replace: OverwriteArgs,
}

impl NewFileArgs {
    /// Rejects options without an effect: those for files if none is written, and those for
    /// `.npy` files if it is another one.
    pub(crate) fn check(&self, path: &Path, is_file: bool, is_npy: bool) -> Result<(), CliError> {
        let is_unused = [
            (self.replace.overwrite && !is_file, "--overwrite is for --output"),
            (self.replace.wait.no_wait && !is_file, "--no-wait is for --output"),
            (self.version.is_some() && !is_npy, "--version is for .npy files"),
        ];
        CliError::usage_if_any(path, is_unused)
    }

    /// The options for the library.
    pub(crate) fn options(&self, order: Order) -> CreateOptions {
        let options = CreateOptions::new().order(order).overwrite(self.replace.overwrite);
        match self.version {
            Some(version) => options.version(version),
            None => options,
        }
    }
}

fn parse_version(text: &str) -> Result<Version, &'static str> {
    match text {
        "1" | "1.0" => Ok(Version::V1),
        "2" | "2.0" => Ok(Version::V2),
        "3" | "3.0" => Ok(Version::V3),
        _ => Err("expected 1, 2 or 3"),
    }
}

/// The shape of a new array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShapeArg(pub(crate) Vec<usize>);

/// Parses `(3, 4)`, `(3,)`, `()` or `3, 4`.
pub(crate) fn parse_shape(text: &str) -> Result<ShapeArg, &'static str> {
    match shape_arg::parse(text).map(PartialShape::known) {
        Ok(Some(shape)) => Ok(ShapeArg(shape)),
        _ => Err(SHAPE),
    }
}

const SHAPE: &str = "expected a shape such as '(3, 4)', '(3,)' or '()'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_pythons_tuples() {
        for (text, expected) in [
            ("(3, 4)", vec![3, 4]),
            ("( 3,4, )", vec![3, 4]),
            ("(3,)", vec![3]),
            ("3", vec![3]),
            ("3,4", vec![3, 4]),
            ("()", vec![]),
            ("(0, 4294967295)", vec![0, 4_294_967_295]),
        ] {
            assert_eq!(parse_shape(text), Ok(ShapeArg(expected)), "{text}");
        }
        for text in ["", "(", "(3", "3)", "-1", "(3, -4)", "(,)", "3,,4", "a", "1.5", "((3))"] {
            assert_eq!(parse_shape(text), Err(SHAPE), "{text}");
        }
    }
}
