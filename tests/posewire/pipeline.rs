//! The pipeline's promises, shown with stand-ins for the stages.

use std::iter::repeat_with;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pose::PoseFrame;
use posewire::capture::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use posewire::clock::Monotonic;
use posewire::output::{Host, PoseSink, Sending, SinkError};
use posewire::picture::Frame;
use posewire::pipeline::{Options, Parts, Pipeline, PipelineError, PoseTracker, Session, SourceKind};
use posewire::telemetry::{Count, Stage, Telemetry};
use posewire::tracker::TrackError;

use super::fakes::{Camera, Event, Log, OnePerson, start};

mod rate;
mod source;

const FRAME: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_secs(60);

fn frames(n: usize) -> impl Iterator<Item = Event> + Send {
    repeat_with(|| Event::Frame).take(n)
}

fn camera(n: usize) -> impl FrameSource {
    Camera::new(frames(n), FRAME, true)
}

fn file(n: usize) -> impl FrameSource {
    Camera::new(frames(n), Duration::ZERO, false)
}

const FAST: OnePerson = OnePerson::new(Duration::ZERO);
const LOSSLESS: Options = Options { frames: None, lossless: true };

#[test]
fn without_loss_every_frame_arrives_in_order_at_its_own_time() {
    let run = || {
        let (a, b) = (Log { takes: Duration::from_micros(300), ..Log::default() }, Log::default());
        let (seen_a, seen_b) = (a.seen.clone(), b.seen.clone());
        let mut pipeline = start(file(200), FAST, vec![Box::new(a), Box::new(b)], LOSSLESS);
        assert!(pipeline.wait(LONG));
        assert!(pipeline.errors().is_empty());
        assert_eq!(*seen_a.lock().unwrap(), *seen_b.lock().unwrap());
        seen_a.lock().unwrap().clone()
    };
    let seen = run();
    let expected: Vec<_> = (0..200).map(|i| (i, i, i as i64 * 33_333)).collect();
    assert_eq!(seen, expected);
    assert_eq!(run(), seen);
}

/// While models load or a network works, sinks are asked for heartbeats: never at another time than their frames'.
#[test]
fn without_loss_a_sink_hears_of_no_time_but_its_frames() {
    let log = Log::default();
    let idle_at = log.idle_at_us.clone();
    let tracker = OnePerson::new(Duration::from_millis(250));
    let mut pipeline = start(file(4), tracker, vec![Box::new(log)], LOSSLESS);
    assert!(pipeline.wait(LONG));
    let idle_at = idle_at.lock().unwrap();
    assert!(!idle_at.is_empty(), "a quarter of a second without poses");
    assert!(idle_at.iter().all(|us| us % 33_333 == 0 && *us < 4 * 33_333), "{idle_at:?}");
}

#[test]
fn the_last_frame_of_a_file_is_delivered_even_where_others_are_dropped() {
    let log = Log { takes: Duration::from_millis(5), ..Log::default() };
    let (seen, finished) = (log.seen.clone(), log.finished.clone());
    let mut pipeline = start(file(500), FAST, vec![Box::new(log)], Options::default());
    assert!(pipeline.wait(LONG));
    assert_eq!(seen.lock().unwrap().last().unwrap().1, 499);
    assert!(finished.load(Ordering::Acquire));
}

#[test]
fn a_number_of_frames_is_kept_to() {
    let log = Log::default();
    let seen = log.seen.clone();
    let mut pipeline =
        start(file(100), FAST, vec![Box::new(log)], Options { frames: Some(7), lossless: true });
    assert!(pipeline.wait(LONG));
    assert_eq!(seen.lock().unwrap().len(), 7);
}

#[test]
fn a_damaged_frame_is_skipped_and_counted() {
    let log = Log::default();
    let seen = log.seen.clone();
    let tracker = OnePerson { damaged: |seq| seq % 3 == 1, ..OnePerson::new(Duration::ZERO) };
    let mut pipeline = start(file(9), tracker, vec![Box::new(log)], LOSSLESS);
    assert!(pipeline.wait(LONG));
    let frames: Vec<_> = seen.lock().unwrap().iter().map(|s| s.1).collect();
    assert_eq!(frames, [0, 2, 3, 5, 6, 8]);
    assert_eq!(pipeline.shared().telemetry().count(Count::Bad), 3);
}

