//! Writes the built-in clip as files, for cameras that are not there: `clip.mjpeg` (a raw MJPEG stream), `clip.yuyv` (raw
//! YUYV frames) and `clip.y4m` (the same, to be replayed). Usage: clip DIR JPEGS RAW_FRAMES

use std::io::Write;

use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;

const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: clip DIR JPEGS RAW_FRAMES";
    let dir = args.next().ok_or(usage)?;
    let mut count = || args.next().ok_or(usage)?.parse::<u64>().map_err(Box::<dyn std::error::Error>::from);
    let (jpeg_count, raw_count) = (count()?, count()?);
    let file = |name: &str| {
        std::fs::File::create(std::path::Path::new(&dir).join(name)).map(std::io::BufWriter::new)
    };
    let (mut mjpeg, mut yuyv, mut y4m) = (file("clip.mjpeg")?, file("clip.yuyv")?, file("clip.y4m")?);
    writeln!(y4m, "YUV4MPEG2 W{WIDTH} H{HEIGHT} F30:1 Ip A1:1 C422")?;
    let mut jpegs = Synthetic::new(2, WIDTH, HEIGHT, 30.0, 1)?.as_mjpeg()?;
    let mut rgbs = Synthetic::new(2, WIDTH, HEIGHT, 30.0, 1)?;
    for _ in 0..jpeg_count {
        mjpeg.write_all(&jpegs.next()?.bytes)?;
    }
    for _ in 0..raw_count {
        let (mut packed, mut planes) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
        for pair in rgbs.next()?.bytes.chunks_exact(6) {
            let (y0, u, v) = yuv(&pair[..3]);
            let (y1, ..) = yuv(&pair[3..]);
            packed.extend([y0, u, y1, v]);
            planes[0].extend([y0, y1]);
            planes[1].push(u);
            planes[2].push(v);
        }
        yuyv.write_all(&packed)?;
        y4m.write_all(b"FRAME\n")?;
        planes.iter().try_for_each(|p| y4m.write_all(p))?;
    }
    [mjpeg, yuyv, y4m].iter_mut().try_for_each(Write::flush)?;
    Ok(())
}

/// BT.601, limited range.
fn yuv(rgb: &[u8]) -> (u8, u8, u8) {
    let [r, g, b] = [0, 1, 2].map(|i| f32::from(rgb[i]) / 255.0);
    let y = 0.299 * r + 0.587 * g + 0.114 * b;
    let (u, v) = ((b - y) / 1.772, (r - y) / 1.402);
    ((16.5 + 219.0 * y) as u8, (128.5 + 224.0 * u) as u8, (128.5 + 224.0 * v) as u8)
}
