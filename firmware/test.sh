#!/bin/sh
# Builds the firmware, holds its sizes to their limits, and runs it in QEMU and in rp2040js.
#
#     firmware/test.sh            everything
#     firmware/test.sh build      only builds and sizes
#     firmware/test.sh lint       only formatting and lints
#
# FIRMWARE_TOOLCHAIN=NAME names a rustup toolchain that has the targets' standard libraries, where the default one has not
# (`rustup target add thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabihf thumbv8m.main-none-eabi riscv32imc-unknown-none-elf` gives them
# to it).
set -eu
cd "$(dirname "$0")"
# This workspace builds into its own target folder, where sizes and emulators look, wherever the outer one's is.
unset CARGO_TARGET_DIR

cargo_for() {
    cargo ${FIRMWARE_TOOLCHAIN:+"+$FIRMWARE_TOOLCHAIN"} "$@"
}

# Whether the toolchain can build for target $1; says loudly what is left out, $2, where it cannot.
can_build() {
    libraries=$(rustc ${FIRMWARE_TOOLCHAIN:+"+$FIRMWARE_TOOLCHAIN"} --print target-libdir --target "$1")
    ls "$libraries"/libcore-*.rlib >/dev/null 2>&1 || {
        echo "SKIPPED: $2: rustup target add $1" >&2
        return 1
    }
}

# ELF $1 has at most $2 KiB of flash; README.md has every board's limit.
within_limits() {
    python3 sizes.py "$1" --flash "$2" --ram 16
}

# Builds a Pico's firmware, SCREEN CHIP [LINE], and holds it to its size: USB takes 12 KiB more than a UART.
pico() {
    ./pico.sh "$@"
    most=48
    [ "${3-}" != usb ] || most=64
    within_limits "target/posewire-$2-$1${3:+-$3}${POSEWIRE_BAUD:+-$POSEWIRE_BAUD}.elf" $most
}

lint() {
    cargo_for clippy --release "$@" -- -D warnings
}

if [ "${1-}" = lint ]; then
    cargo fmt --all --check
    lint -p app -p bare --all-targets
    ! can_build thumbv7m-none-eabi "lm3s6965" || lint --target thumbv7m-none-eabi -p lm3s6965
    ! can_build thumbv7em-none-eabihf "stm32" || lint --target thumbv7em-none-eabihf -p stm32 --features rtscts
    if can_build thumbv6m-none-eabi "Pico"; then
        lint --target thumbv6m-none-eabi -p pico
        lint --target thumbv6m-none-eabi -p pico --no-default-features --features rp2040,st7789,rtscts
        lint --target thumbv6m-none-eabi -p pico --no-default-features --features rp2040,ssd1306,usb
    fi
    ! can_build riscv32imc-unknown-none-elf "ESP32-C3" || lint --target riscv32imc-unknown-none-elf -p esp32c3-board
    exit
fi

cargo_for test --release -p app -p bare
cargo_for build --release -p app --example picture

if can_build thumbv7m-none-eabi "lm3s6965 and QEMU"; then
    cargo_for build --release --target thumbv7m-none-eabi -p lm3s6965
    within_limits target/thumbv7m-none-eabi/release/lm3s6965 48
fi
if can_build thumbv6m-none-eabi "Pico"; then
    pico ssd1306 rp2040 rtscts
    # shellcheck disable=SC2030,SC2031 # for this one alone
    (export POSEWIRE_BAUD=921600; pico ssd1306 rp2040)
    pico ssd1306 rp2040
    pico ssd1306 rp2040 usb
    # shellcheck disable=SC2030,SC2031 # for this one alone
    (export POSEWIRE_BAUD=921600; pico st7789 rp2040)
    pico st7789 rp2040
fi
if can_build thumbv8m.main-none-eabi "Pico 2"; then
    pico ssd1306 rp235x
    pico st7789 rp235x rtscts
    pico st7789 rp235x usb
fi
if can_build thumbv7em-none-eabihf "stm32"; then
    # Without the option last: it is the one that QEMU runs.
    for feature in rtscts ""; do
        cargo_for build --release --target thumbv7em-none-eabihf -p stm32 ${feature:+--features "$feature"}
        within_limits target/thumbv7em-none-eabihf/release/stm32 48
    done
fi
if can_build riscv32imc-unknown-none-elf "ESP32-C3"; then
    cargo_for build --release --target riscv32imc-unknown-none-elf -p esp32c3-board
    within_limits target/riscv32imc-unknown-none-elf/release/esp32c3-board 64
fi
[ "${1-}" != build ] || exit 0

if command -v npm >/dev/null; then
    (cd emulator && npm ci --silent --no-audit --no-fund) || echo "SKIPPED: rp2040js could not be installed" >&2
fi
python3 -B -m unittest discover -s emulator
