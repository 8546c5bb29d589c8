/* The translation: sentences that know what they translate, and what else each could be. */
import { $, app } from "./app.js";
import { clean } from "./ask.js";

/* {text, source, target, flags, confidence, sentences, after}: text of the source; each sentence is
 * {source, begin, before, target, flags, links}: its source and where that begins in the text; its translation and the white
 * space before it; the links between words, [begin, end, begin, end] in source and target. */
let shown = null;
let old = ""; // the text of the translation before, which stays until the new one takes its place
let frame = 0, drafts = null; // that are to be shown
let marked = null; // {sentence, word: [begin, end] in the target, or in the source with side}
const ALTERNATIVES = 6;

/* ------------------------------------------------------------------------------------------------------------- places */

/* Characters of the server are code points, those of scripts are halves of some. */
function converter(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (index) => index;
  const places = [];
  for (let i = 0; i < text.length; i += text.codePointAt(i) > 0xffff ? 2 : 1) places.push(i);
  places.push(text.length);
  return (index) => places[index];
}

function sentencesOf(text, translation) {
  const from = converter(text), to = converter(translation.text), sentences = [];
  let at = 0;
  for (const { source, target, flags } of translation.sentences) {
    const [begin, end] = source.characters.map(from), [first, last] = target.characters.map(to);
    sentences.push({ source: text.slice(begin, end), begin, before: translation.text.slice(at, first),
      target: translation.text.slice(first, last), first, flags, links: [] });
    at = last;
  }
  let s = 0;
  for (const { source, target } of translation.alignment || []) {
    const [begin, end] = source.characters.map(from), [first, last] = target.characters.map(to);
    while (s && sentences[s].begin > begin) s--;
    while (s + 1 < sentences.length && sentences[s + 1].begin <= begin) s++;
    const of = sentences[s];
    of.links.push([begin - of.begin, end - of.begin, first - of.first, last - of.first]);
  }
  return { sentences, after: translation.text.slice(at) };
}

/* Of a translation by way of another language: its lines, which are those of the source. */
function linesOf(text, translation) {
  const from = text.split(/(\n+)/), to = translation.text.split(/(\n+)/), sentences = [];
  if (from.length !== to.length)
    return { sentences: [{ source: text, begin: 0, before: "", target: translation.text, flags: [], links: [] }],
      after: "" };
  let begin = 0, before = "";
  from.forEach((line, i) => {
    if (line.trim()) {
      sentences.push({ source: line, begin, before, target: to[i], flags: [], links: [] });
      before = "";
    } else {
      before += to[i];
    }
    begin += line.length;
  });
  return { sentences, after: before };
}

const segmenters = {};

/* The words of a text: [begin, end]. */
function wordsOf(text, language) {
  if (!window.Intl || !Intl.Segmenter)
    return [...text.matchAll(/[\p{L}\p{N}]+/gu)].map((m) => [m.index, m.index + m[0].length]);
  segmenters[language] = segmenters[language] || new Intl.Segmenter(language, { granularity: "word" });
  return [...segmenters[language].segment(text)].filter((s) => s.isWordLike)
    .map((s) => [s.index, s.index + s.segment.length]);
}

/* A part of a word becomes the word, but for languages that do not separate words. */
function wholeWord(text, [begin, end]) {
  const two = /^(?!\p{sc=Han}|\p{sc=Hira}|\p{sc=Kana}|\p{sc=Thai})[\p{L}\p{N}]{2}$/u;
  const inside = (at) => two.test(text.slice(at - 1, at + 1));
  while (begin > 0 && inside(begin)) begin--;
  while (end < text.length && inside(end)) end++;
  return [begin, end];
}

/* ------------------------------------------------------------------------------------------------------------ showing */

const textOf = (translation) => translation.sentences.map((s) => s.before + s.target).join("") + translation.after;

/* What other parts of the page get. */
export function value() {
  return shown ? { text: shown.text, source: shown.source, target: shown.target, translation: textOf(shown),
    sentences: shown.sentences.map(({ source, target }) => [source, target]) } :
    { text: "", source: "", target: "", translation: "", sentences: [] };
}

export const detected = () => shown;

