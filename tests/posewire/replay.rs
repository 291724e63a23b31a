//! A recording replayed gives, byte for byte, the output of the run that it was made from.

use super::cli::posewire;

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
        assert_eq!(out.stdout.iter().filter(|&&byte| byte == b'\n').count(), 10);
        out.stdout
    };
    let played = run(&["--synthetic", "--seed", "4"]);
    assert!(String::from_utf8_lossy(&played).contains("\"measured\""), "nobody is in the clip");
    assert!(played == run(&["--replay", path]));
    assert!(played == run(&["--replay", path]), "every time");
}
