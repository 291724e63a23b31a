//! What the processor can do, found at run time.

/// For which processor a kernel is compiled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cpu {
    /// Every processor of the target.
    Any,
    /// x86-64 with AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(Proof),
    /// x86-64 with AVX-512 beside them.
    #[cfg(target_arch = "x86_64")]
    Avx512(Proof),
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
            return if std::arch::is_x86_feature_detected!("avx512f") {
                Self::Avx512(Proof(()))
            } else {
                Self::Avx2(Proof(()))
            };
        }
        Self::Any
    }

    /// Whether the registers hold the sums of four vectors' products with a tile; those of two fit everywhere.
    pub fn sums_four_rows(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => true,
            _ => false,
        }
    }

    /// All that this processor runs.
    #[cfg(test)]
    pub fn all() -> Vec<Self> {
        match Self::detect() {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => vec![Self::Any, Self::Avx2(proof), Self::Avx512(proof)],
            Self::Any => vec![Self::Any],
            #[cfg(target_arch = "x86_64")]
            best @ Self::Avx2(_) => vec![Self::Any, best],
        }
    }
}
