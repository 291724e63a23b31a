//! `auto` where nothing is there yet: a service may start before the board has registered the camera on its own connector.

use std::time::Duration;

use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::clock::{Clock, Monotonic};
use crate::picture::Frame;

/// From the start to the first look, then doubled: asking takes a Pi's program up to a second each time.
const FIRST_LOOK_US: i64 = 2_000_000;
const LONGEST_LOOK_US: i64 = 64_000_000;

/// Opens what is looked for, where it is there.
pub type Look = Box<dyn FnMut() -> Option<Box<dyn FrameSource>> + Send>;

/// A USB camera that is waited for, until what is looked for beside it is there first. What gave a frame once is kept; what is lost before
/// that leaves the USB camera its turn, until the next look.
pub struct Auto<S, K = Monotonic> {
    usb: S,
    look: Look,
    /// What was found beside it.
    found: Option<Box<dyn FrameSource>>,
    /// What was counted of those that were left.
    left: SourceCounters,
    gave_frames: bool,
    clock: K,
    look_at_us: i64,
    pause_us: i64,
}

impl<S> Auto<S> {
    /// Waits for `usb`, and for what `look` finds.
    pub fn new(usb: S, look: Look) -> Self {
        Self::with_clock(usb, look, Monotonic)
    }
}

impl<S, K: Clock> Auto<S, K> {
    /// The same by `clock`.
    pub fn with_clock(usb: S, look: Look, clock: K) -> Self {
        let look_at_us = clock.now_us() + FIRST_LOOK_US;
        let (found, left, gave_frames, pause_us) = (None, SourceCounters::default(), false, FIRST_LOOK_US);
        Self { usb, look, found, left, gave_frames, clock, look_at_us, pause_us }
    }

    fn look(&mut self) {
        let now_us = self.clock.now_us();
        if self.gave_frames || now_us < self.look_at_us {
            return;
        }
        self.pause_us = (2 * self.pause_us).min(LONGEST_LOOK_US);
        self.look_at_us = now_us + self.pause_us;
        self.found = (self.look)();
    }

    /// What `done` is, once what was found is left where it was lost before its first frame.
    fn kept<T>(&mut self, done: Result<T, CaptureError>) -> Result<T, CaptureError> {
        if matches!(done, Err(CaptureError::Lost { .. }))
            && !self.gave_frames
            && let Some(found) = self.found.take()
        {
            self.left = self.left + found.counters();
        }
        done
    }
}

impl<S: FrameSource, K: Clock> Auto<S, K> {
    fn source(&self) -> &dyn FrameSource {
        match &self.found {
            Some(found) => found,
            None => &self.usb,
        }
    }
}

impl<S: FrameSource, K: Clock + Send> FrameSource for Auto<S, K> {
    fn inner(&self) -> Option<&dyn FrameSource> {
        Some(self.source())
    }

    fn info(&self) -> SourceInfo {
        self.source().info()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let frame = match &mut self.found {
            Some(found) => found.next_frame(timeout),
            None => self.usb.next_frame(timeout),
        };
        let frame = self.kept(frame)?;
        self.gave_frames |= frame.is_some();
        Ok(frame)
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        if self.found.is_none() {
            match self.usb.reopen() {
                Err(CaptureError::Lost { device, reason }) => {
                    self.look();
                    if self.found.is_none() {
                        return Err(CaptureError::Lost { device, reason });
                    }
                }
                done => return done,
            }
        }
        let done = self.found.as_mut().map_or(Ok(()), FrameSource::reopen);
        self.kept(done)
    }

