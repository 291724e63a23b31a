//! Sources from the outside: real files of every kind, and every kind of bad one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use posewire::capture::replay::open_stored;
use posewire::capture::{CaptureError, FrameSource, SourceConfig, SourceInfo, Stored, open};
use posewire::picture::{Decoder, Frame, PixelFormat, Turn};

use crate::clips;
use crate::stills::{cmyk, held_upright};

fn replay(path: &Path) -> Result<Box<dyn FrameSource>, CaptureError> {
    open(&SourceConfig::Replay { path: path.into(), no_drop: true })
}

fn all(source: &mut dyn FrameSource) -> (Vec<Frame>, CaptureError) {
    let mut frames = Vec::new();
    loop {
        match source.next_frame(Duration::from_secs(1)) {
            Ok(frame) => frames.extend(frame),
            Err(end) => return (frames, end),
        }
    }
}

fn refusal(path: &Path) -> String {
    match replay(path).map(|mut s| all(&mut *s)) {
        Err(CaptureError::Unusable(why)) => format!("{why:#}"),
        Ok((frames, CaptureError::Unusable(why))) if frames.is_empty() => format!("{why:#}"),
        other => panic!("{}: not refused: {:?}", path.display(), other.map(|(f, e)| (f.len(), e))),
    }
}

fn picture(dir: &Path, name: &str, width: u32, height: u32) -> PathBuf {
    let path = dir.join(name);
    let pixel = |x, y| image::Rgb([(x * 3) as u8, (y * 5) as u8, 90]);
    image::RgbImage::from_fn(width, height, pixel).save(&path).expect("writes");
    path
}

#[test]
fn photos_stand_upright_alone_and_in_a_folder_but_for_a_calibration() {
    let dir = tempfile::tempdir().expect("a folder");
    let (photo, dir) = (dir.path().join("photo.jpg"), dir.path());
    fs::write(&photo, held_upright(&image::RgbImage::new(32, 64))).expect("writes");
    for path in [&photo, dir] {
        let sizes = |mut source: Box<dyn FrameSource>| -> Vec<_> {
            all(&mut *source).0.iter().map(|frame| [frame.width, frame.height]).collect()
        };
        assert_eq!(sizes(replay(path).expect("opens")), [[32, 64]]);
        assert_eq!(sizes(open_stored(path).expect("opens")), [[64, 32]]);
    }
    // A lens is turned with the picture that was measured, however the next one was held.
    picture(dir, "second.jpg", 32, 64);
    let mut source = replay(dir).expect("opens");
    let turned = Stored { size_px: [64, 32], turn: Turn { quarters: 1, mirror: false } };
    for stored in [Some(turned), None] {
        assert!(source.next_frame(Duration::ZERO).expect("goes on").is_some());
        assert_eq!(source.stored(), stored);
    }
}

#[test]
fn a_cmyk_jpeg_alone_is_read_as_one_in_a_folder_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("photo.jpg");
    fs::write(&path, cmyk(&image::RgbImage::from_pixel(16, 16, image::Rgb([200, 30, 30])))).expect("writes");
    let (frames, _) = all(&mut *replay(&path).expect("opens"));
    assert!(frames.len() == 1 && frames[0].format == PixelFormat::Rgb24, "{frames:?}");
}

/// As a camera's folder of another age may have it.
#[test]
fn a_name_that_is_no_text_is_a_source() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(OsStr::from_bytes(b"caf\xe9.png"));
    fs::rename(picture(dir.path(), "clip.png", 64, 48), &path).expect("renames");
    let posewire = env!("CARGO_BIN_EXE_posewire");
    let out = Command::new(posewire).args(["run", "--no-drop"]).arg(&path).output().expect("runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && out.stdout.starts_with(b"{\"seq\":0"), "{said}");
}

