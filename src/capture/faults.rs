//! Seeded faults round any source: what cables, drivers and cameras do, on purpose and repeatable.

use std::sync::Arc;
use std::time::Duration;

use turbojpeg::{Compressor, Image, Subsamp};

use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::picture::{
    Affine, BufferPool, Decoder, Frame, PixelFormat, PixelsMut, crop_resize_into, packed_stride,
};
use crate::reason::Reason;

/// Frames that a frozen camera repeats: half a second at 30 a second.
const FREEZE_FRAMES: u32 = 15;

/// Tries to open that fail after an unplug: with the back-off of [`Reopening`](super::Reopening), about a second away.
const FAILED_REOPENS: u32 = 3;

/// How often each fault happens, as a probability a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// The frame never arrives; its number is skipped.
    pub drop: f32,
    /// From here the camera repeats this picture for half a second, with rising numbers and times.
    pub freeze: f32,
    /// Bytes are changed or the end is cut off.
    pub corrupt: f32,
    /// The frame is held back until the next one is there, which then comes at once.
    pub late: f32,
    /// From here pictures have half the size, or their own again.
    pub resize: f32,
    /// The device is gone; opening it again fails a few times.
    pub unplug: f32,
    /// The same seed makes the same faults.
    pub seed: u64,
}

impl FaultPlan {
    /// The names that [`set`](Self::set) takes.
    pub const NAMES: [&'static str; 6] = ["drop", "freeze", "corrupt", "late", "resize", "unplug"];

    /// No fault at all?
    pub fn is_empty(&self) -> bool {
        Self { seed: 0, ..*self } == Self::default()
    }

    /// Sets one fault by its name.
    ///
    /// # Errors
    /// The part at fault and what is valid.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let field = match name {
            "drop" => &mut self.drop,
            "freeze" => &mut self.freeze,
            "corrupt" => &mut self.corrupt,
            "late" => &mut self.late,
            "resize" => &mut self.resize,
            "unplug" => &mut self.unplug,
            // `--inject` asks for `NAMES` first, to say which fault of the whole run is nearest: this answers other callers.
            _ => {
                return Err(format!("camera.{name}: no such fault; there are {}", Self::NAMES.join(", ")));
            }
        };
        *field = match value.parse() {
            Ok(p) if (0.0..=1.0).contains(&p) => p,
            _ => return Err(format!("camera.{name}={value}: want a probability a frame, 0 to 1")),
        };
        Ok(())
    }
}

/// A source with faults.
pub struct Faulty<S> {
    source: S,
    plan: FaultPlan,
    rng: fastrand::Rng,
    pool: BufferPool,
    decoder: Decoder,
    compressor: Compressor,
    rgb: Vec<u8>,
    held: Option<Frame>,
    /// A frame was dropped since the last one that was given.
    dropped: bool,
    frozen: Option<(Frame, u32)>,
    halved: bool,
    unplugged: Option<u32>,
    injected: u64,
}

impl<S: FrameSource> Faulty<S> {
    /// Wraps `source`. Put [`Reopening`](super::Reopening) outside, so that it answers `unplug`.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] where a fault cannot be injected into this source: what is not live has no cable
    /// to pull.
    pub fn new(source: S, plan: FaultPlan) -> Result<Self, CaptureError> {
        let info = source.info();
        if plan.unplug > 0.0 && !info.live {
            let name = info.name;
            let why = format!(
                "camera.unplug cannot be injected into {name} read frame by frame: leave out --no-drop or the fault"
            );
            return Err(CaptureError::Unusable(why.into()));
        }
        let setup = |why: Reason| CaptureError::unusable("JPEG library", why);
        let compressor = Compressor::new().map_err(|e| setup(Reason::of(e)))?;
        let decoder = Decoder::new().map_err(|e| setup(Reason::of(e)))?;
        Ok(Self {
            source,
            plan,
            rng: fastrand::Rng::with_seed(plan.seed),
            pool: BufferPool::new(),
            decoder,
            compressor,
            rgb: Vec::new(),
            held: None,
            dropped: false,
            frozen: None,
            halved: false,
            unplugged: None,
            injected: 0,
        })
    }

    fn happens(&mut self, probability: f32) -> bool {
        // One draw a question, also for those that are off: turning one fault on leaves the others where they were.
        let happens = self.rng.f32() < probability;
        self.injected += u64::from(happens);
        happens
    }

    fn corrupted(&mut self, frame: Frame) -> Frame {
        let Self { rng, pool, .. } = self;
        let filled = pool.fill(|buffer| {
            buffer.clear();
            buffer.extend_from_slice(&frame.bytes);
            if rng.bool() {
                buffer.truncate(rng.usize(0..=frame.bytes.len()));
            } else if !buffer.is_empty() {
                for _ in 0..1 + buffer.len() / 200 {
                    let at = rng.usize(0..buffer.len());
                    buffer[at] ^= rng.u8(1..);
                }
            }
            Ok::<(), std::convert::Infallible>(())
        });
        match filled {
            Ok(bytes) => Frame { bytes, ..frame },
            Err(never) => match never {},
        }
    }

