//! A quantised network whose last part the int8 operators do not do: they run as far as they can, tract runs the rest.

use std::sync::Arc;

use tract_onnx::pb;
use tract_onnx::prelude::*;

use super::quantised::{Int8Plan, Rest};
use super::tract::{self, Tail};
use super::{InferError, LayerReport, Manifest, OutputInfo, Plan, State};
use crate::picture::PixelsMut;
use crate::reason::Reason;
use crate::telemetry::alloc;

/// The two parts as one network.
pub(super) struct JoinedPlan {
    model: String,
    engine: String,
    head: Int8Plan,
    tail: Arc<Tail>,
    outputs: Vec<OutputInfo>,
    reason: String,
}

impl JoinedPlan {
    /// `model` is the whole file.
    ///
    /// # Errors
    /// [`InferError::Model`] where tract cannot do the rest.
    pub(super) fn new(
        manifest: &Manifest,
        head: Int8Plan,
        rest: Rest,
        model: &pb::ModelProto,
    ) -> Result<Self, InferError> {
        let Rest { graph, reason } = rest;
        let count = graph.node.len();
        let tail = Tail::new(&manifest.file, pb::ModelProto { graph: Some(graph), ..model.clone() })?;
        // In the file's order, whichever part gives them; what only the tail reads is no output.
        let file = model.graph.iter().flat_map(|g| &g.output);
        let of = |name: &str| tail.outputs.iter().chain(head.outputs()).find(|o| o.name == *name).cloned();
        let outputs: Vec<OutputInfo> = file.filter_map(|o| of(&o.name)).collect();
        Ok(Self {
            model: manifest.name.clone(),
            engine: format!("{} + tract f32", head.engine()),
            reason: format!("its last {count} operators run through tract, from {reason} on"),
            tail: Arc::new(tail),
            head,
            outputs,
        })
    }
}

impl Plan for JoinedPlan {
    fn engine(&self) -> &str {
        &self.engine
    }

    fn outputs(&self) -> &[OutputInfo] {
        &self.outputs
    }

    fn reason(&self) -> Option<&str> {
        Some(&self.reason)
    }

    /// The int8 part's layers; tract does not tell its own.
    fn explain(&self) -> Vec<LayerReport> {
        self.head.explain()
    }

    fn state(&self, batch: usize) -> Result<Box<dyn State>, InferError> {
        let failed = |e: TractError| InferError::run(&self.model, Reason::of(e));
        Ok(Box::new(JoinedState {
            model: self.model.clone(),
            head: self.head.state(batch)?,
            running: self.tail.runnable.spawn().map_err(failed)?,
            inputs: self.tail.empty_inputs().map_err(failed)?,
            tail: self.tail.clone(),
            results: vec![TVec::new(); batch.max(1)],
        }))
    }
}

struct JoinedState {
    model: String,
    head: Box<dyn State>,
    tail: Arc<Tail>,
    running: TypedSimpleState,
    inputs: Vec<Arc<Tensor>>,
    /// The tail's outputs, one a batch element.
    results: Vec<TVec<TValue>>,
}

impl JoinedState {
    fn run_tail(&mut self, i: usize) -> TractResult<()> {
        self.results[i].clear();
        for (tensor, info) in self.inputs.iter_mut().zip(&self.tail.inputs) {
            let (values, _) = self.head.output(i, &info.name)?;
            Arc::make_mut(tensor).try_as_plain_ram_mut()?.as_slice_mut::<f32>()?.copy_from_slice(values);
        }
        let inputs = self.inputs.iter().map(|t| TValue::from_const(t.clone())).collect();
        self.results[i] = tract::as_f32(self.running.run(inputs)?)?;
        Ok(())
    }
}

impl State for JoinedState {
    fn input_mut(&mut self, i: usize) -> PixelsMut<'_> {
        self.head.input_mut(i)
    }

    fn run(&mut self, n: usize) -> Result<(), InferError> {
        self.head.run(n)?;
        let _engine = alloc::engine_scope();
        (0..n).try_for_each(|i| self.run_tail(i)).map_err(|e| InferError::run(&self.model, Reason::of(e)))
    }

    fn output(&self, i: usize, name: &str) -> Result<(&[f32], &[usize]), InferError> {
        let Some(at) = self.tail.outputs.iter().position(|o| o.name == name) else {
            return self.head.output(i, name);
        };
        let values = self
            .results
            .get(i)
            .and_then(|values| values.get(at))
            .ok_or_else(|| InferError::run(&self.model, format!("output {name:?} was read before a run")))?
            .try_as_plain_ram()
            .and_then(|v| v.as_slice::<f32>())
            .map_err(|e| InferError::run(&self.model, Reason::new(format!("output {name:?}"), e)))?;
        Ok((values, &self.tail.outputs[at].shape))
    }
}
