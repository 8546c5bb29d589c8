"use strict";
/* Colours and canvases. A module of the server's page, too, as maps.js is. */

/* From no weight to all of it, in equal steps of the weight's root. */
const RAMPS = {
  light: ["#fbfcfe", "#e1ecf8", "#b5d4ee", "#78b1df", "#3d88c9", "#1a5fa8", "#0c3b7c", "#08244f"],
  dark: ["#15181d", "#182a3d", "#1c4166", "#235f96", "#3783c4", "#66aae2", "#a9d2f3", "#eef7ff"],
};
const LEVELS = 256;

let table = []; // [LEVELS] of [red, green, blue]

export function parse(colour) {
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
}

/* To be called before the others: theme is light or dark. */
export function makeTable(theme) {
  const stops = RAMPS[theme].map(parse);
  table = Array.from({ length: LEVELS }, (_, level) => {
    const at = level / (LEVELS - 1) * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return stops[i].map((from, k) => Math.round(from + (stops[i + 1][k] - from) * (at - i)));
  });
}

export function colourOf(weight) {
  return table[Math.round(Math.sqrt(Math.min(Math.max(weight, 0), 1)) * (LEVELS - 1))];
}

export function css(rgb, alpha = 1) {
  return `rgba(${rgb[0]}, ${rgb[1]}, ${rgb[2]}, ${alpha})`;
}

/* Black or white, what can be read better on rgb. */
export function inkOn(rgb) {
  return 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] > 140 ? "#14171c" : "#ffffff";
}

export function variable(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* Sets a canvas to a size in CSS pixels; drawing is in CSS pixels, too. Very large ones get fewer pixels. */
export function fit(canvas, width, height) {
  const most = 24e6;
  const ratio = Math.min(devicePixelRatio || 1, Math.sqrt(most / Math.max(width * height, 1)));
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(canvas.width / Math.max(width, 1), 0, 0, canvas.height / Math.max(height, 1), 0, 0);
  return context;
}

const scratch = document.createElement("canvas");

/* One pixel a cell, in scratch. Cells above the diagonal of the decoder's maps are of tokens not yet written. */
function paintCells(weights, rows, columns, triangle) {
  const image = new ImageData(columns, rows);
  const none = parse(variable("--none"));
  for (let i = 0; i < rows * columns; i++) {
    const rgb = triangle && i % columns > Math.floor(i / columns) ? none : colourOf(weights[i]);
    image.data.set(rgb, 4 * i);
    image.data[4 * i + 3] = 255;
  }
  scratch.width = columns;
  scratch.height = rows;
  scratch.getContext("2d").putImageData(image, 0, 0);
}

export function drawMap(context, weights, rows, columns, width, height, triangle) {
  paintCells(weights, rows, columns, triangle);
  context.imageSmoothingEnabled = width < columns || height < rows;
  context.drawImage(scratch, 0, 0, width, height);
}

/* Lines between cells, where cells are large enough to have them. */
export function drawGaps(context, rows, columns, cell, colour) {
  if (cell < 8) return;
  context.fillStyle = colour;
  for (let r = 1; r < rows; r++) context.fillRect(0, r * cell - 0.5, columns * cell, 1);
  for (let c = 1; c < columns; c++) context.fillRect(c * cell - 0.5, 0, 1, rows * cell);
}

/* A curve from one box to another: between two strips an S, within one an arch into the gap between them. */
export function drawThread(context, from, to, down, colour, width) {
  const x0 = from.x, y0 = down.from ? from.bottom : from.top;
  const x1 = to.x, y1 = down.to ? to.bottom : to.top;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x0, y0);
  if (down.from === down.to) {
    const bend = (down.from ? 1 : -1) * Math.min(18 + Math.abs(x1 - x0) * 0.3, 62);
    context.bezierCurveTo(x0, y0 + bend, x1, y1 + bend, x1, y1);
  } else {
    const middle = (y0 + y1) / 2;
    context.bezierCurveTo(x0, middle, x1, middle, x1, y1);
  }
  context.stroke();
}
