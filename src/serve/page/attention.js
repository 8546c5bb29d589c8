/* The attention of a sentence of the last translation: a map that pointer and arrow keys read, and a table of what each
 * token looks at most. */
import { $, app } from "./app.js";
import * as maps from "./maps.js";
import * as paint from "./paint.js";

const KINDS = ["cross", "encoder", "decoder"];
const FONT = "system-ui, sans-serif";
const LABEL = 12, LONGEST = 110; // pixels: the labels' size, and their room

let translated; // the last one of the text's tab; undefined: none
let wanted = 0; // counts what is asked for: an answer to what was asked before is dropped
let view;       // what is shown: {kind, layer, head, cell, left, top}
let at;         // {row, column}: what the readout speaks of

/* ---------------------------------------------------------------------------------------------------------------- asking */

function nameOf(piece) {
  const name = piece.replace(/^▁(?=.)/u, "");
  return name === "" ? "∅" : name.trim() === "" ? "␣" : name;
}

function flatten(weights) {
  if (!weights || !weights.length) return { layers: 0, heads: 0, rows: 0, columns: 0, weights: new Float32Array(0) };
  return { layers: weights.length, heads: weights[0].length, rows: weights[0][0].length, columns: weights[0][0][0].length,
    weights: Float32Array.from(weights.flat(3)) };
}

async function ask() {
  const mine = ++wanted, kind = $("attention-part").value;
  const { source, target, sentences } = translated;
  const [text, translation] = sentences[$("attention-sentence").selectedIndex];
  $("attention-body").setAttribute("aria-busy", "true");
  try {
    const answer = await app.json("v1/attention", { json: { text, source, target, translation, parts: [kind] } });
    if (mine === wanted) take(kind, answer);
  } catch (error) {
    if (mine === wanted) {
      translated.shown = false; // it is asked for again when one comes back
      fail(error);
    }
  }
  if (mine === wanted) $("attention-body").removeAttribute("aria-busy");
}

function take(kind, answer) {
  const names = (side) => answer.tokens[side].map(({ piece }) => nameOf(piece));
  maps.setMaps({ source: names("source"), target: [app.t("attention.start"), ...names("target")] },
    Object.fromEntries(KINDS.map((each) => [each, flatten(answer[each])])));
  if (maps.isEmpty(kind)) {
    fail(new Error(app.t("attention.empty")));
    return;
  }
  const { layers, heads } = maps.MAPS[kind], same = view && view.kind === kind;
  const keep = (index, count) => (same && index < count ? index : maps.MEAN);
  view = { kind, layer: keep(view?.layer, layers), head: keep(view?.head, heads) };
  at = undefined;
  showChoices();
  $("attention-fault").textContent = "";
  $("attention-look").hidden = false;
  show();
}

function fail({ status, message }) {
  $("attention-look").hidden = true;
  $("attention-fault").textContent = status === 0 ? app.t("unanswered") : message;
}

/* The text of the other tab is shown, if it is another one than before. */
function open() {
  $("attention-none").hidden = !!translated;
  $("attention-body").hidden = !translated;
  if (!translated || translated.shown) return;
  translated.shown = true;
  const { sentences } = translated;
  $("attention-sentence").replaceChildren(...sentences.map(([text]) => app.element("option", {}, text.slice(0, 80))));
  $("attention-sentence").closest("label").hidden = sentences.length < 2;
  ask();
}

/* --------------------------------------------------------------------------------------------------------------- drawing */

function fillNumbers(select, count, all, one, value) {
  select.replaceChildren(app.element("option", { value: maps.MEAN }, app.t(all, { count })),
    ...Array.from({ length: count }, (_, i) => app.element("option", { value: i }, app.t(one, { number: i + 1 }))));
  select.value = value;
}

function showChoices() {
  const { layers, heads } = maps.MAPS[view.kind];
  fillNumbers($("attention-layer"), layers, "attention.layers", "attention.layer.one", view.layer);
  fillNumbers($("attention-head"), heads, "attention.heads", "attention.head.one", view.head);
}

/* The maps' averages are over all heads of a layer, or of all layers: of one head in all layers there is none. */
function weights() {
  const { kind, layer, head } = view;
  if (layer !== maps.MEAN || head === maps.MEAN) return maps.plane(kind, layer, head);
  const planes = Array.from({ length: maps.MAPS[kind].layers }, (_, l) => maps.plane(kind, l, head));
  return planes[0].map((_, i) => planes.reduce((sum, plane) => sum + plane[i], 0) / planes.length);
}

function label(axis, index) {
  const { side, unit } = maps.unitAt(view.kind, axis, index);
  return maps.UNITS[side][unit];
}

function percent(weight) {
  return `${(100 * weight).toFixed(weight < 0.0995 ? 1 : 0)}%`;
}

function drawLabels(context, rows, columns) {
  const { cell, left, top } = view;
  const widest = Math.min(LABEL, cell - 2);
  context.font = `${widest}px ${FONT}`;
  context.textBaseline = "middle";
  const draw = (text, lit) => {
    context.fillStyle = paint.variable(lit ? "--ink" : "--soft");
    context.fillText(text, 0, 0, LONGEST - 6);
  };
  for (let row = 0; row < rows; row++) {
    context.save();
    context.textAlign = "right";
    context.translate(left - 6, top + (row + 0.5) * cell);
    draw(label("rows", row), at && at.row === row);
    context.restore();
  }
  for (let column = 0; column < columns; column++) {
    context.save();
    context.textAlign = "left";
    context.translate(left + (column + 0.5) * cell, top - 6);
    context.rotate(-Math.PI / 2.6);
    draw(label("columns", column), at && at.column === column);
    context.restore();
  }
}

