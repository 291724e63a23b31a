//! What the tracker knows of itself: times by stage, counts, health. Fixed memory, no locks, nothing allocated.

pub mod alloc;
pub mod board;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

pub use timing::{Histogram, Summary};

/// What is timed. A frame passes the stages in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// From the start of exposure to the moment that `infer` takes the frame: camera, driver and slot.
    Waited = 0,
    /// Decoding the picture, cropping persons and resizing them into the networks' inputs.
    Pixels,
    /// Running the networks: finder and keypoints.
    Network,
    /// Reading joints and boxes out of the networks' outputs.
    Decode,
    /// Who is who.
    Track,
    /// Filtering and forecasting.
    Temporal,
    /// Handing the poses to the sinks' threads.
    HandOver,
    /// One sink's work: packing, writing.
    Send,
    /// Everything of a frame but the networks, decode to written, and but the wait for a sink's own beat.
    Overhead,
    /// From the start of exposure to written.
    CaptureToSent,
}

impl Stage {
    /// Every stage, in order: `ALL[s as usize] == s`.
    pub const ALL: [Stage; 10] = [
        Stage::Waited,
        Stage::Pixels,
        Stage::Network,
        Stage::Decode,
        Stage::Track,
        Stage::Temporal,
        Stage::HandOver,
        Stage::Send,
        Stage::Overhead,
        Stage::CaptureToSent,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Waited => "waited",
            Stage::Pixels => "pixels",
            Stage::Network => "network",
            Stage::Decode => "decode",
            Stage::Track => "track",
            Stage::Temporal => "temporal",
            Stage::HandOver => "hand_over",
            Stage::Send => "send",
            Stage::Overhead => "overhead",
            Stage::CaptureToSent => "capture_to_sent",
        }
    }
}

/// What is counted, since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Frames that the source gave.
    Captured = 0,
    /// Frames that the source says never arrived (gaps in its numbers).
    Missed,
    /// Frames that a newer one replaced before `infer` took them.
    Displaced,
    /// Frames that went through the networks.
    Processed,
    /// Frames that could not be decoded or run, and were skipped.
    Bad,
    /// Times the source was lost.
    Losses,
    /// Poses handed to sinks and sent.
    Sent,
    /// Poses that a newer one replaced before their sink took them, or that it could not send.
    Unsent,
    /// Errors of sinks.
    SinkErrors,
}

impl Count {
    /// Every count, in order: `ALL[c as usize] == c`.
    pub const ALL: [Count; 9] = [
        Count::Captured,
        Count::Missed,
        Count::Displaced,
        Count::Processed,
        Count::Bad,
        Count::Losses,
        Count::Sent,
        Count::Unsent,
        Count::SinkErrors,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Count::Captured => "captured",
            Count::Missed => "missed",
            Count::Displaced => "displaced",
            Count::Processed => "processed",
            Count::Bad => "bad",
            Count::Losses => "losses",
            Count::Sent => "sent",
            Count::Unsent => "unsent",
            Count::SinkErrors => "sink_errors",
        }
    }
}

/// What gives frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceKind {
    /// A recording or pictures.
    #[default]
    File,
    /// A camera, there or looked for.
    Camera,
    /// The built-in clip, which shows nobody who is there.
    BuiltIn,
}

/// The health of the tracker now: what STATUS packets and the health line say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Processed frames per second over the last interval.
    pub fps: f32,
    /// Median age of the poses when they were sent, over the last interval, microseconds; `None` where none were.
    pub age_us: Option<i64>,
    /// Whether frames are coming.
    pub source_up: bool,
    /// What gives them.
    pub source_kind: SourceKind,
    /// [`Count`]s since the start, by `Count as usize`.
    pub counts: [u64; Count::ALL.len()],
    /// The processor's hottest sensor, degrees Celsius, where the board has one.
    pub temperature_c: Option<f32>,
    /// Whether the board slows itself down, where it tells.
    pub throttled: Option<bool>,
}

