/* The text: translated while it is typed. */
import { $, app } from "./app.js";
import { ask } from "./ask.js";
import * as result from "./result.js";

const WAIT = 120, WAIT_LONG = 500, LONG = 2000; // milliseconds after keys in a row; characters from which it waits longer
const SLOW = 1200; // milliseconds without an answer, after which the page says that it waits
const RETRIES = [1, 2, 4, 8, 15, 30]; // seconds between attempts to reach a server that is gone
let limit = 0; // characters of a request; 0: none
let request = null; // the AbortController of what is being asked
let timer, slow, retry, failures = 0;
let asked = ""; // what the shown translation is of, with its pair and options

/* ------------------------------------------------------------------------------------------------------------- asking */

async function translate() {
  const text = $("source").value, pair = app.pair();
  const wanted = JSON.stringify([text, pair, app.options]);
  clearTimeout(timer);
  if (wanted === asked) return;
  stop();
  app.notice("", "text");
  if (!text.trim()) {
    forget();
    return;
  }
  if (limit && length(text) > limit) {
    state("");
    result.stopWaiting(false);
    app.notice(app.t("too.long", { limit: number(limit) }), "text");
    return;
  }
  asked = wanted;
  request = new AbortController();
  const { signal } = request;
  result.wait();
  slow = setTimeout(() => {
    state(app.t("waiting"));
    app.say(app.t("waiting"));
  }, SLOW);
  const began = performance.now();
  let parts;
  try {
    parts = await ask(text, pair, signal, (drafts) => {
      clearTimeout(slow);
      state("");
      result.showDrafts(drafts);
    });
  } catch (error) {
    if (signal.aborted) return;
    stop(); // the other blocks, too
    state("");
    result.stopWaiting(false);
    fail(error);
    return;
  }
  if (signal.aborted) return;
  clearTimeout(slow);
  state("");
  failures = 0;
  app.notice("", "trouble");
  show(text, parts, (performance.now() - began) / 1000);
}

function stop() {
  if (request) request.abort();
  request = null;
  clearTimeout(slow);
  clearTimeout(retry);
  asked = "";
}

/* What can go on by itself is tried again. */
function fail(error) {
  const gone = error.status === 0;
  if (gone || error.status === 503 || error.status === 429) {
    const seconds = gone ? RETRIES[Math.min(failures, RETRIES.length - 1)] : Math.max(error.retryAfter || 1, 1);
    failures++;
    app.notice(app.t(gone ? "gone" : error.status === 429 ? "too.many" : "full", { seconds }), "trouble");
    retry = setTimeout(translate, seconds * 1000);
  } else if (error.status === 413) {
    app.notice(app.t("too.long", { limit: number(limit) }), "text");
  } else if (error.status === 504) {
    app.notice(app.t("too.slow"), "text");
  } else if (error.status !== 403) { // for which there is a field
    app.notice(app.t("failed", { message: error.message }), "text");
  }
}

let lastKey = -Infinity; // when it came

/* A key after a pause does not wait. */
function soon() {
  const wait = $("source").value.length > LONG ? WAIT_LONG : WAIT, now = performance.now();
  clearTimeout(timer);
  if (!$("source").value.trim()) translate();
  else timer = setTimeout(translate, now - lastKey < wait ? wait : 0);
  lastKey = now;
}

/* ------------------------------------------------------------------------------------------------------------ showing */

/* What writes large numbers takes long to load: not before the page is ready. */
const number = (value) => (value < 1000 ? String(value) : value.toLocaleString(app.language));
const length = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g) || []).length;

function state(text) {
  $("state").textContent = text;
}

function show(text, parts, seconds) {
  const [{ translation }] = parts;
  const tokens = parts.reduce((sum, part) => sum + (part.known ? 0 : part.translation.target_tokens || 0), 0);
  result.show(text, parts);
  found(translation);
  if (translation.confidence !== undefined && translation.source === translation.target && turn(translation.source)) return;
  $("copy").hidden = false;
  app.emit("translated", { ...result.value(), tokens, seconds });
  tell();
}

let telling;
function tell() {
  clearTimeout(telling);
  telling = setTimeout(() => {
    const { translation } = result.value();
    app.say(translation.length < 300 ? translation : app.t("translated"));
  }, 1000);
}

/* The name of a detected language in the choice of the source. */
function found(translation) {
  const detected = translation && translation.confidence !== undefined;
  const option = $("source-language").options[0];
  option.textContent = detected ? app.t("detect.found", { language: app.languageName(translation.source) })
    : app.t("detect");
  app.detected = detected ? translation.source : "";
  showSwap();
}

function forget() {
  result.clear();
  found(null);
  state("");
  app.notice("", "trouble");
  $("copy").hidden = true;
}

function showSource() {
  const text = $("source").value, count = length(text);
  $("clear").hidden = !text;
  $("count").textContent = limit ? app.t("count", { count: number(count), limit: number(limit) }) : number(count);
  $("count").classList.toggle("over", limit > 0 && count > limit);
  result.showSource(text);
}

/* ---------------------------------------------------------------------------------------------------------- languages */

const base = (code) => code.split(/[-_]/)[0].toLowerCase();

/* Other characters of a language are read as its own: of zh-Hant the targets of zh-Hans. */
function targetsOf(source) {
  const exact = app.languages.filter((l) => source === "auto" || l.code === source);
  return (exact.length ? exact : app.languages.filter((l) => base(l.code) === base(source))).flatMap((l) => l.targets);
}

