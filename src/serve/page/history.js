/* What was translated before, on this device alone. */
import { $, app } from "./app.js";
import { restore } from "./text.js";

const ENTRIES = 50, LONGEST = 5000; // characters of a text that is kept
const SETTLED = 2000; // milliseconds after which a text is one to keep
let timer, list, keep;

const read = () => app.store.get("history", []).filter((entry) => entry && typeof entry.text === "string");

/* Of a text that was typed on, the longer one stays. */
function add(entry) {
  const entries = read().filter((other) => other.text !== entry.text || other.target !== entry.target);
  const [last] = entries;
  if (last && entry.text.startsWith(last.text) && last.target === entry.target) entries.shift();
  app.store.set("history", [entry, ...entries].slice(0, ENTRIES));
  draw();
}

function draw() {
  const entries = read();
  $("history-count").textContent = entries.length || "";
  $("history-clear").hidden = !entries.length;
  list.replaceChildren(...entries.map((entry) => app.element("li", {},
    app.element("button", { type: "button", onclick: () => restore(entry) },
      app.element("span", { class: "pair" }, `${app.languageName(entry.source)} → ${app.languageName(entry.target)}`),
      app.element("span", { class: "from", dir: "auto", lang: entry.source }, entry.text.slice(0, 200)),
      app.element("span", { class: "to", dir: "auto", lang: entry.target }, String(entry.translation).slice(0, 200))))));
}

function forget() {
  clearTimeout(timer); // the text that is about to be kept
  app.store.set("history");
  draw();
}

export function init() {
  keep = app.element("input", { type: "checkbox", id: "history-keep" });
  keep.checked = app.store.get("keep", true);
  list = app.element("ol");
  $("history").append(app.element("details", {},
    app.element("summary", {}, app.element("span", { "data-t": "history" }, app.t("history")), " ",
      app.element("span", { id: "history-count" })),
    app.element("div", { class: "bar" },
      app.element("label", {}, keep, app.element("span", { "data-t": "history.keep" }, app.t("history.keep"))),
      app.element("button", { id: "history-clear", type: "button", class: "quiet", "data-t": "history.clear",
        onclick: () => { forget(); app.say(app.t("history.cleared")); } }, app.t("history.clear"))),
    list));
  keep.onchange = () => {
    app.store.set("keep", keep.checked ? undefined : false);
    if (!keep.checked) forget();
  };
  app.on("translated", ({ text, source, target, translation }) => {
    clearTimeout(timer);
    if (keep.checked && text.length <= LONGEST)
      timer = setTimeout(() => add({ text: text.trim(), source, target, translation }), SETTLED);
  });
  app.on("language", draw);
  app.on("languages", draw);
  draw();
}
