//! Who gets datagrams: what could not be sent is said, at first and whenever it has doubled.

use std::net::UdpSocket;

use anyhow::{Result, ensure};
use datagrams::{Datagrams, SendError};
use timing::clock::now_us;

/// Datagrams to one peer, which may be away.
pub struct Peer {
    /// Whose word it is, and of what: `run: --udp`.
    what: &'static str,
    /// For what fits into no datagram.
    instead: &'static str,
    datagrams: Datagrams,
    lost: u64,
}

impl Peer {
    /// To `HOST:PORT`; a name that nobody knows yet is looked for from now on. `what` gives the option's name after the command's.
    pub fn open(what: &'static str, to: &str) -> Result<Self> {
        ensure!(
            datagrams::is_host_and_port(to),
            "{what} {to}: give HOST:PORT, as in 192.168.1.20:9000, [::1]:9000 or pc.local:9000"
        );
        let mut peer = Self { what, instead: "", datagrams: Datagrams::to(to), lost: 0 };
        // A mistake is seen at once.
        if let Err(error) = peer.datagrams.known() {
            peer.tell(&error);
        }
        Ok(peer)
    }

    /// What to do where something fits into no datagram.
    pub fn or(self, instead: &'static str) -> Self {
        Self { instead, ..self }
    }

    /// Sends now or not at all: whoever is away hears the next one.
    pub fn send(&mut self, bytes: &[u8]) {
        if let Err(error) = self.datagrams.send(bytes, now_us()) {
            self.tell(&error);
        }
    }

    /// What the peer answers, without waiting: how many of `bytes` it fills.
    pub fn receive(&self, bytes: &mut [u8]) -> Option<usize> {
        self.datagrams.receive(bytes)
    }

    /// To wait for what the peer answers; `None` before anything was sent.
    pub fn socket(&self) -> Option<&UdpSocket> {
        self.datagrams.socket()
    }

    fn tell(&mut self, error: &SendError) {
        if let Some(said) = self.lose(error) {
            say!("posewire-hub {said}");
        }
    }

    /// Counts; gives what is to be said of the 1st, 2nd, 4th, 8th …
    fn lose(&mut self, error: &SendError) -> Option<String> {
        self.lost += 1;
        let Self { what, instead, lost, .. } = self;
        let mut said = format!("{what} {error}");
        if matches!(error, SendError::TooLong { .. }) && !instead.is_empty() {
            said += &format!(": {instead}");
        }
        if *lost > 1 {
            said += &format!(" ({lost} times so far)");
        }
        lost.is_power_of_two().then_some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_into_no_datagram_is_said_with_what_to_do_and_seldom() {
        let mut peer = Peer::open("run: --udp", "127.0.0.1:9").unwrap().or("take --jsonl FILE");
        let all = vec![0; 70_000];
        let mut said = Vec::new();
        for _ in 0..100 {
            let error = peer.datagrams.send(&all, 0).unwrap_err();
            said.extend(peer.lose(&error));
        }
        assert_eq!(said.len(), 7, "{said:?}");
        for part in ["run: --udp 127.0.0.1:9: 70000 bytes", "take --jsonl FILE"] {
            assert!(said[0].contains(part), "{said:?}");
        }
        assert!(said[6].ends_with("(64 times so far)"), "{said:?}");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for wrong in ["pc.local", "9000", ":9000", "::1:9000", "pc.local:port", "pc.local:70000"] {
            let told = Peer::open("run: --osc", wrong).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(told.contains("HOST:PORT") && told.contains(wrong), "{wrong}: {told}");
        }
    }
}
