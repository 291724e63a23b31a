//! Being asked to end: within 500 ms, with complete files, in every state.

use std::iter::repeat_with;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use posewire::clock::Monotonic;
use posewire::output::SinkError;
use posewire::pipeline::supervisor::{NoNotify, Outcome, STOP_WITHIN, supervise};
use posewire::pipeline::{Options, Parts, Pipeline};

use super::fakes::{Camera, Event, Log, OnePerson, start};

const FRAME: Duration = Duration::from_millis(10);
/// What a machine that does other things may add.
const GRACE: Duration = Duration::from_millis(150);
const FAST: OnePerson = OnePerson::new(Duration::ZERO);

/// Lets `pipeline` run, then stops it as a signal does; how long the end took, and how it was.
fn stopped(pipeline: Pipeline) -> (Duration, Outcome) {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = {
        let stop = stop.clone();
        spawn(move || {
            sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Release);
            Instant::now()
        })
    };
    let outcome = supervise(pipeline, &stop, None, &mut NoNotify);
    (asked.join().unwrap().elapsed(), outcome)
}

fn endless(event: fn() -> Event) -> Camera<impl Iterator<Item = Event> + Send> {
    Camera::new(repeat_with(event), FRAME, true)
}

fn assert_ends_clean(state: &str, pipeline: Pipeline, finished: &AtomicBool) {
    let (took, outcome) = stopped(pipeline);
    assert!(took < STOP_WITHIN + GRACE, "{state}: {took:?}");
    assert!(outcome.stuck.is_empty() && outcome.errors.is_empty(), "{state}: {outcome:?}");
    assert!(finished.load(Ordering::Acquire), "{state}: the sink's file is not complete");
}

#[test]
fn it_ends_in_time_in_every_state_of_the_source() {
    for (state, event) in [
        ("running", (|| Event::Frame) as fn() -> Event),
        ("silent", || Event::Silence),
        ("lost", || Event::Unplug),
    ] {
        let log = Log::default();
        let finished = log.finished.clone();
        let pipeline = start(endless(event), FAST, vec![Box::new(log)], Options::default());
        assert_ends_clean(state, pipeline, &finished);
    }
}

#[test]
fn it_ends_in_time_while_sinks_are_slow_failing_or_waiting_for_their_beat() {
    let slow = Log { takes: Duration::from_millis(150), ..Log::default() };
    let failing = Log { fails: Some(|| SinkError::Retry("port is away".into())), ..Log::default() };
    let paced = Log { period: Some(Duration::from_secs(20)), ..Log::default() };
    for (state, log) in [("slow", slow), ("failing", failing), ("paced", paced)] {
        let finished = log.finished.clone();
        let pipeline = start(endless(|| Event::Frame), FAST, vec![Box::new(log)], Options::default());
        assert_ends_clean(state, pipeline, &finished);
    }
}

#[test]
fn it_ends_in_time_in_the_middle_of_a_rendezvous() {
    let slow = Log { takes: Duration::from_millis(200), ..Log::default() };
    let finished = slow.finished.clone();
    let options = Options { lossless: true, frames: None };
    let pipeline = start(
        Camera::new(repeat_with(|| Event::Frame), Duration::ZERO, false),
        FAST,
        vec![Box::new(slow)],
        options,
    );
    assert_ends_clean("rendezvous", pipeline, &finished);
}

/// Models that load for a second do not keep a signal waiting, and the sinks still finish.
#[test]
fn it_ends_in_time_while_starting() {
    let log = Log::default();
    let finished = log.finished.clone();
    let parts = Parts {
        source: Box::new(|| {
            sleep(Duration::from_secs(2));
            Ok(Box::new(endless(|| Event::Frame)))
        }),
        tracker: Box::new(|| {
            sleep(Duration::from_secs(2));
            Ok(Box::new(FAST))
        }),
        sinks: vec![Box::new(log)],
        clock: Arc::new(Monotonic),
        session: Arc::default(),
    };
    let (took, outcome) = stopped(Pipeline::start(parts, Options::default()).unwrap());
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
    assert_eq!(outcome.stuck, ["infer", "capture"]);
    assert!(finished.load(Ordering::Acquire));
}

/// A thread that a driver holds is named and left behind; the others end properly.
#[test]
fn a_sink_held_by_its_driver_is_left_behind_by_name() {
    let held = Log { blocks: Duration::from_secs(3), ..Log::default() };
    let good = Log::default();
    let finished = good.finished.clone();
    let pipeline =
        start(endless(|| Event::Frame), FAST, vec![Box::new(held), Box::new(good)], Options::default());
    let (took, outcome) = stopped(pipeline);
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
    assert_eq!(outcome.stuck, ["sink-0 log"]);
    assert!(finished.load(Ordering::Acquire));
}

#[cfg(unix)]
mod binary;
