//! `posewire predict`: joints of single pictures, by the same crops and decoders as `run`. `posewire photo.jpg` is short
//! for it.

mod labelled;
mod photos;

use std::path::PathBuf;
use std::process::ExitCode;

use posewire::config::{self, BUILTIN, NONE};
use posewire::output::display::DisplayStyle;
use posewire::output::jsonl::Format;

use super::Usage;

pub use photos::names_pictures;

/// Estimate poses in single pictures: draw them and print them, or write COCO keypoint results
///
/// The same crops, networks and decoders as in `run`, without a memory from one picture to the next. Pictures may be JPEG,
/// PNG, WebP, GIF or BMP, in colour or grey, of 8 or 16 bits a channel.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Photos: each gets a line of JSON on the standard output, and is drawn upright, as NAME.poses.jpg (or .png), in the folder
that --out names; one photo alone, without --out, in the working directory. A photo that cannot be read is told of, the
others go on, and the exit status is 1. `posewire photo.jpg` is short for `posewire predict photo.jpg`.

Labelled pictures, with --coco: COCO keypoint results of the pictures that the labels name, as they are stored. One that
cannot be read is told of and left out, and the exit status is 1. Ctrl-C leaves what there is beside --out, as .part.

Examples:
  posewire photo.jpg
  posewire holiday/ --out drawn > poses.jsonl
  posewire holiday/ --jsonl-format csv > poses.csv
  posewire photo.jpg --display-style volumetric
  posewire predict --images val2017 --coco person_keypoints_val2017.json --out results.json
  posewire eval images --coco person_keypoints_val2017.json --results results.json")]
pub struct Args {
    /// Photos, and folders of photos
    #[arg(value_name = "PHOTO|FOLDER", required_unless_present = "images")]
    photos: Vec<PathBuf>,
    /// Folder of the pictures
    #[arg(long, value_name = "DIR", conflicts_with = "photos")]
    images: Option<PathBuf>,
    /// Which pictures of --images, and their persons: COCO keypoints JSON
    #[arg(long, value_name = "FILE", requires_all = ["images", "out"])]
    coco: Option<PathBuf>,
    /// Only the pictures of this split
    #[arg(long, requires = "coco")]
    split: Option<String>,
    /// Where persons are: labelled boxes (unless said otherwise), boxes round the labelled joints, or found
    #[arg(long, value_enum, requires = "coco")]
    boxes: Option<Boxes>,
    /// Keypoint network: a name that `posewire models` lists, or a manifest
    #[arg(long, default_value = BUILTIN, value_name = "MODEL")]
    model: String,
    /// Person finder: builtin, a manifest, or none: one person who fills the photo needs no finding; of labelled pictures with --boxes find
    /// alone [default: builtin]
    #[arg(long, value_name = "MANIFEST")]
    finder: Option<String>,
    /// How photos are written: full, named, coco, flat or csv
    #[arg(long, value_name = "FORMAT", default_value_t, conflicts_with = "coco")]
    jsonl_format: Format,
    /// How persons are drawn: skeleton, planar (shaded limbs) or volumetric (a body in 3D)
    #[arg(long, value_name = "STYLE", default_value_t, conflicts_with = "coco")]
    display_style: DisplayStyle,
    /// Folder of the drawn photos, made where it is missing; with --coco, the file of results
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
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
    let named_finder = args.finder.is_some();
    let finder = args.finder.unwrap_or_else(|| BUILTIN.into());
    let models = config::Models { keypoints: args.model, finder, ..config::Models::default() };
    match (args.images, args.coco, args.out) {
        (Some(images), Some(coco), Some(out)) => {
            let boxes = args.boxes.unwrap_or(Boxes::Given);
            if named_finder && boxes != Boxes::Find {
                let said = "--finder: the labels say where persons are, so that none are looked for: say --boxes find, or leave \
                            --finder out";
                return Err(Usage(said.into()).into());
            }
            let finder = if boxes == Boxes::Find { models.finder } else { NONE.into() };
            let models = config::Models { finder, ..models };
            labelled::run(&labelled::Labelled { images, coco, split: args.split, boxes, out, models })
        }
        (images, _, out) => {
            let named: Vec<PathBuf> = images.into_iter().chain(args.photos).collect();
            posewire::models::check_names(&models).map_err(|e| Usage(format!("{e:#}")))?;
            photos::run(&named, out.as_deref(), args.jsonl_format, args.display_style, &models)
        }
    }
}
