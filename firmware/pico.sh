#!/bin/sh
# Builds the Pico's firmware and its .uf2 file.
#
#     firmware/pico.sh [ssd1306|st7789] [rp2040|rp235x] [rtscts|usb]
#
# With `usb` the poses come over the board's own USB cable, else over its UART.
# POSEWIRE_BAUD=921600 sets another speed than 115200; FIRMWARE_TOOLCHAIN as in test.sh. The ELF, for a debug probe, lies beside the .uf2.
set -eu
cd "$(dirname "$0")"
screen='' chip='' line=''

# One of a kind, $2; $1 was said before.
one() {
    [ "${1:-$2}" = "$2" ] || {
        echo "$0: '$1' and '$2' exclude each other: give one of them" >&2
        exit 2
    }
}

for word in "$@"; do
    case $word in
    ssd1306 | st7789) one "$screen" "$word" && screen=$word ;;
    rp2040 | rp235x) one "$chip" "$word" && chip=$word ;;
    rtscts | usb) one "$line" "$word" && line=$word ;;
    *)
        echo "$0: '$word' is neither a screen (ssd1306, st7789) nor a chip (rp2040, rp235x) nor rtscts nor usb" >&2
        exit 2
        ;;
    esac
done
screen=${screen:-ssd1306} chip=${chip:-rp2040}
case $chip in
rp2040) target=thumbv6m-none-eabi ;;
rp235x) target=thumbv8m.main-none-eabi ;;
esac
cargo ${FIRMWARE_TOOLCHAIN:+"+$FIRMWARE_TOOLCHAIN"} build --release --target "$target" -p pico \
    --no-default-features --features "$screen,$chip${line:+,$line}"
mkdir -p target
name=target/posewire-$chip-$screen${line:+-$line}${POSEWIRE_BAUD:+-$POSEWIRE_BAUD}
cp "${CARGO_TARGET_DIR:-target}/$target/release/pico" "$name.elf"
python3 uf2.py "$name.elf" "$name.uf2" --chip "$chip"
