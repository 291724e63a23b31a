//! A film with a pretended ffmpeg: what it is asked, and what happens when it does not do it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;

/// A folder with a program that answers as `encoders` says and then does `script`, `$out` being the film.
struct Bench {
    folder: tempfile::TempDir,
    program: String,
}

impl Bench {
    fn new(encoders: &str, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ffmpeg");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *-encoders*) echo ' V..... {encoders} x'; exit;; esac\n\
             for out; do :; done; out=${{out#file:}}; echo \"$*\" > \"$(dirname \"$0\")/asked\"\n{script}\n"
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let program = program.to_str().unwrap().to_owned();
        Self { folder, program }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("film.mp4")
    }

    fn video(&self, fps: f32, takes_every_frame: bool) -> Video {
        self.video_of(fps, fps, takes_every_frame)
    }

    /// The same of a source of another rate.
    fn video_of(&self, source_fps: f32, fps: f32, takes_every_frame: bool) -> Video {
        let source_rate = SourceRate::new(source_fps.into());
        let options = VideoOptions { rate_hz: Some(fps), source_rate, takes_every_frame };
        Video::with_program(&self.path(), Existing::Replace, options, &self.program).unwrap()
    }

    /// One that leaves an earlier film its pictures.
    fn video_after_another(&self) -> Video {
        let source_rate = SourceRate::new(10.0.into());
        let options = VideoOptions { rate_hz: None, source_rate, takes_every_frame: true };
        Video::with_program(&self.path(), Existing::Append, options, &self.program).unwrap()
    }

    fn files(&self) -> usize {
        fs::read_dir(&self.folder).unwrap().count()
    }
}

/// Shows a picture of 4×2 pixels of this grey at once.
fn show(video: &mut Video, grey: u8, captured_at_us: i64) -> Result<(), SinkError> {
    show_late(video, grey, captured_at_us, captured_at_us)
}

/// The same at another time.
fn show_late(video: &mut Video, grey: u8, captured_at_us: i64, shown_at_us: i64) -> Result<(), SinkError> {
    let mut canvas = Canvas::default();
    let [width, height] = video.size_px([4, 2])?;
    canvas.reset(width, height);
    canvas.rgb_mut().fill(grey);
    video.show(&canvas, FrameStamp { seq: 0, captured_at_us, shown_at_us })
}

const WITHIN: Duration = Duration::from_secs(20);

/// Begins a film as ffmpeg does, with a header of 24 bytes.
const HEADER: &str = r#"exec 3> "$out"; printf '\000\000\000\030ftypisom\000\000\002\000isommp41' >&3"#;

/// Adds a piece of 24 bytes.
const PIECE: &str = r"printf '\000\000\000\030mdat' >&3; head -c 16 >&3";

#[test]
fn pictures_go_down_the_pipe_repeated_and_left_out_as_time_wants() {
    let bench = Bench::new("libx264", "cat > \"$out\"");
    let mut video = bench.video(10.0, false);
    // 10 Hz: twice the place of the second, then none for .3 s.
    for (grey, at_ms) in [(1, 0), (2, 100), (3, 140), (4, 500), (5, 600)] {
        show(&mut video, grey, at_ms * 1_000).unwrap();
    }
    assert!(!bench.path().exists());
    video.finish(WITHIN).unwrap();
    let film: Vec<u8> = fs::read(bench.path()).unwrap().chunks(24).map(|picture| picture[7]).collect();
    assert_eq!(film, [1, 2, 2, 2, 2, 4, 5]);
    let asked = fs::read_to_string(bench.folder.path().join("asked")).unwrap();
    assert!(asked.contains("-video_size 4x2 -framerate 10/1") && asked.contains("-c:v libx264"), "{asked}");
    assert!(asked.contains("-xerror"), "a full disk must show in the status: {asked}");
    assert!(asked.contains("-fflags +discardcorrupt"), "half a picture must not cost the film: {asked}");
    assert!(asked.contains("-g 20 -movflags +frag_keyframe+empty_moov"), "readable once killed: {asked}");
    assert_eq!(bench.files(), 3);
}

