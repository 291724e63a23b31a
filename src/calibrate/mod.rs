//! What a lens does: from pictures of a chessboard to the camera's intrinsics, and where these are kept.
//!
//! [`find_corners`] looks for the board in one picture, whole or a part of it; [`solve`] finds the camera that explains all views at once. The
//! [`CameraFile`] says so, and is found again by the camera's [`UsbId`] on a [`Shelf`]. [`Intrinsics`] turn pixels of the
//! source image into directions.

mod corners;
mod coverage;
mod file;
mod lattice;
mod refine;
mod sheet;
mod shelf;
mod solve;
mod usb_id;
mod view;

pub use camera_model::Intrinsics;
pub use corners::{Grey, find_corners};
pub use coverage::Coverage;
pub use file::{CameraFile, CameraFileError, date};
pub use sheet::{Paper, sheet};
pub use shelf::Shelf;
pub use solve::{Fit, solve};
pub use usb_id::UsbId;
pub use view::{Corner, View};

/// A chessboard, counted in inner corners, where four squares meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    /// Inner corners along the longer side.
    pub columns: usize,
    /// Inner corners along the shorter side.
    pub rows: usize,
}

impl Board {
    /// How many inner corners it has.
    pub fn corners(self) -> usize {
        self.columns * self.rows
    }

    /// Whether so many corners across and down may be its, the board turned as it may be.
    fn has_room_for(self, across: usize, down: usize) -> bool {
        let fits = |columns, rows| across <= columns && down <= rows;
        fits(self.columns, self.rows) || fits(self.rows, self.columns)
    }
}

/// Why the views give no camera.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrationError {
    /// Fewer views than the unknowns need.
    #[error("{found} views of the board, {needed} are needed: show it longer, from several sides")]
    TooFewViews {
        /// How many there are.
        found: usize,
        /// How many must be.
        needed: usize,
    },
    /// The views do not tell the focal length: a board seen straight on only shows how large it is.
    #[error("the views are too alike: tilt the board by 20 to 45 degrees, to the left, right, up and down")]
    TooAlike,
    /// The best camera does not explain the views.
    #[error(
        "the views do not fit one camera (error {rms_px:.1} px): is the board flat, and the focus fixed?"
    )]
    Contradictory {
        /// Root mean square of the distance between corners seen and explained.
        rms_px: f64,
    },
}
