//! Whether a camera still stands where it stood: what it sees beside what the others make of it.

use super::body::{Body, TOLD_M, sides};
use crate::V2;
use crate::geometry::Eye;
use crate::line::Seen;

/// Cameras that must agree without it.
const OTHERS: usize = 2;
/// Radians that all joints lie to the same side, for long: four fifths of a degree; and so many times what the others' do, whom a
/// camera that was moved draws along.
const ASIDE: f64 = 0.014;
const AS_OTHERS: f64 = 1.6;
/// Of the persons whom it should know, the share that it does not.
const STRANGERS: f64 = 0.7;
/// Seconds after which an observation counts a third, and for which one must have lasted.
const LASTS_S: f64 = 4.0;
/// Observations before anything is said.
const ENOUGH: f64 = 60.0;

/// What is known of one camera.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    aside: V2,
    strangers: f64,
    count: f64,
    last_us: i64,
}

impl Watch {
    /// Persons whom others see were found in this camera's picture, and lie `aside` of where they should.
    pub fn known(&mut self, asides: &[V2], at_us: i64) {
        // A camera that was moved sees everybody aside; one of several may be half hidden, or taken for a neighbour.
        let Some(aside) = asides.iter().min_by(|a, b| a.norm().total_cmp(&b.norm())) else { return };
        let keep = self.keep(at_us);
        self.aside = self.aside * keep + aside * (1.0 - keep);
        self.strangers *= keep;
    }

    /// Somebody whom others see should be in this camera's picture, and only strangers are.
    pub fn strange(&mut self, at_us: i64) {
        let keep = self.keep(at_us);
        self.strangers = self.strangers * keep + 1.0 - keep;
    }

    fn keep(&mut self, at_us: i64) -> f64 {
        let seconds = ((at_us - self.last_us) as f64 / 1e6).clamp(0.0, 0.1);
        self.last_us = at_us;
        self.count += 1.0;
        (-seconds / LASTS_S).exp()
    }
}

/// How far a person lies aside of where the others see them, before they are taken in: the median of their joints; `None` where the others do
/// not hold them, or too few joints say so.
pub(super) fn aside(
    body: &Body,
    number: usize,
    eye: &Eye,
    seen: &Seen,
    at_us: i64,
    exchanged: [bool; 2],
) -> Option<V2> {
    if !watched_by_others(body, number, at_us) {
        return None;
    }
    let seconds = (at_us - body.at_us) as f64 / 1e6;
    let mut offs: Vec<V2> = body
        .joints
        .iter()
        .zip(&sides(&seen.joints, exchanged))
        .filter_map(|(joint, ray)| Some((joint.as_ref()?, ray.as_ref()?)))
        .filter(|(joint, _)| joint.sigma() < TOLD_M)
        .filter_map(|(joint, ray)| Some(ray.at - eye.seen(joint.after(seconds))?))
        .collect();
    if offs.len() < 6 {
        return None;
    }
    let half = offs.len() / 2;
    let x = offs.select_nth_unstable_by(half, |a, b| a.x.total_cmp(&b.x)).1.x;
    let y = offs.select_nth_unstable_by(half, |a, b| a.y.total_cmp(&b.y)).1.y;
    Some(V2::new(x, y))
}

/// The cameras that were moved.
pub(super) fn moved(watches: &[Watch]) -> Vec<usize> {
    let mut asides: Vec<f64> = watches.iter().map(|w| w.aside.norm()).collect();
    asides.sort_by(f64::total_cmp);
    let usual = asides.get((asides.len().max(1) - 1) / 2).copied().unwrap_or(0.0);
    let is_moved = |w: &Watch| {
        let aside = w.aside.norm();
        w.count > ENOUGH && (aside > ASIDE.max(AS_OTHERS * usual) || w.strangers > STRANGERS)
    };
    (0..watches.len()).filter(|&c| is_moved(&watches[c])).collect()
}

/// Whether cameras other than `number` hold the body where it is.
pub(super) fn watched_by_others(body: &Body, number: usize, at_us: i64) -> bool {
    // Since, too: those whom a late camera is held against must have seen it about then.
    let is_then = |(c, t): &(usize, &i64)| *c != number && (at_us - **t).abs() < 200_000;
    let others = body.seen_us.iter().enumerate().filter(is_then).count();
    others >= OTHERS && at_us - body.born_us > 1_000_000
}

