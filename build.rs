//! Tells the code which profile it is built with: what was timed in one build says nothing of another.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // `PROFILE` is the profile's root, `release` for everything that inherits it; the folder has the profile's own name:
    // target/[TRIPLE/]NAME/build/posewire-HASH/out.
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name).and_then(|name| name.to_str());
    println!("cargo:rustc-env=POSEWIRE_PROFILE={}", profile.unwrap_or("unknown"));
}
