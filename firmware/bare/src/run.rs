//! The main loop.

use app::{Panel, Receiver, Screen};
use pose_wire::MAX_PACKET;

use crate::{Clock, Ring};

/// A board's UART.
pub trait Line {
    /// What its interrupt fills.
    fn ring(&self) -> &'static Ring;

    /// Lets the interrupt go on if it had to stop; called when the ring has been read.
    fn resume(&mut self);

    /// Sends a few bytes and waits until there was room for all, or gives up where there never is (a host that holds CTS).
    fn write(&mut self, bytes: &[u8]);
}

/// Receives, answers and draws for ever. `alive` is called at the end of every turn, when everything has had its part: it feeds the
/// watchdog. When nothing is to do the processor sleeps until the UART's interrupt or SysTick's.
pub fn run<P: Panel>(
    mut line: impl Line,
    mut panel: P,
    mut screen: Screen<P::Color>,
    clock: &Clock,
    mut alive: impl FnMut(),
) -> ! {
    let ring = line.ring();
    let mut receiver = Receiver::new();
    let mut frame = [0; MAX_PACKET];
    loop {
        // At most a ring's worth: the panel gets its turn under any flood.
        let at_us = clock.now_us();
        for _ in 0..Ring::LEN {
            let Some(byte) = ring.pop() else { break };
            receiver.push(byte, at_us);
        }
        let gaps = ring.take_gaps();
        if gaps > 0 {
            receiver.overrun(gaps);
        }
        line.resume();
        loop {
            let n = receiver.answer(clock.now_us(), &mut frame);
            if n == 0 {
                break;
            }
            line.write(&frame[..n]);
        }
        // A panel that cannot be written to is no reason to stop receiving.
        let drawn = screen.draw(&mut receiver, &mut panel, || clock.now_us()).unwrap_or(false);
        alive();
        if !drawn {
            sleep(ring);
        }
    }
}

/// Sleeps until an interrupt, unless there is something to do already.
fn sleep(ring: &Ring) {
    // One that comes after the look is pending then and ends the sleep, which a masked interrupt does too.
    cortex_m::interrupt::free(|_| {
        if ring.is_idle() {
            cortex_m::asm::wfi();
        }
    });
}
