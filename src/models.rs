//! The models: those that are part of the binary, those that lie beside it, and those on disk that a configuration names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::config::{BUILTIN, Models, NONE};
use crate::files::{self, MAX_MODEL_BYTES};
use crate::infer::{InferError, Manifest};
use crate::reason::Reason;

mod weights;

pub use weights::{temporal, unfit_weights};

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
        .map_err(|e| fault(Path::new(name), format!("is damaged in this program ({e}): install it again")))
}

impl Embedded {
    fn model(&self) -> Result<Model, InferError> {
        let manifest = Manifest::parse(self.manifest, self.name)?;
        Ok(Model { manifest, onnx: inflated(self.name, self.onnx)?.into() })
    }
}

/// Where a network is.
enum Found {
    InBinary(&'static Embedded),
    OnDisk(PathBuf),
}

impl Found {
    /// What `which` stands for: one of `embedded` or of those `beside` the binary by its name, whatever lies in the working folder
    /// under that; else a manifest by its path, which has a folder or an ending, or is that of a file. `None`: nothing is called so.
    fn of(
        which: &str,
        embedded: &[&'static Embedded],
        beside: impl FnOnce() -> BTreeMap<String, PathBuf>,
    ) -> Option<Self> {
        if let Some(model) = embedded.iter().find(|model| model.name == which) {
            return Some(Self::InBinary(model));
        }
        if let Some(manifest) = beside().remove(which) {
            return Some(Self::OnDisk(manifest));
        }
        let path = PathBuf::from(which);
        let is_word = path.extension().is_none() && path.file_name() == Some(which.as_ref());
        (!is_word || path.is_file()).then_some(Self::OnDisk(path))
    }

    fn keypoints(which: &str) -> Result<Self, InferError> {
        let name = if which == BUILTIN { DEFAULT } else { which };
        Self::of(name, &KEYPOINTS.each_ref(), beside).ok_or_else(|| no_network(Path::new(which)))
    }

    fn finder(which: &str) -> Result<Self, InferError> {
        let name = if which == BUILTIN { FINDER.name } else { which };
        Self::of(name, &[&FINDER], BTreeMap::new).ok_or_else(|| no_finder(Path::new(which)))
    }

    fn is_there(&self, none: fn(&Path) -> InferError) -> Result<(), InferError> {
        match self {
            Self::InBinary(_) => Ok(()),
            Self::OnDisk(manifest) => is_there(manifest, none),
        }
    }

    fn model(&self) -> Result<Model, InferError> {
        match self {
            Self::InBinary(model) => model.model(),
            Self::OnDisk(manifest) => read(manifest),
        }
    }
}

/// The keypoint network that `which` names: `builtin`, a name of [`embedded`] or of [`beside`], or a manifest's path.
///
/// # Errors
/// [`InferError::Model`] naming the file, or the networks to choose from.
pub fn keypoints(which: &str) -> Result<Model, InferError> {
    Found::keypoints(which)?.model()
}

/// The network of whatever task that `which` names: a name of [`names`], or a manifest's path. `None`: there is none of that name.
///
/// # Errors
/// [`InferError::Model`] naming the file.
pub fn named(which: &str) -> Result<Option<Model>, InferError> {
    let embedded: Vec<_> = KEYPOINTS.iter().chain([&FINDER]).collect();
    Found::of(which, &embedded, beside).map(|found| found.model()).transpose()
}

/// What the networks of [`embedded`] and [`beside`] are called.
pub fn names() -> Vec<String> {
    let embedded = KEYPOINTS.iter().chain([&FINDER]).map(|model| model.name.to_owned());
    embedded.chain(beside().into_keys()).collect()
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
    Found::keypoints(keypoints)?.is_there(no_network)?;
    if finder != NONE {
        Found::finder(finder)?.is_there(no_finder)?;
    }
    if temporal != BUILTIN {
        let reason = "there is no such file: name the manifest of temporal weights (*.toml), or \"builtin\"";
        is_there(Path::new(temporal), |path| fault(path, reason))?;
    }
    Ok(())
}

/// `none` where there is nothing; what may not be looked for, as a home by a service, is not called missing.
fn is_there(path: &Path, none: impl FnOnce(&Path) -> InferError) -> Result<(), InferError> {
    match path.try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(none(path)),
        Err(e) => Err(fault(path, Reason::new("cannot be read", e))),
    }
}

/// The manifests on disk that `config` names, and the networks and weights that these name: what must not be written over.
pub fn files(config: &Models) -> Vec<PathBuf> {
    let Models { keypoints, finder, temporal, .. } = config;
    let networks = [Found::keypoints(keypoints), Found::finder(finder)];
    let on_disk = networks.into_iter().filter_map(|found| match found {
        Ok(Found::OnDisk(manifest)) => Some(manifest),
        // What cannot be found is told elsewhere, "none" is no file.
        Ok(Found::InBinary(_)) | Err(_) => None,
    });
    let manifests = on_disk.chain((temporal != BUILTIN).then(|| PathBuf::from(temporal)));
    manifests.flat_map(|manifest| [beside_manifest(&manifest), Some(manifest)]).flatten().collect()
}

/// What a manifest of either kind names, where it can be read: what is wrong with it is told when it is used.
fn beside_manifest(path: &Path) -> Option<PathBuf> {
    let manifest: toml::Table = toml::from_str(&read_manifest(path).ok()?).ok()?;
    Some(path.with_file_name(manifest.get("file")?.as_str()?))
}

fn no_finder(path: &Path) -> InferError {
    let name = FINDER.name;
    fault(path, format!("is no person finder: there are {BUILTIN}, {name} and {NONE}, or name a .toml file"))
}

fn no_network(path: &Path) -> InferError {
    let embedded = KEYPOINTS.iter().map(|model| model.name.to_owned());
    let names: Vec<_> = embedded.chain(beside().into_keys()).collect();
    let folders: Vec<_> = folders_beside().map(|folder| folder.display().to_string()).collect();
    let (names, folders) = (names.join(", "), folders.join(" and "));
    fault(
        path,
        format!(
            "is no keypoint network: there are {names} (looked for others in {folders}), or name a .toml file"
        ),
    )
}

/// The person finder that `which` names: `builtin`, its name, or a manifest's path; `None` for `none`: then the first person has to
/// fill a good part of the picture to be found.
///
/// # Errors
/// [`InferError::Model`] naming the file, or the finders to choose from.
pub fn finder(which: &str) -> Result<Option<Model>, InferError> {
    if which == NONE { Ok(None) } else { Found::finder(which)?.model().map(Some) }
}

/// The networks that are part of the binary.
pub fn embedded() -> impl Iterator<Item = Result<Model, InferError>> {
    KEYPOINTS.iter().chain([&FINDER]).map(Embedded::model)
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
    files::read_at_most(path, MAX_MODEL_BYTES).map_err(|e| fault(path, Reason::new("cannot be read", e)))
}

fn fault(path: &Path, reason: impl Into<Reason>) -> InferError {
    InferError::model(path.display().to_string(), reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn what_a_manifest_names_is_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (manifest, text) in [
            ("net.toml", "name = \"own\"\nfile = \"net.onnx\""),
            ("smoother.toml", "file = \"smoother.pwt\""),
            ("broken.toml", "file ="),
        ] {
            std::fs::write(at(manifest), text).unwrap();
        }
        let text = |name: &str| at(name).to_str().unwrap().to_owned();
        let models = Models {
            keypoints: text("net.toml"),
            finder: text("broken.toml"),
            temporal: text("smoother.toml"),
            ..Config::default().models
        };
        let read = ["net.onnx", "net.toml", "broken.toml", "smoother.pwt", "smoother.toml"].map(at);
        assert_eq!(files(&models), read);
        assert!(files(&Config::default().models).is_empty(), "all is in the binary");
    }

    #[test]
    fn every_embedded_network_answers_to_its_name_and_the_default_is_one_of_them() {
        for model in &KEYPOINTS {
            assert_eq!(keypoints(model.name).unwrap().manifest.name, model.name);
        }
        assert_eq!(keypoints(BUILTIN).unwrap().manifest.name, DEFAULT);
        assert_eq!(FINDER.model().unwrap().manifest.name, FINDER.name);
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
    fn a_name_goes_before_what_lies_in_the_working_folder() {
        // Tests run in the checkout, which has a folder `src` and a file `Cargo.toml`.
        let of = |which: &str, beside: &[(&str, &str)]| {
            let beside = beside.iter().map(|&(name, path)| (name.to_owned(), path.into())).collect();
            Found::of(which, &[&FINDER], || beside).map(|found| match found {
                Found::InBinary(model) => model.name.to_owned(),
                Found::OnDisk(path) => path.display().to_string(),
            })
        };
        let beside = [("src", "far/keypoints-src.toml"), ("v1.5", "far/keypoints-v1.5.toml")];
        for (which, found) in [
            (FINDER.name, Some(FINDER.name)),
            ("src", Some("far/keypoints-src.toml")),
            ("v1.5", Some("far/keypoints-v1.5.toml")),
            ("./src", Some("./src")),
            ("Cargo.toml", Some("Cargo.toml")),
            ("LICENSE-MIT", Some("LICENSE-MIT")),
            ("tests", None),
            ("huge", None),
        ] {
            assert_eq!(of(which, &beside).as_deref(), found, "{which}");
        }
    }

    #[test]
    fn names_are_checked_each_by_what_its_field_takes() {
        let check = |finder: &str, temporal: &str| {
            let models = Models { finder: finder.into(), temporal: temporal.into(), ..Models::default() };
            check_names(&models).map_err(|error| format!("{error:#}"))
        };
        for good in [BUILTIN, NONE, FINDER.name, "models/person.toml"] {
            assert_eq!(check(good, BUILTIN), Ok(()));
        }
        assert_eq!(finder(FINDER.name).unwrap().unwrap().manifest.name, FINDER.name);
        let said = check(NONE, NONE).unwrap_err();
        assert!(said.starts_with("model none: there is no such file") && said.contains("temporal"), "{said}");
        for bad in ["persn", "models/persn.toml"] {
            let said = check(bad, BUILTIN).unwrap_err();
            assert!(said.contains(bad) && said.contains(FINDER.name) && said.contains(".toml"), "{said}");
        }
        // What hides below a file cannot be looked for, as little as what may not be.
        let hidden = "Cargo.toml/own.toml";
        for said in [check(hidden, BUILTIN), check(NONE, hidden)] {
            assert!(said.as_ref().is_err_and(|said| said.contains("own.toml: cannot be read: ")), "{said:?}");
        }
    }

    #[test]
    fn a_name_that_is_no_network_is_told_which_there_are() {
        let said = format!("{:#}", keypoints("huge").unwrap_err());
        assert!(said.contains("huge") && said.contains(DEFAULT), "{said}");
    }
}