export function wait() {
  closeMenu();
  cancelAnimationFrame(frame); // drafts of the request before
  $("result").setAttribute("aria-busy", "true");
  $("result").classList.add("old");
  drafts = null;
}

/* done: what is shown is of the text, or it stays pale. */
export function stopWaiting(done = true) {
  cancelAnimationFrame(frame);
  $("result").removeAttribute("aria-busy");
  $("result").classList.toggle("old", !done);
  drafts = null;
}

/* Shows what there is of a translation, with the rest of the old one after it, so that nothing jumps. */
export function showDrafts(list) {
  if (!drafts) frame = requestAnimationFrame(() => {
    const text = drafts.join("");
    drafts = null;
    if (!text) return;
    shown = null;
    mark(null);
    $("copy").hidden = true;
    $("flags").replaceChildren();
    $("result").classList.remove("old");
    $("result").replaceChildren(text, app.element("span", { class: "rest", "aria-hidden": "true" }, old.slice(text.length)));
  });
  drafts = list;
}

export function clear() {
  stopWaiting();
  closeMenu();
  shown = null;
  old = "";
  mark(null);
  $("result").replaceChildren();
  $("flags").replaceChildren();
}

/* Shows a translation in parts: [{text, translation}], of which the texts together are text. */
export function show(text, parts) {
  const [{ translation: { source, target, confidence } }] = parts;
  const everywhere = (flag) => parts.every(({ translation }) => translation.flags.includes(flag));
  const flags = [...new Set(parts.flatMap(({ translation }) => translation.flags))]
    .filter((flag) => flag !== "passed_through" || everywhere(flag));
  shown = { text, source, target, flags, confidence, sentences: [], after: "" };
  let begin = 0;
  for (const part of parts) {
    const { sentences, after } = part.translation.sentences ? sentencesOf(part.text, part.translation)
      : linesOf(part.text, part.translation);
    sentences.forEach((s, i) => {
      shown.sentences.push({ ...s, begin: begin + s.begin, before: (i ? "" : shown.after) + s.before });
    });
    shown.after = sentences.length ? after : shown.after + after;
    begin += part.text.length;
  }
  stopWaiting();
  draw();
}

/* How a flag is called beside a sentence, and what it means. */
const FLAGS = ["number", "doubtful", "loop", "max_length", "cut"];

function flagsOf(flags) {
  return FLAGS.filter((flag) => flags.includes(flag)).map((flag) =>
    app.element("span", { class: "flag", title: app.t(`flag.${flag}.means`) }, app.t(`flag.${flag}`)));
}

function drawSentence(sentence, index) {
  return app.element("span", { class: sentence.flags.some((f) => FLAGS.includes(f)) ? "sentence flagged" : "sentence",
    role: "button", "aria-haspopup": "dialog", tabindex: index ? -1 : 0, "data-index": index },
  app.element("span", { class: "words" }, sentence.target), ...flagsOf(sentence.flags));
}

function draw() {
  const { sentences, after, target } = shown;
  old = textOf(shown);
  $("result").lang = target;
  $("result").replaceChildren(...sentences.flatMap((s, i) => [s.before, drawSentence(s, i)]), after);
  drawFlags();
  mark(null);
}

/* What the flags of the text mean. */
function drawFlags() {
  const own = new Set(shown.sentences.flatMap((s) => s.flags));
  const all = FLAGS.filter((flag) => own.has(flag) || shown.flags.includes(flag));
  const means = all.map((flag) => app.element("p", {}, ...flagsOf([flag]), app.t(`flag.${flag}.means`)));
  if (shown.flags.includes("passed_through"))
    means.push(app.element("p", {}, app.t("flag.passed_through")));
  $("flags").replaceChildren(...means);
}

/* ------------------------------------------------------------------------------------------------------------ marking */

/* A text with parts in elements: [begin, end, class], in order, none of which overlap. */
function marksIn(text, parts) {
  const nodes = [];
  let at = 0;
  for (const [begin, end, name] of parts) {
    nodes.push(text.slice(at, begin), app.element("mark", { class: name }, text.slice(begin, end)));
    at = end;
  }
  return [...nodes, text.slice(at)];
}

