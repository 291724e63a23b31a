//! The filters and the settings that each may choose from.

use std::sync::Arc;

use pose::{Forecast, JOINTS, JointState};

use super::{Answers, ClipSet};
use posewire::temporal::{
    DEFAULT_SMOOTHNESS, TemporalError, TemporalModel, Xl,
    baseline::{Bank, Exponential, Kalman, OneEuro, Rule, Unfiltered},
};

/// A filter with all its settings.
pub struct Family {
    /// What the table calls it.
    pub name: String,
    /// What can be chosen.
    pub settings: Vec<Setting>,
}

/// One setting of a filter.
pub struct Setting {
    /// What the table calls it.
    pub name: String,
    /// A model that knows nobody.
    model: Box<dyn Fn() -> Box<dyn TemporalModel>>,
}

impl Setting {
    fn new<M: TemporalModel + 'static>(name: String, model: impl Fn() -> M + 'static) -> Self {
        Self { name, model: Box::new(move || Box::new(model())) }
    }

    /// Answers to every clip, each clip begun with an empty memory.
    pub fn run(&self, set: &ClipSet) -> Answers {
        run(set, (self.model)().as_mut())
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
        let weights: Arc<[u8]> = weights.into();
        let shipped = Xl::new(&weights, DEFAULT_SMOOTHNESS)?.observed_by(&error_model).lead_frames();
        // A run each: what is foretold of later frames, and what shows through, rest on the lead.
        let setting = |smooth: f32, lead_frames: f32| {
            let (weights, error_model) = (weights.clone(), error_model.clone());
            Setting::new(format!("smoothness {smooth}, lead {lead_frames}"), move || {
                let model = Xl::new(&weights, smooth).expect("the weights were read above");
                model.observed_by(&error_model).with_lead(lead_frames)
            })
        };
        // What `run` does, with nothing chosen.
        let as_shipped = vec![setting(DEFAULT_SMOOTHNESS, shipped)];
        all.push(Family { name: "xl, as shipped".to_owned(), settings: as_shipped });
        let smoothness = [0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0];
        let leads = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5];
        all.push(Family { name: "xl".to_owned(), settings: grid(&smoothness, &leads, setting) });
    }
    Ok(all)
}

fn classic<R: Rule + Copy + 'static>(name: &str, rules: impl IntoIterator<Item = (String, R)>) -> Family {
    let settings =
        rules.into_iter().map(|(name, rule)| Setting::new(name, move || Bank::new("classic", rule)));
    Family { name: name.to_owned(), settings: settings.collect() }
}

fn grid<T>(a: &[f32], b: &[f32], setting: impl Fn(f32, f32) -> T) -> Vec<T> {
    a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b))).map(|(a, b)| setting(a, b)).collect()
}

/// A forecast that only knows places at capture, every joint's and nothing of their errors, for filters that see the future.
pub(super) fn at_capture(captured_at_us: i64, places: [[f64; 2]; JOINTS]) -> Forecast {
    let places = places.map(|p| p.map(|v| v as f32));
    let state = [JointState::Predicted; JOINTS];
    Forecast { captured_at_us, places_px: [places; 4], state, ..Forecast::default() }
}
