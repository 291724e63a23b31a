//! Bytes in, the newest moment and the answers out.

use pose_wire::{
    Command, Decoder, Event, Fault, Hello, MAX_PACKET, Packet, PosePacket, Receipt, SourceState, Status,
    encode,
};

use crate::Moment;

/// Silence after which the link counts as lost. HELLO and STATUS come once a second each: two of both are missing then.
pub const LINK_LOST_AFTER_US: u64 = 2_500_000;
/// How often HELLO is asked for until it comes: often enough to start quickly, rare enough not to matter.
pub const REQUEST_EVERY_US: u64 = 500_000;

/// The receiving side: decodes, keeps the newest moment, knows whether the link is up and what to say to the host.
pub struct Receiver {
    decoder: Decoder,
    newest: Option<Moment>,
    /// The moment whose persons are still arriving.
    pending: Option<Moment>,
    hello: Option<Hello>,
    status: Status,
    /// The last valid packet, microseconds of this board's clock.
    heard_at_us: Option<u64>,
    ask_at_us: u64,
    receipt: Receipt,
    receipt_due: bool,
    newest_used: bool,
}

impl Default for Receiver {
    fn default() -> Self {
        Self::new()
    }
}

impl Receiver {
    /// Nothing heard yet; HELLO is asked for at once.
    pub fn new() -> Self {
        Self {
            decoder: Decoder::new(),
            newest: None,
            pending: None,
            hello: None,
            status: Status::default(),
            heard_at_us: None,
            ask_at_us: 0,
            receipt: Receipt::default(),
            receipt_due: false,
            newest_used: true,
        }
    }

    /// Takes one byte from the line.
    pub fn push(&mut self, byte: u8, now_us: u64) {
        match self.decoder.push(byte) {
            None => {}
            Some(Event::Packet(packet)) => {
                if !self.is_linked(now_us) {
                    // The host may have changed meanwhile.
                    self.hello = None;
                    self.ask_at_us = now_us;
                }
                self.heard_at_us = Some(now_us);
                match packet {
                    Packet::Pose(pose) => self.take(&pose, now_us),
                    Packet::Hello(hello) => self.hello = Some(hello),
                    Packet::Status(status) => self.status = status,
                    // What a consumer says: the line is looped back.
                    Packet::Command(_) | Packet::Receipt(_) => {}
                }
            }
            Some(Event::Dropped(fault)) => {
                let counter = match fault {
                    Fault::Overfull => &mut self.receipt.overfull,
                    Fault::Crc => &mut self.receipt.crc_errors,
                    Fault::Framing | Fault::Malformed(_) => &mut self.receipt.framing_errors,
                    Fault::Version(_) | Fault::UnknownType(_) => &mut self.receipt.skipped,
                };
                *counter = counter.wrapping_add(1);
            }
        }
    }

    /// The UART lost `bytes` (at least): the frame that they belonged to is given up.
    pub fn overrun(&mut self, bytes: u32) {
        self.receipt.overruns = self.receipt.overruns.wrapping_add(bytes);
        self.decoder.desync();
    }

    fn take(&mut self, packet: &PosePacket, now_us: u64) {
        if let Some(old) = self.pending.take_if(|m| m.seq != packet.seq) {
            // A packet of the old moment was lost: better some of its persons than none.
            self.publish(old);
        }
        let pending = self.pending.get_or_insert_with(|| Moment::new(packet, now_us));
        pending.insert(packet, now_us);
        if let Some(whole) = self.pending.take_if(|m| m.is_complete()) {
            self.publish(whole);
        }
    }

    fn publish(&mut self, moment: Moment) {
        if !self.newest_used {
            self.receipt.superseded = self.receipt.superseded.wrapping_add(1);
        }
        self.newest = Some(moment);
        self.newest_used = false;
    }

    /// The newest moment, used or not.
    pub fn newest(&self) -> Option<&Moment> {
        self.newest.as_ref()
    }

    /// Whether a moment came that [`Receiver::used`] has not been told of.
    pub fn has_new(&self) -> bool {
        !self.newest_used
    }

    /// The newest moment was used (drawn, acted on), which took `busy_us`: the host gets a RECEIPT.
    pub fn used(&mut self, busy_us: u32) {
        let Some(newest) = &self.newest else { return };
        self.newest_used = true;
        self.receipt.seq = newest.seq;
        self.receipt.busy_us = busy_us;
        self.receipt_due = true;
    }

    /// Source image in pixels as HELLO said; VGA, which most cameras give, until it comes.
    pub fn image_px(&self) -> (u32, u32) {
        match &self.hello {
            Some(h) if h.width_px > 0 && h.height_px > 0 => (u32::from(h.width_px), u32::from(h.height_px)),
            _ => (640, 480),
        }
    }

    /// Whether anything was heard lately.
    pub fn is_linked(&self, now_us: u64) -> bool {
        self.heard_at_us.is_some_and(|at| now_us.saturating_sub(at) < LINK_LOST_AFTER_US)
    }

    /// How long nothing was heard, microseconds; `None` where nothing ever was.
    pub fn silent_us(&self, now_us: u64) -> Option<u64> {
        self.heard_at_us.map(|at| now_us.saturating_sub(at))
    }

    /// Whether the host says that its camera is gone.
    pub fn is_camera_lost(&self) -> bool {
        self.status.source == SourceState::LOST
    }

    /// What this board would tell the host now.
    pub fn receipt(&self) -> Receipt {
        Receipt { packets: self.decoder.counters().packets, ..self.receipt }
    }

    /// The next frame to send, if there is one: its length in `to`, else 0. Ask until it says 0.
    pub fn answer(&mut self, now_us: u64, to: &mut [u8; MAX_PACKET]) -> usize {
        let packet = if self.hello.is_none() && now_us >= self.ask_at_us {
            self.ask_at_us = now_us + REQUEST_EVERY_US;
            Packet::Command(Command::RequestHello)
        } else if core::mem::take(&mut self.receipt_due) {
            Packet::Receipt(self.receipt())
        } else {
            return 0;
        };
        // Commands and receipts always fit.
        encode(&packet, to).unwrap_or(0)
    }
}