impl Health {
    /// One count.
    pub fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }
}

/// The health line: one line, read by people and `journalctl`.
impl std::fmt::Display for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} fps", self.fps)?;
        if let Some(age_us) = self.age_us {
            write!(f, ", age {:.0} ms", age_us as f32 / 1e3)?;
        }
        f.write_str(match (self.source_up, self.source_kind) {
            (false, _) if self.count(Count::Captured) == 0 => ", waiting for the source",
            (false, _) => ", source lost",
            (true, SourceKind::BuiltIn) => ", built-in clip, not a camera",
            (true, _) => "",
        })?;
        for count in
            [Count::Displaced, Count::Missed, Count::Bad, Count::Losses, Count::Unsent, Count::SinkErrors]
        {
            if self.count(count) > 0 {
                write!(f, ", {} {}", count.name(), self.count(count))?;
            }
        }
        if let Some(celsius) = self.temperature_c {
            write!(f, ", {celsius:.0} °C")?;
        }
        if self.throttled == Some(true) {
            write!(f, ", throttled")?;
        }
        Ok(())
    }
}

/// What runs the networks, said once when they are loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCard {
    /// Engine and kernels: `int8 avx512-vnni`.
    pub engine: String,
    /// SHA-256 of the keypoint model.
    pub model_sha256: [u8; 32],
    /// Persons followed at most.
    pub max_persons: usize,
}

/// Shared by all threads of one pipeline.
#[derive(Debug)]
pub struct Telemetry {
    stages: [Histogram; Stage::ALL.len()],
    counts: [AtomicU64; Count::ALL.len()],
    network_us: AtomicI64,
    own_allocations: AtomicU64,
    engine_allocations: AtomicU64,
    source_up: AtomicBool,
    source_kind: AtomicU8,
    source_rate_bits: AtomicU32,
    first_of_camera: AtomicU64,
    reset_requested: AtomicBool,
    engine: OnceLock<EngineCard>,
    started: std::time::Instant,
    // The last interval's readings, written by the supervisor alone.
    interval_ages: Histogram,
    fps_bits: AtomicU32,
    age_us: AtomicI64,
    temperature_bits: AtomicU32,
    throttled: AtomicU32,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            stages: Default::default(),
            counts: Default::default(),
            network_us: AtomicI64::new(0),
            own_allocations: AtomicU64::new(0),
            engine_allocations: AtomicU64::new(0),
            source_up: AtomicBool::new(false),
            source_kind: AtomicU8::new(SourceKind::File as u8),
            source_rate_bits: AtomicU32::new(0),
            first_of_camera: AtomicU64::new(0),
            reset_requested: AtomicBool::new(false),
            engine: OnceLock::new(),
            started: std::time::Instant::now(),
            interval_ages: Histogram::default(),
            fps_bits: AtomicU32::new(0),
            age_us: AtomicI64::new(NOTHING_SENT),
            temperature_bits: AtomicU32::new(f32::NAN.to_bits()),
            throttled: AtomicU32::new(UNKNOWN),
        }
    }
}

const UNKNOWN: u32 = 2;
const NOTHING_SENT: i64 = -1;

impl Telemetry {
    /// Notes that `stage` took `us` microseconds; a negative time (a driver that stamps the future) counts as 0.
    pub fn time_us(&self, stage: Stage, us: i64) {
        self.time_ns(stage, us.max(0) as u64 * 1_000);
    }

