//! Pictures finer than characters, for terminals that have them.
//!
//! Sixels are made here, with colours that are always the same: a palette for each picture, as libraries for stills choose one, takes
//! a small board longer than the networks do.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::{Canvas, png};
use super::answers::Graphics;
use super::layout::Area;

/// A terminal need not take more in one piece.
const PIECE: usize = 4096;
/// Levels of each of the three colours.
const LEVELS: usize = 6;
/// One level to the next, of 255.
const STEP: usize = 51;
const COLOURS: usize = LEVELS * LEVELS * LEVELS;
/// Rows of a band: each character stands for so many pixels, one below the other.
const BAND: usize = 6;
/// Thresholds that spread a colour between two levels over its neighbours, 0..16.
const ORDERED: [[usize; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];
/// No picture is wider or higher: more takes longer than it shows.
pub(super) const MAX_PX: usize = 960;

/// Makes pictures; keeps its memory from one to the next.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    png: Vec<u8>,
    text: String,
    /// `[COLOURS][width]`: which of a band's rows have this colour.
    band: Vec<u8>,
}

impl Pictures {
    /// Appends what shows `canvas` in `area`; the cursor may stand anywhere then.
    pub fn show(&mut self, how: Graphics, canvas: &Canvas, area: Area, bytes: &mut Vec<u8>) {
        // Writing to a Vec cannot fail.
        let _ = write!(bytes, "\x1b[{};{}H", area.row + 1, area.column + 1);
        match how {
            Graphics::Kitty => self.kitty(canvas, area, bytes),
            Graphics::Sixel => self.sixel(canvas, bytes),
        }
    }

    /// As a PNG under one number, which takes the place of the one before; spread over the cells of `area`.
    fn kitty(&mut self, canvas: &Canvas, area: Area, bytes: &mut Vec<u8>) {
        self.png.clear();
        if png::encode(canvas, &mut self.png).is_err() {
            return;
        }
        self.text.clear();
        STANDARD.encode_string(&self.png, &mut self.text);
        let pieces = self.text.as_bytes().chunks(PIECE);
        let last = pieces.len() - 1;
        for (i, piece) in pieces.enumerate() {
            let more = u8::from(i < last);
            let _ = if i == 0 {
                let Area { columns, rows, .. } = area;
                // No answer (q=2), the cursor stays (C=1).
                write!(bytes, "\x1b_Ga=T,f=100,i=4207,p=1,q=2,C=1,c={columns},r={rows},m={more};")
            } else {
                write!(bytes, "\x1b_Gm={more};")
            };
            bytes.extend_from_slice(piece);
            bytes.extend_from_slice(b"\x1b\\");
        }
    }

    fn sixel(&mut self, canvas: &Canvas, bytes: &mut Vec<u8>) {
        let (width, height) = (canvas.width(), canvas.height());
        let _ = write!(bytes, "\x1bP0;1;0q\"1;1;{width};{height}");
        for colour in 0..COLOURS {
            let percent = |level: usize| level * 100 / (LEVELS - 1);
            let [r, g, b] =
                [colour / (LEVELS * LEVELS), colour / LEVELS % LEVELS, colour % LEVELS].map(percent);
            let _ = write!(bytes, "#{colour};2;{r};{g};{b}");
        }
        self.band.clear();
        self.band.resize(COLOURS * width, 0);
        for top in (0..height).step_by(BAND) {
            let mut is_used = [false; COLOURS];
            for y in top..(top + BAND).min(height) {
                let row = &canvas.rgb()[3 * y * width..][..3 * width];
                for (x, rgb) in row.as_chunks::<3>().0.iter().enumerate() {
                    let colour = nearest(*rgb, ORDERED[y % 4][x % 4]);
                    is_used[colour] = true;
                    self.band[colour * width + x] |= 1 << (y - top);
                }
            }
            for colour in (0..COLOURS).filter(|colour| is_used[*colour]) {
                let row = &mut self.band[colour * width..][..width];
                let _ = write!(bytes, "#{colour}");
                runs(row, bytes);
                bytes.push(b'$');
                row.fill(0);
            }
            bytes.push(b'-');
        }
        bytes.extend_from_slice(b"\x1b\\");
    }
}

/// The palette's entry for a colour at a place with this threshold.
fn nearest(rgb: [u8; 3], threshold: usize) -> usize {
    let [r, g, b] = rgb.map(|v| ((usize::from(v) + (2 * threshold + 1) * STEP / 32) / STEP).min(LEVELS - 1));
    (r * LEVELS + g) * LEVELS + b
}

