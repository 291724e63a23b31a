//! Compiles the slot with loom's primitives in this crate alone.

fn main() {
    println!("cargo:rustc-cfg=loom");
}
