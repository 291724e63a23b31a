//! `posewire eval films`: the whole program on films.

mod files;
mod measured;
mod setting;
mod sources;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use posewire::progress::Progress;
use posewire::temporal::Smoother;

use files::Files;
use measured::Measured;
use setting::Setting;
use sources::Sources;

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

/// What the sets of films are called that are made here; a set's rows are found by its name.
const RENDERED: &str = "rendered";
const CROSS: &str = "crossing";

impl Args {
    /// Length of a rendered film.
    fn film_seconds(&self) -> f32 {
        self.seconds.unwrap_or(if self.goals { 6.0 } else { 10.0 })
    }

    /// Refuses what cannot be measured.
    fn check(&self) -> anyhow::Result<()> {
        let seconds = self.film_seconds();
        self.labelled_set()?;
        if self.rendered == 0 && self.films.is_none() {
            bail!("nothing to measure: --rendered 20, --films FOLDER, or both");
        }
        if !(0.1..=600.0).contains(&seconds) {
            bail!("--seconds {seconds}: 0.1 to 600 can be rendered");
        }
        if let Some(share) = self.dropped.iter().find(|&&d| !(0.0..=0.9).contains(&d)) {
            bail!("--dropped {share}: 0 to 0.9 of the frames can be left out");
        }
        if !(0.0..=1.0).contains(&self.compressed) {
            bail!("--compressed {}: 0 to 1 of the films can be", self.compressed);
        }
        if self.goals && (self.model.len() > 1 || self.finder.len() > 1 || self.rules.len() > 1) {
            bail!(
                "--goals: one model, one finder and one set of rules, so that the first row has no smoother"
            );
        }
        Ok(())
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
    args.check()?;
    let settings = setting::all(&args)?;
    if (args.tracks.is_some() || args.boxes.is_some()) && settings.len() > 1 {
        bail!(
            "--tracks, --boxes: one model, one smoother and one set of rules, not {}; errors: --smoother none",
            settings.len()
        );
    }
    settings.iter().try_for_each(Setting::check)?;
    let sources = Sources::read(&args)?;
    let mut files = Files::open(&args)?;
    let mut measured = Measured::new(args.goals);
    for setting in &settings {
        let name = setting.to_string();
        let mut tracker = setting.tracker()?;
        let progress = Progress::start(name.clone());
        for (set, films) in sources.sets(&args) {
            let outcomes = measured::measure(&name, films, &mut tracker, &mut files, &progress)?;
            measured.add(set, &name, outcomes);
        }
    }
    for answered in sources.answered() {
        let (set, program, outcomes) = answered?;
        measured.add(set, program, outcomes);
    }
    measured.print();
    files.figures(&measured.figures()?)?;
    match &args.json {
        Some(path) => eprintln!("all figures are in {}", path.display()),
        None => eprintln!("--json FILE keeps the figures"),
    }
    Ok(ExitCode::SUCCESS)
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

    #[test]
    fn what_cannot_be_read_costs_no_file_and_what_cannot_be_written_no_measurement() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        std::fs::write(path("tracks.jsonl"), "kept").expect("room");
        std::fs::create_dir(path("films")).expect("a folder");
        std::fs::write(path("films/broken.jsonl"), "{").expect("room");
        for (words, says) in [
            (["--films", &path("gone")], "gone"),
            (["--films", &path("films")], "broken.jsonl line 1"),
            (["--rules", "nosuch=1"], "nosuch=1"),
            (["--model", "nosuch"], "nosuch"),
            (["--motion", &path("gone.bin")], "gone.bin"),
        ] {
            let common = ["--rendered", "1", "--smoother", "none", "--tracks", &path("tracks.jsonl")];
            let said = run(args(&[&common[..], &words].concat())).unwrap_err();
            assert!(format!("{said:#}").contains(says), "{said:#} does not say {says}");
            let tracks = std::fs::read_to_string(path("tracks.jsonl")).expect("there");
            assert_eq!(tracks, "kept", "{words:?}");
        }
        for option in ["--json", "--tracks", "--boxes"] {
            let words = ["--rendered", "1", "--smoother", "none", option, &path("gone/file")];
            let said = run(args(&words)).unwrap_err().to_string();
            assert!(said.starts_with(option) && said.contains("gone/file"), "{said}");
        }
    }
}
