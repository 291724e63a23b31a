//! The table: one row a setting, with intervals from resampled films.

use serde::Serialize;

use super::{Outcomes, identity::Counts, score::Score};
use crate::{
    Interval,
    clips::{Measures, measure, signed},
    statistics::Mean,
};

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
    /// Shift in time that fits the truth best; NaN where nothing could be timed.
    pub lag: f64,
    /// Persons not answered.
    pub missed_persons: Interval,
    /// Seen joints called absent.
    pub missed_joints: f64,
    /// Expected calibration error of the scores of joints told of, as probabilities of lying within 0.1.
    pub score_error: Interval,
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
    /// Joints in the first ten frames in which something hides them: error over that of holding their last place.
    pub hidden_over_held: f64,
    /// Persons told of by the same number a second later.
    pub kept: Interval,
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
    /// Against the first row of the set; `None` in the first.
    pub less_first: Option<Differences>,
}

/// Figures less those of another setting on the same films. Films are drawn in pairs, so that how hard they are does not widen the
/// intervals.
#[derive(Clone, Debug, Serialize)]
pub struct Differences {
    /// As [`Row::mpjpe`].
    pub mpjpe: Interval,
    /// As [`Row::pck_05`].
    pub pck_05: Interval,
    /// As [`Row::pck_10`].
    pub pck_10: Interval,
    /// As [`Row::hidden_pck_10`].
    pub hidden_pck_10: Interval,
    /// As [`Row::missed_persons`].
    pub missed_persons: Interval,
    /// As [`Row::exchanged`].
    pub exchanged: Interval,
}

impl Differences {
    /// # Panics
    /// Where the two are not of equally many films.
    fn between(one: &Outcomes, first: &Outcomes) -> Self {
        assert_eq!(one.films.len(), first.films.len(), "the same films");
        let of = |factor: f64, pick: fn(&Score) -> Mean| {
            let figure = |of: &Outcomes, films: &[usize]| Some(factor * pick(&of.score(films)).get()?);
            Interval::of(one.films.len(), |films| Some(figure(one, films)? - figure(first, films)?))
        };
        Self {
            mpjpe: of(100.0, |s| s.error),
            pck_05: of(1.0, |s| s.pck_05),
            pck_10: of(1.0, |s| s.pck_10),
            hidden_pck_10: of(1.0, |s| s.hidden_pck_10),
            missed_persons: of(1.0, |s| s.missed_persons),
            exchanged: of(1.0, |s| s.exchanged),
        }
    }
}

impl Row {
    /// The figures of one setting; `first` is the set's first one on the same films.
    ///
    /// # Panics
    /// Where the two are not of equally many films.
    pub fn of(setting: &str, outcomes: &Outcomes, first: Option<&Outcomes>, smooth_truth: f64) -> Self {
        let all: Vec<usize> = (0..outcomes.films.len()).collect();
        let total = outcomes.score(&all);
        let counts = outcomes.counts(&all);
        let (set, answers) = outcomes.motion(smooth_truth);
        let motion: Measures = measure(&set, &answers, None);
        let report = motion.report(0.0);
        let of = |factor: f64, pick: fn(&Score) -> Mean| {
            Interval::of(all.len(), |films| Some(factor * pick(&outcomes.score(films)).get()?))
        };
        let who = |pick: fn(&Counts) -> f64| {
            Interval::of(all.len(), |films| Some(pick(&outcomes.counts(films))).filter(|v| v.is_finite()))
        };
        let mean = |of: Mean| of.get().unwrap_or(f64::NAN);
        Self {
            setting: setting.to_owned(),
            films: all.len(),
            persons: counts.truths,
            mpjpe: of(100.0, |s| s.error),
            pck_05: of(1.0, |s| s.pck_05),
            pck_10: of(1.0, |s| s.pck_10),
            hidden_pck_10: mean(total.hidden_pck_10),
            acceleration: report.acceleration,
            lag: report.added_lag,
            missed_persons: of(1.0, |s| s.missed_persons),
            missed_joints: mean(total.missed_joints),
            score_error: Interval::of(all.len(), |films| outcomes.score(films).claims.error()),
            exchanged: of(1.0, |s| s.exchanged),
            ghosts: of(1.0, |s| s.ghosts),
            oldest_ghost: total.oldest_ghost,
            doubles: mean(total.doubles),
            first: mean(total.first),
            wait: mean(total.wait),
            hidden_over_held: mean(total.hidden_error) / mean(total.held_error),
            kept: of(1.0, |s| s.kept),
            few: total.few,
            switches: counts.switches,
            mota: who(Counts::mota),
            idf1: who(Counts::idf1),
            hota: who(Counts::hota),
            less_first: first.map(|first| Differences::between(outcomes, first)),
        }
    }
}

