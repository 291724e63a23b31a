//! The thread of one sink: gives it the newest poses at its own rate, and ends it properly.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use latest::{Received, Receiver};

use super::{BoxError, Delivery, FINISH_ENDED, FINISH_STOPPED, Shared, TICK};
use crate::output::{PoseSink, Sending, SinkError};
use crate::telemetry::alloc::{self, Allocations};
use crate::telemetry::{Count, Stage};

/// Poses older than this are not sent again: forecasts reach 150 ms, and a network at 5 Hz needs 200 ms more.
const STALE_US: i64 = 500_000;

/// Runs `sink` until its poses end or the pipeline stops; its files are complete afterwards.
pub(super) fn run(
    mut sink: Box<dyn PoseSink>,
    deliveries: &Receiver<Delivery>,
    shared: &Shared,
) -> Result<(), BoxError> {
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

/// The newest poses, for a sink at a rate of its own or without room as yet.
struct Pending {
    delivery: Delivery,
    /// The sink has sent them, or left them out.
    is_given: bool,
    /// The sink had no room for them when they came.
    has_waited: bool,
    /// When this thread had them. What they wait for the sink's own beat from then on is nobody's work.
    came_at_us: i64,
}

/// When the sink has room again.
#[derive(Clone, Copy)]
struct Room {
    /// On the clock of sending.
    at_us: i64,
    /// Whether poses that newer ones take the place of meanwhile count.
    is_missed: bool,
}

/// When poses are due at the sink's own rate.
#[derive(Clone, Copy)]
struct Due {
    at: Instant,
    period: Duration,
}

impl Due {
    /// From the last beat and the rate of now: one that the sink's consumer has raised holds at once.
    fn after(beat: Option<Instant>, period: Duration) -> Self {
        Self { at: beat.map_or_else(Instant::now, |beat| beat + period), period }
    }

    /// The beat that has come by `now`, if one has.
    fn passed(self, now: Instant) -> Option<Instant> {
        // After a stall the missed beats are gone: sending them in a burst would only make others late.
        (now >= self.at).then(|| if now - self.at > self.period { now } else { self.at })
    }
}

struct Outlet<'a> {
    sink: &'a mut dyn PoseSink,
    shared: &'a Shared,
    newest: Option<Pending>,
    last_captured_at_us: Option<i64>,
    /// Where the sink has said that there was none.
    room: Option<Room>,
    /// When poses were last due at the sink's own rate.
    beat: Option<Instant>,
    /// When the sink was last called: with poses, or because there were none.
    last_call: Instant,
    /// What this thread had allocated when it began to wait.
    allocated: Allocations,
    errors_in_a_row: u32,
    /// One of these errors was of sending.
    cannot_send: bool,
    failed: Option<SinkError>,
}

impl<'a> Outlet<'a> {
    fn new(sink: &'a mut dyn PoseSink, shared: &'a Shared) -> Self {
        Self {
            sink,
            shared,
            newest: None,
            last_captured_at_us: None,
            room: None,
            beat: None,
            last_call: Instant::now(),
            allocated: alloc::of_this_thread(),
            errors_in_a_row: 0,
            cannot_send: false,
            failed: None,
        }
    }

    fn drain(&mut self, deliveries: &Receiver<Delivery>) {
        while !self.shared.stopping() && self.step(deliveries).is_continue() {}
    }

    /// Waits until poses come or it is time to look again, and gives the sink what falls due then.
    fn step(&mut self, deliveries: &Receiver<Delivery>) -> ControlFlow<()> {
        // Without loss, each frame is sent once: a rate would make the output depend on the machine.
        let period = self.sink.period().filter(|_| !self.shared.options.lossless);
        let due = period.map(|period| Due::after(self.beat, period));
        let is_new = match deliveries.recv_deadline(self.wake(due)) {
            Received::Closed => {
                self.end();
                return ControlFlow::Break(());
            }
            Received::Value(delivery) => {
                self.take(delivery)?;
                true
            }
            Received::Timeout => false,
        };
        let flow = if self.falls_due(due, is_new) && self.has_fresh() {
            let flow = self.deliver(None);
            self.last_call = Instant::now();
            self.shared.telemetry().add_allocations(alloc::of_this_thread() - self.allocated);
            flow
        } else if self.last_call.elapsed() >= TICK {
            self.last_call = Instant::now();
            self.idle()
        } else {
            ControlFlow::Continue(())
        };
        // What `idle` and waiting allocate is not the frames'.
        self.allocated = alloc::of_this_thread();
        flow
    }

    /// When to look again, whatever comes: when there is room, or poses are `due`, or it may be time to end.
    fn wake(&self, due: Option<Due>) -> Instant {
        let now = Instant::now();
        let due = match self.room.filter(|_| !self.shared.options.lossless) {
            Some(room) => {
                let wait_us = room.at_us.saturating_sub(self.shared.clock.now_us()).max(0);
                Some(now + Duration::from_micros(wait_us as u64))
            }
            None => due.filter(|_| self.newest.is_some()).map(|due| due.at),
        };
        due.map_or(now + TICK, |due| due.min(now + TICK))
    }

    /// Puts newer poses in the place of those before them.
    fn take(&mut self, delivery: Delivery) -> ControlFlow<()> {
        if self.newest.is_some() {
            self.overtake(delivery.poses.captured_at_us)?;
        }
        self.sink.watch(&delivery.poses);
        let came_at_us = self.shared.clock.now_us();
        self.newest = Some(Pending { delivery, is_given: false, has_waited: false, came_at_us });
        ControlFlow::Continue(())
    }

