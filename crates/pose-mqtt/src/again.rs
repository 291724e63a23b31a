//! When a broker that is gone is looked for again, and what is worth a line in the log.
//!
//! A broker has room for one of each name: who connects as somebody who is there has them thrown out. Two programs of one name would throw each
//! other out for ever, so whose connections end soon after they began waits longer, as for a broker that is not there at all.

use std::time::{Duration, Instant};

use rumqttc::{ConnectReturnCode, ConnectionError, StateError, mqttbytes};

/// First and longest wait before a broker that is gone is looked for.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(10);
/// A connection that lasted so long was no quarrel about a name. Longer than the other one waits.
const LASTING: Duration = Duration::from_secs(20);
/// So many in a row that did not: a broker that is started anew is gone once or twice.
const QUARREL: u32 = 3;

/// Why there is no connection, told when that begins and when it becomes another; in a quarrel once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It cannot be reached, or has let go. Each of these once until it is there or refuses: a bad network goes to and fro between them.
    Gone(Gone),
    /// It is there and lets nobody of this name and password in.
    Refused(ConnectReturnCode),
    /// It lets go soon after it was reached, again and again.
    ThrownOut,
}

/// How a broker is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Nobody listens there, or whoever was connected has let go.
    Away,
    /// Nothing comes back.
    Silent,
    /// Somebody listens, and hangs up before anything is said.
    HungUp,
    /// Somebody answers who is no broker.
    NoMqtt,
}

impl Trouble {
    pub fn of(error: &ConnectionError) -> Self {
        use ConnectionError::{ConnectionRefused, FlushTimeout, Io, MqttState, NetworkTimeout};
        use StateError::{AwaitPingResp, CollisionTimeout, ConnectionAborted, Deserialization};
        Self::Gone(match error {
            ConnectionRefused(code) => return Self::Refused(*code),
            Io(_) => Gone::Away,
            NetworkTimeout | FlushTimeout | MqttState(AwaitPingResp | CollisionTimeout) => Gone::Silent,
            MqttState(StateError::Io(_) | ConnectionAborted) => Gone::HungUp,
            // Of the system's own, as where it is reset; others are of an answer that breaks off.
            MqttState(Deserialization(mqttbytes::Error::Io(error))) if error.raw_os_error().is_some() => {
                Gone::HungUp
            }
            _ => Gone::NoMqtt,
        })
    }
}

/// What was seen of the connection. Time is an argument.
#[derive(Debug)]
pub struct Again {
    wait: Duration,
    made_at: Option<Instant>,
    /// Connections in a row that did not last.
    short: u32,
    /// The last one and, where it is gone, in which ways before; since a quarrel began all of it.
    told: Vec<Trouble>,
}

impl Again {
    pub const fn new() -> Self {
        Self { wait: FIRST, made_at: None, short: 0, told: Vec::new() }
    }

    /// A connection is made; says whether that is worth a line: every few seconds it is not.
    pub fn connected(&mut self, now: Instant) -> bool {
        self.made_at = Some(now);
        if self.is_quarrel() {
            return false;
        }
        self.wait = FIRST;
        self.told.clear();
        true
    }

    /// The connection is still there; says whether a quarrel is over with that.
    pub fn lasts(&mut self, now: Instant) -> bool {
        let is_over = self.is_quarrel() && self.lasted(now).is_some_and(|lasted| lasted >= LASTING);
        if is_over {
            (self.short, self.wait) = (0, FIRST);
            self.told.clear();
        }
        is_over
    }

