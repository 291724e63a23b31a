//! Displays: what is drawn, and where it ends up.

use std::fs;
use std::io::{Seek, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use pose::{Forecast, JointState, MAX_PERSONS, PoseFrame, TrackedPerson};
use posewire::output::display::{
    Canvas, Display, DisplayTarget, FrameStamp, Framebuffer, PictureTap, PngFiles, Status, Surface,
    draw_still,
};
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
    persons[0] = Some(TrackedPerson { track_id: 1, score: 1.0, forecast, seen: None, place: None });
    PoseFrame { seq, frame: seq, captured_at_us: 0, width: 64, height: 48, persons, floor: None }
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
fn skeletons_are_drawn_over_the_picture_in_numbered_files() {
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
    assert_eq!(corner, [255; 3], "as bright as it is");
    let on_bone = with_picture.get_pixel(32, 24).0;
    assert_ne!(on_bone, corner);
    let without = read_png(&out.join("000007.png"));
    assert_eq!(without.get_pixel(1, 46).0, [0; 3]);
    assert_eq!(without.get_pixel(32, 24).0, on_bone);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);

    for (percent, level) in [(40, 154), (100, 0)] {
        let files = PngFiles::open(&out).unwrap();
        let mut dim = Display::new(files, Predict::Capture, Some(tap.clone())).dimmed(percent);
        dim.send(&lying_person(0), 0).unwrap();
        let corner = read_png(&out.join("000000.png")).get_pixel(1, 46).0;
        assert!(corner.iter().all(|c| c.abs_diff(level) < 2), "{percent} %: {corner:?}");
    }
}

/// Shows every third picture, and hears of every frame.
#[derive(Default)]
struct Seldom {
    asked: u32,
    drawn: Arc<AtomicU32>,
    told: Arc<AtomicU32>,
}

impl Surface for Seldom {
    fn name(&self) -> &str {
        "seldom"
    }
    fn size_px(&mut self, image_px: [usize; 2]) -> Result<[usize; 2], SinkError> {
        self.drawn.fetch_add(1, Relaxed);
        Ok(image_px)
    }
    fn tell(&mut self, status: &Status) -> bool {
        assert_eq!(status.persons.iter().flatten().count(), 1);
        self.told.fetch_add(1, Relaxed);
        true
    }
    fn wants_picture(&mut self) -> bool {
        self.asked += 1;
        self.asked % 3 == 1
    }
    fn show(&mut self, _: &Canvas, _: FrameStamp) -> Result<(), SinkError> {
        Ok(())
    }
}

