//! What is done with arguments before they are parsed. Those that start like a negative
//! number are kept from being parsed as options: indices (`-1`, `-3:, 0`) and values (`-1.5`,
//! `-inf`).

use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, ColorChoice, Command};

/// Rewrites the arguments so that nothing that starts like a negative number is
/// parsed as an option: positional arguments move after a `--`, and values are
/// attached to their options by `=`. The text of an argument never changes, and
/// arguments after a `--` are left alone.
pub(crate) fn protect_negatives(command: &mut Command, arguments: Vec<OsString>) -> Vec<OsString> {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    if !options.into_iter().any(|argument| is_negative(argument)) {
        return arguments;
    }
    // Subcommands get the options that all have.
    command.build();
    let mut arguments = arguments.into_iter().peekable();
    let mut kept: Vec<OsString> = arguments.next().into_iter().collect();
    let mut command = &*command;
    while let Some(inner) = arguments.peek().and_then(|name| command.find_subcommand(name)) {
        command = inner;
        kept.extend(arguments.next());
    }
    let mut positional = vec![OsString::from("--")];
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "--" {
            positional.extend(arguments);
            break;
        } else if let (1, Some(inner)) = (positional.len(), command.find_subcommand(&argument)) {
            // After options that all commands have.
            command = inner;
            kept.push(argument);
        } else if text == "-" || !text.starts_with('-') || is_negative(&argument) {
            positional.push(argument);
        } else if takes_next(command, &text) {
            let mut option = argument;
            match arguments.next() {
                Some(value) if is_negative(&value) => {
                    option.push("=");
                    option.push(value);
                    kept.push(option);
                }
                value => kept.extend([Some(option), value].into_iter().flatten()),
            }
        } else {
            kept.push(argument);
        }
    }
    kept.append(&mut positional);
    kept
}

/// Returns whether an argument starts like a negative number, infinity, NaN or
/// slice, or names a member of standard input: `-[weights]`.
fn is_negative(argument: &OsStr) -> bool {
    let rest = argument.to_str().and_then(|text| text.strip_prefix('-'));
    rest.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | '['))
            || ["inf", "nan"].iter().any(|name| rest.eq_ignore_ascii_case(name))
    })
}

/// Returns whether the value of an option is the next argument: `--axis`, `-n`.
fn takes_next(command: &Command, text: &str) -> bool {
    let option = if let Some(long) = text.strip_prefix("--") {
        command.get_arguments().find(|option| option.get_long() == Some(long))
    } else {
        last_short(command, text)
    };
    option.is_some_and(takes_value)
}

/// The last of several short options in one argument, unless an earlier one
/// takes the rest of the argument as its value.
fn last_short<'a>(command: &'a Command, text: &str) -> Option<&'a Arg> {
    let mut shorts = text.chars().skip(1).peekable();
    while let Some(c) = shorts.next() {
        let option = command.get_arguments().find(|option| option.get_short() == Some(c));
        if shorts.peek().is_none() {
            return option;
        }
        if option.is_some_and(takes_value) {
            return None;
        }
    }
    None
}

fn takes_value(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
        && !option.is_require_equals_set()
}

/// The choice of colours for help and usage errors, which are printed before the
/// arguments are parsed.
pub(crate) fn color_choice(arguments: &[OsString]) -> ColorChoice {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    let options: Vec<_> = options.filter_map(|argument| argument.to_str()).collect();
    let separate = options.windows(2).filter(|pair| matches!(pair, ["--color", _]));
    let separate = separate.filter_map(|pair| pair.get(1).copied());
    let attached = options.iter().filter_map(|option| option.strip_prefix("--color="));
    let last = separate.chain(attached).last();
    // Another value is a usage error.
    last.and_then(|when| when.parse().ok()).unwrap_or(ColorChoice::Auto)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(text: &str) -> String {
        let command = Command::new("p").subcommand(
            Command::new("set")
                .arg(Arg::new("file"))
                .arg(Arg::new("index"))
                .arg(Arg::new("flush").long("flush").short('f').action(ArgAction::SetTrue))
                .arg(Arg::new("axis").long("axis").short('n').action(ArgAction::Set)),
        );
        let mut command = command.arg(Arg::new("color").long("color").action(ArgAction::Set));
        let arguments = text.split(' ').map(OsString::from).collect();
        let all = protect_negatives(&mut command, arguments);
        all.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn negative_numbers_are_positional_or_belong_to_an_option() {
        for (text, expected) in [
            ("p set a 1 --flush", "p set a 1 --flush"),
            ("p set a -- -1", "p set a -- -1"),
            ("p set a -1 --flush", "p set --flush -- a -1"),
            ("p set -1 -3:", "p set -- -1 -3:"),
            ("p set a --axis -1 2", "p set --axis=-1 -- a 2"),
            ("p set a -n -1", "p set -n=-1 -- a"),
            ("p set a -fn -1", "p set -fn=-1 -- a"),
            ("p set -n1 -1", "p set -n1 -- -1"),
            ("p set -f -inf -- -x", "p set -f -- -inf -x"),
            ("p set - -NaN", "p set -- - -NaN"),
            ("p set -x -1", "p set -x -- -1"),
            ("p set -[w] --flush", "p set --flush -- -[w]"),
            ("p --color set set a -1 set", "p --color set set -- a -1 set"),
        ] {
            assert_eq!(protected(text), expected, "{text}");
        }
    }
}
