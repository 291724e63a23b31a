//! Who is who: of those who cross, go, come back or stand where another does, and by another hub's names.

use super::*;

#[test]
fn three_who_cross_keep_who_they_are_while_cameras_go_and_come() {
    // Of four cameras two are away for five seconds each.
    let away = |camera: usize, at_us: i64| {
        let s = at_us / 1_000_000;
        camera == 0 && (6..11).contains(&s) || camera == 2 && (9..14).contains(&s)
    };
    let rooms: Vec<_> = (1..=8)
        .map(|seed| {
            let scene = Scene::new(Setting { seed, seconds: 25.0, persons: 3, ..Setting::default() });
            score(&scene, places(&scene), Extrinsics::identity(), away)
        })
        .collect();
    // Two who meet where two cameras alone see them may be exchanged: now and then one is.
    let switches: usize = rooms.iter().map(|s| s.switches).sum();
    let ghosts = rooms.iter().map(|s| s.ghosts).sum::<f64>() / rooms.len() as f64;
    assert!(switches <= 4 && ghosts < 0.025, "{switches} {ghosts}");
    for s in rooms {
        assert!(s.mpjpe_mm < 32.0 && s.told > 0.95, "{} {}", s.mpjpe_mm, s.told);
    }
}

#[test]
fn whoever_stands_still_while_no_camera_speaks_is_the_same_for_four_seconds_and_nobody_known_after_that() {
    for (silent_s, is_kept) in [(0.5, true), (2.0, true), (3.5, true), (10.0, false), (600.0, false)] {
        let scene = Scene::new(Setting { seed: 5, seconds: 8.0, persons: 3, ..Setting::default() });
        let mut fusion = Fusion::new(places(&scene));
        let mut before = Vec::new();
        for p in scene.packets() {
            let is_before = p.true_us < 5_000_000;
            let at_us = p.true_us + if is_before { 0 } else { (1e6 * silent_s) as i64 };
            let read = line::read(&p.text, &scene.cameras[p.camera].0).unwrap();
            fusion.look(Look { camera: p.camera, at_us, persons: read.persons });
            if is_before {
                before = fusion.whereabouts().0;
            } else if p.true_us > 5_500_000 {
                break;
            }
        }
        let (now, _) = fusion.whereabouts();
        assert_eq!((before.len(), now.len()), (3, 3), "{silent_s} s: {before:?} {now:?}");
        for (id, at) in now {
            let was = before.iter().find(|b| b.0 == id);
            // Nobody walks a metre in half a second.
            assert!(was.is_some_and(|b| (b.1 - at).norm() < 1.0) == is_kept, "{silent_s} s: {id} {before:?}");
            assert!(was.is_some() == is_kept, "{silent_s} s: {id} {before:?}");
        }
    }
}

/// Lets `looks` come, and from `back_us` on asks after each who is told: never somebody who was not there before, and everybody at some
/// place within 0.3 s.
fn all_are_found_again(fusion: &mut Fusion, looks: Vec<Look>, back_us: i64, said: &str) {
    let (mut before, mut newest_us) = (Vec::new(), 0);
    for look in looks {
        if look.at_us < back_us {
            fusion.look(look);
            let here = fusion.whereabouts().0;
            // Until nobody is told any more.
            before = if here.len() < before.len() { before } else { here };
            continue;
        }
        newest_us = look.at_us;
        fusion.look(look);
        let people = fusion.people(newest_us);
        let ids: Vec<u32> = people.iter().map(|p| p.id).collect();
        assert!(
            people.len() <= before.len() && ids.iter().all(|id| before.iter().any(|b| b.0 == *id)),
            "{said}, {} us after it: {ids:?}, {before:?}",
            newest_us - back_us
        );
        let placed = people.iter().filter(|p| p.joints.iter().any(Option::is_some)).count();
        assert!(
            newest_us - back_us < 300_000 || placed == before.len(),
            "{said}, {} us after it: {placed} of {before:?}",
            newest_us - back_us
        );
    }
    assert!(before.len() == fusion.people(newest_us).len() && newest_us - back_us > 1_000_000, "{said}");
}

#[test]
fn after_a_silence_of_any_length_everybody_is_told_at_once_and_under_no_new_number() {
    let scene = Scene::new(Setting { seed: 5, seconds: 7.5, persons: 3, ..Setting::default() });
    let lens = |camera: usize| &scene.cameras[camera].0;
    let all: Vec<Look> = scene
        .packets()
        .iter()
        .map(|p| {
            let persons = line::read(&p.text, lens(p.camera)).unwrap().persons;
            Look { camera: p.camera, at_us: p.true_us, persons }
        })
        .collect();
    let from_us = 5_000_000;
    for silent_us in (400_000..=1_200_000).step_by(20_000) {
        for says_nobody in [false, true] {
            let mut looks = all.clone();
            for look in looks.iter_mut().filter(|look| look.at_us >= from_us) {
                look.at_us += silent_us;
            }
            // Cameras that speak, and see nobody.
            let empty = all.iter().filter(|l| says_nobody && (0..silent_us).contains(&(l.at_us - from_us)));
            looks.extend(empty.map(|l| Look { persons: Vec::new(), ..l.clone() }));
            looks.sort_by_key(|look| look.at_us);
            let said = format!("{silent_us} us, {says_nobody}");
            all_are_found_again(&mut Fusion::new(places(&scene)), looks, from_us + silent_us, &said);
        }
    }
}

