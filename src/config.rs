//! The configuration file: TOML, every key optional, unknown ones refused with the line and the nearest valid name.
//!
//! `posewire.example.toml` shows every key with its default; a test holds it to this file. The command line overrides
//! what the file says.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::files;
use crate::infer::Engine;

mod words;

pub use words::{CameraFormat, ExistingLines, Frames, Predict, Rate, Smoother};

/// Everything that can be configured. Texts that are empty mean "not used".
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where frames come from.
    pub source: Source,
    /// Which networks run.
    pub models: Models,
    /// Who is followed.
    pub persons: Persons,
    /// How poses are filtered.
    pub temporal: Temporal,
    /// When and for which moment poses are sent.
    pub output: Output,
    /// Poses on a serial wire.
    pub serial: Serial,
    /// Poses as JSON lines.
    pub jsonl: Jsonl,
    /// Poses drawn.
    pub display: Display,
    /// Poses in a browser.
    pub web: Web,
    /// Faults injected for testing.
    pub faults: Faults,
    /// The process itself.
    pub service: Service,
}

/// Where frames come from: the first of `replay`, `synthetic`, `camera` that is set; the built-in clip if none is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // the example file says what each key means, in users' words
pub struct Source {
    pub camera: String,
    pub replay: PathBuf,
    pub synthetic: bool,
    pub width: u32,
    pub height: u32,
    pub fps: u32,
    pub format: CameraFormat,
    pub wait: bool,
    pub frames: Frames,
    pub no_drop: bool,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            camera: String::new(),
            replay: PathBuf::new(),
            synthetic: false,
            // What every UVC camera has at 30 fps over USB 2, and more than the networks need of a whole person.
            width: 640,
            height: 480,
            fps: 30,
            format: CameraFormat::Auto,
            // A board often starts before its camera does.
            wait: true,
            frames: Frames::All,
            no_drop: false,
        }
    }
}

/// Networks: `builtin`, the name of one in the binary, or the path of a manifest.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Models {
    pub keypoints: String,
    pub finder: String,
    pub temporal: String,
    #[serde(deserialize_with = "engine")]
    pub engine: String,
}

impl Default for Models {
    fn default() -> Self {
        let builtin = || BUILTIN.to_owned();
        // Which engine is faster depends on the CPU: `auto` times them at the first start.
        Self { keypoints: builtin(), finder: builtin(), temporal: builtin(), engine: "auto".into() }
    }
}

/// The word for a model that is part of the binary.
pub const BUILTIN: &str = "builtin";

/// The word for a finder that is left out.
pub const NONE: &str = "none";

/// Who is followed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Persons {
    #[serde(deserialize_with = "max_persons")]
    pub max: usize,
}

impl Default for Persons {
    fn default() -> Self {
        // A living room; each person seen costs one run of the keypoint network a frame.
        Self { max: 4 }
    }
}

/// How poses are filtered.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Temporal {
    pub smoother: Smoother,
}

impl Default for Temporal {
    fn default() -> Self {
        Self { smoother: Smoother::Xl }
    }
}

/// When and for which moment poses are sent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Output {
    pub rate: Rate,
    pub predict: Predict,
}

/// Poses on a serial wire.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Serial {
    pub port: String,
    pub baud: u32,
    pub with_3d: bool,
}

impl Default for Serial {
    fn default() -> Self {
        Self { port: String::new(), baud: pose_wire::DEFAULT_BAUD, with_3d: false }
    }
}

/// Poses as JSON lines.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Jsonl {
    pub path: PathBuf,
    pub existing: ExistingLines,
    pub rotate_mb: u32,
}

/// Poses drawn.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Display {
    pub kind: String,
    pub pictures: bool,
}

impl Default for Display {
    fn default() -> Self {
        // Whoever sets a camera up wants to see what it sees.
        Self { kind: String::new(), pictures: true }
    }
}

/// Poses in a browser.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Web {
    pub address: String,
}

/// Faults injected for testing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Faults {
    pub inject: String,
    pub seed: u64,
}

/// The process itself.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // as above
pub struct Service {
    pub health_every_s: u32,
}

