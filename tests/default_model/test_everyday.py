#!/usr/bin/env python3
"""Two hundred everyday lines (everyday.tsv), by category, with words that must and words that must not appear in the
translation. A line fails as well if its translation loops, ends early or contains Chinese.

    test_everyday.py TOOL MODEL [--show]      --show: print what fails

Patterns are regular expressions for whole words, in any case, separated by semicolons.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

LINES = 200
# Nine in ten; models/zh-en.md has the default model's results.
AT_LEAST = 180
HAN = re.compile("[\u3400-\u9fff]")
AGAIN = re.compile(r"\b(\w+(?:\W+\w+){0,5})(?:\W+\1\b){2}", re.IGNORECASE)  # up to six words, three times in sequence


def read(path):
    """(category, source, wanted, unwanted) for each line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            category, source, *patterns = line.split("\t")
            wanted, unwanted = ([p for p in part.split("; ") if p] for part in (patterns + [""])[:2])
            yield category, source, wanted, unwanted


def has(pattern, text):
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)


def faults(source, text, wanted, unwanted):
    out = [f"no /{p}/" for p in wanted if not has(p, text)] + [f"has /{p}/" for p in unwanted if has(p, text)]
    words = len(text.split())
    if HAN.search(text):
        out.append("Chinese is left")
    if AGAIN.search(text) and not AGAIN.search(" ".join(source)):
        out.append("repeats itself")
    if words > 2 * len(source) + 4 or words < len(source) // 5:
        out.append(f"{words} words for {len(source)} characters")
    return out


def translate(tool, model, sources):
    text = "\n".join(sources).encode() + b"\n"
    done = subprocess.run([tool, "-m", model, "--json"], input=text, capture_output=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(done.stderr.decode())
    return [json.loads(line)["text"] for line in done.stdout.decode().splitlines()]


def main():
    tool, model, *show = sys.argv[1:]
    table = list(read(pathlib.Path(__file__).resolve().parent / "everyday.tsv"))
    texts = translate(tool, model, [source for _, source, _, _ in table])
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
    print(f"{'all':12s} {total:3d} of {LINES}, {100 * total / LINES:.1f} %; at least {AT_LEAST} must pass")
    sys.exit(total < AT_LEAST)


if __name__ == "__main__":
    main()
