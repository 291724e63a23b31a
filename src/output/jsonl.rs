//! JSON lines: one complete object a line, one line a frame.
//!
//! ```json
//! {"seq":0,"frame":0,"captured_us":1000,"emitted_us":9000,"persons":[{"id":1,"score":0.93,"box":[80.5,40,95,300.25],
//!  "keypoints":[[120.5,60,0.97,1.5,"measured"], … 17 in COCO's order],"keypoints3d":[[0.01,-0.62,0.08], … 17]|null}]}
//! ```
//!
//! Of the built-in clip, lines have `"source":"built-in clip"` before `persons`: nobody is there.
//!
//! Places are pixels of the source image, sigma pixels, 3D metres from the hips. Numbers are the shortest decimals
//! that read back as the same `f32`: nothing is rounded on the way. An absent joint is `[0,0,0,0,"absent"]`; `box`
//! surrounds the others and is `[0,0,0,0]` where there are none.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pose::{BoxPx, JointState::Absent, Pose, PoseFrame, Stamped};

use super::{Host, PoseSink, Predict, SinkError, Source};

/// Room for one line with every person and 3D: about 17 × 70 bytes for a person's joints and as much again for 3D.
const LINE_CAPACITY: usize = 32 * 1024;

/// What a line says of its source where nobody is there; lines of cameras and files say nothing.
pub const BUILT_IN: &str = "built-in clip";

/// Appends one line, newline included, to `line`; allocates nothing where `line` has room.
///
/// `frame` is the source's own number, null where nobody knows it; `emitted_at_us` is the moment of sending; `source` is
/// [`BUILT_IN`] or nothing.
pub fn write_line(
    line: &mut Vec<u8>,
    seq: u64,
    frame: Option<u64>,
    captured_at_us: i64,
    emitted_at_us: i64,
    source: Option<&str>,
    poses: impl Iterator<Item = Stamped<Pose>>,
) {
    // Writing to a Vec cannot fail.
    let _ = write!(line, "{{\"seq\":{seq},\"frame\":");
    let _ = match frame {
        Some(frame) => write!(line, "{frame}"),
        None => write!(line, "null"),
    };
    let _ = write!(line, ",\"captured_us\":{captured_at_us},\"emitted_us\":{emitted_at_us}");
    if let Some(source) = source {
        let _ = write!(line, ",\"source\":\"{source}\"");
    }
    line.push(b',');
    write_persons(line, poses.map(|pose| pose.value));
    line.extend_from_slice(b"}\n");
}

/// Appends the line of a still: `file` as it was named, the picture's size in pixels, and persons as in [`write_line`].
pub fn write_still(
    line: &mut Vec<u8>,
    seq: u64,
    file: &str,
    size_px: [usize; 2],
    poses: impl Iterator<Item = Pose>,
) {
    write_still_head(line, seq, file);
    let _ = write!(line, ",\"width\":{},\"height\":{},", size_px[0], size_px[1]);
    write_persons(line, poses);
    line.extend_from_slice(b"}\n");
}

/// Appends the line of a still that could not be looked at: whoever reads the lines misses none.
pub fn write_unread_still(line: &mut Vec<u8>, seq: u64, file: &str, error: &str) {
    write_still_head(line, seq, file);
    line.extend_from_slice(b",\"error\":");
    text(line, error);
    line.extend_from_slice(b"}\n");
}

fn write_still_head(line: &mut Vec<u8>, seq: u64, file: &str) {
    let _ = write!(line, "{{\"seq\":{seq},\"file\":");
    text(line, file);
}

/// Quoted, and what JSON has to escape is.
fn text(line: &mut Vec<u8>, text: &str) {
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(line, text);
}

fn write_persons(line: &mut Vec<u8>, poses: impl Iterator<Item = Pose>) {
    line.extend_from_slice(b"\"persons\":[");
    for (i, pose) in poses.enumerate() {
        if i > 0 {
            line.push(b',');
        }
        write_person(line, &pose);
    }
    line.push(b']');
}

