//! Which engine runs a network: the quantised one, or tract in f32.

use std::sync::Arc;
use std::time::Instant;

use int8::Kernel;
use tract_onnx::pb;
use tract_onnx::prelude::DatumType;

use super::joined::JoinedPlan;
use super::quantised::{self, Int8Plan, Refusal, Rest};
use super::tract::{self, TractPlan};
use super::{InferError, Manifest, Plan};

/// Which engine to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The fused int8 operators as far as they do a quantised network, from the picture on, and tract for the rest; tract in f32 where
    /// this CPU has only the portable kernel, which is slower than that.
    #[default]
    Auto,
    /// The fused int8 operators with this kernel (`None`: the best of this CPU), or an error that names the operator they lack.
    Int8(Option<Kernel>),
    /// tract, activations in f32 even where the file quantises them.
    F32,
    /// tract, the file as it is: what a quantised network costs without operators of its own.
    Tract,
}

impl std::str::FromStr for Engine {
    type Err = String;

    /// `auto`, `f32`, `tract`, `int8`, or `int8:KERNEL`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Self::Auto),
            None if text == "f32" => Ok(Self::F32),
            None if text == "tract" => Ok(Self::Tract),
            None if text == "int8" => Ok(Self::Int8(None)),
            Some(("int8", kernel)) => {
                kernel.parse().map(|k| Self::Int8(Some(k))).map_err(|e: int8::Error| e.to_string())
            }
            _ => Err(format!("engine {text:?} is not known: auto, f32, tract, int8 or int8:KERNEL")),
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::F32 => f.write_str("f32"),
            Self::Tract => f.write_str("tract"),
            Self::Int8(None) => f.write_str("int8"),
            Self::Int8(Some(kernel)) => write!(f, "int8:{kernel}"),
        }
    }
}

/// Makes a network ready to run on one engine.
///
/// # Errors
/// [`InferError::Model`] naming the file and the tensor or operator at fault.
pub fn load_with(manifest: &Manifest, onnx: &[u8], engine: Engine) -> Result<Arc<dyn Plan>, InferError> {
    manifest.verify(onnx)?;
    let refuse = |reason: String| InferError::model(&manifest.file, reason);
    let mut model = tract::read(&manifest.file, onnx)?;
    let is_quantised = model.graph.as_ref().is_some_and(quantised::is_quantised);
    match engine {
        Engine::F32 | Engine::Auto if is_quantised && is_better_in_f32(engine) => {
            quantised::without_quantised_activations(&mut model).map_err(refuse)?;
            let note = (engine == Engine::Auto).then(|| "this processor has no int8 kernels".to_owned());
            Ok(Arc::new(TractPlan::new(manifest, model, note)?))
        }
        Engine::Auto if is_quantised => match int8_plan(manifest, &model, Kernel::best()) {
            Ok((plan, None)) => Ok(Arc::new(plan)),
            Ok((plan, Some(rest))) => Ok(Arc::new(JoinedPlan::new(manifest, plan, rest, &model)?)),
            Err(Refusal::Broken(reason)) => Err(refuse(reason)),
            Err(Refusal::NotUnderstood(reason)) => {
                let note = format!("runs through tract, slower than the int8 operators, because of {reason}");
                Ok(Arc::new(TractPlan::new(manifest, model, Some(note))?))
            }
        },
        Engine::Int8(kernel) => match int8_plan(manifest, &model, kernel.unwrap_or_else(Kernel::best)) {
            Ok((plan, None)) => Ok(Arc::new(plan)),
            Ok((_, Some(Rest { reason, .. })))
            | Err(Refusal::Broken(reason) | Refusal::NotUnderstood(reason)) => Err(refuse(reason)),
        },
        Engine::F32 | Engine::Tract | Engine::Auto => Ok(Arc::new(TractPlan::new(manifest, model, None)?)),
    }
}

/// `models NAME --fastest`, on an Intel Xeon: 49 ms in f32, 86 ms with the portable kernel, 1.3 ms with AVX-512-VNNI.
fn is_better_in_f32(engine: Engine) -> bool {
    engine == Engine::F32 || Kernel::best() == Kernel::Portable
}

fn int8_plan(
    manifest: &Manifest,
    model: &pb::ModelProto,
    kernel: Kernel,
) -> Result<(Int8Plan, Option<Rest>), Refusal> {
    let Some(graph) = model.graph.as_ref() else {
        return Err(Refusal::Broken("the ONNX file holds no graph".into()));
    };
    let input_type = tract::check_input(graph, &manifest.input).map_err(Refusal::Broken)?;
    let mut input = manifest.input.clone();
    if input_type != DatumType::F32 {
        // Whole numbers are the pixels as they are.
        (input.range, input.mean, input.std) = ([0.0, 255.0], [0.0; 3], [1.0; 3]);
    }
    Int8Plan::new(&manifest.name, &input, graph, kernel)
}

/// Why a network runs on the engine that it runs on, where `asked` was asked for; for people.
pub fn reason(asked: Engine, plan: &dyn Plan) -> String {
    match (asked, plan.reason()) {
        (Engine::Auto, Some(reason)) => reason.to_owned(),
        (Engine::Auto, None) if plan.engine().starts_with("int8") => {
            "this processor has int8 kernels".to_owned()
        }
        (Engine::Auto, None) => "the network is not quantised".to_owned(),
        (asked, _) => format!("--engine {asked}"),
    }
}

/// Runs of each engine of which the fastest counts.
const TIMED_RUNS: usize = 4;

/// Times the quantised network against the same network in f32 and says which is the faster here, for people.
///
/// # Errors
/// As [`load_with`].
pub fn fastest(manifest: &Manifest, onnx: &[u8]) -> Result<String, InferError> {
    // With the portable kernel too, which nothing but this takes unasked; `auto` where int8 alone cannot.
    let (asked, part, quantised) = match load_with(manifest, onnx, Engine::Int8(None)) {
        Ok(plan) => (Engine::Int8(None), "int8", plan),
        Err(_) => (Engine::Auto, "int8 and tract", load_with(manifest, onnx, Engine::Auto)?),
    };
    if !quantised.engine().starts_with("int8") {
        return Ok(format!("{}: {}, the only one there is", manifest.name, quantised.engine()));
    }
    let real = load_with(manifest, onnx, Engine::F32)?;
    let (int8_us, f32_us) = (fastest_run_us(&*quantised)?, fastest_run_us(&*real)?);
    let (plan, engine) = if int8_us <= f32_us { (quantised, asked) } else { (real, Engine::F32) };
    Ok(format!(
        "{}: {} ({int8_us} us in {part}, {f32_us} us in f32): --engine {engine} takes it",
        manifest.name,
        plan.engine()
    ))
}

fn fastest_run_us(plan: &dyn Plan) -> Result<u64, InferError> {
    let mut state = plan.state(1)?;
    let mut best = u64::MAX;
    for _ in 0..TIMED_RUNS {
        let start = Instant::now();
        state.run(1)?;
        best = best.min(start.elapsed().as_micros() as u64);
    }
    Ok(best)
}
