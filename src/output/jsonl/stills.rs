//! Photos: what is written of each, in the formats that there are for frames.

use std::io::Write;

use pose::Pose;

use super::cells::{Cell, HeadCell};
use super::full::write_persons;
use super::values::text;
use super::{Format, coco, csv, flat, full, named};

/// A photo that lines are written of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Still<'a> {
    /// Counts photos, in the order in which they were named.
    pub seq: u64,
    /// As it was named.
    pub file: &'a str,
    /// Pixels.
    pub size_px: [usize; 2],
}

impl<'a> Still<'a> {
    /// Appends what stands before the first line: nothing, but for a table the names of its columns.
    pub fn write_first_row(format: Format, to: &mut Vec<u8>) {
        if format == Format::Csv {
            csv::write_first_row(to, &Self::default().cells());
        }
    }

    /// Appends its lines, newlines included: one, or as many as there are persons.
    pub fn write(&self, format: Format, to: &mut Vec<u8>, poses: impl Iterator<Item = Pose>) {
        match format {
            Format::Full => self.write_line(to, poses, full::write_joints),
            Format::Named => self.write_line(to, poses, named::write_joints),
            Format::Coco => poses.for_each(|pose| {
                coco::write_person(to, self.seq, &pose);
                to.extend_from_slice(b",\"file_name\":");
                text(to, self.file);
                to.extend_from_slice(b"}\n");
            }),
            Format::Flat => poses.for_each(|pose| flat::write_line(to, &self.cells(), None, &pose)),
            Format::Csv => poses.for_each(|pose| csv::write_row(to, &self.cells(), None, &pose)),
        }
    }

    /// Appends the line of a photo that could not be looked at: whoever reads a line a photo misses none. Where a line is a person there
    /// is none.
    pub fn write_unread(&self, format: Format, to: &mut Vec<u8>, error: &str) {
        if matches!(format, Format::Full | Format::Named) {
            self.write_head(to);
            to.extend_from_slice(b",\"error\":");
            text(to, error);
            to.extend_from_slice(b"}\n");
        }
    }

    fn write_line(
        &self,
        to: &mut Vec<u8>,
        poses: impl Iterator<Item = Pose>,
        write_joints: impl Fn(&mut Vec<u8>, &Pose),
    ) {
        self.write_head(to);
        // Writing to a Vec cannot fail.
        let _ = write!(to, ",\"width\":{},\"height\":{},", self.size_px[0], self.size_px[1]);
        write_persons(to, None, poses, write_joints);
        to.extend_from_slice(b"}\n");
    }

    fn write_head(&self, to: &mut Vec<u8>) {
        let _ = write!(to, "{{\"seq\":{},\"file\":", self.seq);
        text(to, self.file);
    }

    fn cells(&self) -> [HeadCell<'a>; 4] {
        let whole = |value: usize| Cell::Whole(value as i128);
        let [width, height] = self.size_px;
        [
            ("seq", Cell::Whole(self.seq.into())),
            ("file", Cell::Word(self.file)),
            ("width", whole(width)),
            ("height", whole(height)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Still<'_> = Still { seq: 2, file: "a \"b\",\n.jpg", size_px: [30, 20] };

    fn written(format: Format, poses: &[Pose]) -> String {
        let mut text = Vec::new();
        Still::write_first_row(format, &mut text);
        STILL.write(format, &mut text, poses.iter().copied());
        String::from_utf8(text).unwrap()
    }

    fn parsed(text: &str) -> Vec<serde_json::Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn lines_of_stills_name_their_files_whatever_these_are_called() {
        let head =
            serde_json::json!({"seq": 2, "file": "a \"b\",\n.jpg", "width": 30, "height": 20, "persons": []});
        for format in [Format::Full, Format::Named] {
            assert_eq!(parsed(&written(format, &[])), std::slice::from_ref(&head));
            let mut line = Vec::new();
            STILL.write_unread(format, &mut line, "empty \\ file");
            let unread = serde_json::json!({"seq": 2, "file": "a \"b\",\n.jpg", "error": "empty \\ file"});
            assert_eq!(parsed(&String::from_utf8(line).unwrap()), [unread]);
        }
    }

    #[test]
    fn where_a_line_is_a_person_it_says_in_which_file() {
        let poses = [1, 2].map(|track_id| Pose { track_id, score: 0.5, ..Pose::default() });
        for (format, key) in [(Format::Coco, "file_name"), (Format::Flat, "file")] {
            assert_eq!(written(format, &[]), "");
            let lines = parsed(&written(format, &poses));
            assert_eq!(lines.len(), 2);
            assert!(lines.iter().all(|line| line[key] == STILL.file && line["score"] == 0.5), "{lines:?}");
        }
        assert_eq!(parsed(&written(Format::Coco, &poses))[1]["image_id"], 2);
        let mut line = Vec::new();
        STILL.write_unread(Format::Csv, &mut line, "empty");
        assert!(line.is_empty());
    }

    #[test]
    fn a_table_of_photos_has_its_names_once_and_every_row_as_many_cells() {
        let still = Still { file: "a.jpg", ..STILL };
        let mut text = Vec::new();
        Still::write_first_row(Format::Csv, &mut text);
        still.write(Format::Csv, &mut text, [Pose::default(); 2].into_iter());
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0][..5], ["seq", "file", "width", "height", "id"]);
        assert_eq!(rows[1][..4], ["2", "a.jpg", "30", "20"]);
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    }
}
