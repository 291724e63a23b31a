//! A board's clock beside the hub's: offset and drift.
//!
//! Two ways. An **exchange** goes there and back (NTP's four stamps): half the way is a guess, wrong by at most half the delay.
//! **Arrivals** alone know only that nothing comes before it was sent: the line below all of arrival − emission with the least area between
//! (Moon, Skelly and Towsley 1999; an edge of the lower convex hull). It is late by the shortest way there, which nobody can see;
//! what is equal on all boards cancels.
//!
//! Both clocks may drift by `MAX_DRIFT`; a step of the board's clock (it was started anew) begins the estimate anew.

use std::collections::VecDeque;

/// Quartz is within 100 parts in a million; 500 leaves room for a bad one.
const MAX_DRIFT: f64 = 500e-6;
/// What is older says nothing of the present temperature, and so of the drift.
const WINDOW_US: i64 = 120_000_000;
/// Of each such span the least counts.
const SPAN_US: i64 = 500_000;
/// More than any path can explain: the clock was set anew.
const STEP_US: f64 = 100_000.0;
/// Farther from what arrivals say than any network's way: another clock.
const OTHER_CLOCK_US: f64 = 250_000.0;
/// So many spans that all say that nothing is as it was.
const STEP_SPANS: u32 = 6;
/// What a stamp itself is good for.
const STAMP_US: f64 = 50.0;

/// There and back, each stamp by the clock of whoever took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The board asked, by its clock.
    pub asked_us: i64,
    /// The hub heard it.
    pub heard_us: i64,
    /// The hub answered.
    pub answered_us: i64,
    /// The board got the answer.
    pub got_us: i64,
}

/// What is known of a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    /// Hub less board at the board's `at_us`.
    offset_us: f64,
    /// Where the offset holds, by the board's clock.
    at_us: i64,
    /// How much faster the hub's clock goes: 20e-6 is 20 parts in a million.
    drift: f64,
}

impl Estimate {
    /// A board's stamp by the hub's clock.
    fn hub_us(&self, board_us: i64) -> i64 {
        board_us + self.offset_at(board_us).round() as i64
    }

    /// Hub less board at a board's stamp.
    fn offset_at(&self, board_us: i64) -> f64 {
        self.offset_us + self.drift * (board_us - self.at_us) as f64
    }
}

/// The least of a span.
#[derive(Clone, Copy, Debug)]
struct Sample {
    board_us: i64,
    /// Hub less board.
    difference_us: f64,
    /// Of an exchange: the round trip.
    delay_us: f64,
}

/// One board's clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    arrivals: VecDeque<Sample>,
    exchanges: VecDeque<Sample>,
    stepped: u32,
    by_arrivals: Option<Estimate>,
    by_exchanges: Option<Estimate>,
}

impl Clock {
    /// A datagram that was emitted at `emitted_us` by the board's clock arrived at `arrived_us` by the hub's.
    pub fn arrived(&mut self, emitted_us: i64, arrived_us: i64) {
        self.forget_exchanges(arrived_us);
        let sample =
            Sample { board_us: emitted_us, difference_us: (arrived_us - emitted_us) as f64, delay_us: 0.0 };
        self.look_for_step(&sample);
        if keep_least(&mut self.arrivals, sample, |s| s.difference_us) {
            self.by_arrivals = below(self.arrivals.make_contiguous());
        }
    }

    /// An exchange came to its end. From the first on, and until none has come for `WINDOW_US`, arrivals only say whether the clock that was
    /// asked is the one that stamps lines.
    pub fn exchanged(&mut self, e: Exchange) {
        let difference_us = 0.5 * ((e.heard_us - e.asked_us) as f64 + (e.answered_us - e.got_us) as f64);
        let delay_us = ((e.got_us - e.asked_us) - (e.answered_us - e.heard_us)) as f64;
        if !(0.0..1e7).contains(&delay_us) {
            return;
        }
        let board_us = e.asked_us + (e.got_us - e.asked_us) / 2;
        let sample = Sample { board_us, difference_us, delay_us };
        let stepped = self
            .by_exchanges
            .is_some_and(|now| (difference_us - now.offset_at(board_us)).abs() > STEP_US + delay_us);
        if stepped {
            *self = Self::default();
        }
        if keep_least(&mut self.exchanges, sample, |s| s.delay_us) {
            self.by_exchanges = fitted(self.exchanges.make_contiguous());
        }
    }

    /// What is known by now.
    fn estimate(&self) -> Option<Estimate> {
        match (self.by_exchanges, self.by_arrivals) {
            // An agent on another machine than the camera's compares a clock that stamps nothing.
            (Some(e), Some(a)) if (e.offset_at(a.at_us) - a.offset_us).abs() > OTHER_CLOCK_US => Some(a),
            (Some(e), _) => Some(e),
            (None, a) => a,
        }
    }

