//! Fused int8 operators.
