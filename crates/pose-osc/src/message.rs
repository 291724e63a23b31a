//! Bundles and messages in bytes. The parts are `rosc`'s; its owned packets would cost some forty allocations a person.

use std::fmt::Display;
use std::io::Write;

use rosc::encoder::{Output, encode_string_into};

/// Seconds from the beginning of NTP's time, 1900, to 1970.
const NTP_TO_UNIX_S: i64 = 2_208_988_800;

/// No message has more.
const MAX_ARGUMENTS: usize = 16;

/// An argument of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// `i`
    Int(i32),
    /// `f`; what is no number goes as 0.
    Float(f32),
    /// `s`, without zeros in it.
    Text(&'static str),
}

use Argument::{Float, Int, Text};

/// Begins a bundle whose time tag is `tag_us` microseconds after 1970; messages follow.
pub fn begin_bundle(to: &mut Vec<u8>, tag_us: i64) {
    to.extend_from_slice(b"#bundle\0");
    let seconds = tag_us.div_euclid(1_000_000).saturating_add(NTP_TO_UNIX_S);
    let fraction = (tag_us.rem_euclid(1_000_000) << 32) / 1_000_000;
    // NTP's own seconds wrap in 2036.
    to.extend_from_slice(&(seconds as u32).to_be_bytes());
    to.extend_from_slice(&(fraction as u32).to_be_bytes());
}

/// Begins a bundle that is to be taken at once, whatever the receiver's clock says; messages follow.
pub fn begin_bundle_of_now(to: &mut Vec<u8>) {
    to.extend_from_slice(b"#bundle\0\0\0\0\0\0\0\0\x01");
}

/// Appends a message to a bundle; sixteen arguments at most.
pub fn add_message(to: &mut Vec<u8>, address: impl Display, arguments: &[Argument]) {
    let Ok(length) = to.mark(4);
    let start = to.len();
    write_message(to, address, arguments);
    let bytes = (to.len() - start) as u32;
    let Ok(()) = to.place(length, &bytes.to_be_bytes());
}

/// Appends a message of floats as it stands alone in a datagram.
pub fn write_floats(to: &mut Vec<u8>, address: &str, values: &[f32; 3]) {
    write_message(to, address, &values.map(Float));
}

fn write_message(to: &mut Vec<u8>, address: impl Display, arguments: &[Argument]) {
    let start = to.len();
    // Writing to a Vec cannot fail.
    let _ = write!(to, "{address}");
    pad(to, start);
    let mut types = [b','; 1 + MAX_ARGUMENTS];
    for (kind, argument) in types[1..].iter_mut().zip(arguments) {
        *kind = match argument {
            Int(_) => b'i',
            Float(_) => b'f',
            Text(_) => b's',
        };
    }
    debug_assert!(arguments.len() <= MAX_ARGUMENTS);
    let types = std::str::from_utf8(&types[..=arguments.len()]).unwrap_or(",");
    let Ok(_) = encode_string_into(types, to);
    for argument in arguments {
        match argument {
            Int(value) => to.extend_from_slice(&value.to_be_bytes()),
            // Not every receiver knows what is no number.
            Float(value) => {
                to.extend_from_slice(&if value.is_finite() { *value } else { 0.0 }.to_be_bytes());
            }
            Text(text) => {
                let start = to.len();
                to.extend_from_slice(text.as_bytes());
                pad(to, start);
            }
        }
    }
}

/// Ends the text that began at `start` with one to four zeros, so that four divides its length.
fn pad(to: &mut Vec<u8>, start: usize) {
    let length = to.len() - start;
    to.resize(start + length - length % 4 + 4, 0);
}

#[cfg(test)]
mod tests {
    use rosc::decoder::decode_udp;
    use rosc::{OscPacket, OscTime, OscType};

    use super::*;

    #[test]
    fn texts_of_any_length_what_is_no_number_and_any_time_are_read_back() {
        for text in ["/", "/a", "/ab", "/abc", "/abcd"] {
            let mut bytes = Vec::new();
            // A microsecond before 1970.
            begin_bundle(&mut bytes, -1);
            add_message(&mut bytes, text, &[Int(-3), Float(f32::NAN), Text(text), Float(0.5)]);
            let (rest, packet) = decode_udp(&bytes).unwrap();
            let OscPacket::Bundle(bundle) = packet else { panic!("{packet:?}") };
            assert!(rest.is_empty());
            assert_eq!(bundle.timetag, OscTime { seconds: 2_208_988_799, fractional: 4_294_963_001 });
            let [OscPacket::Message(message)] = &bundle.content[..] else { panic!("{bundle:?}") };
            assert_eq!(message.addr, text);
            let said =
                [OscType::Int(-3), OscType::Float(0.0), OscType::String(text.into()), OscType::Float(0.5)];
            assert_eq!(message.args, said);
        }
    }
}
