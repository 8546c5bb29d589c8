"use strict";
/* The page: what is shown, and what pointer and keys do. */

const $ = (id) => document.getElementById(id);
const DATA = JSON.parse($("data").textContent);

/* A level is 255 times the weight's root. */
function decode(base64) {
  const text = atob(base64);
  const weights = new Float32Array(text.length);
  for (let i = 0; i < weights.length; i++) weights[i] = (text.charCodeAt(i) / 255) ** 2;
  return weights;
}

for (const map of Object.values(DATA.maps)) map.weights = decode(map.weights);
setMaps({ source: DATA.source, target: DATA.inputs.slice(0, 1).concat(DATA.target) }, DATA.maps);

/* The source token that each token of the translation belongs to: as the program says, else the one that the last layer's
 * heads together read most. */
const ALIGNMENT = DATA.alignment.length || isEmpty("cross") ? DATA.alignment : (() => {
  const { layers, rows, columns } = MAPS.cross;
  const weights = plane("cross", layers - 1, MEAN);
  return Array.from({ length: rows }, (_, row) => {
    const part = weights.subarray(row * columns, (row + 1) * columns);
    return part.indexOf(Math.max(...part));
  });
})();

let theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const view = { kind: KINDS.find((kind) => !isEmpty(kind)) || "cross", layer: MEAN, head: MEAN };
let pointed = null, kept = null; // { side, unit[, other]: the unit in its row or column }
let tokens = {}; // elements of the strips, by side
let cell = 0;    // size of a cell of the large map

