#!/usr/bin/env bash
# Tries what a release holds beside the packages, each in a place that knows nothing of this tree: the wheel in a new environment without
# network, the Arduino library as an Arduino's builder takes it, the Pico's files as its boot loader reads them.
#
#   packaging/test-any.sh [FOLDER]        default: target/release-VERSION, made by `packaging/release.sh any`
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
folder=$(realpath "${1:-target/release-$version}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { echo "ok: $*"; }

(cd "$folder" && sha256sum --quiet --check SHA256SUMS)
say "every file is what SHA256SUMS says"

python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet --no-index --no-deps "$folder"/posewire-*.whl
# From a folder of its own: what is imported is what was installed.
(cd "$work" && env -u PYTHONPATH python/bin/python -m posewire --help >/dev/null &&
  # Programs whose libraries are extras: they say so only when they are wanted.
  for program in lsl plot record; do env -u PYTHONPATH python/bin/python -m posewire "$program" --help >/dev/null || exit; done &&
  env -u PYTHONPATH python/bin/python - "$OLDPWD/tests/golden/wire_v1.json" <<'PYTHON'
import json, sys
import posewire
assert "site-packages" in posewire.__file__, posewire.__file__
golden = json.load(open(sys.argv[1]))
decoder, events = posewire.Decoder(), 0
def streams(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("bytes", "hex", "frame", "stream") and isinstance(inner, str):
                yield bytes.fromhex(inner)
            else:
                yield from streams(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from streams(inner)
for stream in streams(golden):
    events += len(decoder.feed(stream))
assert events > 10, events
print(f"ok: the wheel, in an environment of its own, decodes {events} packets of the golden file")
PYTHON
)

python3 -m zipfile -e "$folder/Posewire-arduino-$version.zip" "$work/libraries"
for file in library.properties src/posewire.h examples/wrist_servo/wrist_servo.ino LICENSE-MIT LICENSE-APACHE; do
  [ -s "$work/libraries/Posewire/$file" ] || { echo "test-any.sh: the Arduino library has no $file" >&2; exit 1; }
done
cp -r clients/c/tests "$work/libraries/Posewire/tests"
for board in "" -D__AVR__ -DESP32; do
  # shellcheck disable=SC2086 # nothing, or one argument
  (cd "$work/libraries/Posewire" && c++ -std=c++11 -Wall -Wextra -Werror $board -Isrc -Itests/arduino_stub -o sketch tests/sketch.cpp)
done
say "the Arduino library's example compiles from the unpacked zip, for a board with two ports, an Uno and an ESP32"

python3 - "$folder"/*.uf2 <<'PYTHON'
import struct, sys
FAMILIES = {"rp2040": 0xE48BFF56, "rp235x": 0xE48BFF59}
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    assert data and len(data) % 512 == 0, path
    (family,) = (number for chip, number in FAMILIES.items() if chip in path)
    blocks = len(data) // 512
    for i in range(blocks):
        begin, second, flags, address, size, number, count, its = struct.unpack_from("<8I", data, 512 * i)
        (end,) = struct.unpack_from("<I", data, 512 * i + 508)
        assert (begin, second, end) == (0x0A324655, 0x9E5D5157, 0x0AB16F30), path
        assert (number, count, its, size) == (i, blocks, family, 256), path
        assert address == 0x10000000 + 256 * i, path
print(f"ok: {len(sys.argv) - 1} .uf2 files are whole: magic, numbers, family and addresses of every block")
PYTHON
for driver in ssd1306 mipidsi; do
  grep -q "^  $driver " "$folder/posewire-$version-firmware-third-party-licences.txt" || { echo "test-any.sh: the firmware's licences lack $driver" >&2; exit 1; }
done
say "the licences beside them name both screens' drivers"
