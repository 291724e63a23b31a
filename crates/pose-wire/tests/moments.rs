//! Properties of the assembly of packets into moments: nothing that was not sent, nothing twice, everything that arrived in
//! order, whatever is lost, doubled, late or contradictory.

use pose::{MAX_PERSONS, Pose, Stamped};
use pose_wire::*;
use proptest::{collection::vec, prelude::*};

/// The packet of person `index` of the moment `number` of a sender whose first `seq` is `first_seq`.
fn packet(first_seq: u32, number: u32, index: u8, persons: u8) -> PosePacket {
    let captured_at_us = 1_000_000 + i64::from(number) * 33_333;
    let (sent_at_us, valid_at_us) = (captured_at_us + 20_000, captured_at_us + 25_000);
    let at = Emission { seq: first_seq.wrapping_add(number), sent_at_us, persons, scale: 0 };
    if persons == 0 {
        return PosePacket::nobody(captured_at_us, valid_at_us, at);
    }
    let value = Pose { track_id: number * 100 + u32::from(index) + 1, ..Pose::default() };
    PosePacket::new(&Stamped { captured_at_us, valid_at_us, value }, index, at)
}

/// All packets of moments of so many persons each, in the order of sending.
fn stream(first_seq: u32, persons: &[u8]) -> Vec<PosePacket> {
    let moment = |(number, &n): (usize, &u8)| {
        (0..n.max(1)).map(move |index| packet(first_seq, number as u32, index, n)).collect::<Vec<_>>()
    };
    persons.iter().enumerate().flat_map(moment).collect()
}

fn assembled(packets: &[PosePacket]) -> (Vec<Moment>, MomentCounters) {
    let (mut assembly, mut moments) = (Assembly::new(), Vec::new());
    packets.iter().for_each(|p| assembly.push(p, |m| moments.push(*m)));
    assembly.flush(|m| moments.push(*m));
    (moments, assembly.counters())
}

fn first_seq() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(u32::MAX - 3), any::<u32>()]
}

fn persons() -> impl Strategy<Value = Vec<u8>> {
    vec(0..=MAX_PERSONS as u8, 1..12)
}

proptest! {
    #[test]
    fn what_arrives_whole_is_given_whole_and_at_once(first in first_seq(), persons in persons()) {
        let mut assembly = Assembly::new();
        for (number, n) in persons.iter().enumerate() {
            let own: Vec<_> = stream(first, &persons).into_iter()
                .filter(|p| p.seq == first.wrapping_add(number as u32)).collect();
            for (i, p) in own.iter().enumerate() {
                let mut given = None;
                assembly.push(p, |m| given = Some(*m));
                prop_assert_eq!(given.is_some(), i + 1 == own.len());
                if let Some(moment) = given {
                    prop_assert!(moment.is_whole() && moment.seq == p.seq && moment.expected == *n);
                    prop_assert_eq!(moment.persons().count(), usize::from(*n));
                    prop_assert_eq!(moment.sent_at_us(), p.captured_at_us + 20_000);
                    prop_assert!(moment.poses().all(|pose| pose.valid_at_us == p.captured_at_us + 25_000));
                }
            }
        }
        let told = MomentCounters { given: persons.len() as u32, ..Default::default() };
        prop_assert_eq!(assembly.counters(), told);
    }

    #[test]
    fn a_lost_packet_costs_its_person_and_no_other(
        first in first_seq(), persons in persons(), lost in vec(any::<bool>(), 96)
    ) {
        let sent = stream(first, &persons);
        let arrived: Vec<_> = sent.iter().zip(&lost).filter(|(_, lost)| !**lost).map(|(p, _)| *p).collect();
        let (moments, counters) = assembled(&arrived);
        let got: Vec<_> = moments.iter()
            .flat_map(|m| m.persons().map(|p| (m.seq, p.index, p.track_id)).collect::<Vec<_>>()).collect();
        let expected: Vec<_> = arrived.iter()
            .filter_map(|p| p.person.map(|q| (p.seq, q.index, q.track_id))).collect();
        prop_assert_eq!(got, expected);
        prop_assert_eq!(counters.refused, 0);
        prop_assert_eq!(counters.incomplete as usize, moments.iter().filter(|m| !m.is_whole()).count());
        // From the first moment seen to the last, each was given or missed.
        if let (Some(a), Some(z)) = (moments.first(), moments.last()) {
            prop_assert_eq!(counters.given + counters.missed, z.seq.wrapping_sub(a.seq) + 1);
        }
    }

    #[test]
    fn doubled_and_late_packets_change_nothing_but_their_count(
        first in first_seq(), persons in persons(),
        again in vec((any::<proptest::sample::Index>(), 0usize..6), 0..20)
    ) {
        let sent = stream(first, &persons);
        let mut arrived = sent.clone();
        for (which, later) in &again {
            let packet = *which.get(&sent);
            let at = arrived.iter().position(|p| *p == packet).unwrap_or_default();
            arrived.insert((at + 1 + later).min(arrived.len()), packet);
        }
        let (clean, told) = assembled(&sent);
        let (moments, counters) = assembled(&arrived);
        prop_assert_eq!(moments, clean);
        prop_assert_eq!(counters, MomentCounters { refused: again.len() as u32, ..told });
    }

    #[test]
    fn whatever_arrives_no_person_comes_twice_in_a_moment_and_every_packet_counts_once(
        packets in vec((0u32..4, 0i64..3, 0u8..10, 1u8..11, 0i32..2), 0..60)
    ) {
        let packets: Vec<PosePacket> = packets.into_iter().map(|(seq, captured, index, persons, horizon_us)| {
            let mut p = packet(0, seq, index.min(persons - 1), persons);
            (p.captured_at_us, p.horizon_us) = (captured, horizon_us);
            p
        }).collect();
        let (moments, counters) = assembled(&packets);
        prop_assert_eq!(moments.len(), counters.given as usize);
        let beyond = packets.iter().filter(|p| p.person.is_some_and(|q| usize::from(q.index) >= MAX_PERSONS)).count();
        let kept: usize = moments.iter().map(|m| m.persons().count()).sum();
        prop_assert!(kept + counters.refused as usize <= packets.len());
        prop_assert!(packets.len() <= kept + counters.refused as usize + beyond);
        for m in &moments {
            let indices: Vec<u8> = m.persons().map(|p| p.index).collect();
            prop_assert!(indices.windows(2).all(|w| w[0] < w[1]), "{:?}", indices);
            prop_assert!(indices.iter().all(|i| *i < m.expected));
            for person in m.persons() {
                let own = |p: &&PosePacket| {
                    (p.seq, p.captured_at_us, p.horizon_us, p.persons)
                        == (m.seq, m.captured_at_us, m.horizon_us, m.expected)
                };
                prop_assert!(packets.iter().filter(own).any(|p| p.person == Some(*person)));
            }
        }
    }
}

