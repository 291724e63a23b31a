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
    /// The videos that they were cut from, which intervals are drawn over.
    pub sources: usize,
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
    /// Against the first row of the set, which it names; `None` in the first.
    pub less: Option<Differences>,
}

/// Figures less those of another setting on the same films. Films are drawn in pairs, so that how hard they are does not widen the
/// intervals.
#[derive(Clone, Debug, Serialize)]
pub struct Differences {
    /// [`Row::setting`] of the other.
    pub of: String,
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
    fn between(one: &Outcomes, name: &str, first: &Outcomes) -> Self {
        assert_eq!(one.films.len(), first.films.len(), "the same films");
        let of = |factor: f64, pick: fn(&Score) -> Mean| {
            let figure = |of: &Outcomes, films: &[usize]| Some(factor * pick(&of.score(films)).get()?);
            one.interval(|films| Some(figure(one, films)? - figure(first, films)?))
        };
        Self {
            of: name.to_owned(),
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
    /// The figures of one setting; `first` is the set's first one on the same films, and its name.
    ///
    /// # Panics
    /// Where the two are not of equally many films.
    pub fn of(setting: &str, outcomes: &Outcomes, first: Option<(&str, &Outcomes)>) -> Self {
        let all: Vec<usize> = (0..outcomes.films.len()).collect();
        let total = outcomes.score(&all);
        let counts = outcomes.counts(&all);
        let (set, answers) = outcomes.motion();
        let motion: Measures = measure(&set, &answers, None);
        let report = motion.report(0.0);
        let of = |factor: f64, pick: fn(&Score) -> Mean| {
            outcomes.interval(|films| Some(factor * pick(&outcomes.score(films)).get()?))
        };
        let who = |pick: fn(&Counts) -> f64| {
            outcomes.interval(|films| Some(pick(&outcomes.counts(films))).filter(|v| v.is_finite()))
        };
        let mean = |of: Mean| of.get().unwrap_or(f64::NAN);
        Self {
            setting: setting.to_owned(),
            films: all.len(),
            sources: outcomes.sources.len(),
            persons: counts.truths,
            mpjpe: of(100.0, |s| s.error),
            pck_05: of(1.0, |s| s.pck_05),
            pck_10: of(1.0, |s| s.pck_10),
            hidden_pck_10: mean(total.hidden_pck_10),
            acceleration: report.acceleration,
            lag: motion.lag(),
            missed_persons: of(1.0, |s| s.missed_persons),
            missed_joints: mean(total.missed_joints),
            score_error: outcomes.interval(|films| outcomes.score(films).claims.error()),
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
            less: first.map(|(name, first)| Differences::between(outcomes, name, first)),
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
    let (of_sources, drawn) = match first.sources < first.films {
        true => (format!(" of {} videos", first.sources), "those videos"),
        false => (String::new(), "films"),
    };
    let mut out = format!(
        "### {name}: {} films{of_sources}, {} persons in all frames\n\n\
         Distances in % of the person's extent, 95 % intervals over {drawn}. MPJPE counts what is not answered as 50.\n\n\
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
    if rows.iter().any(|r| r.less.is_some()) {
        let _ = write!(
            out,
            "\nLess {}, on the same films drawn in pairs:\n\n\
             | setting | MPJPE | PCK.05 | PCK.1 | hidden PCK.1 | exchanged % | persons missed % |\n|---|---|---|---|---|---|---|\n",
            first.setting
        );
    }
    for (r, d) in rows.iter().filter_map(|r| Some((r, r.less.as_ref()?))) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::films::tests::{Still, answer, moment, person};
    use crate::films::{Film, FilmsError, Moment, TruePerson, judge};
    use posewire::picture::Frame;

    /// One film is hard and one is easy; what a setting gains on both is certain all the same.
    #[test]
    fn differences_are_those_of_the_same_films() {
        let films = |better: f64| {
            let off = [20.0, 2.0].map(|px| px - better);
            let film = off.map(|px| {
                let moments: Vec<Moment> = (0..10)
                    .map(|t| moment(t, vec![person(1, 100.0, 100.0)], &[answer(1, 100.0 + px, 100.0)]))
                    .collect();
                judge(&Still(0), &moments)
            });
            Outcomes::of(film.into())
        };
        let (first, second) = (films(0.0), films(1.0));
        let rows = [Row::of("a", &first, None), Row::of("b", &second, Some(("a", &first)))];
        let less = rows[1].less.as_ref().expect("against the first");
        assert_eq!(less.of, "a");
        let gain = less.mpjpe;
        let one_px = 100.0 / person(1, 100.0, 100.0).extent_px();
        assert!((gain.value + one_px).abs() < 1e-6 && gain.high - gain.low < 1e-6, "{gain:?}");
        assert!(rows[1].mpjpe.high - rows[1].mpjpe.low > 10.0 * one_px, "{:?}", rows[1].mpjpe);
        assert!(rows[0].less.is_none());
        assert!(table("two", &rows).contains("Less a, on the same films"));
        assert!(!table("one", &rows[..1]).contains("Less"));
    }

    /// A film cut from a video, with labels that shake or not.
    struct Cut {
        name: &'static str,
        source: Option<&'static str>,
        smooth_truth: f64,
    }

    impl Film for Cut {
        fn name(&self) -> &str {
            self.name
        }
        fn source(&self) -> Option<&str> {
            self.source
        }
        fn is_complete(&self) -> bool {
            true
        }
        fn smooth_truth(&self) -> f64 {
            self.smooth_truth
        }
        fn next(&mut self) -> Result<Option<(Frame, Vec<TruePerson>)>, FilmsError> {
            Ok(None)
        }
    }

    #[test]
    fn two_films_of_one_video_count_as_one_draw() {
        // Errors and shaking that differ from video to video.
        let film = |name: &'static str, source: Option<&'static str>, off: f64| {
            let moments: Vec<Moment> = (0..12)
                .map(|t| {
                    let x = 100.0 + [off, -off][t % 2];
                    moment(t, vec![person(1, 100.0, 100.0)], &[answer(1, x, 100.0)])
                })
                .collect();
            judge(&Cut { name, source, smooth_truth: 0.0 }, &moments)
        };
        let rows = |sources: [Option<&'static str>; 3]| {
            let [a, b, c] = sources;
            let once = || vec![film("a", a, 0.0), film("b", b, 5.0), film("c", c, 12.0)];
            let again = vec![film("d", a, 0.0), film("e", b, 5.0), film("f", c, 12.0)];
            let [once, twice] = [once(), once().into_iter().chain(again).collect()].map(Outcomes::of);
            [once, twice].map(|films| Row::of("xl", &films, None))
        };
        let wide = |of: Interval| of.high - of.low;
        let [once, twice] = rows([Some("x"), Some("y"), Some("z")]);
        for (one, two) in [(once.mpjpe, twice.mpjpe), (once.acceleration, twice.acceleration)] {
            assert!(wide(one) > 0.5 && (wide(two) - wide(one)).abs() < 1e-9, "{one} {two}");
        }
        assert!(table("cut", &[twice]).contains("6 films of 3 videos"));
        let [once, twice] = rows([None; 3]);
        assert!(wide(twice.mpjpe) < 0.9 * wide(once.mpjpe), "{} {}", once.mpjpe, twice.mpjpe);
        assert!(table("own", &[twice]).contains("6 films, "));
    }

    #[test]
    fn each_film_is_compared_with_its_own_truth_smoothed_or_not() {
        // The labels shake, the answers do not.
        let film = |smooth_truth: f64| {
            let moments: Vec<Moment> = (0..20)
                .map(|t| {
                    moment(t, vec![person(1, 100.0 + [1.0, -1.0][t % 2], 100.0)], &[answer(1, 100.0, 100.0)])
                })
                .collect();
            judge(&Cut { name: "cut", source: None, smooth_truth }, &moments)
        };
        let shakes = |of: &[f64]| {
            let films = of.iter().map(|&smooth| film(smooth)).collect();
            Row::of("xl", &Outcomes::of(films), None).acceleration.value
        };
        let (exact, by_hand) = (shakes(&[0.0]), shakes(&[1.0]));
        assert!(by_hand < 0.3 * exact, "{by_hand} {exact}");
        for mixed in [[0.0, 1.0], [1.0, 0.0]] {
            assert!((shakes(&mixed) - (exact + by_hand) / 2.0).abs() < 1e-9, "{mixed:?}");
        }
    }
}
