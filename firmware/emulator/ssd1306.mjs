// What an SSD1306 of 128×64 shows for the bytes it gets: commands where D/C is low, pixels where it is high.

const WITH_ONE = new Set([0x20, 0x81, 0x8d, 0xa8, 0xd3, 0xd5, 0xd9, 0xda, 0xdb]);

export class Ssd1306 {
  constructor() {
    this.memory = new Uint8Array(1024);
    this.columns = [0, 127];
    this.pages = [0, 7];
    this.column = 0;
    this.page = 0;
    this.command = [];
  }

  write(byte, isData) {
    if (isData) {
      this.memory[this.page * 128 + this.column] = byte;
      if (this.column++ < this.columns[1]) return;
      this.column = this.columns[0];
      this.page = this.page < this.pages[1] ? this.page + 1 : this.pages[0];
      return;
    }
    this.command.push(byte);
    const [code, first, second] = this.command;
    const length = code === 0x21 || code === 0x22 ? 3 : WITH_ONE.has(code) ? 2 : 1;
    if (this.command.length < length) return;
    if (code === 0x21) [this.columns, this.column] = [[first, second], first];
    if (code === 0x22) [this.pages, this.page] = [[first & 7, second & 7], first & 7];
    this.command = [];
  }

  // Row by row, 0 or 1; the firmware mounts the panel with segments and rows reversed, which turns it the right way up.
  pixels() {
    return Array.from({ length: 64 * 128 }, (_, i) => (this.memory[(i >> 10) * 128 + (i & 127)] >> ((i >> 7) & 7)) & 1);
  }
}
