"use strict";
/* The data: tokens, maps, their averages, and which tokens attend to which. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const KINDS = ["cross", "encoder", "decoder"];
const MEAN = -1; // in place of a layer or a head: of all
const WEIGHTS = Float32Array.from({ length: 256 }, (_, level) => (level / 255) ** 2); // a level is the weight's root

/* Units are what the two strips show. Those of the translation begin with the start token, so the step that makes unit
 * u + 1 has read the units up to u. The unit of a row or a column is its number plus `first`. */
const AXES = {
  cross: { rows: { side: "target", first: 1 }, columns: { side: "source", first: 0 } },
  encoder: { rows: { side: "source", first: 0 }, columns: { side: "source", first: 0 } },
  decoder: { rows: { side: "target", first: 1 }, columns: { side: "target", first: 0 } },
};
const UNITS = { source: DATA.source, target: DATA.inputs.slice(0, 1).concat(DATA.target) };

function decode(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const MAPS = {};
for (const kind of KINDS) {
  const { layers, heads, rows, columns, weights } = DATA.maps[kind];
  MAPS[kind] = { layers, heads, rows, columns, levels: decode(weights), planes: new Map() };
  DATA.maps[kind].weights = ""; // the text is not needed any more
}

function isEmpty(kind) {
  return MAPS[kind].levels.length === 0;
}

/* Weights [rows, columns] of a head, or of an average. */
function plane(kind, layer, head) {
  const map = MAPS[kind];
  const key = layer * (map.heads + 1) + head;
  if (map.planes.has(key)) return map.planes.get(key);
  const size = map.rows * map.columns;
  const sum = new Float32Array(size);
  const firstLayer = layer === MEAN ? 0 : layer, lastLayer = layer === MEAN ? map.layers : layer + 1;
  const firstHead = head === MEAN ? 0 : head, lastHead = head === MEAN ? map.heads : head + 1;
  let count = 0;
  for (let l = firstLayer; l < lastLayer; l++)
    for (let h = firstHead; h < lastHead; h++, count++) {
      const begin = (l * map.heads + h) * size;
      for (let i = 0; i < size; i++) sum[i] += WEIGHTS[map.levels[begin + i]];
    }
  if (count > 1) for (let i = 0; i < size; i++) sum[i] /= count;
  map.planes.set(key, sum);
  return sum;
}

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

/* The row or the column that a unit is in a map, -1 if it is none. */
function place(kind, axis, side, unit) {
  const { side: its, first } = AXES[kind][axis];
  const index = unit - first;
  return its === side && index >= 0 && index < MAPS[kind][axis] ? index : -1;
}

function unitAt(kind, axis, index) {
  return { side: AXES[kind][axis].side, unit: index + AXES[kind][axis].first };
}

/* What a unit looks at and what looks at it: lists of { side, unit, weight }. */
function relations(view, side, unit) {
  const { kind, layer, head } = view;
  const { rows, columns } = MAPS[kind];
  const weights = plane(kind, layer, head);
  const row = place(kind, "rows", side, unit), column = place(kind, "columns", side, unit);
  const looks = [], looked = [];
  for (let c = 0; row >= 0 && c < columns; c++)
    looks.push({ ...unitAt(kind, "columns", c), weight: weights[row * columns + c] });
  for (let r = 0; column >= 0 && r < rows; r++)
    looked.push({ ...unitAt(kind, "rows", r), weight: weights[r * columns + column] });
  return { looks, looked };
}

/* The strongest few, the strongest first. */
function strongest(list, most = 4, least = 0.02) {
  return list.filter((x) => x.weight >= least).sort((a, b) => b.weight - a.weight).slice(0, most);
}
