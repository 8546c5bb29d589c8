#!/usr/bin/env python3
"""Runs the server while one of its calls fails, from start to end: requests, a document, a glossary, SIGHUP, SIGTERM.

    faults_serve.py TOOL MODEL SHIM [--every K] [--seconds N] [--jobs N] [--only WORD]...

A server that starts answers each request with a translation or with what is wrong, ends a connection without an answer only
for lack of memory, translates again when the failure is over, and ends with status 0; one that does not start ends with
status 1. Each line on stderr is a message. How calls fail, and the options: faults.py.
"""
import argparse
import collections
import encodings.idna  # noqa: F401  (imported now: later, without root's rights, it might not be readable)
import errno
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from faults import KINDS, SECONDS, SKIPPED, run_unprivileged

TEXT = "今天天气很好。"
HTML = "<p>今天天气很好。</p>\n<!-- " + "x" * 5000 + " -->"
ENTRIES = "".join(f"词{i}\tword{i}\n" for i in range(4000))
KEY = "0123456789abcdef"


def multipart(**fields):
    parts = [f'--xx\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'
             for name, (more, value) in fields.items()]
    return "".join(parts) + "--xx--\r\n"


# Of the calls that write, nearly all wake the loop by an eventfd, which cannot fail.
USED = {kind: KINDS[kind] for kind in ("alloc", "alloc-on", "thread", "thread-on", "read", "mmap", "file", "file-limit")}
REQUESTS = [
    ("GET", "/ready", "", None),
    ("POST", "/translate", "application/json", json.dumps({"q": TEXT, "source": "auto", "target": "en"})),
    ("POST", "/v1/translate?a=b", "application/json", json.dumps({"text": [TEXT, "你好"], "target": "en", "align": True})),
    ("POST", "/v1/translate", "application/json", json.dumps({"text": TEXT, "target": "en", "stream": True})),
    ("POST", "/translate", "application/x-www-form-urlencoded", "q=%E4%BD%A0%E5%A5%BD&source=zh&target=en"),
    ("POST", "/translate", "application/json", json.dumps({"q": HTML, "source": "zh", "target": "en", "format": "html"})),
    ("POST", "/v2/glossaries", "application/json", json.dumps({
        "name": "a", "source_lang": "zh", "target_lang": "en", "entries": ENTRIES, "entries_format": "tsv"})),
    ("POST", "/translate_file", "multipart/form-data; boundary=xx", multipart(
        source=("", "zh"), target=("", "en"), file=('; filename="a.html"', "<p>你好</p>"))),
    ("POST", "/v1/attention", "application/json", json.dumps({"text": TEXT, "source": "zh", "target": "en"})),
    ("GET", "/metrics", "", None),
]


