//! The main loop.

use app::{Panel, Receiver, Screen};
use pose_wire::MAX_PACKET;

use crate::{Clock, Ring};

/// A board's UART.
pub trait Line {
    /// What its interrupt fills.
    fn ring(&self) -> &'static Ring;

    /// Lets the interrupt go on if it had to stop; called when the ring has been read and no gap is left in it.
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
        // Undisturbed: a gap between the look for one and the interrupt's going on would be passed over.
        cortex_m::interrupt::free(|_| go_on(&mut line, &mut receiver));
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

/// Tells the receiver of gaps and lets the interrupt go on. Bytes and a gap may have come since the last look: these bytes have their
/// turn first, for what came after the gap must not be among them.
fn go_on(line: &mut impl Line, receiver: &mut Receiver) {
    let ring = line.ring();
    let gaps = ring.take_gaps();
    if gaps > 0 {
        receiver.overrun(gaps);
    }
    if !ring.has_gap() {
        line.resume();
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

#[cfg(test)]
mod tests {
    use super::*;

    static RING: Ring = Ring::new();

    /// A UART that counts how often it may go on.
    struct Counted(u32);

    impl Line for Counted {
        fn ring(&self) -> &'static Ring {
            &RING
        }
        fn resume(&mut self) {
            self.0 += 1;
        }
        fn write(&mut self, _: &[u8]) {}
    }

    #[test]
    fn nothing_more_is_received_until_a_gap_has_been_told_in_its_place() {
        let (mut line, mut receiver) = (Counted(0), Receiver::new());
        let mut turn = |line: &mut Counted| {
            go_on(line, &mut receiver);
            (line.0, receiver.receipt().overruns)
        };
        assert_eq!(turn(&mut line), (1, 0));
        // Between the last look at the ring and now.
        RING.push(7);
        RING.gap();
        assert_eq!(turn(&mut line), (1, 0));
        assert_eq!(RING.pop(), Some(7));
        assert_eq!(turn(&mut line), (2, 1));
    }
}
