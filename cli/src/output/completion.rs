//! Scripts that complete commands, options, files and members in shells.

use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

/// clap's scripts complete no members. This function of bash comes before clap's.
const BASH: &str = r#"
_npymap_arrays() {
    local line word archive= command=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        word=${word//[\\\'\"]/}
        case $command$word in
            npz | npzrm | npzmv | npzextract) command+=$word ;;
            npzrm* | npzmv* | npzextract*) [[ -f $word ]] && archive=$word && break ;;
        esac
    done
    [[ $2 == -* || $3 == -* ]] && archive=
    if [[ -n $archive || "$2" == *"["* ]]; then
        COMPREPLY=()
        while IFS= read -r line; do
            # In quotes, a member of an archive is typed as it is.
            [[ -z $archive || ${COMP_WORDS[COMP_CWORD]} == [\'\"]* ]] || printf -v line %q "$line"
            COMPREPLY+=("$line")
        done < <(npymap completions --members "${2//\\/}" ${archive:+--of "$archive"} 2>/dev/null)
        return
    fi
    _npymap "$@"
    # Instead of options alone, bash completes files.
    if [[ -z "$2" && " ${COMPREPLY[*]} " != *" "[!-]* ]]; then
        COMPREPLY=()
    fi
}

"#;

/// These functions of zsh replace `_default`, which completes the first of several files with
/// the commands of the system.
const ZSH: &str = r#"_npymap_members() {
    local word
    for word in "${(@Q)words[1,CURRENT-1]}"; do
        if [[ -f $word ]]; then
            compadd -- ${(f)"$(npymap completions --members "${(Q)PREFIX}" --of $word 2>/dev/null)"}
            return
        fi
    done
}

_npymap_arrays() {
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

function __npymap_archive
    set -l words (commandline -opc | string match -v -- '-*')
    if test "$words[2]" = npz; and contains -- "$words[3]" rm mv extract; and test -f "$words[4]"
        echo $words[4]
    end
end
function __npymap_members_of
    set -l word (commandline -ct | string replace -ra '^["\']|\\\\' '')
    npymap completions --members "$word" --of (__npymap_archive) 2>/dev/null
end
complete -c npymap -n "string length -q -- (__npymap_archive)" -f -a "(__npymap_members_of)"
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
            let lines = script.lines().map(|line| {
                let is_member =
                    ["'*::members -- ", "':old -- "].iter().any(|id| line.starts_with(id));
                let own = if is_member { ":_npymap_members'" } else { ":_npymap_arrays'" };
                line.replace(":_default'", own) + "\n"
            });
            let script: String = lines.collect();
            let (functions, call) = script.rsplit_once("if [ ").unwrap_or((&script, ""));
            format!("{functions}{ZSH}if [ {call}")
        }
        Shell::Fish => script + FISH,
        _ => script,
    }
}
