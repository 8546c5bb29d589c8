#!/usr/bin/env python3
"""Documents of HTML that are written with other texts have the same elements, for a reader that others wrote: html5lib.

readers_html.py TOOL FOLDER [FILE...]
TOOL    document-tool of a build
FOLDER  tree-construction of github.com/html5lib/html5lib-tests (before it moved to web-platform-tests); "-": none
FILE    other documents, such as samples/html/*

XHTML must stay well-formed, too. Needs html5lib from PyPI. By hand; nothing of the tests is kept here."""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import html5lib

# Attributes that are translated or become UTF-8.
CHANGED = {"alt", "title", "placeholder", "aria-label", "value", "content", "label", "summary", "charset"}

# Elements that are left out: <wbr> tells where a word of the source may be divided.
DROPPED = {"wbr"}


def documents(folder):
    for path in sorted(pathlib.Path(folder).glob("*.dat")):
        for part in re.split(rb"(?:^|\n\n)#data\n", path.read_bytes())[1:]:
            yield path.name, re.split(rb"\n?#errors\n", part, maxsplit=1)[0]


def run(tool, command, document, *arguments):
    done = subprocess.run([tool, "html", command, *arguments], input=document, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    return done.stdout


def written(tool, document):
    """The document with [ ] around the text of each unit."""
    units = run(tool, "list", document).split(b"\n")[:-1]
    with tempfile.NamedTemporaryFile() as lines:
        lines.write(b"".join(b"[" + unit + b"]\n" for unit in units))
        lines.flush()
        return run(tool, "write", document, "lines=" + lines.name), len(units)


def elements(document):
    """Elements with their depths and attributes, and all text without white space."""
    tree = html5lib.parse(document.decode("utf-8", "replace"), namespaceHTMLElements=False, scripting=False)
    found, text = [], []

    def walk(node, depth):
        if isinstance(node.tag, str) and node.tag not in DROPPED:
            attributes = {k: v for k, v in node.attrib.items() if k not in CHANGED}
            found.append((depth, node.tag, sorted(attributes.items(), key=str)))
            text.append(node.text or "")
        for child in node:
            walk(child, depth + 1)
            text.append(child.tail or "")

    walk(tree, 0)
    return found, re.sub(r"[\s\[\]\0\ufffd]", "", "".join(text))


def check(tool, name, document, totals):
    result, units = written(tool, document)
    if name.endswith(".xhtml"):
        names = [[node.tag for node in xml.etree.ElementTree.fromstring(d).iter()] for d in (document, result)]
        totals["wrong"] += names[0] != names[1]
    before, after = elements(document), elements(result)
    totals["documents"] += 1
    totals["units"] += units
    if before == after:
        return
    totals["wrong"] += 1
    print(f"{name}: {document!r}\n  becomes {result!r}")
    print("  other " + ("text" if before[0] == after[0] else "elements"))


def main():
    tool, folder, *files = sys.argv[1:]
    totals = {"documents": 0, "units": 0, "wrong": 0}
    for name, document in documents(folder) if folder != "-" else []:
        check(tool, name, document, totals)
    for path in files:
        check(tool, path, pathlib.Path(path).read_bytes(), totals)
    print(", ".join(f"{count} {name}" for name, count in totals.items()))
    return 1 if totals["wrong"] or not totals["documents"] else 0


if __name__ == "__main__":
    sys.exit(main())
