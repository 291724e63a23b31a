// AVI with MJPEG, as `posewire record` writes it: where each picture lies in the file, its number and its time. Neither the index nor
// the lengths of lists are needed, so that a recording which was cut off is read up to there.

/** No picture is longer: what states more is damage. */
const MOST_JPEG_BYTES = 64 << 20;

/** A file read in large pieces: a recording has thousands of small chunks. */
class Pieces {
  static BYTES = 1 << 22;
  #file; #from = 0; #bytes = new Uint8Array();

  constructor(file) { this.#file = file; }

  /** Fewer bytes at the end of the file. */
  async at(offset, length) {
    if (offset < this.#from || offset + length > this.#from + this.#bytes.length) {
      this.#from = offset;
      this.#bytes = new Uint8Array(await this.#file.slice(offset, offset + Math.max(Pieces.BYTES, length)).arrayBuffer());
    }
    return this.#bytes.subarray(offset - this.#from, offset - this.#from + length);
  }
}

const fourOf = bytes => String.fromCharCode(...bytes.subarray(0, 4));
const u32Of = (bytes, at) => new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true);

/** `{frames: [{number, us, offset, bytes}], note}`; throws what is wrong with a file that is no such recording. */
async function readAvi(file) {
  const pieces = new Pieces(file), start = await pieces.at(0, 12);
  if (start.length === 0) throw Error("the file is empty");
  if (start.length < 12 || fourOf(start) !== "RIFF" || fourOf(start.subarray(8)) !== "AVI ") {
    throw Error("no AVI: `posewire record` writes one, and `posewire view FILE` on the board opens every other video");
  }
  const frames = [], header = { stream: 0, codec: null, fps: 30 };
  let offset = 0, streams = 0, isVideo = false, isInMovie = false, stamp = null, first = null, count = 0, note = "";
  while (offset + 8 <= file.size) {
    const head = await pieces.at(offset, 8), id = fourOf(head), size = u32Of(head, 4), body = offset + 8;
    const after = body + size + size % 2;
    if (id === "LIST" || id === "RIFF") {
      const kind = fourOf(await pieces.at(body, 4));
      isInMovie ||= kind === "movi";
      offset = kind === "INFO" || kind === "odml" ? after : body + 4;
      continue;
    }
    if (id === "strh" && size >= 32 && !isInMovie) {
      const h = await pieces.at(body, 32);
      isVideo = fourOf(h) === "vids" && header.codec === null;
      if (isVideo) {
        const fps = u32Of(h, 24) / Math.max(u32Of(h, 20), 1);
        if (fps >= 0.1 && fps <= 1000) header.fps = fps;
        header.stream = streams;
      }
      streams += 1;
    } else if (id === "strf" && size >= 20 && isVideo) {
      header.codec = fourOf((await pieces.at(body, 20)).subarray(16));
      isVideo = false;
    } else if (id === "pwts" && size === 16) {
      const s = await pieces.at(body, 16);
      if (s.length === 16) {
        const data = new DataView(s.buffer, s.byteOffset);
        stamp = { number: Number(data.getBigUint64(0, true)), us: Number(data.getBigInt64(8, true)) };
      }
    } else if (isInMovie && /^\d\dd[cb]$/.test(id) && Number(id.slice(0, 2)) === header.stream) {
      if (header.codec?.toUpperCase() !== "MJPG") throw Error(`its video is ${header.codec}, not MJPEG: \`posewire view FILE\` on the board opens it`);
      if (size > MOST_JPEG_BYTES) { note = `damaged after ${frames.length} frames: a picture states an impossible length`; break; }
      if (body + size > file.size) break;
      // An empty chunk is a frame that was never taken.
      if (size > 0) {
        if (stamp && first === null) first = stamp;
        const last = frames.at(-1), next = last ? last.us + 1e6 / header.fps : 0;
        const us = stamp && first ? stamp.us - first.us : count * 1e6 / header.fps;
        frames.push({
          number: stamp && (!last || stamp.number > last.number) ? stamp.number : last ? last.number + 1 : count,
          us: Math.round(!last || us > last.us ? us : next), offset: body, bytes: size,
        });
      }
      count += 1;
      stamp = null;
    }
    offset = after;
  }
  if (!header.codec) throw Error("an AVI without a video stream");
  if (!frames.length) throw Error("the AVI holds no whole picture");
  if (!note && offset !== file.size) note = `cut off after ${frames.length} frames: these are whole`;
  return { frames, note };
}
