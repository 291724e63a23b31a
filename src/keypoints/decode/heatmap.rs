//! Heat maps: one map a joint, the peak is the joint.

use pose::{JOINTS, Keypoint};

use super::{Fits, Outputs};
use crate::infer::{Activation, HeatmapSpec, InferError, Origin, Refine};
use maps::{Hits, peak};
use math::{exp_nonpositive, logistic};

/// Keeps the log-odds within about ±9.2, so that a saturated map makes no score of exactly 0 or 1; the training's
/// codec clamps alike.
const MASS_MIN: f32 = 1e-4;

#[derive(Debug)]
pub(super) struct Heatmap {
    pub output: String,
    pub rows: usize,
    pub columns: usize,
    pub stride: f32,
    pub activation: Activation,
    pub refine: Refine,
    /// Where the place is that of most expected hits, [`Refine::Hits`].
    pub hits: Option<Box<Hits>>,
    pub window: usize,
    pub origin: Origin,
    pub fit: Fits,
}

impl Heatmap {
    /// By `spec`, if the output has the input's size over the stride.
    ///
    /// # Errors
    /// [`InferError::Model`] naming the output.
    pub fn new(spec: &HeatmapSpec, outputs: &Outputs<'_>) -> Result<Self, InferError> {
        let HeatmapSpec {
            output,
            stride,
            activation,
            refine,
            windows,
            window,
            origin,
            score,
            sigma,
            flip_test: _,
            presence: _,
        } = spec;
        let [columns, rows] = outputs.net_size().map(|s| (s as f32 / stride).round() as usize);
        let shape = outputs.shape(output)?;
        if shape != [JOINTS, rows, columns] {
            let wanted = format!("[{JOINTS}, {rows}, {columns}] (the input over stride {stride})");
            return Err(outputs.unfit(output, shape, &wanted));
        }
        Ok(Self {
            output: output.clone(),
            rows,
            columns,
            stride: *stride,
            activation: *activation,
            refine: *refine,
            hits: (*refine == Refine::Hits).then(|| Box::new(Hits::new(rows, columns, windows))),
            window: *window,
            origin: *origin,
            fit: Fits::new(score.as_ref(), sigma.as_ref()),
        })
    }

    /// `maps`: `[17, rows, columns]`; joints come in net pixels, a joint without a peak keeps score 0.
    pub fn decode(&mut self, maps: &[f32], joints: &mut [Keypoint; JOINTS]) {
        for (j, map) in maps.chunks_exact(self.rows * self.columns).take(JOINTS).enumerate() {
            let Some((at, top)) = peak(map) else { continue };
            if let Some(hits) = &mut self.hits {
                let place = hits.find(map, at, top);
                let feature = log_odds(hits.mass(place.row, place.column, self.window));
                let (score, sigma_px) = self.fit.apply(j, feature, true);
                let [x_px, y_px] = [place.x, place.y].map(|cell| self.net_px(cell));
                joints[j] = Keypoint { x_px, y_px, score, sigma_px };
                continue;
            }
            let (row, column) = (at / self.columns, at % self.columns);
            let around = Window::new(self, row, column);
            let (x, y) = if self.refine == Refine::Quarter {
                self.quarter(map, row, column)
            } else {
                self.expectation(map, &around, top)
            };
            let (feature, is_log_odds) = match self.activation {
                Activation::Softmax => (log_odds(mass(map, &around, self.columns, top)), true),
                Activation::Sigmoid => (logistic(top), false),
                Activation::None => (top, false),
            };
            let (score, sigma_px) = self.fit.apply(j, feature, is_log_odds);
            joints[j] = Keypoint { x_px: self.net_px(x), y_px: self.net_px(y), score, sigma_px };
        }
    }

    fn net_px(&self, cell: f32) -> f32 {
        match self.origin {
            Origin::CellCentre => (cell + 0.5) * self.stride,
            Origin::FirstPixel => cell * self.stride + 0.5,
        }
    }

    /// The mean cell of the window, column and row.
    fn expectation(&self, map: &[f32], w: &Window, top: f32) -> (f32, f32) {
        let (mut sum, mut x, mut y) = (0.0, 0.0, 0.0);
        for row in w.top..w.bottom {
            for column in w.left..w.right {
                let value = map[row * self.columns + column];
                let p = match self.activation {
                    Activation::Softmax => exp_nonpositive(value - top),
                    Activation::Sigmoid => logistic(value),
                    Activation::None => value.max(0.0),
                };
                sum += p;
                x += p * (column - w.left) as f32;
                y += p * (row - w.top) as f32;
            }
        }
        if sum > 0.0 {
            (w.left as f32 + x / sum, w.top as f32 + y / sum)
        } else {
            (w.column as f32, w.row as f32)
        }
    }

