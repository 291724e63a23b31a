//! What the camera says of itself: USB 2.0 and USB Video Class 1.1 descriptors.
//!
//! Video control: camera terminal 1 → output terminal 2. Video streaming: one bulk endpoint (the simulated host controller
//! has no isochronous transfers), MJPEG and uncompressed YUY2 in one size each.

/// Bulk, towards the host, packets of 512 bytes.
pub const ENDPOINT: [u8; 7] = [7, 5, 0x81, 2, 0x00, 0x02, 0];

const CLASS_VIDEO: u8 = 0x0e;
const CS_INTERFACE: u8 = 0x24;

/// One format at one size.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Mjpeg,
    Yuyv,
}

pub struct Camera {
    pub kinds: Vec<Kind>,
    pub width: u16,
    pub height: u16,
    /// Frames a second, the preferred one first.
    pub rates: Vec<u32>,
    /// What it calls itself.
    pub name: String,
}

/// UVC counts in 100 ns.
pub fn interval(fps: u32) -> u32 {
    10_000_000 / fps
}

pub fn device() -> Vec<u8> {
    // Miscellaneous device with an interface association; 1d6b:0102 is the Linux Foundation's gadget.
    vec![18, 1, 0x00, 0x02, 0xef, 2, 1, 64, 0x6b, 0x1d, 0x02, 0x01, 0x00, 0x01, 1, 2, 3, 1]
}

impl Camera {
    pub fn frame_bytes(&self) -> u32 {
        2 * u32::from(self.width) * u32::from(self.height)
    }

    pub fn string(&self, index: u8) -> Vec<u8> {
        let text = match index {
            0 => return vec![4, 3, 0x09, 0x04],
            1 => "Posewire",
            2 => &self.name,
            _ => "1",
        };
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        [vec![2 + utf16.len() as u8, 3], utf16].concat()
    }

    pub fn configuration(&self) -> Vec<u8> {
        let control = {
            let camera_terminal = [18, CS_INTERFACE, 2, 1, 0x01, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0];
            let output_terminal = [9, CS_INTERFACE, 3, 2, 0x01, 0x01, 0, 1, 0];
            let total = 13 + (camera_terminal.len() + output_terminal.len()) as u16;
            let mut header = vec![13, CS_INTERFACE, 1, 0x10, 0x01];
            header.extend(total.to_le_bytes());
            header.extend(48_000_000u32.to_le_bytes());
            header.extend([1, 1]);
            [&header[..], &camera_terminal, &output_terminal].concat()
        };
        let streaming = {
            let formats: Vec<u8> =
                self.kinds.iter().enumerate().flat_map(|(i, k)| self.format(i as u8 + 1, *k)).collect();
            let count = self.kinds.len() as u8;
            let mut header = vec![13 + count, CS_INTERFACE, 1, count];
            header.extend((u16::from(13 + count) + formats.len() as u16).to_le_bytes());
            header.extend([ENDPOINT[2], 0, 2, 0, 0, 0, 1]);
            header.extend(vec![0; count.into()]);
            [header, formats].concat()
        };
        let interface = |number: u8, endpoints: u8, subclass: u8| {
            [9, 4, number, 0, endpoints, CLASS_VIDEO, subclass, 0, 0]
        };
        let body = [
            &[8, 11, 0, 2, CLASS_VIDEO, 3, 0, 2][..],
            &interface(0, 0, 1),
            &control,
            &interface(1, 1, 2),
            &streaming,
            &ENDPOINT,
        ]
        .concat();
        let mut configuration = vec![9, 2];
        configuration.extend((9 + body.len() as u16).to_le_bytes());
        configuration.extend([2, 1, 0, 0x80, 50]);
        configuration.extend(body);
        configuration
    }

    fn format(&self, index: u8, kind: Kind) -> Vec<u8> {
        let (format, frame_subtype) = match kind {
            Kind::Mjpeg => (vec![11, CS_INTERFACE, 6, index, 1, 1, 1, 0, 0, 0, 0], 7),
            Kind::Yuyv => {
                let mut format = vec![27, CS_INTERFACE, 4, index, 1];
                format.extend(b"YUY2\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71");
                format.extend([16, 1, 0, 0, 0, 0]);
                (format, 5)
            }
        };
        let mut frame = vec![26 + 4 * self.rates.len() as u8, CS_INTERFACE, frame_subtype, 1, 0];
        frame.extend(self.width.to_le_bytes());
        frame.extend(self.height.to_le_bytes());
        let bits = 8 * self.frame_bytes();
        frame.extend((bits * self.rates.iter().min().unwrap_or(&1)).to_le_bytes());
        frame.extend((bits * self.rates.iter().max().unwrap_or(&1)).to_le_bytes());
        frame.extend(self.frame_bytes().to_le_bytes());
        frame.extend(interval(self.rates[0]).to_le_bytes());
        frame.push(self.rates.len() as u8);
        frame.extend(self.rates.iter().flat_map(|r| interval(*r).to_le_bytes()));
        [format, frame].concat()
    }
}
