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

use pose::{Floor, Forecast, JointState, MAX_PERSONS, Place};

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
        Self { floor: Some(FloorFinder::new(camera_height_m)), ..self }
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
        let has_feet = [15, 16].iter().all(|&ankle| forecast.state[ankle] == JointState::Measured);
        if let Some(floor) = &mut self.floor {
            if has_feet {
                let captured_at_us = forecast.captured_at_us;
                floor.take(slot, person, captured_at_us, place.at_m, &joints_m, self.stature);
            }
            if let Some(scale) = floor.scale(slot) {
                (place, joints_m) = fitted.placed(self.stature, scale);
            }
        }
        forecast.joints_3d_m = Some(joints_m);
        Some(place)
    }
}
