/* The parts that a first look does not need. */
import * as attention from "./attention.js";
import * as documents from "./documents.js";
import * as glossary from "./glossary.js";
import * as history from "./history.js";
import * as status from "./status.js";

export function init() {
  for (const part of [history, glossary, documents, attention, status]) part.init();
}