#[test]
fn while_no_frame_comes_the_last_one_stays() {
    let bench = Bench::new("mpeg4", "cat > \"$out\"");
    let mut video = bench.video(10.0, false);
    show(&mut video, 1, 0).unwrap();
    for at_ms in (0..2_000).step_by(100) {
        video.idle(at_ms * 1_000).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    show(&mut video, 2, 2_000_000).unwrap();
    video.finish(WITHIN).unwrap();
    let film: Vec<u8> = fs::read(bench.path()).unwrap().chunks(24).map(|picture| picture[0]).collect();
    assert_eq!(film, [&[1; 20][..], &[2]].concat());
}

#[test]
fn of_a_slow_board_every_frame_is_shown() {
    let bench = Bench::new("mpeg4", "cat > \"$out\"");
    let mut video = bench.video(10.0, false);
    for (grey, at_ms) in [(1, 0), (2, 650), (3, 1_300)] {
        show_late(&mut video, grey, at_ms * 1_000, (at_ms + 700) * 1_000).unwrap();
        for later_ms in (100..650).step_by(100) {
            video.idle((at_ms + 700 + later_ms) * 1_000).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    video.finish(WITHIN).unwrap();
    let film: Vec<u8> = fs::read(bench.path()).unwrap().chunks(24).map(|picture| picture[0]).collect();
    assert_eq!(film[..14], [&[1; 7][..], &[2; 6], &[3]].concat());
}

#[test]
fn places_that_are_still_to_be_filled_at_the_end_are_in_the_film() {
    let bench = Bench::new("mpeg4", "cat > \"$out\"");
    let mut video = bench.video(10.0, false);
    show(&mut video, 1, 0).unwrap();
    let film = video.film.as_mut().unwrap();
    // As where there was no room for them.
    film.owed = film.pace.still(1_500_000);
    assert_eq!(film.pace.taken(), 10);
    video.finish(WITHIN).unwrap();
    assert_eq!(fs::read(bench.path()).unwrap(), [1; 10 * 24]);
}

#[test]
fn without_loss_every_picture_is_there_and_one_size_holds() {
    let bench = Bench::new("mpeg4", "cat > \"$out\"");
    let mut video = bench.video(10.0, true);
    (0..200).for_each(|i| show(&mut video, i, i64::from(i / 2) * 100_000).unwrap());
    assert_eq!(video.size_px([640, 480]).unwrap(), [4, 2]);
    video.finish(WITHIN).unwrap();
    let film = fs::read(bench.path()).unwrap();
    assert!(film.chunks(24).map(|picture| picture[0]).eq(0..200));
}

#[test]
fn a_file_at_a_lower_rate_than_its_own_runs_at_true_speed() {
    let bench = Bench::new("mpeg4", "cat > \"$out\"");
    let mut video = bench.video_of(10.0, 5.0, true);
    (0..9).for_each(|i| show(&mut video, i, i64::from(i) * 100_000).unwrap());
    video.finish(WITHIN).unwrap();
    let film: Vec<u8> = fs::read(bench.path()).unwrap().chunks(24).map(|picture| picture[0]).collect();
    assert_eq!(film, [0, 1, 3, 5, 7]);
}

#[test]
fn a_program_that_fails_is_quoted_and_nothing_stays_behind() {
    for script in [
        "echo 'No space left on device' >&2; exit 1",
        "cat > \"$out\"; echo 'No space left on device' >&2; exit 1",
    ] {
        let bench = Bench::new("libx264", script);
        fs::write(bench.path(), "old").unwrap();
        let mut video = bench.video(10.0, true);
        let shown = (0..100).try_for_each(|i| show(&mut video, i, i64::from(i) * 100_000));
        let ended = shown.and_then(|()| video.finish(WITHIN)).unwrap_err().to_string();
        assert!(
            ended.contains("film.mp4: ffmpeg ended (exit status: 1): No space left on device"),
            "{ended}"
        );
        drop(video);
        assert_eq!((fs::read_to_string(bench.path()).unwrap().as_str(), bench.files()), ("old", 3));
    }
}

/// As on a disk that is full after hours: what is lost there cannot be filmed again.
#[test]
fn what_there_is_of_a_film_that_fails_stays_beside_its_place() {
    for old in [None, Some("old")] {
        let bench =
            Bench::new("libx264", &format!("{HEADER}; {PIECE}; cat >&3; echo 'disk full' >&2; exit 1"));
        old.iter().for_each(|old| fs::write(bench.path(), old).unwrap());
        let mut video = bench.video(10.0, true);
        show(&mut video, 7, 0).unwrap();
        let beside = video.file.as_ref().unwrap().written_to().to_owned();
        let ended = video.finish(WITHIN).unwrap_err();
        assert!(matches!(ended, SinkError::Fatal(_)), "{ended:?}");
        let ended = ended.to_string();
        assert!(ended.contains("disk full") && ended.contains(beside.to_str().unwrap()), "{ended}");
        assert_eq!(ended.contains("the old one in its place"), old.is_some(), "{ended}");
        drop(video);
        assert!(fs::read(&beside).unwrap().ends_with(&[7; 16]));
        assert_eq!(fs::read_to_string(bench.path()).ok().as_deref(), old);
    }
}

/// As when a service manager asks every process of a service to end at once.
#[test]
fn a_film_that_somebody_else_ends_in_good_order_is_kept_as_far_as_it_goes() {
    for (rest, is_noticed) in [("cat >&3", false), ("true", true)] {
        let bench = Bench::new("libx264", &format!("{HEADER}; {PIECE}; {rest}; exit 255"));
        fs::write(bench.path(), "old").unwrap();
        let mut video = bench.video(10.0, true);
        let frames = if is_noticed { 100_000 } else { 3 };
        let shown = (0..frames).try_for_each(|i| show(&mut video, 7, i * 100_000));
        assert_eq!(matches!(shown, Err(SinkError::Closed(_))), is_noticed, "{shown:?}");
        let ended = video.finish(WITHIN);
        assert!(matches!(ended, Ok(()) | Err(SinkError::Closed(_))), "{ended:?}");
        drop(video);
        let film = fs::read(bench.path()).unwrap();
        assert!(film.len() >= 48 && film[32..].iter().all(|grey| *grey == 7), "{film:?}");
        assert_eq!(bench.files(), 3);
    }
    for begun in ["true", HEADER] {
        let bench = Bench::new("libx264", &format!("{begun}; exit 255"));
        fs::write(bench.path(), "old").unwrap();
        let mut video = bench.video(10.0, true);
        let shown = show(&mut video, 7, 0).and_then(|()| video.finish(WITHIN));
        assert!(matches!(shown, Err(SinkError::Fatal(_))), "it has no picture: {shown:?}");
        drop(video);
        assert_eq!((fs::read_to_string(bench.path()).unwrap().as_str(), bench.files()), ("old", 3));
    }
}

/// As by a system that is out of memory, or after a hang.
#[test]
fn what_there_is_of_a_film_whose_encoder_is_killed_is_kept_and_takes_no_others_place() {
    let killed = format!("{HEADER}; {PIECE}; kill -9 $$");
    let shown = |video: &mut Video| {
        let shown = (0..100_000).try_for_each(|i| show(video, 7, i * 100_000));
        shown.unwrap_err()
    };
    let bench = Bench::new("libx264", &killed);
    let mut video = bench.video(10.0, true);
    let ended = shown(&mut video);
    assert!(matches!(ended, SinkError::Fatal(_)), "it lacks what came later: {ended:?}");
    assert!(ended.to_string().contains("the video ends there"), "{ended}");
    drop(video);
    let is_film = |path: &Path| fs::read(path).is_ok_and(|film| film.len() == 48 && film.ends_with(&[7; 16]));
    assert!(is_film(&bench.path()));
    assert_eq!(bench.files(), 3);

    fs::write(bench.path(), "old").unwrap();
    let mut video = bench.video(10.0, true);
    let beside = video.file.as_ref().unwrap().written_to().to_owned();
    let ended = shown(&mut video).to_string();
    assert!(ended.contains(beside.to_str().unwrap()), "{ended}");
    drop(video);
    assert_eq!(fs::read_to_string(bench.path()).unwrap(), "old");
    assert!(is_film(&beside));
}

/// The header comes with the first picture, the first pictures with those of a whole piece.
#[test]
fn what_has_a_header_alone_is_no_film() {
    let bench = Bench::new("libx264", &format!("{HEADER}; head -c 24 > /dev/null; kill -9 $$"));
    let mut video = bench.video(10.0, true);
    let shown = (0..100_000).try_for_each(|i| show(&mut video, 7, i * 100_000));
    assert!(matches!(shown, Err(SinkError::Fatal(_))), "{shown:?}");
    drop(video);
    assert_eq!(bench.files(), 2);
}

#[test]
fn a_film_without_a_frame_is_none() {
    let bench = Bench::new("libx264", "exit 3");
    bench.video(30.0, false).finish(WITHIN).unwrap();
    assert_eq!(bench.files(), 1);
}

#[test]
fn an_encoder_that_takes_its_time_is_not_cut_off() {
    let bench = Bench::new("libx264", "exec 3> \"$out\"; cat >&3; sleep .3; echo end >&3");
    let mut video = bench.video(10.0, true);
    show(&mut video, 1, 0).unwrap();
    video.finish(Duration::from_millis(10)).unwrap();
    drop(video);
    let began = std::time::Instant::now();
    while fs::read(bench.path()).unwrap().len() < 28 {
        assert!(began.elapsed() < WITHIN);
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Nobody knows yet whether it becomes a film.
#[test]
fn a_film_that_is_not_written_yet_does_not_take_the_place_of_another() {
    let bench = Bench::new("libx264", "exec 3> \"$out\"; cat >&3; sleep .3; echo end >&3");
    fs::write(bench.path(), "old").unwrap();
    let mut video = bench.video(10.0, true);
    show(&mut video, 1, 0).unwrap();
    let beside = video.file.as_ref().unwrap().written_to().to_owned();
    let ended = video.finish(Duration::from_millis(10)).unwrap_err().to_string();
    assert!(ended.contains(beside.to_str().unwrap()), "{ended}");
    drop(video);
    let began = Instant::now();
    while fs::read(&beside).unwrap().len() < 28 {
        assert!(began.elapsed() < WITHIN);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(fs::read_to_string(bench.path()).unwrap(), "old");
}

#[test]
fn a_service_keeps_the_films_of_its_earlier_runs() {
    // One that ends in good order, one that is ended by somebody else, one that is not written yet.
    let ended = format!("{HEADER}; {PIECE}; exit 255");
    for script in ["cat > \"$out\"", &ended, "exec 3> \"$out\"; cat >&3; sleep .3"] {
        let bench = Bench::new("libx264", script);
        fs::write(bench.path(), "old").unwrap();
        let mut video = bench.video_after_another();
        show(&mut video, 1, 0).unwrap();
        let within = if script.contains("sleep") { Duration::from_millis(10) } else { WITHIN };
        let ended = video.finish(within);
        assert!(matches!(ended, Ok(()) | Err(SinkError::Closed(_))), "{script}: {ended:?}");
        drop(video);
        assert_eq!(fs::read_to_string(bench.path().with_file_name("film.1.mp4")).unwrap(), "old", "{script}");
        assert!(bench.path().is_file() && fs::read_to_string(bench.path()).is_ok_and(|film| film != "old"));
        assert_eq!(bench.files(), 4, "{script}");
    }
}

#[test]
fn at_the_end_of_a_file_an_encoder_that_gets_on_is_waited_for() {
    const BYTES: usize = 320 * 240 * 3;
    let script = format!("exec 3> \"$out\"; for i in 1 2 3 4 5 6 7; do head -c {BYTES} >&3; sleep .4; done");
    let bench = Bench::new("libx264", &script);
    let mut video = bench.video(10.0, true);
    let [width, height] = video.size_px([320, 240]).unwrap();
    let mut canvas = Canvas::default();
    canvas.reset(width, height);
    for captured_at_us in [0, 600_000] {
        video.show(&canvas, FrameStamp { captured_at_us, ..FrameStamp::default() }).unwrap();
    }
    video.finish(HURRY + Duration::from_millis(100)).unwrap();
    assert_eq!(fs::read(bench.path()).unwrap().len(), 7 * BYTES);
}

#[test]
fn an_encoder_that_hangs_while_a_picture_is_repeated_is_given_up() {
    let bench = Bench::new("mpeg4", "exec sleep 20");
    let mut video = bench.video(10.0, true);
    let [width, height] = video.size_px([320, 240]).unwrap();
    let mut canvas = Canvas::default();
    canvas.reset(width, height);
    let encoder = &mut video.film.as_mut().unwrap().encoder;
    encoder.stall = Duration::from_millis(300);
    // More than a pipe holds: its thread hangs on the first picture, and the next piece waits.
    encoder.picture(0, canvas.rgb()).unwrap();
    let began = Instant::now();
    while !encoder.again(1, Duration::ZERO).unwrap() {
        assert!(began.elapsed() < WITHIN);
    }
    let mut more = (0..10).map(|_| encoder.picture(0, canvas.rgb()));
    let ended = more.find_map(Result::err).unwrap();
    assert_eq!((&*ended.why, ended.left), ("ffmpeg has taken no picture for 0.3 s", Left::Cut));
}

#[test]
fn what_cannot_be_a_film_is_refused_before_anything_begins() {
    let refused = |path: &str, program: &str| {
        let options =
            VideoOptions { rate_hz: None, source_rate: SourceRate::default(), takes_every_frame: true };
        Video::with_program(Path::new(path), Existing::Replace, options, program)
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default()
    };
    let bench = Bench::new("mjpeg", "");
    assert!(refused("a.gif", &bench.program).contains("end it with .mp4"));
    let missing = refused("a.mp4", "/nonexistent/ffmpeg");
    assert!(missing.contains("--video a.mp4") && missing.contains("sudo apt install ffmpeg"), "{missing}");
    assert!(refused("a.mp4", &bench.program).contains("neither libx264 nor mpeg4"));
    let bench = Bench::new("mpeg4", "");
    let nowhere = refused("/nonexistent/a.mp4", &bench.program);
    assert!(nowhere.contains("/nonexistent/a.mp4: cannot be created"), "{nowhere}");
}
