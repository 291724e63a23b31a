//! Where one person stands before another: whom a crop shows there, clothes tell, for the places of both are much the same.

use pose::MAX_PERSONS;

use super::IdentityRules;
use super::appearance::Appearance;
use super::associate::Shape;
use super::known::Track;

/// Share of the smaller of two boxes inside the larger, from which on one of the two stands before the other, or is the other.
const MIN_SHARED: f32 = 0.5;

/// The same, from which on one may hide the other: where somebody is expected is known less well than where they are seen.
const MIN_HIDDEN: f32 = 0.25;

/// Of two that share so much, one whose box is smaller than this part of the other's may be a part of the other alone.
const MAX_PART: f32 = 0.5;

/// What a crop of somebody hidden shows is dressed as who stands before them by so much more, and so much at least.
const MORE_ALIKE: f32 = 0.15;
const MIN_ALIKE: f32 = 0.5;

/// By slot: the index of a detection and what it shows.
pub(super) type DetectionOf = [Option<(usize, Shape)>; MAX_PERSONS];

fn overlaps(a: &Shape, b: &Shape) -> bool {
    a.bounds.overlap_of_smaller(&b.bounds) > MIN_SHARED
}

/// Whether somebody who is seen in another slot than `own` stands where this `shape` is expected, and may hide it.
pub(super) fn is_behind_another(shape: &Shape, own: usize, detection_of: &DetectionOf) -> bool {
    others(Some(own), detection_of).any(|other| shape.bounds.overlap_of_smaller(&other.bounds) > MIN_HIDDEN)
}

/// Who is seen in another slot than `own`.
fn others(own: Option<usize>, detection_of: &DetectionOf) -> impl Iterator<Item = &Shape> {
    let others = detection_of.iter().enumerate().filter(move |(slot, _)| Some(*slot) != own);
    others.filter_map(|(_, other)| other.as_ref().map(|(_, shape)| shape))
}

/// Whether `shape` lies within somebody much larger who is seen in another slot than `own`: a child, somebody far away, or a leg.
pub(super) fn is_within_another(shape: &Shape, own: Option<usize>, detection_of: &DetectionOf) -> bool {
    others(own, detection_of)
        .any(|whole| overlaps(shape, whole) && shape.bounds.area() < MAX_PART * whole.bounds.area())
}

/// Whether a newcomer of this `shape` is dressed as somebody who is seen there already: the same person, seen twice.
pub(super) fn is_there_already(
    shape: &Shape,
    worn: &Appearance,
    tracks: &[Option<Track>; MAX_PERSONS],
    detection_of: &DetectionOf,
    rules: &IdentityRules,
) -> bool {
    tracks.iter().zip(detection_of).any(|(track, detection)| {
        let (Some(track), Some((_, seen))) = (track, detection) else { return false };
        overlaps(shape, seen) && track.appearance.likeness(worn).is_some_and(|alike| alike >= rules.alike)
    })
}

