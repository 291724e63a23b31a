//! `posewire models`: what a network is, which engine runs it, and what each of its layers costs on this board.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use posewire::infer::{self, Engine, LayerReport, Manifest, Plan};

/// Shows networks: engine, outputs, and layer by layer where the time goes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire models models/keypoints-small.toml
  posewire models --explain --engine int8:avx2 models/keypoints-small.toml")]
pub struct Args {
    /// Manifests (TOML files beside their ONNX files)
    #[arg(required = true, value_name = "MANIFEST")]
    manifests: Vec<PathBuf>,
    /// Time each layer on a blank picture: operator, kernel, multiply-accumulates, microseconds
    #[arg(long)]
    explain: bool,
    /// auto, f32, tract, int8 or int8:KERNEL
    #[arg(long, default_value = "auto")]
    engine: Engine,
    /// Time int8 against f32 and say which is faster here, without remembering it
    #[arg(long, conflicts_with = "engine")]
    fastest: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    for path in &args.manifests {
        let (manifest, onnx) = read(path)?;
        if args.fastest {
            let fastest = infer::load_fastest(&manifest, &onnx, None)?;
            writeln!(out, "{}", fastest.reason)?;
            continue;
        }
        let plan = infer::load_with(&manifest, &onnx, args.engine)?;
        describe(&mut out, &manifest, onnx.len(), &*plan)?;
        if args.explain {
            explain(&mut out, &*plan)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> anyhow::Result<(Manifest, Vec<u8>)> {
    let at = || format!("{}: name the .toml file beside the .onnx", path.display());
    let text = std::fs::read_to_string(path).with_context(at)?;
    let manifest = Manifest::parse(&text, &path.display().to_string())?;
    let network = path.with_file_name(&manifest.file);
    let onnx = std::fs::read(&network).with_context(|| network.display().to_string())?;
    Ok((manifest, onnx))
}

fn describe(out: &mut impl Write, manifest: &Manifest, bytes: usize, plan: &dyn Plan) -> std::io::Result<()> {
    let input = &manifest.input;
    writeln!(
        out,
        "{}: {} bytes, input {} x {}, {}",
        manifest.name,
        bytes,
        input.width,
        input.height,
        plan.engine()
    )?;
    for output in plan.outputs() {
        writeln!(out, "  output {} {:?}", output.name, output.shape)?;
    }
    plan.notes().iter().try_for_each(|note| writeln!(out, "  note: {note}"))
}

fn explain(out: &mut impl Write, plan: &dyn Plan) -> std::io::Result<()> {
    let layers = plan.explain();
    if layers.is_empty() {
        return writeln!(out, "  {} does not tell its layers", plan.engine());
    }
    let wide = layers.iter().map(|l| l.name.len()).max().unwrap_or(0);
    writeln!(
        out,
        "  {:wide$}  {:<22} {:<12} {:>9} {:>9} {:>7}",
        "layer", "operator", "kernel", "MMAC", "us", "GMAC/s"
    )?;
    for LayerReport { name, operator, kernel, macs, nanos } in &layers {
        let (mmac, us, speed) = figures(*macs, *nanos);
        writeln!(out, "  {name:wide$}  {operator:<22} {kernel:<12} {mmac:>9.3} {us:>9.1} {speed:>7.1}")?;
    }
    let (macs, nanos) = layers.iter().fold((0, 0), |sum, l| (sum.0 + l.macs, sum.1 + l.nanos));
    let (mmac, us, speed) = figures(macs, nanos);
    writeln!(out, "  {:wide$}  {:<22} {:<12} {mmac:>9.3} {us:>9.1} {speed:>7.1}", "all", "", "")
}

/// Millions of multiply-accumulates, microseconds, billions a second.
fn figures(macs: u64, nanos: u64) -> (f64, f64, f64) {
    (macs as f64 / 1e6, nanos as f64 / 1e3, macs as f64 / nanos.max(1) as f64)
}
