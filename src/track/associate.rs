//! Which pose is whose: similarity of an expected pose and a seen one, and the best assignment of all at once.

use pose::{BoxPx, JOINTS, Keypoints, MAX_PERSONS, joint_similarity, oks};

/// A joint below this is too unsure to say who somebody is.
pub const MIN_JOINT_SCORE: f32 = 0.2;

/// Fewer joints in common than these say little: the boxes alone decide.
pub(super) const MIN_SHARED_JOINTS: usize = 4;

/// Poses are compared with where they were expected, so the error of the expectation comes on top of the labelling
/// noise that COCO's sigmas describe; it is about as large.
const TOLERANCE: f32 = 2.0;

/// A person's area over the square of the joints' extent: a standing figure is about 0.4 as wide as high and fills half
/// of its box. The extent changes less than the box when somebody turns.
const AREA_PER_EXTENT2: f32 = 0.2;

/// Share of the joints in the similarity, the boxes' overlap has the rest: joints tell crossing people apart, boxes hold
/// on through fast motion.
const JOINTS_SHARE: f32 = 0.7;

/// Below it two poses are not the same person.
pub(super) const MIN_SIMILARITY: f32 = 0.2;

/// Two poses of one frame that are more alike than this, by COCO's own measure, are one person seen twice: people who
/// labelled the same person agree at about 0.9, different persons hardly reach 0.5 even when they overlap.
const DUPLICATE_OKS: f32 = 0.7;

/// Two poses of one frame of which one lies mostly inside the other are one person seen twice, once in part, where their joints
/// are where the same person's would be from one moment to the next: two crops of a person differ by more than two people's
/// labels. Whoever walks behind somebody is hidden there, and is expected on, not seen.
const INSIDE_SHARE: f32 = 0.7;
const INSIDE_OKS: f32 = 0.6;

/// A pose that lies mostly inside another of more than twice its area is a part of that person where so many of its joints are where the
/// other's are: a crop of the legs alone has knees and feet right, and squeezes the rest in above them. A child before a grown-up has hardly any.
const PART_AREA: f32 = 0.5;
const PART_JOINTS: usize = 4;
const PART_OKS: f32 = 0.6;

/// Places and scores of a pose, wherever it comes from, with its box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    places_px: [(f32, f32); JOINTS],
    counts: [bool; JOINTS],
    pub bounds: BoxPx,
}

impl Shape {
    /// `None` where no joint counts.
    pub fn new(joints: [(f32, f32, f32); JOINTS]) -> Option<Self> {
        let counts = joints.map(|(x, y, score)| score >= MIN_JOINT_SCORE && x.is_finite() && y.is_finite());
        let (mut low, mut high) = ((f32::INFINITY, f32::INFINITY), (f32::NEG_INFINITY, f32::NEG_INFINITY));
        for ((x, y, _), _) in joints.into_iter().zip(counts).filter(|(_, counts)| *counts) {
            low = (low.0.min(x), low.1.min(y));
            high = (high.0.max(x), high.1.max(y));
        }
        (low.0 <= high.0).then(|| Self {
            places_px: joints.map(|(x, y, _)| (x, y)),
            counts,
            bounds: BoxPx::from_corners(low.0, low.1, high.0, high.1),
        })
    }

    pub fn of(keypoints: &Keypoints) -> Option<Self> {
        Self::new(keypoints.joints.map(|k| (k.x_px, k.y_px, k.score)))
    }

    /// Longer side of the joints' box, pixels.
    pub fn extent_px(&self) -> f32 {
        self.bounds.w.max(self.bounds.h)
    }

    pub fn joints(&self) -> usize {
        self.counts.iter().filter(|c| **c).count()
    }

    fn oks(&self, other: &Self, tolerance: f32) -> Option<f32> {
        let counts = |j: usize| self.counts[j] && other.counts[j];
        if (0..JOINTS).filter(|&j| counts(j)).count() < MIN_SHARED_JOINTS {
            return None;
        }
        let extent_px = 0.5 * (self.extent_px() + other.extent_px());
        let area_px2 = AREA_PER_EXTENT2 * extent_px * extent_px;
        oks(|j| self.places_px[j], |j| other.places_px[j], counts, area_px2, tolerance)
    }

