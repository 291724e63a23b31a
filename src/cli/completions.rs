//! `posewire completions`: shell completions and the man page.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap_complete::Shell;

/// Prints shell completions, or writes the man pages
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire completions bash > ~/.local/share/bash-completion/completions/posewire
  posewire completions zsh > ~/.zfunc/_posewire
  posewire completions --man ~/.local/share/man/man1")]
pub struct Args {
    /// The shell to complete for
    #[arg(required_unless_present = "man")]
    shell: Option<Shell>,
    /// Write one man page a sub-command into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut command = super::command();
    if let Some(folder) = args.man {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        clap_mangen::generate_to(command, &folder)
            .with_context(|| format!("cannot write man pages into {}", folder.display()))?;
    } else if let Some(shell) = args.shell {
        // Through a buffer: clap_complete panics where a pipe is closed.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "posewire", &mut script);
        stdout().write_all(&script).context("cannot write to the standard output")?;
    }
    Ok(ExitCode::SUCCESS)
}
