
// Small charts of the last two minutes, one value a second.

class Chart {
  static KEPT = 120;
  #values = [];
  #figure; #canvas;

  constructor(parent, name, unit, digits = 0) {
    this.unit = unit;
    this.digits = digits;
    const row = document.createElement("div");
    row.className = "chart";
    const words = document.createElement("div"), label = document.createElement("small");
    this.#figure = document.createElement("b");
    this.#figure.textContent = "–";
    label.textContent = ` ${name}`;
    words.append(this.#figure, label);
    this.#canvas = document.createElement("canvas");
    row.append(words, this.#canvas);
    parent.append(row);
  }

  add(value) {
    const known = typeof value === "number" && Number.isFinite(value);
    this.#figure.textContent = known ? value.toFixed(this.digits) + this.unit : "–";
    this.#values.push(known ? value : null);
    if (this.#values.length > Chart.KEPT) this.#values.shift();
    this.#draw();
  }

  #draw() {
    const canvas = this.#canvas, ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
    if (!width || !height) return;
    canvas.width = width;
    canvas.height = height;
    const pen = canvas.getContext("2d");
    const most = Math.max(...this.#values.filter(v => v !== null), 1e-9) * 1.15;
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
    pen.lineWidth = 1.5 * ratio;
    pen.beginPath();
    let pendown = false;
    this.#values.forEach((value, i) => {
      if (value === null) { pendown = false; return; }
      const x = width * (1 - (this.#values.length - 1 - i) / (Chart.KEPT - 1)), y = height - 1 - (height - 2) * value / most;
      if (pendown) pen.lineTo(x, y); else pen.moveTo(x, y);
      pendown = true;
    });
    pen.stroke();
  }
}
