//! Bundle adjustment: places of cameras and offsets of their clocks with which rays to the same joints meet best.
//!
//! Joints' places are not parameters: for every try of the cameras they are where they fit best, and what a camera's step changes is
//! taken without what the joints' own step takes back (variable projection, Golub and Pereyra 1973, in Kaufman's form of 1975). So the
//! problem has seven unknowns a camera, however many joints there are, and `levenberg-marquardt` solves it whole. Rays that do not
//! fit count less with every round (Cauchy's weights).

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn, Matrix2x3, Translation3, UnitQuaternion};
use pose::{JOINTS, MIRROR};

use super::Moment;
use super::moments::Sight;
use crate::geometry::{View, seen_at, triangulate};
use crate::{Extrinsics, V2, V3};

/// Of a camera: a turn, a shift, milliseconds.
const UNKNOWNS: usize = 7;
/// What is left of an offset after the clocks were compared, milliseconds.
const OFFSET_SIGMA_MS: f64 = 4.0;
/// Rounds of weights.
const ROUNDS: usize = 5;
/// In units of sigma: from here on a ray counts less.
const CAUCHY: f64 = 2.0;
/// Rays that are farther off than this are taken for another thing in the end.
const WILD: f64 = 8.0;

/// What comes out.
pub struct Bundle {
    pub places: Vec<Extrinsics>,
    pub offsets_us: Vec<f64>,
    pub misfit: f64,
}

/// One joint at one moment.
struct Spot {
    views: Vec<(usize, Sight, f64)>,
    at: V3,
}

struct Problem {
    start: Vec<Extrinsics>,
    params: DVector<f64>,
    places: Vec<Extrinsics>,
    offsets_ms: Vec<f64>,
    spots: Vec<Spot>,
    rows: usize,
    /// The unit of length: this camera's distance from the first stays.
    reach: f64,
}

/// Adjusts `places`; also puts left and right right where a camera took one for the other.
pub fn adjust(moments: &mut [Moment], places: Vec<Extrinsics>) -> Bundle {
    // The first camera is the origin.
    let first = places[0].inverse();
    let mut places: Vec<Extrinsics> = places.iter().map(|p| p * first).collect();
    let mut offsets_ms = vec![0.0; places.len()];
    let mut misfit = f64::MAX;
    for round in 0..ROUNDS {
        if round > 0 {
            exchange_sides(moments, &places, &offsets_ms);
        }
        let spots = spots(moments, &places, &offsets_ms, round > 0);
        misfit = middle_misfit(&spots, &places, &offsets_ms);
        let problem = Problem::new(places, offsets_ms, spots);
        let (solved, _) =
            LevenbergMarquardt::new().with_patience(8).with_ftol(1e-7).with_xtol(1e-7).minimize(problem);
        (places, offsets_ms) = (solved.places, solved.offsets_ms);
    }
    Bundle { places, offsets_us: offsets_ms.iter().map(|ms| ms * 1e3).collect(), misfit }
}

impl Bundle {
    /// Every moment's joints in the cameras' units; `None` where less than two cameras saw them, or rays do not meet.
    pub fn bodies(&self, moments: &[Moment]) -> Vec<[Option<V3>; JOINTS]> {
        let offsets_ms: Vec<f64> = self.offsets_us.iter().map(|us| us / 1e3).collect();
        moments
            .iter()
            .map(|m| {
                std::array::from_fn(|j| {
                    let views: Vec<View<'_>> = m
                        .views(j)
                        .map(|(c, s)| View {
                            camera: &self.places[c],
                            ray: shifted(&s, offsets_ms[c]),
                            sigma: s.sigma,
                        })
                        .collect();
                    triangulate(&views).filter(|s| s.misfit < 6.0).map(|s| s.at)
                })
            })
            .collect()
    }
}

/// The ray that the camera would have given if its stamps were `ms` later than they say: it was taken then, so now it was farther back.
fn shifted(sight: &Sight, ms: f64) -> V2 {
    sight.at - sight.speed * (ms / 1e3)
}

