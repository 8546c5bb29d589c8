/* Choices of the languages outside the text's tab: copies of its own, which follow them and which they follow. */
import { $, app } from "./app.js";

const SIDES = ["source", "target"];

/* The element PREFIX-source and PREFIX-target. */
export function choosePair(prefix) {
  const copies = SIDES.map((side) => [$(`${prefix}-${side}`), $(`${side}-language`)]);
  const follow = () => {
    for (const [copy, own] of copies) {
      copy.replaceChildren(...[...own.options].map((option) => option.cloneNode(true)));
      copy.value = own.value;
    }
  };
  for (const [copy, own] of copies)
    copy.addEventListener("change", () => {
      own.value = copy.value;
      own.dispatchEvent(new Event("change", { bubbles: true }));
      follow();
    });
  for (const name of ["pair", "languages", "language", "tab"]) app.on(name, follow);
  follow();
}
