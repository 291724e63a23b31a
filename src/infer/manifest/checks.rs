//! What a manifest must not say: values without sense, and keys of the other task. Each is refused by its name.

use super::{Activation, Codec, HeatmapSpec, InputSpec, Manifest, Origin, Refine, ScoreFit, SigmaFit, Task};
use crate::infer::WithPresence;

impl Manifest {
    pub(super) fn check(&self) -> Result<(), String> {
        check_file(&self.file, &self.sha256)?;
        if let Some(skeleton) = self.skeleton.as_deref().filter(|s| *s != "coco17") {
            return Err(format!("skeleton is {skeleton:?}: only \"coco17\" is known"));
        }
        self.input.check()?;
        self.codec.check()?;
        self.codec.check_task(self.task)?;
        self.check_keys_of_task()?;
        if let Some(roi) = &self.roi {
            positive("roi.pad", roi.pad)?;
        }
        self.with_presence.as_ref().map_or(Ok(()), check_presence)
    }

    /// A key that the other task alone reads would be ignored, and with it what its author meant.
    fn check_keys_of_task(&self) -> Result<(), String> {
        let other = match self.task {
            Task::Keypoints => Task::Person,
            Task::Person => Task::Keypoints,
        };
        for (key, task, is_given) in [
            ("roi", Task::Keypoints, self.roi.is_some()),
            ("error_model", Task::Keypoints, self.error_model.is_some()),
            ("input.letterbox", Task::Person, self.input.letterbox.is_some()),
            ("input.fill", Task::Person, self.input.fill.is_some()),
            ("with_presence", Task::Person, self.with_presence.is_some()),
        ] {
            if is_given && task == other {
                let [own, other] = [self.task, other].map(Task::word);
                return Err(format!(
                    "{key} is for task = \"{other}\", and this task is \"{own}\": leave it out"
                ));
            }
        }
        Ok(())
    }
}

impl Task {
    /// As manifests have it.
    fn word(self) -> &'static str {
        match self {
            Self::Keypoints => "keypoints",
            Self::Person => "person",
        }
    }
}

impl InputSpec {
    fn check(&self) -> Result<(), String> {
        // The upper bound is far above any network that runs in real time; it keeps a typo from asking for gigabytes.
        for (key, side) in [("input.width", self.width), ("input.height", self.height)] {
            if !(8..=2048).contains(&side) {
                return Err(format!("{key} is {side}: it must lie in 8..=2048"));
            }
        }
        let Self { range, mean, std, .. } = self;
        std.iter().try_for_each(|&std| positive("input.std", std))?;
        if range[0] == range[1] {
            return Err("input.range is empty: its two values are what pixels 0 and 255 become".into());
        }
        let ends = |channel: usize| range.map(|end| (end - mean[channel]) / std[channel]);
        if !(range[1] - range[0]).is_finite() || !(0..3).flat_map(ends).all(f32::is_finite) {
            return Err("input.range, mean and std make pixels that are beyond f32".into());
        }
        Ok(())
    }
}

impl Codec {
    fn check(&self) -> Result<(), String> {
        match self {
            Codec::Heatmap(spec) => spec.check(),
            Codec::Simcc(spec) => {
                positive("codec.bins_per_px", spec.bins_per_px)?;
                check_fits(spec.score.as_ref(), spec.sigma.as_ref())
            }
            Codec::Movenet(_) => Ok(()),
            Codec::Centre(spec) => {
                positive("codec.stride", spec.stride)?;
                check_boxes(spec.threshold, spec.nms_iou)
            }
            Codec::Yolo(spec) => check_boxes(spec.threshold, spec.nms_iou),
            Codec::Fastestdet(spec) => check_boxes(spec.threshold, spec.nms_iou),
        }
    }

    fn check_task(&self, task: Task) -> Result<(), String> {
        let fits = match self {
            Codec::Heatmap(_) | Codec::Simcc(_) | Codec::Movenet(_) => task == Task::Keypoints,
            Codec::Centre(_) | Codec::Fastestdet(_) => task == Task::Person,
            Codec::Yolo(_) => true,
        };
        match task {
            _ if fits => Ok(()),
            Task::Keypoints => {
                Err("task is \"keypoints\", but the codec finds boxes: use task = \"person\"".into())
            }
            Task::Person => {
                Err("task is \"person\", but the codec reads joints: use task = \"keypoints\"".into())
            }
        }
    }
}

