#!/usr/bin/env python3
"""Random and damaged requests for a server, by hand; best of a build with sanitizers.
Usage: fuzz_requests.py TOOL MODEL [--part bodies|routes] [--seconds N] [--seed N] [--connections N]

TOOL is the command translate; translate-serve is beside it. The server must live, end in time, answer each request that is
HTTP, and stay below a size. Statuses of 500 and above are failures, but for 503 and 504 with a reason, and 505 for what is
damaged. What was sent when something fails is printed, and written to fuzz-requests.bin."""
import argparse
import collections
import io
import json
import os
import pathlib
import random
import re
import socket
import struct
import threading
import time
import urllib.parse
import zipfile

import support

SOURCES = pathlib.Path(__file__).parent.parent.parent / "src" / "serve"
ROUTES = [m for p in sorted(SOURCES.glob("*.c"))
          for m in re.findall(r'^    \{"([A-Z]+)", "(/[^"]*)", \w+, \w+, ', p.read_text(encoding="utf-8"), re.M)]
ARGUMENTS = ("-T", "1", "--char-limit", "2000", "--batch-limit", "20", "--upload-limit", "1", "--queue-limit", "300",
             "--timeout", "20", "--keep-documents", "5", "--cache-size", "1", "--cors", "*", "--trust-proxy")
ANSWER = 120       # seconds that an answer may take under a sanitizer
SMALL = 2500       # bytes of a body that must be answered; the server may refuse others and close the connection meanwhile
SMALL_HEAD = 8000  # the same of a head, in which each field, parameter and cookie counts for 100
GROWTH = 150 << 10  # KiB beyond the size after a third of the time

TEXTS = ["今天天气很好。", "我喜欢读书。他有三本书吗？", "你好", "", " ", "\n\n", "a", "🙂🙂", "١٢٣", "e\u0301" * 40, "\u202eabc",
         "\ufeff你", "<b>今天</b>天气<br>很好", "<p>未完", "<a href='x'>你</a> <!-- -->", "<script>x</script>",
         "&lt;&#39;&nope;&#x110000;", "https://example.org/?q=1 和 a@b.c", "`code` {0} %s $x", "第12,345.67号", "你" * 300,
         "好。" * 900, "x" * 1999, "字" * 2001, "\t\u0000\u0001\u007f", "\ud800", "\udfff\ud800", "\uffff\U0010ffff",
         ">>fra<< 你好", "[" * 500, '{"a":' * 200, "a\tb\r\nc\td"]
CODES = ["zh", "en", "zh-Hans", "ZH", "EN-US", "auto", "英语", "中文(简体)", "xx", "zh-CN", "de", "", "z" * 300, "en\n",
         "zho_Hans"]
ODD = [None, True, False, 0, 1, -1, 2, 16, 64, 65, 1.5, -0.0, 1e308, 1e-320, 2 ** 31, -2 ** 31, 2 ** 53, 2 ** 63 - 1,
       2 ** 70,
       [], {}, [[]], [None], [1, "你好"], {"q": "x"}, ["你好"] * 21, "1", "true", "on", "off", "-1", "1e3", "text", "html",
       "xml"]
GLOSSARY = "书\tbook\n天气\tweather\n"
ENTRIES = [GLOSSARY, "书,book\n", "书\tbook\n书\tbooks\n", "\t\n", "a\tb\tc\td\n", "书\t\x00\n", '"书,"",book',
           "x\ty\n" * 3000, ""]
DICTIONARY = {"source_lang": "zh", "target_lang": "en", "entries": GLOSSARY, "entries_format": "tsv"}
OPTIONS = """beam n_best length_penalty max_length sample temperature top_k top_p seed no_repeat_ngram repetition_penalty
    protect loop_guard doubtful scores align alternatives format glossary terms stream priority deadline_ms parts
    translation html texts text_list q text dj glossary_id glossary_ids tag_handling ignore_tags split_sentences
    formality context key token api_key document_key document_id type model_type show_billed_characters bilingual
    name entries dictionaries[0].source_lang dictionaries[0].entries preserve_formatting custom_instructions
    style_id prefix sentences""".split()
