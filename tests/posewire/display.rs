//! Displays: what is drawn, and where it ends up.

use std::fs;
use std::io::{Seek, Write};
use std::sync::Arc;
use std::time::Duration;

use pose::{Forecast, JointState, MAX_PERSONS, PoseFrame, TrackedPerson};
use posewire::output::display::{Canvas, Display, DisplayTarget, Framebuffer, PictureTap, PngFiles, Surface};
use posewire::output::{PoseSink, Predict, SinkError};
use posewire::picture::{Frame, PixelFormat};

use crate::frames::pose_frame;

/// One person in a 64×48 picture whose every joint lies at (16, 24) but the right ankle, at (48, 24).
fn lying_person(seq: u64) -> PoseFrame {
    let mut forecast =
        Forecast { state: [JointState::Measured; 17], score: [1.0; 17], ..Forecast::default() };
    forecast.places_px = [[[16.0, 24.0]; 17]; 4];
    for horizon in &mut forecast.places_px {
        horizon[pose::Joint::RightAnkle as usize] = [48.0, 24.0];
    }
    let mut persons = [None; MAX_PERSONS];
    persons[0] = Some(TrackedPerson { track_id: 1, score: 1.0, forecast });
    PoseFrame { seq, frame: seq, captured_at_us: 0, width: 64, height: 48, persons }
}

fn grey_picture(seq: u64, level: u8) -> Frame {
    Frame {
        bytes: Arc::new(vec![level; 64 * 48]),
        format: PixelFormat::Grey,
        width: 64,
        height: 48,
        stride: 64,
        seq,
        captured_at_us: 0,
    }
}

fn read_png(path: &std::path::Path) -> image::RgbImage {
    image::open(path).unwrap().to_rgb8()
}

#[test]
fn skeletons_are_drawn_over_the_dimmed_picture_in_numbered_files() {
    let folder = tempfile::tempdir().unwrap();
    let tap = PictureTap::default();
    let out = folder.path().join("new/out");
    let mut display = Display::new(PngFiles::open(&out).unwrap(), Predict::Capture, Some(tap.clone()));
    tap.put(&grey_picture(0, 255));
    display.send(&lying_person(0), 0).unwrap();
    display.finish(Duration::ZERO).unwrap();
    let mut alone = Display::new(PngFiles::open(&out).unwrap(), Predict::Capture, None);
    alone.send(&lying_person(7), 0).unwrap();
    alone.finish(Duration::ZERO).unwrap();

    let with_picture = read_png(&out.join("000000.png"));
    assert_eq!(with_picture.dimensions(), (64, 48));
    let corner = with_picture.get_pixel(1, 46).0;
    assert!(corner.iter().all(|c| (120..180).contains(c)), "dimmed: {corner:?}");
    let on_bone = with_picture.get_pixel(32, 24).0;
    assert_ne!(on_bone, corner);
    let without = read_png(&out.join("000007.png"));
    assert_eq!(without.get_pixel(1, 46).0, [0; 3]);
    assert_eq!(without.get_pixel(32, 24).0, on_bone);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
}

/// A display is slower than the tracker, and may be called twice a frame: each pose is drawn over its own picture.
#[test]
fn poses_are_drawn_over_the_picture_that_they_were_found_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("now.png");
    let tap = PictureTap::default();
    let mut display = Display::new(PngFiles::open(&path).unwrap(), Predict::Capture, Some(tap.clone()));
    let mut level_under = |seq: u64| {
        display.send(&lying_person(seq), 0).unwrap();
        read_png(&path).get_pixel(1, 46).0[0]
    };
    tap.put(&grey_picture(0, 50));
    tap.put(&grey_picture(1, 250));
    let (first, second) = (level_under(0), level_under(1));
    assert!(first > 0 && second > 3 * first, "{first} and {second}");
    tap.put(&grey_picture(2, 50));
    assert_eq!((level_under(1), level_under(1), level_under(2)), (second, second, first));
    // Long gone: the newest is nearer the truth than none.
    (3..9).for_each(|seq| tap.put(&grey_picture(seq, 250)));
    assert_eq!(level_under(2), second);
}

