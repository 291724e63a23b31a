//! The wire's sender: poses, a heartbeat and an ear for the consumer, on a port that may stop or vanish at any time.
//!
//! * At most one moment is on its way; while the driver has no room for it, newer moments replace each other upstream and
//!   are counted here. Nothing waits for a reader that stopped but this sink's thread, and that for 20 ms at a time.
//! * What the line cannot carry is given up at the start by [`pose_wire::fits_baud`]'s rule, said in the log and in HELLO.
//! * A port that goes away is looked for again under the same lasting name, at first 4 times per second, then every 2 s.

mod consumer;
mod error;
mod heartbeat;
mod lasting;
mod line;
mod notices;
mod pace;
mod ports;
mod reader;
mod receive;
mod stall;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pose::PoseFrame;
use pose_wire::{
    Command, Decoder, Emission, Event, Packet, PlacePacket, PosePacket, Receipt, encode, scale_for,
};

use super::events::Zones;
use super::{Host, PoseSink, Predict, Sending, SinkError};
use crate::reason::{Chain, Reason};
use consumer::Consumer;
use line::{Line, Progress, Room};
use notices::Notices;
use pace::Pace;
use ports::port_at;
use stall::Stall;

pub use error::PortError;
pub use ports::{PortInfo, PortSpec, list_ports};
pub use reader::{Heard, Places, ReadCounters, Reader};
pub use receive::ReceivePort;

/// HELLO and STATUS each go out this often: a consumer that joins late waits a second at most.
const HEARTBEAT_US: i64 = 1_000_000;
/// A consumer that keeps asking is answered this often.
const HELLO_ON_REQUEST_US: i64 = 100_000;
/// A consumer may reset the tracker this often: each reset costs every person its memory.
const RESET_US: i64 = 1_000_000;
/// Bytes taken from the consumer a call: a flood waits in the kernel's buffer, which is bounded.
const READ_BYTES: usize = 256;

/// What to send where.
#[derive(Clone, Debug)]
pub struct SerialOptions {
    /// Port and rate.
    pub port: PortSpec,
    /// The moment that poses speak of.
    pub predict: Predict,
    /// Poses a second of each person, whatever the camera's rate; `None`: one for each frame.
    pub rate_hz: Option<f32>,
    /// What the source is expected to give until it says so, for the budget where `rate_hz` is `None`.
    pub nominal_fps: f32,
    /// Persons followed at most.
    pub max_persons: u8,
    /// Send the 3D block where there is one.
    pub with_3d: bool,
    /// Send where persons stand, where the lens is known.
    pub with_place: bool,
    /// Tell of what happens, with these zones.
    pub events: Option<Zones>,
}

/// What happened on the line so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SerialCounters {
    /// Moments handed to the driver, one under which the port went away included.
    pub moments_sent: u64,
    /// Moments left out because the line was stuck or gone, or, where every frame is to go, busy until the next one.
    pub moments_dropped: u64,
    /// Packets given to the driver.
    pub packets: u64,
    /// How often the port went away.
    pub losses: u64,
    /// What the consumer last said of itself.
    pub receipt: Option<Receipt>,
}

/// The sink of `--serial`.
pub struct Serial {
    name: String,
    options: SerialOptions,
    pace: Pace,
    line: Line,
    host: Arc<dyn Host>,
    decoder: Decoder,
    counters: SerialCounters,
    consumer: Consumer,
    /// Counts moments, dropped ones too, so that the consumer sees what it missed.
    seq: u32,
    persons: u8,
    /// The frame that waits until the line is free, where every frame is to go.
    waiting: Option<u64>,
    size_px: (u32, u32),
    /// The number of the newest frame.
    frame: u64,
    next_hello_at_us: i64,
    next_status_at_us: i64,
    last_hello_at_us: i64,
    last_reset_at_us: i64,
    stall: Stall,
    notices: Option<Notices>,
    /// What was last said of what does not fit; `None` before it is known.
    told: Option<String>,
}

impl Serial {
    /// Opens the port and settles what it can carry; a downgrade goes to the log.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where the port cannot be opened or cannot carry one pose of each person a second.
    pub fn open(options: SerialOptions, host: Arc<dyn Host>) -> Result<Self, SinkError> {
        let open =
            |port: &PortSpec| Line::open(port, Duration::ZERO).map_err(|e| SinkError::Fatal(Reason::of(e)));
        Self::on(open, options, host)
    }

    /// The same, but a port that cannot be opened is looked for as a lost one is: boards start before their adapters.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where the rate cannot carry one pose of each person a second.
    pub fn open_or_wait(options: SerialOptions, host: Arc<dyn Host>) -> Result<Self, SinkError> {
        let open = |port: &PortSpec| {
            Ok(Line::open(port, Duration::ZERO).unwrap_or_else(|why| {
                log::warn!("{}; waiting for it (--no-wait ends instead)", Chain(&why));
                Line::waited_for(port, Duration::ZERO, &why)
            }))
        };
        Self::on(open, options, host)
    }

