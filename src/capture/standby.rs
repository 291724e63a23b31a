//! The built-in clip until there is a camera: somebody who starts the program before plugging one in sees that it works, and then
//! what it is for.

use std::time::Duration;

use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::clock::{Clock, Monotonic};
use crate::picture::Frame;

/// How often it is looked whether there is a camera now.
const LOOK_US: i64 = 1_000_000;

/// Opens the camera where there is one; says why one that is there cannot be used.
pub type Look = Box<dyn FnMut() -> Result<Option<Box<dyn FrameSource>>, CaptureError> + Send>;

struct Candidate {
    source: Box<dyn FrameSource>,
    /// As it was called when it was opened: one that is away has no name.
    name: String,
    /// The log has said why it gives nothing.
    is_told: bool,
}

/// A stand-in that gives way to what it stands in for, with the first frame of it; frame numbers go on rising.
pub struct Standby<K = Monotonic> {
    /// The stand-in, then what came.
    source: Box<dyn FrameSource>,
    /// Until something came.
    look: Option<Look>,
    /// Without a frame yet, and kept until one comes: it knows which of several cameras gave none, and goes on to the next.
    candidate: Option<Candidate>,
    /// Why it could not be opened, as the log last said it.
    told: String,
    /// To be called before the first frame of what came, with its number.
    came: Option<Box<dyn FnOnce(u64) + Send>>,
    clock: K,
    look_at_us: i64,
    /// Added to the numbers of what came.
    first_seq: u64,
    next_seq: u64,
    /// What the stand-in had counted when it gave way.
    retired: SourceCounters,
    /// Added to the generation of what came.
    first_generation: u64,
}

impl Standby {
    /// `stand_in` until `look` finds something that gives a frame, of whose number `came` is told.
    pub fn new(stand_in: Box<dyn FrameSource>, look: Look, came: Box<dyn FnOnce(u64) + Send>) -> Self {
        Self::with_clock(stand_in, look, came, Monotonic)
    }
}

impl<K: Clock> Standby<K> {
    /// The same by `clock`.
    pub fn with_clock(
        stand_in: Box<dyn FrameSource>,
        look: Look,
        came: Box<dyn FnOnce(u64) + Send>,
        clock: K,
    ) -> Self {
        let look_at_us = clock.now_us() + LOOK_US;
        Self {
            source: stand_in,
            look: Some(look),
            candidate: None,
            told: String::new(),
            came: Some(came),
            clock,
            look_at_us,
            first_seq: 0,
            next_seq: 0,
            retired: SourceCounters::default(),
            first_generation: 0,
        }
    }

    fn numbered(&mut self, mut frame: Frame) -> Frame {
        frame.seq += self.first_seq;
        self.next_seq = frame.seq + 1;
        frame
    }

    /// Whether the log has not just said so: it is looked every second, all night long.
    fn is_news(&mut self, why: &str) -> bool {
        let is_news = self.told != why;
        if is_news {
            why.clone_into(&mut self.told);
        }
        is_news
    }

    /// A frame of what is to come, where there is one.
    fn newcomer(&mut self) -> Option<Frame> {
        let look = self.look.as_mut()?;
        if self.candidate.is_none() && self.clock.now_us() >= self.look_at_us {
            self.look_at_us = self.clock.now_us() + LOOK_US;
            match look() {
                Ok(source) => {
                    self.candidate = source.map(|source| {
                        // One that is waited for has said why.
                        let (name, is_told) = (source.info().name, source.is_away());
                        Candidate { source, name, is_told }
                    });
                }
                Err(why) => {
                    if self.is_news(&format!("{why:#}")) {
                        log::warn!("{why:#}; the built-in clip goes on until it can be used");
                    }
                }
            }
        }
        let candidate = self.candidate.as_mut()?;
        match candidate.source.next_frame(Duration::ZERO) {
            Ok(Some(frame)) => {
                self.retired = self.source.counters();
                self.first_generation = self.source.generation() + 1;
                self.source = self.candidate.take()?.source;
                self.look = None;
                self.first_seq = self.next_seq.saturating_sub(frame.seq);
                log::info!("{} is there: the built-in clip gives way", self.source.info().name);
                if let Some(came) = self.came.take() {
                    came(frame.seq + self.first_seq);
                }
                Some(frame)
            }
            Ok(None) => {
                if candidate.source.is_away() && !std::mem::replace(&mut candidate.is_told, true) {
                    log::warn!(
                        "{} is there and sends no picture; the built-in clip goes on, and it and others are tried again (`posewire doctor`)",
                        candidate.name
                    );
                }
                None
            }
            Err(error) => {
                log::debug!("while the built-in clip runs: {error:#}");
                self.candidate = None;
                None
            }
        }
    }
}

