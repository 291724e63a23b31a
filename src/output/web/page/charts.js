// Small charts of the last two minutes, one value a second.

/** A line over time in a canvas of its own. */
class Spark {
  static KEPT = 120;
  #values = []; #canvas;

  constructor() {
    this.#canvas = document.createElement("canvas");
  }

  get canvas() { return this.#canvas; }

  add(value) {
    this.#values.push(value);
    if (this.#values.length > Spark.KEPT) this.#values.shift();
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
      const x = width * (1 - (this.#values.length - 1 - i) / (Spark.KEPT - 1)), y = height - 1 - (height - 2) * value / most;
      if (pendown) pen.lineTo(x, y); else pen.moveTo(x, y);
      pendown = true;
    });
    pen.stroke();
  }
}

/** A figure, what it is, and its line. */
class Chart {
  #figure; #spark = new Spark();

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
    row.append(words, this.#spark.canvas);
    parent.append(row);
  }

  add(value) {
    const known = typeof value === "number" && Number.isFinite(value);
    this.#figure.textContent = known ? value.toFixed(this.digits) + this.unit : "–";
    this.#spark.add(known ? value : null);
  }
}

/** A row a stage of a frame's way: its name, its p50 over time, p50 and p99 in milliseconds. */
class Stages {
  #table; #rows = new Map();

  constructor(table) { this.#table = table; }

  set(stages) {
    for (const [name, p50, p99] of stages) {
      if (!this.#rows.has(name)) this.#rows.set(name, this.#row(name));
      const { spark, figures } = this.#rows.get(name);
      spark.add(p50 / 1000);
      figures[0].textContent = (p50 / 1000).toFixed(2);
      figures[1].textContent = (p99 / 1000).toFixed(1);
    }
  }

  #row(name) {
    const row = this.#table.insertRow(), spark = new Spark();
    row.insertCell().textContent = name.replaceAll("_", " ");
    row.insertCell().append(spark.canvas);
    return { spark, figures: [row.insertCell(), row.insertCell()] };
  }
}
