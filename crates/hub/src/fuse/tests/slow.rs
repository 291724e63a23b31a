//! Cameras whose boards are slow.

use super::*;

/// A room of one person and two cameras of which every `each`th picture comes, at the same time or half of that apart: the share of joints
/// that is told, and how often somebody's identity changes.
fn slow(seed: u64, each: usize, are_apart: bool) -> (f64, usize) {
    let scene = Scene::new(Setting { seed, cameras: 2, seconds: 25.0, ..Setting::default() });
    let s = score(&scene, places(&scene), Extrinsics::identity(), |camera, at_us| {
        let frame = (at_us * 30 / 1_000_000) as usize;
        let later = if are_apart { camera * each / 2 } else { 0 };
        !(frame + later).is_multiple_of(each)
    });
    (s.told, s.switches)
}

#[test]
fn cameras_of_two_pictures_a_second_tell_of_somebody_at_the_same_time_or_by_turns() {
    for (each, are_apart) in [(10, false), (10, true), (15, false), (15, true)] {
        let rooms: Vec<_> = (1..=4).map(|seed| slow(seed, each, are_apart)).collect();
        let told = rooms.iter().map(|room| room.0).sum::<f64>() / 4.0;
        let switches: usize = rooms.iter().map(|room| room.1).sum();
        assert!(told > 0.4 && switches <= 1, "each {each}th, {are_apart}: {told} {switches}");
    }
}
