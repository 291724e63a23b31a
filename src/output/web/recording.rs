//! The viewer: a page that shows a recording frame by frame, with the poses of one run or several over it.
//!
//! A [`Reel`] holds what is shown and may grow while it is looked at: pictures and lines lie in files without a name, so that an
//! hour of them costs no memory and nothing stays behind.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use page_server::{CSS, JSON, SCRIPT, ServeError, Server, page, typed};
use people::mannequin::Mannequin;
use serde_json::json;

use super::{body, parts};

/// What one answer holds of times or lines at most: a page asks again for the rest.
const MAX_AT_ONCE: usize = 4_000;

/// Why a recording cannot be shown, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum ReelError {
    /// Pictures are kept in the folder for temporary files.
    #[error("{folder}: no room for the recording's pictures (set TMPDIR to a folder that has)")]
    NoRoom {
        /// Which folder.
        folder: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A file without a name.
struct Spill {
    file: File,
    bytes: u64,
}

impl Spill {
    fn new() -> Result<Self, ReelError> {
        Ok(Self { file: tempfile::tempfile().map_err(no_room)?, bytes: 0 })
    }

    /// Where it begins.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, ReelError> {
        let at = self.bytes;
        let written = self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.write_all(bytes));
        written.map_err(no_room)?;
        self.bytes += bytes.len() as u64;
        Ok(at)
    }

    fn read(&mut self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (to - from) as usize];
        self.file.seek(SeekFrom::Start(from))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn no_room(source: io::Error) -> ReelError {
    ReelError::NoRoom { folder: std::env::temp_dir(), source }
}

struct Shot {
    number: u64,
    captured_at_us: i64,
    at: u64,
    bytes: u32,
}

struct Run {
    name: String,
    text: Spill,
    /// Where each line begins.
    lines: Vec<u64>,
}

struct Inner {
    name: String,
    /// What is wrong with it.
    note: String,
    /// Frames that there will be, where somebody knows.
    expected: Option<u64>,
    is_whole: bool,
    pictures: Spill,
    shots: Vec<Shot>,
    runs: Vec<Run>,
}

/// A recording with its poses, as the page sees it; clones are the same one.
#[derive(Clone)]
pub struct Reel(Arc<Mutex<Inner>>);

impl Reel {
    /// A recording called `name` with a row of lines for each of `runs`.
    ///
    /// # Errors
    /// [`ReelError::NoRoom`].
    pub fn new(name: &str, runs: &[String]) -> Result<Self, ReelError> {
        let run = |name: &String| Ok(Run { name: name.clone(), text: Spill::new()?, lines: Vec::new() });
        Ok(Self(Arc::new(Mutex::new(Inner {
            name: name.to_owned(),
            note: String::new(),
            expected: None,
            is_whole: false,
            pictures: Spill::new()?,
            shots: Vec::new(),
            runs: runs.iter().map(run).collect::<Result<_, ReelError>>()?,
        }))))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a picture, a JPEG.
    ///
    /// # Errors
    /// [`ReelError::NoRoom`]: those before are kept.
    pub fn push(&self, jpeg: &[u8], number: u64, captured_at_us: i64) -> Result<(), ReelError> {
        let mut inner = self.lock();
        let at = inner.pictures.append(jpeg)?;
        inner.shots.push(Shot { number, captured_at_us, at, bytes: jpeg.len() as u32 });
        Ok(())
    }

    /// Appends a line of `full` to run `run`, its end included.
    ///
    /// # Errors
    /// [`ReelError::NoRoom`].
    ///
    /// # Panics
    /// There is no such run.
    pub fn push_line(&self, run: usize, line: &[u8]) -> Result<(), ReelError> {
        let run = &mut self.lock().runs[run];
        let at = run.text.append(line)?;
        run.lines.push(at);
        Ok(())
    }

    /// Frames that there will be.
    pub fn expect(&self, frames: u64) {
        self.lock().expected = Some(frames);
    }

    /// Says that nothing follows, and what is wrong with it: nothing, where `note` is empty.
    pub fn finish(&self, note: &str) {
        let mut inner = self.lock();
        inner.is_whole = true;
        inner.note = note.to_owned();
    }
}

/// The viewer's server, until it is dropped.
pub struct Viewer(Server);

#[derive(Clone)]
struct Served {
    reel: Option<Reel>,
    /// Made when somebody first looks at bodies.
    mannequin: Arc<OnceLock<Mannequin>>,
}

impl Served {
    fn mannequin(&self) -> &Mannequin {
        self.mannequin.get_or_init(Mannequin::new)
    }
}

impl Viewer {
    /// Serves the page on `address`; without a recording it opens those that are dropped onto it.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn open(address: &str, reel: Option<Reel>) -> Result<Self, ServeError> {
        let paths = paths(Served { reel, mannequin: Arc::default() });
        Server::open(address, paths, THERE_ARE).map(Self)
    }

