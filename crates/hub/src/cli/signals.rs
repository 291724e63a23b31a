//! Signals ask a command to end in good order; a later one ends it at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use shutdown::{LastResort, exit_at_once};

/// Set by SIGINT, SIGTERM, or SIGHUP that is not ignored.
pub fn stop_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::default();
    LastResort::listen(&stop, None, |_| exit_at_once(1))?;
    Ok(stop)
}
