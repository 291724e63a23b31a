//! Temporal models on clips: accuracy, acceleration error, jitter and lag, and what each filter pays of one for the other.
//!
//! A clip file holds what a detector said and what is true, frame by frame ([`ClipSet`]). Every filter is a family of
//! settings ([`families`]); for each budget of added lag the setting is chosen on *train* clips ([`choose`]) and
//! reported on val clips ([`compare`]), the learned model's two knobs like the classics' constants.

mod bounds;
mod families;
mod measures;
mod plot;

use std::path::{Path, PathBuf};

use pose::{Forecast, JOINTS, Keypoint, Keypoints};
use serde::{Deserialize, Serialize};

pub use self::{
    families::{Family, Setting, families},
    measures::{Measures, Report, measure},
    plot::draw_curves,
};
use posewire::temporal::{MIN_SCORE, Observation};

/// A frame of 30 Hz, microseconds: the unit of lag.
pub const FRAME_US: f64 = 1e6 / 30.0;

/// A joint that is not answered is off by this part of the extent, and none is off by more.
pub(crate) const MISSED: f64 = 0.5;

/// What can go wrong with a clip file.
#[derive(Debug, thiserror::Error)]
pub enum ClipsError {
    /// The file cannot be read.
    #[error("cannot read the clips in {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no clip set.
    #[error("{} is no clip set (`python -m posetrain.temporal.clips` in models/train writes them)", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The lists of one clip differ in length, or its times do not rise.
    #[error("clip '{clip}' is broken: {what}")]
    Broken {
        /// The clip's name.
        clip: String,
        /// What does not fit.
        what: String,
    },
    /// A picture of the curves could not be written.
    #[error("cannot write {}: {what}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        what: String,
    },
}

/// Clips of one source.
#[derive(Clone, Debug, Deserialize)]
pub struct ClipSet {
    /// What the table is headed by.
    pub name: String,
    /// What the observing detector's manifest calls its errors; without it the weights' defaults are used.
    #[serde(default)]
    pub error_model: Option<String>,
    /// Motion is compared with the truth smoothed by a Gaussian of this many frames: hand labels shake.
    pub smooth_truth: f64,
    /// The clips; none may be empty.
    pub clips: Vec<Clip>,
}

/// One person in one clip.
#[derive(Clone, Debug, Deserialize)]
pub struct Clip {
    /// Its name.
    pub name: String,
    /// The video that it was cut from, where others may be of the same one.
    #[serde(default)]
    pub source: Option<String>,
    /// `[frame]`, rising.
    pub captured_at_us: Vec<i64>,
    /// `[frame]`, longer side of the true joints' box, pixels.
    pub extent_px: Vec<f64>,
    /// `[frame][joint]` x, y in pixels and score.
    pub observed: Vec<[[f64; 3]; JOINTS]>,
    /// `[frame][joint]` x, y in pixels; `None` where not known.
    pub truth: Vec<[Option<[f64; 2]>; JOINTS]>,
    /// `[frame][joint]` hip-centred metres, where known.
    pub truth_3d_m: Option<Vec<[[f64; 3]; JOINTS]>>,
}

impl ClipSet {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`ClipsError`] where it cannot be read or does not fit together.
    pub fn read(path: &Path) -> Result<Self, ClipsError> {
        let text = std::fs::read(path).map_err(|source| ClipsError::Read { path: path.into(), source })?;
        let mut set: Self = serde_json::from_slice(&text)
            .map_err(|source| ClipsError::Parse { path: path.into(), source })?;
        for clip in &mut set.clips {
            clip.check()?;
            clip.smooth_truth(set.smooth_truth);
        }
        Ok(set)
    }

    /// `clips` under one name, their truth as it is.
    pub(crate) fn of(name: &str, clips: Vec<Clip>) -> Self {
        Self { name: name.to_owned(), error_model: None, smooth_truth: 0.0, clips }
    }
}

