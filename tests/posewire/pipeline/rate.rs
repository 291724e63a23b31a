//! Sinks at a rate of their own.

use super::*;

#[test]
fn a_sink_at_a_rate_of_its_own_watches_the_frames_that_it_is_not_sent() {
    let log = Log { period: Some(Duration::from_secs(100)), ..Log::default() };
    let (seen, watched) = (log.seen.clone(), log.watched.clone());
    let mut pipeline = start(camera(50), FAST, vec![Box::new(log)], Options::default());
    assert!(pipeline.wait(LONG));
    let telemetry = pipeline.shared().telemetry();
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert_eq!(
        watched.load(Ordering::Relaxed) + telemetry.count(Count::Unsent),
        telemetry.count(Count::Processed)
    );
    assert!(watched.load(Ordering::Relaxed) > 10);
}

/// A sink whose consumer changes its mind: after its first poses it wants none for minutes, then a hundred a second; between the two
/// every frame, for `unasked`.
struct Fickle {
    log: Log,
    began: Instant,
    unasked: Duration,
}

impl PoseSink for Fickle {
    fn name(&self) -> &str {
        "fickle"
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        self.log.send(poses, now_us)
    }

    fn period(&self) -> Option<Duration> {
        const SLOW: Duration = Duration::from_millis(300);
        match self.began.elapsed() {
            early if early < SLOW => Some(Duration::from_secs(100)),
            between if between < SLOW + self.unasked => None,
            _ => Some(FRAME),
        }
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        self.log.finish(within)
    }
}

#[test]
fn a_rate_that_is_raised_holds_at_once() {
    let sink = Fickle { log: Log::default(), began: Instant::now(), unasked: Duration::ZERO };
    let seen = sink.log.seen.clone();
    let mut pipeline = start(camera(100), FAST, vec![Box::new(sink)], Options::default());
    assert!(pipeline.wait(LONG));
    let seen = seen.lock().unwrap().len();
    // 70 beats are left of the second; a busy machine misses some of them.
    assert!((15..=75).contains(&seen), "{seen}");
}

/// What waits for a beat when the consumer ceases to ask for a rate is not sent with the first beat of the next rate.
#[test]
fn a_rate_that_is_asked_for_again_brings_no_poses_of_before() {
    let sink = Fickle { log: Log::default(), began: Instant::now(), unasked: Duration::from_millis(400) };
    let seen = sink.log.seen.clone();
    let mut pipeline = start(camera(100), FAST, vec![Box::new(sink)], Options::default());
    assert!(pipeline.wait(LONG));
    let frames: Vec<_> = seen.lock().unwrap().iter().map(|s| s.1).collect();
    assert!(frames.len() > 10 && frames.is_sorted(), "{frames:?}");
}

/// A sink with a rate of its own gets poses between frames, and none once they are stale.
#[test]
fn a_sink_with_its_own_rate_is_served_between_frames_but_not_with_stale_poses() {
    let log = Log { period: Some(Duration::from_millis(20)), ..Log::default() };
    let (seen, idle_at) = (log.seen.clone(), log.idle_at_us.clone());
    let period = Duration::from_millis(200);
    let script = frames(3).chain(repeat_with(|| Event::Silence).take(12));
    let mut pipeline =
        start(Camera::new(script, period, true), FAST, vec![Box::new(log)], Options::default());
    assert!(pipeline.wait(LONG));
    let seen = seen.lock().unwrap();
    // 3 frames 200 ms apart and 500 ms after the last: 45 beats of 20 ms; a busy machine misses some.
    assert!((15..=48).contains(&seen.len()), "{} sent", seen.len());
    assert!(seen.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].2 < w[1].2), "in order of time");
    assert!(!idle_at.lock().unwrap().is_empty(), "asked for heartbeats while there was nothing to send");
}

/// A board on which a network takes longer than poses are repeated still sends each of them, once.
#[test]
fn a_sink_with_its_own_rate_gets_the_poses_of_a_network_that_takes_longer_than_they_are_repeated() {
    let log = Log { period: Some(Duration::from_millis(20)), ..Log::default() };
    let seen = log.seen.clone();
    // Silence after the frames: the end of the source must not come before the last beat.
    let script = frames(2).chain(repeat_with(|| Event::Silence).take(8));
    let tracker = OnePerson::new(Duration::from_millis(550));
    let mut pipeline =
        start(Camera::new(script, 60 * FRAME, true), tracker, vec![Box::new(log)], Options::default());
    assert!(pipeline.wait(LONG));
    let frames: Vec<_> = seen.lock().unwrap().iter().map(|s| s.1).collect();
    assert_eq!(frames, [0, 1]);
}
