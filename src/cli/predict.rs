//! `posewire predict`: joints of labelled pictures, by the same crops and decoders as `run`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use log::warn;
use pose::{BoxPx, Keypoints, MAX_PERSONS};
use posewire::capture::replay::folder::Folder;
use posewire::capture::clip::Clip;
use posewire::capture::CaptureError;
use posewire::picture::{Decoder, Frame, Picture};
use posewire::config::{self, BUILTIN, NONE};
use posewire::coco::{GroundTruth, Image, LabelsError, Prediction};
use posewire::files::Replacement;
use posewire::keypoints::{KeypointNet, PersonFinder};
use posewire::tracker::Networks;

use super::Usage;

/// A joint below this does not say where a person is.
const SURE: f32 = 0.2;

/// Estimate poses in pictures and write COCO keypoint results
///
/// The same crops, networks and decoders as in `run`. Pictures may be PNG, JPEG, BMP or WebP, in colour or grey, of 8 or
/// 16 bits a channel; one that cannot be read is left out and counted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  posewire predict --images val2017 --coco person_keypoints_val2017.json --out results.json
  posewire eval images --coco person_keypoints_val2017.json --results results.json")]
pub struct Args {
    /// Folder of the pictures
    #[arg(long, value_name = "DIR")]
    images: PathBuf,
    /// Which pictures, and their persons: COCO keypoints JSON
    #[arg(long, value_name = "FILE")]
    coco: PathBuf,
    /// Only the pictures of this split
    #[arg(long)]
    split: Option<String>,
    /// Where persons are: labelled boxes, boxes round the labelled joints, or found
    #[arg(long, value_enum, default_value_t = Boxes::Given)]
    boxes: Boxes,
    /// Keypoint network: a name that `posewire models` lists, or a manifest
    #[arg(long, default_value = BUILTIN, value_name = "MODEL")]
    model: String,
    /// Person finder for `--boxes find`: builtin, or a manifest
    #[arg(long, default_value = BUILTIN, value_name = "MANIFEST")]
    finder: String,
    /// Where to write the results
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Boxes {
    /// The labels' boxes.
    Given,
    /// Boxes round the labelled joints.
    Joints,
    /// The person finder's; each person is looked at twice, as a tracked one is.
    Find,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let out = super::output_file(&args.out, Some(&args.coco))?;
    super::keep_input(&args.images, &args.out)?;
    let models = config::Models {
        keypoints: args.model.clone(),
        finder: if args.boxes == Boxes::Find { args.finder.clone() } else { NONE.into() },
        ..config::Models::default()
    };
    posewire::models::check_names(&models).map_err(|e| Usage(e.to_string()))?;
    let truth = match GroundTruth::read(&args.coco, args.split.as_deref()) {
        Err(error @ LabelsError::Empty { .. }) => return Err(Usage(error.to_string()).into()),
        read => read?,
    };
    let Networks { keypoints: mut net, mut finder, .. } = Networks::load(&models, None)?;
    if args.boxes == Boxes::Find && finder.is_none() {
        return Err(Usage("--boxes find needs a person finder: leave --finder out or name a manifest".into()).into());
    }
    let mut decoder = Decoder::new()?;
    let mut results = Vec::new();
    let (mut unread, mut without_extent) = (0, 0);
    for image in &truth.images {
        let frame = match read_picture(&args.images.join(&image.file_name)) {
            Ok(frame) => frame,
            Err(error) => {
                warn!("{error}; left out");
                unread += 1;
                continue;
            }
        };
        let picture = match decoder.decode(&frame, 1) {
            Ok(picture) => picture,
            Err(error) => {
                warn!("{}: {error}; left out", image.file_name);
                unread += 1;
                continue;
            }
        };
        match &mut finder {
            Some(finder) => results.extend(found(&mut net, finder, &picture, image.id)?),
            None => without_extent += given(&mut net, &picture, &truth, image, args.boxes, &mut results)?,
        }
    }
    if !truth.images.is_empty() && unread == truth.images.len() {
        anyhow::bail!(
            "none of the {unread} pictures that {} names can be read from {}",
            args.coco.display(),
            args.images.display()
        );
    }
    write(out, &results).with_context(|| format!("cannot write {}", args.out.display()))?;
    eprintln!(
        "{} persons in {} pictures; left out: {unread} pictures that cannot be read, {without_extent} boxes without extent",
        results.len(),
        truth.images.len() - unread
    );
    Ok(ExitCode::SUCCESS)
}

fn read_picture(path: &Path) -> Result<Frame, CaptureError> {
    Folder::of_one(path).next()
}

/// Appends the persons whose boxes the labels give; gives the number of boxes without extent.
fn given(
    net: &mut KeypointNet,
    picture: &Picture<'_>,
    truth: &GroundTruth,
    image: &Image,
    boxes: Boxes,
    results: &mut Vec<Prediction>,
) -> anyhow::Result<usize> {
    let persons = truth.annotations.iter().filter(|a| a.image_id == image.id && a.iscrowd == 0);
    let persons: Vec<(u64, BoxPx)> = persons
        .filter_map(|a| {
            let b = if boxes == Boxes::Joints { a.joints_box_px() } else { Some(a.box_px()) };
            Some((a.id, b?))
        })
        .collect();
    let (usable, empty): (Vec<_>, Vec<_>) = persons.into_iter().partition(|(_, b)| b.w > 0.0 || b.h > 0.0);
    for group in usable.chunks(MAX_PERSONS) {
        let boxes: Vec<BoxPx> = group.iter().map(|(_, b)| *b).collect();
        let mut out = [Keypoints::default(); MAX_PERSONS];
        net.estimate(picture, &boxes, &mut out)?;
        results.extend(group.iter().zip(&out).map(|((id, _), k)| Prediction::new(image.id, Some(*id), k)));
    }
    Ok(empty.len())
}

fn found(
    net: &mut KeypointNet,
    finder: &mut PersonFinder,
    picture: &Picture<'_>,
    image_id: u64,
) -> anyhow::Result<Vec<Prediction>> {
    let mut persons = Vec::new();
    finder.find(picture, &mut persons)?;
    let mut results = Vec::new();
    for group in persons.chunks(MAX_PERSONS) {
        let mut boxes: Vec<BoxPx> = group.iter().map(|p| p.box_px).collect();
        let mut out = [Keypoints::default(); MAX_PERSONS];
        net.estimate(picture, &boxes, &mut out)?;
        // From the second frame on, `run` crops round the joints; so does the second look.
        for (b, k) in boxes.iter_mut().zip(&out) {
            *b = k.bounds(SURE).filter(|b| b.w > 0.0 && b.h > 0.0).unwrap_or(*b);
        }
        net.estimate(picture, &boxes, &mut out)?;
        results.extend(group.iter().zip(&out).map(|(person, k)| Prediction {
            score: f64::from(person.score * k.score),
            ..Prediction::new(image_id, None, k)
        }));
    }
    Ok(results)
}

fn write(out: Replacement, results: &[Prediction]) -> anyhow::Result<()> {
    let mut file = BufWriter::new(out);
    serde_json::to_writer(&mut file, results)?;
    file.flush()?;
    file.get_mut().commit()?;
    Ok(())
}
