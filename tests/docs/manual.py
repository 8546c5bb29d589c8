#!/usr/bin/env python3
"""manual.py TRANSLATE PAGE: the manual page has a section for each command, and every option that a command's help lists is
there or among the options of translate itself."""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^ {2}(?:-\w, | {4})--([\w-]+)", re.M)


def options_of(*command):
    text = subprocess.run([sys.argv[1], *command, "--help"], check=True, capture_output=True, encoding="utf-8").stdout
    return set(OPTION.findall(text)), text


def main():
    page = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    parts = re.split(r"^\.Ss translate (\w+)$", page.partition(".Sh ENVIRONMENT")[0], flags=re.M)
    common, sections = parts[0], dict(zip(parts[1::2], parts[2::2]))
    listed, text = options_of()
    commands = re.findall(r"^  ([a-z]+) ", text.partition("\nCommands")[2], re.M)
    missing = [f"translate {c}" for c in sorted(set(commands) - set(sections))]
    for command in [None, *sections]:
        options = options_of(command)[0] if command else listed
        shown = set(re.findall(r"\bFl Fl ([\w-]+)", common + sections.get(command, "")))
        missing += [f"translate {command or ''}: --{o}" for o in sorted(options - shown)]
    print(*(f"{what}: is not in the page" for what in missing), sep="\n")
    sys.exit(bool(missing) or not commands)


if __name__ == "__main__":
    main()
