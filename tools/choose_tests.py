#!/usr/bin/env python3
"""choose_tests.py names|targets DIR SUITE [WORD...]: of the tests that Meson set up in DIR, those of SUITE (if it is not
empty) whose name contains a WORD (if there are any): their names, or what must be built for them, one a line."""
import json
import pathlib
import sys

what, folder, suite, *words = sys.argv[1:]
info = pathlib.Path(folder) / "meson-info"
tests = json.loads((info / "intro-tests.json").read_text())
chosen = [t for t in tests if (not suite or any(s.endswith(":" + suite) for s in t["suite"]))
          and (not words or any(word in t["name"] for word in words))]
if what == "names":
    found = {t["name"] for t in chosen}
else:
    needed = {target for t in chosen for target in t["depends"]}
    targets = json.loads((info / "intro-targets.json").read_text())
    root = pathlib.Path(folder).resolve()
    found = {str(pathlib.Path(file).relative_to(root)) for t in targets if t["id"] in needed for file in t["filename"]}
print(*sorted(found), sep="\n", end="\n" if found else "")
