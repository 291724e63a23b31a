//! How the tracker is: what STATUS packets and the health line say.

use super::SourceKind;
use crate::telemetry::Count;

/// The health of the tracker now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Processed frames per second over the last interval.
    pub fps: f32,
    /// Median age of the poses when they were sent, over the last interval, microseconds; `None` where none were.
    pub age_us: Option<i64>,
    /// Whether frames are coming.
    pub source_up: bool,
    /// What gives them.
    pub source_kind: SourceKind,
    /// [`Count`]s since the start, by `Count as usize`.
    pub counts: [u64; Count::ALL.len()],
    /// The processor's hottest sensor, degrees Celsius, where the board has one.
    pub temperature_c: Option<f32>,
    /// Whether the board slows itself down, where it tells.
    pub throttled: Option<bool>,
}

impl Health {
    /// One count.
    pub fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }
}

/// The health line: one line, read by people and `journalctl`.
impl std::fmt::Display for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} fps", self.fps)?;
        if let Some(age_us) = self.age_us {
            write!(f, ", age {:.0} ms", age_us as f32 / 1e3)?;
        }
        f.write_str(match (self.source_up, self.source_kind) {
            (false, _) if self.count(Count::Captured) == 0 => ", waiting for the source",
            (false, _) => ", source lost",
            (true, SourceKind::BuiltIn) => ", built-in clip, not a camera",
            (true, _) => "",
        })?;
        for count in
            [Count::Displaced, Count::Missed, Count::Bad, Count::Losses, Count::Unsent, Count::SinkErrors]
        {
            if self.count(count) > 0 {
                write!(f, ", {} {}", count.name(), self.count(count))?;
            }
        }
        if let Some(celsius) = self.temperature_c {
            write!(f, ", {celsius:.0} °C")?;
        }
        if self.throttled == Some(true) {
            write!(f, ", throttled")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Session;
    use crate::telemetry::board;

    #[test]
    fn the_line_says_what_there_is_to_say() {
        let session = Session::default();
        let telemetry = &session.telemetry;
        assert_eq!(session.health().to_string(), "0.0 fps, waiting for the source");
        telemetry.add(Count::Captured, 60);
        assert_eq!(session.health().to_string(), "0.0 fps, source lost");
        telemetry.add(Count::Processed, 60);
        session.source.set_up(true);
        let board = board::Readings { temperature_c: Some(55.5), throttled: Some(false) };
        telemetry.close_interval(60, 2.0, board);
        let health = session.health();
        assert_eq!((health.fps, health.source_up, health.count(Count::Processed)), (30.0, true, 60));
        assert_eq!((health.temperature_c, health.throttled), (Some(55.5), Some(false)));
        assert_eq!(health.to_string(), "30.0 fps, 56 °C");
    }
}