/// A display that takes ten frame times a picture costs the fast sink and the networks nothing.
#[test]
fn a_slow_sink_delays_nobody_else() {
    let slow = Log { takes: 10 * FRAME, ..Log::default() };
    let fast = Log::default();
    let (slow_seen, fast_seen) = (slow.seen.clone(), fast.seen.clone());
    let mut pipeline = start(camera(100), FAST, vec![Box::new(slow), Box::new(fast)], Options::default());
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    let (slow, fast) = (slow_seen.lock().unwrap().len() as u64, fast_seen.lock().unwrap().len() as u64);
    assert_eq!(telemetry.count(Count::Captured), 100);
    // What the busy machine displaces is not the slow sink's doing, so the two are compared with each other.
    assert!(fast > 3 * slow, "fast {fast}, slow {slow}");
    assert_eq!(
        fast + slow + telemetry.count(Count::Unsent),
        2 * telemetry.count(Count::Processed),
        "every pose is sent or counted"
    );
}

#[test]
fn poses_that_a_sink_could_not_send_are_counted_and_have_no_age() {
    let busy = Log { comes_to: Sending::LeftOut, ..Log::default() };
    let slow_line = Log { comes_to: Sending::NotDue, ..Log::default() };
    let mut pipeline = start(file(20), FAST, vec![Box::new(busy), Box::new(slow_line)], LOSSLESS);
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    assert_eq!((telemetry.count(Count::Sent), telemetry.count(Count::Unsent)), (0, 20));
    assert_eq!(telemetry.times(Stage::Overhead).count, 0);
}

/// A tracker that counts how often it is to forget whom it knows.
struct Forgetful {
    tracker: OnePerson,
    resets: Arc<AtomicU32>,
}

impl PoseTracker for Forgetful {
    fn track(&mut self, frame: &Frame, telemetry: &Telemetry) -> Result<PoseFrame, TrackError> {
        self.tracker.track(frame, telemetry)
    }

    fn reset(&mut self) {
        self.resets.fetch_add(1, Ordering::Relaxed);
    }
}

/// How often the tracker is to forget in ten frames of this session.
fn resets_in(session: Session) -> u32 {
    let resets = Arc::new(AtomicU32::new(0));
    let tracker = Forgetful { tracker: FAST, resets: resets.clone() };
    let parts = Parts {
        source: Box::new(|| Ok(Box::new(file(10)))),
        tracker: Box::new(|| Ok(Box::new(tracker))),
        sinks: vec![Box::new(Log::default())],
        clock: Arc::new(Monotonic),
        session: Arc::new(session),
    };
    assert!(Pipeline::start(parts, LOSSLESS).unwrap().wait(LONG));
    resets.load(Ordering::Relaxed)
}

#[test]
fn whoever_was_seen_in_the_built_in_clip_is_forgotten_once_when_the_camera_comes() {
    for (first_of_camera, expected) in [(None, 0), (Some(5), 1)] {
        let session = Session::default();
        session.source.set_kind(SourceKind::BuiltIn);
        if let Some(first) = first_of_camera {
            session.source.give_way(first);
        }
        assert_eq!(resets_in(session), expected);
    }
}

#[test]
fn a_reset_that_a_consumer_asked_for_reaches_the_tracker_once() {
    let session = Session::default();
    Host::reset(&session);
    assert_eq!(resets_in(session), 1);
}

/// Capture goes on at the camera's pace while a sink is stuck in one call for a whole second.
#[test]
fn a_stuck_sink_never_delays_capture_by_more_than_a_frame() {
    let stuck = Log { blocks: Duration::from_secs(1), ..Log::default() };
    let began = Instant::now();
    let mut pipeline = start(camera(50), FAST, vec![Box::new(stuck)], Options::default());
    let shared = pipeline.shared().clone();
    while shared.telemetry().count(Count::Captured) < 50 && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(1));
    }
    let took = began.elapsed();
    // 49 periods; the busy machine may add to them, a stuck sink would add a second or more.
    assert!(took < 50 * FRAME + Duration::from_millis(450), "{took:?}");
    assert!(pipeline.wait(LONG));
}

/// A camera that notes how late it is asked for each frame.
struct Punctual<S> {
    camera: S,
    period: Duration,
    due: Option<Instant>,
    latest: Arc<Mutex<Duration>>,
}

impl<S: FrameSource> FrameSource for Punctual<S> {
    fn info(&self) -> SourceInfo {
        self.camera.info()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let now = Instant::now();
        // Asked again before the frame is due is in time.
        let late = self.due.map_or(Duration::ZERO, |due| now.saturating_duration_since(due));
        let mut latest = self.latest.lock().unwrap();
        *latest = late.max(*latest);
        drop(latest);
        let frame = self.camera.next_frame(timeout)?;
        if frame.is_some() {
            self.due = Some(Instant::now() + self.period);
        }
        Ok(frame)
    }
}

