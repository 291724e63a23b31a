//! A recording replayed gives, byte for byte, the output of the run that it was made from, but for the name of its source.

use std::sync::Arc;

use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;

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

/// Places of each joint of the only person in the last of `args`' lines.
fn last_pose(args: &[&str]) -> serde_json::Value {
    let out = posewire(&[&["run", "--no-drop", "--smoother", "none", "--frames", "3"], args].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let line = String::from_utf8(out.stdout).unwrap().lines().last().unwrap().to_owned();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    line["persons"][0]["keypoints"].clone()
}

#[test]
fn a_turned_or_mirrored_picture_moves_the_joints_and_not_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let [path, side] = ["clip.mjpeg", "side.mjpeg"].map(|name| folder.path().join(name));
    let mut clip = Synthetic::new(1, 640, 480, 30.0, 4).unwrap().frames(Some(3)).as_mjpeg().unwrap();
    let jpegs: Vec<_> = (0..3).map(|_| clip.next().unwrap().bytes).collect();
    std::fs::write(&path, jpegs.iter().flat_map(|jpeg| jpeg.to_vec()).collect::<Vec<_>>()).unwrap();
    // As a camera on its side sends it: people lie.
    let on_its_side = turbojpeg::Transform::op(turbojpeg::TransformOp::Rot90);
    let turned = |jpeg: &Arc<Vec<u8>>| turbojpeg::transform(&on_its_side, jpeg).unwrap().to_vec();
    std::fs::write(&side, jpegs.iter().flat_map(turned).collect::<Vec<_>>()).unwrap();
    let [path, side] = [&path, &side].map(|path| path.to_str().unwrap());
    let upright = last_pose(&[path]);
    let near = |turned: &serde_json::Value, place: &dyn Fn(f64, f64) -> (f64, f64), what: &str| {
        let mut differences: Vec<f64> = upright
            .as_array()
            .unwrap()
            .iter()
            .zip(turned.as_array().unwrap())
            .map(|(a, b)| {
                let number = |v: &serde_json::Value, i: usize| v[i].as_f64().unwrap();
                let (x, y) = place(number(a, 0), number(a, 1));
                (x - number(b, 0)).hypot(y - number(b, 1))
            })
            .collect();
        // Shoulders and hips, of somebody who faces the camera or turns their back: exchanged names would lie far off.
        assert!([5, 6, 11, 12].iter().all(|&j| differences[j] < 12.0), "{what}: {differences:?}");
        differences.sort_by(f64::total_cmp);
        // The network's answer to a mirrored picture is its own; the person is some 200 pixels tall.
        assert!(differences[8] < 12.0, "{what}: {differences:?}");
    };
    let mirrored = last_pose(&["--mirror", path]);
    near(&mirrored, &|x, y| (640.0 - x, y), "mirrored");
    let turned = last_pose(&["--rotate", "270", side]);
    near(&turned, &|x, y| (x, y), "turned back");
}
