//! A built network and the memory of one thread that runs it.

use std::sync::Arc;

use crate::arena::Aligned;
use crate::error::Error;
use crate::geometry::Buffer;
use crate::graph::Graph;
use crate::kernel::Kernel;
use crate::lower;
use crate::step::Step;
use crate::tensor::{Quant, Shape};

/// A network with its weights packed for one kernel. Shared by threads; each needs a [`State`].
#[derive(Debug)]
pub struct Program {
    kernel: Kernel,
    steps: Vec<Step>,
    arena_bytes: usize,
    inputs: Vec<(Buffer, Quant)>,
    /// By input, as [`Buffer::ring_runs`].
    input_rings: Vec<Vec<(usize, usize)>>,
    outputs: Vec<(Buffer, Option<Quant>)>,
}

/// One step of a program, for tables and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepInfo<'a> {
    /// The name given to the operator.
    pub name: &'a str,
    /// What it does: `conv`, `conv + sum`, `depthwise`, …
    pub kind: &'static str,
    /// Multiply-accumulates a run.
    pub macs: u64,
}

impl Graph {
    /// Packs the weights for `kernel` and plans the memory.
    ///
    /// # Errors
    /// A kernel that this CPU cannot run; a graph without input or output.
    pub fn build(&self, kernel: Kernel) -> Result<Program, Error> {
        let functions = kernel.require()?;
        let lowered = lower::lower(self, functions)?;
        let buffer = |t: &crate::Tensor| {
            lowered.buffers[t.0].ok_or(Error::BadGraph("has an output that nothing computes"))
        };
        let inputs = self
            .inputs
            .iter()
            .map(|t| Ok((buffer(t)?, self.quant(*t).ok_or(Error::BadGraph("has an f32 input"))?)))
            .collect::<Result<Vec<(Buffer, Quant)>, Error>>()?;
        let input_rings = inputs.iter().map(|(buffer, _)| buffer.ring_runs()).collect();
        let outputs =
            self.outputs.iter().map(|t| Ok((buffer(t)?, self.quant(*t)))).collect::<Result<_, Error>>()?;
        let (steps, arena_bytes) = (lowered.steps, lowered.arena_bytes);
        Ok(Program { kernel, steps, arena_bytes, inputs, input_rings, outputs })
    }
}

impl Program {
    /// The kernel that runs.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The operators in the order in which they run, after fusing.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = StepInfo<'_>> {
        self.steps.iter().map(|s| StepInfo { name: &s.name, kind: s.kind, macs: s.macs })
    }

    /// Bytes of activations that a [`State`] holds.
    pub fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    /// Shape and quantisation of an input.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn input(&self, index: usize) -> (Shape, Quant) {
        let (buffer, quant) = self.inputs[index];
        (buffer.shape, quant)
    }

    /// How many results there are.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Memory to run in. All of it is allocated here.
    pub fn state(self: &Arc<Self>) -> State {
        State { program: Arc::clone(self), arena: Aligned::zeroed(self.arena_bytes) }
    }
}

/// The activations of one thread's runs.
#[derive(Debug, Clone)]
pub struct State {
    program: Arc<Program>,
    arena: Aligned,
}

/// An input to fill: `shape.h` rows of `shape.w` pixels of `pixel` bytes, of which the first `shape.c` count.
///
/// Pixel (y, x) begins at byte y · `row` + x · `pixel`; a row's pixels are contiguous, so a cropper may write RGB0 words.
/// Bytes between the end of a row and the start of the next are padding: whatever is written there is undone by the run.
#[derive(Debug)]
pub struct InputMut<'a> {
    /// From the first byte of pixel (0, 0) to the last byte of the last pixel.
    pub bytes: &'a mut [u8],
    /// Rows, columns, channels.
    pub shape: Shape,
    /// Bytes from row to row.
    pub row: usize,
    /// Bytes from pixel to pixel: the channels rounded up to a multiple of four.
    pub pixel: usize,
    /// What a byte means.
    pub quant: Quant,
}

