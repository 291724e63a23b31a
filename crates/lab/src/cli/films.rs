//! `posewire eval films`: the whole program on films.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use people::motion::Motion;
use posewire::config::{BUILTIN, MaxPersons};
use posewire::progress::Progress;
use posewire::temporal::Smoother;
use posewire::track::IdentityRules;
use posewire::tracker::{Networks, temporal_model};
use posewire::{Config, Tracker};
use posewire_lab::films::{self, Answers, Film, Labelled, Outcomes, Rendered, Row, Take};

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
    /// Length of a rendered film, seconds [default: 10, with --goals 6]
    #[arg(long)]
    seconds: Option<f32>,
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
    /// Packed motion (crates/people/assets/build.py --all-motion FILE --hz 30) that people in rendered films do, seen from nearer and farther; not with --goals
    #[arg(long, value_name = "FILE", conflicts_with = "goals")]
    motion: Option<PathBuf>,
    /// Persons in a rendered film, 1 to 12; of several each film draws one [default: one to four, by the seed]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    persons: Vec<usize>,
    /// Persons followed at most, 1 to 8
    #[arg(long, value_name = "N", default_value_t = 4)]
    max_persons: usize,
    /// Folder of labelled films
    #[arg(long, value_name = "FOLDER")]
    films: Option<PathBuf>,
    /// What another program answered to these films, a line a frame (JSON; benches/other_programs.py writes MediaPipe's and MoveNet's): a
    /// row each, judged as this one's
    #[arg(long, value_name = "NAME=FILE", requires = "films", conflicts_with = "goals", value_parser = named)]
    answers: Vec<(String, PathBuf)>,
    /// Smoothers, a row each
    #[arg(long, value_delimiter = ',', default_value = "none,xl")]
    smoother: Vec<Smoother>,
    /// Keypoint networks, a row each: names or .toml files
    #[arg(long, value_delimiter = ',', default_value = "small")]
    model: Vec<String>,
    /// Person finders, a row each: builtin or a manifest (.toml)
    #[arg(long, value_name = "FILE", value_delimiter = ',', default_value = "builtin")]
    finder: Vec<String>,
    /// Weights of the learned smoother, a row each: builtin or a manifest (.toml)
    #[arg(long, value_name = "FILE", value_delimiter = ',', default_value = "builtin")]
    temporal: Vec<String>,
    /// Rules of identity other than the program's, a row each: newcomer_score=0.5,sure_score=0.8
    #[arg(long, value_name = "NAME=VALUE,...")]
    rules: Vec<String>,
    /// What the program is held to, met or missed: `none` against every other smoother, on --films, 12 rendered films or as many
    /// as --rendered says, and eight of 12 s of three persons who cross
    #[arg(long)]
    goals: bool,
    /// File for all figures (JSON)
    #[arg(long)]
    json: Option<PathBuf>,
    /// File for what the network said of every true person beside what is true, a line each (JSON): of one setting alone
    #[arg(long, value_name = "FILE")]
    tracks: Option<PathBuf>,
    /// File for boxes of every frame, true, detected and told of, a line each (JSON), for other trackers on the same detections
    #[arg(long, value_name = "FILE")]
    boxes: Option<PathBuf>,
}

/// One row of the table.
#[derive(Clone)]
struct Setting {
    model: String,
    finder: String,
    smoother: Smoother,
    weights: String,
    rules: String,
    persons: MaxPersons,
}

/// Persons, seconds and seeds of the films that show people who cross: in one alone a single person who is long hidden decides.
const CROSSING: (usize, f32, RangeInclusive<u64>) = (3, 12.0, 1..=8);

/// What the sets of films are called that are made here; a set's rows are found by its name.
const RENDERED: &str = "rendered";
const CROSS: &str = "crossing";

impl Args {
    /// Length of a rendered film.
    fn film_seconds(&self) -> f32 {
        self.seconds.unwrap_or(if self.goals { 6.0 } else { 10.0 })
    }

    /// What the set of labelled films is called: as its folder, which no set that is made here may be called.
    fn labelled_set(&self) -> anyhow::Result<Option<String>> {
        let Some(folder) = &self.films else { return Ok(None) };
        let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        if self.rendered > 0 && name == RENDERED || self.goals && name == CROSS {
            bail!(
                "--films {}: films made here are called \"{name}\" in the tables too: rename the folder",
                folder.display()
            );
        }
        Ok(Some(name))
    }
}

