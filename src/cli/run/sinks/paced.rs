//! `--rate HZ`: poses so many times a second, whatever the source does.

use std::time::Duration;

use pose::PoseFrame;
use posewire::output::{PoseSink, Sending, SinkError};

/// A sink at a rate of its own.
pub struct Paced {
    sink: Box<dyn PoseSink>,
    period: Duration,
}

impl Paced {
    pub fn new(sink: Box<dyn PoseSink>, rate_hz: f64) -> Self {
        Self { sink, period: Duration::from_secs_f64(1.0 / rate_hz) }
    }
}

impl PoseSink for Paced {
    fn name(&self) -> &str {
        self.sink.name()
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        self.sink.send(poses, now_us)
    }

    fn watch(&mut self, poses: &PoseFrame) {
        self.sink.watch(poses);
    }

    fn is_away(&self) -> bool {
        self.sink.is_away()
    }

    fn period(&self) -> Option<Duration> {
        Some(self.period)
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        self.sink.idle(now_us)
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        self.sink.finish(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port that is unplugged.
    struct Away;

    impl PoseSink for Away {
        fn name(&self) -> &str {
            "away"
        }
        fn send(&mut self, _: &PoseFrame, _: i64) -> Result<Sending, SinkError> {
            Ok(Sending::LeftOut)
        }
        fn is_away(&self) -> bool {
            true
        }
        fn finish(&mut self, _: Duration) -> Result<(), SinkError> {
            Ok(())
        }
    }

    #[test]
    fn a_sink_at_a_rate_of_its_own_is_away_when_what_it_sends_to_is() {
        assert!(Paced::new(Box::new(Away), 50.0).is_away());
    }
}