function show() {
  if (!view || $("panel-attention").hidden || $("attention-look").hidden) return;
  const { kind } = view, { rows, columns } = maps.MAPS[kind], box = $("attention-map");
  const measure = $("attention-canvas").getContext("2d");
  paint.makeTable(getComputedStyle(document.documentElement).colorScheme === "dark" ? "dark" : "light");
  measure.font = `${LABEL}px ${FONT}`;
  const widths = (axis, count) => Array.from({ length: count }, (_, i) => measure.measureText(label(axis, i)).width);
  const room = (axis, count) => Math.min(LONGEST, 12 + Math.max(...widths(axis, count)));
  view.left = Math.ceil(room("rows", rows));
  view.top = Math.ceil(0.94 * room("columns", columns)) + 6;
  const tail = Math.ceil(0.36 * (view.top - 6)); // a slanted label reaches beyond its column
  view.cell = Math.max(12, Math.min(40, Math.floor((box.clientWidth - view.left - tail - 2) / columns)));
  const width = columns * view.cell, height = rows * view.cell;
  const context = paint.fit($("attention-canvas"), view.left + width + tail, view.top + height + 2);
  drawLabels(context, rows, columns);
  context.translate(view.left, view.top);
  paint.drawMap(context, weights(), rows, columns, width, height, kind === "decoder");
  paint.drawGaps(context, rows, columns, view.cell, paint.variable("--card"));
  const mark = $("attention-cell");
  mark.hidden = !at;
  if (at) {
    const { cell, left, top } = view;
    const box = { left: left + at.column * cell, top: top + at.row * cell, width: cell, height: cell };
    for (const [name, value] of Object.entries(box)) mark.style[name] = `${value}px`;
  }
  showReadout();
}

function showReadout() {
  const { kind } = view, { columns } = maps.MAPS[kind];
  $("attention-about").textContent = app.t(`attention.about.${kind}`);
  $("attention-readout").textContent = at
    ? app.t("attention.cell", { row: label("rows", at.row), column: label("columns", at.column),
      weight: percent(weights()[at.row * columns + at.column]) })
    : app.t("attention.idle");
  if ($("attention-table").open) showTable();
}

function showTable() {
  const { kind } = view, { rows, columns } = maps.MAPS[kind], all = weights();
  const most = (row) => maps.strongest(Array.from({ length: columns }, (_, c) => ({ c, weight: all[row * columns + c] })), 3)
    .map(({ c, weight }) => `${label("columns", c)} ${percent(weight)}`).join(app.t("attention.comma"));
  $("attention-lines").replaceChildren(...Array.from({ length: rows }, (_, row) => app.element("tr", {},
    app.element("th", { scope: "row", dir: "auto" }, label("rows", row)), app.element("td", { dir: "auto" }, most(row)))));
}

/* -------------------------------------------------------------------------------------------------------------- pointing */

function point(next) {
  if (at && next && at.row === next.row && at.column === next.column) return;
  at = next;
  show();
}

function cellAt(event) {
  const { rows, columns } = maps.MAPS[view.kind], box = $("attention-canvas").getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top - view.top) / view.cell);
  const column = Math.floor((event.clientX - box.left - view.left) / view.cell);
  return row >= 0 && column >= 0 && row < rows && column < columns ? { row, column } : undefined;
}

function onKey(event) {
  const { rows, columns } = maps.MAPS[view.kind], { row, column } = at || { row: 0, column: 0 };
  const next = {
    ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
    Home: [row, 0], End: [row, columns - 1],
  }[event.key];
  if (event.key === "Escape") point(undefined);
  if (!next) return;
  event.preventDefault();
  const within = (index, count) => Math.max(0, Math.min(index, count - 1));
  point(at ? { row: within(next[0], rows), column: within(next[1], columns) } : { row: 0, column: 0 });
  $("attention-cell").scrollIntoView({ block: "nearest", inline: "nearest" });
}

export function init() {
  app.on("translated", ({ sentences, source, target }) => {
    if (!sentences.length) return;
    translated = { sentences, source, target };
    if (!$("panel-attention").hidden) open();
  });
  app.on("tab", (name) => {
    if (name !== "attention") return;
    open();
    show();
  });
  app.on("language", () => {
    if (!view) return;
    maps.UNITS.target[0] = app.t("attention.start");
    showChoices();
    show();
  });
  $("attention-sentence").onchange = $("attention-part").onchange = ask;
  for (const name of ["layer", "head"])
    $(`attention-${name}`).onchange = ({ target }) => {
      view[name] = Number(target.value);
      show();
    };
  $("attention-map").onkeydown = (event) => view && onKey(event);
  $("attention-canvas").onpointermove = $("attention-canvas").onpointerdown = (event) => point(cellAt(event));
  $("attention-canvas").onpointerleave = () => point(undefined);
  $("attention-table").ontoggle = () => view && $("attention-table").open && showTable();
  $("theme").addEventListener("change", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  addEventListener("resize", show);
}
