//! Photos: a line each.

use std::io::Write;

use pose::Pose;

use super::full::{write_joints, write_persons};
use super::values::text;

/// Appends the line of a still: `file` as it was named, the picture's size in pixels, and persons as in [`super::Format::Full`].
pub fn write_still(
    line: &mut Vec<u8>,
    seq: u64,
    file: &str,
    size_px: [usize; 2],
    poses: impl Iterator<Item = Pose>,
) {
    write_head(line, seq, file);
    let _ = write!(line, ",\"width\":{},\"height\":{},", size_px[0], size_px[1]);
    write_persons(line, poses, write_joints);
    line.extend_from_slice(b"}\n");
}

/// Appends the line of a still that could not be looked at: whoever reads the lines misses none.
pub fn write_unread_still(line: &mut Vec<u8>, seq: u64, file: &str, error: &str) {
    write_head(line, seq, file);
    line.extend_from_slice(b",\"error\":");
    text(line, error);
    line.extend_from_slice(b"}\n");
}

fn write_head(line: &mut Vec<u8>, seq: u64, file: &str) {
    // Writing to a Vec cannot fail.
    let _ = write!(line, "{{\"seq\":{seq},\"file\":");
    text(line, file);
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
