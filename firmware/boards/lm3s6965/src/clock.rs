//! Time since the start, and an alarm that ends the main loop's sleep.
//!
//! SysTick's counter itself is read and its steps are added up. Counting its interrupts instead would lose every one that comes
//! while another is pending: on the chip none, in an emulator on a busy machine nearly all, and the board's time would all but
//! stand still.

use core::cell::Cell;

use cortex_m::peripheral::{NVIC, SYST, syst::SystClkSource};

use crate::{irq::Irq, registers::*};

/// All 24 bits of SysTick's counter: 335 ms at 50 MHz.
const PERIOD: u32 = 1 << 24;
/// How often the alarm comes: often enough for the watchdog, for HELLO's repetition and to see every round of the counter.
const ALARM_MS: u32 = 20;

/// Microseconds since the start. Has to be read at least once in 335 ms, or a round of the counter is missed.
pub struct Clock {
    per_us: u32,
    last: Cell<u32>,
    /// Processor cycles.
    elapsed: Cell<u64>,
}

impl Clock {
    /// Starts SysTick on the processor's clock of `clock_hz`, and timer 0, whose interrupt is the alarm.
    pub fn start(mut systick: SYST, clock_hz: u32) -> Self {
        systick.set_clock_source(SystClkSource::Core);
        systick.set_reload(PERIOD - 1);
        systick.clear_current();
        systick.enable_counter();
        TIMER_CTL.write(0);
        TIMER_CFG.write(0); // 32 bits
        TIMER_TAMR.write(2); // periodic
        TIMER_TAILR.write(clock_hz / 1_000 * ALARM_MS - 1);
        TIMER_IMR.write(1);
        TIMER_CTL.write(1);
        // SAFETY: the handler does nothing but acknowledge.
        unsafe { NVIC::unmask(Irq::TIMER_0) };
        Self { per_us: clock_hz / 1_000_000, last: Cell::new(0), elapsed: Cell::new(0) }
    }

    /// Microseconds.
    pub fn now_us(&self) -> u64 {
        let now = SYST::get_current();
        // It counts down.
        let cycles = self.last.replace(now).wrapping_sub(now) % PERIOD;
        let elapsed = self.elapsed.get() + u64::from(cycles);
        self.elapsed.set(elapsed);
        elapsed / u64::from(self.per_us)
    }
}

/// Timer 0's handler.
pub fn on_interrupt() {
    TIMER_ICR.write(1);
}
