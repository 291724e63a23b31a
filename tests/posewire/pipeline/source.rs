//! Sources that pause, go away, or cannot be used.

use super::*;

#[test]
fn an_unplugged_camera_is_counted_once_and_its_frames_come_again() {
    let script = frames(5).chain(repeat_with(|| Event::Unplug).take(20)).chain(frames(5));
    let log = Log::default();
    let seen = log.seen.clone();
    let mut pipeline = start(Camera::new(script, FRAME, true), FAST, vec![Box::new(log)], Options::default());
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    assert_eq!((telemetry.count(Count::Losses), telemetry.count(Count::Captured)), (1, 10));
    assert_eq!(seen.lock().unwrap().last().unwrap().1, 9);
}

/// A recording that is played, with a gap in it.
struct Gap<S>(S);

impl<S: FrameSource> FrameSource for Gap<S> {
    fn info(&self) -> SourceInfo {
        self.0.info()
    }
    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        self.0.next_frame(timeout)
    }
    fn is_pausing(&self) -> bool {
        true
    }
}

#[test]
fn a_gap_in_what_is_played_is_no_loss() {
    let silence = repeat_with(|| Event::Silence).take(25);
    let source = Gap(Camera::new(frames(5).chain(silence).chain(frames(5)), FRAME, true));
    let mut pipeline = start(source, FAST, vec![Box::new(Log::default())], Options::default());
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    assert_eq!((telemetry.count(Count::Losses), telemetry.count(Count::Captured)), (0, 10));
}

/// A source that says of itself what it lost, as a camera does.
struct Outspoken {
    camera: Box<dyn FrameSource>,
    asked: u32,
    frames: u64,
}

impl FrameSource for Outspoken {
    fn info(&self) -> SourceInfo {
        self.camera.info()
    }

    /// Away at the start, then four frames of which each stands for three, then away again.
    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        self.asked += 1;
        match self.asked {
            1..=3 | 8..=10 => Ok(None),
            4..=7 => {
                self.frames += 1;
                let frame = self.camera.next_frame(timeout)?;
                Ok(frame.map(|f| Frame { seq: 3 * self.frames, ..f }))
            }
            _ => Err(CaptureError::Ended),
        }
    }

    fn is_away(&self) -> bool {
        !(4..=7).contains(&self.asked)
    }

    fn counters(&self) -> SourceCounters {
        SourceCounters { overtaken: self.frames, damaged: 2 * self.frames / 3, ..SourceCounters::default() }
    }
}

#[test]
fn what_a_source_says_of_itself_is_counted_once_and_its_absence_known_at_once() {
    let source = Outspoken { camera: Box::new(camera(4)), asked: 0, frames: 0 };
    let mut pipeline = start(source, FAST, vec![Box::new(Log::default())], Options::default());
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    let counts = [Count::Losses, Count::Captured, Count::Bad, Count::Missed].map(|c| telemetry.count(c));
    // Two numbers are missing before each frame but the first: four overtaken and two damaged frames explain all but one.
    assert_eq!(counts, [1, 4, 2, 1], "losses, captured, damaged, missed");
    assert!(telemetry.count(Count::Displaced) >= 4);
    assert!(!pipeline.shared().session.health().source_up);
}

#[test]
fn a_silent_camera_is_noticed_within_a_second_and_a_half() {
    let script = frames(2).chain(repeat_with(|| Event::Silence));
    let pipeline =
        start(Camera::new(script, FRAME, true), FAST, vec![Box::new(Log::default())], Options::default());
    let shared = pipeline.shared().clone();
    let began = Instant::now();
    while shared.telemetry().count(Count::Losses) == 0 && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
    let progress = shared.progress();
    std::thread::sleep(Duration::from_millis(400));
    assert!(shared.progress() > progress, "looking for a lost camera is progress");
}

#[test]
fn a_source_whose_frames_are_rare_is_not_lost_between_them() {
    let rare = Duration::from_millis(1_300);
    let mut pipeline = start(
        Camera::new(frames(5), rare, true),
        FAST,
        vec![Box::new(Log::default())],
        Options { frames: Some(4), lossless: false },
    );
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    assert!(telemetry.count(Count::Captured) >= 4);
    assert_eq!(telemetry.count(Count::Losses), 0);
    assert!(pipeline.shared().session.health().source_up);
}

#[test]
fn a_source_that_takes_its_time_to_begin_was_not_lost_before() {
    let silence = repeat_with(|| Event::Silence).take(14);
    let source = Camera::new(silence.chain(frames(2)), FRAME, true);
    let mut pipeline = start(source, FAST, vec![Box::new(Log::default())], Options::default());
    let shared = pipeline.shared().clone();
    std::thread::sleep(Duration::from_millis(1_150));
    let progress = shared.progress();
    assert!(pipeline.wait(LONG));
    assert!(shared.progress() > progress + 2, "waiting for a camera is progress: the watchdog does not fire");
    let telemetry = shared.telemetry();
    assert_eq!((telemetry.count(Count::Losses), telemetry.count(Count::Captured)), (0, 2));
    assert!(pipeline.shared().session.health().source_up);
}

#[test]
fn an_unusable_camera_ends_the_run_with_its_reason() {
    let script = frames(1).chain([Event::Break]);
    let mut pipeline =
        start(Camera::new(script, FRAME, true), FAST, vec![Box::new(Log::default())], Options::default());
    assert!(pipeline.wait(LONG));
    assert_eq!(pipeline.errors().len(), 1);
    assert_eq!(pipeline.errors()[0].to_string(), "capture: fake: no permission");
}
