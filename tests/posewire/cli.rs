//! The command line as a user meets it.

use std::process::{Command, Output};

/// Runs the built binary with these arguments.
pub fn posewire(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_posewire")).args(args).output().expect("the binary runs")
}

#[test]
fn help_names_every_sub_command_and_the_exit_codes() {
    let out = posewire(&["--help"]);
    assert!(out.status.success());
    let text = String::from_utf8(out.stdout).unwrap();
    for word in ["completions", "Exit codes"] {
        assert!(text.contains(word), "{word} is missing from\n{text}");
    }
}

#[test]
fn a_wrong_command_line_ends_with_2_and_names_the_nearest_word() {
    let out = posewire(&["completion"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("completions"));
}

#[test]
fn completions_are_made_for_a_shell_and_man_pages_for_every_sub_command() {
    let bash = posewire(&["completions", "bash"]);
    assert!(bash.status.success());
    assert!(String::from_utf8_lossy(&bash.stdout).contains("_posewire"));

    let folder = tempfile::tempdir().unwrap();
    let man = posewire(&["completions", "--man", folder.path().to_str().unwrap()]);
    assert!(man.status.success(), "{}", String::from_utf8_lossy(&man.stderr));
    let page = std::fs::read_to_string(folder.path().join("posewire-completions.1")).unwrap();
    assert!(page.contains("Examples:"), "{page}");
}
