// Runs the very ELF that a user flashes: `node pico.mjs ELF < BYTES` feeds BYTES to UART 0 at its baud rate once the firmware has
// asked for HELLO, and prints what came of it as JSON: the screen's rows, the bytes sent back (hex), overruns, milliseconds.

import { readFileSync } from "node:fs";
import { GPIOPinState, Simulator } from "rp2040js";
import { Pl011 } from "./uart.mjs";
import { Ssd1306 } from "./ssd1306.mjs";

const FLASH = 0x10000000, UART0_IRQ = 20, CYCLE_NS = 8;
const DC_PIN = 20;
// Time for the last picture and its receipt after the last byte.
const SETTLE_NS = 250e6;

const [path] = process.argv.slice(2);
const elf = readFileSync(path);
const input = readFileSync(0);

const simulator = new Simulator();
const { clock } = simulator.rp2040;
const chip = simulator.rp2040;
chip.logger = { debug() {}, info() {}, warn() {}, error() {} };
const uart = new Pl011((on) => chip.setInterrupt(UART0_IRQ, on), () => clock.nanos);
chip.peripherals[0x40034] = uart;
const screen = new Ssd1306();
chip.spi[0].onTransmit = (byte) => {
  screen.write(byte, chip.gpio[DC_PIN].value === GPIOPinState.High);
  chip.spi[0].completeTransmit(0);
};

chip.reset();
const headers = elf.readUInt32LE(28), size = elf.readUInt16LE(42), count = elf.readUInt16LE(44);
for (let i = 0; i < count; i++) {
  const at = headers + i * size;
  const [type, offset, , address, length] = [0, 4, 8, 12, 16].map((n) => elf.readUInt32LE(at + n));
  if (type === 1 && address >= FLASH && address < FLASH + chip.flash.length)
    chip.flash.set(elf.subarray(offset, offset + length), address - FLASH);
}
// What the second-stage boot loader does.
const vectors = FLASH + 0x100;
chip.core.VTOR = vectors;
chip.core.SP = chip.readUint32(vectors);
chip.core.PC = chip.readUint32(vectors + 4) & ~1;

let fed = false, end_ns = 5e9;
while (clock.nanos < end_ns) {
  for (let i = 0; i < 64; i++) {
    if (chip.core.waiting) {
      clock.tick(Math.min(Math.max(clock.nanosToNextAlarm, CYCLE_NS), 2000));
      break;
    }
    clock.tick(chip.core.executeInstruction() * CYCLE_NS);
  }
  uart.tick();
  if (!fed && uart.sent.length > 0 && screen.pixels >= 1024) {
    fed = true;
    uart.send(input);
    end_ns = clock.nanos + input.length * uart.byte_ns + SETTLE_NS;
  }
}
console.log(
  JSON.stringify({
    rows: screen.rows(),
    sent: Buffer.from(uart.sent).toString("hex"),
    overruns: uart.overruns,
    ms: clock.nanos / 1e6,
  }),
);
