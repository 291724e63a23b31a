//! What the names of a QDQ graph stand for on the way to an int8 graph, and why the way can end.

use int8::{Activation, Tensor, Weights, Window};

use math::logistic;

/// Why a graph does not become an int8 program.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::infer) enum Refusal {
    /// A sound graph with something that the int8 operators do not do; another engine may run it.
    NotUnderstood(String),
    /// Nobody should run it.
    Broken(String),
}

impl From<int8::Error> for Refusal {
    fn from(error: int8::Error) -> Self {
        match &error {
            int8::Error::Unsupported { .. } | int8::Error::KernelUnavailable { .. } => {
                Refusal::NotUnderstood(error.to_string())
            }
            int8::Error::BadScale { .. }
            | int8::Error::BadShape { .. }
            | int8::Error::Overflow { .. }
            | int8::Error::BadGraph(_) => Refusal::Broken(error.to_string()),
        }
    }
}

pub(super) fn unknown<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::NotUnderstood(reason.into()))
}

pub(super) fn broken(reason: impl Into<String>) -> Refusal {
    Refusal::Broken(reason.into())
}

/// What a name of the graph stands for.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// The picture, before it is quantised.
    Picture,
    /// A u8 tensor's codes.
    Codes(Tensor),
    /// What those codes mean.
    Real(Tensor),
    /// i8 weights times their scales.
    Weights { values: Vec<i8>, dims: Vec<usize>, scales: Vec<f32>, axis: usize },
    /// A bias: whole steps of the scales, or real values.
    Bias { values: Vec<i32>, scales: Vec<f32> },
    /// An operator that waits for the quantisation of its result.
    Pending(Pending),
    /// A result that is never quantised, in f32.
    Float(Tensor),
    /// A result of an operator left to another engine.
    Foreign,
}

#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub name: String,
    pub op: Waiting,
    pub activation: Activation,
}

#[derive(Debug, Clone)]
pub(super) enum Waiting {
    Conv {
        input: Tensor,
        window: Window,
        weights: Weights,
    },
    ConvTranspose {
        input: Tensor,
        window: Window,
        extra: [usize; 2],
        weights: Weights,
    },
    Add(Tensor, Tensor),
    Concat(Vec<Tensor>),
    AveragePool {
        input: Tensor,
        window: Window,
        count_pads: bool,
    },
    /// A function of one value.
    Unary {
        input: Tensor,
        function: Unary,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Unary {
    Identity,
    Sigmoid,
    HardSigmoid { alpha: f32, beta: f32 },
    HardSwish,
    Tanh,
    LeakyRelu { alpha: f32 },
}

impl Unary {
    pub fn of(self, x: f32) -> f32 {
        match self {
            Unary::Identity => x,
            Unary::Sigmoid => logistic(x),
            Unary::HardSigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
            Unary::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
            Unary::Tanh => x.tanh(),
            Unary::LeakyRelu { alpha } => {
                if x < 0.0 {
                    alpha * x
                } else {
                    x
                }
            }
        }
    }
}

/// The least and the largest value that `activation` lets through.
pub(super) fn limits(activation: &Activation) -> (f32, f32) {
    match activation {
        Activation::Relu => (0.0, f32::MAX),
        Activation::Clip { lo, hi } => (*lo, *hi),
        Activation::None | Activation::Table(_) => (f32::MIN, f32::MAX),
    }
}
