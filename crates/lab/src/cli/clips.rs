//! `posewire eval clips`: temporal models on clips.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use posewire::progress::{Progress, say};
use posewire_lab::clips::{self, ClipSet};

use super::shown::show;

/// Accuracy, jitter and lag of every smoother on clips
///
/// Each filter's setting is chosen on the train clips, for every budget of added lag, and reported on the val clips.
/// `python -m posetrain.temporal.clips` (models/train) writes the clip files.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Clips that settings are chosen on
    #[arg(long)]
    train: PathBuf,
    /// Clips that figures are reported on; may be given several times
    #[arg(long, required = true)]
    val: Vec<PathBuf>,
    /// Weights of the learned model; without them only the classics are compared
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Added lag allowed, frames of 30 Hz
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0])]
    lag: Vec<f64>,
    /// Print too how every setting of this family does on the train clips: what a choice is made from
    #[arg(long, value_name = "FAMILY")]
    every_setting: Option<String>,
    /// Folder for the curves (PNG) and all figures (JSON)
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let weights = args
        .weights
        .as_deref()
        .map(|path| fs::read(path).with_context(|| format!("cannot read the weights in {}", path.display())))
        .transpose()?;
    let train = ClipSet::read(&args.train)?;
    // All of what can be wrong before minutes have passed.
    let vals = args.val.iter().map(|path| ClipSet::read(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(other) = vals.iter().find(|val| val.error_model != train.error_model) {
        bail!(
            "{} and {} are of different detectors: settings of one say little of the other",
            train.name,
            other.name
        );
    }
    let families = clips::families(weights.as_deref(), train.error_model.as_deref());
    let families = families.with_context(|| match &args.weights {
        Some(path) => format!("--weights {}", path.display()),
        None => "the filters cannot be made".to_owned(),
    })?;
    if let Some(out) = &args.out {
        fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    }
    if let Some(name) = &args.every_setting {
        let names = families.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ");
        let family = families.iter().find(|f| f.name == *name);
        let family = family.with_context(|| format!("there is no filter '{name}' here: {names}"))?;
        show(clips::table(&train, &clips::every_setting(&train, family)))?;
    }
    say(format_args!(
        "choosing settings of {} filters on {}, then measuring them on {} more sets",
        families.len(),
        train.name,
        vals.len()
    ));
    let progress = Progress::start("reading");
    let done = std::cell::Cell::new(0);
    let choices = clips::choose(&train, &families, &args.lag, |family| {
        done.set(done.get() + 1);
        progress.at(format_args!("choosing settings of {family}, {} of {}", done.get(), families.len()));
    });
    drop(progress);
    for val in &vals {
        let progress = Progress::start(format!("measuring on {}", val.name));
        let rows = clips::compare(val, &choices);
        drop(progress);
        if let Some(out) = &args.out {
            clips::draw_curves(&val.name, &rows, &out.join(format!("{}.png", val.name)))?;
            let figures = out.join(format!("{}.json", val.name));
            fs::write(&figures, serde_json::to_string_pretty(&rows)?)
                .with_context(|| format!("cannot write {}", figures.display()))?;
        }
        show(clips::table(val, &rows))?;
    }
    match &args.out {
        Some(out) => say(format_args!("curves and figures are in {}", out.display())),
        None => say(format_args!("--out FOLDER keeps the figures and draws the curves")),
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_broken_set_ends_it_before_anything_is_chosen() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let frames = 0..20;
        let joints = |t: i64| (0..17).map(|j| json!([10 * j + 3 * t, 5 * j, 0.9])).collect::<Vec<_>>();
        let truth = |t: i64| (0..17).map(|j| json!([10 * j + 3 * t, 5 * j])).collect::<Vec<_>>();
        let clip = json!({
            "name": "walk",
            "captured_at_us": frames.clone().map(|t| 33_333 * t).collect::<Vec<_>>(),
            "extent_px": vec![200.0; 20],
            "observed": frames.clone().map(joints).collect::<Vec<_>>(),
            "truth": frames.map(truth).collect::<Vec<_>>(),
        });
        let set = json!({"name": "set", "smooth_truth": 0.0, "clips": [clip]});
        fs::write(path("set.json"), set.to_string()).expect("room");
        fs::write(path("broken.json"), "{").expect("room");
        let measure = |vals: &[&str]| {
            let vals = vals.iter().flat_map(|val| ["--val".to_owned(), path(val)]);
            let words = ["clips", "--train", &path("set.json"), "--lag", "0.2", "--out", &path("figures")];
            let words = words.map(str::to_owned).into_iter().chain(vals);
            run(Line::try_parse_from(words).expect("is a command line").args)
        };
        let said = measure(&["set.json", "broken.json"]).unwrap_err().to_string();
        assert!(said.contains("broken.json") && !fs::exists(path("figures")).expect("a folder"), "{said}");
        measure(&["set.json"]).expect("is measured");
        assert!(fs::exists(path("figures/set.json")).expect("a folder"));
    }
}
