//! What a home wants to know, over MQTT: is somebody there, how many, in which zone, what happened, and how the tracker is.
//!
//! | topic | kept by the broker | says |
//! |---|---|---|
//! | `posewire/NAME/availability` | yes | `online`; `offline` in the end, by the last will too |
//! | `posewire/NAME/state` | yes | who is there, when that changes |
//! | `posewire/NAME/health` | yes | how the tracker is: every 30 s, and when its source or its engine changes |
//! | `posewire/NAME/event` | no | the lines of [`super::events`], one a message |
//! | `homeassistant/…/config` | yes | what Home Assistant makes of these (`discovery.rs`) |
//!
//! Poses themselves are no matter for a broker. The sink looks at every frame and hands over what has changed; a thread of its own
//! speaks with the broker (`crates/pose-mqtt`, which the hub's `--mqtt` has too), so that one that is dead, slow or away holds nobody up.

#[cfg(feature = "mqtt")]
mod discovery;
#[cfg(feature = "mqtt")]
mod health;
#[cfg(feature = "mqtt")]
mod sink;
#[cfg(feature = "mqtt")]
mod state;

pub use pose_mqtt::Broker;
#[cfg(feature = "mqtt")]
pub use sink::{Mqtt, MqttOptions};