#[test]
fn who_walks_on_while_two_cameras_lose_them_one_after_the_other_is_nobody_new() {
    for seed in 1..=6 {
        let scene = Scene::new(Setting { seed, seconds: 8.0, cameras: 2, lively: 0.0, ..Setting::default() });
        for lost_us in [[5_000_000, 5_500_000], [5_200_000, 5_000_000], [5_100_000, 5_100_000]] {
            let back_us = 6_100_000;
            let packets = scene.packets();
            let looks = packets.iter().filter(|p| !(lost_us[p.camera]..back_us).contains(&p.true_us));
            let read =
                |text: &str, camera: usize| line::read(text, &scene.cameras[camera].0).unwrap().persons;
            let mut looks: Vec<Look> = looks
                .map(|p| Look { camera: p.camera, at_us: p.true_us, persons: read(&p.text, p.camera) })
                .collect();
            looks.sort_by_key(|look| look.at_us);
            let said = format!("seed {seed}, {lost_us:?}");
            all_are_found_again(&mut Fusion::new(places(&scene)), looks, back_us, &said);
        }
    }
}

#[test]
fn whoever_is_elsewhere_at_once_is_the_same_unless_two_cameras_see_them_where_they_were() {
    for (seed, leaping) in [(1, 4), (2, 4), (3, 4), (4, 2), (5, 2), (6, 2)] {
        let scene = Scene::new(Setting { seed, seconds: 7.0, ..Setting::default() });
        let by = V3::new(0.6, 0.0, 0.0);
        let mut after = scene.clone();
        for (_, place) in after.cameras.iter_mut().take(leaping) {
            *place *= nalgebra::Translation3::from(by);
        }
        let fusion = moved(&scene, &after, 6_000_000).fusion;
        let joints = scene.truth(fusion.newest_us())[0];
        let hips = 0.5 * (joints[11] + joints[12]);
        let truth = hips + if leaping > 2 { by } else { V3::zeros() };
        let (here, _) = fusion.whereabouts();
        let first = here.iter().find(|p| p.0 == 1).expect("who was there");
        assert!((first.1 - truth).xy().norm() < 0.3, "seed {seed}: {here:?}, {truth:?}");
        assert!(leaping == 2 || here.len() == 1, "seed {seed}: {here:?}");
    }
}

#[test]
fn an_empty_room_is_empty_and_a_picture_alone_is_nobody() {
    let scene = Scene::new(Setting { cameras: 2, seconds: 4.0, ..Setting::default() });
    let mut fusion = Fusion::new(places(&scene));
    for p in scene.packets().iter().filter(|p| p.camera == 0) {
        let read = line::read(&p.text, &scene.cameras[0].0).unwrap();
        fusion.look(Look { camera: 0, at_us: p.true_us, persons: read.persons });
    }
    assert_eq!(fusion.people(4_000_000), []);
}

#[test]
fn another_hub_s_names_are_taken_over() {
    let scene = Scene::new(Setting { seed: 5, seconds: 4.0, persons: 3, ..Setting::default() });
    let hear = |fusion: &mut Fusion| {
        for p in scene.packets() {
            let read = line::read(&p.text, &scene.cameras[p.camera].0).unwrap();
            fusion.look(Look { camera: p.camera, at_us: p.true_us, persons: read.persons });
        }
    };
    let [mut one, mut two] = [Fusion::new(places(&scene)), Fusion::new(places(&scene))];
    two.next_id = 2;
    hear(&mut one);
    hear(&mut two);
    let (here, next_id) = one.whereabouts();
    assert_eq!(here.len(), 3);
    // Somebody whom only the second knows keeps out of the way.
    two.rename(&here[..2], next_id);
    let (there, _) = two.whereabouts();
    for (id, at) in &here[..2] {
        assert!(there.iter().any(|t| t.0 == *id && (t.1 - at).norm() < 1e-9), "{id}: {there:?}");
    }
    let ids: std::collections::BTreeSet<u32> = there.iter().map(|t| t.0).collect();
    assert_eq!(ids.len(), 3, "{there:?}");
}

