//! Help says how to, with examples, and wrong usage ends with 2.

use crate::run::{npymap, printed};

#[test]
fn every_command_has_examples() {
    let all = printed(["--help"]);
    for command in [
        "info", "get", "set", "create", "convert", "raw", "diff", "demo", "sample", "shuffle",
        "bench",
    ] {
        assert!(all.contains(&format!("\n  {command} ")), "{all}");
        let help = printed([command, "--help"]);
        assert!(help.contains(&format!("Examples:\n  npymap {command} ")), "{help}");
        assert!(help.contains("Exit status:"), "{help}");
        assert!(!help.contains('\u{1b}'), "colours are for terminals");
    }
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [&[][..], &["nonsense"], &["info"], &["info", "--nonsense", "x"]] {
        let said = npymap(arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{arguments:?}");
    }
}