function make(parent, name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function percent(weight) {
  const value = 100 * weight;
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
}

/* What is invisible in a text gets a sign. */
function visible(token) {
  return token === "" ? "∅" : token.trim() === "" ? token.replace(/\s/g, "␣") : token;
}

/* Without the sign of a space in front of it, which matters in the texts alone. */
function nameOf({ side, unit }) {
  return visible(UNITS[side][unit].replace(/^▁(?=.)/u, ""));
}

/* ----------------------------------------------------------------------------------------------------- the two texts */

function isOutside(side, unit) {
  return place(view.kind, "rows", side, unit) < 0 && place(view.kind, "columns", side, unit) < 0;
}

function makeToken(side, unit) {
  const text = visible(UNITS[side][unit]);
  const element = make($(side), "button", "token");
  element.type = "button";
  element.tabIndex = -1;
  const space = /^▁+(?=.)/u.exec(text);
  if (space) make(element, "span", "space", space[0]);
  element.append(text.slice(space ? space[0].length : 0));
  if (/^(<.*>|>>.*<<|\[.*\]|__.*__)$/u.test(text) || (side === "target" && unit === 0)) element.classList.add("special");
  const probability = side === "target" && unit > 0 ? DATA.probabilities[unit - 1] : undefined;
  if (probability !== undefined) make(element, "span", "bar").style.width = `${100 * probability}%`;
  element.addEventListener("pointerenter", () => point({ side, unit }));
  element.addEventListener("pointerleave", () => point(null));
  element.addEventListener("focus", () => { if (element.matches(":focus-visible")) point({ side, unit }); });
  element.addEventListener("blur", () => point(null));
  element.addEventListener("click", () => keep({ side, unit }));
  return element;
}

function makeStrips() {
  for (const side of ["source", "target"]) {
    $(side).replaceChildren();
    tokens[side] = UNITS[side].map((_, unit) => makeToken(side, unit));
    rove($(side), tokens[side]);
  }
  $("text").classList.toggle("many", UNITS.source.length > 24 || UNITS.target.length > 24);
}

/* One of several elements can be reached with Tab, the others with the arrow keys. Up and down move by lines of width
 * elements; the first element is a line of its own. Without width they do nothing. */
function rove(parent, elements, width = 0, chosen = () => {}) {
  const last = elements.length - 1;
  const ways = {
    ArrowLeft: (at) => Math.max(at - 1, 0),
    ArrowRight: (at) => Math.min(at + 1, last),
    ArrowUp: (at) => (!width ? at : at > width ? at - width : 0),
    ArrowDown: (at) => (!width ? at : at === 0 ? 1 : at + width > last ? at : at + width),
    Home: () => 0,
    End: () => last,
  };
  if (elements.length) elements[0].tabIndex = 0;
  parent.onkeydown = (event) => {
    const at = elements.indexOf(document.activeElement);
    if (!(event.key in ways) || at < 0) return;
    event.preventDefault();
    const to = ways[event.key](at);
    reach(elements, to);
    elements[to].focus();
    chosen(to);
  };
}

function reach(elements, index) {
  elements.forEach((element, i) => { element.tabIndex = i === index ? 0 : -1; });
}

/* -------------------------------------------------------------------------------------------------------- pointing */

function point(what) {
  pointed = what && !isOutside(what.side, what.unit) ? what : null;
  showPointed();
}

function keep(what) {
  const same = kept && what && kept.side === what.side && kept.unit === what.unit;
  kept = same || !what || isOutside(what.side, what.unit) ? null : what;
  showPointed();
}

function showPointed() {
  const what = pointed || kept;
  const { looks, looked } = what ? relations(view, what.side, what.unit) : { looks: [], looked: [] };
  for (const side of ["source", "target"])
    tokens[side].forEach((element, unit) => {
      element.classList.toggle("outside", isOutside(side, unit));
      element.classList.toggle("here", !!what && what.side === side && what.unit === unit);
      element.classList.toggle("kept", !!kept && kept.side === side && kept.unit === unit);
      element.classList.remove("ringed");
      element.style.background = element.style.color = element.style.outlineColor = "";
      delete element.dataset.looks;
      delete element.dataset.looked;
    });
  for (const { side, unit, weight } of looks) {
    const rgb = colourOf(weight);
    Object.assign(tokens[side][unit].style, { background: css(rgb), color: inkOn(rgb) });
    tokens[side][unit].dataset.looks = weight.toFixed(4);
  }
  for (const { side, unit, weight } of looked) {
    tokens[side][unit].dataset.looked = weight.toFixed(4);
    if (weight < 0.05) continue;
    tokens[side][unit].classList.add("ringed");
    tokens[side][unit].style.outlineColor =
      `color-mix(in srgb, var(--ring) ${Math.round(100 * Math.min(1, 0.15 + Math.sqrt(weight)))}%, transparent)`;
  }
  drawThreads(what, looks, looked);
  showReadout(what, looks, looked);
  showBands(what);
}

function listed(list) {
  return strongest(list).map((x) => `${say("quote")(nameOf(x))} ${percent(x.weight)}`).join(say("join"));
}

function showReadout(what, looks, looked) {
  const parts = [];
  const name = what && say("quote")(nameOf(what));
  if (what && looks.length) parts.push(say("looks")(name, listed(looks)));
  if (what && strongest(looked).length) parts.push(say("looked")(name, listed(looked)));
  if (what && !parts.length) parts.push(say("nothing")(name));
  if (what && what.side === "target" && what.unit > 0) {
    const source = ALIGNMENT[what.unit - 1];
    if (view.kind === "cross" && source >= 0)
      parts.push(say("belongs")(say("quote")(nameOf({ side: "source", unit: source }))));
    const p = DATA.probabilities[what.unit - 1];
    if (p !== undefined) parts.push(say("made")(name, percent(p)));
  }
  $("readout").textContent = what ? parts.join(say("stop")) : isEmpty(view.kind) ? say("empty") : say("idle");
}

/* All that is worth a line; with a token pointed at, its own. */
function drawThreads(what, looks, looked) {
  const box = $("text").getBoundingClientRect();
  const context = fit($("threads"), box.width - 2, box.height - 2);
  const place = ({ side, unit }) => {
    const r = tokens[side][unit].getBoundingClientRect();
    return { x: (r.left + r.right) / 2 - box.left, top: r.top - box.top, bottom: r.bottom - box.top };
  };
  const draw = (from, to, weight, colour, strength) =>
    drawThread(context, place(from), place(to), { from: from.side === "source", to: to.side === "source" },
      css(parse(colour), Math.min(1, 0.12 + strength * Math.sqrt(weight))), 0.6 + 4.5 * weight);
  context.clearRect(0, 0, box.width, box.height);
  if (what) {
    for (const x of looked) if (x.weight >= 0.05) draw(x, what, x.weight, variable("--ring"), 0.8);
    for (const x of looks) if (x.weight >= 0.03) draw(what, x, x.weight, variable("--accent"), 0.9);
    return;
  }
  if (isEmpty(view.kind)) return;
  const { rows, columns } = MAPS[view.kind];
  const weights = plane(view.kind, view.layer, view.head);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const weight = weights[r * columns + c];
      if (weight >= 0.1)
        draw(unitAt(view.kind, "rows", r), unitAt(view.kind, "columns", c), weight, variable("--accent"), 0.35);
    }
}

/* ------------------------------------------------------------------------------------------------ layers and heads */

