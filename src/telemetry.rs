//! What the tracker measures of itself: times by stage, counts, readings. Fixed memory, no locks, nothing allocated.

pub mod alloc;
pub mod board;

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

pub use timing::{Histogram, Summary};

/// What is timed. A frame passes the stages in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// From the capture time to the moment that `infer` takes the frame: camera, driver and slot.
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
    /// From the capture time to written.
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

/// What was read over the last second or so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Processed frames per second.
    pub fps: f32,
    /// Median age of the poses when they were sent, microseconds; `None` where none were.
    pub age_us: Option<i64>,
    /// Of the board, at its end.
    pub board: board::Readings,
}

/// Shared by all threads of one pipeline.
#[derive(Debug)]
pub struct Telemetry {
    stages: [Histogram; Stage::ALL.len()],
    counts: [AtomicU64; Count::ALL.len()],
    network_us: AtomicI64,
    own_allocations: AtomicU64,
    engine_allocations: AtomicU64,
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

    /// Since the pipeline was made.
    pub fn uptime(&self) -> std::time::Duration {
        self.started.elapsed()
    }

    /// Closes an interval of `seconds` in which `processed` frames were processed: it is [`Self::last_interval`] from now on.
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

    /// The last one that was closed.
    pub fn last_interval(&self) -> Interval {
        let temperature_c = f32::from_bits(self.temperature_bits.load(Ordering::Relaxed));
        let throttled = self.throttled.load(Ordering::Relaxed);
        Interval {
            fps: f32::from_bits(self.fps_bits.load(Ordering::Relaxed)),
            age_us: Some(self.age_us.load(Ordering::Relaxed)).filter(|us| *us != NOTHING_SENT),
            board: board::Readings {
                temperature_c: (!temperature_c.is_nan()).then_some(temperature_c),
                throttled: (throttled != UNKNOWN).then_some(throttled == 1),
            },
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
    fn an_interval_is_that_of_its_own_time() {
        let telemetry = Telemetry::default();
        assert_eq!(telemetry.last_interval(), Interval::default());
        for age_us in [40_000, -3, 50_000] {
            telemetry.time_us(Stage::CaptureToSent, age_us);
        }
        let board = board::Readings { temperature_c: Some(55.5), throttled: Some(false) };
        telemetry.close_interval(60, 2.0, board);
        let Interval { fps, age_us, board: read } = telemetry.last_interval();
        assert_eq!((fps, read), (30.0, board));
        assert!(age_us.is_some_and(|us| (38_000..=42_000).contains(&us)), "{age_us:?}");
        telemetry.close_interval(60, 2.0, board);
        assert_eq!(telemetry.last_interval().age_us, None, "nothing was sent");
    }
}
