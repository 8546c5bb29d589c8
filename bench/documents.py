#!/usr/bin/env python3
"""Compares documents with plain lines of the same text: bench/documents.py TSV... [--rounds N], or --large MB.

TSV: files of a source, a TAB and a reference; their sources are the lines.

Runs alternate on the same cores. Prints for each format the time of the lines divided by that of the document: 1.00 as fast,
0.90 ten per cent slower. In bold.html a third of the lines have bold words, which need alignments. With --large
MB prints the seconds and the peak of memory of reading and writing documents of so many megabytes that hold no word of the
source language, so that the network has nothing to do.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

from common import ROOT, peak_of_stats, read_pairs


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def cue(number, text, dot):
    at = f"{number // 360 % 100:02}:{number // 6 % 60:02}:{number % 6 * 10:02}{dot}000"
    end = f"{number // 360 % 100:02}:{number // 6 % 60:02}:{number % 6 * 10 + 5:02}{dot}000"
    return f"{number}\n{at} --> {end}\n{text}\n\n"


XLIFF = """<?xml version="1.0"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
<file original="a" source-language="zh" target-language="en" datatype="plaintext"><body>
%s</body></file></xliff>
"""
FORMATS = {
    "txt": lambda lines: "".join(f"{line}\n" for line in lines),
    "csv": lambda lines: "".join(f'{i},"{line}"\n' for i, line in enumerate(lines)),
    "html": lambda lines: "".join(f"<p>{escaped(line)}</p>\n" for line in lines),
    "json": lambda lines: json.dumps(lines, ensure_ascii=False, indent=1),
    "md": lambda lines: "".join(f"{line}\n\n" for line in lines),
    "po": lambda lines: "".join(f'msgctxt "{i}"\nmsgid "{line}"\nmsgstr ""\n\n' for i, line in enumerate(lines)),
    "srt": lambda lines: "".join(cue(i, line, ",") for i, line in enumerate(lines)),
    "tsv": lambda lines: "".join(f"{i}\t{line}\n" for i, line in enumerate(lines)),
    "vtt": lambda lines: "WEBVTT\n\n" + "".join(cue(i, line, ".") for i, line in enumerate(lines)),
    "xliff": lambda lines: XLIFF % "".join(f'<trans-unit id="{i}"><source>{escaped(line)}</source></trans-unit>\n'
                                          for i, line in enumerate(lines)),
    "xml": lambda lines: "<a>\n" + "".join(f"<b>{escaped(line)}</b>\n" for line in lines) + "</a>\n",
    "yaml": lambda lines: "".join(f'k{i}: "{line}"\n' for i, line in enumerate(lines)),
}


def seconds(tool, path):
    begin = time.perf_counter()
    subprocess.run([tool, "-q", "-i", path, "-o", f"{path}.out"], check=True)
    return time.perf_counter() - begin


def bold(lines):
    """The middle of every third line is bold."""
    return [line if i % 3 else re.sub(r"^(.{2,})(..)(.+)$", r"\1<b>\2</b>\3", line) for i, line in enumerate(lines)]


def compare(o, folder):
    lines = [source for source, _ in read_pairs(o.pairs, 1000000, 1) if not set(source) & set("<>&\"\\\t{}[]*_`#|~$@/")]
    documents = {name: make(lines) for name, make in FORMATS.items()}
    documents["bold.html"] = "".join(f"<p>{line}</p>\n" for line in bold(lines))
    paths = {}
    for name, text in documents.items():
        paths[name] = pathlib.Path(folder) / f"lines.{name}"
        paths[name].write_text(text, encoding="utf-8")
    times = {name: [] for name in paths}
    for _ in range(o.rounds):
        for name, path in paths.items():
            times[name].append(seconds(o.tool, path))
    for name in paths:
        ratio = statistics.median(a / b for a, b in zip(times["txt"], times[name]))
        print(f"{name:10} {len(lines)} lines {statistics.median(times[name]):7.3f} s {ratio:6.2f}", flush=True)


def large(o, folder):
    line = "The quick brown fox jumps over the lazy dog, 1234 times. "
    for name, make in FORMATS.items():
        if name in ("html", "md", "yaml"):
            continue  # limited to 16 MiB
        count = o.large * 1000000 // len(make([line + f"{i:07}" for i in range(1000)])) * 1000
        path = pathlib.Path(folder) / f"large.{name}"
        path.write_text(make([line + f"{i:07}" for i in range(count)]), encoding="utf-8")
        begin = time.perf_counter()
        said = subprocess.run([o.tool, "--stats", "-q", "-i", path, "-o", f"{path}.out"], check=True, capture_output=True,
                              text=True)
        taken = time.perf_counter() - begin
        same = path.read_bytes() == pathlib.Path(f"{path}.out").read_bytes()
        print(f"{name:10} {path.stat().st_size / 1e6:6.0f} MB {taken:6.1f} s, peak {peak_of_stats(said.stderr)} MB, "
              f"{'same bytes' if same else 'other bytes'}", flush=True)
        path.unlink()
        pathlib.Path(f"{path}.out").unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=ROOT / "build/translate")
    parser.add_argument("pairs", nargs="*", metavar="TSV")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", type=int, metavar="MB")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if o.large:
            large(o, folder)
        else:
            compare(o, folder)


if __name__ == "__main__":
    main()
