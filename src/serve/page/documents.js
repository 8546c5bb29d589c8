/* Documents: uploaded one after the other, translated by the server in the background, and fetched when they are done. */
import { $, app } from "./app.js";
import { choosePair } from "./pair.js";

const POLL = 700; // milliseconds

/* {file, fields, state, text: why it failed, progress: 0 to 1 or undefined, left: seconds, id, name, upload: XMLHttpRequest,
 * again: when it is tried again, line: elements}; state is "queued", "sent", "busy", "waiting", "running", "done" or
 * "failed". */
let items = [];
let endings = []; // of the names that the server takes; none: not known
let timer = 0;

const isOpen = ({ state }) => state !== "done" && state !== "failed";

/* -------------------------------------------------------------------------------------------------------------- the list */

function makeLine(item) {
  const line = {
    name: app.element("span", { class: "file-name", dir: "auto" }, item.file.name),
    state: app.element("span", { class: "file-state" }),
    bar: app.element("progress", { max: 1, "aria-label": item.file.name }),
    download: app.element("button", { type: "button", class: "primary", hidden: true, onclick: () => download(item) }),
    remove: app.element("button", { type: "button", class: "quiet", onclick: () => remove(item) }),
  };
  line.all = app.element("li", {}, app.element("span", { class: "file-text" }, line.name, line.state), line.bar,
    app.element("span", { class: "file-buttons" }, line.download, line.remove));
  $("documents-list").append(line.all);
  return line;
}

function showItem(item) {
  const { line, state, progress } = item;
  const left = item.again ? Math.max(1, Math.ceil((item.again - Date.now()) / 1000)) : item.left;
  const more = progress === undefined ? "" : ` ${Math.floor(100 * progress)}%`;
  const rest = state === "running" && left > 0 ? app.t(left < 90 ? "documents.left" : "documents.left.minutes",
    { seconds: left, minutes: Math.round(left / 60) }) : "";
  line.all.dataset.state = state;
  line.name.textContent = item.name || item.file.name;
  line.state.textContent = state === "failed" ? item.text : app.t(`documents.${state}`, { seconds: left }) + more + rest;
  line.bar.hidden = !isOpen(item);
  if (progress === undefined) line.bar.removeAttribute("value");
  else line.bar.value = progress;
  line.download.hidden = state !== "done";
  line.download.textContent = app.t("documents.download");
  line.download.setAttribute("aria-label", app.t("documents.download.name", { name: item.name || "" }));
  line.remove.textContent = app.t(isOpen(item) ? "documents.cancel" : "documents.remove");
  line.remove.setAttribute("aria-label", app.t(isOpen(item) ? "documents.cancel.name" : "documents.remove.name",
    { name: item.file.name }));
}

function set(item, values) {
  const before = item.state;
  Object.assign(item, { progress: undefined, again: undefined }, values);
  showItem(item);
  if (item.state !== before && !isOpen(item))
    app.say(app.t(`documents.${item.state}.name`, { name: item.file.name }));
}

function fail(item, error) {
  const known = { 413: "large", 404: "forgotten", 0: "gone" }[error.status];
  const text = known ? app.t(`documents.${known}`) : error.message, own = `${item.file.name}: `;
  set(item, { state: "failed", text: text.startsWith(own) ? text.slice(own.length) : text });
}

function remove(item) {
  const next = item.line.all.nextElementSibling || item.line.all.previousElementSibling;
  if (item.upload) item.upload.abort();
  if (item.id) app.api(`v1/documents/${item.id}`, { method: "DELETE" }).catch(() => {}); // it is forgotten in an hour
  items = items.filter((other) => other !== item);
  item.line.all.remove();
  (next ? next.querySelector("button:last-child") : $("documents-choose")).focus();
}

