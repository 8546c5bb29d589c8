#!/usr/bin/env python3
"""Makes C of a web page: one string that holds the page with the style sheets and scripts that it names in it.
Usage: embed.py PAGE.html NAME HEADER OUT.c"""
import pathlib
import re
import sys

PER_LINE = 24


def embed(page):
    """The page's text; what it names lies beside it."""
    def contents(name, end):
        text = (page.parent / name).read_text(encoding="utf-8")
        if end in text.lower():
            sys.exit(f"{page.parent / name}: holds {end}, which would end it in the page")
        return text

    text = page.read_text(encoding="utf-8")
    text = re.sub(r'<link rel="stylesheet" href="([^":]+)">',
                  lambda m: "<style>\n" + contents(m[1], "</style") + "</style>", text)
    return re.sub(r'<script src="([^":]+)"></script>',
                  lambda m: "<script>\n" + contents(m[1], "</script") + "</script>", text)


def main():
    page, name, header, out = sys.argv[1:]
    data = embed(pathlib.Path(page)).encode()
    if 0 in data:
        sys.exit(f"{page}: holds a NUL")
    rows = [", ".join(str(b) if b < 128 else f"(char){b}" for b in data[i:i + PER_LINE])
            for i in range(0, len(data), PER_LINE)]
    pathlib.Path(out).write_text(f'#include "{header}"\n\nconst char {name}[] = {{\n' + ",\n".join(rows) + ", 0};\n")


if __name__ == "__main__":
    main()
