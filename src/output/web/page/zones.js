// Zones drawn with the mouse or a finger, and the file that `--zones` reads. Corners are shares of the picture.

class ZoneEditor {
  static AT = ["feet", "hips", "head", "hands"];
  static MOST = 32;
  /** How near a corner is meant, CSS pixels. */
  static NEAR_PX = 14;
  isOn = false; zones = [];
  /** The polygon that is being drawn, and the corner that was taken last: its zone and its place there; it is dragged, if one is. */
  #open = null; #held = null; #isDragged = false; #changed;

  constructor(changed) { this.#changed = changed; }

  /** Begins with the zones that the tracker has, unless some were drawn already. */
  toggle(known) {
    this.isOn = !this.isOn;
    if (this.isOn && !this.zones.length) {
      this.zones = known.map(([name, polygon, at]) => ({ name, at, polygon: polygon.map(corner => [...corner]) }));
    }
    this.#open = null;
    this.#letGo();
    this.#changed();
  }

  #letGo() { [this.#held, this.#isDragged] = [null, false]; }

  /** What is drawn: finished polygons, then the open one. */
  drawn() {
    const zones = this.zones.map(({ name, polygon }) => [name, polygon]);
    return this.#open ? [...zones, ["", this.#open]] : zones;
  }

  get held() { return this.#held && this.#held.polygon[this.#held.corner]; }

  /** `place` in shares of the picture, `near` how far in shares of its width and height a click may miss. */
  down(place, near) {
    const at = place.map(v => Math.min(1, Math.max(0, v))), hit = ([x, y]) => Math.abs(x - at[0]) < near[0] && Math.abs(y - at[1]) < near[1];
    if (this.#open) {
      if (this.#open.length > 2 && hit(this.#open[0])) return this.close();
      // A double click ends the polygon: its second press is no corner beside its first.
      if (hit(this.#open.at(-1))) return;
      this.#open.push(at);
      return this.#changed();
    }
    for (const { polygon } of this.zones) {
      const corner = polygon.findIndex(hit);
      if (corner >= 0) {
        [this.#held, this.#isDragged] = [{ polygon, corner }, true];
        return this.#changed();
      }
    }
    for (const { polygon } of this.zones) {
      // The middle of an edge becomes a corner.
      const edge = polygon.findIndex(([x, y], i) => {
        const [u, v] = polygon[(i + 1) % polygon.length];
        return hit([(x + u) / 2, (y + v) / 2]);
      });
      if (edge >= 0) {
        polygon.splice(edge + 1, 0, at);
        [this.#held, this.#isDragged] = [{ polygon, corner: edge + 1 }, true];
        return this.#changed();
      }
    }
    if (this.zones.length < ZoneEditor.MOST) this.#open = [at];
    this.#changed();
  }

  move(place) {
    if (!this.#isDragged) return;
    this.#held.polygon[this.#held.corner] = place.map(v => Math.min(1, Math.max(0, v)));
    this.#changed();
  }

  up() { this.#isDragged = false; }

  /** The open polygon becomes a zone. */
  close() {
    if (this.#open?.length > 2) {
      let number = this.zones.length + 1;
      while (this.zones.some(zone => zone.name === `zone ${number}`)) number += 1;
      this.zones.push({ name: `zone ${number}`, at: "feet", polygon: this.#open });
    }
    this.#open = null;
    this.#changed();
  }

  /** Whether the key meant something here. */
  key(name) {
    if (name === "Enter") this.close();
    else if (name === "Escape") this.#open = null;
    else if (name === "Delete" || name === "Backspace") this.#remove();
    else return false;
    this.#changed();
    return true;
  }

  #remove() {
    if (this.#open) {
      this.#open.pop();
      if (!this.#open.length) this.#open = null;
    } else if (this.#held) {
      this.#held.polygon.splice(this.#held.corner, 1);
      this.zones = this.zones.filter(({ polygon }) => polygon.length > 2);
      this.#letGo();
    }
  }

  remove(zone) {
    this.zones = this.zones.filter(other => other !== zone);
    this.#letGo();
    this.#changed();
  }

  /** Takes a name that no other zone has; whether it could be taken. */
  rename(zone, name) {
    const clean = name.replace(/[\u0000-\u001f\u007f-\u009f]/g, "").trim();
    if (!clean || this.zones.some(other => other !== zone && other.name === clean)) return false;
    zone.name = clean;
    this.#changed();
    return true;
  }

  /** What `--zones` reads. */
  toml() {
    const share = v => Number(v.toFixed(4)).toString();
    return "# posewire run --zones zones.toml --events -\n" + this.zones.map(({ name, at, polygon }) =>
      `\n[[zone]]\nname = ${JSON.stringify(name)}\nat = "${at}"\npolygon = [${polygon.map(([x, y]) => `[${share(x)}, ${share(y)}]`).join(", ")}]\n`,
    ).join("");
  }

  /** Handles over the polygons, which are drawn as every zone is. */
  draw(pen, unit, width, height) {
    for (const [, polygon] of this.drawn()) {
      for (const [x, y] of polygon) {
        disc(pen, x * width, y * height, 2.6 * unit, "#000");
        disc(pen, x * width, y * height, 2 * unit, this.held?.[0] === x && this.held?.[1] === y ? "#e69f00" : "#fff");
      }
      if (polygon === this.#open) continue;
      polygon.forEach(([x, y], i) => {
        const [u, v] = polygon[(i + 1) % polygon.length];
        disc(pen, (x + u) / 2 * width, (y + v) / 2 * height, unit, "#fff");
      });
    }
  }

  /** The list beside the picture. */
  list(parent) {
    parent.replaceChildren(...this.zones.map(zone => {
      const row = document.createElement("li"), name = document.createElement("input"), at = document.createElement("select"), gone = document.createElement("button");
      name.value = zone.name;
      name.setAttribute("aria-label", "the zone's name");
      name.addEventListener("change", () => { if (!this.rename(zone, name.value)) name.value = zone.name; });
      at.append(...ZoneEditor.AT.map(part => new Option(part, part)));
      at.value = zone.at;
      at.setAttribute("aria-label", "what of a person has to be inside");
      at.addEventListener("change", () => { zone.at = at.value; });
      gone.textContent = "×";
      gone.setAttribute("aria-label", `remove ${zone.name}`);
      gone.addEventListener("click", () => this.remove(zone));
      row.append(name, at, gone);
      return row;
    }));
  }
}
