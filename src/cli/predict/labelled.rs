//! Labelled pictures: COCO's keypoint results, for `posewire-lab` and for COCO's own tools.

use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use log::warn;
use pose::{BoxPx, Keypoints, MAX_PERSONS};
use posewire::capture::replay::folder::Folder;
use posewire::coco::{GroundTruth, Image, LabelsError, Prediction};
use posewire::config;
use posewire::files::Replacement;
use posewire::keypoints::{KeypointNet, check_box, person_score};
use posewire::picture::{Decoder, Picture};
use posewire::progress::{Progress, say};
use posewire::tracker::{Networks, Stills};

use super::Boxes;
use crate::cli::{self, Usage, signals};

/// What `--coco` asks for.
pub struct Labelled {
    pub images: PathBuf,
    pub coco: PathBuf,
    pub split: Option<String>,
    pub boxes: Boxes,
    pub out: PathBuf,
    pub models: config::Models,
}

enum Looker {
    At(Box<KeypointNet>),
    For(Box<Stills>),
}

pub fn run(args: &Labelled) -> anyhow::Result<ExitCode> {
    let out = cli::output_file(&args.out, Some(&args.coco))?;
    cli::keep_input(&args.images, &args.out)?;
    posewire::models::check_names(&args.models).map_err(|e| Usage(format!("{e:#}")))?;
    let truth = match GroundTruth::read(&args.coco, args.split.as_deref()) {
        Err(error @ LabelsError::Empty { .. }) => return Err(Usage(error.to_string()).into()),
        read => read?,
    };
    let networks = Networks::load(&args.models)?;
    let mut looker = match args.boxes {
        Boxes::Find if networks.finder.is_none() => {
            return Err(Usage(
                "--boxes find needs a person finder: leave --finder out or name a manifest".into(),
            )
            .into());
        }
        Boxes::Find => Looker::For(Box::new(Stills::of_networks(networks))),
        Boxes::Given | Boxes::Joints => Looker::At(Box::new(networks.keypoints)),
    };
    let is_over = Arc::new(AtomicBool::new(false));
    signals::listen(&is_over).context("cannot listen for signals")?;
    let mut decoder = Decoder::new()?;
    let mut results = Vec::new();
    let (mut unread, mut unusable) = (0, 0);
    let progress = Progress::start("loading");
    for (i, image) in truth.images.iter().enumerate() {
        progress.at(format_args!("pictures: {i} of {}", truth.images.len()));
        if is_over.load(Ordering::Relaxed) {
            drop(progress);
            let beside = fill(out, &results).and_then(|out| Ok(out.keep()?)).context("cannot write")?;
            let (all, beside) = (truth.images.len(), beside.display());
            anyhow::bail!("ended after {i} of {all} pictures; their results are in {beside}");
        }
        // As it is stored: labels do not know of EXIF.
        let frame = match Folder::stored_picture(&args.images.join(&image.file_name)) {
            Ok(frame) => frame,
            Err(error) => {
                warn!("{error:#}; left out");
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
        match &mut looker {
            Looker::For(stills) => results.extend(found(stills, &picture, image.id)?),
            Looker::At(net) => {
                unusable += given(net, &picture, &truth, image, args.boxes, &mut results)?;
            }
        }
    }
    drop(progress);
    if !truth.images.is_empty() && unread == truth.images.len() {
        anyhow::bail!(
            "none of the {unread} pictures that {} names can be read from {}",
            args.coco.display(),
            args.images.display()
        );
    }
    fill(out, &results)
        .and_then(|mut out| Ok(out.commit()?))
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    say(format_args!(
        "{} persons in {} pictures; left out: {unread} pictures that cannot be read, {unusable} boxes that no network can look at",
        results.len(),
        truth.images.len() - unread
    ));
    say(format_args!(
        "measure them: posewire eval images --coco {} --results {}",
        cli::quoted(&args.coco),
        cli::quoted(&args.out)
    ));
    if unread > 0 {
        anyhow::bail!("{unread} of {} pictures failed", truth.images.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// Appends the persons whose boxes the labels give; gives the number of boxes that no network can look at.
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
    let all = persons.len();
    let is_usable = |(id, b): &(u64, BoxPx)| {
        let checked = check_box(b);
        // The box of no joints, or of one, is no fault of the labels.
        if let Err(error) = &checked
            && (b.w != 0.0 || b.h != 0.0)
        {
            warn!("{}: annotation {id}: {error}; left out", image.file_name);
        }
        checked.is_ok()
    };
    let usable: Vec<_> = persons.into_iter().filter(is_usable).collect();
    for group in usable.chunks(MAX_PERSONS) {
        let boxes: Vec<BoxPx> = group.iter().map(|(_, b)| *b).collect();
        let mut out = [Keypoints::default(); MAX_PERSONS];
        net.estimate(picture, &boxes, &mut out)?;
        results.extend(
            group.iter().zip(&out).map(|((id, _), k)| Prediction::new(image.id, Some(*id), &ranked(k))),
        );
    }
    Ok(all - usable.len())
}

/// With the score that COCO's precision ranks by: somebody is there, and their joints are right.
fn ranked(k: &Keypoints) -> Keypoints {
    Keypoints { joints: k.joints, score: (k.score * person_score(&k.joints)).sqrt() }
}

fn found(stills: &mut Stills, picture: &Picture<'_>, image_id: u64) -> anyhow::Result<Vec<Prediction>> {
    let result = |(person, k): (pose::PersonBox, Keypoints)| {
        let k = ranked(&k);
        Prediction { score: f64::from(person.score * k.score), ..Prediction::new(image_id, None, &k) }
    };
    Ok(stills.looks(picture)?.into_iter().map(result).collect())
}

fn fill(out: Replacement, results: &[Prediction]) -> anyhow::Result<Replacement> {
    let mut file = BufWriter::new(out);
    serde_json::to_writer(&mut file, results)?;
    Ok(file.into_inner().map_err(|failed| failed.into_error())?)
}
