#![forbid(unsafe_code)]
//! A broker is told who is there, over MQTT: the tracker's and the hub's `--mqtt` say different things in the same way.
//!
//! | topic | kept by the broker | says |
//! |---|---|---|
//! | `posewire/NAME/availability` | yes | `online`; `offline` in the end, by the last will too |
//! | `posewire/NAME/state` | yes | who is there, when that changes |
//! | `posewire/NAME/health` | yes | how whoever speaks is |
//! | `posewire/NAME/event` | no | what happened, one a message |
//! | `homeassistant/…/config` | yes | what Home Assistant makes of these ([`Entities`]) |
//!
//! A thread of its own speaks with the broker, so that one that is dead, slow or away holds nobody up.

#[cfg(feature = "client")]
mod again;
mod broker;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod discovery;

pub use broker::Broker;
#[cfg(feature = "client")]
pub use client::Client;
#[cfg(feature = "client")]
pub use discovery::Entities;

/// What topics and Home Assistant's ids may hold without meaning something else; empty takes the machine's name. Two names that differ in
/// letters beyond ASCII stay two: such a one ends in four hexadecimal digits for it.
#[cfg(feature = "client")]
pub fn topic_part(name: &str) -> String {
    let of_machine = if name.is_empty() { names::of_this_machine() } else { String::new() };
    let name = if name.is_empty() { &*of_machine } else { name };
    let kept: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect();
    if kept.is_empty() {
        "posewire".into()
    } else if name.is_ascii() {
        kept
    } else {
        format!("{kept}-{:04x}", digest(name))
    }
}

/// FNV-1a of 32 bits, folded to 16: the same on every machine.
#[cfg(feature = "client")]
fn digest(name: &str) -> u32 {
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash >> 16) ^ (hash & 0xffff)
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_nothing_to_a_topic() {
        assert_eq!(topic_part("hall/+#$ -1"), "hall_____-1");
        let [kitchen, hall] = ["台所", "玄関"].map(topic_part);
        assert!(kitchen != hall && kitchen.starts_with("__-") && kitchen.is_ascii(), "{kitchen}, {hall}");
        assert_eq!(topic_part(&kitchen), kitchen);
        let own = topic_part("");
        assert!(!own.is_empty() && own == topic_part(&own), "{own}");
    }
}
