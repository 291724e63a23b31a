//! Weights of the learned smoothers: in the binary, or named by their manifest.

use std::borrow::Cow;
use std::path::Path;

use pose::HORIZONS_US;
use serde::Deserialize;

use super::{TEMPORAL, fault, inflated, read_file, read_manifest};
use crate::config::BUILTIN;
use crate::infer::{self, InferError};
use crate::temporal::Smoother;

/// The weights that `smoother` needs and `which` names: `builtin`, or a manifest's path. `None` for a smoother without weights, and for
/// one of which none are built in.
///
/// # Errors
/// [`InferError::Model`] naming the file, also where it is of another network than the smoother's.
pub fn temporal(which: &str, smoother: Smoother) -> Result<Option<Cow<'static, [u8]>>, InferError> {
    let Some(network) = smoother.network() else {
        if which != BUILTIN {
            log::warn!("smoother '{smoother}' has no weights: {which} is not used (--smoother, --temporal)");
        }
        return Ok(None);
    };
    if which == BUILTIN {
        return match smoother {
            Smoother::Xl => Ok(Some(inflated("temporal-xl", TEMPORAL)?.into())),
            _ => Ok(None),
        };
    }
    let path = Path::new(which);
    let manifest = TemporalManifest::parse(&read_manifest(path)?).map_err(|reason| fault(path, reason))?;
    let kind = manifest.network.kind.as_str();
    if kind != network {
        let fitting = Smoother::ALL.into_iter().find(|s| s.network() == Some(kind));
        let advice = fitting.map(|s| format!("; --smoother {s} runs it")).unwrap_or_default();
        return Err(fault(path, format!("is of a {kind:?}, smoother '{smoother}' of a {network:?}{advice}")));
    }
    let weights = read_file(&path.with_file_name(&manifest.file))?;
    infer::verify_sum(&manifest.file, &manifest.sha256, &weights)?;
    Ok(Some(weights.into()))
}

/// Why the weights that `which` names make no model, where `what` is wrong with them.
pub fn unfit_weights(which: &str, what: &str) -> InferError {
    let (model, cure) = match which {
        BUILTIN => ("temporal-xl", "install this program anew"),
        file => (file, "name weights that this version of posetrain.temporal.export wrote"),
    };
    InferError::model(model, format!("the temporal weights cannot be used: {what}; {cure}"))
}

/// What a manifest says of a temporal model's weights.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "checked by being read: a key that is missing, mistyped or of another kind is refused"
)]
struct TemporalManifest {
    name: String,
    task: TemporalTask,
    file: String,
    sha256: String,
    #[serde(default)]
    version: u32,
    #[serde(default)]
    skeleton: Option<Skeleton>,
    network: TemporalNetwork,
    #[serde(default)]
    card: toml::Table,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum TemporalTask {
    Temporal,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Skeleton {
    Coco17,
}

/// What the weights do not tell of themselves; their sizes they do.
#[derive(Deserialize)]
struct TemporalNetwork {
    kind: String,
    norm: String,
    horizons_us: Vec<i64>,
}

impl TemporalManifest {
    fn parse(text: &str) -> Result<Self, String> {
        let manifest: Self =
            toml::from_str(text).map_err(|e| format!("is not a valid manifest of temporal weights: {e}"))?;
        infer::check_file(&manifest.file, &manifest.sha256)?;
        let TemporalNetwork { kind, norm, horizons_us } = &manifest.network;
        let kinds: Vec<_> = Smoother::ALL.into_iter().filter_map(Smoother::network).collect();
        if !kinds.contains(&kind.as_str()) || norm != "pre" || horizons_us.as_slice() != HORIZONS_US {
            return Err(format!(
                "is of a network that this version does not run: kind {kind:?}, norm {norm:?}, horizons_us \
                 {horizons_us:?}; it runs {kinds:?}, \"pre\", {HORIZONS_US:?}"
            ));
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporal_weights_are_read_by_their_manifest_and_held_against_its_sum() {
        let name = if cfg!(feature = "usable") { "temporal-xl-usable" } else { "temporal-xl" };
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name);
        let text = &std::fs::read_to_string(file.with_extension("toml")).unwrap();
        let manifest = TemporalManifest::parse(text).unwrap();
        let weights = std::fs::read(file.with_extension("pwt")).unwrap();
        assert_eq!(temporal(BUILTIN, Smoother::Xl).unwrap().unwrap(), weights);
        infer::verify_sum(&manifest.file, &manifest.sha256, &weights).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let read = |name: &str| {
            temporal(at(name).to_str().unwrap(), Smoother::Xl).map(|weights| weights.unwrap().into_owned())
        };
        std::fs::write(at("own.toml"), text).unwrap();
        std::fs::write(at(&manifest.file), &weights).unwrap();
        assert_eq!(read("own.toml").unwrap(), weights);
        let said = format!("{:#}", read(&manifest.file).unwrap_err());
        assert!(said.contains("name the .toml file"), "{said}");
        let mut other = weights;
        other[4000] ^= 1;
        std::fs::write(at(&manifest.file), other).unwrap();
        let damaged = format!("{:#}", read("own.toml").unwrap_err());
        assert!(damaged.contains(&manifest.file) && damaged.contains("sha256"), "{damaged}");
        for (from, to, says) in [
            ("\"temporal\"", "\"keypoints\"", "keypoints"),
            ("\"pre\"", "\"post\"", "\"post\""),
            ("150000", "200000", "200000"),
            ("\"transformer-xl\"", "\"lstm\"", "does not run"),
            ("\"transformer-xl\"", "\"gru\"", "--smoother gru runs it"),
            ("version", "versoin", "versoin"),
        ] {
            std::fs::write(at("own.toml"), text.replace(from, to)).unwrap();
            let error = format!("{:#}", read("own.toml").unwrap_err());
            assert!(error.contains("own.toml") && error.contains(says), "{to}: {error}");
        }
    }

    #[test]
    fn a_smoother_asks_only_for_weights_of_its_own() {
        assert!(temporal("there/is/no.toml", Smoother::Kalman).unwrap().is_none());
        assert!(temporal(BUILTIN, Smoother::S4d).unwrap().is_none());
        assert!(temporal("there/is/no.toml", Smoother::S4d).is_err());
    }
}
