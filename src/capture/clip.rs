//! Files as sources: every frame as fast as it is taken, or played like a camera.

use std::time::Duration;

use super::{CaptureError, FrameSource, SourceCounters, SourceInfo, Stored};
use crate::clock::{Clock, Monotonic};
use crate::picture::Frame;

/// A finite or endless row of frames whose times are its own, from 0.
pub trait Clip: Send {
    /// What is known of the clip now; `live` is ignored.
    fn info(&self) -> SourceInfo;

    /// The next frame, or `None` after a piece of work that gave none: whoever asks may have been told to stop.
    /// `captured_at_us` counts from the clip's start.
    ///
    /// # Errors
    /// [`CaptureError::Ended`] after the last; [`CaptureError::Unusable`] where the rest cannot be read.
    fn poll(&mut self) -> Result<Option<Frame>, CaptureError>;

    /// As [`Self::poll`], however many pieces of work that takes.
    ///
    /// # Errors
    /// As there.
    fn next(&mut self) -> Result<Frame, CaptureError> {
        loop {
            if let Some(frame) = self.poll()? {
                return Ok(frame);
            }
        }
    }

    /// Whether the rate of [`Self::info`] is one that the clip says, not what is usual.
    fn states_rate(&self) -> bool {
        true
    }

    /// Frames left out so far because they cannot be read.
    fn damaged(&self) -> u64 {
        0
    }

    /// As of [`FrameSource::stored`], of the frame that came last.
    fn stored(&self) -> Option<Stored> {
        None
    }

    /// When the light of the frame that came last fell, in microseconds of the kernel's monotonic clock, where the clip says so.
    fn light_us(&self) -> Option<i64> {
        None
    }
}

impl Clip for Box<dyn Clip> {
    fn info(&self) -> SourceInfo {
        (**self).info()
    }
    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        (**self).poll()
    }
    fn states_rate(&self) -> bool {
        (**self).states_rate()
    }
    fn damaged(&self) -> u64 {
        (**self).damaged()
    }
    fn stored(&self) -> Option<Stored> {
        (**self).stored()
    }
    fn light_us(&self) -> Option<i64> {
        (**self).light_us()
    }
}

/// `clip` frame by frame (`no_drop`), or in real time.
pub fn as_source(clip: impl Clip + 'static, no_drop: bool) -> Box<dyn FrameSource> {
    if no_drop { Box::new(EveryFrame(clip)) } else { Box::new(RealTime::new(clip, Monotonic)) }
}

/// Gives every frame, stamped with the clip's own times: deterministic.
pub struct EveryFrame<C>(pub C);

impl<C: Clip> FrameSource for EveryFrame<C> {
    fn info(&self) -> SourceInfo {
        SourceInfo { live: false, ..self.0.info() }
    }
    fn next_frame(&mut self, _timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        self.0.poll()
    }
    fn stored(&self) -> Option<Stored> {
        self.0.stored()
    }
    fn counters(&self) -> SourceCounters {
        SourceCounters { damaged: self.0.damaged(), ..SourceCounters::default() }
    }
}

/// How long one call may read ahead to catch up with the clock. A clip that takes longer to read than to play (the built-in
/// figures on a busy board) would otherwise show nothing: it goes on at the pace of reading instead.
const CATCH_UP_US: i64 = 100_000;

/// A frame, its time already on the clock, and what was said of its picture.
type Read = (Frame, Option<Stored>);

/// Plays a clip as a camera would: frame t is there at start + t, and whoever asks late gets the newest.
pub struct RealTime<C, K = Monotonic> {
    clip: C,
    clock: K,
    started_us: Option<i64>,
    /// Read ahead.
    ahead: Option<Read>,
    /// Of the frame that was given last.
    stored: Option<Stored>,
    overtaken: u64,
    ended: bool,
    /// Why it ended, until that is told.
    untold: Option<CaptureError>,
}

impl<C: Clip, K: Clock> RealTime<C, K> {
    /// Starts with the first frame that is asked for.
    pub fn new(clip: C, clock: K) -> Self {
        let (started_us, ahead, stored, untold) = (None, None, None, None);
        Self { clip, clock, started_us, ahead, stored, overtaken: 0, ended: false, untold }
    }

    fn read(&mut self) -> Result<Option<Read>, CaptureError> {
        if self.ended {
            return Err(self.untold.take().unwrap_or(CaptureError::Ended));
        }
        let polled = self.clip.poll().inspect_err(|_| self.ended = true)?;
        let Some(mut frame) = polled else { return Ok(None) };
        // Read first, then start the clock: opening a file may take longer than a frame.
        let started_us = *self.started_us.get_or_insert_with(|| self.clock.now_us());
        frame.captured_at_us = frame.captured_at_us.saturating_add(started_us);
        Ok(Some((frame, self.clip.stored())))
    }

