//! Whether what ffmpeg has left of a film holds pictures, and not its header alone, which comes with the first of them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Where the first pictures of a Matroska or AVI file begin: within its header's size by far.
const HEAD_BYTES: u64 = 64 << 10;

/// Whether the file at `path`, of a kind that ffmpeg calls `container`, can be played up to some picture.
///
/// # Errors
/// It cannot be read.
pub(super) fn is_playable(path: &Path, container: &str) -> io::Result<bool> {
    let mut file = File::open(path)?;
    // A pipe would be waited for.
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let first: &[u8] = match container {
        "mp4" | "mov" => return has_whole_piece(&mut file),
        // ffmpeg writes a cluster when it has all of it.
        "matroska" => &[0x1f, 0x43, 0xb6, 0x75],
        _ => b"movi00dc",
    };
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head.windows(first.len()).any(|window| window == first))
}

/// Whether the pictures of the first piece are there to their end: what else the file begins with is passed over.
fn has_whole_piece(file: &mut File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut at = 0;
    while at + 16 <= length {
        let mut head = [0; 16];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut head)?;
        let [a, b, c, d, kind @ .., _, _, _, _, _, _, _, _] = head;
        let size = match u32::from_be_bytes([a, b, c, d]) {
            1 => u64::from_be_bytes(std::array::from_fn(|i| head[8 + i])),
            size => size.into(),
        };
        let end = at.saturating_add(size);
        if kind == *b"mdat" {
            return Ok(size > 8 && end <= length);
        }
        if size < 8 {
            return Ok(false);
        }
        at = end;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playable(container: &str, parts: &[&[u8]]) -> bool {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), parts.concat()).unwrap();
        is_playable(file.path(), container).unwrap()
    }

    #[test]
    fn a_film_of_a_header_and_no_whole_piece_is_none() {
        let head: &[u8] = b"\0\0\0\x10ftypisom\0\0\x02\0\0\0\0\x0cmoovmdat\0\0\0\x10moof12345678";
        let piece: &[u8] = b"\0\0\0\x10mdat12345678";
        assert!(playable("mp4", &[head, piece]) && playable("mov", &[head, piece, piece]));
        let large: &[u8] = b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x1812345678";
        assert!(playable("mp4", &[head, large]) && !playable("mp4", &[head, &large[..20]]));
        for cut in [0, 1, 8, 15] {
            assert!(!playable("mp4", &[head, &piece[..cut]]), "{cut}");
        }
        assert!(!playable("mp4", &[]) && !playable("mp4", &[&[0; 64]]));
    }

    #[test]
    fn in_other_kinds_of_file_it_is_the_first_picture_that_counts() {
        assert!(!playable("avi", &[b"RIFFindx00dc", &[0; 500], b"movi"]));
        assert!(playable("avi", &[b"RIFFindx00dc", &[0; 500], b"movi00dc"]));
        assert!(!playable("matroska", &[&[0x1a, 0x45, 0xdf, 0xa3], &[0; 500]]));
        assert!(playable("matroska", &[&[0x1a, 0x45, 0xdf, 0xa3], &[0; 500], &[0x1f, 0x43, 0xb6, 0x75]]));
    }
}
