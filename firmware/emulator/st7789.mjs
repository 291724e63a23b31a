// What an ST7789 of 240×240 shows for the bytes it gets: commands where D/C is low, their parameters and pixels where it is high.

const SIDE = 240;
const COLUMNS = 0x2a, ROWS = 0x2b, WRITE = 0x2c, WRITE_ON = 0x3c, MIRRORING = 0x36, FORMAT = 0x3a;

export class St7789 {
  constructor() {
    this.memory = new Uint16Array(SIDE * SIDE);
    this.columns = [0, SIDE - 1];
    this.rows = [0, SIDE - 1];
    this.x = 0;
    this.y = 0;
    this.command = 0;
    this.parameters = [];
  }

  write(byte, isData) {
    if (!isData) {
      this.command = byte;
      this.parameters = [];
      if (byte === WRITE) [this.x, this.y] = [this.columns[0], this.rows[0]];
      return;
    }
    this.parameters.push(byte);
    const p = this.parameters;
    if (this.command === COLUMNS && p.length === 4) this.columns = [(p[0] << 8) | p[1], (p[2] << 8) | p[3]];
    if (this.command === ROWS && p.length === 4) this.rows = [(p[0] << 8) | p[1], (p[2] << 8) | p[3]];
    if (this.command === MIRRORING && byte !== 0) throw new Error(`rows and columns as they come, not ${byte}`);
    if (this.command === FORMAT && (byte & 7) !== 5) throw new Error(`16 bits a pixel, not ${byte}`);
    if ((this.command === WRITE || this.command === WRITE_ON) && p.length === 2) {
      this.put((p[0] << 8) | p[1]);
      this.parameters = [];
    }
  }

  put(colour) {
    if (this.x >= SIDE || this.y >= SIDE) throw new Error(`no pixel at ${this.x}, ${this.y}`);
    this.memory[this.y * SIDE + this.x] = colour;
    if (this.x++ < this.columns[1]) return;
    this.x = this.columns[0];
    this.y = this.y < this.rows[1] ? this.y + 1 : this.rows[0];
  }

  // Row by row, RGB 5-6-5.
  pixels() {
    return Array.from(this.memory);
  }
}
