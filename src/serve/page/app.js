/* Start of the page, and what its parts share:
 *
 *   $(ID)                        the element
 *   app.t(KEY, {NAME: VALUE})    a text of messages.js; elements with data-t, data-t-title and the like follow the language
 *   app.element(TAG, ATTRIBUTES, ...CHILDREN)
 *                                a new element; attributes that begin with "on" are handlers; false, undefined: left out
 *   app.api(PATH, OPTIONS)       fetch of an address below the page's, with the key; `json` is a body to be sent with POST,
 *                                `send` takes the place of fetch. Errors have status (0: no answer), code and retryAfter
 *                                (seconds, or undefined)
 *   app.json(PATH, OPTIONS)      its JSON
 *   app.say(TEXT)                for screen readers
 *   app.notice(TEXT, KIND)       a message that can be closed; KIND: "error", "hint", or another one that its owner closes.
 *                                Without a text: closes it, if it has that KIND or KIND is not given
 *   app.store.get(NAME, OTHERWISE), app.store.set(NAME, VALUE)
 *                                what this browser remembers, or else the page while it is open; undefined forgets it
 *   app.languages                [{code, name, chinese_name, targets}]
 *   app.languageName(CODE)
 *   app.pair()                   {source, target}; source may be "auto"
 *   app.options                  further fields of v1/translate, such as glossary; who changes them emits "options"
 *   app.on(NAME, HANDLER), app.emit(NAME, VALUE)
 *                                "language" (of the page), "pair", "key", "languages", "settings" (of frontend/settings),
 *                                "tab" (its name), "options", "translated" ({text, source, target, translation,
 *                                sentences: [source, translation] of each; tokens and seconds, if the server made it})
 *   app.show(TAB)                "text", "documents", "glossary", "attention" */
import messages from "./messages.js";
import * as textTab from "./text.js";
import * as history from "./history.js";

export const $ = (id) => document.getElementById(id);
const handlers = new Map();
const past = new Map(); // the last value of each event
let late = false; // who joins now hears of the past
const memory = new Map(); // what the browser does not store
const tabs = [...$("tabs").children];

