//! Simulated clocks: 50 parts in a million, ways that take long at times, boards that start anew.

use super::*;

const DRIFT: f64 = 50e-6;
const OFFSET_US: f64 = -3_600_000_000.0;

/// The board's clock at the hub's `hub_us`.
fn board(hub_us: f64) -> i64 {
    ((hub_us - OFFSET_US) * (1.0 - DRIFT)).round() as i64
}

/// Mostly short, at times long: a busy Wi-Fi.
fn way_us(rng: &mut fastrand::Rng) -> f64 {
    let calm = -1_500.0 * (1.0 - rng.f64()).ln();
    800.0 + calm + if rng.f64() < 0.1 { 30_000.0 * rng.f64() } else { 0.0 }
}

fn error_us(clock: &Clock, hub_us: f64) -> f64 {
    clock.hub_us(board(hub_us)).unwrap() as f64 - hub_us
}

#[test]
fn exchanges_find_offset_and_drift_to_a_fraction_of_the_jitter() {
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut clock = Clock::default();
        let mut worst = 0.0f64;
        for second in 0..240 {
            let asked = 1e6 * f64::from(second) + 1e5 * rng.f64();
            let heard = asked + way_us(&mut rng);
            let answered = heard + 100.0;
            let got = answered + way_us(&mut rng);
            clock.exchanged(Exchange {
                asked_us: board(asked),
                heard_us: heard as i64,
                answered_us: answered as i64,
                got_us: board(got),
            });
            if second > 30 {
                worst = worst.max(error_us(&clock, got + 5e5).abs());
            }
        }
        let e = clock.estimate().unwrap();
        assert!((e.drift - DRIFT).abs() < 10e-6, "seed {seed}: {e:?}");
        assert!(worst < 1_000.0, "seed {seed}: off by {worst} µs");
    }
}

#[test]
fn arrivals_alone_are_late_by_the_shortest_way() {
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut clock = Clock::default();
        for frame in 0..120 * 30 {
            let sent = 33_333.0 * f64::from(frame);
            clock.arrived(board(sent), (sent + way_us(&mut rng)) as i64);
            if frame > 30 * 30 {
                let late = error_us(&clock, sent) - 800.0;
                assert!((-600.0..1_000.0).contains(&late), "seed {seed}, frame {frame}: {late} µs");
            }
        }
        let e = clock.estimate().unwrap();
        assert!((e.drift - DRIFT).abs() < 15e-6, "seed {seed}: {e:?}");
    }
}

#[test]
fn a_first_arrival_is_an_estimate_already() {
    let mut clock = Clock::default();
    assert_eq!(clock.hub_us(5), None);
    clock.arrived(1_000, 51_000);
    assert_eq!(clock.hub_us(2_000), Some(52_000));
}

#[test]
fn a_board_that_starts_anew_is_believed_soon() {
    for new_offset in [-9e9, 9e9] {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut clock = Clock::default();
        for frame in 0..1_800 {
            let sent = 33_333.0 * f64::from(frame);
            let stamp = if frame < 900 { board(sent) } else { board(sent) + new_offset as i64 };
            clock.arrived(stamp, (sent + way_us(&mut rng)) as i64);
        }
        let sent = 33_333.0 * 1_800.0;
        let off = clock.hub_us(board(sent) + new_offset as i64).unwrap() as f64 - sent;
        assert!(off.abs() < 5_000.0, "{off}");
    }
}

#[test]
fn a_network_that_is_slow_for_two_seconds_changes_nothing() {
    let mut clock = Clock::default();
    for frame in 0..1_800i64 {
        let sent = 33_333 * frame;
        let slow = if (600..660).contains(&frame) { 400_000 } else { 0 };
        clock.arrived(sent + 7, sent + 1_000 + slow);
    }
    let off = clock.hub_us(60_000_007).unwrap() - 60_001_000;
    assert!(off.abs() < 100, "{off}");
}

/// There and back in so many microseconds each, by a board that is 7 µs ahead.
fn exchange(asked_us: i64, there_us: i64, back_us: i64) -> Exchange {
    let heard_us = asked_us + there_us;
    Exchange {
        asked_us: asked_us + 7,
        heard_us,
        answered_us: heard_us + 10,
        got_us: heard_us + 10 + back_us + 7,
    }
}

#[test]
fn a_way_to_the_hub_that_is_slow_for_long_leaves_what_exchanges_know() {
    let mut clock = Clock::default();
    for frame in 0..1_800i64 {
        let sent = 33_333 * frame;
        let way = if (900..1_200).contains(&frame) { 180_000 } else { 5_000 };
        if frame % 30 == 0 {
            clock.exchanged(exchange(sent, way, 5_000));
        }
        clock.arrived(sent + 7, sent + way);
        let off = clock.hub_us(sent + 7).unwrap() - sent;
        assert!(off.abs() < 2_000, "frame {frame}: {off}");
    }
}

#[test]
fn a_board_whose_agent_has_ended_is_known_by_arrivals_again() {
    let mut clock = Clock::default();
    for second in 0..60i64 {
        clock.exchanged(exchange(1_000_000 * second, 5_000, 5_000));
    }
    // As the board gets warm it goes faster: after ten minutes it is 120 ms elsewhere.
    let board_us = |hub_us: i64| hub_us + 7 + hub_us / 5_000;
    for tenth in 600..6_000i64 {
        let sent = 100_000 * tenth;
        clock.arrived(board_us(sent), sent + 5_000);
    }
    let off = clock.hub_us(board_us(600_000_000)).unwrap() - 600_000_000;
    assert!((4_000..6_000).contains(&off), "{off}");
}

#[test]
fn an_exchange_that_cannot_be_says_nothing_and_a_board_that_starts_anew_is_believed_at_once() {
    let mut clock = Clock::default();
    let way = |asked_us: i64, board_less_us: i64, there_us: i64, back_us: i64| Exchange {
        asked_us,
        heard_us: asked_us + board_less_us + there_us,
        answered_us: asked_us + board_less_us + there_us + 10,
        got_us: asked_us + there_us + 10 + back_us,
    };
    clock.exchanged(way(1_000_000, 0, 300, -900));
    clock.exchanged(way(2_000_000, 0, 300, 20_000_000));
    assert_eq!(clock.estimate(), None, "an answer before the question, and one after twenty seconds");
    clock.exchanged(way(3_000_000, 5_000, 300, 500));
    assert_eq!(clock.hub_us(3_000_000), Some(3_004_900));
    clock.exchanged(way(4_000_000, 905_000, 300, 300));
    assert_eq!(clock.hub_us(4_000_000), Some(4_905_000));
}

#[test]
fn an_agent_with_another_clock_than_the_lines_is_not_believed() {
    let mut clock = Clock::default();
    for second in 0..20i64 {
        let now = 1_000_000 * second;
        clock.exchanged(Exchange {
            asked_us: now,
            heard_us: now + 300,
            answered_us: now + 310,
            got_us: now + 600,
        });
        clock.arrived(now + 9_000_000_000, now + 1_000);
        assert_eq!(clock.hub_us(now + 9_000_000_000), Some(now + 1_000));
    }
}

#[test]
fn a_datagram_that_another_one_overtook_by_seconds_changes_nothing() {
    let mut clock = Clock::default();
    for k in 0..200i64 {
        clock.arrived(100_000 * k, 100_000 * k + 1_000 + k % 7);
    }
    let before = clock.estimate();
    clock.arrived(17_000_000, 17_000_500);
    assert_eq!(clock.estimate(), before);
}
