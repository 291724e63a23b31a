//! `/dev/raw-gadget`: being a USB device from a program. Layouts are those of linux/usb/raw_gadget.h.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

const fn ioctl_number(direction: u64, number: u64, size: u64) -> u64 {
    direction << 30 | size << 16 | (b'U' as u64) << 8 | number
}
const NONE: u64 = 0;
const WRITE: u64 = 1;
const READ: u64 = 2;
/// `struct usb_raw_ep_io`: endpoint u16, flags u16, length u32, then the bytes.
const EP_IO_BYTES: u64 = 8;
/// Ends a transfer of whole packets by an empty one, as a USB host expects.
const ZERO_PACKET: u16 = 1;
const HIGH_SPEED: u8 = 3;

/// A request of the host on endpoint 0.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub request_type: u8,
    pub request: u8,
    pub value: u16,
    pub index: u16,
    pub length: u16,
}

/// One device on the simulated bus. Dropping it (or dying) pulls the plug.
pub struct Gadget(File);

impl Gadget {
    /// Plugs a device into the controller `udc`, `dummy_udc.0`.
    pub fn plug_in(udc: &str) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open("/dev/raw-gadget")?;
        let gadget = Self(file);
        // driver_name[128], device_name[128], speed
        let mut init = [0u8; 257];
        init[..9].copy_from_slice(b"dummy_udc");
        init[128..128 + udc.len()].copy_from_slice(udc.as_bytes());
        init[256] = HIGH_SPEED;
        gadget.ioctl(ioctl_number(WRITE, 0, 257), init.as_mut_ptr() as u64)?;
        gadget.ioctl(ioctl_number(NONE, 1, 0), 0)?;
        Ok(gadget)
    }

    fn ioctl(&self, number: u64, argument: u64) -> io::Result<usize> {
        // SAFETY: every argument is a value or points at a buffer as long as the call's layout states, alive for the call.
        let result = unsafe { libc::syscall(libc::SYS_ioctl, self.0.as_raw_fd(), number, argument) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
    }

    /// Waits for the host's next request; other events are passed over.
    pub fn next_setup(&self) -> io::Result<Setup> {
        const CONTROL: u32 = 2;
        loop {
            // type u32, length u32, then the event's bytes: a setup packet has 8.
            let mut event = [0u8; 8 + 64];
            event[4] = 64;
            match self.ioctl(ioctl_number(READ, 2, 8), event.as_mut_ptr() as u64) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if u32::from_le_bytes([event[0], event[1], event[2], event[3]]) == CONTROL {
                let s = &event[8..16];
                let word = |i: usize| u16::from_le_bytes([s[i], s[i + 1]]);
                return Ok(Setup {
                    request_type: s[0],
                    request: s[1],
                    value: word(2),
                    index: word(4),
                    length: word(6),
                });
            }
        }
    }

    fn transfer(&self, number: u64, endpoint: u16, flags: u16, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let mut head = Vec::with_capacity(8 + bytes.len());
        head.extend(endpoint.to_le_bytes());
        head.extend(flags.to_le_bytes());
        head.extend((bytes.len() as u32).to_le_bytes());
        head.append(bytes);
        let moved = self.ioctl(number, head.as_mut_ptr() as u64)?;
        bytes.extend_from_slice(&head[8..]);
        Ok(moved)
    }

    /// Answers a request that asks for bytes.
    pub fn reply(&self, mut bytes: Vec<u8>, asked: u16) -> io::Result<()> {
        bytes.truncate(asked.into());
        self.transfer(ioctl_number(WRITE, 3, EP_IO_BYTES), 0, 0, &mut bytes).map(drop)
    }

    /// Takes the bytes of a request that brings some (or none), which also acknowledges it.
    pub fn accept(&self, length: u16) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length.into()];
        let got = self.transfer(ioctl_number(READ | WRITE, 4, EP_IO_BYTES), 0, 0, &mut bytes)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    /// Refuses a request.
    pub fn stall(&self) -> io::Result<()> {
        self.ioctl(ioctl_number(NONE, 12, 0), 0).map(drop)
    }

    /// Switches an endpoint on (its seven descriptor bytes) and the device to configured; gives the endpoint's handle.
    pub fn configure(&self, endpoint: [u8; 7]) -> io::Result<u16> {
        let mut descriptor = [0u8; 9];
        descriptor[..7].copy_from_slice(&endpoint);
        let handle = self.ioctl(ioctl_number(WRITE, 5, 9), descriptor.as_mut_ptr() as u64)?;
        self.ioctl(ioctl_number(WRITE, 10, 4), 50)?;
        self.ioctl(ioctl_number(NONE, 9, 0), 0)?;
        Ok(handle as u16)
    }

    /// Sends one bulk transfer; waits until the host has read it.
    pub fn send(&self, endpoint: u16, bytes: &mut Vec<u8>) -> io::Result<usize> {
        self.transfer(ioctl_number(WRITE, 7, EP_IO_BYTES), endpoint, ZERO_PACKET, bytes)
    }
}
