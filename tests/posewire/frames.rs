//! Made-up pose frames for tests of sinks.

use pose::{Forecast, HORIZONS_US, JOINTS, JointState, MAX_PERSONS, PoseFrame, TrackedPerson};

/// A frame of `persons` persons somewhere in a 640×480 picture; the same for the same `seq`.
pub fn pose_frame(seq: u64, persons: usize, captured_at_us: i64) -> PoseFrame {
    let mut rng = fastrand::Rng::with_seed(seq);
    let mut all = [None; MAX_PERSONS];
    for (i, place) in all.iter_mut().take(persons).enumerate() {
        let mut forecast = Forecast {
            captured_at_us,
            places_px: [[[0.0; 2]; JOINTS]; HORIZONS_US.len()],
            sigma_px: [[0.0; JOINTS]; HORIZONS_US.len()],
            score: std::array::from_fn(|_| rng.f32()),
            state: std::array::from_fn(|_| {
                [JointState::Measured, JointState::Predicted, JointState::Absent][rng.usize(0..3)]
            }),
            joints_3d_m: rng.bool().then(|| std::array::from_fn(|_| [(); 3].map(|()| rng.f32() * 2.0 - 1.0))),
        };
        for j in 0..JOINTS {
            let (x, y, sigma) = (rng.f32() * 700.0 - 30.0, rng.f32() * 520.0 - 20.0, rng.f32() * 20.0);
            for h in 0..HORIZONS_US.len() {
                forecast.places_px[h][j] = [x + 3.0 * h as f32, y - h as f32];
                forecast.sigma_px[h][j] = sigma * (1.0 + h as f32);
            }
        }
        *place = Some(TrackedPerson {
            track_id: i as u32 + 1,
            score: rng.f32(),
            forecast,
            seen: None,
            place: None,
        });
    }
    PoseFrame { seq, frame: seq, captured_at_us, width: 640, height: 480, persons: all, floor: None }
}
