//! How often poses go onto the line: what was asked for, what the line carries, and the beat between two moments.

use std::time::Duration;

use pose_wire::{DEFAULT_BAUD, Downgrade, Fit, MIN_RATE_HZ, Stream, TooSlow, fits_baud};

use super::SerialOptions;

/// The rate of one port. A consumer may change it, until its port goes away.
pub(super) struct Pace {
    baud: u32,
    /// What is sent where the line carries it; `rate_hz` is the camera's where nobody asks for one.
    wanted: Stream,
    /// Whether somebody asks for a rate: as frames come where not.
    is_asked: bool,
    fit: Fit,
    /// When the last moment that went was due: the next one's time follows from it and from the rate of now, so that a rate
    /// that is raised holds at once.
    beat_at_us: i64,
}

impl Pace {
    /// Settles what the line carries.
    ///
    /// # Errors
    /// Where it carries too little.
    pub fn new(options: &SerialOptions) -> Result<Self, TooSlow> {
        let wanted = Stream {
            rate_hz: options.rate_hz.unwrap_or(options.nominal_fps),
            persons: options.max_persons,
            with_3d: options.with_3d,
            with_place: options.with_place,
            with_events: options.events.is_some(),
        };
        let baud = options.port.baud;
        let is_asked = options.rate_hz.is_some();
        Ok(Self { baud, wanted, is_asked, fit: fits_baud(baud, wanted)?, beat_at_us: i64::MIN })
    }

    /// Goes over to the rate that the consumer asks for, but never below [`MIN_RATE_HZ`]: a consumer that asks for next to
    /// nothing would look like a line that is cut.
    ///
    /// # Errors
    /// Where the line does not carry it; the old rate stays.
    pub fn ask(&mut self, options: &SerialOptions, rate_hz: Option<f32>) -> Result<(), TooSlow> {
        let rate_hz = rate_hz.map(|hz| hz.max(MIN_RATE_HZ));
        let asked = Self::new(&SerialOptions { rate_hz, ..options.clone() })?;
        *self = Self { beat_at_us: self.beat_at_us, ..asked };
        Ok(())
    }

    /// Goes over to the rate that the source gives, where nobody asks for another.
    ///
    /// # Errors
    /// Where the line does not carry it; the old rate stays.
    pub fn follow(&mut self, options: &SerialOptions) -> Result<(), TooSlow> {
        if self.is_asked { Ok(()) } else { self.ask(options, None) }
    }

    /// What the line carries of what was asked for.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }

    /// How often each of `persons` is sent; `None`: as frames come.
    pub fn rate_hz(&self, persons: u8) -> Option<f32> {
        let asked_hz = self.is_asked.then_some(self.wanted.rate_hz);
        let carried_hz = self.fit.downgrade.lowered_rate.then(|| self.fit.carried_hz(persons));
        match (asked_hz, carried_hz) {
            (Some(asked), Some(carried)) => Some(asked.min(carried)),
            (asked, carried) => asked.or(carried),
        }
    }

    /// How often the sink has to be called to keep the rate; `None`: with every frame.
    pub fn period(&self, persons: u8) -> Option<Duration> {
        let rate_hz = self.rate_hz(persons).filter(|_| self.is_asked)?;
        Some(Duration::from_micros(interval_us(rate_hz) as u64))
    }

    /// Whether a moment of `persons` that comes now is one too many; keeps the average, not each gap.
    pub fn is_too_soon(&self, persons: u8, now_us: i64) -> bool {
        self.rate_hz(persons).map(interval_us).is_some_and(|interval_us| {
            now_us < self.beat_at_us.saturating_add(interval_us).saturating_sub(interval_us / 4)
        })
    }

    /// A moment of `persons` goes now. One that still waits for the line has not: its beat is not spent.
    pub fn spend(&mut self, persons: u8, now_us: i64) {
        let Some(interval_us) = self.rate_hz(persons).map(interval_us) else { return };
        let due_at_us = self.beat_at_us.saturating_add(interval_us);
        // After a gap the missed beats are gone.
        self.beat_at_us = if now_us.saturating_sub(due_at_us) > interval_us { now_us } else { due_at_us };
    }

    /// What had to be given up, for people.
    pub fn told(&self) -> Option<String> {
        let Downgrade { dropped_3d, lowered_rate } = self.fit.downgrade;
        let rate_hz = self.fit.stream.rate_hz;
        let given_up = match (dropped_3d, lowered_rate) {
            (false, false) => return None,
            (true, false) => "3D is left out".to_owned(),
            (false, true) => format!("poses are sent at {rate_hz:.1} Hz when all are there"),
            (true, true) => {
                format!("3D is left out and poses are sent at {rate_hz:.1} Hz when all are there")
            }
        };
        let faster = FASTER_BAUDS.iter().find(|&&baud| {
            fits_baud(baud, self.wanted).is_ok_and(|fit| fit.downgrade == Downgrade::default())
        });
        let Stream { persons, rate_hz, with_3d, .. } = self.wanted;
        let (people, fit) = if persons == 1 { ("person", "does not fit") } else { ("persons", "do not fit") };
        let faster = faster.map(|baud| format!("a faster line (@{baud}, at both ends)"));
        // Fewer than one is nobody.
        let fewer = (persons > 1).then(|| "--max-persons".to_owned());
        let cures: Vec<_> = faster.into_iter().chain(fewer).collect();
        let cure =
            if cures.is_empty() { String::new() } else { format!("; {} would help", cures.join(" or ")) };
        Some(format!(
            "{persons} {people} at {rate_hz:.0} Hz{} {fit} {} baud: {given_up}{cure}",
            if with_3d { " with 3D" } else { "" },
            self.baud,
        ))
    }
}

/// Rates to propose where a line is too slow: those that adapters and microcontrollers have, slowest first.
const FASTER_BAUDS: [u32; 5] = [DEFAULT_BAUD, 230_400, 460_800, 921_600, 2_000_000];

fn interval_us(rate_hz: f32) -> i64 {
    (1e6 / rate_hz) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Predict;

    fn told(port: &str, max_persons: u8, rate_hz: f32) -> Option<String> {
        let options = SerialOptions {
            port: port.parse().expect("a port"),
            predict: Predict::default(),
            rate_hz: Some(rate_hz),
            nominal_fps: 30.0,
            max_persons,
            with_3d: false,
            with_place: false,
            events: None,
        };
        Pace::new(&options).expect("carries something").told()
    }

    #[test]
    fn what_is_given_up_is_said_with_what_would_help() {
        let told = |port, persons, rate_hz| told(port, persons, rate_hz).unwrap_or_default();
        assert_eq!(told("/dev/null@921600", 1, 30.0), "");
        let four = told("/dev/null@115200", 4, 30.0);
        assert!(four.starts_with("4 persons at 30 Hz do not fit 115200 baud: "), "{four}");
        assert!(four.ends_with("(@230400, at both ends) or --max-persons would help"), "{four}");
        let one = told("/dev/null@9600", 1, 30.0);
        assert!(one.starts_with("1 person at 30 Hz does not fit 9600 baud: "), "{one}");
        assert!(one.ends_with("a faster line (@115200, at both ends) would help"), "{one}");
        let much = told("/dev/null@2000000", 1, 5000.0);
        assert!(much.ends_with("Hz when all are there"), "{much}");
    }
}
