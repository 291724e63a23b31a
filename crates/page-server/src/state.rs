//! What all requests to a server share, and the slots of the clients whose connections stay open.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::guard::Guard;

/// What all requests to a server share.
#[derive(Clone)]
pub(crate) struct ServerState {
    pub guard: Arc<Guard>,
    /// Of connections that stay open.
    pub slots: Arc<Semaphore>,
    pub is_closing: watch::Receiver<bool>,
}

/// One of the slots for connections that stay open, for as long as it is held. A path that asks for it is refused where none is free.
#[derive(Debug)]
pub struct ClientSlot {
    _held: OwnedSemaphorePermit,
    is_closing: watch::Receiver<bool>,
}

impl ClientSlot {
    /// Waits until the server closes.
    pub async fn server_closing(&mut self) {
        // Where this fails the server itself has gone.
        let _ = self.is_closing.wait_for(|is_closing| *is_closing).await;
    }
}

impl<S: Sync> FromRequestParts<S> for ClientSlot {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let not_served = (StatusCode::INTERNAL_SERVER_ERROR, "nothing is served here\n");
        let ServerState { slots, is_closing, .. } = parts.extensions.get().ok_or(not_served)?;
        let full = (StatusCode::SERVICE_UNAVAILABLE, "too many viewers\n");
        let held = slots.clone().try_acquire_owned().map_err(|_| full)?;
        Ok(Self { _held: held, is_closing: is_closing.clone() })
    }
}
