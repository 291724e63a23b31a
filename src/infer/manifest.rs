//! Model manifests: the contract between a network file and the code that feeds and reads it.
//!
//! A manifest is a TOML file beside an ONNX file. It says how pixels become the input tensor, how the crop is laid,
//! and how the outputs become joints or boxes; with it alone, other people's networks run as well as the built-in
//! ones. Unknown keys are refused, so that a mistyped one is never silently a default.

mod checks;
mod codec;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::InferError;
use super::presence::WithPresence;
use crate::reason::Reason;
use checks::check_finite;

pub(crate) use checks::check_file;
pub use codec::{
    Activation, CentreSpec, Codec, FastestdetSpec, HeatmapSpec, MovenetSpec, Origin, Refine, ScoreFit,
    SigmaFit, SimccSpec, YoloSpec,
};

/// A network and all that is needed to use it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What `--model` takes: `small`.
    pub name: String,
    /// What the network is for.
    pub task: Task,
    /// The ONNX file, relative to the manifest.
    pub file: String,
    /// SHA-256 of the file, 64 hexadecimal digits.
    pub sha256: String,
    /// The model's own version; a change of weights changes it.
    #[serde(default)]
    pub version: u32,
    /// The joints' order; `coco17` is the only one.
    #[serde(default)]
    pub skeleton: Option<String>,
    /// How pixels become the input tensor.
    pub input: InputSpec,
    /// How a person's box becomes a crop; only for keypoint networks, where `None` is the default.
    #[serde(default)]
    pub roi: Option<RoiSpec>,
    /// How outputs become joints or boxes.
    pub codec: Codec,
    /// How finds count where the keypoint network has a word too; only for person networks.
    #[serde(default)]
    pub with_presence: Option<WithPresence>,
    /// Which of the error models that the temporal weights know describes this network's answers; without one, or with one
    /// that they do not know, their default. Only for keypoint networks.
    #[serde(default)]
    pub error_model: Option<String>,
    /// Provenance, licence, metrics: free text and figures for people.
    #[serde(default)]
    pub card: toml::Table,
}

/// What a network is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Joints of the one person in a crop.
    Keypoints,
    /// Boxes of the persons in a picture.
    Person,
}

/// How pixels become the input tensor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputSpec {
    /// The graph input's name.
    pub name: String,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Order of the tensor's axes.
    #[serde(default)]
    pub layout: Layout,
    /// Order of the colours.
    #[serde(default)]
    pub color: Color,
    /// What pixel values 0 and 255 become before mean and std.
    #[serde(default = "unit_range")]
    pub range: [f32; 2],
    /// Taken off each colour (in `color`'s order) after `range`.
    #[serde(default)]
    pub mean: [f32; 3],
    /// Divides each colour after `mean`.
    #[serde(default = "ones")]
    pub std: [f32; 3],
    /// How a whole picture is fitted; only for person networks, where `None` is the default.
    #[serde(default)]
    pub letterbox: Option<Letterbox>,
    /// Value of pixels beside the picture; only for person networks, where `None` is 0.
    #[serde(default)]
    pub fill: Option<u8>,
}

fn unit_range() -> [f32; 2] {
    [0.0, 1.0]
}

fn ones() -> [f32; 3] {
    [1.0; 3]
}

/// Order of the input tensor's axes, batch first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Colour planes, as PyTorch exports.
    #[default]
    Nchw,
    /// Interleaved colours, as TensorFlow exports.
    Nhwc,
}

/// Order of the colours in the input tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    /// Red first.
    #[default]
    Rgb,
    /// Blue first.
    Bgr,
}

/// How a whole picture is fitted into a person network's input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Letterbox {
    /// Aspect kept, the picture in the middle.
    #[default]
    Centred,
    /// Aspect kept, the picture in the top left corner.
    TopLeft,
    /// Both axes stretched on their own until nothing is left beside the picture.
    None,
}

/// How a person's box becomes a crop.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoiSpec {
    /// The box, widened to the input's aspect, is enlarged by this factor.
    pub pad: f32,
    /// Value of pixels outside the picture.
    pub fill: u8,
}

impl Default for RoiSpec {
    /// A quarter more than the box: what top-down networks are usually trained with, and enough for one frame's motion.
    fn default() -> Self {
        Self { pad: 1.25, fill: 0 }
    }
}

