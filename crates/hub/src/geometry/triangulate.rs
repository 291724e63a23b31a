//! A point from several rays.

use nalgebra::{Matrix2x3, Matrix3, Matrix4, RowVector4, SymmetricEigen};

use super::Eye;
use crate::{Extrinsics, V2, V3};

/// One camera's ray to a point.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Where the camera is.
    pub camera: &'a Extrinsics,
    /// The ray.
    pub ray: V2,
    /// Standard deviation of the ray along each axis.
    pub sigma: f64,
}

/// A point and how well it is known.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// Metres.
    pub at: V3,
    /// Covariance, square metres.
    pub covariance: Matrix3<f64>,
    /// Mean over all views of the squared distance of ray and point, in units of sigma, by axis: 1 where sigmas are right.
    pub misfit: f64,
}

/// The plain direct linear transform: all views count alike. `None` for less than two views, or parallel ones.
pub fn dlt<'a>(views: impl Iterator<Item = (&'a Extrinsics, V2)>) -> Option<V3> {
    weighted_dlt(views.map(|(camera, ray)| (camera, ray, 1.0)))
}

/// The same, each view's equations times its weight.
pub fn weighted_dlt<'a>(views: impl Iterator<Item = (&'a Extrinsics, V2, f64)>) -> Option<V3> {
    let (mut normal, mut count) = (Matrix4::<f64>::zeros(), 0);
    for (camera, ray, weight) in views {
        let m = camera.to_homogeneous();
        let row = |i: usize| -> RowVector4<f64> { m.row(i).into_owned() };
        for equation in [row(2) * ray.x - row(0), row(2) * ray.y - row(1)] {
            normal += equation.transpose() * equation * (weight * weight);
        }
        count += 1;
    }
    if count < 2 {
        return None;
    }
    let eigen = SymmetricEigen::new(normal);
    let at = eigen.eigenvectors.column(eigen.eigenvalues.imin()).into_owned();
    (at.w.abs() > 1e-9).then(|| at.xyz() / at.w).filter(|p| p.iter().all(|v| v.is_finite()))
}

/// Least squares over rays weighed by their sigmas, those that do not fit weighing less (Huber). `None` where less than two
/// views, or a point behind a camera, come out.
pub fn triangulate(views: &[View<'_>]) -> Option<Spot> {
    /// In units of sigma.
    const HUBER: f64 = 2.0;
    let mut at = nearest_to(views)?;
    let mut information = Matrix3::zeros();
    for _ in 0..6 {
        information = Matrix3::zeros();
        let mut pull = V3::zeros();
        for view in views {
            let (residual, slope) = residual(view.camera, at, view.ray)?;
            let far = residual.norm() / view.sigma;
            let weight = if far > HUBER { HUBER / far } else { 1.0 } / (view.sigma * view.sigma);
            information += slope.transpose() * slope * weight;
            pull += slope.transpose() * residual * weight;
        }
        let step = information.cholesky()?.solve(&pull);
        at -= step;
        if step.norm() < 1e-5 {
            break;
        }
    }
    let covariance = information.try_inverse()?;
    let mut misfit = 0.0;
    for view in views {
        let (residual, _) = residual(view.camera, at, view.ray)?;
        misfit += residual.norm_squared() / (2.0 * view.sigma * view.sigma);
    }
    Some(Spot { at, covariance, misfit: misfit / views.len() as f64 })
}

/// The point with the least squared distances from all rays' lines; `None` for less than two, or parallel ones.
fn nearest_to(views: &[View<'_>]) -> Option<V3> {
    if views.len() < 2 {
        return None;
    }
    let (mut a, mut b) = (Matrix3::zeros(), V3::zeros());
    for view in views {
        let eye = super::centre(view.camera);
        let way = (view.camera.rotation.inverse() * V3::new(view.ray.x, view.ray.y, 1.0)).normalize();
        let across = Matrix3::identity() - way * way.transpose();
        a += across;
        b += across * eye;
    }
    a.cholesky().map(|factor| factor.solve(&b)).filter(|at| at.iter().all(|v| v.is_finite()))
}

/// How far the ray of `point` lies from `ray`, and how that changes with the point; `None` behind the camera.
pub(crate) fn residual(camera: &Extrinsics, point: V3, ray: V2) -> Option<(V2, Matrix2x3<f64>)> {
    let (seen, slope) = Eye::of(camera).project(point)?;
    Some((seen - ray, slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::seen_at;
    use nalgebra::{Point3, Vector3};

    fn cameras() -> [Extrinsics; 3] {
        [(-3.0, -3.0), (3.0, -3.0), (0.0, 4.0)].map(|(x, y)| {
            // `look_at_rh` looks along -z with y up.
            let turn = nalgebra::UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::PI);
            turn * Extrinsics::look_at_rh(&Point3::new(x, y, 2.0), &Point3::new(0.0, 0.0, 1.0), &Vector3::z())
        })
    }

    #[test]
    fn a_point_comes_back_and_a_wild_ray_moves_it_less_than_it_moves_the_plain_one() {
        let cameras = cameras();
        let truth = V3::new(0.3, 0.2, 1.4);
        let mut rays = cameras.each_ref().map(|c| seen_at(c, truth).unwrap());
        let views = |rays: &[V2; 3]| {
            std::array::from_fn::<_, 3, _>(|i| View { camera: &cameras[i], ray: rays[i], sigma: 0.01 })
        };
        let spot = triangulate(&views(&rays)).unwrap();
        assert!((spot.at - truth).norm() < 1e-6 && spot.misfit < 1e-6, "{spot:?}");
        // A ray error of 0.01 at some 4.5 m is 4.5 cm across.
        assert!((0.02..0.06).contains(&spot.covariance.trace().sqrt()), "{}", spot.covariance);
        rays[2] += V2::new(0.2, 0.0);
        let robust = (triangulate(&views(&rays)).unwrap().at - truth).norm();
        let plain = (dlt(cameras.iter().zip(rays)).unwrap() - truth).norm();
        assert!(robust < 0.6 * plain, "{robust} {plain}");
    }

    #[test]
    fn one_ray_is_no_point() {
        let cameras = cameras();
        let ray = V2::new(0.0, 0.0);
        assert!(triangulate(&[View { camera: &cameras[0], ray, sigma: 0.01 }]).is_none());
        assert!(dlt([(&cameras[0], ray), (&cameras[0], ray)].into_iter()).is_none_or(|p| p.norm() < 1e9));
    }

    #[test]
    fn rays_that_are_off_by_their_sigmas_have_a_misfit_of_what_three_numbers_leave_of_six() {
        let (cameras, truth, sigma) = (cameras(), V3::new(0.3, 0.2, 1.4), 0.004);
        let mut rng = fastrand::Rng::with_seed(5);
        let mut normal = || sigma * ((0..12).map(|_| rng.f64()).sum::<f64>() - 6.0);
        let misfits = (0..400).map(|_| {
            let views = cameras.each_ref().map(|camera| {
                let ray = seen_at(camera, truth).unwrap() + V2::new(normal(), normal());
                View { camera, ray, sigma }
            });
            triangulate(&views).unwrap().misfit
        });
        let mean = misfits.sum::<f64>() / 400.0;
        assert!((mean - 0.5).abs() < 0.06, "{mean}");
    }
}
