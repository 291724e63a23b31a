//! A stream without an end that could be sought: the standard input, a FIFO, a child's output.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use super::{mjpeg::Mjpeg, short_name, y4m::Y4m};
use crate::capture::clip::Clip;
use crate::capture::stream::Stream;
use crate::capture::{CaptureError, FrameSource};
use crate::reason::Reason;

/// How the standard input is named.
const STANDARD_INPUT: &str = "-";

/// Bytes before the first picture that are no picture: what a program says before it works.
const MAX_PREFACE_BYTES: usize = 1 << 16;

/// A frame of 640 × 480 and more: fewer switches between two processes.
const BUFFER_BYTES: usize = 1 << 19;

/// The standard input or a FIFO: read as it comes, not as a file.
pub fn is_pipe(path: &Path) -> bool {
    if path == Path::new(STANDARD_INPUT) {
        return true;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    false
}

/// Opens a pipe: complete where every frame counts, else live. Who writes may come later.
///
/// # Errors
/// [`CaptureError::Unusable`] where no thread can be started; what is wrong with the stream shows with its first bytes.
pub fn open(path: &Path, no_drop: bool) -> Result<Box<dyn FrameSource>, CaptureError> {
    let is_standard_input = path == Path::new(STANDARD_INPUT);
    let name = if is_standard_input { "standard input".into() } else { short_name(path) };
    let (told, path) = (name.clone(), path.to_path_buf());
    let open = Box::new(move || {
        if is_standard_input {
            return clip_of(std::io::stdin(), told, false);
        }
        let file = File::open(&path)
            .map_err(|e| CaptureError::unusable(path.display(), Reason::new("cannot be opened", e)))?;
        clip_of(file, told, false)
    });
    Ok(Box::new(if no_drop { Stream::complete(&name, open) } else { Stream::live(&name, open) }?))
}

/// The pictures in a stream of bytes: Y4M, or JPEGs one after the other (multipart's lines between them do not matter, but for
/// the time of a picture's light where `tells_light`).
///
/// # Errors
/// [`CaptureError::Unusable`]: it is neither, or over before its first picture.
pub fn clip_of(
    mut input: impl Read + Send + 'static,
    name: String,
    tells_light: bool,
) -> Result<Box<dyn Clip>, CaptureError> {
    let fail = |why: Reason| CaptureError::unusable(&name, why);
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match input.read(&mut piece) {
            Ok(0) if head.is_empty() => return Err(fail("the stream ended before it began".into())),
            Ok(0) => return Err(fail(NEITHER.into())),
            Ok(n) => head.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(fail(Reason::new("cannot be read", e))),
        }
        if head.starts_with(b"YUV4MPEG2 ") {
            let input = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(input));
            return Ok(Box::new(Y4m::new(input, name.clone()).map_err(|e| fail(Reason::of(e)))?));
        }
        if head.windows(3).any(|m| m == [0xff, 0xd8, 0xff]) {
            let clip = Mjpeg::new(Cursor::new(head).chain(input), name);
            return Ok(Box::new(if tells_light { clip.with_light() } else { clip }));
        }
        if head.len() > MAX_PREFACE_BYTES {
            return Err(fail(NEITHER.into()));
        }
    }
}

const NEITHER: &str = "neither JPEGs nor Y4M in this stream; let ffmpeg convert it: \
                       ffmpeg -i INPUT -f yuv4mpegpipe -pix_fmt yuv420p - | posewire run --replay - --no-drop";

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg() -> Vec<u8> {
        let format = turbojpeg::PixelFormat::GRAY;
        let image = turbojpeg::Image { pixels: &[90; 64][..], width: 8, pitch: 8, height: 8, format };
        turbojpeg::compress(image, 80, turbojpeg::Subsamp::Gray).unwrap().to_vec()
    }

    /// A byte at a time.
    struct Drip(Cursor<Vec<u8>>);

    impl Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(&mut out[..1])
        }
    }

    fn frames(bytes: &[u8]) -> Result<usize, String> {
        let mut clip =
            clip_of(Drip(Cursor::new(bytes.to_vec())), "pipe".into(), false).map_err(|e| format!("{e:#}"))?;
        Ok(std::iter::from_fn(|| clip.next().ok()).count())
    }

    #[test]
    fn what_it_is_the_first_bytes_say_however_they_arrive() {
        assert_eq!(frames(b"YUV4MPEG2 W2 H2 F10:1 Cmono\nFRAME\nabcdFRAME\nefgh"), Ok(2));
        let between = &b"\r\n--frame\r\nContent-Type: image/jpeg\r\n\r\n"[..];
        let multipart = [b"Setting up", between, &jpeg(), between, &jpeg()];
        assert_eq!(frames(&multipart.concat()), Ok(2));
    }

    #[test]
    fn what_is_neither_is_refused_with_what_converts_it() {
        let refused = |bytes: &[u8]| frames(bytes).expect_err("it is no video");
        assert!(refused(b"").contains("ended before it began"));
        assert!(refused(b"RIFF....AVI LIST").contains("ffmpeg -i INPUT"));
        assert!(refused(&vec![7; 2 * MAX_PREFACE_BYTES]).contains("neither JPEGs nor Y4M"));
        assert!(refused(b"YUV4MPEG2 W9999 H9999 F1:1\n").contains("9999x9999 refused"));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_are_told_from_files() {
        assert!(is_pipe(Path::new("-")));
        assert!(!is_pipe(Path::new("Cargo.toml")) && !is_pipe(Path::new("/nonexistent")));
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        assert!(is_pipe(&fifo));
    }
}