fn write_person(line: &mut Vec<u8>, pose: &Pose) {
    let _ = write!(line, "{{\"id\":{},\"score\":", pose.track_id);
    number(line, pose.score);
    line.extend_from_slice(b",\"box\":[");
    let BoxPx { x, y, w, h } = pose.bounds().unwrap_or_default();
    numbers(line, &[x, y, w, h]);
    line.extend_from_slice(b"],\"keypoints\":[");
    for (i, joint) in pose.joints.iter().enumerate() {
        line.extend_from_slice(if i > 0 { b",[" } else { b"[" });
        // A place that is no number is no place; the wire says the same.
        let (values, state) = if joint.x_px.is_finite() && joint.y_px.is_finite() && joint.state != Absent {
            ([joint.x_px, joint.y_px, joint.score, joint.sigma_px], joint.state)
        } else {
            ([0.0; 4], Absent)
        };
        numbers(line, &values);
        let _ = write!(line, ",\"{}\"]", state.name());
    }
    line.extend_from_slice(b"],\"keypoints3d\":");
    match &pose.joints_3d_m {
        None => line.extend_from_slice(b"null"),
        Some(places) => {
            for (i, place) in places.iter().enumerate() {
                line.extend_from_slice(if i > 0 { b",[" } else { b"[[" });
                numbers(line, place);
                line.push(b']');
            }
            line.push(b']');
        }
    }
    line.push(b'}');
}

fn numbers(line: &mut Vec<u8>, values: &[f32]) {
    for (i, &value) in values.iter().enumerate() {
        if i > 0 {
            line.push(b',');
        }
        number(line, value);
    }
}

/// JSON knows neither NaN nor infinity: both become 0.
fn number(line: &mut Vec<u8>, value: f32) {
    let _ = write!(line, "{}", if value.is_finite() { value } else { 0.0 });
}

/// What becomes of lines that the file holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The first new line takes their place.
    Replace,
    /// New ones follow them.
    Append,
}

/// Where the lines go.
enum Target {
    Stdout(io::Stdout),
    File {
        file: File,
        path: PathBuf,
        /// What it holds goes with the first line.
        is_old: bool,
        /// Bytes after which a new file is begun.
        rotate_at: Option<u64>,
    },
}

/// The sink of `--jsonl PATH|-`: one `write` a line, so a reader at the other end of a pipe sees each line at once and
/// a file ends with a complete line whatever happens.
pub struct JsonLines {
    name: String,
    target: Target,
    predict: Predict,
    line: Vec<u8>,
    host: Option<Arc<dyn Host>>,
}

impl JsonLines {
    /// Creates the file `path` or opens one that is there, or takes standard output for `-`.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where the file cannot be created.
    pub fn open(path: &Path, existing: Existing, predict: Predict) -> Result<Self, SinkError> {
        let (name, target) = if path == Path::new("-") {
            ("jsonl -".to_owned(), Target::Stdout(io::stdout()))
        } else {
            let is_old = existing == Existing::Replace;
            let file = open_lines(path).and_then(|file| {
                if existing == Existing::Append {
                    end_last_line(path, &file)?;
                }
                Ok(file)
            });
            let file = file.map_err(|e| {
                SinkError::Fatal(format!("--jsonl {}: cannot be created: {e}", path.display()))
            })?;
            (
                format!("jsonl {}", path.display()),
                Target::File { file, path: path.to_owned(), is_old, rotate_at: None },
            )
        };
        Ok(Self { name, target, predict, line: Vec::with_capacity(LINE_CAPACITY), host: None })
    }

    /// Lines say where frames come from, as `host` knows it, where that is the built-in clip.
    pub fn told_by(self, host: Arc<dyn Host>) -> Self {
        Self { host: Some(host), ..self }
    }

    /// A file that has reached `bytes` becomes `PATH.1`, in the place of an older one, and a new one is begun.
    pub fn rotated_at(mut self, bytes: u64) -> Self {
        if let Target::File { rotate_at, .. } = &mut self.target {
            *rotate_at = Some(bytes);
        }
        self
    }
}

