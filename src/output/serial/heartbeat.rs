//! What goes out once a second whatever is seen: HELLO, who sends and how, and STATUS, how it fares.

use pose_wire::{Downgrade, Hello, HelloFlags, Packet, SKELETON_COCO17, SourceState, Status, scale_for};

use super::{HEARTBEAT_US, Serial};
use crate::output::{Source, Vitals};

impl Serial {
    /// Adds the heartbeats that are due to the batch.
    pub(super) fn heartbeat(&mut self, now_us: i64) {
        let (hello_due, status_due) = (now_us >= self.next_hello_at_us, now_us >= self.next_status_at_us);
        if !hello_due && !status_due {
            return;
        }
        let vitals = self.host.vitals();
        if hello_due {
            self.last_hello_at_us = now_us;
            self.next_hello_at_us = now_us.saturating_add(HEARTBEAT_US);
            self.put(&Packet::Hello(self.hello(&vitals)));
        }
        if status_due {
            // Half a beat behind HELLO, so that neither delays a pose by both.
            let late = if self.next_status_at_us == i64::MIN { HEARTBEAT_US / 2 } else { HEARTBEAT_US };
            self.next_status_at_us = now_us.saturating_add(late);
            self.put(&Packet::Status(self.status(&vitals)));
        }
    }

    fn hello(&self, vitals: &Vitals) -> Hello {
        let fit = self.pace.fit();
        let Downgrade { dropped_3d, lowered_rate } = fit.downgrade;
        let flags = [
            (fit.stream.with_3d, HelloFlags::WITH_3D),
            (self.options.predict.is_ahead(), HelloFlags::PREDICTED),
            (dropped_3d, HelloFlags::DROPPED_3D),
            (lowered_rate, HelloFlags::LOWERED_RATE),
            (self.options.with_place, HelloFlags::WITH_PLACE),
            (self.notices.is_some(), HelloFlags::WITH_NOTICES),
        ];
        Hello {
            minor: pose_wire::MINOR,
            skeleton: SKELETON_COCO17,
            joints: pose::JOINTS as u8,
            max_persons: vitals.max_persons,
            model_hash: vitals.model_hash,
            backend: vitals.engine,
            width_px: u16::try_from(self.size_px.0).unwrap_or(u16::MAX),
            height_px: u16::try_from(self.size_px.1).unwrap_or(u16::MAX),
            frame_rate_chz: (vitals.frame_rate_hz * 100.0).round() as u16,
            pose_rate_chz: self
                .pace
                .rate_hz(self.options.max_persons)
                .map_or(0, |hz| (hz * 100.0).round() as u16),
            scale: scale_for(self.size_px.0, self.size_px.1).unwrap_or(0),
            flags: HelloFlags(flags.iter().filter(|(on, _)| *on).fold(0, |all, (_, bit)| all | bit)),
            load_permille: (fit.load * 1000.0).round() as u16,
            // Wrapping is what the wire says of these.
            uptime_ms: vitals.uptime_ms as u32,
            frames_dropped: vitals.frames_dropped as u32,
            poses_dropped: vitals.poses_dropped as u32,
            packets_sent: self.counters.packets as u32,
        }
    }

    fn status(&self, vitals: &Vitals) -> Status {
        Status {
            uptime_ms: vitals.uptime_ms as u32,
            temperature_cc: vitals
                .temperature_c
                .map_or(Status::NO_TEMPERATURE, |c| (c * 100.0).round() as i16),
            frame_rate_chz: (vitals.frame_rate_hz * 100.0).round() as u16,
            frames_dropped: vitals.frames_dropped as u32,
            poses_dropped: vitals.poses_dropped as u32,
            camera_losses: vitals.camera_losses as u32,
            camera_errors: vitals.camera_errors as u32,
            wire_errors: self.decoder.counters().damaged(),
            source: match vitals.source {
                // As the poses beside it: the camera may have come since.
                _ if self.host.is_built_in(self.frame) => SourceState::BUILT_IN,
                Source::Camera => SourceState::RUNNING,
                Source::Lost => SourceState::LOST,
                Source::Replay => SourceState::REPLAY,
                Source::BuiltIn => SourceState::BUILT_IN,
            },
            persons: self.persons,
            // There is no word for a board that does not say.
            flags: if vitals.throttled == Some(true) { Status::THROTTLED } else { 0 },
        }
    }
}
