"use strict";
/* Maps of attention, their averages, and which tokens attend to which. The page of the server has this file, too, as a
 * module; here it is a script, without the word export. */

export const KINDS = ["cross", "encoder", "decoder"];
export const MEAN = -1; // in place of a layer or a head: of all

/* Units are what the two strips show. Those of the translation begin with the start token, so the step that makes unit
 * u + 1 has read the units up to u. The unit of a row or a column is its number plus `first`. */
export const AXES = {
  cross: { rows: { side: "target", first: 1 }, columns: { side: "source", first: 0 } },
  encoder: { rows: { side: "source", first: 0 }, columns: { side: "source", first: 0 } },
  decoder: { rows: { side: "target", first: 1 }, columns: { side: "target", first: 0 } },
};
export const UNITS = {};
export const MAPS = {};

/* units: { source, target }, names of tokens. maps: for each kind { layers, heads, rows, columns, weights }, an array
 * [layers * heads * rows * columns], which may be empty. */
export function setMaps(units, maps) {
  Object.assign(UNITS, units);
  for (const kind of KINDS) MAPS[kind] = { ...maps[kind], planes: new Map() };
}

export function isEmpty(kind) {
  return MAPS[kind].weights.length === 0;
}

/* Weights [rows, columns] of a head, or of an average. */
export function plane(kind, layer, head) {
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
      for (let i = 0; i < size; i++) sum[i] += map.weights[begin + i];
    }
  if (count > 1) for (let i = 0; i < size; i++) sum[i] /= count;
  map.planes.set(key, sum);
  return sum;
}

/* The row or the column that a unit is in a map, -1 if it is none. */
export function place(kind, axis, side, unit) {
  const { side: its, first } = AXES[kind][axis];
  const index = unit - first;
  return its === side && index >= 0 && index < MAPS[kind][axis] ? index : -1;
}

export function unitAt(kind, axis, index) {
  return { side: AXES[kind][axis].side, unit: index + AXES[kind][axis].first };
}

/* What a unit looks at and what looks at it: lists of { side, unit, weight }. */
export function relations(view, side, unit) {
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
export function strongest(list, most = 4, least = 0.02) {
  return list.filter((x) => x.weight >= least).sort((a, b) => b.weight - a.weight).slice(0, most);
}
