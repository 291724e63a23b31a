//! Which of a camera's modes is used.
//!
//! The rule, in this order:
//! 1. a mode that reaches the wanted frames per second (else the fastest there is);
//! 2. the smallest size not below the wanted one in either direction (else the largest): the network never sees more;
//! 3. the slowest rate that still reaches the wanted one;
//! 4. the format that costs least to read: YUYV, NV12 (sampled in place), MJPG (decoded at reduced scale), RGB24, GREY
//!    (no colour).
//!
//! A format that is asked for by name is the only one considered. Where the bus has no room for an uncompressed one, MJPG takes its
//! place.

use std::cmp::Reverse;

use crate::picture::PixelFormat;

/// What is wanted of a camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// `auto`, or what the source names cameras by: a path (V4L2), a number or a part of the name (nokhwa).
    pub device: String,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Frames a second.
    pub fps: f32,
    /// Only this format; `None` chooses.
    pub format: Option<PixelFormat>,
}

/// One way a camera can send pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Pixel format.
    pub format: PixelFormat,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Frames a second.
    pub fps: f32,
}

/// A camera that gives nothing for so long, and for so many frames of its mode, is lost. Cameras halve their rate in the dark, to 5 a
/// second at worst, those of slow modes to less.
const STALL_US: i64 = 900_000;
const STALL_FRAMES: i64 = 3;

/// Until the first frame: USB cameras start their sensor first.
const FIRST_FRAME_US: i64 = 3_000_000;

impl Mode {
    /// From frame to frame.
    pub fn interval_us(&self) -> i64 {
        (1e6 / f64::from(self.fps.max(0.1))) as i64
    }

    /// For how long a camera may give nothing until it is lost, from its first frame on or before it.
    pub fn patience_us(&self, has_started: bool) -> i64 {
        let shortest_us = if has_started { STALL_US } else { FIRST_FRAME_US };
        shortest_us.max(STALL_FRAMES * self.interval_us())
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { format, width, height, fps } = self;
        // Two places tell 29.97 from 30.
        let fps = (fps * 100.0).round() / 100.0;
        write!(f, "{width}x{height} {} at {fps} fps", name(*format))
    }
}

/// V4L2's four characters.
pub fn name(format: PixelFormat) -> &'static str {
    match format {
        PixelFormat::Mjpeg => "MJPG",
        PixelFormat::Yuyv => "YUYV",
        PixelFormat::Nv12 => "NV12",
        PixelFormat::Grey => "GREY",
        PixelFormat::Rgb24 => "RGB3",
    }
}

/// The format behind V4L2's four characters; `JPEG` cameras send the same as `MJPG` ones.
#[cfg(any(test, all(feature = "v4l", target_os = "linux")))]
pub fn from_fourcc(fourcc: &[u8; 4]) -> Option<PixelFormat> {
    Some(match fourcc {
        b"MJPG" | b"JPEG" => PixelFormat::Mjpeg,
        b"YUYV" => PixelFormat::Yuyv,
        b"NV12" => PixelFormat::Nv12,
        b"GREY" => PixelFormat::Grey,
        b"RGB3" => PixelFormat::Rgb24,
        _ => return None,
    })
}

/// The four characters under which a driver lists `format`: one that has `JPEG` alone sets another format where `MJPG` is asked for.
#[cfg(any(test, all(feature = "v4l", target_os = "linux")))]
pub fn listed_as(format: PixelFormat, listed: &[[u8; 4]]) -> [u8; 4] {
    let own = name(format).as_bytes().first_chunk().copied().unwrap_or(*b"    ");
    let is_it = |fourcc: &&[u8; 4]| from_fourcc(fourcc) == Some(format);
    if listed.contains(&own) { own } else { listed.iter().find(is_it).copied().unwrap_or(own) }
}

/// The best of `modes` by the rule above; `None` where none is left.
pub fn choose(
    modes: &[Mode],
    width: u32,
    height: u32,
    fps: f32,
    format: Option<PixelFormat>,
) -> Option<Mode> {
    // Rates come as fractions: 29.97 is as good as 30.
    let reaches = |m: &Mode| m.fps >= 0.98 * fps;
    let covers = |m: &Mode| m.width >= width && m.height >= height;
    let area = |m: &Mode| u64::from(m.width) * u64::from(m.height);
    let milli_fps = |m: &Mode| (m.fps * 1000.0) as u64;
    let rank = |m: &Mode| {
        let speed = if reaches(m) { (0, Reverse(0)) } else { (1, Reverse(milli_fps(m))) };
        let size = if covers(m) { (0, area(m)) } else { (1, u64::MAX - area(m)) };
        let cost = match m.format {
            PixelFormat::Yuyv => 0,
            PixelFormat::Nv12 => 1,
            PixelFormat::Mjpeg => 2,
            PixelFormat::Rgb24 => 3,
            PixelFormat::Grey => 4,
        };
        (speed, size, milli_fps(m), cost)
    };
    modes.iter().filter(|m| format.is_none_or(|f| m.format == f)).min_by_key(|m| rank(m)).copied()
}

