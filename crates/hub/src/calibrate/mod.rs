//! Where the cameras stand, from somebody who walks about before them: nobody carries a chessboard round a room.
//!
//! 1. Moments at which cameras saw one person each, brought to the same times (`moments.rs`); where several people were there, each of them
//!    beside themselves (`several.rs`).
//! 2. How each two cameras stand, but for the distance (`geometry/essential.rs`), and from these all cameras (`tree.rs`).
//! 3. Places of all cameras and what is left of their clocks' offsets, so that rays to the same joints meet best (`bundle.rs`).
//! 4. Metres from the person's height, and the floor from where feet stand (`floor.rs`).

mod bundle;
mod floor;
mod moments;
mod several;
mod tree;

#[cfg(all(test, feature = "simulate"))]
mod tests;

use std::ops::Range;

pub use moments::Moment;

use crate::Extrinsics;
use crate::line::Look;

/// People of whom nothing is known: the mean of adults' statures, and how far they lie from it.
const MEAN_STATURE_M: (f64, f64) = (1.69, 0.095);
/// Nobody who walks is lower or higher, metres.
pub const STATURES_M: Range<f64> = 0.5..2.6;
/// How well a given stature is found again from joints.
const KNOWN_STATURE: f64 = 0.012;

/// What is known of the room beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Stature of whoever walks about; of several, the mean.
    pub stature_m: Option<f64>,
    /// Two cameras and the metres between their lenses: better than a stature.
    pub distance: Option<(usize, usize, f64)>,
}

/// Where the cameras stand.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// From the room to each camera.
    pub places: Vec<Extrinsics>,
    /// What is to be added to each camera's stamps, microseconds: 0 of the first.
    pub offsets_us: Vec<f64>,
    /// Root mean square of how far rays and joints lie apart, in units of the sigmas that boards give; about 1.
    pub misfit: f64,
    /// Moments that it rests on.
    pub moments: usize,
    /// Share of all lengths that the scale may be off by (one standard deviation).
    pub scale_sigma: f64,
    /// How high the person's head stood, as stature.
    pub stature_m: f64,
}

/// Why it could not be found.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum CalibrateError {
    /// Less than two cameras.
    #[error("one camera is no room: name at least two")]
    TooFew,
    /// Nobody was alone before this camera for long enough.
    #[error(
        "camera {camera} saw somebody whom another camera sees, too, for {seconds:.0} s; it needs {needed:.0} s: walk about where it and another camera see you, alone at best"
    )]
    NobodyThere {
        /// Its number, from 0.
        camera: usize,
        /// For how long somebody was seen.
        seconds: f64,
        /// For how long somebody must be.
        needed: f64,
    },
    /// No camera that stands already sees the same things as this one.
    #[error(
        "camera {camera} sees nothing that another camera sees from elsewhere: their pictures must share a part of the floor, from directions 10 degrees or more apart"
    )]
    Apart {
        /// Its number, from 0.
        camera: usize,
    },
    /// Feet and head are not where a standing person has them.
    #[error("the floor was not found: whole persons must be seen, feet included, as they walk")]
    NoFloor,
    /// The given distance is not that of these two cameras.
    #[error(
        "with {metres} m between both cameras' lenses whoever walked would be {stature_m:.2} m high, and the distance about {usual_m:.1} m if they were of usual height: measure again, in metres, or give the stature instead"
    )]
    NoDistance {
        /// As it was given.
        metres: f64,
        /// What it makes of whoever walks.
        stature_m: f64,
        /// What it would be about.
        usual_m: f64,
    },
}

impl CalibrateError {
    /// The same with `name` in the place of a camera's number.
    pub fn told(&self, name: impl Fn(usize) -> String) -> String {
        match self {
            Self::NobodyThere { camera, .. } | Self::Apart { camera } => self.to_string().replacen(
                &format!("camera {camera} "),
                &format!("camera {} ", name(*camera)),
                1,
            ),
            _ => self.to_string(),
        }
    }
}

/// Finds the cameras' places from what each of `cameras` saw; half a minute of one walking person does, a minute does better.
/// `looks` in any order.
///
/// # Errors
/// [`CalibrateError`], saying what to do.
pub fn calibrate(
    looks: &[Look],
    cameras: usize,
    known: Known,
    seed: u64,
) -> Result<Calibration, CalibrateError> {
    if cameras < 2 {
        return Err(CalibrateError::TooFew);
    }
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut moments = match moments::moments(looks, cameras) {
        // Too little of somebody alone: perhaps they were not alone.
        Err(CalibrateError::NobodyThere { .. }) if looks.iter().any(|l| l.persons.len() > 1) => {
            several::moments(looks, cameras, &mut rng)?
        }
        alone => alone?,
    };
    let places = tree::places(&moments, cameras, &mut rng)?;
    let bundle = bundle::adjust(&mut moments, places);
    let bodies = bundle.bodies(&moments);
    let floor = floor::find(&bodies, &bundle.places).ok_or(CalibrateError::NoFloor)?;
    let (scale, scale_sigma, stature_m) = match known {
        Known { distance: Some((a, b, metres)), .. } => {
            let (_, far) = crate::geometry::apart(&bundle.places[a], &bundle.places[b]);
            let stature_m = floor.stature * metres / far;
            if !STATURES_M.contains(&stature_m) {
                let usual_m = metres * MEAN_STATURE_M.0 / stature_m;
                return Err(CalibrateError::NoDistance { metres, stature_m, usual_m });
            }
            (metres / far, 0.003, stature_m)
        }
        Known { stature_m: Some(stature), .. } => (stature / floor.stature, KNOWN_STATURE, stature),
        _ => {
            let (mean, spread) = MEAN_STATURE_M;
            (mean / floor.stature, (spread / mean).hypot(KNOWN_STATURE), mean)
        }
    };
    Ok(Calibration {
        places: floor.room_of(&bundle.places, scale),
        offsets_us: bundle.offsets_us,
        misfit: bundle.misfit,
        moments: moments.len(),
        scale_sigma,
        stature_m,
    })
}
