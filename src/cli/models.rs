//! `posewire models`: which networks there are, and what is known of them.

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use posewire::infer::{self, Engine, LayerReport, Plan};
use posewire::models::{self, Model};

use super::Usage;

/// List the networks in this binary and beside it, show their cards, check a manifest
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  posewire models                    the networks in this binary and beside it
  posewire models person             one of them, with its card
  posewire models my/rtmpose.toml    checks a manifest and the network beside it
  posewire models person --explain   its layers: operator, kernel, time")]
pub struct Args {
    /// A network in this binary or beside it, or the path of a manifest
    #[arg(value_name = "NAME|MANIFEST")]
    which: Option<String>,
    /// Runs the network on a blank picture and shows its layers
    #[arg(long, requires = "which")]
    explain: bool,
    /// auto, f32, tract, int8 or int8:KERNEL
    #[arg(long, default_value = "auto")]
    engine: Engine,
    /// Times int8 against f32 and says which is faster here
    #[arg(long, requires = "which", conflicts_with_all = ["engine", "explain"])]
    fastest: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut out = stdout().lock();
    let Some(which) = args.which else {
        for model in models::embedded() {
            let model = model?;
            let plan = infer::load_with(&model.manifest, &model.onnx, args.engine)?;
            line(&mut out, &model, &*plan)?;
        }
        let mut is_whole = true;
        for (name, manifest) in models::beside() {
            let loaded = models::read(&manifest).and_then(|model| {
                let plan = infer::load_with(&model.manifest, &model.onnx, args.engine)?;
                Ok((model, plan))
            });
            // One that is broken keeps none of the others from being listed.
            match loaded {
                Ok((model, plan)) => {
                    line(&mut out, &model, &*plan)?;
                    writeln!(out, "  {}", manifest.display())?;
                }
                Err(error) => {
                    writeln!(out, "{name:<12} cannot be used: {error:#}")?;
                    is_whole = false;
                }
            }
        }
        return Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    let model = find(&which)?;
    if args.fastest {
        writeln!(out, "{}", infer::fastest(&model.manifest, &model.onnx)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = infer::load_with(&model.manifest, &model.onnx, args.engine)?;
    describe(&mut out, &model, &*plan)?;
    if args.explain {
        explain(&mut out, &*plan)?
    } else {
        card(&mut out, &model, &plan)?
    }
    Ok(ExitCode::SUCCESS)
}

fn find(which: &str) -> anyhow::Result<Model> {
    models::named(which)?.ok_or_else(|| {
        let names = models::names().join(", ");
        Usage(format!("no network {which:?}: there are {names}; a file is named with its .toml")).into()
    })
}

fn line(out: &mut impl Write, model: &Model, plan: &dyn Plan) -> anyhow::Result<()> {
    let m = &model.manifest;
    writeln!(
        out,
        "{:<12} v{:<3} {:<10} {:>4}x{:<4} {:>5.2} MB  sha256 {}…  {}",
        m.name,
        m.version,
        format!("{:?}", m.task).to_lowercase(),
        m.input.width,
        m.input.height,
        model.onnx.len() as f64 / 1e6,
        &m.sha256[..12],
        plan.engine()
    )?;
    Ok(())
}

fn describe(out: &mut impl Write, model: &Model, plan: &dyn Plan) -> anyhow::Result<()> {
    line(out, model, plan)?;
    writeln!(out, "  file {}\n  sha256 {}", model.manifest.file, model.manifest.sha256)?;
    for output in plan.outputs() {
        writeln!(out, "  output {} {:?}", output.name, output.shape)?;
    }
    for note in plan.reason().into_iter().chain(plan.notes().iter().map(String::as_str)) {
        writeln!(out, "  note: {note}")?;
    }
    Ok(())
}

fn card(out: &mut impl Write, model: &Model, plan: &Arc<dyn Plan>) -> anyhow::Result<()> {
    let m = &model.manifest;
    // What the codec reads must be there: else the manifest is refused here as it would be in `run`.
    match m.task {
        infer::Task::Keypoints => drop(posewire::keypoints::KeypointNet::new(m, plan)?),
        infer::Task::Person => drop(posewire::keypoints::PersonFinder::new(m, plan)?),
    }
    if !m.card.is_empty() {
        write!(out, "\n{}", toml::to_string(&m.card)?)?;
    }
    Ok(())
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
