//! Which engine runs a network, and how that is told.

use super::*;

#[test]
fn engines_are_chosen_without_timing_and_the_choice_is_explained() {
    let golden = golden("qdq_u8");
    let reason = |engine| infer::reason(engine, &*load(&golden.onnx, engine).unwrap());
    assert_eq!(reason(Engine::Auto), "this processor has int8 kernels");
    assert_eq!(reason(Engine::F32), "--engine f32");
    let softened = softened();
    let partly = infer::reason(Engine::Auto, &*load(&softened, Engine::Auto).unwrap());
    assert!(partly.contains("(Softsign)"), "{partly}");
    let real = tiny::Net::new("image", &[1, 3, HEIGHT as i64, WIDTH as i64]);
    let real = real.node("Relu", &["image"], "heat", &[]).output("heat").bytes();
    assert_eq!(
        infer::reason(Engine::Auto, &*load(&real, Engine::Auto).unwrap()),
        "the network is not quantised"
    );
}

#[test]
fn engines_are_timed_only_when_asked() {
    let golden = golden("qdq_u8");
    let told = infer::fastest(&manifest(&golden.onnx, ""), &golden.onnx).unwrap();
    for word in ["tiny: ", " us in int8, ", " us in f32): --engine "] {
        assert!(told.contains(word), "{told}");
    }
    // What int8 alone refuses is not recommended.
    let onnx = softened();
    let told = infer::fastest(&manifest(&onnx, ""), &onnx).unwrap();
    let takes = |engine: &str| told.ends_with(&format!(": --engine {engine} takes it"));
    assert!(told.contains(" us in int8 and tract, ") && (takes("auto") || takes("f32")), "{told}");
}

/// What a user sees before the first pose: which engine, and nothing timed, nothing remembered.
#[test]
fn the_first_start_times_nothing_and_leaves_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.args([
        "run",
        "-v",
        "--synthetic",
        "--no-drop",
        "--frames",
        "2",
        "--smoother",
        "none",
        "--jsonl",
        "/dev/null",
    ]);
    let out = command
        .env("HOME", home.path())
        .env_remove("XDG_CACHE_HOME")
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(said.contains(&format!("engine: int8 {} (", Kernel::best())), "{said}");
    assert!(said.contains("first poses ") && said.contains(" ms after the start"), "{said}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{said}");
}

#[test]
fn the_command_line_explains_a_network_layer_by_layer() {
    let golden = golden("qdq_u8");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.toml");
    let text = format!(
        "name = \"tiny\"\ntask = \"keypoints\"\nfile = \"tiny.onnx\"\nsha256 = \"{}\"\n[input]\nname = \"image\"\n\
         width = {WIDTH}\nheight = {HEIGHT}\n[codec]\nkind = \"heatmap\"\noutput = \"heat\"\nstride = 1\nactivation = \"none\"",
        tiny::sha256(&golden.onnx)
    );
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("tiny.onnx"), &golden.onnx).unwrap();
    let out =
        crate::cli::posewire(&["models", "--explain", "--engine", "int8:portable", path.to_str().unwrap()]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for word in ["int8 portable", "output heat [5, 20, 24]", "conv + sum", "transposed conv", "GMAC/s"] {
        assert!(text.contains(word), "{word} is missing from\n{text}");
    }
}

#[test]
fn engines_are_named_on_the_command_line() {
    assert_eq!("auto".parse(), Ok(Engine::Auto));
    assert_eq!("int8:portable".parse(), Ok(Engine::Int8(Some(Kernel::Portable))));
    assert!("int8:mmx".parse::<Engine>().unwrap_err().contains("portable"));
    assert!("gpu".parse::<Engine>().is_err());
}
