//! Puts the chip's memory layout where the linker looks for it.

use std::{env, fs, path::PathBuf};

fn main() {
    let is_rp2040 = env::var_os("CARGO_FEATURE_RP2040").is_some();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let layout = if is_rp2040 { "rp2040.x" } else { "rp235x.x" };
    fs::copy(layout, out.join("memory.x")).expect("the layout is beside this file");
    println!("cargo:rustc-link-search={}", out.display());
    println!("cargo:rustc-link-arg-bins=--nmagic");
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    if is_rp2040 {
        println!("cargo:rustc-link-arg-bins=-Tlink-rp.x");
    }
    println!("cargo:rerun-if-changed=rp2040.x");
    println!("cargo:rerun-if-changed=rp235x.x");
}
