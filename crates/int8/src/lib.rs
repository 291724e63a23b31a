//! Fused int8 operators for convolution networks.
//!
//! A network is described as a [`Graph`] of quantised tensors, built once into a [`Program`] (weights packed for one
//! [`Kernel`], all addresses resolved, one arena planned) and run in a [`State`] (that arena). A run allocates nothing.
//!
//! ```
//! use int8::{Activation, Graph, Kernel, Quant, Shape, Weights, Window};
//!
//! let mut graph = Graph::new();
//! let image = graph.input("image", Shape::new(4, 4, 3), Quant { scale: 1.0 / 255.0, zero_point: 0 })?;
//! let weights = Weights { out_channels: 2, groups: 1, values: vec![1; 2 * 3 * 3 * 3], scales: vec![0.1; 2], bias: vec![0; 2] };
//! let out = graph.conv("stem", image, Window::square(3, 1, 1), weights, Quant { scale: 0.05, zero_point: 0 }, Activation::Relu)?;
//! graph.output(out);
//!
//! let program = std::sync::Arc::new(graph.build(Kernel::best())?);
//! let mut state = program.state();
//! state.input_mut(0).fill_pixels(|_y, _x, pixel| pixel.fill(255));
//! state.run();
//! assert_eq!(state.output(0).dequantised().len(), 4 * 4 * 2);
//! # Ok::<(), int8::Error>(())
//! ```
//!
//! Numbers: activations are u8 with one scale and zero point a tensor; weights are i8 with a scale an output channel and
//! no zero point; accumulators are i32. [`arith`] defines the rounding exactly, [`reference`](mod@reference) states it a
//! second time as a plain evaluation of a graph, and every [`Kernel`] gives the reference's bits.
//!
//! Layout: height, width, channels, with the channels padded to a multiple of four (one VNNI or SDOT operand) and a ring
//! of zero-point pixels round the map as wide as its readers' padding, so that a convolution reads contiguous row
//! pieces and never tests a border.

mod arena;
pub mod arith;
mod call;
mod error;
mod fuse;
mod geometry;
mod graph;
mod kernel;
mod lower;
mod op;
mod pack;
mod plan;
mod program;
pub mod reference;
mod step;
mod tensor;
mod window;

pub use error::Error;
pub use graph::Graph;
pub use kernel::Kernel;
pub use op::{Activation, Weights};
pub use program::{InputMut, Output, Program, State, StepInfo};
pub use tensor::{Quant, Shape, Tensor};
pub use window::{Pads, Window};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadMe;
