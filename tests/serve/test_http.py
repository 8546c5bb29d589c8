"""What clients do wrong or leave undone: the right status, and other clients unharmed."""
import json
import re
import select
import signal
import socket
import threading
import time

import support
from support import ServeTest, Server

TEXT = "今天天气很好。"
GOOD = json.dumps({"q": TEXT, "source": "zh", "target": "en"}).encode()


def request(body=GOOD, path="/translate", method="POST", length=None, more=b""):
    return (f"{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body) if length is None else length}\r\n").encode() + more + b"\r\n" + body


def read_all(connection):
    parts = []
    with connection:
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


class Requests(ServeTest):
    def still_serves(self):
        self.assertEqual(self.server.post("/translate", json.loads(GOOD)).status, 200)

    def raw(self, data, end=False, wait=10):
        """What the server sends before it closes the connection, or before it is silent for some seconds."""
        parts = []
        with self.server.socket() as c:
            try:
                c.sendall(data)
                if end:
                    c.shutdown(socket.SHUT_WR)
                c.settimeout(wait)
                while part := c.recv(65536):
                    parts.append(part)
            except (TimeoutError, ConnectionResetError, BrokenPipeError):
                pass
        return b"".join(parts)

    def test_routes(self):
        for method, path, status in (("GET", "/", 200), ("GET", "/nowhere", 404), ("GET", "/translate", 405),
                                     ("DELETE", "/languages", 405), ("GET", "/languages/", 200), ("HEAD", "/health", 200),
                                     ("OPTIONS", "/translate", 204), ("GET", "/../etc/passwd", 404),
                                     ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404), ("GET", "/languages?%ff=1", 400),
                                     ("BREW", "/health", 405), ("GET", "/" + "a" * 3000, 404)):
            answer = self.server.ask(method, path)
            self.assertEqual(answer.status, status, (method, path, answer))
            if status >= 400:
                self.assertIn("error", answer.json)
            if status == 405:
                self.assertIn("GET" if path != "/translate" else "POST", answer.headers["Allow"])
            if method == "HEAD":
                self.assertEqual(answer.body, b"")
        for path, allowed in (("/v2/glossaries/x/entries", {"GET"}), ("/v2/glossaries/x", {"GET", "DELETE"})):
            answer = self.server.ask("PUT", path)
            self.assertEqual((answer.status, {*answer.headers["Allow"].split(", ")}), (405, {"OPTIONS", *allowed}))
            self.assertIn(path, answer.json["error"]["message"])
        self.assertNotIn("Set-Cookie", self.server.get("/health").headers)

    def test_bodies(self):
        deep = b"[" * 100000
        for body in (b"{", b'{"q": }', b"[1, 2", b"nul", deep, b'{"q":"\xff"}', b'{"q":"\\u0000"}', b'{"q":"\\ud800"}',
                     b'{"q"' + deep, GOOD[:-1], b"\xef\xbb\xbf" + GOOD, b'{"a":1e999999}'):
            answer = self.server.ask("POST", "/translate", body, {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 400, (body[:40], answer))
        for body in (b"", b"=", b"&&&", b"%", b"q=%zz", b"q", b"q=" + b"\xff"):
            answer = self.server.ask("POST", "/translate", body, {"Content-Type": "application/x-www-form-urlencoded"})
            self.assertEqual(answer.status, 400, (body, answer))
        head = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\n'
        for body in (b"", b"--x", b"--x\r\n\r\n", head + TEXT.encode()):
            answer = self.server.ask("POST", "/translate", body, {"Content-Type": "multipart/form-data; boundary=x"})
            self.assertEqual(answer.status, 400, (body, answer))
        self.still_serves()

    def test_sizes(self):
        large = 100 << 20
        answer = self.raw(request(b"", length=large))
        self.assertIn(b" 413 ", answer.split(b"\r\n")[0])
        answer = self.raw(request(b"x" * (1 << 20), length=large))
        self.assertIn(answer.split(b"\r\n")[0][8:13], (b" 413 ", b""))  # b"": what was not read resets the connection
        self.assertNotIn(b"200 OK", self.raw(request(length=-1)))
        self.assertNotIn(b"200 OK", self.raw(request(length="99999999999999999999999999")))
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        head = b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        self.assertIn(b" 413 ", self.raw(head + 3 * chunk + b"0\r\n\r\n").split(b"\r\n")[0])
        c = self.server.socket()
        with c:  # one that does not end is not read for ever
            c.sendall(head)
            with self.assertRaises((BrokenPipeError, ConnectionResetError)):
                for _ in range(100):
                    c.sendall(chunk)
                    time.sleep(0.01)
        self.still_serves()

    def test_many_fields_in_the_address(self):
        path = "/language/translate/v2/languages?" + "&".join(["a=1", "b"] * 900)
        answer = self.server.get(path + "&target=z%68+")  # which libmicrohttpd alone has no room for
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("'zh '", answer.json["error"]["message"])
        self.assertEqual(self.server.get(path + "&target=zh").json["data"]["languages"][0]["name"], "中文(简体)")
        for query in ("", "&", "=", "&&=&", "%", "a=%00", "%00", "a%", "+", "q=" + "x" * 9000):
            self.assertEqual(self.server.get("/health?" + query).status, 200, query)

    def test_large_bodies_stop_nobody(self):
        entries = "".join(f"词{i}\tword{i}\n" for i in range(100000))
        glossary = json.dumps({"name": "x", "source_lang": "zh", "target_lang": "en", "entries": entries,
                               "entries_format": "tsv"}).encode()
        html = json.dumps({"q": "<p>1<br>2</p>\n" * 4000, "source": "zh", "target": "en", "format": "html"}).encode()

        def share(path, body):
            """What part of the time until the answer another client waits for its own."""
            longest, health = 0, self.server.connect()
            with self.server.socket() as c:
                c.sendall(request(body, path))
                sent = time.monotonic()
                while not select.select([c], [], [], 0)[0]:
                    asked = time.monotonic()
                    self.assertEqual(self.server.ask("GET", "/health", connection=health).status, 200)
                    longest = max(longest, time.monotonic() - asked)
                taken = time.monotonic() - sent
                self.assertIn(c.recv(100)[9:12], (b"200", b"201", b"456"))
            health.close()
            return longest / taken

        for path, body in (("/v2/glossaries", glossary), ("/translate", html)):
            self.assertTrue(any(share(path, body) < 0.4 for _ in range(10)), path)

    def test_many_values(self):
        for body in (b'{"q":[' + b"{}," * 200000 + b"{}]}", b"[" + b"0," * 200000 + b"0]"):
            answer = self.server.ask("POST", "/v1/documents", body, {"Content-Type": "application/json"})
            self.assertEqual((answer.status, "values" in answer.body.decode()), (400, True), answer)
        body = b"&".join([b"a=1"] * 20000)
        answer = self.server.ask("POST", "/translate", body, {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual((answer.status, "fields" in answer.json["error"]), (400, True), answer)
        text = "[{," * 50000  # within a text they count nothing
        self.assertEqual(self.server.post("/translate", q=text, source="zh", target="en").status, 400)

    def test_many_bodies_at_once(self):
        server = self.start("--upload-limit", "1", "--char-limit", "100")
        connections = [server.socket() for _ in range(40)]
        refused = set()

        def is_refused(c):
            try:
                return c.recv(100)[9:12] in (b"503", b"")
            except TimeoutError:
                return False
            except ConnectionResetError:
                return True

        for c in connections:  # 40 bodies that never end, of which 16 fit
            try:
                c.sendall(request(b" " * (900 << 10), "/v1/documents", length=1000 << 10))
            except (TimeoutError, ConnectionResetError, BrokenPipeError):
                pass
            c.settimeout(0.02)
        end = time.monotonic() + support.START
        while len(refused) <= 10 and time.monotonic() < end:
            refused |= {c for c in connections if c not in refused and is_refused(c)}
        self.assertGreater(len(refused), 10)
        for c in connections:
            c.close()
        self.eventually(lambda: server.post("/translate", json.loads(GOOD)).status == 200)

    def test_nul_in_html(self):
        answers = [self.server.form("/translate", q=f"<p>{TEXT}<!--\0b--></p>\0c", source="zh", target="en", format="html",
                                    alternatives=2).json for _ in range(2)]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[1]["alternatives"], [])

    def test_headers(self):
        many = b"GET /health HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100000
        # The end of a connection with unread data can overtake the answer.
        self.assertTrue(any(b" 431 " in self.raw(many)[:100] for _ in range(10)))
        self.assertNotIn(b"200 OK", self.raw(b"GET /health HTTP/1.1\r\nX: " + b"y" * 100000 + b"\r\n\r\n"))
        self.assertNotIn(b"200 OK", self.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), end=True))
        self.assertNotIn(b"200 OK", self.raw(b"GET\r\n\r\n", end=True))
        self.still_serves()

    def test_cut_short(self):
        for data in (request()[:20], request()[:-5], request(length=len(GOOD) + 5)):
            self.assertNotIn(b"200 OK", self.raw(data, end=True))
        self.still_serves()

    def test_slow(self):
        c = self.server.socket()
        with c:
            for byte in request():
                c.sendall(bytes([byte]))
                time.sleep(0.002)
            self.still_serves()
            self.assertIn(b"200 OK", c.recv(4096))

    def test_one_connection(self):
        c = self.server.connect()
        for _ in range(3):
            answer = self.server.ask("POST", "/translate", GOOD, {"Content-Type": "application/json"}, c)
            self.assertEqual(answer.status, 200)
            self.assertEqual(self.server.ask("GET", "/nowhere", connection=c).status, 404)
        c.close()
        c = self.server.socket()
        with c:
            c.sendall(request() * 3)  # sent ahead
            got = b""
            while got.count(b"200 OK") < 3 or not got.endswith(b"}"):
                part = c.recv(65536)
                self.assertTrue(part, got)
                got += part

    def test_leaving(self):
        """Clients that leave at every stage."""
        text = json.dumps({"q": [f"第{i}个问题是什么？" for i in range(300)], "source": "zh", "target": "en"}).encode()
        for wait in (0, 0.01, 0.05, 0.2):
            for data in (request(text), request(text)[:200], request(json.dumps(
                    {"text": TEXT * 50, "source": "zh", "target": "en", "stream": True}).encode(), "/v1/translate")):
                c = self.server.socket()
                c.sendall(data)
                time.sleep(wait)
                c.close()
        self.still_serves()
        self.eventually(lambda: "\ntranslate_requests_open 1\n" in self.server.get("/metrics").body.decode())

    def test_many_at_once(self):
        answers = []

        def ask(number):
            answers.append(self.server.post("/translate", q=f"我有{number}本书。", source="zh", target="en").status)

        threads = [threading.Thread(target=ask, args=[i]) for i in range(100)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(answers, [200] * 100)

    def test_types(self):
        for value in (None, True, 1, 1.5, "x", [], {}, [[]], [{}], "9" * 400, -1):
            for path, names in (("/translate", ("q", "source", "target", "format", "alternatives")),
                                ("/v1/translate", ("text", "source", "target", "format", "alternatives", "beam", "stream",
                                                   "priority", "deadline_ms", "glossary", "terms", "temperature",
                                                   "prefix", "sentences", "rerank")),
                                ("/detect", ("q",))):
                for name in names:
                    fields = {"q": TEXT, "text": TEXT, "source": "zh", "target": "en", name: value}
                    answer = self.server.post(path, fields)
                    self.assertIn(answer.status, (200, 400, 404, 504), (path, name, value, answer))
                    self.assertIsInstance(answer.json, (dict, list)) if not answer.body.startswith(b"event") else None


class Stream(ServeTest):
    @staticmethod
    def events(answer):
        """[(NAME, VALUE)]"""
        parts = answer.body.decode().split("\n\n")[:-1]
        return [(p.split("\n")[0][7:], json.loads(p.split("\n")[1][6:])) for p in parts]

    def test_events(self):
        text = "今天天气很好。我喜欢读书。"
        answer = self.server.post("/v1/translate", text=text, source="zh", target="en", stream=True)
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        events = self.events(answer)
        self.assertEqual([name for name, _ in events], ["token"] * (len(events) - 1) + ["done"])
        self.assertEqual(events[-1][1]["translations"][0]["text"], self.translated(text))
        found = ["", ""]
        for _, token in events[:-1]:
            found[token["sentence"]] = token["text"] if token["restarted"] else found[token["sentence"]] + token["text"]
        self.assertEqual("".join(found), self.translated(text))

    def test_nothing_to_do(self):
        events = self.events(self.server.post("/v1/translate", text="", source="zh", target="en", stream=True))
        self.assertEqual([(name, value["translations"][0]["text"]) for name, value in events], [("done", "")])

    def test_large_end(self):
        """More in one event than a client may fall behind."""
        text = "12\n" * 9000
        answer = self.server.post("/v1/translate", text=text, source="zh", target="en", stream=True, sentences=True)
        self.assertGreater(len(answer.body), 1 << 20)
        [(name, value)] = self.events(answer)
        self.assertEqual((name, len(value["translations"][0]["sentences"])), ("done", 9000))

    def test_errors_come_first(self):
        answer = self.server.post("/v1/translate", text=TEXT, source="zh", target="xx", stream=True)
        self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "bad_request"))

    def test_deadline(self):
        text = "".join(f"他有{i}本书。" for i in range(3000))
        answer = self.server.post("/v1/translate", text=text, source="zh", target="en", deadline_ms=50)
        self.assertEqual((answer.status, answer.json["error"]["code"]), (504, "deadline_exceeded"))


