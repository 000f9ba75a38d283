//! What new files are asked to be: options that `create` and `convert` share,
//! and how they are read.

use clap::{Args, ValueEnum};
use npymap::{CreateOptions, Order, npy::Version};

use crate::draft::IfExists;
use crate::locking::WaitArgs;

/// How a new file is made.
#[derive(Debug, Args)]
pub(crate) struct NewFileArgs {
    /// Format version [default: the lowest that can hold the header]
    #[arg(long, value_name = "1|2|3", value_parser = version)]
    pub(crate) version: Option<Version>,

    /// Replace an existing file
    #[arg(long)]
    pub(crate) overwrite: bool,

    #[command(flatten)]
    wait: WaitArgs,
}

impl NewFileArgs {
    /// How a file that has the name of the new one is treated.
    pub(crate) fn existing(&self) -> IfExists {
        if self.overwrite { IfExists::Replaced(self.wait) } else { IfExists::Refused }
    }

    /// The same for the library.
    pub(crate) fn options(&self, order: Order) -> CreateOptions {
        let options = CreateOptions::new().order(order).overwrite(self.overwrite);
        match self.version {
            Some(version) => options.version(version),
            None => options,
        }
    }
}

/// Which axis varies fastest.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OrderArg {
    /// The last one
    #[value(name = "C", alias = "c")]
    C,
    /// The first one
    #[value(name = "F", alias = "f")]
    F,
}

impl From<OrderArg> for Order {
    fn from(axes: OrderArg) -> Order {
        match axes {
            OrderArg::C => Order::C,
            OrderArg::F => Order::F,
        }
    }
}

fn version(text: &str) -> Result<Version, &'static str> {
    match text {
        "1" | "1.0" => Ok(Version::V1),
        "2" | "2.0" => Ok(Version::V2),
        "3" | "3.0" => Ok(Version::V3),
        _ => Err("expected 1, 2 or 3"),
    }
}

/// The length of each axis of a new array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShapeArg(pub(crate) Vec<usize>);

/// Reads `(3, 4)`, `(3,)`, `()`, or `3, 4`.
pub(crate) fn shape(text: &str) -> Result<ShapeArg, &'static str> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if inner.is_none() && text.is_empty() {
        return Err(SHAPE);
    }
    let inner = inner.unwrap_or(text).trim();
    if inner.is_empty() {
        return Ok(ShapeArg(Vec::new()));
    }
    let axes = inner.strip_suffix(',').unwrap_or(inner).split(',');
    let axes = axes.map(|axis| axis.trim().parse().map_err(|_| SHAPE));
    axes.collect::<Result<_, _>>().map(ShapeArg)
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
            assert_eq!(shape(text), Ok(ShapeArg(expected)), "{text}");
        }
        for text in ["", "(", "(3", "3)", "-1", "(3, -4)", "(,)", "3,,4", "a", "1.5", "((3))"] {
            assert_eq!(shape(text), Err(SHAPE), "{text}");
        }
    }
}