V1 = {"text": "今天天气很好。", "source": "zh", "target": "en"}
DEEPL = {"text": ["今天天气很好。", "你好"], "target_lang": "EN-US", "source_lang": "ZH"}
GOOGLE = {"q": ["今天天气很好。", "<b>你好</b>"], "target": "en", "source": "zh-CN"}
FILE = {"source": "zh", "target": "en"}
FIELDS = {  # what is right, by the beginning of the path
    "/": V1,
    "/v1/translate": V1,
    "/v1/attention": {**V1, "parts": ["encoder", "cross"]},
    "/v1/documents": FILE,
    "/v2/translate": DEEPL,
    "/v2/languages": {"type": "target"},
    "/v2/document": {"target_lang": "EN", "source_lang": "ZH"},
    "/v2/glossaries": {"name": "n", **DICTIONARY},
    "/v3/glossaries": {"name": "n", "dictionaries": [DICTIONARY], **DICTIONARY},
    "/deeplx": {"text": "你好", "source_lang": "ZH", "target_lang": "EN"},
    "/imme": {"source_lang": "auto", "target_lang": "en", "text_list": ["你好", "今天天气很好"]},
    "/kiss": {"from": "zh", "to": "en", "text": "你好"},
    "/hcfy": {"text": "你好\n\n再见", "destination": ["中文(简体)", "英语"]},
    "/translate/batch": {"from": "zh", "to": "en", "texts": ["你好", "再见"]},
    "/translate_file": FILE,
    "/translate": {"q": "今天天气很好。", "source": "zh", "target": "en"},
    "/translate_a": {"q": "你好", "sl": "zh", "tl": "en"},
    "/google/translate_a": {"q": "你好", "sl": "zh", "tl": "en"},
    "/language": GOOGLE,
    "/google": GOOGLE,
    "/detect": {"q": "今天天气很好。"},
    "/suggest": {"q": "x", "s": "y"},
}
HEADERS = """Authorization X-Goog-Api-Key X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto Origin Accept Expect Cookie
    Accept-Encoding Range If-None-Match Upgrade""".split()
HEADER_VALUES = ["", "x", "Bearer x", "DeepL-Auth-Key " + "k" * 300, "DeepL-Auth-Key x:fx", "1.2.3.4, ::1", ",,,",
                 "100-continue", "*", "https://a.example", "h2c", "bytes=0-1", "\u00ff" * 20, "a;b=c" * 200]
BODIES = [r for r in ROUTES if r[0] != "GET"]
UPLOADS = ("/v1/documents", "/v2/document", "/translate_file")


class Failure(Exception):
    pass


def word_document():
    out = io.BytesIO()
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("word/document.xml",
                   f'<w:document xmlns:w="{w}"><w:body><w:p><w:r><w:t>今天天气很好。</w:t></w:r></w:p></w:body>'
                                        '</w:document>')
    return out.getvalue()


FILES = [("a.txt", "今天天气很好。\n\n你好\n".encode()), ("b.html", "<p>今天<b>天气</b>很好</p>".encode()),
         ("c.docx", word_document()), ("d.json", '{"a": "今天天气很好", "b": [1, "你好"]}'.encode()),
         ("e.csv", "a,b\n你好,再见\n".encode()), ("f.md", "# 你好\n\n- 再见\n".encode()),
         ("g.srt", "1\n00:00:01,000 --> 00:00:02,000\n你好\n".encode()), ("h.xyz", b"x"), ("../../etc/passwd", b"x"),
         ("", b""), ("i.po", 'msgid "你好"\nmsgstr ""\n'.encode()), ("j.yaml", "a: 你好\n".encode()),
         ("长" * 200 + ".txt", b"\xff\xfe"), ("k.tsv", b"\t\n" * 999)]


# ---------------------------------------------------------------------------------------------------------------- requests

def utf8(text):
    return text.encode("utf-8", "surrogatepass")


