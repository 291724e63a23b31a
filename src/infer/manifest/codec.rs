//! The codec of a manifest: how a network's outputs become joints or boxes.

use serde::Deserialize;

/// How outputs become joints or boxes.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Codec {
    /// One map a joint, `[17, rows, columns]`; the peak is the joint.
    Heatmap(HeatmapSpec),
    /// One distribution a joint and axis: `[17, width * bins_per_px]` and `[17, height * bins_per_px]` (SimCC).
    Simcc(SimccSpec),
    /// `[1, 17, 3]` of (y, x, score), places in 0..=1 of the input (MoveNet).
    Movenet(MovenetSpec),
    /// Rows of centre, size, confidence and 17 x (x, y, score), in net pixels (YOLO-pose); for either task.
    Yolo(YoloSpec),
    /// A map of person centres and one of the distances to the box's sides (Zhou et al. 2019).
    Centre(CentreSpec),
    /// `[5 + classes, rows, columns]`: objectness, box and classes a cell; class 0 is a person (FastestDet).
    Fastestdet(FastestdetSpec),
}

/// Keys of [`Codec::Heatmap`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatmapSpec {
    /// The output's name.
    pub output: String,
    /// Net pixels from one cell to the next.
    pub stride: f32,
    /// How map values become probabilities.
    pub activation: Activation,
    /// How the place is refined below a cell.
    #[serde(default)]
    pub refine: Refine,
    /// Odd sides in cells of the squares that `refine = "hits"` counts in; needed there, and nowhere else.
    #[serde(default)]
    pub windows: Vec<usize>,
    /// Odd side of the square of cells round the peak: what `refine = "expectation"` averages over, and whose probability
    /// is the feature.
    #[serde(default = "window")]
    pub window: usize,
    /// Where cell (0, 0) lies.
    #[serde(default)]
    pub origin: Origin,
    /// Test-time flip: every crop is looked at mirrored too, and the maps are averaged, for twice the time.
    #[serde(default)]
    pub flip_test: bool,
    /// The output that tells whether the crop shows a person, `[1, rows, columns]`: the mean over its cells is the logit of the
    /// probability; without it the joints' scores have to say so.
    #[serde(default)]
    pub presence: Option<String>,
    /// Turns the feature of the peak into a probability; without it the feature is the score.
    #[serde(default)]
    pub score: Option<ScoreFit>,
    /// Turns the feature of the peak into a standard deviation; without it sigma is not known.
    #[serde(default)]
    pub sigma: Option<SigmaFit>,
}

fn window() -> usize {
    5
}

/// Keys of [`Codec::Simcc`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimccSpec {
    /// The output over x.
    pub output_x: String,
    /// The output over y.
    pub output_y: String,
    /// Bins in one net pixel.
    pub bins_per_px: f32,
    /// How bins become probabilities.
    pub activation: Activation,
    /// As for heat maps, of the less sure axis' feature.
    #[serde(default)]
    pub score: Option<ScoreFit>,
    /// As for heat maps.
    #[serde(default)]
    pub sigma: Option<SigmaFit>,
}

/// Keys of [`Codec::Movenet`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MovenetSpec {
    /// The output's name.
    pub output: String,
}

/// Keys of [`Codec::Yolo`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct YoloSpec {
    /// The output's name: `[56, candidates]`, or `[candidates, 56]`.
    pub output: String,
    /// Candidates below it are left out.
    pub threshold: f32,
    /// Of two boxes that overlap more, the weaker goes.
    pub nms_iou: f32,
}

/// Keys of [`Codec::Centre`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CentreSpec {
    /// The output of centre logits, `[1, rows, columns]`.
    pub centre: String,
    /// The output of distances from the cell's centre to the left, top, right and bottom side in strides,
    /// `[4, rows, columns]`; negative ones mean 0.
    pub r#box: String,
    /// Net pixels from one cell to the next.
    pub stride: f32,
    /// Candidates below it are left out.
    pub threshold: f32,
    /// Of two boxes that overlap more, the weaker goes.
    pub nms_iou: f32,
}

/// Keys of [`Codec::Fastestdet`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FastestdetSpec {
    /// The output's name.
    pub output: String,
    /// Candidates below it are left out.
    pub threshold: f32,
    /// Of two boxes that overlap more, the weaker goes.
    pub nms_iou: f32,
}

/// How map values become probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// Logits over the whole map; the feature is the log-odds of the mass round the peak.
    Softmax,
    /// Logits a cell; the feature is the peak's value through the logistic function.
    Sigmoid,
    /// Values near 0..=1; the feature is the peak's value.
    None,
}

/// How a place is refined below a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Refine {
    /// The mean of the cells round the peak, weighted by their probability.
    #[default]
    Expectation,
    /// Where the most of `windows`' squares hold the joint, weighted by its probability: between two likely places that are
    /// near each other. For softmax alone.
    Hits,
    /// A quarter of a cell towards the larger neighbour on each axis (Newell et al. 2016).
    Quarter,
}

/// Where cell (0, 0) of a map lies in the net's pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// At the centre of the `stride` x `stride` pixels that the cell covers: Posewire's own networks.
    #[default]
    CellCentre,
    /// At the centre of pixel (0, 0), and cell i at that of pixel i x `stride`: networks whose training targets lie in cell
    /// round(x / stride), such as SimpleBaseline, HRNet, MMPose's `MSRAHeatmap` and GluonCV's.
    FirstPixel,
}

/// `score = 1 / (1 + exp(-(a + b * feature)))`, one pair a joint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreFit {
    /// Offsets, 17.
    pub a: Vec<f32>,
    /// Slopes, 17.
    pub b: Vec<f32>,
}

/// `sigma = exp(c + d * feature)` in net pixels, one pair a joint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SigmaFit {
    /// Offsets, 17.
    pub c: Vec<f32>,
    /// Slopes, 17.
    pub d: Vec<f32>,
}
