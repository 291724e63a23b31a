//! Networks: the only place that names an inference engine.
//!
//! A [`Plan`] is a loaded, optimised network, shared between threads by `Arc`; a [`State`] is what one thread needs to
//! run it. Input pixels are written straight into the state's own buffer, outputs are read from it: a run allocates
//! nothing of ours.

mod choice;
mod joined;
mod manifest;
mod presence;
mod quantised;
mod tract;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::picture::PixelsMut;
use crate::reason::Reason;

pub use choice::{Engine, fastest, load_with, reason};
pub use manifest::{
    Activation, CentreSpec, Codec, Color, FastestdetSpec, HeatmapSpec, InputSpec, Layout, Letterbox,
    Manifest, MovenetSpec, Origin, Refine, RoiSpec, ScoreFit, SigmaFit, SimccSpec, Task, YoloSpec,
};
pub(crate) use manifest::{check_file, verify_sum};
pub use presence::WithPresence;

/// Why a network cannot be loaded or run.
#[derive(Debug)]
pub enum InferError {
    /// The file cannot be read as a network; the text names the operator, tensor or byte at fault.
    Model {
        /// The model's name or path.
        model: String,
        /// What is wrong and what to do.
        reason: Reason,
    },
    /// The engine failed while running.
    Run {
        /// The model's name or path.
        model: String,
        /// What the engine said.
        reason: Reason,
    },
}

impl fmt::Display for InferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Model { reason, .. } | Self::Run { reason, .. }) = self;
        match self {
            Self::Model { model, .. } => write!(f, "model {model}: ")?,
            Self::Run { model, .. } => write!(f, "model {model}: inference failed: ")?,
        }
        reason.fmt(f)
    }
}

impl Error for InferError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let (Self::Model { reason, .. } | Self::Run { reason, .. }) = self;
        reason.source()
    }
}

impl InferError {
    pub(crate) fn model(model: impl Into<String>, reason: impl Into<Reason>) -> Self {
        Self::Model { model: model.into(), reason: reason.into() }
    }

    pub(crate) fn run(model: impl Into<String>, reason: impl Into<Reason>) -> Self {
        Self::Run { model: model.into(), reason: reason.into() }
    }
}

/// Refuses to run more pictures than a state was made for.
fn check_batch(model: &str, pictures: usize, batch: usize) -> Result<(), InferError> {
    if pictures <= batch {
        return Ok(());
    }
    Err(InferError::run(model, format!("{pictures} pictures for a state of {batch}")))
}

/// An output that a network gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputInfo {
    /// The tensor's name in the graph.
    pub name: String,
    /// Without the batch axis.
    pub shape: Vec<usize>,
}

/// One operator of a network as it runs, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerReport {
    /// The operator's name in the file.
    pub name: String,
    /// What it does, fused neighbours included.
    pub operator: &'static str,
    /// The instructions that do it.
    pub kernel: &'static str,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Fastest of a few runs.
    pub nanos: u64,
}

/// Makes a network ready to run: checks `onnx` against the manifest (sum, input, shapes), optimises it for
/// [`Engine::Auto`].
///
/// # Errors
/// [`InferError::Model`] naming the file and the tensor or operator at fault.
pub fn load(manifest: &Manifest, onnx: &[u8]) -> Result<Arc<dyn Plan>, InferError> {
    load_with(manifest, onnx, Engine::Auto)
}

/// A loaded network, ready to be run from any thread.
pub trait Plan: Send + Sync {
    /// The engine and the kernels it chose, for people: `int8 avx512-vnni`, `tract f32`.
    fn engine(&self) -> &str;
    /// The outputs, in the graph's order.
    fn outputs(&self) -> &[OutputInfo];
    /// Why not all of it runs through the int8 operators, where it is quantised and they were asked first; for people.
    fn reason(&self) -> Option<&str> {
        None
    }
    /// What was changed to make the file load, for people.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// Runs the network on a blank picture and reports its layers; empty where the engine does not tell.
    fn explain(&self) -> Vec<LayerReport> {
        Vec::new()
    }
    /// What one thread needs; `batch` pictures a run at most.
    ///
    /// # Errors
    /// [`InferError::Run`] where the engine cannot make it.
    fn state(&self, batch: usize) -> Result<Box<dyn State>, InferError>;
}

/// One thread's buffers for a [`Plan`].
pub trait State: Send {
    /// The picture input of batch element `i`: interleaved RGB, or RGB and a fourth byte that is ignored where the kernels
    /// want padded pixels.
    ///
    /// # Panics
    /// If the state was made for fewer pictures.
    fn input_mut(&mut self, i: usize) -> PixelsMut<'_>;
    /// Runs the network over the first `n` inputs.
    ///
    /// # Errors
    /// [`InferError::Run`] where the engine fails, or the state was made for fewer pictures.
    fn run(&mut self, n: usize) -> Result<(), InferError>;
    /// Output `name` of batch element `i`: row-major values and their shape without the batch axis.
    ///
    /// # Errors
    /// [`InferError::Run`] where the network has no such output, or the batch no such element.
    fn output(&self, i: usize, name: &str) -> Result<(&[f32], &[usize]), InferError>;
}
