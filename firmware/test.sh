#!/bin/sh
# Builds the firmware, holds its sizes to their limits, and runs it in QEMU and in rp2040js.
#
#     firmware/test.sh            everything
#     firmware/test.sh build      only builds and sizes
#
# FIRMWARE_TOOLCHAIN=NAME names a rustup toolchain that has the targets' standard libraries, where the default one has not
# (`rustup target add thumbv6m-none-eabi thumbv7m-none-eabi` gives them to it).
set -eu
cd "$(dirname "$0")"
rp2040=target/posewire-rp2040

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

within_limits() {
    python3 sizes.py "$1" --flash 48 --ram 16
}

cargo_for test --release -p app
cargo_for build --release -p app --example picture

if can_build thumbv7m-none-eabi "lm3s6965 and QEMU"; then
    cargo_for build --release --target thumbv7m-none-eabi -p lm3s6965
    within_limits target/thumbv7m-none-eabi/release/lm3s6965
fi
if can_build thumbv6m-none-eabi "Pico"; then
    ./pico.sh ssd1306 rtscts
    POSEWIRE_BAUD=921600 ./pico.sh ssd1306
    ./pico.sh ssd1306
    POSEWIRE_BAUD=921600 ./pico.sh st7789
    ./pico.sh st7789
    for elf in $rp2040-ssd1306 $rp2040-ssd1306-rtscts $rp2040-st7789; do within_limits $elf.elf; done
fi
[ "${1-}" != build ] || exit 0

if command -v npm >/dev/null; then
    (cd emulator && npm ci --silent --no-audit --no-fund) || echo "SKIPPED: rp2040js could not be installed" >&2
fi
python3 -B -m unittest discover -s emulator
