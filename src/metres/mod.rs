//! Metres: where persons stand before the camera, from its lens, their pose in 3D and how tall they are.
//!
//! Camera space: x right in the picture, y down, z along the lens's axis; metres.

mod body;
mod fit;
mod lens;
mod stature;

pub use body::Body;
pub use lens::Lens;
pub use stature::Stature;

use pose::{Forecast, MAX_PERSONS, Place};

/// Places persons, each by a memory of its own.
pub struct Metres {
    lens: Lens,
    stature: Stature,
    bodies: [Body; MAX_PERSONS],
}

impl Metres {
    /// With the lens that `lens` knows at the time, of persons who are so tall.
    pub fn new(lens: Lens, stature: Stature) -> Self {
        Self { lens, stature, bodies: Default::default() }
    }

    /// Forgets the person in `slot`; a slot that does not exist is nothing to forget.
    pub fn reset(&mut self, slot: usize) {
        if let Some(body) = self.bodies.get_mut(slot) {
            *body = Body::default();
        }
    }

    /// Where the person in `slot` stands in a picture of `size_px`; its 3D pose is made as large as the person is taken to be.
    /// `None` where the lens is not known, or too little of the person.
    pub fn place(&mut self, slot: usize, forecast: &mut Forecast, size_px: [u32; 2]) -> Option<Place> {
        let lens = self.lens.of(size_px)?;
        self.bodies.get_mut(slot)?.place(forecast, &lens, self.stature)
    }
}
