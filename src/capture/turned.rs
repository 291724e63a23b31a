//! A source whose pictures are turned upright, or mirrored, before anybody sees them.

use std::time::Duration;

use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::picture::{DecodeError, Frame, Turn, Turner};
use crate::reason::Reason;

/// Any source, turned. A picture that cannot be is left out and counted as damaged; the first is told of.
pub struct Turned<S> {
    source: S,
    turn: Turn,
    turner: Turner,
    /// Of the last picture, once there is one: a JPEG may lose some pixels.
    size_px: Option<[u32; 2]>,
    damaged: u64,
    first_damage: Option<DecodeError>,
}

impl<S: FrameSource> Turned<S> {
    /// Turns `source` by `turn`.
    pub fn new(source: S, turn: Turn) -> Self {
        Self { source, turn, turner: Turner::new(turn), size_px: None, damaged: 0, first_damage: None }
    }
}

impl<S: FrameSource> FrameSource for Turned<S> {
    fn inner(&self) -> Option<&dyn FrameSource> {
        Some(&self.source)
    }

    fn info(&self) -> SourceInfo {
        let info = self.source.info();
        let SourceInfo { width, height, .. } = info;
        let turned_px = if self.turn.quarters % 2 == 1 { [height, width] } else { [width, height] };
        let [width, height] = self.size_px.unwrap_or(turned_px);
        SourceInfo { width, height, ..info }
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let frame = match self.source.next_frame(timeout) {
            Ok(Some(frame)) => frame,
            Err(CaptureError::Ended)
                if self.size_px.is_none()
                    && let Some(first) = self.first_damage.take() =>
            {
                let none = format!("none of the {} pictures can be turned; the first", self.damaged);
                return Err(CaptureError::unusable(self.source.info().name, Reason::new(none, first)));
            }
            none => return none,
        };
        match self.turner.turn(&frame) {
            Ok(turned) => {
                self.size_px = Some([turned.width, turned.height]);
                Ok(Some(turned))
            }
            Err(why) => {
                self.damaged += 1;
                let level = if self.first_damage.is_none() { log::Level::Warn } else { log::Level::Debug };
                log::log!(level, "{}: frame {}: {why}; left out", self.source.info().name, frame.seq);
                self.first_damage.get_or_insert(why);
                Ok(None)
            }
        }
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.source.reopen()
    }

    fn counters(&self) -> SourceCounters {
        let counters = self.source.counters();
        SourceCounters { damaged: counters.damaged + self.damaged, ..counters }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::capture::{clip::as_source, synthetic::Synthetic};
    use crate::picture::PixelFormat;

    /// Every second frame is cut short.
    struct Halves(u64);

    impl FrameSource for Halves {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: "halves".into(), width: 3, height: 1, fps: 30.0, live: true }
        }
        fn next_frame(&mut self, _: Duration) -> Result<Option<Frame>, CaptureError> {
            let seq = self.0;
            self.0 += 1;
            let bytes = Arc::new(if seq.is_multiple_of(2) { vec![1, 2, 3] } else { vec![1] });
            Ok(Some(Frame {
                bytes,
                format: PixelFormat::Grey,
                width: 3,
                height: 1,
                stride: 3,
                seq,
                captured_at_us: 0,
            }))
        }
        fn counters(&self) -> SourceCounters {
            SourceCounters { damaged: 5, ..Default::default() }
        }
    }

    #[test]
    fn pictures_are_turned_and_what_cannot_be_is_counted() {
        let mut source = Turned::new(Halves(0), Turn { quarters: 1, mirror: false });
        let frame = source.next_frame(Duration::ZERO).unwrap().expect("whole");
        assert_eq!((frame.width, frame.height, &frame.bytes[..]), (1, 3, &[1, 2, 3][..]));
        assert!(source.next_frame(Duration::ZERO).unwrap().is_none());
        assert_eq!(source.next_frame(Duration::ZERO).unwrap().expect("whole").seq, 2);
        assert_eq!(source.counters().damaged, 6);
        assert_eq!((source.info().width, source.info().height), (1, 3));
    }

    /// Frames that are cut short, and then no more.
    struct Cut(u64);

    impl FrameSource for Cut {
        fn info(&self) -> SourceInfo {
            Halves(0).info()
        }
        fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
            self.0 = self.0.checked_sub(1).ok_or(CaptureError::Ended)?;
            Halves(1).next_frame(timeout)
        }
    }

    #[test]
    fn a_source_of_which_nothing_can_be_turned_is_unusable() {
        let mut source = Turned::new(Cut(2), Turn { quarters: 1, mirror: false });
        assert!((0..2).all(|_| source.next_frame(Duration::ZERO).is_ok_and(|frame| frame.is_none())));
        let why = format!("{:#}", source.next_frame(Duration::ZERO).unwrap_err());
        assert!(why.contains("none of the 2 pictures can be turned") && why.contains("has 1 bytes"), "{why}");
    }

    #[test]
    fn the_size_is_that_of_the_pictures_that_come_out() {
        let clip = Synthetic::new(1, 72, 40, 30.0, 1).and_then(Synthetic::as_mjpeg).unwrap();
        let mut source = Turned::new(as_source(clip, true), Turn { quarters: 3, mirror: true });
        assert_eq!((source.info().width, source.info().height), (40, 72), "as far as is known");
        let frame = source.next_frame(Duration::from_secs(20)).unwrap().expect("the clip's first");
        let info = source.info();
        assert_eq!((info.width, info.height), (40, 64), "half a block is cut off");
        assert_eq!((frame.width, frame.height), (40, 64));
    }
}
