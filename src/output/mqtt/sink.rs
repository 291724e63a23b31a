//! The sink of `--mqtt`.

use std::sync::Arc;
use std::time::Duration;

use pose::PoseFrame;
use pose_mqtt::{Broker, Client, topic_part};

use super::discovery::configs;
use super::state::{State, health};
use crate::output::events::{Zones, write_event};
use crate::output::{Host, PoseSink, SinkError};

/// From one word of the tracker's health to the next, microseconds: what a history shows, not what fills it.
const HEALTH_EVERY_US: i64 = 30_000_000;

/// What the sink is told.
#[derive(Clone, Default)]
pub struct MqttOptions {
    /// Where it sends to, and who it is there.
    pub broker: Broker,
    /// This tracker's part of every topic; empty takes the machine's name.
    pub name: String,
    /// Whether Home Assistant is told of the topics.
    pub discovery: bool,
    /// Watched and told of.
    pub zones: Zones,
    /// Who knows how the tracker is.
    pub host: Option<Arc<dyn Host>>,
}

/// The sink of `--mqtt mqtt://…`.
pub struct Mqtt {
    name: String,
    state: State,
    client: Client,
    host: Option<Arc<dyn Host>>,
    health_at_us: Option<i64>,
    line: Vec<u8>,
}

impl Mqtt {
    /// Looks for the broker from now on, as long as it takes.
    ///
    /// # Errors
    /// [`SinkError::Fatal`]: no thread can be started.
    pub fn open(options: MqttOptions) -> Result<Self, SinkError> {
        let MqttOptions { broker, name, discovery, zones, host } = options;
        let own_name = topic_part(&name);
        let name = format!("mqtt {broker} as {own_name}");
        let configs = if discovery { configs(&own_name, &zones) } else { Vec::new() };
        let state = State::new(zones);
        let client = Client::start(broker, &own_name, configs)
            .map_err(|e| SinkError::Fatal(format!("--mqtt: no thread: {e}")))?;
        client.tell_state(state.said().to_string());
        Ok(Self { name, state, client, host, health_at_us: None, line: Vec::new() })
    }

    fn tell_health(&mut self, now_us: i64) {
        let is_due = self.health_at_us.is_none_or(|at_us| now_us.saturating_sub(at_us) >= HEALTH_EVERY_US);
        if let Some(host) = self.host.as_ref().filter(|_| is_due) {
            self.health_at_us = Some(now_us);
            self.client.tell_health(health(&host.vitals()).to_string());
        }
    }
}

impl PoseSink for Mqtt {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError> {
        let Self { state, client, line, .. } = self;
        let is_other = state.update(poses, now_us, |event, zones| {
            line.clear();
            write_event(line, event, zones, now_us);
            // A message has its own end.
            line.pop();
            client.tell_event(line.clone());
        });
        if is_other {
            client.tell_state(state.said().to_string());
        }
        self.tell_health(now_us);
        Ok(())
    }

    fn is_away(&self) -> bool {
        !self.client.is_connected()
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        if self.state.wait(now_us) {
            self.client.tell_state(self.state.said().to_string());
        }
        self.tell_health(now_us);
        Ok(())
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        self.client.end(within);
        Ok(())
    }
}
