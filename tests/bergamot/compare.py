#!/usr/bin/env python3
"""How many lines of Firefox's int8 models become the same text here, in the int8 reference and in the engines made for them.

    tests/bergamot/compare.py DIR... --lines TEXT [--translate build/translate] [--node bergamot_wasm.js] [--count 100]

For each DIR: the reference (make_bergamot.py --decode), fxtranslate if this Python has it (it runs SSRU decoders alone, and stops
two tokens later, so that a line of its may go on where ours was cut), and with --node Bergamot's own engine, by a script that answers the lines on its stdin with a line each:
node SCRIPT DIR [--no-shortlist]. Where DIR holds a shortlist, all is done with and without it. Exits 1 where fewer than
98 of 100 lines are the reference's.
"""
import argparse
import pathlib
import subprocess
import sys

try:
    import fxtranslate
except ImportError:
    fxtranslate = None

HERE = pathlib.Path(__file__).resolve().parent


def output(command, lines):
    done = subprocess.run(command, input="".join(line + "\n" for line in lines).encode(), capture_output=True, check=False)
    if done.returncode:
        return None
    return done.stdout.decode().removesuffix("\n").split("\n")


def reference(folder, lines, listed):
    answer = output([sys.executable, str(HERE / "make_bergamot.py"), "--decode", str(folder), *([] if listed else ["--no-shortlist"])], lines)
    return [line.split("\t", 1)[1] for line in answer] if answer else None


def native(folder, lines, listed):
    """None: it cannot run this model."""
    def one(*patterns):
        return next((p.read_bytes() for pattern in patterns for p in sorted(folder.glob(pattern))), None)
    if not fxtranslate:
        return None
    try:
        engine = fxtranslate.Translator(one("model.*.bin"), one("srcvocab.*.spm", "vocab.*.spm"), one("trgvocab.*.spm", "vocab.*.spm"),
                                        one("lex.*.bin") if listed else None)
        return [engine.translate(line) for line in lines]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # its panics are not Exceptions
        return None


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("folders", nargs="+", metavar="DIR", type=pathlib.Path)
    a.add_argument("--lines", required=True)
    a.add_argument("--translate", default="build/translate")
    a.add_argument("--node", metavar="SCRIPT")
    a.add_argument("--count", type=int, default=100)
    o = a.parse_args()
    lines = [line.strip() for line in open(o.lines, encoding="utf-8") if line.strip()][: o.count]
    bad = 0
    for folder in o.folders:
        for listed in (True, False) if any(folder.glob("lex.*.bin")) else (False,):
            ours = output([o.translate, "-m", str(folder), "--split", "never", "--shortlist", "auto" if listed else "off"], lines)
            if not ours:
                sys.exit(f"{folder}: translate failed")
            others = {"reference": reference(folder, lines, listed), "fxtranslate": native(folder, lines, listed)}
            if o.node:
                others["bergamot"] = output(["node", o.node, str(folder), *([] if listed else ["--no-shortlist"])], lines)
            same = {name: sum(b.startswith(a) if name == "fxtranslate" else a == b for a, b in zip(ours, other))
                    for name, other in others.items() if other}
            bad += same["reference"] * 100 < 98 * len(lines)
            print(f"{folder}{' with its shortlist' if listed else ''}: of {len(lines)} lines " +
                  ", ".join(f"{count} as {name}" for name, count in same.items()), flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
