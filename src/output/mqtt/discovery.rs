//! What Home Assistant is told of the topics, so that they become entities of one device by themselves.

use serde_json::{Value, json};

use super::super::events::Zones;

/// Where Home Assistant looks.
const PREFIX: &str = "homeassistant";

/// Topic and payload of every entity's configuration, which the broker is to keep.
pub(super) fn configs(name: &str, zones: &Zones) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut entity = |kind: &str, key: &str, own: Value| {
        let mut config = json!({
            "unique_id": format!("posewire_{name}_{key}"),
            // Until Home Assistant 2025.9 it is called so, from then on as below.
            "object_id": format!("posewire_{name}_{key}"),
            "default_entity_id": format!("{kind}.posewire_{name}_{key}"),
            "availability_topic": format!("posewire/{name}/availability"),
            "device": {
                "identifiers": [format!("posewire_{name}")],
                "name": format!("Posewire {name}"),
                "manufacturer": "Posewire",
                "sw_version": env!("CARGO_PKG_VERSION"),
            },
            "origin": {"name": "posewire", "sw_version": env!("CARGO_PKG_VERSION")},
        });
        if let (Some(config), Value::Object(own)) = (config.as_object_mut(), own) {
            config.extend(own);
        }
        all.push((format!("{PREFIX}/{kind}/posewire_{name}/{key}/config"), config.to_string()));
    };
    let state = format!("posewire/{name}/state");
    let health = format!("posewire/{name}/health");
    // What is null is neither ON nor OFF: Home Assistant then shows "unknown".
    let yes_no =
        |value: &str| format!("{{{{ 'None' if {value} is none else ('ON' if {value} else 'OFF') }}}}");
    entity(
        "binary_sensor",
        "presence",
        json!({"name": "Presence", "device_class": "occupancy", "state_topic": state,
            "value_template": yes_no("value_json.presence")}),
    );
    entity(
        "sensor",
        "persons",
        json!({"name": "Persons", "icon": "mdi:account-group", "state_class": "measurement", "state_topic": state,
            "value_template": "{{ value_json.persons }}"}),
    );
    for (i, zone) in zones.zones.iter().enumerate() {
        // By number: a name may have anything in it.
        let value = format!("value_json.zones[{i}].persons");
        entity(
            "binary_sensor",
            &format!("zone_{i}"),
            json!({"name": zone.name, "device_class": "occupancy", "state_topic": state, "value_template": yes_no(&value)}),
        );
    }
    let kinds = super::super::events::KINDS;
    entity(
        "event",
        "event",
        json!({"name": "Event", "state_topic": format!("posewire/{name}/event"), "event_types": kinds,
            "value_template": "{{ dict(value_json, event_type=value_json.event) | tojson }}"}),
    );
    entity(
        "binary_sensor",
        "camera",
        json!({"name": "Camera", "device_class": "connectivity", "entity_category": "diagnostic", "state_topic": health,
            "value_template": "{{ 'OFF' if value_json.source == 'camera lost' else 'ON' }}"}),
    );
    entity(
        "sensor",
        "frame_rate",
        json!({"name": "Frame rate", "unit_of_measurement": "fps", "state_class": "measurement", "entity_category": "diagnostic",
            "state_topic": health, "value_template": "{{ value_json.fps }}"}),
    );
    entity(
        "sensor",
        "temperature",
        json!({"name": "Temperature", "device_class": "temperature", "unit_of_measurement": "°C", "state_class": "measurement",
            "entity_category": "diagnostic", "state_topic": health, "value_template": "{{ value_json.temperature_c }}"}),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{At, Zone};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_entity_is_json_of_its_own_and_belongs_to_one_device() {
        let polygon = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]];
        let zone = |name: &str| Zone { name: name.into(), at: At::Feet, polygon: polygon.clone() };
        let all = configs("hall", &Zones { zones: vec![zone("door"), zone("Tür \"A\" '{{ x }}'")] });
        let parsed: Vec<Value> = all.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
        let ids: BTreeSet<_> = parsed.iter().map(|c| c["unique_id"].to_string()).collect();
        let topics: BTreeSet<_> = all.iter().map(|(topic, _)| topic).collect();
        assert_eq!((ids.len(), topics.len()), (8, 8));
        for (config, (topic, _)) in parsed.iter().zip(&all) {
            assert_eq!(config["device"]["identifiers"], json!(["posewire_hall"]));
            assert_eq!(config["availability_topic"], "posewire/hall/availability");
            assert!(topic.starts_with("homeassistant/") && topic.ends_with("/config"), "{topic}");
            let template = config["value_template"].as_str().unwrap();
            assert!(!template.contains("Tür"), "a name is no part of a template: {template}");
        }
        assert_eq!(parsed[3]["name"], "Tür \"A\" '{{ x }}'");
    }
}
