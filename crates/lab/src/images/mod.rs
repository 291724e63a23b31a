//! Accuracy on labelled pictures: COCO's average precision over keypoint similarity, and the share of joints near their
//! label (PCK) with intervals.

mod ap;
mod pck;
mod plot;

use std::fmt;

pub use ap::{Precision, precision};
pub use pck::{Pck, Share, pck};
pub use plot::draw_curve;
use serde::Serialize;

use posewire::coco::{GroundTruth, Prediction};

/// Thresholds that tables show, parts of the person's extent.
pub const THRESHOLDS: [f64; 3] = [0.05, 0.1, 0.2];

/// Everything that is measured of one file of results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// Pictures that count.
    pub pictures: usize,
    /// Persons with labelled joints.
    pub persons: usize,
    /// Results that were measured.
    pub predictions: usize,
    /// COCO's measure.
    pub oks: Precision,
    /// The share of joints near their label.
    pub pck: Pck,
}

/// Measures results against labels.
pub fn measure(truth: &GroundTruth, predictions: &[Prediction]) -> Accuracy {
    Accuracy {
        pictures: truth.images.len(),
        persons: truth.annotations.iter().filter(|a| a.labelled() > 0).count(),
        predictions: predictions.len(),
        oks: precision(truth, predictions),
        pck: pck(truth, predictions),
    }
}

impl fmt::Display for Accuracy {
    /// A table for people, in Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} pictures, {} persons, {} results\n", self.pictures, self.persons, self.predictions)?;
        writeln!(f, "| measure | value | 95 % interval |")?;
        writeln!(f, "|---|---|---|")?;
        for share in &self.pck.shares {
            writeln!(
                f,
                "| PCK@{} | {:.3} | {:.3} to {:.3} |",
                share.within, share.value, share.low, share.high
            )?;
        }
        let Precision { ap, ap50, ap75, ap_medium, ap_large, ar } = self.oks;
        for (name, value) in [
            ("OKS-AP", ap),
            ("OKS-AP .50", ap50),
            ("OKS-AP .75", ap75),
            ("OKS-AP medium", ap_medium),
            ("OKS-AP large", ap_large),
            ("OKS-AR", ar),
        ] {
            match value {
                Some(value) => writeln!(f, "| {name} | {value:.3} | |")?,
                None => writeln!(f, "| {name} | no such person | |")?,
            }
        }
        Ok(())
    }
}
