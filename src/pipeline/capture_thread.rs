//! The `capture` thread: frames from the source into the slot, and what is said and counted when the source is lost.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use latest::Sender;

use super::patience::Patience;
use super::{BoxError, Factory, SILENCE, Shared, TICK, hand_over};
use crate::capture::{CaptureError, FrameSource, SourceCounters};
use crate::picture::Frame;
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
    let live = source.info().live;
    let telemetry = &shared.telemetry;
    let mut expected_seq = None;
    let mut counted = SourceCounters::default();
    let mut last_frame = Instant::now();
    let mut patience = Patience::default();
    // No frame comes: also before the first one.
    let mut lost = false;
    // Numbers that are missing for a reason which is counted already.
    let mut left_out = 0;
    let mut allocated = alloc::of_this_thread();
    while !shared.stopping() {
        let found = source.next_frame(TICK);
        let counters = source.counters();
        let overtaken = counters.overtaken - counted.overtaken;
        let damaged = counters.damaged - counted.damaged;
        telemetry.add(Count::Displaced, overtaken);
        telemetry.add(Count::Bad, damaged);
        counted = counters;
        left_out += overtaken + damaged;
        if lost {
            shared.searches.fetch_add(1, Ordering::Relaxed);
        }
        let reason = match found {
            Ok(Some(frame)) => {
                // Of a source that was waited for at the start these are the first.
                if lost && expected_seq.is_some() {
                    log::info!("{}: frames again", source.info().name);
                }
                let interval = last_frame.elapsed();
                last_frame += interval;
                if expected_seq.is_some() {
                    patience.note(interval);
                }
                lost = false;
                telemetry.set_source_up(true);
                telemetry.add(Count::Captured, 1);
                // A source that was opened again counts from 0: no gap.
                let gap = expected_seq.map_or(0, |expected| frame.seq.saturating_sub(expected));
                telemetry.add(Count::Missed, gap.saturating_sub(left_out));
                left_out = 0;
                expected_seq = Some(frame.seq + 1);
                if !hand_over(to_infer, frame, shared, Count::Displaced) {
                    return Ok(());
                }
                let made = alloc::of_this_thread();
                telemetry.add_allocations(made - allocated);
                allocated = made;
                continue;
            }
            Ok(None) if lost => continue,
            // Not there yet, or lost: the source has said why.
            Ok(None) if source.is_away() => {
                lost = true;
                telemetry.set_source_up(false);
                telemetry.add(Count::Losses, u64::from(expected_seq.is_some()));
                continue;
            }
            // To the watchdog a pause that the recording itself has is a sign of life.
            Ok(None) if source.is_pausing() => {
                shared.searches.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Ok(None) if !live || last_frame.elapsed() < SILENCE => continue,
            // To the watchdog this is a sign of life, too.
            Ok(None) if expected_seq.is_none() => {
                lost = true;
                log::info!("{}: waiting for its first frame", source.info().name);
                continue;
            }
            Ok(None) => {
                let info = source.info();
                let silence = patience.with(info.fps);
                if last_frame.elapsed() < silence {
                    continue;
                }
                format!("{}: no frame for {:.0} s", info.name, silence.as_secs_f32())
            }
            Err(CaptureError::Ended) => return Ok(()),
            Err(error @ CaptureError::Unusable(_)) => return Err(error.into()),
            Err(error @ CaptureError::Lost { .. }) => {
                // The source opens itself again and has its own back-off; this only keeps a broken one from spinning.
                thread::sleep(Duration::from_millis(10));
                error.to_string()
            }
        };
        if !lost {
            lost = true;
            telemetry.set_source_up(false);
            if expected_seq.is_some() {
                telemetry.add(Count::Losses, 1);
                log::warn!("{reason}; looking for it, identities are kept");
            } else {
                log::warn!("{reason}; waiting for its first frame");
            }
        }
    }
    Ok(())
}