#[cfg(test)]
mod tests {
    use super::super::joint::JointFilter;
    use super::*;
    use crate::V3;
    use crate::line::Ray;

    /// Cameras 1 to 3 see everybody where they are; camera 0 sees persons that far aside, 25 times a second, for ten seconds.
    fn moved_by(asides: &[V2]) -> Vec<usize> {
        let mut watches = [Watch::default(); 4];
        for k in 0..250 {
            for (camera, watch) in watches.iter_mut().enumerate() {
                let seen = if camera == 0 { asides } else { &[V2::zeros()] };
                watch.known(seen, k * 40_000);
            }
        }
        moved(&watches)
    }

    #[test]
    fn a_moved_camera_sees_everybody_aside_and_a_person_alone_may_be_mistaken() {
        let (there, aside) = (V2::new(0.001, 0.0), V2::new(0.05, 0.0));
        assert_eq!(moved_by(&[aside, V2::new(0.06, 0.01)]), [0]);
        assert_eq!(moved_by(&[aside]), [0]);
        assert!(moved_by(&[there, aside]).is_empty());
        assert!(moved_by(&[]).is_empty());
    }

    #[test]
    fn of_two_whom_a_moved_camera_draws_along_neither_is_named() {
        // All of them are aside alike: it is the room's people who are wrong, or one camera, and which one nobody knows.
        let mut watches = [Watch::default(); 4];
        for k in 0..250 {
            for (watch, aside) in watches.iter_mut().zip([0.02, 0.016, 0.016, 0.012]) {
                watch.known(&[V2::new(aside, 0.0)], k * 40_000);
            }
        }
        assert!(moved(&watches).is_empty());
    }

    #[test]
    fn a_camera_that_sees_strangers_alone_was_moved_and_one_look_after_a_silence_says_nothing() {
        let mut watches = [Watch::default(); 4];
        (0..250).for_each(|k| watches[2].strange(k * 40_000));
        assert_eq!(moved(&watches), [2]);
        // Strangers are forgotten where everybody is known again.
        (250..500).for_each(|k| watches[2].known(&[V2::zeros()], k * 40_000));
        assert!(moved(&watches).is_empty());
        watches[2].known(&[V2::new(0.1, 0.0)], 3_600_000_000);
        assert!(moved(&watches).is_empty());
    }

    #[test]
    fn a_body_is_held_by_two_other_cameras_that_see_it_now_once_it_is_a_second_old() {
        let at_us = 5_000_000;
        let held = |seen: [i64; 4], age_us: i64| {
            let mut body = Body::new(1, at_us, [None; pose::JOINTS], 4);
            body.born_us = at_us - age_us;
            body.seen_us = seen.map(|ago_us| at_us - ago_us).to_vec();
            watched_by_others(&body, 0, at_us)
        };
        let (now, long) = (30_000, 250_000);
        assert!(held([long, now, now, long], 2_000_000));
        assert!(!held([now, now, long, long], 2_000_000), "one other");
        assert!(
            held([long, -now, -now, long], 2_000_000) && !held([long, -long, -long, long], 2_000_000),
            "late"
        );
        assert!(!held([long, now, now, now], 900_000), "just born");
    }

    #[test]
    fn how_far_a_person_lies_aside_is_the_middle_of_six_joints_or_more() {
        let at_us = 5_000_000;
        let said = |joints: usize| {
            let at = |j: usize| V3::new(0.1 * j as f64, 0.0, 4.0);
            let filter = |j: usize| JointFilter::new(at(j), nalgebra::Matrix3::identity() * 1e-4);
            let known = std::array::from_fn(|j| (j < joints).then(|| filter(j)));
            let mut body = Body::new(1, at_us, known, 3);
            (body.born_us, body.seen_us) = (0, vec![at_us; 3]);
            // One ray is wild.
            let by = |j: usize| if j == 2 { V2::new(-1.0, 1.0) } else { V2::new(0.03, -0.01) };
            let ray = |j: usize| Some(Ray { at: at(j).xy() / 4.0 + by(j), sigma: 0.005, score: 0.9 });
            let seen = Seen { id: 1, score: 0.9, joints: std::array::from_fn(ray) };
            aside(&body, 0, &Eye::of(&crate::Extrinsics::identity()), &seen, at_us, [false; 2])
        };
        assert_eq!(said(5), None);
        assert!((said(6).unwrap() - V2::new(0.03, -0.01)).norm() < 1e-9, "{:?}", said(6));
    }
}
