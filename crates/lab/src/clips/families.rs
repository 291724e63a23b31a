//! The filters and the settings that each may choose from.

use pose::{Forecast, JOINTS};

use super::{Answers, ClipSet};
use posewire::temporal::{
    DEFAULT_SMOOTHNESS, TemporalError, TemporalModel, Xl,
    baseline::{Bank, Exponential, Kalman, OneEuro, Rule, Unfiltered},
    led,
};

/// A filter with all its settings.
pub struct Family {
    /// What the table calls it.
    pub name: String,
    /// What can be chosen.
    pub settings: Vec<Setting>,
    /// Builds a model: what differs in more than the lead.
    bases: Vec<Base>,
}

/// Builds a model that reads its forecasts this many frames ahead, where it can.
type Base = Box<dyn Fn(f32) -> Box<dyn TemporalModel>>;

/// One setting of a filter.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What the table calls it.
    pub name: String,
    base: usize,
    lead_frames: f32,
}

impl Family {
    /// Answers to every clip with one setting, each clip begun with an empty memory.
    pub fn run(&self, setting: &Setting, set: &ClipSet) -> Answers {
        run(set, self.bases[setting.base](setting.lead_frames).as_mut())
    }

    /// Every setting and its answers. Places alone are right: settings that differ in their lead share one run, and the
    /// states of joints are that run's.
    pub(super) fn run_all<'a>(&'a self, set: &'a ClipSet) -> impl Iterator<Item = (&'a Setting, Answers)> {
        self.bases.iter().enumerate().flat_map(move |(index, base)| {
            let answers = run(set, base(0.0).as_mut());
            let settings = self.settings.iter().filter(move |s| s.base == index);
            settings.map(move |setting| {
                let led = |f: &Forecast| led(*f, setting.lead_frames);
                (setting, answers.iter().map(|clip| clip.iter().map(led).collect()).collect())
            })
        })
    }
}

/// What the observation itself says; a joint not seen stays where it was.
pub(super) fn unfiltered(set: &ClipSet) -> Answers {
    run(set, &mut Bank::new("none", Unfiltered))
}

fn run(set: &ClipSet, model: &mut dyn TemporalModel) -> Answers {
    set.clips
        .iter()
        .map(|clip| {
            model.reset(0);
            (0..clip.captured_at_us.len())
                .map(|t| {
                    let mut forecast = [Forecast::default()];
                    model.step(&[clip.observation(t)], &mut forecast);
                    forecast[0]
                })
                .collect()
        })
        .collect()
}

/// The classics, and the learned model where its weights are given, for a detector with this error model.
///
/// # Errors
/// [`TemporalError`] where the weights do not fit.
pub fn families(weights: Option<&[u8]>, error_model: Option<&str>) -> Result<Vec<Family>, TemporalError> {
    let mut all = vec![
        classic("one-euro, MediaPipe's constants", [(String::new(), OneEuro::MEDIAPIPE)]),
        classic(
            "one-euro",
            grid(
                &[0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0],
                &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0],
                |a, b| {
                    let rule = OneEuro { min_cutoff_hz: a, beta: b, speed_cutoff_hz: 1.0 };
                    (format!("cutoff {a}, beta {b}"), rule)
                },
            ),
        ),
        classic(
            "exponential",
            [0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 25.0]
                .map(|cutoff_hz: f32| (format!("cutoff {cutoff_hz}"), Exponential { cutoff_hz })),
        ),
        classic(
            "kalman",
            [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 5.0, 8.0, 15.0]
                .map(|a: f32| (format!("acceleration {a}"), Kalman { acceleration: a, observation: 0.02 })),
        ),
    ];
    if let Some(weights) = weights {
        let error_model = error_model.unwrap_or_default().to_owned();
        let weights: std::sync::Arc<[u8]> = weights.into();
        let shipped = Xl::new(&weights, DEFAULT_SMOOTHNESS)?.observed_by(&error_model).lead_frames();
        let base = |smooth: f32| -> Base {
            let (weights, error_model) = (weights.clone(), error_model.clone());
            Box::new(move |lead| {
                let model = Xl::new(&weights, smooth).expect("the weights were read above");
                Box::new(model.observed_by(&error_model).with_lead(lead))
            })
        };
        let mut xl = Family { name: "xl".to_owned(), settings: Vec::new(), bases: Vec::new() };
        for (at, smooth) in [0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0].into_iter().enumerate() {
            xl.bases.push(base(smooth));
            for lead in [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5] {
                let name = format!("smoothness {smooth}, lead {lead}");
                xl.settings.push(Setting { name, base: at, lead_frames: lead });
            }
        }
        // What `run` does, with nothing chosen.
        let name = format!("smoothness {DEFAULT_SMOOTHNESS}, lead {shipped}");
        all.push(Family {
            name: "xl, as shipped".to_owned(),
            settings: vec![Setting { name, base: 0, lead_frames: shipped }],
            bases: vec![base(DEFAULT_SMOOTHNESS)],
        });
        all.push(xl);
    }
    Ok(all)
}

fn classic<R: Rule + Copy + 'static>(name: &str, rules: impl IntoIterator<Item = (String, R)>) -> Family {
    let mut family = Family { name: name.to_owned(), settings: Vec::new(), bases: Vec::new() };
    for (base, (name, rule)) in rules.into_iter().enumerate() {
        family.settings.push(Setting { name, base, lead_frames: 0.0 });
        family.bases.push(Box::new(move |_| Box::new(Bank::new("classic", rule))));
    }
    family
}

fn grid<T>(a: &[f32], b: &[f32], setting: impl Fn(f32, f32) -> T) -> Vec<T> {
    a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b))).map(|(a, b)| setting(a, b)).collect()
}

/// A forecast that only knows places at capture, for filters that see the future.
pub(super) fn at_capture(captured_at_us: i64, places: [[f64; 2]; JOINTS]) -> Forecast {
    let places = places.map(|p| p.map(|v| v as f32));
    Forecast { captured_at_us, places_px: [places; 4], ..Forecast::default() }
}
