//! Filters that see the future: bounds that no causal filter need reach.

use pose::JOINTS;

use super::{Answers, ClipSet, families::at_capture};

/// A Gaussian of `sigma` frames over the frames where the joint was seen.
pub(super) fn gaussian(set: &ClipSet, sigma: f64) -> Answers {
    weighted(set, (4.0 * sigma).ceil() as i64, |k, _| (-0.5 * (k as f64 / sigma).powi(2)).exp())
}

/// Savitzky and Golay's quadratic over `2 half + 1` frames; at a clip's ends a shorter window of the same kind.
pub(super) fn savitzky_golay(set: &ClipSet, half: i64) -> Answers {
    weighted(set, half, |k, half| {
        let (k, h) = (k as f64, half as f64);
        3.0 * (3.0 * h * h + 3.0 * h - 1.0 - 5.0 * k * k)
            / ((2.0 * h - 1.0) * (2.0 * h + 1.0) * (2.0 * h + 3.0))
    })
}

/// Means of the held observation over a window that stays symmetric at the ends; `weight(offset, half width)`.
fn weighted(set: &ClipSet, half: i64, weight: impl Fn(i64, i64) -> f64) -> Answers {
    set.clips
        .iter()
        .map(|clip| {
            let n = clip.observed.len();
            let mut held: Vec<[[f64; 2]; JOINTS]> = Vec::with_capacity(n);
            for t in 0..n {
                held.push(std::array::from_fn(|j| {
                    let [x, y, _] = clip.observed[t][j];
                    if clip.seen(t, j) || t == 0 { [x, y] } else { held[t - 1][j] }
                }));
            }
            (0..n)
                .map(|t| {
                    let reach = half.min(t as i64).min((n - 1 - t) as i64);
                    let mut sum = [[0.0; 2]; JOINTS];
                    let mut total = 0.0;
                    for k in -reach..=reach {
                        let w = if reach == 0 { 1.0 } else { weight(k, reach) };
                        total += w;
                        for (s, p) in sum.iter_mut().zip(&held[(t as i64 + k) as usize]) {
                            *s = [s[0] + w * p[0], s[1] + w * p[1]];
                        }
                    }
                    at_capture(clip.captured_at_us[t], sum.map(|s| s.map(|v| v / total)))
                })
                .collect()
        })
        .collect()
}

/// Labels smoothed by a Gaussian over the frames where they are known.
pub(super) fn smooth_truth(
    truth: &[[Option<[f64; 2]>; JOINTS]],
    sigma: f64,
) -> Vec<[Option<[f64; 2]>; JOINTS]> {
    let reach = (3.0 * sigma).ceil() as usize;
    (0..truth.len())
        .map(|t| {
            std::array::from_fn(|j| {
                truth[t][j]?;
                let (mut sum, mut total) = ([0.0; 2], 0.0);
                let last = (t + reach).min(truth.len() - 1);
                for (s, frame) in truth.iter().enumerate().take(last + 1).skip(t.saturating_sub(reach)) {
                    if let Some(p) = frame[j] {
                        let w = (-0.5 * ((s as f64 - t as f64) / sigma).powi(2)).exp();
                        sum = [sum[0] + w * p[0], sum[1] + w * p[1]];
                        total += w;
                    }
                }
                Some(sum.map(|v| v / total))
            })
        })
        .collect()
}
