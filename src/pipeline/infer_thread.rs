//! The `infer` thread: a frame from the slot, its poses to every sink.

use std::sync::atomic::Ordering;

use latest::{Received, Receiver, Sender};

use super::{BoxError, Delivery, Factory, PoseTracker, Shared, TICK, hand_over};
use crate::picture::Frame;
use crate::telemetry::{Count, Stage, alloc};

/// Runs until told to stop, no frames come any more, or enough are processed.
pub(super) fn run(
    factory: Factory<Box<dyn PoseTracker>>,
    frames: &Receiver<Frame>,
    mut to_sinks: Vec<Sender<Delivery>>,
    shared: &Shared,
) -> Result<(), BoxError> {
    let mut tracker = factory()?;
    shared.tracker_ready.store(true, Ordering::Release);
    let Shared { session, clock, .. } = shared;
    let telemetry = &session.telemetry;
    let mut processed = 0;
    let mut bad_in_a_row = 0_u32;
    let mut last_bad = None;
    let mut last_kind = None;
    let mut allocated = alloc::of_this_thread();
    while !shared.stopping() && shared.options.frames.is_none_or(|n| processed < n) {
        let frame = match frames.recv_timeout(TICK) {
            Received::Value(frame) => frame,
            Received::Timeout => continue,
            Received::Closed => break,
        };
        let kind = session.source.kind_of(frame.seq);
        // Whoever is before the camera is nobody of the built-in clip.
        let is_other_source = last_kind.replace(kind).is_some_and(|last| last != kind);
        if session.take_reset() || is_other_source {
            tracker.reset();
        }
        let taken_at_us = clock.now_us();
        if !shared.options.lossless {
            telemetry.time_us(Stage::Waited, taken_at_us - frame.captured_at_us);
        }
        let network_before = telemetry.network_us();
        let poses = match tracker.track(&frame, telemetry) {
            Ok(poses) => poses,
            Err(error) if !error.is_of_this_frame_alone() => return Err(error.into()),
            Err(error) => {
                telemetry.add(Count::Bad, 1);
                bad_in_a_row += 1;
                // Powers of two: a cable that spoils every frame must not fill the disk.
                if bad_in_a_row.is_power_of_two() {
                    log::warn!("frame {} skipped ({bad_in_a_row} in a row): {error}", frame.seq);
                }
                last_bad = Some(error);
                continue;
            }
        };
        // Back to the pool before the sinks get the poses.
        drop(frame);
        bad_in_a_row = 0;
        let handed_over_at_us = clock.now_us();
        let network_us = telemetry.network_us() - network_before;
        let own_us = (handed_over_at_us - taken_at_us - network_us).max(0);
        to_sinks.retain(|sender| {
            hand_over(sender, Delivery { poses, handed_over_at_us, own_us }, shared, Count::Unsent)
        });
        telemetry.time_us(Stage::HandOver, clock.now_us() - handed_over_at_us);
        processed += 1;
        telemetry.add(Count::Processed, 1);
        if processed == 1 {
            log::debug!("first poses {} ms after the start", telemetry.uptime().as_millis());
        }
        let made = alloc::of_this_thread();
        telemetry.add_allocations(made - allocated);
        allocated = made;
    }
    match last_bad {
        // Poses of nothing would be taken for a success.
        Some(error) if processed == 0 && !shared.stopping() => {
            Err(format!("none of the {bad_in_a_row} frames can be used; the last: {error}").into())
        }
        _ => Ok(()),
    }
}
