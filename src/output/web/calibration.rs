//! The page of `posewire calibrate`: what the camera sees, where the board has been, and what to do next.
//!
//! It asks for `/state` some times a second, and for `/picture` when there is a newer one. Nothing is made while nobody asks.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use door::{Guard, guarded, page, typed};
use serde::Serialize;
use tokio::sync::watch;

use super::recording::ReelError;
use super::{listen_on, parts};

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

#[derive(Clone)]
struct Served {
    guard: Arc<Guard>,
    newest: Arc<Mutex<Newest>>,
}

impl Served {
    fn lock(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The page's server, until it is dropped.
pub struct CalibrationPage {
    served: Served,
    link: String,
    address: SocketAddr,
    is_over: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl CalibrationPage {
    /// Serves the page on `address`.
    ///
    /// # Errors
    /// [`ReelError::Address`], [`ReelError::Start`].
    pub fn open(address: &str) -> Result<Self, ReelError> {
        let listener = listen_on(address).map_err(ReelError::Address)?;
        let address = listener.local_addr().map_err(ReelError::Start)?;
        let guard = Arc::new(Guard::of(address).map_err(ReelError::Start)?);
        let link = guard.link();
        let served = Served { guard, newest: Arc::default() };
        let is_over = watch::Sender::new(false);
        let (paths, over) = (paths(served.clone()), is_over.subscribe());
        let thread = std::thread::Builder::new()
            .name("web".into())
            .spawn(move || door::run(listener, over, paths))
            .map_err(ReelError::Start)?;
        Ok(Self { served, link, address, is_over, thread: Some(thread) })
    }

    /// What a browser is given: the address, and the token where one is asked for.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
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

impl Drop for CalibrationPage {
    fn drop(&mut self) {
        self.is_over.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn paths(served: Served) -> Router {
    let guard = served.guard.clone();
    let paths = Router::new()
        .route("/", get(async |State(served): State<Served>| page(parts::CALIBRATION_HTML, &served.guard)))
        .route("/page.css", get(async || typed("text/css; charset=utf-8", parts::STYLE)))
        .route(
            "/calibration.js",
            get(async || typed("text/javascript; charset=utf-8", parts::calibration_script())),
        )
        .route("/state", get(state))
        .route("/picture", get(picture))
        .with_state(served);
    guarded(paths, guard, "there are /, /state and /picture\n")
}

async fn state(State(served): State<Served>) -> Response {
    let mut newest = served.lock();
    newest.asked = Some(Instant::now());
    newest.is_heard |= newest.state.is_over;
    match serde_json::to_string(&newest.state) {
        Ok(text) => typed("application/json", text),
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
