//! Photos on the command line: poses at once, drawn, as JSON; whatever kind of file comes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use posewire::capture::FrameSource;
use posewire::capture::clip::EveryFrame;
use posewire::capture::synthetic::Synthetic;
use serde_json::Value;

fn posewire(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_posewire")).args(arguments).current_dir(folder).output().unwrap()
}

/// One rendered person, 320×240.
fn photo() -> image::RgbImage {
    let clip = Synthetic::new(1, 320, 240, 30.0, 3).and_then(Synthetic::as_mjpeg).unwrap();
    let frame = EveryFrame(clip).next_frame(std::time::Duration::ZERO).unwrap().unwrap();
    image::load_from_memory(&frame.bytes).unwrap().to_rgb8()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

/// Where the joints are that were seen.
fn measured(person: &Value) -> Vec<[u32; 2]> {
    let joints = person["keypoints"].as_array().unwrap();
    assert_eq!(joints.len(), 17);
    assert!(joints.iter().all(|j| j[4] == "measured" || j[4] == "absent"), "{person}");
    let seen = joints.iter().filter(|j| j[4] == "measured");
    seen.map(|j| [0, 1].map(|i| j[i].as_f64().unwrap() as u32)).collect()
}

#[test]
fn a_photo_is_drawn_into_the_working_directory_and_its_poses_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("album")).unwrap();
    photo().save(path("album/photo.png")).unwrap();
    let before = fs::read(path("album/photo.png")).unwrap();
    // What stands there already is replaced: it is the last run's.
    for _ in 0..2 {
        let done = posewire(folder.path(), &["album/photo.png"]);
        assert!(done.status.success(), "{}", said(&done));
        let [line] = &lines(&done)[..] else { panic!("one line a photo: {}", said(&done)) };
        assert_eq!(
            (&line["file"], &line["width"], &line["height"]),
            (&"album/photo.png".into(), &320.into(), &240.into())
        );
        let [person] = &line["persons"].as_array().unwrap()[..] else { panic!("one person: {line}") };
        assert_eq!(person["id"], 1);
        let joints = measured(person);
        assert!(joints.len() >= 12, "{person}");
        assert!(said(&done).contains("drawn in photo.poses.png"), "{}", said(&done));
        let drawn = image::open(path("photo.poses.png")).unwrap().to_rgb8();
        assert_eq!(drawn.dimensions(), (320, 240));
        let plain = photo();
        assert!(joints.iter().all(|&[x, y]| drawn.get_pixel(x, y) != plain.get_pixel(x, y)));
        assert_eq!(drawn.get_pixel(319, 239), plain.get_pixel(319, 239), "nothing is dimmed");
    }
    assert_eq!(fs::read(path("album/photo.png")).unwrap(), before);
    assert_eq!(fs::read_dir(path("album")).unwrap().count(), 1);
}

#[test]
fn a_folder_goes_on_past_what_cannot_be_read_and_the_exit_status_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("in")).unwrap();
    let photo = photo();
    photo.save(path("in/1.jpg")).unwrap();
    photo.save(path("in/2.webp")).unwrap();
    photo.save(path("in/10.gif")).unwrap();
    image::RgbImage::new(1, 1).save(path("in/11.png")).unwrap();
    fs::write(path("in/3.jpg"), b"").unwrap();
    fs::write(path("in/4.jpg"), b"A text by another name.\n").unwrap();
    let whole = fs::read(path("in/1.jpg")).unwrap();
    fs::write(path("in/5.jpg"), &whole[..whole.len() / 2]).unwrap();
    let mut huge = whole.clone();
    let sof = huge.windows(2).position(|m| m == [0xff, 0xc0]).unwrap();
    huge[sof + 5..sof + 9].copy_from_slice(&[0xff; 4]);
    fs::write(path("in/6.jpg"), huge).unwrap();
    // Nobody will ever write into it.
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path("in/7.jpg"), mode).unwrap();
    fs::write(path("in/8.tiff"), "II*").unwrap();
    fs::write(path("in/notes.txt"), "no photo").unwrap();
    // Drawn by an earlier run.
    photo.save(path("in/1.poses.jpg")).unwrap();

    let done = posewire(folder.path(), &["in", "--out", "new/drawn"]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let got: Vec<(String, String)> = lines(&done)
        .iter()
        .map(|line| {
            let file = line["file"].as_str().unwrap().to_owned();
            let what = match (&line["error"], &line["persons"]) {
                (Value::String(error), _) => error.clone(),
                (_, persons) => persons.as_array().unwrap().len().to_string(),
            };
            (file, what)
        })
        .collect();
    let expected = [
        ("in/1.jpg", "1"),
        ("in/2.webp", "1"),
        ("in/3.jpg", "empty file"),
        ("in/4.jpg", "not a picture that can be read: JPEG, PNG, WebP, GIF and BMP can"),
        ("in/5.jpg", "damaged or cut short: Premature end of JPEG file"),
        (
            "in/6.jpg",
            "picture of 65535x65535 refused: up to 256 megapixels are accepted as JPEG, 33 as anything else",
        ),
        ("in/7.jpg", "no file but a folder, a pipe or a device: name a picture's file"),
        ("in/10.gif", "1"),
        ("in/11.png", "0"),
    ];
    let expected: Vec<(String, String)> = expected.map(|(a, b)| (a.into(), b.into())).to_vec();
    assert_eq!(got, expected);
    assert!(said(&done).contains("posewire: 5 of 9 pictures failed"), "{}", said(&done));
    assert!(said(&done).contains("in/8.tiff: a kind of picture that is not read"), "{}", said(&done));
    let mut drawn: Vec<_> =
        fs::read_dir(path("new/drawn")).unwrap().map(|e| e.unwrap().file_name()).collect();
    drawn.sort();
    assert_eq!(drawn, ["1.poses.jpg", "10.gif.poses.png", "11.poses.png", "2.webp.poses.png"]);
}

