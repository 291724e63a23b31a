//! Networks, weights and their manifests.

use posewire::infer::{self, Manifest};
use posewire::temporal;

use super::Target;

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

pub const WEIGHTS: Target = Target {
    name: "weights",
    max_len: 4096,
    words: &[b"PWT1", b"lead_frames", &[1, 0, 0, 0], &[0xff, 0xff, 0xff, 0xff], &[0, 16, 0, 0]],
    run: |data| {
        let bytes = [data, &CRC.checksum(data).to_le_bytes()].concat();
        let _ = temporal::build(temporal::Smoother::Xl, Some(&bytes));
    },
};

pub const MANIFEST: Target = Target {
    name: "manifest",
    max_len: 4096,
    words: &[
        b"[input]\n",
        b"[roi]\n",
        b"[codec]\n",
        b"[card]\n",
        b"kind = ",
        b"\"simcc\"",
        b"\"heatmap\"",
        b"\"movenet\"",
        b"\"yolo\"",
        b"width = ",
        b"height = ",
        b"nan",
        b"inf",
        b"-1",
        b"99999999999",
    ],
    run: |data| {
        let Ok(text) = std::str::from_utf8(data) else { return };
        if let Ok(manifest) = Manifest::parse(text, "m.toml") {
            let _ = manifest.verify(data);
        }
    },
};

pub const ONNX: Target = Target {
    name: "onnx",
    max_len: 1 << 16,
    words: &[
        b"Conv",
        b"QuantizeLinear",
        b"DequantizeLinear",
        b"MaxPool",
        b"Add",
        b"Reshape",
        b"Resize",
        b"Concat",
        b"pads",
        b"strides",
    ],
    run: |data| {
        let text = format!(
            "name = 'fuzz'\ntask = 'keypoints'\nfile = 'fuzz.onnx'\nsha256 = '{}'\n{}",
            hex(data),
            include_str!("onnx.toml")
        );
        let manifest = Manifest::parse(&text, "fuzz.toml").expect("the manifest is ours");
        let _ = infer::load(&manifest, data);
    },
};

fn hex(data: &[u8]) -> String {
    posewire::models::sha256(data).iter().map(|b| format!("{b:02x}")).collect()
}
