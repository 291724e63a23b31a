//! What the threads and sinks of one pipeline share beside frames and poses.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::Health;
use crate::telemetry::{Count, Interval, Telemetry};
use crate::tracker::EngineCard;

/// One run of a tracker, for all who take part in it.
#[derive(Debug, Default)]
pub struct Session {
    /// What is measured.
    pub telemetry: Telemetry,
    /// Where frames come from.
    pub source: SourceState,
    engine: OnceLock<EngineCard>,
    is_reset_requested: AtomicBool,
}

impl Session {
    /// Asks `infer` to forget identities and memories before the next frame.
    pub fn request_reset(&self) {
        self.is_reset_requested.store(true, Ordering::Release);
    }

    /// Whether that was asked since the last call.
    pub fn take_reset(&self) -> bool {
        self.is_reset_requested.swap(false, Ordering::AcqRel)
    }

    /// Says what runs the networks; only the first card counts.
    pub fn set_engine(&self, card: EngineCard) {
        let _ = self.engine.set(card);
    }

    /// What runs the networks, once they are loaded.
    pub fn engine(&self) -> Option<&EngineCard> {
        self.engine.get()
    }

    /// Health as of the last closed interval; counts and source as of now.
    pub fn health(&self) -> Health {
        let Interval { fps, age_us, board } = self.telemetry.last_interval();
        Health {
            fps,
            age_us,
            source_up: self.source.is_up(),
            source_kind: self.source.kind(),
            counts: Count::ALL.map(|c| self.telemetry.count(c)),
            temperature_c: board.temperature_c,
            throttled: board.throttled,
        }
    }
}

/// What gives frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceKind {
    /// A recording or pictures.
    #[default]
    File,
    /// A camera, there or looked for.
    Camera,
    /// The built-in clip, which shows nobody who is there.
    BuiltIn,
}

/// What is known of the source while it runs.
#[derive(Debug, Default)]
pub struct SourceState {
    is_up: AtomicBool,
    kind: AtomicU8,
    rate_bits: AtomicU32,
    first_of_camera: AtomicU64,
}

impl SourceState {
    /// Says whether frames are coming.
    pub fn set_up(&self, up: bool) {
        self.is_up.store(up, Ordering::Relaxed);
    }

    /// Whether frames are coming.
    pub fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Says what it is.
    pub fn set_kind(&self, kind: SourceKind) {
        self.kind.store(kind as u8, Ordering::Release);
    }

    /// What it is.
    pub fn kind(&self) -> SourceKind {
        let kind = self.kind.load(Ordering::Acquire);
        [SourceKind::Camera, SourceKind::BuiltIn].into_iter().find(|k| *k as u8 == kind).unwrap_or_default()
    }

    /// What gave the frame of this number: those of the clip are on their way still when its camera's first is there.
    pub fn kind_of(&self, frame: u64) -> SourceKind {
        match self.kind() {
            SourceKind::Camera if frame < self.first_of_camera.load(Ordering::Relaxed) => SourceKind::BuiltIn,
            kind => kind,
        }
    }

    /// Says that the built-in clip gives way to a camera with the frame of this number.
    pub fn give_way(&self, first_of_camera: u64) {
        self.first_of_camera.store(first_of_camera, Ordering::Relaxed);
        self.set_kind(SourceKind::Camera);
    }

    /// Says how many frames a second it gives by its own words; 0 where it has none.
    pub fn set_rate_hz(&self, rate_hz: f32) {
        self.rate_bits.store(rate_hz.to_bits(), Ordering::Relaxed);
    }

    /// How many frames a second it gives by its own words; `None` before the first frame, and where it has none.
    pub fn rate_hz(&self) -> Option<f32> {
        let rate_hz = f32::from_bits(self.rate_bits.load(Ordering::Relaxed));
        Some(rate_hz).filter(|hz| hz.is_finite() && *hz > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_clip_stay_its_own_when_the_camera_has_come() {
        let source = SourceState::default();
        source.set_kind(SourceKind::BuiltIn);
        assert_eq!(source.kind_of(9), SourceKind::BuiltIn);
        source.give_way(7);
        assert_eq!([6, 7].map(|frame| source.kind_of(frame)), [SourceKind::BuiltIn, SourceKind::Camera]);
        assert_eq!(source.kind(), SourceKind::Camera);
    }

    #[test]
    fn a_reset_is_taken_once() {
        let session = Session::default();
        assert!(!session.take_reset());
        session.request_reset();
        assert_eq!([session.take_reset(), session.take_reset()], [true, false]);
    }
}