    fn on(
        open: impl FnOnce(&PortSpec) -> Result<Line, SinkError>,
        options: SerialOptions,
        host: Arc<dyn Host>,
    ) -> Result<Self, SinkError> {
        let name = format!("serial {}@{}", options.port.path.display(), options.port.baud);
        let pace = Pace::new(&options).map_err(|e| SinkError::fatal(&name, Reason::of(e)))?;
        let line = open(&options.port)?;
        if let Some(hint) = port_at(&options.port.path).and_then(|port| port.hint()) {
            log::warn!("{name}: {hint}");
        }
        let is_rate_known = options.rate_hz.is_some();
        let mut serial = Self {
            name,
            pace,
            line,
            host,
            decoder: Decoder::new(),
            counters: SerialCounters::default(),
            consumer: Consumer::default(),
            seq: 0,
            persons: 0,
            waiting: None,
            size_px: (0, 0),
            frame: 0,
            next_hello_at_us: i64::MIN,
            next_status_at_us: i64::MIN,
            last_hello_at_us: i64::MIN / 2,
            last_reset_at_us: i64::MIN / 2,
            stall: Stall::default(),
            notices: options.events.clone().map(Notices::new),
            told: None,
            options,
        };
        if is_rate_known {
            serial.tell_what_fits();
        }
        Ok(serial)
    }

    /// What happened so far.
    pub fn counters(&self) -> SerialCounters {
        SerialCounters { receipt: self.consumer.newest(), ..self.counters }
    }

    /// Shares the line out by what the source gives, which it says with its first frame, and another camera again.
    fn follow_source(&mut self) {
        let source_hz = self.host.source_rate_hz().unwrap_or(self.options.nominal_fps);
        if self.told.is_some() && source_hz == self.options.nominal_fps {
            return;
        }
        self.options.nominal_fps = source_hz;
        if let Err(e) = self.pace.follow(&self.options) {
            // HELLO goes on saying the old rate.
            log::debug!("{}: the source gives {source_hz} Hz: {e}", self.name);
        }
        self.tell_what_fits();
    }

    fn tell_what_fits(&mut self) {
        let what = self.pace.told().unwrap_or_default();
        if !what.is_empty() && self.told.as_ref() != Some(&what) {
            log::warn!("{}: {what}", self.name);
        }
        self.told = Some(what);
    }

    /// Finds a lost port, hears the consumer, and moves on what is under way; says when a new batch can begin.
    fn attend(&mut self, now_us: i64) -> Result<Room, SinkError> {
        if !self.line.is_open() {
            if !self.line.reopen(now_us) {
                return Ok(Room::Unknown);
            }
            log::info!("{}: there again", self.name);
            self.decoder = Decoder::new();
            // Another consumer may be at the other end now: what the last one asked for is not what it wants.
            if let Ok(pace) = Pace::new(&self.options) {
                self.pace = pace;
            }
            (self.next_hello_at_us, self.next_status_at_us) = (now_us, now_us);
            self.stall = Stall::default();
        }
        self.hear(now_us)?;
        self.push(now_us)?;
        Ok(self.line.room(now_us))
    }

    fn push(&mut self, now_us: i64) -> Result<(), SinkError> {
        match self.line.push(now_us).map_err(|e| self.lost(e))? {
            Progress::Done => {
                if self.stall.moved() {
                    log::info!("{}: its reader reads again", self.name);
                }
            }
            Progress::Stuck => {
                if self.stall.stuck(now_us) {
                    log::warn!(
                        "{}: nobody reads at the other end; poses are dropped until somebody does",
                        self.name
                    );
                }
            }
        }
        Ok(())
    }

    fn hear(&mut self, now_us: i64) -> Result<(), SinkError> {
        let mut bytes = [0; READ_BYTES];
        let n = self.line.read(&mut bytes, now_us).map_err(|e| self.lost(e))?;
        for &byte in &bytes[..n] {
            match self.decoder.push(byte) {
                Some(Event::Packet(Packet::Command(command))) => self.obey(command, now_us),
                Some(Event::Packet(Packet::Receipt(receipt))) => {
                    if let Some(what) = self.consumer.hear(receipt) {
                        log::warn!("{}: {what}", self.name);
                    }
                }
                // Our own packets come back from a loop; damage is in the decoder's counters and goes out in STATUS.
                Some(Event::Packet(_) | Event::Dropped(_)) | None => {}
            }
        }
        Ok(())
    }

    fn obey(&mut self, command: Command, now_us: i64) {
        match command {
            Command::RequestHello => self.answer(now_us),
            Command::SetRate { rate_chz } => {
                let rate_hz = (rate_chz > 0).then(|| f32::from(rate_chz) / 100.0);
                if let Err(e) = self.pace.ask(&self.options, rate_hz) {
                    // HELLO goes on saying the old rate, which is the answer.
                    log::debug!("{}: the consumer asks for {rate_hz:?} Hz: {e}", self.name);
                }
                self.answer(now_us);
            }
            Command::Reset => {
                if now_us.saturating_sub(self.last_reset_at_us) >= RESET_US {
                    self.last_reset_at_us = now_us;
                    self.host.reset();
                }
            }
        }
    }

