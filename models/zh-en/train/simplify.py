"""Writes rules for tokenizer.py --rules and begin.py --rules: simplify.py OUT.tsv [--into-chinese].

They are SentencePiece's own nmt_nfkc, and traditional characters become simplified ones (OpenCC, character by character:
where a character has several simplified forms it is the most common one, or it stays if it is one of them). So a model
that has only seen simplified text reads both, in every program that runs it: the rules are part of spm.model. With
--into-chinese the marks stay full-width that chinese.py writes.
"""
import pathlib
import sys
import unicodedata

import opencc

from chinese import MARKS

# What nmt_nfkc drops, and what it takes for a space.
DROPPED = {*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F}
SPACES = {0x09, 0x0A, 0x0C, 0x0D, 0x061C, 0x1680, 0x200B, 0x200C, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD}
KEPT = {0xFF5E}  # the full-width tilde is used differently


def rules(kept: set[int] = KEPT) -> dict[str, str]:
    simplify = opencc.OpenCC("t2s").convert
    out = {}
    for code in (c for c in range(1, sys.maxunicode + 1) if not 0xD800 <= c < 0xE000 and c not in kept):
        character = chr(code)
        if code in DROPPED or code in SPACES:
            out[character] = " " if code in SPACES else ""
            continue
        result = unicodedata.normalize("NFKC", character)
        result = "".join(simplify(c) if unicodedata.category(c) == "Lo" else c for c in result)
        texts = {character, unicodedata.normalize("NFD", character)}
        out |= {text: result for text in texts if text != result}
    return out


def lines(table: dict[str, str]) -> list[str]:
    """As SentencePiece reads them: code points in hexadecimal."""
    codes = {text: " ".join(f"{ord(c):X}" for c in text) for text in {*table, *table.values()}}
    return [f"{codes[text]}\t{codes[result]}\n" for text, result in sorted(table.items())]


def main() -> None:
    made = lines(rules(KEPT | {ord(mark) for mark in MARKS} if "--into-chinese" in sys.argv else KEPT))
    pathlib.Path(sys.argv[1]).write_text("".join(made), encoding="utf-8")
    print(f"{len(made)} rules")


if __name__ == "__main__":
    main()
