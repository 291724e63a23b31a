//! What the scans of a JPEG ask of the library that turns it undecoded: a file of a few hundred bytes could ask for hours of work.

use super::marks::marks;

/// Scans of a JPEG that is turned so: a camera sends one, a progressive one has about ten. Each goes over the whole picture, and the
/// library's transform counts none.
const MAX_SCANS_TURNED: usize = 4;
const START_OF_SCAN: [u8; 2] = [0xff, 0xda];

/// Whether turning a JPEG of so many components, whose frame header could be read, takes what a camera's picture takes.
pub(super) fn are_a_cameras(bytes: &[u8], components: u8) -> bool {
    // At most: marks that stand in what comes before the first, such as a thumbnail's, count too.
    let scans = bytes.windows(2).filter(|mark| *mark == START_OF_SCAN).count();
    // What no scan has the library clears anew for every block beside it that is turned: a minute for a large picture.
    scans <= MAX_SCANS_TURNED && in_first_scan(bytes) == Some(components)
}

/// How many components the first scan has; `None` where it is not found as the library would find it.
fn in_first_scan(bytes: &[u8]) -> Option<u8> {
    for (kind, behind) in marks(bytes) {
        match kind {
            0xda => return bytes.get(behind).copied(),
            0x02..=0xcf | 0xdb..=0xfe => {}
            // Marks of no length do not stand here.
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three components in one scan, and where that begins.
    fn jpeg() -> (Vec<u8>, usize) {
        let (pixels, format) = ([90; 3 * 16 * 16], turbojpeg::PixelFormat::RGB);
        let image = turbojpeg::Image { pixels: &pixels[..], width: 16, height: 16, pitch: 3 * 16, format };
        let bytes = turbojpeg::compress(image, 90, turbojpeg::Subsamp::None).expect("encodes").to_vec();
        let at = bytes.windows(2).position(|mark| mark == START_OF_SCAN).expect("a scan");
        (bytes, at)
    }

    #[test]
    fn a_jpeg_of_many_scans_is_no_cameras() {
        let (mut bytes, at) = jpeg();
        assert!(are_a_cameras(&bytes, 3));
        let empty = bytes[at..at + 2 + usize::from(bytes[at + 3])].to_vec();
        bytes.splice(at..at, empty.repeat(1000));
        assert!(!are_a_cameras(&bytes, 3));
    }

    #[test]
    fn a_jpeg_with_a_component_that_no_scan_has_is_no_cameras() {
        let (mut bytes, at) = jpeg();
        bytes.splice(at..at + 14, [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
        assert!(!are_a_cameras(&bytes, 3));
        assert!(!are_a_cameras(&bytes[..at], 3), "no scan at all");
    }
}
