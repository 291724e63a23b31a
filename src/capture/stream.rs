//! Bytes that come when they like (a pipe, a child process) as a source: a thread of its own reads them, so that nobody waits
//! for a writer who says nothing, and nobody falls behind one who is faster.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use latest::{Received, Receiver, Sender, Sent};

use super::clip::Clip;
use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::clock::{Clock, Monotonic};
use crate::picture::Frame;
use crate::reason::Reason;

/// Waits for whatever writes, and says what it writes.
pub type OpenClip = Box<dyn FnOnce() -> Result<Box<dyn Clip>, CaptureError> + Send>;

/// A time of light that is older than this, or not yet, is of another clock.
const OLDEST_LIGHT_US: i64 = 2_000_000;

/// How long the reading thread waits for a frame to be taken before it looks whether anybody is still there.
const TICK: Duration = Duration::from_millis(100);

/// Frames of a stream. The reading thread ends with the stream, or at the first frame after this is dropped: a read cannot be
/// called off.
pub struct Stream {
    frames: Receiver<Frame>,
    shared: Arc<Mutex<Shared>>,
}

/// What the reading thread says beside frames.
struct Shared {
    info: SourceInfo,
    /// As of [`Clip::states_rate`].
    states_rate: bool,
    counters: SourceCounters,
    /// The last frame has the time of its light, not that of its arrival.
    has_light: bool,
    /// Why there are no more frames, once there are none.
    end: Option<CaptureError>,
}

impl Stream {
    /// Live: the newest frame wins, stamped with the moment when its light fell where the stream says it, else with that when its
    /// last byte was there.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] where no thread can be started.
    pub fn live(name: &str, open: OpenClip) -> Result<Self, CaptureError> {
        Self::with_clock(name, open, Some(Box::new(Monotonic)))
    }

    /// Every frame, with the stream's own times; who writes waits.
    ///
    /// # Errors
    /// As [`Self::live`].
    pub fn complete(name: &str, open: OpenClip) -> Result<Self, CaptureError> {
        Self::with_clock(name, open, None)
    }

    fn with_clock(name: &str, open: OpenClip, arrival: Option<Box<dyn Clock>>) -> Result<Self, CaptureError> {
        let live = arrival.is_some();
        let (sender, frames) = if live { latest::newest_wins() } else { latest::rendezvous() };
        let info =
            SourceInfo { name: name.into(), width: 0, height: 0, fps: super::replay::DEFAULT_FPS, live };
        let shared = Arc::new(Mutex::new(Shared {
            info,
            states_rate: false,
            counters: SourceCounters::default(),
            has_light: false,
            end: None,
        }));
        let told = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("stream".into())
            .spawn(move || {
                let why = read(open, arrival.as_deref(), &sender, &told);
                lock(&told).end = Some(why);
                // Only now: whoever finds the slot closed asks why.
                drop(sender);
            })
            .map_err(|e| CaptureError::unusable(name, Reason::new("cannot start a thread", e)))?;
        Ok(Self { frames, shared })
    }

    /// Whether the stream says its rate itself; known from its first frame on.
    pub fn states_rate(&self) -> bool {
        lock(&self.shared).states_rate
    }

    /// Whether the frame that came last has the time of its light, rather than that of its arrival.
    pub fn has_light(&self) -> bool {
        lock(&self.shared).has_light
    }
}

/// Reads to the end, and says why it is one.
fn read(
    open: OpenClip,
    arrival: Option<&dyn Clock>,
    to: &Sender<Frame>,
    told: &Mutex<Shared>,
) -> CaptureError {
    let mut clip = match open() {
        Ok(clip) => clip,
        Err(why) => return why,
    };
    let mut last_us = i64::MIN;
    loop {
        let mut frame = match clip.next() {
            Ok(frame) => frame,
            Err(why) => return why,
        };
        let light_us = arrival.and_then(|clock| light_us(&*clip, clock.now_us()));
        if let Some(clock) = arrival {
            last_us = not_before(light_us.unwrap_or_else(|| clock.now_us()), last_us);
            frame.captured_at_us = last_us;
        }
        {
            let mut told = lock(told);
            told.has_light = light_us.is_some();
            let SourceInfo { width, height, fps, .. } = clip.info();
            told.info = SourceInfo { width, height, fps, ..told.info.clone() };
            told.states_rate = clip.states_rate();
            told.counters.damaged = clip.damaged();
        }
        loop {
            match to.send(frame, TICK) {
                Sent::Delivered => break,
                Sent::Displaced => {
                    lock(told).counters.overtaken = to.displaced();
                    break;
                }
                Sent::Timeout(again) => frame = again,
                Sent::Closed => return CaptureError::Ended,
            }
        }
    }
}

/// `at_us`, unless that is before the last frame's time: a frame's light may have fallen before the one before it arrived, of whose own
/// light nothing was known.
fn not_before(at_us: i64, last_us: i64) -> i64 {
    if at_us < last_us { last_us + 1 } else { at_us }
}

