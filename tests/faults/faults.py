#!/usr/bin/env python3
"""Runs the program while one of its calls fails: each allocation, read, write, mapping, look-up ... of each command, one
failure a run.

    faults.py TOOL SHIM [--every K | --all] [--seconds N] [--jobs N] [--only WORD]... [--sanitized]

A run must end with status 0 and the whole output, or with status 1, one line on stderr, at most a part of the output and
no file left; FILE.part may be left if --resume makes the whole output from it. Allocations of other libraries fail in some
runs as well, but the result is only reported: SentencePiece's protobuf crashes, and jansson loses characters of long texts.

All calls that may fail are counted first. Every Kth of them is tried; the first one depends on the commit, so that all are
tried over time. --seconds ends the test earlier; the order depends on the commit. --only selects runs whose names contain
all the words, such as 'gguf-f32/convert alloc'. --sanitized is for a tool that was built with AddressSanitizer.
"""
import argparse
import bisect
import collections
import dataclasses
import errno
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor  # imported now: later, without root's rights, it might not be readable

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "hub"))
from server import Site  # noqa: E402  (found by the path above)

NOBODY = 65534
SKIPPED = 77  # Meson's status for a skipped test
SECONDS = 30  # limit for a run
TEXT = "今天天气很好。 我喜欢读书"
LINES = "".join(f"{line}\n" for line in ("今天天气很好。", "我喜欢读书。他在学校工作。", "", "na dunusielu", "▁5 ▁6 ▁7", TEXT * 3))
HANT = "今天天氣很好，我喜歡讀書，他在學校裡學習漢語。"  # the model with zh_CN must be found among the requested languages

# How calls fail: class, mode, error, and a divisor N: one of N points is tried; 0: only one point.
KINDS = {
    "alloc": ("alloc", "once", "", 1),
    "alloc-on": ("alloc", "on", "", 2),
    "thread": ("thread", "once", "", 1),
    "thread-on": ("thread", "on", "", 1),
    "read": ("read", "once", "EIO", 1),
    "read-short": ("read", "short", "", 0),
    "read-interrupted": ("read", "interrupted", "", 0),
    "write": ("write", "once", "EIO", 1),
    "write-on": ("write", "on", "ENOSPC", 1),
    "write-short": ("write", "short", "", 0),
    "write-interrupted": ("write", "interrupted", "", 0),
    "mmap": ("mmap", "once", "ENOMEM", 1),
    "fsync": ("fsync", "once", "EIO", 1),
    "file": ("file", "once", "EIO", 1),
    "file-limit": ("file", "once", "EMFILE", 4),
    "foreign": ("foreign", "once", "", 40),
}
REMOVING = ("unlink", "unlinkat", "rmdir")  # if these fail, their files may stay

# Models by name: the files of a fixture, and whether they are translated with as tokens.
MODELS = {
    "hf": ("reference/fixtures/relu-1x1-f32/model", False),
    "shards": (("formats/torch/model", "formats/torch/shards/*.safetensors*"), False),
    "torch-zip": (("formats/torch/model", "formats/torch/zip-f32.bin:pytorch_model.bin"), False),
    "torch-legacy": (("formats/torch/model", "formats/torch/legacy-f32.bin:pytorch_model.bin"), False),
    "torch-shards": (("formats/torch/model", "formats/torch/shards/pytorch_model*"), False),
    "ctranslate2": ("ctranslate2/fixtures/marian-int8", True),
    "opennmt": ("ctranslate2/fixtures/opennmt-float32", True),
    "marian-npz": ("marian/fixtures/plain-npz", True),
    "marian-bin": ("marian/fixtures/f16-bin", True),
    "marian-spm": ("marian/fixtures/spm", False),
    "bergamot": ("bergamot/fixtures/package", False),
    "argos": ("argos/fixtures/stored-float32.argosmodel", False),
    "argos-bpe": ("argos/fixtures/bpe-en-de.argosmodel", False),
    "argos-folder": ("argos/fixtures/folder", False),
    "llama": ("llama/fixtures/t5-f32.gguf", False),
    "nllb": ("languages/fixtures/nllb/model", False),
    "m2m100": ("languages/fixtures/m2m100/model", False),
    "mbart50": ("languages/fixtures/mbart50/model", False),
    "gguf-f32": ("hf", False),  # converted from these models
    "gguf-int8": ("hf", False),
    "gguf-shortlist": ("bergamot", False),
    "gguf-languages": ("nllb", False),
}
LANGUAGES = {"nllb": ("eng_Latn", "fra_Latn"), "m2m100": ("en", "fr"), "mbart50": ("en_XX", "fr_XX")}
LANGUAGES["gguf-languages"] = LANGUAGES["nllb"]


