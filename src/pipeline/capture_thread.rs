//! The `capture` thread: frames from the source into the slot, and what is said and counted when the source is lost.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{fmt, mem, thread};

use latest::Sender;

use super::patience::Patience;
use super::{BoxError, Factory, SILENCE, Shared, TICK, hand_over};
use crate::capture::{CaptureError, FrameSource, SourceCounters};
use crate::picture::Frame;
use crate::reason::Chain;
use crate::telemetry::{Count, alloc};

/// Runs until told to stop, the source ends, or nobody takes frames any more.
pub(super) fn run(
    factory: Factory<Box<dyn FrameSource>>,
    to_infer: &Sender<Frame>,
    shared: &Shared,
) -> Result<(), BoxError> {
    let mut source = factory()?;
    let ended = pass_on(&mut *source, to_infer, shared);
    let counters = source.counters();
    if counters != SourceCounters::default() {
        log::info!("{}: {counters}", source.info().name);
    }
    ended
}

fn pass_on(source: &mut dyn FrameSource, to_infer: &Sender<Frame>, shared: &Shared) -> Result<(), BoxError> {
    let mut watch = Watch::new(source.info().live, shared);
    let mut allocated = alloc::of_this_thread();
    while !shared.stopping() {
        let found = source.next_frame(TICK);
        watch.count(source.counters());
        if watch.is_lost {
            shared.searches.fetch_add(1, Ordering::Relaxed);
        }
        match found {
            Ok(Some(frame)) => {
                watch.note_frame(source, frame.seq);
                if !hand_over(to_infer, frame, shared, Count::Displaced) {
                    return Ok(());
                }
                let made = alloc::of_this_thread();
                shared.telemetry().add_allocations(made - allocated);
                allocated = made;
            }
            Ok(None) => watch.note_none(source),
            Err(CaptureError::Ended) => return Ok(()),
            Err(error @ CaptureError::Unusable(_)) => return Err(error.into()),
            Err(error @ CaptureError::Lost { .. }) => {
                // The source opens itself again and has its own back-off; this only keeps a broken one from spinning.
                thread::sleep(Duration::from_millis(10));
                watch.lose(&Chain(&error));
            }
        }
    }
    Ok(())
}

/// Whether a source gives frames, which of them are missing, and what is said and counted of both.
struct Watch<'a> {
    shared: &'a Shared,
    is_live: bool,
    /// No frame comes: also before the first one.
    is_lost: bool,
    last_frame: Instant,
    patience: Patience,
    /// `None` before the first frame.
    expected_seq: Option<u64>,
    counted: SourceCounters,
    /// Numbers that are missing for a reason which is counted already.
    left_out: u64,
}

impl<'a> Watch<'a> {
    fn new(is_live: bool, shared: &'a Shared) -> Self {
        Self {
            shared,
            is_live,
            is_lost: false,
            last_frame: Instant::now(),
            patience: Patience::default(),
            expected_seq: None,
            counted: SourceCounters::default(),
            left_out: 0,
        }
    }

    /// What the source itself has counted by now.
    fn count(&mut self, counters: SourceCounters) {
        let overtaken = counters.overtaken - self.counted.overtaken;
        let damaged = counters.damaged - self.counted.damaged;
        self.shared.telemetry().add(Count::Displaced, overtaken);
        self.shared.telemetry().add(Count::Bad, damaged);
        self.counted = counters;
        self.left_out += overtaken + damaged;
    }

    /// A frame has come, number `seq`.
    fn note_frame(&mut self, source: &dyn FrameSource, seq: u64) {
        let telemetry = self.shared.telemetry();
        // Of a source that was waited for at the start these are the first.
        if self.is_lost && self.expected_seq.is_some() {
            log::info!("{}: frames again", source.info().name);
        }
        let interval = self.last_frame.elapsed();
        self.last_frame += interval;
        if self.expected_seq.is_some() {
            self.patience.note(interval);
        }
        self.is_lost = false;
        self.shared.session.source.set_up(true);
        telemetry.add(Count::Captured, 1);
        // A source that was opened again counts from 0: no gap.
        let gap = self.expected_seq.map_or(0, |expected| seq.saturating_sub(expected));
        telemetry.add(Count::Missed, gap.saturating_sub(self.left_out));
        self.left_out = 0;
        self.expected_seq = Some(seq + 1);
    }

    /// No frame has come: whether the source is lost by that, or only waited for.
    fn note_none(&mut self, source: &dyn FrameSource) {
        let has_begun = self.expected_seq.is_some();
        if self.is_lost {
            // That is known.
        } else if source.is_away() {
            // Not there yet, or lost: the source has said why.
            self.is_lost = true;
            self.shared.session.source.set_up(false);
            self.shared.telemetry().add(Count::Losses, u64::from(has_begun));
        } else if source.is_pausing() {
            // To the watchdog a pause that the recording itself has is a sign of life.
            self.shared.searches.fetch_add(1, Ordering::Relaxed);
        } else if self.is_live && self.last_frame.elapsed() >= SILENCE {
            let info = source.info();
            if has_begun {
                let silence = self.patience.with(info.fps);
                if self.last_frame.elapsed() >= silence {
                    self.lose(&format_args!("{}: no frame for {:.0} s", info.name, silence.as_secs_f32()));
                }
            } else {
                // To the watchdog this is a sign of life, too.
                self.is_lost = true;
                log::info!("{}: waiting for its first frame", info.name);
            }
        }
    }

    /// The source is lost, for this `reason`: said and counted when that begins.
    fn lose(&mut self, reason: &dyn fmt::Display) {
        if mem::replace(&mut self.is_lost, true) {
            return;
        }
        self.shared.session.source.set_up(false);
        if self.expected_seq.is_some() {
            self.shared.telemetry().add(Count::Losses, 1);
            log::warn!("{reason}; looking for it, identities are kept");
        } else {
            log::warn!("{reason}; waiting for its first frame");
        }
    }
}
