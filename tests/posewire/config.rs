//! The example configuration and the program say the same.

use std::path::Path;

use posewire::config::Config;

use super::cli::posewire;

#[test]
fn the_example_is_the_defaults_and_shows_every_key() {
    let text = include_str!("../../posewire.example.toml");
    let config = Config::parse(text, Path::new("posewire.example.toml")).unwrap();
    assert_eq!(config, Config::default());

    let shown: toml::Table = text.parse().unwrap();
    let all = toml::Table::try_from(Config::default()).unwrap();
    for (section, keys) in &all {
        for (key, _) in keys.as_table().unwrap() {
            assert!(shown[section].get(key).is_some(), "the example lacks [{section}] {key}");
        }
    }
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
