//! What is measured, clip by clip, so that intervals can be drawn by resampling clips.

use std::collections::BTreeMap;

use pose::{Forecast, HORIZONS_US, JOINTS, JointState};
use serde::Serialize;

use super::{Answers, Clip, ClipSet, FRAME_US, MISSED};
use crate::statistics::{Interval, Mean};

/// How the lag is looked for.
struct LagSearch {
    /// Shifts tried, in steps.
    shifts: std::ops::RangeInclusive<i32>,
    step_frames: f64,
    /// An error beyond this part of the extent counts as this much: an outlier says nothing of timing.
    error_limit: f64,
    /// Frames left out at both ends of a clip, where the truth of some shifts is not known.
    margin: usize,
}

const LAG: LagSearch = LagSearch { shifts: -8..=16, step_frames: 0.25, error_limit: 0.1, margin: 4 };
/// A joint whose truth moves less a frame stands still, parts of the extent.
const STILL: f64 = 0.005;
/// Joints off by this part of the extent are wrong (PCK@.1).
const WRONG: f64 = 0.1;
/// The horizon that prediction is judged at.
const AHEAD: usize = 2;

/// Sums over one clip.
#[derive(Clone, Debug)]
struct Sums {
    error: Mean,
    pck_10: Mean,
    pck_05: Mean,
    acceleration: Mean,
    still_jitter: Mean,
    ahead: Mean,
    unseen: Mean,
    covered_measured: Mean,
    covered_predicted: Mean,
    repaired: Mean,
    broken: Mean,
    lift_m: Mean,
    shifted: Vec<Mean>,
}

/// One filter's sums, clip by clip.
pub struct Measures {
    clips: Vec<Sums>,
    /// Clips of one name show one motion, seen or hidden differently, and those of one video the same people: they are resampled together.
    motions: Vec<Vec<usize>>,
}

/// One filter's figures; parts of the extent in %, lag in frames.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Shift in time that fits the truth best, less the raw observation's; NaN where nothing could be timed.
    pub added_lag: f64,
    /// Mean distance from the truth, capped at 50; what is not answered counts 50.
    pub mpjpe: Interval,
    /// Share of joints within 0.1 of the extent.
    pub pck_10: Interval,
    /// Share of joints within 0.05 of the extent.
    pub pck_05: f64,
    /// Mean length of the error's second difference, between evenly spaced frames.
    pub acceleration: Interval,
    /// Mean step from frame to frame where the truth stands still.
    pub still_jitter: Option<f64>,
    /// Mean distance of the 100 ms forecast, as [`Report::mpjpe`].
    pub ahead: Option<f64>,
    /// Mean distance where the joint was not seen in the frame, as [`Report::mpjpe`].
    pub unseen: Option<f64>,
    /// Share of coordinates within sigma, joints called measured.
    pub covered_measured: Option<f64>,
    /// Share of coordinates within sigma, joints called predicted.
    pub covered_predicted: Option<f64>,
    /// Of the joints that were wrong in the observation, the share right in the answer, %.
    pub repaired: Option<f64>,
    /// Of those that were right, the share wrong in the answer, %.
    pub broken: Option<f64>,
    /// Mean 3D distance, hip-centred, millimetres.
    pub lift_mm: Option<f64>,
}

/// Measures one filter's `answers`; `raw` are the unfiltered ones, for what was repaired and broken.
pub fn measure(set: &ClipSet, answers: &Answers, raw: Option<&Answers>) -> Measures {
    let clips = set.clips.iter().zip(answers).enumerate();
    let clips = clips.map(|(i, (clip, answers))| sums(clip, answers, raw.map(|r| &r[i][..]))).collect();
    Measures { clips, motions: motions(set) }
}

/// Clips by their places, those of one motion or video together.
pub(super) fn motions(set: &ClipSet) -> Vec<Vec<usize>> {
    let mut motions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, clip) in set.clips.iter().enumerate() {
        motions.entry(clip.source.as_ref().unwrap_or(&clip.name)).or_default().push(i);
    }
    motions.into_values().collect()
}

/// `None` where the joint is absent: its place means nothing.
fn place(f: &Forecast, horizon: usize, joint: usize) -> Option<[f64; 2]> {
    (f.state[joint] != JointState::Absent).then(|| f.places_px[horizon][joint].map(f64::from))
}