    /// The frame that is due.
    fn due(&mut self, timeout: Duration) -> Result<Option<Read>, CaptureError> {
        let (mut frame, mut stored) = match self.ahead.take() {
            Some(frame) => frame,
            None => match self.read()? {
                Some(frame) => frame,
                None => return Ok(None),
            },
        };
        let asked_at_us = self.clock.now_us();
        loop {
            let now_us = self.clock.now_us();
            let late_us = now_us.saturating_sub(frame.captured_at_us);
            if late_us < 0 {
                break;
            }
            if now_us - asked_at_us > CATCH_UP_US {
                self.started_us = self.started_us.map(|start| start.saturating_add(late_us));
                frame.captured_at_us = now_us;
                return Ok(Some((frame, stored)));
            }
            match self.read() {
                Ok(Some(next)) if next.0.captured_at_us <= self.clock.now_us() => {
                    (frame, stored) = next;
                    self.overtaken += 1;
                }
                Ok(next) => {
                    self.ahead = next;
                    return Ok(Some((frame, stored)));
                }
                // The last frame counts too; the end, or what went wrong, is told at the next call.
                Err(why) => {
                    self.untold = Some(why);
                    return Ok(Some((frame, stored)));
                }
            }
        }
        let wait_us = frame.captured_at_us.saturating_sub(self.clock.now_us());
        if wait_us > timeout.as_micros() as i64 {
            std::thread::sleep(timeout);
            self.ahead = Some((frame, stored));
            return Ok(None);
        }
        std::thread::sleep(Duration::from_micros(wait_us.max(0) as u64));
        Ok(Some((frame, stored)))
    }
}

impl<C: Clip, K: Clock> FrameSource for RealTime<C, K> {
    fn info(&self) -> SourceInfo {
        SourceInfo { live: true, ..self.clip.info() }
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let Some((frame, stored)) = self.due(timeout)? else { return Ok(None) };
        self.stored = stored;
        Ok(Some(frame))
    }

    fn is_pausing(&self) -> bool {
        self.ahead.as_ref().is_some_and(|(next, _)| next.captured_at_us > self.clock.now_us())
    }

    fn stored(&self) -> Option<Stored> {
        self.stored
    }