impl Default for Service {
    fn default() -> Self {
        // Often enough to see a trend in the journal, seldom enough not to fill it: 9,000 lines a day.
        Self { health_every_s: 10 }
    }
}

/// Checks a number of persons.
///
/// # Errors
/// Says what is possible.
pub fn check_max_persons(max: usize) -> Result<usize, String> {
    if (1..=pose::MAX_PERSONS).contains(&max) {
        Ok(max)
    } else {
        Err(format!("{max} persons cannot be followed: from 1 to {}", pose::MAX_PERSONS))
    }
}

fn engine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse::<Engine>().map_err(de::Error::custom)?;
    Ok(name)
}

fn max_persons<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    check_max_persons(usize::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file says something wrong.
    #[error("{path}:{line}:{column}: {message}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong, and the nearest valid name.
        message: String,
    },
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// [`ConfigError`] naming the file, and for a mistake in it the line and the column.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = files::read_text_at_most(path, files::MAX_TEXT_BYTES)
            .map_err(|source| ConfigError::Unreadable { path: path.into(), source })?;
        Self::parse(&text, path)
    }

    /// Reads a configuration from `text`; `path` is for the messages.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = text.get(..at).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |i| i + 1);
            ConfigError::Wrong {
                path: path.into(),
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
                message: with_nearest_name(error.message()),
            }
        })
    }
}

/// serde says ``unknown field `x`, expected one of `a`, `b` ``: adds which of them is meant.
fn with_nearest_name(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match (message.starts_with("unknown"), quoted.next()) {
        (true, Some(unknown)) => format!("{message}{}", did_you_mean(unknown, quoted)),
        _ => message.to_owned(),
    }
}

/// ` (did you mean 'name'?)` for the nearest of `names`; empty where none is near.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 2)
        .min()
        .map_or_else(String::new, |(_, name)| format!("; did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_for(text: &str) -> String {
        Config::parse(text, Path::new("posewire.toml")).unwrap_err().to_string()
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        assert_eq!(Config::parse("", Path::new("x")).unwrap(), Config::default());
    }

    #[test]
    fn words_and_numbers_are_both_understood() {
        let config = Config::parse(
            "[output]\nrate = 50\npredict = 80\n[source]\nframes = 3\n[temporal]\nsmoother = \"one-euro\"\n",
            Path::new("x"),
        )
        .unwrap();
        assert_eq!(config.output, Output { rate: Rate::Hz(50.0), predict: Predict::Ms(80) });
        assert_eq!(config.source.frames, Frames::Count(3));
        assert_eq!(config.temporal.smoother, Smoother::OneEuro);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_place_and_the_nearest_name() {
        let message = message_for("# mine\n[serial]\nprot = \"/dev/ttyUSB0\"\n");
        assert!(message.starts_with("posewire.toml:3:1: "), "{message}");
        assert!(message.contains("`prot`") && message.ends_with("did you mean 'port'?"), "{message}");

        let message = message_for("[temporl]\n");
        assert!(message.starts_with("posewire.toml:1:2: ") && message.contains("'temporal'"), "{message}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_with_its_place() {
        let message = message_for("[source]\nwidth = 640\nheight = \"480\"\n");
        assert!(message.starts_with("posewire.toml:3:10: ") && message.contains("u32"), "{message}");
        let message = message_for("[temporal]\nsmoother = \"oneeuro\"\n");
        assert!(message.starts_with("posewire.toml:2:12: ") && message.contains("'one-euro'"), "{message}");
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        for (text, word) in [
            ("[persons]\nmax = 9\n", "from 1 to 8"),
            ("[output]\nrate = 0\n", "0.1 to 1000"),
            ("[output]\npredict = 500\n", "0 to 150"),
            ("[source]\nframes = \"some\"\n", "\"all\""),
        ] {
            let message = message_for(text);
            assert!(message.starts_with("posewire.toml:2:") && message.contains(word), "{message}");
        }
    }

    #[test]
    fn a_name_that_is_near_nothing_gets_no_suggestion() {
        assert_eq!(did_you_mean("colour", ["port", "baud"]), "");
        assert_eq!(did_you_mean("smother", ["smoother"]), "; did you mean 'smoother'?");
    }
}
