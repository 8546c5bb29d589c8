#!/usr/bin/env python3
"""What faithful text costs: BLEU, flags and speed with `--protect on` and `off`.

    bench/faithful.py [--rounds 9] [--cores 1] TSV...

TSV files (plain or .xz) hold SOURCE TAB REFERENCE a line. Needs sacrebleu. Speeds are those of whole runs of the command
on one thread, alternating, medians: of lines without spans and figures, of tests/text/spans.tsv and figures.tsv.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
import time

from sacrebleu.metrics import BLEU

from common import ROOT, alternate, answer_lines, read_pairs

FIGURE = re.compile("[0-9０-９一二三四五六七八九十百千万亿两半]")
SPAN = re.compile("[A-Za-z<>{}%#@&`/\\\\*_\\[\\]|~=^+]")


def translate(tool, lines, *options):
    return [json.loads(line) for line in answer_lines([tool, "-q", "--json", *options], lines)]


def seconds(tool, lines, *options):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        begin = time.perf_counter()
        subprocess.run([tool, "-q", "-T", "1", "-i", file.name, *options], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


def column(path):
    return [line.split("\t")[0].rstrip("\n") for line in path.open(encoding="utf-8") if not line.startswith("# ")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tsv", nargs="+")
    parser.add_argument("--tool", default=str(ROOT / "build/translate"))
    parser.add_argument("--count", type=int, default=100000, help="lines, default all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cores", default=str(max(os.sched_getaffinity(0))))
    o = parser.parse_args()

    pairs = read_pairs(o.tsv, o.count, 1)
    sources, references = [p[0] for p in pairs], [p[1] for p in pairs]
    on, off = translate(o.tool, sources), translate(o.tool, sources, "--protect", "off")
    bleu = BLEU()
    scores = [bleu.corpus_score([r["text"] for r in results], [references]).score for results in (on, off)]
    print(f"{len(pairs)} lines: BLEU {scores[0]:.2f} on, {scores[1]:.2f} off; "
          f"{sum(a['text'] != b['text'] for a, b in zip(on, off))} differ")
    figures = [r for r, s in zip(on, sources) if FIGURE.search(s)]
    flagged = [r for r in figures if "number" in r["flags"]]
    print(f"{len(figures)} lines with figures: {len(flagged)} flagged")

    os.sched_setaffinity(0, [int(core) for core in o.cores.split(",")])
    plain = [s for s in sources if not FIGURE.search(s) and not SPAN.search(s)][:600]
    sets = {"no spans, no figures": plain, "spans": column(ROOT / "tests/text/spans.tsv"),
            "figures": column(ROOT / "tests/text/figures.tsv")}
    for name, lines in sets.items():
        ways = [lambda way=way: seconds(o.tool, lines, "--protect", way) for way in ("off", "on")]
        off, on = alternate(o.rounds, *ways)
        print(f"{name} ({len(lines)} lines): {off:.3f} s off, {on:.3f} s on, speed {off / on:.3f}", flush=True)


if __name__ == "__main__":
    main()