impl Clip {
    fn check(&self) -> Result<(), ClipsError> {
        let n = self.captured_at_us.len();
        let broken = |what: &str| Err(ClipsError::Broken { clip: self.name.clone(), what: what.to_owned() });
        if n == 0 || [self.extent_px.len(), self.observed.len(), self.truth.len()].iter().any(|&m| m != n) {
            return broken("its lists are empty or differ in length");
        }
        if self.truth_3d_m.as_ref().is_some_and(|t| t.len() != n) {
            return broken("its 3D truth has another length");
        }
        if self.captured_at_us.windows(2).any(|w| w[1] <= w[0]) {
            return broken("its times do not rise");
        }
        Ok(())
    }

    /// Smooths the truth by a Gaussian of so many frames; 0 leaves it as it is.
    pub(crate) fn smooth_truth(&mut self, frames: f64) {
        if frames > 0.0 {
            self.truth = bounds::smooth_truth(&self.truth, frames);
        }
    }

    /// What a temporal model is told at frame `t`.
    pub fn observation(&self, t: usize) -> Observation {
        let mut keypoints = Keypoints { score: 1.0, ..Keypoints::default() };
        for (k, [x, y, score]) in keypoints.joints.iter_mut().zip(self.observed[t]) {
            *k = Keypoint { x_px: x as f32, y_px: y as f32, score: score as f32, sigma_px: 0.0 };
        }
        Observation { slot: 0, captured_at_us: self.captured_at_us[t], keypoints: Some(keypoints) }
    }

    fn seen(&self, t: usize, joint: usize) -> bool {
        self.observed[t][joint][2] >= f64::from(MIN_SCORE)
    }

    /// Where a joint truly is at any time within the clip.
    fn truth_at(&self, joint: usize, at_us: f64) -> Option<[f64; 2]> {
        let times = &self.captured_at_us;
        if at_us < times[0] as f64 || at_us > times[times.len() - 1] as f64 {
            return None;
        }
        let upper = times.partition_point(|&t| (t as f64) < at_us).clamp(1, times.len() - 1);
        let (t0, t1) = (times[upper - 1] as f64, times[upper] as f64);
        let w = (at_us - t0) / (t1 - t0);
        let (a, b) = (self.truth[upper - 1][joint]?, self.truth[upper][joint]?);
        Some([a[0] + w * (b[0] - a[0]), a[1] + w * (b[1] - a[1])])
    }
}

/// One filter's answers to every clip: `[clip][frame]`.
pub type Answers = Vec<Vec<Forecast>>;

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The family.
    pub family: String,
    /// The setting chosen on the train clips.
    pub setting: String,
    /// The added lag allowed on the train clips, frames; `None` for what has no setting to choose.
    pub budget: Option<f64>,
    /// What it does on the val clips.
    pub report: Report,
}

/// A setting and the added lag that it was chosen for.
pub struct Choice<'a> {
    family: &'a Family,
    setting: &'a Setting,
    budget: f64,
}

/// For every family and budget of added lag, the setting that shakes least on `train` without losing PCK@.1 to the raw
/// observation; where no setting keeps the budget, or nothing can be timed, the family has no choice for it. `progress` is told each family's name.
pub fn choose<'a>(
    train: &ClipSet,
    families: &'a [Family],
    budgets: &[f64],
    progress: impl Fn(&str),
) -> Vec<Choice<'a>> {
    let raw = measures::measure(train, &families::unfiltered(train), None);
    let mut choices = Vec::new();
    for family in families {
        progress(&family.name);
        let tried: Vec<(&Setting, Measures)> =
            family.settings.iter().map(|s| (s, measures::measure(train, &s.run(train), None))).collect();
        for &budget in budgets {
            let allowed = tried
                .iter()
                .filter(|(_, m)| m.lag() - raw.lag() <= budget && m.pck_10() >= raw.pck_10() - PCK_SLACK);
            let best = allowed.min_by(|a, b| a.1.acceleration().total_cmp(&b.1.acceleration()));
            choices.extend(best.map(|&(setting, _)| Choice { family, setting, budget }));
        }
    }
    choices
}

/// What PCK@.1 may lose on the clips that settings are chosen on: less than their interval's width.
const PCK_SLACK: f64 = 0.01;