class Requests:
    """Makes requests of a generator of random numbers."""

    def __init__(self, rng):
        self.rng = rng
        self.ids = collections.deque(["0" * 32], 40)  # that the server gave

    def chance(self, probability):
        return self.rng.random() < probability

    def text(self):
        if self.chance(0.8):
            return self.rng.choice(TEXTS)
        ranges = [(1, 128), (0x4e00, 0x9fff), (0x20, 0xd800)]
        return "".join(chr(self.rng.randrange(*self.rng.choice(ranges))) for _ in range(self.rng.randrange(60)))

    def value(self, depth=0):
        kind = self.rng.randrange(9)
        if kind < 3:
            return self.text()
        if kind < 4:
            return self.rng.choice(CODES)
        if kind < 5:
            return self.rng.choice(self.ids)
        if kind < 8 or depth > 3:
            return self.rng.choice(ODD)
        values = [self.value(depth + 1) for _ in range(self.rng.randrange(4))]
        return values if self.chance(0.6) else {self.rng.choice(OPTIONS): v for v in values}

    def fields(self, path):
        beginning = max((p for p in FIELDS if path.startswith(p)), key=len, default=None)
        fields = dict(FIELDS.get(beginning, {}))
        if self.chance(0.25):
            return fields
        for name in list(fields):
            if self.chance(0.25):
                fields[name] = self.text() if self.chance(0.6) else self.value()
            if ("lang" in name or name in ("source", "target", "from", "to", "sl", "tl")) and self.chance(0.1):
                fields[name] = self.rng.choice(CODES)
            if name == "entries" and self.chance(0.5):
                fields[name] = self.rng.choice(ENTRIES)
            if self.chance(0.03):
                del fields[name]
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 4))):
            fields[self.rng.choice(OPTIONS)] = self.value()
        return fields

    def damage(self, data):
        """Some bytes are changed, repeated, moved or lost."""
        data, r = bytearray(data), self.rng
        for _ in range(r.choice((1, 1, 2, 3, 8))):
            at, size = r.randrange(len(data) + 1), r.choice((1, 1, 2, 4, 16, 64))
            kind = r.randrange(6)
            if kind == 0:
                data[at:at + size] = b""
            elif kind == 1:
                data[at:at] = r.randbytes(size)
            elif kind == 2:
                data[at:at] = data[at:at + size] * r.choice((1, 2, 50))
            elif kind == 3 and at < len(data):
                data[at] ^= 1 << r.randrange(8)
            elif kind == 4:
                data[at:at] = r.choice((b"\0", b"\r\n", b'"', b"\\u0000", b"\\ud800", b"{", b"[", b"]", b"--", b"%", b"&",
                                        b"=", b"\xff", b"1e999", b"\xef\xbb\xbf", b"-----------------------------7f3d"))
            else:
                del data[at:]
        return bytes(data)

    def form(self, fields):
        pairs = [(utf8(str(k)), utf8(str(v))) for k, value in fields.items()
                 for v in (value if isinstance(value, list) else [value])]
        return "&".join(f"{urllib.parse.quote(k)}={urllib.parse.quote_plus(v)}" for k, v in pairs).encode()

    def multipart(self, fields, files):
        body, kind = support.multipart({}, [])
        mark = kind.split("=")[1].encode()
        out = b""
        for name, value in fields.items():
            out += (b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
                    % (mark, utf8(str(name)), utf8(str(value))))
        for name, data in files:
            out += (b'--%s\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\nContent-Type: a/b\r\n\r\n%s\r\n'
                    % (mark, self.rng.choice((b"file", b"file", b"file", b"", b"text")), utf8(name), data))
        return out + body, kind

    def body(self, path):
        """(BODY, CONTENT TYPE or None)"""
        fields, kind = self.fields(path), self.rng.randrange(10)
        if path.startswith(UPLOADS) and self.chance(0.8):
            kind = 9
        if kind < 6:
            value = fields if self.chance(0.95) else self.value()
            data, content = utf8(json.dumps(value, ensure_ascii=self.chance(0.5))), "application/json"
        elif kind < 8:
            data, content = self.form(fields), "application/x-www-form-urlencoded"
        else:
            files = [self.rng.choice(FILES) for _ in range(self.rng.choice((0, 1, 1, 1, 2)))]
            files = [(n, self.damage(d)) if self.chance(0.3) else (n, d) for n, d in files]
            data, content = self.multipart(fields, files)
        if self.chance(0.35):
            data = self.damage(data)
        if self.chance(0.1):
            content = self.rng.choice((None, "", "application/json", "multipart/form-data",
                                       "multipart/form-data; boundary=",
                                       "multipart/form-data; boundary=\"" + "x" * 300, "application/x-www-form-urlencoded",
                                       "text/plain", "multipart/mixed; boundary=a", "JSON",
                                       "application/json; charset=utf-16"))
        return data, content

    def path(self, form):
        """(PATH, whether it is another than that of a route)"""
        names = (self.rng.choice(self.ids), "0" * 32, "x", "%00", "%2f", "..", "a" * 200, "%ff%fe")
        path = "/".join(self.rng.choice(names) if p == "*" else p for p in form.split("/"))
        odd = self.chance(0.1)
        if odd:
            path = self.rng.choice((path + "/", "/" + path, path + "//", path.upper(), path + "/x",
                                    path.replace("/", "/./"), path[:-1] or "/", path + "%20", path + "\u00e9", "*",
                                    "http://a" + path, path + "#x", "/", path * 30))
        return path, odd

    def query(self, path):
        if self.chance(0.5):
            return ""
        query = self.form(self.fields(path)).decode()
        if self.chance(0.4):
            query = re.sub(r"[\0-\x20\x7f]", "+", self.damage(query.encode()).decode("latin-1"))
        return "?" + query[:3000]

    def headers(self):
        r, out = self.rng, []
        for _ in range(r.choice((0, 0, 1, 2, 5))):
            name = r.choice(HEADERS) if self.chance(0.9) else "X-" + "y" * r.randrange(400)
            value = r.choice(HEADER_VALUES) if self.chance(0.98) else "x" * 9000
            out.append(f"{name}: {value}")
        return out

    def whole(self, part):
        """(BYTES, METHOD, SURE): a request whose frame is right; sure: it must be answered."""
        r = self.rng
        method, form = r.choice(BODIES if part == "bodies" else ROUTES)
        path, odd = self.path(form) if part == "routes" else (form.replace("*", r.choice(self.ids)), False)
        if part == "routes" and self.chance(0.1):
            odd = True
            method = r.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "BREW", "TRACE"))
        data, content = self.body(form) if method not in ("GET", "HEAD") or self.chance(0.1) else (b"", None)
        query = self.query(form) if part == "routes" or method == "GET" else ""
        lines = ["Host: " + r.choice(("a", "localhost:5000", "[::1]", "<b>", ""))]
        lines += self.headers() if part == "routes" else []
        if content is not None:
            lines.append("Content-Type: " + content)
        if self.chance(0.1):
            lines.append("Connection: " + r.choice(("close", "keep-alive", "upgrade", "x")))
        if data and self.chance(0.2):
            lines.append("Transfer-Encoding: chunked")
            sent, frame = b"", data
            while frame:
                size = r.choice((1, 7, 100, 5000))
                sent += b"%x%s\r\n%s\r\n" % (len(frame[:size]), r.choice((b"", b"", b";a=b")), frame[:size])
                frame = frame[size:]
            sent += b"0\r\n\r\n"
        else:
            sent = data
            if data or method not in ("GET", "HEAD"):
                lines.append(f"Content-Length: {len(data)}")
        head = f"{method} {path}{query} HTTP/1.1\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n"
        small = len(head) + 100 * sum(head.count(c) for c in ":&=;") < SMALL_HEAD and len(sent) <= SMALL
        return head.encode("latin-1", "replace") + sent, method, small and not (odd and sent)