    fn quarter(&self, map: &[f32], row: usize, column: usize) -> (f32, f32) {
        let at = |row: usize, column: usize| map[row * self.columns + column];
        let towards = |before: f32, after: f32| match after.partial_cmp(&before) {
            Some(std::cmp::Ordering::Greater) => 0.25,
            Some(std::cmp::Ordering::Less) => -0.25,
            _ => 0.0,
        };
        let (mut x, mut y) = (column as f32, row as f32);
        if column > 0 && column + 1 < self.columns {
            x += towards(at(row, column - 1), at(row, column + 1));
        }
        if row > 0 && row + 1 < self.rows {
            y += towards(at(row - 1, column), at(row + 1, column));
        }
        (x, y)
    }
}

/// The cells round a peak, cut at the map's edge.
struct Window {
    row: usize,
    column: usize,
    top: usize,
    bottom: usize,
    left: usize,
    right: usize,
}

impl Window {
    fn new(map: &Heatmap, row: usize, column: usize) -> Self {
        let half = map.window / 2;
        Self {
            row,
            column,
            top: row.saturating_sub(half),
            bottom: (row + half + 1).min(map.rows),
            left: column.saturating_sub(half),
            right: (column + half + 1).min(map.columns),
        }
    }
}

/// The part of the whole map's probability that lies in the window.
fn mass(map: &[f32], w: &Window, columns: usize, top: f32) -> f32 {
    let inside: f32 = (w.top..w.bottom)
        .flat_map(|row| &map[row * columns + w.left..row * columns + w.right])
        .map(|v| exp_nonpositive(v - top))
        .sum();
    // Eight sums: vectorised, and closer to exact than one long chain.
    let mut sums = [0.0f32; 8];
    let chunks = map.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().map(|v| exp_nonpositive(v - top)).sum();
    for chunk in chunks {
        for (sum, v) in sums.iter_mut().zip(chunk) {
            *sum += exp_nonpositive(v - top);
        }
    }
    inside / (sums.iter().sum::<f32>() + rest)
}

