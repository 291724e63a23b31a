//! Faults on purpose (`--inject`): what cables, boards and readers do, seeded and repeatable.
//!
//! `camera.drop=0.1,infer.slow=0.02,serial.stall=0.01,seed=7`: each value is the probability of the fault at each frame
//! (`camera`, `infer`) or at each sending (`serial`). What the run has no place for is refused.

use std::thread::sleep;
use std::time::Duration;

use super::PoseTracker;
use pose::PoseFrame;

use crate::capture::FaultPlan;
use crate::config::did_you_mean;
use crate::output::{PoseSink, Sending, SinkError};
use crate::picture::Frame;
use crate::telemetry::Telemetry;
use crate::tracker::TrackError;

/// A slow frame takes this much longer: a board that throttles, a garbage-collecting neighbour.
const SLOW: Duration = Duration::from_millis(200);
/// A stalled reader blocks the writer for so long.
const STALL: Duration = Duration::from_secs(1);

/// Probabilities by fault.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Of the source.
    pub camera: FaultPlan,
    /// A frame takes 200 ms more.
    pub infer_slow: f32,
    /// A frame cannot be used.
    pub infer_bad: f32,
    /// The thread that looks at frames panics, as over a mistake in the program.
    pub infer_panic: f32,
    /// The serial reader does not drain for a second.
    pub serial_stall: f32,
    /// The serial port fails at this sending.
    pub serial_fail: f32,
    /// The same seed gives the same faults.
    pub seed: u64,
}

const OWN_NAMES: [&str; 5] = ["infer.slow", "infer.bad", "infer.panic", "serial.stall", "serial.fail"];

impl Faults {
    /// Reads `NAME=PROBABILITY,…`; `seed=N` among them overrides `seed`.
    ///
    /// # Errors
    /// The part at fault and the nearest valid name.
    pub fn parse(text: &str, seed: u64) -> Result<Self, String> {
        let mut faults = Self { seed, ..Self::default() };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or(format!("'{part}' is not a fault: write NAME=PROBABILITY"))?;
            if name == "seed" {
                faults.seed = value.parse().map_err(|_| format!("seed={value}: not a whole number"))?;
                continue;
            }
            if let Some(camera) = name.strip_prefix("camera.").filter(|c| FaultPlan::NAMES.contains(c)) {
                faults.camera.set(camera, value)?;
                continue;
            }
            let place = match name {
                "infer.slow" => &mut faults.infer_slow,
                "infer.bad" => &mut faults.infer_bad,
                "infer.panic" => &mut faults.infer_panic,
                "serial.stall" => &mut faults.serial_stall,
                "serial.fail" => &mut faults.serial_fail,
                _ => {
                    let camera = FaultPlan::NAMES.map(|n| format!("camera.{n}"));
                    let names = || camera.iter().map(String::as_str).chain(OWN_NAMES);
                    let all = names().collect::<Vec<_>>().join(", ");
                    return Err(format!(
                        "there is no fault '{name}', only {all}{}",
                        did_you_mean(name, names())
                    ));
                }
            };
            *place = value
                .parse()
                .ok()
                .filter(|p| (0.0..=1.0).contains(p))
                .ok_or(format!("{name}={value}: not a probability from 0 to 1"))?;
        }
        faults.camera.seed = faults.seed;
        Ok(faults)
    }

    /// Whether a sink has to be wrapped.
    pub fn has_serial(&self) -> bool {
        self.serial_stall > 0.0 || self.serial_fail > 0.0
    }

    /// Whether the tracker has to be wrapped.
    pub fn has_infer(&self) -> bool {
        self.infer_slow > 0.0 || self.infer_bad > 0.0 || self.infer_panic > 0.0
    }
}

/// A [`PoseTracker`] that is sometimes slow or fails.
pub struct FaultyTracker<T> {
    tracker: T,
    faults: Faults,
    dice: fastrand::Rng,
}

