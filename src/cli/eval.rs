//! `posewire eval`: hands over to the laboratory, a program of its own that no device needs.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{Command, ExitCode};

use anyhow::Context;

use super::Usage;

/// The laboratory's program: beside this one, or on the PATH.
const LAB: &str = "posewire-lab";

/// Measure accuracy: keypoint networks on pictures, temporal models on clips (`posewire-lab`, a program of its own)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// What is measured, and how: `posewire eval --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let beside = std::env::current_exe().ok().map(|exe| exe.with_file_name(LAB)).filter(|lab| lab.exists());
    let lab = beside.unwrap_or_else(|| LAB.into());
    match Command::new(&lab).args(&args.arguments).status() {
        // Without a code it was ended by a signal.
        Ok(status) => Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Usage(format!(
            "eval needs {LAB} beside this program or on the PATH: in the repository, cargo build --release -p {LAB}"
        ))
        .into()),
        Err(error) => Err(error).with_context(|| format!("cannot start {}", lab.display())),
    }
}