    /// HELLO goes out as soon as it may: one who asks without end gets no more of the line for it.
    fn answer(&mut self, now_us: i64) {
        let soonest = self.last_hello_at_us.saturating_add(HELLO_ON_REQUEST_US);
        self.next_hello_at_us = self.next_hello_at_us.min(soonest.max(now_us));
    }

    fn put(&mut self, packet: &Packet) {
        // The batch has room for every packet of a moment, and each is consistent by construction.
        match self.line.extend(|room| encode(packet, room)) {
            Ok(()) => self.counters.packets += 1,
            Err(e) => log::error!("{}: a packet could not be made: {e}", self.name),
        }
    }

    /// A moment does not go: the consumer sees by the next one's number that it missed it.
    fn leave_out(&mut self) {
        self.waiting = None;
        self.seq = self.seq.wrapping_add(1);
        self.counters.moments_dropped += 1;
    }

    fn lost(&mut self, error: PortError) -> SinkError {
        self.counters.losses += 1;
        SinkError::Retry(Reason::new("looking for it again", error))
    }
}

impl PoseSink for Serial {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_away(&self) -> bool {
        !self.line.is_open()
    }

    fn period(&self) -> Option<Duration> {
        self.pace.period(self.persons)
    }

    fn watch(&mut self, poses: &PoseFrame) {
        if let Some(notices) = &mut self.notices {
            notices.watch(poses);
        }
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        self.frame = poses.frame;
        if self.size_px != (poses.width, poses.height) {
            // Poses are drawn by what HELLO says: it goes before the first of this size.
            self.size_px = (poses.width, poses.height);
            self.next_hello_at_us = now_us;
        }
        self.persons = poses.persons.iter().flatten().count() as u8;
        self.follow_source();
        let room = self.attend(now_us);
        if self.waiting.is_some_and(|frame| frame != poses.frame) {
            self.leave_out();
        }
        if self.pace.is_too_soon(self.persons, now_us) {
            return room.map(|_| Sending::NotDue);
        }
        if let Ok(Room::At { us }) = room {
            // At a rate of their own, a newer moment in the place of one that waits is no loss.
            let is_missed = self.pace.rate_hz(self.persons).is_none();
            self.waiting = is_missed.then_some(poses.frame);
            return Ok(Sending::NotYet { until_us: us, is_missed });
        }
        self.pace.spend(self.persons, now_us);
        if !matches!(room, Ok(Room::Now)) {
            self.leave_out();
            return room.map(|_| Sending::LeftOut);
        }
        self.waiting = None;
        let seq = self.seq;
        self.seq = self.seq.wrapping_add(1);
        let scale =
            scale_for(poses.width, poses.height).map_err(|e| SinkError::fatal(&self.name, Reason::of(e)))?;
        self.line.begin();
        self.heartbeat(now_us);
        let at = Emission { seq, sent_at_us: now_us, persons: self.persons, scale };
        if self.persons == 0 {
            let valid_at_us = self.options.predict.valid_at_us(poses.captured_at_us, now_us);
            self.put(&Packet::Pose(PosePacket::nobody(poses.captured_at_us, valid_at_us, at)));
        }
        for (index, mut pose) in self.options.predict.poses(poses, now_us).enumerate() {
            if !self.pace.fit().stream.with_3d {
                pose.value.joints_3d_m = None;
            }
            // Before the pose, with the last of which a moment is whole.
            if let Some(place) = pose.value.place.filter(|_| self.options.with_place) {
                let place = PlacePacket::new(&place, pose.value.track_id, seq, pose.captured_at_us);
                self.put(&Packet::Place(place));
            }
            self.put(&Packet::Pose(PosePacket::new(&pose, index as u8, at)));
        }
        for _ in 0..notices::A_BATCH {
            let Some(notice) = self.notices.as_mut().and_then(Notices::next) else { break };
            self.put(&Packet::Notice(notice));
        }
        self.counters.moments_sent += 1;
        self.push(now_us)?;
        Ok(Sending::Sent)
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        if self.attend(now_us)? == Room::Now
            && (now_us >= self.next_hello_at_us || now_us >= self.next_status_at_us)
        {
            self.line.begin();
            self.heartbeat(now_us);
            self.push(now_us)?;
        }
        Ok(())
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        let deadline = Instant::now() + within;
        // The last moment goes out whole where the reader still reads. The line's own clock is of no use any more.
        while self.line.is_open() {
            match self.line.push(i64::MIN / 2) {
                Ok(Progress::Stuck) if Instant::now() < deadline => {}
                Ok(_) => break,
                // Nobody looks for it any more, and everything before it is sent.
                Err(e) => {
                    self.counters.losses += 1;
                    log::warn!("{}: {}", self.name, Chain(&e));
                }
            }
        }
        self.line.close();
        if self.waiting.is_some() {
            self.leave_out();
        }
        let SerialCounters { moments_sent, moments_dropped, losses, .. } = self.counters;
        log::info!(
            "{}: {moments_sent} moments sent, {moments_dropped} dropped, the port was lost {losses} times{}",
            self.name,
            self.consumer.told().map_or_else(String::new, |told| format!("; {told}")),
        );
        Ok(())
    }
}
