//! Bytes in, the newest moment and the answers out.

use pose_wire::{
    Assembly, Command, Decoder, Event, Fault, Hello, MAX_PACKET, Moment, Packet, PosePacket, QUIET_US,
    Receipt, SourceState, Status, encode,
};

use crate::Arrival;

/// Silence after which the link counts as lost. HELLO and STATUS come once a second each: two of both are missing then.
pub const LINK_LOST_AFTER_US: u64 = 2_500_000;
/// How often HELLO is asked for until it comes: often enough to start quickly, rare enough not to matter.
pub const REQUEST_EVERY_US: u64 = 500_000;

/// The receiving side: decodes, keeps the newest moment, knows whether the link is up and what to say to the host.
pub struct Receiver {
    decoder: Decoder,
    /// The moment whose persons are still arriving.
    assembly: Assembly,
    newest: Newest,
    /// The last byte, and the last POSE; microseconds of this board's clock, as all times here.
    byte_at_us: u64,
    pose_at_us: u64,
    hello: Option<Hello>,
    status: Status,
    /// The last valid packet.
    heard_at_us: Option<u64>,
    ask_at_us: u64,
    receipt: Receipt,
    receipt_due: bool,
}

/// The moment that counts, and whether anything came of it.
struct Newest {
    arrival: Option<Arrival>,
    is_used: bool,
    /// Moments that a newer one replaced before they were used; wraps.
    superseded: u32,
}

impl Newest {
    fn replace(&mut self, moment: &Moment, received_at_us: u64) {
        self.superseded = self.superseded.wrapping_add(u32::from(!self.is_used));
        self.arrival = Some(Arrival { moment: *moment, received_at_us });
        self.is_used = false;
    }