#[test]
fn a_folder_of_changing_sizes_and_kinds_comes_in_the_order_of_its_numbers() {
    let dir = tempfile::tempdir().expect("a folder");
    picture(dir.path(), "f10.png", 31, 17);
    picture(dir.path(), "f9.jpg", 64, 48);
    picture(dir.path(), "f2.bmp", 1, 1);
    image::ImageBuffer::<image::Luma<u16>, _>::from_fn(20, 10, |x, _| image::Luma([(x * 3000) as u16]))
        .save(dir.path().join("f1.png"))
        .expect("writes 16-bit grey");
    fs::write(dir.path().join("notes.txt"), "not a picture").expect("writes");
    let mut source = replay(dir.path()).expect("opens");
    let (frames, end) = all(&mut *source);
    assert!(matches!(end, CaptureError::Ended));
    let what: Vec<_> = frames.iter().map(|f| (f.width, f.height, f.format == PixelFormat::Mjpeg)).collect();
    assert_eq!(what, [(20, 10, false), (1, 1, false), (64, 48, true), (31, 17, false)]);
    let mut decoder = Decoder::new().expect("sets up");
    for frame in &frames {
        let p = decoder.decode(frame, 1).expect("decodes");
        assert_eq!(p.image_size, [frame.width as usize, frame.height as usize]);
    }
    let grey = decoder.decode(&frames[0], 1).expect("decodes");
    assert_eq!(&grey.bytes[3 * 10..3 * 11], &[117; 3], "16 bits become 8, grey becomes RGB");
}

#[test]
fn unreadable_pictures_are_left_out_and_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    picture(dir.path(), "1.jpg", 32, 32);
    fs::write(dir.path().join("2.jpg"), []).expect("writes");
    fs::write(dir.path().join("3.png"), b"\x89PNG but no more").expect("writes");
    // The header of a JPEG of 10,000×10,000, with little behind it.
    let mut huge = fs::read(dir.path().join("1.jpg")).expect("reads");
    let sof = huge.windows(2).position(|m| m == [0xff, 0xc0]).expect("a baseline JPEG");
    huge[sof + 5..sof + 9].copy_from_slice(&[0x27, 0x10, 0x27, 0x10]);
    fs::write(dir.path().join("4.jpg"), &huge).expect("writes");
    picture(dir.path(), "5.jpg", 16, 16);
    let mut source = replay(dir.path()).expect("opens");
    let (frames, end) = all(&mut *source);
    assert!(matches!(end, CaptureError::Ended));
    assert_eq!(frames.iter().map(|f| f.seq).collect::<Vec<_>>(), [0, 4], "the gap shows in the numbers");
    assert_eq!(source.counters().damaged, 3);

    let alone = tempfile::tempdir().expect("a folder");
    fs::write(alone.path().join("huge.jpg"), &huge).expect("writes");
    assert!(refusal(alone.path()).contains("10000x10000 refused"), "{}", refusal(alone.path()));
}

#[test]
fn what_cannot_be_played_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    assert!(refusal(dir.path()).contains("no pictures in this folder"));
    assert!(refusal(&at("missing.avi")).contains("missing.avi"));
    fs::write(at("empty.jpg"), []).expect("writes");
    assert!(refusal(&at("empty.jpg")).contains("empty file"));
    fs::write(at("cut.avi"), b"RIFF\x00\x00\x00\x00AVI LIST").expect("writes");
    assert!(refusal(&at("cut.avi")).contains("AVI"));
    fs::write(at("noise.mp4"), [7; 5000]).expect("writes");
    let noise = refusal(&at("noise.mp4"));
    assert!(noise.contains("ffmpeg cannot read it") || noise.contains("sudo apt install ffmpeg"), "{noise}");
}

#[test]
fn cameras_that_are_not_there_are_refused_with_what_to_do() {
    let camera = |device: &str| SourceConfig::Camera {
        device: device.into(),
        width: 640,
        height: 480,
        fps: 30.0,
        format: None,
        wait: false,
    };
    for device in ["/dev/null", "/nonexistent"] {
        match open(&camera(device)) {
            Err(CaptureError::Unusable(why)) => {
                let why = why.to_string();
                assert!(why.contains(device) || why.contains("camera support"), "{why}")
            }
            other => panic!("{device}: {:?}", other.map(|s| s.info())),
        }
    }
}

#[cfg(all(feature = "v4l", target_os = "linux"))]
#[test]
fn a_camera_that_is_not_there_yet_is_waited_for_and_one_that_never_can_be_is_not() {
    let camera = |device: &str| SourceConfig::Camera {
        device: device.into(),
        width: 640,
        height: 480,
        fps: 30.0,
        format: None,
        wait: true,
    };
    let mut source = open(&camera("/dev/video97")).expect("waits");
    assert!(source.is_away());
    for _ in 0..3 {
        let frame = source.next_frame(std::time::Duration::from_millis(120));
        assert!(matches!(frame, Ok(None)), "{frame:?}");
    }
    assert!(source.is_away());
    assert!(matches!(open(&camera("/dev/null")), Err(CaptureError::Unusable(_))));
}

