//! What a video node is: boards have them by the dozen, and few are cameras.
//!
//! A Raspberry Pi without any camera shows `/dev/video10` to `31`: its codec and its picture processor, of which some list
//! YUYV at every size, as a camera does, and send nothing for ever. So the driver's name counts before what it says of
//! formats. What the names and capabilities are was read off what `v4l2-ctl --all` printed on people's boards.

use v4l::capability::Flags;

use crate::capture::mode::from_fourcc;

/// What a node says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    /// `uvcvideo`, `bcm2835-isp`.
    pub driver: &'a str,
    /// Its capabilities: the node's own (`device_caps`), not its device's.
    pub capabilities: Flags,
    /// The four characters of each format that it can send.
    pub formats: &'a [[u8; 4]],
}

/// Why a node is not a camera that can be read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Not {
    /// Works on pictures that somebody gives it.
    Processor,
    /// Turns video into pictures or back.
    Codec,
    /// Describes pictures: the second node of every USB camera.
    Metadata,
    /// Takes pictures, to show them.
    Output,
    /// The raw end of a camera on the board's ribbon cable.
    Raw,
    /// A camera whose pictures lie in several buffers each.
    Planes,
    /// Sends no pictures.
    Nothing,
    /// Cannot stream through memory maps.
    NoStream,
    /// Sends nothing that can be read here.
    Format,
}

/// Work on pictures from memory, whatever formats and sizes they list.
const PROCESSORS: [&str; 6] = ["bcm2835-isp", "pispbe", "pisp_be", "rkisp1_stats", "vimc-scaler", "pxp"];

/// Coders and decoders; most say so in their capabilities, some of older kernels do not.
const CODECS: [&str; 12] = [
    "bcm2835-codec",
    "rpi-hevc-dec",
    "rpivid",
    "tegra-nvdec",
    "tegra-vde",
    "nvhost-nvdec",
    "nvhost-msenc",
    "hantro-vpu",
    "rkvdec",
    "cedrus",
    "coda",
    "vim2m",
];

/// Receive what the sensor on a ribbon cable sends. They list every format that the hardware could carry; the sensor sends Bayer.
const RECEIVERS: [&str; 5] = ["unicam", "bcm2835-unicam", "rp1-cfe", "tegra-video", "tegra-camrtc-ca"];

/// The end of a pipeline of sensor, scaler and node that somebody has to join first (`media-ctl`): until then it gives nothing, whatever
/// formats it lists. What the kernel calls so (`V4L2_CAP_IO_MC`) the crate does not hand on.
pub(super) const PIPED: [&str; 9] =
    ["vimc", "rkisp1", "rkcif", "imx-capture", "imx7-csi", "mxc-isi", "qcom-camss", "sun6i-csi", "omap3isp"];

/// Judges a node.
///
/// # Errors
/// Why it is none that can be read here.
pub(super) fn judge(facts: &Facts) -> Result<(), Not> {
    let has = |flags: Flags| facts.capabilities.intersects(flags);
    if PROCESSORS.contains(&facts.driver) {
        return Err(Not::Processor);
    }
    if CODECS.contains(&facts.driver) || has(Flags::VIDEO_M2M | Flags::VIDEO_M2M_MPLANE) {
        return Err(Not::Codec);
    }
    if !has(Flags::VIDEO_CAPTURE) {
        return Err(if has(Flags::META_CAPTURE | Flags::META_OUTPUT) {
            Not::Metadata
        } else if has(Flags::VIDEO_OUTPUT | Flags::VIDEO_OUTPUT_MPLANE) {
            Not::Output
        } else if has(Flags::VIDEO_CAPTURE_MPLANE) {
            Not::Planes
        } else {
            Not::Nothing
        });
    }
    let is_raw = facts.formats.iter().any(is_bayer);
    if RECEIVERS.contains(&facts.driver) && (is_raw || facts.formats.is_empty()) {
        return Err(Not::Raw);
    }
    if !has(Flags::STREAMING) {
        return Err(Not::NoStream);
    }
    if !facts.formats.iter().any(|f| from_fourcc(f).is_some()) {
        return Err(if is_raw { Not::Raw } else { Not::Format });
    }
    Ok(())
}

