"""The options of the search: what they print, and what is wrong usage."""
import json

from support import LINES, CommandTest, text_of

SENTENCE = "今天天气很好"
TWO = "今天天气很好。我喜欢读书。"


class WrongUsage(CommandTest):
    def test_values(self):
        for option, value in [("--beam", "0"), ("--beam", "10000"), ("-b", "65"), ("--n-best", "0"), ("--n-best", "65"),
                              ("--top-k", "1025"), ("--top-k", "-1"), ("--no-repeat-ngram", "65"),
                              ("--max-length-more", "-1"), ("--seed", "-1"), ("--seed", "1.5"),
                              ("--seed", "18446744073709551616")]:
            self.bad(2, option, value, SENTENCE, says=["whole number", f"'{value}'"])
        for option, value in [("--length-penalty", "11"), ("--length-penalty", "x"), ("--length-penalty", "nan"),
                              ("--coverage-penalty", "-1"), ("--coverage-penalty", "inf"), ("--patience", "0.5"),
                              ("--temperature", "101"), ("--top-p", "1.5"), ("--top-p", "-0.1"),
                              ("--repetition-penalty", "0.9"), ("--max-length-factor", "-2"),
                              ("--alternatives-min", "2"), ("--temperature", "1e999")]:
            self.bad(2, option, value, SENTENCE, says=["number", f"'{value}'"])
        self.bad(2, "--stopping", "soon", SENTENCE, says=["'soon'", "likely|early|never"])
        self.bad(2, "--prefix", "", SENTENCE, says="empty")
        self.bad(2, "--forbid", "", SENTENCE, says="empty")

    def test_contradictions(self):
        for options, says in [
                (["-n", "2"], ["--n-best 2", "--beam 1", "--beam 2"]),
                (["-b4", "-n5"], ["--n-best 5", "--beam 4"]),
                (["--sample", "-b4"], ["--sample", "--beam 4"]),
                (["--sample", "--alternatives", "-n2"], ["--sample", "--alternatives"]),
                (["--sample", "--temperature", "0"], ["--temperature", "0.01"]),
                (["--sample", "--top-p", "0"], ["--top-p"]),
                (["--temperature", "0.5"], ["--temperature", "--sample"]),
                (["--top-k", "5"], ["--top-k", "--sample"]),
                (["--top-p", "0.5"], ["--top-p", "--sample"]),
                (["--seed", "5"], ["--seed", "--sample"]),
                (["--alternatives"], ["--alternatives", "--n-best"]),
                (["--alternatives-min", "0.1"], ["--alternatives-min", "--alternatives"]),
                (["--max-length-more", "3"], ["--max-length-more", "--max-length-factor"]),
                (["--min-length", "9", "--max-length", "8"], ["--min-length"]),
                (["--tsv"], ["--tsv", "TEXT"]),
                (["--tokens", "--loop-guard", "on"], ["--loop-guard", "--tokens"])]:
            self.bad(2, *options, SENTENCE, says=says)
        self.bad(2, "--tsv", "--prefix", "x", says=["--prefix", "--tsv"])
        self.bad(2, "--forbid", "zzqq piece", SENTENCE, says=["--forbid", "'zzqq'", "no token"])
        self.bad(1, "--tokens", "--ids", "--forbid", "99999", "5", says="99999")
        self.bad(2, "bench", "--beam", "0", says="--beam")
        self.bad(2, "bench", "--sample", "-b2", says="--sample")

    def test_prefixes_that_cannot_be(self):
        self.bad(1, "--prefix", "word " * 40, "--max-length", "20", SENTENCE, says=["prefix 'word", "tokens", "20"])
        self.bad(1, "--prefix", "The", "今天天气很好，" * 400, says=["longer than the model takes", "prefix"])


