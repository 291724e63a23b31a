//! The person finder: a whole picture in, boxes out.

use std::sync::Arc;

use pose::{BoxPx, Keypoint, PersonBox, Pose};

use super::candidates::Candidates;
use super::decode::{Outputs, Rows};
use super::{KeypointError, image_from_net_whole, silhouette};
use crate::infer::{
    CentreSpec, Codec, FastestdetSpec, InferError, Letterbox, Manifest, Plan, State, Task, WithPresence,
    YoloSpec,
};
use crate::picture::{Affine, Inpainter, Mask, Picture, crop_resize_into};
use math::logistic;

/// Boxes that one search gives at most, unless [`PersonFinder::up_to`] says otherwise: twice the persons that are tracked, so that
/// the weaker half can be told apart from those who are tracked already.
pub const MAX_FOUND: usize = 2 * pose::MAX_PERSONS;

/// Finds persons in whole pictures; one thread owns it.
pub struct PersonFinder {
    state: Box<dyn State>,
    head: Head,
    letterbox: Letterbox,
    fill: u8,
    /// Of finds that count by themselves.
    threshold: f32,
    with_presence: Option<WithPresence>,
    nms_iou: f32,
    net_size: [usize; 2],
    image_from_net: Affine,
    /// Net pixels of whoever was painted out of the last picture.
    painted_out: Mask,
    inpainter: Inpainter,
    candidates: Candidates,
}

enum Head {
    Centre { centre: String, sides: String, rows: usize, columns: usize, stride: f32 },
    Fastestdet { output: String, rows: usize, columns: usize, classes: usize },
    Yolo { output: String, rows: Rows },
}

impl PersonFinder {
    /// Checks that the network's outputs fit the manifest's codec and makes the buffers.
    ///
    /// # Errors
    /// [`InferError`] naming the file and the output.
    pub fn new(manifest: &Manifest, plan: &Arc<dyn Plan>) -> Result<Self, InferError> {
        if manifest.task != Task::Person {
            return Err(InferError::model(
                &manifest.name,
                "its task is not \"person\": it reads joints, not boxes",
            ));
        }
        let outputs = &Outputs { manifest, all: plan.outputs() };
        let (head, threshold, nms_iou) = match &manifest.codec {
            Codec::Centre(spec) => (Head::centre(spec, outputs)?, spec.threshold, spec.nms_iou),
            Codec::Fastestdet(spec) => (Head::fastestdet(spec, outputs)?, spec.threshold, spec.nms_iou),
            Codec::Yolo(spec) => (Head::yolo(spec, outputs)?, spec.threshold, spec.nms_iou),
            Codec::Heatmap(_) | Codec::Simcc(_) | Codec::Movenet(_) => {
                return Err(InferError::model(
                    &manifest.file,
                    "its codec reads joints, not boxes: a person network is needed here",
                ));
            }
        };
        let net_size = [manifest.input.width, manifest.input.height];
        Ok(Self {
            head,
            state: plan.state(1)?,
            letterbox: manifest.input.letterbox.unwrap_or_default(),
            fill: manifest.input.fill.unwrap_or_default(),
            threshold,
            with_presence: manifest.with_presence,
            nms_iou,
            net_size,
            image_from_net: Affine::IDENTITY,
            painted_out: Mask::new(net_size[0], net_size[1]),
            inpainter: Inpainter::new(net_size[0], net_size[1]),
            candidates: Candidates::up_to(MAX_FOUND),
        })
    }

    /// Finds so many persons at most: for whoever looks at more than a tracker follows.
    #[must_use]
    pub fn up_to(self, max_found: usize) -> Self {
        Self { candidates: Candidates::up_to(max_found), ..self }
    }