    /// What a browser is given: the address, and the token where one is asked for.
    pub fn link(&self) -> &str {
        self.0.link()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// What is to be said where others than this machine's own may look.
    pub fn warning(&self) -> Option<String> {
        self.0.warning("the recording")
    }
}

/// Told to who asks for anything else.
const THERE_ARE: &str = "there are /, /recording, /times, /frames/N, /tracks/N and /bodies/N/LINE\n";

fn paths(served: Served) -> Router {
    let is_served = served.reel.is_some();
    let script = move || async move { typed(SCRIPT, parts::view_script(is_served)) };
    Router::new()
        .route("/", get(async || page(parts::VIEW_HTML)))
        .route("/page.css", get(async || typed(CSS, parts::STYLE)))
        .route("/view.js", get(script))
        .route("/body", get(mesh))
        .route("/bodies/{run}/{line}", get(bodies))
        .route("/recording", get(recording))
        .route("/times", get(times))
        .route("/frames/{index}", get(frame))
        .route("/tracks/{run}", get(track))
        .with_state(served)
}

/// From which one on: `from=120`.
fn first_of(query: Option<String>) -> usize {
    query.and_then(|q| q.strip_prefix("from=")?.parse().ok()).unwrap_or(0)
}

const NONE: (StatusCode, &str) = (StatusCode::NOT_FOUND, "there is none\n");

async fn recording(State(served): State<Served>) -> Response {
    let Some(reel) = served.reel else { return NONE.into_response() };
    let inner = reel.lock();
    let runs: Vec<_> =
        inner.runs.iter().map(|run| json!({ "name": run.name, "lines": run.lines.len() })).collect();
    let said = json!({
        "name": inner.name,
        "note": inner.note,
        "frames": inner.shots.len(),
        "expected": inner.expected,
        "is_whole": inner.is_whole,
        "tracks": runs,
    });
    typed(JSON, said.to_string())
}

async fn times(State(served): State<Served>, RawQuery(query): RawQuery) -> Response {
    let Some(reel) = served.reel else { return NONE.into_response() };
    let inner = reel.lock();
    let first_us = inner.shots.first().map_or(0, |shot| shot.captured_at_us);
    let shots = inner.shots.iter().skip(first_of(query)).take(MAX_AT_ONCE);
    let times: Vec<_> = shots.map(|s| json!([s.number, s.captured_at_us.saturating_sub(first_us)])).collect();
    typed(JSON, serde_json::Value::from(times).to_string())
}

async fn frame(State(served): State<Served>, Path(index): Path<usize>) -> Response {
    let Some(reel) = served.reel else { return NONE.into_response() };
    let mut inner = reel.lock();
    let Some((from, bytes)) = inner.shots.get(index).map(|s| (s.at, u64::from(s.bytes))) else {
        return NONE.into_response();
    };
    match inner.pictures.read(from, from + bytes) {
        Ok(jpeg) => typed("image/jpeg", jpeg),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn track(State(served): State<Served>, Path(run): Path<usize>, RawQuery(query): RawQuery) -> Response {
    let Some(reel) = served.reel else { return NONE.into_response() };
    let mut inner = reel.lock();
    let Some(run) = inner.runs.get_mut(run) else { return NONE.into_response() };
    let from = first_of(query);
    let Some(&begins) = run.lines.get(from) else { return typed("application/x-ndjson", "") };
    let ends = run.lines.get(from.saturating_add(MAX_AT_ONCE)).copied().unwrap_or(run.text.bytes);
    match run.text.read(begins, ends) {
        Ok(text) => typed("application/x-ndjson", text),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn mesh(State(served): State<Served>) -> Response {
    typed("application/octet-stream", body::mesh(served.mannequin()))
}

/// How the bodies of one line of a run stand.
async fn bodies(State(served): State<Served>, Path((run, line)): Path<(usize, usize)>) -> Response {
    let Some(reel) = &served.reel else { return NONE.into_response() };
    let text = {
        let mut inner = reel.lock();
        let Some(run) = inner.runs.get_mut(run) else { return NONE.into_response() };
        let Some(&begins) = run.lines.get(line) else { return NONE.into_response() };
        let ends = run.lines.get(line + 1).copied().unwrap_or(run.text.bytes);
        run.text.read(begins, ends)
    };
    match text {
        Ok(text) => typed(JSON, body::of_line(served.mannequin(), &text)),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
