//! The models: those that are part of the binary, those that lie beside it, and those on disk that a configuration names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pose::HORIZONS_US;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::config::{BUILTIN, Models, NONE};
use crate::files::{self, MAX_MODEL_BYTES};
use crate::infer::{self, InferError, Manifest};
use crate::temporal::Smoother;

/// A network and what its manifest says of it.
#[derive(Clone, Debug)]
pub struct Model {
    /// The contract: input, outputs, sum.
    pub manifest: Manifest,
    /// The ONNX file.
    pub onnx: Cow<'static, [u8]>,
}

/// A model that is part of the binary, by the name in its manifest.
struct Embedded {
    name: &'static str,
    manifest: &'static str,
    /// Deflated.
    onnx: &'static [u8],
}

/// What the build has deflated of `models/FILE`.
macro_rules! deflated {
    ($file:expr) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".deflate"))
    };
}

/// Embeds `models/FILE.toml` and `models/FILE.onnx` as `NAME`.
macro_rules! embed {
    ($name:literal, $file:literal) => {
        Embedded {
            name: $name,
            manifest: include_str!(concat!("../models/", $file, ".toml")),
            onnx: deflated!(concat!($file, ".onnx")),
        }
    };
}

#[cfg(not(feature = "usable"))]
mod built_in {
    use super::*;

    /// Keypoint networks, cheapest first.
    pub(super) static KEYPOINTS: [Embedded; 2] =
        [embed!("nano", "keypoints-nano"), embed!("small", "keypoints-small")];

    /// The one of [`KEYPOINTS`] that runs unless another is asked for: one look leaves a slow board time for the rest.
    pub(super) const DEFAULT: &str = "small";

    pub(super) static FINDER: Embedded = embed!("person", "person");

    pub(super) static TEMPORAL: &[u8] = deflated!("temporal-xl.pwt");
}

/// Those that learned from nothing that is for research alone (docs/data-licences.md).
#[cfg(feature = "usable")]
mod built_in {
    use super::*;

    pub(super) static KEYPOINTS: [Embedded; 1] = [embed!("small-usable", "keypoints-small-usable")];

    pub(super) const DEFAULT: &str = "small-usable";

    pub(super) static FINDER: Embedded = embed!("person-usable", "person-usable");

    pub(super) static TEMPORAL: &[u8] = deflated!("temporal-xl-usable.pwt");
}

use built_in::{DEFAULT, FINDER, KEYPOINTS, TEMPORAL};

/// What the build deflated.
fn inflated(name: &str, bytes: &[u8]) -> Result<Vec<u8>, InferError> {
    miniz_oxide::inflate::decompress_to_vec_with_limit(bytes, MAX_MODEL_BYTES as usize)
        .map_err(|e| fault(Path::new(name), &format!("is damaged in this program ({e}): install it anew")))
}

impl Embedded {
    fn model(&self) -> Result<Model, InferError> {
        let manifest = Manifest::parse(self.manifest, self.name)?;
        Ok(Model { manifest, onnx: inflated(self.name, self.onnx)?.into() })
    }
}

/// The keypoint network that `which` names: `builtin`, a name of [`embedded`] or of [`beside`], or a manifest's path.
///
/// # Errors
/// [`InferError::Model`] naming the file, or the networks to choose from.
pub fn keypoints(which: &str) -> Result<Model, InferError> {
    let name = if which == BUILTIN { DEFAULT } else { which };
    if let Some(model) = KEYPOINTS.iter().find(|model| model.name == name) {
        return model.model();
    }
    read(&on_disk(which)?)
}

/// The manifest that `which` is the path of, or the name of a network [`beside`] the binary.
fn on_disk(which: &str) -> Result<PathBuf, InferError> {
    let path = PathBuf::from(which);
    if path.extension().is_some() || path.exists() {
        return Ok(path);
    }
    beside().remove(which).ok_or_else(|| no_network(&path))
}

/// Keypoint networks that are not part of the binary, by name, and their manifests: a package's (`../share/posewire/models` from the
/// binary), then a checkout's (`models`).
pub fn beside() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for manifest in folders_beside().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
        let file = manifest.file_name();
        let name = file.to_str().and_then(|f| f.strip_prefix("keypoints-")?.strip_suffix(".toml"));
        if let Some(name) = name.filter(|name| !is_embedded(name)) {
            found.entry(name.to_owned()).or_insert_with(|| manifest.path());
        }
    }
    found
}

fn folders_beside() -> impl Iterator<Item = PathBuf> {
    let installed = std::env::current_exe().and_then(|binary| binary.canonicalize()).ok();
    let installed = installed.and_then(|b| Some(b.ancestors().nth(2)?.join("share/posewire/models")));
    installed.into_iter().chain([PathBuf::from("models")])
}

fn is_embedded(name: &str) -> bool {
    KEYPOINTS.iter().any(|model| model.name == name)
}

/// Whether `config` names networks and weights that there are; whether they can be used shows when they are read.
///
/// # Errors
/// [`InferError::Model`] naming the file, or the networks to choose from.
pub fn check_names(config: &Models) -> Result<(), InferError> {
    let Models { keypoints, finder, temporal, .. } = config;
    if keypoints != BUILTIN && !is_embedded(keypoints) {
        let manifest = on_disk(keypoints)?;
        if !manifest.exists() {
            return Err(no_network(&manifest));
        }
    }
    for file in [finder, temporal] {
        if file != BUILTIN && !(file == NONE && file == finder) && !Path::new(file).exists() {
            return Err(fault(Path::new(file), "there is no such file"));
        }
    }
    Ok(())
}