impl<K: Clock + Send> FrameSource for Standby<K> {
    fn inner(&self) -> Option<&dyn FrameSource> {
        Some(&*self.source)
    }

    fn info(&self) -> SourceInfo {
        self.source.info()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        if let Some(frame) = self.newcomer() {
            return Ok(Some(self.numbered(frame)));
        }
        let frame = self.source.next_frame(timeout)?;
        Ok(frame.map(|frame| self.numbered(frame)))
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.source.reopen()
    }

    fn generation(&self) -> u64 {
        self.first_generation + self.source.generation()
    }

    fn counters(&self) -> SourceCounters {
        self.retired + self.source.counters()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::clock::Manual;
    use crate::picture::PixelFormat;

    /// Frames of one shade, numbered from 0, after so many looks that give none.
    struct Shade {
        shade: u8,
        seq: u64,
        mute: u32,
    }

    impl FrameSource for Shade {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: format!("shade {}", self.shade), width: 1, height: 1, fps: 30.0, live: true }
        }
        fn next_frame(&mut self, _: Duration) -> Result<Option<Frame>, CaptureError> {
            if self.mute > 0 {
                self.mute -= 1;
                return Ok(None);
            }
            self.seq += 1;
            let (bytes, format) = (Arc::new(vec![self.shade]), PixelFormat::Grey);
            let (seq, captured_at_us) = (self.seq - 1, 0);
            Ok(Some(Frame { bytes, format, width: 1, height: 1, stride: 1, seq, captured_at_us }))
        }
        fn is_away(&self) -> bool {
            self.mute > 0
        }
        fn counters(&self) -> SourceCounters {
            SourceCounters { overtaken: self.seq, ..SourceCounters::default() }
        }
    }

    struct Shared(&'static Manual);

    impl Clock for Shared {
        fn now_us(&self) -> i64 {
            self.0.now_us()
        }
    }

    #[test]
    fn the_stand_in_gives_way_with_the_first_frame_and_numbers_rise() {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(0)));
        let (looks, told) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU64::new(u64::MAX)));
        let (counted, telling) = (looks.clone(), told.clone());
        // Nothing at first, then a camera that cannot be used, and one that sends nothing for two seconds, as the first of several may.
        let look: Look = Box::new(move || match counted.fetch_add(1, Relaxed) {
            0 => Ok(None),
            1..=2 => Err(CaptureError::Unusable("no mode".into())),
            _ => Ok(Some(Box::new(Shade { shade: 9, seq: 40, mute: 60 }))),
        });
        let clip = Box::new(Shade { shade: 1, seq: 0, mute: 0 });
        let came = Box::new(move |first| telling.store(first, Relaxed));
        let mut source = Standby::with_clock(clip, look, came, Shared(clock));
        let (mut last, mut shades, mut overtaken) = (None, Vec::new(), 0);
        for now_us in (0..9_000_000).step_by(33_333) {
            clock.set(now_us);
            let frame = source.next_frame(Duration::ZERO).expect("goes on").expect("at once");
            assert!(last.is_none_or(|last| frame.seq > last), "{:?} then {}", last, frame.seq);
            last = Some(frame.seq);
            let counters = source.counters();
            assert!(counters.overtaken > overtaken, "{counters:?} after {overtaken}");
            overtaken = counters.overtaken;
            assert_eq!(source.generation(), u64::from(frame.bytes[0] == 9));
            if shades.last() != Some(&frame.bytes[0]) {
                shades.push(frame.bytes[0]);
                assert_eq!(told.load(Relaxed) == frame.seq, frame.bytes[0] == 9);
            }
        }
        assert_eq!(shades, [1, 9]);
        assert_eq!(looks.load(Relaxed), 4, "once a second, and no more once one is there that can be used");
        assert_eq!(source.info().name, "shade 9");
        assert!(source.is_news("busy") && !source.is_news("busy"), "a reason is told when it changes");
    }
}