/// `photo` as the kind that `format` says.
fn encoded(photo: impl Into<image::DynamicImage>, format: image::ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    photo.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A grey JPEG `times` as large in both directions.
fn enlarged(photo: &image::RgbImage, times: u32) -> Vec<u8> {
    let grey = image::imageops::grayscale(photo);
    let (width, height) = (grey.width() * times, grey.height() * times);
    let mut pixels = Vec::with_capacity((width * height) as usize);
    for row in grey.as_raw().chunks(grey.width() as usize) {
        let wide: Vec<u8> =
            row.iter().flat_map(|&level| std::iter::repeat_n(level, times as usize)).collect();
        (0..times).for_each(|_| pixels.extend_from_slice(&wide));
    }
    let [width, height] = [width as usize, height as usize];
    let format = turbojpeg::PixelFormat::GRAY;
    let image = turbojpeg::Image { pixels: &pixels[..], width, pitch: width, height, format };
    turbojpeg::compress(image, 80, turbojpeg::Subsamp::Gray).unwrap().to_vec()
}

/// As printers want it: inks, stored the other way round as Adobe does.
pub fn cmyk(photo: &image::RgbImage) -> Vec<u8> {
    let pixels: Vec<u8> = photo.pixels().flat_map(|p| [p[0], p[1], p[2], 255]).collect();
    let (width, height) = (photo.width() as usize, photo.height() as usize);
    let format = turbojpeg::PixelFormat::CMYK;
    let image = turbojpeg::Image { pixels: &pixels[..], width, pitch: 4 * width, height, format };
    turbojpeg::compress(image, 95, turbojpeg::Subsamp::None).unwrap().to_vec()
}

/// Stored on its side, with EXIF's word that it is to be turned by 90 degrees.
pub fn held_upright(photo: &image::RgbImage) -> Vec<u8> {
    use image::ImageEncoder;
    let stored = image::imageops::rotate270(photo);
    let tiff = [&b"II*\0\x08\0\0\0"[..], &[1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0], &[0; 4]].concat();
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 95);
    encoder.set_exif_metadata(tiff).unwrap();
    encoder.write_image(&stored, stored.width(), stored.height(), image::ExtendedColorType::Rgb8).unwrap();
    bytes
}

/// A GIF whose first picture is the photo.
fn animated(photo: &image::RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    for picture in [photo.clone(), image::RgbImage::new(320, 240)] {
        let rgba = image::DynamicImage::from(picture).into_rgba8();
        encoder.encode_frame(image::Frame::new(rgba)).unwrap();
    }
    drop(encoder);
    bytes
}