/// Four characters of 8 to 16 bit Bayer patterns, packed or not.
fn is_bayer(fourcc: &[u8; 4]) -> bool {
    matches!(
        fourcc,
        b"BA81" | b"GBRG" | b"GRBG" | b"RGGB" | [b'p', b'B' | b'G' | b'g' | b'R', b'A' | b'C' | b'E', _]
    ) || (matches!(&fourcc[..2], b"BG" | b"GB" | b"GR" | b"RG" | b"BA" | b"BY")
        && matches!(&fourcc[2..], b"10" | b"12" | b"14" | b"16" | b"R2"))
}

impl Not {
    /// What the node at `path` that calls itself `card` is, and what to do; `formats` are the ones that it sends.
    pub(super) fn told(self, path: &std::path::Path, card: &str, formats: &[[u8; 4]]) -> String {
        let node = format!("{} ({card})", path.display());
        match self {
            Self::Processor => format!("{node}: the board's picture processor, not a camera"),
            Self::Codec => format!("{node}: a video codec, not a camera"),
            Self::Metadata => format!("{node}: describes pictures of the node before it, gives none"),
            Self::Output => format!("{node}: takes pictures, gives none"),
            Self::Raw => format!(
                "{node}: a camera on the board's ribbon cable, whose raw pictures only the board's own software can develop: \
                 use --camera csi"
            ),
            Self::Planes => format!(
                "{node}: a camera that gives each picture in several buffers (multi-planar), which GStreamer reads: \
                 gst-launch-1.0 -q v4l2src device={} ! videoconvert ! jpegenc ! fdsink fd=1 | posewire run --replay -",
                path.display()
            ),
            Self::Nothing => {
                format!("{node}: gives no pictures; `posewire devices` lists what every node is")
            }
            Self::NoStream => format!("{node}: cannot stream through memory maps"),
            Self::Format => {
                let theirs: Vec<_> = formats.iter().map(|f| String::from_utf8_lossy(f)).collect();
                format!(
                    "{node}: sends {}; MJPG, YUYV, NV12, GREY or RGB3 is needed",
                    if theirs.is_empty() { "no format at all".into() } else { theirs.join(", ") }
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats that a receiver on a Pi 4 lists, of which the sensor sends only Bayer.
    const UNICAM: &[&[u8; 4]] = &[b"YUYV", b"UYVY", b"RGB3", b"BA81", b"pBAA", b"BG10"];
    const ISP: &[&[u8; 4]] = &[b"YUYV", b"YV12", b"RGB3", b"NV12"];
    const WEBCAM: &[&[u8; 4]] = &[b"MJPG", b"YUYV"];

    /// A node: driver, its own capabilities as the kernel gives them, formats, and what it is.
    type Node = (&'static str, u32, &'static [&'static [u8; 4]], Result<(), Not>);

    const USB: [Node; 2] =
        [("uvcvideo", 0x0420_0001, WEBCAM, Ok(())), ("uvcvideo", 0x04a0_0000, &[], Err(Not::Metadata))];

    /// Pi 3 and 4: codec, picture processor, and on a Pi 4 the HEVC decoder.
    const PI_4: [Node; 8] = [
        ("bcm2835-codec", 0x0420_4000, &[], Err(Not::Codec)),
        ("bcm2835-isp", 0x0420_0002, &[], Err(Not::Processor)),
        ("bcm2835-isp", 0x0420_0001, ISP, Err(Not::Processor)),
        ("bcm2835-isp", 0x04a0_0000, &[], Err(Not::Processor)),
        ("rpivid", 0x0420_4000, &[], Err(Not::Codec)),
        // With a camera module.
        ("unicam", 0x2520_0001, UNICAM, Err(Not::Raw)),
        ("unicam", 0x24a0_0000, &[], Err(Not::Metadata)),
        // Of the old camera stack: the firmware develops the pictures.
        ("bm2835 mmal", 0x0520_0005, &[b"YU12", b"YUYV", b"MJPG"], Ok(())),
    ];

    const PI_5: [Node; 6] = [
        ("pispbe", 0x0420_2000, &[], Err(Not::Processor)),
        ("pispbe", 0x0420_1000, ISP, Err(Not::Processor)),
        ("pispbe", 0x0c20_0000, &[], Err(Not::Processor)),
        ("rpi-hevc-dec", 0x0420_4000, &[], Err(Not::Codec)),
        // There with and without a camera module.
        ("rp1-cfe", 0x24a0_0001, UNICAM, Err(Not::Raw)),
        ("rp1-cfe", 0x28a0_0000, &[], Err(Not::Metadata)),
    ];

    const JETSON: [Node; 2] = [
        ("tegra-video", 0x0420_0001, &[b"RG10"], Err(Not::Raw)),
        ("tegra-video", 0x0420_0001, &[b"GB10", b"YUYV"], Err(Not::Raw)),
    ];

    /// Of a board with a Rockchip, and the kernel's vivid.
    const PLANES: [Node; 2] = [
        ("rkisp_v6", 0x0420_1000, &[b"NV12"], Err(Not::Planes)),
        ("vivid", 0x0521_1000, &[b"YUYV", b"NM12"], Err(Not::Planes)),
    ];

    fn judged(&(driver, capabilities, formats, _): &Node) -> Result<(), Not> {
        let formats: Vec<[u8; 4]> = formats.iter().map(|f| **f).collect();
        judge(&Facts { driver, capabilities: Flags::from(capabilities), formats: &formats })
    }

    #[test]
    fn on_every_board_only_what_gives_developed_pictures_is_a_camera() {
        for node in USB.iter().chain(&PI_4).chain(&PI_5).chain(&JETSON).chain(&PLANES) {
            assert_eq!(judged(node), node.3, "{} {:#x}", node.0, node.1);
        }
    }

    #[test]
    fn an_hdmi_bridge_behind_a_receiver_is_a_camera() {
        assert_eq!(judged(&("unicam", 0x2520_0001, &[b"UYVY", b"YUYV"], Ok(()))), Ok(()));
        assert_eq!(judged(&("tegra-video", 0x0420_0001, &[b"UYVY", b"NV12"], Ok(()))), Ok(()));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_formats() {
        let formats = [*b"H264", *b"UYVY"];
        let facts = Facts { driver: "uvcvideo", capabilities: Flags::from(0x0420_0001), formats: &formats };
        assert_eq!(judge(&facts), Err(Not::Format));
        let told = Not::Format.told(std::path::Path::new("/dev/video3"), "Encoder", &formats);
        assert!(told.contains("/dev/video3 (Encoder): sends H264, UYVY; MJPG"), "{told}");
        let facts = Facts { capabilities: Flags::VIDEO_CAPTURE, formats: &[*b"YUYV"], ..facts };
        assert_eq!(judge(&facts), Err(Not::NoStream));
    }

    #[test]
    fn bayer_patterns_are_told_from_pictures() {
        for raw in [b"BA81", b"RGGB", b"BG10", b"RG12", b"BA10", b"GB16", b"pRAA", b"pGCC", b"BYR2"] {
            assert!(is_bayer(raw), "{}", String::from_utf8_lossy(raw));
        }
        for picture in [b"YUYV", b"MJPG", b"NV12", b"GREY", b"RGB3", b"BGR3", b"RGBP", b"Y10 "] {
            assert!(!is_bayer(picture), "{}", String::from_utf8_lossy(picture));
        }
    }
}
