//! How the tracker is, and when a broker is told: at once where that means something else, else rarely.

use serde_json::{Value, json};

use crate::output::{Source, Vitals};

/// From one word to the next, microseconds: what a history shows, not what fills it.
const EVERY_US: i64 = 30_000_000;
/// After a change rates and ages are still those of before; by then they are not.
const SETTLED_US: i64 = 3_000_000;
/// A camera that comes and goes is told of this often.
const SOONEST_US: i64 = 1_000_000;

/// What was told last, and when it is told anew.
#[derive(Default)]
pub(super) struct Health {
    told: Option<Told>,
}

#[derive(Clone, Copy)]
struct Told {
    at_us: i64,
    next_at_us: i64,
    source: Source,
    /// As [`Vitals::engine`](field@Vitals::engine).
    engine: [u8; 16],
}

impl Health {
    /// What is to be told now, if anything is.
    pub fn due(&mut self, vitals: &Vitals, now_us: i64) -> Option<String> {
        let Vitals { source, engine, .. } = *vitals;
        let is_other = self.told.is_none_or(|told| (told.source, told.engine) != (source, engine));
        let is_due = self.told.is_none_or(|told| {
            let due_at_us = if is_other { told.at_us.saturating_add(SOONEST_US) } else { told.next_at_us };
            now_us >= due_at_us
        });
        if !is_due {
            return None;
        }
        let next_at_us = now_us.saturating_add(if is_other { SETTLED_US } else { EVERY_US });
        self.told = Some(Told { at_us: now_us, next_at_us, source, engine });
        Some(said(vitals).to_string())
    }
}

fn said(vitals: &Vitals) -> Value {
    json!({
        "source": vitals.source.name(),
        "engine": vitals.engine(),
        "fps": tenth(vitals.frame_rate_hz),
        "age_ms": vitals.age_us.map(|us| us / 1_000),
        "uptime_s": vitals.uptime_ms / 1_000,
        "frames_dropped": vitals.frames_dropped,
        "camera_losses": vitals.camera_losses,
        "camera_errors": vitals.camera_errors,
        "temperature_c": vitals.temperature_c.map(tenth),
        "throttled": vitals.throttled,
    })
}

/// To a tenth: what changes in the last of many digits fills a recorder. An `f64`, or JSON has the digits of the nearest `f32`.
fn tenth(value: f32) -> f64 {
    (10.0 * f64::from(value)).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vitals(source: Source, engine: &str) -> Vitals {
        let mut vitals = Vitals { source, ..Vitals::default() };
        vitals.engine[..engine.len()].copy_from_slice(engine.as_bytes());
        vitals
    }

    #[test]
    fn health_is_json_whatever_the_figures_are() {
        let vitals = |frame_rate_hz| Vitals {
            frame_rate_hz,
            temperature_c: Some(51.26),
            uptime_ms: 61_999,
            age_us: Some(42_700).filter(|_| !f32::is_nan(frame_rate_hz)),
            ..vitals(Source::Replay, "int8")
        };
        let text = said(&vitals(29.873)).to_string();
        for part in [r#""fps":29.9,"#, r#""temperature_c":51.3,"#, r#""engine":"int8""#, r#""source":"file""#]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let told: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&told["age_ms"], &told["uptime_s"]), (&json!(42), &json!(61)));
        let unknown = said(&vitals(f32::NAN));
        assert!(["fps", "age_ms", "throttled"].iter().all(|key| unknown[key].is_null()), "{unknown}");
    }

    #[test]
    fn a_change_is_told_at_once_and_again_when_its_figures_hold() {
        let mut health = Health::default();
        let mut told = Vec::new();
        for at_ms in (0..80_000).step_by(100) {
            let engine = if at_ms < 5_000 { "" } else { "int8" };
            // Lost at 40 s; comes and goes ten times a second from 70 s on.
            let is_lost = (40_000..50_000).contains(&at_ms) || (at_ms >= 70_000 && at_ms % 200 == 0);
            let source = if is_lost { Source::Lost } else { Source::Camera };
            if let Some(said) = health.due(&vitals(source, engine), 1_000 * at_ms) {
                let said: Value = serde_json::from_str(&said).unwrap();
                told.push((at_ms, said["engine"] == "int8", said["source"] == "camera lost"));
            }
        }
        let expected = [(0, false, false), (3_000, false, false), (5_000, true, false), (8_000, true, false)];
        assert_eq!(told[..4], expected);
        let expected = [(38_000, true, false), (40_000, true, true), (43_000, true, true)];
        assert_eq!(told[4..7], expected);
        assert_eq!(told[7..9], [(50_000, true, false), (53_000, true, false)]);
        assert!(told[9..].len() <= 11 && told[9..].iter().all(|(at_ms, ..)| *at_ms >= 70_000), "{told:?}");
    }
}
