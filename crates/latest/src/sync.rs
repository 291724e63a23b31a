//! What the slot is built from: the standard library's and crossbeam's, or stand-ins that loom drives.

#[cfg(all(test, loom))]
mod model;

#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

#[cfg(not(all(test, loom)))]
pub(crate) use crossbeam_queue::ArrayQueue;
#[cfg(not(all(test, loom)))]
pub(crate) use crossbeam_utils::sync::{Parker, Unparker};

#[cfg(all(test, loom))]
pub(crate) use self::model::{Arc, ArrayQueue, AtomicBool, AtomicU64, Ordering, Parker, Unparker};