/* The chooser's first line is the average of all, with the heads' numbers beside it. */
function showChooser() {
  const { kind } = view;
  const { layers, heads } = MAPS[kind];
  const grid = $("grid");
  const places = [], buttons = [];
  grid.replaceChildren();
  grid.style.gridTemplateColumns = `max-content minmax(26px, 72px) 4px repeat(${heads}, minmax(26px, 72px))`;
  const add = (layer, head) => {
    const button = make(grid, "button");
    button.type = "button";
    button.tabIndex = -1;
    button.title = nameOfMap(kind, layer, head);
    button.setAttribute("aria-label", button.title);
    button.addEventListener("click", () => { reach(buttons, buttons.indexOf(button)); choose(layer, head); });
    buttons.push(button);
    places.push([layer, head]);
  };
  if (!isEmpty(kind)) {
    make(grid, "span", "label side", say("all"));
    add(MEAN, MEAN);
    make(grid, "span");
    for (let h = 0; h < heads; h++) make(grid, "span", "label", say("headShort")(h + 1)).style.alignSelf = "end";
    for (let l = 0; l < layers; l++) {
      make(grid, "span", "label side", say("layer")(l + 1));
      add(l, MEAN);
      make(grid, "span");
      for (let h = 0; h < heads; h++) add(l, h);
    }
  }
  rove(grid, buttons, heads + 1, (i) => choose(...places[i]));
  const size = buttons.length ? Math.max(26, Math.floor(buttons[buttons.length - 1].getBoundingClientRect().width) - 2) : 0;
  buttons.forEach((button, i) => drawThumb(button, kind, ...places[i], size));
  markChosen();
}

function drawThumb(button, kind, layer, head, size) {
  const { rows, columns } = MAPS[kind];
  const canvas = make(button, "canvas");
  const context = fit(canvas, size, size);
  const long = Math.max(rows, columns);
  const width = size * columns / long, height = size * rows / long;
  canvas.style.width = canvas.style.height = "";
  context.translate((size - width) / 2, (size - height) / 2);
  drawMap(context, plane(kind, layer, head), rows, columns, width, height, kind === "decoder");
  button.dataset.layer = layer;
  button.dataset.head = head;
}

function markChosen() {
  for (const button of $("grid").querySelectorAll("button"))
    button.setAttribute("aria-pressed", +button.dataset.layer === view.layer && +button.dataset.head === view.head);
}

function nameOfMap(kind, layer, head) {
  const { layers, heads } = MAPS[kind];
  if (layer === MEAN) return say("nameAll")(layers, heads);
  return head === MEAN ? say("nameLayer")(layer + 1, heads) : say("nameOne")(layer + 1, head + 1);
}

function choose(layer, head) {
  Object.assign(view, { layer, head });
  markChosen();
  showMap();
  showPointed();
}

/* --------------------------------------------------------------------------------------------------- the large map */

function makeLabels(parent, axis, extent) {
  parent.replaceChildren();
  for (let i = 0; i < MAPS[view.kind][axis]; i++) {
    const name = nameOf(unitAt(view.kind, axis, i));
    const label = make(parent, "span", axis === "columns" && /^[\u0000-\u2fff]*$/.test(name) ? "up" : "", name);
    label.style[extent] = label.style.lineHeight = `${cell}px`;
    label.style.fontSize = `${Math.min(14, Math.max(7, cell - 2))}px`;
  }
}

/* Cells fill the width, unless they would become larger than need be or too small to read their labels. */
function chooseCell() {
  const { columns } = MAPS[view.kind];
  const least = columns > 160 ? 7 : 12;
  cell = least;
  for (let round = 0; round < 2; round++) { // the labels' width and the cells' depend on each other
    makeLabels($("rows"), "rows", "height");
    const room = $("scroll").clientWidth - Math.max($("rows").offsetWidth, 92) - 4;
    cell = Math.min(52, Math.max(least, Math.floor(room / Math.max(columns, 1))));
  }
}

function showMap() {
  const { kind, layer, head } = view;
  const { rows, columns } = MAPS[kind];
  chooseCell();
  $("name").textContent = isEmpty(kind) ? "" : nameOfMap(kind, layer, head);
  $("columns-are").textContent = `${say("columns")[kind]} →`;
  $("rows-are").textContent = `${say("rows")[kind]} ↓`;
  makeLabels($("columns"), "columns", "width");
  makeLabels($("rows"), "rows", "height");
  const context = fit($("canvas"), columns * cell, rows * cell);
  if (isEmpty(kind)) return;
  drawMap(context, plane(kind, layer, head), rows, columns, columns * cell, rows * cell, kind === "decoder");
  drawGaps(context, rows, columns, cell, variable("--gap"));
  if (kind === "cross") drawAlignment(context);
}

function drawAlignment(context) {
  context.strokeStyle = variable("--ring");
  context.lineWidth = cell > 20 ? 2 : 1.25;
  const inset = context.lineWidth / 2 + 0.5;
  ALIGNMENT.forEach((source, row) => {
    if (source >= 0)
      context.strokeRect(source * cell + inset, row * cell + inset, cell - 2 * inset, cell - 2 * inset);
  });
}

