//! The linker's script is esp-hal's.

fn main() {
    println!("cargo::rustc-link-arg-bins=-Tlinkall.x");
}
