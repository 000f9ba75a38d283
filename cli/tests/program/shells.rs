//! What bash, zsh and fish complete with the scripts of `completions`.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use npymap::ndarray::arr1;
use npymap::npz;

use crate::run::{copy_penguins, run_ok};

/// What is typed, and what its last word becomes.
const TYPED: &[(&[&str], &str)] = &[
    (&["st"], "stats"),
    (&["npz", "rec"], "recover"),
    (&["get", "--prec"], "--precision"),
    (&["get", "--color", "al"], "always"),
    (&["get", "--format", "np"], "npy"),
    (&["stats", "peng"], "penguins.npy"),
    (&["get", "a.npz[lay"], "a.npz[layer/w]"),
    (&["diff", "penguins.npy", "a.npz[s"], "a.npz[step 1]"),
    (&["get", r"a.npz\[s"], "a.npz[step 1]"),
    (&["convert", "penguins.npy", "-o", "peng"], "penguins.npy"),
    (&["npz", "rm", "a.np"], "a.npz"),
    (&["npz", "rm", "a.npz", "lay"], "layer/w"),
    (&["npz", "extract", "--json", "a.npz", "layer/w", "s"], "step 1"),
    (&["npz", "mv", "a.npz", "la"], "layer/w"),
    (&["npz", "extract", "a.npz", "-o", "peng"], "penguins.npy"),
];

/// Prints what completes the last argument. Where the function finds nothing, bash completes
/// files itself.
const BASH: &str = r#"
source "$1"
shift
[[ $(complete -p npymap) =~ -o\ default ]] && [[ $(complete -p npymap) =~ -F\ ([a-z_]+) ]]
COMP_WORDS=(npymap "$@") COMP_CWORD=$#
"${BASH_REMATCH[1]}" npymap "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}" || compgen -f -- "${COMP_WORDS[COMP_CWORD]}"
"#;

/// Types each argument in a terminal, and prints the line after its completion.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT= fpath=('$1' ${(M)fpath:#*/Completion(|/(Base|Unix|Zsh))})
autoload -U compinit; compinit -u -D
answer() { zle complete-word; print -rn -- "@""($BUFFER@"")"; BUFFER= }
zle -N answer; bindkey "^T" answer; print RE""ADY'
zpty -r shell answer '*READY*'
shift
for line; do
    zpty -w -n shell "$line"$'\x14'
    zpty -r shell answer '*@[(]*@[)]'
    print -r -- "${${answer##*@\(}%@\)}"
done
zpty -d shell
"#;

const FISH: &str = "source $argv[1]\nfor line in $argv[2..]; complete -C $line; end";

/// Runs a shell in a directory, and returns what it prints; `None` if it is not installed,
/// unless `NPYMAP_REQUIRE_SHELLS=1`.
fn run(directory: &Path, shell: &[&str], arguments: &[String]) -> Option<String> {
    let is_required = std::env::var_os("NPYMAP_REQUIRE_SHELLS").is_some();
    if !is_required && Command::new(shell[0]).arg("--version").output().is_err() {
        eprintln!("nothing was completed, {} is not installed", shell[0]);
        return None;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_npymap")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    // A terminal may wait for ever.
    let mut command = Command::new("timeout");
    command.arg("60").args(shell).args(arguments).current_dir(directory);
    let output = command.env("PATH", path).env("HOME", directory).output().unwrap();
    assert!(output.status.success(), "{shell:?}: {output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A directory with files, and with the script of a shell.
fn directory(shell: &str, script: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy_penguins(directory.path());
    let one = arr1(&[1_u8]);
    let members: [(&str, &dyn npymap::write::Save); 2] = [("layer/w", &one), ("step 1", &one)];
    npz::savez(directory.path().join("a.npz"), &members).unwrap();
    fs::write(directory.path().join(script), run_ok(["completions", shell])).unwrap();
    directory
}

/// Each line, with an open quote before the word to complete.
fn lines() -> Vec<String> {
    let line = |words: &[&str]| {
        let (last, before) = words.split_last().unwrap();
        let quote = if last.contains('[') && !last.contains('\\') { "'" } else { "" };
        format!("npymap {} {quote}{last}", before.join(" "))
    };
    TYPED.iter().map(|(words, _)| line(words)).collect()
}

#[test]
fn bash_completes_commands_options_files_and_members() {
    let directory = directory("bash", "npymap.bash");
    let complete = |words: &[&str]| {
        let words = words.iter().map(ToString::to_string);
        let arguments = std::iter::once("npymap.bash".to_owned()).chain(words);
        let shell = ["bash", "--norc", "-c", BASH, "bash"];
        run(directory.path(), &shell, &arguments.collect::<Vec<_>>())
    };
    for (words, expected) in TYPED {
        let Some(found) = complete(words) else { return };
        let found = found.replace('\\', "");
        assert_eq!(found, format!("{expected}\n"), "{words:?}");
    }
    // Files rather than options.
    let found = complete(&["get", ""]).unwrap();
    assert!(found.contains("penguins.npy\n") && !found.contains("--"), "{found}");
    assert!(complete(&["npz", ""]).unwrap().contains("extract\n"));
}

#[test]
fn zsh_completes_commands_options_files_and_members() {
    let directory = directory("zsh", "_npymap");
    let here = directory.path().to_str().unwrap().to_owned();
    let arguments: Vec<_> = std::iter::once(here).chain(lines()).collect();
    let shell = ["zsh", "-f", "-c", ZSH, "zsh"];
    let Some(found) = run(directory.path(), &shell, &arguments) else { return };
    assert_eq!(found.lines().count(), TYPED.len(), "{found}");
    for ((words, expected), line) in TYPED.iter().zip(found.lines()) {
        let line = line.replace('\\', "");
        assert!(line.trim_end_matches([' ', '=', '\'']).ends_with(expected), "{words:?}: {found}");
    }
}

#[test]
fn fish_completes_commands_options_files_and_members() {
    let directory = directory("fish", "npymap.fish");
    let arguments: Vec<_> = std::iter::once("npymap.fish".to_owned()).chain(lines()).collect();
    let shell = ["fish", "--no-config", "-c", FISH];
    let Some(found) = run(directory.path(), &shell, &arguments) else { return };
    let words: Vec<&str> = found.lines().filter_map(|line| line.split('\t').next()).collect();
    let expected: Vec<&str> = TYPED.iter().map(|(_, expected)| *expected).collect();
    assert_eq!(words, expected);
}