impl PoseSink for JsonLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError> {
        self.line.clear();
        let persons = self.predict.poses(poses, now_us);
        let source = source_of(self.host.as_deref());
        write_line(
            &mut self.line,
            poses.seq,
            Some(poses.frame),
            poses.captured_at_us,
            now_us,
            source,
            persons,
        );
        match &mut self.target {
            Target::Stdout(out) => {
                let mut out = out.lock();
                out.write_all(&self.line).and_then(|()| out.flush()).map_err(|e| match e.kind() {
                    io::ErrorKind::BrokenPipe => {
                        SinkError::Closed("the reader of standard output is gone".into())
                    }
                    _ => SinkError::Fatal(format!("standard output: {e}")),
                })
            }
            Target::File { file, path, is_old, rotate_at } => {
                let written = (|| {
                    if std::mem::take(is_old) && file.metadata()?.is_file() {
                        file.set_len(0)?;
                    }
                    if let Some(bytes) = *rotate_at {
                        rotate(file, path, bytes)?;
                    }
                    append_whole(file, &self.line)
                })();
                written.map_err(|e| match e.kind() {
                    io::ErrorKind::BrokenPipe => {
                        SinkError::Closed(format!("the reader of {} is gone", path.display()))
                    }
                    _ => SinkError::Fatal(format!(
                        "{}: {e}; the lines before are complete: make room and start again",
                        path.display()
                    )),
                })
            }
        }
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        // Every line is already with the kernel.
        Ok(())
    }
}

/// What lines are to say of the source.
pub(super) fn source_of(host: Option<&dyn Host>) -> Option<&'static str> {
    host.filter(|host| host.source() == Source::BuiltIn).map(|_| BUILT_IN)
}