impl InputMut<'_> {
    /// Row `y`'s pixels, `shape.w` · `pixel` bytes.
    ///
    /// # Panics
    /// If there is no such row.
    fn row_mut(&mut self, y: usize) -> &mut [u8] {
        &mut self.bytes[y * self.row..][..self.shape.w * self.pixel]
    }

    /// Calls `write(y, x, channels)` for every pixel.
    pub fn fill_pixels(&mut self, mut write: impl FnMut(usize, usize, &mut [u8])) {
        let (shape, pixel) = (self.shape, self.pixel);
        for y in 0..shape.h {
            for (x, bytes) in self.row_mut(y).chunks_exact_mut(pixel).enumerate() {
                write(y, x, &mut bytes[..shape.c]);
            }
        }
    }

    /// Copies dense values, channels fastest.
    ///
    /// # Panics
    /// If there are not h·w·c of them.
    pub fn copy_from(&mut self, dense: &[u8]) {
        assert_eq!(dense.len(), self.shape.len(), "values of the input");
        let Shape { w, c, .. } = self.shape;
        self.fill_pixels(|y, x, out| out.copy_from_slice(&dense[(y * w + x) * c..][..c]));
    }
}

/// A result, until the next run. Pixel (y, x) begins at byte y · `row` + x · `pixel`.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// From the first byte of pixel (0, 0) to the last byte of the last pixel.
    pub bytes: &'a [u8],
    /// Rows, columns, channels.
    pub shape: Shape,
    /// Bytes from row to row.
    pub row: usize,
    /// Bytes from pixel to pixel.
    pub pixel: usize,
    /// What a byte means; `None` if the values are native-endian f32.
    pub quant: Option<Quant>,
}

impl<'a> Output<'a> {
    /// A pixel's channels, quantised.
    ///
    /// # Panics
    /// If there is no such pixel or the values are f32.
    pub fn quantised(&self, y: usize, x: usize) -> &'a [u8] {
        assert!(self.quant.is_some(), "this output is f32");
        &self.bytes[y * self.row + x * self.pixel..][..self.shape.c]
    }

    /// A pixel's channels, of an output that is not quantised.
    ///
    /// # Panics
    /// If there is no such pixel or the values are quantised.
    pub fn real(&self, y: usize, x: usize) -> impl Iterator<Item = f32> + use<'a> {
        assert!(self.quant.is_none(), "this output is quantised");
        let values = &self.bytes[y * self.row + x * self.pixel..][..4 * self.shape.c];
        values.as_chunks::<4>().0.iter().map(|v| f32::from_ne_bytes(*v))
    }

    /// Calls `each(index, value)` for all values, index = (y · w + x) · c + channel.
    pub fn for_each(&self, mut each: impl FnMut(usize, f32)) {
        let Shape { h, w, c } = self.shape;
        for y in 0..h {
            for x in 0..w {
                let at = y * self.row + x * self.pixel;
                let first = (y * w + x) * c;
                match self.quant {
                    Some(quant) => {
                        let values = &self.bytes[at..][..c];
                        values.iter().enumerate().for_each(|(i, &q)| each(first + i, quant.dequantise(q)));
                    }
                    None => {
                        let values =
                            self.bytes[at..][..4 * c].chunks_exact(4).map(|v| [v[0], v[1], v[2], v[3]]);
                        values.enumerate().for_each(|(i, v)| each(first + i, f32::from_ne_bytes(v)));
                    }
                }
            }
        }
    }

    /// All values as real numbers, dense, channels outermost, as ONNX orders them.
    ///
    /// # Panics
    /// If `values` is shorter.
    #[inline(never)] // into a caller that is built to be small
    pub fn planes_into(&self, values: &mut [f32]) {
        let Shape { h, w, .. } = self.shape;
        let Some(quant) = self.quant else {
            for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
                let place = y * w + x;
                self.real(y, x)
                    .enumerate()
                    .for_each(|(channel, value)| values[channel * h * w + place] = value);
            }
            return;
        };
        let real: [f32; 256] = std::array::from_fn(|q| quant.dequantise(q as u8));
        for y in 0..h {
            for x in 0..w {
                let place = y * w + x;
                for (channel, &q) in self.quantised(y, x).iter().enumerate() {
                    values[channel * h * w + place] = real[usize::from(q)];
                }
            }
        }
    }

    /// All values as real numbers, dense, channels fastest. Allocates; for each frame use [`Output::for_each`].
    pub fn dequantised(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.shape.len()];
        self.for_each(|i, value| values[i] = value);
        values
    }
}

