//! The wire's other end: prints where the first person's right wrist is, from a serial port or a file of its bytes.
//!
//! `cargo run --release --example read_wire -- /dev/ttyUSB0` (`stty -F /dev/ttyUSB0 raw -echo 115200` first)

use std::io::Read;

use pose::Joint;
use posewire::output::serial::{Heard, Reader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name the port, or a file of its bytes")?;
    let mut port = std::fs::File::open(path)?;
    let mut reader = Reader::default();
    let mut bytes = [0; 1024];
    loop {
        let n = port.read(&mut bytes)?;
        if n == 0 {
            return Ok(());
        }
        reader.feed(&bytes[..n], |heard| {
            if let Heard::Moment(moment, _) = heard
                // Where their packet was lost the moment begins with another person.
                && let Some(person) = moment.persons().find(|person| person.index == 0)
            {
                let wrist = person.pose()[Joint::RightWrist];
                println!("{:.1} {:.1} px, sigma {:.1} px", wrist.x_px, wrist.y_px, wrist.sigma_px);
            }
            Ok(())
        })?;
    }
}
