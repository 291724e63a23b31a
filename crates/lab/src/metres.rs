//! How well it is known where people stand: the whole program on rendered people, whose places and heights are exact.

use std::collections::HashMap;

use pose::{JOINTS, JointState, Place, TrackedPerson};
use posewire::Tracker;
use posewire::calibrate::Intrinsics;
use posewire::capture::CaptureError;
use posewire::capture::clip::Clip as _;
use posewire::capture::synthetic::Synthetic;
use posewire::metres::{Body, Lens, Metres, Stature};
use serde::Serialize;

/// An answer is somebody's whose joints lie so near in the mean, parts of the extent.
const NEAR: f32 = 0.25;

/// One person in one frame.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// The film's seed.
    pub film: u64,
    /// True distance of the middle of the hips, metres.
    pub distance_m: f32,
    /// Answered less true, metres: distance, then right, down and ahead.
    pub off_m: [f32; 4],
    /// The standard deviations that were told of them.
    pub sigma_m: [f32; 4],
}

/// What is known besides the lens.
pub const KNOWN: [&str; 4] = ["person's height", "nothing", "the floor", "camera's height"];

/// What a film gives.
#[derive(Debug, Default)]
pub struct Measured {
    /// Everybody's who is answered and placed, with each of [`KNOWN`].
    pub samples: [Vec<Sample>; KNOWN.len()],
    /// Everybody, in every frame.
    pub persons: usize,
}

/// One to four persons of the film `seed`, by their number. Of several answers that lie near somebody the nearest counts.
///
/// # Errors
/// What the clip or the tracker says.
pub fn film(
    tracker: &mut Tracker,
    seed: u64,
    frames: u64,
    size: [u32; 2],
) -> Result<Measured, Box<dyn std::error::Error + Send + Sync>> {
    tracker.reset();
    let persons = 1 + seed as usize % 4;
    let clip = Synthetic::new(persons, size[0], size[1], 30.0, seed)?;
    let mut clip = clip.as_mjpeg()?.frames(Some(frames));
    let f = f64::from(clip.focal_px());
    let [cx, cy] = size.map(|side| 0.5 * f64::from(side));
    let intrinsics = Intrinsics { fx: f, fy: f, cx, cy, k1: 0.0, k2: 0.0 };
    let lens = Lens::default();
    lens.set(Some((intrinsics, size)));
    let of_adults = || Metres::new(lens.clone(), Stature::ADULT);
    let camera_height_m = f64::from(clip.camera_height_m());
    let mut metres =
        [of_adults(), of_adults().with_floor(None), of_adults().with_floor(Some(camera_height_m))];
    let heights: Vec<f32> = clip.heights_m().collect();
    let mut bodies: HashMap<(u32, usize), Body> = HashMap::new();
    // Everybody has a slot of their own, which an exchanged identity begins anew as in the tracker.
    let mut identities = vec![None; persons];
    let mut measured = Measured::default();
    loop {
        let frame = match clip.next() {
            Ok(frame) => frame,
            Err(CaptureError::Ended) => return Ok(measured),
            Err(error) => return Err(error.into()),
        };
        let answers = tracker.track(&frame)?;
        let truth: Vec<[[f32; 3]; JOINTS]> = clip.truth_m().collect();
        measured.persons += truth.len();
        let mut nearest: Vec<Option<(f32, &TrackedPerson)>> = vec![None; truth.len()];
        for answer in answers.persons.iter().flatten() {
            let Some((who, off)) = whose(answer, &truth, &intrinsics) else { continue };
            if nearest[who].is_none_or(|(least, _)| off < least) {
                nearest[who] = Some((off, answer));
            }
        }
        for (who, answer) in nearest.into_iter().enumerate().filter_map(|(who, near)| Some((who, near?.1))) {
            if identities[who].replace(answer.track_id) != Some(answer.track_id) {
                metres.iter_mut().for_each(|metres| metres.reset(who));
            }
            let body = bodies.entry((answer.track_id, who)).or_default();
            let stature = Stature::measured(heights[who].into());
            let given = body.place(&mut { answer.forecast }, &intrinsics, stature);
            let [a, b, c] = metres
                .each_mut()
                .map(|metres| metres.place(who, answer.track_id, &mut { answer.forecast }, size));
            for (place, samples) in [given, a, b, c].into_iter().zip(&mut measured.samples) {
                samples.extend(place.map(|place| Sample::of(seed, &place, &truth[who])));
            }
        }
    }
}

