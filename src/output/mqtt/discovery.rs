//! What Home Assistant makes of this tracker's topics.

use pose_mqtt::Entities;
use serde_json::json;

use super::super::events::{KINDS, MAX_ZONES, Zones};

/// Topic and payload of every entity's configuration, which the broker is to keep; empty ones it is to forget.
pub(super) fn configs(name: &str, zones: &Zones) -> Vec<(String, String)> {
    let mut entities = Entities::of(name);
    entities.add_presence(zones.zones.iter().map(|zone| &*zone.name), MAX_ZONES, &KINDS);
    let health = entities.topic("health");
    entities.add(
        "binary_sensor",
        "camera",
        json!({"name": "Camera", "device_class": "connectivity", "entity_category": "diagnostic", "state_topic": health,
            "value_template": "{{ 'OFF' if value_json.source == 'camera lost' else 'ON' }}"}),
    );
    entities.add(
        "sensor",
        "frame_rate",
        json!({"name": "Frame rate", "unit_of_measurement": "fps", "state_class": "measurement", "entity_category": "diagnostic",
            "state_topic": health, "value_template": "{{ value_json.fps }}"}),
    );
    entities.add(
        "sensor",
        "temperature",
        json!({"name": "Temperature", "device_class": "temperature", "unit_of_measurement": "°C", "state_class": "measurement",
            "entity_category": "diagnostic", "state_topic": health, "value_template": "{{ value_json.temperature_c }}"}),
    );
    entities.configs()
}

#[cfg(test)]
mod tests {
    use pose_events::Plane;

    use super::super::super::events::{At, Zone};
    use super::*;

    #[test]
    fn every_zone_and_the_tracker_itself_are_entities() {
        let zone = Zone { name: "door".into(), at: At::Feet, polygon: vec![[0.0; 2]; 3] };
        let told = |n| {
            let mut all = configs("hall", &Zones { zones: vec![zone.clone(); n] });
            let length = all.len();
            all.retain(|(_, config)| !config.is_empty());
            (all, length)
        };
        let (all, length) = told(2);
        assert_eq!(all.len(), 8);
        // As many as a file may have; of fewer, the rest is forgotten.
        assert_eq!((told(MAX_ZONES).0.len(), told(MAX_ZONES).1, length), (38, 38, 38));
        let more: String = (0..33)
            .map(|i| format!("[[zone]]\nname = \"{i}\"\npolygon = [[0, 0], [1, 0], [1, 1]]\n"))
            .collect();
        assert!(Zones::parse(&more, Plane::Picture).unwrap_err().contains("32 at most"));
        assert!(
            all.iter().any(|(topic, _)| topic == "homeassistant/binary_sensor/posewire_hall/zone_1/config")
        );
    }
}
