//! The program's grammar: which command has which option. Each command has every option of
//! a rule, or is listed with the reason why it has not. `cli/GRAMMAR.md` is the table:
//! `NPYMAP_WRITE=1 cargo test -p npymap-cli --bin npymap grammar` writes it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::Cli;

/// A rule: what each command has.
struct Rule {
    name: &'static str,
    holds: fn(&Command) -> bool,
    /// The commands that do not, and why.
    others: &'static [(&'static str, &'static str)],
}

const NO_ARRAYS: &str = "reads no arrays";
const DRAWS: &str = "draws, and prints no values";
const FACTS: &str = "prints facts, which a shell redirects";
const IN_PLACE: &str = "changes FILE in place";
const ARCHIVES: &str = "reads and writes whole archives";
const HEADERS: &str = "reads headers, of all arrays";
const NO_ROWS: &str = "prints no rows";
const WHOLE: &str = "takes whole arrays";
const PIPED: &str = "takes the rows that `npymap get --where` passes in a pipe";
const ONE: &str = "has one input";

const RULES: [Rule; 9] = [
    Rule {
        name: "`-o OUT`, with `--overwrite`, `--discard-trailing` and `--no-wait`",
        holds: |command| {
            has_all(command, &["output", "overwrite", "discard_trailing", "no_wait"])
                && option(command, "output").and_then(Arg::get_short) == Some('o')
        },
        others: &[
            ("info", FACTS),
            ("ls", FACTS),
            ("stats", FACTS),
            ("diff", FACTS),
            ("npz verify", FACTS),
            ("set", IN_PLACE),
            ("header", IN_PLACE),
            ("append", IN_PLACE),
            ("recover", IN_PLACE),
            ("npz add", IN_PLACE),
            ("npz rm", IN_PLACE),
            ("npz mv", IN_PLACE),
            ("completions", FACTS),
            ("man", "writes many files, to a directory"),
        ],
    },
    Rule {
        name: "`--no-wait`, where a file is replaced or changed",
        holds: |command| has_all(command, &["no_wait"]),
        others: &[
            ("info", FACTS),
            ("ls", FACTS),
            ("stats", FACTS),
            ("diff", FACTS),
            ("npz verify", FACTS),
            ("completions", FACTS),
            ("man", "replaces pages, which nothing else writes"),
        ],
    },
    Rule {
        name: "`--format`, `--no-header`, `--nan` and `--delimiter`",
        holds: |command| has_all(command, &["format", "no_header", "nan", "delimiter"]),
        others: &[
            ("info", NO_ROWS),
            ("ls", NO_ROWS),
            ("stats", NO_ROWS),
            ("diff", NO_ROWS),
            ("show", DRAWS),
            ("set", NO_ROWS),
            ("header", NO_ROWS),
            ("append", NO_ROWS),
            ("recover", NO_ROWS),
            ("create", "writes .npy files"),
            ("concat", "writes .npy files"),
            ("shuffle", "writes .npy files"),
            ("npz add", NO_ROWS),
            ("npz rm", NO_ROWS),
            ("npz mv", NO_ROWS),
            ("npz pack", NO_ROWS),
            ("npz extract", NO_ROWS),
            ("npz verify", NO_ROWS),
            ("npz recover", NO_ROWS),
            ("completions", NO_ARRAYS),
            ("man", NO_ARRAYS),
        ],
    },
    Rule {
        name: "`--json`",
        holds: |command| has_all(command, &["json"]),
        others: &[("show", DRAWS), ("completions", NO_ARRAYS), ("man", NO_ARRAYS)],
    },
    Rule {
        name: "`--raw DTYPE`, `--offset`, `--shape` and `--order`",
        holds: |command| {
            let has = |name| long(command, name).is_some();
            ["raw", "offset", "shape", "order"].into_iter().all(has)
                && option(command, "raw").is_some_and(|raw| raw.get_action().takes_values())
        },
        others: &[
            ("ls", HEADERS),
            ("set", IN_PLACE),
            ("header", "corrects headers"),
            ("create", NO_ARRAYS),
            ("recover", "repairs files with headers"),
            ("npz rm", ARCHIVES),
            ("npz mv", ARCHIVES),
            ("npz extract", ARCHIVES),
            ("npz verify", ARCHIVES),
            ("npz recover", ARCHIVES),
            ("completions", NO_ARRAYS),
            ("man", NO_ARRAYS),
        ],
    },
    Rule {
        name: "INDEX, as an argument or `--select`",
        holds: |command| {
            has_all(command, &["selection"])
                || has_all(command, &["selections"])
                || has_all(command, &["select"])
                || takes_index_last(command)
        },
        others: &[
            ("info", HEADERS),
            ("ls", HEADERS),
            ("diff", WHOLE),
            ("header", WHOLE),
            ("create", NO_ARRAYS),
            ("append", WHOLE),
            ("concat", WHOLE),
            ("recover", WHOLE),
            ("shuffle", WHOLE),
            ("sample", WHOLE),
            ("npz add", WHOLE),
            ("npz rm", WHOLE),
            ("npz mv", WHOLE),
            ("npz pack", WHOLE),
            ("npz extract", WHOLE),
            ("npz verify", WHOLE),
            ("npz recover", WHOLE),
            ("sort", "`--by` has an INDEX"),
            ("completions", NO_ARRAYS),
            ("man", NO_ARRAYS),
        ],
    },
    Rule {
        name: "`--where CONDITION`",
        holds: |command| long(command, "where").is_some(),
        others: &[
            ("info", HEADERS),
            ("ls", HEADERS),
            ("header", WHOLE),
            ("create", NO_ARRAYS),
            ("append", WHOLE),
            ("concat", WHOLE),
            ("recover", WHOLE),
            ("shuffle", WHOLE),
            ("npz add", WHOLE),
            ("npz rm", WHOLE),
            ("npz mv", WHOLE),
            ("npz pack", WHOLE),
            ("npz extract", WHOLE),
            ("npz verify", WHOLE),
            ("npz recover", WHOLE),
            ("sort", PIPED),
            ("unique", PIPED),
            ("completions", NO_ARRAYS),
            ("man", NO_ARRAYS),
        ],
    },
    Rule {
        name: "several inputs, directories and patterns",
        holds: |command| {
            let inputs = ["FILE", "IN", "PATH", "ROWS"];
            let many = |argument: &Arg| argument.get_num_args().is_some_and(|n| n.max_values() > 1);
            let names = |argument: &Arg| {
                let names = argument.get_value_names().unwrap_or_default();
                names.iter().any(|name| inputs.contains(&name.as_str()))
            };
            command.get_positionals().any(|argument| many(argument) && names(argument))
                || command.get_name() == "diff"
        },
        others: &[
            ("get", ONE),
            ("head", ONE),
            ("tail", ONE),
            ("sample", ONE),
            ("show", ONE),
            ("set", ONE),
            ("header", ONE),
            ("recover", ONE),
            ("convert", ONE),
            ("shuffle", ONE),
            ("create", NO_ARRAYS),
            ("npz rm", ONE),
            ("npz mv", ONE),
            ("npz extract", ONE),
            ("npz recover", ONE),
            ("sort", ONE),
            ("unique", ONE),
            ("completions", NO_ARRAYS),
            ("man", NO_ARRAYS),
        ],
    },
    Rule {
        name: "`--max-header-len`, where a .npy is read",
        holds: |command| has_all(command, &["max_header_len"]),
        others: &[
            ("create", NO_ARRAYS),
            ("npz rm", ARCHIVES),
            ("npz mv", ARCHIVES),
            ("npz extract", ARCHIVES),
            ("npz verify", ARCHIVES),
            ("npz recover", ARCHIVES),
            ("completions", NO_ARRAYS),
            ("man", NO_ARRAYS),
        ],
    },
];