    /// Nobody is there until the next moment; what was not used then counts as replaced.
    fn forget(&mut self) {
        self.superseded = self.superseded.wrapping_add(u32::from(!self.is_used));
        (self.arrival, self.is_used) = (None, true);
    }
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
            assembly: Assembly::new(),
            newest: Newest { arrival: None, is_used: true, superseded: 0 },
            byte_at_us: 0,
            pose_at_us: 0,
            hello: None,
            status: Status::default(),
            heard_at_us: None,
            ask_at_us: 0,
            receipt: Receipt::default(),
            receipt_due: false,
        }
    }

    /// Takes one byte from the line.
    pub fn push(&mut self, byte: u8, now_us: u64) {
        self.byte_at_us = now_us;
        match self.decoder.push(byte) {
            None => {}
            Some(Event::Packet(packet)) => {
                if !self.is_linked(now_us) {
                    // The host may have changed meanwhile, and whoever was there may have gone.
                    self.hello = None;
                    self.status = Status::default();
                    self.assembly = Assembly::new();
                    self.newest.forget();
                    self.ask_at_us = now_us;
                }
                self.heard_at_us = Some(now_us);
                match packet {
                    Packet::Pose(pose) => self.take(&pose, now_us),
                    Packet::Hello(hello) => self.hello = Some(hello),
                    Packet::Status(status) => {
                        self.status = status;
                        if self.is_camera_lost() {
                            // Once it is back, nobody is shown where they were before.
                            self.assembly = Assembly::new();
                            self.newest.forget();
                        }
                    }
                    // Where somebody stands and what happened, which no screen here shows.
                    Packet::Place(_) | Packet::Notice(_) => {}
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
        self.assembly.push(packet, |moment| {
            // A moment that this packet ends without being part of it came with the one before.
            let received_at_us = if moment.is_whole() { now_us } else { self.pose_at_us };
            self.newest.replace(moment, received_at_us);
        });
        self.pose_at_us = now_us;
    }

    /// Gives up waiting for the rest of a moment where the line is silent: better some of its persons than none.
    fn give_up(&mut self, now_us: u64) {
        if now_us.saturating_sub(self.byte_at_us) > QUIET_US {
            self.assembly.flush(|moment| self.newest.replace(moment, self.pose_at_us));
        }
    }

    /// The newest moment, used or not.
    pub fn newest(&self) -> Option<&Arrival> {
        self.newest.arrival.as_ref()
    }

    /// Whether a moment came that [`Receiver::used`] has not been told of.
    pub fn has_new(&self) -> bool {
        !self.newest.is_used
    }

    /// The newest moment was used (drawn, acted on), which took `busy_us`: the host gets a RECEIPT.
    pub fn used(&mut self, busy_us: u32) {
        let Some(arrival) = &self.newest.arrival else { return };
        self.newest.is_used = true;
        self.receipt.seq = arrival.moment.seq;
        self.receipt.busy_us = busy_us;
        self.receipt_due = true;
    }

    /// Source image in pixels as HELLO said; VGA, which most cameras give, until it comes.
    pub fn image_px(&self) -> (u32, u32) {
        self.said_px().unwrap_or((640, 480))
    }

    /// The same where HELLO said it: before the host's first frame it knows no size.
    fn said_px(&self) -> Option<(u32, u32)> {
        let hello = self.hello.as_ref()?;
        let (width, height) = (u32::from(hello.width_px), u32::from(hello.height_px));
        (width > 0 && height > 0).then_some((width, height))
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

    /// Whether the host says that it has no camera, and shows its built-in clip.
    pub fn is_built_in(&self) -> bool {
        self.status.source == SourceState::BUILT_IN
    }

    /// What this board would tell the host now.
    pub fn receipt(&self) -> Receipt {
        let packets = self.decoder.counters().packets;
        Receipt { packets, superseded: self.newest.superseded, ..self.receipt }
    }

    /// The next frame to send, if there is one: its length in `to`, else 0. Ask until it says 0, at every turn of the main
    /// loop: this is also where the time passes for a moment whose last packet was lost.
    pub fn answer(&mut self, now_us: u64, to: &mut [u8; MAX_PACKET]) -> usize {
        self.give_up(now_us);
        let packet = if self.said_px().is_none() && now_us >= self.ask_at_us {
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

#[cfg(test)]
mod tests {
    use pose::{Pose, Stamped};
    use pose_wire::{Emission, SourceState};

    use super::*;

    const MS: u64 = 1_000;

    fn frame(packet: &Packet) -> ([u8; MAX_PACKET], usize) {
        let mut bytes = [0; MAX_PACKET];
        let n = encode(packet, &mut bytes).unwrap();
        (bytes, n)
    }

    fn send(receiver: &mut Receiver, packet: &Packet, now_us: u64) {
        let (bytes, n) = frame(packet);
        bytes[..n].iter().for_each(|byte| receiver.push(*byte, now_us));
    }

    fn hello() -> Packet {
        Packet::Hello(Hello { width_px: 1280, height_px: 720, ..Hello::default() })
    }

    fn pose(seq: u32, index: u8, persons: u8) -> Packet {
        let captured_at_us = i64::from(seq) * 33_333;
        let mut stamped = Stamped::<Pose> { captured_at_us, ..Stamped::default() };
        stamped.value.track_id = u32::from(index) + 1;
        Packet::Pose(PosePacket::new(&stamped, index, Emission { seq, sent_at_us: 0, persons, scale: 0 }))
    }

    fn answer(receiver: &mut Receiver, now_us: u64) -> Option<Packet> {
        let mut bytes = [0; MAX_PACKET];
        let n = receiver.answer(now_us, &mut bytes);
        let mut decoder = Decoder::new();
        bytes[..n].iter().find_map(|byte| match decoder.push(*byte) {
            Some(Event::Packet(packet)) => Some(packet),
            _ => None,
        })
    }

    #[test]
    fn hello_is_asked_for_every_half_second_until_it_comes_and_again_after_a_silence() {
        let mut receiver = Receiver::new();
        let asked = |receiver: &mut Receiver, from: u64, to: u64| {
            (from..to).filter(|ms| answer(receiver, ms * MS).is_some()).collect::<heapless::Vec<u64, 8>>()
        };
        assert_eq!(asked(&mut receiver, 0, 1_400), [0, 500, 1_000]);
        // A host that has seen no frame yet knows no size.
        send(&mut receiver, &Packet::Hello(Hello::default()), 1_300 * MS);
        send(&mut receiver, &hello(), 1_400 * MS);
        assert!(asked(&mut receiver, 1_400, 3_900).is_empty());
        assert!(!receiver.is_linked(3_900 * MS));
        send(&mut receiver, &Packet::Status(Status::default()), 5_000 * MS);
        assert_eq!(asked(&mut receiver, 5_000, 5_600), [5_000, 5_500]);
    }

    #[test]
    fn hello_is_asked_for_until_it_says_a_size() {
        let mut receiver = Receiver::new();
        send(&mut receiver, &Packet::Hello(Hello::default()), 0);
        assert_eq!(receiver.image_px(), (640, 480));
        assert_eq!(answer(&mut receiver, 0), Some(Packet::Command(Command::RequestHello)));
        send(&mut receiver, &hello(), 10 * MS);
        assert_eq!((receiver.image_px(), answer(&mut receiver, 600 * MS)), ((1280, 720), None));
    }

    #[test]
    fn who_was_there_before_a_silence_or_a_lost_camera_is_not_shown_after_it() {
        let mut receiver = Receiver::new();
        send(&mut receiver, &pose(1, 0, 1), 0);
        send(&mut receiver, &pose(2, 0, 2), 0);
        send(&mut receiver, &hello(), LINK_LOST_AFTER_US);
        assert!(receiver.newest().is_none() && !receiver.has_new());
        // The rest of the moment that the silence cut through completes nothing.
        send(&mut receiver, &pose(2, 1, 2), LINK_LOST_AFTER_US);
        assert!(receiver.newest().is_none());
        send(&mut receiver, &pose(3, 0, 1), LINK_LOST_AFTER_US);
        assert!(receiver.has_new());
        let of = |source| Packet::Status(Status { source, ..Status::default() });
        send(&mut receiver, &of(SourceState::LOST), LINK_LOST_AFTER_US);
        send(&mut receiver, &of(SourceState::RUNNING), LINK_LOST_AFTER_US);
        assert!(!receiver.is_camera_lost() && receiver.newest().is_none());
    }

    #[test]
    fn the_newest_whole_moment_wins_and_what_it_replaced_is_counted() {
        let mut receiver = Receiver::new();
        send(&mut receiver, &pose(1, 0, 2), 0);
        assert!(receiver.newest().is_none(), "its second person is still to come");
        send(&mut receiver, &pose(1, 1, 2), 0);
        assert_eq!((receiver.newest().unwrap().moment.seq, receiver.has_new()), (1, true));
        send(&mut receiver, &pose(2, 0, 1), 0);
        assert_eq!((receiver.newest().unwrap().moment.seq, receiver.receipt().superseded), (2, 1));
        receiver.used(7);
        send(&mut receiver, &pose(3, 0, 1), 0);
        assert_eq!(receiver.receipt().superseded, 1, "what was used was not lost");
        assert_eq!(receiver.receipt().busy_us, 7);
    }

    #[test]
    fn a_person_lost_on_the_way_does_not_take_the_others_along() {
        let mut receiver = Receiver::new();
        send(&mut receiver, &pose(1, 0, 3), 0);
        send(&mut receiver, &pose(1, 2, 3), 0);
        send(&mut receiver, &pose(2, 0, 3), 0);
        let ids: heapless::Vec<u32, 4> =
            receiver.newest().unwrap().moment.persons().map(|p| p.track_id).collect();
        assert_eq!((receiver.newest().unwrap().moment.seq, &ids[..]), (1, &[1, 3][..]));
    }

    #[test]
    fn a_moment_whose_last_packet_is_lost_is_shown_when_the_line_is_silent() {
        let mut receiver = Receiver::new();
        send(&mut receiver, &Packet::Hello(Hello::default()), 0);
        send(&mut receiver, &pose(1, 0, 2), 5 * MS);
        answer(&mut receiver, 55 * MS);
        assert!(receiver.newest().is_none());
        answer(&mut receiver, 56 * MS);
        assert_eq!(receiver.newest().unwrap().received_at_us, 5 * MS);
        send(&mut receiver, &pose(1, 1, 2), 60 * MS);
        assert_eq!(receiver.newest().unwrap().moment.persons().count(), 1, "what was given is given");
    }

    #[test]
    fn a_doubled_packet_completes_nothing() {
        let mut receiver = Receiver::new();
        send(&mut receiver, &pose(1, 0, 2), 0);
        send(&mut receiver, &pose(1, 0, 2), 0);
        assert!(receiver.newest().is_none());
        send(&mut receiver, &pose(1, 1, 2), 0);
        send(&mut receiver, &pose(1, 1, 2), 0);
        assert_eq!((receiver.newest().unwrap().moment.seq, receiver.receipt().superseded), (1, 0));
    }

    #[test]
    fn an_overrun_costs_the_frame_it_is_in_and_is_told() {
        let mut receiver = Receiver::new();
        let (bytes, n) = frame(&pose(1, 0, 1));
        bytes[..60].iter().for_each(|byte| receiver.push(*byte, 0));
        receiver.overrun(3);
        bytes[70..n].iter().for_each(|byte| receiver.push(*byte, 0));
        assert!(receiver.newest().is_none());
        assert_eq!((receiver.receipt().overruns, receiver.receipt().crc_errors), (3, 0));
        send(&mut receiver, &pose(2, 0, 1), 0);
        assert_eq!(receiver.newest().unwrap().moment.seq, 2);
    }

    #[test]
    fn a_million_random_bytes_make_no_pose_and_are_counted() {
        let mut receiver = Receiver::new();
        let mut state = 1u32;
        for _ in 0..1_000_000 {
            // Numerical Recipes' generator; its high bits are good enough for noise.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            receiver.push((state >> 24) as u8, 0);
        }
        let told = receiver.receipt();
        assert!(receiver.newest().is_none());
        assert_eq!(told.packets, 0);
        assert!(told.crc_errors + told.framing_errors + told.overfull > 3_000, "{told:?}");
        receiver.push(0, 0);
        send(&mut receiver, &pose(9, 0, 1), 0);
        assert_eq!(receiver.newest().unwrap().moment.seq, 9);
    }

    #[test]
    fn ages_grow_here_and_a_lost_camera_is_known() {
        let mut receiver = Receiver::new();
        let at = Emission { seq: 1, sent_at_us: 20_000, persons: 1, scale: 0 };
        send(&mut receiver, &Packet::Pose(PosePacket::new(&Stamped::<Pose>::default(), 0, at)), 5 * MS);
        assert_eq!(receiver.newest().unwrap().age_ms(12 * MS), 27);
        send(
            &mut receiver,
            &Packet::Status(Status { source: SourceState::LOST, ..Status::default() }),
            6 * MS,
        );
        assert!(receiver.is_camera_lost());
    }
}