function merge(ranges) {
  const merged = [];
  for (const [begin, end] of ranges.sort((a, b) => a[0] - b[0]))
    if (merged.length && begin <= merged[merged.length - 1][1])
      merged[merged.length - 1][1] = Math.max(end, merged[merged.length - 1][1]);
    else if (begin < end) merged.push([begin, end]);
  return merged;
}

/* The words of the other side that a word is linked to. side: of the word, 0 source, 1 target. */
function linked(sentence, side, [begin, end]) {
  const other = side ? sentence.source : sentence.target;
  const found = sentence.links.filter((l) => l[2 * side] < end && l[2 * side + 1] > begin)
    .map((l) => wholeWord(other, side ? [l[0], l[1]] : [l[2], l[3]]));
  return merge(found);
}

export function showSource(text) {
  $("mirror").replaceChildren(text + "\u200b"); // a line break at the end has a line after it
  if (shown && shown.text !== text) mark(null);
}

/* Marks a sentence on both sides, and with a word also what it is linked to. what: {index, side, word}; null: nothing. */
function mark(what) {
  if (JSON.stringify(what) === JSON.stringify(marked)) return;
  marked = what;
  for (const element of $("result").querySelectorAll(".here")) element.classList.remove("here");
  if (!shown || !what || $("source").value !== shown.text) {
    $("mirror").replaceChildren($("source").value + "\u200b");
    return;
  }
  const sentence = shown.sentences[what.index], end = sentence.begin + sentence.source.length;
  const both = what.word ? [[what.word], linked(sentence, what.side, what.word)] : [[], []];
  const [source, target] = what.side ? both.reverse() : both;
  const inside = marksIn(sentence.source, source.map(([b, e]) => [b, e, "word"]));
  $("mirror").replaceChildren(shown.text.slice(0, sentence.begin), app.element("mark", {}, ...inside),
    shown.text.slice(end) + "\u200b");
  const element = $("result").querySelector(`[data-index="${what.index}"]`);
  element.classList.add("here");
  splitWords(element, sentence);
  for (const word of element.querySelectorAll(".word"))
    word.classList.toggle("here", target.some(([b, e]) => b < Number(word.dataset.end) && e > Number(word.dataset.begin)));
}

/* Words become elements when a sentence is first pointed at. */
function splitWords(element, sentence) {
  const words = element.firstChild;
  if (words.firstElementChild || !getSelection().isCollapsed) return;
  const nodes = [];
  let at = 0;
  for (const [begin, end] of wordsOf(sentence.target, shown.target)) {
    nodes.push(sentence.target.slice(at, begin));
    nodes.push(app.element("span", { class: "word", "data-begin": begin, "data-end": end },
      sentence.target.slice(begin, end)));
    at = end;
  }
  words.replaceChildren(...nodes, sentence.target.slice(at));
}

/* What an element of the result is of. */
function pointed(element) {
  const sentence = element.closest(".sentence"), word = element.closest(".word");
  if (!sentence || !shown) return null;
  return { index: Number(sentence.dataset.index), side: 1,
    word: word ? [Number(word.dataset.begin), Number(word.dataset.end)] : undefined };
}

/* The character of the source below the pointer; the field lies above the text that tells it. */
function characterAt(x, y) {
  $("source").style.pointerEvents = "none";
  $("mirror").style.pointerEvents = "auto";
  let node, offset;
  if (document.caretPositionFromPoint) {
    const place = document.caretPositionFromPoint(x, y);
    [node, offset] = [place && place.offsetNode, place && place.offset];
  } else {
    const range = document.caretRangeFromPoint(x, y);
    [node, offset] = [range && range.startContainer, range && range.startOffset];
  }
  $("source").style.pointerEvents = $("mirror").style.pointerEvents = "";
  if (!node || node.nodeType !== Node.TEXT_NODE || !$("mirror").contains(node)) return -1;
  const range = document.createRange();
  range.setStart($("mirror"), 0);
  range.setEnd(node, offset);
  return range.toString().length;
}

function sentenceAt(character) {
  return shown ? shown.sentences.findIndex((s) => s.begin <= character && character <= s.begin + s.source.length) : -1;
}

