//! `posewire run --video`: films, as players see them (`ffprobe`, `ffmpeg`).

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["run", "--smoother", "none"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Whether there is something to look at films with; says so loudly where there is not.
fn can_look() -> bool {
    let has = |program| Command::new(program).arg("-version").output().is_ok();
    let can = has("ffmpeg") && has("ffprobe");
    if !can {
        eprintln!("SKIPPED: films: ffmpeg is not installed (sudo apt install ffmpeg)");
    }
    can
}

/// Width, height, rate, frames (counted), and in the next line seconds, where it says them.
fn lines_of(film: &Path) -> Vec<String> {
    let entries = "stream=width,height,avg_frame_rate,nb_read_frames:format=duration";
    let out = Command::new("ffprobe")
        .args(["-v", "error", "-count_frames", "-show_entries", entries, "-of", "csv=p=0"])
        .arg(film)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}: {}", film.display(), String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The same of a complete film.
fn probed(film: &Path) -> (String, f64) {
    let lines = lines_of(film);
    (lines[0].clone(), lines[1].parse().unwrap())
}

/// Red, green and blue of a film's `n`th picture, rows without padding.
fn picture(film: &Path, n: u32) -> Vec<u8> {
    let out = Command::new("ffmpeg")
        .args(["-v", "error", "-i"])
        .arg(film)
        .args([
            "-vf",
            &format!("select=eq(n\\,{n})"),
            "-frames:v",
            "1",
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-",
        ])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

#[test]
fn without_loss_a_film_has_every_frame_at_its_size_rate_and_colours() {
    if !can_look() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Grounds of one colour each, of an odd size.
    fs::create_dir(at("pictures")).unwrap();
    let colours = [[200, 40, 60], [30, 180, 90], [20, 60, 220], [128, 128, 128], [250, 240, 30]];
    for (i, colour) in colours.into_iter().enumerate() {
        let ground = image::RgbImage::from_pixel(161, 121, image::Rgb(colour));
        ground.save(at("pictures").join(format!("{i}.png"))).unwrap();
    }
    // Of a file that nobody watches, every frame is taken unasked.
    for (name, no_drop) in [("film.mp4", true), ("film.mkv", false), ("film.avi", true)] {
        let args = ["pictures", "--video", name, "--no-drop"];
        let out = run(folder.path(), &args[..if no_drop { 4 } else { 3 }]);
        let told = String::from_utf8_lossy(&out.stderr);
        assert!(
            out.status.success() && told.contains(&format!("{name}: 5 frames, 0.2 s, 160x120")),
            "{told}"
        );
        assert!(out.stdout.is_empty(), "a video is an output");
        assert_eq!(probed(&at(name)).0, "160,120,30/1,5", "{name}");
    }
    for (i, colour) in colours.into_iter().enumerate() {
        let shown = picture(&at("film.mp4"), i as u32);
        assert_eq!(shown.len(), 160 * 120 * 3);
        let middle = &shown[3 * (160 * 60 + 80)..][..3];
        assert!(middle.iter().zip(colour).all(|(a, b)| a.abs_diff(b) < 9), "{middle:?} for {colour:?}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 4, "nothing else is left behind");
}

#[test]
fn a_film_of_something_live_is_as_long_as_it_was() {
    if !can_look() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // A rate that no network of a debug build keeps up with, nor the film.
    let args = ["--synthetic", "--fps", "25", "--frames", "30", "--video", "live.mp4", "--video-rate", "50"];
    let out = run(folder.path(), &[&args[..], &["--jsonl", "poses.jsonl"]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let lines = fs::read_to_string(folder.path().join("poses.jsonl")).unwrap();
    let at_us = |line: &str| -> f64 {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["captured_us"].as_f64().unwrap()
    };
    let lasted_s = (at_us(lines.lines().last().unwrap()) - at_us(lines.lines().next().unwrap())) / 1e6;
    let (stream, seconds) = probed(&folder.path().join("live.mp4"));
    assert!(stream.starts_with("640,480,50/1,"), "{stream}");
    assert!((seconds - lasted_s).abs() < 0.15, "{seconds} s of {lasted_s}");
}

/// The first process found that `parent` has started.
fn started_by(parent: u32) -> Option<i32> {
    let parent = parent.to_string();
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // Behind the name: its state, then its parent.
        (stat.rsplit_once(')')?.1.split_whitespace().nth(1)? == parent).then_some(pid)
    })
}

/// As when a service ends, whose processes are killed with it, or a plug is pulled.
#[test]
fn a_film_whose_encoder_is_killed_can_be_played_up_to_there() {
    if !can_look() {
        return;
    }
    for name in ["film.mp4", "film.avi"] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "--synthetic", "--smoother", "none", "--video", name, "--video-rate", "50"])
            .current_dir(&folder)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let encoder = loop {
            let size = |entry: fs::DirEntry| entry.metadata().map_or(0, |file| file.len());
            let written: u64 = fs::read_dir(&folder).unwrap().flatten().map(size).sum();
            match started_by(child.id()) {
                // More than what every film begins with.
                Some(pid) if written > 8_000 => break pid,
                _ => assert!(began.elapsed() < Duration::from_secs(60), "{name}: {written} bytes"),
            }
            sleep(Duration::from_millis(20));
        };
        sleep(Duration::from_secs(3));
        let encoder = rustix::process::Pid::from_raw(encoder).unwrap();
        rustix::process::kill_process(encoder, rustix::process::Signal::KILL).unwrap();
        // No output is left.
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(1), "{name}: the rest is missing");
        let stream = lines_of(&folder.path().join(name)).remove(0);
        let frames: u32 = stream.rsplit(',').next().unwrap().parse().unwrap();
        assert!(stream.starts_with("640,480,") && frames > 20, "{name}: {stream}");
    }
}

/// A stream says its rate with its first frame.
#[test]
fn a_film_and_a_recording_of_a_stream_have_its_rate() {
    if !can_look() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut stream = b"YUV4MPEG2 W64 H48 F25:2 Ip A1:1 C420jpeg\n".to_vec();
    for shade in [20, 120, 220] {
        stream.extend_from_slice(b"FRAME\n");
        stream.extend_from_slice(&[shade; 64 * 48 * 3 / 2]);
    }
    fs::write(folder.path().join("stream.y4m"), stream).unwrap();
    for args in ["run --replay - --no-drop --smoother none --video film.mp4", "record --replay - clip.avi"] {
        let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(args.split(' '))
            .stdin(fs::File::open(folder.path().join("stream.y4m")).unwrap())
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
    assert_eq!(probed(&folder.path().join("film.mp4")).0, "64,48,25/2,3");
    assert_eq!(probed(&folder.path().join("clip.avi")).0, "64,48,25/2,3");
}

#[test]
fn a_film_that_would_be_its_own_source_or_no_film_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("clip.mp4"), "not touched").unwrap();
    fs::hard_link(at("clip.mp4"), at("same.mp4")).unwrap();
    for name in ["clip.mp4", "same.mp4", "./clip.mp4"] {
        let out = run(folder.path(), &["clip.mp4", "--no-drop", "--video", name]);
        let told = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(2) && told.contains("would overwrite"), "{told}");
    }
    let out = run(folder.path(), &["--synthetic", "--no-drop", "--video", "poses.txt"]);
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && told.contains("end it with .mp4"), "{told}");
    let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["run", "--synthetic", "--no-drop", "--video", "film.mp4"])
        .env("PATH", "/nonexistent")
        .current_dir(&folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && told.contains("sudo apt install ffmpeg"), "{told}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    assert_eq!(fs::read_to_string(at("same.mp4")).unwrap(), "not touched");
}