pub fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    if args.goals {
        args.smoother.retain(|s| *s != Smoother::None);
        args.smoother.insert(0, Smoother::None);
        if args.rendered == 0 {
            args.rendered = 12;
        }
    }
    let seconds = args.film_seconds();
    let labelled = args.labelled_set()?;
    if args.rendered == 0 && args.films.is_none() {
        bail!("nothing to measure: --rendered 20, --films FOLDER, or both");
    }
    if !(0.1..=600.0).contains(&seconds) {
        bail!("--seconds {seconds}: 0.1 to 600 can be rendered");
    }
    if let Some(share) = args.dropped.iter().find(|&&d| !(0.0..=0.9).contains(&d)) {
        bail!("--dropped {share}: 0 to 0.9 of the frames can be left out");
    }
    if !(0.0..=1.0).contains(&args.compressed) {
        bail!("--compressed {}: 0 to 1 of the films can be", args.compressed);
    }
    if args.goals && (args.model.len() > 1 || args.finder.len() > 1 || args.rules.len() > 1) {
        bail!("--goals: one model, one finder and one set of rules, so that the first row has no smoother");
    }
    let motion = match &args.motion {
        Some(path) => {
            let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
            let motion = Motion::read_file(&bytes).with_context(|| path.display().to_string())?;
            Some(Arc::new(motion))
        }
        None => None,
    };
    let settings = settings(&args)?;
    if (args.tracks.is_some() || args.boxes.is_some()) && settings.len() > 1 {
        bail!(
            "--tracks, --boxes: one model, one smoother and one set of rules, not {}; errors: --smoother none",
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
    let mut boxes = match &args.boxes {
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
    let mut held: Vec<(String, String, Vec<films::Goal>)> = Vec::new();
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
                if let Some(file) = &mut boxes {
                    for boxes in outcome.boxes() {
                        writeln!(file, "{}", serde_json::to_string(boxes)?)
                            .context("cannot write the boxes")?;
                    }
                    file.flush().context("cannot write the boxes")?;
                }
                outcomes.push(outcome);
            }
            let outcomes = Outcomes::of(outcomes);
            match sets.iter().position(|(known, _)| *known == set) {
                Some(at) => {
                    sets[at].1.push(Row::of(&name, &outcomes, Some(&firsts[at]), smooth_truth));
                    if args.goals {
                        held.push((set, name.clone(), films::goals(&outcomes, &firsts[at], smooth_truth)));
                    }
                }
                None => {
                    sets.push((set, vec![Row::of(&name, &outcomes, None, smooth_truth)]));
                    firsts.push(outcomes);
                }
            }
            anyhow::Ok(())
        };
        if args.rendered > 0 {
            let mut films = (args.seed..args.seed + args.rendered).map(|seed| {
                let take = Take::drawn(
                    seed,
                    &args.persons,
                    seconds,
                    &args.fps,
                    &args.size,
                    &args.dropped,
                    args.compressed,
                );
                Ok(Box::new(Rendered::of(take, motion.as_ref())?) as Box<dyn Film>)
            });
            measure(RENDERED.into(), &mut films)?;
        }
        if args.goals {
            let (persons, seconds, seeds) = CROSSING;
            let mut films = seeds.map(|seed| {
                let take = Take { persons, ..Take::new(seed, (30.0 * seconds) as u64) };
                Ok(Box::new(Rendered::new(take)?) as Box<dyn Film>)
            });
            measure(CROSS.into(), &mut films)?;
        }
        if let Some(name) = &labelled {
            let mut films = labels.iter().map(|path| Ok(Box::new(Labelled::open(path)?) as Box<dyn Film>));
            measure(name.clone(), &mut films)?;
        }
    }
    for (name, path) in &args.answers {
        let answers = Answers::read(path)?;
        // Labelled films were measured last.
        let ((_, rows), first) = sets.last_mut().zip(firsts.last()).context("--answers: no films")?;
        let (mut outcomes, mut smooth_truth) = (Vec::new(), 0.0);
        for labels in &labels {
            let mut film = Labelled::open(labels)?;
            smooth_truth = film.smooth_truth();
            outcomes.push(answers.judge(&mut film)?);
        }
        rows.push(Row::of(name, &Outcomes::of(outcomes), Some(first), smooth_truth));
    }
    for (name, rows) in &sets {
        println!("{}", films::table(name, rows));
    }
    for (set, setting, goals) in &held {
        println!("{}", films::goals_table(set, setting, goals));
    }
    match &args.json {
        Some(path) => {
            let text = match args.goals {
                true => serde_json::to_string_pretty(&serde_json::json!({"sets": sets, "goals": held}))?,
                false => serde_json::to_string_pretty(&sets)?,
            };
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            eprintln!("all figures are in {}", path.display());
        }
        None => eprintln!("--json FILE keeps the figures"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Every combination; weights only where the smoother has some.
fn settings(args: &Args) -> anyhow::Result<Vec<Setting>> {
    let persons = MaxPersons::new(args.max_persons);
    let persons =
        persons.with_context(|| format!("--max-persons {}: 1 to 8 can be followed", args.max_persons))?;
    let none = [String::new()];
    let every_rules = if args.rules.is_empty() { &none[..] } else { &args.rules[..] };
    let mut settings = Vec::new();
    let networks = args.model.iter().flat_map(|model| args.finder.iter().map(move |finder| (model, finder)));
    for (model, finder) in networks {
        for &smoother in &args.smoother {
            let all = if smoother.network().is_some() { &args.temporal[..] } else { &args.temporal[..1] };
            for weights in all {
                for rules in every_rules {
                    let [model, finder, weights, rules] = [model, finder, weights, rules].map(String::clone);
                    settings.push(Setting { model, finder, smoother, weights, rules, persons });
                }
            }
        }
    }
    Ok(settings)
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.model, self.smoother)?;
        if self.finder != BUILTIN {
            write!(f, ", persons by {}", self.finder)?;
        }
        if self.smoother.network().is_some() && self.weights != BUILTIN {
            write!(f, " of {}", self.weights)?;
        }
        if self.rules.is_empty() { Ok(()) } else { write!(f, ", {}", self.rules) }
    }
}

