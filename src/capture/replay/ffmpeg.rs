//! Any other container, through an `ffmpeg` child process that writes Y4M into a pipe.

use std::io::{BufReader, ErrorKind};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::{short_name, y4m::Y4m};
use crate::capture::clip::Clip;
use crate::capture::{CaptureError, SourceInfo};
use crate::last_words::LastWords;
use crate::picture::Frame;

/// A video decoded by `ffmpeg`; the child is ended with it.
pub struct Ffmpeg {
    name: String,
    child: Child,
    frames: Y4m<BufReader<ChildStdout>>,
    /// When each frame is due, microseconds from the first; empty where the container does not say.
    times_us: Vec<i64>,
    words: LastWords,
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
        let fail =
            |what: &dyn std::fmt::Display| CaptureError::Unusable(format!("{}: {what}", path.display()));
        let mut child = Command::new(program)
            .args(["-v", "error", "-nostdin", "-i"])
            // A leading dash must not read as an option.
            .arg(if path.is_relative() { Path::new(".").join(path) } else { path.to_path_buf() })
            // Every stored frame once: neither doubled nor dropped to make the rate even.
            .args(["-map", "0:v:0", "-vsync", "passthrough", "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| match e.kind() {
                ErrorKind::NotFound => fail(
                    &"not a folder, MJPEG-AVI, MJPEG or Y4M, and ffmpeg, which reads the rest, is not installed: \
                      sudo apt install ffmpeg",
                ),
                _ => fail(&format_args!("ffmpeg cannot be started: {e}")),
            })?;
        let words = match child.stderr.take() {
            Some(stderr) => LastWords::of(stderr).map_err(|e| fail(&e))?,
            None => LastWords::default(),
        };
        let Some(stdout) = child.stdout.take() else { return Err(fail(&"ffmpeg gave no pipe")) };
        // Wide enough for a frame of 640×480: fewer switches between the processes.
        let header = Y4m::new(BufReader::with_capacity(1 << 19, stdout), short_name(path));
        let frames = match header {
            Ok(frames) => frames,
            Err(why) => {
                let _ = child.wait();
                words.wait_for_all();
                let said = words.said();
                return Err(match &said[..] {
                    // It could: what it made of the file is of no use here.
                    "" => fail(&format_args!("ffmpeg's answer cannot be used: {why}")),
                    said => fail(&format_args!("ffmpeg cannot read it: {said}")),
                });
            }
        };
        Ok(Self { name: short_name(path), child, frames, times_us: times_us(path), words })
    }
}

impl Clip for Ffmpeg {
    fn info(&self) -> SourceInfo {
        SourceInfo { name: self.name.clone(), ..self.frames.info() }
    }

    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        let polled = self.frames.poll().inspect_err(|_| {
            let said = self.words.said();
            if !said.is_empty() {
                log::warn!("{}: ffmpeg: {said}", self.name);
            }
        })?;
        let own_time = |frame: Frame| {
            let captured_at_us =
                self.times_us.get(frame.seq as usize).copied().unwrap_or(frame.captured_at_us);
            Frame { captured_at_us, ..frame }
        };
        Ok(polled.map(own_time))
    }

    fn damaged(&self) -> u64 {
        self.frames.damaged()
    }
}

impl Drop for Ffmpeg {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Presentation times from `ffprobe`, which comes with ffmpeg; empty where there are none or they cannot be trusted (the
/// stream's nominal rate is then used).
fn times_us(path: &Path) -> Vec<i64> {
    let output = Command::new("ffprobe")
        .args(["-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time", "-of", "csv=p=0"])
        .arg(if path.is_relative() { Path::new(".").join(path) } else { path.to_path_buf() })
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(|l| l.trim_end_matches(',').trim()).filter(|l| !l.is_empty());
    let mut times_us = Vec::new();
    for line in lines {
        match line.parse::<f64>() {
            Ok(s) => times_us.push((s * 1e6).round() as i64),
            Err(_) => return Vec::new(),
        }
    }
    // Packets are stored in decoding order.
    times_us.sort_unstable();
    let first = times_us.first().copied().unwrap_or(0);
    times_us.iter_mut().for_each(|t| *t -= first);
    if times_us.windows(2).any(|w| w[0] == w[1]) { Vec::new() } else { times_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_ffmpeg_makes_of_a_file_is_refused_with_the_reason() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ffmpeg");
        let refused = |script: &str| {
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let opened = Ffmpeg::with_program(Path::new("clip.mp4"), program.to_str().unwrap());
            opened.err().map(|e| e.to_string()).unwrap_or_default()
        };
        let size = refused("printf 'YUV4MPEG2 W9999 H9999 F25:1\\n'");
        assert!(size.contains("clip.mp4") && size.contains("9999x9999 refused"), "{size}");
        let words = refused("echo 'moov atom not found' >&2; exit 1");
        assert!(words.contains("ffmpeg cannot read it: moov atom not found"), "{words}");
    }

    #[test]
    fn without_ffmpeg_the_error_says_how_to_install_it() {
        let error =
            Ffmpeg::with_program(Path::new("clip.mp4"), "/nonexistent/ffmpeg").err().map(|e| e.to_string());
        assert!(error.is_some_and(|e| e.contains("clip.mp4") && e.contains("sudo apt install ffmpeg")));
    }
}
