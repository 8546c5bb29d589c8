/* What the parts of the page share:
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
 *   app.session.get(NAME, OTHERWISE), app.session.set(NAME, VALUE)
 *                                the same until the browser's tab is closed
 *   app.languages                [{code, name, chinese_name, targets}]
 *   app.languageName(CODE)
 *   app.pair()                   {source, target}; source may be "auto"
 *   app.options                  further fields of v1/translate, such as glossary; who changes them emits "options"
 *   app.on(NAME, HANDLER), app.emit(NAME, VALUE)
 *                                "language" (of the page), "pair", "key", "refused" (for want of a key), "languages",
 *                                "settings" (of frontend/settings), "tab" (its name), "options",
 *                                "translated" ({text, source, target, translation, sentences: [source, translation] of
 *                                each; tokens and seconds, if the server made it})
 *   app.show(TAB)                "text", "documents", "glossary", "attention" */
import messages from "./messages.js";

export const $ = (id) => document.getElementById(id);
const handlers = new Map();
const past = new Map(); // the last value of each event

function storeIn(storage) {
  const memory = new Map(); // what the browser does not store
  return {
    get(name, otherwise) {
      try {
        return JSON.parse(memory.get(name) ?? window[storage].getItem(`translate.${name}`)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(name, value) {
      memory.delete(name);
      try {
        window[storage].removeItem(`translate.${name}`); // an older value must not stay if there is no room
        if (value !== undefined) window[storage].setItem(`translate.${name}`, JSON.stringify(value));
      } catch {
        memory.set(name, JSON.stringify(value));
      }
    },
  };
}

export const app = {
  language: "en",
  languages: [],
  options: {},
  detected: "", // the source language, if it was detected
  late: false, // true: who joins hears of the past

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
    if (answer.status === 403) app.emit("refused");
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

  store: storeIn("localStorage"),
  session: storeIn("sessionStorage"),

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
    if (app.late && past.has(name)) handler(past.get(name));
  },

  emit(name, value) {
    past.set(name, value);
    for (const handler of handlers.get(name) || []) handler(value);
  },

  show(name) {
    for (const tab of $("tabs").children) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      $(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
    app.emit("tab", name);
  },
};
