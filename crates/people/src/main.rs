//! `people`: makes data sets, contact sheets and films of rendered people.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use people::{
    camera::Camera,
    damage::{Damage, Stream},
    dataset::{self, Order, Photos, from_the_corner},
    film::Film,
    math::{Vec3, vec3},
    motion::Motion,
    rng::Rng,
    shot::{Studio, Wanted},
};

/// Renders people with exact truth.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  people dataset --count 20000 --seed 1 --out rendered
  people dataset --count 20000 --seed 1 --out rendered --motion motion.bin   more poses
  people dataset --count 20000 --out over --backgrounds ROOMS --cloth FABRICS   photographs behind people and on them
  people sheet --seed 3 --out sheet.png --joints
  people film --persons 3 --seconds 10 --out film.y4m
  people film --persons 3 --seconds 10 --damage --out film.y4m   as a cheap camera sends it
  people film --persons 3 --cameras 4 --out room.y4m     one scene from four sides: room-1.y4m … room-4.y4m"
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Pictures of persons with labels, in shards; the same command goes on where it was.
    Dataset {
        /// Pictures.
        #[arg(long)]
        count: u64,
        /// Folder.
        #[arg(long)]
        out: PathBuf,
        /// Threads.
        #[arg(long, default_value_t = 1)]
        jobs: usize,
        /// JPEGs without people to be seen behind: the set then has their licence's class.
        #[arg(long, value_name = "FOLDER")]
        backgrounds: Option<PathBuf>,
        /// Share of pictures with such a background.
        #[arg(long, default_value_t = 0.5)]
        photos: f32,
        /// JPEGs that cloth is cut from, best of patterns and textures: the set then has their licence's class.
        #[arg(long, value_name = "FOLDER")]
        cloth: Option<PathBuf>,
        /// Share of garments of such cloth.
        #[arg(long, default_value_t = 0.3)]
        cloth_share: f32,
        #[command(flatten)]
        how: How,
    },
    /// Many pictures in one, to be looked at.
    Sheet {
        /// PNG file.
        #[arg(long)]
        out: PathBuf,
        /// Pictures in a row.
        #[arg(long, default_value_t = 8)]
        columns: usize,
        /// Rows.
        #[arg(long, default_value_t = 5)]
        rows: usize,
        /// Marks joints: green seen, red hidden.
        #[arg(long)]
        joints: bool,
        #[command(flatten)]
        how: How,
    },
    /// A film (YUV4MPEG2), and beside it the truth, one line of JSON a frame. With --cameras several of the same scene: each camera's
    /// film, truth and lens (as `posewire calibrate` writes it), and NAME.jsonl with joints in metres of the room, NAME.json with
    /// where the cameras stand.
    Film {
        /// Film, as `film.y4m`; the truth gets the same name with `.jsonl`.
        #[arg(long)]
        out: PathBuf,
        /// Persons.
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=8))]
        persons: u64,
        /// Cameras round the scene.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=16))]
        cameras: u64,
        /// Length.
        #[arg(long, default_value_t = 10.0)]
        seconds: f32,
        /// Frames a second.
        #[arg(long, default_value_t = 30)]
        fps: u32,
        /// Picture.
        #[arg(long, default_value = "640x480", value_parser = size)]
        size: (usize, usize),
        /// As a cheap camera sends it: sharpening, noise, and compression's marks from frame to frame.
        #[arg(long)]
        damage: bool,
        /// Of the random numbers.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

/// How pictures are made.
#[derive(clap::Args)]
struct How {
    /// Side of a picture, pixels.
    #[arg(long, default_value_t = 192)]
    size: usize,
    /// Of the random numbers: the same seed gives the same bytes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A packed motion file (assets/build.py --all-motion): more poses than the embedded ones.
    #[arg(long)]
    motion: Option<PathBuf>,
    /// Share of pictures with more than one person.
    #[arg(long, default_value_t = 0.25)]
    company: f32,
    /// Most people in one; above 3 they stand about in a wider picture, as a finder of persons meets them.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=8))]
    crowd: u64,
    /// Share of pictures with something before the person.
    #[arg(long, default_value_t = 0.25)]
    occluders: f32,
    /// Without blur, noise and wrong colours.
    #[arg(long)]
    clean: bool,
}

impl How {
    fn wanted(&self) -> Result<Wanted> {
        if !(32..=1024).contains(&self.size) {
            bail!("--size {}: 32 to 1024 pixels can be made", self.size);
        }
        Ok(Wanted {
            size: self.size,
            company: self.company,
            crowd: self.crowd as usize,
            occluders: self.occluders,
            damage: !self.clean,
        })
    }

    fn motion(&self) -> Result<Option<Motion>> {
        let Some(path) = &self.motion else { return Ok(None) };
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let motion = Motion::read_file(&bytes).with_context(|| path.display().to_string())?;
        Ok(Some(motion))
    }
}

