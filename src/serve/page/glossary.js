/* The terms of each pair of languages: kept in this browser, and in app.options, so that they go with each request. */
import { $, app } from "./app.js";
import { choosePair } from "./pair.js";

const MOST_BYTES = 64 << 10; // that the server takes with a request
const FLAGS = /^(case|nocase|word|part)([ ,;]+(case|nocase|word|part))*$/;

let shown;     // the pair of the table
let rows = []; // its terms: [source, target, flags]
let saving = 0;

/* undefined: the source language is not known. */
function pair() {
  const { source, target } = app.pair(), from = source === "auto" ? app.detected : source;
  return from && target ? `${from}.${target}` : undefined;
}

function clean(text) {
  return text.replace(/\s+/g, " ").trim();
}

/* "own", "off", or the name of a glossary of the server after "server:". */
function chosen() {
  return app.store.get(`glossary.${pair()}`, "own");
}

function stored() {
  const list = app.store.get(`terms.${pair()}`, []);
  return list.filter((row) => row.every((field) => typeof field === "string"));
}

/* ------------------------------------------------------------------------------------------------------------ the format */

/* Rows that count: whole, and the first of each source. Of sources that differ in capitals only, each counts as it is
 * written. */
function whole(list) {
  const seen = new Set(), folded = new Map();
  const found = list.map((row) => row.map(clean)).filter(([source, target]) => {
    const counts = source && target && !seen.has(source);
    seen.add(source);
    return counts;
  });
  for (const [source] of found) folded.set(source.toLowerCase(), folded.has(source.toLowerCase()));
  return found.map(([source, target, flags]) => [source, target, flags || (folded.get(source.toLowerCase()) ? "case" : "")]);
}

/* As the server reads them. A space before a hash sign keeps a source from being a comment. */
function toTsv(list) {
  return list.map((row) => `${row[0].startsWith("#") ? " " : ""}${row.filter(Boolean).join("\t")}\n`).join("");
}

