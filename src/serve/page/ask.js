/* Asks the server for the translation of a text: in blocks of lines, so that its beginning comes early, and what has not
 * changed is not translated again. */
import { app } from "./app.js";

const BLOCK = 400, BLOCKS = 30; // characters of a block, at least; blocks of a text, about, at most
const AT_ONCE = 3; // blocks
const LONG = 2000; // characters of a text that may wait for others
const KEPT = 200; // translated blocks
const kept = new Map();

/* What the server can read: no NUL, no half of a character. */
export const clean = (text) => text.replace(/[\0\p{Cs}]/gu, "\ufffd");

/* Blocks that end with a line. Their size changes seldom, so that most are the same after a change of the text. */
function blocksOf(text) {
  const least = BLOCK * 2 ** Math.max(0, Math.ceil(Math.log2(text.length / (BLOCK * BLOCKS)))), blocks = [""];
  for (const line of text.match(/[^\n]*\n|[^\n]+/g)) {
    const last = blocks.length - 1;
    if (blocks[last].length >= least && line.trim()) blocks.push(line);
    else blocks[last] += line;
  }
  return blocks;
}

/* The events of an answer, as they come: [NAME, VALUE]. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch(({ message }) => {
      throw Object.assign(new Error(message), { status: 0 }); // the connection broke
    });
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(part) || [];
      if (name) yield [name, JSON.parse(data)];
    }
  }
}

/* Calls draft with what there is of the translation. */
async function translate(key, json, signal, draft) {
  const pieces = [];
  const answer = await app.api("v1/translate", { json, signal });
  for await (const [name, value] of events(answer.body)) {
    if (name === "token") {
      pieces[value.sentence] = (value.restarted ? "" : pieces[value.sentence] || "") + value.text;
      draft(pieces.join(""));
    } else if (name === "done") {
      kept.set(key, value.translations[0]);
      if (kept.size > KEPT) kept.delete(kept.keys().next().value);
      return value.translations[0];
    } else {
      throw Object.assign(new Error(value.error.message), { status: value.error.code === "unavailable" ? 503 : 500 });
    }
  }
  throw Object.assign(new Error(app.t("gone")), { status: 0 }); // the connection ended before
}

/* The blocks with their translations: [{text, translation, known: not asked}]. show is called with a list of drafts as they
 * change. The first block tells the language of all. */
export async function ask(text, { source, target }, signal, show) {
  const blocks = blocksOf(text), drafts = blocks.map(() => ""), found = [];
  const json = { target, stream: true, sentences: true, align: true, doubtful: true, ...app.options };
  if (text.length > LONG) json.priority = "low";
  else json.rerank = true; // no tokens come then, but soon the best translation
  let next = 0, from = source;
  const one = async () => {
    const i = next++;
    const draft = (value) => {
      drafts[i] = value;
      if (!signal.aborted) show(drafts);
    };
    const own = { text: clean(blocks[i]), source: from, ...json }, key = JSON.stringify(own), known = kept.get(key);
    const translation = known || await translate(key, own, signal, draft);
    found[i] = { text: blocks[i], translation, known: !!known };
    draft(translation.text);
  };
  const rest = async () => {
    while (next < blocks.length) await one();
  };
  if (source === "auto") {
    await one();
    from = found[0].translation.source;
  }
  await Promise.all(Array.from({ length: AT_ONCE }, rest));
  return found;
}
