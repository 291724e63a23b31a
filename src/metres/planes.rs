//! The planes that people's feet stand on, of one tilt, fitted to points a little above them.

use nalgebra::{Matrix2, Vector2, Vector3};

/// Points that follow one another are wrong alike: so many are worth one.
const ALIKE: f64 = 12.0;
/// How far an ankle on the floor is from where it is told, metres, and the part of its depth.
const POINT_SIGMA: [f64; 2] = [0.05, 0.015];
/// Turns until the weights stand still.
const TURNS: usize = 6;

/// A foot, in camera space.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Whose: their number.
    pub person: u32,
    /// Metres.
    pub at_m: Vector3<f64>,
    /// Up along the body, where it is straight.
    pub axis: Option<Vector3<f64>>,
}

/// A slope that is known before any point: its information matrix, and that times the slope.
pub type Prior = (Matrix2<f64>, Vector2<f64>);

/// How far the planes pass below the camera.
#[derive(Clone, Copy, Debug)]
pub struct Below {
    /// Along their normal, metres.
    pub camera_m: f64,
    /// Of its logarithm.
    pub variance: f64,
}

/// Sums of one person's points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    /// Their number.
    pub person: u32,
    /// How much their points count, 1/m².
    pub weight: f64,
    /// x and z.
    pub at: Vector2<f64>,
    y: f64,
    square: Matrix2<f64>,
    with: Vector2<f64>,
}

impl Group {
    fn add(&mut self, at_m: Vector3<f64>, weight: f64) {
        let at = at_m.xz();
        self.weight += weight;
        self.at += weight * at;
        self.y += weight * at_m.y;
        self.square += weight * at * at.transpose();
        self.with += weight * at_m.y * at;
    }

    /// The normal equations about the person's own mean.
    fn centred(&self) -> (Matrix2<f64>, Vector2<f64>) {
        let at = self.at / self.weight;
        (self.square - at * self.at.transpose(), self.with - at * self.y)
    }

    /// c of the person's plane; of no slope, how far down their feet are.
    pub fn offset(&self, slope: Option<&Vector2<f64>>) -> f64 {
        (self.y - slope.map_or(0.0, |slope| slope.dot(&self.at))) / self.weight
    }
}

/// Planes y = a·x + b·z + c of one tilt, one beneath each person.
#[derive(Debug, Default)]
pub struct Planes {
    /// a and b.
    pub slope: Vector2<f64>,
    /// Of the slope.
    pub covariance: Matrix2<f64>,
    /// Everybody's points.
    pub groups: Vec<Group>,
    /// As they were a turn before: kept, so that no fit allocates.
    before: Vec<Group>,
}

impl Planes {
    /// Fits them to `points`: whoever is taken to be too large has all their feet too far away and too low. `None` where the slope
    /// stays open; then what these planes say is of no fit.
    pub fn fit(&mut self, points: &[Point], (prior, toward): Prior, below: Option<Below>) -> Option<()> {
        let mut slope = prior.try_inverse().map(|inverse| inverse * toward);
        let mut information = prior;
        self.groups.clear();
        for _ in 0..TURNS {
            std::mem::swap(&mut self.groups, &mut self.before);
            self.weigh(points, slope.as_ref(), below);
            let (mut a, mut b) = (prior, toward);
            for group in &self.groups {
                let (square, with) = group.centred();
                a += square;
                b += with;
            }
            slope = Some(a.try_inverse()? * b);
            information = a;
        }
        (self.slope, self.covariance) = (slope?, information.try_inverse()?);
        Some(())
    }

    /// Sums everybody's points, each weighed by where it lies to the plane that was known of them a turn before.
    fn weigh(&mut self, points: &[Point], slope: Option<&Vector2<f64>>, below: Option<Below>) {
        let Self { groups, before, .. } = self;
        groups.clear();
        for point in points {
            let sigma = POINT_SIGMA[0].hypot(POINT_SIGMA[1] * point.at_m.z);
            let known = before.iter().find(|group| group.person == point.person).zip(slope);
            let off = known.map_or(0.0, |(group, slope)| {
                (point.at_m.y - slope.dot(&point.at_m.xz()) - group.offset(Some(slope))) / sigma
            });
            // A lifted foot is above; nothing is below.
            let trust = if off < -1.0 { (1.0 / off).powi(2) } else { 1.0 / off.max(1.0) };
            let weight = trust / (ALIKE * sigma * sigma);
            match groups.iter_mut().find(|group| group.person == point.person) {
                Some(group) => group.add(point.at_m, weight),
                None => {
                    let mut group = Group { person: point.person, ..Group::default() };
                    group.add(point.at_m, weight);
                    groups.push(group);
                }
            }
        }
        if let Some(Below { camera_m, variance }) = below {
            let norm = slope.map_or(1.0, |slope| (1.0 + slope.norm_squared()).sqrt());
            let below_m = camera_m * norm;
            let weight = 1.0 / (variance * below_m.powi(2)).max(1e-6);
            groups.iter_mut().for_each(|group| group.add(below_m * Vector3::y(), weight));
        }
    }

    /// How much all points count, 1/m².
    pub fn weight(&self) -> f64 {
        self.groups.iter().map(|g| g.weight).sum()
    }

    /// Over all persons, by weight.
    pub fn mean(&self, of: impl Fn(&Group) -> f64) -> f64 {
        self.groups.iter().map(|g| g.weight * of(g)).sum::<f64>() / self.weight()
    }

    /// x and z of where people are.
    pub fn middle(&self) -> Vector2<f64> {
        Vector2::new(self.mean(|g| g.at.x / g.weight), self.mean(|g| g.at.y / g.weight))
    }

    /// From metres along y to metres along the normal.
    pub fn norm(&self) -> f64 {
        (1.0 + self.slope.norm_squared()).sqrt()
    }

    /// Up, pitch and roll in radians.
    pub fn tilt(&self) -> (Vector3<f64>, f64, f64) {
        let up = Vector3::new(self.slope.x, -1.0, self.slope.y) / self.norm();
        (up, (-up.z).asin(), self.slope.x.atan())
    }
}