impl State {
    /// The program that this state belongs to.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// An input to fill before [`State::run`]; it keeps its values between runs.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn input_mut(&mut self, index: usize) -> InputMut<'_> {
        let (buffer, quant) = self.program.inputs[index];
        let (first, len) = extent(&buffer);
        let bytes = &mut self.arena.bytes_mut()[first..][..len];
        InputMut { bytes, shape: buffer.shape, row: buffer.row, pixel: buffer.pixel, quant }
    }

    /// Runs the network once. Allocates nothing.
    pub fn run(&mut self) {
        let program = Arc::clone(&self.program);
        let functions = program.kernel.functions().expect("checked when the program was built");
        self.fill_input_rings(&program);
        for step in &program.steps {
            step.run(functions, self.arena.bytes_mut());
        }
    }

    /// Runs the network once and tells `after(step, time)` what `clock` says after each step.
    pub fn run_with_clock<T>(&mut self, mut clock: impl FnMut() -> T, mut after: impl FnMut(usize, T)) {
        let program = Arc::clone(&self.program);
        let functions = program.kernel.functions().expect("checked when the program was built");
        self.fill_input_rings(&program);
        for (i, step) in program.steps.iter().enumerate() {
            step.run(functions, self.arena.bytes_mut());
            after(i, clock());
        }
    }

    /// Runs several inputs of one program, operator by operator, so that each operator's weights are fetched once.
    ///
    /// # Panics
    /// If the states belong to different programs.
    pub fn run_all(states: &mut [State]) {
        let Some(first) = states.first() else { return };
        let program = Arc::clone(&first.program);
        assert!(states.iter().all(|s| Arc::ptr_eq(&s.program, &program)), "states of one program");
        let functions = program.kernel.functions().expect("checked when the program was built");
        states.iter_mut().for_each(|state| state.fill_input_rings(&program));
        for step in &program.steps {
            for state in states.iter_mut() {
                step.run(functions, state.arena.bytes_mut());
            }
        }
    }

    /// Rings round the inputs lie between the rows that callers write, who may write over them.
    fn fill_input_rings(&mut self, program: &Program) {
        for ((_, quant), runs) in program.inputs.iter().zip(&program.input_rings) {
            for &(at, len) in runs {
                self.arena.bytes_mut()[at..at + len].fill(quant.zero_point);
            }
        }
    }

    /// A result of the last run.
    ///
    /// # Panics
    /// If there is no such result.
    pub fn output(&self, index: usize) -> Output<'_> {
        let (buffer, quant) = self.program.outputs[index];
        let (first, len) = extent(&buffer);
        let bytes = &self.arena.bytes()[first..][..len];
        Output { bytes, shape: buffer.shape, row: buffer.row, pixel: buffer.pixel, quant }
    }
}

/// First byte and length of a buffer's pixels, its rows' borders included.
fn extent(buffer: &Buffer) -> (usize, usize) {
    let Shape { h, w, .. } = buffer.shape;
    (buffer.at(0, 0) as usize, (h - 1) * buffer.row + w * buffer.pixel)
}
