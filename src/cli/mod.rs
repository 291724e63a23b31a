//! The command line, one file a sub-command.
//!
//! Exit codes: 0 done (of `run`, `record`, `view` and `read` also after SIGINT or SIGTERM), 1 failed, 2 wrong command line or
//! configuration, 3 `doctor` found something to mend. An error is printed once, with what led to it.
#![deny(clippy::print_stderr)] // it panics where the log is on a full disk: `progress::say`

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind as ArgumentError};
use clap::{CommandFactory, Parser, Subcommand};
use env_logger::{Target, WriteStyle};
use posewire::capture::replay::folder::is_picture;
use posewire::capture::{SourceInfo, is_camera_name};
use posewire::child_process::end_groups;
use posewire::config::ConfigError;
use posewire::files::{self, Replacement};
use posewire::output::display::{self, LogTarget};
use posewire::pipeline::PipelineError;
use posewire::progress;

/// What the command line and the configuration get wrong ends with this code, as clap itself does it.
pub const EXIT_USAGE: u8 = 2;

/// Frames of the built-in clip where every one is taken and nobody says how many: 10 seconds.
const CLIP_FRAMES: u64 = 300;

/// Real-time human pose tracking from a USB camera to a serial wire.
#[derive(Debug, Parser)]
#[command(
    name = "posewire",
    version,
    propagate_version = true,
    max_term_width = 100,
    override_usage = "posewire <COMMAND>\n       posewire PHOTO|FOLDER... [--out FOLDER]\n       posewire VIDEO [--video FILE]",
    after_help = "\
`posewire photo.jpg` draws the poses in a photo (see `posewire predict --help`), `posewire clip.mp4 --video poses.mp4` those in a
video (see `posewire run --help`).

Exit codes: 0 done (of run, record, view and read also after Ctrl-C), 1 failed, 2 wrong command line or configuration, 3 doctor
found something to mend.
The log goes to stderr; -v says more, -vv everything; RUST_LOG goes before it."
)]
pub struct Cli {
    /// Say more in the log; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

mod signals;

/// Declares each sub-command's module, its variant and its dispatch. A module has `pub struct Args` (clap's, with the
/// help as its doc comment) and `pub fn run(args: Args) -> anyhow::Result<ExitCode>`.
macro_rules! sub_commands {
    ($($variant:ident => $module:ident,)*) => {
        $(mod $module;)*

        #[allow(
            clippy::large_enum_variant,
            reason = "parsed once and moved once: a box round the largest would be for the lint alone"
        )]
        #[derive(Debug, Subcommand)]
        enum Command {
            $(#[allow(missing_docs, reason = "each command's help is its arguments' own")] $variant($module::Args),)*
        }

        fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
            match command {
                $(Command::$variant(args) => $module::run(args),)*
            }
        }
    };
}

sub_commands! {
    Run => run,
    Bench => bench,
    Calibrate => calibrate,
    Predict => predict,
    Devices => devices,
    Doctor => doctor,
    Models => models,
    Completions => completions,
    Read => read,
    Eval => eval,
    Record => record,
    View => view,
}

/// A mistake in what the user asked for, as against a failure to do it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Parses the command line, runs the sub-command and prints what went wrong.
pub fn main() -> ExitCode {
    let cli = parsed(spelt_out(std::env::args_os().collect())).unwrap_or_else(|error| error.exit());
    let level = match cli.verbose {
        0 => "info",
        1 => "info,posewire=debug",
        _ => "info,posewire=trace",
    };
    log_to_standard_error(level);
    // A limit on the size of files is then an error of the write that meets it, as a full disk is.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let ended = dispatch(cli.command);
    // A thread that did not end in time may have left a camera's program, which nobody else could take the camera from.
    end_groups();
    // A thread that did not end in time may have left the picture there.
    display::give_back();
    ended.unwrap_or_else(|error| {
        // `posewire … | head` closes the pipe: the reader has what it wanted.
        if is_broken_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        progress::say(format_args!("posewire: {error:#}"));
        let is_usage = error.chain().any(|e| e.is::<Usage>() || e.is::<ConfigError>());
        ExitCode::from(if is_usage { EXIT_USAGE } else { 1 })
    })
}

/// Where the log is written, after the line of a long command has gone.
#[derive(Default)]
struct Log(LogTarget);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        progress::clear();
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// The log goes to standard error, but not into a picture on the terminal; nor does what a panic says.
fn log_to_standard_error(level: &str) {
    let mut builder = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level));
    if std::env::var_os("RUST_LOG_STYLE").is_none() {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let is_coloured =
            std::io::stderr().is_terminal() && variable("NO_COLOR").is_empty() && variable("TERM") != "dumb";
        builder.write_style(if is_coloured { WriteStyle::Always } else { WriteStyle::Never });
    }
    builder.format_target(false).target(Target::Pipe(Box::new(Log::default()))).init();
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        display::give_back_for_good();
        say(panic);
    }));
}

/// The command line. A broker's address that is wrong is not repeated: there may be a password in it.
fn parsed(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(arguments).map_err(|mut error| {
        if matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(flag)) if flag.starts_with("--mqtt "))
        {
            error.insert(ContextKind::InvalidValue, ContextValue::String("…".into()));
        }
        match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(word)) if Path::new(word).exists() => {
                let what = format!(
                    "'{word}' is there, and no photo or video by its name (.jpg, .png, .avi, .mp4 and the like): \
                     posewire run --replay FILE tries it as a video; convert a photo to JPEG or PNG"
                );
                command().error(ArgumentError::InvalidSubcommand, what)
            }
            _ => error,
        }
    })
}