export const app = {
  language: "en",
  languages: [],
  options: {},
  detected: "", // the source language, if it was detected

  t(key, values = {}) {
    const text = (messages[key] || [key, key])[app.language === "zh" ? 1 : 0];
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  },

  element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  },

  async api(path, { json, headers = {}, send = fetch, ...options } = {}) {
    const key = $("key").value;
    const sent = { ...options, headers: { ...headers } };
    if (key) sent.headers.Authorization = `Bearer ${key}`;
    if (json !== undefined) {
      sent.method = sent.method || "POST";
      sent.headers["Content-Type"] = "application/json";
      sent.body = JSON.stringify(json);
    }
    let answer;
    try {
      answer = await send(path, sent);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw Object.assign(new Error(error.message), { status: 0, code: "gone" });
    }
    if (answer.ok) return answer;
    const body = await answer.json().catch(() => ({}));
    const { code = "error", message = body.error || answer.statusText } = Object(body.error);
    const after = answer.headers.get("Retry-After");
    if (answer.status === 403) askForKey();
    throw Object.assign(new Error(message), { status: answer.status, code, retryAfter: after ? Number(after) : undefined });
  },

  async json(path, options) {
    return (await app.api(path, options)).json();
  },

  say(text) {
    $("live").textContent = text;
  },

  notice(text, kind) {
    if (!text && kind && $("notice").dataset.kind !== kind) return;
    $("notice").hidden = !text;
    $("notice").dataset.kind = kind || "error";
    $("notice-text").textContent = text;
    app.say(text);
  },

  store: {
    get(name, otherwise) {
      try {
        return JSON.parse(memory.get(name) ?? localStorage.getItem(`translate.${name}`)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(name, value) {
      memory.delete(name);
      try {
        if (value === undefined) localStorage.removeItem(`translate.${name}`);
        else localStorage.setItem(`translate.${name}`, JSON.stringify(value));
      } catch {
        memory.set(name, JSON.stringify(value));
      }
    },
  },

  languageName(code) {
    const found = app.languages.find((language) => language.code === code);
    if (found) return app.language === "zh" ? found.chinese_name : found.name;
    try { // one that is only translated into
      return new Intl.DisplayNames([app.language], { type: "language" }).of(code);
    } catch {
      return code;
    }
  },

  pair() {
    return { source: $("source-language").value, target: $("target-language").value };
  },

  on(name, handler) {
    handlers.set(name, [...(handlers.get(name) || []), handler]);
    if (late && past.has(name)) handler(past.get(name));
  },

  emit(name, value) {
    past.set(name, value);
    for (const handler of handlers.get(name) || []) handler(value);
  },

  show(name) {
    for (const tab of tabs) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      $(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
    app.emit("tab", name);
  },
};

/* -------------------------------------------------------------------------------------------------------------- language */

function fill(root) {
  for (const element of root.querySelectorAll("*"))
    for (const { name, value } of [...element.attributes]) {
      if (name === "data-t") element.textContent = app.t(value);
      else if (name.startsWith("data-t-")) element.setAttribute(name.slice("data-t-".length), app.t(value));
    }
}

function setLanguage(language) {
  app.language = language;
  if (document.documentElement.lang !== language) fill(document);
  document.documentElement.lang = language;
  $("interface-language").value = language;
  app.emit("language", language);
}

function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("theme").value = theme;
}

/* ------------------------------------------------------------------------------------------------------------------- key */

function askForKey() {
  if ($("key").value) app.notice(app.t("key.wrong"));
  $("key-bar").hidden = false;
  $("key").focus();
}

function useKey() {
  const key = $("key").value;
  try {
    sessionStorage.setItem("translate.key", key);
  } catch { /* it lasts as long as the page */ }
  app.store.set("key", $("key-remember").checked && key ? key : undefined);
  $("key-bar").hidden = !!key;
  app.notice("");
  app.emit("key", key);
}

function findKey() {
  let key = app.store.get("key");
  $("key-remember").checked = !!key;
  try {
    key = key || sessionStorage.getItem("translate.key");
  } catch { /* there is none */ }
  if (key) {
    $("key").value = key;
    $("key-bar").hidden = true;
  }
  $("key-use").onclick = useKey;
  $("key").onkeydown = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    useKey();
  };
}

/* ----------------------------------------------------------------------------------------------------------------- start */

function startTabs() {
  for (const tab of tabs) tab.onclick = () => app.show(tab.id.slice("tab-".length));
  $("tabs").onkeydown = (event) => {
    const at = tabs.indexOf(document.activeElement), last = tabs.length - 1;
    const to = { ArrowLeft: at ? at - 1 : last, ArrowRight: at < last ? at + 1 : 0, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    tabs[to].click();
    tabs[to].focus();
  };
}

/* Until the server answers, the page has its own choices. */
async function findOut(path, take) {
  let answer;
  for (let seconds = 1; !answer; seconds = Math.min(2 * seconds, 30)) {
    try {
      answer = await app.json(path);
    } catch (error) {
      if (error.status === 403 || error.status === 404) return;
      await new Promise((done) => { setTimeout(done, 1000 * seconds); });
    }
  }
  take(answer);
}

/* What a first look does not need comes after it. */
async function startOthers() {
  const names = ["glossary", "documents", "attention", "status"], options = JSON.stringify(app.options);
  const parts = await Promise.all(names.map((name) => import(`./${name}.js`)));
  late = true;
  for (const part of parts) part.init(app);
  if (JSON.stringify(app.options) !== options) app.emit("options");
}

function start() {
  document.documentElement.classList.add("js");
  setTheme(app.store.get("theme", "system"));
  $("theme").onchange = () => {
    app.store.set("theme", $("theme").value);
    setTheme($("theme").value);
  };
  setLanguage(app.store.get("language", document.documentElement.lang));
  $("interface-language").onchange = () => {
    app.store.set("language", $("interface-language").value);
    setLanguage($("interface-language").value);
  };
  $("notice-close").onclick = () => app.notice("");
  startTabs();
  findKey();
  for (const part of [textTab, history]) part.init(app);
  findOut("v1/languages", ({ languages }) => {
    app.languages = languages;
    app.emit("languages");
  });
  findOut("frontend/settings", (settings) => app.emit("settings", settings));
  requestAnimationFrame(() => setTimeout(startOthers));
}

start();
