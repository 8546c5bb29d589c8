#!/usr/bin/env python3
"""Models with damage of every kind (kinds.py), made from one model of each format: a refusal must be one line, and an
accepted model must give valid results (check_model.c describes them).

    mutate.py CHECK TRANSLATE [--seed SEED] [--count N | --seconds N] [--only NAME]... [--keep FOLDER] [--jobs N]

CHECK and TRANSLATE are check_model and the command, built with sanitizers; every SAMPLE-th mutant is also given to the
command. A run can be repeated: a mutant depends on SEED, its model's name and its number alone. So tests always see the
same mutants; after a change of a reader, run others by hand (--seed $RANDOM --seconds 600). A mutant that fails is kept
in FOLDER, with a file that has the reason and the command to run. A model that is moved from there to
tests/mutation/found is checked first in every run.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import kinds

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
COUNT = 5000  # number of mutants in a run
SAMPLE = 50
HANGS = 60  # seconds by the clock, for a busy machine
NO_MODEL = ("expected.json", "expected.txt", "unlisted.txt", "logits.bin", "README.md")
NOBODY = 65534
OPTIONS = {"ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512:hard_rss_limit_mb=2000:"
                           "detect_leaks=1",
           "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


# ---------------------------------------------------------------------------------------------------------------- seeds


def folder(path):
    """{name: content} of a directory's files; of a single file, only that."""
    path = TESTS / path
    if path.is_file():
        return {path.name: path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*"))
            if file.is_file() and file.name not in NO_MODEL}


def torch(pattern, name=None):
    files = {name or path.name: path.read_bytes() for path in (TESTS / "formats/torch").glob(pattern)}
    return {**folder("formats/torch/model"), **files}


def read_seeds(convert):
    reference, languages = "reference/fixtures/", "languages/fixtures/"
    seeds = {
        "marian": folder(reference + "relu-1x1-f32/model"), "bart": folder(reference + "bart-2x1-bf16/model"),
        "m2m": folder(languages + "m2m100/model"), "t5": folder(reference + "t5-2x2-f32/model"),
        "nllb": folder(languages + "nllb-json/model"), "mbart": folder(languages + "mbart50/model"),
        "torch-zip": torch("zip-f32.bin", "pytorch_model.bin"),
        "torch-legacy": torch("legacy-bf16.bin", "pytorch_model.bin"),
        "shards": torch("shards/*.safetensors*"), "torch-shards": torch("shards/pytorch*"),
        "ct2-int8": folder("ctranslate2/fixtures/marian-int8"), "ct2-float": folder("ctranslate2/fixtures/t5-float32"),
        "npz": folder("marian/fixtures/plain-npz"), "npz-deflated": folder("marian/fixtures/deflated-npz"),
        "npz-spm": folder("marian/fixtures/spm"), "bin": folder("marian/fixtures/ssru-bin"),
        "bergamot": folder("bergamot/fixtures/package"), "argos": folder("argos/fixtures/deflated-int8.argosmodel"),
        "argos-bpe": folder("argos/fixtures/bpe-en-de.argosmodel"), "argos-folder": folder("argos/fixtures/folder"),
        "llama": folder("llama/fixtures/t5-small-blocks.gguf"),
    }
    for name, source, compute in (("gguf", "marian", "f32"), ("gguf-int8", "marian", "int8"),
                                  ("gguf-languages", "nllb", "f16"),
                                  ("gguf-lexicon", "bergamot", "int8"), ("gguf-bpe", "argos-bpe", "f32")):
        seeds[name] = {"model.gguf": convert(seeds[source], compute)}
    return seeds


def write(files, at):
    """A folder, or a single file that needs no directory; returns the path of the model."""
    for name, content in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(content)
    alone = len(files) == 1 and next(iter(files)).endswith((".gguf", ".argosmodel"))
    return at / next(iter(files)) if alone else at


def change(files, chance):
    """A changed file of the model, and its content in the mutant; None: it is missing."""
    name = chance.choice(sorted(files))
    kind = chance.randrange(40) if len(files) > 1 else 3
    if kind < 3:
        return name, [None, b"", files[chance.choice(sorted(files))]][kind]
    return name, kinds.mutate(name, files[name], chance)


# -------------------------------------------------------------------------------------------------------------- running


