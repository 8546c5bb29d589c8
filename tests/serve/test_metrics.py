"""GET /metrics: Prometheus's text format, and numbers that are true."""
import json
import math
import re

from support import ServeTest, environment

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}


def parse(text):
    """{(name, labels): value} of a page; ValueError if it breaks a rule of the format 0.0.4."""
    samples, types, helps, current, closed = {}, {}, set(), None, set()

    def require(condition, what):
        if not condition:
            raise ValueError(f"{what}: {line!r}")

    line = text[-20:]
    require(text.endswith("\n"), "the last line has no end")
    for line in text[:-1].split("\n"):
        comment = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
        if comment:
            kind, name, rest = comment.groups()
            if name != current:
                require(name not in closed, "a metric in two places")
                closed.add(current)
                current = name
            if kind == "HELP":
                require(name not in helps, "two helps")
                require(not re.search(r"\\(?![\\n])", rest), "an unknown escape")
                helps.add(name)
            else:
                require(name not in types, "two types")
                require(rest in ("counter", "gauge", "histogram", "summary", "untyped"), "an unknown type")
                types[name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        require(match, "no sample")
        name, labels, value = match.groups()
        require(current in types and current in helps, "a sample without type or help")
        require(name in [current + s for s in SUFFIXES.get(types[current], ("",))], "a sample of another metric")
        require((types[current] == "counter") == current.endswith("_total"), "a counter is not named as one, or another is")
        pairs = tuple(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
        require(len({n for n, _ in pairs}) == len(pairs), "a label twice")
        require((name, pairs) not in samples, "a sample twice")
        samples[name, pairs] = float(value)
        require(types[current] == "gauge" or samples[name, pairs] >= 0, "a negative count")
    for (name, pairs), count in samples.items():
        if name.endswith("_count") and types.get(name[:-6]) == "histogram":
            line = name
            check_histogram(require, samples, name[:-6], pairs, count)
    return samples


def check_histogram(require, samples, name, pairs, count):
    buckets = [(float(p[-1][1]), v) for (n, p), v in samples.items() if n == name + "_bucket" and p[:-1] == pairs]
    require((name + "_sum", pairs) in samples, "no sum")
    require(buckets and buckets[-1] == (math.inf, count), "the last bucket has not all")
    for (bound, some), (next_bound, more) in zip(buckets, buckets[1:]):
        require(bound < next_bound and some <= more, "bounds or counts descend")


class Format(ServeTest):
    """The checker itself."""

    @classmethod
    def setUpClass(cls):
        pass

    tearDownClass = setUpClass

    def test_good_pages_pass(self):
        page = ('# HELP a_total One.\n# TYPE a_total counter\na_total{x="\\"\\n\\\\",y=""} 1\na_total{x="b"} 2e3\n'
                "# HELP b Two.\n# TYPE b gauge\nb -0.5\n# HELP h Three.\n# TYPE h histogram\n"
                'h_bucket{le="0.5"} 1\nh_bucket{le="+Inf"} 3\nh_sum 2.5\nh_count 3\n')
        self.assertEqual(len(parse(page)), 7)

    def test_bad_pages_do_not(self):
        head = "# HELP a A.\n# TYPE a gauge\n"
        histogram = "# HELP h H.\n# TYPE h histogram\n"
        for page in [head + "a 1", "a 1\n", "# TYPE a gauge\na 1\n", head + "b 1\n", head + "a 1\na 1\n", head + "a x\n",
                     head + 'a{x="\\t"} 1\n', head + 'a{x=1} 1\n', head + 'a{x="1",x="2"} 1\n', head + "\n", head + "a  1\n",
                     head + "a 1\n# HELP b B.\n# TYPE b gauge\nb 1\n" + head, "# HELP a A.\n# TYPE a counter\na 1\n",
                     "# HELP a A.\n# TYPE a other\na 1\n", head + "# TYPE a gauge\n",
                     histogram + 'h_bucket{le="1"} 1\nh_sum 1\nh_count 1\n',
                     histogram + 'h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
                     histogram + 'h_bucket{le="+Inf"} 2\nh_sum 1\nh_count 1\n',
                     histogram + 'h_bucket{le="+Inf"} 1\nh_count 1\n']:
            with self.assertRaises(ValueError, msg=page):
                parse(page)


class Metrics(ServeTest):
    ARGUMENTS = ("--cache-size", "1")

    def metrics(self, server=None):
        answer = (server or self.server).get("/metrics")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return parse(answer.body.decode())

    def gained(self, before, name, **labels):
        """By how much the sum of samples with these labels has grown."""
        def total(samples):
            return sum(v for (n, p), v in samples.items() if n == name and labels.items() <= dict(p).items())
        return total(self.metrics()) - total(before)

    def translate(self, text, status=200, **more):
        answer = self.server.post("/translate", q=text, source="zh", target="en", **more)
        self.assertEqual(answer.status, status, answer)

    def test_requests_are_counted_by_route_and_status(self):
        before = self.metrics()
        self.translate("今天天气很好")
        self.translate("你好")
        self.assertEqual(self.server.post("/translate", q="x", source="xx", target="en").status, 400)
        self.server.get("/languages")
        self.assertEqual(self.server.get("/none%22%5C").status, 404)
        count = "translate_requests_total"
        self.assertEqual(self.gained(before, count, method="POST", route="/translate", status="200"), 2)
        self.assertEqual(self.gained(before, count, method="POST", route="/translate", status="400"), 1)
        self.assertEqual(self.gained(before, count, method="GET", route="/languages", status="200"), 1)
        self.assertEqual(self.gained(before, count, route="", status="404"), 1)
        self.assertGreaterEqual(self.gained(before, count, route="/metrics"), 4)
        self.assertEqual(self.gained(before, "translate_request_seconds_count", route="/translate"), 3)
        self.assertGreater(self.gained(before, "translate_request_seconds_sum", route="/translate"), 0)

    def test_work_is_counted(self):
        before = self.metrics()
        self.translate("我们明天去北京。你也来吗？")
        self.assertEqual(self.gained(before, "translate_sentences_total"), 2)
        self.assertGreater(self.gained(before, "translate_source_tokens_total"), 4)
        self.assertGreater(self.gained(before, "translate_target_tokens_total"), 4)

    def test_the_cache_is_counted(self):
        before = self.metrics()
        self.translate("书在桌子上。")
        self.translate("书在桌子上。")
        self.assertEqual(self.gained(before, "translate_cache_misses_total"), 1)
        self.assertEqual(self.gained(before, "translate_cache_hits_total"), 1)
        self.assertEqual(self.gained(before, "translate_cache_entries"), 1)
        self.assertGreater(self.gained(before, "translate_cache_bytes"), 50)
        self.assertEqual(self.gained(before, "translate_sentences_total"), 1)

    def test_state_is_shown(self):
        self.translate("你好")
        samples = self.metrics()
        self.assertEqual(samples["translate_model_open", (("model", "zh-en.gguf"),)], 1)
        self.assertGreater(samples["translate_model_bytes", (("model", "zh-en.gguf"),)], 1e5)
        self.assertEqual(samples["translate_requests_open", ()], 1)  # this one
        self.assertEqual(samples["translate_texts_waiting", ()], 0)
        self.assertEqual(samples["translate_batch_sentences", ()], 0)
        self.assertGreater(samples["translate_batch_places", ()], 0)
        self.assertGreater(samples["process_resident_memory_bytes", ()], 1e6)
        self.assertGreater(samples["process_start_time_seconds", ()], 1.7e9)

    def test_clients_that_leave_are_counted(self):
        before = self.metrics()
        connection = self.server.connect()
        sentences = "".join(f"他昨天在第{i}页上看到了一个错误。" for i in range(5000))
        body = json.dumps({"q": sentences, "source": "zh", "target": "en"})
        connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
        self.eventually(lambda: self.metrics()["translate_batch_sentences", ()] > 0)
        connection.close()
        self.eventually(lambda: self.gained(before, "translate_requests_abandoned_total") == 1)
        self.eventually(lambda: self.metrics()["translate_texts_waiting", ()] == 0)

    def test_without_a_cache_it_is_not_shown(self):
        samples = self.metrics(self.start("--cache-size", "0"))
        self.assertFalse([n for n, _ in samples if "cache" in n])

    def test_keys_guard_the_numbers(self):
        path = self.folder() / "keys"
        path.write_text("secret-key\n")
        path.chmod(0o600)
        server = self.start("--api-keys", path, env=environment())
        self.assertEqual(server.get("/metrics").status, 403)
        self.assertEqual(server.get("/metrics", headers={"Authorization": "Bearer wrong"}).status, 403)
        answer = server.get("/metrics", headers={"Authorization": "Bearer secret-key"})
        self.assertEqual(answer.status, 200)
        self.assertNotIn("secret-key", answer.body.decode())
        parse(answer.body.decode())