    /// There is no connection, and why: how long to wait, and what to tell.
    pub fn failed(&mut self, now: Instant, why: Trouble) -> (Duration, Option<Trouble>) {
        self.lasts(now);
        let lasted = self.lasted(now);
        self.made_at = None;
        match lasted {
            Some(lasted) if lasted < LASTING => self.short = self.short.saturating_add(1),
            Some(_) => self.short = 0,
            None => {}
        }
        let is_quarrel = self.is_quarrel();
        let trouble = match why {
            Trouble::Gone(_) if lasted.is_some() && is_quarrel => Trouble::ThrownOut,
            // However a connection broke off: what stands there now is seen at the next attempt.
            Trouble::Gone(_) if lasted.is_some() => Trouble::Gone(Gone::Away),
            why => why,
        };
        let is_gone = matches!(trouble, Trouble::Gone(_));
        let is_new = match is_quarrel || is_gone {
            true => !self.told.contains(&trouble),
            false => self.told.last() != Some(&trouble),
        };
        if is_new {
            // What was told before a quarrel is told once in it, too: the broker may be gone for good.
            if !(is_quarrel || is_gone) || trouble == Trouble::ThrownOut {
                self.told.clear();
            }
            self.told.push(trouble);
        }
        let wait = self.wait;
        self.wait = (2 * wait).min(LONGEST);
        (wait, is_new.then_some(trouble))
    }

    fn is_quarrel(&self) -> bool {
        self.short >= QUARREL
    }

