//! `posewire calibrate` on rendered pictures of a board before a camera that is known.

use std::path::Path;

use posewire::calibrate::Intrinsics;

use super::cli::posewire;

const COLUMNS: i32 = 7;
const ROWS: i32 = 5;
const CAMERA: Intrinsics = Intrinsics { fx: 300.0, fy: 300.0, cx: 158.0, cy: 122.0, k1: -0.1, k2: 0.0 };

/// A picture of 320 × 240 of the board, turned about its own y and x axis (radians), `far` squares away.
fn picture(path: &Path, yaw: f64, pitch: f64, far: f64) {
    const SAMPLES: i32 = 50;
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
    assert!(text.contains("camera.toml: ") && text.contains("views"), "{text}");
    let file: toml::Table = std::fs::read_to_string(&out).unwrap().parse().unwrap();
    let number = |key: &str| file[key].as_float().unwrap();
    assert!((number("fx_px") / CAMERA.fx - 1.0).abs() < 0.02, "{file:?}");
    assert!((number("fy_px") / CAMERA.fy - 1.0).abs() < 0.02, "{file:?}");
    assert!(
        (number("cx_px") - CAMERA.cx).abs() < 5.0 && (number("cy_px") - CAMERA.cy).abs() < 5.0,
        "{file:?}"
    );
    assert!(number("rms_px") < 0.3, "{file:?}");
    assert_eq!((file["width_px"].as_integer(), file["board"].as_str()), (Some(320), Some("7x5")));
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
