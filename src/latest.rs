//! The newest-wins slot between two threads.
