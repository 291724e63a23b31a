//! The end of a child process's standard error, kept for an error message, however much there is.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that are kept.
const KEPT_BYTES: usize = 600;

/// How long a child that has ended may take to have its output read: a busy board; and somebody else may hold the pipe for ever.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// The end of a child's standard error.
#[derive(Clone, Default)]
pub struct StderrTail(Arc<Shared>);

#[derive(Default)]
struct Shared {
    kept: Mutex<Kept>,
    ended: Condvar,
}

#[derive(Default)]
struct Kept {
    bytes: VecDeque<u8>,
    is_all: bool,
}

impl StderrTail {
    /// Reads `stderr` to its end in a thread of its own: a full pipe would stop the child.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn of(mut stderr: impl Read + Send + 'static) -> std::io::Result<Self> {
        let tail = Self::default();
        let kept = tail.clone();
        let read = move || {
            // As much as a pipe holds: a child that talks without end costs little.
            let mut piece = vec![0; 1 << 16];
            while let Ok(n @ 1..) = stderr.read(&mut piece) {
                let bytes = &mut kept.lock().bytes;
                bytes.extend(&piece[n.saturating_sub(KEPT_BYTES)..n]);
                let surplus = bytes.len().saturating_sub(KEPT_BYTES);
                bytes.drain(..surplus);
            }
            kept.lock().is_all = true;
            kept.0.ended.notify_all();
        };
        std::thread::Builder::new().name("child-stderr".into()).spawn(read)?;
        Ok(tail)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all output of a child that has ended is read, for a second at most.
    pub fn wait_for_all(&self) {
        let waited = self.0.ended.wait_timeout_while(self.lock(), READ_WITHIN, |kept| !kept.is_all);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// All of it in one line.
    pub fn one_line(&self) -> String {
        let bytes: Vec<u8> = self.lock().bytes.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().replace('\n', "; ")
    }

    /// The last line that is not empty: of a program that tells much while all is well.
    pub fn last_line(&self) -> String {
        let bytes: Vec<u8> = self.lock().bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_the_last_line_is_kept() {
        let flood = [vec![b'x'; 1 << 20], b"\nERROR: no cameras available\n\n".to_vec()].concat();
        let tail = StderrTail::of(std::io::Cursor::new(flood)).unwrap();
        tail.wait_for_all();
        assert_eq!(tail.last_line(), "ERROR: no cameras available");
        assert!(tail.one_line().len() <= KEPT_BYTES && tail.one_line().ends_with("available"));
    }
}
