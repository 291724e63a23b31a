//! Networks, weights and their manifests.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use posewire::infer::{self, Engine, Manifest};
use posewire::temporal;

use super::{Target, text};

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

pub const WEIGHTS: Target = Target {
    name: "weights",
    max_len: 4096,
    words: &[
        b"PWT1",
        b"lead_frames",
        b"error_model.keypoints",
        &[1, 0, 0, 0],
        &[0xff, 0xff, 0xff, 0xff],
        &[0, 16, 0, 0],
    ],
    run: |data| {
        let bytes = [data, &CRC.checksum(data).to_le_bytes()].concat();
        let _ = temporal::build(temporal::Smoother::Xl, Some(&bytes), Some("keypoints"));
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
        let text = &*text(data);
        if let Ok(manifest) = Manifest::parse(text, "m.toml") {
            let _ = manifest.verify(data);
        }
    },
};

pub const ONNX: Target = Target {
    name: "onnx",
    max_len: 4096,
    words: &[
        b"Conv",
        b"ConvTranspose",
        b"QuantizeLinear",
        b"DequantizeLinear",
        b"MaxPool",
        b"AveragePool",
        b"Add",
        b"Clip",
        b"Reshape",
        b"Resize",
        b"Concat",
        b"Sigmoid",
        b"pads",
        b"strides",
        b"dilations",
        b"kernel_shape",
        b"group",
    ],
    run: load,
};

/// Where tract goes on from is new, or the input's own hash says so: this share of the others. At one in 256 Posewire's own stages
/// get more than two thirds of the time.
const TRACT_ONE_IN: u16 = 256;

/// Every input goes through the sum, the file's parser and the int8 matcher with its program. Tract's own reading and
/// optimising takes a hundred times as long: it follows where the first stage said something that it has not said before, so
/// also for an input that is run alone, and for a fixed share of the rest.
fn load(data: &[u8]) {
    static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
        let head = format!("name='fuzz'\ntask='keypoints'\nfile='fuzz.onnx'\nsha256='{}'\n", "0".repeat(64));
        Manifest::parse(&(head + include_str!("onnx.toml")), "fuzz.toml").expect("the manifest is ours")
    });
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let sum = posewire::models::sha256(data);
    let sha256 = sum.iter().map(|b| format!("{b:02x}")).collect();
    let manifest = Manifest { sha256, ..MANIFEST.clone() };
    let said = match infer::load_with(&manifest, data, Engine::Int8(None)) {
        // Names and sizes are the input's, what is said of them is ours.
        Err(e) => e.to_string().chars().filter(|c| c.is_ascii_alphabetic()).take(160).collect(),
        Ok(plan) => format!("{:?}", plan.outputs()),
    };
    let mut heard = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    // Outputs' names are the input's: enough is enough.
    let news = heard.len() < 10_000 && heard.insert(said);
    drop(heard);
    if news || u16::from_be_bytes([sum[0], sum[1]]).is_multiple_of(TRACT_ONE_IN) {
        let _ = infer::load(&manifest, data);
    }
}
