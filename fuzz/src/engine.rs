//! Runs a target on its corpus and on endless mutations of it, and keeps what reaches new code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use fastrand::Rng;
use fuzz_targets::targets::Target;

use crate::coverage::Coverage;
use crate::mutate::mutate;

/// An input that takes longer is a finding: a thousand times what the slowest parser needs for its corpus.
const SLOW_S: f64 = 5.0;

/// How a session went.
#[derive(Default)]
pub struct Report {
    pub runs: u64,
    pub edges: usize,
    /// Inputs kept because they reached new code.
    pub found: Vec<Vec<u8>>,
    pub slowest_s: f64,
    /// An input that broke the target, and how.
    pub broke: Option<(Vec<u8>, String)>,
}

/// When to end, and from which seed.
pub struct Limits {
    pub runs: u64,
    pub seconds: f64,
    pub seed: u64,
    /// Leave the coverage alone, which takes longer to look at than a small parser to run.
    pub blind: bool,
}

/// Feeds `target`, beginning with `corpus`; ends at the first finding. `tell` hears of progress every 20 s.
pub fn fuzz(target: &Target, corpus: &[Vec<u8>], limits: &Limits, mut tell: impl FnMut(&Report)) -> Report {
    let mut report = Report::default();
    let mut coverage = Coverage::default();
    let mut dice = Rng::with_seed(limits.seed);
    let mut pool: Vec<Vec<u8>> = Vec::new();
    let mut input = Vec::new();
    let (started, mut told) = (Instant::now(), Instant::now());
    coverage.take();
    while report.runs < limits.runs && started.elapsed().as_secs_f64() < limits.seconds {
        let from_corpus = corpus.get(report.runs as usize);
        match from_corpus {
            Some(seed) => input.clone_from(seed),
            None => {
                let pick = |dice: &mut Rng| match pool.len() {
                    0 => None,
                    // Half of the time one of the newest: what was just reached is the least explored.
                    n if dice.bool() => Some(n - 1 - dice.usize(0..n.min(16))),
                    n => Some(dice.usize(0..n)),
                };
                input.clear();
                if let Some(at) = pick(&mut dice) {
                    input.extend_from_slice(&pool[at]);
                }
                let other = pick(&mut dice).map_or(&[][..], |at| &pool[at][..]);
                mutate(&mut input, other, target.words, target.max_len, &mut dice);
            }
        }
        let before = cpu_s();
        let result = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let took = cpu_s() - before;
        report.runs += 1;
        report.slowest_s = report.slowest_s.max(took);
        let broke = match result {
            Err(panic) => Some(text_of(&*panic)),
            Ok(()) if took > SLOW_S => Some(format!("{took:.1} s of processor time")),
            Ok(()) => None,
        };
        if let Some(how) = broke {
            report.broke = Some((input, how));
            break;
        }
        let news = !limits.blind && coverage.take();
        if from_corpus.is_some() {
            pool.push(input.clone());
        } else if news {
            pool.push(input.clone());
            report.found.push(input.clone());
        }
        if !limits.blind {
            report.edges = coverage.edges();
        }
        if report.runs.is_multiple_of(256) && told.elapsed().as_secs() >= 20 {
            told = Instant::now();
            tell(&report);
        }
    }
    report
}

/// Processor time of this thread.
fn cpu_s() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_else(|| "a panic".into())
}
