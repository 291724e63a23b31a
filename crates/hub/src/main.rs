//! `posewire-hub`: several cameras as one room.

/// As `eprintln!`, where nothing fails because the terminal is closed or the reader gone.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

/// Help on what there is to see without a camera.
#[cfg(feature = "simulate")]
macro_rules! without_cameras {
    () => {
        "
Without cameras:
  posewire-hub simulate --out demo && posewire-hub calibrate demo/cameras.toml --replay demo/take.jsonl --out room.toml
  posewire-hub run demo/cameras.toml --room room.toml --replay demo/take.jsonl --jsonl people.jsonl"
    };
}
#[cfg(not(feature = "simulate"))]
macro_rules! without_cameras {
    () => {
        ""
    };
}

mod cli {
    pub mod agent;
    #[cfg(feature = "simulate")]
    pub mod bench;
    pub mod calibrate;
    pub mod cameras;
    pub mod merge;
    pub mod mqtt;
    pub mod outputs;
    pub mod peer;
    pub mod peer_hub;
    pub mod pipes;
    pub mod queue;
    pub mod record;
    pub mod rooms;
    pub mod run;
    pub mod signals;
    #[cfg(feature = "simulate")]
    pub mod simulate;
    pub mod slow;
    pub mod sources;
    pub mod stale_lines;
    #[cfg(feature = "simulate")]
    pub mod study;
    pub mod text;
    pub mod web;
    pub mod zenoh;
}

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};

/// Several cameras as one room: people in metres, from what posewire sends on several boards
#[derive(Debug, Parser)]
#[command(
    name = "posewire-hub",
    version,
    max_term_width = 100,
    after_help = concat!(
        "\
On each board:  posewire run --udp HUB:9101 --predict capture      (another port for each camera)
On the hub, cameras.toml:
  [[camera]]
  name = \"door\"
  calibration = \"door.toml\"       # posewire calibrate --out door.toml
  listen = \"0.0.0.0:9101\"
  [[camera]]
  …

Examples:
  posewire-hub calibrate cameras.toml --stature 1.78 --out room.toml     walk about for a minute, alone
  posewire-hub run cameras.toml --room room.toml --jsonl - --osc 127.0.0.1:9000 --web 127.0.0.1:8090",
        without_cameras!()
    )
)]
enum Command {
    Calibrate(cli::calibrate::Args),
    Run(Box<cli::run::Args>),
    Record(cli::record::Args),
    Agent(cli::agent::Args),
    Merge(cli::merge::Args),
    #[cfg(feature = "simulate")]
    Simulate(cli::simulate::Args),
    #[cfg(feature = "simulate")]
    Study(cli::study::Args),
    #[cfg(feature = "simulate")]
    Bench(cli::bench::Args),
}

/// The command line. A broker's address that is wrong is not repeated: there may be a password in it.
fn parsed(arguments: impl Iterator<Item = OsString>) -> Result<Command, clap::Error> {
    Command::try_parse_from(arguments).map_err(|mut error| {
        if matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(flag)) if flag.starts_with("--mqtt "))
        {
            error.insert(ContextKind::InvalidValue, ContextValue::String("…".into()));
        }
        error
    })
}

fn main() -> ExitCode {
    let done = match parsed(std::env::args_os()).unwrap_or_else(|error| error.exit()) {
        Command::Calibrate(args) => cli::calibrate::run(&args),
        Command::Run(args) => cli::run::run(&args),
        Command::Record(args) => cli::record::run(&args),
        Command::Agent(args) => cli::agent::run(&args),
        Command::Merge(args) => cli::merge::run(&args),
        #[cfg(feature = "simulate")]
        Command::Simulate(args) => cli::simulate::run(&args),
        #[cfg(feature = "simulate")]
        Command::Study(args) => cli::study::run(&args),
        #[cfg(feature = "simulate")]
        Command::Bench(args) => cli::bench::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say!("posewire-hub: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_address_with_a_password_is_not_repeated_where_it_is_wrong() {
        let words = ["posewire-hub", "run", "cameras.toml", "--mqtt", "mqtts://me:secret@broker"];
        let told = super::parsed(words.into_iter().map(Into::into)).unwrap_err().to_string();
        assert!(told.contains("--mqtt <URL>") && !told.contains("secret"), "{told}");
    }
}