#[test]
fn a_sender_that_starts_anew_is_heard_at_once() {
    let before = stream(1_000, &[1, 1]);
    let anew = stream(0, &[1, 2]);
    let (moments, counters) = assembled(&[&before[..], &anew].concat());
    assert_eq!(moments.iter().map(|m| m.seq).collect::<Vec<_>>(), [1_000, 1_001, 0, 1]);
    assert_eq!((counters.missed, counters.refused), (0, 0));
    // Within a few moments of its beginning it is known by its clock, which has gone on.
    let mut soon = packet(0, 0, 0, 1);
    soon.captured_at_us += 1_000_000;
    let (moments, _) = assembled(&[&anew[..], &[soon]].concat());
    assert_eq!(moments.last().unwrap().captured_at_us, soon.captured_at_us);
}

#[test]
fn persons_and_horizon_are_what_the_first_packet_of_the_moment_says() {
    let [mut more, mut ahead] = [packet(5, 0, 1, 2); 2];
    more.persons = 7;
    ahead.horizon_us += 1;
    let (moments, counters) = assembled(&[packet(5, 0, 0, 2), more, ahead, packet(5, 0, 1, 2)]);
    assert_eq!((moments.len(), counters.refused), (1, 2));
    assert!(moments[0].is_whole() && moments[0].expected == 2);
}

#[test]
fn fifteen_moments_back_is_late_and_farther_a_sender_that_starts_anew() {
    for (back, is_late) in [(1, true), (15, true), (16, false)] {
        let mut old = packet(100, 20 - back, 0, 1);
        old.captured_at_us = 0;
        let (moments, counters) = assembled(&[packet(100, 20, 0, 1), old]);
        assert_eq!((moments.len(), counters.refused), if is_late { (1, 1) } else { (2, 0) }, "{back} back");
    }
}

#[test]
fn a_moment_is_as_old_as_its_newest_packet_says() {
    let [first, mut second] = [0, 1].map(|index| packet(5, 0, index, 2));
    second.age_us += 700;
    let (moments, _) = assembled(&[first, second]);
    assert_eq!(moments[0].sent_at_us(), first.captured_at_us + 20_700);
    assert_eq!(
        [1, 2, 3].map(|id| moments[0].pose_of(id).map(|pose| pose.value.track_id)),
        [Some(1), Some(2), None]
    );
}

#[test]
fn of_more_persons_than_there_are_places_for_the_first_are_given_and_the_rest_is_not_waited_for() {
    let (mut assembly, mut given) = (Assembly::new(), Vec::new());
    let persons = MAX_PERSONS as u8 + 2;
    for index in 0..persons {
        assembly.push(&packet(5, 0, index, persons), |moment| given.push((index, *moment)));
    }
    let [(with, moment)] = given[..] else { panic!("{} moments", given.len()) };
    assert_eq!(
        (usize::from(with) + 1, moment.persons().count(), moment.expected),
        (MAX_PERSONS, MAX_PERSONS, persons)
    );
    assert_eq!((assembly.counters().incomplete, assembly.counters().refused), (0, 2));
}

#[test]
fn times_at_the_ends_of_their_ranges_stop_there() {
    let mut last = packet(0, 0, 0, 1);
    (last.captured_at_us, last.age_us, last.horizon_us) = (i64::MAX - 5, i32::MAX, 6);
    let mut first = last;
    (first.captured_at_us, first.age_us, first.horizon_us) = (i64::MIN + 5, i32::MIN, -6);
    let (moments, _) = assembled(&[first, last]);
    assert_eq!((moments[0].sent_at_us(), moments[0].valid_at_us()), (i64::MIN, i64::MIN));
    assert_eq!((moments[1].sent_at_us(), moments[1].valid_at_us()), (i64::MAX, i64::MAX));
    assert_eq!(moments[1].pose_of(1).unwrap().valid_at_us, i64::MAX);
}