/// A port whose reader has stopped, and a display that takes four frames' time for one: capture is never late by a frame.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_stops_and_a_slow_display_never_delay_capture_by_a_frame() {
    use posewire::output::Predict;
    use posewire::output::serial::{PortSpec, Serial, SerialOptions};

    const PERIOD: Duration = Duration::from_millis(200);
    let pty = super::pty::Pty::open();
    let options = SerialOptions {
        port: PortSpec { path: pty.path.clone(), baud: 921_600, rtscts: false },
        predict: Predict::Now,
        // Fills the terminal's buffer within the first frames.
        rate_hz: Some(200.0),
        nominal_fps: 5.0,
        max_persons: 1,
        with_3d: false,
        with_place: false,
        events: None,
    };
    let serial = Serial::open(options, Arc::new(Session::default())).unwrap();
    let display = Log { takes: 4 * PERIOD, ..Log::default() };
    let latest = Arc::new(Mutex::new(Duration::ZERO));
    let source = Punctual {
        camera: Camera::new(frames(15), PERIOD, true),
        period: PERIOD,
        due: None,
        latest: latest.clone(),
    };
    let mut pipeline = start(source, FAST, vec![Box::new(serial), Box::new(display)], Options::default());
    assert!(pipeline.wait(LONG));
    assert_eq!(pipeline.shared().telemetry().count(Count::Captured), 15);
    let latest = *latest.lock().unwrap();
    assert!(latest < PERIOD, "asked {latest:?} after a frame was there");
}

#[test]
fn a_slow_network_works_on_the_newest_frame() {
    let log = Log::default();
    let seen = log.seen.clone();
    let tracker = OnePerson::new(4 * FRAME);
    let mut pipeline = start(camera(60), tracker, vec![Box::new(log)], Options::default());
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    assert_eq!(telemetry.count(Count::Captured), 60);
    assert_eq!(telemetry.count(Count::Processed) + telemetry.count(Count::Displaced), 60);
    assert!(telemetry.count(Count::Displaced) > 30);
    assert_eq!(seen.lock().unwrap().last().unwrap().1, 59);
}

#[test]
fn a_sink_that_fails_for_good_ends_alone_and_the_run_ends_with_the_last_sink() {
    let broken = Log { fails: Some(|| SinkError::Fatal("disk full".into())), ..Log::default() };
    let good = Log::default();
    let seen = good.seen.clone();
    let mut pipeline = start(file(50), FAST, vec![Box::new(broken), Box::new(good)], LOSSLESS);
    assert!(pipeline.wait(LONG));
    assert_eq!(seen.lock().unwrap().len(), 50);
    assert!(pipeline.errors()[0].to_string().contains("disk full"));

    let broken = Log { fails: Some(|| SinkError::Fatal("disk full".into())), ..Log::default() };
    let endless = Camera::new(repeat_with(|| Event::Frame), FRAME, true);
    let mut pipeline = start(endless, FAST, vec![Box::new(broken)], Options::default());
    assert!(pipeline.wait(LONG), "without a sink there is nothing left to do");
}

/// A bug may have left anything behind: only a new start is known to be whole.
#[test]
fn a_sink_that_panics_ends_the_run_whatever_other_sinks_there_are() {
    let broken = Log { fails: Some(|| panic!("a bug in a sink")), ..Log::default() };
    let endless = Camera::new(repeat_with(|| Event::Frame), FRAME, true);
    let sinks: Vec<Box<dyn PoseSink>> = vec![Box::new(broken), Box::new(Log::default())];
    let mut pipeline = start(endless, FAST, sinks, Options::default());
    assert!(pipeline.wait(Duration::from_secs(10)), "{:?} go on", pipeline.running().collect::<Vec<_>>());
    assert!(matches!(pipeline.errors(), [PipelineError::Panicked { thread }] if thread == "sink-0 log"));
}

#[test]
fn a_sink_whose_reader_has_had_enough_is_no_error() {
    let closed = Log { fails: Some(|| SinkError::Closed("the reader is gone".into())), ..Log::default() };
    let endless = Camera::new(repeat_with(|| Event::Frame), FRAME, true);
    let mut pipeline = start(endless, FAST, vec![Box::new(closed)], Options::default());
    assert!(pipeline.wait(LONG));
    assert!(pipeline.errors().is_empty());
}