#[test]
fn another_hub_s_name_is_for_whoever_is_near_and_none_of_its_names_is_given_twice() {
    let (here, far) = (V3::new(0.0, 0.0, 1.0), V3::new(5.0, 0.0, 1.0));
    let mut fusion = room_of(vec![body_at(1, here, 0, &[1, 1]), body_at(2, far, 0, &[1, 1])], 1_000_000);
    fusion.gone = vec![(7, 900_000, far), (8, 900_000, far)];
    fusion.rename(&[(7, here + V3::new(0.3, 0.0, 0.0)), (9, far + V3::new(2.0, 0.0, 0.0))], 50);
    assert_eq!(fusion.bodies.iter().map(|b| b.id).collect::<Vec<_>>(), [7, 2]);
    assert_eq!(fusion.next_id, 50);
    // Nobody who comes back gets the name of somebody who is there.
    assert_eq!(fusion.gone.iter().map(|g| g.0).collect::<Vec<_>>(), [8]);
}

#[test]
fn whoever_comes_back_may_have_walked_meanwhile_and_no_farther() {
    for (far_m, away_us, may) in
        [(0.7, 0, true), (0.9, 0, false), (1.4, 1_000_000, true), (1.6, 1_000_000, false)]
    {
        assert_eq!(may_be(V3::new(far_m, 0.0, 0.0), V3::zeros(), away_us), may, "{far_m} m, {away_us} us");
    }
}

#[test]
fn of_two_bodies_in_one_place_the_older_one_stays_and_one_that_one_camera_alone_saw_does_not() {
    let at = V3::new(0.0, 0.0, 1.0);
    let two = |ids: [u32; 2], born_us: [i64; 2], until_us: i64| {
        let bodies = (0..2).map(|k| body_at(ids[k], at, born_us[k], &[5_000_000, 5_000_000])).collect();
        let mut fusion = room_of(bodies, 5_000_000);
        for newest_us in [5_000_000, until_us] {
            fusion.newest_us = newest_us;
            fusion.tidy();
        }
        fusion.bodies.iter().map(|b| b.id).collect::<Vec<_>>()
    };
    assert_eq!(two([1, 2], [0, 1_000_000], 5_500_000), [1]);
    assert_eq!(two([1, 2], [1_000_000, 0], 5_500_000), [2]);
    assert_eq!(two([1, 2], [0, 1_000_000], 5_300_000), [1, 2], "people embrace");
    let mut fusion = room_of(vec![body_at(1, at, 4_500_000, &[5_000_000, 4_500_000])], 5_000_000);
    fusion.tidy();
    assert!(fusion.bodies.is_empty());
}

#[test]
fn a_number_that_is_kept_for_somebody_is_not_used_up_by_nobody() {
    let (at, gone) = (V3::new(0.0, 0.0, 1.0), |g: &Fusion| g.gone.iter().map(|g| g.0).collect::<Vec<_>>());
    for (seen_us, left, kept) in [(5_000_000, vec![], vec![7]), (5_400_000, vec![7], vec![])] {
        let newborn = body_at(0, at, 5_000_000, &[5_000_000, 5_000_000]);
        let mut fusion = room_of(vec![newborn.clone()], 5_500_000);
        fusion.gone = vec![(7, 4_000_000, at)];
        (fusion.bodies[0].id, fusion.bodies[0].back) = fusion.id_of(&newborn);
        fusion.bodies[0].seen_us = vec![seen_us; 2];
        assert!(gone(&fusion).is_empty());
        fusion.tidy();
        let here: Vec<u32> = fusion.bodies.iter().map(|b| b.id).collect();
        assert_eq!((here, gone(&fusion)), (left, kept));
    }
}

#[test]
fn whom_two_cameras_lost_just_now_is_found_again_unless_two_others_hold_them() {
    let (now, at) = (9_000_000, V3::new(0.0, 0.0, 4.0));
    let lost = |ago_us: i64, ids: [u32; 2], others_us: i64| {
        let others = now - others_us;
        let mut body = body_at(1, at, 0, &[now - ago_us, now - ago_us, others, others]);
        body.seen_as = vec![4, 5, 6, 7];
        let mut fusion = room_of(vec![body], now);
        for camera in 2..4 {
            fusion.before[camera] = Some(Look { camera, at_us: others, persons: vec![] });
        }
        let newborn = body_at(0, at + V3::new(0.3, 0.0, 0.0), now, &[now; 4]);
        fusion.lost(&newborn, [(0, ids[0]), (1, ids[1])])
    };
    assert_eq!(lost(300_000, [4, 5], 500_000), Some(0));
    assert_eq!(lost(300_000, [4, 9], 500_000), None, "another name");
    assert_eq!(
        lost(600_000, [4, 9], 600_000),
        Some(0),
        "another name, and nobody saw them for half a second"
    );
    assert_eq!(lost(600_000, [4, 9], 50_000), None, "another name, and others see them");
    assert_eq!(lost(1_100_000, [4, 5], 1_200_000), None, "too long ago");
    assert_eq!(lost(300_000, [4, 5], 50_000), None, "two others hold them");
}