/// Makes the rows of one table: the raw observation's answers and lag are what every row is measured against.
struct Rows<'a> {
    set: &'a ClipSet,
    raw_answers: Answers,
    raw_lag: f64,
}

impl<'a> Rows<'a> {
    fn of(set: &'a ClipSet) -> Self {
        let raw_answers = families::unfiltered(set);
        let raw_lag = measures::measure(set, &raw_answers, None).lag();
        Self { set, raw_answers, raw_lag }
    }

    fn raw(&self) -> Row {
        self.row("none", "", None, &self.raw_answers)
    }

    fn row(&self, family: &str, setting: &str, budget: Option<f64>, answers: &Answers) -> Row {
        Row {
            family: family.to_owned(),
            setting: setting.to_owned(),
            budget,
            report: measures::measure(self.set, answers, Some(&self.raw_answers)).report(self.raw_lag),
        }
    }
}

/// Every setting of `family` on `set`, after the raw observation: what a shipped setting is chosen from.
pub fn every_setting(set: &ClipSet, family: &Family) -> Vec<Row> {
    let make = Rows::of(set);
    let settings = family.settings.iter().map(|s| make.row(&family.name, &s.name, None, &s.run(set)));
    std::iter::once(make.raw()).chain(settings).collect()
}

/// What was chosen, measured on `val`; before it the raw observation, after it the two bounds that see the future.
pub fn compare(val: &ClipSet, choices: &[Choice]) -> Vec<Row> {
    let make = Rows::of(val);
    let mut rows = vec![make.raw()];
    for c in choices {
        let answers = c.setting.run(val);
        rows.push(make.row(&c.family.name, &c.setting.name, Some(c.budget), &answers));
    }
    for sigma in [1.0, 1.5, 2.5] {
        let answers = bounds::gaussian(val, sigma);
        rows.push(make.row("gaussian (sees the future)", &format!("sigma {sigma}"), None, &answers));
    }
    for half in [3, 5] {
        let name = format!("{} frames", 2 * half + 1);
        rows.push(make.row(
            "savitzky-golay (sees the future)",
            &name,
            None,
            &bounds::savitzky_golay(val, half),
        ));
    }
    rows
}

/// A lag for a table: a dash where nothing could be timed.
pub(crate) fn signed(lag: f64) -> String {
    if lag.is_finite() { format!("{lag:+.2}") } else { "–".to_owned() }
}

/// The rows as a Markdown table.
pub fn table(set: &ClipSet, rows: &[Row]) -> String {
    use std::fmt::Write;
    let frames: usize = set.clips.iter().map(|c| c.captured_at_us.len()).sum();
    let drawn = match measures::motions(set).len() {
        motions if motions < set.clips.len() => format!("the {motions} videos or motions that they show"),
        _ => "clips".to_owned(),
    };
    let mut out = format!(
        "### {}: {} clips, {frames} frames\n\n\
         Errors in % of the person's extent, what is not answered counts as 50; lag in frames of 30 Hz beyond the raw observation's; \
         95 % intervals over {drawn}.\n\n\
         | filter | setting | lag allowed | lag | MPJPE | PCK.1 | PCK.05 | Accel | jitter | 100 ms ahead | unseen | 68 % covers: measured / predicted | repaired / broken % | 3D mm |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        set.name,
        set.clips.len()
    );
    let or_dash = |v: Option<f64>, digits: usize| v.map_or("–".to_owned(), |v| format!("{v:.digits$}"));
    for row in rows {
        let r = &row.report;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {:.3} | {:.3} | {} | {} | {} | {} | {} / {} | {} / {} | {} |",
            row.family,
            row.setting,
            or_dash(row.budget, 2),
            signed(r.added_lag),
            r.mpjpe,
            r.pck_10.value,
            r.pck_05,
            r.acceleration,
            or_dash(r.still_jitter, 2),
            or_dash(r.ahead, 2),
            or_dash(r.unseen, 2),
            or_dash(r.covered_measured, 2),
            or_dash(r.covered_predicted, 2),
            or_dash(r.repaired, 1),
            or_dash(r.broken, 1),
            or_dash(r.lift_mm, 0),
        );
    }
    out
}

#[cfg(test)]
mod tests;