class Scores(CommandTest):
    def test_field(self):
        plain = self.good(stdin=text_of(LINES)).decode().split("\n")
        fields = [line.split("\t") for line in self.good("--scores", stdin=text_of(LINES)).decode().split("\n")]
        self.assertEqual([f[0] for f in fields], plain)
        for f in fields[:-1]:
            self.assertEqual(len(f), 2)
            self.assertLess(float(f[1]), 0)
        self.assertEqual(self.good("--scores", stdin=b"\n  \n"), b"\t0.000000\n  \t0.000000\n")
        self.assertEqual(self.good("--scores", stdin="你好\r\n".encode())[-2:], b"\r\n")
        # fields stay fields
        self.assertEqual(self.good("--scores", stdin="你好。\t谢谢。\n".encode()).count(b"\t"), 1)

    def test_json(self):
        field = float(self.good("--scores", TWO).decode().split("\t")[1])
        o = json.loads(self.good("--json", "--scores", TWO))
        self.assertAlmostEqual(o["score"], field, places=5)
        scores = [s for _, s in o["token_scores"]]
        self.assertEqual(len(scores), o["tokens"] + 2)  # two end marks
        self.assertEqual([p for p, _ in o["token_scores"]].count("</s>"), 2)
        self.assertAlmostEqual(sum(scores), o["score"], places=4)
        self.assertAlmostEqual(sum(scores) / len(scores), o["mean"], places=5)
        self.assertEqual(min(scores), o["minimum"])
        self.assertTrue(all(s <= 0 for s in scores))
        apart = sum(json.loads(self.good("--json", "--scores", s + "。"))["score"] for s in TWO.split("。")[:2])
        self.assertAlmostEqual(apart, o["score"], places=4)
        self.assertNotIn("score", json.loads(self.good("--json", TWO)))

    def test_tokens(self):
        pieces = self.good("tokenize", SENTENCE)
        fields = self.good("--tokens", "--scores", stdin=pieces).decode().rstrip("\n").split("\t")
        self.assertEqual(fields[0], self.good("--tokens", stdin=pieces).decode().rstrip("\n"))
        text = self.good("--scores", "--split", "never", "--loop-guard", "off", SENTENCE).decode().split("\t")
        self.assertAlmostEqual(float(fields[1]), float(text[1]), places=5)
        o = json.loads(self.good("--tokens", "--scores", "--json", stdin=pieces))
        self.assertEqual([p for p, _ in o["token_scores"]], fields[0].split(" ") + ["</s>"])

    def test_once_or_again(self):
        """From memory or not, in whichever batch, a line has the same score."""
        lines = LINES[:6] + LINES[:3]
        expected = self.good("--scores", "--json", stdin=text_of(lines)).decode().split("\n")
        for options in (["-T1"], ["--batch-size", "1"], ["--batch-size", "2", "-T2"]):
            got = self.good("--scores", "--json", *options, stdin=text_of(lines)).decode().split("\n")
            self.assertEqual(got, expected)
        for i in range(3):
            a, b = json.loads(expected[i]), json.loads(expected[6 + i])
            del a["line"], b["line"]
            self.assertEqual(a, b)


class Search(CommandTest):
    def test_beam_1_is_greedy(self):
        self.assertEqual(self.good("-b1", stdin=text_of(LINES)), self.good(stdin=text_of(LINES)))

    def test_prefix(self):
        for prefix in ("Today", "It is", "I think"):
            for options in ([], ["-T1"]):
                out = self.good("--prefix", prefix, *options, stdin=text_of(LINES[:4])).decode()
                for line in out.split("\n")[:-1]:
                    self.assertTrue(line.startswith(prefix), line)
        tokens = self.good("--tokens", "--prefix", "▁It ▁is", stdin=self.good("tokenize", SENTENCE)).decode()
        self.assertTrue(tokens.startswith("▁It ▁is "), tokens)
        self.assertEqual(self.good("--prefix", "It", ""), b"\n")

    def test_prefix_scores(self):
        """What is given has no part in the signals of quality."""
        o = json.loads(self.good("--prefix", "Today", "--scores", "--json", SENTENCE))
        self.assertEqual(o["token_scores"][0][1], 0)
        own = [s for _, s in o["token_scores"]][1:]
        self.assertAlmostEqual(o["mean"], sum(own) / len(own), places=5)

    def test_tsv(self):
        lines = ["今天天气很好。\tToday", "我喜欢读书。", "你好\t", "他在学校工作。\tHe's"]
        out = self.good("--tsv", stdin=text_of(lines)).decode().split("\n")
        alone = self.good(stdin=text_of([line.split("\t")[0] for line in lines])).decode().split("\n")
        self.assertTrue(out[0].startswith("Today"))
        self.assertEqual(out[1:3], alone[1:3])
        self.assertTrue(out[3].startswith("He's"))
        o = [json.loads(line) for line in self.good("--tsv", "--json", stdin=text_of(lines)).decode().split("\n")[:-1]]
        self.assertEqual([x["source"] for x in o], [line.split("\t")[0] for line in lines])

