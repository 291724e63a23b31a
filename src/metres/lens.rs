//! The lens of whatever camera there is now, from the thread that knows the camera to the one that knows the persons.

use std::sync::{Arc, Mutex, PoisonError};

use crate::calibrate::Intrinsics;

/// Intrinsics and the size of the pictures that they hold for, pixels; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Lens(Arc<Mutex<Option<Known>>>);

type Known = (Intrinsics, [u32; 2]);

impl Lens {
    /// From now on pictures of `size_px` are of this camera; `None`: nobody knows.
    pub fn set(&self, known: Option<Known>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// The camera of a picture of `size_px`; `None` where it is not known, or another size is.
    pub fn of(&self, size_px: [u32; 2]) -> Option<Intrinsics> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(_, of_px)| *of_px == size_px).map(|(intrinsics, _)| intrinsics)
    }
}
