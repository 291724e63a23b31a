//! The command line: `posewire run`, and everything round it. The tracker itself is the library.

mod cli;

use std::process::ExitCode;

/// Counts what every thread allocates, so that `bench` can show that a frame costs none.
#[cfg(feature = "alloc-count")]
#[global_allocator]
static ALLOCATOR: posewire::telemetry::alloc::Counting = posewire::telemetry::alloc::Counting;

fn main() -> ExitCode {
    cli::main()
}
