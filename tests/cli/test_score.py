"""score: log-probabilities, alignments, and errors in files."""
import json
import math

from support import LINES, CommandTest, text_of

SOURCE, TARGET, OTHER = "今天天气很好。", "The weather is nice today.", "I have lost my umbrella."


class Score(CommandTest):
    def number(self, *args):
        return float(self.good("score", *args))

    def translations(self):
        return self.good("--split", "never", stdin=text_of(LINES)).decode().splitlines()

    def pairs(self):
        return [f"{s}\t{t}" for s, t in zip(LINES, self.translations())]

    def test_pair(self):
        good = self.number(SOURCE, TARGET)
        self.assertLess(good, 0)
        self.assertGreater(good, -8)
        self.assertLess(self.number(SOURCE, OTHER), good - 10)
        self.assertEqual(self.good("score", SOURCE, ""), self.good("score", SOURCE, " "))

    def test_json(self):
        r = json.loads(self.good("score", "--json", SOURCE, TARGET))
        self.assertEqual((r["line"], r["source"], r["target"]), (1, SOURCE, TARGET))
        logs = r["log_probabilities"]
        self.assertEqual(len(logs), len(r["tokens"]) + 1)
        self.assertAlmostEqual(r["score"], sum(logs), delta=1e-3)
        self.assertAlmostEqual(r["score"], self.number(SOURCE, TARGET), delta=1e-4)
        self.assertAlmostEqual(r["mean"], sum(logs) / len(logs), delta=1e-3)
        self.assertAlmostEqual(r["minimum"], min(logs), delta=1e-4)
        for text, tokens, spans in ((SOURCE, r["source_tokens"], r["source_spans"]), (TARGET, r["tokens"], r["spans"])):
            self.assertEqual(len(tokens), len(spans))
            self.assertEqual([text.encode()[a:b].decode() for a, b in spans], [t.lstrip("▁") for t in tokens])
        self.assertEqual({t for _, t in r["alignment"]}, set(range(len(r["tokens"]))))
        links = {(r["source_tokens"][s].lstrip("▁"), r["tokens"][t].lstrip("▁")) for s, t in r["alignment"]}
        self.assertLessEqual({("今天", "today"), ("天", "we"), ("很", "is")}, links)

    def test_what_is_translated_is_likely(self):
        """A greedy translation has a higher score than others, and its score is that of its tokens."""
        pairs = self.pairs()
        scores = [float(line) for line in self.good("score", stdin=text_of(pairs)).split()]
        self.assertEqual(len(scores), len(pairs))
        shifted = [p.split("\t")[0] + "\t" + q.split("\t")[1] for p, q in zip(pairs, pairs[1:] + pairs[:1])]
        others = [float(line) for line in self.good("score", stdin=text_of(shifted)).split()]
        self.assertTrue(all(a > b for a, b in zip(scores, others)))

    def test_files(self):
        pairs = self.pairs()
        file, out = self.file("pairs.tsv", text_of(pairs)), self.folder / "scores"
        piped = self.good("score", "--alignment", stdin=text_of(pairs))
        self.assertEqual(self.good("score", "-i", file, "--alignment", "-o", out), b"")
        self.assertEqual(out.read_bytes(), piped)
        self.assertFalse((self.folder / "scores.part").exists())
        for line in piped.decode().splitlines():
            self.assertRegex(line, r"\A-\d+\.\d{4}\t\d+-\d+( \d+-\d+)*\Z")
        for more in (("--batch-size", 1), ("-T", 1), ("--batch-size", 3, "-T", 3)):
            self.assertEqual(self.good("score", "--alignment", *more, stdin=text_of(pairs)), piped, more)
        crlf = self.good("score", stdin=text_of(pairs).replace(b"\n", b"\r\n"))
        self.assertEqual(crlf, self.good("score", stdin=text_of(pairs)).replace(b"\n", b"\r\n"))
        self.assertEqual(self.good("score", stdin=b""), b"")

    def test_tokens(self):
        tokens = " ".join(self.good("tokenize", SOURCE).decode().split())
        pieces = " ".join(json.loads(self.good("score", "--json", SOURCE, TARGET))["tokens"])
        self.assertEqual(self.good("score", "--tokens", tokens, pieces), self.good("score", SOURCE, TARGET))
        r = json.loads(self.good("score", "--tokens", "--json", tokens, pieces))
        self.assertNotIn("spans", r)
        ids = self.good("tokenize", "--ids", SOURCE).decode().strip()
        self.assertNotEqual(self.good("score", "--ids", ids, "5 6 7"), b"")
        self.bad(1, "score", "--ids", ids, "5 99999999", says="99999999")
        r = self.run_tool("score", "--ids", stdin=f"{ids}\t5 6\n{ids}\t5 x\n{ids}\t5\n".encode())
        self.assertEqual((r.returncode, r.stdout.count(b"\n")), (1, 1))
        self.assertIn(b"line 2: 'x'", r.stderr)

    def test_alignment_options(self):
        plain = self.good("score", "--alignment", SOURCE, TARGET)
        one = self.good("score", "--alignment", "--alignment-layer", "1", "--alignment-head", "2", SOURCE, TARGET)
        self.assertEqual(plain.split(b"\t")[0], one.split(b"\t")[0])
        some = self.good("score", "--alignment", "--alignment-threshold", "0.01", SOURCE, TARGET)
        self.assertGreater(some.count(b"-"), plain.count(b"-"))
        none = self.good("score", "--alignment", "--alignment-threshold", "0.9999", SOURCE, TARGET)
        self.assertLess(none.count(b"-"), plain.count(b"-"))
        self.bad(1, "score", "--alignment-layer", "99", SOURCE, TARGET, says="--alignment-layer 99")
        self.bad(1, "score", "--alignment-head", "99", SOURCE, TARGET, says="--alignment-head 99")
        self.bad(2, "score", "--alignment-threshold", "2", SOURCE, TARGET, says="--alignment-threshold")

    def test_bad_lines(self):
        """Results before a bad line are written."""
        long = "word " * 3000
        for bad, why in (("no tab", b"line 3: has no TAB"), ("", b"line 3: has no TAB"),
                         ("a\tb\tc", b"line 3: has more than one TAB"),
                         ("a\t" + long, b"target 3: "), (long + "\ta", b"source 3: ")):
            r = self.run_tool("score", stdin=f"{SOURCE}\t{TARGET}\n{SOURCE}\t{OTHER}\n{bad}\n{SOURCE}\t{TARGET}\n".encode())
            self.assertEqual(r.returncode, 1, bad[:20])
            self.assertIn(why, r.stderr)
            self.assertEqual(r.stderr.count(b"\n"), 1)
            self.assertEqual(r.stdout.count(b"\n"), 2, bad[:20])
        self.bad(2, "score", SOURCE, says="TARGET: is missing")
        self.bad(2, "score", SOURCE, TARGET, OTHER)
        self.bad(2, "score", "-i", self.file("f"), SOURCE, TARGET, says="SOURCE")
        self.bad(1, "score", "-i", self.folder / "none", says="none")
        self.bad(1, "score", SOURCE, long, says="but the model takes")

    def test_invalid_utf8(self):
        r = self.run_tool("score", stdin=b"\xff\tHello\n")
        self.assertEqual((r.returncode, r.stdout.count(b"\n")), (0, 1))
        self.assertIn(b"line 1: invalid UTF-8", r.stderr)
        self.assertTrue(math.isfinite(float(r.stdout)))
