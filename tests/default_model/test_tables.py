#!/usr/bin/env python3
"""Translates the two hundred lines of a table and checks, by category, for words that must and words that must not
appear in each translation. A line fails as well if its translation loops, ends early or is in part not translated.

    test_tables.py TABLE TOOL MODEL AT_LEAST [--show] [OPTIONS]     --show: print what fails; OPTIONS: of TOOL

everyday.tsv has everyday lines, prose.tsv has news, office prose, figures, names, chat, idioms and signs; the same from
English to Chinese in *.en-zh.tsv. Patterns are regular expressions in any case, separated by semicolons: for whole words
of English; in Chinese they must not begin or end within a number or Latin word.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

LINES = 200
HAN = re.compile("[\u3400-\u9fff]")
AGAIN = re.compile(r"\b(\w+(?:\W+\w+){0,5})(?:\W+\1\b){2}", re.IGNORECASE)  # up to six words, three times in sequence
AGAIN_CHINESE = re.compile(r"([\u3400-\u9fff，。、]{2,12})\1{2}|([\u3400-\u9fff])\2{4}")
HALF_WIDTH = re.compile("[\u3400-\u9fff][,;:?!]|[\u3400-\u9fff]\\.$")  # marks that Chinese has in full width


def read(path):
    """(category, source, wanted, unwanted) for each line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            category, source, *patterns = line.split("\t")
            wanted, unwanted = ([p for p in part.split("; ") if p] for part in (patterns + [""])[:2])
            yield category, source, wanted, unwanted


def has(pattern, text):
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)


def has_chinese(pattern, text):
    begin, end = r"(?:(?<![\dA-Za-z])(?<!\d[.,])|(?![\dA-Za-z]))", r"(?:(?<![\dA-Za-z])|(?![\dA-Za-z]|[.,]\d))"
    return re.search(rf"{begin}(?:{pattern}){end}", text, re.IGNORECASE)


def faults_of_english(source, text):
    words = len(text.split())
    if HAN.search(text):
        yield "Chinese is left"
    if AGAIN.search(text) and not AGAIN.search(" ".join(source)):
        yield "repeats itself"
    if words > 2 * len(source) + 4 or words < len(source) // 5:
        yield f"{words} words for {len(source)} characters"


def faults_of_chinese(source, text, wanted):
    words = len(source.split())
    left = [word for word in re.findall(r"(?<!\w)[a-z]{3,}(?!\w)", text, re.ASCII) if word not in " ".join(wanted)]
    if left or not HAN.search(text):
        yield f"English is left: {' '.join(left)}"
    if AGAIN_CHINESE.search(text):
        yield "repeats itself"
    if HALF_WIDTH.search(text):
        yield "a mark of half width"
    if len(text) > 4 * words + 8 or len(text) < words // 2:
        yield f"{len(text)} characters for {words} words"


def faults(source, text, wanted, unwanted):
    to_english = HAN.search(source)
    found = has if to_english else has_chinese
    out = [f"no /{p}/" for p in wanted if not found(p, text)] + [f"has /{p}/" for p in unwanted if found(p, text)]
    return out + list(faults_of_english(source, text) if to_english else faults_of_chinese(source, text, wanted))


def translate(tool, model, options, sources):
    text = "\n".join(sources).encode() + b"\n"
    done = subprocess.run([tool, "-m", model, "--json", *options], input=text, capture_output=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(done.stderr.decode())
    return [json.loads(line)["text"] for line in done.stdout.decode().splitlines()]


def main():
    path, tool, model, at_least, *options = sys.argv[1:]
    show = options[:1] == ["--show"]
    table, at_least = list(read(pathlib.Path(path))), int(at_least)
    texts = translate(tool, model, options[show:], [source for _, source, _, _ in table])
    assert len(table) == len({source for _, source, _, _ in table}) == len(texts) == LINES, (len(table), len(texts))
    passed, all_lines = collections.Counter(), collections.Counter()
    for (category, source, wanted, unwanted), text in zip(table, texts):
        found = faults(source, text, wanted, unwanted)
        all_lines[category] += 1
        passed[category] += not found
        if found and show:
            print(f"{category}: {source}\n    {text}\n    {'; '.join(found)}")
    for category, count in all_lines.items():
        print(f"{category:12s} {passed[category]:3d} of {count:3d}")
    total = sum(passed.values())
    print(f"{'all':12s} {total:3d} of {LINES}, {100 * total / LINES:.1f} %; at least {at_least} must pass")
    sys.exit(total < at_least)


if __name__ == "__main__":
    main()
