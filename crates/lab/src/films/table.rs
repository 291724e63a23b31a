//! The table: one row a setting, with intervals from resampled films.

use serde::Serialize;

use super::{Outcomes, identity::Counts, score::Score};
use crate::clips::{Interval, Measures, measure};

/// How often films are drawn anew.
const RESAMPLES: usize = 400;

/// One setting's figures. Shares are 0..=1, distances % of the person's extent, lag frames of 30 Hz.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was set.
    pub setting: String,
    /// Films.
    pub films: usize,
    /// Frames in which somebody should have been found, persons each.
    pub persons: f64,
    /// Mean distance of seen joints, capped at 50; what is not answered counts 50.
    pub mpjpe: Interval,
    /// Seen joints within 0.05 of the extent.
    pub pck_05: Interval,
    /// Within 0.1.
    pub pck_10: Interval,
    /// Hidden joints within 0.1.
    pub hidden_pck_10: f64,
    /// Length of the error's second difference where somebody is answered.
    pub acceleration: Interval,
    /// Shift in time that fits the truth best.
    pub lag: f64,
    /// Persons not answered.
    pub missed_persons: Interval,
    /// Seen joints called absent.
    pub missed_joints: f64,
    /// Persons who would be answered better with left and right exchanged.
    pub exchanged: Interval,
    /// Ghosts a frame.
    pub ghosts: Interval,
    /// Frames that the oldest ghost lived.
    pub oldest_ghost: usize,
    /// Persons answered twice, a frame.
    pub doubles: f64,
    /// Clear persons answered in the first frame that shows them.
    pub first: f64,
    /// Mean frames until then.
    pub wait: f64,
    /// Answers of fewer than four joints.
    pub few: usize,
    /// Changes of identity.
    pub switches: f64,
    /// Multiple object tracking accuracy.
    pub mota: Interval,
    /// Identities kept over the film.
    pub idf1: Interval,
    /// Higher order tracking accuracy, by COCO's similarity of poses.
    pub hota: Interval,
}

impl Row {
    /// The figures of one setting.
    pub fn of(setting: &str, outcomes: &Outcomes, smooth_truth: f64) -> Self {
        let all: Vec<usize> = (0..outcomes.films.len()).collect();
        let total = outcomes.score(&all);
        let counts = outcomes.counts(&all);
        let (set, answers) = outcomes.motion(smooth_truth);
        let motion: Measures = measure(&set, &answers, None);
        let report = motion.report(0.0);
        let of = |pick: &dyn Fn(&Score) -> f64| outcomes.interval(&|films| pick(&outcomes.score(films)));
        let who = |pick: &dyn Fn(&Counts) -> f64| outcomes.interval(&|films| pick(&outcomes.counts(films)));
        Self {
            setting: setting.to_owned(),
            films: all.len(),
            persons: counts.truths,
            mpjpe: of(&|s| 100.0 * s.error.get()),
            pck_05: of(&|s| s.pck_05.get()),
            pck_10: of(&|s| s.pck_10.get()),
            hidden_pck_10: total.hidden_pck_10.get(),
            acceleration: report.acceleration,
            lag: report.added_lag,
            missed_persons: of(&|s| s.missed_persons.get()),
            missed_joints: total.missed_joints.get(),
            exchanged: of(&|s| s.exchanged.get()),
            ghosts: of(&|s| s.ghosts.get()),
            oldest_ghost: total.oldest_ghost,
            doubles: total.doubles.get(),
            first: total.first.get(),
            wait: total.wait.get(),
            few: total.few,
            switches: counts.switches,
            mota: who(&Counts::mota),
            idf1: who(&Counts::idf1),
            hota: who(&Counts::hota),
        }
    }
}

impl Outcomes {
    fn score(&self, films: &[usize]) -> Score {
        let mut total = Score::default();
        films.iter().for_each(|&i| total.add(&self.films[i].score));
        total
    }

    fn counts(&self, films: &[usize]) -> Counts {
        let mut total = Counts::default();
        films.iter().for_each(|&i| total.add(&self.films[i].identity));
        total
    }

    /// A figure over all films, and its 95 % interval over films drawn with replacement; every setting draws the same ones.
    fn interval(&self, figure: &dyn Fn(&[usize]) -> f64) -> Interval {
        let mut random = fastrand::Rng::with_seed(1);
        let n = self.films.len();
        let mut drawn: Vec<f64> = (0..RESAMPLES)
            .map(|_| figure(&(0..n).map(|_| random.usize(..n)).collect::<Vec<_>>()))
            .filter(|v| v.is_finite())
            .collect();
        drawn.sort_by(f64::total_cmp);
        let at = |q: f64| drawn.get((q * drawn.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        Interval { value: figure(&(0..n).collect::<Vec<_>>()), low: at(0.025), high: at(0.975) }
    }
}

/// The rows as Markdown, two tables: places and motion, then who is there.
pub fn table(name: &str, rows: &[Row]) -> String {
    use std::fmt::Write;
    let Some(first) = rows.first() else { return String::new() };
    let mut out = format!(
        "### {name}: {} films, {} persons in all frames\n\n\
         Distances in % of the person's extent, 95 % intervals over films. MPJPE counts what is not answered as 50.\n\n\
         | setting | MPJPE | PCK.05 | PCK.1 | hidden PCK.1 | Accel | lag | joints missed % | exchanged % |\n\
         |---|---|---|---|---|---|---|---|---|\n",
        first.films, first.persons
    );
    let figure = |v: f64, digits: usize| if v.is_finite() { format!("{v:.digits$}") } else { "–".into() };
    let interval = |i: &Interval, factor: f64, digits: usize| {
        if !i.value.is_finite() {
            return "–".to_owned();
        }
        let [value, low, high] = [i.value, i.low, i.high].map(|v| format!("{:.digits$}", factor * v));
        format!("{value} [{low}, {high}]")
    };
    for r in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {:+.2} | {} | {} |",
            r.setting,
            interval(&r.mpjpe, 1.0, 2),
            interval(&r.pck_05, 1.0, 3),
            interval(&r.pck_10, 1.0, 3),
            figure(r.hidden_pck_10, 3),
            interval(&r.acceleration, 1.0, 2),
            r.lag,
            figure(100.0 * r.missed_joints, 1),
            interval(&r.exchanged, 100.0, 1),
        );
    }
    out.push_str(
        "\n| setting | persons missed % | first frame answered % | wait, frames | ghosts a frame | oldest ghost, frames | doubles a frame | \
         under 4 joints | switches | MOTA | IDF1 | HOTA |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for r in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            r.setting,
            interval(&r.missed_persons, 100.0, 1),
            figure(100.0 * r.first, 0),
            figure(r.wait, 1),
            interval(&r.ghosts, 1.0, 3),
            r.oldest_ghost,
            figure(r.doubles, 3),
            r.few,
            r.switches,
            interval(&r.mota, 1.0, 3),
            interval(&r.idf1, 1.0, 3),
            interval(&r.hota, 1.0, 3),
        );
    }
    out
}