fn size(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    match parts {
        Some((w, h)) if (32..=4096).contains(&w) && (32..=4096).contains(&h) && w % 2 == 0 && h % 2 == 0 => {
            Ok((w, h))
        }
        _ => Err("an even width x height of 32 to 4096, such as 640x480".into()),
    }
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::Dataset { count, out, jobs, backgrounds, photos, cloth, cloth_share, how } => {
            let of = |folder: Option<PathBuf>, share: f32| match folder {
                Some(folder) => Photos::of(&folder, share),
                None => Ok(Photos::default()),
            };
            let (photos, cloth) = (of(backgrounds, photos)?, of(cloth, cloth_share)?);
            let order = Order { count, seed: how.seed, wanted: how.wanted()?, jobs, photos, cloth };
            let motion = how.motion()?;
            let start = std::time::Instant::now();
            dataset::make(&order, motion.as_ref(), &out, |done, all| {
                eprint!("\r{done} of {all} shards, {:.0} s", start.elapsed().as_secs_f32());
            })?;
            eprintln!("\r{count} pictures in {}", out.display());
            Ok(())
        }
        Command::Sheet { out, columns, rows, joints, how } => sheet(&out, columns, rows, joints, &how),
        Command::Film { out, persons, cameras, seconds, fps, size: (width, height), damage, seed } => {
            if !(seconds > 0.0 && seconds <= 36_000.0 && (1..=240).contains(&fps)) {
                bail!("--seconds above 0 and at most 36000, --fps 1 to 240");
            }
            if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("jsonl")) {
                bail!(
                    "--out {}: the truth is written there, beside the film: give the film another ending, as {}",
                    out.display(),
                    out.with_extension("y4m").display()
                );
            }
            let persons = persons as usize;
            let films = match cameras {
                1 => vec![Film::new(persons, width, height, seed)],
                _ => Film::round(persons, cameras as usize, width, height, seed),
            };
            // Each camera has marks of its own.
            let marks = (0..cameras).map(|k| damage.then(|| Marks::of(seed + k))).collect();
            write_films(&out, films, marks, (seconds * fps as f32).round() as u64, fps)
        }
    }
}

fn sheet(out: &Path, columns: usize, rows: usize, joints: bool, how: &How) -> Result<()> {
    let (wanted, motion) = (how.wanted()?, how.motion()?);
    if columns * rows == 0 || columns * rows * wanted.size * wanted.size > 200_000_000 {
        bail!("{columns} times {rows} pictures: between 1 and some thousand fit a sheet");
    }
    let mut studio = Studio::new(motion.as_ref());
    let (side, width) = (wanted.size, columns * wanted.size);
    let mut pixels = vec![0; 3 * width * rows * side];
    let start = std::time::Instant::now();
    for k in 0..columns * rows {
        let mut shot = studio.shot(&wanted, how.seed, k as u64);
        if joints {
            for j in shot.truth.iter().flat_map(|t| &t.joints).filter(|j| j.is_inside) {
                let colour = if j.is_seen { [60, 255, 60] } else { [255, 40, 40] };
                for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let (x, y) = ((j.x_px as usize + dx).min(side - 1), (j.y_px as usize + dy).min(side - 1));
                    shot.rgb[3 * (y * side + x)..][..3].copy_from_slice(&colour);
                }
            }
        }
        for (y, row) in shot.rgb.chunks_exact(3 * side).enumerate() {
            let at = 3 * ((k / columns * side + y) * width + k % columns * side);
            pixels[at..at + row.len()].copy_from_slice(row);
        }
    }
    let took = start.elapsed().as_secs_f32();
    image::save_buffer(out, &pixels, width as u32, (rows * side) as u32, image::ColorType::Rgb8)
        .with_context(|| format!("cannot write {}", out.display()))?;
    println!("{} pictures, {:.0} a second", columns * rows, (columns * rows) as f32 / took);
    Ok(())
}

/// What a camera and its encoder do to a film.
struct Marks {
    camera: Damage,
    stream: Stream,
    rng: Rng,
}

impl Marks {
    fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0x6d61_726b);
        // The stream has marks of its own.
        let camera = Damage { film: 0.0, ..Damage::draw(&mut rng) };
        Self { camera, stream: Stream::drawn(seed), rng }
    }
}

fn create(path: &Path) -> Result<std::io::BufWriter<fs::File>> {
    let file = fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(std::io::BufWriter::new(file))
}