fn spots(moments: &[Moment], places: &[Extrinsics], offsets_ms: &[f64], weighed: bool) -> Vec<Spot> {
    let mut spots = Vec::new();
    for m in moments {
        for j in 0..JOINTS {
            let mut views: Vec<(usize, Sight, f64)> = m.views(j).map(|(c, s)| (c, s, 1.0)).collect();
            let seen: Vec<View<'_>> = views
                .iter()
                .map(|(c, s, _)| View {
                    camera: &places[*c],
                    ray: shifted(s, offsets_ms[*c]),
                    sigma: s.sigma,
                })
                .collect();
            let Some(spot) = triangulate(&seen) else { continue };
            if weighed {
                views.retain_mut(|(c, s, weight)| {
                    let Some(ray) = seen_at(&places[*c], spot.at) else { return false };
                    let off = (ray - shifted(s, offsets_ms[*c])).norm() / s.sigma;
                    *weight = 1.0 / (1.0 + (off / CAUCHY).powi(2));
                    off < WILD
                });
            }
            if views.len() >= 2 {
                spots.push(Spot { views, at: spot.at });
            }
        }
    }
    spots
}

/// Root of the middle squared distance, as the root mean square of normal errors would be.
fn middle_misfit(spots: &[Spot], places: &[Extrinsics], offsets_ms: &[f64]) -> f64 {
    let mut all: Vec<f64> = spots
        .iter()
        .flat_map(|spot| {
            // Each joint's own three numbers take their part.
            let free = 2.0 * spot.views.len() as f64;
            spot.views.iter().filter_map(move |(c, s, _)| {
                let off = seen_at(&places[*c], spot.at)? - shifted(s, offsets_ms[*c]);
                Some(off.norm_squared() / (s.sigma * s.sigma) * free / (free - 3.0))
            })
        })
        .collect();
    all.sort_by(f64::total_cmp);
    // Half of a chi-squared with two degrees of freedom lies below 1.386.
    all.get(all.len() / 2).map_or(f64::MAX, |m| (m / 1.386).sqrt())
}

/// Where a camera's rays fit much better with left and right exchanged, they are.
fn exchange_sides(moments: &mut [Moment], places: &[Extrinsics], offsets_ms: &[f64]) {
    for m in moments {
        let bodies: Vec<Option<V3>> = (0..JOINTS)
            .map(|j| {
                let views: Vec<View<'_>> = m
                    .views(j)
                    .map(|(c, s)| View {
                        camera: &places[c],
                        ray: shifted(&s, offsets_ms[c]),
                        sigma: s.sigma,
                    })
                    .collect();
                if views.len() < 3 { None } else { triangulate(&views).map(|s| s.at) }
            })
            .collect();
        for (c, seen) in m.seen.iter_mut().enumerate() {
            let Some(seen) = seen else { continue };
            let (mut as_is, mut exchanged, mut count) = (0.0, 0.0, 0);
            for j in 5..JOINTS {
                let (Some(body), Some(own), Some(other)) = (bodies[j], seen[j], seen[MIRROR[j]]) else {
                    continue;
                };
                let Some(ray) = seen_at(&places[c], body) else { continue };
                let off = |s: &Sight| ((ray - shifted(s, offsets_ms[c])).norm() / s.sigma).min(10.0).powi(2);
                (as_is, exchanged, count) = (as_is + off(&own), exchanged + off(&other), count + 1);
            }
            if count >= 4 && exchanged < 0.3 * as_is {
                // From the shoulders down: nobody takes an ear for the other.
                *seen = std::array::from_fn(|j| seen[if j > 4 { MIRROR[j] } else { j }]);
            }
        }
    }
}

impl Problem {
    fn new(places: Vec<Extrinsics>, offsets_ms: Vec<f64>, spots: Vec<Spot>) -> Self {
        let rows = spots.iter().map(|s| 2 * s.views.len()).sum();
        let mut params = DVector::zeros(UNKNOWNS * (places.len() - 1));
        for (k, ms) in offsets_ms[1..].iter().enumerate() {
            params[UNKNOWNS * k + 6] = *ms;
        }
        let reach = places[1].translation.vector.norm().max(1e-9);
        Self { start: places.clone(), params, places, offsets_ms, spots, rows, reach }
    }

