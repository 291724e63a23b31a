//! Rooms by hand: who keeps which identity, where and for how long.

use super::*;

fn report(persons: &[(u32, [f64; 2])]) -> RoomReport {
    let person = |(id, [x, y]): &(u32, [f64; 2])| ReportedPerson {
        id: *id,
        cameras: 2,
        joints: [Some([*x, *y, 1.0, 0.02]); JOINTS],
    };
    RoomReport { seq: 0, persons: persons.iter().map(person).collect() }
}

fn building() -> Building {
    // The second room begins where the first ends, and is turned by a quarter.
    let placed = |x, turn_degrees| RoomPlacement { at_m: [x, 0.0, 0.0], turn_degrees };
    Building::new(vec![placed(0.0, 0.0), placed(6.0, 90.0)])
}

#[test]
fn whoever_goes_through_a_door_keeps_their_name_and_nobody_else_gets_it() {
    let mut b = building();
    for k in 0..50 {
        let at_us = k * 100_000;
        b.take(0, &report(&[(1, [1.0 + 0.1 * k as f64, 0.0]), (2, [1.0, 2.0])]), at_us);
        b.take(1, &report(&[(1, [-1.0, -3.0])]), at_us + 1_000);
    }
    let ids = |b: &Building, at_us| b.residents(at_us).iter().map(|r| r.id).collect::<Vec<_>>();
    assert_eq!(ids(&b, 4_950_000), [1, 2, 3]);
    // For half a second nobody sees them; then the other room does, at x = 6.5 of the building: (0, -0.5) of its own.
    for k in 55..60 {
        b.take(0, &report(&[(2, [1.0, 2.0])]), k * 100_000);
        b.take(1, &report(&[(1, [-1.0, -3.0]), (2, [0.0, -0.5])]), k * 100_000 + 1_000);
    }
    assert_eq!(ids(&b, 5_950_000), [1, 2, 3]);
    let resident = b.residents(5_950_000)[0];
    let [x, y, ..] = resident.joints[0].unwrap();
    assert!(resident.room == 1 && (x - 6.5).abs() < 1e-9 && y.abs() < 1e-9, "{resident:?}");
    // Somebody who comes in far from there is somebody new.
    b.take(1, &report(&[(1, [-1.0, -3.0]), (2, [0.0, -0.5]), (3, [3.0, -3.0])]), 6_000_000);
    assert_eq!(ids(&b, 6_010_000), [1, 2, 3, 4]);
}

#[test]
fn a_newcomer_is_whoever_is_lost_rather_than_a_neighbour_who_is_still_seen() {
    let mut b = building();
    b.take(0, &report(&[(1, [5.8, 0.0]), (2, [5.2, 0.4])]), 0);
    // The second is lost, the first stands at the wall; the newcomer is 0.5 m from the first, at (6.2, 0.3) of the building.
    b.take(0, &report(&[(1, [5.8, 0.0])]), 600_000);
    b.take(1, &report(&[(1, [0.3, -0.2])]), 610_000);
    let ids: Vec<(usize, u32)> = b.residents(620_000).iter().map(|r| (r.room, r.id)).collect();
    assert_eq!(ids, [(0, 1), (1, 2)]);
}

#[test]
fn who_was_taken_for_a_neighbour_and_goes_elsewhere_is_somebody_new() {
    let mut b = building();
    let mut ids = Vec::new();
    for k in 0..30 {
        let at_us = k * 100_000;
        b.take(0, &report(&[(1, [5.8, 0.0])]), at_us);
        // From 0.5 m to 1.95 m away, at half a metre a second.
        b.take(1, &report(&[(1, [0.3, -0.2 - 0.05 * k as f64])]), at_us + 1_000);
        ids.push(b.residents(at_us + 2_000).iter().map(|r| r.id).collect::<Vec<_>>());
    }
    assert_eq!((&ids[0], &ids[29]), (&vec![1], &vec![1, 2]));
    // It does not change to and fro.
    assert_eq!(ids.windows(2).filter(|two| two[0] != two[1]).count(), 1, "{ids:?}");
}

#[test]
fn whoever_is_told_of_twice_a_second_is_there_all_the_time_and_whom_a_line_leaves_out_is_gone() {
    let mut b = building();
    // Lines come half a second apart, now and then one late and the next one with it.
    for (line, at_us) in (0..20).map(|k| (k, k * 500_000 + if k % 5 == 4 { 499_000 } else { 0 })) {
        b.take(0, &RoomReport { seq: line as u64, ..report(&[(1, [1.0, 0.0]), (2, [1.0, 2.0])]) }, at_us);
        let next_us = (line + 1) * 500_000 + if line % 5 == 3 { 499_000 } else { 0 };
        for now_us in (at_us..next_us).step_by(33_000) {
            // Of the first line alone nobody knows when the next one comes.
            if line == 0 {
                break;
            }
            assert_eq!(b.residents(now_us).len(), 2, "{now_us} us");
            assert!(b.known.values().all(|k| b.is_seen(k, now_us)), "{now_us} us");
        }
    }
    b.take(0, &RoomReport { seq: 20, ..report(&[(1, [1.0, 0.0])]) }, 10_100_000);
    assert_eq!(b.residents(10_410_000).iter().map(|r| r.id).collect::<Vec<_>>(), [1]);
    // A hub that has stopped, or takes all the time in the world, is not waited for.
    assert_eq!(b.residents(11_900_000).len(), 0);
    b.take(0, &RoomReport { seq: 21, ..report(&[(1, [1.0, 0.0])]) }, 30_000_000);
    assert_eq!([32_900_000, 33_100_000].map(|us| b.residents(us).len()), [1, 0]);
}

