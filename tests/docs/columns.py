#!/usr/bin/env python3
"""columns.py FOLDER: a line of code has at most 125 characters, one of a document 120. Exceptions: tables, code blocks and
lines with only a link in Markdown, files that begin by switching clang-format off, and pages that are texts to translate.
"""
import os
import pathlib
import re
import sys

CODE = {".c", ".h", ".cc", ".py", ".sh", ".js", ".css", ".html"}
OTHER_CODE = {"meson.build", "meson_options.txt", ".ci/run"}
DOCUMENTS = {".md", ".1"}


def files(root):
    for folder, folders, names in os.walk(root):
        at = pathlib.Path(folder)
        folders[:] = [f for f in folders if f not in (".git", "__pycache__") and not (at == root and f.startswith("build"))]
        yield from (at / name for name in names)


def most(path, name):
    """The maximum length of lines; None: no limit."""
    if path.suffix == ".html" and not name.startswith("src/"):
        return None
    if path.suffix in CODE or path.name in OTHER_CODE or name in OTHER_CODE:
        return 125
    return 120 if path.suffix in DOCUMENTS else None


def lines_of(path):
    """(number, line), without lines that Markdown cannot break."""
    fence = False
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines[:1] == ["/* clang-format off */"]:
        return
    for number, line in enumerate(lines, 1):
        if path.suffix == ".md":
            mark = line.lstrip().startswith(("```", "~~~"))
            fence ^= mark
            if fence or mark or line.lstrip().startswith("|") or re.fullmatch(r"\W*\[[^][]*\]\([^()]*\)\W*", line):
                continue
        yield number, line


def main():
    root = pathlib.Path(sys.argv[1])
    failures = 0
    for path in files(root):
        name = path.relative_to(root).as_posix()
        width = most(path, name)
        if width is None:
            continue
        for number, line in lines_of(path):
            if len(line) > width:
                print(f"{name}:{number}: {len(line)} characters, more than {width}")
                failures += 1
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
