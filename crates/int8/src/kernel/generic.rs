//! Bodies that the compiler vectorises for whatever features their caller enables.
//!
//! Each is inlined into one wrapper a kernel (see [`wrap_generic`]), so the bits cannot differ.

#![allow(
    clippy::needless_range_loop,
    reason = "several arrays share an index, and constant bounds are what vectorises"
)]

use super::args::{
    AddArgs, AverageArgs, DepthwiseArgs, InnerSum, Map, MapMut, MaxArgs, Span, Store, TableArgs, UpsampleArgs,
};
use crate::arith;
use crate::pack::BLOCK;

/// Pointer to a pixel.
///
/// # Safety
/// The pixel lies inside the map's arena.
#[inline(always)]
pub(crate) unsafe fn pixel(map: Map, y: usize, x: usize) -> *const u8 {
    // SAFETY: the caller's promise.
    unsafe { map.at.add(y * map.row + x * map.pixel) }
}

/// Pointer to a pixel.
///
/// # Safety
/// As [`pixel`].
#[inline(always)]
pub(crate) unsafe fn pixel_mut(map: MapMut, y: usize, x: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { map.at.add(y * map.row + x * map.pixel) }
}

/// Stores the first `count` of a block's accumulators; `out` and `other` are at the pixel's first channel of the block.
///
/// Works on whole blocks of constant length, because that is what the compiler turns into vectors.
///
/// # Safety
/// `count` values fit at `out`; for a sum, a block and SLACK bytes can be read at `other`.
#[inline(always)]
pub(crate) unsafe fn store(
    store: &Store,
    acc: &[i32; BLOCK],
    multipliers: &[f32; BLOCK],
    count: usize,
    out: *mut u8,
    other: *const u8,
) {
    let mut bytes = [0u8; BLOCK];
    match *store {
        Store::U8 { zero_point, lo, hi } => {
            for i in 0..BLOCK {
                bytes[i] = arith::requantise(acc[i], multipliers[i], zero_point, lo, hi);
            }
        }
        Store::Sum { ref sum, .. } => {
            // SAFETY: the caller's promise.
            let other = unsafe { &*other.cast::<[u8; BLOCK]>() };
            let InnerSum { lo, hi, zero, is_first, add } = sum;
            let mut inner = [0f32; BLOCK];
            for i in 0..BLOCK {
                inner[i] = arith::round_even((acc[i] as f32 * multipliers[i]).clamp(*lo, *hi)) + zero;
            }
            for i in 0..BLOCK {
                let other = f32::from(other[i]);
                let (a, b) = if *is_first { (inner[i], other) } else { (other, inner[i]) };
                bytes[i] = arith::add_codes(a, b, add);
            }
        }
        Store::F32 => {
            let mut real = [0f32; BLOCK];
            for i in 0..BLOCK {
                real[i] = acc[i] as f32 * multipliers[i];
            }
            // SAFETY: the caller's promise, in values of four bytes.
            unsafe { std::ptr::copy_nonoverlapping(real.as_ptr().cast::<u8>(), out, 4 * count) }
            return;
        }
    }
    // SAFETY: the caller's promise; the constant length is a single vector store.
    unsafe {
        if count == BLOCK {
            out.cast::<[u8; BLOCK]>().write_unaligned(bytes);
        } else {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), out, count);
        }
    }
}

/// The block of an array by channel that begins at `first`.
#[inline(always)]
pub(crate) fn block<T>(values: &[T], first: usize) -> &[T; BLOCK] {
    values[first..].first_chunk().expect("arrays by channel are whole blocks")
}

/// # Safety
/// See [`super::Functions`].
#[inline(always)]
pub(crate) unsafe fn depthwise(a: &DepthwiseArgs<'_>) {
    let stride = a.start.len();
    let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
    for y in 0..a.rows {
        for x in 0..a.columns {
            // SAFETY: pixels of the output grid, and the inputs under them, are inside (checked when lowered).
            let (input, out) = unsafe { (pixel(a.input, y, x), pixel_mut(a.out, y, x)) };
            for first in (0..a.channels).step_by(BLOCK) {
                let mut acc = *block(a.start, first);
                for (tap, &offset) in a.taps.iter().enumerate() {
                    let weights = block(a.weights, tap * stride + first);
                    // SAFETY: a tap's pixel is inside the ring, and a block may read SLACK bytes past it.
                    let values = unsafe { &*input.offset(offset).add(first).cast::<[u8; BLOCK]>() };
                    for i in 0..BLOCK {
                        // 255 · −128 still fits 16 bits.
                        acc[i] += i32::from(i16::from(values[i]) * i16::from(weights[i]));
                    }
                }
                let count = BLOCK.min(a.channels - first);
                // SAFETY: `count` channels from `first` are the pixel's own.
                unsafe {
                    let out = out.add(first * value);
                    store(&a.store, &acc, block(a.multipliers, first), count, out, std::ptr::null());
                }
            }
        }
    }
}

