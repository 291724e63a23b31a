//! The models: those that are part of the binary, and those on disk that a configuration names.

use std::borrow::Cow;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::config::BUILTIN;
use crate::infer::{InferError, Manifest};

/// A network and what its manifest says of it.
#[derive(Clone, Debug)]
pub struct Model {
    /// The contract: input, outputs, sum.
    pub manifest: Manifest,
    /// The ONNX file.
    pub onnx: Cow<'static, [u8]>,
}

/// A model that is part of the binary.
struct Embedded {
    manifest: &'static str,
    onnx: &'static [u8],
}

const KEYPOINTS: Embedded = Embedded {
    manifest: include_str!("../models/keypoints-small.toml"),
    onnx: include_bytes!("../models/keypoints-small.onnx"),
};

const FINDER: Embedded = Embedded {
    manifest: include_str!("../models/person.toml"),
    onnx: include_bytes!("../models/person.onnx"),
};

const TEMPORAL: &[u8] = include_bytes!("../models/temporal-xl.pwt");

impl Embedded {
    fn model(&self, name: &str) -> Result<Model, InferError> {
        Ok(Model { manifest: Manifest::parse(self.manifest, name)?, onnx: Cow::Borrowed(self.onnx) })
    }
}

/// The keypoint network that `which` names: `builtin`, or a manifest's path.
///
/// # Errors
/// [`InferError::Model`] naming the file.
pub fn keypoints(which: &str) -> Result<Model, InferError> {
    if which == BUILTIN { KEYPOINTS.model("keypoints-small") } else { read(Path::new(which)) }
}

/// The person finder that `which` names; `None` for `none`: then the first person has to fill a good part of the picture
/// to be found.
///
/// # Errors
/// [`InferError::Model`] naming the file.
pub fn finder(which: &str) -> Result<Option<Model>, InferError> {
    match which {
        BUILTIN => FINDER.model("person").map(Some),
        "none" => Ok(None),
        path => read(Path::new(path)).map(Some),
    }
}

/// The networks that are part of the binary.
pub fn embedded() -> impl Iterator<Item = Result<Model, InferError>> {
    [(&KEYPOINTS, "keypoints-small"), (&FINDER, "person")].into_iter().map(|(model, name)| model.model(name))
}

/// The weights of the learned smoother.
///
/// # Errors
/// [`InferError::Model`] naming the file.
pub fn temporal(which: &str) -> Result<Cow<'static, [u8]>, InferError> {
    if which == BUILTIN { Ok(TEMPORAL.into()) } else { read_file(Path::new(which)).map(Cow::from) }
}

/// Reads a manifest and the network that lies beside it.
///
/// # Errors
/// [`InferError::Model`] naming the file.
pub fn read(path: &Path) -> Result<Model, InferError> {
    let name = path.display().to_string();
    let text = String::from_utf8(read_file(path)?)
        .map_err(|_| fault(path, "is not a manifest (not UTF-8): name the .toml file beside the .onnx"))?;
    let manifest = Manifest::parse(&text, &name)?;
    let onnx = read_file(&path.with_file_name(&manifest.file))?;
    Ok(Model { manifest, onnx: onnx.into() })
}

/// The sum that identifies a model, in HELLO and in manifests.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn read_file(path: &Path) -> Result<Vec<u8>, InferError> {
    std::fs::read(path).map_err(|e| fault(path, &format!("cannot be read: {e}")))
}

fn fault(path: &Path, reason: &str) -> InferError {
    InferError::Model { model: path.display().to_string(), reason: reason.to_owned() }
}