# Documents of the tests of formats.
DOCUMENTS = ("html/page.html", "markdown/marks.md", "docx/report.docx", "epub/story.epub", "xliff/app.xlf", "po/partly.po",
             "srt/film.srt", "csv/goods.csv", "json/vue.json", "yaml/zh-CN.yml")


@dataclasses.dataclass
class Operation:
    """The program's arguments. In them {m} is the model, {s} an empty folder, {r} the folder of all inputs."""
    arguments: list
    output: str = ""  # a file that it writes in {s}
    stdin: bool = False
    resume: bool = False
    begun: str = ""  # the operation that leaves FILE.part, by failing at its end
    cache: bool = False  # {s}/cache holds a downloaded model
    removes: bool = False  # removes the model, or removes it when it is run again after a failure
    names: bool = False  # only the names in the JSON are compared, not the numbers
    warns: bool = False  # a model that cannot be read is left out, with a warning
    everywhere: bool = False  # with every model, or only with those of ALL_OPERATIONS


ALL_OPERATIONS = ("hf", "gguf-f32")


def operation(text, **more):
    return Operation(text.split(), **more)


OPERATIONS = {
    "translate": operation("-m {m} {l} {p} {t}", everywhere=True),
    "search": operation("-b 3 -n 3 --json --alignment --scores -m {m} {l} {p} {t}", everywhere=True),
    "rerank": operation("-q -b 3 --rerank {r}/auto/mbart50 -m {r}/auto/mbart50 -s zh_CN -t fr_XX {d}"),
    "convert": operation("convert -q {m} {s}/out.gguf", output="out.gguf", everywhere=True),
    "convert-int8": operation("convert -q --compute int8 {m} {s}/out.gguf", output="out.gguf", everywhere=True),
    "info": operation("info {m}", everywhere=True),
    "info-json": operation("info --json {m}", everywhere=True),
    "info-verify": operation("info --verify {m}"),
    "info-models": operation("info --models {r}/models", warns=True),
    "models": operation("--models {r}/models -s en -t zh --protect off {t}", warns=True),
    "spans": operation("-q -m {m} -T 2 请看https://a.example/x，总共15.6亿。"),
    "auto": operation("--models {r}/auto -s auto -t fr_XX {d}", warns=True),
    "auto-model": operation("-m {r}/auto/mbart50 -s auto -t fr_XX {d}"),
    "tokenize": operation("tokenize -m {m} {t}", everywhere=True),
    "decode": operation("tokenize -d -m {m} ▁a b"),
    "sample": operation("--sample --seed 3 --top-k 9 -n 2 -m {m} {t}"),
    "alternatives": operation("--alternatives -n 2 -m {m} {t}"),
    "stream": operation("--stream -T 1 -m {m}", stdin=True),
    "pipe": operation("-m {m} -T 2", stdin=True),
    "file": operation("-i {r}/lines.txt -o {s}/out.txt -T 2 -m {m}", output="out.txt", resume=True),
    "file-json": operation("--json -b 2 -n 2 -i {r}/lines.txt -o {s}/out.txt -T 2 --batch-size 2 -m {m}",
                           output="out.txt", resume=True),
    "resume": operation("--resume -i {r}/lines.txt -o {s}/out.txt -T 2 -m {m}", output="out.txt", resume=True,
                        begun="file"),
    "ensemble": operation("--ensemble {m} --ensemble {m}:0.5 -m {m} {t}"),
    "lexical": operation("--shortlist {r}/lex.bin -m {m} {t}"),
    "tokens": operation("--tokens --json -m {m} ▁a ▁b"),
    "prefix": operation("--tsv --forbid m --no-unknown -m {m} -i {r}/pairs.tsv"),
    "score": operation("score -m {m} -i {r}/pairs.tsv -o {s}/out.txt", output="out.txt"),
    "score-json": operation("score --json --alignment -T 2 -m {m} -i {r}/pairs.tsv"),
    "shortlist": operation("shortlist -q -T 2 -m {m} {r}/lines.txt {r}/lines.txt -o {s}/lex.bin", output="lex.bin"),
    "page": operation("attention -m {m} -o {s}/out.html {t}", output="out.html"),
    "picture": operation("attention -m {m} -o {s}/out.svg {t}", output="out.svg"),
    "arrays": operation("attention -m {m} -o {s}/out.npz {t}", output="out.npz"),
    "bench": operation("bench --json --score --rounds 1 --fixed-length 2 -m {m} -i {r}/lines.txt", names=True),
    **{f"document-{path.suffix[1:]}": operation(f"-q -i {{r}}/{path.name} -o {{s}}/out{path.suffix} -T 2 -m {{m}}",
                                                output=f"out{path.suffix}", resume=True)
       for path in map(pathlib.Path, DOCUMENTS)},
    "pairs": operation("-q --bilingual -i {r}/page.html -o {s}/out.tmx -m {m}", output="out.tmx", resume=True),
    "pull-list": operation("pull --list", cache=True),
    "pull-remove": operation("pull --remove owner/model", cache=True, removes=True),
    "pulled": operation("-m hf:owner/model {t}", cache=True),
}


