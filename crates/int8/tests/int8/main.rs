//! Every kernel of this CPU against the plain evaluation.

mod operators;
mod programs;
mod refusals;
mod support;
