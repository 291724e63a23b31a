//! `posewire eval films`: the whole program on films.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use posewire::progress::Progress;
use posewire::temporal::Smoother;
use posewire::track::IdentityRules;
use posewire::tracker::{Networks, temporal_model};
use posewire::{Config, Tracker};
use posewire_lab::films::{self, Film, Labelled, Outcomes, Rendered, Row};

/// Accuracy, ghosts, identities and motion of the whole program on films
///
/// Frames go through the tracker as on the board: crops follow their own answers. Rendered films have exact truth; a folder of
/// labelled pictures is NAME.jsonl beside NAME/ (`python -m posetrain.temporal.films` in models/train writes J-HMDB's).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rendered films; the seeds count from --seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    rendered: u64,
    /// Seed of the first rendered film
    #[arg(long, default_value_t = 1000)]
    seed: u64,
    /// Length of a rendered film, seconds
    #[arg(long, default_value_t = 10.0)]
    seconds: f32,
    /// Folder of labelled films
    #[arg(long, value_name = "FOLDER")]
    films: Option<PathBuf>,
    /// Smoothers, a row each
    #[arg(long, value_delimiter = ',', default_value = "none,xl")]
    smoother: Vec<Smoother>,
    /// Keypoint networks, a row each: names or .toml files
    #[arg(long, value_delimiter = ',', default_value = "small")]
    model: Vec<String>,
    /// Rules of identity other than the program's, a row each: newcomer_score=0.5,sure_score=0.8
    #[arg(long, value_name = "NAME=VALUE,...")]
    rules: Vec<String>,
    /// File for all figures (JSON)
    #[arg(long)]
    json: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.rendered == 0 && args.films.is_none() {
        bail!("nothing to measure: --rendered 20, --films FOLDER, or both");
    }
    if !(0.1..=600.0).contains(&args.seconds) {
        bail!("--seconds {}: 0.1 to 600 can be rendered", args.seconds);
    }
    let labels = args.films.as_deref().map(films::labelled).transpose()?.unwrap_or_default();
    let frames = (30.0 * args.seconds).round() as u64;
    let rules = if args.rules.is_empty() { vec![String::new()] } else { args.rules };
    let mut sets: Vec<(String, Vec<Row>)> = Vec::new();
    for model in &args.model {
        for &smoother in &args.smoother {
            let mut config = Config::default();
            config.models.keypoints = model.into();
            config.temporal.smoother = smoother;
            for rules in &rules {
                let mut setting = format!("{model}, {smoother}");
                let mut tracker = Tracker::new(&config)?;
                if !rules.is_empty() {
                    setting = format!("{setting}, {rules}");
                    tracker = with_rules(&config, rules)?;
                }
                let progress = Progress::start(setting.clone());
                let mut measure =
                    |name: String, films: &mut dyn Iterator<Item = anyhow::Result<Box<dyn Film>>>| {
                        let (mut outcomes, mut smooth_truth) = (Vec::new(), 0.0);
                        for film in films {
                            let mut film = film?;
                            progress.at(format_args!(
                                "{setting}: {} films, now {}",
                                outcomes.len(),
                                film.name()
                            ));
                            smooth_truth = film.smooth_truth();
                            outcomes.push(films::run(&mut *film, &mut tracker)?);
                        }
                        let row = Row::of(&setting, &Outcomes::of(outcomes), smooth_truth);
                        match sets.iter_mut().find(|(set, _)| *set == name) {
                            Some((_, rows)) => rows.push(row),
                            None => sets.push((name, vec![row])),
                        }
                        anyhow::Ok(())
                    };
                if args.rendered > 0 {
                    let mut films = (args.seed..args.seed + args.rendered)
                        .map(|seed| Ok(Box::new(Rendered::new(seed, frames)?) as Box<dyn Film>));
                    measure("rendered".into(), &mut films)?;
                }
                if let Some(folder) = &args.films {
                    let name =
                        folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
                    let mut films =
                        labels.iter().map(|path| Ok(Box::new(Labelled::open(path)?) as Box<dyn Film>));
                    measure(name, &mut films)?;
                }
            }
        }
    }
    for (name, rows) in &sets {
        println!("{}", films::table(name, rows));
    }
    match &args.json {
        Some(path) => {
            let text = serde_json::to_string_pretty(&sets)?;
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            eprintln!("all figures are in {}", path.display());
        }
        None => eprintln!("--json FILE keeps the figures"),
    }
    Ok(ExitCode::SUCCESS)
}

/// A tracker of `config` with some of its rules of identity as `said`: NAME=VALUE, separated by commas.
fn with_rules(config: &Config, said: &str) -> anyhow::Result<Tracker> {
    let networks = Networks::load(&config.models)?;
    let model = temporal_model(config, networks.error_model.as_deref())?;
    let mut rules = IdentityRules::of(networks.keypoints.tells_presence());
    for word in said.split(',').filter(|word| !word.is_empty()) {
        let (name, value) =
            word.split_once('=').with_context(|| format!("--rules {word}: NAME=VALUE is wanted"))?;
        let value: f32 = value.parse().with_context(|| format!("--rules {word}: {value} is no number"))?;
        let rule = match name {
            "min_score" => &mut rules.min_score,
            "newcomer_score" => &mut rules.newcomer_score,
            "sure_score" => &mut rules.sure_score,
            "kept_score" => &mut rules.kept_score,
            _ => bail!("--rules {word}: there are min_score, newcomer_score, sure_score and kept_score"),
        };
        *rule = value;
    }
    Ok(Tracker::of_parts(networks, rules, model)?)
}
