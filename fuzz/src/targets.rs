//! The parsers of bytes from outside, each behind one function that must neither panic nor run away.

mod files;
mod models;
mod wire;

use std::borrow::Cow;

/// A parser to be fed.
pub struct Target {
    /// The word on the command line, and the folder of the corpus.
    pub name: &'static str,
    /// Longer inputs only take longer.
    pub max_len: usize,
    /// Worth inserting: keywords, markers.
    pub words: &'static [&'static [u8]],
    /// Takes anything; panics where something is wrong.
    pub run: fn(&[u8]),
}

/// All of them, the fast ones first.
pub static TARGETS: &[Target] = &[
    wire::DECODER,
    wire::READER,
    models::WEIGHTS,
    files::MJPEG,
    files::AVI,
    files::Y4M,
    files::CONFIG,
    models::MANIFEST,
    files::LABELS,
    files::FAULTS,
    files::JPEG,
    files::TURN,
    models::ONNX,
];

/// Text for a parser of text. What is no UTF-8 is refused before any of them sees it, and most damage makes that: it is mended
/// here, or the parsers would hardly be reached.
fn text(data: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(data)
}