    /// How a ray's misfit changes with its camera's seven unknowns and with the joint, and the misfit itself, all in sigmas.
    fn view(&self, spot: &Spot, k: usize) -> (V2, nalgebra::SMatrix<f64, 2, UNKNOWNS>, Matrix2x3<f64>) {
        let (c, sight, weight) = &spot.views[k];
        let place = &self.places[*c];
        let p = (place * nalgebra::Point3::from(spot.at)).coords;
        let z = p.z.max(0.05);
        let seen = p.xy() / z;
        let unit = weight.sqrt() / sight.sigma;
        let by_point = Matrix2x3::new(1.0, 0.0, -seen.x, 0.0, 1.0, -seen.y) * (unit / z);
        // The place is exp(turn) · start, shifted: turning moves p by turn × (p − shift).
        let arm = p - place.translation.vector;
        let mut by_camera = nalgebra::SMatrix::<f64, 2, UNKNOWNS>::zeros();
        by_camera.fixed_columns_mut::<3>(0).copy_from(&(-by_point * arm.cross_matrix()));
        by_camera.fixed_columns_mut::<3>(3).copy_from(&by_point);
        by_camera.fixed_columns_mut::<1>(6).copy_from(&(sight.speed * (unit / 1e3)));
        let residual = (seen - shifted(sight, self.offsets_ms[*c])) * unit;
        (residual, by_camera, by_point * place.rotation.to_rotation_matrix().matrix())
    }

    /// Joints to where they fit best.
    fn settle(&mut self) {
        for k in 0..self.spots.len() {
            for _ in 0..4 {
                let spot = &self.spots[k];
                let (mut a, mut b) = (nalgebra::Matrix3::zeros(), V3::zeros());
                for v in 0..spot.views.len() {
                    let (r, _, slope) = self.view(spot, v);
                    a += slope.tr_mul(&slope);
                    b += slope.tr_mul(&r);
                }
                let Some(factor) = a.cholesky() else { break };
                let step = factor.solve(&b);
                self.spots[k].at -= step;
                if step.norm() < 1e-9 * self.reach {
                    break;
                }
            }
        }
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, params: &DVector<f64>) {
        self.params.copy_from(params);
        for c in 1..self.places.len() {
            let p = params.rows(UNKNOWNS * (c - 1), UNKNOWNS);
            let turn = UnitQuaternion::from_scaled_axis(V3::new(p[0], p[1], p[2]));
            let shift = Translation3::new(p[3], p[4], p[5]);
            let start = &self.start[c];
            self.places[c] = Extrinsics::from_parts(shift * start.translation, turn * start.rotation);
            self.offsets_ms[c] = p[6];
        }
        self.settle();
    }

    fn params(&self) -> DVector<f64> {
        self.params.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let mut out = DVector::zeros(self.rows + self.places.len());
        let mut row = 0;
        for spot in &self.spots {
            for k in 0..spot.views.len() {
                out.fixed_rows_mut::<2>(row).copy_from(&self.view(spot, k).0);
                row += 2;
            }
        }
        for c in 1..self.places.len() {
            out[row + c - 1] = self.offsets_ms[c] / OFFSET_SIGMA_MS;
        }
        out[row + self.places.len() - 1] = self.stretched();
        Some(out)
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let mut out = DMatrix::zeros(self.rows + self.places.len(), self.params.len());
        let mut row = 0;
        for spot in &self.spots {
            let n = spot.views.len();
            let mut by_point = DMatrix::zeros(2 * n, 3);
            let mut by_camera = DMatrix::zeros(2 * n, UNKNOWNS * n);
            for k in 0..n {
                let (_, camera, point) = self.view(spot, k);
                by_point.fixed_view_mut::<2, 3>(2 * k, 0).copy_from(&point);
                by_camera.fixed_view_mut::<2, UNKNOWNS>(2 * k, UNKNOWNS * k).copy_from(&camera);
            }
            // What the joint's own step takes back.
            let q = by_point.qr().q();
            by_camera -= &q * (q.tr_mul(&by_camera));
            for (k, (c, _, _)) in spot.views.iter().enumerate().filter(|v| v.1.0 > 0) {
                out.view_mut((row, UNKNOWNS * (c - 1)), (2 * n, UNKNOWNS))
                    .copy_from(&by_camera.columns(UNKNOWNS * k, UNKNOWNS));
            }
            row += 2 * n;
        }
        for c in 1..self.places.len() {
            out[(row + c - 1, UNKNOWNS * (c - 1) + 6)] = 1.0 / OFFSET_SIGMA_MS;
        }
        let t = self.places[1].translation.vector;
        let slope = t / (t.norm() * self.reach * STRETCH);
        for (k, s) in slope.iter().enumerate() {
            out[(row + self.places.len() - 1, 3 + k)] = *s;
        }
        Some(out)
    }
}