    fn lasted(&self, now: Instant) -> Option<Duration> {
        self.made_at.map(|made_at| now.saturating_duration_since(made_at))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const AWAY: Trouble = Trouble::Gone(Gone::Away);

    /// Two programs of one name: each that connects throws the other out. How often that was in `within`, and what the first told.
    fn quarrel(within: Duration) -> (u32, Vec<Trouble>) {
        let began = Instant::now();
        let (mut now, mut both, mut told, mut times) = (began, [Again::new(), Again::new()], Vec::new(), 0);
        both[0].connected(now);
        while now - began < within {
            // The other one connects, and the first of the two is out until it comes back.
            let [out, come] = [times as usize % 2, (times as usize + 1) % 2];
            both[come].connected(now);
            let (wait, trouble) = both[out].failed(now, AWAY);
            told.extend(trouble.filter(|_| out == 0));
            times += 1;
            now += wait;
        }
        (times, told)
    }

    #[test]
    fn two_of_one_name_are_told_so_once_and_throw_each_other_out_less_and_less_often() {
        let (times, told) = quarrel(Duration::from_secs(600));
        assert_eq!(told, [AWAY, AWAY, Trouble::ThrownOut]);
        assert!(times < 80, "{times} times in ten minutes");
    }

    #[test]
    fn a_broker_that_goes_is_looked_for_at_growing_intervals_and_told_of_once() {
        let mut again = Again::new();
        let mut now = Instant::now();
        assert!(again.connected(now));
        now += Duration::from_secs(60);
        let (waits, told): (Vec<_>, Vec<_>) = (0..7).map(|_| again.failed(now, AWAY)).unzip();
        assert_eq!(
            waits.iter().map(Duration::as_millis).collect::<Vec<_>>(),
            [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]
        );
        assert_eq!(told.into_iter().flatten().collect::<Vec<_>>(), [AWAY]);
        // Back, and gone again at once: no quarrel yet.
        assert!(again.connected(now));
        assert_eq!(again.failed(now, AWAY), (FIRST, Some(AWAY)));
    }

    #[test]
    fn what_is_wrong_is_told_again_where_it_has_become_something_else() {
        use ConnectReturnCode::{BadClientId, NotAuthorized};
        let (mut again, now) = (Again::new(), Instant::now());
        let [refused, other] = [NotAuthorized, BadClientId].map(Trouble::Refused);
        let seen = [AWAY, AWAY, refused, refused, other, AWAY, AWAY];
        let told: Vec<_> = seen.into_iter().filter_map(|why| again.failed(now, why).1).collect();
        assert_eq!(told, [AWAY, refused, other, AWAY]);
        // Let in, and with another password after its next start no more.
        assert!(again.connected(now));
        let told = [AWAY, refused].map(|why| again.failed(now, why).1);
        assert_eq!(told, [Some(AWAY), Some(refused)]);
        // A broker that has crashed three times and stays away is no other program.
        let mut again = Again::new();
        for _ in 0..QUARREL {
            again.connected(now);
            again.failed(now, AWAY);
        }
        let told = [(); 2].map(|()| again.failed(now, AWAY).1);
        assert_eq!(told, [Some(AWAY), None]);
        // One that comes and goes for an hour fills no log.
        let mut now = Instant::now();
        let mut told = Vec::new();
        for _ in 0..450 {
            again.connected(now);
            now += Duration::from_secs(3);
            told.extend([(); 2].map(|()| again.failed(now, AWAY).1));
            now += Duration::from_secs(5);
        }
        assert_eq!(told.into_iter().flatten().collect::<Vec<_>>(), []);
    }

    #[test]
    fn each_way_of_being_gone_is_told_once_until_the_broker_is_there_or_refuses() {
        let [silent, hung_up, no_mqtt] = [Gone::Silent, Gone::HungUp, Gone::NoMqtt].map(Trouble::Gone);
        let refused = Trouble::Refused(ConnectReturnCode::NotAuthorized);
        let (mut again, mut now) = (Again::new(), Instant::now());
        let told = |again: &mut Again, seen: &[Trouble]| -> Vec<Trouble> {
            seen.iter().filter_map(|why| again.failed(now, *why).1).collect()
        };
        // A network that goes to and fro, then another program on that port.
        let seen = [AWAY, silent, AWAY, silent, AWAY, hung_up, no_mqtt, no_mqtt, AWAY];
        assert_eq!(told(&mut again, &seen), [AWAY, silent, hung_up, no_mqtt]);
        assert_eq!(told(&mut again, &[refused, refused, silent, silent, AWAY]), [refused, silent, AWAY]);
        // One line where a broker is started anew, however the connection broke off.
        assert!(again.connected(now));
        assert_eq!(told(&mut again, &[hung_up, AWAY, AWAY]), [AWAY]);
        // In a quarrel, too, once each.
        let mut again = Again::new();
        let mut told = Vec::new();
        for _ in 0..450 {
            again.connected(now);
            now += Duration::from_secs(3);
            told.extend([hung_up, AWAY, silent, AWAY, silent].map(|why| again.failed(now, why).1));
        }
        let told: Vec<_> = told.into_iter().flatten().collect();
        assert_eq!(told, [AWAY, silent, AWAY, silent, Trouble::ThrownOut, AWAY, silent]);
    }

    #[test]
    fn an_error_is_known_by_what_stands_there() {
        use ConnectionError::{ConnectionRefused, Io, MqttState, NetworkTimeout};
        let broken = |error| MqttState(StateError::Deserialization(mqttbytes::Error::Io(error)));
        for (error, gone) in [
            (Io(io::ErrorKind::ConnectionRefused.into()), Gone::Away),
            (NetworkTimeout, Gone::Silent),
            (MqttState(StateError::ConnectionAborted), Gone::HungUp),
            (broken(io::Error::from_raw_os_error(104)), Gone::HungUp),
            (broken(io::Error::other("bytes remaining on stream")), Gone::NoMqtt),
            (MqttState(StateError::Deserialization(mqttbytes::Error::InvalidPacketType(15))), Gone::NoMqtt),
        ] {
            assert_eq!(Trouble::of(&error), Trouble::Gone(gone), "{error}");
        }
        let code = ConnectReturnCode::BadClientId;
        assert_eq!(Trouble::of(&ConnectionRefused(code)), Trouble::Refused(code));
    }

    #[test]
    fn connections_that_last_between_short_ones_are_no_quarrel() {
        let mut again = Again::new();
        let mut now = Instant::now();
        for lasted in [1, 1, 20, 1, 1, 3_600, 1, 1].map(Duration::from_secs) {
            assert!(again.connected(now));
            now += lasted;
            assert_eq!(again.failed(now, AWAY), (FIRST, Some(AWAY)));
        }
        again.connected(now);
        assert_eq!(again.failed(now, AWAY), (FIRST, Some(Trouble::ThrownOut)));
    }

    #[test]
    fn who_is_alone_under_their_name_again_is_told_so() {
        let mut again = Again::new();
        let mut now = Instant::now();
        for _ in 0..QUARREL {
            assert!(again.connected(now));
            again.failed(now, AWAY);
        }
        assert!(!again.connected(now), "one line a quarrel");
        assert!(!again.lasts(now));
        now += LASTING;
        assert!(again.lasts(now) && !again.lasts(now));
        assert_eq!(again.failed(now, AWAY), (FIRST, Some(AWAY)));
    }
}