function toCsv(list) {
  const quoted = (field) => (/[",#]|^\s/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);
  return list.map((row) => `${row.filter(Boolean).map(quoted).join(",")}\n`).join("");
}

/* The fields of a line with TABs, or else with commas and quotes. */
function fieldsOf(line) {
  if (line.includes("\t")) return line.split("\t");
  return [...line.matchAll(/(?:^|,) *(?:"((?:[^"]|"")*)" *|([^,]*))/g)]
    .map(([, quoted, plain]) => (quoted === undefined ? plain : quoted.replaceAll('""', '"')));
}

/* Rows of a file; skipped: lines that are none. */
function parse(text) {
  const found = [];
  let skipped = 0;
  for (const line of text.replaceAll("\ufeff", "").split(/\r?\n/)) {
    if (!line.trim() || line.startsWith("# ")) continue;
    const [source, target, flags = ""] = fieldsOf(line).map(clean);
    if (source && target) found.push(FLAGS.test(flags) ? [source, target, flags] : [source, target]);
    else skipped++;
  }
  return { found, skipped };
}

/* ---------------------------------------------------------------------------------------------------------- what is used */

/* What a request needs to use the terms. A glossary of the server needs a source language that is given. */
function fields() {
  const use = pair() ? chosen() : "off", terms = use === "own" ? toTsv(whole(stored())) : "";
  if (use.startsWith("server:") && app.pair().source !== "auto") return { glossary: use.slice("server:".length) };
  return terms && new Blob([terms]).size <= MOST_BYTES ? { terms } : {};
}

/* Whether the fields are others than before. */
function setOptions() {
  const { glossary, terms, ...others } = app.options, next = fields();
  app.options = { ...others, ...next };
  return glossary !== next.glossary || terms !== next.terms;
}

function save() {
  clearTimeout(saving);
  saving = 0;
  const kept = rows.filter(([source, target]) => source.trim() || target.trim());
  app.store.set(`terms.${shown}`, kept.length ? kept : undefined);
  showCount();
  if (setOptions()) app.emit("options");
}

function saveSoon() {
  clearTimeout(saving);
  saving = setTimeout(save, 400);
}

/* ------------------------------------------------------------------------------------------------------------- the table */

function showCount() {
  const list = whole(rows), size = new Blob([toTsv(list)]).size;
  $("glossary-count").textContent = app.t(list.length === 1 ? "glossary.one" : "glossary.count", { count: list.length });
  $("glossary-fault").textContent = size > MOST_BYTES ? app.t("glossary.long", { size: Math.ceil(size / 1024) }) : "";
  $("glossary-save-tsv").disabled = $("glossary-save-csv").disabled = $("glossary-empty").disabled = !list.length;
}

/* Marks rows whose source another one has already. */
function markDoubles() {
  const seen = new Set();
  [...$("glossary-rows").rows].forEach((line, i) => {
    const source = clean((rows[i] || [""])[0]), field = line.querySelector("input");
    const double = !!source && seen.has(source);
    seen.add(source);
    if (double) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    field.title = double ? app.t("glossary.double") : "";
  });
}

function lineOf(element) {
  return [...$("glossary-rows").rows].indexOf(element.closest("tr"));
}

function addLine(row) {
  const field = (side, label) => {
    const input = app.element("input", { "aria-label": app.t(label), dir: "auto", maxlength: 300, autocomplete: "off" });
    input.value = row[side];
    return app.element("td", {}, input);
  };
  const remove = app.element("button", { type: "button", class: "quiet", "aria-label": app.t("glossary.remove"),
    title: app.t("glossary.remove") }, "✕");
  $("glossary-rows").append(app.element("tr", {}, field(0, "glossary.source"), field(1, "glossary.target"),
    app.element("td", {}, remove)));
}

/* The last line is for a new term. */
function showRows() {
  $("glossary-rows").replaceChildren();
  for (const row of [...rows, ["", ""]]) addLine(row);
  markDoubles();
  showCount();
}

function onInput({ target }) {
  const i = lineOf(target), side = target.closest("td").cellIndex;
  if (i === rows.length) {
    rows.push(["", ""]);
    addLine(["", ""]);
  }
  rows[i][side] = target.value;
  markDoubles();
  saveSoon();
}

function onClick({ target }) {
  const button = target.closest("button");
  const i = button ? lineOf(button) : rows.length;
  if (i >= rows.length) return;
  rows.splice(i, 1);
  $("glossary-rows").deleteRow(i);
  $("glossary-rows").rows[i].querySelector("input").focus();
  app.say(app.t("glossary.removed"));
  markDoubles();
  save();
}

/* Enter goes on to the next field. */
function onKey(event) {
  if (event.key !== "Enter" || event.isComposing || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  const fields = [...$("glossary-rows").querySelectorAll("input")];
  const next = fields[fields.indexOf(event.target) + 1];
  if (next) next.focus();
}

/* ----------------------------------------------------------------------------------------------------------------- files */

async function readFiles(files) {
  const size = [...files].reduce((sum, file) => sum + file.size, 0);
  if (size > 4 * MOST_BYTES) { // more than could be used, and shown quickly
    app.notice(app.t("glossary.large", { size: Math.ceil(size / 1024) }));
    return;
  }
  const { found, skipped } = parse((await Promise.all([...files].map((file) => file.text()))).join("\n"));
  const replaced = new Set(found.map(([source]) => source));
  rows = [...rows.filter(([source]) => !replaced.has(clean(source))), ...found];
  showRows();
  save();
  if (skipped) app.notice(app.t("glossary.read.some", { count: found.length, skipped }), "hint");
  else app.say(app.t("glossary.read", { count: found.length }));
}

function write(end, type, text) {
  const link = app.element("a", { download: `terms.${shown.replace(".", "-")}.${end}`,
    href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/* ----------------------------------------------------------------------------------------------------------------- start */

function show() {
  if (saving) save();
  if ($("panel-glossary").hidden) return;
  shown = pair();
  rows = shown ? stored() : [];
  $("glossary-unknown").hidden = !!shown;
  $("glossary-body").hidden = !shown;
  if (!shown) return;
  showUse();
  showRows();
}

function showUse() {
  const names = [...$("glossary-use").options].map((option) => option.value);
  $("glossary-use").value = names.includes(chosen()) ? chosen() : "own";
  $("glossary-own").hidden = $("glossary-use").value !== "own";
}

function use(what) {
  app.store.set(`glossary.${shown}`, what === "own" ? undefined : what);
  show();
  if (setOptions()) app.emit("options");
}

/* Those of the server, where a key is not missing. */
async function findGlossaries() {
  show();
  if (!$("key-bar").hidden) return;
  let names;
  try {
    names = (await app.json("v1/glossaries")).glossaries.map(({ name }) => name);
  } catch {
    return; // there are the own terms
  }
  $("glossary-use").replaceChildren(...[...$("glossary-use").options].slice(0, 2),
    ...names.map((name) => app.element("option", { value: `server:${name}` }, name)));
  if (shown && chosen().startsWith("server:") && !names.includes(chosen().slice("server:".length))) use("own"); // it is gone
  else showUse(); // one may be typing in the rows
}

export function init() {
  choosePair("glossary");
  $("glossary-use").onchange = () => use($("glossary-use").value);
  $("glossary-rows").oninput = onInput;
  $("glossary-rows").onclick = onClick;
  $("glossary-rows").onkeydown = onKey;
  $("glossary-read").onclick = () => $("glossary-file").click();
  $("glossary-file").onchange = async () => {
    await readFiles($("glossary-file").files);
    $("glossary-file").value = "";
  };
  $("glossary-body").ondrop = (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault(); // it is no document
    readFiles(event.dataTransfer.files);
  };
  $("glossary-save-tsv").onclick = () => write("tsv", "text/tab-separated-values", toTsv(whole(rows)));
  $("glossary-save-csv").onclick = () => write("csv", "text/csv", toCsv(whole(rows)));
  $("glossary-empty").onclick = () => {
    if (!confirm(app.t("glossary.sure"))) return;
    rows = [];
    showRows();
    save();
  };
  app.on("pair", () => {
    show();
    setOptions(); // the text's tab translates after this
  });
  app.on("language", show);
  app.on("translated", () => setOptions() && app.emit("options")); // it was detected to be of another language
  app.on("tab", (name) => name === "glossary" && findGlossaries());
  addEventListener("pagehide", () => saving && save());
}
