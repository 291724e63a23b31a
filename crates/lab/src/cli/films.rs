//! `posewire eval films`: the whole program on films.

mod files;
mod measured;
mod setting;
mod sources;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use posewire::progress::{Progress, say};
use posewire::temporal::Smoother;
use posewire_lab::films::{Rendered, Take};

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
        // Films draw from these by their seeds: the last one may be the first to draw what cannot be.
        let plain = Take::new(self.seed, 1);
        let persons = self.persons.iter().map(|&persons| Take { persons, ..plain });
        let rates = self.fps.iter().map(|&fps| Take { fps, ..plain });
        let sizes = self.size.iter().map(|&size| Take { size, ..plain });
        if self.rendered > 0 {
            persons.chain(rates).chain(sizes).try_for_each(|take| Rendered::new(take).map(drop))?;
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
    // One that is broken would end it after all settings before it.
    settings.iter().try_for_each(|setting| setting.tracker().map(drop))?;
    let mut files = Files::open(&args)?;
    let mut measured = Measured::new(args.goals);
    let done = measure(&args, &settings, &sources, &mut files, &mut measured);
    if measured.is_empty() {
        return done.map(|()| ExitCode::SUCCESS);
    }
    files.figures(&measured.figures()?)?;
    let shown = measured.print();
    let what = if done.is_ok() { "all figures" } else { "the figures of what was measured" };
    match &args.json {
        Some(path) => say(format_args!("{what} are in {}", path.display())),
        None => say(format_args!("--json FILE keeps the figures")),
    }
    done.and(shown).map(|()| ExitCode::SUCCESS)
}

/// Every setting and every other program on every set; what is measured before an error is kept.
fn measure(
    args: &Args,
    settings: &[Setting],
    sources: &Sources,
    files: &mut Files,
    measured: &mut Measured,
) -> anyhow::Result<()> {
    for setting in settings {
        let name = setting.to_string();
        let mut tracker = setting.tracker()?;
        let progress = Progress::start(name.clone());
        for (set, films) in sources.sets(args) {
            let outcomes = measured::measure(&name, films, &mut tracker, files, &progress)?;
            measured.add(set, &name, outcomes);
        }
    }
    for answered in sources.answered() {
        let (set, program, outcomes) = answered?;
        measured.add(set, program, outcomes);
    }
    Ok(())
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
    use std::path::Path;

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
        std::fs::write(path("broken.toml"), "{").expect("room");
        for (words, says) in [
            (["--films", &path("gone")], "gone"),
            (["--films", &path("films")], "broken.jsonl line 1"),
            (["--rules", "nosuch=1"], "nosuch=1"),
            (["--model", "nosuch"], "nosuch"),
            (["--motion", &path("gone.bin")], "gone.bin"),
            (["--model", &path("broken.toml")], "broken.toml"),
            (["--finder", &path("broken.toml")], "broken.toml"),
            (["--persons", "13"], "13 persons"),
            (["--fps", "480"], "480 frames a second"),
            (["--size", "16x16"], "16x16"),
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

    /// A folder of one film of one picture, which is what `bytes` are.
    fn film(folder: &Path, bytes: &[u8]) {
        std::fs::create_dir_all(folder.join("a")).expect("a folder");
        std::fs::write(folder.join("a/1.jpg"), bytes).expect("room");
        let labels = "{\"film\": \"a\", \"complete\": true}\n{\"captured_at_us\": 0, \"persons\": []}\n";
        std::fs::write(folder.join("a.jsonl"), labels).expect("room");
    }

    #[test]
    fn another_programs_answers_are_counted_before_anything_is_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        film(&folder.path().join("films"), b"not looked at");
        std::fs::write(path("answers.jsonl"), "{\"film\": \"a\", \"persons\": []}\n".repeat(2))
            .expect("room");
        let answers = format!("other={}", path("answers.jsonl"));
        let films = ["--films", &path("films"), "--answers", &answers];
        let words = ["--smoother", "none", "--boxes", &path("boxes.jsonl")];
        let said = run(args(&[films, words].concat())).unwrap_err().to_string();
        assert!(said.contains("2 answers to the 1 frames of 'a'") && !said.contains("line 1"), "{said}");
        assert!(!std::fs::exists(path("boxes.jsonl")).expect("a folder"));
    }

    #[test]
    fn what_was_measured_before_an_error_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        film(&folder.path().join("unreadable"), b"no picture");
        let rendered = ["--rendered", "1", "--seconds", "0.1", "--smoother", "none"];
        let words = ["--films", &path("unreadable"), "--json", &path("figures.json")];
        let said = format!("{:#}", run(args(&[&rendered[..], &words].concat())).unwrap_err());
        assert!(said.contains("1.jpg"), "{said}");
        let figures = std::fs::read_to_string(path("figures.json")).expect("is there");
        assert!(figures.contains("\"rendered\"") && !figures.contains("\"unreadable\""), "{figures}");
    }
}
