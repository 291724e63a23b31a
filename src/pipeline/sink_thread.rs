//! The thread of one sink: gives it the newest poses at its own rate, and ends it properly.

use std::ops::ControlFlow;
use std::time::Instant;

use latest::{Received, Receiver};

use super::{Delivery, FINISH_ENDED, FINISH_STOPPED, Shared, TICK, Thrown};
use crate::output::{PoseSink, Sending, SinkError};
use crate::telemetry::{Count, Stage, alloc};

/// Poses older than this are not sent again: forecasts reach 150 ms, and a network at 5 Hz needs 200 ms more.
const STALE_US: i64 = 500_000;

/// Runs `sink` until its poses end or the pipeline stops; its files are complete afterwards.
pub(super) fn run(
    mut sink: Box<dyn PoseSink>,
    deliveries: &Receiver<Delivery>,
    shared: &Shared,
) -> Result<(), Thrown> {
    let mut outlet = Outlet::new(&mut *sink, shared);
    outlet.drain(deliveries);
    if let Some(error) = outlet.failed {
        return Err(error.into());
    }
    let within = if shared.stopping() { FINISH_STOPPED } else { FINISH_ENDED };
    match sink.finish(within) {
        Ok(()) | Err(SinkError::Closed(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What a sink was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Send,
    Idle,
}

/// The newest poses, for a sink at a rate of its own.
struct Pending {
    delivery: Delivery,
    /// The sink was given them.
    is_given: bool,
}

struct Outlet<'a> {
    sink: &'a mut dyn PoseSink,
    shared: &'a Shared,
    last_captured_at_us: Option<i64>,
    errors_in_a_row: u32,
    /// One of these errors was of sending.
    cannot_send: bool,
    failed: Option<SinkError>,
}

impl<'a> Outlet<'a> {
    fn new(sink: &'a mut dyn PoseSink, shared: &'a Shared) -> Self {
        Self { sink, shared, last_captured_at_us: None, errors_in_a_row: 0, cannot_send: false, failed: None }
    }

    fn drain(&mut self, deliveries: &Receiver<Delivery>) {
        let mut newest: Option<Pending> = None;
        // When poses were last due at the sink's own rate.
        let mut beat: Option<Instant> = None;
        let mut last_call = Instant::now();
        let mut allocated = alloc::of_this_thread();
        while !self.shared.stopping() {
            // Without loss, each frame is sent once: a rate would make the output depend on the machine.
            let period = self.sink.period().filter(|_| !self.shared.options.lossless);
            // From the last beat and the rate of now: one that the sink's consumer has raised holds at once.
            let due = period.map(|period| (beat.map_or_else(Instant::now, |beat| beat + period), period));
            let wake = match due {
                Some((due, _)) if newest.is_some() => due.min(Instant::now() + TICK),
                _ => Instant::now() + TICK,
            };
            let received = match deliveries.recv_deadline(wake) {
                Received::Closed => break,
                Received::Value(delivery) => Some(delivery),
                Received::Timeout => None,
            };
            if let Some(delivery) = &received {
                self.sink.watch(&delivery.poses);
            }
            let called = match due {
                None => {
                    // Or what waits for a beat now is sent with the first one of another rate, however late that comes.
                    newest = None;
                    received.map(|delivery| self.deliver(&delivery, true))
                }
                Some((due, period)) => {
                    if let Some(delivery) = received {
                        newest = Some(Pending { delivery, is_given: false });
                    }
                    let now = Instant::now();
                    newest.as_mut().filter(|_| now >= due).and_then(|pending| {
                        // After a stall the missed beats are gone: sending them in a burst would only make others late.
                        beat = Some(if now - due > period { now } else { due });
                        let Pending { delivery, is_given } = pending;
                        let is_first = !std::mem::replace(is_given, true);
                        let age_us = self.shared.clock.now_us() - delivery.poses.captured_at_us;
                        // However slow the network is: what it says is sent once.
                        (is_first || age_us < STALE_US).then(|| self.deliver(delivery, is_first))
                    })
                }
            };
            let flow = match called {
                Some(flow) => {
                    last_call = Instant::now();
                    let made = alloc::of_this_thread();
                    self.shared.telemetry.add_allocations(made - allocated);
                    flow
                }
                None if last_call.elapsed() >= TICK => {
                    last_call = Instant::now();
                    self.idle()
                }
                None => ControlFlow::Continue(()),
            };
            // What `idle` and waiting allocate is not the frames'.
            allocated = alloc::of_this_thread();
            if flow.is_break() {
                break;
            }
        }
    }

    fn idle(&mut self) -> ControlFlow<()> {
        let Shared { clock, options, .. } = self.shared;
        // Without loss the frames' own time is the only one that a sink ever hears of: it stands still between them.
        let now_us = if options.lossless { self.last_captured_at_us } else { Some(clock.now_us()) };
        match now_us {
            Some(now_us) => {
                let result = self.sink.idle(now_us);
                self.judge(Call::Idle, result.map(|()| Sending::NotDue))
            }
            None => ControlFlow::Continue(()),
        }
    }

    fn deliver(&mut self, delivery: &Delivery, is_first: bool) -> ControlFlow<()> {
        let Shared { clock, telemetry, options, .. } = self.shared;
        let started_at_us = clock.now_us();
        let captured_at_us = delivery.poses.captured_at_us;
        self.last_captured_at_us = Some(captured_at_us);
        let now_us = if options.lossless { captured_at_us } else { started_at_us };
        let result = self.sink.send(&delivery.poses, now_us);
        match result {
            Ok(Sending::Sent) => {
                let sent_at_us = clock.now_us();
                telemetry.add(Count::Sent, 1);
                telemetry.time_us(Stage::Send, sent_at_us - started_at_us);
                if is_first {
                    let overhead_us = delivery.own_us + sent_at_us - delivery.handed_over_at_us;
                    telemetry.time_us(Stage::Overhead, overhead_us);
                    if !options.lossless {
                        telemetry.time_us(Stage::CaptureToSent, sent_at_us - captured_at_us);
                    }
                }
            }
            Ok(Sending::NotDue) => {}
            Ok(Sending::LeftOut) | Err(_) => telemetry.add(Count::Unsent, 1),
        }
        self.judge(Call::Send, result)
    }

    fn judge(&mut self, call: Call, result: Result<Sending, SinkError>) -> ControlFlow<()> {
        match result {
            // It has said that it is; each look for a cable would otherwise be two lines in the log.
            Ok(_) if self.sink.is_away() => ControlFlow::Continue(()),
            // Most sinks have nothing to do between frames: that this works says nothing of sending.
            Ok(Sending::NotDue | Sending::LeftOut) if self.cannot_send => ControlFlow::Continue(()),
            Ok(_) => {
                if self.errors_in_a_row > 0 {
                    log::info!("{}: works again", self.sink.name());
                }
                (self.errors_in_a_row, self.cannot_send) = (0, false);
                ControlFlow::Continue(())
            }
            Err(SinkError::Retry(reason)) => {
                self.shared.telemetry.add(Count::SinkErrors, 1);
                // Once when it begins: a port that stays away must not fill the log.
                if self.errors_in_a_row == 0 {
                    log::warn!("{}: {reason}", self.sink.name());
                }
                self.errors_in_a_row = self.errors_in_a_row.saturating_add(1);
                self.cannot_send |= call == Call::Send;
                ControlFlow::Continue(())
            }
            Err(SinkError::Closed(reason)) => {
                log::info!("{}: {reason}", self.sink.name());
                ControlFlow::Break(())
            }
            Err(error @ SinkError::Fatal(_)) => {
                self.shared.telemetry.add(Count::SinkErrors, 1);
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::time::Duration;

    use pose::PoseFrame;

    use super::super::Options;
    use super::*;
    use crate::clock::Monotonic;

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

    #[test]
    fn what_cannot_send_works_again_once_it_sends_and_not_between_frames() {
        let shared = Shared {
            telemetry: Arc::default(),
            clock: Arc::new(Monotonic),
            options: Options::default(),
            stop: AtomicBool::new(false),
            tracker_ready: AtomicBool::new(false),
            searches: AtomicU64::new(0),
        };
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
}
