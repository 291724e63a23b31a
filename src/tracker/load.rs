//! Loads what a tracker runs: networks on the engine asked for, the temporal model's weights.

use crate::config::{Config, Models};
use crate::infer::{self, InferError};
use crate::keypoints::{KeypointNet, PersonFinder};
use crate::models::{self, Model};
use crate::picture::DecodeError;
use crate::temporal::{self, TemporalError, TemporalModel};

/// Why a tracker cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A network cannot be read or made ready.
    #[error(transparent)]
    Network(#[from] InferError),
    /// The temporal model cannot be built.
    #[error(transparent)]
    Temporal(#[from] TemporalError),
    /// The JPEG library cannot be set up.
    #[error(transparent)]
    Decoder(#[from] DecodeError),
}

/// What runs the networks, said once when they are loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCard {
    /// Engine and kernels: `int8 avx512-vnni`.
    pub engine: String,
    /// SHA-256 of the keypoint model.
    pub model_sha256: [u8; 32],
    /// Persons followed at most.
    pub max_persons: usize,
}

/// The networks that look at pictures, ready to run.
pub struct Networks {
    /// Joints of the person in a box.
    pub keypoints: KeypointNet,
    /// Persons in a whole picture; `None`: the whole picture is the box.
    pub finder: Option<PersonFinder>,
    /// What the keypoint network's manifest calls its errors: the temporal model's intervals depend on it.
    pub error_model: Option<String>,
    /// The keypoint network's name.
    pub name: String,
    /// What runs it: `int8 avx512-vnni`.
    pub engine: String,
    /// Of the keypoint network's file.
    pub sha256: [u8; 32],
}

impl Networks {
    /// Loads the networks that `config` names, and says in the log what runs them and why.
    ///
    /// # Errors
    /// [`LoadError`] naming the file.
    pub fn load(config: &Models) -> Result<Self, LoadError> {
        let engine = config.engine;
        let load = |model: &Model| infer::load_with(&model.manifest, &model.onnx, engine);
        let model = models::keypoints(&config.keypoints)?;
        let plan = load(&model)?;
        log::info!("engine: {} ({})", plan.engine(), infer::reason(engine, &*plan));
        let finder = models::finder(&config.finder)?.map(|finder| -> Result<_, LoadError> {
            let found_by = load(&finder)?;
            if found_by.engine() != plan.engine() {
                let reason = infer::reason(engine, &*found_by);
                log::info!("engine of {}: {} ({reason})", finder.manifest.name, found_by.engine());
            }
            Ok(PersonFinder::new(&finder.manifest, &found_by)?)
        });
        let (keypoints, finder) = (KeypointNet::new(&model.manifest, &plan)?, finder.transpose()?);
        let finder = finder.map(|finder| if keypoints.tells_presence() { finder } else { finder.alone() });
        Ok(Self {
            keypoints,
            finder,
            error_model: model.manifest.error_model,
            name: model.manifest.name,
            engine: plan.engine().to_owned(),
            sha256: models::sha256(&model.onnx),
        })
    }
}

/// The temporal model that `config` names, for a keypoint network with these errors.
///
/// # Errors
/// [`LoadError`] where its weights cannot be read or do not fit.
pub fn temporal_model(
    config: &Config,
    error_model: Option<&str>,
) -> Result<Box<dyn TemporalModel>, LoadError> {
    let smoother = config.temporal.smoother;
    let weights = models::temporal(&config.models.temporal, smoother)?;
    temporal::build(smoother, weights.as_deref(), error_model).map_err(|error| match error {
        TemporalError::Weights { what } => models::unfit_weights(&config.models.temporal, &what).into(),
        other => other.into(),
    })
}
