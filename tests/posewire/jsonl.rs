//! Formats of lines: golden files of each, made from one stream of the wire; and files that lines are appended to.
//!
//! `POSEWIRE_BLESS=1 cargo test --test posewire jsonl::` writes `tests/golden/lines/` anew: look at the difference. The Python
//! client's own tests are held to the same files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use pose_wire::{Emission, Packet, PosePacket};
use posewire::output::Existing;
use posewire::output::jsonl::{Format, JsonLines};
use posewire::output::{PoseSink, Predict, SinkError};

use crate::frames::pose_frame;
use crate::{moments, wire};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lines").join(name)
}

/// Four moments of nobody to three persons, some with 3D, as a cable carries them; after the second, what HELLO says is known.
fn stream() -> Vec<u8> {
    let mut bytes = Vec::new();
    for seq in 0..4 {
        if seq == 2 {
            bytes.extend(wire::frame(&wire::hello()));
        }
        let captured_at_us = 1_000_000 + 33_333 * i64::from(seq);
        let frame = pose_frame(seq.into(), seq as usize, captured_at_us);
        let at = Emission { seq, sent_at_us: captured_at_us + 21_000, persons: seq as u8, scale: 0 };
        for (index, pose) in Predict::Capture.poses(&frame, 0).enumerate() {
            bytes.extend(wire::frame(&Packet::Pose(PosePacket::new(&pose, index as u8, at))));
        }
        if seq == 0 {
            let (captured_at_us, age_us) = (captured_at_us, 21_000);
            let nobody = PosePacket { seq, captured_at_us, age_us, horizon_us: 0, persons: 0, person: None };
            bytes.extend(wire::frame(&Packet::Pose(nobody)));
        }
    }
    bytes
}

#[test]
fn each_format_is_what_it_was() {
    let bytes = stream();
    let blessed = std::env::var_os("POSEWIRE_BLESS").is_some();
    let hex = bytes.iter().map(|b| format!("{b:02x}")).collect::<String>() + "\n";
    let mut files = vec![("wire.hex".to_owned(), hex)];
    for format in Format::ALL {
        let ending = if format == Format::Csv { "csv" } else { "jsonl" };
        files.push((format!("{format}.{ending}"), moments::json_lines(format, &bytes).join("\n") + "\n"));
    }
    for (name, text) in files {
        let path = golden(&name);
        if blessed {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap() == text,
            "{name} is another: POSEWIRE_BLESS=1 writes it anew"
        );
    }
}

/// What a file holds after frames of so many persons each more in it.
fn after(path: &Path, existing: Existing, format: Format, persons: &[usize]) -> String {
    let mut sink = JsonLines::open(path, existing, format, Predict::Capture).unwrap();
    for (seq, persons) in (0..).zip(persons) {
        sink.send(&pose_frame(seq, *persons, 0), 0).unwrap();
    }
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_table_has_one_first_row_whatever_is_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.csv");
    let names_in = |text: &str| text.matches("seq,frame,").count();
    let began = after(&path, Existing::Append, Format::Csv, &[0, 2, 1]);
    assert_eq!((began.lines().count(), names_in(&began)), (4, 1));
    let wide = began.lines().next().unwrap().matches(',').count();
    assert!(began.lines().all(|line| line.matches(',').count() == wide));
    let more = after(&path, Existing::Append, Format::Csv, &[1]);
    assert_eq!((more.lines().count(), names_in(&more)), (5, 1));
    // A pulled plug leaves half a row, or half of the names.
    fs::write(&path, &more[..more.len() - 9]).unwrap();
    assert_eq!(after(&path, Existing::Append, Format::Csv, &[1]).lines().count(), 5);
    fs::write(&path, &more[..20]).unwrap();
    assert_eq!(after(&path, Existing::Append, Format::Csv, &[2]).lines().count(), 3);
    assert_eq!(after(&path, Existing::Replace, Format::Csv, &[1]).lines().count(), 2);
    assert_eq!(after(&path, Existing::Replace, Format::Csv, &[0]).lines().count(), 1, "nobody was there");
}

