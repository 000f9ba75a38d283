//! Scripts that complete commands, options, files and members in shells.

use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

/// clap's scripts complete no members. This function of bash comes before clap's.
const BASH: &str = r#"
_npymap_arrays() {
    local line
    if [[ "$2" == *"["* ]]; then
        COMPREPLY=()
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done < <(npymap completions --members "${2//\\/}" 2>/dev/null)
        return
    fi
    _npymap "$@"
    # Instead of options alone, bash completes files.
    if [[ -z "$2" && " ${COMPREPLY[*]} " != *" "[!-]* ]]; then
        COMPREPLY=()
    fi
}

"#;

/// This function of zsh replaces `_default`, which completes the first of several files with
/// the commands of the system.
const ZSH: &str = r#"_npymap_arrays() {
    if [[ $PREFIX == *\[* ]]; then
        compadd -- ${(f)"$(npymap completions --members "${(Q)PREFIX}" 2>/dev/null)"}
    else
        _files
    fi
}

"#;

const FISH: &str = r#"
function __npymap_members
    set -l word (commandline -ct | string replace -ra '^["\']|\\\\' '')
    npymap completions --members $word 2>/dev/null
end
complete -c npymap -n "string match -q '*[*' -- (commandline -ct)" -f -a "(__npymap_members)"
"#;

/// Offers no archives as formats, except for `convert`: other commands say that it writes them.
fn without_archives(command: Command) -> Command {
    let format = command.get_arguments().find(|argument| argument.get_id() == "format");
    let Some(format) = format.filter(|_| command.get_name() != "convert") else { return command };
    let mut formats = format.get_possible_values();
    formats.retain(|format| !matches!(format.get_name(), "npz" | "ten"));
    command.mut_arg("format", |format| format.value_parser(PossibleValuesParser::new(formats)))
}

/// The script of a shell.
pub(crate) fn script(shell: Shell, command: Command) -> String {
    let mut command = command.mut_subcommands(without_archives);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "npymap", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => {
            let (functions, calls) = script.rsplit_once("}\n\n").unwrap_or((&script, ""));
            let calls = calls.replace("complete -F _npymap ", "complete -F _npymap_arrays ");
            format!("{functions}}}\n{BASH}{calls}")
        }
        Shell::Zsh => {
            let script = script.replace(":_default'", ":_npymap_arrays'");
            let (functions, call) = script.rsplit_once("if [ ").unwrap_or((&script, ""));
            format!("{functions}{ZSH}if [ {call}")
        }
        Shell::Fish => script + FISH,
        _ => script,
    }
}