impl<T: PoseTracker> FaultyTracker<T> {
    /// Wraps `tracker`.
    pub fn new(tracker: T, faults: Faults) -> Self {
        Self { tracker, faults, dice: fastrand::Rng::with_seed(faults.seed ^ 0x1f) }
    }
}

impl<T: PoseTracker> PoseTracker for FaultyTracker<T> {
    fn track(&mut self, frame: &Frame, telemetry: &Telemetry) -> Result<PoseFrame, TrackError> {
        // Asked of the dice only where it is wanted: the other faults of a seed stay what they were.
        if self.faults.infer_panic > 0.0 && self.dice.f32() < self.faults.infer_panic {
            panic!("injected fault: infer.panic at frame {}", frame.seq);
        }
        if self.dice.f32() < self.faults.infer_bad {
            return Err(TrackError::Injected("infer.bad"));
        }
        if self.dice.f32() < self.faults.infer_slow {
            log::debug!("injected fault: infer.slow at frame {}", frame.seq);
            sleep(SLOW);
        }
        self.tracker.track(frame, telemetry)
    }

    fn reset(&mut self) {
        self.tracker.reset();
    }
}

/// A serial [`PoseSink`] whose reader sometimes stops, or whose port fails.
pub struct FaultySink {
    sink: Box<dyn PoseSink>,
    faults: Faults,
    dice: fastrand::Rng,
}

impl FaultySink {
    /// Wraps `sink`.
    pub fn new(sink: Box<dyn PoseSink>, faults: Faults) -> Self {
        Self { sink, faults, dice: fastrand::Rng::with_seed(faults.seed ^ 0x5e) }
    }
}

impl PoseSink for FaultySink {
    fn name(&self) -> &str {
        self.sink.name()
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        if self.dice.f32() < self.faults.serial_fail {
            return Err(SinkError::Retry("injected fault: serial.fail".into()));
        }
        if self.dice.f32() < self.faults.serial_stall {
            log::debug!("injected fault: serial.stall at pose {}", poses.seq);
            sleep(STALL);
        }
        self.sink.send(poses, now_us)
    }

    fn watch(&mut self, poses: &PoseFrame) {
        self.sink.watch(poses);
    }

    fn is_away(&self) -> bool {
        self.sink.is_away()
    }

    fn period(&self) -> Option<Duration> {
        self.sink.period()
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        self.sink.idle(now_us)
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        self.sink.finish(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_by_place_and_share_the_seed() {
        let faults = Faults::parse("camera.drop=0.25, infer.slow=0.5,serial.stall=1,seed=7", 1).unwrap();
        assert_eq!((faults.camera.drop, faults.infer_slow, faults.serial_stall), (0.25, 0.5, 1.0));
        assert_eq!((faults.seed, faults.camera.seed), (7, 7));
        assert!(faults.has_serial() && faults.has_infer());
        assert_eq!(Faults::parse("", 3).unwrap().seed, 3);
    }

    /// Counts how often it is to forget.
    struct Forgetful<'a>(&'a mut u32);

    impl PoseTracker for Forgetful<'_> {
        fn track(&mut self, _: &Frame, _: &Telemetry) -> Result<PoseFrame, TrackError> {
            unreachable!("no frame is tracked here")
        }
        fn reset(&mut self) {
            *self.0 += 1;
        }
    }

    #[test]
    fn a_reset_reaches_the_tracker_through_its_faults() {
        let mut resets = 0;
        FaultyTracker::new(Forgetful(&mut resets), Faults::default()).reset();
        assert_eq!(resets, 1);
    }

    #[test]
    fn a_fault_that_does_not_exist_is_refused_with_the_nearest_name() {
        for (text, word) in [
            ("camera.dorp=0.1", "did you mean 'camera.drop'"),
            ("serial.stal=0.1", "did you mean 'serial.stall'"),
            ("infer.slow", "NAME=PROBABILITY"),
            ("infer.slow=2", "from 0 to 1"),
            ("camera.drop=often", "camera.drop"),
            ("seed=x", "whole number"),
        ] {
            let error = Faults::parse(text, 0).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
