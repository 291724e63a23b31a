//! UART 0, received by interrupt into a ring that is never overrun: when it is full the interrupt is masked, and the bytes wait
//! in the UART (and in its sender, where the line has flow control) until the main loop has made room.
//!
//! Where the UART itself was overrun the interrupt stops too, until the main loop has used what came before the gap and has given
//! up the frame that the gap is in.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::NVIC;
use heapless::spsc::{Consumer, Producer, Queue};

use crate::{irq::Irq, registers::*};

/// Bytes that wait for the main loop: 22 ms at 921600 baud, more than a redraw takes.
pub const RING: usize = 2048;
const RECEIVE_EMPTY: u32 = 1 << 4;
const TRANSMIT_FULL: u32 = 1 << 5;
/// Receive and receive-timeout interrupts.
const RECEIVED: u32 = 1 << 4 | 1 << 6;
const OVERRUN: u32 = 1 << 11;

static OVERRUNS: AtomicU32 = AtomicU32::new(0);
static mut QUEUE: Queue<u8, RING> = Queue::new();
static mut PRODUCER: Option<Producer<'static, u8>> = None;

/// The receiving end of the ring.
pub struct Uart {
    ring: Consumer<'static, u8>,
}

impl Uart {
    /// Sets the UART to `baud`, 8N1, from a system clock of `clock_hz`, and starts to receive. Call once.
    pub fn start(baud: u32, clock_hz: u32) -> Self {
        // SAFETY: called once, before the interrupt is enabled, so nobody else holds either.
        let ring = unsafe {
            let (producer, consumer) = (*core::ptr::addr_of_mut!(QUEUE)).split();
            *core::ptr::addr_of_mut!(PRODUCER) = Some(producer);
            consumer
        };
        GPIO_A_AFSEL.set(0b11);
        GPIO_A_DEN.set(0b11);
        // The divisor in 1/64, rounded.
        let divisor = (clock_hz * 4 + baud / 2) / baud;
        UART_CTL.write(0);
        UART_IBRD.write(divisor >> 6);
        UART_FBRD.write(divisor & 63);
        UART_LCRH.write(3 << 5 | 1 << 4); // eight bits, FIFOs
        UART_CTL.write(1 << 9 | 1 << 8 | 1);
        UART_IM.write(RECEIVED);
        // SAFETY: the handler touches only PRODUCER, which is in place.
        unsafe { NVIC::unmask(Irq::UART_0) };
        Self { ring }
    }

    /// The next byte, if one has come.
    pub fn read(&mut self) -> Option<u8> {
        self.ring.dequeue()
    }

    /// Lets the interrupt go on if it had to stop; call when the ring has been read.
    pub fn resume(&mut self) {
        UART_IM.write(RECEIVED);
    }

    /// Sleeps until an interrupt, unless bytes are there already.
    pub fn wait(&mut self) {
        // A byte that comes after the look is pending then and ends the sleep, which a masked interrupt does too.
        cortex_m::interrupt::free(|_| {
            if self.ring.len() == 0 {
                cortex_m::asm::wfi();
            }
        });
    }

    /// Gaps in what was received since the last call, each of at least one byte; ask when the ring has been read.
    pub fn overruns(&mut self) -> u32 {
        OVERRUNS.swap(0, Ordering::Relaxed)
    }

    /// Sends, waiting for room in the FIFO: a few bytes a frame.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            while UART_FR.read() & TRANSMIT_FULL != 0 {}
            UART_DR.write(u32::from(*byte));
        }
    }
}

/// UART 0's handler: from the FIFO into the ring. Both interrupts end when the FIFO is empty; were they cleared by hand, bytes that
/// stay in it for want of room would raise none again.
pub fn on_interrupt() {
    // SAFETY: only this handler uses PRODUCER once interrupts are enabled, and it does not interrupt itself.
    let Some(ring) = (unsafe { (*core::ptr::addr_of_mut!(PRODUCER)).as_mut() }) else { return };
    while UART_FR.read() & RECEIVE_EMPTY == 0 {
        if !ring.ready() {
            UART_IM.write(0);
            return;
        }
        let received = UART_DR.read();
        if received & OVERRUN != 0 {
            // This byte comes after the gap. Dropped, it makes the gap one longer; kept, it would be taken for one before it.
            OVERRUNS.fetch_add(1, Ordering::Relaxed);
            UART_IM.write(0);
            return;
        }
        // There was room.
        let _ = ring.enqueue(received as u8);
    }
}