fn log_odds(mass: f32) -> f32 {
    let m = mass.clamp(MASS_MIN, 1.0 - MASS_MIN);
    (m / (1.0 - m)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{Codec, Manifest, OutputInfo};

    fn codec(activation: Activation, refine: Refine) -> Heatmap {
        Heatmap {
            output: "heatmaps".into(),
            rows: 12,
            columns: 10,
            stride: 4.0,
            activation,
            refine,
            hits: None,
            window: 5,
            origin: Origin::CellCentre,
            fit: Fits::new(None, None),
        }
    }

    fn gaussian(cx: f32, cy: f32, value: impl Fn(f32) -> f32) -> Vec<f32> {
        let one: Vec<f32> = (0..12 * 10)
            .map(|i| {
                let (dx, dy) = ((i % 10) as f32 - cx, (i / 10) as f32 - cy);
                value(-(dx * dx + dy * dy) / 2.0)
            })
            .collect();
        one.repeat(JOINTS)
    }

    #[test]
    fn a_softmax_peak_lies_between_cells_and_is_sure_of_itself() {
        let mut joints = [Keypoint::default(); JOINTS];
        codec(Activation::Softmax, Refine::Expectation).decode(&gaussian(4.3, 6.0, |g| g), &mut joints);
        for k in joints {
            assert!((k.x_px - (4.3 + 0.5) * 4.0).abs() < 0.15 && (k.y_px - 26.0).abs() < 1e-3, "{k:?}");
            assert!(k.score > 0.9, "{k:?}");
        }
    }

    #[test]
    fn of_two_places_as_likely_neither_is_sure_wherever_in_the_map_the_other_is() {
        let one = Heatmap { rows: 11, ..codec(Activation::Softmax, Refine::Expectation) };
        let around = Window::new(&one, 2, 2);
        for other in [7, 60, 105, 109] {
            let mut map = [-20.0; 110];
            (map[22], map[other]) = (0.0, 0.0);
            let mass = mass(&map, &around, 10, 0.0);
            assert!((mass - 0.5).abs() < 1e-3, "{mass} with another at {other}");
        }
    }

    #[test]
    fn a_flat_map_is_not_believed() {
        let mut joints = [Keypoint::default(); JOINTS];
        codec(Activation::Softmax, Refine::Expectation).decode(&gaussian(0.0, 0.0, |_| 1.0), &mut joints);
        assert!(joints.iter().all(|k| k.score < 0.1), "{joints:?}");
    }

    #[test]
    fn a_plain_map_gives_its_peak_and_moves_a_quarter_cell() {
        let mut joints = [Keypoint::default(); JOINTS];
        codec(Activation::None, Refine::Quarter).decode(&gaussian(4.3, 6.0, |g| 0.8 * g.exp()), &mut joints);
        let k = joints[5];
        assert_eq!((k.x_px, k.y_px), (4.75 * 4.0, 6.5 * 4.0));
        assert!((k.score - 0.8 * (-0.045f32).exp()).abs() < 1e-3);
    }

    #[test]
    fn a_map_of_probabilities_or_of_their_logits_is_read_between_its_cells() {
        for (activation, map) in [
            (Activation::None, gaussian(4.3, 6.0, |g| g.exp() - 0.2)),
            (Activation::Sigmoid, gaussian(4.3, 6.0, |g| 4.0 + 6.0 * g)),
        ] {
            let mut joints = [Keypoint::default(); JOINTS];
            codec(activation, Refine::Expectation).decode(&map, &mut joints);
            let k = joints[0];
            assert!((k.x_px - 19.2).abs() < 0.5 && (k.y_px - 26.0).abs() < 0.05, "{activation:?}: {k:?}");
        }
    }

    #[test]
    fn a_cell_whose_first_pixel_is_meant_lies_half_a_stride_nearer_to_the_corner() {
        let map = gaussian(4.0, 6.0, |g| g);
        let (mut centres, mut firsts) = ([Keypoint::default(); JOINTS], [Keypoint::default(); JOINTS]);
        let mut codec = codec(Activation::Softmax, Refine::Expectation);
        codec.decode(&map, &mut centres);
        codec.origin = Origin::FirstPixel;
        codec.decode(&map, &mut firsts);
        for (centre, first) in centres.iter().zip(&firsts) {
            // The middle of a cell of four pixels, and the middle of its first pixel.
            assert!(
                (centre.x_px - 18.0).abs() < 1e-3 && (first.x_px - 16.5).abs() < 1e-3,
                "{centre:?} {first:?}"
            );
            assert!(
                (centre.y_px - 26.0).abs() < 1e-3 && (first.y_px - 24.5).abs() < 1e-3,
                "{centre:?} {first:?}"
            );
        }
    }

    /// Its author trains on the cell int(x / 4 + 0.5) and reads cell i as pixel 4 i.
    #[test]
    fn the_example_of_a_heat_map_network_reads_a_cell_as_the_pixel_that_it_was_trained_for() {
        let text = include_str!("../../../models/examples/ultralight-simplepose.toml");
        let manifest = Manifest::parse(text, "ultralight-simplepose.toml").unwrap();
        let Codec::Heatmap(spec) = &manifest.codec else { panic!("{:?}", manifest.codec) };
        let output = OutputInfo { name: spec.output.clone(), shape: vec![JOINTS, 64, 48] };
        let outputs = Outputs { manifest: &manifest, all: &[output] };
        let mut map = [0.0; 64 * 48];
        map[6 * 48 + 4] = 0.9;
        let mut joints = [Keypoint::default(); JOINTS];
        Heatmap::new(spec, &outputs).unwrap().decode(&map.repeat(JOINTS), &mut joints);
        assert!(joints.iter().all(|k| (k.x_px, k.y_px) == (16.5, 24.5)), "{:?}", joints[0]);
    }

    #[test]
    fn a_map_of_logits_gives_its_peaks_probability() {
        let mut joints = [Keypoint::default(); JOINTS];
        codec(Activation::Sigmoid, Refine::Quarter).decode(&gaussian(4.0, 6.0, |g| 1.0 + g), &mut joints);
        assert!(joints.iter().all(|k| (k.score - 0.731_059).abs() < 1e-5), "{:?}", joints[0]);
    }

    #[test]
    fn a_map_without_numbers_leaves_its_joint_absent() {
        let mut joints = [Keypoint::default(); JOINTS];
        codec(Activation::Softmax, Refine::Expectation).decode(&[f32::NAN; 120 * JOINTS], &mut joints);
        assert_eq!(joints, [Keypoint::default(); JOINTS]);
    }
}
