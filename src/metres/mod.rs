//! Metres: where persons stand before the camera, from its lens, their pose in 3D and how tall they are.
//!
//! Camera space: x right in the picture, y down, z along the lens's axis; metres.

mod body;
mod fit;
mod floor;
mod lens;
mod stature;

pub use body::Body;
pub use floor::FloorFinder;
pub use lens::Lens;
pub use stature::Stature;

use pose::{Floor, Forecast, JointState, MAX_PERSONS, Place};

use crate::calibrate::Intrinsics;

/// Places persons, each by a memory of its own.
pub struct Metres {
    lens: Lens,
    stature: Stature,
    bodies: [Body; MAX_PERSONS],
    floor: Option<FloorFinder>,
    /// What the floor was found with.
    seen_with: Option<Intrinsics>,
}

impl Metres {
    /// With the lens that `lens` knows at the time, of persons who are so tall.
    pub fn new(lens: Lens, stature: Stature) -> Self {
        Self { lens, stature, bodies: Default::default(), floor: None, seen_with: None }
    }

    /// Finds the floor too.
    pub fn with_floor(self) -> Self {
        Self { floor: Some(FloorFinder::default()), ..self }
    }

    /// The floor, where it is asked for and known by now.
    pub fn floor(&self) -> Option<Floor> {
        self.floor.as_ref()?.floor()
    }

    /// Forgets the person in `slot`; a slot that does not exist is nothing to forget.
    pub fn reset(&mut self, slot: usize) {
        if let Some(body) = self.bodies.get_mut(slot) {
            *body = Body::default();
        }
        self.floor.iter_mut().for_each(|floor| floor.reset(slot));
    }

    /// Where the person in `slot` stands in a picture of `size_px`; its 3D pose is made as large as the person is taken to be.
    /// `None` where the lens is not known, or too little of the person.
    pub fn place(&mut self, slot: usize, forecast: &mut Forecast, size_px: [u32; 2]) -> Option<Place> {
        let lens = self.lens.of(size_px)?;
        if self.seen_with.replace(lens) != Some(lens) {
            self.floor.iter_mut().for_each(FloorFinder::forget);
        }
        let place = self.bodies.get_mut(slot)?.place(forecast, &lens, self.stature)?;
        let has_feet = [15, 16].iter().all(|&ankle| forecast.state[ankle] == JointState::Measured);
        if let (Some(floor), Some(joints_m)) = (&mut self.floor, &forecast.joints_3d_m)
            && has_feet
        {
            floor.take(slot, forecast.captured_at_us, place.at_m, joints_m, self.stature);
        }
        Some(place)
    }
}