# ----------------------------------------------------------------------------------------------------------------- answers

class Connection:
    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=ANSWER)
        self.got = b""

    def more(self):
        part = self.socket.recv(65536)
        self.got += part
        return bool(part)

    def line(self):
        while b"\r\n" not in self.got:
            if not self.more():
                return None
        line, self.got = self.got.split(b"\r\n", 1)
        return line

    def exactly(self, size):
        while len(self.got) < size:
            if not self.more():
                raise Failure("the answer is cut short")
        data, self.got = self.got[:size], self.got[size:]
        return data

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may have answered

    def answer(self, method):
        """(STATUS, HEADERS, BODY), or None at the end of the connection."""
        status = 100
        while status < 200:
            line = self.line()
            if line is None:
                return None
            found = re.fullmatch(rb"HTTP/1\.[01] (\d\d\d)( [^\r\n]*)?", line)
            if not found:
                raise Failure(f"no status line: {line!r}")
            status, headers = int(found[1]), {}
            while (line := self.line()):
                name, _, value = line.partition(b":")
                headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
        if method == "HEAD" or status in (204, 304):
            return status, headers, b""
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while (size := int(self.line() or b"x", 16)):
                body += self.exactly(size)
                self.line()
            self.line()
            return status, headers, body
        return status, headers, self.exactly(int(headers.get("content-length", "0")))

    def close(self, hard=False):
        if hard:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def check(status, headers, body):
    if status >= 500 and (status not in (503, 504, 505) or len(body) < 10):
        raise Failure(f"status {status}: {body[:300]!r}")
    if headers.get("content-type") == "application/json" and body:
        json.loads(body)