    /// How likely the two are one person at two moments, 0..=1.
    pub fn similarity(&self, other: &Self) -> f32 {
        let overlap = self.bounds.iou(&other.bounds);
        match self.oks(other, TOLERANCE) {
            Some(joints) => JOINTS_SHARE * joints + (1.0 - JOINTS_SHARE) * overlap,
            None => overlap,
        }
    }

    /// Whether the two are one person seen twice in one frame.
    pub fn is_duplicate_of(&self, other: &Self) -> bool {
        self.oks(other, 1.0).is_some_and(|s| s > DUPLICATE_OKS)
            || (self.bounds.overlap_of_smaller(&other.bounds) > INSIDE_SHARE
                && self.oks(other, TOLERANCE).is_some_and(|s| s > INSIDE_OKS))
    }

    /// Whether this is what a crop of a part of `whole` shows.
    pub fn is_part_of(&self, whole: &Self) -> bool {
        let area_px2 = AREA_PER_EXTENT2 * whole.extent_px().powi(2);
        let is_same = |j: usize| {
            let (part, whole_px) = (self.places_px[j], whole.places_px[j]);
            self.counts[j] && whole.counts[j] && joint_similarity(j, part, whole_px, area_px2, 1.0) > PART_OKS
        };
        self.bounds.area() < PART_AREA * whole.bounds.area()
            && self.bounds.overlap_of_smaller(&whole.bounds) > INSIDE_SHARE
            && (0..JOINTS).filter(|&j| is_same(j)).count() >= PART_JOINTS
    }
}

/// How alike two poses are, 0..=1, by joints and boxes, or by boxes alone where few joints count in both; 0 where none counts in one.
pub fn similarity(a: &Keypoints, b: &Keypoints) -> f32 {
    Shape::of(a).zip(Shape::of(b)).map_or(0.0, |(a, b)| a.similarity(&b))
}

/// `[row][column]` similarities; below [`MIN_SIMILARITY`] nothing is assigned.
pub(super) type Similarities = [[f32; MAX_PERSONS]; MAX_PERSONS];

/// Sets of columns, a bit each.
const COLUMN_SETS: usize = 1 << MAX_PERSONS;
/// In the place of a column: the row takes none.
const NONE: u8 = u8::MAX;

/// For each of `rows` rows its column, such that the sum of the similarities is largest.
///
/// Where every row's best column is another one, that is it: the sum cannot be larger. This is every frame in which
/// nobody's place is contested. Else a dynamic programme over the sets of columns decides, exact and in fixed memory; why
/// no library does it says `docs/decisions/0003-assignment-without-allocation.md`.
pub(super) fn assign(
    similarities: &Similarities,
    rows: usize,
    columns: usize,
) -> [Option<usize>; MAX_PERSONS] {
    let mut assigned = [None; MAX_PERSONS];
    let mut taken = [false; MAX_PERSONS];
    let mut contested = false;
    for row in 0..rows {
        let best = (0..columns)
            .filter(|&c| similarities[row][c] >= MIN_SIMILARITY)
            .max_by(|&a, &b| similarities[row][a].total_cmp(&similarities[row][b]));
        if let Some(column) = best {
            contested |= std::mem::replace(&mut taken[column], true);
            assigned[row] = Some(column);
        }
    }
    if contested { best_of_all(similarities, rows, columns) } else { assigned }
}