/* The option that a code in another spelling means. */
function choose(select, code) {
  const same = (option) => option.value.toLowerCase() === code.toLowerCase();
  const alike = (option) => base(option.value) === base(code);
  const options = [...select.options].filter((option) => !option.disabled);
  const option = options.find(same) || options.find(alike);
  if (option) select.value = option.value;
  return !!option;
}

/* Of several targets the one that was used last, else the first that is most often wanted. */
function likeliest(targets) {
  return [...app.store.get("targets", []), "en", "zh-Hans", ...targets].find((code) => targets.includes(code));
}

/* Offers the targets that the source leads to. */
function showTargets() {
  const possible = new Set(targetsOf($("source-language").value));
  if (!possible.size) return;
  for (const option of $("target-language").options) option.hidden = option.disabled = !possible.has(option.value);
  const chosen = $("target-language").selectedOptions[0];
  if (!chosen || chosen.disabled)
    choose($("target-language"), likeliest([...possible]));
}

function showNames() {
  for (const option of [...$("source-language").options, ...$("target-language").options])
    if (option.value !== "auto") option.textContent = app.languageName(option.value);
  found(result.detected());
}

/* The text is in the target language: another target, if there is one. */
function turn(source) {
  const other = likeliest(targetsOf(source).filter((code) => base(code) !== base(source)));
  if (!other) return false;
  $("target-language").value = other;
  changePair();
  return true;
}

function changePair() {
  const pair = app.pair();
  app.store.set("pair", pair);
  const others = app.store.get("targets", []).filter((code) => code !== pair.target);
  app.store.set("targets", [pair.target, ...others].slice(0, 5));
  showSwap();
  app.emit("pair", pair);
  translate();
}

/* What swapping leads to; null: it cannot be. */
function swapped() {
  const { source, target } = app.pair();
  const from = source === "auto" ? app.detected : source;
  const back = from && targetsOf(target).find((code) => base(code) === base(from));
  return back ? { source: target, target: back } : null;
}

function showSwap() {
  const possible = !!swapped() || !app.languages.length;
  $("swap").setAttribute("aria-disabled", !possible);
  $("swap").title = app.t(possible ? "swap" : "swap.not");
}

function swap() {
  const pair = swapped(), { translation } = result.value();
  if (!pair) {
    app.say(app.t("swap.not"));
    return;
  }
  if (translation) $("source").value = translation;
  choose($("source-language"), pair.source);
  showTargets();
  $("target-language").value = pair.target;
  showSource();
  changePair();
}

/* What an address names comes first, then what was chosen last. */
function findPair() {
  const query = new URLSearchParams(location.search), pair = app.store.get("pair");
  const [, source, target, text] = /^#([^/]+)\/([^/]+)\/(.*)$/s.exec(location.hash) || [];
  if (text !== undefined) {
    choose($("source-language"), source);
    showTargets();
    choose($("target-language"), target);
    try {
      $("source").value = decodeURIComponent(text);
    } catch { /* it is damaged */ }
    return;
  }
  if (pair && !query.has("source")) choose($("source-language"), pair.source);
  showTargets();
  if (pair && !query.has("target")) choose($("target-language"), pair.target);
}

/* ------------------------------------------------------------------------------------------------------------ buttons */

async function copy() {
  const { translation } = result.value();
  try {
    await navigator.clipboard.writeText(translation);
  } catch { // without TLS there is no clipboard
    const field = app.element("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = translation;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    $("copy").focus();
  }
  $("copy").textContent = app.t("copied");
  app.say(app.t("copied"));
  setTimeout(() => { $("copy").textContent = app.t("copy"); }, 1500);
}

/* Shows a text of before. */
export function restore({ text, source, target }) {
  $("source").value = text;
  choose($("source-language"), source);
  showTargets();
  choose($("target-language"), target);
  showSource();
  changePair();
  $("source").focus();
}

export function init() {
  result.init();
  $("source").oninput = (event) => {
    showSource();
    if (!event.isComposing) soon(); // what an input method shows meanwhile is no text yet
  };
  $("source").addEventListener("compositionend", soon);
  $("form").onsubmit = (event) => {
    event.preventDefault();
    translate();
  };
  $("source-language").onchange = () => {
    showTargets();
    changePair();
  };
  $("target-language").onchange = changePair;
  $("swap").onclick = swap;
  $("copy").onclick = copy;
  $("clear").onclick = () => {
    $("source").value = "";
    showSource();
    translate();
    $("source").focus();
  };
  for (const name of ["key", "options"]) app.on(name, translate);
  app.on("language", () => {
    showNames();
    showSource();
  });
  app.on("languages", () => {
    showNames();
    findPair();
    showSwap();
    showSource();
    app.emit("pair", app.pair());
    translate();
  });
  app.on("settings", ({ charLimit }) => {
    limit = Math.max(charLimit, 0);
    showSource();
  });
  if (!$("source").value && !location.hash) $("source").value = app.session.get("text", "");
  for (const leaving of ["pagehide", "visibilitychange"])
    addEventListener(leaving, () => app.session.set("text", $("source").value || undefined));
  addEventListener("online", () => failures && translate());
  addEventListener("hashchange", () => {
    findPair();
    showSource();
    changePair();
  });
  showSource();
}