class Details(ServeTest):
    def ask(self, **fields):
        answer = self.server.post("/v1/translate", **{"text": TEXT, "source": "zh", "target": "en", **fields})
        self.assertEqual(answer.status, 200, answer)
        return answer.json["translations"][0]

    def test_alignment(self):
        found = self.ask(align=True)
        source, target = TEXT.encode(), found["text"].encode()
        self.assertTrue(found["alignment"])
        for link in found["alignment"]:
            for side, text in (("source", source), ("target", target)):
                begin, end = link[side]["bytes"]
                first, last = link[side]["characters"]
                self.assertEqual(text[begin:end].decode(), text.decode()[first:last])

    def test_sentences(self):
        source = "  你好。\n\n🙂他在2019年买了37本书！12:30"
        found = self.ask(text=source, sentences=True)
        self.assertEqual([source[slice(*s["source"]["characters"])] for s in found["sentences"]],
                         ["你好。", "🙂他在2019年买了37本书！", "12:30"])
        for side, text in (("source", source), ("target", found["text"])):
            places = [s[side] for s in found["sentences"]]
            self.assertEqual([text.encode()[slice(*p["bytes"])].decode() for p in places],
                             [text[slice(*p["characters"])] for p in places])
            between = zip([0] + [p["characters"][1] for p in places], [p["characters"][0] for p in places])
            self.assertEqual("".join(text[begin:end] for begin, end in between).strip(), "")
        self.assertEqual([s["flags"] for s in found["sentences"]], [[], [], ["passed_through"]])
        self.assertNotIn("sentences", self.ask())
        self.assertEqual(self.ask(text=" ", sentences=True)["sentences"], [])

    def test_sentences_and_doubt(self):
        server = self.start("-m", support.FIXTURES.parent / "models" / "zh-en.gguf")  # its file says what is doubtful
        found = server.post("/v1/translate", text="今天天气很好。不鳔槭啊恁的铄。", source="zh", target="en", sentences=True,
                            doubtful=True).json["translations"][0]
        self.assertEqual([s["flags"] for s in found["sentences"]], [[], ["doubtful"]])

    def test_html_with_more_texts_than_a_queue_takes(self):
        self.ask()  # the model is open, so that the submission fails at once
        for _ in range(3):
            answer = self.server.post("/v1/translate", text="<p>a" * 20000, source="zh", target="en", format="html")
            self.assertEqual(answer.status, 400, answer)
            self.assertIn("20000 texts", answer.json["error"]["message"])
        self.ask()

    def test_prefix(self):
        found = self.ask(prefix="Today", alternatives=3)
        texts = [found["text"], *found["alternatives"]]
        self.assertTrue(all(t.startswith("Today") for t in texts), texts)
        self.assertEqual(len({*texts}), len(texts))
        self.assertGreater(len(texts), 2)
        self.assertNotEqual(found["text"], self.ask()["text"])
        for fields in ({"prefix": 1}, {"prefix": ["Today"]}, {"prefix": "Today", "text": [TEXT, TEXT]},
                       {"prefix": "Today", "format": "html"}, {"prefix": "Today " * 600}):
            answer = self.server.post("/v1/translate", {"text": TEXT, "source": "zh", "target": "en", **fields})
            self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "bad_request"), (fields, answer))
            self.assertIn("prefix", answer.json["error"]["message"])
        answer = self.server.post("/v1/translate", text=TEXT, source="zh", target="en", prefix="Today " * 700)
        self.assertEqual((answer.status, "more than 4096 bytes" in answer.json["error"]["message"]), (400, True), answer)

    def test_scores(self):
        found = self.ask(scores=True, beam=4, n_best=3)
        self.assertLess(found["score"], 0)
        self.assertEqual(found["hypotheses"][0]["text"], found["text"])
        self.assertEqual(len(found["hypotheses"]), 3)
        self.assertNotIn("score", self.ask())

    def test_numbers_are_short(self):
        for path in ("/v1/translate", "/language/translate/v2/detect"):
            answer = self.server.post(path, text=TEXT, q=TEXT, source="zh", target="en", scores=True, align=True)
            numbers = re.findall(rb":(-?[0-9]+\.[0-9]+)[,}]", answer.body)
            self.assertTrue(numbers)
            self.assertFalse([n for n in numbers if len(n.strip(b"-0.")) > 7], answer)

    def test_terms(self):
        """A request brings its own glossary, whatever the languages are said to be."""
        text = "今天天气很好。"
        terms = "# a comment\n天气\tWEATHERING\n今天\t\"Today, so\"\n"
        for source in ("zh", "auto"):
            self.assertIn("WEATHERING", self.ask(text=text, source=source, terms=terms)["text"])
        self.assertEqual(self.ask(text=text, terms=""), self.ask(text=text))
        for wrong, says in (("天\n", "terms:1: one field"), ("a\tb\na\tc", "terms:2: 'a' has another target"), (1, "terms"),
                            ("a\tb\n" * (16 << 10) + "c", "terms: more than 64 KiB")):
            answer = self.server.post("/v1/translate", text=text, source="zh", target="en", terms=wrong)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (400, "bad_request"), answer)
            self.assertIn(says, answer.json["error"]["message"])
        answer = self.server.post("/v1/translate", text=text, source="zh", target="en", terms="a\tb", glossary="a")
        self.assertEqual((answer.status, answer.json["error"]["message"]), (400, "glossary: not together with terms"))

    def test_flags(self):
        self.assertEqual(self.ask(text="12")["flags"], ["passed_through"])
        self.assertEqual(self.ask()["flags"], [])

    def test_lists(self):
        self.assertEqual(self.server.get("/ready").json, {"status": "ready"})
        self.assertEqual([e["code"] for e in self.server.get("/v1/languages").json["languages"]], ["zh-Hans"])
        self.assertEqual(len(self.server.get("/v1/models").json["models"]), 1)
        self.assertEqual(self.server.get("/v1/glossaries").json, {"glossaries": []})