function pointAtSource(event) {
  if (!shown || $("source").value !== shown.text || event.buttons) return;
  const at = characterAt(event.clientX, event.clientY), index = at < 0 ? -1 : sentenceAt(at);
  if (index < 0) {
    mark(null);
    return;
  }
  const sentence = shown.sentences[index], inside = at - sentence.begin;
  const word = wordsOf(sentence.source, shown.source).find(([begin, end]) => begin <= inside && inside < end);
  mark({ index, side: 0, word });
}

/* ------------------------------------------------------------------------------------------------------- alternatives */

let menu = null; // {index, words, word: where the other translations begin, request}

function openMenu(index, at) {
  const sentence = shown.sentences[index], words = wordsOf(sentence.target, shown.target);
  const word = Math.max(words.findIndex(([, end]) => end > at), 0);
  closeMenu();
  menu = { index, words, request: null };
  const buttons = words.map(([begin], i) => {
    const next = i + 1 < words.length ? words[i + 1][0] : sentence.target.length;
    return app.element("button", { type: "button", tabindex: -1, onclick: () => ask(i) },
      sentence.target.slice(i ? begin : 0, next));
  });
  $("alternatives").replaceChildren(
    app.element("div", { class: "from", role: "toolbar", "aria-label": app.t("alternatives.from") }, ...buttons),
    app.element("ul", {}), app.element("p", { class: "hint" }, app.t("alternatives.hint")));
  $("alternatives").hidden = false;
  place(index, at);
  ask(word);
  if (buttons.length) buttons[word].focus({ preventScroll: true });
}

/* Below the word. */
function place(index, at) {
  const element = $("result").querySelector(`[data-index="${index}"]`);
  splitWords(element, shown.sentences[index]);
  const word = [...element.querySelectorAll(".word")].find((w) => Number(w.dataset.end) > at) || element;
  const form = $("form").getBoundingClientRect(), { left, bottom } = word.getClientRects()[0] || form;
  const widest = form.width - $("alternatives").offsetWidth - 8;
  $("alternatives").style.left = `${Math.max(8, Math.min(left - form.left - 12, widest))}px`;
  $("alternatives").style.top = `${bottom - form.top + 8}px`;
}

export function closeMenu() {
  if (!menu) return;
  if (menu.request) menu.request.abort();
  const inside = $("alternatives").contains(document.activeElement);
  $("alternatives").hidden = true;
  const sentence = $("result").querySelector(`[data-index="${menu.index}"]`);
  menu = null;
  if (inside && sentence) focusSentence(sentence);
}

/* Asks for translations of the menu's sentence that begin with the words before one. */
async function ask(word) {
  const sentence = shown.sentences[menu.index], list = $("alternatives").querySelector("ul");
  if (menu.request) menu.request.abort();
  menu.word = word;
  menu.request = new AbortController();
  const { signal } = menu.request;
  [...$("alternatives").querySelectorAll(".from button")].forEach((button, i) => {
    button.tabIndex = i === word ? 0 : -1;
    button.classList.toggle("changes", i >= word);
    button.setAttribute("aria-pressed", i === word);
  });
  if (menu.words.length) mark({ index: menu.index, side: 1, word: menu.words[word] });
  list.classList.add("old");
  const prefix = word ? sentence.target.slice(0, menu.words[word][0]).trimEnd() : undefined;
  try {
    const { translations: [found] } = await app.json("v1/translate", { signal, json: { ...app.options,
      text: clean(sentence.source), source: shown.source, target: shown.target, alternatives: ALTERNATIVES, prefix } });
    const texts = [...new Set([found.text, ...(found.alternatives || [])])].filter((text) => text !== sentence.target);
    list.replaceChildren(...texts.map((text) => drawChoice(sentence.target, text)));
    if (!texts.length) list.append(app.element("li", { class: "none" }, app.t("alternatives.none")));
  } catch (error) {
    if (signal.aborted) return;
    list.replaceChildren(app.element("li", { class: "none" }, app.t("failed", { message: error.message })));
  }
  list.classList.remove("old");
}