    /// For use beside a keypoint network that has no word on whether its crop shows a person: finds count by themselves.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { with_presence: None, ..self }
    }

    /// Probability, 0..=1, that somebody is there whom the finder gave `found` and the keypoint network `presence`; the network's
    /// word alone where the manifest has no rule.
    pub fn both(&self, found: f32, presence: f32) -> f32 {
        self.with_presence.map_or(presence, |rule| rule.both(found, presence))
    }

    /// Whether the finder alone is sure enough of it.
    pub fn is_sure(&self, found: &PersonBox) -> bool {
        found.score >= self.threshold
    }

    /// Image pixels that one net pixel spans: what a decoder of large pictures may leave out.
    pub fn image_per_net_px(&self, image_size: [usize; 2]) -> f32 {
        image_from_net_whole(image_size, self.letterbox, self.net_size).scale()
    }

    /// Writes the whole picture into the network's input.
    pub fn fit(&mut self, picture: &Picture<'_>) {
        self.image_from_net = image_from_net_whole(picture.image_size, self.letterbox, self.net_size);
        crop_resize_into(picture, &self.image_from_net, &mut self.state.input_mut(0), [self.fill; 3]);
    }

    /// As [`fit`](Self::fit), with `people`, in pixels of the source image, painted over in the colours round them: who stands half behind
    /// one of them is in one box with them else.
    pub fn fit_without(&mut self, picture: &Picture<'_>, people: &[Pose]) {
        self.fit(picture);
        self.painted_out.clear();
        let Some(net_from_image) = self.image_from_net.inverse() else { return };
        people.iter().for_each(|pose| silhouette::mark(pose, &net_from_image, &mut self.painted_out));
        self.inpainter.fill(&mut self.state.input_mut(0), &self.painted_out);
    }

    /// Whether a joint, in pixels of the source image, lies on somebody who was painted out by the last
    /// [`fit_without`](Self::fit_without).
    pub fn is_painted_out(&self, joint: &Keypoint) -> bool {
        let net_from_image = self.image_from_net.inverse();
        net_from_image.is_some_and(|m| self.painted_out.is_marked(m.apply(joint.x_px, joint.y_px)))
    }

    /// Runs the network.
    ///
    /// # Errors
    /// [`InferError::Run`] where the engine fails.
    pub fn run(&mut self) -> Result<(), InferError> {
        self.state.run(1)
    }

    /// The persons found, the surest first, in pixels of the source image; at most [`MAX_FOUND`], or as many as
    /// [`up_to`](Self::up_to) says, and `found` never grows beyond that.
    ///
    /// # Errors
    /// [`InferError::Run`] where the network lacks an output. Without a run of what was fitted the answer is that of the run before.
    pub fn decode(&mut self, found: &mut Vec<PersonBox>) -> Result<(), InferError> {
        self.candidates.clear();
        let threshold = self.with_presence.map_or(self.threshold, |rule| rule.threshold);
        self.head.read(&*self.state, self.net_size, threshold, &mut self.candidates)?;
        self.candidates.persons(self.nms_iou, found);
        for person in found.iter_mut() {
            let b = person.box_px;
            let (x0, y0) = self.image_from_net.apply(b.x, b.y);
            let (x1, y1) = self.image_from_net.apply(b.x + b.w, b.y + b.h);
            person.box_px = BoxPx::from_corners(x0, y0, x1, y1);
        }
        Ok(())
    }

    /// The persons in the picture: [`fit`](Self::fit), [`run`](Self::run), [`decode`](Self::decode).
    ///
    /// # Errors
    /// [`KeypointError::Infer`] where the network fails.
    pub fn find(&mut self, picture: &Picture<'_>, found: &mut Vec<PersonBox>) -> Result<(), KeypointError> {
        self.fit(picture);
        self.run()?;
        Ok(self.decode(found)?)
    }
}