#[test]
fn what_is_there_stays_while_frames_have_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses");
    for format in [Format::Coco, Format::Flat] {
        fs::write(&path, "of yesterday\n").unwrap();
        assert_eq!(after(&path, Existing::Replace, format, &[0, 0]), "of yesterday\n", "{format}");
        let replaced = after(&path, Existing::Replace, format, &[0, 1]);
        assert!(replaced.lines().count() == 1 && !replaced.contains("of yesterday"), "{format}: {replaced}");
    }
}

#[test]
fn a_table_does_not_go_on_under_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses");
    after(&path, Existing::Replace, Format::Flat, &[1]);
    let before = fs::read_to_string(&path).unwrap();
    let refused = JsonLines::open(&path, Existing::Append, Format::Csv, Predict::Now).map(|_| ());
    assert!(
        matches!(&refused, Err(SinkError::Fatal(text)) if format!("{text:#}").contains("name another file")),
        "{refused:?}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_table_that_is_put_aside_is_followed_by_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.csv");
    let mut sink =
        JsonLines::open(&path, Existing::Append, Format::Csv, Predict::Capture).unwrap().rotated_at(4_000);
    for seq in 0..5 {
        sink.send(&pose_frame(seq, 1, 0), 0).unwrap();
    }
    for name in ["poses.csv", "poses.csv.1"] {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(text.starts_with("seq,frame,") && text.lines().count() > 1, "{name}: {text}");
    }
}

#[test]
fn half_a_line_of_any_format_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses");
    for format in Format::ALL {
        let whole = after(&path, Existing::Replace, format, &[1, 1]);
        for left in [1, 9] {
            let begun = whole.len() - whole.lines().last().unwrap().len() - 1;
            fs::write(&path, &whole[..begun + left]).unwrap();
            let text = after(&path, Existing::Append, format, &[1]);
            assert_eq!(text.lines().count(), whole.lines().count(), "{format}: {text}");
        }
    }
}

#[test]
fn run_writes_the_format_that_is_asked_for() {
    for (format, begins, lines) in
        [("csv", "seq,frame,", None), ("named", "{\"seq\":0,\"frame\":0,", Some(20))]
    {
        let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "--synthetic", "--no-drop", "--frames", "20", "--smoother", "none"])
            .args(["--jsonl", "-", "--jsonl-format", format])
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.starts_with(begins), "{text}");
        assert!(text.contains("built-in clip"), "{format}: nobody is there, and it says so");
        assert!(lines.is_none_or(|lines| text.lines().count() == lines));
    }
    let wrong = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["run", "--synthetic", "--jsonl-format", "cvs"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&wrong.stderr);
    assert!(wrong.status.code() == Some(2) && told.contains("did you mean 'csv'?"), "{told}");
}

#[test]
fn a_named_pipe_without_a_reader_is_said_to_wait_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.args(["run", "--synthetic", "--smoother", "none", "--jsonl"]).arg(&pipe);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    // Where it does not say so, a reader that goes at once ends it, and not the patience of whoever runs this.
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(20));
        fs::File::open(pipe).map(drop)
    });
    let waits = said.any(|line| line.contains("waiting for its reader"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(waits);
}

/// A limit on the size of files stands in for the disk. What the shell writes next follows the lines.
#[test]
fn a_full_disk_leaves_whole_lines_where_standard_output_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses");
    for (redirected, before) in [(">", ""), (">>", "earlier\n")] {
        fs::write(&path, "earlier\n").unwrap();
        let run = "(ulimit -f 40; exec \"$0\" run --synthetic --no-drop --frames 100)";
        let script = format!("({run}; status=$?; echo next; exit $status) {redirected} \"$1\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_posewire")]).arg(&path);
        let out = command.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(said.contains("standard output: cannot be written; the lines before are complete"), "{said}");
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.strip_prefix(before).unwrap().strip_suffix("\nnext\n").unwrap();
        assert!(lines.lines().count() > 1, "{lines}");
        for line in lines.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }
}