fn option<'a>(command: &'a Command, id: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| argument.get_id() == id)
}

fn long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| argument.get_long() == Some(name))
}

fn has_all(command: &Command, ids: &[&str]) -> bool {
    ids.iter().all(|id| option(command, id).is_some())
}

/// Returns whether the last of several files may be an index.
fn takes_index_last(command: &Command) -> bool {
    command.clone().render_usage().to_string().contains("<FILE>... [INDEX]")
}

/// All commands without subcommands, with their words.
fn commands() -> Vec<(String, Command)> {
    let mut all = Cli::command();
    all.build();
    let mut found = Vec::new();
    add_commands(&mut found, "", &all);
    found
}

fn add_commands(found: &mut Vec<(String, Command)>, words: &str, command: &Command) {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        add_commands(found, &format!("{words} {}", inner.get_name()), inner);
    }
    if !command.has_subcommands() {
        found.push((words.trim().to_owned(), command.clone()));
    }
}

#[test]
fn every_command_follows_every_rule_or_has_a_reason() {
    let commands = commands();
    let names: BTreeSet<&str> = commands.iter().map(|(name, _)| name.as_str()).collect();
    for rule in RULES {
        for (name, _) in rule.others {
            assert!(names.contains(name), "there is no command {name}");
        }
        for (name, command) in &commands {
            let reason = rule.others.iter().find(|(other, _)| other == name);
            match (reason, (rule.holds)(command)) {
                (None, true) | (Some(_), false) => {}
                (None, false) => panic!("{name} lacks {}: add it, or a reason", rule.name),
                (Some(_), true) => panic!("{name} has {}: remove the reason", rule.name),
            }
        }
    }
}