    /// Half the size, RGB24 or MJPEG as the frame was; a frame that cannot be read stays as it is.
    fn half(&mut self, frame: Frame) -> Frame {
        let Ok(picture) = self.decoder.decode(&frame, 1) else { return frame };
        let (w, h) = (picture.width.div_ceil(2), picture.height.div_ceil(2));
        self.rgb.resize(3 * w * h, 0);
        let mut half =
            PixelsMut { bytes: &mut self.rgb, width: w, height: h, row_bytes: 3 * w, pixel_bytes: 3 };
        crop_resize_into(&picture, &Affine::scale_then_shift(2.0, 2.0, 0.0, 0.0), &mut half, [0; 3]);
        let was_mjpeg = frame.format == PixelFormat::Mjpeg;
        let bytes = if was_mjpeg {
            let format = turbojpeg::PixelFormat::RGB;
            let image = Image { pixels: &self.rgb[..], width: w, pitch: 3 * w, height: h, format };
            let encoded = self
                .compressor
                .set_subsamp(Subsamp::Sub2x2)
                .and_then(|()| self.compressor.compress_to_vec(image));
            let Ok(encoded) = encoded else { return frame };
            Arc::new(encoded)
        } else {
            self.pool.copy(&self.rgb)
        };
        let format = if was_mjpeg { PixelFormat::Mjpeg } else { PixelFormat::Rgb24 };
        let stride = packed_stride(format, w) as u32;
        Frame { bytes, format, width: w as u32, height: h as u32, stride, ..frame }
    }
}

impl<S: FrameSource> FrameSource for Faulty<S> {
    fn inner(&self) -> Option<&dyn FrameSource> {
        Some(&self.source)
    }

    fn info(&self) -> SourceInfo {
        let info = self.source.info();
        SourceInfo { name: format!("{} with injected faults", info.name), ..info }
    }

    /// A gap that a dropped frame makes is not the recording's own.
    fn is_pausing(&self) -> bool {
        !self.dropped && self.source.is_pausing()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        if self.unplugged.is_some() {
            return Err(CaptureError::Lost {
                device: self.source.info().name,
                reason: "unplug injected".into(),
            });
        }
        if let Some(frame) = self.held.take() {
            return Ok(Some(frame));
        }
        let Some(mut frame) = self.source.next_frame(timeout)? else { return Ok(None) };
        let [unplug, drop, freeze, resize, corrupt, late] = [
            self.plan.unplug,
            self.plan.drop,
            self.plan.freeze,
            self.plan.resize,
            self.plan.corrupt,
            self.plan.late,
        ]
        .map(|p| self.happens(p));
        if unplug {
            self.unplugged = Some(FAILED_REOPENS);
            return self.next_frame(timeout);
        }
        self.dropped = drop;
        if drop {
            return Ok(None);
        }
        match &mut self.frozen {
            Some((picture, left)) if *left > 0 => {
                *left -= 1;
                frame = Frame { seq: frame.seq, captured_at_us: frame.captured_at_us, ..picture.clone() };
            }
            _ => self.frozen = freeze.then(|| (frame.clone(), FREEZE_FRAMES)),
        }
        self.halved ^= resize;
        if self.halved {
            frame = self.half(frame);
        }
        if corrupt {
            frame = self.corrupted(frame);
        }
        if late && let Ok(Some(next)) = self.source.next_frame(timeout) {
            self.held = Some(next);
        }
        Ok(Some(frame))
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        match &mut self.unplugged {
            None => self.source.reopen(),
            Some(0) => {
                self.unplugged = None;
                Ok(())
            }
            Some(left) => {
                *left -= 1;
                Err(CaptureError::Lost { device: self.source.info().name, reason: "still unplugged".into() })
            }
        }
    }

    fn counters(&self) -> SourceCounters {
        SourceCounters { injected: self.injected, ..self.source.counters() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Reopening;
    use crate::capture::clip::{EveryFrame, RealTime};
    use crate::capture::synthetic::Synthetic;
    use crate::clock::{Clock, Manual, Monotonic};
    use crate::picture::Decoder;

    fn clip(frames: u64) -> Synthetic {
        Synthetic::new(1, 64, 48, 240.0, 5).and_then(Synthetic::as_mjpeg).expect("valid").frames(Some(frames))
    }

    /// `drop=0.1,seed=3`.
    fn plan(text: &str) -> Result<FaultPlan, String> {
        let mut plan = FaultPlan::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=').expect("a pair") {
                ("seed", seed) => plan.seed = seed.parse().expect("a number"),
                (name, value) => plan.set(name, value)?,
            }
        }
        Ok(plan)
    }

    fn run(text: &str) -> (Vec<Frame>, SourceCounters) {
        let plan = plan(text).expect("valid");
        let mut source = Faulty::new(EveryFrame(clip(200)), plan).expect("supported");
        let mut frames = Vec::new();
        loop {
            match source.next_frame(Duration::ZERO) {
                Ok(frame) => frames.extend(frame),
                Err(CaptureError::Ended) => return (frames, source.counters()),
                Err(e) => panic!("{e}"),
            }
        }
    }