/// `posewire photo.jpg …` is `posewire predict photo.jpg …`, `posewire clip.mp4 …` is `posewire run clip.mp4 …`, and so are cameras.
fn spelt_out(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_command = |word: &OsStr| word == "help" || command().find_subcommand(word).is_some();
    // The log's own flags may come first.
    let says_more = |word: &OsStr| {
        let letters = word.to_str().and_then(|word| word.strip_prefix('-')).unwrap_or_default();
        word == "--verbose" || (!letters.is_empty() && letters.chars().all(|letter| letter == 'v'))
    };
    let Some(at) = (1..arguments.len()).find(|&at| !says_more(&arguments[at])) else { return arguments };
    let named = Some(&*arguments[at]).filter(|first| !is_command(first));
    let command = match named {
        Some(first) if first.to_str().is_some_and(is_camera_name) => "run",
        Some(first) if predict::names_pictures(first) => "predict",
        Some(first) if run::names_video(first) => "run",
        _ => return arguments,
    };
    arguments.insert(at, command.into());
    arguments
}

/// The whole command tree, for completions, the man page and tests.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Refuses an output that would overwrite what is read: a file under whatever name, or a picture of a folder.
fn keep_input(input: &Path, output: &Path) -> Result<(), Usage> {
    let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if files::is_same(input, output) || (is_picture(output) && files::is_same(input, folder)) {
        let (input, output) = (input.display(), output.display());
        return Err(Usage(format!("{output} would overwrite {input}, which is read: name another output")));
    }
    Ok(())
}

/// Refuses an output whose name does not end as such files do.
fn check_ending(output: &Path, ending: &str) -> Result<(), Usage> {
    if output.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending)) {
        return Ok(());
    }
    Err(Usage(format!("{}: give the file a name that ends in .{ending}", output.display())))
}

/// `word` as a shell takes it for one, to be copied.
fn quoted(word: &Path) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-+:@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Says in the log what is watched.
fn tell_source(info: &SourceInfo) {
    // Of a stream nothing is known before its first frame.
    match info.width {
        0 => log::info!("source: {}", info.name),
        width => log::info!("source: {}, {width}x{} at {} fps", info.name, info.height, info.fps),
    }
}

/// Opens an output before the work begins that fills it; `input` is what is read.
fn output_file(path: &Path, input: Option<&Path>) -> anyhow::Result<Replacement> {
    if let Some(input) = input {
        keep_input(input, path)?;
    }
    Replacement::create(path).with_context(|| format!("{}: cannot be created", path.display()))
}

/// A length of time on the command line, seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let parsed = text.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0);
    parsed.ok_or_else(|| format!("'{text}' is no length of time: give seconds above 0, as in 20 or 0.5"))
}

/// Whether the reader of what a command prints is gone. The pipes that a pipeline writes into are others.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &(dyn std::error::Error + 'static)| {
        e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    };
    error.chain().take_while(|e| !e.is::<PipelineError>()).any(broken)
}

#[cfg(test)]
mod tests {
    use posewire::reason::Reason;

    use super::*;

    #[test]
    fn a_pipe_that_a_sink_writes_into_is_not_standard_output() {
        let gone = || std::io::Error::from(ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&anyhow::Error::from(gone()).context("cannot print")));
        let error = Box::new(Reason::new("ffmpeg", gone()));
        let of_sink = PipelineError::Failed { thread: "sink-0 video".into(), error, is_told: false };
        assert!(!is_broken_pipe(&of_sink.into()));
    }

    #[test]
    fn the_command_tree_is_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn an_address_with_a_password_is_not_repeated_where_it_is_wrong() {
        for wrong in ["mqtts://me:secret@broker", "mqtt://me:secret@broker:0", "me:secret@broker"] {
            let words = ["posewire", "run", "--mqtt", wrong].map(Into::into);
            let told = super::parsed(words.into()).unwrap_err().to_string();
            assert!(told.contains("--mqtt <URL>") && !told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn a_name_is_shown_as_a_shell_takes_it_for_one_word() {
        let quoted = |name: &str| super::quoted(Path::new(name));
        assert_eq!(quoted("a/clip-1.avi"), "a/clip-1.avi");
        assert_eq!(
            [quoted("my clip.avi"), quoted("it's"), quoted("")],
            ["'my clip.avi'", r"'it'\''s'", "''"]
        );
    }

    #[test]
    fn photos_folders_and_videos_need_no_sub_command() {
        let spelt = |words: &[&str]| super::spelt_out(words.iter().map(Into::into).collect());
        assert_eq!(
            spelt(&["posewire", "a.JPG", "--out", "b"]),
            ["posewire", "predict", "a.JPG", "--out", "b"]
        );
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().to_str().unwrap();
        assert_eq!(spelt(&["posewire", folder]), ["posewire", "predict", folder]);
        assert_eq!(spelt(&["posewire", "a/clip.MP4", "-v"]), ["posewire", "run", "a/clip.MP4", "-v"]);
        assert_eq!(spelt(&["posewire", "-v", "a.JPG"]), ["posewire", "-v", "predict", "a.JPG"]);
        assert_eq!(
            spelt(&["posewire", "-vv", "--verbose", "a.y4m"]),
            ["posewire", "-vv", "--verbose", "run", "a.y4m"]
        );
        for camera in ["/dev/video0", "/dev/v4l/by-id/cam", "csi", "auto", "nokhwa:0", "rtsp://camera.local/"]
        {
            assert_eq!(spelt(&["posewire", camera]), ["posewire", "run", camera]);
        }
        for other in [
            &["posewire"][..],
            &["posewire", "run"],
            &["posewire", "--help"],
            &["posewire", "clip"],
            &["posewire", "-v", "run"],
            &["posewire", "-v"],
        ] {
            assert_eq!(spelt(other), other);
        }
    }
}
