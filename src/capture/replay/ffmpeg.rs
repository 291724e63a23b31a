//! Any other container, through an `ffmpeg` child process that writes Y4M into a pipe.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;

use super::stamps::{FILTERS, FilmClock, LOG_LEVEL, Log};
use super::{short_name, y4m::Y4m};
use crate::capture::clip::Clip;
use crate::capture::{CaptureError, SourceInfo};
use crate::child_process::Group;
use crate::picture::Frame;
use crate::reason::Reason;
use crate::stderr_tail::StderrTail;

/// A video decoded by `ffmpeg`; the child is ended with it.
pub struct Ffmpeg {
    name: String,
    frames: Y4m<BufReader<ChildStdout>>,
    clock: FilmClock,
    stderr_tail: StderrTail,
    /// It ends with us, also where this is left behind by the end of the process.
    _group: Group,
}

impl Ffmpeg {
    /// Starts `ffmpeg` on a file.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`]: ffmpeg is not installed (with the command that installs it), or cannot read the file
    /// (with its own words).
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Self::with_program(path, "ffmpeg")
    }

    fn with_program(path: &Path, program: &str) -> Result<Self, CaptureError> {
        let fail = |why: Reason| CaptureError::unusable(path.display(), why);
        let mut command = Command::new(program);
        command
            .args(["-hide_banner", "-nostats", "-nostdin", "-v", LOG_LEVEL, "-i"])
            // A leading dash must not read as an option.
            .arg(if path.is_relative() { Path::new(".").join(path) } else { path.to_path_buf() })
            // Every stored frame once: neither doubled nor dropped to make the rate even.
            .args(["-map", "0:v:0", "-vf", FILTERS, "-vsync", "passthrough"])
            .args(["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"])
            // Colours would stand between a line and its beginning.
            .env("AV_LOG_FORCE_NOCOLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut group = Group::start(&mut command).map_err(|e| match e.kind() {
            ErrorKind::NotFound => fail(
                "not a folder, MJPEG-AVI, MJPEG or Y4M, and ffmpeg, which reads the rest, is not installed: \
                 sudo apt install ffmpeg"
                    .into(),
            ),
            _ => fail(Reason::new("ffmpeg cannot be started", e)),
        })?;
        let (stdout, stderr) = (group.first().stdout.take(), group.first().stderr.take());
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(fail("ffmpeg gave no pipe".into()));
        };
        let (to_clock, times_us) = mpsc::channel();
        let stderr_tail = StderrTail::of(Log::new(stderr, to_clock)).map_err(|e| fail(Reason::of(e)))?;
        // Wide enough for a frame of 640×480: fewer switches between the processes.
        let mut stdout = BufReader::with_capacity(1 << 19, stdout);
        let is_silent = stdout.fill_buf().map_or(true, <[u8]>::is_empty);
        let frames = match Y4m::new(stdout, short_name(path)) {
            Ok(frames) => frames,
            // It could read it: what it made of it is of no use here.
            Err(why) if !is_silent => {
                return Err(fail(Reason::new("ffmpeg's answer cannot be used", why)));
            }
            Err(_) => {
                let status = group.first().wait().map_err(|e| fail(Reason::of(e)))?;
                stderr_tail.wait_for_all();
                let said = stderr_tail.one_line();
                return Err(fail(match &said[..] {
                    "" if status.success() => "ffmpeg finds no picture in it".into(),
                    "" => format!("ffmpeg has ended before the first picture ({status})").into(),
                    said => format!("ffmpeg cannot read it: {said}").into(),
                }));
            }
        };
        let clock = FilmClock::new(times_us);
        Ok(Self { name: short_name(path), frames, clock, stderr_tail, _group: group })
    }
}