    /// A board's stamp by the hub's clock; `None` before anything is known.
    pub fn hub_us(&self, board_us: i64) -> Option<i64> {
        self.estimate().map(|e| e.hub_us(board_us))
    }

    fn look_for_step(&mut self, sample: &Sample) {
        let Some(now) = self.by_arrivals else { return };
        let off = sample.difference_us - now.offset_at(sample.board_us);
        // Before it was sent: certain. Later: a network may be slow for a while.
        let new_span = self.arrivals.back().is_none_or(|s| s.board_us / SPAN_US != sample.board_us / SPAN_US);
        if off.abs() < STEP_US {
            self.stepped = 0;
        } else if off > 0.0 && new_span {
            self.stepped += 1;
        }
        if off < -STEP_US || self.stepped > STEP_SPANS {
            // Exchanges know of the way back: a network that is slow for long leaves them, and a board's step shows in the next one.
            (self.arrivals, self.by_arrivals, self.stepped) = Default::default();
        }
    }

    /// A board whose agent has ended is known by arrivals again.
    fn forget_exchanges(&mut self, now_us: i64) {
        let oldest_us = (now_us - WINDOW_US) as f64;
        let before = self.exchanges.len();
        // By the hub's clock: an agent's may be another than the one that stamps lines.
        while self.exchanges.front().is_some_and(|s| s.board_us as f64 + s.difference_us < oldest_us) {
            self.exchanges.pop_front();
        }
        if self.exchanges.len() < before {
            self.by_exchanges = fitted(self.exchanges.make_contiguous());
        }
    }
}

/// Keeps the best sample of each span; true where the kept samples are others than before.
fn keep_least(kept: &mut VecDeque<Sample>, sample: Sample, of: impl Fn(&Sample) -> f64) -> bool {
    match kept.back_mut() {
        Some(last) if last.board_us / SPAN_US == sample.board_us / SPAN_US => {
            if of(&sample) >= of(last) {
                return false;
            }
            *last = sample;
        }
        // A datagram that another one overtook by more than a span says nothing new.
        Some(last) if last.board_us > sample.board_us => return false,
        _ => kept.push_back(sample),
    }
    while kept.front().is_some_and(|s| s.board_us < sample.board_us - WINDOW_US) {
        kept.pop_front();
    }
    true
}

/// The line below all samples with the least area between.
fn below(samples: &[Sample]) -> Option<Estimate> {
    let last = samples.last()?;
    let x = |s: &Sample| (s.board_us - last.board_us) as f64;
    let mut hull: Vec<&Sample> = Vec::new();
    for s in samples {
        while let [.., a, b] = hull[..] {
            let turn = (x(b) - x(a)) * (s.difference_us - a.difference_us)
                - (b.difference_us - a.difference_us) * (x(s) - x(a));
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(s);
    }
    let middle = samples.iter().map(x).sum::<f64>() / samples.len() as f64;
    let edge = hull.windows(2).find(|e| x(e[0]) <= middle && middle <= x(e[1]));
    let slope = edge.map(|e| (e[1].difference_us - e[0].difference_us) / (x(e[1]) - x(e[0])));
    // A short time's slope is jitter.
    let span_s = -x(&samples[0]) / 1e6;
    let drift = slope.filter(|_| span_s > 10.0).unwrap_or(0.0).clamp(-MAX_DRIFT, MAX_DRIFT);
    let offset_us = samples.iter().map(|s| s.difference_us - drift * x(s)).min_by(f64::total_cmp)?;
    Some(Estimate { offset_us, at_us: last.board_us, drift })
}

/// The weighted line through exchanges: the longer the way took, the less it says.
fn fitted(samples: &[Sample]) -> Option<Estimate> {
    let last = samples.last()?;
    let least = samples.iter().map(|s| s.delay_us).min_by(f64::total_cmp)?;
    // Normal equations about the newest sample; no drift of more than 50 ppm is expected.
    let (mut a, mut b, mut d) = (0.0, 0.0, 1.0 / (50e-6f64 * 50e-6));
    let (mut p, mut q) = (0.0, 0.0);
    for s in samples {
        let x = (s.board_us - last.board_us) as f64;
        let sigma = STAMP_US + 0.5 * (s.delay_us - least);
        let w = 1.0 / (sigma * sigma);
        a += w;
        b += w * x;
        d += w * x * x;
        p += w * s.difference_us;
        q += w * x * s.difference_us;
    }
    let det = a * d - b * b;
    let offset_us = (d * p - b * q) / det;
    let drift = ((a * q - b * p) / det).clamp(-MAX_DRIFT, MAX_DRIFT);
    Some(Estimate { offset_us, at_us: last.board_us, drift })
}

#[cfg(test)]
mod tests;
