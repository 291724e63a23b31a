//! Files and folders as sources. What a file is, its first bytes say, not its name.
//!
//! | input | read by |
//! |---|---|
//! | folder of JPEG, PNG, BMP, WebP, or one of them | [`folder`] |
//! | AVI with MJPEG | [`avi`] |
//! | raw MJPEG stream | [`mjpeg`] |
//! | Y4M | [`y4m`] |
//! | `-`, the standard input, and FIFOs: MJPEG or Y4M as it comes | [`pipe`] |
//! | anything else | an `ffmpeg` child process, [`ffmpeg`] |

pub mod avi;
pub mod ffmpeg;
pub mod folder;
mod light;
pub mod mjpeg;
pub mod pipe;
mod stamps;
pub mod y4m;

use std::io::Read;
use std::path::Path;

use self::folder::Folder;
use super::clip::{Clip, as_source};
use super::{CaptureError, FrameSource};
use crate::reason::Reason;

/// Frames a second of pictures without times of their own.
pub const DEFAULT_FPS: f32 = 30.0;

/// What tells a file's kind, and whether a picture moves: an animated PNG says so among its first chunks.
const HEAD_BYTES: usize = 1024;

/// Longest compressed picture that is read, bytes: an 8K JPEG at the highest quality. Bounds what a damaged length can ask
/// for.
const MAX_JPEG_BYTES: usize = 64 << 20;

/// Opens a file or folder, pictures upright; see [`SourceConfig::Replay`](super::SourceConfig::Replay).
///
/// # Errors
/// [`CaptureError::Unusable`] where there is nothing to play: missing, empty, not a video, `ffmpeg` not installed.
pub fn open(path: &Path, no_drop: bool) -> Result<Box<dyn FrameSource>, CaptureError> {
    if pipe::is_pipe(path) {
        return pipe::open(path, no_drop);
    }
    Ok(as_source(clip(path, Folder::upright)?, no_drop))
}

/// Every frame of [`open`], but pictures as they are stored: as the camera's own sensor saw them.
///
/// # Errors
/// As [`open`].
pub fn open_stored(path: &Path) -> Result<Box<dyn FrameSource>, CaptureError> {
    if pipe::is_pipe(path) {
        return pipe::open(path, true);
    }
    Ok(as_source(open_clip(path)?, true))
}

/// [`open_stored`] without a clock: the frames and their own times.
///
/// # Errors
/// As [`open`].
pub fn open_clip(path: &Path) -> Result<Box<dyn Clip>, CaptureError> {
    clip(path, std::convert::identity)
}

/// `as_shown` says how pictures stand.
fn clip(path: &Path, as_shown: impl Fn(Folder) -> Folder) -> Result<Box<dyn Clip>, CaptureError> {
    let fail = |why: Reason| CaptureError::unusable(path.display(), why);
    let meta = std::fs::metadata(path)
        .map_err(|e| fail(Reason::new("cannot be opened; give a folder of pictures or a video", e)))?;
    if meta.is_dir() {
        return Ok(Box::new(as_shown(Folder::open(path)?)));
    }
    let mut head = Vec::with_capacity(HEAD_BYTES);
    std::fs::File::open(path)
        .and_then(|f| f.take(HEAD_BYTES as u64).read_to_end(&mut head))
        .map_err(|e| fail(Reason::of(e)))?;
    match &head[..] {
        [] => Err(fail("empty file: nothing to play".into())),
        h if h.starts_with(b"RIFF") && h.get(8..12) == Some(b"AVI ") => match avi::Avi::open(path)? {
            Some(avi) => Ok(Box::new(avi)),
            None => Ok(Box::new(ffmpeg::Ffmpeg::open(path)?)),
        },
        h if h.starts_with(b"YUV4MPEG2") => Ok(Box::new(y4m::Y4m::open(path)?)),
        [0xff, 0xd8, 0xff, ..] if !is_alone(path).map_err(|e| fail(Reason::of(e)))? => {
            Ok(Box::new(mjpeg::Mjpeg::open(path)?))
        }
        h if h.starts_with(&[0xff, 0xd8, 0xff]) || is_still(h) => {
            if is_animated(h) {
                let path = path.display();
                log::warn!(
                    "{path}: of this animation the first picture alone is watched: make a GIF or a video of it for the others"
                );
            }
            Ok(Box::new(as_shown(Folder::of_one(path))))
        }
        _ => Ok(Box::new(ffmpeg::Ffmpeg::open(path)?)),
    }
}

/// Whether a file that begins with a JPEG holds no other.
fn is_alone(path: &Path) -> std::io::Result<bool> {
    mjpeg::is_one(std::fs::File::open(path)?)
}

/// PNG, BMP or WebP?
fn is_still(head: &[u8]) -> bool {
    head.starts_with(b"\x89PNG")
        || head.starts_with(b"BM")
        || (head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP"))
}

/// Whether a PNG or WebP that begins so is an animation.
fn is_animated(head: &[u8]) -> bool {
    /// In the flags of the extended header.
    const WEBP_ANIMATION: u8 = 2;
    if head.get(12..16) == Some(b"VP8X") {
        return head.get(20).is_some_and(|flags| flags & WEBP_ANIMATION != 0);
    }
    let is_there = |chunk: &[u8]| head.windows(4).position(|name| name == chunk);
    head.starts_with(b"\x89PNG")
        && is_there(b"acTL").is_some_and(|control| is_there(b"IDAT").is_none_or(|data| control < data))
}

/// When frame `seq` is due at `fps`, microseconds.
fn due_us(seq: u64, fps: f64) -> i64 {
    (seq as f64 * 1e6 / fps).round() as i64
}

/// `clip.avi`, for [`SourceInfo::name`](super::SourceInfo::name).
fn short_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_that_move_are_told_from_those_that_do_not() {
        let webp = |flags: u8| [&b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0"[..], &[flags, 0, 0, 0]].concat();
        assert!(is_animated(&webp(0x12)) && !is_animated(&webp(0x10)));
        assert!(!is_animated(b"RIFF\x20\0\0\0WEBPVP8L\x0a\0\0\0\x02\x02\x02\x02"));
        let png = |chunks: &[u8]| [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], chunks].concat();
        assert!(is_animated(&png(b"gAMAacTL..IDAT")) && !is_animated(&png(b"gAMAIDAT..acTL")));
    }
}