# -------------------------------------------------------------------------------------------------------------- inputs

def copy(source, target):
    """source: files below tests, perhaps FILE:NAME."""
    target.mkdir(exist_ok=True)
    path, _, name = source.partition(":")
    for file in sorted(TESTS.glob(path)):
        if file.is_dir():
            shutil.copytree(file, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(file, target / (name or file.name))


class Inputs:
    """All files that the runs read, in a folder that an unprivileged user can read, too."""

    def __init__(self, folder, tool):
        self.folder, self.models = folder, {}
        self.tool = folder / "bin/translate"
        self.tool.parent.mkdir()
        for program in [tool, *tool.parent.glob("translate-*")]:
            if program.is_file() and os.access(program, os.X_OK):
                shutil.copy(program, self.tool.parent / program.name)
        for name, (source, _) in MODELS.items():
            path = folder / name
            if source in MODELS:
                path = path.with_suffix(".gguf")
                compute = "int8" if name == "gguf-int8" else "auto"
                self.check("convert", "-q", "--compute", compute, self.models[source], path)
            elif isinstance(source, str) and (TESTS / source).is_file():
                path = path.with_suffix(pathlib.Path(source).suffix)
                shutil.copyfile(TESTS / source, path)
            else:
                for part in [source] if isinstance(source, str) else source:
                    copy(part, path)
            self.models[name] = path
        (folder / "lines.txt").write_text(LINES)
        (folder / "pairs.tsv").write_text("".join(f"{line}\tfogom ko\n" for line in LINES.split("\n") if line))
        for document in DOCUMENTS:
            shutil.copy(TESTS / "document" / "samples" / document, folder)
        self.gather("models", "hf", "gguf-f32", "nllb")
        self.gather("auto", "hf", "mbart50")
        self.check("shortlist", "-q", "-m", self.models["gguf-f32"], folder / "lines.txt", folder / "lines.txt", "-o",
                   folder / "lex.bin")
        self.has_pull = (self.tool.parent / "translate-pull").exists()
        if self.has_pull:
            self.fill_cache()
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() or path.parent == self.tool.parent else 0o644)

    def gather(self, folder, *names):
        (self.folder / folder).mkdir()
        for name in names:
            target = self.folder / folder / self.models[name].name
            (shutil.copytree if self.models[name].is_dir() else shutil.copyfile)(self.models[name], target)

    def check(self, *arguments, **more):
        environment = {"PATH": os.environ["PATH"], **more}
        subprocess.run([self.tool, *arguments], check=True, stdin=subprocess.DEVNULL, env=environment)

    def fill_cache(self):
        site = Site({file.name: file.read_bytes() for file in self.models["hf"].iterdir()})
        try:
            self.check("pull", "-q", "owner/model", TRANSLATE_CACHE=str(self.folder / "cache"), HF_ENDPOINT=site.url)
        finally:
            site.close()