/// When the newest frame's light fell, where the stream says so by the clock that is used here.
fn light_us(clip: &dyn Clip, now_us: i64) -> Option<i64> {
    clip.light_us().filter(|light_us| (now_us - OLDEST_LIGHT_US..=now_us).contains(light_us))
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FrameSource for Stream {
    fn info(&self) -> SourceInfo {
        lock(&self.shared).info.clone()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        match self.frames.recv_timeout(timeout) {
            Received::Value(frame) => Ok(Some(frame)),
            Received::Timeout => Ok(None),
            // The thread says why before it lets go of the slot's other end; where it said nothing, it has died.
            Received::Closed => Err(lock(&self.shared).end.take().unwrap_or(CaptureError::Ended)),
        }
    }

    fn counters(&self) -> SourceCounters {
        lock(&self.shared).counters
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::time::Instant;

    use super::*;
    use crate::clock::Manual;
    use crate::picture::PixelFormat;

    /// So many frames as fast as they are taken, then nothing readable.
    struct Fast {
        count: u64,
        read: Arc<AtomicU64>,
        light_us: Option<i64>,
    }

    impl Clip for Fast {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: "fast".into(), width: 2, height: 1, fps: 60.0, live: false }
        }
        fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
            let seq = self.read.fetch_add(1, Relaxed);
            if seq == self.count {
                return Err(CaptureError::Unusable("torn".into()));
            }
            let bytes = Arc::new(vec![0; 2]);
            let captured_at_us = seq as i64 * 16_667;
            Ok(Some(Frame {
                bytes,
                format: PixelFormat::Grey,
                width: 2,
                height: 1,
                stride: 2,
                seq,
                captured_at_us,
            }))
        }
        fn damaged(&self) -> u64 {
            3
        }
        fn light_us(&self) -> Option<i64> {
            self.light_us
        }
    }

    fn fast(count: u64) -> (OpenClip, Arc<AtomicU64>) {
        let read = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&read);
        (Box::new(move || Ok(Box::new(Fast { count, read: counted, light_us: None }))), read)
    }

    fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "it never comes");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn live_the_newest_frame_wins_and_has_the_time_of_its_arrival() {
        let (open, read) = fast(40);
        let mut stream = Stream::with_clock("fast", open, Some(Box::new(Manual::at(7_000_000)))).unwrap();
        assert_eq!(stream.info().name, "fast");
        until(|| (read.load(Relaxed) > 40).then_some(()));
        let frame = stream.next_frame(Duration::from_secs(30)).unwrap().expect("a frame");
        assert_eq!((frame.seq, frame.captured_at_us), (39, 7_000_000));
        assert_eq!(stream.counters(), SourceCounters { overtaken: 39, damaged: 3, ..Default::default() });
        let SourceInfo { width, height, fps, live, .. } = stream.info();
        assert_eq!((width, height, fps, live), (2, 1, 60.0, true));
        let end = until(|| stream.next_frame(Duration::ZERO).err());
        assert_eq!(end.to_string(), "torn");
    }

    #[test]
    fn a_frame_has_the_time_of_its_light_where_it_is_told_by_the_same_clock() {
        for (told_us, expected_us) in [
            (Some(6_900_000), 6_900_000),
            (Some(7_000_001), 7_000_000),
            (Some(4_999_999), 7_000_000),
            (None, 7_000_000),
        ] {
            let open: OpenClip =
                Box::new(move || Ok(Box::new(Fast { count: 1, read: Arc::default(), light_us: told_us })));
            let clock = Box::new(Manual::at(7_000_000));
            let mut stream = Stream::with_clock("fast", open, Some(clock)).unwrap();
            let frame = until(|| stream.next_frame(TICK).unwrap());
            assert_eq!(frame.captured_at_us, expected_us, "{told_us:?}");
            assert_eq!(stream.has_light(), Some(expected_us) == told_us);
        }
    }

    #[test]
    fn a_frame_is_never_before_the_one_before_it() {
        assert_eq!([not_before(5, i64::MIN), not_before(5, 5), not_before(5, 9)], [5, 5, 10]);
    }

    #[test]
    fn complete_every_frame_comes_with_its_own_time_however_slowly_they_are_taken() {
        let (open, read) = fast(9);
        let mut stream = Stream::complete("fast", open).unwrap();
        for seq in 0..9 {
            let frame = until(|| stream.next_frame(TICK).unwrap());
            assert_eq!((frame.seq, frame.captured_at_us), (seq, seq as i64 * 16_667));
            assert!(read.load(Relaxed) <= seq + 2, "who writes waits");
        }
        assert!(until(|| stream.next_frame(TICK).err()).to_string().contains("torn"));
        assert_eq!(stream.counters().overtaken, 0);
    }

    #[test]
    fn a_stream_that_is_silent_holds_nobody_up() {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let open: OpenClip = Box::new(move || {
            let _ = held.recv();
            Err(CaptureError::Unusable("nothing came".into()))
        });
        let mut stream = Stream::live("silent", open).unwrap();
        for _ in 0..3 {
            assert!(stream.next_frame(Duration::from_millis(1)).unwrap().is_none());
        }
        drop(hold);
        assert_eq!(until(|| stream.next_frame(TICK).err()).to_string(), "nothing came");
    }
}