impl Setting {
    fn tracker(&self) -> anyhow::Result<Tracker> {
        let mut config = Config::default();
        config.models.keypoints = self.model.as_str().into();
        config.models.finder = self.finder.as_str().into();
        config.models.temporal = self.weights.as_str().into();
        config.temporal.smoother = self.smoother;
        config.persons.max = self.persons;
        if self.rules.is_empty() { Ok(Tracker::new(&config)?) } else { with_rules(&config, &self.rules) }
    }
}

/// WIDTHxHEIGHT in pixels.
fn size(said: &str) -> Result<[u32; 2], String> {
    let sides = said.split_once('x').and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    sides.ok_or_else(|| format!("'{said}' is no WIDTHxHEIGHT, such as 320x240"))
}

/// NAME=FILE.
fn named(said: &str) -> Result<(String, PathBuf), String> {
    let parts = said.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty());
    let (name, file) =
        parts.ok_or_else(|| format!("'{said}' is no NAME=FILE, such as other=answers.jsonl"))?;
    Ok((name.to_owned(), file.into()))
}

/// A tracker of `config` with some of its rules of identity as `said`: NAME=VALUE, separated by commas.
fn with_rules(config: &Config, said: &str) -> anyhow::Result<Tracker> {
    let networks = Networks::load(&config.models)?;
    let model = temporal_model(config, networks.error_model.as_deref())?;
    let known = IdentityRules::of(networks.keypoints.tells_presence());
    let mut rules = IdentityRules { max_persons: config.persons.max.get(), ..known };
    for word in said.split(',').filter(|word| !word.is_empty()) {
        let (name, value) =
            word.split_once('=').with_context(|| format!("--rules {word}: NAME=VALUE is wanted"))?;
        let value: f32 = value.parse().with_context(|| format!("--rules {word}: {value} is no number"))?;
        let rule = match name {
            "min_score" => &mut rules.min_score,
            "newcomer_score" => &mut rules.newcomer_score,
            "sure_score" => &mut rules.sure_score,
            "kept_score" => &mut rules.kept_score,
            "within_score" => &mut rules.within_score,
            "unseen_score" => &mut rules.unseen_score,
            "edge_score" => &mut rules.edge_score,
            "told_ms" | "hidden_ms" | "silence_ms" => {
                let rule = match name {
                    "told_ms" => &mut rules.told_us,
                    "hidden_ms" => &mut rules.hidden_us,
                    _ => &mut rules.silence_us,
                };
                *rule = (1000.0 * value) as i64;
                continue;
            }
            "clothes_share" => &mut rules.clothes_share,
            "unlike" => &mut rules.unlike,
            "alike" => &mut rules.alike,
            _ => bail!(
                "--rules {word}: there are min_score, newcomer_score, sure_score, kept_score, within_score, unseen_score, edge_score, \
                 told_ms, hidden_ms, silence_ms, clothes_share, unlike and alike"
            ),
        };
        *rule = value;
    }
    Ok(Tracker::of_parts(networks, rules, model)?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &[&str]) -> Args {
        Line::try_parse_from([&["films"], words].concat()).expect("is a command line").args
    }

    #[test]
    fn rendered_films_are_as_long_as_is_said() {
        for (words, seconds) in [
            (&["--rendered", "12"][..], 10.0),
            (&["--goals"], 6.0),
            (&["--goals", "--rendered", "12"], 6.0),
            (&["--goals", "--seconds", "9"], 9.0),
        ] {
            assert_eq!(args(words).film_seconds(), seconds, "{words:?}");
        }
    }

    #[test]
    fn a_folder_called_as_films_made_here_is_refused_before_anything_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let tracks = folder.path().join("tracks.jsonl");
        for (name, words) in
            [(RENDERED, &["--rendered", "1", "--smoother", "none"][..]), (CROSS, &["--goals"])]
        {
            let films = folder.path().join(name);
            let (films, tracks) = (films.to_str().expect("text"), tracks.to_str().expect("text"));
            let said = run(args(&[words, &["--films", films, "--tracks", tracks]].concat())).unwrap_err();
            assert!(said.to_string().contains("rename the folder"), "{said}");
        }
        assert!(!tracks.exists());
        let alone = args(&["--films", "far/rendered"]).labelled_set().expect("no other set");
        assert_eq!(alone.as_deref(), Some("rendered"));
    }
}
