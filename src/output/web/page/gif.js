// Moving GIFs: one palette for all pictures by median cut (Heckbert 1982), LZW as GIF89a has it.

/** Bits of a channel that colours are told apart by. */
const GIF_BITS = 5;

/** Up to 256 colours `[r, g, b]` for pictures of four bytes a pixel. */
function paletteOf(pictures) {
  const counts = new Map();
  for (const { data } of pictures) {
    for (let i = 0; i < data.length; i += 4) {
      const key = gifKey(data[i], data[i + 1], data[i + 2]);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  const shift = 8 - GIF_BITS, mask = (1 << GIF_BITS) - 1, half = 1 << (shift - 1);
  const channel = (key, c) => ((key >> (GIF_BITS * (2 - c))) & mask) << shift | half;
  const boxOf = keys => {
    const spreads = [0, 1, 2].map(c => {
      let least = 255, most = 0;
      for (const key of keys) { const v = channel(key, c); least = Math.min(least, v); most = Math.max(most, v); }
      return most - least;
    });
    const spread = Math.max(...spreads);
    let weight = 0;
    for (const key of keys) weight += counts.get(key);
    return { keys, axis: spreads.indexOf(spread), worth: spread * Math.sqrt(weight) };
  };
  const boxes = [boxOf([...counts.keys()])];
  while (boxes.length < 256) {
    const box = boxes.reduce((best, b) => b.worth > best.worth ? b : best);
    if (box.keys.length < 2 || box.worth === 0) break;
    const keys = box.keys.sort((a, b) => channel(a, box.axis) - channel(b, box.axis));
    let weight = 0, passed = 0, middle = 0;
    for (const key of keys) weight += counts.get(key);
    while (middle < keys.length - 1 && (middle === 0 || passed < weight / 2)) passed += counts.get(keys[middle++]);
    boxes[boxes.indexOf(box)] = boxOf(keys.slice(0, middle));
    boxes.push(boxOf(keys.slice(middle)));
  }
  return boxes.map(({ keys }) => {
    const sums = [0, 0, 0];
    let weight = 0;
    for (const key of keys) {
      const count = counts.get(key);
      weight += count;
      for (const c of [0, 1, 2]) sums[c] += count * channel(key, c);
    }
    return sums.map(sum => Math.round(sum / weight));
  });
}

function gifKey(r, g, b) {
  const shift = 8 - GIF_BITS;
  return (r >> shift) << 2 * GIF_BITS | (g >> shift) << GIF_BITS | b >> shift;
}

/** A GIF that plays again and again. */
class Gif {
  #parts = []; #palette; #nearest = new Int16Array(1 << 3 * GIF_BITS).fill(-1);

  constructor(width, height, palette) {
    this.#palette = palette;
    const table = new Uint8Array(768);
    palette.forEach((colour, i) => table.set(colour, 3 * i));
    this.#parts.push("GIF89a", words(width, height), new Uint8Array([0xf7, 0, 0]), table,
      new Uint8Array([0x21, 0xff, 11]), "NETSCAPE2.0", new Uint8Array([3, 1, 0, 0, 0]));
    [this.width, this.height] = [width, height];
  }

  /** `data`: four bytes a pixel. */
  add({ data }, hundredths) {
    const indices = new Uint8Array(this.width * this.height);
    for (let i = 0; i < indices.length; i++) indices[i] = this.#index(data[4 * i], data[4 * i + 1], data[4 * i + 2]);
    this.#parts.push(new Uint8Array([0x21, 0xf9, 4, 0]), words(hundredths), new Uint8Array([0, 0]),
      new Uint8Array([0x2c]), words(0, 0, this.width, this.height), new Uint8Array([0, 8]), lzw(indices), new Uint8Array([0]));
  }

  blob() { return new Blob([...this.#parts, new Uint8Array([0x3b])], { type: "image/gif" }); }

  #index(r, g, b) {
    const key = gifKey(r, g, b);
    if (this.#nearest[key] < 0) {
      let best = Infinity;
      this.#palette.forEach(([pr, pg, pb], i) => {
        const distance = (r - pr) ** 2 + (g - pg) ** 2 + (b - pb) ** 2;
        if (distance < best) [best, this.#nearest[key]] = [distance, i];
      });
    }
    return this.#nearest[key];
  }
}

function words(...values) { return new Uint8Array(values.flatMap(v => [v & 255, v >> 8])); }

/** Codes of 9 to 12 bits in blocks of at most 255 bytes, each with its length before it. */
function lzw(indices) {
  const out = [], CLEAR = 256, END = 257;
  let codes = new Map(), next = 258, size = 9, held = 0, bits = 0;
  const put = code => {
    held |= code << bits;
    bits += size;
    for (; bits >= 8; bits -= 8, held >>>= 8) out.push(held & 255);
  };
  put(CLEAR);
  let prefix = indices[0];
  for (let i = 1; i < indices.length; i++) {
    const key = prefix << 8 | indices[i], known = codes.get(key);
    if (known !== undefined) { prefix = known; continue; }
    put(prefix);
    prefix = indices[i];
    if (next === 4096) {
      put(CLEAR);
      [codes, next, size] = [new Map(), 258, 9];
    } else {
      // The reader is one code behind.
      if (next === 1 << size) size += 1;
      codes.set(key, next++);
    }
  }
  put(prefix);
  put(END);
  if (bits > 0) out.push(held & 255);
  const blocks = new Uint8Array(out.length + Math.ceil(out.length / 255));
  for (let from = 0, to = 0; from < out.length; from += 255) {
    const block = out.slice(from, from + 255);
    blocks[to++] = block.length;
    blocks.set(block, to);
    to += block.length;
  }
  return blocks;
}