    fn time_ns(&self, stage: Stage, ns: u64) {
        self.stages[stage as usize].record(ns);
        match stage {
            Stage::CaptureToSent => self.interval_ages.record(ns),
            Stage::Network => {
                self.network_us.fetch_add((ns / 1_000) as i64, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// All the time that networks ran since the start: what a frame's overhead leaves out.
    pub fn network_us(&self) -> i64 {
        self.network_us.load(Ordering::Relaxed)
    }

    /// Adds `n` to a count.
    pub fn add(&self, count: Count, n: u64) {
        self.counts[count as usize].fetch_add(n, Ordering::Relaxed);
    }

    /// A count since the start.
    pub fn count(&self, count: Count) -> u64 {
        self.counts[count as usize].load(Ordering::Relaxed)
    }

    /// The times of a stage since the start or [`Self::reset_times`].
    pub fn times(&self, stage: Stage) -> Summary {
        self.stages[stage as usize].summary()
    }

    /// Forgets times and allocations (the warm-up's); counts go on.
    pub fn reset_times(&self) {
        self.stages.iter().for_each(Histogram::reset);
        self.own_allocations.store(0, Ordering::Relaxed);
        self.engine_allocations.store(0, Ordering::Relaxed);
    }

    /// Adds what a thread allocated for one frame.
    pub fn add_allocations(&self, made: alloc::Allocations) {
        self.own_allocations.fetch_add(made.own, Ordering::Relaxed);
        self.engine_allocations.fetch_add(made.engine, Ordering::Relaxed);
    }

    /// Allocations of the pipeline's threads since [`Self::reset_times`]; `None` in a program that does not count them.
    pub fn allocations(&self) -> Option<alloc::Allocations> {
        alloc::is_counting().then(|| alloc::Allocations {
            own: self.own_allocations.load(Ordering::Relaxed),
            engine: self.engine_allocations.load(Ordering::Relaxed),
        })
    }

    /// Says whether frames are coming.
    pub fn set_source_up(&self, up: bool) {
        self.source_up.store(up, Ordering::Relaxed);
    }

    /// Since the pipeline was made.
    pub fn uptime(&self) -> std::time::Duration {
        self.started.elapsed()
    }

    /// Whether frames are coming.
    pub fn is_source_up(&self) -> bool {
        self.source_up.load(Ordering::Relaxed)
    }

    /// Says what the source is.
    pub fn set_source_kind(&self, kind: SourceKind) {
        self.source_kind.store(kind as u8, Ordering::Release);
    }

    /// Says how many frames a second the source gives by its own words; 0 where it has none.
    pub fn set_source_rate_hz(&self, rate_hz: f32) {
        self.source_rate_bits.store(rate_hz.to_bits(), Ordering::Relaxed);
    }

    /// How many frames a second the source gives by its own words; `None` before the first frame, and where it has none.
    pub fn source_rate_hz(&self) -> Option<f32> {
        let rate_hz = f32::from_bits(self.source_rate_bits.load(Ordering::Relaxed));
        Some(rate_hz).filter(|hz| hz.is_finite() && *hz > 0.0)
    }

    /// Says that the built-in clip gives way to a camera with the frame of this number.
    pub fn give_way(&self, first_of_camera: u64) {
        self.first_of_camera.store(first_of_camera, Ordering::Relaxed);
        self.set_source_kind(SourceKind::Camera);
    }

    /// What the source is.
    pub fn source_kind(&self) -> SourceKind {
        let kind = self.source_kind.load(Ordering::Acquire);
        [SourceKind::Camera, SourceKind::BuiltIn].into_iter().find(|k| *k as u8 == kind).unwrap_or_default()
    }

    /// What gave the frame of this number: those of the clip are on their way still when its camera's first is there.
    pub fn source_kind_of(&self, frame: u64) -> SourceKind {
        match self.source_kind() {
            SourceKind::Camera if frame < self.first_of_camera.load(Ordering::Relaxed) => SourceKind::BuiltIn,
            kind => kind,
        }
    }

    /// Asks `infer` to forget identities and memories before the next frame.
    pub fn request_reset(&self) {
        self.reset_requested.store(true, Ordering::Release);
    }

    /// Whether that was asked since the last call.
    pub fn take_reset(&self) -> bool {
        self.reset_requested.swap(false, Ordering::AcqRel)
    }

    /// Says what runs the networks; only the first card counts.
    pub fn set_engine(&self, card: EngineCard) {
        let _ = self.engine.set(card);
    }

    /// What runs the networks, once they are loaded.
    pub fn engine(&self) -> Option<&EngineCard> {
        self.engine.get()
    }

    /// Closes an interval of `seconds` in which `processed` frames were processed: [`Self::health`] reports it from now on.
    pub fn close_interval(&self, processed: u64, seconds: f32, board: board::Readings) {
        let fps = if seconds > 0.0 { processed as f32 / seconds } else { 0.0 };
        self.fps_bits.store(fps.to_bits(), Ordering::Relaxed);
        let ages = self.interval_ages.summary();
        let age_us = if ages.count > 0 { (ages.p50_ns / 1_000) as i64 } else { NOTHING_SENT };
        self.age_us.store(age_us, Ordering::Relaxed);
        self.interval_ages.reset();
        self.temperature_bits.store(board.temperature_c.unwrap_or(f32::NAN).to_bits(), Ordering::Relaxed);
        self.throttled.store(board.throttled.map_or(UNKNOWN, u32::from), Ordering::Relaxed);
    }

    /// Health as of the last closed interval; counts as of now.
    pub fn health(&self) -> Health {
        let temperature_c = f32::from_bits(self.temperature_bits.load(Ordering::Relaxed));
        let throttled = self.throttled.load(Ordering::Relaxed);
        Health {
            fps: f32::from_bits(self.fps_bits.load(Ordering::Relaxed)),
            age_us: Some(self.age_us.load(Ordering::Relaxed)).filter(|us| *us != NOTHING_SENT),
            source_up: self.is_source_up(),
            source_kind: self.source_kind(),
            counts: Count::ALL.map(|c| self.count(c)),
            temperature_c: (!temperature_c.is_nan()).then_some(temperature_c),
            throttled: (throttled != UNKNOWN).then_some(throttled == 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_and_counts_stand_at_their_own_index() {
        for (i, s) in Stage::ALL.iter().enumerate() {
            assert_eq!(*s as usize, i);
        }
        for (i, c) in Count::ALL.iter().enumerate() {
            assert_eq!(*c as usize, i);
        }
    }

    #[test]
    fn health_tells_of_the_last_interval_and_of_all_counts() {
        let telemetry = Telemetry::default();
        assert_eq!(telemetry.health().temperature_c, None);
        assert_eq!(telemetry.health().to_string(), "0.0 fps, waiting for the source");
        telemetry.add(Count::Captured, 60);
        assert_eq!(telemetry.health().to_string(), "0.0 fps, source lost");
        telemetry.add(Count::Processed, 60);
        telemetry.time_us(Stage::CaptureToSent, 40_000);
        telemetry.time_us(Stage::CaptureToSent, -3);
        telemetry.time_us(Stage::CaptureToSent, 50_000);
        telemetry.set_source_up(true);
        let board = board::Readings { temperature_c: Some(55.5), throttled: Some(false) };
        telemetry.close_interval(60, 2.0, board);
        let health = telemetry.health();
        assert_eq!((health.fps, health.source_up, health.count(Count::Processed)), (30.0, true, 60));
        assert!(health.age_us.is_some_and(|us| (38_000..=42_000).contains(&us)), "{:?}", health.age_us);
        assert_eq!((health.temperature_c, health.throttled), (Some(55.5), Some(false)));
        telemetry.close_interval(60, 2.0, board);
        assert_eq!(telemetry.health().to_string(), "30.0 fps, 56 °C", "nothing was sent");
    }

    #[test]
    fn frames_of_the_clip_stay_its_own_when_the_camera_has_come() {
        let telemetry = Telemetry::default();
        telemetry.set_source_kind(SourceKind::BuiltIn);
        assert_eq!(telemetry.source_kind_of(9), SourceKind::BuiltIn);
        telemetry.give_way(7);
        assert_eq!(
            [6, 7].map(|frame| telemetry.source_kind_of(frame)),
            [SourceKind::BuiltIn, SourceKind::Camera]
        );
        assert_eq!(telemetry.source_kind(), SourceKind::Camera);
    }
}
