//! Which code an input reached, where the parsers were built with `instrument.sh`; otherwise nothing is known.
//!
//! The compiler then counts each edge of the program in an 8-bit counter and hands the counters over before `main`.

use std::sync::Mutex;

/// Address and length of each module's counters.
static RANGES: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Called by the compiler's start-up code of every instrumented module.
///
/// # Safety
/// `start..stop` is the module's table of counters, alive for the whole program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let range = (start as usize, stop as usize - start as usize);
    let mut ranges = RANGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if range.1 > 0 && !ranges.contains(&range) {
        ranges.push(range);
    }
}

/// What was reached so far.
#[derive(Default)]
pub struct Coverage {
    /// For each counter, the classes of counts that were seen.
    seen: Vec<u8>,
    edges: usize,
}

impl Coverage {
    /// Edges reached so far; 0 where nothing is instrumented.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// Takes in the counts since the last call and sets them to 0; says whether something was new.
    pub fn take(&mut self) -> bool {
        let ranges = RANGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let total = ranges.iter().map(|r| r.1).sum();
        self.seen.resize(total, 0);
        let mut at = 0;
        let mut news = false;
        for &(start, len) in ranges.iter() {
            // SAFETY: the table lives as long as the program (see the init function) and no other thread runs the parsers
            // while this one looks.
            let counters = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, len) };
            for (words, seen) in counters.chunks_mut(8).zip(self.seen[at..at + len].chunks_mut(8)) {
                if words.iter().all(|c| *c == 0) {
                    continue;
                }
                for (count, seen) in words.iter_mut().zip(seen) {
                    // 1, 2, 3, 4-7, 8-15, ...: a loop that runs once more is no news, one that runs twice as often is.
                    let class = match std::mem::take(count) {
                        0 => continue,
                        n => 1u8 << (7 - n.leading_zeros()),
                    };
                    if *seen & class == 0 {
                        news = true;
                        self.edges += usize::from(*seen == 0);
                        *seen |= class;
                    }
                }
            }
            at += len;
        }
        news
    }
}
