//! A forecast at one moment.

use pose::{Pose, PoseJoint, Stamped};

use crate::temporal::{Forecast, HORIZONS_US};

pub(super) fn at(f: &Forecast, track_id: u32, score: f32, valid_at_us: i64) -> Stamped<Pose> {
    let ahead = (valid_at_us - f.captured_at_us).clamp(0, HORIZONS_US[HORIZONS_US.len() - 1]);
    let i = HORIZONS_US.windows(2).position(|w| ahead <= w[1]).unwrap_or(0);
    let t = (ahead - HORIZONS_US[i]) as f32 / (HORIZONS_US[i + 1] - HORIZONS_US[i]) as f32;
    let mix = |a: f32, b: f32| a + t * (b - a);
    let joints = std::array::from_fn(|j| PoseJoint {
        x_px: mix(f.places_px[i][j][0], f.places_px[i + 1][j][0]),
        y_px: mix(f.places_px[i][j][1], f.places_px[i + 1][j][1]),
        score: f.score[j],
        sigma_px: mix(f.sigma_px[i][j], f.sigma_px[i + 1][j]),
        state: f.state[j],
    });
    Stamped {
        captured_at_us: f.captured_at_us,
        valid_at_us: f.captured_at_us + ahead,
        value: Pose { track_id, score, joints, joints_3d_m: f.joints_3d_m },
    }
}
