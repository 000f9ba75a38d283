//! Colours, for terminals only.

use anstyle::{AnsiColor, Style};
use clap::builder::Styles;

pub(crate) const HEADING: Style = AnsiColor::Green.on_default().bold();
pub(crate) const HEADING_CELL: Style = Style::new().bold();
pub(crate) const LABEL: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Styles for additions, changes and removals.
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const CHANGED: Style = AnsiColor::Yellow.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const DIRECTORY: Style = AnsiColor::Blue.on_default().bold();

/// Colours of the help texts.
pub(crate) const HELP: Styles = Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default())
    .error(ERROR);
