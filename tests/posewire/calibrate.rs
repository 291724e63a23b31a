//! `posewire calibrate` on rendered pictures of a board before a camera that is known.

use std::path::Path;

use posewire::calibrate::Intrinsics;
use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;
use posewire::output::web::{Calibrating, CalibrationPage};

use super::cli::posewire;
use super::view::get;

const COLUMNS: i32 = 7;
const ROWS: i32 = 5;
const CAMERA: Intrinsics = Intrinsics { fx: 300.0, fy: 300.0, cx: 158.0, cy: 122.0, k1: -0.1, k2: 0.0 };

/// A picture of 320 × 240 of the board, turned about its own y and x axis (radians), `far` squares away.
fn picture(path: &Path, yaw: f64, pitch: f64, far: f64) {
    const SAMPLES: i32 = 150;
    let (mut sum, mut count) = (vec![0u32; 320 * 240], vec![0u32; 320 * 240]);
    for i in 0..SAMPLES * (COLUMNS + 1) {
        for j in 0..SAMPLES * (ROWS + 1) {
            let at = |i: i32| (f64::from(i) + 0.5) / f64::from(SAMPLES) - 1.0;
            // Relative to the board's middle.
            let (u, v) = (at(i) - 0.5 * f64::from(COLUMNS - 1), at(j) - 0.5 * f64::from(ROWS - 1));
            let (x, z) = (u * yaw.cos(), u * yaw.sin());
            let (y, z) = (v * pitch.cos() - z * pitch.sin(), v * pitch.sin() + z * pitch.cos() + far);
            let [px, py] = CAMERA.project(x / z, y / z).map(|p| p.floor() as i32);
            if (0..320).contains(&px) && (0..240).contains(&py) {
                let k = (320 * py + px) as usize;
                sum[k] += if (i / SAMPLES + j / SAMPLES) % 2 == 0 { 220 } else { 40 };
                count[k] += 1;
            }
        }
    }
    let grey = |k: usize| sum[k].checked_div(count[k]).map_or(130, |level| level as u8);
    image::GrayImage::from_fn(320, 240, |x, y| image::Luma([grey((320 * y + x) as usize)]))
        .save(path)
        .unwrap();
}

#[test]
fn a_board_shown_from_all_sides_gives_the_camera_back() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("camera.toml");
    let views = [
        (0.0, 0.0),
        (0.6, 0.1),
        (-0.6, -0.1),
        (0.1, 0.6),
        (-0.1, -0.6),
        (0.5, 0.5),
        (-0.5, 0.5),
        (0.5, -0.5),
    ];
    let pictures = folder.path().join("pictures");
    std::fs::create_dir(&pictures).unwrap();
    for (i, (yaw, pitch)) in views.into_iter().enumerate() {
        picture(&pictures.join(format!("{i}.png")), yaw, pitch, 10.0 + i as f64 * 0.4);
    }
    let told = posewire(&[
        "calibrate",
        "--replay",
        pictures.to_str().unwrap(),
        "--board",
        "7x5",
        "--out",
        out.to_str().unwrap(),
    ]);
    let text = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{text}");
    assert!(text.contains("camera.toml: ") && text.contains("views") && text.contains(" ± "), "{text}");
    let file: toml::Table = std::fs::read_to_string(&out).unwrap().parse().unwrap();
    let number = |key: &str| file[key].as_float().unwrap();
    assert!((number("fx_px") / CAMERA.fx - 1.0).abs() < 0.02, "{file:?}");
    assert!((number("fy_px") / CAMERA.fy - 1.0).abs() < 0.02, "{file:?}");
    assert!(
        (number("cx_px") - CAMERA.cx).abs() < 5.0 && (number("cy_px") - CAMERA.cy).abs() < 5.0,
        "{file:?}"
    );
    assert!(number("rms_px") < 0.3 && (0.05..3.0).contains(&number("f_sigma_px")), "{file:?}");
    assert_eq!((file["width_px"].as_integer(), file["board"].as_str()), (Some(320), Some("7x5")));
    assert!((0.3..=1.0).contains(&number("coverage")) && file["date"].as_str().unwrap().starts_with("20"));
    assert!(text.contains("at the top left corner too"), "it was always in the middle: {text}");
    assert!(text.contains("posewire run --calibration"), "what is replayed has no USB id: {text}");

    let scaled = folder.path().join("twice");
    std::fs::create_dir(&scaled).unwrap();
    image::GrayImage::new(640, 480).save(scaled.join("1.png")).unwrap();
    let wide = folder.path().join("wide");
    std::fs::create_dir(&wide).unwrap();
    image::GrayImage::new(640, 360).save(wide.join("1.png")).unwrap();
    let run = |pictures: &Path, calibration: &str, more: &[&str]| {
        let replay = ["run", "--no-drop", "--jsonl", "-", "--replay", pictures.to_str().unwrap()];
        let told = posewire(&[&replay, &["--calibration", calibration][..], more].concat());
        (told.status.code(), String::from_utf8_lossy(&told.stderr).into_owned())
    };
    let path = out.to_str().unwrap();
    let (code, said) = run(&pictures, path, &[]);
    assert!(code == Some(0) && said.contains(&format!("lens: {path} of 20")), "{said}");
    assert!(!said.contains("scaled"), "{said}");
    let (code, said) = run(&scaled, path, &[]);
    assert!(code == Some(0) && said.contains("scaled from 320x240 to 640x480"), "{said}");
    let (code, said) = run(&wide, path, &[]);
    assert!(code == Some(1) && said.contains("is of pictures of 320x240, these have 640x360"), "{said}");
    let (code, said) = run(&wide, "none", &["--fov", "70"]);
    assert!(code == Some(0) && said.contains("lens: taken to see 70 degrees"), "{said}");
    let (code, said) = run(&wide, "auto", &["--floor"]);
    assert!(code == Some(0) && said.contains("--floor needs the camera's lens, and none is known"), "{said}");

    let whole = std::fs::read_to_string(&out).unwrap();
    std::fs::write(&out, &whole[..whole.len() / 2]).unwrap();
    let (code, said) = run(&pictures, path, &[]);
    assert!(code == Some(2) && said.contains("no whole file of `posewire calibrate`"), "{said}");
    let (code, said) = run(&pictures, "/nowhere.toml", &[]);
    assert!(code == Some(2) && said.contains("/nowhere.toml: the calibration cannot be read"), "{said}");
}