/// The second camera's distance is the unit of length: held to a thousandth, which nothing pulls at.
const STRETCH: f64 = 1e-3;

impl Problem {
    fn stretched(&self) -> f64 {
        (self.places[1].translation.vector.norm() / self.reach - 1.0) / STRETCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The derivative with the joints settled is Kaufman's up to a term that vanishes with the residuals, so places without noise.
    #[test]
    fn slopes_are_those_of_differences() {
        let mut rng = fastrand::Rng::with_seed(4);
        let mut any = |s: f64| V3::new(rng.f64() - 0.5, rng.f64() - 0.5, rng.f64() - 0.5) * s;
        let places = vec![
            Extrinsics::identity(),
            Extrinsics::new(V3::new(1.0, 0.1, 0.5), V3::new(0.1, -0.6, 0.0)),
            Extrinsics::new(V3::new(-1.0, 0.2, 0.3), V3::new(0.0, 0.5, 0.1)),
        ];
        let offsets_ms = vec![0.0, 1.0, -2.0];
        let mut spots = Vec::new();
        for _ in 0..12 {
            let at = any(1.0) + V3::new(0.0, 0.0, 3.0);
            let views = (0..3)
                .map(|c| {
                    let speed = any(1.0).xy();
                    let ray = seen_at(&places[c], at).unwrap() + speed * (offsets_ms[c] / 1e3);
                    (c, Sight { at: ray, speed, sigma: 0.01 }, 1.0)
                })
                .collect();
            spots.push(Spot { views, at });
        }
        let mut problem = Problem::new(places, offsets_ms, spots);
        let here = problem.params();
        problem.set_params(&here);
        let slopes = problem.jacobian().unwrap();
        for k in 0..here.len() {
            let mut there = here.clone();
            there[k] += 1e-6;
            problem.set_params(&there);
            let up = problem.residuals().unwrap();
            there[k] -= 2e-6;
            problem.set_params(&there);
            let difference = (up - problem.residuals().unwrap()) / 2e-6;
            let off = (&difference - slopes.column(k)).norm() / difference.norm().max(1.0);
            assert!(off < 1e-3, "unknown {k}: {off}");
        }
    }

    #[test]
    fn a_camera_that_takes_left_for_right_among_five_is_put_right() {
        let place = |x, y, z, by: [f64; 3]| Extrinsics::new(V3::new(x, y, z), V3::from(by));
        let places = [
            Extrinsics::identity(),
            place(1.0, 0.1, 0.5, [0.1, -0.6, 0.0]),
            place(-1.0, 0.2, 0.3, [0.0, 0.5, 0.1]),
            place(0.5, 0.1, 0.2, [0.0, -0.3, 0.0]),
            place(-0.6, -0.2, 0.1, [0.1, 0.25, 0.0]),
        ];
        let joint = |j: usize| V3::new(if j % 2 == 1 { 0.2 } else { -0.2 }, 0.08 * j as f64 - 0.7, 3.0);
        let sees = |c: usize, is_exchanged: bool| {
            std::array::from_fn(|j| {
                let j = if is_exchanged && j > 4 { MIRROR[j] } else { j };
                Some(Sight { at: seen_at(&places[c], joint(j))?, speed: V2::zeros(), sigma: 0.01 })
            })
        };
        let mut moments = [Moment { at_us: 0, seen: (0..5).map(|c| Some(sees(c, c == 1))).collect() }];
        exchange_sides(&mut moments, &places, &[0.0; 5]);
        for (c, seen) in moments[0].seen.iter().enumerate() {
            for (now, right) in seen.unwrap().iter().zip(sees(c, false)) {
                assert_eq!(now.unwrap().at, right.unwrap().at, "camera {c}");
            }
        }
    }
}