/// # Safety
/// See [`super::Functions`].
#[inline(always)]
pub(crate) unsafe fn add(args: &AddArgs) {
    for y in 0..args.rows {
        for x in 0..args.columns {
            for first in (0..args.channels).step_by(BLOCK) {
                // SAFETY: a block of a pixel inside each map, which may be read SLACK bytes past its end; only the
                // pixel's own channels are written.
                unsafe {
                    let a = pixel(args.a, y, x).add(first).cast::<[u8; BLOCK]>().read_unaligned();
                    let b = pixel(args.b, y, x).add(first).cast::<[u8; BLOCK]>().read_unaligned();
                    let mut bytes = [0u8; BLOCK];
                    for i in 0..BLOCK {
                        bytes[i] = arith::add(a[i], b[i], &args.params);
                    }
                    let count = BLOCK.min(args.channels - first);
                    std::ptr::copy_nonoverlapping(
                        bytes.as_ptr(),
                        pixel_mut(args.out, y, x).add(first),
                        count,
                    );
                }
            }
        }
    }
}

/// # Safety
/// See [`super::Functions`].
#[inline(always)]
pub(crate) unsafe fn max_pool(a: &MaxArgs) {
    let w = &a.window;
    for y in 0..a.rows {
        let rows = Span::of(y, w.kernel[0], w.stride[0], w.pad[0], w.size[0]);
        for x in 0..a.columns {
            let columns = Span::of(x, w.kernel[1], w.stride[1], w.pad[1], w.size[1]);
            // SAFETY: `channels` bytes of a pixel inside the map; inputs and output share no byte.
            let out = unsafe { std::slice::from_raw_parts_mut(pixel_mut(a.out, y, x), a.channels) };
            out.fill(0);
            for row in rows.first..rows.first + rows.count {
                for column in columns.first..columns.first + columns.count {
                    // SAFETY: the span keeps the pixel inside the map.
                    let seen = unsafe { std::slice::from_raw_parts(pixel(a.input, row, column), a.channels) };
                    for (out, &q) in out.iter_mut().zip(seen) {
                        *out = (*out).max(q);
                    }
                }
            }
        }
    }
}

/// # Safety
/// See [`super::Functions`].
#[inline(always)]
pub(crate) unsafe fn average_pool(args: &AverageArgs<'_>) {
    let (a, w) = (&args.pool, &args.pool.window);
    for y in 0..a.rows {
        let rows = Span::of(y, w.kernel[0], w.stride[0], w.pad[0], w.size[0]);
        for x in 0..a.columns {
            let columns = Span::of(x, w.kernel[1], w.stride[1], w.pad[1], w.size[1]);
            let seen = rows.count * columns.count;
            let multiplier = args.multipliers[seen];
            for first in (0..a.channels).step_by(BLOCK) {
                let mut sums = [-(seen as i32) * i32::from(args.in_zero); BLOCK];
                for row in rows.first..rows.first + rows.count {
                    for column in columns.first..columns.first + columns.count {
                        // SAFETY: the span keeps the pixel inside the map; a block may read SLACK bytes past it.
                        let values =
                            unsafe { &*pixel(a.input, row, column).add(first).cast::<[u8; BLOCK]>() };
                        for (sum, &q) in sums.iter_mut().zip(values) {
                            *sum += i32::from(q);
                        }
                    }
                }
                let count = BLOCK.min(a.channels - first);
                // SAFETY: `count` channels from `first` are the pixel's own.
                let out = unsafe { std::slice::from_raw_parts_mut(pixel_mut(a.out, y, x).add(first), count) };
                for (out, &sum) in out.iter_mut().zip(&sums) {
                    *out = arith::requantise(sum, multiplier, args.out_zero, 0, 255);
                }
            }
        }
    }
}

/// # Safety
/// See [`super::Functions`].
#[inline(always)]
pub(crate) unsafe fn table(a: &TableArgs<'_>) {
    for y in 0..a.rows {
        for x in 0..a.columns {
            // SAFETY: `channels` bytes of a pixel inside each map; the maps share bytes only where they are the same,
            // and then each value is read before it is written.
            unsafe {
                let (input, out) = (pixel(a.input, y, x), pixel_mut(a.out, y, x));
                match a.table {
                    Some(table) => {
                        (0..a.channels).for_each(|c| *out.add(c) = table[usize::from(*input.add(c))])
                    }
                    None => std::ptr::copy_nonoverlapping(input, out, a.channels),
                }
            }
        }
    }
}

/// # Safety
/// See [`super::Functions`].
#[inline(always)]
pub(crate) unsafe fn upsample(a: &UpsampleArgs) {
    for y in 0..a.rows {
        for x in 0..a.columns {
            for repeat in 0..a.factor[1] {
                // SAFETY: a pixel of the input, and one of its copies in the output; they share no byte.
                unsafe {
                    let out = pixel_mut(a.out, y * a.factor[0], x * a.factor[1] + repeat);
                    std::ptr::copy_nonoverlapping(pixel(a.input, y, x), out, a.bytes);
                }
            }
        }
        for repeat in 1..a.factor[0] {
            // SAFETY: two whole rows of the output.
            unsafe {
                let first = pixel_mut(a.out, y * a.factor[0], 0);
                let copy = pixel_mut(a.out, y * a.factor[0] + repeat, 0);
                std::ptr::copy_nonoverlapping(first, copy, a.columns * a.factor[1] * a.out.pixel);
            }
        }
    }
}

/// Wrappers of the generic bodies with CPU features enabled.
macro_rules! wrap_generic {
    ($($(#[$feature:meta])* fn $name:ident($args:ty);)*) => {
        $(
            $(#[$feature])*
            unsafe fn $name(args: &$args) {
                // SAFETY: the caller of a kernel's function keeps the promises of `Functions`.
                unsafe { $crate::kernel::generic::$name(args) }
            }
        )*
    };
}
pub(crate) use wrap_generic;