impl HeatmapSpec {
    fn check(&self) -> Result<(), String> {
        let Self { stride, activation, refine, windows, window, origin, flip_test, score, sigma, .. } = self;
        positive("codec.stride", *stride)?;
        if *flip_test && *origin != Origin::CellCentre {
            return Err(
                "codec.flip_test needs origin = \"cell_centre\": other cells have no mirror image".into()
            );
        }
        for (key, side) in windows.iter().map(|side| ("windows", side)).chain([("window", window)]) {
            if side % 2 == 0 || *side > 31 {
                return Err(format!("codec.{key} is {side}: it must be odd and at most 31"));
            }
        }
        let counts_hits = *refine == Refine::Hits;
        if counts_hits != (1..=4).contains(&windows.len())
            || counts_hits && *activation != Activation::Softmax
        {
            return Err("codec.refine = \"hits\" and one to four codec.windows go together, with \
                        activation = \"softmax\""
                .into());
        }
        check_fits(score.as_ref(), sigma.as_ref())
    }
}

fn check_boxes(threshold: f32, nms_iou: f32) -> Result<(), String> {
    probability("codec.threshold", threshold)?;
    probability("codec.nms_iou", nms_iou)
}

fn check_fits(score: Option<&ScoreFit>, sigma: Option<&SigmaFit>) -> Result<(), String> {
    let seventeen = |key: &str, v: &[f32]| match v.len() {
        pose::JOINTS => Ok(()),
        n => Err(format!("{key} has {n} values: one a joint makes {}", pose::JOINTS)),
    };
    if let Some(s) = score {
        seventeen("codec.score.a", &s.a)?;
        seventeen("codec.score.b", &s.b)?;
    }
    if let Some(s) = sigma {
        seventeen("codec.sigma.c", &s.c)?;
        seventeen("codec.sigma.d", &s.d)?;
    }
    Ok(())
}

fn check_presence(rule: &WithPresence) -> Result<(), String> {
    probability("with_presence.threshold", rule.threshold)?;
    // At either end finds would decide alone: nobody, or everything, would be somebody.
    if !(rule.neutral > 0.0 && rule.neutral < 1.0) {
        return Err(format!(
            "with_presence.neutral is {}: it must lie between 0 and 1, as the score of a find that says nothing either way",
            rule.neutral
        ));
    }
    positive("with_presence.weight", rule.weight)
}

fn positive(key: &str, v: f32) -> Result<(), String> {
    if v.is_finite() && v > 0.0 { Ok(()) } else { Err(format!("{key} is {v}: it must be above 0")) }
}

fn probability(key: &str, v: f32) -> Result<(), String> {
    if (0.0..=1.0).contains(&v) { Ok(()) } else { Err(format!("{key} is {v}: it must lie in 0..=1")) }
}

/// Refuses a number that is none, or too large for f32, anywhere in a manifest; `key` is its place in words.
pub(super) fn check_finite(key: &str, value: &toml::Value) -> Result<(), String> {
    match value {
        toml::Value::Float(v) if !(*v as f32).is_finite() => {
            Err(format!("{key} is {v:?}: it must be a finite number"))
        }
        toml::Value::Array(values) => values.iter().try_for_each(|value| check_finite(key, value)),
        toml::Value::Table(table) => {
            table.iter().try_for_each(|(inner, value)| check_finite(&format!("{key}.{inner}"), value))
        }
        _ => Ok(()),
    }
}

/// Refuses the name and the sum of a file that no manifest can mean.
pub(crate) fn check_file(file: &str, sha256: &str) -> Result<(), String> {
    if sha256.len() != 64 || !sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!("sha256 is {sha256:?}: it must be 64 hexadecimal digits"));
    }
    if file.contains(['/', '\\']) {
        return Err(format!("file is {file:?}: it must lie beside its manifest, without a folder"));
    }
    Ok(())
}
