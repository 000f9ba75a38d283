//! Options of all commands about their output.

use std::ffi::OsString;

use anstream::ColorChoice;
use clap::Args;

/// How text is printed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Use colors and bold text: auto (for terminals only), always or never
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        hide_default_value = true,
        value_name = "WHEN"
    )]
    color: clap::ColorChoice,

    /// Digits after the point of floats in text. JSON has all digits
    #[arg(long, global = true, value_name = "N")]
    pub(crate) precision: Option<u16>,
}

impl OutputArgs {
    /// The choice of colours for all output.
    pub(crate) fn color_choice(&self) -> ColorChoice {
        match self.color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        }
    }
}

/// The choice of colours for help and usage errors, which are printed before the
/// arguments are parsed.
pub(crate) fn early_color_choice(arguments: &[OsString]) -> clap::ColorChoice {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    let options: Vec<_> = options.filter_map(|argument| argument.to_str()).collect();
    let separate = options.windows(2).filter(|pair| matches!(pair, ["--color", _]));
    let separate = separate.filter_map(|pair| pair.get(1).copied());
    let attached = options.iter().filter_map(|option| option.strip_prefix("--color="));
    let last = separate.chain(attached).last();
    // Another value is a usage error.
    last.and_then(|when| when.parse().ok()).unwrap_or(clap::ColorChoice::Auto)
}
