//! The sink of `--udp`: JSON lines as datagrams, one a frame.

use std::sync::Arc;
use std::time::Duration;

use datagrams::{Datagrams, MAX_BYTES};
use pose::PoseFrame;

use super::jsonl::{Format, Head};
use super::{Host, PoseSink, Predict, Sending, SinkError};

/// Sends the lines of each frame in a datagram of their own.
pub struct UdpLines {
    name: String,
    datagrams: Datagrams,
    format: Format,
    predict: Predict,
    host: Option<Arc<dyn Host>>,
    lines: Vec<u8>,
}

impl UdpLines {
    /// Sends to `HOST:PORT` from now on, whether or not somebody listens there.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where the format has a first row, which whoever comes later would never see.
    pub fn to(peer: &str, format: Format, predict: Predict) -> Result<Self, SinkError> {
        if format.has_first_row() {
            let why = format!(
                "{format} has a first row, which a datagram lacks; flat has the same cells with their names"
            );
            return Err(SinkError::fatal(format_args!("--udp {peer}"), why));
        }
        let datagrams = Datagrams::to(peer);
        let name = match format {
            Format::Full => format!("udp {}", datagrams.peer()),
            other => format!("udp {} ({other})", datagrams.peer()),
        };
        let lines = Vec::with_capacity(MAX_BYTES);
        Ok(Self { name, datagrams, format, predict, host: None, lines })
    }

    /// Lines say where frames come from, as `host` knows it, where that is the built-in clip.
    pub fn told_by(self, host: Arc<dyn Host>) -> Self {
        Self { host: Some(host), ..self }
    }
}

impl PoseSink for UdpLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        self.lines.clear();
        let head = Head::of(poses, now_us, self.host.as_deref());
        self.format.write(&mut self.lines, &head, self.predict.poses(poses, now_us));
        if !self.lines.is_empty() {
            self.datagrams.send(&self.lines, now_us)?;
        }
        Ok(Sending::Sent)
    }

    /// A moment of which nothing is sent says nothing of the peer.
    fn is_away(&self) -> bool {
        self.datagrams.has_failed()
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        // Every datagram is already with the kernel.
        Ok(())
    }
}