    /// Whether the newest poses fall due now: as they come, when there is room again, or by the sink's own beat.
    fn falls_due(&mut self, due: Option<Due>, is_new: bool) -> bool {
        let falls_due = match (self.room, due) {
            (None, None) => {
                // Or what waits for a beat now is sent with the first one of another rate, however late that comes.
                self.newest.take_if(|_| !is_new);
                is_new
            }
            // Without loss the frames' time stands still until the next one.
            (Some(_), None) if is_new || self.shared.options.lossless => is_new,
            (Some(room), _) => self.shared.clock.now_us() >= room.at_us,
            (None, Some(due)) => {
                let passed = due.passed(Instant::now()).filter(|_| self.newest.is_some());
                self.beat = passed.or(self.beat);
                passed.is_some()
            }
        };
        self.room.take_if(|_| falls_due);
        falls_due
    }

    /// Whether the sink may be given the newest poses: once, however slow the network is, and again until they are stale.
    fn has_fresh(&self) -> bool {
        self.newest.as_ref().is_some_and(|newest| {
            let age_us = self.shared.clock.now_us() - newest.delivery.poses.captured_at_us;
            !newest.is_given || age_us < STALE_US
        })
    }

    /// What becomes of poses that there was no room for, now that newer ones, captured at `captured_at_us`, are there. Without
    /// loss they are sent by the frames' own time, if there was room before that.
    fn overtake(&mut self, captured_at_us: i64) -> ControlFlow<()> {
        let lossless = self.shared.options.lossless;
        while let Some(room) = self.room.take_if(|room| lossless && room.at_us <= captured_at_us) {
            self.deliver(Some(room.at_us))?;
        }
        if self.room.is_some_and(|room| room.is_missed) {
            self.shared.telemetry().add(Count::Unsent, 1);
        }
        ControlFlow::Continue(())
    }

    /// The last poses, where there was no room for them and nobody has to wait until there is.
    fn end(&mut self) {
        let Some(room) = self.room.take() else { return };
        if self.shared.options.lossless {
            let _ = self.deliver(Some(room.at_us));
        } else if room.is_missed {
            self.shared.telemetry().add(Count::Unsent, 1);
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

    /// Gives the newest poses to the sink; without loss, at `now_us`, or at their capture where that is `None`.
    fn deliver(&mut self, now_us: Option<i64>) -> ControlFlow<()> {
        let Shared { clock, session, options, .. } = self.shared;
        let telemetry = &session.telemetry;
        let Some(Pending { delivery, is_given, has_waited, came_at_us }) = &mut self.newest else {
            return ControlFlow::Continue(());
        };
        let started_at_us = clock.now_us();
        let captured_at_us = delivery.poses.captured_at_us;
        self.last_captured_at_us = Some(captured_at_us);
        let now_us = if options.lossless { now_us.unwrap_or(captured_at_us) } else { started_at_us };
        let result = self.sink.send(&delivery.poses, now_us);
        if let Ok(Sending::NotYet { until_us, is_missed }) = result {
            self.room = Some(Room { at_us: until_us, is_missed });
            *has_waited = true;
            return self.judge(Call::Send, result);
        }
        let is_first = !std::mem::replace(is_given, true);
        match result {
            Ok(Sending::Sent) => {
                let sent_at_us = clock.now_us();
                telemetry.add(Count::Sent, 1);
                telemetry.time_us(Stage::Send, sent_at_us - started_at_us);
                if is_first && !*has_waited {
                    let on_its_way_us = *came_at_us - delivery.handed_over_at_us;
                    let overhead_us = delivery.own_us + on_its_way_us + sent_at_us - started_at_us;
                    telemetry.time_us(Stage::Overhead, overhead_us);
                }
                if is_first && !options.lossless {
                    telemetry.time_us(Stage::CaptureToSent, sent_at_us - captured_at_us);
                }
            }
            Ok(Sending::NotDue | Sending::NotYet { .. }) => {}
            Ok(Sending::LeftOut) | Err(_) => telemetry.add(Count::Unsent, 1),
        }
        self.judge(Call::Send, result)
    }

    fn judge(&mut self, call: Call, result: Result<Sending, SinkError>) -> ControlFlow<()> {
        match result {
            // It has said that it is; each look for a cable would otherwise be two lines in the log.
            Ok(_) if self.sink.is_away() => ControlFlow::Continue(()),
            // Most sinks have nothing to do between frames: that this works says nothing of sending.
            Ok(Sending::NotDue | Sending::NotYet { .. } | Sending::LeftOut) if self.cannot_send => {
                ControlFlow::Continue(())
            }
            Ok(_) => {
                if self.errors_in_a_row > 0 {
                    log::info!("{}: works again", self.sink.name());
                }
                (self.errors_in_a_row, self.cannot_send) = (0, false);
                ControlFlow::Continue(())
            }
            Err(SinkError::Retry(reason)) => {
                self.shared.telemetry().add(Count::SinkErrors, 1);
                // Once when it begins: a port that stays away must not fill the log.
                if self.errors_in_a_row == 0 {
                    log::warn!("{}: {reason:#}", self.sink.name());
                }
                self.errors_in_a_row = self.errors_in_a_row.saturating_add(1);
                self.cannot_send |= call == Call::Send;
                ControlFlow::Continue(())
            }
            Err(SinkError::Closed(reason)) => {
                log::info!("{}: {reason:#}", self.sink.name());
                ControlFlow::Break(())
            }
            Err(error @ SinkError::Fatal(_)) => {
                self.shared.telemetry().add(Count::SinkErrors, 1);
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
