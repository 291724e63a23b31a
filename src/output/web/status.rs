//! What the page is told of the tracker once a second, as JSON.

use serde_json::json;

use super::super::Host;
use super::told::Told;

/// The text message.
pub(super) fn text(host: &dyn Host, told: &Told) -> String {
    let vitals = host.vitals();
    let stages: Vec<_> =
        host.stages().iter().map(|stage| json!([stage.name, stage.p50_us, stage.p99_us])).collect();
    json!({
        "source": vitals.source.name(),
        "engine": vitals.engine(),
        "persons_max": vitals.max_persons,
        "uptime_ms": vitals.uptime_ms,
        "fps": vitals.frame_rate_hz,
        "age_ms": vitals.age_us.map(|us| us / 1_000),
        "frames_dropped": vitals.frames_dropped,
        "poses_dropped": vitals.poses_dropped,
        "camera_losses": vitals.camera_losses,
        "camera_errors": vitals.camera_errors,
        "temperature_c": vitals.temperature_c,
        "throttled": vitals.throttled,
        "stages_us": stages,
        "events": told.events(),
        "zones": told.zones(),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::events::Zones;
    use crate::output::{StageTimes, Vitals};

    struct Board;

    impl Host for Board {
        fn vitals(&self) -> Vitals {
            let mut vitals = Vitals {
                frame_rate_hz: f32::NAN,
                temperature_c: Some(51.5),
                age_us: Some(42_700),
                ..Vitals::default()
            };
            vitals.engine[..4].copy_from_slice(b"int8");
            vitals
        }
        fn stages(&self) -> Vec<StageTimes> {
            vec![StageTimes { name: "network", p50_us: 1_500, p99_us: 4_000 }]
        }
        fn reset(&self) {}
    }

    #[test]
    fn the_text_is_json_whatever_the_figures_are() {
        let told: serde_json::Value =
            serde_json::from_str(&text(&Board, &Told::new(Zones::default()))).unwrap();
        assert_eq!(told["engine"], "int8");
        assert_eq!(told["temperature_c"], 51.5);
        assert!(["fps", "throttled"].iter().all(|key| told[key].is_null()), "{told}");
        assert_eq!(told["age_ms"], 42);
        assert_eq!(told["stages_us"], json!([["network", 1_500, 4_000]]));
    }
}