#[test]
fn the_board_is_printed_and_a_file_has_to_be_named_for_what_has_no_usb_id() {
    let folder = tempfile::tempdir().unwrap();
    let pdf = folder.path().join("board.pdf");
    let told = posewire(&["calibrate", "--print", pdf.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && said.contains("9x6 corners, squares of 25 mm"), "{said}");
    assert!(std::fs::read(&pdf).unwrap().starts_with(b"%PDF-1.4"));
    let photo = folder.path().join("photo.jpg");
    std::fs::write(&photo, "kept").unwrap();
    let told = posewire(&["calibrate", "--print", photo.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.code() == Some(2) && said.contains("ends in .pdf"), "{said}");
    assert_eq!(std::fs::read(&photo).unwrap(), b"kept");
    std::fs::remove_file(&photo).unwrap();
    let told = posewire(&["calibrate", "--print", pdf.to_str().unwrap(), "--out", "x.toml"]);
    assert_eq!(told.status.code(), Some(2));

    image::GrayImage::new(320, 240).save(folder.path().join("1.png")).unwrap();
    let told = posewire(&["calibrate", "--replay", folder.path().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.code() == Some(2) && said.contains("--out FILE.toml"), "{said}");
}

/// A board of which every view has a part outside of the picture.
#[test]
fn a_board_half_out_of_sight_counts_and_the_page_shows_what_is_seen() {
    let page = CalibrationPage::open("127.0.0.1:0").unwrap();
    let address = page.address().to_string();
    assert!(!page.is_watched());
    assert_eq!(get(&address, "/picture").0, 404, "there is none yet");
    let said = |path: &str| -> serde_json::Value {
        let (status, body) = get(&address, path);
        assert_eq!(status, 200, "{path}");
        serde_json::from_slice(&body).unwrap()
    };
    assert_eq!((&said("/state")["picture"], page.is_watched()), (&0.into(), true));
    for k in 1..=2 {
        let state = Calibrating {
            size: [320, 240],
            corners: vec![[10.5, 20.25]],
            views: 3,
            wanted: 20,
            cells: vec![vec![true, false]],
            told: "show the board at the left edge".into(),
            ..Calibrating::default()
        };
        page.show(vec![0xff, 0xd8, k], state);
    }
    let state = said("/state");
    assert_eq!((&state["picture"], &state["corners"][0][1]), (&2.into(), &20.25.into()));
    assert_eq!(get(&address, "/picture"), (200, vec![0xff, 0xd8, 2]));
    for path in ["/", "/page.css", "/calibration.js"] {
        assert_eq!(get(&address, path).0, 200, "{path}");
    }
    for path in ["/live", "/frames/0", "/..%2f..%2fetc%2fpasswd"] {
        assert_eq!(get(&address, path).0, 404, "{path}");
    }
    let heard = std::thread::spawn({
        let address = address.clone();
        move || loop {
            let state: serde_json::Value = serde_json::from_slice(&get(&address, "/state").1).unwrap();
            if state["is_over"] == true {
                return state["told"].to_string();
            }
        }
    });
    page.finish("it is good");
    assert_eq!(heard.join().unwrap(), "\"it is good\"");

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("camera.toml");
    let pictures = folder.path().join("pictures");
    std::fs::create_dir(&pictures).unwrap();
    let views = [
        (0.5, 0.1),
        (-0.5, -0.1),
        (0.1, 0.5),
        (-0.1, -0.5),
        (0.4, 0.4),
        (-0.4, 0.4),
        (0.4, -0.4),
        (0.0, 0.1),
    ];
    for (i, (yaw, pitch)) in views.into_iter().enumerate() {
        // As large as nearly two pictures.
        picture(&pictures.join(format!("{i}.png")), yaw, pitch, 4.6 + i as f64 * 0.1);
    }
    let [pictures, out] = [&pictures, &out].map(|path| path.to_str().unwrap());
    let web = ["--web", "127.0.0.1:0"];
    let told =
        posewire(&[&["calibrate", "--replay", pictures, "--board", "7x5", "--out", out][..], &web].concat());
    let text = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success() && text.contains("http://127.0.0.1:"), "{text}");
    let file: toml::Table = std::fs::read_to_string(out).unwrap().parse().unwrap();
    let number = |key: &str| file[key].as_float().unwrap();
    assert!((number("fx_px") / CAMERA.fx - 1.0).abs() < 0.02, "{file:?}");
    assert!((number("cx_px") - CAMERA.cx).abs() < 6.0, "{file:?}");
}

#[test]
fn pictures_without_a_board_are_refused_with_what_to_show() {
    let folder = tempfile::tempdir().unwrap();
    image::GrayImage::new(320, 240).save(folder.path().join("1.png")).unwrap();
    let path = folder.path().to_str().unwrap();
    let out = folder.path().join("camera.toml");
    let out = out.to_str().unwrap();
    let refused = |args: &[&str], code: i32| {
        let told = posewire(&[&["calibrate", "--replay", path, "--out", out], args].concat());
        assert_eq!(told.status.code(), Some(code));
        String::from_utf8_lossy(&told.stderr).into_owned()
    };
    let none = refused(&[], 1);
    assert!(none.contains("0 views of the board, 6 are needed"), "{none}");
    let board = refused(&["--board", "9"], 2);
    assert!(board.contains("'9' is no board"), "{board}");
    image::GrayImage::new(32, 24).save(folder.path().join("2.png")).unwrap();
    let sizes = refused(&[], 1);
    assert!(sizes.contains("different sizes"), "{sizes}");
}

/// The built-in clip's camera sees 60.35 degrees across, and its people stand where the clip says.
#[test]
fn lines_say_where_people_stand_once_the_lens_is_known() {
    let lines = |more: &[&str]| {
        let told = posewire(
            &[&["run", "--synthetic", "--no-drop", "--frames", "20", "--jsonl", "-"][..], more].concat(),
        );
        let text = String::from_utf8(told.stdout).unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let without = lines(&[]);
    assert!(without.iter().all(|line| !line["persons"].to_string().contains("distance")));
    let mut clip = Synthetic::new(1, 640, 480, 30.0, 0).unwrap().frames(Some(20));
    let height_m = clip.heights_m().next().unwrap().to_string();
    let known = lines(&["--fov", "60.35", "--person-height", &height_m]);
    let mut off = Vec::new();
    for line in &known {
        clip.next().unwrap();
        let truth_m = clip.truth_m().next().unwrap();
        let Some(person) = line["persons"].get(0) else { continue };
        let number = |key: &str, i: usize| person[key][i].as_f64().unwrap();
        let hips = [0, 1, 2].map(|i| f64::from(0.5 * (truth_m[11][i] + truth_m[12][i])));
        let far = hips.iter().map(|v| v * v).sum::<f64>().sqrt();
        let distance = person["distance"].as_f64().unwrap();
        let place = [0, 1, 2].map(|i| number("place", i));
        assert!((place.iter().map(|v| v * v).sum::<f64>().sqrt() - distance).abs() < 1e-4);
        assert!((0.01..0.5).contains(&person["distance_sigma"].as_f64().unwrap()), "{person}");
        off.push((distance / far - 1.0).abs());
    }
    off.sort_by(f64::total_cmp);
    // One person of one film may be off by more than most: the bars are held over many, in the laboratory.
    assert!(off.len() > 15 && off[off.len() / 2] < 0.2, "{off:?}");
}
