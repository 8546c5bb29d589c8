#!/usr/bin/env python3
"""Measures `translate serve`, alone and beside LibreTranslate: bench/serve.py own|peer|idle|soak|stalls TSV... [--rounds N].

    own     the server on core 0, the client on core 1: sentences per second with 64 clients, beside the command with the
            same lines on the same core; latency of one client, beside the library's; latency at half load; requests in
            flight
    peer    beside LibreTranslate (--python: a Python that has it; --package: the default model as an Argos package):
            sentences per second with 64 clients at its beam 4 and at beam 1, memory after 1,000 sentences, time to the
            first answer
    idle    memory with 10,000 connections that wait
    soak    memory after each 10,000 of 100,000 requests: texts, HTML, streams, errors, and clients that leave
    stalls  how long other clients wait while one sends a large body

TSV: files of a source, a TAB and a reference; their different sources are the texts, one a request. Caches are off.
What LibreTranslate would download, its index of models and its sentence splitter, it does without; the latter is replaced
by one that returns the text. Runs alternate. Stop everything else before you measure.
"""
import argparse
import asyncio
import concurrent.futures
import contextlib
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from common import ROOT, machine, read_pairs

PEER = """
import argostranslate.translate
class Whole:
    def split_sentences(self, text):
        return [text]
argostranslate.translate.MiniSBDSentencizer = lambda package: Whole()
import libretranslate.init
libretranslate.init.check_and_install_models = lambda *_, **__: None
from libretranslate.main import main
main()
"""
INSTALL = "import sys, argostranslate.package; argostranslate.package.install_from_path(sys.argv[1])"
SERVER_CORE, CLIENT_CORE = "0", "1"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def memory(pid):
    """Resident megabytes (10^6 bytes) of a process and its children."""
    total = 0
    for line in open(f"/proc/{pid}/status", encoding="ascii", errors="replace"):
        if line.startswith("VmRSS"):
            total += int(line.split()[1]) * 1024
    with contextlib.suppress(OSError):
        for child in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split():
            total += int(memory(child) * 1e6)
    return total / 1e6


