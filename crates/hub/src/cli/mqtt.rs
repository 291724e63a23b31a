//! `--mqtt`: a broker is told who is in the room, in which zone, what happens, and how the hub's cameras are.

use std::time::Duration;

use anyhow::{Context, Result};
use pose_events::{BLIND_AFTER_US, Event, KINDS, MAX_ZONES, Watch};
use pose_mqtt::{Broker, Client, Entities, topic_part};
use posewire_hub::events::line;
use serde_json::{Value, json};

/// From one word on the cameras to the next, unless they change.
const HEALTH_EVERY_US: i64 = 30_000_000;
/// Of so many cameras the sensors are removed where the room no longer has them.
const MAX_CAMERAS: usize = 32;
/// A broker that does not answer is not waited for at the end.
const GOODBYE: Duration = Duration::from_millis(500);

/// How the hub's cameras are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Of each camera whether it says nothing.
    pub silent: Vec<bool>,
    /// Of each camera whether it stands elsewhere than it stood.
    pub moved: Vec<bool>,
}

/// Everything that is told to one broker.
pub struct Mqtt {
    broker: Broker,
    name: String,
    cameras: Vec<String>,
    /// None while another hub of the room tells.
    client: Option<Client>,
    said: String,
    health: Option<(Health, i64)>,
    last_us: Option<i64>,
    began_us: i64,
}

impl Mqtt {
    /// Will look for the broker when something is to be told.
    pub fn new(broker: Broker, name: &str, cameras: &[String], now_us: i64) -> Self {
        let (name, said, cameras) = (topic_part(name), String::new(), cameras.to_vec());
        Self { broker, name, cameras, client: None, said, health: None, last_us: None, began_us: now_us }
    }

    /// Of a moment: who is there by now, and what happened.
    pub fn tell(&mut self, watch: &Watch, events: &[Event], now_us: i64) -> Result<()> {
        self.last_us = Some(now_us);
        let said = watch.said(true).to_string();
        self.say(watch, said)?;
        if let Some(client) = &self.client {
            for event in events {
                let mut line = line(event, watch.zones(), now_us);
                // A message has its own end.
                line.pop();
                client.tell_event(line);
            }
        }
        Ok(())
    }

    /// From time to time: how the cameras are, and that nobody knows who is there where no moment comes.
    pub fn look(&mut self, watch: &Watch, health: &Health, now_us: i64) -> Result<()> {
        if self.last_us.is_none_or(|last| now_us - last >= BLIND_AFTER_US) {
            self.say(watch, watch.said(false).to_string())?;
        }
        let is_known = |(known, at): &(Health, i64)| known == health && now_us - at < HEALTH_EVERY_US;
        if !self.health.as_ref().is_some_and(is_known) {
            self.health = Some((health.clone(), now_us));
            if let Some(client) = &self.client {
                client.tell_health(self.health_said(health, now_us).to_string());
            }
        }
        Ok(())
    }

    /// Another hub of the room tells: this one is silent.
    pub fn hush(&mut self) {
        if let Some(mut client) = self.client.take() {
            client.end(GOODBYE);
            (self.said, self.health) = (String::new(), None);
        }
    }

    fn say(&mut self, watch: &Watch, said: String) -> Result<()> {
        if self.client.is_none() {
            let configs = self.configs(watch);
            let client =
                Client::start(self.broker.clone(), &self.name, configs).context("--mqtt: no thread")?;
            self.client = Some(client);
        }
        if said != self.said
            && let Some(client) = &self.client
        {
            client.tell_state(said.clone());
            self.said = said;
        }
        Ok(())
    }

    fn configs(&self, watch: &Watch) -> Vec<(String, String)> {
        let mut entities = Entities::of(&self.name);
        entities.add_presence(watch.zones().zones.iter().map(|zone| &*zone.name), MAX_ZONES, &KINDS);
        let health = entities.topic("health");
        for (i, camera) in self.cameras.iter().enumerate() {
            // By number: a name may have anything in it.
            entities.add(
                "binary_sensor",
                &format!("camera_{i}"),
                json!({"name": format!("Camera {camera}"), "device_class": "connectivity", "entity_category": "diagnostic",
                    "state_topic": health,
                    "value_template": format!("{{{{ 'OFF' if value_json.cameras[{i}].silent else 'ON' }}}}")}),
            );
        }
        (self.cameras.len()..MAX_CAMERAS)
            .for_each(|i| entities.remove("binary_sensor", &format!("camera_{i}")));
        entities.configs()
    }

    fn health_said(&self, health: &Health, now_us: i64) -> Value {
        let camera = |(i, name): (usize, &String)| json!({"name": name, "silent": health.silent[i], "moved": health.moved[i]});
        let cameras: Vec<Value> = self.cameras.iter().enumerate().map(camera).collect();
        json!({"cameras": cameras, "uptime_s": (now_us - self.began_us) / 1_000_000})
    }
}

impl Drop for Mqtt {
    fn drop(&mut self) {
        self.hush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose_events::{At, Zone, Zones};

    #[test]
    fn a_room_that_nobody_sees_is_unknown_and_cameras_are_named() {
        let zones = vec![Zone { name: "bed".into(), at: At::Hips, polygon: vec![[0.0; 2]; 3] }];
        let watch = Watch::new(Zones { zones });
        let unknown = json!({"presence": null, "persons": null, "zones": [{"name": "bed", "persons": null}]});
        assert_eq!((watch.said(false), watch.said(true)), (unknown.clone(), unknown));
        let cameras = ["door", "window"].map(String::from);
        let mqtt = Mqtt::new("mqtt://[::1]:9".parse().unwrap(), "hall", &cameras, 0);
        let health = Health { silent: vec![false, true], moved: vec![true, false] };
        let said = mqtt.health_said(&health, 9_000_000);
        assert_eq!(said["cameras"][1], json!({"name": "window", "silent": true, "moved": false}));
        assert_eq!(said["uptime_s"], 9);
        let (told, gone): (Vec<_>, Vec<_>) =
            mqtt.configs(&watch).into_iter().partition(|config| !config.1.is_empty());
        let topics: Vec<String> = told.into_iter().map(|config| config.0).collect();
        assert!(
            topics.contains(&"homeassistant/binary_sensor/posewire_hall/camera_1/config".to_owned()),
            "{topics:?}"
        );
        assert_eq!(topics.len(), 6);
        // Of a room that had more zones or cameras.
        for key in ["zone_1", "camera_2"] {
            let topic = format!("homeassistant/binary_sensor/posewire_hall/{key}/config");
            assert!(gone.iter().any(|config| config.0 == topic), "{gone:?}");
        }
    }
}
