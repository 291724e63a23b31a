// Runs the very ELF that a user flashes, in simulated time: `node pico.mjs ELF SCREEN LINE < STEPS` with SCREEN ssd1306 or st7789, LINE uart
// or usb, and STEPS as JSON:
//
//   ["send", HEX, TIMES, BAUD]   bytes to UART 0, at TIMES the baud rate that the firmware has set (1: as a real line does), or where BAUD
//                                is not null by a host that has set this one; by USB as fast as they are taken
//   ["settle", MS]               until all was sent, and so many milliseconds more
//   ["gap", BYTES]               the UART loses as many of the bytes that come next, as when it is overrun
//   ["picture"]                  what the screen shows now
//
// It starts when the firmware asks for HELLO. What came of it is printed as JSON.

import { readFileSync } from "node:fs";
import { GPIOPinState, Simulator } from "rp2040js";
import { Pl011 } from "./uart.mjs";
import { Ssd1306 } from "./ssd1306.mjs";
import { St7789 } from "./st7789.mjs";
import { Usb } from "./usb.mjs";

const FLASH = 0x10000000, UART0_IRQ = 20, WATCHDOG = 0x40058, CYCLE_NS = 8;
const RX_PIN = 1, CTS_PIN = 2, RTS_PIN = 3, DC_PIN = 20, UART_FUNCTION = 2;
const PATIENCE_NS = 5e9;

const [path, name, line] = process.argv.slice(2);
const elf = readFileSync(path);
const steps = JSON.parse(readFileSync(0, "utf8"));

const simulator = new Simulator();
const { clock } = simulator.rp2040;
const chip = simulator.rp2040;
chip.logger = { debug() {}, info() {}, warn() {}, error() {} };
const now = () => clock.nanos;
const uart = line === "usb" ? new Usb(chip, now) : new Pl011((on) => chip.setInterrupt(UART0_IRQ, on), now);
if (line !== "usb") chip.peripherals[0x40034] = uart;
const screen = name === "st7789" ? new St7789() : new Ssd1306();
chip.spi[0].onTransmit = (byte) => {
  screen.write(byte, chip.gpio[DC_PIN].value === GPIOPinState.High);
  chip.spi[0].completeTransmit(0);
};

// When the watchdog bites that is noted, and the firmware runs on without one.
const watchdog = chip.peripherals[WATCHDOG];
let watchdog_bit = false;
watchdog.onWatchdogTrigger = () => {
  watchdog_bit = true;
  watchdog.alarm.enable = false;
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

function runUntil(isDone) {
  while (!isDone()) {
    for (let i = 0; i < 64; i++) {
      if (chip.core.waiting) {
        clock.tick(Math.min(Math.max(clock.nanosToNextAlarm, CYCLE_NS), 2000));
        break;
      }
      clock.tick(chip.core.executeInstruction() * CYCLE_NS);
    }
    uart.tick();
  }
}

runUntil(() => uart.sent.length > 0 || clock.nanos > PATIENCE_NS);
const pictures = [];
for (const [what, value, times, baud] of steps) {
  if (what === "send") uart.send(Buffer.from(value, "hex"), times ?? 1, baud);
  else if (what === "gap") uart.lose(value);
  else if (what === "picture") pictures.push(screen.pixels());
  else {
    runUntil(() => uart.queue.length === 0);
    const end_ns = clock.nanos + value * 1e6;
    runUntil(() => clock.nanos >= end_ns);
  }
}
console.log(
  JSON.stringify({
    pictures,
    sent: Buffer.from(uart.sent.map((s) => s.byte)).toString("hex"),
    sent_ms: uart.sent.map((s) => s.at_ns / 1e6),
    baud: Math.round(10e9 / uart.byte_ns),
    overruns: uart.overruns,
    watchdog_bit,
    held_ms: uart.held_ns / 1e6,
    flow_control: uart.hasFlowControl && [CTS_PIN, RTS_PIN].every((p) => chip.gpio[p].functionSelect === UART_FUNCTION),
    rx_pulled_up: chip.gpio[RX_PIN].pullupEnabled,
    ms: clock.nanos / 1e6,
  }),
);
