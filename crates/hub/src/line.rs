//! A board's JSON line as rays: `docs/output.md` says what is in it.

use camera_model::is_same_shape;
use pose::JOINTS;
use serde::Deserialize;

use crate::V2;
use crate::camera::Lens;

/// A joint as a camera sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// The ray.
    pub at: V2,
    /// Standard deviation along each axis, in the ray's units.
    pub sigma: f64,
    /// 0..=1.
    pub score: f64,
}

/// A person as a camera sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The board's own identity of them.
    pub id: u32,
    /// 0..=1.
    pub score: f64,
    /// COCO's joints.
    pub joints: [Option<Ray>; JOINTS],
}

/// What a camera saw at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Which camera.
    pub camera: usize,
    /// When the light fell, by the hub's clock.
    pub at_us: i64,
    /// Who was there.
    pub persons: Vec<Seen>,
}

/// What a line says, by the board's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// When the light fell.
    pub captured_us: i64,
    /// When the line was made.
    pub emitted_us: i64,
    /// Who was there.
    pub persons: Vec<Seen>,
    /// Whether it says how large its picture is.
    pub is_sized: bool,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum LineError {
    /// It is not a JSON line of `posewire`.
    #[error(
        "not a JSON line of posewire ({0}): `posewire run --udp HOST:PORT --predict capture` sends them, without --udp-format"
    )]
    NotALine(String),
    /// Nobody is there.
    #[error(
        "its board has no camera and shows the built-in clip, in which nobody is there: plug a camera in"
    )]
    BuiltInClip,
    /// Its pictures have another shape than the calibration's, which is another part of the sensor.
    #[error(
        "its pictures are {} × {}, the camera was calibrated at {} × {}, another shape: run posewire {}, or calibrate anew",
        theirs_px[0], theirs_px[1], calibrated_px[0], calibrated_px[1], shaped(*theirs_px, *calibrated_px)
    )]
    OtherShape {
        /// Width and height of the board's pictures.
        theirs_px: [u32; 2],
        /// Those of the calibration.
        calibrated_px: [u32; 2],
    },
    /// A person lies outside of the calibration's picture: a line of an earlier version, which does not say its size.
    #[error(
        "a joint at {x:.0} × {y:.0} lies outside of the {width} × {height} picture that the camera was calibrated at: run posewire with --size {width}x{height}, or calibrate anew"
    )]
    Outside {
        /// Of the joint.
        x: f64,
        /// Of the joint.
        y: f64,
        /// Of the calibration.
        width: u32,
        /// Of the calibration.
        height: u32,
    },
}

#[derive(Deserialize)]
struct BoardLine {
    captured_us: i64,
    emitted_us: i64,
    width: Option<u32>,
    height: Option<u32>,
    /// Neither cameras nor files are named.
    source: Option<String>,
    persons: Vec<BoardPerson>,
}

#[derive(Deserialize)]
struct BoardPerson {
    id: u32,
    score: f64,
    keypoints: Vec<(f64, f64, f64, f64, State)>,
}

/// How a joint is known.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Measured,
    Predicted,
    Absent,
    /// A word of a later board.
    #[serde(other)]
    Other,
}

/// A board's word for the film that it shows without a camera.
const BUILT_IN: &str = "built-in clip";
/// A joint with a lower score is as good as absent.
const MIN_SCORE: f64 = 0.1;
/// Where a line gives no sigma: this share of the person's extent, what a fair detector is off by.
const SIGMA_OF_EXTENT: f64 = 0.03;
/// No network is surer of a place.
const MIN_SIGMA_OF_EXTENT: f64 = 0.006;
/// What was not seen is worth less than it claims: its error lasts.
const PREDICTED: f64 = 2.0;

/// Reads a line through the camera's lens.
///
/// # Errors
/// [`LineError`]
pub fn read(text: &str, lens: &Lens) -> Result<Line, LineError> {
    let line: BoardLine = serde_json::from_str(text).map_err(|e| LineError::NotALine(e.to_string()))?;
    if line.source.as_deref() == Some(BUILT_IN) {
        return Err(LineError::BuiltInClip);
    }
    // Sums of such stamps cannot overflow.
    if [line.captured_us, line.emitted_us].iter().any(|stamp| stamp.unsigned_abs() > 1 << 60) {
        return Err(LineError::NotALine("its times are no microseconds".into()));
    }
    let size_px = line.width.zip(line.height);
    let stretch = size_px.map_or(Ok(V2::repeat(1.0)), |(w, h)| stretch([w, h], lens))?;
    let persons = line.persons.iter().map(|p| person(p, stretch, lens)).filter(|seen| {
        // Who is expected to have left a picture whose size is known is no sign of another size.
        size_px.is_none() || !matches!(seen, Err(LineError::Outside { .. }))
    });
    let persons = persons.collect::<Result<_, _>>()?;
    Ok(Line {
        captured_us: line.captured_us,
        emitted_us: line.emitted_us,
        persons,
        is_sized: size_px.is_some(),
    })
}

