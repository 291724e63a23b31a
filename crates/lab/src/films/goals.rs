//! What the program is held to, and whether it meets it: figures of the smoother as shipped against none on the same films.

use serde::Serialize;

use super::{Outcome, Outcomes, score::Score};
use crate::{
    Interval,
    clips::{ClipSet, Measures, measure},
    statistics::Mean,
};

/// Frames that a ghost may live.
const OLDEST_GHOST: f64 = 5.0;

/// One wish and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// What is wished for.
    pub wish: String,
    /// The figure that it is about, with its interval over films.
    pub figure: Interval,
    /// The bar that the figure has to keep to.
    pub bar: f64,
    /// The figure is to be at least the bar, else at most.
    pub at_least: bool,
    /// What the figure would be if everything were told as well as what has been seen until then allows.
    pub floor: Option<f64>,
}

impl Goal {
    /// Whether the figure keeps to the bar; `None` where these films have no such figure.
    pub fn is_met(&self) -> Option<bool> {
        let Self { figure: Interval { value, .. }, bar, at_least, .. } = *self;
        value.is_finite().then_some(if at_least { value >= bar } else { value <= bar })
    }
}

/// Every goal of `shipped`, `raw` being the same films without a smoother.
///
/// # Panics
/// Where the two are not of equally many films.
pub fn goals(shipped: &Outcomes, raw: &Outcomes) -> Vec<Goal> {
    assert_eq!(shipped.films.len(), raw.films.len(), "the same films");
    let all: Vec<usize> = (0..shipped.films.len()).collect();
    let mean = |of: &Outcomes, films: &[usize], pick: fn(&Score) -> Mean| pick(&of.score(films)).get();
    let figure = |factor: f64, pick: fn(&Score) -> Mean| {
        shipped.interval(|drawn| Some(factor * mean(shipped, drawn, pick)?))
    };
    let less_raw = |factor: f64, pick: fn(&Score) -> Mean| {
        shipped.interval(|drawn| Some(factor * (mean(shipped, drawn, pick)? - mean(raw, drawn, pick)?)))
    };
    let over = |a: Option<f64>, b: Option<f64>| Some(a? / b?).filter(|ratio| ratio.is_finite());
    let [moved, moved_raw] = [shipped, raw].map(|of| Motion::of(&of.films));
    let goal = |wish: &str, bar: f64, figure: Interval, at_least: bool| Goal {
        wish: wish.into(),
        figure,
        bar,
        at_least,
        floor: None,
    };
    let most = |wish: &str, bar: f64, figure: Interval| goal(wish, bar, figure, false);
    let least = |wish: &str, bar: f64, figure: Interval| goal(wish, bar, figure, true);
    let hidden_over_held = |drawn: &[usize], pick: fn(&Score) -> Mean| {
        over(mean(shipped, drawn, pick), mean(shipped, drawn, |s| s.held_error))
    };
    vec![
        most("MPJPE less the raw answer's, % of the extent", 0.0, less_raw(100.0, |s| s.error)),
        least("PCK.1 less raw's", 0.01, less_raw(1.0, |s| s.pck_10)),
        least("PCK.05 less raw's", 0.0, less_raw(1.0, |s| s.pck_05)),
        most(
            "Accel over raw's",
            0.25,
            shipped.interval(|drawn| over(moved.acceleration(drawn), moved_raw.acceleration(drawn))),
        ),
        most(
            "added lag, frames of 30 Hz",
            0.15,
            shipped.interval(|drawn| Some(moved.lag(drawn)? - moved_raw.lag(drawn)?)),
        ),
        Goal {
            // Nobody can be expected to know better where a hidden joint is than one that is seen.
            floor: hidden_over_held(&all, |s| s.before_error),
            ..most(
                "ten hidden frames: error over that of holding the last place",
                0.5,
                shipped.interval(|drawn| hidden_over_held(drawn, |s| s.hidden_error)),
            )
        },
        Goal {
            // Nobody can be expected to know a side better than most of what was seen of it.
            floor: over(mean(raw, &all, |s| s.exchanged_by_most), mean(raw, &all, |s| s.exchanged)),
            ..most(
                "exchanged sides over raw's",
                1.0 / 3.0,
                shipped.interval(|drawn| {
                    over(mean(shipped, drawn, |s| s.exchanged), mean(raw, drawn, |s| s.exchanged))
                }),
            )
        },
        most("persons missed, %", 2.0, figure(100.0, |s| s.missed_persons)),
        most("ghosts a frame", 0.02, figure(1.0, |s| s.ghosts)),
        most(
            "the oldest ghost, frames",
            OLDEST_GHOST,
            shipped.interval(|drawn| {
                let score = shipped.score(drawn);
                (score.ghosts.count > 0.0).then_some(score.oldest_ghost as f64)
            }),
        ),
        least("numbers kept over a second", 0.98, figure(1.0, |s| s.kept)),
        most(
            "persons told of with fewer than four joints",
            0.0,
            shipped.interval(|drawn| Some(shipped.score(drawn).few as f64)),
        ),
        least("clear persons told of in their first frame, %", 100.0, figure(100.0, |s| s.first)),
    ]
}

/// So many digits, and as many more as show on which side of its bar the figure is.
fn telling(goal: &Goal, least: usize) -> usize {
    let Interval { value, .. } = goal.figure;
    let seems_met = |digits: &usize| {
        let shown: f64 = format!("{value:.digits$}").parse().unwrap_or(value);
        if goal.at_least { shown >= goal.bar } else { shown <= goal.bar }
    };
    (least..least + 6).find(|digits| Some(seems_met(digits)) == goal.is_met()).unwrap_or(least)
}

/// The motion of each film by itself, for films to be drawn.
struct Motion(Vec<Measures>);

impl Motion {
    fn of(films: &[Outcome]) -> Self {
        let one = |film: &Outcome| {
            let (clips, answers): (_, Vec<_>) = film.motion.iter().cloned().unzip();
            measure(&ClipSet::of("film", clips), &answers, None)
        };
        Self(films.iter().map(one).collect())
    }

    fn drawn(&self, films: &[usize]) -> Vec<&Measures> {
        films.iter().map(|&i| &self.0[i]).collect()
    }

    fn acceleration(&self, films: &[usize]) -> Option<f64> {
        Measures::acceleration_of(&self.drawn(films))
    }

    fn lag(&self, films: &[usize]) -> Option<f64> {
        Some(Measures::lag_of(&self.drawn(films))).filter(|lag| lag.is_finite())
    }
}

/// The goals of one set of films as Markdown.
pub fn goals_table(set: &str, setting: &str, goals: &[Goal]) -> String {
    use std::fmt::Write;
    let mut out = format!("### {set}: goals of {setting}\n\n| goal | bar | figure | |\n|---|---|---|---|\n");
    for goal in goals {
        let sign = if goal.at_least { "≥" } else { "≤" };
        let digits = telling(goal, if goal.bar >= 2.0 { 1 } else { 3 });
        let Interval { value, low, high } = goal.figure;
        let (figure, verdict) = match goal.is_met() {
            Some(met) => (
                format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]"),
                match (met, goal.floor) {
                    (true, _) => "met".to_owned(),
                    (false, None) => "**missed**".to_owned(),
                    (false, Some(floor)) => format!("**missed**; floor {floor:.digits$}"),
                },
            ),
            None => ("–".to_owned(), "not known here".to_owned()),
        };
        let bar = (1000.0 * goal.bar).round() / 1000.0;
        let _ = writeln!(out, "| {} | {sign} {bar} | {figure} | {verdict} |", goal.wish);
    }
    out
}
