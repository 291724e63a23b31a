//! What a lens does: from pictures of a chessboard to the camera's intrinsics.
//!
//! [`find_corners`] looks for the board in one picture, [`solve`] finds the camera that explains all views at once.
//! Posewire's own output stays in pixels of the source image; whoever reads it turns a pixel into a direction with the
//! [`Intrinsics`].

mod corners;
mod solve;

pub use corners::{Grey, find_corners};
pub use solve::{Fit, solve};

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

    /// Where corner `i` lies, in squares from the first one.
    fn place(self, i: usize) -> [f64; 2] {
        [(i % self.columns) as f64, (i / self.columns) as f64]
    }
}

/// A pin-hole camera with two terms of radial distortion; pixels of the source image, from its top left corner.
///
/// A point (x, y, 1) in front of the camera is seen at (fx·x·d + cx, fy·y·d + cy) with d = 1 + k1·r² + k2·r⁴ and
/// r² = x² + y²: OpenCV's model with its other terms 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intrinsics {
    /// Focal length along x, pixels.
    pub fx: f64,
    /// Focal length along y, pixels.
    pub fy: f64,
    /// Principal point, pixels.
    pub cx: f64,
    /// Principal point, pixels.
    pub cy: f64,
    /// Distortion at r².
    pub k1: f64,
    /// Distortion at r⁴.
    pub k2: f64,
}

impl Intrinsics {
    /// Where the point (x, y, 1) of the camera's space is seen, pixels.
    pub fn project(&self, x: f64, y: f64) -> [f64; 2] {
        let r2 = x * x + y * y;
        let d = 1.0 + r2 * (self.k1 + r2 * self.k2);
        [self.fx * x * d + self.cx, self.fy * y * d + self.cy]
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
