//! What a command has measured, on the standard output.

use std::fmt::Display;
use std::io::Write;

use anyhow::Context;

/// Writes tables there. Whoever keeps figures in a file does so first: the standard output may be full, or its reader gone.
///
/// # Errors
/// What the system says.
pub fn show(tables: impl Display) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{tables}").context("cannot write the figures")
}
