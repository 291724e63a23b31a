//! What a graph can be refused for.

use crate::Kernel;

/// Why a graph cannot be described or built. Every message names the operator.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A scale is zero, negative, infinite or not a number.
    #[error("{operator}: scale {scale} is not a positive finite number; quantise the network again")]
    BadScale {
        /// The operator that carries it.
        operator: String,
        /// The value found.
        scale: f32,
    },
    /// Lengths, channels or windows that do not fit each other.
    #[error("{operator}: {what}")]
    BadShape {
        /// The operator.
        operator: String,
        /// What does not fit what.
        what: String,
    },
    /// Sound, but not done here, or not at this size: another engine may run it.
    #[error("{operator}: {what}")]
    Unsupported {
        /// The operator.
        operator: String,
        /// What is not done.
        what: String,
    },
    /// A scaled accumulator could leave 32 bits.
    #[error(
        "{operator}: output channel {channel} can overflow 32 bits (|accumulator| up to {bound}, multiplier {multiplier}); \
         its scales do not belong together"
    )]
    Overflow {
        /// The operator.
        operator: String,
        /// The output channel.
        channel: usize,
        /// Largest magnitude that the accumulator can reach.
        bound: i64,
        /// What it is multiplied with.
        multiplier: f32,
    },
    /// The kernel was asked for by name, and this CPU cannot run it, or none is called so.
    #[error("{}", unavailable(kernel, available))]
    KernelUnavailable {
        /// The name asked for.
        kernel: String,
        /// Names that would run.
        available: String,
    },
    /// A graph without inputs or without outputs, or a tensor of another graph.
    #[error("the graph {0}")]
    BadGraph(&'static str),
}

pub(crate) fn shape_error(operator: &str, what: impl Into<String>) -> Error {
    Error::BadShape { operator: operator.to_owned(), what: what.into() }
}

pub(crate) fn unsupported(operator: &str, what: impl Into<String>) -> Error {
    Error::Unsupported { operator: operator.to_owned(), what: what.into() }
}

pub(crate) fn check_scale(operator: &str, scale: f32) -> Result<(), Error> {
    if scale.is_finite() && scale > 0.0 {
        return Ok(());
    }
    Err(Error::BadScale { operator: operator.to_owned(), scale })
}

fn unavailable(kernel: &str, available: &str) -> String {
    if Kernel::ALL.iter().any(|known| known.name() == kernel) {
        format!("kernel `{kernel}` does not run on this CPU; available: {available}")
    } else {
        format!("there is no kernel `{kernel}`; available on this CPU: {available}")
    }
}