#[test]
fn whoever_has_left_a_slow_room_that_fell_silent_is_told_where_another_sees_them_under_their_number() {
    // At a walk and at a run, from the door on.
    for pace_m_s in [1.2, 2.5] {
        let mut b = building();
        for line in 0..5 {
            let mut at_the_door = report(&[(1, [5.9, 0.0])]);
            (at_the_door.seq, at_the_door.persons[0].cameras) = (line, 3);
            b.take(0, &at_the_door, (line as i64 - 4) * 700_000);
        }
        for now_us in (100_000..3_000_000).step_by(33_000) {
            let x = 5.9 + pace_m_s * now_us as f64 / 1e6;
            b.take(1, &report(&[(1, [0.0, 6.0 - x])]), now_us);
            let all: Vec<_> = b.residents(now_us).iter().map(|r| (r.id, r.room)).collect();
            // Until it has been silent for a moment the room of more cameras tells of them.
            assert_eq!(all, [(1, usize::from(now_us >= GONE_US))], "{now_us} us, {pace_m_s} m/s");
        }
    }
}

#[test]
fn whoever_a_slow_room_sees_elsewhere_all_the_time_is_somebody_new() {
    let mut b = building();
    for k in 0..90 {
        let now_us = k * 33_000;
        if k % 21 == 0 {
            b.take(0, &RoomReport { seq: k as u64 / 21, ..report(&[(1, [5.8, 0.0])]) }, now_us);
        }
        // Beside each other until it is known how far apart the slow room's lines come.
        b.take(1, &report(&[(1, [0.0, -0.2 - 0.03 * (k - 30).max(0) as f64])]), now_us + 1_000);
    }
    assert_eq!(b.residents(2_940_000).iter().map(|r| (r.id, r.room)).collect::<Vec<_>>(), [(1, 0), (2, 1)]);
}

#[test]
fn what_was_overtaken_is_not_taken_and_a_hub_that_was_started_anew_is() {
    let mut b = building();
    let mut at = |seq, x, now_us| {
        b.take(0, &RoomReport { seq, ..report(&[(1, [x, 0.0])]) }, now_us);
        b.residents(now_us)[0].joints[0].unwrap()[0]
    };
    assert_eq!([at(900, 1.0, 0), at(899, 1.1, 10_000), at(901, 1.2, 20_000)], [1.0, 1.0, 1.2]);
    assert_eq!([at(0, 1.3, 40_000), at(1, 1.4, 50_000)], [1.3, 1.4]);
    assert_eq!(at(0, 1.5, 1_200_000), 1.5);
}

#[test]
fn a_hub_that_was_started_anew_exchanges_nobody() {
    let mut b = building();
    let there = |b: &Building, now_us| {
        let at = |r: &Resident| (r.id, r.cameras, r.joints[0].unwrap()[1].round() as i64);
        b.residents(now_us).into_iter().map(at).collect::<Vec<_>>()
    };
    b.take(0, &RoomReport { seq: 900, ..report(&[(1, [1.0, 0.0]), (2, [1.0, 2.0]), (3, [1.0, 4.0])]) }, 0);
    let before = there(&b, 0);
    assert_eq!(before, [(1, 2, 0), (2, 2, 2), (3, 2, 4)]);
    // It counts people anew, too, as it finds them; the third it finds later.
    b.take(0, &RoomReport { seq: 0, ..report(&[(1, [1.0, 2.1]), (2, [1.0, 0.1])]) }, 300_000);
    assert_eq!(there(&b, 300_000), [(1, 2, 0), (2, 2, 2), (3, 0, 4)]);
    b.take(
        0,
        &RoomReport { seq: 1, ..report(&[(1, [1.0, 2.1]), (2, [1.0, 0.1]), (3, [1.0, 4.1])]) },
        2_000_000,
    );
    assert_eq!(there(&b, 2_000_000), before);
}

#[test]
fn a_room_is_turned_about_the_vertical_and_lies_as_high_as_it_is_said_to() {
    let place = |turn_degrees, at: [f64; 4]| {
        RoomPlacement { at_m: [6.0, 1.0, 3.0], turn_degrees }.place(at).map(|v| (v * 1e6).round() / 1e6)
    };
    assert_eq!(place(0.0, [1.0, 2.0, 0.5, 0.02]), [7.0, 3.0, 3.5, 0.02]);
    assert_eq!(place(90.0, [1.0, 2.0, 0.5, 0.02]), [4.0, 2.0, 3.5, 0.02]);
}

#[test]
fn whom_two_rooms_see_is_told_by_the_one_with_more_cameras() {
    for cameras in [[2, 3], [3, 2]] {
        let mut b = building();
        let by = |cameras: usize, person: (u32, [f64; 2])| {
            let mut one = report(&[person]);
            one.persons[0].cameras = cameras;
            one
        };
        b.take(0, &by(cameras[0], (1, [6.2, 0.1])), 0);
        b.take(1, &by(cameras[1], (7, [0.15, -0.25])), 20_000);
        let all: Vec<_> = b.residents(30_000).iter().map(|r| (r.id, r.room, r.cameras)).collect();
        assert_eq!(all, [(1, usize::from(cameras[1] > cameras[0]), 3)]);
        // Nobody tells of them any more.
        assert_eq!((b.residents(399_000).len(), b.residents(421_000).len()), (1, 0));
    }
}

#[test]
fn whom_two_rooms_see_is_told_once() {
    let mut b = building();
    b.take(0, &report(&[(1, [6.2, 0.1])]), 0);
    b.take(1, &report(&[(7, [0.15, -0.25])]), 20_000);
    let all = b.residents(30_000);
    assert_eq!(all.iter().map(|r| r.id).collect::<Vec<_>>(), [1]);
    assert!(b.residents(1_000_000).is_empty());
}
