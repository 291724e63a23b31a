//! `posewire eval films`: the whole program on films.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use posewire::config::BUILTIN;
use posewire::progress::Progress;
use posewire::temporal::Smoother;
use posewire::track::IdentityRules;
use posewire::tracker::{Networks, temporal_model};
use posewire::{Config, Tracker};
use posewire_lab::films::{self, Film, Labelled, Outcomes, Rendered, Row, Take};

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
    /// Frames a second of rendered films; of several each film draws one by its seed
    #[arg(long, value_name = "RATE", value_delimiter = ',', default_value = "30")]
    fps: Vec<f32>,
    /// Pictures of rendered films, WIDTHxHEIGHT; of several each film draws one
    #[arg(long, value_delimiter = ',', default_value = "640x480", value_parser = size)]
    size: Vec<[u32; 2]>,
    /// Share of a rendered film's frames that never arrive, 0 to 0.9; of several each film draws one
    #[arg(long, value_name = "SHARE", value_delimiter = ',', default_value = "0")]
    dropped: Vec<f64>,
    /// Share of rendered films that went through a film's compression: changes lag, detail pulses
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    compressed: f64,
    /// Folder of labelled films
    #[arg(long, value_name = "FOLDER")]
    films: Option<PathBuf>,
    /// Smoothers, a row each
    #[arg(long, value_delimiter = ',', default_value = "none,xl")]
    smoother: Vec<Smoother>,
    /// Keypoint networks, a row each: names or .toml files
    #[arg(long, value_delimiter = ',', default_value = "small")]
    model: Vec<String>,
    /// Weights of the smoother xl, a row each: builtin or a manifest (.toml)
    #[arg(long, value_name = "FILE", value_delimiter = ',', default_value = "builtin")]
    temporal: Vec<String>,
    /// Rules of identity other than the program's, a row each: newcomer_score=0.5,sure_score=0.8
    #[arg(long, value_name = "NAME=VALUE,...")]
    rules: Vec<String>,
    /// File for all figures (JSON)
    #[arg(long)]
    json: Option<PathBuf>,
    /// File for what the network said of every true person beside what is true, a line each (JSON): of one setting alone
    #[arg(long, value_name = "FILE")]
    tracks: Option<PathBuf>,
}

/// One row of the table.
#[derive(Clone)]
struct Setting {
    model: String,
    smoother: Smoother,
    weights: String,
    rules: String,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.rendered == 0 && args.films.is_none() {
        bail!("nothing to measure: --rendered 20, --films FOLDER, or both");
    }
    if !(0.1..=600.0).contains(&args.seconds) {
        bail!("--seconds {}: 0.1 to 600 can be rendered", args.seconds);
    }
    if let Some(share) = args.dropped.iter().find(|&&d| !(0.0..=0.9).contains(&d)) {
        bail!("--dropped {share}: 0 to 0.9 of the frames can be left out");
    }
    if !(0.0..=1.0).contains(&args.compressed) {
        bail!("--compressed {}: 0 to 1 of the films can be", args.compressed);
    }
    let settings = settings(&args);
    if args.tracks.is_some() && settings.len() > 1 {
        bail!(
            "--tracks: one model, one smoother and one set of rules, not {}; errors: --smoother none",
            settings.len()
        );
    }
    let mut tracks = match &args.tracks {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Some(BufWriter::new(file))
        }
        None => None,
    };
    let labels = args.films.as_deref().map(films::labelled).transpose()?.unwrap_or_default();
    let mut sets: Vec<(String, Vec<Row>)> = Vec::new();
    // Of each set what the first setting gave, for the others to be compared with.
    let mut firsts: Vec<Outcomes> = Vec::new();
    for setting in &settings {
        let name = setting.to_string();
        let mut tracker = setting.tracker()?;
        let progress = Progress::start(name.clone());
        let mut measure = |set: String, films: &mut dyn Iterator<Item = anyhow::Result<Box<dyn Film>>>| {
            let (mut outcomes, mut smooth_truth) = (Vec::new(), 0.0);
            for film in films {
                let mut film = film?;
                progress.at(format_args!("{name}: {} films, now {}", outcomes.len(), film.name()));
                smooth_truth = film.smooth_truth();
                let outcome = films::run(&mut *film, &mut tracker)?;
                if let Some(file) = &mut tracks {
                    for track in outcome.tracks() {
                        writeln!(file, "{}", serde_json::to_string(track)?)
                            .context("cannot write the tracks")?;
                    }
                    // A run that is stopped leaves whole films.
                    file.flush().context("cannot write the tracks")?;
                }
                outcomes.push(outcome);
            }
            let outcomes = Outcomes::of(outcomes);
            match sets.iter().position(|(known, _)| *known == set) {
                Some(at) => sets[at].1.push(Row::of(&name, &outcomes, Some(&firsts[at]), smooth_truth)),
                None => {
                    sets.push((set, vec![Row::of(&name, &outcomes, None, smooth_truth)]));
                    firsts.push(outcomes);
                }
            }
            anyhow::Ok(())
        };
        if args.rendered > 0 {
            let mut films = (args.seed..args.seed + args.rendered).map(|seed| {
                let take =
                    Take::drawn(seed, args.seconds, &args.fps, &args.size, &args.dropped, args.compressed);
                Ok(Box::new(Rendered::new(take)?) as Box<dyn Film>)
            });
            measure("rendered".into(), &mut films)?;
        }
        if let Some(folder) = &args.films {
            let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            let mut films = labels.iter().map(|path| Ok(Box::new(Labelled::open(path)?) as Box<dyn Film>));
            measure(name, &mut films)?;
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

/// Every combination; weights only where the smoother has some.
fn settings(args: &Args) -> Vec<Setting> {
    let none = [String::new()];
    let every_rules = if args.rules.is_empty() { &none[..] } else { &args.rules[..] };
    let mut settings = Vec::new();
    for model in &args.model {
        for &smoother in &args.smoother {
            let all = if smoother == Smoother::Xl { &args.temporal[..] } else { &args.temporal[..1] };
            for weights in all {
                for rules in every_rules {
                    let [model, weights, rules] = [model, weights, rules].map(String::clone);
                    settings.push(Setting { model, smoother, weights, rules });
                }
            }
        }
    }
    settings
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.model, self.smoother)?;
        if self.smoother == Smoother::Xl && self.weights != BUILTIN {
            write!(f, " of {}", self.weights)?;
        }
        if self.rules.is_empty() { Ok(()) } else { write!(f, ", {}", self.rules) }
    }
}

impl Setting {
    fn tracker(&self) -> anyhow::Result<Tracker> {
        let mut config = Config::default();
        config.models.keypoints = self.model.as_str().into();
        config.models.temporal = self.weights.as_str().into();
        config.temporal.smoother = self.smoother;
        if self.rules.is_empty() { Ok(Tracker::new(&config)?) } else { with_rules(&config, &self.rules) }
    }
}

/// WIDTHxHEIGHT in pixels.
fn size(said: &str) -> Result<[u32; 2], String> {
    let sides = said.split_once('x').and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    sides.ok_or_else(|| format!("'{said}' is no WIDTHxHEIGHT, such as 320x240"))
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
