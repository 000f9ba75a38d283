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
    /// Why others do not have it, and their names.
    others: &'static [(&'static str, &'static str)],
}

impl Rule {
    /// The commands that do not have it.
    fn others(&self) -> impl Iterator<Item = &'static str> {
        self.others.iter().flat_map(|(_, names)| names.split(", "))
    }
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

const RULES: [Rule; 8] = [
    Rule {
        name: "`-o OUT`, with `--overwrite`, `--discard-trailing` and `--no-wait`",
        holds: |command| {
            has_all(command, &["output", "overwrite", "discard_trailing", "no_wait"])
                && option(command, "output").and_then(Arg::get_short) == Some('o')
        },
        others: &[
            (FACTS, "info, ls, stats, diff, npz verify, completions"),
            (IN_PLACE, "set, header, append, recover, npz add, npz rm, npz mv"),
            ("writes many files, to a directory", "man"),
        ],
    },
    Rule {
        name: "`--no-wait`, where a file is replaced or changed",
        holds: |command| has_all(command, &["no_wait"]),
        others: &[
            (FACTS, "info, ls, stats, diff, npz verify, completions"),
            ("replaces pages, which nothing else writes", "man"),
        ],
    },
    Rule {
        name: "`--format`, `--no-header`, `--nan` and `--delimiter`",
        holds: |command| has_all(command, &["format", "no_header", "nan", "delimiter"]),
        others: &[
            (
                NO_ROWS,
                "info, ls, stats, diff, set, header, append, recover, npz add, npz rm, npz mv, \
                 npz pack, npz extract, npz verify, npz recover",
            ),
            (DRAWS, "show"),
            ("writes .npy files", "create, concat, shuffle"),
            (NO_ARRAYS, "completions, man"),
        ],
    },
    Rule {
        name: "`--json`",
        holds: |command| has_all(command, &["json"]),
        others: &[(DRAWS, "show"), (NO_ARRAYS, "completions, man")],
    },
    Rule {
        name: "`--raw DTYPE`, `--offset`, `--shape` and `--order`",
        holds: |command| {
            let has = |name| long(command, name).is_some();
            ["raw", "offset", "shape", "order"].into_iter().all(has)
                && option(command, "raw").is_some_and(|raw| raw.get_action().takes_values())
        },
        others: &[
            (HEADERS, "ls"),
            (IN_PLACE, "set"),
            ("corrects headers", "header"),
            (NO_ARRAYS, "create, completions, man"),
            ("repairs files with headers", "recover"),
            (ARCHIVES, "npz rm, npz mv, npz extract, npz verify, npz recover"),
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
            (HEADERS, "info, ls"),
            (
                WHOLE,
                "diff, header, append, concat, recover, shuffle, sample, npz add, npz rm, \
                 npz mv, npz pack, npz extract, npz verify, npz recover",
            ),
            (NO_ARRAYS, "create, completions, man"),
            ("`--by` has an INDEX", "sort"),
        ],
    },
    Rule {
        name: "`--where CONDITION`",
        holds: |command| long(command, "where").is_some(),
        others: &[
            (HEADERS, "info, ls"),
            (
                WHOLE,
                "header, append, concat, recover, shuffle, npz add, npz rm, npz mv, npz pack, \
                 npz extract, npz verify, npz recover",
            ),
            (NO_ARRAYS, "create, completions, man"),
            (PIPED, "sort, unique"),
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
            (
                ONE,
                "get, head, tail, sample, show, set, header, recover, convert, shuffle, \
                 npz rm, npz mv, npz extract, npz recover, sort, unique",
            ),
            (NO_ARRAYS, "create, completions, man"),
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

fn commands() -> Vec<(String, Command)> {
    let mut all = Cli::command();
    all.build();
    let mut found = Vec::new();
    add_commands(&mut found, "", &all);
    found
}

/// Adds all commands without subcommands, with their words.
pub(crate) fn add_commands(found: &mut Vec<(String, Command)>, words: &str, command: &Command) {
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
        for name in rule.others() {
            assert!(names.contains(name), "there is no command {name}");
        }
        for (name, command) in &commands {
            match (rule.others().any(|other| other == name), (rule.holds)(command)) {
                (false, true) | (true, false) => {}
                (false, false) => panic!("{name} lacks {}: add it, or a reason", rule.name),
                (true, true) => panic!("{name} has {}: remove the reason", rule.name),
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
        let reasons = rule.others.iter().map(|(reason, names)| {
            let names = names.split(", ").map(|name| format!("`{name}`"));
            format!("{}: {reason}", names.collect::<Vec<_>>().join(", "))
        });
        let _ = writeln!(text, "{}. {}", number + 1, reasons.collect::<Vec<_>>().join("; "));
    }
    text
}

const INTRODUCTION: &str = "\
# Commands and rules

Whoever knows three commands should know all: an option has one spelling and one meaning, and
each command has it where it applies. `cli/src/grammar_tests.rs` makes this table from the
definition of the command line, and fails if a command leaves the rules without a reason:
`NPYMAP_WRITE=1 cargo test -p npymap-cli --bin npymap grammar` writes it.

";