/// Appends a band's row of one colour, repeats as their count; what is empty at its end is left out.
fn runs(row: &[u8], bytes: &mut Vec<u8>) {
    let end = row.iter().rposition(|v| *v != 0).map_or(0, |at| at + 1);
    for run in row[..end].chunk_by(|a, b| a == b) {
        let character = b'?' + run[0];
        if run.len() > 3 {
            let _ = write!(bytes, "!{}{}", run.len(), char::from(character));
        } else {
            bytes.extend(run.iter().map(|_| character));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(width: usize, height: usize) -> Canvas {
        let mut canvas = Canvas::default();
        canvas.reset(width, height);
        for (i, rgb) in canvas.rgb_mut().as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (x, y) = (i % width, i / width);
            *rgb =
                [(255 * x / width) as u8, (255 * y / height) as u8, if (x / 8) % 2 == 0 { 255 } else { 40 }];
        }
        canvas
    }

    const AREA: Area = Area { column: 2, row: 1, columns: 10, rows: 5 };

    fn shown(how: Graphics, canvas: &Canvas) -> String {
        let mut bytes = Vec::new();
        Pictures::default().show(how, canvas, AREA, &mut bytes);
        String::from_utf8(bytes).expect("text alone")
    }

    /// Reads sixels back, as a terminal does: width, height and colours.
    fn read_sixel(text: &str) -> Canvas {
        let body = text.split_once('q').unwrap().1.strip_suffix("\x1b\\").unwrap();
        let numbers = |rest: &mut &str| -> Vec<usize> {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(rest.len());
            let (head, tail) = rest.split_at(end);
            *rest = tail;
            head.split(';').map(|n| n.parse().unwrap()).collect()
        };
        let (mut canvas, mut palette, mut rest) = (Canvas::default(), vec![[0; 3]; COLOURS], body);
        let (mut x, mut top, mut colour) = (0, 0, 0);
        while let Some(c) = rest.chars().next() {
            rest = &rest[1..];
            let mut count = 1;
            let mut character = c;
            match c {
                '"' => {
                    let size = numbers(&mut rest);
                    canvas.reset(size[2], size[3]);
                    continue;
                }
                '#' => {
                    let told = numbers(&mut rest);
                    colour = told[0];
                    if let [_, 2, rgb @ ..] = &told[..] {
                        palette[colour] = std::array::from_fn(|i| (rgb[i] * 255 / 100) as u8);
                    }
                    continue;
                }
                '$' => {
                    x = 0;
                    continue;
                }
                '-' => {
                    (x, top) = (0, top + BAND);
                    continue;
                }
                '!' => {
                    count = numbers(&mut rest)[0];
                    character = rest.chars().next().unwrap();
                    rest = &rest[1..];
                }
                _ => {}
            }
            let rows = character as usize - '?' as usize;
            for column in x..x + count {
                for row in (0..BAND).filter(|row| rows >> row & 1 == 1) {
                    let at = 3 * ((top + row) * canvas.width() + column);
                    canvas.rgb_mut()[at..at + 3].copy_from_slice(&palette[colour]);
                }
            }
            x += count;
        }
        canvas
    }

    #[test]
    fn sixels_are_the_picture_within_a_level_and_on_the_whole_exactly() {
        // Neither side whole bands nor whole squares of thresholds.
        let canvas = coloured(67, 43);
        let text = shown(Graphics::Sixel, &canvas);
        assert!(text.starts_with("\x1b[2;3H\x1bP"), "{}", &text[..20]);
        let read = read_sixel(&text);
        assert_eq!((read.width(), read.height()), (67, 43));
        let errors = || canvas.rgb().iter().zip(read.rgb()).map(|(a, b)| i32::from(*a) - i32::from(*b));
        assert!(errors().all(|e| e.abs() <= STEP as i32), "{:?}", errors().max());
        let mean = errors().sum::<i32>() as f32 / canvas.rgb().len() as f32;
        assert!(mean.abs() < 2.0, "as bright as it was, but for {mean}");
    }

    #[test]
    fn what_kitty_gets_is_the_picture_itself() {
        let canvas = coloured(160, 90);
        let text = shown(Graphics::Kitty, &canvas);
        let (mut payload, mut pieces) = (String::new(), 0);
        for piece in text.split("\x1b_G").skip(1) {
            let (head, data) = piece.strip_suffix("\x1b\\").unwrap().split_once(';').unwrap();
            assert_eq!(pieces == 0, head.contains("c=10,r=5"), "{head}");
            assert!(data.len() <= PIECE);
            payload += data;
            pieces += 1;
            assert_eq!(head.contains("m=0"), text.matches("\x1b_G").count() == pieces, "{head}");
        }
        let png = STANDARD.decode(payload).unwrap();
        assert_eq!(image::load_from_memory(&png).unwrap().to_rgb8().into_raw(), canvas.rgb());
    }
}