/// How posewire is run so that its pictures have the calibration's shape.
fn shaped(theirs_px: [u32; 2], calibrated_px: [u32; 2]) -> String {
    let [[w, h], [width, height]] = [theirs_px, calibrated_px];
    let size = format!("with --size {width}x{height}");
    if is_same_shape([h, w], calibrated_px) {
        format!(
            "with --rotate as its lens was calibrated, so without it after `posewire calibrate` (width and height are exchanged), or {size}"
        )
    } else {
        size
    }
}

/// How many of the calibration's pixels one of the board's is, along each axis: as the tracker itself takes a calibration for other sizes
/// of the same shape.
fn stretch(theirs_px: [u32; 2], lens: &Lens) -> Result<V2, LineError> {
    let calibrated_px = [lens.width_px, lens.height_px];
    let [across, down] = [0, 1].map(|axis| f64::from(calibrated_px[axis]) / f64::from(theirs_px[axis]));
    if is_same_shape(theirs_px, calibrated_px) {
        Ok(V2::new(across, down))
    } else {
        Err(LineError::OtherShape { theirs_px, calibrated_px })
    }
}

/// `stretch` brings the board's pixels to the lens's.
fn person(from: &BoardPerson, stretch: V2, lens: &Lens) -> Result<Seen, LineError> {
    if from.keypoints.len() != JOINTS {
        return Err(LineError::NotALine(format!(
            "{} keypoints in the place of {JOINTS}",
            from.keypoints.len()
        )));
    }
    let there = || {
        let kept = from.keypoints.iter().filter(|k| k.4 != State::Absent && k.2 >= MIN_SCORE);
        kept.map(|k| V2::new(k.0, k.1).component_mul(&stretch))
    };
    let (mut low, mut high) = (V2::repeat(f64::MAX), V2::repeat(f64::MIN));
    for at in there() {
        (low, high) = (low.inf(&at), high.sup(&at));
    }
    let extent = (high - low).max().max(1.0);
    // A joint alone may be a guess beyond the border; a whole person is another picture.
    if there().count() > 0 && !there().any(|at| lens.is_near_picture(at)) {
        let (width, height) = (lens.width_px, lens.height_px);
        return Err(LineError::Outside { x: low.x, y: low.y, width, height });
    }
    let joints = std::array::from_fn(|j| {
        let (x, y, score, sigma, state) = &from.keypoints[j];
        if *state == State::Absent || *score < MIN_SCORE || !(x.is_finite() && y.is_finite()) {
            return None;
        }
        let sigma = if *sigma > 0.0 { *sigma * stretch.max() } else { SIGMA_OF_EXTENT * extent };
        let sigma = sigma.max(MIN_SIGMA_OF_EXTENT * extent);
        let sigma = if *state == State::Measured { sigma } else { PREDICTED * sigma };
        Some(Ray {
            at: lens.ray(V2::new(*x, *y).component_mul(&stretch)),
            sigma: sigma / lens.focal_px(),
            score: *score,
        })
    });
    Ok(Seen { id: from.id, score: from.score, joints })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens() -> Lens {
        Lens::read("width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n")
            .unwrap()
    }

    fn text(x: f64, second: &str) -> String {
        let rest = ",[0,0,0,0,\"absent\"]".repeat(15);
        format!(
            "{{\"seq\":0,\"frame\":0,\"captured_us\":1000,\"emitted_us\":9000,\"persons\":[{{\"id\":3,\"score\":0.9,\"box\":[0,0,1,1],\"keypoints\":[[{x},240,0.9,5,\"measured\"],{second}{rest}],\"keypoints3d\":null}}]}}"
        )
    }

    #[test]
    fn pixels_become_rays_and_what_was_not_seen_is_worth_less() {
        let line = read(&text(420.0, "[320,340,0.8,5,\"predicted\"]"), &lens()).unwrap();
        assert_eq!((line.captured_us, line.emitted_us), (1_000, 9_000));
        let joints = &line.persons[0].joints;
        let (a, b) = (joints[0].unwrap(), joints[1].unwrap());
        assert!((a.at - V2::new(0.2, 0.0)).norm() < 1e-9 && (b.at - V2::new(0.0, 0.2)).norm() < 1e-9);
        assert!((a.sigma - 0.01).abs() < 1e-9 && (b.sigma - 0.02).abs() < 1e-9);
        assert!(joints[2..].iter().all(Option::is_none));
    }

    #[test]
    fn a_joint_has_a_sigma_by_the_persons_size_at_least_and_one_that_is_unsure_is_none() {
        // Two joints that are 100 px apart, through a lens of 500 px.
        for (second, sigma_px) in [
            ("[320,240,0.8,0,\"measured\"]", Some(3.0)),
            ("[320,240,0.8,0.01,\"measured\"]", Some(0.6)),
            ("[320,240,0.8,2,\"measured\"]", Some(2.0)),
            ("[320,240,0.8,0,\"predicted\"]", Some(6.0)),
            ("[320,240,0.8,2,\"of a later board\"]", Some(4.0)),
            ("[320,240,0.09,2,\"measured\"]", None),
        ] {
            let line = read(&text(420.0, second), &lens()).unwrap();
            let told = line.persons[0].joints[1].map(|ray| (ray.sigma * 500.0 * 1e6).round() / 1e6);
            assert_eq!(told, sigma_px, "{second}");
        }
        let few = text(420.0, "[320,240,0.8,5,\"measured\"]").replace(",[0,0,0,0,\"absent\"]]", "]");
        assert!(matches!(read(&few, &lens()), Err(LineError::NotALine(why)) if why.contains("16 keypoints")));
    }

    #[test]
    fn pictures_of_another_size_and_the_same_shape_are_seen_through_the_same_lens() {
        let of = |pixel: f64| {
            let mut line: serde_json::Value =
                serde_json::from_str(&text(420.0, "[320,340,0.8,5,\"measured\"]")).unwrap();
            for joint in line["persons"][0]["keypoints"].as_array_mut().unwrap() {
                for value in [0, 1, 3] {
                    joint[value] = (pixel * joint[value].as_f64().unwrap()).into();
                }
            }
            line["width"] = ((pixel * 640.0) as u32).into();
            line["height"] = ((pixel * 480.0) as u32).into();
            read(&line.to_string(), &lens()).unwrap()
        };
        let (whole, half) = (of(1.0), of(0.5));
        for (a, b) in whole.persons[0].joints.iter().zip(&half.persons[0].joints).take(2) {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!((a.at - b.at).norm() < 1e-9 && (a.sigma - b.sigma).abs() < 1e-9, "{a:?} {b:?}");
        }
    }

    #[test]
    fn another_line_and_another_picture_are_told() {
        assert!(matches!(read("{\"seq\":1}", &lens()), Err(LineError::NotALine(_))));
        let far = read(&text(1_900.0, "[0,0,0,0,\"absent\"]"), &lens()).unwrap_err();
        assert!(far.to_string().contains("--size 640x480"), "{far}");
        let text = text(420.0, "[320,340,0.8,5,\"measured\"]");
        let of = |size: &str| text.replace("\"persons\"", &format!("{size},\"persons\""));
        for none in ["\"width\":640,\"height\":360", "\"width\":0,\"height\":0", "\"width\":640,\"height\":0"]
        {
            let wide = read(&of(none), &lens()).unwrap_err().to_string();
            assert!(wide.contains("the camera was calibrated at 640 × 480, another shape"), "{wide}");
            assert!(wide.contains("--size 640x480") && !wide.contains("--rotate"), "{wide}");
        }
        let turned = read(&of("\"width\":240,\"height\":320"), &lens()).unwrap_err().to_string();
        assert!(turned.contains("--rotate") && turned.contains("exchanged"), "{turned}");
        let sized = self::text(1_900.0, "[0,0,0,0,\"absent\"]");
        let sized = sized.replace("\"persons\"", "\"width\":640,\"height\":480,\"persons\"");
        assert_eq!(read(&sized, &lens()).unwrap().persons, [], "gone from the picture");
        let clip = text.replace("\"persons\"", "\"source\":\"built-in clip\",\"persons\"");
        assert_eq!(read(&clip, &lens()), Err(LineError::BuiltInClip));
        let mut line: serde_json::Value = serde_json::from_str(&text).unwrap();
        line["emitted_us"] = i64::MIN.into();
        assert!(matches!(read(&line.to_string(), &lens()), Err(LineError::NotALine(_))));
        assert!(read(&text, &lens()).is_ok());
    }
}