/// An option of one name has one meaning: the same values in every command.
#[test]
fn options_of_the_same_name_take_the_same_values() {
    let (mut known, mut different): (Vec<(String, String)>, _) = (Vec::new(), BTreeSet::new());
    for (_, command) in commands() {
        for argument in command.get_arguments() {
            let Some(long) = argument.get_long() else { continue };
            let names = argument.get_value_names().unwrap_or_default();
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            let is_flag = !argument.get_action().takes_values();
            let values = if is_flag { String::new() } else { names.join(" ") };
            match known.iter().find(|(known, _)| known == long) {
                Some((_, other)) if *other != values => {
                    different.insert(format!("--{long} {values}"));
                    different.insert(format!("--{long} {other}"));
                }
                Some(_) => {}
                None => known.push((long.to_owned(), values)),
            }
        }
    }
    assert_eq!(different.into_iter().collect::<Vec<_>>(), SEVERAL);
}

/// Options that do not take the same values everywhere.
const SEVERAL: [&str; 0] = [];

#[test]
fn the_table_of_commands_and_rules_is_up_to_date() {
    let text = table();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("GRAMMAR.md");
    if std::env::var_os("NPYMAP_WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        stored == text,
        "cli/GRAMMAR.md differs: NPYMAP_WRITE=1 cargo test -p npymap-cli --bin npymap grammar"
    );
}

fn table() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (number, rule) in RULES.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", number + 1, rule.name);
    }
    let numbers: Vec<_> = (1..=RULES.len()).map(|number| number.to_string()).collect();
    let _ = writeln!(text, "\n| | {} |\n|---{}|", numbers.join(" | "), "|:-:".repeat(RULES.len()));
    for (name, command) in commands() {
        let cells = RULES.iter().map(|rule| if (rule.holds)(&command) { "●" } else { "" });
        let _ = writeln!(text, "| `{name}` | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let _ = writeln!(text, "\nWhere there is no dot:\n");
    for (number, rule) in RULES.iter().enumerate() {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, reason) in rule.others {
            let name = format!("`{name}`");
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
        let reasons =
            reasons.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", ")));
        let _ = writeln!(text, "{}. {}", number + 1, reasons.collect::<Vec<_>>().join("; "));
    }
    text
}

const INTRODUCTION: &str = "\
# Commands and rules

Whoever knows three commands should know all: an option has one spelling and one meaning, and
each command has it where it applies. `cli/src/grammar.rs` makes this table from the
definition of the command line, and fails if a command leaves the rules without a reason:
`NPYMAP_WRITE=1 cargo test -p npymap-cli --bin npymap grammar` writes it.

";
