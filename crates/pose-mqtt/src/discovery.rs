//! What Home Assistant is told of the topics, so that they become entities of one device by themselves.

use serde_json::{Value, json};

/// Where Home Assistant looks.
const PREFIX: &str = "homeassistant";

/// The configurations of one device's entities, which the broker is to keep, or to forget where they are empty.
pub struct Entities {
    name: String,
    all: Vec<(String, String)>,
}

impl Entities {
    /// Of a device that speaks as `name`.
    pub fn of(name: &str) -> Self {
        Self { name: name.into(), all: Vec::new() }
    }

    /// Topic and payload of each.
    pub fn configs(self) -> Vec<(String, String)> {
        self.all
    }

    /// Of the topics of this device, `state`, `health` or `event`.
    pub fn topic(&self, what: &str) -> String {
        format!("posewire/{}/{what}", self.name)
    }

    /// One more: its kind and key by Home Assistant's words, and what is its own.
    pub fn add(&mut self, kind: &str, key: &str, own: Value) {
        let name = &self.name;
        let mut config = json!({
            "unique_id": format!("posewire_{name}_{key}"),
            // Until Home Assistant 2025.9 it is called so, from then on as below.
            "object_id": format!("posewire_{name}_{key}"),
            "default_entity_id": format!("{kind}.posewire_{name}_{key}"),
            "availability_topic": self.topic("availability"),
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
        self.all.push((self.config_topic(kind, key), config.to_string()));
    }

    /// One that is no longer there: a broker would keep its configuration for ever, and Home Assistant the entity.
    pub fn remove(&mut self, kind: &str, key: &str) {
        self.all.push((self.config_topic(kind, key), String::new()));
    }

    fn config_topic(&self, kind: &str, key: &str) -> String {
        format!("{PREFIX}/{kind}/posewire_{}/{key}/config", self.name)
    }

    /// Who is there: presence, how many, and presence in each zone, by `{"presence":…,"persons":…,"zones":[{"persons":…}]}` on the
    /// topic of the state; what happens, each of `events` by its word. Of `max_zones` that may have been there before, the rest is forgotten.
    pub fn add_presence<'a>(
        &mut self,
        zones: impl Iterator<Item = &'a str>,
        max_zones: usize,
        events: &[&str],
    ) {
        let state = self.topic("state");
        self.add(
            "binary_sensor",
            "presence",
            json!({"name": "Presence", "device_class": "occupancy", "state_topic": state,
                "value_template": yes_no("value_json.presence")}),
        );
        self.add(
            "sensor",
            "persons",
            json!({"name": "Persons", "icon": "mdi:account-group", "state_class": "measurement", "state_topic": state,
                "value_template": "{{ value_json.persons }}"}),
        );
        let mut count = 0;
        for (i, zone) in zones.enumerate() {
            count = i + 1;
            // By number: a name may have anything in it.
            let value = format!("value_json.zones[{i}].persons");
            self.add(
                "binary_sensor",
                &format!("zone_{i}"),
                json!({"name": zone, "device_class": "occupancy", "state_topic": state, "value_template": yes_no(&value)}),
            );
        }
        let topic = self.topic("event");
        self.add(
            "event",
            "event",
            json!({"name": "Event", "state_topic": topic, "event_types": events,
                "value_template": "{{ dict(value_json, event_type=value_json.event) | tojson }}"}),
        );
        (count..max_zones).for_each(|i| self.remove("binary_sensor", &format!("zone_{i}")));
    }
}

/// What is null is neither ON nor OFF: Home Assistant then shows "unknown".
fn yes_no(value: &str) -> String {
    format!("{{{{ 'None' if {value} is none else ('ON' if {value} else 'OFF') }}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_entity_is_json_of_its_own_and_belongs_to_one_device() {
        let mut entities = Entities::of("hall");
        entities.add_presence(["door", "Tür \"A\" '{{ x }}'"].into_iter(), 5, &["appear", "leave"]);
        entities.add("sensor", "age", json!({"name": "Age", "value_template": "{{ value_json.age_ms }}"}));
        let (all, gone): (Vec<_>, Vec<_>) = entities.configs().into_iter().partition(|c| !c.1.is_empty());
        let gone: Vec<_> = gone.into_iter().map(|(topic, _)| topic).collect();
        assert_eq!(gone.len(), 3);
        assert_eq!(gone[0], "homeassistant/binary_sensor/posewire_hall/zone_2/config");
        let parsed: Vec<Value> = all.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
        let ids: BTreeSet<_> = parsed.iter().map(|c| c["unique_id"].to_string()).collect();
        let topics: BTreeSet<_> = all.iter().map(|(topic, _)| topic).collect();
        assert_eq!((ids.len(), topics.len()), (6, 6));
        for (config, (topic, _)) in parsed.iter().zip(&all) {
            assert_eq!(config["device"]["identifiers"], json!(["posewire_hall"]));
            assert_eq!(config["availability_topic"], "posewire/hall/availability");
            assert!(topic.starts_with("homeassistant/") && topic.ends_with("/config"), "{topic}");
            let template = config["value_template"].as_str().unwrap();
            assert!(!template.contains("Tür"), "a name is no part of a template: {template}");
        }
        assert_eq!(parsed[3]["name"], "Tür \"A\" '{{ x }}'");
        let template =
            |value: &str| format!("{{{{ 'None' if {value} is none else ('ON' if {value} else 'OFF') }}}}");
        assert_eq!(parsed[0]["value_template"], template("value_json.presence"));
        assert_eq!(parsed[3]["value_template"], template("value_json.zones[1].persons"));
        let state = |c: &Value| c["state_topic"].as_str().map(str::to_owned);
        let said =
            ["state", "state", "state", "state", "event"].map(|what| Some(format!("posewire/hall/{what}")));
        assert_eq!(parsed[..5].iter().map(state).collect::<Vec<_>>(), said);
        assert_eq!(parsed[4]["event_types"], json!(["appear", "leave"]));
    }
}