class Programs:
    """Copies the programs to a folder where an unprivileged user can run them and write."""

    def __init__(self, check, translate, room):
        self.room = pathlib.Path(room)
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        self.check, self.translate = shutil.copy(check, self.room), shutil.copy(translate, self.room)
        self.environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(room), "TMPDIR": str(room),
                            "LC_ALL": "C.UTF-8", **OPTIONS}
        if self.user:
            os.chmod(room, 0o777)

    def start(self, *arguments, **streams):
        return subprocess.Popen([str(argument) for argument in arguments], env=self.environment, **self.user, **streams)

    def run(self, *arguments):
        """(status, stdout, stderr) of the command; status None: it exceeded the time limit."""
        process = self.start(self.translate, *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        try:
            return (lambda out: (process.returncode, *out))(process.communicate(timeout=HANGS))
        except subprocess.TimeoutExpired:
            process.kill()
            return (None, *process.communicate())


class Checker:
    """A process of check_model, which is started again after it ends."""

    def __init__(self, programs, name):
        self.programs, self.scratch, self.errors, self.process = programs, programs.room / f"{name}.gguf", None, None

    def stop(self):
        """The fault that it reports at its end."""
        if not self.process:
            return ""
        self.process.stdin.close()
        status = self.process.wait()
        self.process.stdout.close()
        self.process = None
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace")
        self.errors.close()
        return f"status {status}\n{said}" if status else ""

    def look_at(self, path):
        """check_model's line; if it crashed, "wrong", the reason, and all its output."""
        if not self.process:
            self.errors = tempfile.TemporaryFile()
            self.process = self.programs.start(self.programs.check, self.scratch, stdin=subprocess.PIPE,
                                               stdout=subprocess.PIPE, stderr=self.errors)
        self.process.stdin.write(os.fsencode(path) + b"\n")
        self.process.stdin.flush()
        answered = select.select([self.process.stdout], [], [], HANGS)[0]
        if not answered:
            self.process.kill()
        line = self.process.stdout.readline() if answered else b""
        if line and not line.startswith(b"wrong memory"):
            return line.decode(errors="backslashreplace").rstrip("\n")
        said = self.stop()
        what = re.search(r"(SUMMARY: .*|runtime error: .*|Assertion .*|hard rss limit.*)", said)
        ended = "it hangs" if not answered else what[1] if what else "it ended"
        why = line.decode(errors="backslashreplace")[6:].strip() or ended
        return f"wrong {why}\n{said}"


CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")


def look_with_command(programs, path, scratch):
    """As CHECK, but for the command: a valid status, a line for each message, and no control characters."""
    runs = [("info", path), ("info", "--json", path), ("convert", "-q", "--force", path, scratch),
            ("tokenize", "-m", path, "pa luo"), ("score", "-m", path, "-T", "1", "--json", "pa", "luo"),
            ("-m", path, "-T", "1", "-b3", "-n3", "--json", "--alignment", "pa luo."),
            ("-m", path, "-T", "1", "--tokens", "▁5")]
    for run in runs:
        status, out, errors = programs.run(*run)
        what = f"wrong {' '.join(map(str, run))}"
        if status not in (0, 1, 2) or b"Sanitizer" in errors or b"runtime error" in errors:
            return f"{what}: status {status}\n{errors.decode(errors='replace')}"
        if CONTROL.search(out) or CONTROL.search(errors):
            return f"{what}: control characters\n{out!r}\n{errors!r}"
        odd, several = (status == 0) != (errors == b""), errors.count(b"\n") > 1
        if odd and not errors.startswith(b"translate: ") or several and status:
            return f"{what}: status {status} with {errors[:500]!r}"
        if status and out and run[0] == "info":
            return f"{what}: status {status} with output"
    return ""


# ---------------------------------------------------------------------------------------------------------------- a run


class Run:
    def __init__(self, arguments, programs):
        self.arguments, self.programs = arguments, programs
        self.seeds = read_seeds(self.convert)
        self.names = [name for name in self.seeds if not arguments.only or name in arguments.only]
        self.lock, self.number = threading.Lock(), 0
        self.end = time.monotonic() + arguments.seconds if arguments.seconds else None
        self.accepted, self.refused, self.kinds = collections.Counter(), collections.Counter(), collections.Counter()

    def convert(self, files, compute):
        with tempfile.TemporaryDirectory(dir=self.programs.room) as room:
            os.chmod(room, 0o777)
            path = write(files, pathlib.Path(room) / "model")
            status, _, errors = self.programs.run("convert", "-q", path, room + "/out.gguf", "--compute", compute)
            if status:
                sys.exit(f"mutate.py: a seed cannot be converted: {errors.decode(errors='replace')}")
            return pathlib.Path(room, "out.gguf").read_bytes()

    def next(self):
        """The next mutant's number; None: the run is complete."""
        with self.lock:
            if time.monotonic() >= self.end if self.end else self.number >= self.arguments.count:
                return None
            self.number += 1
            return self.number - 1

    def keep(self, name, why, path):
        """Records a finding; a few of each kind are kept."""
        first, _, rest = why.partition("\n")
        kind = re.sub(r"0x\w+|[\d.]+|/\S+", "N", first)[:70]
        with self.lock:
            self.kinds[kind] += 1
            number = self.kinds[kind]
        if number > 3:
            return
        place = self.arguments.keep / re.sub(r"\W+", "-", name)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        kept = place / path.name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, kept)
        command = f"{self.arguments.check} /tmp/scratch.gguf {kept}"
        (place / "why.txt").write_text(f"{name}: {first}\n\n    {command}\n\n{rest}\n")
        print(f"{name}: {first[:300]}\n    {command}", flush=True)

    def count(self, name, answer):
        with self.lock:
            (self.accepted if answer == "accepted" else self.refused)[name] += 1

    def look(self, name, path, checker, command):
        answer = checker.look_at(path)
        if command and not answer.startswith("wrong"):
            answer = look_with_command(self.programs, path, checker.scratch) or answer
        if answer.startswith("wrong"):
            self.keep(name, answer[6:], path)
        return answer

    def first(self, checker):
        """The unchanged models are accepted; earlier findings are no faults now."""
        for name in self.names:
            path = write(self.seeds[name], self.programs.room / "seeds" / name)
            if self.look(name, path, checker, False) != "accepted":
                self.keep(name, "the seed is not accepted", path)
        for path in sorted(HERE.joinpath("found").glob("*")):
            self.look(f"found/{path.name}", path, checker, True)

    def work(self, worker):
        """Mutants, one after the other, until there are no more. Of a model's files only the changed one is written."""
        checker = Checker(self.programs, f"scratch-{worker}")
        places = {name: self.programs.room / f"models-{worker}" / name for name in self.names}
        paths = {name: write(self.seeds[name], place) for name, place in places.items()}
        while (number := self.next()) is not None:
            name = self.names[number % len(self.names)]
            chance = random.Random(f"{self.arguments.seed} {name} {number}")
            file, content = change(self.seeds[name], chance)
            target = places[name] / file
            target.unlink() if content is None else target.write_bytes(content)
            answer = self.look(f"{name}-{self.arguments.seed[:12]}-{number}", paths[name], checker,
                               number % SAMPLE == SAMPLE - 1)
            self.count(name, answer)
            target.write_bytes(self.seeds[name][file])
        return checker

    def run(self):
        checker = Checker(self.programs, "scratch")
        self.first(checker)
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            checkers = [checker, *pool.map(self.work, range(self.arguments.jobs))]
        for said in filter(None, (checker.stop() for checker in checkers)):
            self.kinds["at its end"] += 1
            print("check_model at its end: " + said)
        for name in self.names:
            print(f"{name:15} {self.accepted[name]:5} accepted {self.refused[name]:5} refused")
        print(f"seed {self.arguments.seed}: {self.number} mutants, {sum(self.accepted.values())} accepted, "
              f"{sum(self.kinds.values())} findings of {len(self.kinds)} kinds")
        return 1 if self.kinds else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check")
    parser.add_argument("translate")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--only", action="append")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("mutants"))
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    arguments = parser.parse_args()
    arguments.keep = arguments.keep.absolute()
    with tempfile.TemporaryDirectory(prefix="translate-test-") as room:
        sys.exit(Run(arguments, Programs(arguments.check, arguments.translate, room)).run())


if __name__ == "__main__":
    main()
