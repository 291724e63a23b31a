//! Metres: where persons stand before the camera, from its lens, their pose in 3D and how tall they are.
//!
//! Camera space: x right in the picture, y down, z along the lens's axis; metres.

mod body;
mod fit;
mod floor;
mod lens;
mod planes;
mod scale;
mod stance;
mod stature;

pub use body::Body;
pub use floor::FloorFinder;
pub use lens::Lens;
pub use stature::Stature;

use pose::{Floor, Forecast, Joint, JointState, MAX_PERSONS, Place};

/// Places persons, each by a memory of its own.
pub struct Metres {
    lens: Lens,
    stature: Stature,
    bodies: [Body; MAX_PERSONS],
    floor: Option<FloorFinder>,
    /// The [generation](Lens::generation) of the lens that the floor was found with.
    found_with: u64,
}

impl Metres {
    /// With the lens that `lens` knows at the time, of persons who are so tall.
    pub fn new(lens: Lens, stature: Stature) -> Self {
        Self { lens, stature, bodies: Default::default(), floor: None, found_with: 0 }
    }

    /// Finds the floor too, above which the camera is so high where somebody has measured that, metres; and everybody's size by it.
    pub fn with_floor(self, camera_height_m: Option<f64>) -> Self {
        Self { floor: Some(FloorFinder::new(self.stature, camera_height_m)), ..self }
    }

    /// The floor, where it is asked for and known by now. What another camera saw it from is nothing for this one.
    pub fn floor(&self) -> Option<Floor> {
        self.floor.as_ref().filter(|_| self.found_with == self.lens.generation())?.floor()
    }

    /// Forgets the person in `slot`; a slot that does not exist is nothing to forget.
    pub fn reset(&mut self, slot: usize) {
        if let Some(body) = self.bodies.get_mut(slot) {
            *body = Body::default();
        }
        self.floor.iter_mut().for_each(|floor| floor.reset(slot));
    }

    /// Where `person`, who is in `slot`, stands in a picture of `size_px`; its 3D pose is made as large as the person is taken to be.
    /// `None` where the lens is not known, or too little of the person.
    pub fn place(
        &mut self,
        slot: usize,
        person: u32,
        forecast: &mut Forecast,
        size_px: [u32; 2],
    ) -> Option<Place> {
        let generation = self.lens.generation();
        if self.found_with != generation {
            self.found_with = generation;
            self.floor.iter_mut().for_each(FloorFinder::forget);
        }
        let lens = self.lens.of(size_px)?;
        let fitted = self.bodies.get_mut(slot)?.fitted(forecast, &lens)?;
        // What the floor is found from does not hang on what the floor says.
        let (mut place, mut joints_m) = fitted.placed(self.stature, self.stature.scale());
        let has_feet =
            Joint::ANKLES.iter().all(|&ankle| forecast.state[ankle as usize] == JointState::Measured);
        if let Some(floor) = &mut self.floor {
            if has_feet {
                let captured_at_us = forecast.captured_at_us;
                floor.take(slot, person, captured_at_us, place.at_m, &joints_m);
            }
            if let Some(scale) = floor.scale(slot) {
                (place, joints_m) = fitted.placed(self.stature, scale);
            }
        }
        forecast.joints_3d_m = Some(joints_m);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::body::tests::{LENS, person};
    use super::*;
    use crate::calibrate::Intrinsics;

    const SIZE_PX: [u32; 2] = [640, 480];
    /// How far below the camera the hips are of who walks there; 1.305 m above their soles, as the camera is told.
    const HIPS_M: f64 = 0.4;
    const CAMERA_M: f64 = HIPS_M + (0.224 + 0.232 + 0.047) * 1.80;

    fn metres(camera_m: Option<f64>) -> (Metres, Lens) {
        let lens = Lens::default();
        lens.set(Some((LENS, SIZE_PX)));
        (Metres::new(lens.clone(), Stature::ADULT).with_floor(camera_m), lens)
    }

    /// Somebody of 1.80 m walks to and fro for a minute, `foot` being the state of an ankle; gives their last distance over the true one.
    fn walked(metres: &mut Metres, foot: JointState, scale: f64) -> f64 {
        let mut ratio = f64::NAN;
        for k in 0..600_i64 {
            let at = [0.3, HIPS_M, 4.0 + 1.5 * (0.2 * k as f64).sin()];
            let mut forecast = person(at, scale);
            (forecast.captured_at_us, forecast.state[15]) = (100_000 * k, foot);
            let place = metres.place(0, 1, &mut forecast, SIZE_PX).expect("all is seen");
            ratio = f64::from(place.distance_m) / at.iter().map(|v| v * v).sum::<f64>().sqrt();
        }
        ratio
    }

    #[test]
    fn above_a_floor_of_known_height_somebody_taller_than_most_stands_where_they_stand() {
        let (mut with, _) = metres(Some(CAMERA_M));
        let ratio = walked(&mut with, JointState::Measured, 1.0);
        assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
        let floor = with.floor().expect("found");
        assert!((f64::from(floor.height_m) - CAMERA_M).abs() < 1e-4);
        assert!((0.003..0.05).contains(&floor.height_sigma_m), "a tape is not exact: {floor:?}");
        let (mut without, _) = metres(None);
        let ratio = walked(&mut without, JointState::Measured, 1.0);
        assert!(ratio < 0.95, "an average adult would be nearer: {ratio}");
    }

    #[test]
    fn a_pose_in_3d_is_as_large_as_the_person_is_taken_to_be_not_as_the_network_has_it() {
        let (mut metres, _) = metres(None);
        walked(&mut metres, JointState::Measured, 0.6);
        let mut forecast = person([0.3, HIPS_M, 4.0], 0.6);
        metres.place(0, 1, &mut forecast, SIZE_PX).expect("all is seen");
        let knee = forecast.joints_3d_m.expect("there is one")[13];
        assert!((f64::from(knee[1]) - 0.224 * Stature::ADULT.height_m).abs() < 0.02, "{knee:?}");
    }

    #[test]
    fn feet_that_are_not_seen_tell_no_floor_and_another_lens_forgets_it() {
        let (mut guessed, _) = metres(Some(CAMERA_M));
        walked(&mut guessed, JointState::Predicted, 1.0);
        assert_eq!(guessed.floor(), None);
        let (mut seen, lens) = metres(Some(CAMERA_M));
        walked(&mut seen, JointState::Measured, 1.0);
        assert!(seen.floor().is_some());
        lens.set(Some((Intrinsics { fx: 500.0, ..LENS }, SIZE_PX)));
        seen.place(0, 1, &mut person([0.3, HIPS_M, 4.0], 1.0), SIZE_PX);
        assert_eq!(seen.floor(), None);
    }

    #[test]
    fn of_whoever_comes_into_a_place_nothing_is_known_from_who_had_it() {
        let first = |metres: &mut Metres| {
            let mut forecast = person([0.3, HIPS_M, 4.0], 1.0);
            forecast.captured_at_us = 60_000_000;
            let place = metres.place(0, 2, &mut forecast, SIZE_PX).expect("all is seen");
            (place.distance_m, forecast.joints_3d_m)
        };
        let (mut used, _) = metres(Some(CAMERA_M));
        // The network takes this one for a child.
        walked(&mut used, JointState::Measured, 0.6);
        used.reset(0);
        assert_eq!(first(&mut used), first(&mut metres(Some(CAMERA_M)).0));
    }
}
