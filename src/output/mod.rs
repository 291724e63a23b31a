//! Where poses go: serial wire, JSON lines, datagrams, OSC, MQTT, MCAP, Foxglove, displays, films, the web preview and the viewer.
//!
//! Every consumer is a [`PoseSink`] with a thread of its own behind a newest-wins slot. A sink keeps nothing waiting:
//! what it cannot deliver in time is gone, and the next call brings something newer.

pub mod display;
pub mod events;
#[cfg(feature = "foxglove")]
pub mod foxglove;
pub mod jsonl;
mod lines;
pub mod mcap;
pub mod mqtt;
pub mod osc;
pub mod serial;
pub mod udp;
pub mod video;
pub mod web;

use std::fmt;
use std::time::Duration;

pub use lines::Existing;

#[cfg(doc)]
use pose::Forecast;
use pose::{Pose, PoseFrame, Stamped};

use crate::files::{EARLIER_KEPT, Replacement};
use crate::reason::Reason;

/// Says where the file went that stood in the place of one that is whole now.
fn tell_of_earlier(name: &str, file: &Replacement) {
    if let Some(earlier) = file.earlier() {
        log::info!(
            "{name}: the earlier one is kept as {}; {EARLIER_KEPT} such stay, the oldest goes",
            earlier.display()
        );
    }
}

/// The moment that a sink's poses speak of (`--predict`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Predict {
    /// The moment of sending: what a robot acting on the pose wants, hence the default.
    #[default]
    Now,
    /// The capture of the frame: what fits the picture.
    Capture,
    /// This many microseconds after capture.
    AfterCapture(i64),
}

/// The farthest that forecasts reach, milliseconds.
const MAX_AFTER_CAPTURE_MS: i64 = 150;

impl std::str::FromStr for Predict {
    type Err = String;

    /// `now`, `capture`, or milliseconds after capture.
    fn from_str(word: &str) -> Result<Self, String> {
        match (word, word.parse::<i64>()) {
            ("now", _) => Ok(Self::Now),
            ("capture", _) => Ok(Self::Capture),
            (_, Ok(ms @ 0..=MAX_AFTER_CAPTURE_MS)) => Ok(Self::AfterCapture(ms * 1_000)),
            _ => Err(format!(
                "'{word}' is neither \"now\", \"capture\" nor 0 to {MAX_AFTER_CAPTURE_MS} (milliseconds after capture)"
            )),
        }
    }
}

impl fmt::Display for Predict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::Capture => f.write_str("capture"),
            Self::AfterCapture(us) => (us / 1_000).fmt(f),
        }
    }
}

impl Predict {
    /// Whether that is a moment after the capture.
    pub fn is_ahead(self) -> bool {
        !matches!(self, Predict::Capture | Predict::AfterCapture(..=0))
    }

    /// The moment to ask a [`Forecast`] for; never before capture.
    pub fn valid_at_us(self, captured_at_us: i64, now_us: i64) -> i64 {
        match self {
            Predict::Now => now_us.max(captured_at_us),
            Predict::Capture => captured_at_us,
            Predict::AfterCapture(us) => captured_at_us.saturating_add(us.max(0)),
        }
    }

    /// The persons of `frame` as they are wanted when sent at `now_us`.
    pub fn poses(self, frame: &PoseFrame, now_us: i64) -> impl Iterator<Item = Stamped<Pose>> + '_ {
        frame.poses_at(self.valid_at_us(frame.captured_at_us, now_us))
    }
}

/// One consumer of poses, run by a thread of its own; it may be slow or block, and only it waits.
pub trait PoseSink: Send {
    /// A name for the log: `serial /dev/ttyUSB0`.
    fn name(&self) -> &str;
    /// Takes the newest poses; `now_us` is the moment of sending on the clock that stamped the frame.
    ///
    /// # Errors
    /// What went wrong; the sink thread logs it once, counts it and goes on unless the error is fatal.
    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError>;
    /// Sees every frame that reaches the sink's thread, once and before it is sent, whatever [`PoseSink::period`] leaves out: for
    /// what happens in them.
    fn watch(&mut self, _poses: &PoseFrame) {}
    /// How often the sink wants to be given the newest poses, whether or not they are newer: forecasts are evaluated
    /// anew each time. `None`: once for every frame. May change while running.
    fn period(&self) -> Option<Duration> {
        None
    }
    /// Whether what it sends to is gone and looked for: that nothing fails then does not mean that it works.
    fn is_away(&self) -> bool {
        false
    }
    /// Called about ten times per second while there is nothing to send: heartbeats, commands from the consumer,
    /// reopening what went away.
    ///
    /// # Errors
    /// As [`PoseSink::send`].
    fn idle(&mut self, _now_us: i64) -> Result<(), SinkError> {
        Ok(())
    }
    /// Writes out what is buffered; called before the thread ends and bounded by `within`.
    ///
    /// # Errors
    /// What could not be written.
    fn finish(&mut self, within: Duration) -> Result<(), SinkError>;
}

