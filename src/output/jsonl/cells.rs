//! A person as one row of cells: what `flat` and `csv` write, under the same names in the same order.
//!
//! Every row has every cell, so that tables line up: what is not known is empty, and an absent joint has a score of 0 and
//! no place.

use std::fmt;

use pose::{Floor, Joint, JointState::Absent, Pose};

use super::Head;
use super::values::placed;

/// The name of a cell: `score`, or `left_wrist_x`.
#[derive(Clone, Copy)]
pub(super) struct Column {
    joint: Option<Joint>,
    what: &'static str,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.joint {
            Some(joint) => write!(f, "{}_{}", joint.name(), self.what),
            None => f.write_str(self.what),
        }
    }
}

/// What stands in a cell.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Empty,
    Whole(i128),
    Real(f32),
    Word(&'a str),
}

/// What a row says of the picture, before its person.
pub(super) type HeadCell<'a> = (&'static str, Cell<'a>);

impl<'a> Head<'a> {
    pub(super) fn cells(&self) -> [HeadCell<'a>; 13] {
        let floor =
            |value: fn(&Floor) -> f32| self.floor.as_ref().map_or(Cell::Empty, |f| Cell::Real(value(f)));
        let side = |axis: usize| self.size_px.map_or(Cell::Empty, |sides| Cell::Whole(sides[axis].into()));
        [
            ("seq", Cell::Whole(self.seq.into())),
            ("frame", self.frame.map_or(Cell::Empty, |frame| Cell::Whole(frame.into()))),
            ("captured_us", Cell::Whole(self.captured_at_us.into())),
            ("emitted_us", Cell::Whole(self.emitted_at_us.into())),
            ("width", side(0)),
            ("height", side(1)),
            ("source", self.source.map_or(Cell::Empty, Cell::Word)),
            ("floor_height", floor(|f| f.height_m)),
            ("floor_height_sigma", floor(|f| f.height_sigma_m)),
            ("floor_pitch", floor(|f| f.pitch_deg)),
            ("floor_pitch_sigma", floor(|f| f.pitch_sigma_deg)),
            ("floor_roll", floor(|f| f.roll_deg)),
            ("floor_roll_sigma", floor(|f| f.roll_sigma_deg)),
        ]
    }
}

/// Gives every cell of the row to `put`, from the left. Where the person stands on `floor` is the last of it.
pub(super) fn cells<'a>(
    head: &[HeadCell<'a>],
    floor: Option<&Floor>,
    pose: &Pose,
    mut put: impl FnMut(Column, Cell<'a>),
) {
    for &(what, cell) in head {
        put(Column { joint: None, what }, cell);
    }
    put(Column { joint: None, what: "id" }, Cell::Whole(pose.track_id.into()));
    let mut real = |joint, what, value: Option<f32>| {
        put(Column { joint, what }, value.map_or(Cell::Empty, Cell::Real));
    };
    real(None, "score", Some(pose.score));
    let bounds = pose.bounds();
    real(None, "box_x", bounds.map(|b| b.x));
    real(None, "box_y", bounds.map(|b| b.y));
    real(None, "box_w", bounds.map(|b| b.w));
    real(None, "box_h", bounds.map(|b| b.h));
    for (name, joint) in Joint::ALL.into_iter().zip(&pose.joints) {
        let joint = placed(joint);
        let mut real = |what, value: Option<f32>| {
            put(Column { joint: Some(name), what }, value.map_or(Cell::Empty, Cell::Real));
        };
        real("x", joint.map(|j| j.x_px));
        real("y", joint.map(|j| j.y_px));
        real("score", Some(joint.map_or(0.0, |j| j.score)));
        real("sigma", joint.map(|j| j.sigma_px));
        let state = joint.map_or(Absent, |j| j.state);
        put(Column { joint: Some(name), what: "state" }, Cell::Word(state.name()));
    }
    for (i, name) in Joint::ALL.into_iter().enumerate() {
        for (axis, what) in ["x3d", "y3d", "z3d"].into_iter().enumerate() {
            let value = pose.joints_3d_m.map(|places| places[i][axis]);
            put(Column { joint: Some(name), what }, value.map_or(Cell::Empty, Cell::Real));
        }
    }
    let mut real = |what, value: Option<f32>| {
        put(Column { joint: None, what }, value.map_or(Cell::Empty, Cell::Real));
    };
    for (axis, [what, sigma]) in
        [["place_x", "place_x_sigma"], ["place_y", "place_y_sigma"], ["place_z", "place_z_sigma"]]
            .into_iter()
            .enumerate()
    {
        real(what, pose.place.map(|p| p.at_m[axis]));
        real(sigma, pose.place.map(|p| p.sigma_m[axis]));
    }
    real("distance", pose.place.map(|p| p.distance_m));
    real("distance_sigma", pose.place.map(|p| p.distance_sigma_m));
    let ground_m = floor.zip(pose.place).map(|(floor, place)| floor.ground(place.at_m));
    real("ground_x", ground_m.map(|at_m| at_m[0]));
    real("ground_z", ground_m.map(|at_m| at_m[1]));
}
