// What both pages have: what is kept for the next visit, buttons with keys, dark and light.

const $ = id => document.getElementById(id);

function stored(key) {
  // A browser may keep nothing for this page.
  try { return JSON.parse(localStorage.getItem(`posewire.${key}`)); } catch { return null; }
}

function store(key, value) {
  try { localStorage.setItem(`posewire.${key}`, JSON.stringify(value)); } catch { /* As if it were the first visit. */ }
}

function theme() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  store("theme", name);
}

function control(name, letter, act, isOn) {
  const button = document.createElement("button"), key = document.createElement("kbd");
  key.textContent = letter;
  button.append(name, key);
  button.addEventListener("click", act);
  if (isOn !== undefined) button.setAttribute("aria-pressed", isOn);
  return button;
}

/** Over the middle of the picture, or in its corner where there is something to see. */
function notice(text, inCorner = false) {
  $("notice").hidden = !text;
  $("notice").textContent = text;
  $("notice").className = inCorner ? "corner" : "";
}

/** Gives a file to whoever looks on. */
function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function colourOf(id) { return COLOURS[id % COLOURS.length]; }

if (stored("theme")) setTheme(stored("theme"));