impl Manifest {
    /// Reads and checks a manifest; `path` is what errors call it.
    ///
    /// # Errors
    /// [`InferError::Model`] with the line at fault, or with the key whose value makes no sense.
    pub fn parse(text: &str, path: &str) -> Result<Self, InferError> {
        let invalid =
            |e: toml::de::Error| InferError::model(path, Reason::new("the manifest is not valid", e));
        let refuse = |reason: String| InferError::model(path, reason);
        let manifest: Self = toml::from_str(text).map_err(invalid)?;
        let table: toml::Table = toml::from_str(text).map_err(invalid)?;
        table.iter().try_for_each(|(key, value)| check_finite(key, value)).map_err(refuse)?;
        manifest.check().map_err(refuse)?;
        Ok(manifest)
    }

    /// Refuses bytes that are not the ones the manifest speaks of.
    ///
    /// # Errors
    /// [`InferError::Model`] with both sums.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), InferError> {
        verify_sum(&self.file, &self.sha256, bytes)
    }

    /// How many inputs of the network one crop takes: 2 under the flip test, else 1.
    pub fn inputs_per_crop(&self) -> usize {
        if matches!(&self.codec, Codec::Heatmap(spec) if spec.flip_test) { 2 } else { 1 }
    }
}

/// Refuses bytes that are not those of the `file` whose manifest states this sum.
pub(crate) fn verify_sum(file: &str, sha256: &str, bytes: &[u8]) -> Result<(), InferError> {
    let actual = hex(&Sha256::digest(bytes));
    if actual == sha256.to_ascii_lowercase() {
        return Ok(());
    }
    let reason = format!(
        "sha256 is {actual}, the manifest says {sha256}: the file is damaged or of another version; \
         fetch it again, or write its sum into the manifest if you changed it on purpose"
    );
    Err(InferError::model(file, reason))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        name = "tiny"
        task = "keypoints"
        file = "tiny.onnx"
        sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        [input]
        name = "image"
        width = 64
        height = 64
        [codec]
        kind = "heatmap"
        output = "heatmaps"
        stride = 4
        activation = "softmax"
    "#;

    #[test]
    fn a_short_manifest_takes_its_defaults() {
        let m = Manifest::parse(GOOD, "tiny.toml").unwrap();
        assert_eq!((m.input.layout, m.input.color, m.input.range), (Layout::Nchw, Color::Rgb, [0.0, 1.0]));
        assert_eq!(m.roi.unwrap_or_default(), RoiSpec { pad: 1.25, fill: 0 });
        m.verify(b"").unwrap();
        let loud = GOOD.replace("e3b0c44298fc", "E3B0C44298FC");
        Manifest::parse(&loud, "tiny.toml").unwrap().verify(b"").unwrap();
    }

    #[test]
    fn a_second_look_in_the_mirror_takes_a_second_input() {
        let flipped = GOOD.replace("stride = 4", "stride = 4\nflip_test = true");
        let inputs = |text: &str| Manifest::parse(text, "tiny.toml").unwrap().inputs_per_crop();
        assert_eq!((inputs(GOOD), inputs(&flipped)), (1, 2));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let (ones, nan) = (format!("{:?}", [1.0; 17]), format!("[nan{}]", ", 1.0".repeat(16)));
        for (from, to, says) in [
            ("width = 64", "width = 64\nwidht = 64", "widht"),
            ("width = 64", "width = 0", "input.width is 0"),
            ("stride = 4", "stride = -4", "codec.stride is -4"),
            ("stride = 4", "stride = 4\nstrid = 5", "strid"),
            ("stride = 4", "stride = 4\nflip_test = true\norigin = \"first_pixel\"", "codec.flip_test"),
            ("stride = 4", "stride = 4\nwindow = 4", "codec.window is 4"),
            ("stride = 4", "stride = 4\nrefine = \"hits\"", "one to four codec.windows"),
            ("stride = 4", "stride = 4\nwindows = [3, 7]", "go together"),
            ("stride = 4", "stride = 4\nrefine = \"hits\"\nwindows = [3, 33]", "codec.windows is 33"),
            ("stride = 4", "stride = 4\nscore = { a = [1.0], b = [1.0] }", "codec.score.a has 1 values"),
            ("width = 64", "width = 64\nmean = [0.5, nan, 0.5]", "input.mean is NaN"),
            ("width = 64", "width = 64\nrange = [-inf, 1.0]", "input.range is -inf"),
            ("width = 64", "width = 64\nrange = [0.0, 1e300]", "input.range is 1e300"),
            ("width = 64", "width = 64\nrange = [-3e38, 3e38]", "beyond f32"),
            ("width = 64", "width = 64\nstd = [1.0, 1.0, 1e-40]", "beyond f32"),
            ("width = 64", "width = 64\nstd = [1.0, inf, 1.0]", "input.std is inf"),
            ("[codec]", "[roi]\npad = nan\n[codec]", "roi.pad is NaN"),
            (
                "[codec]",
                "[with_presence]\nthreshold = 0.2\nneutral = 0.5\nweight = 3.0\n[codec]",
                "with_presence is for task",
            ),
            ("width = 64", "width = 64\nletterbox = \"centred\"", "input.letterbox is for task = \"person\""),
            ("width = 64", "width = 64\nfill = 0", "input.fill is for task = \"person\""),
            ("stride = 4", "stride = nan", "codec.stride is NaN"),
            (
                "stride = 4",
                &format!("stride = 4\nscore = {{ a = {nan}, b = {ones} }}"),
                "codec.score.a is NaN",
            ),
            (
                "stride = 4",
                &format!("stride = 4\nsigma = {{ c = {ones}, d = {nan} }}"),
                "codec.sigma.d is NaN",
            ),
            ("[input]", "[card]\nap = nan\n[input]", "card.ap is NaN"),
            ("\"keypoints\"", "\"person\"", "codec reads joints"),
            ("\"heatmap\"", "\"heatmops\"", "heatmops"),
            ("file = \"tiny.onnx\"", "file = \"../../tiny.onnx\"", "without a folder"),
            ("sha256 = \"e3", "sha256 = \"", "64 hexadecimal digits"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let error = format!("{:#}", Manifest::parse(&GOOD.replace(from, to), "tiny.toml").unwrap_err());
            assert!(error.contains(says) && error.contains("tiny.toml"), "{to}: {error}");
        }
    }

    #[test]
    fn a_person_network_takes_no_key_of_a_keypoint_network() {
        let (head, _) = GOOD.split_once("[codec]").unwrap();
        let person = head.replace("\"keypoints\"", "\"person\"")
            + "[codec]\nkind = \"fastestdet\"\noutput = \"out\"\nthreshold = 0.5\nnms_iou = 0.5\n";
        Manifest::parse(&person.replace("height = 64", "height = 64\nletterbox = \"none\"\nfill = 9"), "p")
            .unwrap();
        for (key, line) in
            [("roi", "[roi]\npad = 1.25\n[input]"), ("error_model", "error_model = \"movenet\"\n[input]")]
        {
            let error = format!("{:#}", Manifest::parse(&person.replace("[input]", line), "p").unwrap_err());
            assert!(error.contains(&format!("{key} is for task = \"keypoints\"")), "{error}");
        }
    }

    #[test]
    fn a_find_that_says_nothing_has_a_score_between_0_and_1() {
        let (head, _) = GOOD.split_once("[codec]").unwrap();
        let person = head.replace("\"keypoints\"", "\"person\"")
            + "[codec]\nkind = \"fastestdet\"\noutput = \"out\"\nthreshold = 0.5\nnms_iou = 0.5\n";
        let with = |neutral: &str| {
            let rule = format!("[with_presence]\nthreshold = 0.2\nneutral = {neutral}\nweight = 3.0\n");
            Manifest::parse(&(person.clone() + &rule), "p").map(|_| ()).map_err(|e| format!("{e:#}"))
        };
        assert_eq!(with("0.5"), Ok(()));
        for end in ["0.0", "1.0"] {
            let error = with(end).unwrap_err();
            assert!(
                error.contains("with_presence.neutral is ") && error.contains("between 0 and 1"),
                "{error}"
            );
        }
    }

    #[test]
    fn another_file_is_refused_with_both_sums() {
        let error = format!("{:#}", Manifest::parse(GOOD, "tiny.toml").unwrap().verify(b"x").unwrap_err());
        assert!(
            error.contains("tiny.onnx") && error.contains("e3b0c442") && error.contains("2d711642"),
            "{error}"
        );
    }
}
