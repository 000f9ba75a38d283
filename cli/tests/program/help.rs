//! Every command has help with examples, and usage errors exit with 2.

use crate::run::{npymap, run_ok};

#[test]
fn every_command_has_examples() {
    let all = run_ok(["--help"]);
    for command in [
        "info", "get", "set", "create", "convert", "diff", "sample", "shuffle", "sort", "stats",
        "ls",
    ] {
        assert!(all.contains(&format!("\n  {command} ")), "{all}");
        let help = run_ok([command, "--help"]);
        assert!(help.contains(&format!("Examples:\n  npymap {command}")), "{help}");
        assert!(help.contains("Exit status:"), "{help}");
        assert!(!help.contains('\u{1b}'), "colours are for terminals");
    }
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [&[][..], &["nonsense"], &["info"], &["info", "--nonsense", "x"]] {
        let output = npymap(arguments);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{arguments:?}");
    }
}