#[test]
fn the_newest_picture_is_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("now.png");
    let mut display = Display::new(PngFiles::open(&path).unwrap(), Predict::Capture, None);
    for seq in 0..3 {
        display.send(&pose_frame(seq, 2, 0), 0).unwrap();
        assert_eq!(read_png(&path).dimensions(), (640, 480));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn pictures_that_cannot_be_written_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut surface = PngFiles::open(&out).unwrap();
    let mut canvas = Canvas::default();
    canvas.reset(8, 8);
    fs::remove_dir(&out).unwrap();
    let error = surface.show(&canvas, 0).unwrap_err();
    assert!(matches!(&error, SinkError::Fatal(text) if text.contains("000000.png")), "{error:?}");
    let nowhere = PngFiles::open("/nowhere/now.png".as_ref()).map(|_| ());
    assert!(
        matches!(&nowhere, Err(SinkError::Fatal(text)) if text.contains("/nowhere/now.png")),
        "{nowhere:?}"
    );
}

#[test]
fn a_framebuffer_gets_its_own_pixels_row_by_row() {
    for (bits, pixel_bytes, red) in [("16", 2, vec![0x00, 0xf8]), ("32", 4, vec![0, 0, 255, 255])] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // 5 × 3 visible of 5 × 6, rows of 32 bytes.
        fs::write(at("modes"), "U:5x3p-60\n").unwrap();
        fs::write(at("virtual_size"), "5,6\n").unwrap();
        fs::write(at("bits_per_pixel"), format!("{bits}\n")).unwrap();
        fs::write(at("stride"), "32\n").unwrap();
        fs::write(at("fb0"), vec![9; 6 * 32]).unwrap();
        let mut framebuffer = Framebuffer::at(&at("fb0"), folder.path()).unwrap();
        assert_eq!(framebuffer.size_px([640, 480]).unwrap(), [5, 3]);
        let mut canvas = Canvas::default();
        canvas.reset(5, 3);
        canvas.rgb_mut()[3 * (2 * 5 + 1)] = 255;
        framebuffer.show(&canvas, 0).unwrap();
        let bytes = fs::read(at("fb0")).unwrap();
        assert_eq!(bytes[2 * 32 + pixel_bytes..2 * 32 + 2 * pixel_bytes], red);
        assert_eq!(
            bytes[2 * 32 + 5 * pixel_bytes..],
            [9].repeat(4 * 32 - 5 * pixel_bytes),
            "nothing beyond the rows"
        );
    }
}

#[test]
fn a_framebuffer_that_cannot_be_used_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let device = folder.path().join("fb0");
    let refused = || match Framebuffer::at(&device, folder.path()).map(|_| ()) {
        Err(SinkError::Fatal(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(refused().contains("there is no framebuffer"));
    let mut file = fs::File::create(&device).unwrap();
    file.write_all(b"x").unwrap();
    file.rewind().unwrap();
    assert!(refused().contains("virtual_size"));
    fs::write(folder.path().join("virtual_size"), "5,6\n").unwrap();
    fs::write(folder.path().join("bits_per_pixel"), "8\n").unwrap();
    assert!(refused().contains("8 bits a pixel; 16 and 32 are supported"));
}

#[test]
fn displays_are_named_as_the_command_line_says() {
    assert_eq!("fb".parse(), Ok(DisplayTarget::Framebuffer));
    assert_eq!("png:a/b.png".parse(), Ok(DisplayTarget::Png("a/b.png".into())));
    let error = "png:".parse::<DisplayTarget>().unwrap_err();
    assert!(error.contains("window, fb, terminal or png:PATH"), "{error}");
}