/// Takes away what was taken for somebody hidden where its clothes are those of whoever stands before them: the crop shows that one, and
/// the hidden person is expected on, not seen.
pub(super) fn leave_to_whom_they_show(
    tracks: &[Option<Track>; MAX_PERSONS],
    appearance: &[Appearance],
    detection_of: &mut DetectionOf,
) {
    let before = *detection_of;
    for (slot, detection) in detection_of.iter_mut().enumerate() {
        let (Some(track), Some((d, shape))) = (&tracks[slot], before[slot]) else { continue };
        let worn = &appearance[d];
        let Some(own) = track.appearance.likeness(worn) else { continue };
        let shows_other = tracks.iter().zip(&before).enumerate().any(|(other, (track, detection))| {
            let (Some(track), Some((_, seen))) = (track, detection) else { return false };
            other != slot
                && overlaps(&shape, seen)
                && track
                    .appearance
                    .likeness(worn)
                    .is_some_and(|alike| alike >= MIN_ALIKE && alike > own + MORE_ALIKE)
        });
        if shows_other {
            *detection = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::BodyRegion;

    fn worn(colours: &[[u8; 3]]) -> Appearance {
        let mut appearance = Appearance::UNKNOWN;
        for colour in colours {
            (0..40).for_each(|_| appearance.add(BodyRegion::Torso, *colour));
        }
        appearance
    }

    /// A figure with its head at (x, y).
    fn figure(x: f32, y: f32, tall: f32) -> Shape {
        let place = |j: usize| (x + 0.3 * tall * (j % 2) as f32, y + tall * j as f32 / 16.0, 0.9);
        Shape::new(std::array::from_fn(place)).expect("all joints count")
    }

    fn track(shape: Shape, appearance: Appearance) -> Track {
        Track {
            id: 1,
            born_us: 0,
            seen_us: 1_000_000,
            frames_seen: 30,
            is_lost: false,
            began_within: false,
            score: 0.9,
            at_edge_us: None,
            shape,
            appearance,
        }
    }

    const RED: [u8; 3] = [190, 30, 30];
    const BLUE: [u8; 3] = [30, 40, 190];

    #[test]
    fn a_leg_lies_within_whose_it_is_and_somebody_as_large_does_not() {
        let mut detection_of = [None; MAX_PERSONS];
        detection_of[2] = Some((0, figure(100.0, 100.0, 240.0)));
        assert!(is_within_another(&figure(110.0, 250.0, 80.0), None, &detection_of));
        assert!(!is_within_another(&figure(120.0, 110.0, 230.0), None, &detection_of));
        assert!(!is_within_another(&figure(400.0, 250.0, 80.0), None, &detection_of));
        assert!(
            !is_within_another(&figure(110.0, 250.0, 80.0), Some(2), &detection_of),
            "nor within oneself"
        );
    }

    #[test]
    fn whoever_stands_where_another_is_expected_may_hide_them() {
        let mut detection_of = [None; MAX_PERSONS];
        detection_of[1] = Some((0, figure(100.0, 100.0, 240.0)));
        assert!(is_behind_another(&figure(130.0, 100.0, 220.0), 0, &detection_of));
        assert!(!is_behind_another(&figure(400.0, 100.0, 220.0), 0, &detection_of), "far aside");
        assert!(
            !is_behind_another(&figure(130.0, 100.0, 220.0), 1, &detection_of),
            "nobody hides themselves"
        );
    }

    #[test]
    fn a_newcomer_in_the_clothes_of_who_is_there_is_who_is_there() {
        let (mut tracks, mut detection_of) = ([None; MAX_PERSONS], [None; MAX_PERSONS]);
        let there = figure(100.0, 100.0, 240.0);
        (tracks[1], detection_of[1]) = (Some(track(there, worn(&[RED]))), Some((0, there)));
        let is_there = |at: Shape, colour| {
            is_there_already(&at, &worn(&[colour]), &tracks, &detection_of, &IdentityRules::default())
        };
        assert!(is_there(figure(120.0, 130.0, 200.0), RED));
        assert!(!is_there(figure(120.0, 130.0, 200.0), BLUE), "somebody behind, dressed otherwise");
        assert!(!is_there(figure(300.0, 130.0, 200.0), RED), "a team wears the same");
        assert!(
            !is_there(figure(160.0, 100.0, 240.0), RED),
            "nor is one of it whom another's shoulder covers"
        );
        assert!(!is_there_already(
            &figure(120.0, 130.0, 200.0),
            &Appearance::UNKNOWN,
            &tracks,
            &detection_of,
            &IdentityRules::default()
        ));
    }

    #[test]
    fn a_crop_of_somebody_hidden_that_shows_who_is_before_them_is_not_theirs() {
        let (front, hidden) = (figure(100.0, 100.0, 240.0), figure(130.0, 110.0, 220.0));
        let shown = |colours: &[[u8; 3]]| {
            let (mut tracks, mut detection_of) = ([None; MAX_PERSONS], [None; MAX_PERSONS]);
            let mut appearance = [Appearance::UNKNOWN; MAX_PERSONS];
            (tracks[0], detection_of[0]) = (Some(track(front, worn(&[RED]))), Some((0, front)));
            (tracks[1], detection_of[1]) = (Some(track(hidden, worn(&[BLUE]))), Some((1, hidden)));
            (appearance[0], appearance[1]) = (worn(&[RED]), worn(colours));
            leave_to_whom_they_show(&tracks, &appearance, &mut detection_of);
            detection_of.map(|d| d.is_some())[..2].to_vec()
        };
        assert_eq!(shown(&[RED]), [true, false]);
        assert_eq!(shown(&[BLUE]), [true, true]);
        assert_eq!(shown(&[RED, BLUE]), [true, true], "half of each says nothing");
        let hardly_more = [[RED; 6].as_slice(), &[BLUE; 5]].concat();
        assert_eq!(shown(&hardly_more), [true, true], "nor does hardly more");
    }
}