    fn counters(&self) -> SourceCounters {
        SourceCounters {
            damaged: self.clip.damaged(),
            overtaken: self.overtaken,
            ..SourceCounters::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Manual;
    use crate::picture::{PixelFormat, Turn};
    use std::sync::Arc;

    /// Ten frames, 10 ms apart.
    struct Ten(u64);

    impl Clip for Ten {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: "ten".into(), width: 1, height: 1, fps: 100.0, live: false }
        }
        fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
            if self.0 == 10 {
                return Err(CaptureError::Ended);
            }
            self.0 += 1;
            let (seq, captured_at_us) = (self.0 - 1, (self.0 as i64 - 1) * 10_000);
            let bytes = Arc::new(vec![0]);
            Ok(Some(Frame {
                bytes,
                format: PixelFormat::Grey,
                width: 1,
                height: 1,
                stride: 1,
                seq,
                captured_at_us,
            }))
        }
        fn stored(&self) -> Option<Stored> {
            let turn = Turn { quarters: 2, mirror: false };
            Some(Stored { size_px: [self.0 as u32 - 1, 1], turn })
        }
    }

    #[test]
    fn without_dropping_every_frame_comes_with_the_clips_own_time() {
        let mut source = EveryFrame(Ten(0));
        for i in 0..10 {
            let frame = source.next_frame(Duration::ZERO).expect("a frame").expect("at once");
            assert_eq!((frame.seq, frame.captured_at_us), (i, i as i64 * 10_000));
        }
        assert!(matches!(source.next_frame(Duration::ZERO), Err(CaptureError::Ended)));
    }

    /// Each look at the clock costs 15 ms: a machine on which reading a frame takes longer than the 10 ms it stands for.
    struct Slow(std::sync::atomic::AtomicI64);

    impl Clock for Slow {
        fn now_us(&self) -> i64 {
            self.0.fetch_add(15_000, std::sync::atomic::Ordering::Relaxed)
        }
    }

    #[test]
    fn a_clip_that_is_read_slower_than_it_plays_goes_on_at_the_pace_of_reading() {
        let mut source = RealTime::new(Ten(0), Slow(0.into()));
        let mut times = Vec::new();
        while let Ok(frame) = source.next_frame(Duration::ZERO) {
            times.extend(frame.map(|f| f.captured_at_us));
        }
        assert!(times.len() >= 3, "{times:?}");
        assert!(times.is_sorted(), "{times:?}");
    }

    struct Shared(&'static Manual);

    impl Clock for Shared {
        fn now_us(&self) -> i64 {
            self.0.now_us()
        }
    }

    #[test]
    fn it_pauses_until_the_next_frame_is_due() {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(5_000_000)));
        let mut source = RealTime::new(Ten(0), Shared(clock));
        assert!(!source.is_pausing());
        assert!(source.next_frame(Duration::ZERO).unwrap().is_some());
        clock.set(5_009_000);
        assert!(source.next_frame(Duration::ZERO).unwrap().is_none() && source.is_pausing());
        clock.set(5_010_000);
        assert!(!source.is_pausing());
    }

    #[test]
    fn in_real_time_a_slow_reader_gets_the_newest_frame_and_the_rest_is_counted() {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(5_000_000)));
        let mut source = RealTime::new(Ten(0), Shared(clock));
        let mut next = |at_us: i64| {
            clock.set(at_us);
            let frame = source.next_frame(Duration::ZERO).ok().flatten().map(|f| (f.seq, f.captured_at_us));
            if let Some((seq, _)) = frame {
                let stored_px = source.stored().map(|stored| u64::from(stored.size_px[0]));
                assert_eq!(stored_px, Some(seq), "that of the frame which was given, not of one read ahead");
            }
            (frame, source.counters().overtaken)
        };
        assert_eq!(next(5_000_000), (Some((0, 5_000_000)), 0));
        assert_eq!(next(5_004_000), (None, 0), "the second is not there yet");
        assert_eq!(next(5_045_000), (Some((4, 5_040_000)), 3));
        assert_eq!(next(5_050_000), (Some((5, 5_050_000)), 3));
        assert_eq!(next(9_000_000), (Some((9, 5_090_000)), 6), "the last frame is shown");
        assert!(matches!(source.next_frame(Duration::ZERO), Err(CaptureError::Ended)));
    }

    /// Two frames, and the rest of the file cannot be read.
    struct Torn(Ten);

    impl Clip for Torn {
        fn info(&self) -> SourceInfo {
            self.0.info()
        }
        fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
            if self.0.0 == 2 { Err(CaptureError::Unusable("torn".into())) } else { self.0.poll() }
        }
    }

    #[test]
    fn in_real_time_what_cannot_be_read_is_told_after_the_last_frame() {
        let mut source = RealTime::new(Torn(Ten(0)), Slow(0.into()));
        let frame = source.next_frame(Duration::ZERO).expect("readable").expect("late already");
        assert_eq!(frame.seq, 1);
        let why = source.next_frame(Duration::ZERO).expect_err("no more");
        assert!(matches!(&why, CaptureError::Unusable(why) if why.to_string() == "torn"), "{why}");
        assert!(matches!(source.next_frame(Duration::ZERO), Err(CaptureError::Ended)), "told once");
    }

    /// Frames that take three times as long to make as they last: some are shown nevertheless, none of them old.
    #[test]
    fn a_clip_that_cannot_be_made_in_real_time_is_played_slower() {
        struct Slow(&'static Manual, Ten);
        impl Clip for Slow {
            fn info(&self) -> SourceInfo {
                self.1.info()
            }
            fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
                self.0.set(self.0.now_us() + 30_000);
                let frame = Ten(0).next()?;
                self.1.0 += 1;
                let seq = self.1.0 - 1;
                Ok(Some(Frame { seq, captured_at_us: seq as i64 * 10_000, ..frame }))
            }
        }
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(5_000_000)));
        struct Shared(&'static Manual);
        impl Clock for Shared {
            fn now_us(&self) -> i64 {
                self.0.now_us()
            }
        }
        let mut source = RealTime::new(Slow(clock, Ten(0)), Shared(clock));
        let mut last = None;
        for _ in 0..20 {
            let asked_at_us = clock.now_us();
            let frame = source.next_frame(Duration::ZERO).expect("goes on").expect("a frame");
            assert!(clock.now_us() - asked_at_us <= CATCH_UP_US + 60_000, "it takes too long");
            assert!(clock.now_us() - frame.captured_at_us <= 30_000, "it is old");
            assert!(last < Some((frame.seq, frame.captured_at_us)));
            last = Some((frame.seq, frame.captured_at_us));
        }
    }
}
