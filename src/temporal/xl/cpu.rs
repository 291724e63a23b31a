//! What the processor can do, found at run time.

/// For which processor a kernel is compiled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cpu {
    /// Every processor of the target.
    Any,
    /// x86-64 with AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(Proof),
}

/// That the processor was asked: only [`Cpu::detect`] makes one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof(());

impl Cpu {
    /// Whether every processor of the target multiplies and adds in one instruction.
    pub const ANY_FUSES: bool = cfg!(target_arch = "aarch64");

    /// The best that this processor runs.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            return Self::Avx2(Proof(()));
        }
        Self::Any
    }
}
