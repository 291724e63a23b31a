//! Counts allocations by thread, and tells Posewire's own from those of tract, which allocates at every call.
//!
//! A program that wants the counts installs [`Counting`] as its global allocator; elsewhere every count stays 0.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);

thread_local! {
    // Constant and without a destructor: reading them inside the allocator neither allocates nor fails.
    static MADE: Cell<Allocations> = const { Cell::new(Allocations { own: 0, engine: 0 }) };
    static IN_ENGINE: Cell<bool> = const { Cell::new(false) };
}

/// Allocations (and re-allocations) by who made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Posewire's own code and what it calls.
    pub own: u64,
    /// Inside an [`engine_scope`]: tract's.
    pub engine: u64,
}

impl std::ops::Sub for Allocations {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self { own: self.own - earlier.own, engine: self.engine - earlier.engine }
    }
}

/// Whether [`Counting`] is this program's allocator.
pub fn is_counting() -> bool {
    IS_COUNTING.load(Ordering::Relaxed)
}

/// What the calling thread has allocated so far.
pub fn of_this_thread() -> Allocations {
    MADE.get()
}

/// Until the value is dropped, this thread's allocations count as the engine's.
pub fn engine_scope() -> EngineScope {
    EngineScope { was_in_engine: IN_ENGINE.replace(true) }
}

/// See [`engine_scope`].
#[must_use]
pub struct EngineScope {
    was_in_engine: bool,
}

impl Drop for EngineScope {
    fn drop(&mut self) {
        IN_ENGINE.set(self.was_in_engine);
    }
}

/// The system's allocator, counting by thread.
#[derive(Debug)]
pub struct Counting;

fn count_one() {
    if !IS_COUNTING.load(Ordering::Relaxed) {
        IS_COUNTING.store(true, Ordering::Relaxed);
    }
    let mut made = MADE.get();
    if IN_ENGINE.get() {
        made.engine += 1;
    } else {
        made.own += 1;
    }
    MADE.set(made);
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract; counting touches only
// constant-initialised thread-locals and an atomic, so it cannot allocate, unwind or re-enter. There is no safe way to
// implement an allocator, and counting is the measurement itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` through this allocator with `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one();
        // SAFETY: the caller keeps `GlobalAlloc::alloc_zeroed`'s contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count_one();
        // SAFETY: `pointer` came from `System` through this allocator with `layout`; `new_size` is the caller's.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
