//! The other hub of this room.

use anyhow::Result;
use posewire_hub::twin::{Beat, Twin};

use super::peer::Peer;

/// The other hub of this room, and what this one said last.
pub struct Other {
    twin: Twin,
    peer: Peer,
    tells: bool,
}

impl Other {
    /// At `name`, HOST:PORT; a `standby` says nothing as long as the other one tells.
    pub fn find(name: &str, standby: bool, now_us: i64) -> Result<Self> {
        let peer = Peer::open("run: --twin", name)?;
        Ok(Self { twin: Twin::new(standby, now_us), peer, tells: false })
    }

    /// The other one told; whether this one is to go on as it says.
    pub fn hear(&mut self, now_us: i64) -> bool {
        let follows = self.twin.hear(now_us);
        if self.twin.is_wrong() {
            say!("posewire-hub run: the other hub tells, too: exactly one of both needs --standby");
        }
        follows
    }

    /// Whether this hub tells now; if so, the other one gets its `beat` from time to time.
    pub fn look(&mut self, now_us: i64, beat: impl FnOnce() -> Beat) -> bool {
        let tells = self.twin.tells(now_us);
        if tells != self.tells {
            self.tells = tells;
            let what = if tells { "tells from now on" } else { "listens: the other hub tells" };
            say!("posewire-hub run: this hub {what}");
        }
        if self.twin.beats(now_us) {
            self.peer.send(beat().text().as_bytes());
        }
        tells
    }
}