/// At its end, wherever that is: somebody else may cut the file back.
fn open_lines(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

/// Cuts off the half line that a pulled plug left; text of another kind gets an end of its own.
fn end_last_line(path: &Path, mut file: &File) -> io::Result<()> {
    let bytes = file.metadata()?.len();
    if !file.metadata()?.is_file() || bytes == 0 {
        return Ok(());
    }
    let mut end = Vec::new();
    let mut reader = File::open(path)?;
    let read_from = bytes.saturating_sub(2 * LINE_CAPACITY as u64);
    reader.seek(SeekFrom::Start(read_from))?;
    reader.take(2 * LINE_CAPACITY as u64).read_to_end(&mut end)?;
    let last_line = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    match &end[last_line..] {
        [] => Ok(()),
        half if half.starts_with(b"{\"seq\":") => file.set_len(read_from + last_line as u64),
        _ => file.write_all(b"\n"),
    }
}

/// Half a line would make the whole file unreadable to a strict reader: it is taken back. Pipes and devices cannot be cut
/// back, and have nothing to keep.
fn append_whole(file: &mut File, line: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while written < line.len() {
        match file.write(&line[written..]) {
            Ok(n @ 1..) => written += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            failed => {
                if let Ok(now) = file.metadata() {
                    let _ = file.set_len(now.len().saturating_sub(written as u64));
                }
                return Err(failed.err().unwrap_or(io::ErrorKind::WriteZero.into()));
            }
        }
    }
    Ok(())
}

fn rotate(file: &mut File, path: &Path, at_bytes: u64) -> io::Result<()> {
    let now = file.metadata()?;
    if now.is_file() && now.len() >= at_bytes {
        let mut older = path.as_os_str().to_owned();
        older.push(".1");
        std::fs::rename(path, older)?;
        *file = open_lines(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::{JOINTS, JointState, PoseJoint};

    fn stamped(value: Pose) -> Stamped<Pose> {
        Stamped { captured_at_us: 5, valid_at_us: 5, value }
    }

    fn line_of(poses: impl Iterator<Item = Stamped<Pose>>) -> String {
        let mut line = Vec::new();
        write_line(&mut line, 7, Some(9), -5, 12, None, poses);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_frame_without_persons_is_still_a_line() {
        assert_eq!(
            line_of(std::iter::empty()),
            "{\"seq\":7,\"frame\":9,\"captured_us\":-5,\"emitted_us\":12,\"persons\":[]}\n"
        );
    }

    #[test]
    fn lines_of_stills_name_their_files_whatever_these_are_called() {
        let mut line = Vec::new();
        write_still(&mut line, 2, "a \"b\"\n.jpg", [30, 20], std::iter::empty());
        write_unread_still(&mut line, 3, "c.jpg", "empty \\ file");
        let text = String::from_utf8(line).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            lines,
            [
                serde_json::json!({"seq": 2, "file": "a \"b\"\n.jpg", "width": 30, "height": 20, "persons": []}),
                serde_json::json!({"seq": 3, "file": "c.jpg", "error": "empty \\ file"}),
            ]
        );
    }

    #[test]
    fn every_number_reads_back_as_the_same_bits() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut pose = Pose { track_id: 4, score: rng.f32(), ..Pose::default() };
        for joint in &mut pose.joints {
            *joint = PoseJoint {
                x_px: rng.f32() * 2000.0 - 300.0,
                y_px: rng.f32() * 1100.0 - 10.0,
                score: rng.f32(),
                sigma_px: rng.f32() * 40.0,
                state: JointState::Predicted,
            };
        }
        pose.joints_3d_m = Some([[0.25, -1.5, rng.f32()]; JOINTS]);
        let line = line_of([stamped(pose), stamped(Pose { track_id: 6, ..pose })].into_iter());
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["persons"].as_array().unwrap().len(), 2);
        let person = &json["persons"][1];
        assert_eq!(person["id"], 6);
        let read = |v: &serde_json::Value| v.as_f64().unwrap() as f32;
        assert_eq!(read(&person["score"]), pose.score);
        for (i, joint) in pose.joints.iter().enumerate() {
            let k = &person["keypoints"][i];
            let got = [0, 1, 2, 3].map(|c| read(&k[c]));
            assert_eq!(got, [joint.x_px, joint.y_px, joint.score, joint.sigma_px], "joint {i}");
            assert_eq!(k[4], "predicted");
            assert_eq!(read(&person["keypoints3d"][i][2]), pose.joints_3d_m.unwrap()[i][2]);
        }
        let bounds = pose.bounds().unwrap();
        assert_eq!([0, 1, 2, 3].map(|c| read(&person["box"][c])), [bounds.x, bounds.y, bounds.w, bounds.h]);
    }

    #[test]
    fn absent_joints_and_numbers_json_does_not_know_are_written_as_zero() {
        let mut pose = Pose { track_id: 1, score: f32::NAN, ..Pose::default() };
        pose.joints[0] =
            PoseJoint { x_px: 55.0, y_px: 66.0, score: 0.5, sigma_px: 3.0, state: JointState::Absent };
        pose.joints[1] = PoseJoint {
            x_px: f32::INFINITY,
            y_px: 1.0,
            score: 1.0,
            sigma_px: 2.0,
            state: JointState::Measured,
        };
        pose.joints[2] =
            PoseJoint { x_px: 1.0, y_px: 2.0, score: 1.0, sigma_px: f32::NAN, state: JointState::Measured };
        let line = line_of([stamped(pose)].into_iter());
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        let keypoints = &json["persons"][0]["keypoints"];
        assert_eq!(keypoints[0], serde_json::json!([0, 0, 0, 0, "absent"]));
        assert_eq!(keypoints[1], serde_json::json!([0, 0, 0, 0, "absent"]));
        assert_eq!(keypoints[2], serde_json::json!([1, 2, 1, 0, "measured"]));
        assert_eq!(json["persons"][0]["score"], 0);
        assert_eq!(json["persons"][0]["keypoints3d"], serde_json::Value::Null);
    }

    #[test]
    fn the_fullest_line_fits_the_buffer_made_for_it() {
        let mut pose = Pose { track_id: u32::MAX, score: 0.123_456_79, ..Pose::default() };
        pose.joints = [PoseJoint {
            x_px: -1234.5678,
            y_px: -1234.5678,
            score: 0.000_012_345_678,
            sigma_px: 0.000_012_345_678,
            state: JointState::Predicted,
        }; JOINTS];
        pose.joints_3d_m = Some([[-0.000_012_345_678; 3]; JOINTS]);
        let line = line_of(std::iter::repeat_n(stamped(pose), pose::MAX_PERSONS));
        assert!(line.len() < LINE_CAPACITY, "{}", line.len());
    }
}