/// What became of the poses that a sink was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// What there is to say of them is sent.
    #[default]
    Sent,
    /// They are more than the rate that was asked for, or that the line carries, has a place for.
    NotDue,
    /// There is no room for them yet. The sink is given the newest poses, these or others, at `until_us` on the clock of sending.
    NotYet {
        /// When there will be room.
        until_us: i64,
        /// Whether every frame is to be sent: where a newer one takes the place of this one, it was left out.
        is_missed: bool,
    },
    /// There was no room for them, or nothing to send them to.
    LeftOut,
}

/// What a sink may ask of the running tracker and tell it; shared by all sinks, never blocks.
pub trait Host: Send + Sync {
    /// How the tracker is now.
    fn vitals(&self) -> Vitals;
    /// Where frames come from.
    fn source(&self) -> Source {
        self.vitals().source
    }
    /// Frames a second that the source gives by its own words; `None` before the first one, and where it says nothing.
    fn source_rate_hz(&self) -> Option<f32> {
        None
    }
    /// Whether this frame ([`PoseFrame::frame`]) is the built-in clip's, whatever has come since.
    fn is_built_in(&self, _frame: u64) -> bool {
        self.source() == Source::BuiltIn
    }
    /// How long each stage of a frame's way takes, in its order.
    fn stages(&self) -> Vec<StageTimes> {
        Vec::new()
    }
    /// A consumer wants identities and memories forgotten; done at the next frame.
    fn reset(&self);
}

/// How the tracker is, for heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vitals {
    /// First eight bytes of the SHA-256 of the keypoint model.
    pub model_hash: [u8; 8],
    /// What runs the networks, UTF-8, zero-padded.
    pub engine: [u8; 16],
    /// Persons followed at most.
    pub max_persons: u8,
    /// Milliseconds since the program started.
    pub uptime_ms: u64,
    /// Frames processed over the last second or so, Hz.
    pub frame_rate_hz: f32,
    /// Median age of the poses when they were sent, over the last second or so, microseconds; `None` where none were.
    pub age_us: Option<i64>,
    /// Frames overwritten by newer ones before they were processed.
    pub frames_dropped: u64,
    /// Poses that were not sent, over all sinks: overwritten by newer ones, or without room on the line.
    pub poses_dropped: u64,
    /// How often the camera was lost.
    pub camera_losses: u64,
    /// Frames that the driver or the decoder found damaged.
    pub camera_errors: u64,
    /// The board's temperature, where it has a sensor.
    pub temperature_c: Option<f32>,
    /// Whether the processor is slowed down by heat or low voltage, where the board says so.
    pub throttled: Option<bool>,
    /// Where frames come from.
    pub source: Source,
}

impl Vitals {
    /// [`Self::engine`](field@Self::engine) as text: `int8 avx2`; empty while the networks are being loaded.
    pub fn engine(&self) -> &str {
        std::str::from_utf8(&self.engine).unwrap_or_default().trim_end_matches('\0')
    }
}

/// Where frames come from, and whether they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// A camera, and frames arrive.
    Camera,
    /// The camera is gone and looked for.
    Lost,
    /// A file.
    #[default]
    Replay,
    /// The built-in clip: nobody is there.
    BuiltIn,
}

impl Source {
    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Camera => "camera",
            Self::Lost => "camera lost",
            Self::Replay => "file",
            Self::BuiltIn => jsonl::BUILT_IN,
        }
    }
}

/// How long one stage of a frame's way from the camera to a consumer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageTimes {
    /// One word.
    pub name: &'static str,
    /// Half of the frames took at most this, microseconds.
    pub p50_us: u32,
    /// 99 % of the frames took at most this, microseconds.
    pub p99_us: u32,
}

/// Why poses could not be delivered.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// May work again: the sink keeps trying.
    #[error(transparent)]
    Retry(Reason),
    /// Will not work again.
    #[error(transparent)]
    Fatal(Reason),
    /// The consumer has had enough (a closed pipe, a closed window): no fault, the sink is done.
    #[error(transparent)]
    Closed(Reason),
}

impl SinkError {
    /// What may work again.
    fn retry(what: impl fmt::Display, reason: impl Into<Reason>) -> Self {
        Self::Retry(reason.into().within(what))
    }

    /// What will not work again.
    fn fatal(what: impl fmt::Display, reason: impl Into<Reason>) -> Self {
        Self::Fatal(reason.into().within(what))
    }
}

impl From<datagrams::SendError> for SinkError {
    fn from(error: datagrams::SendError) -> Self {
        Self::Retry(Reason::of(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_that_is_asked_for_is_never_before_the_light_fell_and_is_written_as_it_is_read() {
        let valid = |word: &str, now_us| word.parse::<Predict>().map(|p| p.valid_at_us(1_000_000, now_us));
        assert_eq!(valid("now", 1_040_000), Ok(1_040_000));
        assert_eq!(valid("now", 990_000), Ok(1_000_000), "another clock, a little behind");
        assert_eq!(valid("capture", 1_040_000), Ok(1_000_000));
        assert_eq!(valid("50", 1_040_000), Ok(1_050_000));
        assert_eq!(Predict::AfterCapture(-5).valid_at_us(1_000_000, 0), 1_000_000);
        for word in ["now", "capture", "0", "50", "150"] {
            assert_eq!(word.parse::<Predict>().unwrap().to_string(), word);
        }
        assert!(valid("151", 0).is_err() && valid("-1", 0).is_err());
    }
}
