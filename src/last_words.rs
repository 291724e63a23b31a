//! What a child process says on its standard error: the last of it is kept for an error, however much there is.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are kept.
const KEPT_BYTES: usize = 600;

/// The last words of a child.
#[derive(Clone, Default)]
pub struct LastWords(Arc<Mutex<VecDeque<u8>>>);

impl LastWords {
    /// Reads `stderr` to its end in a thread of its own: a full pipe would stop the child.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn of(mut stderr: impl Read + Send + 'static) -> std::io::Result<Self> {
        let words = Self::default();
        let kept = words.clone();
        let read = move || {
            let mut piece = [0; 256];
            while let Ok(n @ 1..) = stderr.read(&mut piece) {
                let mut words = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
                words.extend(&piece[..n]);
                let surplus = words.len().saturating_sub(KEPT_BYTES);
                words.drain(..surplus);
            }
        };
        std::thread::Builder::new().name("child-stderr".into()).spawn(read)?;
        Ok(words)
    }

    /// All of it in one line.
    pub fn said(&self) -> String {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = words.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().replace('\n', "; ")
    }

    /// The last line that is not empty: of a program that tells much while all is well.
    pub fn last_line(&self) -> String {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = words.iter().copied().collect();
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
        let words = LastWords::of(std::io::Cursor::new(flood)).unwrap();
        let began = std::time::Instant::now();
        while !words.last_line().starts_with("ERROR") {
            assert!(began.elapsed().as_secs() < 30);
            std::thread::yield_now();
        }
        assert_eq!(words.last_line(), "ERROR: no cameras available");
        assert!(words.said().len() <= KEPT_BYTES && words.said().ends_with("available"));
    }
}