/// The error of a joint in parts of `extent`.
fn error(place: Option<[f64; 2]>, truth: [f64; 2], extent: f64) -> f64 {
    place.map_or(MISSED, |place| (distance(place, truth) / extent).min(MISSED))
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

fn sums(clip: &Clip, answers: &[Forecast], raw: Option<&[Forecast]>) -> Sums {
    let zero = Mean::default();
    let mut s = Sums {
        error: zero,
        pck_10: zero,
        pck_05: zero,
        acceleration: zero,
        still_jitter: zero,
        ahead: zero,
        unseen: zero,
        covered_measured: zero,
        covered_predicted: zero,
        repaired: zero,
        broken: zero,
        lift_m: zero,
        shifted: vec![zero; LAG.shifts.count()],
    };
    for t in 0..answers.len() {
        for j in 0..JOINTS {
            if let Some(truth) = clip.truth[t][j] {
                at_capture(&mut s, clip, answers, raw, t, j, truth);
                motion(&mut s, clip, answers, t, j);
            }
        }
        if let (Some(truth), Some(lift)) = (&clip.truth_3d_m, answers[t].joints_3d_m) {
            for (a, b) in truth[t].iter().zip(lift) {
                s.lift_m.add((0..3).map(|i| (a[i] - f64::from(b[i])).powi(2)).sum::<f64>().sqrt());
            }
        }
    }
    s
}

fn at_capture(
    s: &mut Sums,
    clip: &Clip,
    answers: &[Forecast],
    raw: Option<&[Forecast]>,
    t: usize,
    j: usize,
    truth: [f64; 2],
) {
    let (f, extent) = (&answers[t], clip.extent_px[t]);
    let off = error(place(f, 0, j), truth, extent);
    s.error.add(off);
    s.pck_10.hit(off < WRONG);
    s.pck_05.hit(off < WRONG / 2.0);
    if !clip.seen(t, j) {
        s.unseen.add(off);
    }
    let cover = match f.state[j] {
        JointState::Measured => Some(&mut s.covered_measured),
        JointState::Predicted => Some(&mut s.covered_predicted),
        JointState::Absent => None,
    };
    let sigma = f64::from(f.sigma_px[0][j]);
    // Filters that see the future have none.
    if let (Some(cover), Some(place), true) = (cover, place(f, 0, j), sigma > 0.0) {
        for (p, t) in place.into_iter().zip(truth) {
            cover.hit((p - t).abs() <= sigma);
        }
    }
    if let Some(raw) = raw {
        let raw_off = error(place(&raw[t], 0, j), truth, extent);
        if raw_off >= WRONG {
            s.repaired.hit(off < WRONG);
        } else {
            s.broken.hit(off >= WRONG);
        }
    }
    let ahead_us = clip.captured_at_us[t] + HORIZONS_US[AHEAD];
    if let Some(later) = clip.truth_at(j, ahead_us as f64) {
        s.ahead.add(error(place(f, AHEAD, j), later, extent));
    }
}

fn motion(s: &mut Sums, clip: &Clip, answers: &[Forecast], t: usize, j: usize) {
    let (times, extent) = (&clip.captured_at_us, clip.extent_px[t]);
    let place = |t: usize| place(&answers[t], 0, j);
    let error = |t: usize| {
        let (p, q) = (place(t)?, clip.truth[t][j]?);
        Some([p[0] - q[0], p[1] - q[1]])
    };
    let Some(at) = place(t) else { return };
    if t >= 1
        && let (Some(before), Some(from)) = (clip.truth[t - 1][j], place(t - 1))
        && distance(before, clip.truth[t][j].unwrap_or(before)) < STILL * extent
    {
        s.still_jitter.add(distance(at, from) / extent);
    }
    if t >= 2 {
        let (first, second) = ((times[t - 1] - times[t - 2]) as f64, (times[t] - times[t - 1]) as f64);
        if (first - second).abs() < 0.1 * first
            && let (Some(a), Some(b), Some(c)) = (error(t - 2), error(t - 1), error(t))
        {
            let bend: [f64; 2] = std::array::from_fn(|i| c[i] - 2.0 * b[i] + a[i]);
            s.acceleration.add(bend[0].hypot(bend[1]) / extent);
        }
    }
    if t >= LAG.margin && t + LAG.margin < answers.len() {
        let shifted: Option<Vec<f64>> = LAG
            .shifts
            .map(|k| {
                let then = times[t] as f64 - f64::from(k) * LAG.step_frames * FRAME_US;
                Some((distance(at, clip.truth_at(j, then)?) / extent).min(LAG.error_limit).powi(2))
            })
            .collect();
        // All shifts or none, so that they are compared on the same frames.
        for (sum, cost) in s.shifted.iter_mut().zip(shifted.iter().flatten()) {
            sum.add(*cost);
        }
    }
}

impl Measures {
    fn mean(&self, clips: &[usize], pick: impl Fn(&Sums) -> Mean) -> Option<f64> {
        clips.iter().map(|&i| pick(&self.clips[i])).fold(Mean::default(), Mean::with).get()
    }

    fn all(&self, pick: impl Fn(&Sums) -> Mean) -> Option<f64> {
        self.mean(&(0..self.clips.len()).collect::<Vec<_>>(), pick)
    }

    /// Shift in time at which the answers fit the truth best, frames: least cost, then the parabola through its neighbours. NaN where
    /// nothing moved long enough.
    pub fn lag(&self) -> f64 {
        Self::lag_of(&[self])
    }

    /// The same of all of them together.
    pub(crate) fn lag_of(all: &[&Self]) -> f64 {
        let sums = || all.iter().flat_map(|of| &of.clips);
        let cost = |k: usize| sums().map(|s| s.shifted[k]).fold(Mean::default(), Mean::with).get();
        let costs: Vec<f64> = (0..LAG.shifts.count()).map(|k| cost(k).unwrap_or(f64::INFINITY)).collect();
        let least = (1..costs.len() - 1).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap_or(1);
        let (a, b, c) = (costs[least - 1], costs[least], costs[least + 1]);
        // Of what is too short no shift has a cost, and of what stands still all have the same.
        if !costs.iter().any(|&cost| b < cost) {
            return f64::NAN;
        }
        let bend = a - 2.0 * b + c;
        let within = if bend > 0.0 { (0.5 * (a - c) / bend).clamp(-1.0, 1.0) } else { 0.0 };
        (f64::from(LAG.shifts.start() + least as i32) + within) * LAG.step_frames
    }

    /// Share of joints within 0.1 of the extent.
    pub fn pck_10(&self) -> f64 {
        self.all(|s| s.pck_10).unwrap_or(0.0)
    }

    /// Acceleration error, parts of the extent.
    pub fn acceleration(&self) -> f64 {
        self.all(|s| s.acceleration).unwrap_or(f64::INFINITY)
    }

    /// Acceleration error of all of them together, parts of the extent.
    pub(crate) fn acceleration_of(all: &[&Self]) -> Option<f64> {
        let sums = all.iter().flat_map(|of| &of.clips);
        sums.map(|s| s.acceleration).fold(Mean::default(), Mean::with).get()
    }

    fn interval(&self, factor: f64, pick: impl Fn(&Sums) -> Mean) -> Interval {
        Interval::of(self.motions.len(), |drawn| {
            let clips: Vec<usize> = drawn.iter().flat_map(|&m| &self.motions[m]).copied().collect();
            Some(factor * self.mean(&clips, &pick)?)
        })
    }

    /// All figures; `raw_lag` is the unfiltered observation's.
    pub fn report(&self, raw_lag: f64) -> Report {
        let percent = |v: Option<f64>| v.map(|v| 100.0 * v);
        Report {
            added_lag: self.lag() - raw_lag,
            mpjpe: self.interval(100.0, |s| s.error),
            pck_10: self.interval(1.0, |s| s.pck_10),
            pck_05: self.all(|s| s.pck_05).unwrap_or(0.0),
            acceleration: self.interval(100.0, |s| s.acceleration),
            still_jitter: percent(self.all(|s| s.still_jitter)),
            ahead: percent(self.all(|s| s.ahead)),
            unseen: percent(self.all(|s| s.unseen)),
            covered_measured: self.all(|s| s.covered_measured),
            covered_predicted: self.all(|s| s.covered_predicted),
            repaired: percent(self.all(|s| s.repaired)),
            broken: percent(self.all(|s| s.broken)),
            lift_mm: self.all(|s| s.lift_m).map(|v| 1000.0 * v),
        }
    }
}