impl Clip for Ffmpeg {
    fn info(&self) -> SourceInfo {
        SourceInfo { name: self.name.clone(), ..self.frames.info() }
    }

    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        let polled = self.frames.poll().inspect_err(|_| {
            let said = self.stderr_tail.one_line();
            if !said.is_empty() {
                log::warn!("{}: ffmpeg: {said}", self.name);
            }
        })?;
        let Some(frame) = polled else { return Ok(None) };
        let (captured_at_us, oddity) = self.clock.next_us(frame.captured_at_us);
        if let Some(oddity) = oddity {
            let (name, number) = (&self.name, frame.seq + 1);
            log::warn!("{name}: picture {number} {oddity}; so do others of the kind, untold");
        }
        Ok(Some(Frame { captured_at_us, ..frame }))
    }

    fn damaged(&self) -> u64 {
        self.frames.damaged()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a program of this script in ffmpeg's place.
    #[cfg(unix)]
    fn opened(script: &str) -> Result<Ffmpeg, String> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ffmpeg");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Ffmpeg::with_program(Path::new("clip.mp4"), program.to_str().unwrap()).map_err(|e| format!("{e:#}"))
    }

    fn times(mut film: Ffmpeg) -> Vec<i64> {
        std::iter::from_fn(|| film.next().ok().map(|frame| frame.captured_at_us)).collect()
    }

    #[cfg(unix)]
    #[test]
    fn what_ffmpeg_makes_of_a_file_is_refused_with_the_reason() {
        let refused = |script: &str| opened(script).err().unwrap_or_default();
        let size = refused("printf 'YUV4MPEG2 W9999 H9999 F25:1\\n'; echo '[error] Broken pipe' >&2");
        assert!(size.contains("clip.mp4") && size.contains("9999x9999 refused"), "{size}");
        let words = refused("echo '[info] Input' >&2; echo 'moov atom not found' >&2; exit 1");
        assert!(words.ends_with("ffmpeg cannot read it: moov atom not found"), "{words}");
        let killed = refused("kill -TERM $$");
        assert!(killed.contains("ended before the first picture (signal: 15"), "{killed}");
        assert!(refused("exit 0").contains("no picture in it"));
    }

    #[cfg(unix)]
    #[test]
    fn frames_have_the_times_that_ffmpeg_tells() {
        let line = |pts: i64| format!("echo '[Parsed_metadata_2 @ 0x5] [info] frame:0 pts:{pts} x' >&2\n");
        let lines: String = [70_000, 80_000, 200_000].map(line).concat();
        let frames = "printf 'YUV4MPEG2 W2 H2 F10:1 Cmono\\nFRAME\\nabcdFRAME\\nabcdFRAME\\nabcd'";
        assert_eq!(times(opened(&format!("{lines}{frames}")).unwrap()), [0, 10_000, 130_000]);
        assert_eq!(times(opened(frames).unwrap()), [0, 100_000, 200_000], "it says nothing of times");
    }

    /// What is trimmed without being encoded anew keeps pictures that are not shown.
    #[test]
    fn a_trimmed_film_has_the_times_of_the_frames_that_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        let make = |args: &str| {
            let made = Command::new("ffmpeg").args(args.split(' ')).current_dir(&folder).status();
            made.map(|status| assert!(status.success(), "{args}"))
        };
        // Thirty frames a second up to the twentieth, then ten.
        let film = "-v error -f lavfi -i testsrc=s=64x48:r=30:d=2 -vf select=not(mod(n\\,3))+lt(n\\,20) -vsync vfr \
                    -c:v mpeg4 -g 60 film.mp4";
        if make(film).is_err() {
            eprintln!("SKIPPED: a trimmed film: ffmpeg is not installed (sudo apt install ffmpeg)");
            return;
        }
        make("-v error -ss 0.5 -i film.mp4 -c copy trimmed.mp4").unwrap();
        let times = times(Ffmpeg::open(&folder.path().join("trimmed.mp4")).unwrap());
        let steps: Vec<i64> = times.windows(2).map(|t| (t[1] - t[0] + 500) / 1_000).collect();
        assert_eq!(steps, [33, 33, 33, 33, 67, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100]);
    }

    /// Not every format says its range by its pixels' name, as phones' MJPEG and H.264 do (`yuvj420p`).
    #[test]
    fn pictures_of_full_range_become_limited() {
        let folder = tempfile::tempdir().unwrap();
        let grey = b"YUV4MPEG2 W16 H16 F10:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n";
        let film = [&grey[..], &[16; 256], &[128; 128]].concat();
        std::fs::write(folder.path().join("grey.y4m"), film).unwrap();
        let args = ["-v", "error", "-i", "grey.y4m", "-c:v", "ffv1", "-color_range", "pc", "grey.mkv"];
        let made = Command::new("ffmpeg").args(args).current_dir(&folder).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: a film of full range: ffmpeg is not installed (sudo apt install ffmpeg)");
            return;
        }
        let frame = Ffmpeg::open(&folder.path().join("grey.mkv")).unwrap().next().unwrap();
        assert_eq!([frame.bytes[0], frame.bytes[256]], [30, 128]);
    }

    #[test]
    fn without_ffmpeg_the_error_says_how_to_install_it() {
        let error = Ffmpeg::with_program(Path::new("clip.mp4"), "/nonexistent/ffmpeg")
            .err()
            .map(|e| format!("{e:#}"));
        assert!(error.is_some_and(|e| e.contains("clip.mp4") && e.contains("sudo apt install ffmpeg")));
    }
}
