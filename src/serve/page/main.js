/* Start of the page. */
import { $, app } from "./app.js";
import * as textTab from "./text.js";

const tabs = [...$("tabs").children];

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
  app.session.set("key", key);
  app.store.set("key", $("key-remember").checked && key ? key : undefined);
  $("key-bar").hidden = !!key;
  app.notice("");
  app.emit("key", key);
}

function findKey() {
  const remembered = app.store.get("key"), key = remembered || app.session.get("key");
  $("key-remember").checked = !!remembered;
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

/* Until the server answers, the page has what it came with. undefined: the server refuses. */
async function untilThere(ask) {
  for (let attempt = 0;; attempt++) {
    try {
      return await ask(attempt);
    } catch (error) {
      if (error.status === 403 || error.status === 404) return undefined;
      if (error.status === undefined && !/module/i.test(error.message)) throw error; // no import failed: a fault of a script
      await new Promise((done) => { setTimeout(done, 1000 * Math.min(2 ** attempt, 30)); });
    }
  }
}

async function findOut(path, take) {
  const answer = await untilThere(() => app.json(path));
  if (answer) take(answer);
}

/* What a first look does not need comes after it. */
async function startOthers() {
  findOut("v1/languages", ({ languages }) => {
    app.languages = languages;
    app.emit("languages");
  });
  findOut("frontend/settings", (settings) => app.emit("settings", settings));
  const options = JSON.stringify(app.options);
  const { init } = await untilThere((attempt) => import(`./later.js?${attempt}`)); // some browsers keep what failed
  app.late = true;
  init();
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
  app.on("refused", askForKey);
  textTab.init();
  if (document.hidden) startOthers(); // nothing is drawn there
  else requestAnimationFrame(() => setTimeout(startOthers));
}

start();
