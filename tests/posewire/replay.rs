//! A recording replayed gives, byte for byte, the output of the run that it was made from, but for the name of its source.

use super::cli::posewire;

const CLIP: &str = "\"source\":\"built-in clip\",";

#[test]
fn a_recording_gives_the_output_of_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    let path = path.to_str().unwrap();
    let out = posewire(&["record", path, "--synthetic", "--seed", "4", "--frames", "10"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let run = |source: &[&str]| {
        let out = posewire(&[&["run", "--no-drop", "--frames", "10"], source].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let lines = String::from_utf8(out.stdout).unwrap();
        assert_eq!(lines.lines().count(), 10);
        lines
    };
    let played = run(&["--synthetic", "--seed", "4"]);
    assert!(played.contains("\"measured\""), "nobody is in the clip");
    assert_eq!(played.matches(CLIP).count(), 10, "every line of the clip says so");
    let played = played.replace(CLIP, "");
    assert!(played == run(&["--replay", path]));
    assert!(played == run(&["--replay", path]), "every time");
}