# ------------------------------------------------------------------------------------------------------------------ fuzzing

class Fuzzer(threading.Thread):
    def __init__(self, run, number):
        super().__init__(daemon=True)
        self.run_of, self.number = run, number
        self.rng = random.Random(f"{run.seed} {number}")
        self.requests = Requests(self.rng)
        self.statuses = collections.Counter()
        self.connection, self.sent = None, b""

    def learn(self, body):
        for value in re.findall(rb'"(?:id|document_id|document_key|glossary_id)":"([^"]{1,80})"', body):
            self.requests.ids.append(value.decode())

    def connect(self):
        if not self.connection:
            self.connection = Connection(self.run_of.server.address)
        return self.connection

    def end(self, hard=False):
        if self.connection:
            self.connection.close(hard)
        self.connection = None

    def take(self, method, sure):
        """Reads the answer to what was sent. False: the connection has ended."""
        try:
            answer = self.connection.answer(method)
        except ConnectionResetError:
            answer = None
        if answer is None:
            if sure:
                raise Failure("a whole request was not answered")
            self.statuses["closed"] += 1
            return False
        status, headers, body = answer
        self.statuses[status] += 1
        check(*answer)
        self.learn(body)
        return headers.get("connection", "").lower() != "close"

    def whole(self):
        """On the connection of the one before, if it is still open."""
        self.sent, method, sure = self.requests.whole(self.run_of.part)
        kept = self.connection is not None
        self.connect().send(self.sent)
        if not self.take(method, sure and not kept):
            self.end()
            if sure:  # it may have been closed before
                self.connect().send(self.sent)
                if not self.take(method, True):
                    self.end()

    def pipelined(self):
        several = [self.requests.whole(self.run_of.part) for _ in range(self.rng.randrange(2, 6))]
        self.sent = b"".join(data for data, _, _ in several)
        self.end()
        self.connect().send(self.sent)
        # One that is closed early may lose earlier answers; libmicrohttpd closes one with Expect and more after it.
        sure = all(s for _, _, s in several) and b"Expect: " not in self.sent
        for i, (_, method, _) in enumerate(several):
            if not self.take(method, sure and i == 0):
                self.end()
                return

    def damaged(self):
        """Anything may come of it, but not for ever."""
        self.sent = data = self.requests.whole(self.run_of.part)[0]
        head = data.find(b"\r\n\r\n") + 4
        if self.rng.random() < 0.5:
            data = data[:self.rng.randrange(len(data) + 1)]
        elif self.rng.random() < 0.8:
            data = self.requests.damage(data[:head]) + data[head:]
        else:
            data = self.rng.randbytes(self.rng.randrange(2000))
        self.sent = data
        self.end()
        c = self.connect()
        c.send(data)
        try:
            c.socket.shutdown(socket.SHUT_WR)
            while c.more():
                pass
        except OSError as e:
            if isinstance(e, TimeoutError):
                raise Failure("the connection does not end") from None
        for status in re.findall(rb"^HTTP/1\.1 (\d\d\d)", c.got, re.M):
            self.statuses[f"damaged {status.decode()}"] += 1
            check(int(status), {}, c.got)
        self.end()

    def slow(self):
        self.sent, method, sure = self.requests.whole(self.run_of.part)
        self.end()
        c = self.connect()
        step = len(self.sent) // self.rng.randrange(2, 12) + 1
        for i in range(0, len(self.sent), step):
            c.send(self.sent[i:i + step])
            time.sleep(self.rng.random() * 0.02)
        if not self.take(method, sure):
            self.end()

    def left(self):
        if self.rng.random() < 0.5:
            fields = {**V1, "text": "今天天气很好。我喜欢读书。" * self.rng.randrange(1, 60), "stream": self.rng.random() < 0.8}
            body = json.dumps(fields).encode()
            self.sent = b"POST /v1/translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        else:
            self.sent = self.requests.whole(self.run_of.part)[0]
        self.end()
        c = self.connect()
        c.send(self.sent)
        time.sleep(self.rng.choice((0, 0.001, 0.02, 0.2, 1)))
        if self.rng.random() < 0.5:
            c.socket.settimeout(1)
            try:
                c.socket.recv(self.rng.choice((1, 100, 100000)))
            except (TimeoutError, ConnectionResetError):
                pass
        self.statuses["left"] += 1
        self.end(self.rng.random() < 0.5)

    def run(self):
        kinds = [self.whole] * 12 + [self.pipelined] * 2 + [self.damaged] * 2 + [self.slow, self.left]
        while not self.run_of.over():
            try:
                self.rng.choice(kinds)()
            except Exception as e:
                self.run_of.fail(f"connection {self.number}: {type(e).__name__}: {e}", self.sent)


