//! Deflates the networks and weights that are part of the binary: a tenth of them, on a card or a line that is slow.

use std::path::Path;
use std::{env, fs, io};

/// By whether the feature `usable` asks for those alone that anybody may use. `src/models.rs` names them too.
const MODELS: &[&str] = if cfg!(feature = "usable") {
    &["keypoints-small-usable.onnx", "person-usable.onnx", "temporal-xl-usable.pwt"]
} else {
    &["keypoints-nano.onnx", "keypoints-small.onnx", "person.onnx", "temporal-xl.pwt"]
};

fn main() -> io::Result<()> {
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names no folder for it"))?;
    println!("cargo::rerun-if-changed=build.rs");
    for name in MODELS {
        let path = Path::new("models").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let deflated = miniz_oxide::deflate::compress_to_vec(&fs::read(&path)?, 8);
        fs::write(Path::new(&folder).join(format!("{name}.deflate")), deflated)?;
    }
    Ok(())
}