function showBands(what) {
  const { kind } = view;
  const { rows, columns } = MAPS[kind];
  const at = { rows: -1, columns: -1 };
  if (what) {
    for (const axis of ["rows", "columns"]) at[axis] = place(kind, axis, what.side, what.unit);
    if (what.other) at.columns = place(kind, "columns", what.other.side, what.other.unit);
  }
  const band = (element, index, box) => {
    element.style.display = index < 0 ? "none" : "block";
    for (const [name, value] of Object.entries(box)) element.style[name] = `${value}px`;
  };
  band($("row-band"), at.rows, { left: -1, top: at.rows * cell - 1, width: columns * cell + 2, height: cell + 2 });
  band($("column-band"), at.columns, { left: at.columns * cell - 1, top: -1, width: cell + 2, height: rows * cell + 2 });
  for (const axis of ["rows", "columns"])
    [...$(axis).children].forEach((label, i) => label.classList.toggle("lit", i === at[axis]));
  $("cell").textContent = what && what.other && at.rows >= 0 && at.columns >= 0
    ? `${nameOf(unitAt(kind, "rows", at.rows))} → ${nameOf(unitAt(kind, "columns", at.columns))}: `
      + percent(plane(kind, view.layer, view.head)[at.rows * columns + at.columns])
    : "";
}

function pointAtCell(event) {
  const { kind } = view;
  const { rows, columns } = MAPS[kind];
  const box = $("canvas").getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / cell), column = Math.floor((event.clientX - box.left) / cell);
  if (row < 0 || column < 0 || row >= rows || column >= columns) return null;
  return { ...unitAt(kind, "rows", row), other: unitAt(kind, "columns", column) };
}

/* ------------------------------------------------------------------------------------------------------ everything */

function showKinds() {
  const box = $("kinds");
  box.replaceChildren();
  const buttons = KINDS.map((kind) => {
    const button = make(box, "button");
    make(button, "b", "", say(kind));
    make(button, "span", "", say("from")[kind]);
    button.type = "button";
    button.id = `kind-${kind}`;
    button.role = "tab";
    button.tabIndex = -1;
    button.setAttribute("aria-selected", kind === view.kind);
    button.addEventListener("click", () => chooseKind(kind));
    return button;
  });
  rove(box, buttons, 0, (i) => chooseKind(KINDS[i]));
  reach(buttons, KINDS.indexOf(view.kind));
}

function chooseKind(kind) {
  const focused = document.activeElement && document.activeElement.role === "tab";
  Object.assign(view, { kind, layer: MEAN, head: MEAN });
  pointed = null;
  if (kept && isOutside(kept.side, kept.unit)) kept = null;
  show();
  if (focused) $(`kind-${kind}`).focus();
}

function showLegend() {
  const width = 240;
  const context = fit($("ramp"), width - 2, 10);
  for (let x = 0; x < width; x++) {
    context.fillStyle = css(colourOf((x / width) ** 2));
    context.fillRect(x, 0, 1.5, 10);
  }
  $("ticks").replaceChildren();
  for (const weight of [0, 0.01, 0.1, 0.25, 0.5, 1])
    make($("ticks"), "span", "", `${100 * weight}`).style.left = `${width * Math.sqrt(weight)}px`;
  $("aligned").hidden = view.kind !== "cross" || !ALIGNMENT.length;
  $("later").hidden = view.kind !== "decoder";
}

function showWords() {
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const element of document.querySelectorAll("[data-say]")) {
    const words = say(element.dataset.say);
    if (Array.isArray(words)) {
      element.replaceChildren();
      for (const text of words) make(element, "p", "", text);
    } else {
      element.textContent = words;
    }
  }
  for (const element of document.querySelectorAll("[data-label]"))
    element.setAttribute("aria-label", say(element.dataset.label));
  $("language").textContent = say("other");
  $("model").textContent = say("model")(DATA.model);
  $("sentence").textContent = `${DATA.text} → ${DATA.translation}`;
}

function show() {
  document.documentElement.dataset.theme = theme;
  showWords();
  showKinds();
  $("about").textContent = say("about")[view.kind];
  $("look").classList.toggle("wide", MAPS[view.kind].columns > 40);
  showChooser();
  showMap();
  showLegend();
  showPointed();
}

$("language").addEventListener("click", () => { language = language === "zh" ? "en" : "zh"; show(); });
$("theme").addEventListener("click", () => { theme = theme === "dark" ? "light" : "dark"; makeTable(theme); show(); });
$("canvas").addEventListener("pointermove", (event) => point(pointAtCell(event)));
$("canvas").addEventListener("pointerleave", () => point(null));
$("canvas").addEventListener("click", (event) => {
  const at = pointAtCell(event);
  if (at) keep({ side: at.side, unit: at.unit });
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") { pointed = null; keep(null); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
  theme = event.matches ? "dark" : "light";
  makeTable(theme);
  show();
});
let resizing = 0;
addEventListener("resize", () => { cancelAnimationFrame(resizing); resizing = requestAnimationFrame(show); });

makeTable(theme);
makeStrips();
show();
document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds since the page was asked for