#[test]
fn a_picture_that_would_not_be_shown_is_not_drawn() {
    let surface = Seldom::default();
    let (drawn, told) = (surface.drawn.clone(), surface.told.clone());
    let mut display = Display::new(surface, Predict::Capture, None);
    for seq in 0..6 {
        display.send(&lying_person(seq), 0).unwrap();
    }
    assert_eq!((drawn.load(Relaxed), told.load(Relaxed)), (2, 6));
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

/// A figure of `state` with its left arm and leg unsure, `x_px` from the left.
fn figure(track_id: u32, x_px: f32, state: JointState) -> pose::Pose {
    const PLACES: [[f32; 2]; 17] = [
        [40., 20.],
        [44., 16.],
        [36., 16.],
        [50., 20.],
        [30., 20.],
        [60., 46.],
        [20., 46.],
        [72., 78.],
        [8., 78.],
        [78., 108.],
        [4., 108.],
        [54., 110.],
        [28., 110.],
        [56., 154.],
        [26., 154.],
        [58., 198.],
        [24., 198.],
    ];
    let mut pose = pose::Pose { track_id, score: 1.0, ..pose::Pose::default() };
    for (j, (joint, [x, y])) in pose.joints.iter_mut().zip(PLACES).enumerate() {
        let score = if [7, 9, 13, 15].contains(&j) { 0.2 } else { 0.9 };
        *joint = pose::PoseJoint { x_px: x_px + x, y_px: 24.0 + y, score, sigma_px: 2.0, state };
    }
    pose
}

/// Six persons, in turn measured and predicted, their left limbs unsure, on light, dark, grey and busy ground.
/// `POSEWIRE_BLESS=1` draws the golden picture anew: look at it.
#[test]
fn figures_look_as_they_did_on_every_ground() {
    const WIDTH: usize = 640;
    const HEIGHT: usize = 4 * 240;
    let mut ground = vec![0; 3 * WIDTH * HEIGHT];
    for (i, pixel) in ground.chunks_exact_mut(3).enumerate() {
        let (x, y) = (i % WIDTH, i / WIDTH);
        let checks = if (x / 16 + y / 16) % 2 == 0 { [235, 120, 60] } else { [40, 110, 90] };
        pixel.copy_from_slice(&[[250; 3], [12; 3], [128; 3], checks][y / 240]);
    }
    let picture = posewire::picture::Picture {
        bytes: &ground,
        format: PixelFormat::Rgb24,
        width: WIDTH,
        height: HEIGHT,
        stride: 3 * WIDTH,
        image_size: [WIDTH, HEIGHT],
        image_from_picture: [1.0; 2],
    };
    let figures = (0..4).flat_map(|row| {
        (0..6).map(move |id| {
            let state = if id % 2 == 0 { JointState::Measured } else { JointState::Predicted };
            let mut figure = figure(id + 1, 14.0 + 106.0 * id as f32, state);
            figure.joints.iter_mut().for_each(|joint| joint.y_px += 240.0 * row as f32);
            figure
        })
    });
    let mut sheet = image::RgbImage::new(WIDTH as u32, HEIGHT as u32);
    let drawn = draw_still(&picture, figures, posewire::output::display::DisplayStyle::Skeleton);
    sheet.copy_from_slice(drawn.rgb());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/figures.png");
    if std::env::var_os("POSEWIRE_BLESS").is_some() {
        sheet.save(&path).unwrap();
    }
    assert!(
        read_png(&path) == sheet,
        "figures look different: POSEWIRE_BLESS=1 draws tests/golden/figures.png anew"
    );
}

#[test]
fn the_newest_picture_is_replaced_whole() {
    for name in ["now.png", "NOW.PNG"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut display = Display::new(PngFiles::open(&path).unwrap(), Predict::Capture, None);
        for seq in 0..3 {
            display.send(&pose_frame(seq, 2, 0), 0).unwrap();
            assert_eq!(read_png(&path).dimensions(), (640, 480));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}

#[test]
fn pictures_that_cannot_be_written_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut surface = PngFiles::open(&out).unwrap();
    let mut canvas = Canvas::default();
    canvas.reset(8, 8);
    fs::remove_dir(&out).unwrap();
    let error = surface.show(&canvas, FrameStamp::default()).unwrap_err();
    assert!(
        matches!(&error, SinkError::Fatal(text) if format!("{text:#}").contains("000000.png")),
        "{error:?}"
    );
    let nowhere = PngFiles::open("/nowhere/now.png".as_ref()).map(|_| ());
    assert!(
        matches!(&nowhere, Err(SinkError::Fatal(text)) if format!("{text:#}").contains("/nowhere/now.png")),
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
        framebuffer.show(&canvas, FrameStamp::default()).unwrap();
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
        Err(SinkError::Fatal(why)) => format!("{why:#}"),
        other => panic!("{other:?}"),
    };
    assert!(refused().contains("there is no framebuffer"));
    let mut file = fs::File::create(&device).unwrap();
    file.write_all(b"x").unwrap();
    file.rewind().unwrap();
    assert!(refused().contains("virtual_size"));
    fs::write(folder.path().join("virtual_size"), "0,0\n").unwrap();
    fs::write(folder.path().join("bits_per_pixel"), "8\n").unwrap();
    assert!(refused().contains("size '0,0' is none"));
    fs::write(folder.path().join("virtual_size"), "5,6\n").unwrap();
    assert!(refused().contains("8 bits a pixel; 16 and 32 are supported"));
}

#[test]
fn displays_are_named_as_the_command_line_says() {
    for (name, device) in [("fb", "/dev/fb0"), ("fb:/dev/fb1", "/dev/fb1")] {
        let target: DisplayTarget = name.parse().unwrap();
        assert_eq!((&target, &*target.to_string()), (&DisplayTarget::Framebuffer(device.into()), name));
    }
    assert!("fb:".parse::<DisplayTarget>().unwrap_err().contains("fb:/dev/fb1"));
    assert_eq!("png:a/b.png".parse(), Ok(DisplayTarget::Png("a/b.png".into())));
    let error = "png:".parse::<DisplayTarget>().unwrap_err();
    assert!(error.contains("window, fb, terminal or png:PATH"), "{error}");
}
