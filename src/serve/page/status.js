/* The line at the foot of the page: the model of the languages, its speed in the last translation, memory, version. */
import { $, app } from "./app.js";

const PAUSE = 10000; // milliseconds between two questions to the server

let models = [], memory = 0, version = "", speed = 0, asked = 0, timer = 0;

const has = (codes, code) => codes.includes(code);

function megabytes(bytes) {
  return `${Math.round(bytes / (1 << 20)).toLocaleString(app.language)} MiB`;
}

/* The model of a pair; of a source that is to be detected, one that has the target. An open one first. */
function modelOf({ source, target }) {
  const fits = models.filter((model) => has(model.targets, target) && (source === "auto" || has(model.sources, source)));
  return fits.find(({ open }) => open) || fits[0];
}

function show() {
  const model = modelOf(app.pair());
  const parts = [
    model && app.t("status.model", { name: model.name, size: megabytes(model.bytes) }),
    speed && app.t("status.speed", { speed: Math.round(speed).toLocaleString(app.language) }),
    memory && app.t("status.memory", { size: megabytes(memory) }),
    version && app.t("status.version", { version }),
  ];
  $("status").replaceChildren(...parts.filter(Boolean).map((text) => app.element("span", {}, text)));
}

/* Without a key that is needed, only the version is known. */
async function ask() {
  clearTimeout(timer);
  timer = 0;
  asked = performance.now();
  const free = $("key-bar").hidden;
  const found = await Promise.allSettled([
    version || app.json("version").then((answer) => answer.version),
    free ? app.json("v1/models").then((answer) => answer.models) : [],
    free ? app.api("metrics").then((answer) => answer.text()) : "",
  ]);
  [version, models] = found.map(({ value }, i) => value || [version, models][i]);
  const line = /^process_resident_memory_bytes (\S+)$/m.exec(found[2].value || "");
  memory = line ? Number(line[1]) : memory;
  show();
}

export function init() {
  app.on("translated", ({ tokens, seconds }) => {
    speed = tokens && seconds ? tokens / seconds : speed;
    show();
    timer = timer || setTimeout(ask, Math.max(0, asked + PAUSE - performance.now()));
  });
  app.on("key", ask);
  for (const name of ["pair", "languages", "language"]) app.on(name, show);
  ask();
}
