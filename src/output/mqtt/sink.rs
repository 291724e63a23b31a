//! The sink of `--mqtt`.

use std::sync::Arc;
use std::time::Duration;

use pose::PoseFrame;
use pose_mqtt::{Broker, Client, topic_part};

use super::discovery::configs;
use super::health::Health;
use super::state::State;
use crate::output::events::{Zones, write_event};
use crate::output::jsonl::source_of;
use crate::output::{Host, PoseSink, Sending, SinkError};
use crate::reason::Reason;

/// What the sink is told.
#[derive(Clone, Default)]
pub struct MqttOptions {
    /// Where it sends to, and who it is there.
    pub broker: Broker,
    /// This tracker's part of every topic; empty takes the machine's name.
    pub name: String,
    /// Whether Home Assistant is told of the topics, or is to forget them.
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
    health: Health,
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
        let mut configs = configs(&own_name, &zones);
        if !discovery {
            // The broker keeps what an earlier run has told until it is told nothing there.
            configs.iter_mut().for_each(|(_, config)| config.clear());
        }
        let state = State::new(zones);
        let client = Client::start(broker, &own_name, configs)
            .map_err(|e| SinkError::fatal("--mqtt", Reason::new("no thread", e)))?;
        client.tell_state(state.said().to_string());
        Ok(Self { name, state, client, host, health: Health::default(), line: Vec::new() })
    }

    fn tell_health(&mut self, now_us: i64) {
        let Some(host) = &self.host else { return };
        if let Some(said) = self.health.due(&host.vitals(), now_us) {
            self.client.tell_health(said);
        }
    }
}

impl PoseSink for Mqtt {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        let Self { state, client, line, host, .. } = self;
        let source = source_of(host.as_deref(), poses.frame);
        let is_other = state.update(poses, source, now_us, |event, zones| {
            line.clear();
            write_event(line, event, zones, now_us, source);
            // A message has its own end.
            line.pop();
            client.tell_event(line.clone());
        });
        if is_other {
            client.tell_state(state.said().to_string());
        }
        self.tell_health(now_us);
        Ok(Sending::Sent)
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
