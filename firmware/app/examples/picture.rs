//! What a board's screen has to show for some bytes, drawn on this machine: the emulator tests compare it with what it shows.
//!
//! ```text
//! picture PANEL waiting | camera-lost | link-lost SECONDS | poses FROM_MS TO_MS   < BYTES > PIXELS
//! ```
//!
//! PANEL is `ssd1306`, `ssd0323` or `st7789`. Pixels are written row by row as the panel takes them, 16 bits each, little-endian: on or
//! off, one of 16 greys, or RGB 5-6-5. `poses` draws the newest moment of BYTES once for every age from FROM_MS to TO_MS; the age
//! a board shows depends on when it got round to drawing.

use std::{
    convert::Infallible,
    env,
    io::{self, Read, Write},
};

use app::{Receiver, View, draw_view};
use embedded_graphics::{
    pixelcolor::{BinaryColor, Gray4, Rgb565},
    prelude::*,
};
use pose_draw::{Metrics, Theme};
use pose_wire::Person;

/// Views to draw, one after the other, each with the age it shows.
type Wanted = Vec<(View, Option<i32>)>;

fn main() {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).expect("standard input can be read");
    let mut receiver = Receiver::new();
    bytes.iter().for_each(|byte| receiver.push(*byte, 0));

    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| -> u16 {
        text.parse().unwrap_or_else(|_| refuse(&format!("'{text}' is not a number up to 65535")))
    };
    let (panel, wanted): (&str, Wanted) = match words[..] {
        [panel, "waiting"] => (panel, vec![(View::Waiting, None)]),
        [panel, "camera-lost"] => (panel, vec![(View::CameraLost, None)]),
        [panel, "link-lost", seconds] => {
            (panel, vec![(View::LinkLost { seconds: number(seconds).into() }, None)])
        }
        [panel, "poses", from, to] => {
            let Some(arrival) = receiver.newest() else { refuse("the bytes hold no whole moment") };
            let view = View::Poses { seq: arrival.moment.seq, is_built_in: receiver.is_built_in() };
            (panel, (number(from)..=number(to)).map(|age_ms| (view, Some(age_ms.into()))).collect())
        }
        _ => refuse("PANEL and a view are needed, see the head of picture.rs"),
    };
    let small = Size::new(128, 64);
    let pixels = match panel {
        "ssd1306" => draw(small, &Theme::MONO, &receiver, &wanted, |c: BinaryColor| c.is_on().into()),
        "ssd0323" => draw(small, &Theme::grey(), &receiver, &wanted, |c: Gray4| c.luma().into()),
        "st7789" => draw(Size::new(240, 240), &Theme::dark(), &receiver, &wanted, Rgb565::into_storage),
        other => refuse(&format!("'{other}' is none of ssd1306, ssd0323, st7789")),
    };
    io::stdout().write_all(&pixels).expect("standard output can be written");
}

/// A panel of which nothing can go wrong.
struct Canvas<C> {
    size: Size,
    pixels: Vec<C>,
}

impl<C> OriginDimensions for Canvas<C> {
    fn size(&self) -> Size {
        self.size
    }
}

impl<C: PixelColor> DrawTarget for Canvas<C> {
    type Color = C;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<C>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(place, colour) in pixels {
            if self.bounding_box().contains(place) {
                self.pixels[place.y as usize * self.size.width as usize + place.x as usize] = colour;
            }
        }
        Ok(())
    }
}

/// Draws every wanted view on a panel of its own.
fn draw<C: PixelColor>(
    size: Size,
    theme: &Theme<C>,
    receiver: &Receiver,
    wanted: &Wanted,
    code: impl Fn(C) -> u16,
) -> Vec<u8> {
    let metrics = Metrics::for_panel(size);
    let mut all = Vec::new();
    for (view, age_ms) in wanted {
        let blank = vec![theme.background; (size.width * size.height) as usize];
        let mut canvas = Canvas { size, pixels: blank };
        let persons = receiver.newest().into_iter().flat_map(|a| a.moment.persons().map(Person::pose));
        let Ok(()) = draw_view(&mut canvas, *view, persons, receiver.image_px(), *age_ms, theme, &metrics);
        all.extend(canvas.pixels.iter().flat_map(|colour| code(*colour).to_le_bytes()));
    }
    all
}

fn refuse(why: &str) -> ! {
    eprintln!("picture: {why}");
    std::process::exit(2)
}
