//! How help is arranged: examples first, and in the short help no rare options, so that it
//! fits the screen.

use clap::{Arg, Command};

/// Options that are left out of the short help, besides those for others that are left out.
const RARE: &str = "\
    allow_u4 axes color delimiter from http_header max_header_len max_row_len nan no_header \
    no_wait page_aligned precision reshape skip threads version";

/// Options that belong to one of these, in the words of their help, are rare too.
const DETAILS: [&str; 3] = ["With --raw, ", "With --overwrite, ", "With --fail-on, "];

/// The options of all commands about what they read.
const INPUT: &str = "raw offset raw_order max_header_len from";

/// The options of all commands about what they print or write.
const OUTPUT: &str = "\
    json format delimiter no_header nan output directory version overwrite discard_trailing \
    no_wait color precision";

/// The most examples in the short help.
const EXAMPLES: usize = 5;

const START: &str = "Examples:\n";

/// Examples are before the arguments, and the rest of the text after them.
const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{before-help}{all-args}{after-help}";

/// Arranges the help of a command and its subcommands.
pub(crate) fn arranged(command: Command) -> Command {
    let command = command.mut_subcommands(arranged).mut_args(arranged_argument);
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let Some(text) = text.strip_prefix(START) else { return command };
    let (examples, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let few: Vec<&str> = examples.lines().take(EXAMPLES).collect();
    command
        .before_long_help(format!("{START}{examples}"))
        .before_help(format!("{START}{}", few.join("\n")))
        .after_long_help(rest.to_owned())
        .after_help("")
        .help_template(TEMPLATE)
}

fn arranged_argument(argument: Arg) -> Arg {
    if argument.is_positional() {
        return argument;
    }
    let id = argument.get_id().as_str();
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let has = |ids: &str| ids.split(' ').any(|known| known == id);
    let of_raw = help.starts_with("With --raw, ");
    let is_rare = has(RARE) || DETAILS.iter().any(|start| help.starts_with(start));
    let heading = if has(INPUT) || of_raw {
        Some("Input")
    } else if has(OUTPUT) {
        Some("Output")
    } else {
        None
    };
    let argument = argument.hide_short_help(is_rare);
    match heading {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;
    use crate::grammar_tests::add_commands;

    fn options(command: &Command) -> impl Iterator<Item = &Arg> {
        command.get_arguments().filter(|argument| !argument.is_positional())
    }

    fn helps() -> Vec<(String, String, String)> {
        let mut command = arranged(Cli::command()).term_width(100);
        command.build();
        let mut found = Vec::new();
        add_commands(&mut found, "", &command);
        let texts = found.into_iter().map(|(words, mut command)| {
            let (short, long) = (command.render_help(), command.render_long_help());
            (words, short.to_string(), long.to_string())
        });
        texts.collect()
    }

    #[test]
    fn the_short_help_fits_the_screen_and_starts_with_examples() {
        for (command, short, _) in helps() {
            let lines = short.lines().count();
            assert!(lines <= 40, "{command}: {lines} lines\n{short}");
            let before = short.find("Examples:").expect(&command);
            let after = short.find("Options:").expect(&command);
            assert!(before < after && !short.contains("--max-header-len"), "{short}");
            assert!(!short.contains("Exit status"), "{short}");
        }
    }

    #[test]
    fn the_long_help_has_everything() {
        let mut all = Cli::command();
        all.build();
        let mut commands = Vec::new();
        add_commands(&mut commands, "", &all);
        for ((name, command), (_, _, long)) in commands.iter().zip(helps()) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines().filter(|line| !line.is_empty()) {
                let words: Vec<&str> = line.split_whitespace().collect();
                let found = long.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(found.contains(&words.join(" ")), "{name}: {line}\n{long}");
            }
            for argument in options(command) {
                let option = format!("--{}", argument.get_long().unwrap_or_default());
                assert!(long.contains(&option), "{name}: {option}");
            }
        }
        for id in [RARE, INPUT, OUTPUT].into_iter().flat_map(|ids| ids.split(' ')) {
            let has = |command: &Command| options(command).any(|option| option.get_id() == id);
            assert!(commands.iter().any(|(_, command)| has(command)), "{id}");
        }
    }
}