/// What is tried in the place of `mode` where the bus has no room for it: the best compressed one, which needs a fraction of that.
#[cfg(any(test, all(feature = "v4l", target_os = "linux")))]
pub fn compressed(modes: &[Mode], mode: Mode, width: u32, height: u32, fps: f32) -> Option<Mode> {
    let of_jpegs = || choose(modes, width, height, fps, Some(PixelFormat::Mjpeg));
    (mode.format != PixelFormat::Mjpeg).then(of_jpegs).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webcam() -> Vec<Mode> {
        let mode = |format, width, height, fps| Mode { format, width, height, fps };
        vec![
            mode(PixelFormat::Yuyv, 640, 480, 30.0),
            mode(PixelFormat::Yuyv, 640, 480, 15.0),
            mode(PixelFormat::Yuyv, 1280, 720, 10.0),
            mode(PixelFormat::Mjpeg, 640, 480, 60.0),
            mode(PixelFormat::Mjpeg, 640, 480, 30.0),
            mode(PixelFormat::Mjpeg, 1280, 720, 30.0),
            mode(PixelFormat::Mjpeg, 1920, 1080, 29.97),
            mode(PixelFormat::Grey, 640, 480, 30.0),
        ]
    }

    #[test]
    fn rate_comes_before_size_and_size_before_format() {
        let chosen = |w, h, fps, format| {
            choose(&webcam(), w, h, fps, format).map(|m| m.to_string()).unwrap_or_default()
        };
        assert_eq!(chosen(640, 480, 30.0, None), "640x480 YUYV at 30 fps");
        assert_eq!(chosen(640, 480, 60.0, None), "640x480 MJPG at 60 fps");
        assert_eq!(chosen(640, 480, 90.0, None), "640x480 MJPG at 60 fps");
        assert_eq!(chosen(1280, 720, 30.0, None), "1280x720 MJPG at 30 fps");
        assert_eq!(chosen(800, 600, 10.0, None), "1280x720 YUYV at 10 fps");
        assert_eq!(chosen(1920, 1080, 30.0, None), "1920x1080 MJPG at 29.97 fps");
        assert_eq!(chosen(4000, 3000, 30.0, None), "1920x1080 MJPG at 29.97 fps");
        assert_eq!(chosen(320, 240, 30.0, None), "640x480 YUYV at 30 fps");
        assert_eq!(chosen(640, 480, 30.0, Some(PixelFormat::Grey)), "640x480 GREY at 30 fps");
        assert_eq!(chosen(640, 480, 30.0, Some(PixelFormat::Nv12)), "");
    }

    #[test]
    fn a_slow_mode_is_waited_for_longer() {
        let patience_us = |fps| {
            let mode = Mode { format: PixelFormat::Yuyv, width: 640, height: 480, fps };
            [false, true].map(|has_started| mode.patience_us(has_started))
        };
        assert_eq!(patience_us(30.0), [3_000_000, 900_000]);
        assert_eq!(patience_us(0.5), [6_000_000, 6_000_000]);
    }

    #[test]
    fn where_the_bus_is_full_the_same_comes_compressed_if_the_camera_can() {
        let modes = webcam();
        let [yuyv, mjpeg] = [modes[0], modes[4]];
        assert_eq!(compressed(&modes, yuyv, 640, 480, 30.0), Some(mjpeg));
        assert_eq!(compressed(&modes, mjpeg, 640, 480, 30.0), None, "it is already");
        assert_eq!(compressed(&modes[..3], yuyv, 640, 480, 30.0), None);
    }

    #[test]
    fn four_characters_and_formats_agree() {
        for format in
            [PixelFormat::Mjpeg, PixelFormat::Yuyv, PixelFormat::Nv12, PixelFormat::Grey, PixelFormat::Rgb24]
        {
            let fourcc: [u8; 4] = name(format).as_bytes().try_into().expect("four");
            assert_eq!(from_fourcc(&fourcc), Some(format));
        }
        assert_eq!(from_fourcc(b"H264"), None);
        let asked = |listed: &[[u8; 4]]| listed_as(PixelFormat::Mjpeg, listed);
        assert_eq!(asked(&[*b"YUYV", *b"JPEG"]), *b"JPEG");
        assert_eq!(asked(&[*b"JPEG", *b"MJPG"]), *b"MJPG");
        assert_eq!(asked(&[]), *b"MJPG");
    }
}