@contextlib.contextmanager
def server(command, env=None, core=SERVER_CORE):
    """A server that listens; (port, process, seconds until its first answer)."""
    port = free_port()
    started = time.perf_counter()
    process = subprocess.Popen(["taskset", "-c", core, *map(str, command), "--port", str(port)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    try:
        body = json.dumps({"q": "你好。", "source": "zh", "target": "en"}).encode()
        ask = urllib.request.Request(f"http://127.0.0.1:{port}/translate", body, {"Content-Type": "application/json"})
        while True:
            try:
                urllib.request.urlopen(ask, timeout=60).read()
                break
            except OSError as problem:
                if process.poll() is not None or time.perf_counter() - started > 120:
                    sys.exit(f"{command[0]}: does not answer: {problem}")
                time.sleep(0.002)
        yield port, process, time.perf_counter() - started
    finally:
        process.terminate()
        process.wait()


def request_for(text):
    body = json.dumps({"q": text, "source": "zh", "target": "en"}).encode()
    return (b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body)


class Client:
    """One connection of HTTP/1.1, as little Python as possible between the sockets."""

    def __init__(self, port):
        self.port = port

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    async def translate(self, text):
        self.writer.write(request_for(text))
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        answer = await self.reader.readexactly(size)
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(answer.decode())
        return json.loads(answer)["translatedText"]


async def ask_all(port, texts, clients):
    """Each client asks for the next text when it has its answer: seconds in all, and of each request."""
    waiting, times = iter(texts), []

    async def run():
        async with Client(port) as c:
            for text in waiting:
                begin = time.perf_counter()
                await c.translate(text)
                times.append(time.perf_counter() - begin)

    begin = time.perf_counter()
    await asyncio.gather(*(run() for _ in range(clients)))
    return time.perf_counter() - begin, times


async def ask_at(port, texts, rate):
    """Requests that begin at a fixed rate, whatever the others do: seconds of each."""
    free, times = [], []

    async def one(text, at):
        await asyncio.sleep(max(0, at - time.perf_counter()))
        c = free.pop() if free else await Client(port).__aenter__()
        await c.translate(text)
        times.append(time.perf_counter() - at)
        free.append(c)

    begin = time.perf_counter() + 0.1
    await asyncio.gather(*(one(text, begin + i / rate) for i, text in enumerate(texts)))
    return times


def ask_one(port, texts):
    """One client with a plain socket: seconds of each request."""
    times = []
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for text in texts:
            request = request_for(text)
            begin = time.perf_counter()
            s.sendall(request)
            answer = s.recv(1 << 20)
            times.append(time.perf_counter() - begin)
            if b" 200 " not in answer.split(b"\r\n")[0]:
                raise RuntimeError(answer.decode())
    return times


def run_client(what, *arguments):
    os.sched_setaffinity(0, {int(CLIENT_CORE)})
    return asyncio.run(what(*arguments))


def ours(o, *more):
    return [o.tool, "serve", "-T", "1", "--cache-size", "0", *more]


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def timed(command):
    begin = time.perf_counter()
    subprocess.run(["taskset", "-c", SERVER_CORE, *map(str, command)], check=True)
    return time.perf_counter() - begin


def own(o, texts):
    """Server and command in turn; medians of the rounds."""
    found = {name: [] for name in ("rate", "share", "mean", "tail", "flight", "one", "more")}
    with tempfile.TemporaryDirectory() as folder, server(ours(o)) as (port, process, _):
        lines = pathlib.Path(folder) / "lines.txt"
        lines.write_text("".join(f"{t}\n" for t in texts), encoding="utf-8")
        offline = [o.tool, "-q", "-T", "1", "-i", lines, "-o", f"{lines}.out"]
        for _ in range(o.rounds):
            seconds, _ = run_client(ask_all, port, texts, 64)
            found["rate"].append(len(texts) / seconds)
            found["share"].append(timed(offline) / seconds)
            times = run_client(ask_at, port, texts, found["rate"][-1] / 2)
            found["mean"].append(statistics.mean(times) * 1e3)
            found["tail"].append(percentile(times, 0.99) / statistics.mean(times))
            found["flight"].append(run_client(ask_all, port, texts[:1000], 1000)[0])
            os.sched_setaffinity(0, {int(CLIENT_CORE)})
            found["one"].append(statistics.mean(ask_one(port, texts)) * 1e3)
            found["more"].append(found["one"][-1] - timed([*offline, "--batch-size", "1"]) / len(texts) * 1e3)
        middle = {name: statistics.median(values) for name, values in found.items()}
        print(f"64 clients: {middle['rate']:.0f} texts/s, {middle['share']:.2f} of the command's speed with the same lines")
        print(f"half load: mean {middle['mean']:.1f} ms, 99th percentile {middle['tail']:.1f} times the mean")
        print(f"{len(texts[:1000])} requests in flight: all answered in {middle['flight']:.2f} s")
        print(f"one client: {middle['one']:.2f} ms a request, {middle['more']:.2f} ms more than a line of the command")
        print(f"memory: {memory(process.pid):.1f} MB")


def peer(o, texts):
    with tempfile.TemporaryDirectory() as folder:
        env = {"XDG_DATA_HOME": f"{folder}/data", "XDG_CONFIG_HOME": f"{folder}/config", "XDG_CACHE_HOME": f"{folder}/cache"}
        subprocess.run([o.python, "-c", INSTALL, o.package], check=True, env={**os.environ, **env})
        libretranslate = [o.python, "-c", PEER, "--threads", "64", "--disable-web-ui"]
        settings = {"translate": (ours(o), {}), "translate, beam 4": (ours(o, "-b", "4"), {}),
                    "LibreTranslate": (libretranslate, {**env, "ARGOS_BEAM_SIZE": "4", "ARGOS_INTRA_THREADS": "1"}),
                    "LibreTranslate, beam 1": (libretranslate, {**env, "ARGOS_BEAM_SIZE": "1", "ARGOS_INTRA_THREADS": "1"})}
        found = {name: ([], [], []) for name in settings}
        for _ in range(o.rounds):
            for name, (command, more) in settings.items():
                with server(command, more) as (port, process, first):
                    seconds, _ = run_client(ask_all, port, texts[:1000], 64)
                    for values, value in zip(found[name], (len(texts[:1000]) / seconds, memory(process.pid), first)):
                        values.append(value)
        print("| server | sentences/s, 64 clients | memory after 1,000 | first answer after exec |\n|---|---|---|---|")
        for name, values in found.items():
            rate, megabytes, first = map(statistics.median, values)
            print(f"| {name} | {rate:.1f} | {megabytes:.0f} MB | {first:.3f} s |")


def idle(o, _texts):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    with server(ours(o)) as (port, process, _):
        before, connections = memory(process.pid), []
        for _ in range(10000):
            s = socket.create_connection(("127.0.0.1", port))
            s.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while b'"ok"' not in s.recv(4096):
                pass
            connections.append(s)
        print(f"10,000 connections: {memory(process.pid):.0f} MB, {before:.0f} MB without them")


def soak_request(number, text):
    """One of several kinds."""
    kind = number % 10
    path, fields = "/translate", {"q": text[:20], "source": "zh", "target": "en"}
    if kind == 1:
        fields["format"] = "html"
    elif kind == 2:
        fields["source"] = "auto"
    elif kind == 3:
        fields["target"] = "xx"
    elif kind == 4:
        path, fields = "/v1/translate", {"text": text[:20], "source": "zh", "target": "en", "stream": True}
    elif kind == 5:
        path, fields = "/v2/translate", {"text": [text[:10]], "target_lang": "EN-US"}
    body = json.dumps(fields).encode() if kind != 6 else b"{"
    return (b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (path.encode(), len(body)) + body)


async def soak_all(port, process, texts):
    numbers = iter(range(100000))

    async def run():
        for number in numbers:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(soak_request(number, texts[number * 7 % len(texts)]))
            if number % 10 != 7:  # that one leaves at once
                await reader.read(256)
            writer.close()
            if number % 10000 == 9999:
                print(f"{number + 1} requests: {memory(process.pid):.1f} MB", flush=True)

    await asyncio.gather(*(run() for _ in range(32)))


def soak(o, texts):
    with server(ours(o, "--cache-size", "4")) as (port, process, _):
        run_client(soak_all, port, process, texts)


def stalls(o, _texts):
    """Large bodies one after the other, and GET /health all the time from another connection."""
    json_type = "application/json"
    entries = "".join(f"词{i}\tword{i}\n" for i in range(200000))
    bodies = {
        "glossary of 200,000 entries": ("/v2/glossaries", json_type, json.dumps(
            {"name": "a", "source_lang": "zh", "target_lang": "en", "entries": entries, "entries_format": "tsv"})),
        "HTML of 90,000 characters": ("/translate", json_type, json.dumps(
            {"q": "<p>1<b>2</b>3</p>" * 5300, "source": "zh", "target": "en", "format": "html"})),
        "text of 15 MB": ("/translate", json_type, json.dumps({"q": "1" * 15000000, "source": "zh", "target": "zh"})),
        "form of 15 MB": ("/translate", "application/x-www-form-urlencoded", "source=zh&target=zh&q=" + "%31" * 5000000)}
    with server(ours(o, "--char-limit", "0")) as (port, process, _):
        loop_time = f"/proc/{process.pid}/task/{process.pid}/schedstat"  # of the first thread, which runs the loop
        for name, (path, kind, body) in bodies.items():
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body.encode(), {"Content-Type": kind})
            before, waits = int(open(loop_time, encoding="ascii").read().split()[0]), []
            with concurrent.futures.ThreadPoolExecutor(1) as pool, socket.create_connection(("127.0.0.1", port)) as health:
                answer = pool.submit(lambda r=request: urllib.request.urlopen(r, timeout=60).read())
                while not answer.done():
                    begin = time.perf_counter()
                    health.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    health.recv(4096)
                    waits.append((time.perf_counter() - begin) * 1e3)
                    time.sleep(0.001)
                answer.result()
            busy = (int(open(loop_time, encoding="ascii").read().split()[0]) - before) / 1e6
            print(f"{name}: others wait {percentile(waits, 0.99):.1f} ms (99th percentile), {max(waits):.1f} ms at most; "
                  f"the loop works {busy:.0f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("own", "peer", "idle", "soak", "stalls"))
    parser.add_argument("pairs", nargs="+", metavar="TSV")
    parser.add_argument("--tool", default=ROOT / "build/translate")
    parser.add_argument("--python")
    parser.add_argument("--package")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    print(machine())
    texts = [source for source, _ in read_pairs(o.pairs, o.count, 1)]
    {"own": own, "peer": peer, "idle": idle, "soak": soak, "stalls": stalls}[o.part](o, texts)


if __name__ == "__main__":
    main()
