//! COCO's keypoint files: labels in, results out.
//!
//! Coordinates as COCO gives them: joints name a pixel by its index, so that a joint at (3, 4) lies on the centre of the
//! pixel that Posewire calls (3.5, 4.5); boxes are edges and need no shift.

use std::path::{Path, PathBuf};

use pose::{BoxPx, JOINTS, Keypoints};
use serde::{Deserialize, Serialize};

use crate::files;

/// Why labels cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LabelsError {
    /// The file cannot be read.
    #[error("cannot read labels from {}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not COCO's.
    #[error("{} is not a COCO keypoints file", path.display())]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// There is nothing to look at.
    #[error("{} names no pictures{}", path.display(), of_split.as_ref().map_or_else(String::new, |s| format!(" of split {s:?}")))]
    Empty {
        /// Which file.
        path: PathBuf,
        /// Of which split.
        of_split: Option<String>,
    },
}

/// From COCO's pixel indices to Posewire's pixels.
pub(crate) const CENTRE_PX: f32 = 0.5;

/// Labels, as far as they are read here.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct GroundTruth {
    /// The pictures.
    pub images: Vec<Image>,
    /// The persons in them.
    #[serde(default)]
    pub annotations: Vec<Annotation>,
}

/// One picture.
#[derive(Clone, Debug, Deserialize)]
pub struct Image {
    /// What annotations and results call it.
    pub id: u64,
    /// Relative to the folder of pictures.
    pub file_name: String,
    /// Which part of the data it belongs to, where a file holds several.
    #[serde(default)]
    pub split: Option<String>,
    /// The video that it is a frame of, if it is one: frames of one video are not independent of each other, and
    /// intervals draw whole videos. No field of COCO's.
    #[serde(default)]
    pub clip: Option<String>,
}

/// One labelled person.
#[derive(Clone, Debug, Deserialize)]
pub struct Annotation {
    /// Its own number.
    pub id: u64,
    /// The picture.
    pub image_id: u64,
    /// Left, top, width, height.
    pub bbox: [f64; 4],
    /// Of the person's outline, square pixels.
    #[serde(default)]
    pub area: Option<f64>,
    /// 17 x (x, y, v); v = 0 where the joint is not labelled.
    #[serde(default)]
    pub keypoints: Vec<f64>,
    /// A crowd: not a single person.
    #[serde(default)]
    pub iscrowd: u8,
}

impl Annotation {
    /// Joint `j`, COCO's coordinates; `None` where it is not labelled.
    pub fn joint(&self, j: usize) -> Option<(f64, f64)> {
        match self.keypoints.get(3 * j..3 * j + 3) {
            Some(&[x, y, v]) if v > 0.0 => Some((x, y)),
            _ => None,
        }
    }

    /// How many joints are labelled.
    pub fn labelled(&self) -> usize {
        (0..JOINTS).filter(|&j| self.joint(j).is_some()).count()
    }

    /// Square pixels; half of the box where the label has no outline.
    pub fn area(&self) -> f64 {
        self.area.unwrap_or(0.5 * self.bbox[2] * self.bbox[3])
    }

    /// Left, top, right, bottom of the labelled joints.
    pub fn joints_box(&self) -> Option<[f64; 4]> {
        let joints = (0..JOINTS).filter_map(|j| self.joint(j));
        joints.fold(None, |b: Option<[f64; 4]>, (x, y)| {
            let b = b.unwrap_or([x, y, x, y]);
            Some([b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)])
        })
    }

    /// The labelled box in Posewire's pixels.
    pub fn box_px(&self) -> BoxPx {
        let [x, y, w, h] = self.bbox.map(|v| v as f32);
        BoxPx { x, y, w, h }
    }

    /// The box of the labelled joints in Posewire's pixels.
    pub fn joints_box_px(&self) -> Option<BoxPx> {
        let [x0, y0, x1, y1] = self.joints_box()?.map(|v| v as f32 + CENTRE_PX);
        Some(BoxPx::from_corners(x0, y0, x1, y1))
    }
}

impl GroundTruth {
    /// Reads a file of labels; with `split`, only those of its pictures.
    ///
    /// # Errors
    /// [`LabelsError`]; a file without pictures is one.
    pub fn read(path: &Path, split: Option<&str>) -> Result<Self, LabelsError> {
        let text = files::read_text_at_most(path, files::MAX_LABEL_BYTES)
            .map_err(|source| LabelsError::Unreadable { path: path.into(), source })?;
        let truth =
            Self::parse(&text, split).map_err(|source| LabelsError::Wrong { path: path.into(), source })?;
        if truth.images.is_empty() {
            return Err(LabelsError::Empty { path: path.into(), of_split: split.map(str::to_owned) });
        }
        Ok(truth)
    }

    /// Reads labels; with `split`, only those of its pictures.
    ///
    /// # Errors
    /// What JSON finds wrong, with line and column.
    pub fn parse(json: &str, split: Option<&str>) -> Result<Self, serde_json::Error> {
        let mut truth: Self = serde_json::from_str(json)?;
        if let Some(split) = split {
            truth.images.retain(|i| i.split.as_deref() == Some(split));
        }
        let kept: std::collections::HashSet<u64> = truth.images.iter().map(|i| i.id).collect();
        truth.annotations.retain(|a| kept.contains(&a.image_id));
        Ok(truth)
    }
}

/// One person in a results file, as COCO's tools read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The picture.
    pub image_id: u64,
    /// 1: a person.
    pub category_id: u32,
    /// 17 x (x, y, score), COCO's coordinates.
    pub keypoints: Vec<f64>,
    /// The person's own score.
    pub score: f64,
    /// The labelled person whose box was given; COCO's tools ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation_id: Option<u64>,
}

impl Prediction {
    /// From Posewire's pixels; rounded to hundredths, which no measure can tell.
    pub fn new(image_id: u64, annotation_id: Option<u64>, k: &Keypoints) -> Self {
        let hundredths = |v: f32| (f64::from(v) * 100.0).round() / 100.0;
        let keypoints = k
            .joints
            .iter()
            .flat_map(|j| {
                let score = (f64::from(j.score) * 1e4).round() / 1e4;
                [hundredths(j.x_px - CENTRE_PX), hundredths(j.y_px - CENTRE_PX), score]
            })
            .collect();
        Self { image_id, category_id: 1, keypoints, score: f64::from(k.score), annotation_id }
    }

    /// Joint `j`, COCO's coordinates; the origin where the results hold fewer joints.
    pub fn joint(&self, j: usize) -> (f64, f64) {
        self.keypoints.get(3 * j..3 * j + 2).map_or((0.0, 0.0), |xy| (xy[0], xy[1]))
    }
}
