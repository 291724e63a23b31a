//! The few registers that are used, by their addresses in the STM32F411 reference manual (RM0383).

use bare::Register;

macro_rules! registers {
    ($($name:ident = $address:expr;)*) => {
        // SAFETY: the manual has the addresses; none of these starts a DMA or sets up memory protection.
        $(pub const $name: Register = unsafe { Register::at($address) };)*
    };
}

registers! {
    // Independent watchdog.
    IWDG_KR = 0x4000_3000;
    IWDG_PR = 0x4000_3004;
    IWDG_RLR = 0x4000_3008;
    // USART 2.
    USART_SR = 0x4000_4400;
    USART_DR = 0x4000_4404;
    USART_BRR = 0x4000_4408;
    USART_CR1 = 0x4000_440c;
    USART_CR3 = 0x4000_4414;
    // Power.
    PWR_CR = 0x4000_7000;
    PWR_CSR = 0x4000_7004;
    // SPI 1.
    SPI_CR1 = 0x4001_3000;
    SPI_SR = 0x4001_3008;
    SPI_DR = 0x4001_300c;
    // GPIO A and B.
    GPIO_A_MODER = 0x4002_0000;
    GPIO_A_OSPEEDR = 0x4002_0008;
    GPIO_A_BSRR = 0x4002_0018;
    GPIO_A_AFRL = 0x4002_0020;
    GPIO_B_MODER = 0x4002_0400;
    GPIO_B_BSRR = 0x4002_0418;
    // Clocks and flash.
    RCC_CR = 0x4002_3800;
    RCC_PLLCFGR = 0x4002_3804;
    RCC_CFGR = 0x4002_3808;
    RCC_AHB1ENR = 0x4002_3830;
    RCC_APB1ENR = 0x4002_3840;
    RCC_APB2ENR = 0x4002_3844;
    FLASH_ACR = 0x4002_3c00;
}