class Run:
    """A server with one failure, or with none."""

    def __init__(self, sweep, folder):
        self.sweep, self.folder, self.problem = sweep, folder, None
        (folder / "logs").mkdir(parents=True)  # the only place where a server may write: the shim's log lies there, too
        (folder / "terms").mkdir()
        (folder / "terms" / "a.tsv").write_text(ENTRIES)
        (folder / "keys").write_text(KEY + "\n")
        (folder / "keys").chmod(0o600)

    def fail(self, problem):
        self.problem = self.problem or problem

    def ask(self, method, path, kind, body):
        """The status and the body; 0 if there is no answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            c.request(method, path, body.encode() if body else None,
                      {"Authorization": "Bearer " + KEY, **({"Content-Type": kind} if kind else {})})
            answer = c.getresponse()
            return answer.status, answer.read()
        except TimeoutError:
            self.fail(f"{method} {path}: no answer")
        except (OSError, http.client.HTTPException):
            pass
        finally:
            c.close()
        return 0, b""

    def translates(self):
        status, body = self.ask(*REQUESTS[1])
        self.sweep.translated = self.sweep.translated or body  # of the first run, in which nothing fails
        return status == 200 and body == self.sweep.translated

    def use(self, process, kind):
        """What clients do while it runs."""
        allowed = {0, 200, 201, 503} if kind.startswith(("alloc", "thread")) else {0, 200, 201, 500, 503}
        for request in REQUESTS:
            status, body = self.ask(*request)
            if status not in allowed and not (status == 400 and b"was it built?" in body and kind.startswith("file")):
                self.fail(f"{request[0]} {request[1]}: {status} {body[:200]!r}")
        process.send_signal(signal.SIGHUP)
        if not self.read_again.wait(SECONDS):
            self.fail("it does not read again")
        if not any([self.translates() for _ in range(3)]) and USED[kind][1] != "on" and process.poll() is None:
            self.fail("it translates no more")

    def run(self, kind, variables):
        environment = {**self.sweep.environment, **variables, "FAULT_LOG": str(self.folder / "logs" / "faults")}
        process = subprocess.Popen(
            [self.sweep.tool, "--port", "0", "-m", self.sweep.model, "--api-keys", self.folder / "keys", "--glossaries",
             self.folder / "terms", "--access-log", self.folder / "logs" / "access", "-T", "1", "--grace", "5"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        said, started = [], threading.Event()
        self.read_again = threading.Event()

        def read():
            for line in process.stderr:
                said.append(line)
                if b": serving at " in line:
                    self.port = int(line.rsplit(b":", 1)[1])
                    started.set()
                if b": read again: " in line:
                    self.read_again.set()
            started.set()

        reader = threading.Thread(target=read)
        reader.start()
        started.wait(SECONDS)
        serves = any(b": serving at " in line for line in said)
        if serves:
            self.use(process, kind)
            process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.fail("does not end")
            process.kill()
            status = process.wait()
        reader.join()
        process.stderr.close()
        if status != (0 if serves else 1):
            self.fail(f"status {status}, and it {'served' if serves else 'did not start'}: {said}")
        if not all(re.fullmatch(rb"translate: [^\n]+\n", line) for line in said) or (not serves and len(said) != 1):
            self.fail(f"stderr: {said}")
        log = self.folder / "logs" / "faults"
        return log.read_text() if log.exists() else ""


class Sweep:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        inputs = folder / "inputs"
        for path in [*options.tool.parent.glob("translate*"), options.shim, options.model]:
            if path.is_file():
                shutil.copy(path, inputs / path.name)
                (inputs / path.name).chmod(0o755)
        self.tool, self.model = inputs / "translate-serve", inputs / options.model.name
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "LD_PRELOAD": str(inputs / options.shim.name),
                            "FAULT_TIME": str(2 * SECONDS)}
        self.findings, self.tried, self.number, self.translated = [], collections.Counter(), 0, b""
        self.lock = threading.Lock()

    def try_point(self, point):
        kind, number = point
        calls, mode, error, _ = USED[kind]
        if self.options.seconds and time.monotonic() > self.end:
            return
        with self.lock:
            self.number += 1
            folder = self.folder / f"run-{self.number}"
        run = Run(self, folder)
        log = run.run(kind, {"FAULT_CLASS": calls, "FAULT_MODE": mode, "FAULT_N": str(number),
                             **({"FAULT_ERROR": str(getattr(errno, error))} if error else {})})
        with self.lock:
            self.tried[kind] += 1
            if run.problem:
                self.findings.append((point, run.problem, log))
        shutil.rmtree(folder)

    def run(self):
        self.end = time.monotonic() + self.options.seconds
        first = Run(self, self.folder / "count")
        log = first.run("alloc", {"FAULT_CLASS": "count"})
        counts = {name: int(number) for name, number in re.findall(r"^calls (\w+) (\d+)$", log, re.M)}
        if "no seccomp" in log:
            return SKIPPED
        if first.problem or not counts.get("alloc"):
            sys.exit(f"undisturbed: {first.problem} {counts}")
        commit = subprocess.run(["git", "-C", str(pathlib.Path(__file__).parent), "rev-parse", "HEAD"], capture_output=True,
                                text=True).stdout
        random.seed(commit)  # all points are tried over time
        points = []
        for kind, (calls, _, _, _) in USED.items():
            step = self.options.every if calls == "alloc" else 4
            if all(word in kind for word in self.options.only):
                points += [(kind, n) for n in range(1 + random.randrange(step), counts[calls] + 1, step)]
        random.shuffle(points)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(self.try_point, points))
        for (kind, number), problem, log in self.findings:
            print(f"FAULT: {kind} {number}: {problem}\n    {log.strip()[:300]}")
        print(f"{sum(self.tried.values())} of {len(points)} points: {len(self.findings)} faults; calls: {counts}")
        return int(bool(self.findings) or not self.tried)


def main():
    parser = argparse.ArgumentParser()
    for name in ("tool", "model", "shim"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--every", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    run_unprivileged(Sweep, options)


if __name__ == "__main__":
    main()
