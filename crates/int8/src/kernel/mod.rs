//! The kernels: one set of functions a CPU feature level, chosen at run time, all giving the same bits.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod args;
#[cfg(all(target_arch = "arm", target_endian = "little"))]
mod arm;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod depthwise;
mod generic;
mod portable;
mod tiles;

pub(crate) use args::{
    AddArgs, AverageArgs, ConvArgs, DepthwiseArgs, InnerSum, Map, MapMut, MaxArgs, PoolWindow, Store,
    TableArgs, UpsampleArgs,
};

use crate::error::Error;
use crate::pack::Matrix;

/// Which instructions do the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Plain Rust for any CPU.
    Portable,
    /// x86-64: AVX2 multiply-add of widened pairs.
    Avx2,
    /// x86-64: 256-bit `vpdpbusd`.
    AvxVnni,
    /// x86-64: 512-bit `vpdpbusd`.
    Avx512Vnni,
    /// AArch64 without dot product (Cortex-A72): `smull`, `smlal`, `sadalp`; 32-bit Arm with NEON: `vmull`, `vmlal`, `vpadal`.
    Neon,
    /// AArch64 with dot product (Cortex-A76, A78): `sdot`.
    Dotprod,
}

impl Kernel {
    /// Every kernel of every architecture, slowest first.
    pub const ALL: [Kernel; 6] =
        [Kernel::Portable, Kernel::Avx2, Kernel::AvxVnni, Kernel::Avx512Vnni, Kernel::Neon, Kernel::Dotprod];

    /// The stable name, as in a configuration file.
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Portable => "portable",
            Kernel::Avx2 => "avx2",
            Kernel::AvxVnni => "avx-vnni",
            Kernel::Avx512Vnni => "avx512-vnni",
            Kernel::Neon => "neon",
            Kernel::Dotprod => "dotprod",
        }
    }

    /// Whether this CPU can run it.
    pub fn is_available(self) -> bool {
        self.functions().is_some()
    }

    /// The kernels that this CPU can run, slowest first.
    pub fn available() -> impl DoubleEndedIterator<Item = Kernel> {
        Self::ALL.into_iter().filter(|k| k.is_available())
    }

    /// The fastest kernel that this CPU can run.
    pub fn best() -> Kernel {
        Self::available().next_back().unwrap_or(Kernel::Portable)
    }

    /// The functions, only where the CPU has the features they need.
    pub(crate) fn functions(self) -> Option<&'static Functions> {
        match self {
            Kernel::Portable => Some(&portable::FUNCTIONS),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => avx2::plain::is_available().then_some(&avx2::plain::FUNCTIONS),
            #[cfg(target_arch = "x86_64")]
            Kernel::AvxVnni => avx2::vnni::is_available().then_some(&avx2::vnni::FUNCTIONS),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Vnni => avx512::is_available().then_some(&avx512::FUNCTIONS),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => Some(&aarch64::neon::FUNCTIONS),
            #[cfg(all(target_arch = "arm", target_endian = "little"))]
            Kernel::Neon => arm::is_available().then_some(&arm::FUNCTIONS),
            #[cfg(target_arch = "aarch64")]
            Kernel::Dotprod => aarch64::has_dotprod().then_some(&aarch64::dotprod::FUNCTIONS),
            _ => None,
        }
    }

    /// Multiplies registers `loops` times and says how many multiply-accumulates that was: timed, the core's peak for
    /// this kernel's instructions. `None` where the kernel has no such measure or the CPU lacks it.
    pub fn spin(self, loops: u64) -> Option<u64> {
        let spin = self.functions()?.spin?;
        // SAFETY: `functions` gives it out only where the CPU has the features; it touches no memory.
        Some(unsafe { spin(loops) })
    }

    pub(crate) fn require(self) -> Result<&'static Functions, Error> {
        self.functions().ok_or_else(|| unavailable(self.name()))
    }
}

fn unavailable(name: &str) -> Error {
    let available: Vec<&str> = Kernel::available().map(Kernel::name).collect();
    Error::KernelUnavailable { kernel: name.to_owned(), available: available.join(", ") }
}

impl std::str::FromStr for Kernel {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| unavailable(name))
    }
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One feature level.
///
/// # Safety
/// The functions may be called only where [`Kernel::functions`] gave them out, with arguments that `lower` has
/// checked: every pixel that they read or write lies inside one arena, with [`SLACK`] readable bytes after it.
pub(crate) struct Functions {
    /// Orders a weight matrix for `conv`.
    pub pack: fn(&Matrix) -> Vec<u8>,
    /// Whether `conv` reads inputs as u8 − 128.
    pub signed_inputs: bool,
    pub conv: unsafe fn(&ConvArgs<'_>),
    pub depthwise: unsafe fn(&DepthwiseArgs<'_>),
    pub add: unsafe fn(&AddArgs),
    pub max_pool: unsafe fn(&MaxArgs),
    pub average_pool: unsafe fn(&AverageArgs<'_>),
    pub table: unsafe fn(&TableArgs<'_>),
    pub upsample: unsafe fn(&UpsampleArgs),
    /// The instructions of `conv`'s inner loop without its loads, for a measure of the core's peak: loops → MACs done.
    pub spin: Option<unsafe fn(u64) -> u64>,
}

/// Bytes that a kernel may read past the end of the data that it uses.
pub(crate) const SLACK: usize = 128;