/// Writes `frames` of the built-in clip as an MJPEG-AVI, so that no encoder is needed.
fn write_avi(path: &Path, frames: &[Frame], fps: u32) {
    let chunk = |id: &[u8], body: &[u8]| {
        let mut c = [id, &(body.len() as u32).to_le_bytes(), body].concat();
        c.resize(c.len().next_multiple_of(2), 0);
        c
    };
    let mut strh = [0u8; 56];
    strh[..8].copy_from_slice(b"vidsMJPG");
    strh[20..24].copy_from_slice(&1u32.to_le_bytes());
    strh[24..28].copy_from_slice(&fps.to_le_bytes());
    let mut strf = [0u8; 40];
    strf[4..8].copy_from_slice(&frames[0].width.to_le_bytes());
    strf[8..12].copy_from_slice(&frames[0].height.to_le_bytes());
    strf[16..20].copy_from_slice(b"MJPG");
    let strl = chunk(b"LIST", &[&b"strl"[..], &chunk(b"strh", &strh), &chunk(b"strf", &strf)].concat());
    let hdrl = chunk(b"LIST", &[&b"hdrl"[..], &chunk(b"avih", &[0; 56]), &strl].concat());
    let movi: Vec<u8> = frames.iter().flat_map(|f| chunk(b"00dc", &f.bytes)).collect();
    let movi = chunk(b"LIST", &[&b"movi"[..], &movi].concat());
    fs::write(path, chunk(b"RIFF", &[&b"AVI "[..], &hdrl, &movi].concat())).expect("writes");
}

#[test]
fn an_avi_and_a_raw_stream_of_the_built_in_clip_give_its_bytes_back_and_cut_off_all_but_the_last() {
    let config = SourceConfig::Synthetic {
        persons: 2,
        width: 160,
        height: 120,
        fps: 25.0,
        seed: 4,
        frames: Some(12),
        no_drop: true,
    };
    let (clip, end) = all(&mut *open(&config).expect("draws"));
    assert!(matches!(end, CaptureError::Ended) && clip.len() == 12);
    let dir = tempfile::tempdir().expect("a folder");
    let (avi, raw) = (dir.path().join("clip.avi"), dir.path().join("clip.mjpeg"));
    write_avi(&avi, &clip, 25);
    fs::write(&raw, clip.iter().flat_map(|f| f.bytes.to_vec()).collect::<Vec<_>>()).expect("writes");
    for path in [&avi, &raw] {
        let mut source = replay(path).expect("opens");
        let (frames, _) = all(&mut *source);
        assert!(
            frames.len() == 12 && frames.iter().zip(&clip).all(|(a, b)| a.bytes == b.bytes && a.seq == b.seq)
        );
        let whole = fs::read(path).expect("reads");
        fs::write(path, &whole[..whole.len() - 100]).expect("writes");
        let mut source = replay(path).expect("opens");
        let (frames, end) = all(&mut *source);
        assert!(matches!(end, CaptureError::Ended));
        assert_eq!((frames.len(), source.counters().damaged), (11, 1), "{}", path.display());
    }
    write_avi(&avi, &clip, 25);
    let mut source = replay(&avi).expect("opens");
    let times: Vec<_> = all(&mut *source).0.iter().map(|f| f.captured_at_us).collect();
    assert_eq!(times[..3], [0, 40_000, 80_000]);
}

#[test]
fn played_in_real_time_a_clip_takes_its_time() {
    let config = SourceConfig::Synthetic {
        persons: 1,
        width: 64,
        height: 48,
        fps: 50.0,
        seed: 4,
        frames: Some(10),
        no_drop: false,
    };
    let mut source = open(&config).expect("draws");
    let SourceInfo { live, .. } = source.info();
    assert!(live);
    let start = std::time::Instant::now();
    let (frames, _) = all(&mut *source);
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(170), "ten frames at 50 a second took {took:?}");
    assert_eq!(frames.len() as u64 + source.counters().overtaken, 10);
}

/// A real video, MPEG-4 in AVI.
#[test]
fn a_real_video_in_another_codec_comes_through_ffmpeg_whole() {
    let Some(clip) = clips::jhmdb("pullup/100_pullups_pullup_f_nm_np1_fr_med_1.avi") else { return };
    let mut source = replay(&clip.path).expect("opens");
    let (frames, end) = all(&mut *source);
    assert!(matches!(end, CaptureError::Ended));
    assert_eq!(frames.len(), clip.frames);
    assert!(frames.iter().all(|f| (f.width, f.height, f.format) == (320, 240, PixelFormat::Nv12)));
    assert!(frames.windows(2).all(|w| w[0].captured_at_us < w[1].captured_at_us));
}
