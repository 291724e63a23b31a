//! The other hub of this room, at `--twin`.

use anyhow::Result;
use posewire_hub::failover::{Failover, Heartbeat};

use super::peer::Peer;

/// The other hub of this room, and whether this one was active last.
pub struct PeerHub {
    failover: Failover,
    peer: Peer,
    is_active: bool,
}

impl PeerHub {
    /// At `name`, HOST:PORT; a `standby` sends nothing as long as the other one is active.
    pub fn open(name: &str, standby: bool, now_us: i64) -> Result<Self> {
        let peer = Peer::open("run: --twin", name)?;
        Ok(Self { failover: Failover::new(standby, now_us), peer, is_active: false })
    }

    /// A heartbeat came; whether this hub is to take over its identities.
    pub fn receive(&mut self, now_us: i64) -> bool {
        let follows = self.failover.receive(now_us);
        if self.failover.has_role_conflict() {
            say!("posewire-hub run: the other hub tells, too: exactly one of both needs --standby");
        }
        follows
    }

    /// Whether this hub is active now; if so, the other one gets its `heartbeat` from time to time.
    pub fn poll(&mut self, now_us: i64, heartbeat: impl FnOnce() -> Heartbeat) -> bool {
        let is_active = self.failover.is_active(now_us);
        if is_active != self.is_active {
            self.is_active = is_active;
            let what = if is_active { "tells from now on" } else { "listens: the other hub tells" };
            say!("posewire-hub run: this hub {what}");
        }
        if self.failover.heartbeat_due(now_us) {
            self.peer.send(heartbeat().text().as_bytes());
        }
        is_active
    }
}