fn no_network(path: &Path) -> InferError {
    let embedded = KEYPOINTS.iter().map(|model| model.name.to_owned());
    let names: Vec<_> = embedded.chain(beside().into_keys()).collect();
    let folders: Vec<_> = folders_beside().map(|folder| folder.display().to_string()).collect();
    let (names, folders) = (names.join(", "), folders.join(" and "));
    fault(
        path,
        &format!(
            "is no keypoint network: there are {names} (looked for others in {folders}), or name a .toml file"
        ),
    )
}

/// The person finder that `which` names; `None` for `none`: then the first person has to fill a good part of the picture
/// to be found.
///
/// # Errors
/// [`InferError::Model`] naming the file.
pub fn finder(which: &str) -> Result<Option<Model>, InferError> {
    match which {
        BUILTIN => FINDER.model().map(Some),
        NONE => Ok(None),
        path => read(Path::new(path)).map(Some),
    }
}

/// The networks that are part of the binary.
pub fn embedded() -> impl Iterator<Item = Result<Model, InferError>> {
    KEYPOINTS.iter().chain([&FINDER]).map(Embedded::model)
}

/// The weights that `smoother` needs and `which` names: `builtin`, or a manifest's path. `None` for a smoother without weights, and for
/// one of which none are built in.
///
/// # Errors
/// [`InferError::Model`] naming the file, also where it is of another network than the smoother's.
pub fn temporal(which: &str, smoother: Smoother) -> Result<Option<Cow<'static, [u8]>>, InferError> {
    let Some(network) = smoother.network() else { return Ok(None) };
    if which == BUILTIN {
        return match smoother {
            Smoother::Xl => Ok(Some(inflated("temporal-xl", TEMPORAL)?.into())),
            _ => Ok(None),
        };
    }
    let path = Path::new(which);
    let manifest = TemporalManifest::parse(&read_manifest(path)?).map_err(|reason| fault(path, &reason))?;
    let kind = manifest.network.kind.as_str();
    if kind != network {
        let fitting = Smoother::ALL.into_iter().find(|s| s.network() == Some(kind));
        let advice = fitting.map(|s| format!("; --smoother {s} runs it")).unwrap_or_default();
        return Err(fault(
            path,
            &format!("is of a {kind:?}, smoother '{smoother}' of a {network:?}{advice}"),
        ));
    }
    let weights = read_file(&path.with_file_name(&manifest.file))?;
    infer::verify_sum(&manifest.file, &manifest.sha256, &weights)?;
    Ok(Some(weights.into()))
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

/// Reads a manifest and the network that lies beside it.
///
/// # Errors
/// [`InferError::Model`] naming the file.
pub fn read(path: &Path) -> Result<Model, InferError> {
    let name = path.display().to_string();
    let manifest = Manifest::parse(&read_manifest(path)?, &name)?;
    let onnx = read_file(&path.with_file_name(&manifest.file))?;
    Ok(Model { manifest, onnx: onnx.into() })
}

/// The sum that identifies a model, in HELLO and in manifests.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn read_manifest(path: &Path) -> Result<String, InferError> {
    let not_text = "is not a manifest (not UTF-8): name the .toml file beside the network or the weights";
    String::from_utf8(read_file(path)?).map_err(|_| fault(path, not_text))
}

fn read_file(path: &Path) -> Result<Vec<u8>, InferError> {
    files::read_at_most(path, MAX_MODEL_BYTES).map_err(|e| fault(path, &format!("cannot be read: {e}")))
}

fn fault(path: &Path, reason: &str) -> InferError {
    InferError::Model { model: path.display().to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_network_answers_to_its_name_and_the_default_is_one_of_them() {
        for model in &KEYPOINTS {
            assert_eq!(keypoints(model.name).unwrap().manifest.name, model.name);
        }
        assert_eq!(keypoints(BUILTIN).unwrap().manifest.name, DEFAULT);
        assert_eq!(FINDER.model().unwrap().manifest.name, FINDER.name);
    }

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
        let said = read(&manifest.file).unwrap_err().to_string();
        assert!(said.contains("name the .toml file"), "{said}");
        let mut other = weights;
        other[4000] ^= 1;
        std::fs::write(at(&manifest.file), other).unwrap();
        let damaged = read("own.toml").unwrap_err().to_string();
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
            let error = read("own.toml").unwrap_err().to_string();
            assert!(error.contains("own.toml") && error.contains(says), "{to}: {error}");
        }
    }

    #[test]
    fn a_smoother_asks_only_for_weights_of_its_own() {
        assert!(temporal("there/is/no.toml", Smoother::Kalman).unwrap().is_none());
        assert!(temporal(BUILTIN, Smoother::S4d).unwrap().is_none());
        assert!(temporal("there/is/no.toml", Smoother::S4d).is_err());
    }

    #[test]
    fn a_network_beside_the_binary_answers_to_its_name() {
        for (name, manifest) in beside() {
            assert_eq!(keypoints(&name).unwrap().manifest.name, name);
            assert_eq!(read(&manifest).unwrap().manifest.name, name);
            assert!(!is_embedded(&name), "{name} is in the binary");
        }
        // Tests run in the checkout.
        assert!(["base", "large"].iter().all(|name| beside().contains_key(*name)));
    }

    #[test]
    fn a_name_that_is_no_network_is_told_which_there_are() {
        let said = keypoints("huge").unwrap_err().to_string();
        assert!(said.contains("huge") && said.contains(DEFAULT), "{said}");
    }
}
