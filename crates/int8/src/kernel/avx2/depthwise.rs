//! Depthwise convolutions: pairs of two taps side by side for `vpmaddwd`.

use std::arch::x86_64::*;

use super::plain;
use crate::kernel::args::{DepthwiseArgs, Store};
use crate::kernel::depthwise::{MAX_TAPS, offsets, store_block};
use crate::kernel::generic::{self, block, pixel, pixel_mut};
use crate::pack::BLOCK;

/// Two taps of 16 channels, widened to 16 bits, to a `vpmaddwd` each of 8: exact, where `vpmaddubsw` would saturate.
///
/// # Safety
/// See [`Functions`](crate::kernel::Functions).
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn depthwise(a: &DepthwiseArgs<'_>) {
    let (padded, pairs) = (a.start.len(), a.taps.len().div_ceil(2));
    if a.taps.len() > MAX_TAPS {
        // SAFETY: the caller's promise.
        return unsafe { generic::depthwise(a) };
    }
    let offsets = offsets(a.taps);
    for first in (0..padded).step_by(BLOCK) {
        let mut weights = [_mm256_setzero_si256(); MAX_TAPS];
        for (tap, row) in weights.iter_mut().zip(a.weights.chunks_exact(padded)) {
            let row = block(row, first);
            // SAFETY: sixteen weights.
            *tap = _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(row.as_ptr().cast()) });
        }
        for pair in weights.as_chunks_mut::<2>().0 {
            *pair = interleave_256(*pair);
        }
        for y in 0..a.rows {
            for x in 0..a.columns {
                // SAFETY: pixels of the output grid, and the inputs under them, are inside (checked when lowered); a
                // block may be read SLACK bytes past a tap's pixel; `start` holds whole blocks.
                unsafe {
                    let (input, out) = (pixel(a.input, y, x).add(first), pixel_mut(a.out, y, x));
                    let mut acc = [_mm256_setzero_si256(); 2];
                    for pair in 0..pairs {
                        let mut taps = [_mm256_setzero_si256(); 2];
                        for (i, tap) in taps.iter_mut().enumerate() {
                            let at = input.offset(offsets[2 * pair + i]);
                            *tap = _mm256_cvtepu8_epi16(_mm_loadu_si128(at.cast()));
                        }
                        let taps = interleave_256(taps);
                        for i in 0..2 {
                            let products = _mm256_madd_epi16(taps[i], weights[2 * pair + i]);
                            acc[i] = _mm256_add_epi32(acc[i], products);
                        }
                    }
                    // Lanes hold channels 0 to 3 and 8 to 11, 4 to 7 and 12 to 15.
                    let [even, odd] = acc;
                    let start = a.start.as_ptr().add(first);
                    let low = _mm256_permute2x128_si256::<0x20>(even, odd);
                    let low = _mm256_add_epi32(low, _mm256_loadu_si256(start.cast()));
                    let high = _mm256_permute2x128_si256::<0x31>(even, odd);
                    let high = _mm256_add_epi32(high, _mm256_loadu_si256(start.add(8).cast()));
                    if let Store::U8 { zero_point, lo, hi } = a.store
                        && a.channels - first >= BLOCK
                    {
                        let multipliers = block(a.multipliers, first);
                        plain::store_u8(&[[low, high]], multipliers, (zero_point, lo, hi), out.add(first), 0);
                        continue;
                    }
                    let mut sums = [0; BLOCK];
                    _mm256_storeu_si256(sums.as_mut_ptr().cast(), low);
                    _mm256_storeu_si256(sums.as_mut_ptr().add(8).cast(), high);
                    store_block(a, &sums, first, out);
                }
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn interleave_256([a, b]: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]
}