class Run:
    def __init__(self, arguments):
        self.part, self.seed = arguments.part, arguments.seed
        self.until = time.monotonic() + arguments.seconds
        self.lock, self.problem = threading.Lock(), None
        env = support.environment(ASAN_OPTIONS="quarantine_size_mb=8", UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
        self.server = support.Server(*ARGUMENTS, env=env)
        self.sizes = []

    def over(self):
        return self.problem is not None or time.monotonic() > self.until

    def fail(self, problem, sent=b""):
        with self.lock:
            if self.problem is None:
                self.problem = problem
                print(f"FAILED: {problem}\nsent ({len(sent)} bytes): {sent[:3000]!r}", flush=True)
                pathlib.Path("fuzz-requests.bin").write_bytes(sent)

    def watch(self):
        """The server lives, and answers a simple question."""
        started = time.monotonic()
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        self.sizes.append(int(re.search(r"VmRSS:\s*(\d+)", status)[1]))
        if self.server.get("/health").status != 200:
            raise Failure("/health is not well")
        if time.monotonic() - started > ANSWER / 4:
            raise Failure("/health takes too long")

    def go(self, connections):
        fuzzers = [Fuzzer(self, i) for i in range(connections)]
        for f in fuzzers:
            f.start()
        while not self.over():
            try:
                self.watch()
            except Exception as e:
                self.fail(f"the server is not well: {type(e).__name__}: {e}")
            time.sleep(1)
        for f in fuzzers:
            f.join(2 * ANSWER)
        third = len(self.sizes) // 3
        early, late = max(self.sizes[:third + 1]), max(self.sizes[2 * third:] or [0])
        print("answers:", dict(sorted(sum((f.statuses for f in fuzzers), collections.Counter()).items(),
                                      key=lambda e: str(e[0]))))
        print(f"size: {early} KiB at most in the first third, {late} KiB in the last", flush=True)
        if late > early + GROWTH:
            self.fail("its memory grows")
        status = self.server.end()
        if status or b"Sanitizer" in self.server.said or b"runtime error" in self.server.said:
            self.fail(f"the server ended with {status}")
            print(self.server.said.decode("utf-8", "replace")[-8000:])
        return self.problem is not None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("model")
    parser.add_argument("--part", choices=("bodies", "routes"), default="routes")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--connections", type=int, default=8)
    arguments = parser.parse_args()
    support.TOOL, support.MODEL = arguments.tool, arguments.model
    print(f"--part {arguments.part} --seed {arguments.seed}, {len(ROUTES)} routes", flush=True)
    raise SystemExit(Run(arguments).go(arguments.connections))


if __name__ == "__main__":
    main()