impl Head {
    fn centre(spec: &CentreSpec, outputs: &Outputs<'_>) -> Result<Self, InferError> {
        let CentreSpec { centre, r#box: sides, stride, .. } = spec;
        let [columns, rows] = outputs.net_size().map(|side| (side as f32 / stride).round() as usize);
        for (output, maps) in [(centre, 1), (sides, 4)] {
            let shape = outputs.shape(output)?;
            if shape != [maps, rows, columns] {
                let wanted = format!("[{maps}, {rows}, {columns}] (the input over stride {stride})");
                return Err(outputs.unfit(output, shape, &wanted));
            }
        }
        Ok(Head::Centre { centre: centre.clone(), sides: sides.clone(), rows, columns, stride: *stride })
    }

    fn fastestdet(spec: &FastestdetSpec, outputs: &Outputs<'_>) -> Result<Self, InferError> {
        let output = &spec.output;
        match *outputs.shape(output)? {
            [values, rows, columns] if values > 5 => {
                Ok(Head::Fastestdet { output: output.clone(), rows, columns, classes: values - 5 })
            }
            ref shape => Err(outputs.unfit(output, shape, "[5 + classes, rows, columns]")),
        }
    }

    fn yolo(spec: &YoloSpec, outputs: &Outputs<'_>) -> Result<Self, InferError> {
        let output = &spec.output;
        Ok(Head::Yolo { output: output.clone(), rows: Rows::of(outputs, output)? })
    }

    /// Adds what is above `threshold`, in net pixels.
    fn read(
        &self,
        state: &dyn State,
        net_size: [usize; 2],
        threshold: f32,
        out: &mut Candidates,
    ) -> Result<(), InferError> {
        match self {
            Head::Centre { centre, sides, rows, columns, stride } => {
                let (centre, sides) = (state.output(0, centre)?.0, state.output(0, sides)?.0);
                read_centre(centre, sides, [*rows, *columns], *stride, threshold, out);
            }
            Head::Fastestdet { output, rows, columns, classes } => {
                read_fastestdet(
                    state.output(0, output)?.0,
                    [*rows, *columns, *classes],
                    net_size,
                    threshold,
                    out,
                );
            }
            Head::Yolo { output, rows } => {
                let values = state.output(0, output)?.0;
                for candidate in 0..rows.count {
                    let score = rows.confidence(values, candidate);
                    if score >= threshold {
                        out.keep(PersonBox { box_px: rows.box_net(values, candidate), score });
                    }
                }
            }
        }
        Ok(())
    }
}

/// `centre`: `[rows, columns]` logits, `sides`: `[4, rows, columns]` in strides.
fn read_centre(
    centre: &[f32],
    sides: &[f32],
    [rows, columns]: [usize; 2],
    stride: f32,
    threshold: f32,
    out: &mut Candidates,
) {
    let cells = rows * columns;
    // Compared as logits: most cells hold nobody and cost one comparison.
    let least = (threshold / (1.0 - threshold)).ln();
    for (cell, &logit) in centre.iter().enumerate().take(cells) {
        if logit < least || logit.is_nan() {
            continue;
        }
        let cx = ((cell % columns) as f32 + 0.5) * stride;
        let cy = ((cell / columns) as f32 + 0.5) * stride;
        let [left, top, right, bottom] = std::array::from_fn(|s| sides[s * cells + cell].max(0.0) * stride);
        let box_px = BoxPx::from_corners(cx - left, cy - top, cx + right, cy + bottom);
        out.keep(PersonBox { box_px, score: logistic(logit) });
    }
}

/// FastestDet's head: `score = objectness^0.6 · max(class)^0.4` where class 0, a person, is the surest.
fn read_fastestdet(
    map: &[f32],
    [rows, columns, classes]: [usize; 3],
    net_size: [usize; 2],
    threshold: f32,
    out: &mut Candidates,
) {
    let cells = rows * columns;
    let [net_w, net_h] = net_size.map(|v| v as f32);
    for cell in 0..cells {
        let at = |value: usize| map[value * cells + cell];
        // The class factor is at most 1: most cells are done after one look.
        if at(0).powf(0.6) < threshold || at(0).is_nan() {
            continue;
        }
        let person = at(5);
        let score = at(0).powf(0.6) * person.powf(0.4);
        if score < threshold || (1..classes).any(|c| at(5 + c) > person) {
            continue;
        }
        let cx = (at(1).tanh() + (cell % columns) as f32) / columns as f32;
        let cy = (at(2).tanh() + (cell / columns) as f32) / rows as f32;
        let (w, h) = (logistic(at(3)), logistic(at(4)));
        let box_px =
            BoxPx { x: (cx - 0.5 * w) * net_w, y: (cy - 0.5 * h) * net_h, w: w * net_w, h: h * net_h };
        out.keep(PersonBox { box_px, score });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_less_likely_than_the_threshold_holds_nobody() {
        let logit = |p: f32| (p / (1.0 - p)).ln();
        for (threshold, found) in [(0.35, 3), (0.5, 1), (0.85, 0)] {
            let mut out = Candidates::up_to(4);
            let centre = [0.30, 0.36, 0.45, 0.80].map(logit);
            read_centre(&centre, &[0.5; 16], [1, 4], 16.0, threshold, &mut out);
            let mut persons = Vec::new();
            out.persons(0.5, &mut persons);
            assert_eq!(persons.len(), found, "{threshold}: {persons:?}");
        }
    }

    #[test]
    fn a_centre_cell_says_how_far_its_box_reaches() {
        let (rows, columns, stride) = (4, 6, 8.0);
        let (mut centre, mut sides) = (vec![-9.0; 24], vec![0.0; 4 * 24]);
        let cell = 2 * columns + 3;
        centre[cell] = 2.0;
        for (side, strides) in [1.0, 2.0, 0.5, 1.5].into_iter().enumerate() {
            sides[side * 24 + cell] = strides;
        }
        // Without an extent it is nobody.
        (centre[0], sides[0]) = (5.0, -1.0);
        let mut out = Candidates::up_to(2);
        read_centre(&centre, &sides, [rows, columns], stride, 0.5, &mut out);
        let [found] = out.all()[..] else { panic!("{out:?}") };
        assert!((found.score - 0.880_797).abs() < 1e-5);
        let b = found.box_px;
        for (v, expected) in [b.x, b.y, b.w, b.h].into_iter().zip([20.0, 4.0, 12.0, 28.0]) {
            assert!((v - expected).abs() < 1e-4, "{b:?}");
        }
    }

    #[test]
    fn fastestdet_cells_where_another_class_is_surer_are_no_persons() {
        let (rows, columns, classes) = (2, 2, 3);
        let mut map = vec![0.0; 8 * 4];
        for (cell, person, other) in [(0, 0.9, 0.1), (3, 0.4, 0.8)] {
            map[cell] = 1.0;
            map[5 * 4 + cell] = person;
            map[6 * 4 + cell] = other;
        }
        let mut out = Candidates::up_to(2);
        read_fastestdet(&map, [rows, columns, classes], [352, 352], 0.5, &mut out);
        let [found] = out.all()[..] else { panic!("{out:?}") };
        assert!((found.score - 0.9f32.powf(0.4)).abs() < 1e-6);
        assert_eq!(found.box_px, BoxPx { x: -88.0, y: -88.0, w: 176.0, h: 176.0 });
    }

    #[test]
    fn a_fastestdet_cell_lies_where_its_row_and_column_say_in_a_picture_that_is_not_square() {
        let (rows, columns, classes) = (2, 3, 2);
        let mut map = vec![0.0; 7 * 6];
        // The second row's second cell; half as wide as the picture, three quarters as high.
        let cell = columns + 1;
        (map[cell], map[5 * 6 + cell]) = (1.0, 1.0);
        map[4 * 6 + cell] = 3f32.ln();
        // Half a cell farther to the right, and a quarter of one up.
        (map[6 + cell], map[2 * 6 + cell]) = (0.5f32.atanh(), -0.25f32.atanh());
        let mut out = Candidates::up_to(2);
        read_fastestdet(&map, [rows, columns, classes], [300, 200], 0.5, &mut out);
        let [found] = out.all()[..] else { panic!("{out:?}") };
        let b = found.box_px;
        for (v, expected) in [b.x, b.y, b.w, b.h].into_iter().zip([75.0, 0.0, 150.0, 150.0]) {
            assert!((v - expected).abs() < 1e-3, "{b:?}");
        }
    }
}