fn write_films(
    out: &Path,
    mut films: Vec<Film>,
    mut marks: Vec<Option<Marks>>,
    frames: u64,
    fps: u32,
) -> Result<()> {
    let beside = |tail: &str| {
        let stem = out.file_stem().unwrap_or_default().to_string_lossy();
        out.with_file_name(format!("{stem}{tail}"))
    };
    let several = films.len() > 1;
    let (mut outs, [width, height]) = (Vec::new(), films[0].camera().size);
    for k in 1..=films.len() {
        let path = if several { beside(&format!("-{k}.y4m")) } else { out.to_owned() };
        let (mut video, truth) = (create(&path)?, create(&path.with_extension("jsonl"))?);
        writeln!(video, "YUV4MPEG2 W{width} H{height} F{fps}:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL")?;
        outs.push((video, truth));
    }
    let mut room = several.then(|| create(&beside(".jsonl"))).transpose()?;
    if several {
        for (k, film) in films.iter().enumerate() {
            fs::write(beside(&format!("-{}.toml", k + 1)), lens(film.camera(), k + 1))?;
        }
        fs::write(beside(".json"), format!("{:#}\n", cameras(&films)))?;
    }
    let mut rgb = Vec::new();
    for frame in 0..frames {
        for ((film, marks), (video, truth)) in films.iter_mut().zip(&mut marks).zip(&mut outs) {
            film.draw(frame as f32 / fps as f32, &mut rgb);
            if let Some(Marks { camera, stream, rng }) = marks {
                camera.electronics(&mut rgb, width, height, rng);
                stream.pass(&mut rgb, width, height);
            }
            video.write_all(b"FRAME\n")?;
            video.write_all(&planes(&rgb, width, height))?;
            let persons: Vec<_> =
                film.truth().iter().enumerate().map(|(k, t)| from_the_corner(t, frame, k)).collect();
            writeln!(truth, "{}", serde_json::json!({ "frame": frame, "persons": persons }))?;
        }
        if let Some(room) = &mut room {
            let persons: Vec<Vec<[f32; 3]>> =
                films[0].world_m().map(|joints| joints.iter().map(|p| in_room(*p)).collect()).collect();
            writeln!(room, "{}", serde_json::json!({ "frame": frame, "persons": persons }))?;
        }
    }
    for (mut video, mut truth) in outs {
        video.flush()?;
        truth.flush()?;
    }
    if let Some(mut room) = room {
        room.flush()?;
    }
    Ok(())
}

/// Metres with z up, as a room has them: the world's y is up.
fn in_room(p: Vec3) -> [f32; 3] {
    [p.x, -p.z, p.y]
}

/// As `posewire calibrate` writes a lens.
fn lens(camera: &Camera, number: usize) -> String {
    let ([width, height], [cx, cy], focal) = (camera.size, camera.centre_px, camera.focal_px);
    format!(
        "camera = \"rendered {number}\"\nwidth_px = {width}\nheight_px = {height}\nfx_px = {focal:.3}\nfy_px = {focal:.3}\ncx_px = {cx:.3}\ncy_px = {cy:.3}\nk1 = {:.5}\nk2 = 0.0\nboard = \"none\"\n",
        camera.k1
    )
}

/// Where each stands (metres of the room) and how it is turned: rows of the rotation from the room to right, down and ahead.
fn cameras(films: &[Film]) -> serde_json::Value {
    let one = |film: &Film| {
        let c = film.camera();
        // The room's axes in the world: x, -z, y.
        let columns =
            [c.turn * vec3(1.0, 0.0, 0.0), c.turn * vec3(0.0, 0.0, -1.0), c.turn * vec3(0.0, 1.0, 0.0)];
        let row = |of: fn(&Vec3) -> f32| columns.each_ref().map(of);
        serde_json::json!({ "at_m": in_room(c.eye), "rotation": [row(|v| v.x), row(|v| v.y), row(|v| v.z)] })
    };
    let statures: Vec<f32> = films[0].heights_m().collect();
    serde_json::json!({ "cameras": films.iter().map(one).collect::<Vec<_>>(), "statures_m": statures })
}

/// Full-range BT.601, chroma halved both ways.
fn planes(rgb: &[u8], width: usize, height: usize) -> Vec<u8> {
    let mut out = vec![0; width * height * 3 / 2];
    let (luma, chroma) = out.split_at_mut(width * height);
    for (y, p) in luma.iter_mut().zip(rgb.chunks_exact(3)) {
        *y = ((77 * u32::from(p[0]) + 150 * u32::from(p[1]) + 29 * u32::from(p[2]) + 128) >> 8) as u8;
    }
    let quarter = width * height / 4;
    for y in 0..height / 2 {
        for x in 0..width / 2 {
            let mut sum = [0i32; 3];
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let at = 3 * ((2 * y + dy) * width + 2 * x + dx);
                (0..3).for_each(|c| sum[c] += i32::from(rgb[at + c]));
            }
            let [r, g, b] = sum;
            let code = |v: i32| ((v / 4 + 128 * 256 + 128) >> 8).clamp(0, 255) as u8;
            chroma[y * width / 2 + x] = code(-43 * r - 85 * g + 128 * b);
            chroma[quarter + y * width / 2 + x] = code(128 * r - 107 * g - 21 * b);
        }
    }
    out
}