impl Outcomes {
    pub(super) fn score(&self, films: &[usize]) -> Score {
        let mut total = Score::default();
        films.iter().for_each(|&i| total.add(&self.films[i].score));
        total
    }

    fn counts(&self, films: &[usize]) -> Counts {
        let mut total = Counts::default();
        films.iter().for_each(|&i| total.add(&self.films[i].identity));
        total
    }
}

/// The rows as Markdown, two tables: places and motion, then who is there.
pub fn table(name: &str, rows: &[Row]) -> String {
    use std::fmt::Write;
    let Some(first) = rows.first() else { return String::new() };
    let mut out = format!(
        "### {name}: {} films, {} persons in all frames\n\n\
         Distances in % of the person's extent, 95 % intervals over films. MPJPE counts what is not answered as 50.\n\n\
         | setting | MPJPE | PCK.05 | PCK.1 | hidden PCK.1 | Accel | lag | joints missed % | exchanged % | ECE of scores |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
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
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            r.setting,
            interval(&r.mpjpe, 1.0, 2),
            interval(&r.pck_05, 1.0, 3),
            interval(&r.pck_10, 1.0, 3),
            figure(r.hidden_pck_10, 3),
            interval(&r.acceleration, 1.0, 2),
            signed(r.lag),
            figure(100.0 * r.missed_joints, 1),
            interval(&r.exchanged, 100.0, 1),
            interval(&r.score_error, 1.0, 3),
        );
    }
    if rows.iter().any(|r| r.less_first.is_some()) {
        let _ = write!(
            out,
            "\nLess {}, on the same films drawn in pairs:\n\n\
             | setting | MPJPE | PCK.05 | PCK.1 | hidden PCK.1 | exchanged % | persons missed % |\n|---|---|---|---|---|---|---|\n",
            first.setting
        );
    }
    for (r, d) in rows.iter().filter_map(|r| Some((r, r.less_first.as_ref()?))) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            r.setting,
            interval(&d.mpjpe, 1.0, 2),
            interval(&d.pck_05, 1.0, 3),
            interval(&d.pck_10, 1.0, 3),
            interval(&d.hidden_pck_10, 1.0, 3),
            interval(&d.exchanged, 100.0, 1),
            interval(&d.missed_persons, 100.0, 1),
        );
    }
    out.push_str(
        "\n| setting | persons missed % | first frame answered % | wait, frames | ghosts a frame | oldest ghost, frames | doubles a frame | \
         under 4 joints | switches | kept over 1 s | MOTA | IDF1 | HOTA |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for r in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            r.setting,
            interval(&r.missed_persons, 100.0, 1),
            figure(100.0 * r.first, 0),
            figure(r.wait, 1),
            interval(&r.ghosts, 1.0, 3),
            r.oldest_ghost,
            figure(r.doubles, 3),
            r.few,
            r.switches,
            interval(&r.kept, 1.0, 3),
            interval(&r.mota, 1.0, 3),
            interval(&r.idf1, 1.0, 3),
            interval(&r.hota, 1.0, 3),
        );
    }
    out
}
