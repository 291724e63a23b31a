// A PL011 as the RP2040 has it: FIFOs of 32 bytes, receive level and time-out interrupts, overrun, RTS, and bytes that take the
// time their baud rate gives them; framing and break errors where the other side has another baud rate. The UART that rp2040js brings
// has none of these.

const RECEIVE = 1 << 4, TRANSMIT = 1 << 5, TIMEOUT = 1 << 6, OVERRUN = 1 << 10;
// What a character carries of its own errors, beside its eight bits.
const FRAMING_ERROR = 1 << 8, BREAK_ERROR = 1 << 10;
const FIFO = 32;
const RTS_ENABLE = 1 << 14;
const PERIPHERAL_CLOCK_HZ = 125e6;

// What comes in of `bytes`, one right after the other, when their bits last `sent_ns` each and this side takes `bit_ns` for a bit:
// characters with their errors, and the time from each to the next.
function misread(bytes, sent_ns, bit_ns) {
  const bits = Array.from(bytes).flatMap((byte) => [0, ...Array.from({ length: 8 }, (_, i) => (byte >> i) & 1), 1]);
  const level = (at_ns) => bits[Math.floor(at_ns / sent_ns)] ?? 1;
  const characters = [];
  let at_ns = 0, last_ns = 0;
  const end_ns = bits.length * sent_ns;
  const waitFor = (wanted) => {
    while (level(at_ns) !== wanted && at_ns < end_ns) at_ns += bit_ns / 16;
  };
  while (at_ns < end_ns) {
    waitFor(0);
    const middle = (n) => level(at_ns + (n + 0.5) * bit_ns);
    if (middle(0) === 1) {
      at_ns += 0.5 * bit_ns; // too short for a start bit
      continue;
    }
    let character = 0;
    for (let i = 0; i < 8; i++) character |= middle(1 + i) << i;
    if (middle(9) === 0) character |= FRAMING_ERROR | (character === 0 ? BREAK_ERROR : 0);
    at_ns += 9.5 * bit_ns;
    characters.push({ byte: character, time_ns: at_ns - last_ns });
    last_ns = at_ns;
    // The next start bit is a fall: the line has to be high before.
    waitFor(1);
  }
  return characters;
}

export class Pl011 {
  constructor(setInterrupt, now_ns) {
    this.setInterrupt = setInterrupt;
    this.now_ns = now_ns;
    this.received = [];
    this.sent = [];
    this.registers = new Map();
    this.raw = 0;
    this.wasOn = false;
    this.overruns = 0;
    this.overrunPending = false;
    // What still has to come in: { byte, time_ns }, a character with its errors and the time since the one before.
    this.queue = [];
    this.nextByteAt_ns = 0;
    this.toLose = 0;
    // How long RTS has kept the other side waiting.
    this.held_ns = 0;
    this.lastTick_ns = 0;
    this.quietSince_ns = 0;
  }

  get byte_ns() {
    const divisor = (this.registers.get(0x24) ?? 1) + (this.registers.get(0x28) ?? 0) / 64;
    return (10e9 * 16 * divisor) / PERIPHERAL_CLOCK_HZ;
  }

  get level() {
    const levels = [4, 8, 16, 24, 28];
    return levels[((this.registers.get(0x34) ?? 0x12) >> 3) & 7] ?? 16;
  }

  get hasFlowControl() {
    return ((this.registers.get(0x30) ?? 0) & RTS_ENABLE) !== 0;
  }

  // Bytes that the other side begins to send now, one after the other, at so many times the baud rate, or at a `baud` of its own.
  send(bytes, times, baud) {
    const time_ns = this.byte_ns / times;
    const characters = baud
      ? misread(bytes, 1e9 / baud, this.byte_ns / 10)
      : Array.from(bytes, (byte) => ({ byte, time_ns }));
    if (this.queue.length === 0) this.nextByteAt_ns = this.now_ns() + (characters[0]?.time_ns ?? 0);
    for (const character of characters) this.queue.push(character);
  }

  // Lets the next bytes meet a full FIFO.
  lose(bytes) {
    this.toLose = bytes;
  }

  // Lets time pass; call often.
  tick() {
    const now = this.now_ns();
    while (this.queue.length > 0 && now >= this.nextByteAt_ns) {
      if (this.hasFlowControl && this.received.length >= this.level) {
        this.held_ns += now - Math.max(this.lastTick_ns, this.nextByteAt_ns);
        this.nextByteAt_ns = now;
        break;
      }
      const { byte } = this.queue.shift();
      this.nextByteAt_ns += this.queue[0]?.time_ns ?? 0;
      this.quietSince_ns = now;
      if (this.toLose === 0 && this.received.length < FIFO) {
        this.received.push(byte | (this.overrunPending ? 1 << 11 : 0));
        this.overrunPending = false;
        // Errors' interrupts stand in the order of the errors' bits.
        this.raw |= (byte >> 8) << 7;
      } else {
        this.toLose = Math.max(this.toLose - 1, 0);
        this.overruns++;
        this.overrunPending = true;
        this.raw |= OVERRUN;
      }
    }
    this.lastTick_ns = now;
    // 32 bit times without a byte while some wait.
    if (this.received.length > 0 && now - this.quietSince_ns > 3.2 * this.byte_ns) this.raw |= TIMEOUT;
    this.update();
  }

  update() {
    this.raw = this.received.length >= this.level ? this.raw | RECEIVE : this.raw & ~RECEIVE;
    const on = (this.raw & (this.registers.get(0x38) ?? 0)) !== 0;
    // Told when it falls, not while it is low: firmware may pend the interrupt itself, and that must stay.
    if (on || this.wasOn) this.setInterrupt(on);
    this.wasOn = on;
  }

  readUint32(offset) {
    switch (offset) {
      case 0x00: {
        const byte = this.received.shift() ?? 0;
        if (this.received.length === 0) this.raw &= ~TIMEOUT;
        this.update();
        return byte;
      }
      case 0x18: // flags: transmit empty; receive empty, full
        return (1 << 7) | (this.received.length === 0 ? 1 << 4 : 0) | (this.received.length >= FIFO ? 1 << 6 : 0);
      case 0x3c:
        return this.raw;
      case 0x40:
        return this.raw & (this.registers.get(0x38) ?? 0);
      default:
        return this.registers.get(offset) ?? 0;
    }
  }

  writeUint32(offset, value) {
    if (offset === 0x00) {
      this.sent.push({ byte: value & 0xff, at_ns: this.now_ns() });
      this.raw |= TRANSMIT; // the FIFO has run below its level at once
    } else if (offset === 0x44) {
      this.raw &= ~value;
    } else {
      this.registers.set(offset, value >>> 0);
    }
    this.update();
  }

  writeUint32Atomic(offset, value, kind) {
    const current = this.registers.get(offset) ?? 0;
    // Bytes and half-words are written through here too, with kind 0.
    this.writeUint32(offset, [value, current ^ value, current | value, current & ~value][kind]);
  }
}
