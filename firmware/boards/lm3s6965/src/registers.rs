//! The few registers that are used, by their addresses in the LM3S6965 data sheet.

use bare::Register;

macro_rules! registers {
    ($($name:ident = $address:expr;)*) => {
        // SAFETY: the data sheet has the addresses; none of these starts a DMA or sets up memory protection.
        $(pub const $name: Register = unsafe { Register::at($address) };)*
    };
}

registers! {
    // System control.
    RIS = 0x400f_e050;
    RCC = 0x400f_e060;
    RCGC0 = 0x400f_e100;
    RCGC1 = 0x400f_e104;
    RCGC2 = 0x400f_e108;
    // Watchdog.
    WDT_LOAD = 0x4000_0000;
    WDT_CTL = 0x4000_0008;
    WDT_ICR = 0x4000_000c;
    // GPIO A: UART and SSI pins. GPIO C: the panel's data/command line on pin 7. GPIO D: its select on pin 0.
    GPIO_A_AFSEL = 0x4000_4420;
    GPIO_A_DEN = 0x4000_451c;
    GPIO_C_PIN7 = 0x4000_6000 + (0x80 << 2);
    GPIO_C_DIR = 0x4000_6400;
    GPIO_C_DEN = 0x4000_651c;
    GPIO_D_PIN0 = 0x4000_7000 + (0x01 << 2);
    GPIO_D_DIR = 0x4000_7400;
    GPIO_D_DEN = 0x4000_751c;
    // SSI 0, a PL022.
    SSI_CR0 = 0x4000_8000;
    SSI_CR1 = 0x4000_8004;
    SSI_DR = 0x4000_8008;
    SSI_SR = 0x4000_800c;
    SSI_CPSR = 0x4000_8010;
    // UART 0, a PL011.
    UART_DR = 0x4000_c000;
    UART_FR = 0x4000_c018;
    UART_IBRD = 0x4000_c024;
    UART_FBRD = 0x4000_c028;
    UART_LCRH = 0x4000_c02c;
    UART_CTL = 0x4000_c030;
    UART_IM = 0x4000_c038;
}