    #[test]
    fn without_faults_nothing_changes_and_the_same_seed_makes_the_same_faults() {
        let (plain, counters) = run("");
        assert_eq!((plain.len(), counters.injected), (200, 0));
        let key = |(frames, _): &(Vec<Frame>, SourceCounters)| {
            frames.iter().map(|f| (f.seq, f.bytes.to_vec())).collect::<Vec<_>>()
        };
        let some = "drop=0.1,corrupt=0.1,late=0.1,resize=0.1,freeze=0.02,seed=";
        assert_eq!(key(&run(&format!("{some}3"))), key(&run(&format!("{some}3"))));
        assert_ne!(key(&run(&format!("{some}3"))), key(&run(&format!("{some}4"))));
    }

    #[test]
    fn each_fault_does_what_it_says() {
        let (frames, counters) = run("drop=0.25");
        assert_eq!(frames.len() as u64 + counters.injected, 200);
        assert!((20..90).contains(&counters.injected), "{counters:?}");
        assert!(frames.windows(2).all(|w| w[0].seq < w[1].seq));

        let (frames, _) = run("freeze=0.02");
        let same = frames.windows(2).filter(|w| w[0].bytes == w[1].bytes).count();
        assert!(same >= FREEZE_FRAMES as usize && frames.len() == 200, "{same} repeats");

        let mut decoder = Decoder::new().expect("sets up");
        let (frames, counters) = run("corrupt=0.3");
        let broken = frames.iter().filter(|f| decoder.decode(f, 1).is_err()).count() as u64;
        assert!(broken > 5 && broken <= counters.injected, "{broken} of {counters:?}");

        let (frames, _) = run("resize=0.05");
        let sizes: Vec<_> =
            frames.iter().filter_map(|f| decoder.decode(f, 1).ok().map(|p| (p.width, p.height))).collect();
        assert_eq!(sizes.len(), 200);
        assert!(sizes.contains(&(64, 48)) && sizes.contains(&(32, 24)), "{sizes:?}");

        let (frames, _) = run("late=0.2");
        assert_eq!(frames.len(), 200);
    }

    #[test]
    fn an_unplugged_device_comes_back_with_rising_numbers_and_time() {
        let plan = plan("unplug=0.02,seed=2").expect("valid");
        let live = RealTime::new(clip(400), Monotonic);
        let mut source = Reopening::new(Faulty::new(live, plan).expect("live"));
        let (mut last, mut frames) = (None, 0);
        loop {
            match source.next_frame(Duration::from_millis(100)) {
                Ok(Some(frame)) => {
                    assert!(last.is_none_or(|l| l < (frame.seq, frame.captured_at_us)));
                    last = Some((frame.seq, frame.captured_at_us));
                    frames += 1;
                }
                Ok(None) => {}
                Err(CaptureError::Ended) => break,
                Err(e) => panic!("must be kept inside: {e}"),
            }
        }
        assert!(source.counters().lost >= 1 && frames > 10, "{:?}, {frames} frames", source.counters());
    }

    struct Shared(&'static Manual);

    impl Clock for Shared {
        fn now_us(&self) -> i64 {
            self.0.now_us()
        }
    }

    #[test]
    fn a_dropped_frame_is_no_pause_of_the_recording_and_a_gap_of_its_own_is() {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(0)));
        let faulty = Faulty::new(RealTime::new(clip(400), Shared(clock)), FaultPlan::default());
        let mut source = faulty.expect("live");
        let mut ask = |drop: f32, now_us: i64| {
            source.plan.drop = drop;
            clock.set(now_us);
            let frame = source.next_frame(Duration::ZERO).expect("goes on");
            (frame.is_some(), source.is_pausing())
        };
        assert_eq!(ask(0.0, 0), (true, true));
        assert_eq!(ask(0.0, 1_000), (false, true), "the recording's own gap");
        assert_eq!(ask(1.0, 5_000), (false, false), "dropped");
        assert_eq!(ask(1.0, 6_000), (false, false), "nothing due, and the last one is still missing");
        assert_eq!(ask(0.0, 9_000), (true, true));
        assert_eq!(ask(0.0, 9_000), (false, true));
    }

    #[test]
    fn what_cannot_be_injected_is_refused_with_the_reason() {
        let refused = |text: &str| plan(text).err().unwrap_or_default();
        assert!(refused("stall=0.1").contains("no such fault; there are drop, freeze"));
        assert!(refused("drop=2").contains("0 to 1"));
        let plan = FaultPlan { unplug: 0.1, ..FaultPlan::default() };
        let e = Faulty::new(EveryFrame(clip(1)), plan).err().map(|e| format!("{e:#}")).unwrap_or_default();
        assert!(e.contains("camera.unplug cannot be injected into synthetic"), "{e}");
    }
}
