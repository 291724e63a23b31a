// A joint over time: x, y and score of every track, round the frame that is shown.

class Plot {
  static ROWS = [["x", 0], ["y", 1], ["score", 2]];
  /** Seconds on each side of the frame that is shown. */
  static HALF_S = 5;
  #canvas;

  constructor(canvas) {
    this.#canvas = canvas;
    this.isWhole = false;
  }

  /** The frames that are in the plot, first and last. */
  range(frames, at) {
    const last = frames.length - 1;
    if (this.isWhole || frames[last].us < 2e6 * Plot.HALF_S) return [0, last];
    const times = frames.map(f => f.us), us = frames[at].us;
    const first = Math.max(0, newestBefore(times, us - 1e6 * Plot.HALF_S));
    return [first, Math.min(last, newestBefore(times, us + 1e6 * Plot.HALF_S) + 1)];
  }

  /** `valueOf(track, frame)`: the joint there, or null; `span`: first and last frame that are marked. */
  draw(frames, at, tracks, valueOf, inks, span) {
    const canvas = this.#canvas, ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
    if (!width || !height || !frames.length) return;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const quiet = style.getPropertyValue("--quiet"), ink = style.getPropertyValue("--ink"), line = style.getPropertyValue("--line");
    const [first, last] = this.range(frames, at), left = 44 * ratio, right = 6 * ratio;
    const [from, to] = [frames[first].us, Math.max(frames[last].us, frames[first].us + 1)];
    const xOf = us => left + (width - left - right) * (us - from) / (to - from);
    this.shown = { first, last, from, to, left: left / ratio, right: right / ratio };
    pen.clearRect(0, 0, width, height);
    pen.font = `${11 * ratio}px system-ui`;
    // No more values than columns.
    const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, (width - left) / ratio)));
    const series = tracks.map(track => {
      const values = [];
      for (let i = first; i <= last; i += step) values.push([frames[i].us, valueOf(track, frames[i])]);
      return values;
    });
    if (span) {
      pen.fillStyle = "rgb(128 128 128 / 25%)";
      const [a, b] = span.map(i => xOf(frames[i].us));
      pen.fillRect(a, 0, Math.max(b - a, ratio), height);
    }
    const row = height / Plot.ROWS.length;
    Plot.ROWS.forEach(([name, axis], r) => {
      const known = series.flat().filter(([, v]) => v).map(([, v]) => v[axis]);
      let [least, most] = axis === 2 ? [0, 1] : [Math.min(...known), Math.max(...known)];
      if (!known.length) [least, most] = [0, 1];
      // A joint that stands still is no earthquake.
      if (axis !== 2 && most - least < 8) [least, most] = [(least + most) / 2 - 4, (least + most) / 2 + 4];
      const top = r * row + 6 * ratio, bottom = (r + 1) * row - 6 * ratio;
      const yOf = v => bottom - (bottom - top) * (v - least) / (most - least);
      pen.strokeStyle = line;
      pen.lineWidth = ratio;
      pen.strokeRect(left, top, width - left - right, bottom - top);
      pen.fillStyle = quiet;
      pen.fillText(name, 2 * ratio, (top + bottom) / 2 + 4 * ratio);
      pen.textAlign = "right";
      const digits = axis === 2 ? 1 : 0;
      pen.fillText(most.toFixed(digits), left - 3 * ratio, top + 9 * ratio);
      pen.fillText(least.toFixed(digits), left - 3 * ratio, bottom);
      pen.textAlign = "left";
      series.forEach((values, k) => {
        pen.strokeStyle = inks[k];
        pen.lineWidth = (k === 0 ? 2 : 1.2) * ratio;
        pen.beginPath();
        let isDown = false;
        for (const [us, v] of values) {
          if (!v) { isDown = false; continue; }
          if (isDown) pen.lineTo(xOf(us), yOf(v[axis])); else pen.moveTo(xOf(us), yOf(v[axis]));
          isDown = true;
        }
        pen.stroke();
      });
    });
    pen.fillStyle = ink;
    pen.fillRect(xOf(frames[at].us) - ratio / 2, 0, ratio, height);
  }

  /** Microseconds at a place in the canvas, CSS pixels. */
  usAt(x) {
    const { from, to, left, right } = this.shown, share = (x - left) / (this.#canvas.clientWidth - left - right);
    return from + (to - from) * Math.min(1, Math.max(0, share));
  }
}