# ----------------------------------------------------------------------------------------------------------------- runs

@dataclasses.dataclass
class Result:
    status: int = 0  # negative: the signal that ended it
    stdout: bytes = b""
    stderr: bytes = b""
    files: dict = dataclasses.field(default_factory=dict)
    log: str = ""


class Place:
    """A folder in which one program runs at a time."""

    def __init__(self, sweep, name):
        self.sweep = sweep
        self.folder = sweep.folder / name
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir(parents=True)
        self.last_sync = 0

    def clear(self):
        for entry in os.scandir(self.scratch):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)

    def names(self, model):
        pieces = MODELS[model][1]
        source, target = LANGUAGES.get(model, ("", ""))
        return {"m": str(self.sweep.inputs.models[model]), "s": str(self.scratch), "r": str(self.sweep.inputs.folder),
                "l": ["-s", source, "-t", target] if source else [], "p": ["--tokens"] if pieces else [],
                "t": ["▁5", "▁6"] if pieces else [TEXT], "d": [HANT]}

    def arguments(self, model, what):
        names, words = self.names(model), []
        for word in what.arguments:
            words += names[word[1]] if re.fullmatch(r"\{[dlpt]\}", word) else [word.format(**names)]
        return words

    def run(self, model, what, variables, *more):
        """Runs the program, in the folder as it is."""
        files = [self.folder / name for name in ("stdout", "stderr")]
        stdin = self.sweep.inputs.folder / "lines.txt" if what.stdin else "/dev/null"
        actions = [(os.POSIX_SPAWN_OPEN, 0, str(stdin), os.O_RDONLY, 0)]
        actions += [(os.POSIX_SPAWN_OPEN, fd, str(file), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                    for fd, file in enumerate(files, 1)]
        environment = {**self.sweep.environment, **variables, "HOME": str(self.scratch),
                       "FAULT_LOG": str(self.folder / "log"), "TRANSLATE_CACHE": str(self.scratch / "cache")}
        pid = os.posix_spawn(self.sweep.inputs.tool, ["translate", *self.arguments(model, what), *more], environment,
                             file_actions=actions)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        result = Result(status, *(self.neutral(file.read_bytes()) for file in files))
        log = self.folder / "log"
        if log.exists():
            result.log = log.read_text()
            log.unlink()
        result.files = {str(path.relative_to(self.scratch)): self.content(path) for path in self.scratch.rglob("*")}
        return result

    def neutral(self, data):
        return data.replace(bytes(self.scratch), b"SCRATCH")

    @staticmethod
    def content(path):
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None

    def start(self, model, what, variables):
        self.clear()
        if what.cache:
            shutil.copytree(self.sweep.inputs.folder / "cache", self.scratch / "cache")
        if what.begun and not self.begin(model, OPERATIONS[what.begun]):
            raise RuntimeError(f"{model}/{what.begun}: nothing leaves FILE.part")
        return self.run(model, what, variables)

    def begin(self, model, what):
        """Leaves the first half of FILE.part: its last fsync() fails, then it is truncated."""
        for number in (self.last_sync, 6, 5, 4, 3, 2, 1):  # how often it syncs depends on time
            self.clear()
            result = self.run(model, what, {"FAULT_CLASS": "fsync", "FAULT_N": str(number)})
            if what.output + ".part" in result.files:
                self.last_sync = number
                os.truncate(self.scratch / (what.output + ".part"), len(result.files[what.output + ".part"]) // 2)
                return True
        return False


def keys_of(data):
    """The names in a JSON text, without its numbers, and without the processor's name, which may be unknown."""
    def walk(value):
        if isinstance(value, dict):
            return {key: key != "cpu_name" and walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list) else type(value) in (int, float) or value
    return walk(json.loads(data))


def is_same(what, one, other):
    if not what.names:
        return one == other
    try:
        return keys_of(one) == keys_of(other)
    except ValueError:
        return False


def names_of(files):
    return ", ".join(re.sub(r"\.\w{6}$", ".XXXXXX", name) for name in sorted(files)) or "nothing"


def calls_system(kind):
    return KINDS[kind][0] in ("read", "mmap", "file")


def is_part(what, kind, part, whole):
    """Whether part is a part of the output: complete lines, except with --stream and after a failed write."""
    if what.names:
        return not part
    cut = "--stream" in what.arguments or "write" in kind
    return whole.startswith(part) and (part.endswith(b"\n") or not part or cut)


# ------------------------------------------------------------------------------------------------------------ the sweep

@dataclasses.dataclass(frozen=True)
class Point:
    model: str
    operation: str
    kind: str
    number: int

    def name(self):
        return f"{self.model}/{self.operation} {self.kind} {self.number}"


class Sweep:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.inputs = Inputs(folder / "inputs", options.tool)
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "LD_PRELOAD": str(folder / "shim.so"),
                            "FAULT_TIME": str(SECONDS * (10 if options.sanitized else 1)),
                            "HF_ENDPOINT": "http://127.0.0.1:9"}  # no server is asked for what is in the cache
        shutil.copy(options.shim, folder / "shim.so")
        if options.sanitized:
            asan = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True, capture_output=True,
                                  text=True).stdout
            self.environment["LD_PRELOAD"] += ":" + asan.strip()
            self.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:exitcode=99:allocator_may_return_null=1"
            self.environment["UBSAN_OPTIONS"] = "halt_on_error=1:exitcode=99:print_stacktrace=1"
        self.expected, self.findings, self.tried = {}, [], collections.Counter()
        self.filters = True
        self.lock = threading.Lock()
        self.end = time.monotonic() + options.seconds if options.seconds else None

    def wanted(self, *names):
        text = " ".join(names)
        return all(word in text for word in self.options.only)

    def pairs(self):
        """Each model with each operation that applies to it."""
        for model in MODELS:
            for name, what in OPERATIONS.items():
                if not (what.everywhere or model in ALL_OPERATIONS) or (what.cache and not self.inputs.has_pull):
                    continue
                if name == "tokenize" and MODELS[model][1] or name == "info-verify" and not model.startswith("gguf"):
                    continue
                if any(self.wanted(f"{model}/{name}", kind) for kind in KINDS):
                    yield model, name

    def spread(self, phase, items, work):
        """Calls work(place, item) for each item, in as many threads as --jobs says; raises the exceptions of work."""
        items = iter(items)

        def run(number):
            place = Place(self, f"{phase}-{number}")
            while not (self.end and time.monotonic() > self.end):
                with self.lock:
                    item = next(items, None)
                if item is None:
                    break
                work(place, item)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            for done in [pool.submit(run, number) for number in range(self.options.jobs)]:
                done.result()

    def count(self, place, pair):
        """The result without failures, and the number of calls of each class."""
        model, name = pair
        what = OPERATIONS[name]
        result = place.start(model, what, {"FAULT_CLASS": "count"})
        counts = collections.Counter()
        for name_, number in re.findall(r"^calls (\w+) (\d+)$", result.log, re.M):
            counts[name_] = max(counts[name_], int(number))
        problem = None
        if result.status:
            problem = f"status {result.status}: {result.stderr.decode(errors='replace')}"
        elif "no seccomp" in result.log:
            self.filters = False
        elif not counts["alloc"]:
            problem = "nothing was counted"
        elif what.removes and any(content is not None for content in result.files.values()):
            problem = f"left {names_of(result.files)}"
        elif not what.cache and set(result.files) != ({what.output} if what.output else set()):
            problem = f"left {names_of(result.files)}"
        with self.lock:
            if problem:
                self.findings.append((Point(model, name, "undisturbed", 0), problem, result))
            else:
                self.expected[pair] = (result, counts)

    def points(self):
        for (model, name), (_, counts) in sorted(self.expected.items()):
            for kind, (calls, _, _, share) in KINDS.items():
                if self.wanted(f"{model}/{name}", kind):
                    for number in range(1, counts[calls] + 1 if share else min(counts[calls], 1) + 1):
                        yield Point(model, name, kind, number)

    def chosen(self, points):
        commit = subprocess.run(["git", "-C", str(TESTS), "rev-parse", "HEAD"], capture_output=True, text=True).stdout
        start = int(hashlib.sha256(commit.encode()).hexdigest(), 16) if commit else 0
        if not self.options.all:
            strides = {kind: self.options.every * share if share else 3 for kind, (_, _, _, share) in KINDS.items()}
            seen, taken = collections.Counter(), []
            for point in points:
                if (seen[point.kind] + start) % strides[point.kind] == 0:
                    taken.append(point)
                seen[point.kind] += 1
            points = taken
        random.Random(start).shuffle(points)
        return sorted(points, key=lambda point: self.options.all and point.kind == "foreign")  # if there is time left

    def judge(self, place, point, result):
        """The fault of the result; None: there is none."""
        what = OPERATIONS[point.operation]
        whole = self.expected[point.model, point.operation][0]
        failed = re.match(r"failed (\w+)", result.log)
        removing = failed and failed[1] in REMOVING
        warned = re.match(rb"(translate: warning: [^\n]+\n)+", result.stderr)
        warned = warned if what.warns and calls_system(point.kind) else None
        if warned:
            result.stderr = result.stderr[warned.end():]
        left = set(result.files) - ({what.output} if result.status == 0 else set())
        if result.status < 0:
            return "hangs" if result.status == -14 else f"ended by signal {-result.status}"
        if result.status not in (0, 1):
            return f"status {result.status}"
        if result.status == 0:
            if not warned and not is_same(what, result.stdout, whole.stdout):
                return "status 0, but another output"
            if what.output and result.files.get(what.output) != whole.files[what.output]:
                return f"status 0, but another {what.output}"
            if result.stderr != whole.stderr and not removing:
                return "status 0, but a message"
        else:
            if not re.fullmatch(rb"translate[^\n]*: [^\n]+\n", result.stderr):
                return f"status 1, and {len(result.stderr.splitlines())} lines on stderr"
            if KINDS[point.kind][0] in ("alloc", "foreign") and not re.search(rb"memory|bad_alloc", result.stderr):
                return "status 1, and the message does not speak of memory"
            if not is_part(what, point.kind, result.stdout, whole.stdout):
                return "status 1, and stdout is no part of the output"
        if KINDS[point.kind][1] in ("short", "interrupted") and result.status:
            return "failed, though nothing was lost"
        part = what.output + ".part"
        if what.resume and part in left:
            again = place.run(point.model, what, {}, "--resume")
            if again.status or again.files != whole.files:
                return f"left {names_of(left)}, and --resume gives another output or status {again.status}"
        elif left and not removing and not what.cache:
            return f"left {names_of(left)}"
        return self.judge_cache(place, point, result, removing) if what.cache else None

    def judge_cache(self, place, point, result, removing):
        """The fault of the cache. After a removal, empty folders may stay, and a file that the message names."""
        what, whole = OPERATIONS[point.operation], self.expected[point.model, point.operation][0]
        if not what.removes:
            return None if result.files == whole.files else "files of the cache are not as they were"
        left = [name for name, content in result.files.items() if content is not None]
        if left and result.status:
            again = place.run(point.model, what, {})
            if again.status or again.files != whole.files:
                return f"left {names_of(left)}, and then {names_of(again.files)} with status {again.status}"
        elif left and not (removing and result.stderr):
            return f"status 0, but left {names_of(left)}"
        return None

    def try_point(self, place, point):
        calls, mode, error, _ = KINDS[point.kind]
        variables = {"FAULT_CLASS": calls, "FAULT_MODE": mode, "FAULT_N": str(point.number)}
        if error:
            variables["FAULT_ERROR"] = str(getattr(errno, error))
        if self.options.sanitized and calls not in ("alloc", "thread"):
            variables["ASAN_OPTIONS"] = self.environment["ASAN_OPTIONS"] + ":detect_leaks=0"
        result = place.start(point.model, OPERATIONS[point.operation], variables)
        problem = self.judge(place, point, result)
        with self.lock:
            self.tried[point.kind] += 1
            if problem:
                self.findings.append((point, problem, result))

    # ------------------------------------------------------------------------------------------------------- the report

    def symbols(self):
        """(addresses, names) of the tool's functions."""
        listed = subprocess.run(["nm", "--defined-only", str(self.inputs.tool)], capture_output=True, text=True).stdout
        pairs = sorted((int(line[0], 16), line[2]) for line in map(str.split, listed.splitlines())
                       if len(line) == 3 and line[1] in "tTwW")
        return [a for a, _ in pairs], [n for _, n in pairs]

    def explain(self, log):
        """The functions of the program through which the call that failed was reached, the innermost first."""
        if not hasattr(self, "table"):
            self.table = self.symbols()
        line = re.search(r"^failed (\w+)(.*)$", log, re.M)
        if not line:
            return "no call failed"
        callers = []
        for module, offset in re.findall(r" (\S+)\+([0-9a-f]+)", line[2]):
            at = bisect.bisect_right(self.table[0], int(offset, 16) - 1) - 1
            name = self.table[1][at] if module == "program" and at >= 0 else module
            if name not in callers[-1:] and not name.startswith("libc.so"):
                callers.append(name)
        return f"{line[1]} < {' < '.join(callers)}"

    def report(self, total, seconds):
        groups = collections.defaultdict(list)  # grouped by result, and by the functions that called
        for point, problem, result in self.findings:
            where = self.explain(result.log)
            near = tuple(where.split(" < ")[:3])
            group = point.kind == "foreign", KINDS.get(point.kind, ("",))[0], problem, near
            groups[group].append((point, where, result))
        bad = sum(point.kind != "foreign" for point, _, _ in self.findings)
        for (foreign, _, problem, _), cases in sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1]))):
            point, where, result = cases[0]
            print(f"{'reported' if foreign else 'FAULT'}: {problem}: {len(cases)} times, such as {point.name()}")
            print(f"    {where}")
            for line in result.stderr.decode(errors="replace").splitlines()[:20 if self.options.sanitized else 3]:
                print(f"    | {line}")
        print(", ".join(f"{kind} {self.tried[kind]} of {total[kind]}" for kind in KINDS if total[kind]))
        print(f"{sum(self.tried.values())} of {sum(total.values())} points in {seconds:.0f} s: {bad} faults, "
              f"{len(self.findings) - bad} reported")
        return bad

    def run(self):
        start = time.monotonic()
        self.spread("count", self.pairs(), self.count)
        if not self.filters:
            print("faults.py: the system allows no seccomp filter, by which calls are made to fail")
            return SKIPPED
        points = list(self.points())
        total = collections.Counter(point.kind for point in points)
        self.spread("try", self.chosen(points), self.try_point)
        bad = self.report(total, time.monotonic() - start)
        if not self.tried:
            sys.exit("faults.py: nothing was tried")
        return int(bad != 0)


def drop_privileges(folder):
    """Runs without root's rights, as the programs remove files."""
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def run_unprivileged(sweep_class, options):
    """Runs a sweep without privileges, in a folder that is removed afterwards, and ends with its status."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="translate-faults-"))
    os.chmod(folder, 0o755)
    child = os.fork()  # the one that removes the folder may
    if child:
        _, status = os.waitpid(child, 0)
        shutil.rmtree(folder)
        sys.exit(os.waitstatus_to_exitcode(status))
    (folder / "inputs").mkdir()
    sweep = sweep_class(options, folder)
    drop_privileges(folder)
    sys.exit(sweep.run())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", type=pathlib.Path)
    parser.add_argument("shim", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=14)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--sanitized", action="store_true")
    options = parser.parse_args()
    options.only = [word for words in options.only for word in words.split()]
    run_unprivileged(Sweep, options)


if __name__ == "__main__":
    main()
