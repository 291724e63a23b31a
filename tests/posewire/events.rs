//! Events of the whole program.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_posewire")).arg("run").args(arguments).output().unwrap()
}

/// A zone that whoever is in the picture is in, and one at its upper edge that nobody's feet reach.
const ZONES: &str = r#"
[[zone]]
name = "room"
at = "hips"
polygon = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
[[zone]]
name = "ceiling"
polygon = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.1], [0.0, 0.1]]
"#;

fn events(path: &Path) -> Vec<serde_json::Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_over_the_clip_tells_the_same_events_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let [zones, first, second] = ["zones.toml", "1.jsonl", "2.jsonl"].map(|name| folder.path().join(name));
    fs::write(&zones, ZONES).unwrap();
    fs::write(&first, "{\"event\":\"old\"}\n").unwrap();
    let zones = zones.to_str().unwrap();
    for path in [&first, &second] {
        let out = run(&[
            "--synthetic",
            "--no-drop",
            "--frames",
            "90",
            "--zones",
            zones,
            "--events",
            path.to_str().unwrap(),
        ]);
        assert!(out.status.success() && out.stdout.is_empty(), "{out:?}");
    }
    let told = events(&first);
    // Sending takes another time in each run.
    let without_sending = |events: &[serde_json::Value]| -> Vec<serde_json::Value> {
        let mut events = events.to_vec();
        events.iter_mut().for_each(|e| drop(e.as_object_mut().unwrap().remove("emitted_us")));
        events
    };
    assert_eq!(without_sending(&told), without_sending(&events(&second)));
    let of = |event: &str| told.iter().filter(|e| e["event"] == event).collect::<Vec<_>>();
    assert_eq!(told[0]["event"], "appear", "what was there before is gone: {told:?}");
    assert!(of("enter").iter().any(|e| e["zone"] == "room" && e["id"] == told[0]["id"]), "{told:?}");
    assert!(of("enter").iter().all(|e| e["zone"] != "ceiling"), "{told:?}");
    assert!(!of("count").is_empty() && of("count").iter().all(|e| e.get("id").is_none()), "{told:?}");
}

#[test]
fn what_cannot_be_watched_is_said_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("bad.toml"), "[[zone]]\nname = \"a\"\npolygon = [[0, 0], [640, 0], [640, 480]]\n")
        .unwrap();
    fs::write(path("zones.toml"), ZONES).unwrap();
    let cases = [
        (vec!["--zones".to_owned(), path("zones.toml")], "--events"),
        (vec!["--events".into(), "-".into(), "--zones".into(), path("nope.toml")], "nope.toml"),
        (vec!["--events".into(), "-".into(), "--zones".into(), path("bad.toml")], "0..=1"),
        (vec!["--events".into(), path("zones.toml"), "--zones".into(), path("zones.toml")], "overwrite"),
        (vec!["--events".into(), path("a.jsonl"), "--jsonl".into(), path("a.jsonl")], "a file each"),
        (
            ["--events", "-", "--jsonl", "-", "--jsonl-format", "csv"].map(String::from).into(),
            "--jsonl-format",
        ),
    ];
    for (arguments, told) in cases {
        let mut all = vec!["--synthetic", "--frames", "1"];
        all.extend(arguments.iter().map(String::as_str));
        let out = run(&all);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && said.contains(told), "{arguments:?}: {said}");
    }
    assert_eq!(fs::read_to_string(path("zones.toml")).unwrap(), ZONES, "no input is harmed");
}