fn best_of_all(similarities: &Similarities, rows: usize, columns: usize) -> [Option<usize>; MAX_PERSONS] {
    let sets = 1 << columns;
    // The largest sum of the rows so far that takes exactly this set of columns, and what each row took for it.
    let mut sum = [f32::NEG_INFINITY; COLUMN_SETS];
    let mut took = [[NONE; COLUMN_SETS]; MAX_PERSONS];
    sum[0] = 0.0;
    for (row, took) in took.iter_mut().enumerate().take(rows) {
        // From large sets to small ones: a set is reached from smaller ones, which still hold the rows before.
        for set in (1..sets).rev() {
            for column in (0..columns).filter(|c| set & (1 << c) != 0) {
                let similarity = similarities[row][column];
                let with = sum[set & !(1 << column)] + similarity;
                if similarity >= MIN_SIMILARITY && with > sum[set] {
                    (sum[set], took[set]) = (with, column as u8);
                }
            }
        }
    }
    let mut set = (0..sets).max_by(|&a, &b| sum[a].total_cmp(&sum[b])).unwrap_or(0);
    let mut assigned = [None; MAX_PERSONS];
    for row in (0..rows).rev() {
        let column = took[row][set];
        if column != NONE {
            assigned[row] = Some(column.into());
            set &= !(1 << column);
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use pathfinding::kuhn_munkres::kuhn_munkres;
    use pathfinding::matrix::Matrix;
    use proptest::prelude::*;

    use super::*;

    /// The largest sum by Kuhn and Munkres' algorithm as a library has it, in millionths.
    fn best_by_library(s: &Similarities, rows: usize, columns: usize) -> i64 {
        // For every row a column of its own that means nobody.
        let weights = Matrix::from_fn(rows, columns + rows, |(r, c)| match s[r].get(c) {
            Some(&s) if c < columns && s >= MIN_SIMILARITY => (f64::from(s) * 1e6) as i64,
            _ => 0,
        });
        kuhn_munkres(&weights).0
    }

    #[test]
    fn a_joint_whose_place_is_no_number_counts_nowhere() {
        for odd in [f32::NAN, f32::INFINITY] {
            let shape = Shape::new(std::array::from_fn(|j| {
                let along = j as f32;
                (if j == 3 { odd } else { 10.0 * along }, 8.0 * along, 0.9)
            }));
            let shape = shape.expect("sixteen count");
            assert_eq!((shape.joints(), shape.extent_px()), (JOINTS - 1, 160.0));
            assert_eq!(shape.similarity(&shape), 1.0);
        }
    }

    #[test]
    fn a_joint_that_is_too_unsure_is_no_part_of_a_shape() {
        let shape = Shape::new(std::array::from_fn(|j| {
            if j == 9 { (900.0, 900.0, 0.1) } else { (10.0 * j as f32, 8.0 * j as f32, 0.9) }
        }));
        let shape = shape.expect("sixteen count");
        assert_eq!((shape.joints(), shape.extent_px()), (JOINTS - 1, 160.0));
    }

    #[test]
    fn two_slim_people_arm_in_arm_are_two_though_either_may_be_where_the_other_was_expected() {
        let figure = |dx: f32| {
            Shape::new(std::array::from_fn(|j| (40.0 * (j % 2) as f32 + dx, 15.0 * j as f32, 0.9))).unwrap()
        };
        let (a, b) = (figure(0.0), figure(14.0));
        assert!(!a.is_duplicate_of(&b) && !b.is_duplicate_of(&a));
        assert!(a.similarity(&b) > 0.65, "an expectation is wrong by as much: {}", a.similarity(&b));
    }

    #[test]
    fn of_few_joints_in_common_the_boxes_alone_decide_and_of_many_the_joints_most() {
        // Two figures in one box, left and right exchanged, of which so many joints count.
        let figure = |exchanged: bool, counting: usize| {
            let shape = Shape::new(std::array::from_fn(|j| {
                let x = if (j % 2 == 0) == exchanged { 100.0 } else { 0.0 };
                (x, 15.0 * j as f32, if j < counting { 0.9 } else { 0.0 })
            }));
            shape.expect("some count")
        };
        let (a, b) = (figure(false, 3), figure(true, 3));
        assert_eq!(a.similarity(&b), a.bounds.iou(&b.bounds));
        let (a, b) = (figure(false, JOINTS), figure(true, JOINTS));
        assert!(a.bounds.iou(&b.bounds) > 0.99);
        assert!((a.similarity(&b) - (1.0 - JOINTS_SHARE)).abs() < 0.05, "{}", a.similarity(&b));
    }

    proptest! {
        #[test]
        fn no_other_assignment_is_better(
            values in prop::array::uniform8(prop::array::uniform8(0f32..1.0)),
            rows in 1..=MAX_PERSONS, columns in 0..=MAX_PERSONS,
        ) {
            let assigned = assign(&values, rows, columns);
            let mut taken = 0u32;
            let mut sum = 0.0;
            for (row, column) in assigned.iter().enumerate() {
                let Some(c) = column else { continue };
                prop_assert!(row < rows && *c < columns && taken & (1 << c) == 0);
                prop_assert!(values[row][*c] >= MIN_SIMILARITY);
                taken |= 1 << c;
                sum += f64::from(values[row][*c]);
            }
            prop_assert!((sum - best_by_library(&values, rows, columns) as f64 * 1e-6).abs() < 2e-5);
        }
    }

    #[test]
    fn a_pose_is_itself_and_not_one_two_extents_away() {
        let at =
            |dx: f32| Shape::new(std::array::from_fn(|j| (10.0 * (j % 4) as f32 + dx, 8.0 * j as f32, 0.9)));
        let (a, far) = (at(0.0).unwrap(), at(300.0).unwrap());
        assert_eq!(a.similarity(&a), 1.0);
        assert!(a.is_duplicate_of(&a) && !a.is_duplicate_of(&far));
        assert!(a.similarity(&far) < 0.01);
        assert!(Shape::new([(1.0, 1.0, 0.0); JOINTS]).is_none());
    }

    #[test]
    fn a_part_of_a_person_is_the_person_and_somebody_beside_is_not() {
        let figure = |dx: f32, joints: usize| {
            let place =
                |j: usize| (40.0 * (j % 2) as f32 + dx, 15.0 * j as f32, if j < joints { 0.9 } else { 0.0 });
            Shape::new(std::array::from_fn(place)).unwrap()
        };
        // The upper half, half a limb off: too far for people who label, near enough for two crops.
        let (whole, half) = (figure(0.0, JOINTS), figure(9.0, 9));
        assert!(whole.oks(&half, 1.0).unwrap() < DUPLICATE_OKS);
        assert!(whole.is_duplicate_of(&half) && half.is_duplicate_of(&whole));
        assert!(!whole.is_duplicate_of(&figure(90.0, JOINTS)));
    }

    #[test]
    fn legs_are_a_part_of_whose_they_are_and_a_child_before_a_grown_up_is_not() {
        let figure = |x: f32, y: f32, tall: f32| {
            Shape::new(std::array::from_fn(|j| {
                (x + 0.2 * tall * (j % 2) as f32, y + tall * j as f32 / 16.0, 0.9)
            }))
            .unwrap()
        };
        let whole = figure(100.0, 100.0, 240.0);
        // A crop of the lower half: from the hips on as the whole's, the rest squeezed in above them.
        let mut legs = whole;
        for j in 0..11 {
            legs.places_px[j].1 = 230.0 + 2.0 * j as f32;
        }
        legs.bounds = BoxPx::from_corners(100.0, 230.0, 148.0, 340.0);
        assert!(legs.is_part_of(&whole) && !whole.is_part_of(&legs));
        assert!(!legs.is_duplicate_of(&whole), "alike they are not");
        // As wrong as a joint of the whole may be; of somebody as small as the legs it would be too much.
        let mut rough = legs;
        rough.places_px.iter_mut().for_each(|place| place.0 += 13.0);
        assert!(rough.is_part_of(&whole));
        let mut hidden = legs;
        hidden.counts[11..].fill(false);
        assert!(!hidden.is_part_of(&whole), "what is not seen is nowhere the same");
        // Legs that are the same, and a body that lies elsewhere.
        let mut beside = legs;
        beside.bounds = BoxPx::from_corners(60.0, 230.0, 130.0, 290.0);
        assert!(!beside.is_part_of(&whole));
        assert!(!figure(100.0, 110.0, 220.0).is_part_of(&whole), "somebody as large is no part");
        let child = figure(104.0, 232.0, 104.0);
        assert!(child.bounds.overlap_of_smaller(&whole.bounds) > INSIDE_SHARE);
        assert!(!child.is_part_of(&whole));
        assert!(!figure(400.0, 100.0, 110.0).is_part_of(&whole));
    }
}
