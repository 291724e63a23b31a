//! Prints the kernels that this CPU can run; the last one is what runs.

use int8::Kernel;

fn main() {
    let names: Vec<&str> = Kernel::available().map(Kernel::name).collect();
    println!("kernels: {}; runs {}", names.join(", "), Kernel::best());
}
