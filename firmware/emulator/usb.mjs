// A host on the Pico's own USB cable: finds a serial port there, as a computer does, and sends and takes bytes as fast as the board does.
//
// It stands where a UART's model does, so that the same steps try both.

import { USBCDC } from "rp2040js";

const EP0_OUT_BUFFER_CONTROL = 0x84, AVAILABLE = 1 << 10;
// A full packet and its acknowledgement at 12 Mbit/s.
const PACKET_NS = 50e3;

export class Usb {
  sent = [];
  queue = [];
  // What only a UART has.
  byte_ns = 10e9 / 115200;
  overruns = 0;
  held_ns = 0;
  hasFlowControl = false;
  #chip;
  #cdc;
  #now;
  #room = 0;
  #next_ns = 0;

  constructor(chip, now) {
    this.#chip = chip;
    this.#now = now;
    this.#cdc = new USBCDC(chip.usbCtrl);
    this.#cdc.onSerialData = (bytes) => {
      for (const byte of bytes) this.sent.push({ byte, at_ns: now() });
    };
    // A board that has no room is asked again: nothing is sent until it has. The chip's word that the buffer is the host's stays until a
    // packet has come; rp2040js takes it back at once.
    chip.usbCtrl.onEndpointRead = (endpoint, size) => {
      if (endpoint !== this.#cdc.outEndpoint) return;
      this.#room = size;
      this.#setAvailable(true);
    };
  }

  send(bytes) {
    for (const byte of bytes) this.queue.push(byte);
  }

  tick() {
    if (this.#room === 0 || this.queue.length === 0 || this.#now() < this.#next_ns) return;
    const packet = Uint8Array.from(this.queue.splice(0, this.#room));
    this.#room = 0;
    this.#next_ns = this.#now() + PACKET_NS;
    this.#setAvailable(false);
    this.#chip.usbCtrl.finishRead(this.#cdc.outEndpoint, packet);
  }

  #setAvailable(is) {
    const at = EP0_OUT_BUFFER_CONTROL + 8 * this.#cdc.outEndpoint;
    const before = this.#chip.usbDPRAMView.getUint32(at, true);
    this.#chip.usbDPRAMView.setUint32(at, is ? before | AVAILABLE : before & ~AVAILABLE, true);
  }
}
