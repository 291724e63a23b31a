//! The page of `posewire calibrate`: what the camera sees, where the board has been, and what to do next.
//!
//! It asks for `/state` some times a second, and for `/picture` when there is a newer one. Nothing is made while nobody asks.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use page_server::{CSS, JSON, SCRIPT, ServeError, Server, page, typed};
use serde::Serialize;

use super::parts;

/// Whoever asked longer ago has gone.
const STAYS: Duration = Duration::from_secs(2);

/// What the page is told.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Calibrating {
    /// Counts pictures.
    pub picture: u64,
    /// Of the picture, pixels.
    pub size: [u32; 2],
    /// The corners seen in it, pixels.
    pub corners: Vec<[f64; 2]>,
    /// Views taken so far.
    pub views: usize,
    /// Views that are wanted.
    pub wanted: usize,
    /// Rows of equal parts of the picture: whether a corner has been there.
    pub cells: Vec<Vec<bool>>,
    /// What is to be done next; in the end what came of it.
    pub told: String,
    /// Whether that is the end.
    pub is_over: bool,
}

#[derive(Default)]
struct Newest {
    state: Calibrating,
    jpeg: Bytes,
    asked: Option<Instant>,
    /// The end was told to somebody.
    is_heard: bool,
}

#[derive(Clone, Default)]
struct Served(Arc<Mutex<Newest>>);

impl Served {
    fn lock(&self) -> MutexGuard<'_, Newest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The page's server, until it is dropped.
pub struct CalibrationPage {
    served: Served,
    server: Server,
}

impl CalibrationPage {
    /// Serves the page on `address`.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn open(address: &str) -> Result<Self, ServeError> {
        let served = Served::default();
        let server = Server::open(address, paths(served.clone()), "there are /, /state and /picture\n")?;
        Ok(Self { served, server })
    }

    /// What a browser is given: the address, and the token where one is asked for.
    pub fn link(&self) -> &str {
        self.server.link()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// What is to be said where others than this machine's own may look.
    pub fn warning(&self) -> Option<String> {
        self.server.warning("the camera's pictures")
    }

    /// Whether somebody looks.
    pub fn is_watched(&self) -> bool {
        self.served.lock().asked.is_some_and(|at| at.elapsed() < STAYS)
    }

    /// Shows a picture, a JPEG, and what is known of it; its number is the page's own.
    pub fn show(&self, jpeg: Vec<u8>, state: Calibrating) {
        let mut newest = self.served.lock();
        let picture = newest.state.picture + 1;
        newest.state = Calibrating { picture, ..state };
        newest.jpeg = jpeg.into();
    }

    /// Says what came of it, and stays until whoever looks has heard it; not for long.
    pub fn finish(&self, told: &str) {
        {
            let mut newest = self.served.lock();
            (newest.state.told, newest.state.is_over) = (told.to_owned(), true);
        }
        let until = Instant::now() + STAYS;
        while self.is_watched() && !self.served.lock().is_heard && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn paths(served: Served) -> Router {
    Router::new()
        .route("/", get(async || page(parts::CALIBRATION_HTML)))
        .route("/page.css", get(async || typed(CSS, parts::STYLE)))
        .route("/calibration.js", get(async || typed(SCRIPT, parts::calibration_script())))
        .route("/state", get(state))
        .route("/picture", get(picture))
        .with_state(served)
}

async fn state(State(served): State<Served>) -> Response {
    let mut newest = served.lock();
    newest.asked = Some(Instant::now());
    newest.is_heard |= newest.state.is_over;
    match serde_json::to_string(&newest.state) {
        Ok(text) => typed(JSON, text),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn picture(State(served): State<Served>) -> Response {
    let jpeg = served.lock().jpeg.clone();
    if jpeg.is_empty() {
        return (StatusCode::NOT_FOUND, "there is none yet\n").into_response();
    }
    typed("image/jpeg", jpeg)
}