/* What is the same at the beginning is paler. */
function drawChoice(now, text) {
  const from = [...now], to = [...text]; // not halves of characters
  const isWord = (character = "") => /[\p{L}\p{N}]/u.test(character), isHan = (character) => /\p{sc=Han}/u.test(character);
  let same = 0;
  while (same < to.length && to[same] === from[same]) same++;
  while (same && isWord(to[same - 1]) && isWord(to[same]) && !isHan(to[same - 1])) same--;
  return app.element("li", {},
    app.element("button", { type: "button", lang: shown.target, dir: "auto", onclick: () => replace(text) },
      app.element("span", { class: "same" }, to.slice(0, same).join("")), to.slice(same).join("")));
}

/* The chosen translation takes the sentence's place. Its links come with a translation that it is the beginning of. */
async function replace(text) {
  const sentence = shown.sentences[menu.index], of = shown;
  Object.assign(sentence, { target: text, flags: [], links: [] });
  const { index } = menu;
  closeMenu();
  draw();
  focusSentence($("result").querySelector(`[data-index="${index}"]`));
  app.say(app.t("alternatives.chosen"));
  app.emit("translated", value());
  try {
    const { translations: [found] } = await app.json("v1/translate", { json: { text: clean(sentence.source),
      source: of.source, target: of.target, prefix: text, align: true, sentences: true } });
    if (found.text === text && sentence.target === text && found.sentences)
      sentence.links = sentencesOf(sentence.source, found).sentences.flatMap((s) =>
        s.links.map(([a, b, c, d]) => [a + s.begin, b + s.begin, c + s.first, d + s.first]));
  } catch { /* without links */ }
}

/* --------------------------------------------------------------------------------------------------------------- keys */

function focusSentence(element) {
  for (const other of $("result").querySelectorAll('.sentence[tabindex="0"]')) other.tabIndex = -1;
  element.tabIndex = 0;
  element.focus();
}

function onKey(event) {
  const element = event.target.closest(".sentence");
  if (!element) return;
  const all = [...$("result").querySelectorAll(".sentence")], at = all.indexOf(element), last = all.length - 1;
  const rtl = getComputedStyle(element).direction === "rtl";
  const step = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1, ArrowDown: 1, ArrowUp: -1, Home: -at,
    End: last - at }[event.key];
  if (event.key === "Enter" || event.key === " ") openMenu(at, 0);
  else if (step === undefined) return;
  else focusSentence(all[Math.min(Math.max(at + step, 0), last)]);
  event.preventDefault();
}

function onMenuKey(event) {
  const words = [...$("alternatives").querySelectorAll(".from button")];
  const choices = [...$("alternatives").querySelectorAll("ul button")], at = choices.indexOf(document.activeElement);
  const word = words.indexOf(document.activeElement);
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "Escape") closeMenu();
  else if (event.key === "ArrowDown" && choices.length) choices[Math.min(at + 1, choices.length - 1)].focus();
  else if (event.key === "ArrowUp" && at > 0) choices[at - 1].focus();
  else if (event.key === "ArrowUp" && at === 0) words[menu.word].focus();
  else if (move && word >= 0 && words[word + move]) {
    words[word + move].focus();
    ask(word + move);
  } else return;
  event.preventDefault();
}

export function init() {
  const out = $("result");
  out.addEventListener("pointerover", (event) => { if (!event.buttons && !menu) mark(pointed(event.target)); });
  out.addEventListener("pointerleave", () => { if (!menu) mark(null); });
  out.addEventListener("focusin", (event) => { if (!menu) mark(pointed(event.target)); });
  out.addEventListener("focusout", () => { if (!menu) mark(null); });
  out.addEventListener("keydown", onKey);
  out.addEventListener("click", (event) => {
    const what = pointed(event.target);
    if (what && getSelection().isCollapsed) openMenu(what.index, what.word ? what.word[0] : 0);
  });
  $("source").addEventListener("pointermove", (event) => { if (!menu) pointAtSource(event); });
  $("source").addEventListener("pointerleave", () => { if (!menu) mark(null); });
  $("alternatives").addEventListener("keydown", onMenuKey);
  document.addEventListener("pointerdown", (event) => {
    if (menu && !$("alternatives").contains(event.target)) closeMenu();
  });
  app.on("language", () => { if (shown) draw(); });
}
