#!/usr/bin/env python3
"""How many lines have the same text in this program, in the int8 reference and in the engines made for Firefox's int8
models.

    python3 tests/bergamot/compare.py DIR... --lines TEXT [--translate build/translate] [--node] [--count 100]
    python3 tests/bergamot/compare.py --check [--node] [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

For each DIR: the reference (make_bergamot.py --decode), fxtranslate if this Python has it (it runs only SSRU decoders, and
its length limit is two tokens higher, so a line of it may continue after this program's end), and with --node Bergamot's own
engine (bergamot.js; NODE_PATH is the folder of its package). If DIR has a shortlist, everything runs with and without it.
Exits 1 if fewer than 98 of 100 lines equal the reference's.

--check compares the lines of fixtures/, of which at least the numbers below must be equal: with the reference and
fxtranslate, or with --node only with Bergamot's engine.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import fxtranslate
except ImportError:
    fxtranslate = None

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engines"))
import engines  # noqa: E402  (found by the path above)

# Minimum equal lines of 100 (docs/formats.md, How it compares). Without alphas, Bergamot's self-attention differs from the
# reference, too.
REFERENCE, FXTRANSLATE, BERGAMOT, BERGAMOT_FAR = 98, 98, 94, 55
OPTIONS = ["--split", "never", "--loop-guard", "off"]  # the other engines have neither
FIXTURES = {  # whether fxtranslate runs it
    "ssru-one-lex": True,
    "ssru-two": True,
    "ssru-one-plain": False,
    "ssru-two-plain-lex": False,
    "attention-one": False,
    "attention-two-lex": False,
    "attention-one-plain": False,
    "package": True,
}
# The names in translateLocally's packages, and those that make_bergamot.py, fxtranslate and bergamot.js look for
FIREFOX = {"model.intgemm.alphas.bin": "model.enzh.intgemm.alphas.bin", "vocab.spm": "vocab.enzh.spm",
           "lex.s2t.bin": "lex.50.50.enzh.s2t.bin"}


def output(command, lines):
    done = subprocess.run(command, input="".join(line + "\n" for line in lines).encode(), capture_output=True, check=False)
    if done.returncode:
        return None
    return done.stdout.decode().removesuffix("\n").split("\n")


def reference(folder, lines, listed):
    answer = output([sys.executable, str(HERE / "make_bergamot.py"), "--decode", str(folder),
                     *([] if listed else ["--no-shortlist"])], lines)
    return [line.split("\t", 1)[1] for line in answer] if answer else None


def native(folder, lines, listed):
    """None: it cannot run this model."""
    def one(*patterns):
        return next((p.read_bytes() for pattern in patterns for p in sorted(folder.glob(pattern))), None)
    if not fxtranslate:
        return None
    try:
        engine = fxtranslate.Translator(one("model.*.bin"), one("srcvocab.*.spm", "vocab.*.spm"),
                                        one("trgvocab.*.spm", "vocab.*.spm"),
                                        one("lex.*.bin") if listed else None)
        return [engine.translate(line) for line in lines]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # it panics with exceptions that are no Exceptions
        return None


def bergamot(folder, lines, listed):
    return output(["node", str(HERE / "bergamot.js"), str(folder), *([] if listed else ["--no-shortlist"])], lines)


def goes_on(ours, longer):
    return longer == ours or (ours != "" and longer.startswith(ours))


def check(to, name):
    with tempfile.TemporaryDirectory() as folder:
        check_in(pathlib.Path(folder), to, name)


def check_in(folder, to, name):
    """folder: an empty folder."""
    fixture = HERE / "fixtures" / name
    for path in fixture.glob("*.*"):
        (folder / FIREFOX.get(path.name, path.name)).symlink_to(path)
    lines = (HERE / "fixtures" / "lines.txt").read_text(encoding="utf-8").split("\n")[:-1]
    for listed in (True, False) if any(fixture.glob("lex.*")) else (False,):
        what = f"{name}{', its shortlist' if listed else ''}: "
        ours = to.run("-m", fixture, *OPTIONS, "--shortlist", "auto" if listed else "off", lines=lines)
        if to.given:
            least = BERGAMOT_FAR if name == "attention-one-plain" else BERGAMOT
            to.alike(what + "bergamot and translate", bergamot(folder, lines, listed), ours, least)
            continue
        file = "unlisted.txt" if (fixture / "unlisted.txt").exists() and not listed else "expected.txt"
        expected = [line.split("\t")[1] for line in (fixture / file).read_text(encoding="utf-8").split("\n")[:-1]]
        to.alike(what + "reference", expected, reference(folder, lines, listed), REFERENCE)
        to.alike(what + "translate", expected, ours, REFERENCE)
        if FIXTURES[name]:
            to.alike(what + "translate and fxtranslate", ours, native(folder, lines, listed), FXTRANSLATE, goes_on)


def main():
    engines.check_where_asked(check, FIXTURES, ["--node"])
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("folders", nargs="+", metavar="DIR", type=pathlib.Path)
    a.add_argument("--lines", required=True)
    a.add_argument("--translate", default="build/translate")
    a.add_argument("--node", action="store_true")
    a.add_argument("--count", type=int, default=100)
    o = a.parse_args()
    lines = [line.strip() for line in open(o.lines, encoding="utf-8") if line.strip()][: o.count]
    bad = 0
    for folder in o.folders:
        for listed in (True, False) if any(folder.glob("lex.*.bin")) else (False,):
            ours = output([o.translate, "-m", str(folder), *OPTIONS, "--shortlist", "auto" if listed else "off"], lines)
            if not ours:
                sys.exit(f"{folder}: translate failed")
            others = {"reference": reference(folder, lines, listed), "fxtranslate": native(folder, lines, listed)}
            if o.node:
                others["bergamot"] = bergamot(folder, lines, listed)
            same = {name: sum(goes_on(a, b) if name == "fxtranslate" else a == b for a, b in zip(ours, other))
                    for name, other in others.items() if other}
            bad += same["reference"] * 100 < REFERENCE * len(lines)
            print(f"{folder}{' with its shortlist' if listed else ''}: of {len(lines)} lines " +
                  ", ".join(f"{count} as {name}" for name, count in same.items()), flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
