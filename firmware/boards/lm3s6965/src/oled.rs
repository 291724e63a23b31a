//! The board's OLED: an SSD0323 of 128×64 pixels and 16 greys on SSI 0.

use core::convert::Infallible;

use app::Panel;
use embedded_graphics::{
    framebuffer::{Framebuffer, buffer_size},
    pixelcolor::{
        Gray4,
        raw::{LittleEndian, RawU4},
    },
    prelude::*,
    primitives::Rectangle,
};

use crate::registers::*;

const WIDTH: usize = 128;
const HEIGHT: usize = 64;
const BUSY: u32 = 1 << 4;
const RECEIVED: u32 = 1 << 2;

/// The panel and its picture: two pixels a byte, the left one in the high nibble, as the controller wants them.
pub struct Oled {
    picture: Framebuffer<Gray4, RawU4, LittleEndian, WIDTH, HEIGHT, { buffer_size::<Gray4>(WIDTH, HEIGHT) }>,
}

impl Oled {
    /// Sets up SSI 0 and switches the panel on.
    pub fn start() -> Self {
        GPIO_A_AFSEL.set(0b11_1100);
        GPIO_A_DEN.set(0b11_1100);
        GPIO_C_DIR.set(1 << 7);
        GPIO_C_DEN.set(1 << 7);
        GPIO_D_DIR.set(1);
        GPIO_D_DEN.set(1);
        GPIO_D_PIN0.write(1);
        SSI_CR1.write(0);
        SSI_CPSR.write(6); // 50 MHz / 6: below the controller's 10 MHz
        SSI_CR0.write(0b1100_0111); // eight bits, clock idle high, second edge
        SSI_CR1.write(1 << 1);
        // Pixels from left to right and from top to bottom; on.
        send(false, &[0xa0, 0x42, 0xa8, 0x3f, 0xa4, 0xaf]);
        Self { picture: Framebuffer::new() }
    }
}

impl DrawTarget for Oled {
    type Color = Gray4;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Gray4>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        self.picture.draw_iter(pixels)
    }

    fn fill_solid(&mut self, area: &Rectangle, colour: Gray4) -> Result<(), Infallible> {
        self.picture.fill_solid(area, colour)
    }
}

impl OriginDimensions for Oled {
    fn size(&self) -> Size {
        self.picture.size()
    }
}

impl Panel for Oled {
    fn show(&mut self) -> Result<(), Infallible> {
        send(false, &[0x15, 0, (WIDTH / 2 - 1) as u8, 0x75, 0, (HEIGHT - 1) as u8]);
        send(true, self.picture.data());
        Ok(())
    }
}

/// Commands or data, one byte after the other.
fn send(is_data: bool, bytes: &[u8]) {
    GPIO_C_PIN7.write(if is_data { 1 << 7 } else { 0 });
    for byte in bytes {
        SSI_DR.write(u32::from(*byte));
        while SSI_SR.read() & BUSY != 0 {}
        while SSI_SR.read() & RECEIVED != 0 {
            SSI_DR.read();
        }
    }
}
