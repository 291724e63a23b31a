//! The filters and the settings that each may choose from.

use pose::JOINTS;

use super::{Answers, ClipSet};
use crate::temporal::{
    Forecast, TemporalError, TemporalModel, Xl,
    baseline::{Bank, Exponential, Kalman, OneEuro, Unfiltered},
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
    model: Box<dyn Fn() -> Box<dyn TemporalModel>>,
}

impl Setting {
    fn new(name: String, model: impl Fn() -> Box<dyn TemporalModel> + 'static) -> Self {
        Self { name, model: Box::new(model) }
    }

    /// Answers to every clip, each begun with an empty memory.
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

/// The classics, and the learned model where its weights are given.
///
/// # Errors
/// [`TemporalError`] where the weights do not fit.
pub fn families(weights: Option<&[u8]>) -> Result<Vec<Family>, TemporalError> {
    let mut all = vec![
        family(
            "one-euro, MediaPipe's constants",
            [Setting::new(String::new(), || Box::new(Bank::new("one-euro", OneEuro::MEDIAPIPE)))],
        ),
        family(
            "one-euro",
            grid(
                &[0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0],
                &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0],
                |a, b| {
                    let rule = OneEuro { min_cutoff_hz: a, beta: b, speed_cutoff_hz: 1.0 };
                    Setting::new(format!("cutoff {a}, beta {b}"), move || {
                        Box::new(Bank::new("one-euro", rule))
                    })
                },
            ),
        ),
        family(
            "exponential",
            [0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 25.0].map(|cutoff_hz: f32| {
                Setting::new(format!("cutoff {cutoff_hz}"), move || {
                    Box::new(Bank::new("exponential", Exponential { cutoff_hz }))
                })
            }),
        ),
        family(
            "kalman",
            grid(&[0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0, 15.0], &[0.02], |a, r| {
                let rule = Kalman { acceleration: a, observation: r };
                Setting::new(format!("acceleration {a}"), move || Box::new(Bank::new("kalman", rule)))
            }),
        ),
    ];
    if let Some(weights) = weights {
        Xl::new(weights, 0.0)?;
        let weights: std::sync::Arc<[u8]> = weights.into();
        let knobs =
            grid(&[0.0, 0.25, 0.5, 0.75, 1.0], &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5], |smooth, lead| {
                let weights = weights.clone();
                Setting::new(format!("smoothness {smooth}, lead {lead}"), move || {
                    let model = Xl::new(&weights, smooth).expect("the weights were read above");
                    Box::new(model.with_lead(lead))
                })
            });
        all.push(family("xl", knobs));
    }
    Ok(all)
}

fn family(name: &str, settings: impl IntoIterator<Item = Setting>) -> Family {
    Family { name: name.to_owned(), settings: settings.into_iter().collect() }
}

fn grid(a: &[f32], b: &[f32], setting: impl Fn(f32, f32) -> Setting) -> Vec<Setting> {
    a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b))).map(|(a, b)| setting(a, b)).collect()
}

/// A forecast that only knows places at capture, for filters that see the future.
pub(super) fn at_capture(captured_at_us: i64, places: [[f64; 2]; JOINTS]) -> Forecast {
    let places = places.map(|p| p.map(|v| v as f32));
    Forecast { captured_at_us, places_px: [places; 4], ..Forecast::default() }
}