impl Sample {
    /// Of what was answered of somebody whose joints are at `truth`.
    fn of(film: u64, place: &Place, truth: &[[f32; 3]; JOINTS]) -> Self {
        let hips: [f32; 3] = std::array::from_fn(|i| 0.5 * (truth[11][i] + truth[12][i]));
        let distance_m = hips.iter().map(|v| v * v).sum::<f32>().sqrt();
        let [x, y, z] = place.at_m;
        let off_m = [place.distance_m - distance_m, x - hips[0], y - hips[1], z - hips[2]];
        let [across, down, ahead] = place.sigma_m;
        Self { film, distance_m, off_m, sigma_m: [place.distance_sigma_m, across, down, ahead] }
    }
}

/// Whose joints lie nearest to those of an answer, if near at all; how near, parts of the extent.
fn whose(answer: &TrackedPerson, truth: &[[[f32; 3]; JOINTS]], lens: &Intrinsics) -> Option<(usize, f32)> {
    let off = |person: &[[f32; 3]; JOINTS]| {
        let at = person.map(|[x, y, z]| lens.project(f64::from(x / z), f64::from(y / z)).map(|v| v as f32));
        let low = at.iter().fold(f32::MAX, |low, p| low.min(p[1]));
        let extent = at.iter().fold(f32::MIN, |high, p| high.max(p[1])) - low;
        let known = (0..JOINTS).filter(|&j| answer.forecast.state[j] != JointState::Absent);
        let offs = known.map(|j| {
            let [x, y] = answer.forecast.places_px[0][j];
            (x - at[j][0]).hypot(y - at[j][1]) / extent.max(1.0)
        });
        let (sum, n) = offs.fold((0.0, 0.0f32), |(sum, n), off| (sum + off, n + 1.0));
        sum / n.max(1.0)
    };
    let nearest = truth.iter().map(off).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
    nearest.filter(|(_, off)| *off < NEAR)
}

/// What a set of samples comes to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// Persons in frames.
    pub samples: usize,
    /// Half of the distances are off by less, % of the true one.
    pub median_percent: f32,
    /// Nine of ten are off by less.
    pub p90_percent: f32,
    /// Mean of what they are off by, with its sign.
    pub bias_percent: f32,
    /// Share of distances, then of places right, down and ahead, that lie within one standard deviation, %: 68 is right.
    pub covers_percent: [f32; 4],
}

impl Row {
    /// Of these samples; `None` of none.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let n = samples.len();
        let mut off: Vec<f32> = samples.iter().map(|s| 100.0 * (s.off_m[0] / s.distance_m).abs()).collect();
        off.sort_by(f32::total_cmp);
        let at = |share: f32| off.get((share * n as f32) as usize).or(off.last()).copied();
        let percent = |count: usize| 100.0 * count as f32 / n as f32;
        let covers = |i: usize| percent(samples.iter().filter(|s| s.off_m[i].abs() <= s.sigma_m[i]).count());
        Some(Self {
            samples: n,
            median_percent: at(0.5)?,
            p90_percent: at(0.9)?,
            bias_percent: samples.iter().map(|s| 100.0 * s.off_m[0] / s.distance_m).sum::<f32>() / n as f32,
            covers_percent: [0, 1, 2, 3].map(covers),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bars that the whole program is held to, on a part of what `posewire eval metres` measures.
    #[test]
    fn people_stand_where_they_are_said_to_stand() {
        let mut tracker = Tracker::new(&posewire::Config::default()).expect("the built-in models load");
        let mut all: [Vec<Sample>; KNOWN.len()] = Default::default();
        for seed in 1000..1010 {
            let of_film = film(&mut tracker, seed, 45, [640, 480]).expect("renders");
            assert_eq!(of_film.persons, 45 * (1 + seed as usize % 4));
            assert!(of_film.samples.iter().all(|samples| samples.len() <= of_film.persons), "nobody twice");
            all.iter_mut().zip(of_film.samples).for_each(|(all, samples)| all.extend(samples));
        }
        let [given, unknown, ..] = all.map(|samples| Row::of(&samples).expect("somebody is seen"));
        assert!(given.samples > 500, "{given:?}");
        assert!(given.median_percent < 5.0 && unknown.median_percent < 12.0, "{given:?} {unknown:?}");
        for row in [given, unknown] {
            assert!((50.0..=86.0).contains(&row.covers_percent[0]), "{row:?}");
        }
    }
}
