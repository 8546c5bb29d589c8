#!/usr/bin/env python3
"""interface.py [--record] COMPILER...: compares the public interface with the recorded one, interface.txt beside this file.

The record has each declaration of include/translate/*.h on a line of its own, without comments: functions, types, fields,
values. A new line is an addition, which old programs do not see. A line that is gone or changed breaks programs that were
compiled before: then the soname has to change as well. --record writes the file anew, for the change to be seen and decided.
"""
import difflib
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
INCLUDE = FOLDER.parents[1] / "include"


def declarations(compiler):
    """The declarations of the headers, in their order."""
    source = "".join(f"#include <translate/{h.name}>\n" for h in sorted(INCLUDE.glob("translate/*.h")))
    out = subprocess.run([*compiler, "-std=c11", "-E", "-x", "c", f"-I{INCLUDE}", "-"], input=source, check=True,
                         capture_output=True, text=True).stdout
    own, text = False, []
    for line in out.splitlines():
        if marker := re.match(r'# \d+ "(.*?)"', line):
            own = "/translate/" in marker[1]
        elif own:
            text.append(line)
    depth, begin, text = 0, 0, re.sub(r'__attribute__\s*\(\(visibility\s*\("default"\)\)\)', "", " ".join(text))
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            yield re.sub(r"\s+", " ", text[begin:i + 1]).strip()
            begin = i + 1


def main():
    record = sys.argv[1:2] == ["--record"]
    file = FOLDER / "interface.txt"
    now = "".join(line + "\n" for line in declarations(sys.argv[1 + record:]))
    if record:
        file.write_text(now, encoding="utf-8")
        return
    recorded = file.read_text(encoding="utf-8")
    if now == recorded:
        return
    sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), now.splitlines(True), "recorded", "now"))
    gone = set(recorded.splitlines()) - set(now.splitlines())
    sys.exit(f"the interface has changed: {len(gone)} declarations are gone or other than before" if gone else
             "the interface has grown: tests/headers/interface.py --record cc")


main()
