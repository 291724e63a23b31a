//! What sinks may ask of the tracker: [`Session`] answers, in the words of [`crate::output`].

use super::{Session, SourceKind};
use crate::output::{Host, Source, StageTimes, Vitals};
use crate::telemetry::{Count, Stage};

impl Host for Session {
    fn vitals(&self) -> Vitals {
        let health = self.health();
        let mut vitals = Vitals {
            uptime_ms: self.telemetry.uptime().as_millis() as u64,
            frame_rate_hz: health.fps,
            age_us: health.age_us,
            frames_dropped: health.count(Count::Displaced) + health.count(Count::Missed),
            poses_dropped: health.count(Count::Unsent),
            camera_losses: health.count(Count::Losses),
            camera_errors: health.count(Count::Bad),
            temperature_c: health.temperature_c,
            throttled: health.throttled,
            source: Host::source(self),
            ..Vitals::default()
        };
        if let Some(card) = self.engine() {
            vitals.model_hash.copy_from_slice(&card.model_sha256[..8]);
            let bytes = card.engine.as_bytes();
            let n = bytes.len().min(vitals.engine.len());
            vitals.engine[..n].copy_from_slice(&bytes[..n]);
            vitals.max_persons = card.max_persons as u8;
        }
        vitals
    }

    fn source(&self) -> Source {
        match (self.source.kind(), self.source.is_up()) {
            (SourceKind::File, _) => Source::Replay,
            (SourceKind::BuiltIn, _) => Source::BuiltIn,
            (SourceKind::Camera, true) => Source::Camera,
            (SourceKind::Camera, false) => Source::Lost,
        }
    }

    fn source_rate_hz(&self) -> Option<f32> {
        self.source.rate_hz()
    }

    fn is_built_in(&self, frame: u64) -> bool {
        self.source.kind_of(frame) == SourceKind::BuiltIn
    }

    fn stages(&self) -> Vec<StageTimes> {
        let us = |ns: u64| u32::try_from(ns / 1_000).unwrap_or(u32::MAX);
        let told = |stage: Stage| {
            let times = self.telemetry.times(stage);
            StageTimes { name: stage.name(), p50_us: us(times.p50_ns), p99_us: us(times.p99_ns) }
        };
        Stage::ALL.map(told).to_vec()
    }

    fn reset(&self) {
        self.request_reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_told_under_its_own_name() {
        let session = Session::default();
        for (count, n) in [
            (Count::Displaced, 1),
            (Count::Missed, 2),
            (Count::Unsent, 4),
            (Count::Losses, 8),
            (Count::Bad, 16),
        ] {
            session.telemetry.add(count, n);
        }
        let told = session.vitals();
        let counts = [told.frames_dropped, told.poses_dropped, told.camera_losses, told.camera_errors];
        assert_eq!(counts, [1 + 2, 4, 8, 16]);
    }

    #[test]
    fn a_camera_without_frames_is_lost_and_a_file_is_a_file() {
        let session = Session::default();
        let told = |kind| {
            session.source.set_kind(kind);
            [true, false].map(|is_up| {
                session.source.set_up(is_up);
                assert_eq!(session.vitals().source, Host::source(&session));
                Host::source(&session)
            })
        };
        assert_eq!(told(SourceKind::Camera), [Source::Camera, Source::Lost]);
        assert_eq!(told(SourceKind::File), [Source::Replay; 2]);
        assert_eq!(told(SourceKind::BuiltIn), [Source::BuiltIn; 2]);
    }
}
