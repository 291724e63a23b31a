//! The example configuration and the program say the same.

use std::path::Path;

use posewire::config::{Config, example};

use super::cli::posewire;

/// `POSEWIRE_BLESS=1 cargo test --test posewire config::` writes the file anew.
#[test]
fn the_example_is_made_from_the_table_of_options_and_says_the_defaults() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("posewire.example.toml");
    if std::env::var_os("POSEWIRE_BLESS").is_some() {
        std::fs::write(&path, example()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), example(), "write it anew: POSEWIRE_BLESS=1");
    assert_eq!(Config::parse(&example(), &path).unwrap(), Config::default());
}

#[test]
fn what_the_command_line_says_goes_before_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posewire.toml");
    // Taken from the file, each would end the run with an error.
    std::fs::write(
        &path,
        "[source]\nreplay = \"/nowhere\"\nframes = 5\n[temporal]\nsmoother = \"one-euro\"\n[display]\nkind = \"fb\"\n",
    )
    .unwrap();
    let pictures = format!("png:{}", folder.path().join("newest.png").display());
    let out = posewire(&[
        "run",
        "--config",
        path.to_str().unwrap(),
        "--synthetic",
        "--no-drop",
        "--frames",
        "2",
        "--smoother",
        "none",
        "--display",
        &pictures,
        "--jsonl",
        "-",
    ]);
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.contains("smoother none"), "{text}");
    assert_eq!(out.stdout.iter().filter(|&&byte| byte == b'\n').count(), 2);
}

#[test]
fn a_mistake_in_the_file_ends_with_2_and_names_file_line_and_nearest_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posewire.toml");
    std::fs::write(&path, "[serial]\nbuad = 115200\n").unwrap();
    let out = posewire(&["run", "--config", path.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("posewire.toml:2:1") && text.contains("'baud'"), "{text}");
}

#[test]
fn a_missing_file_is_named() {
    let out = posewire(&["run", "--config", "/nonexistent/posewire.toml"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("/nonexistent/posewire.toml"));
}