    fn counters(&self) -> SourceCounters {
        // It may have sent damaged frames before something else was found.
        self.usb.counters() + self.left + self.found.as_ref().map(FrameSource::counters).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::clock::Manual;

    /// It can be opened from the so-many-th time on; where another program has it, it then ends at once.
    struct Camera {
        name: &'static str,
        opens_at: u32,
        asked: u32,
        is_taken: bool,
    }

    impl Camera {
        fn new(name: &'static str, opens_at: u32) -> Self {
            Self { name, opens_at, asked: 0, is_taken: false }
        }
    }

    impl FrameSource for Camera {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: self.name.into(), width: 0, height: 0, fps: 30.0, live: true }
        }
        fn next_frame(&mut self, _: Duration) -> Result<Option<Frame>, CaptureError> {
            let lost = CaptureError::Lost { device: self.name.into(), reason: "taken".into() };
            if self.is_taken { Err(lost) } else { Ok(None) }
        }
        fn reopen(&mut self) -> Result<(), CaptureError> {
            self.asked += 1;
            let lost = CaptureError::Lost { device: self.name.into(), reason: "not there".into() };
            if self.asked < self.opens_at { Err(lost) } else { Ok(()) }
        }
        fn counters(&self) -> SourceCounters {
            SourceCounters { damaged: self.asked.into(), ..SourceCounters::default() }
        }
    }

    struct Shared(&'static Manual);

    impl Clock for Shared {
        fn now_us(&self) -> i64 {
            self.0.now_us()
        }
    }

    fn auto(
        usb_opens_at: u32,
        csi_is_there_at: u32,
    ) -> (Auto<Camera, Shared>, &'static Manual, Arc<AtomicU32>) {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(0)));
        let looks = Arc::new(AtomicU32::new(0));
        let counted = looks.clone();
        let look: Look = Box::new(move || {
            let found: Box<dyn FrameSource> = Box::new(Camera::new("csi", 1));
            (counted.fetch_add(1, Relaxed) + 1 >= csi_is_there_at).then_some(found)
        });
        (Auto::with_clock(Camera::new("usb", usb_opens_at), look, Shared(clock)), clock, looks)
    }

    #[test]
    fn what_is_listed_later_is_taken_and_asked_for_less_and_less_often() {
        let (mut auto, clock, looks) = auto(u32::MAX, 4);
        let mut found_at_us = None;
        for now_us in (0..60_000_000).step_by(500_000) {
            clock.set(now_us);
            let counted = auto.counters().damaged;
            if auto.reopen().is_ok() && found_at_us.is_none() {
                found_at_us = Some(now_us);
            }
            assert!(auto.counters().damaged > counted, "the counts of what is left behind stay");
        }
        assert_eq!(found_at_us, Some(30_000_000), "2, 6, 14 and 30 s after the start");
        assert_eq!(looks.load(Relaxed), 4, "no more once it is there");
        assert_eq!(auto.info().name, "csi");
    }

    #[test]
    fn a_usb_camera_that_comes_first_is_taken() {
        let (mut auto, clock, looks) = auto(3, 2);
        for now_us in [0, 500_000, 1_000_000] {
            clock.set(now_us);
            assert_eq!(auto.reopen().is_ok(), now_us == 1_000_000);
        }
        assert_eq!((auto.info().name.as_str(), looks.load(Relaxed)), ("usb", 0));
    }

    #[test]
    fn what_is_lost_before_its_first_frame_leaves_the_usb_camera_its_turn() {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(FIRST_LOOK_US)));
        let look: Look = Box::new(|| Some(Box::new(Camera { is_taken: true, ..Camera::new("csi", 1) })));
        let mut auto = Auto {
            look_at_us: FIRST_LOOK_US,
            ..Auto::with_clock(Camera::new("usb", 2), look, Shared(clock))
        };
        auto.reopen().unwrap();
        assert_eq!((auto.info().name.as_str(), auto.counters().damaged), ("csi", 2));
        assert!(matches!(auto.next_frame(Duration::ZERO), Err(CaptureError::Lost { .. })));
        assert_eq!(auto.counters().damaged, 2, "the counts of what is left behind stay");
        auto.reopen().unwrap();
        assert_eq!(auto.info().name, "usb");
    }
}
