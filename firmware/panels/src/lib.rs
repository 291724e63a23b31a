//! The screens that a board can have on SPI, as [`app::Panel`]s over embedded-hal: any board that has an SPI and a pin can use them.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "st7789")]
mod lcd;
#[cfg(feature = "ssd1306")]
mod oled;

#[cfg(feature = "st7789")]
pub use lcd::Lcd;
#[cfg(feature = "ssd1306")]
pub use oled::Oled;
