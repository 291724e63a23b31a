//! What a building knows of its rooms' hubs beside who is there: who is silent, and where two send to one port.

use std::net::SocketAddr;

use super::sources::Senders;

/// Without a word from a room for so long, it is told.
const SILENT_US: i64 = 3_000_000;

/// One room's hub.
pub struct Room {
    name: String,
    port: u16,
    heard_us: i64,
    is_silent: bool,
    senders: Senders,
}

impl Room {
    /// Nothing was heard of it yet, whose lines come to `port`.
    pub fn new(name: String, port: u16, now_us: i64) -> Self {
        Self { name, port, heard_us: now_us, is_silent: false, senders: Senders::default() }
    }

    /// Something came `from` there; what is to be said of it.
    pub fn receive(&mut self, from: SocketAddr, now_us: i64) -> Option<String> {
        self.heard_us = now_us;
        let name = &self.name;
        if let Some([one, other]) = self.senders.receive(from) {
            return Some(format!(
                "room {name:?}: {one} and {other} both send to its port: each room's hub needs one of its own, and of two hubs of one room one has --standby"
            ));
        }
        std::mem::take(&mut self.is_silent).then(|| format!("room {name:?} is back"))
    }

    /// From time to time: what is to be said where nothing comes.
    pub fn look(&mut self, now_us: i64) -> Option<String> {
        if self.is_silent || now_us - self.heard_us <= SILENT_US {
            return None;
        }
        self.is_silent = true;
        let (name, port) = (&self.name, self.port);
        Some(format!(
            "room {name:?} is silent: does its hub run `posewire-hub run … --udp THIS-MACHINE:{port}`?"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_that_is_silent_is_said_once_and_when_it_is_back() {
        let from = SocketAddr::from(([10, 0, 0, 1], 4_000));
        let mut room = Room::new("hall".to_owned(), 9301, 0);
        assert_eq!(room.look(SILENT_US), None);
        let told = room.look(SILENT_US + 1).unwrap();
        assert!(told.contains("\"hall\" is silent") && told.contains("--udp THIS-MACHINE:9301"), "{told}");
        assert_eq!(room.look(9 * SILENT_US), None);
        assert_eq!(room.receive(from, 9 * SILENT_US).unwrap(), "room \"hall\" is back");
        assert_eq!((room.receive(from, 9 * SILENT_US), room.look(10 * SILENT_US)), (None, None));
        assert!(room.look(12 * SILENT_US).is_some());
    }

    #[test]
    fn two_hubs_on_one_port_are_said_once() {
        let [a, b] = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 4_000)));
        let mut room = Room::new("hall".to_owned(), 9301, 0);
        let told: Vec<String> = [a, b, a, b, a].iter().filter_map(|from| room.receive(*from, 0)).collect();
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("10.0.0.2:4000 and 10.0.0.1:4000 both send"), "{told:?}");
    }
}
