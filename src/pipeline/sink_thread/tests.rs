use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use pose::PoseFrame;

use super::super::Options;
use super::*;
use crate::clock::{Manual, Monotonic};

/// A sink that has nothing to do between frames.
struct Plain;

impl PoseSink for Plain {
    fn name(&self) -> &str {
        "plain"
    }
    fn send(&mut self, _: &PoseFrame, _: i64) -> Result<Sending, SinkError> {
        Ok(Sending::Sent)
    }
    fn finish(&mut self, _: Duration) -> Result<(), SinkError> {
        Ok(())
    }
}

/// A line that one moment keeps busy for this long, microseconds, and what went onto it: frame and time.
struct Busy {
    for_us: i64,
    free_at_us: i64,
    sent: Vec<(u64, i64)>,
}

impl Busy {
    const fn new(for_us: i64, free_at_us: i64) -> Self {
        Self { for_us, free_at_us, sent: Vec::new() }
    }
}

impl PoseSink for Busy {
    fn name(&self) -> &str {
        "busy"
    }
    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        if now_us < self.free_at_us {
            return Ok(Sending::NotYet { until_us: self.free_at_us, is_missed: true });
        }
        self.free_at_us = now_us + self.for_us;
        self.sent.push((poses.frame, now_us));
        Ok(Sending::Sent)
    }
    fn finish(&mut self, _: Duration) -> Result<(), SinkError> {
        Ok(())
    }
}

fn shared(lossless: bool) -> Shared {
    Shared {
        session: Arc::default(),
        clock: Arc::new(Monotonic),
        options: Options { lossless, ..Options::default() },
        stop: AtomicBool::new(false),
        tracker_ready: AtomicBool::new(false),
        searches: AtomicU64::new(0),
    }
}

fn delivery(frame: u64, captured_at_us: i64) -> Delivery {
    let poses = PoseFrame {
        seq: frame,
        frame,
        captured_at_us,
        width: 640,
        height: 480,
        persons: [None; pose::MAX_PERSONS],
        floor: None,
    };
    Delivery { poses, handed_over_at_us: captured_at_us, own_us: 0 }
}

#[test]
fn without_loss_a_busy_line_takes_the_newest_frame_when_it_is_free_by_the_frames_time() {
    let shared = shared(true);
    let mut sink = Busy::new(48_000, 0);
    let (sender, receiver) = latest::rendezvous();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            for i in 0..7 {
                sender.send(delivery(i, i as i64 * 33_333), Duration::from_secs(60));
            }
        });
        Outlet::new(&mut sink, &shared).drain(&receiver);
    });
    assert_eq!(sink.sent, [(0, 0), (1, 48_000), (2, 96_000), (4, 144_000), (5, 192_000), (6, 240_000)]);
    let count = |what| shared.telemetry().count(what);
    assert_eq!((count(Count::Sent), count(Count::Unsent)), (6, 1), "the fourth found no room");
}

#[test]
fn poses_that_wait_for_a_busy_line_go_when_it_is_free_without_a_newer_frame() {
    let shared = shared(false);
    let captured_at_us = shared.clock.now_us();
    let free_at_us = captured_at_us + 30_000;
    let mut sink = Busy::new(0, free_at_us);
    let (sender, receiver) = latest::newest_wins();
    std::thread::scope(|threads| {
        let shared = &shared;
        threads.spawn(move || {
            sender.send(delivery(5, captured_at_us), Duration::ZERO);
            let began = Instant::now();
            while shared.telemetry().count(Count::Sent) == 0 && began.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Outlet::new(&mut sink, shared).drain(&receiver);
    });
    assert!(matches!(sink.sent[..], [(5, at_us)] if at_us >= free_at_us), "{:?}", sink.sent);
    let times = |stage| shared.telemetry().times(stage).count;
    assert_eq!(shared.telemetry().count(Count::Unsent), 0);
    assert_eq!((times(Stage::CaptureToSent), times(Stage::Overhead)), (1, 0), "the line's time is not ours");
}

/// Sends ten times a second. What comes after the first poses finds the clock later when it waits for its beat.
struct Beating {
    clock: Arc<Manual>,
    watched: u32,
}

impl PoseSink for Beating {
    fn name(&self) -> &str {
        "beating"
    }
    fn period(&self) -> Option<Duration> {
        if self.watched == 2 {
            self.clock.set(90_000);
        }
        Some(Duration::from_millis(100))
    }
    fn watch(&mut self, _: &PoseFrame) {
        self.watched += 1;
    }
    fn send(&mut self, _: &PoseFrame, _: i64) -> Result<Sending, SinkError> {
        Ok(Sending::Sent)
    }
    fn finish(&mut self, _: Duration) -> Result<(), SinkError> {
        Ok(())
    }
}

#[test]
fn the_wait_for_a_sinks_own_beat_is_none_of_our_time() {
    let clock = Arc::new(Manual::at(0));
    let shared = Shared { clock: clock.clone(), ..shared(false) };
    let mut sink = Beating { clock, watched: 0 };
    let (sender, receiver) = latest::newest_wins();
    std::thread::scope(|threads| {
        let overheads = || shared.telemetry().times(Stage::Overhead).count;
        threads.spawn(move || {
            let began = Instant::now();
            for i in 0..2 {
                sender.send(delivery(i, 0), Duration::ZERO);
                while overheads() == i && began.elapsed() < Duration::from_secs(30) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Outlet::new(&mut sink, &shared).drain(&receiver);
    });
    let overhead = shared.telemetry().times(Stage::Overhead);
    assert_eq!((overhead.count, overhead.max_ns), (2, 0));
}

#[test]
fn what_cannot_send_works_again_once_it_sends_and_not_between_frames() {
    let shared = shared(false);
    let mut sink = Plain;
    let mut outlet = Outlet::new(&mut sink, &shared);
    let mut errors_after = |call, works: bool| {
        let done = if call == Call::Send { Sending::Sent } else { Sending::NotDue };
        let result = if works { Ok(done) } else { Err(SinkError::Retry("nobody knows the name".into())) };
        assert!(outlet.judge(call, result).is_continue());
        outlet.errors_in_a_row
    };
    assert_eq!(errors_after(Call::Send, false), 1);
    assert_eq!(errors_after(Call::Idle, true), 1, "nothing was sent");
    assert_eq!(errors_after(Call::Idle, false), 2);
    assert_eq!(errors_after(Call::Idle, true), 2, "nothing was sent");
    assert_eq!(errors_after(Call::Send, true), 0);
    assert_eq!(errors_after(Call::Idle, false), 1);
    assert_eq!(errors_after(Call::Idle, true), 0);
}
