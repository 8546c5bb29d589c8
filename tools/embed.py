#!/usr/bin/env python3
"""Makes C of web pages.
Usage: embed.py PAGE.html NAME HEADER OUT.c      one string that holds the page with the style sheets and scripts that it
                                                 names in it
       embed.py --files FILE... NAME HEADER OUT.c
                                                 an array of files: {name, type, data, size}, with an empty one at its end;
                                                 a page comes once for each language of messages.js, with its texts filled
                                                 in: page.html as page.en.html, page.zh.html"""
import html
import json
import pathlib
import re
import sys

PER_LINE = 24
TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
LANGUAGES = ("en", "zh")  # in the order of each message


def embed(page):
    """The page's text; what it names lies beside it."""
    def contents(name, end):
        text = (page.parent / name).read_text(encoding="utf-8")
        if end in text.lower():
            sys.exit(f"{page.parent / name}: holds {end}, which would end it in the page")
        return text

    def script(name):
        """A module as a plain script: what it exports is visible to the page's other scripts."""
        return re.sub(r"(?m)^export ", "", contents(name, "</script"))

    text = page.read_text(encoding="utf-8")
    text = re.sub(r'<link rel="stylesheet" href="([^":]+)">',
                  lambda m: "<style>\n" + contents(m[1], "</style") + "</style>", text)
    return re.sub(r'<script src="([^":]+)"></script>',
                  lambda m: "<script>\n" + script(m[1]) + "</script>", text)


def translate(page, language):
    """The page with the texts that its attributes name: data-t for contents, data-t-NAME for attributes."""
    text = (page.parent / "messages.js").read_text(encoding="utf-8")
    messages = json.loads(text.partition("export default ")[2].rstrip(";\n"))

    def message(key):
        if key not in messages:
            sys.exit(f"{page}: {key} is not in messages.js")
        return html.escape(messages[key][LANGUAGES.index(language)])

    text = page.read_text(encoding="utf-8").replace("<html", f'<html lang="{language}"', 1)
    text = re.sub(r'data-t-([a-z-]+)="([^"]+)"', lambda m: f'{m[1]}="{message(m[2])}" {m[0]}', text)
    return re.sub(r'(<[^<>]* data-t="([^"]+)"[^<>]*>)', lambda m: m[1] + message(m[2]), text)


def array(name, text):
    """C of an array of characters, which ends with a NUL."""
    data = text.encode()
    if 0 in data:
        sys.exit(f"{name}: holds a NUL")
    rows = [", ".join(str(b) if b < 128 else f"(char){b}" for b in data[i:i + PER_LINE])
            for i in range(0, len(data), PER_LINE)]
    return f"const char {name}[] = {{\n" + ",\n".join(rows) + ", 0};\n"


def embed_files(files, name):
    texts = {}
    for file in map(pathlib.Path, files):
        if file.suffix == ".html":
            for language in LANGUAGES:
                texts[f"{file.stem}.{language}.html"] = translate(file, language)
        else:
            texts[file.name] = file.read_text(encoding="utf-8")
    arrays = "".join(f"static {array(f'file_{i}', text)}\n" for i, text in enumerate(texts.values()))
    rows = "".join(f'    {{"{file}", "{TYPES[pathlib.Path(file).suffix]}; charset=utf-8", file_{i}, sizeof file_{i} - 1}},\n'
                   for i, file in enumerate(texts))
    return f"{arrays}const embedded_file {name}[] = {{\n{rows}    {{0}},\n}};\n"


def main():
    *files, name, header, out = sys.argv[1:]
    text = embed_files(files[1:], name) if files[0] == "--files" else array(name, embed(pathlib.Path(files[0])))
    pathlib.Path(out).write_text(f'#include "{header}"\n\n{text}', encoding="utf-8")


if __name__ == "__main__":
    main()
