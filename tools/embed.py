#!/usr/bin/env python3
"""Makes C of web pages.
Usage: embed.py PAGE.html NAME HEADER OUT.c     one string that holds the page with the style sheets and scripts that it
                                                names in it
       embed.py --files FILE... NAME HEADER OUT.c
                                                an array of files: {name, type, data, size}, with an empty one at its end,
                                                and NAME_inline, what a Content-Security-Policy allows for the pages.
                                                page.html comes once for each language of messages.js, with its texts filled
                                                in, as page.en.html and page.zh.html, with page/style.css and all that
                                                page/main.js imports in it; later.js, which main.js imports when it runs,
                                                comes with all that main.js does not have"""
import base64
import hashlib
import html
import json
import pathlib
import re
import sys

PER_LINE = 24
TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
LANGUAGES = ("en", "zh")  # in the order of each message
LATER = "import(`./later.js?${attempt}`)"
IMPORT = re.compile(r'(?m)^import (.+) from "\./(.+)";$')


def put_in(text, read):
    """The page with its style sheets and scripts in it, and the texts of these. read: the text of a name."""
    parts = []

    def element(tag, name, attributes=""):
        part = f"\n{read(name)}"
        if f"</{tag}" in part.lower():
            sys.exit(f"{name}: holds </{tag}, which would end it in the page")
        parts.append(part)
        return f"<{tag}{attributes}>{part}</{tag}>"

    text = re.sub(r'<link rel="stylesheet" href="([^":]+)">', lambda m: element("style", m[1]), text)
    text = re.sub(r'<script( [^<>]*)? src="([^":]+)"></script>', lambda m: element("script", m[2], m[1] or ""), text)
    return text, parts


def shorten(name, text):
    """Without indentation, and without comments that have lines of their own."""
    if any(line.count("`") % 2 for line in text.splitlines()):
        sys.exit(f"{name}: has a string of several lines")
    return re.sub(r"(?m)^[ ]+", "", re.sub(r"(?ms)^ */\*(?:(?!\*/).)*\*/\n|^ *//[^\n]*\n|^\n", "", text))


def embed(page):
    """The page's text; what it names lies beside it. Its modules become plain scripts, which see what others export."""
    def read(name):
        return re.sub(r"(?m)^export ", "", (page.parent / name).read_text(encoding="utf-8"))

    return put_in(page.read_text(encoding="utf-8"), read)[0]


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


def join(entry, sources, given=()):
    """One script of the module and of those that it imports, but for those given, and their names. Each becomes a function
    that is called once; what it exports is found in `modules`."""
    order = []

    def add(name, path):
        if name in path:
            sys.exit(f"{' imports '.join((*path, name))}: no order is right")
        if name in order or name in given:
            return
        for _, needed in IMPORT.findall(sources[name]):
            add(needed, (*path, name))
        order.append(name)

    def exported(name):
        whole = ["default: whole"] if re.search(r"(?m)^export default ", sources[name]) else []
        names = re.findall(r"(?m)^export (?:(?:async )?function|const) ([\w$]+)", sources[name]) + whole
        if len(names) != len(re.findall(r"(?m)^export\b", sources[name])) or re.search(
                r"(?m)^export const [\w$]+ = [^;(]*, [\w$]+ = ", sources[name]):
            sys.exit(f"{name}: has an export that {pathlib.Path(__file__).name} does not know")
        return names

    def bind(match):
        names, module = match.groups()
        if missing := set(re.findall(r"[\w$]+", names)) - set(exported(module)) if names[0] == "{" else ():
            sys.exit(f"{module}: does not export {', '.join(missing)}")
        names = names if names[0] == "{" else names[len("* as "):] if names[0] == "*" else f"{{ default: {names} }}"
        return f'const {names} = modules["{module}"];'

    def wrap(name):
        text = IMPORT.sub(bind, sources[name])
        text = re.sub(r"(?m)^export default ", "const whole = ", text)
        text = re.sub(r"(?m)^export (?=const |function |async function )", "", text)
        if re.search(r"(?m)^(import|export)\b", text):
            sys.exit(f"{name}: has an import or export that {pathlib.Path(__file__).name} does not know")
        return f'modules["{name}"] = (() => {{\n{text}return {{ {", ".join(exported(name))} }};\n}})();\n'

    add(entry, ())
    return "".join(map(wrap, order)), order


def join_page(sources):
    """The scripts of a page: main.js to be put into it, and later.js."""
    main, first = join("main.js", sources)
    later, others = join("later.js", sources, first)
    if unused := sources.keys() - {*first, *others}:
        sys.exit(f"{', '.join(unused)}: no script imports it")
    if main.count(LATER) != 1:
        sys.exit(f"main.js: does not import later.js by {LATER}")
    main = main.replace(LATER, f'{LATER.replace("./", "./page/")}.then((script) => script.default(modules))')
    return {"main.js": f"const modules = {{}};\n{main}",
            "later.js": f'export default (modules) => {{\n{later}return modules["later.js"];\n}};\n'}


def array(name, text):
    """C of an array of characters, which ends with a NUL."""
    data = text.encode()
    if 0 in data:
        sys.exit(f"{name}: holds a NUL")
    rows = [", ".join(str(b) if b < 128 else f"(char){b}" for b in data[i:i + PER_LINE])
            for i in range(0, len(data), PER_LINE)]
    return f"const char {name}[] = {{\n" + ",\n".join(rows) + ", 0};\n"


def embed_files(files, name):
    paths = {path.name: path for path in map(pathlib.Path, files)}
    texts = {file: path.read_text(encoding="utf-8") for file, path in paths.items() if path.suffix != ".html"}
    texts |= join_page({file: texts.pop(file) for file in list(texts) if file.endswith(".js")})
    texts |= {file: shorten(file, texts[file]) for file in texts if not file.endswith(".svg")}
    inline = {}
    for path in (path for path in paths.values() if path.suffix == ".html"):
        for language in LANGUAGES:
            page, parts = put_in(translate(path, language), lambda address: texts[address.removeprefix("page/")])
            texts[f"{path.stem}.{language}.html"] = page
            inline |= dict.fromkeys(parts)
    for file in ("main.js", "style.css"):
        del texts[file]
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" for part in inline)
    arrays = "".join(f"static {array(f'file_{i}', text)}\n" for i, text in enumerate(texts.values()))
    rows = "".join(f'    {{"{file}", "{TYPES[pathlib.Path(file).suffix]}; charset=utf-8", file_{i}, sizeof file_{i} - 1}},\n'
                   for i, file in enumerate(texts))
    return (f"{arrays}const embedded_file {name}[] = {{\n{rows}    {{0}},\n}};\n"
            f'const char {name}_inline[] = "{hashes}";\n')


def main():
    *files, name, header, out = sys.argv[1:]
    text = embed_files(files[1:], name) if files[0] == "--files" else array(name, embed(pathlib.Path(files[0])))
    pathlib.Path(out).write_text(f'#include "{header}"\n\n{text}', encoding="utf-8")


if __name__ == "__main__":
    main()