/// Photos as telephones, scanners, printers and slips make them: the person is the same in each, however it is stored.
#[test]
fn every_odd_kind_of_photo_shows_the_person_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let photo = photo();
    let sixteen = image::DynamicImage::from(photo.clone()).into_rgb16();
    let png = image::ImageFormat::Png;
    let dot = image::RgbImage::from_pixel(1, 1, image::Rgb([200, 10, 10]));
    // Name, bytes, how many times larger than the photo, the size of the drawn picture, and persons.
    type Odd = (&'static str, Vec<u8>, u32, [u32; 2], usize);
    let table: [Odd; 9] = [
        ("plain.png", encoded(photo.clone(), png), 1, [320, 240], 1),
        ("105 megapixels.jpg", enlarged(&photo, 37), 37, [5920, 4440], 1),
        ("held on its side.jpg", held_upright(&photo), 1, [320, 240], 1),
        ("CMYK.jpg", cmyk(&photo), 1, [320, 240], 1),
        ("16 bits.png", encoded(sixteen.clone(), png), 1, [320, 240], 1),
        (
            "16 bits, grey.png",
            encoded(image::DynamicImage::from(sixteen).into_luma16(), png),
            1,
            [320, 240],
            1,
        ),
        ("animated.gif", animated(&photo), 1, [320, 240], 1),
        ("1 x 1.png", encoded(dot.clone(), png), 1, [1, 1], 0),
        ("1 x 1.jpg", encoded(dot, image::ImageFormat::Jpeg), 1, [1, 1], 0),
    ];
    for (name, bytes, ..) in &table {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let names = table.iter().map(|(name, ..)| *name);
    let done = posewire(folder.path(), &names.chain(["--out", "drawn"]).collect::<Vec<_>>());
    assert!(done.status.success(), "{}", said(&done));
    let lines = lines(&done);
    let plain = measured(&lines[0]["persons"][0]);
    for (line, (name, _, times, drawn_px, persons)) in lines.iter().zip(&table) {
        let size = if *persons > 0 { [320 * times, 240 * times] } else { [1, 1] };
        assert_eq!([&line["width"], &line["height"]], size.map(Value::from).each_ref(), "{name}");
        assert_eq!(line["persons"].as_array().unwrap().len(), *persons, "{name}: {line}");
        if *persons > 0 {
            // Most joints are where they are in the plain photo: grey and coarse ones may be seen elsewhere.
            let joints = measured(&line["persons"][0]);
            let near = |at: &[u32; 2]| {
                let is_close =
                    |other: &[u32; 2]| (0..2).all(|i| other[i].abs_diff(at[i] * times) <= 6 * times);
                joints.iter().any(is_close)
            };
            let kept = plain.iter().filter(|at| near(at)).count();
            assert!(kept * 4 >= plain.len() * 3, "{name}: {kept} of {}", plain.len());
        }
        let stem = name.rsplit_once('.').unwrap().0;
        let mut drawn = ["jpg", "png", "gif.poses.png"].map(|end| format!("drawn/{stem}.poses.{end}"));
        drawn[2] = format!("drawn/{name}.poses.png");
        let drawn =
            drawn.iter().map(|d| folder.path().join(d)).find(|path| path.is_file()).expect("it is drawn");
        assert_eq!(<[u32; 2]>::from(image::image_dimensions(drawn).unwrap()), *drawn_px, "{name}");
    }
}

#[test]
fn photos_are_written_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    photo().save(folder.path().join("a.png")).unwrap();
    fs::write(folder.path().join("b.jpg"), b"").unwrap();
    let in_format = |format: &str| {
        let done = posewire(folder.path(), &["a.png", "b.jpg", "--jsonl-format", format]);
        assert_eq!(done.status.code(), Some(1), "{}", said(&done));
        done
    };
    let [named, unread] = &lines(&in_format("named"))[..] else { panic!("a line a photo") };
    assert_eq!((&named["file"], &unread["error"]), (&"a.png".into(), &"empty file".into()));
    assert!(named["persons"][0]["keypoints"]["nose"]["x"].as_f64().unwrap() > 0.0, "{named}");
    let [person] = &lines(&in_format("coco"))[..] else { panic!("a line a person") };
    assert_eq!((&person["image_id"], &person["file_name"]), (&0.into(), &"a.png".into()));
    assert_eq!(person["keypoints"].as_array().unwrap().len(), 51);
    let [person] = &lines(&in_format("flat"))[..] else { panic!("a line a person") };
    assert_eq!((&person["file"], &person["width"]), (&"a.png".into(), &320.into()));
    let csv = String::from_utf8(in_format("csv").stdout).unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows.len() == 2 && rows[0].starts_with("seq,file,width,height,id,score"), "{csv}");
    assert!(rows[1].starts_with("0,a.png,320,240,1,"), "{csv}");
    let slip = posewire(folder.path(), &["a.png", "--jsonl-format", "cvs"]);
    assert_eq!(slip.status.code(), Some(2), "{}", said(&slip));
}

#[test]
fn several_photos_without_a_folder_for_them_are_not_drawn_and_a_photo_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let photo = photo();
    photo.save(path("a.png")).unwrap();
    photo.save(path("a.poses.png")).unwrap();
    let before = fs::read(path("a.poses.png")).unwrap();
    let files = || fs::read_dir(folder.path()).unwrap().count();
    let count = files();
    let done = posewire(folder.path(), &["a.png", "a.poses.png"]);
    assert!(done.status.success() && lines(&done).len() == 2, "{}", said(&done));
    assert!(said(&done).contains("name a folder with --out"), "{}", said(&done));
    assert_eq!(files(), count);

    let done = posewire(folder.path(), &["a.png", "./a.poses.png", "--out", "."]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("would overwrite ./a.poses.png, which is read"), "{}", said(&done));
    assert_eq!(fs::read(path("a.poses.png")).unwrap(), before);
    assert!(path("a.poses.poses.png").is_file(), "the other one is drawn");
}

#[test]
fn a_slip_is_answered_with_the_file_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    photo().save(folder.path().join("a.png")).unwrap();
    for (arguments, status, word) in [
        (&["gone.jpg"][..], 1, "gone.jpg: No such file"),
        (&["empty"], 1, "no pictures in this folder"),
        (&["a.png", "--out", "file"], 1, "--out file: cannot be made"),
        (&["a.png", "--coco", "labels.json"], 2, "--images"),
        (&["a.png", "--split", "val"], 2, "--coco"),
        (&["predict"], 2, "PHOTO|FOLDER"),
    ] {
        let done = posewire(folder.path(), arguments);
        assert_eq!(done.status.code(), Some(status), "{arguments:?}: {}", said(&done));
        assert!(said(&done).contains(word), "{arguments:?}: {}", said(&done));
    }
}
