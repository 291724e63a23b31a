#!/bin/sh
# Builds the Pico's firmware and its .uf2 file.
#
#     firmware/pico.sh [ssd1306|st7789] [rp2040|rp235x] [rtscts|usb]
#
# With `usb` the poses come over the board's own USB cable, else over its UART.
# POSEWIRE_BAUD=921600 sets another speed than 115200; FIRMWARE_TOOLCHAIN as in test.sh. The ELF, for a debug probe, lies beside the .uf2.
set -eu
cd "$(dirname "$0")"
screen=ssd1306 chip=rp2040 more=
for word in "$@"; do
    case $word in
    ssd1306 | st7789) screen=$word ;;
    rp2040 | rp235x) chip=$word ;;
    rtscts | usb) more=,$word ;;
    *)
        echo "$0: '$word' is neither a screen (ssd1306, st7789) nor a chip (rp2040, rp235x) nor rtscts nor usb" >&2
        exit 2
        ;;
    esac
done
case $chip in
rp2040) target=thumbv6m-none-eabi ;;
rp235x) target=thumbv8m.main-none-eabi ;;
esac
cargo ${FIRMWARE_TOOLCHAIN:+"+$FIRMWARE_TOOLCHAIN"} build --release --target $target -p pico \
    --no-default-features --features "$screen,$chip$more"
mkdir -p target
name=target/posewire-$chip-$screen${more:+-${more#,}}${POSEWIRE_BAUD:+-$POSEWIRE_BAUD}
cp "${CARGO_TARGET_DIR:-target}/$target/release/pico" "$name.elf"
python3 uf2.py "$name.elf" "$name.uf2" --chip $chip