class Full(ServeTest):
    ARGUMENTS = ("--queue-limit", "50", "-T", "1", "--cache-size", "0")

    def test_full_queue(self):
        answers = []

        def ask(number):
            texts = [f"我有{number}本书和{i}支笔。" for i in range(20)]
            answers.append(self.server.post("/translate", q=texts, source="zh", target="en"))

        threads = [threading.Thread(target=ask, args=[i]) for i in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual({a.status for a in answers}, {200, 503})
        self.assertTrue(all(a.headers["Retry-After"] for a in answers if a.status == 503))
        self.assertEqual(self.server.post("/translate", json.loads(GOOD)).status, 200)


class Ends(ServeTest):
    def test_accepted_work_is_finished(self):
        server = Server("-T", "1")
        texts = [f"第{i}个问题是什么？" for i in range(200)]
        answers = []

        def ask():
            answers.append(server.post("/translate", q=texts, source="zh", target="en"))

        client = threading.Thread(target=ask)
        client.start()
        self.eventually(lambda: b"\ntranslate_requests_open 2\n" in server.get("/metrics").body or not client.is_alive())
        server.signal(signal.SIGTERM)
        client.join()
        self.assertEqual(answers[0].status, 200)
        self.assertEqual(len(answers[0].json["translatedText"]), 200)
        self.assertEqual(server.end(), 0)

    def test_requests_on_their_way_are_answered(self):
        server = Server()
        accepted = server.connect()
        accepted.connect()
        self.assertEqual(server.get("/ready").status, 200)  # it came later, so that the first one is accepted by now
        server.signal(signal.SIGTERM)
        body = json.dumps({"q": "你好", "source": "zh", "target": "en"})
        answer = server.ask("POST", "/translate", body, {"Content-Type": "application/json"}, accepted)
        self.assertEqual((answer.status, answer.headers["Connection"]), (200, "close"))
        self.assertEqual(server.end(), 0)

    def test_grace(self):
        server = Server("-T", "1", "--grace", "0", "--char-limit", "0")
        c = server.socket()
        text = "".join(f"他有{i}本书。" for i in range(20000))
        c.sendall(request(json.dumps({"q": text, "source": "zh", "target": "en"}).encode()))
        self.eventually(lambda: b"\ntranslate_texts_waiting 0\n" not in server.get("/metrics").body)
        with self.within(30):
            self.assertEqual(server.end(), 0)
        self.assertIn(b" 503 ", read_all(c).split(b"\r\n")[0])

    def test_killed(self):
        path = self.folder() / "socket"
        server = Server("--unix", path)
        server.end(signal.SIGKILL)
        self.assertTrue(path.exists())
        self.start("--unix", path)

    def test_the_next_server_at_a_socket(self):
        """It can begin while the one before finishes, and keeps its socket."""
        path = self.folder() / "socket"
        first = Server("--unix", path)
        busy = first.connect()
        busy.request("POST", "/translate", iter([b'{"q": "', b"x" * 100]), encode_chunked=False,
                     headers={"Content-Length": "1000", "Content-Type": "application/json"})
        self.eventually(lambda: b"\ntranslate_requests_open 2\n" in first.get("/metrics").body)
        first.signal(signal.SIGTERM)
        self.eventually(lambda: not path.exists(), 10)
        second = self.start("--unix", path)
        self.assertIsNone(first.process.poll())
        busy.close()
        self.assertEqual(first.end(), 0)
        self.assertEqual(second.get("/health").status, 200)

    def test_idle_connections(self):
        server = self.start()
        connections = [server.connect() for _ in range(200)]
        for c in connections:
            self.assertEqual(server.ask("GET", "/health", connection=c).status, 200)
        self.assertEqual(server.end(), 0)
