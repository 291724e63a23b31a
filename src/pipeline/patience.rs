//! How long a live source may give no frame before it counts as lost: by how rarely its frames come.

use std::time::Duration;

use super::SILENCE;

/// So many frames may be missing.
const FRAMES: u32 = 3;

/// The longest: whatever gives less than a frame in so long is called lost between its frames, and a service's watchdog must not think that
/// the thread hangs.
const LONGEST: Duration = Duration::from_secs(5);

/// From frame to frame, the last few times.
#[derive(Debug, Default)]
pub(super) struct Patience {
    intervals: [Duration; 4],
    noted: usize,
}

impl Patience {
    /// A frame has come so long after the one before it.
    pub fn note(&mut self, interval: Duration) {
        self.intervals[self.noted % self.intervals.len()] = interval;
        self.noted += 1;
    }

    /// How long to wait for the next frame of a source that says it gives `fps` a second; [`LONGEST`] until two frames have come: the
    /// rate may be only what it was asked for.
    pub fn with(&self, fps: f32) -> Duration {
        if self.noted == 0 {
            return LONGEST;
        }
        let said = Duration::try_from_secs_f32(1.0 / fps).unwrap_or_default();
        let longest = self.intervals.into_iter().fold(said, Duration::max);
        longest.saturating_mul(FRAMES).clamp(SILENCE, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_waited_for_as_long_as_its_frames_are_rare() {
        let mut patience = Patience::default();
        assert_eq!(patience.with(30.0), LONGEST, "nothing is known of it");
        for _ in 0..9 {
            patience.note(Duration::from_millis(33));
        }
        assert_eq!(patience.with(30.0), SILENCE);
        assert_eq!(patience.with(0.0), SILENCE, "it does not say");
        assert_eq!(patience.with(1.0), Duration::from_secs(3), "by what it says");
        // In the dark, and in the light again.
        patience.note(Duration::from_millis(1_200));
        assert_eq!(patience.with(30.0), Duration::from_millis(3_600));
        for _ in 0..4 {
            patience.note(Duration::from_millis(33));
        }
        assert_eq!(patience.with(30.0), SILENCE);
        patience.note(Duration::from_secs(4));
        assert_eq!(patience.with(30.0), LONGEST);
    }
}
