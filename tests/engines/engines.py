"""Shared by the scripts that make fixtures: checking committed fixtures (./test.sh --all).

    SCRIPT --check [--tool build/translate] [NAME...]

Nothing is written. The engine that a fixture comes from reads the committed files again, and must give the committed output;
so must this project's program. Differences are printed line by line, and the exit status is then 1.
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def wanted():
    """Whether the script shall check the committed files, and not make them."""
    return "--check" in sys.argv[1:]


def check_where_asked(check, fixtures=(), flags=()):
    """If the script shall check: runs check(to, name) for the fixtures named, or for all, or check(to) of a script with only
    one, and exits. flags: see Check."""
    if not wanted():
        return
    to = Check(*flags)
    for arguments in [[name] for name in to.names or fixtures] if fixtures else [[]]:
        check(to, *arguments)
    to.finish()


def check_or_make(check, make, fixtures):
    """The main program of a script with a fixture for each name: checks, or makes those named, or all."""
    check_where_asked(check, fixtures)
    for name in sys.argv[1:] or fixtures:
        make(name)


class Check:
    def __init__(self, *flags):
        """flags: options of the script, each without a value; `given` holds those that were used."""
        parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].strip())
        parser.add_argument("--check", action="store_true")
        parser.add_argument("--tool", default=ROOT / "build/translate")
        parser.add_argument("names", nargs="*")
        parser.set_defaults(given=[])
        for flag in flags:
            parser.add_argument(flag, action="append_const", const=flag, dest="given")
        options = parser.parse_args()
        self.tool, self.names, self.given = options.tool, options.names, options.given
        self.compared = self.different = 0

    def same(self, what, expected, found):
        """One comparison, of tokens or text."""
        self.compared += 1
        if expected == found:
            return
        self.different += 1
        if self.different <= 20:
            print(f"{what}:\n  expected {expected}\n  found    {found}", file=sys.stderr)

    def each(self, what, expected, found):
        expected, found = list(expected), list(found)
        self.same(f"{what}: number of lines", len(expected), len(found))
        for number, (a, b) in enumerate(zip(expected, found)):
            self.same(f"{what}: line {number}", a, b)

    def alike(self, what, expected, found, least, same=lambda a, b: a == b):
        """One comparison of lines, some of which may differ: the engines round sums in another order."""
        pairs = list(zip(expected or [], found or []))
        count = sum(same(a, b) for a, b in pairs)
        self.compared += 1
        if count >= least and len(expected) == len(found) == len(pairs):
            return
        self.different += 1
        print(f"{what}: {count} lines are the same, not {least} at least; "
              f"{len(expected or [])} expected, {len(found or [])} found", file=sys.stderr)

    def run(self, *arguments, lines=()):
        """Output of this project's program, line by line."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TRANSLATE_")}
        done = subprocess.run([self.tool, *map(str, arguments)], input="".join(line + "\n" for line in lines), text=True,
                              encoding="utf-8", capture_output=True, env=environment, check=False)
        if done.returncode != 0:
            self.same(" ".join(map(str, arguments)), "", done.stderr.strip())
            return []
        return done.stdout.removesuffix("\n").split("\n")

    def translate(self, model, sources, *options):
        """Source ids to target ids, without EOS; one sentence a line. Leave out empty lines, which have nothing to
        translate."""
        lines = [" ".join(map(str, source)) for source in sources]
        return [[int(token) for token in line.split()]
                for line in self.run("-m", model, "--tokens", "--ids", *options, lines=lines)]

    def finish(self):
        print(f"{self.compared} compared, {self.different} differ", flush=True)
        sys.exit(1 if self.different or not self.compared else 0)
