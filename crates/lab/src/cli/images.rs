//! `posewire eval images`: accuracy on labelled pictures.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use pose::JOINTS;
use posewire::coco::{GroundTruth, Prediction};
use posewire::progress::{Progress, say};
use posewire_lab::images;

use super::shown::show;

/// Accuracy of results on labelled pictures: OKS-AP as COCO counts it, PCK with 95 % intervals
///
/// PCK@t is the share of labelled body joints within t of the longer side of the person's labelled joints. Results come
/// from `posewire predict`, or from anything else that writes COCO keypoint results.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Labels: COCO keypoints JSON
    #[arg(long, value_name = "FILE")]
    coco: PathBuf,
    /// Results: COCO keypoint results JSON
    #[arg(long, value_name = "FILE")]
    results: PathBuf,
    /// Only the pictures of this split
    #[arg(long)]
    split: Option<String>,
    /// Where to draw the PCK curve
    #[arg(long, value_name = "FILE.png")]
    plot: Option<PathBuf>,
    /// Where to write all figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let truth = GroundTruth::read(&args.coco, args.split.as_deref())?;
    let text = files::read_text_at_most(&args.results, files::MAX_LABEL_BYTES)
        .with_context(|| format!("cannot read results from {}", args.results.display()))?;
    let results: Vec<Prediction> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a list of COCO keypoint results", args.results.display()))?;
    if let Some(at) = results.iter().position(|result| result.keypoints.len() != 3 * JOINTS) {
        let numbers = results[at].keypoints.len();
        bail!(
            "{}: result {} has {numbers} numbers as keypoints, where {} are needed: x, y and score of {JOINTS} joints",
            args.results.display(),
            at + 1,
            3 * JOINTS
        );
    }
    let all = results.len();
    let results = of_pictures(results, &truth);
    let others = all - results.len();
    if all > 0 && others == all {
        bail!(
            "{}: all {all} results are of pictures that {} does not name{}: are these the labels of the same pictures?",
            args.results.display(),
            args.coco.display(),
            args.split.as_ref().map_or_else(String::new, |split| format!(" in split {split:?}"))
        );
    }
    if others > 0 {
        say(format_args!("{others} of {all} results are of other pictures, and left out"));
    }
    let progress =
        Progress::start(format!("measuring {} results on {} pictures", results.len(), truth.images.len()));
    let accuracy = images::measure(&truth, &results);
    drop(progress);
    if let Some(path) = &args.plot {
        let name = args.results.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        images::draw_curve(&format!("PCK of {name} with 95 % interval"), &accuracy.pck.curve)
            .save(path)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.json {
        fs::write(path, serde_json::to_string_pretty(&accuracy)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    show(accuracy.to_string().trim_end())?;
    if args.json.is_none() {
        say(format_args!("--json FILE keeps all figures, --plot FILE.png draws the curve"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Results of pictures that are not measured (another split) are left out.
fn of_pictures(results: Vec<Prediction>, truth: &GroundTruth) -> Vec<Prediction> {
    let pictures: std::collections::HashSet<u64> = truth.images.iter().map(|i| i.id).collect();
    results.into_iter().filter(|r| pictures.contains(&r.image_id)).collect()
}
