#!/usr/bin/env python3
"""Speed with Firefox's int8 models compared with fxtranslate, the native engine for them on PyPI: one core, a sentence at a
time.

    bench/bergamot.py DIR... --lines TEXT [--python PYTHON] [--core N] [--rounds 5] [--count 16] [--shortlist]

DIR holds model.PAIR.intgemm.alphas.bin and its vocabularies; tests/bergamot/make_bergamot.py --no-eos makes such models of
every published shape, whose text is noise and runs to each engine's own cap: 2 n + 2 tokens of n source tokens here, 2 n +
4, at most 256, there. --python is the Python that has fxtranslate and sentencepiece. Both engines run on the same core, in
turns, each in a process of its own; wall time, the median of the rounds. Without --shortlist both compute the full
vocabulary.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

import common

# For each line on stdin, translates all lines, and prints the seconds and the number of tokens.
PEER = r"""
import pathlib, sys, time
import fxtranslate, sentencepiece
folder, listed = pathlib.Path(sys.argv[1]), sys.argv[3] == "1"
lines = open(sys.argv[2], encoding="utf-8").read().splitlines()
def one(*patterns):
    return next((p.read_bytes() for pattern in patterns for p in sorted(folder.glob(pattern))), None)
source = one("srcvocab.*.spm", "vocab.*.spm")
engine = fxtranslate.Translator(one("model.*.bin"), source, one("trgvocab.*.spm", "vocab.*.spm"),
                                one("lex.*.bin") if listed else None)
pieces = sentencepiece.SentencePieceProcessor(model_proto=source)
tokens = sum(min(2 * len(pieces.encode(line)) + 4, 256) for line in lines)
engine.translate(lines[0])
for _ in sys.stdin:
    start = time.perf_counter()
    for line in lines:
        engine.translate(line)
    print(time.perf_counter() - start, tokens, flush=True)
"""


class Peer:
    def __init__(self, o, folder, lines):
        command = ["taskset", "-c", str(o.core), o.python, "-c", PEER, folder, lines, str(int(o.shortlist))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def round(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            sys.exit("bergamot.py: fxtranslate failed")
        return float(answer[1]) / float(answer[0])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def ours(o, folder, lines):
    command = ["taskset", "-c", str(o.core), str(o.tool), "bench", "--json", "-m", folder, "-i", lines, "-T", "1",
               "--batch-size", "1",
               "--rounds", "1", "--shortlist", "auto" if o.shortlist else "off"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["tokens_per_second"]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("folders", nargs="+", metavar="DIR")
    a.add_argument("--lines", required=True)
    a.add_argument("--tool", default=common.ROOT / "build/translate")
    a.add_argument("--python", default=sys.executable)
    a.add_argument("--core", type=int, default=0)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--count", type=int, default=16)
    a.add_argument("--shortlist", action="store_true")
    o = a.parse_args()
    lines = [line.strip() for line in open(o.lines, encoding="utf-8") if line.strip()][: o.count]
    common.note(common.machine())
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        for folder in o.folders:
            peer = Peer(o, folder, file.name)
            pairs = [(ours(o, folder, file.name), peer.round()) for _ in range(o.rounds)]
            peer.end()
            here, there = (statistics.median(column) for column in zip(*pairs))
            print(json.dumps({"model": folder, "tokens_per_second": round(here), "fxtranslate": round(there),
                              "ratio": round(here / there, 2)}), flush=True)


if __name__ == "__main__":
    main()