async function download(item) {
  try {
    const blob = await (await app.api(`v1/documents/${item.id}/result`)).blob();
    const link = app.element("a", { href: URL.createObjectURL(blob), download: item.name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  } catch (error) {
    if (error.status === 404) fail(item, error);
    else if (error.status !== 403) app.notice(error.status ? error.message : app.t("unanswered")); // 403: there is a field
  }
}

/* ------------------------------------------------------------------------------------------------------------ the server */

/* fetch, but for that it tells how much has been sent. */
function send(item, path, { method, headers, body }) {
  const request = item.upload = new XMLHttpRequest();
  request.open(method, path);
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  request.upload.onprogress = ({ loaded, total }) => set(item, { state: "sent", progress: loaded / total });
  return new Promise((done, failed) => {
    request.onload = () => done(new Response(request.response, { status: request.status, statusText: request.statusText,
      headers: { "Retry-After": request.getResponseHeader("Retry-After") || "" } }));
    request.onerror = () => failed(new Error());
    request.onabort = () => failed(new DOMException("", "AbortError"));
    request.send(body);
  });
}

async function upload(item) {
  const body = new FormData();
  for (const [name, value] of Object.entries(item.fields)) body.append(name, value);
  body.append("file", item.file, item.file.name);
  set(item, { state: "sent", progress: 0 });
  try {
    take(item, await app.json("v1/documents", { method: "POST", body, send: (...sent) => send(item, ...sent) }));
  } catch (error) {
    if (error.status === 503 || error.status === 429)
      set(item, { state: "busy", again: Date.now() + 1000 * (error.retryAfter || 5) });
    else if (error.name !== "AbortError") fail(item, error);
  }
  item.upload = undefined;
  goOn();
}

function take(item, { id, name, status, texts, texts_done: done, seconds_left: left, error }) {
  if (status === "failed") fail(item, { message: error.error.message });
  else set(item, { id, name, left, state: status, progress: status === "running" && texts ? done / texts : undefined });
}

async function ask(item) {
  try {
    const answer = await app.json(`v1/documents/${item.id}`);
    if (items.includes(item)) take(item, answer);
  } catch (error) {
    if (error.status === 404 || error.status === 403) fail(item, error); // otherwise it is asked again
  }
}

/* Sends the next document if none is being sent, and asks for the others. */
async function goOn() {
  clearTimeout(timer);
  timer = 0;
  const next = items.find(({ state, again }) => state === "queued" || (state === "busy" && again <= Date.now()));
  if (next && !items.some((item) => item.upload)) upload(next);
  for (const item of items.filter(({ state }) => state === "busy")) showItem(item);
  await Promise.all(items.filter(({ state }) => state === "waiting" || state === "running").map(ask));
  if (!timer && items.some((item) => isOpen(item) && item.state !== "sent")) timer = setTimeout(goOn, POLL);
}

/* -------------------------------------------------------------------------------------------------------------- choosing */

/* Those of a language that was detected are of the text alone. */
function terminology() {
  return app.pair().source === "auto" ? {} : app.options;
}

function add(files) {
  const { source, target } = app.pair();
  const { glossary, terms } = $("documents-glossary").checked ? terminology() : {};
  const fields = { source, target, ...(glossary ? { glossary } : {}), ...(terms ? { terms } : {}) };
  if ($("documents-bilingual").checked) fields.bilingual = "true";
  for (const file of files) {
    const item = { file, fields, state: "queued" };
    item.line = makeLine(item);
    items.push(item);
    const fits = !endings.length || endings.some((end) => file.name.toLowerCase().endsWith(end));
    if (fits) showItem(item);
    else fail(item, { message: app.t("documents.unknown") });
  }
  goOn();
}

function showGlossary() {
  const { glossary, terms } = terminology(), none = app.pair().source === "auto" ? ".unknown" : ".none";
  const key = glossary ? "" : terms ? ".count" : none, count = terms ? terms.split("\n").length - 1 : 0;
  $("documents-glossary").disabled = key === none;
  $("documents-glossary-text").textContent = app.t(`documents.glossary${key}`, { count });
}

function isFiles(event) {
  return event.dataTransfer && event.dataTransfer.types.includes("Files");
}

function startDropping() {
  const leave = () => $("documents-drop").classList.remove("dropping");
  addEventListener("dragover", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    $("documents-drop").classList.add("dropping");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || leave());
  addEventListener("drop", (event) => {
    leave();
    if (!isFiles(event) || event.defaultPrevented) return;
    event.preventDefault();
    app.show("documents");
    add(event.dataTransfer.files);
  });
}

export function init() {
  choosePair("documents");
  startDropping();
  $("documents-choose").onclick = () => $("documents-file").click();
  $("documents-file").onchange = () => {
    add([...$("documents-file").files]);
    $("documents-file").value = "";
  };
  app.on("settings", ({ supportedFilesFormat }) => {
    endings = supportedFilesFormat;
    $("documents-file").accept = endings.join(",");
  });
  for (const name of ["tab", "pair", "options", "language"]) app.on(name, showGlossary);
  app.on("language", () => items.forEach(showItem));
  addEventListener("beforeunload", (event) => {
    if (items.some(isOpen)) event.preventDefault();
  });
}
