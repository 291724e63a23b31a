//! Stand-ins for the stages, so that the pipeline is tested without camera, network or wire.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pose::{Forecast, HORIZONS_US, JOINTS, JointState, PoseFrame, TrackedPerson};
use posewire::capture::{CaptureError, FrameSource, SourceInfo};
use posewire::clock::{Clock, Monotonic};
use posewire::output::{PoseSink, Sending, SinkError};
use posewire::picture::{Frame, PixelFormat};
use posewire::pipeline::{Options, Parts, Pipeline, PoseTracker};
use posewire::telemetry::{Stage, Telemetry};
use posewire::tracker::TrackError;

/// What a [`Camera`] does next.
pub enum Event {
    /// A frame.
    Frame,
    /// No frame for as long as the caller waits.
    Silence,
    /// The device goes away.
    Unplug,
    /// Nothing works any more.
    Break,
}

/// A source that follows a script, `period` apart, and then ends.
pub struct Camera<I> {
    script: I,
    period: Duration,
    next: Instant,
    seq: u64,
    live: bool,
    bytes: Arc<Vec<u8>>,
}

impl<I: Iterator<Item = Event>> Camera<I> {
    pub fn new(script: I, period: Duration, live: bool) -> Self {
        Self { script, period, next: Instant::now(), seq: 0, live, bytes: Arc::new(vec![0; 12]) }
    }
}

impl<I: Iterator<Item = Event> + Send> FrameSource for Camera<I> {
    fn info(&self) -> SourceInfo {
        SourceInfo { name: "fake".into(), width: 2, height: 2, fps: 30.0, live: self.live }
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        sleep(self.next.saturating_duration_since(Instant::now()).min(timeout));
        if Instant::now() < self.next {
            return Ok(None);
        }
        match self.script.next() {
            None => Err(CaptureError::Ended),
            Some(Event::Silence) => {
                sleep(timeout);
                Ok(None)
            }
            Some(Event::Unplug) => {
                Err(CaptureError::Lost { device: "fake".into(), reason: "unplugged".into() })
            }
            Some(Event::Break) => Err(CaptureError::Unusable("fake: no permission".into())),
            Some(Event::Frame) => {
                self.next += self.period;
                let captured_at_us = if self.live { Monotonic.now_us() } else { self.seq as i64 * 33_333 };
                let frame = Frame {
                    bytes: self.bytes.clone(),
                    format: PixelFormat::Rgb24,
                    width: 2,
                    height: 2,
                    stride: 6,
                    seq: self.seq,
                    captured_at_us,
                };
                self.seq += 1;
                Ok(Some(frame))
            }
        }
    }
}

/// A tracker that takes `takes` a frame and sees one person, whose nose is at (seq, 1).
pub struct OnePerson {
    pub takes: Duration,
    /// Frames with these numbers are damaged.
    pub damaged: fn(u64) -> bool,
    /// Frames that gave poses so far.
    pub seq: u64,
}

impl OnePerson {
    pub const fn new(takes: Duration) -> Self {
        Self { takes, damaged: |_| false, seq: 0 }
    }
}

impl PoseTracker for OnePerson {
    fn track(&mut self, frame: &Frame, telemetry: &Telemetry) -> Result<PoseFrame, TrackError> {
        if (self.damaged)(frame.seq) {
            return Err(TrackError::Injected("damaged"));
        }
        sleep(self.takes);
        telemetry.time_us(Stage::Network, self.takes.as_micros() as i64);
        let mut persons = [None; pose::MAX_PERSONS];
        let forecast = Forecast {
            captured_at_us: frame.captured_at_us,
            places_px: [[[frame.seq as f32, 1.0]; JOINTS]; HORIZONS_US.len()],
            sigma_px: [[1.0; JOINTS]; HORIZONS_US.len()],
            score: [0.9; JOINTS],
            state: [JointState::Measured; JOINTS],
            joints_3d_m: None,
        };
        persons[0] = Some(TrackedPerson { track_id: 1, score: 0.9, forecast, seen: None, place: None });
        let seq = self.seq;
        self.seq += 1;
        Ok(PoseFrame {
            seq,
            frame: frame.seq,
            captured_at_us: frame.captured_at_us,
            width: frame.width,
            height: frame.height,
            persons,
            floor: None,
        })
    }

    fn reset(&mut self) {}
}

/// What a [`Log`] was given: (seq, frame, now_us).
pub type Seen = Arc<Mutex<Vec<(u64, u64, i64)>>>;

/// A sink that remembers what it was given, and is as slow and as bad as asked.
#[derive(Default)]
pub struct Log {
    pub seen: Seen,
    pub takes: Duration,
    pub period: Option<Duration>,
    /// Blocks in `send` for this long, whatever happens: a driver that does not come back.
    pub blocks: Duration,
    pub fails: Option<fn() -> SinkError>,
    /// What becomes of what it is given.
    pub comes_to: Sending,
    /// Frames that it saw.
    pub watched: Arc<AtomicU64>,
    pub finished: Arc<AtomicBool>,
    /// When it was asked for a heartbeat.
    pub idle_at_us: Arc<Mutex<Vec<i64>>>,
}

impl PoseSink for Log {
    fn name(&self) -> &str {
        "log"
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        sleep(self.takes + self.blocks);
        if let Some(fails) = self.fails {
            return Err(fails());
        }
        self.seen.lock().unwrap().push((poses.seq, poses.frame, now_us));
        Ok(self.comes_to)
    }

    fn watch(&mut self, _: &PoseFrame) {
        self.watched.fetch_add(1, Ordering::Relaxed);
    }

    fn period(&self) -> Option<Duration> {
        self.period
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        self.idle_at_us.lock().unwrap().push(now_us);
        Ok(())
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        self.finished.store(true, Ordering::Release);
        Ok(())
    }
}

/// Starts a pipeline of these parts.
pub fn start(
    source: impl FrameSource + 'static,
    tracker: impl PoseTracker + 'static,
    sinks: Vec<Box<dyn PoseSink>>,
    options: Options,
) -> Pipeline {
    let parts = Parts {
        source: Box::new(|| Ok(Box::new(source))),
        tracker: Box::new(|| Ok(Box::new(tracker))),
        sinks,
        clock: Arc::new(Monotonic),
        session: Arc::default(),
    };
    Pipeline::start(parts, options).expect("threads start")
}
