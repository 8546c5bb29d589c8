"""Search options: their output, and usage errors."""
import collections
import json
import math
import os
import pathlib
import re
import signal
import time

import support
from support import LINES, CommandTest, Terminal, environment, text_of

SENTENCE = "今天天气很好"
TWO = "今天天气很好。我喜欢读书。"


def numbers(text):
    return [float(x) for x in text]


class Ensembles(CommandTest):
    FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ensemble", "fixtures")
    A, B = os.path.join(FIXTURES, "a"), os.path.join(FIXTURES, "b")

    def test_weights(self):
        def scores(*options):
            return numbers(json.loads(self.good("score", "--json", "-m", self.A, *options, "bado gi", "libosi"))
                           ["log_probabilities"])
        a = scores()
        b = numbers(json.loads(self.good("score", "--json", "-m", self.B, "bado gi", "libosi"))["log_probabilities"])
        for value, weight in [(self.B, 1), (self.B + ":3", 3), (self.B + ":.25", 0.25)]:
            for x, y, both in zip(a, b, scores("--ensemble", value)):
                self.assertAlmostEqual((x + weight * y) / (1 + weight), both, places=4)

    def test_of_itself(self):
        for options in [[], ["-b4", "-n2"], ["--sample", "--seed", "3"]]:
            alone = self.good("-m", self.A, *options, "bado gi lumo")
            self.assertEqual(alone, self.good("-m", self.A, "--ensemble", self.A, *options, "bado gi lumo"))
        both = json.loads(self.good("--json", "-b4", "--scores", "-m", self.A, "--ensemble", self.B, "bado gi lumo"))
        self.assertAlmostEqual(both["score"], sum(score for _, score in both["token_scores"]), places=3)
        self.assertIn(b'"tokens_per_second"', self.good("bench", "--json", "--rounds", "1", "-m", self.A, "--ensemble",
                                                        self.B))

    def test_misfits(self):
        self.bad(1, "-m", self.A, "--ensemble", self.B, "--ensemble", support.MODEL, "x",
                 says=["fixtures/a and", "target tokens: 110"])
        self.bad(1, "-m", self.A, "--ensemble", "nowhere", "x", says="nowhere")
        self.bad(2, "-m", self.A, "--ensemble", self.B + ":0", "x", says=["--ensemble", ":0", "weight"])
        self.bad(2, "-m", self.A, "--ensemble", self.B + ":-1", "x", says=["--ensemble", ":-1", "weight"])
        self.bad(2, "-m", self.A, "--ensemble", ":2", "x", says=["--ensemble :2", "no model"])
        self.bad(2, "-m", self.A, *["--ensemble", self.B] * 16, "x", says=["--ensemble", "17 models", "16"])
        self.bad(2, "--models", ".", "-s", "zh", "-t", "en", "--ensemble", self.B, "x", says=["--ensemble", "folder"])
        self.bad(2, "bench", "-m", self.A, "--ensemble", self.B, "--limits", says=["--limits", "--ensemble"])


class Rerank(CommandTest):
    """Of the hypotheses of a beam, the one that a second model most likely translates back."""
    MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
    ZH_EN, EN_ZH = MODELS / "zh-en.gguf", MODELS / "en-zh.gguf"
    PAIR = environment(TRANSLATE_MODEL=None)
    SOURCES = ["试验区的麦子长得比去年好得多。", "他把雨伞忘在了公共汽车上。", "会议推迟到下周三举行。",
               "这座桥连接着河两岸的两个村庄。", "医生建议他少喝酒，多运动。", "政府计划在五年内把公共交通的碳排放减少一半。"]

    def differing(self):
        """A sentence whose ranked translation is neither the greedy one nor the beam's."""
        for line in map(text_of, zip(self.SOURCES)):
            ranked = self.good("--rerank", "on", stdin=line, env=self.PAIR)
            if ranked not in (self.good("-b1", stdin=line, env=self.PAIR), self.good("-b12", stdin=line, env=self.PAIR)):
                return line.decode().rstrip()
        return self.fail("ranking changes nothing")

    def beam(self, *args, **more):
        """What --stats says of the beam that was chosen; 1: nothing."""
        shown = self.run_tool("--stats", *args, **more)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        found = re.search(rb", beam (\d+)\n\Z", shown.stderr)
        return int(found[1]) if found else 1

    def scored(self, line, model):
        """What --rerank should rank by, of each of 12 hypotheses: text, score, mean log-probability of the way back."""
        found = json.loads(self.good("-m", self.ZH_EN, "-b12", "-n12", "--json", stdin=text_of([line])))["hypotheses"]
        pairs = self.file("pairs", text_of(f"{h['text']}\t{line}" for h in found))
        back = [json.loads(o) for o in self.good("score", "--json", "-m", model, "-i", pairs).splitlines()]
        return [(h["text"], h["score"], b["mean"]) for h, b in zip(found, back)]

    def test_is_the_likeliest_way_back(self):
        changed = 0
        for line in LINES[:8] + self.SOURCES:
            scored = self.scored(line, self.EN_ZH)
            best = max(scored, key=lambda h: h[1] + 0.3 * h[2])[0]
            for args in ["--rerank", self.EN_ZH], ["--rerank", "on"]:
                env = self.PAIR if args[1] == "on" else None
                model = [] if args[1] == "on" else ["-m", self.ZH_EN]
                shown = self.good(*model, *args, stdin=text_of([line]), env=env)
                self.assertEqual(shown, text_of([best]), line)
            changed += best != scored[0][0]
        self.assertGreater(changed, 0)

    def test_n_best(self):
        args, line = ("-m", self.ZH_EN, "--rerank", self.EN_ZH, "--json"), text_of([self.differing()])
        best = json.loads(self.good(*args, stdin=line))["text"]
        found = json.loads(self.good(*args, "-n3", stdin=line))["hypotheses"]
        self.assertEqual((found[0]["text"], len(found)), (best, 3))
        self.assertNotEqual([h["score"] for h in found], sorted((h["score"] for h in found), reverse=True))

    def test_several_sentences_and_spans(self):
        text = "我住在3号楼。请访问 https://example.com/a，谢谢！😊 他花了1.5亿元，减少了一半。"
        shown = self.good("--rerank", self.EN_ZH, "-m", self.ZH_EN, "--json", stdin=text_of([text]))
        for kept in "https://example.com/a", "😊", "150 million":
            self.assertIn(kept, json.loads(shown)["text"])
        for threads in "1", "2":
            again = self.good("--rerank", self.EN_ZH, "-m", self.ZH_EN, "--json", "-T", threads, stdin=text_of([text] * 40))
            self.assertEqual({json.loads(o)["text"] for o in again.splitlines()}, {json.loads(shown)["text"]})

    def test_on_for_short_input(self):
        line = self.differing()
        text, out, note = text_of([line]), self.folder / "out", self.file("note.html", f"<p>{line}</p>\n".encode())
        ranked = self.good("--rerank", "on", stdin=text, env=self.PAIR)
        for args, more in [([line], {}), ([], {"stdin": text}), (["-i", "-"], {"stdin": text}),
                           (["-n1", "-s", "zh", "-t", "en"], {"stdin": text}), (["-i", self.file("in", text)], {}),
                           (["--models", self.MODELS, "-s", "zh", "-t", "en"], {"stdin": text})]:
            self.assertEqual(self.good(*args, env=self.PAIR, **more), ranked, args)
        self.good("-i", note, "-o", out, env=self.PAIR)
        self.assertEqual(out.read_bytes(), b"<p>" + ranked.rstrip() + b"</p>\n")
        self.assertEqual(self.beam("It is fine today.", env=self.PAIR), 12)
        shown = self.run_tool("-v", "--stats", SENTENCE, env=self.PAIR).stderr.decode()
        self.assertIn("translate: beam 12: chosen by --beam auto\n", shown)
        self.assertIn(f"translate: translations are ranked by {self.EN_ZH}\n", shown)
        self.assertRegex(shown, r"MB, beam 12\n\Z")

    def test_short_is_16_KiB(self):
        sentence = SENTENCE + "。"
        most = 16384 // len(sentence.encode())
        for sentences, beam in (most, 12), (most + 1, 1):
            text = (sentence * sentences).encode()
            html = b"<!-- " + b"-" * 20000 + b" --><p>" + text + b"</p>\n"
            for args, more in [([text.decode()], {}), ([], {"stdin": text}), (["-i", self.file("in", text)], {}),
                               (["--format", "html"], {"stdin": html})]:
                self.assertEqual(self.beam(*args, env=self.PAIR, **more), beam, (args[:1], sentences))

    def test_model_of_several_languages(self):
        mbart = self.MODELS.parent / "tests/languages/fixtures/mbart50/model"
        args = "-m", mbart, "-s", "en_XX", "-t", "fr_XX", "a b c"
        self.assertEqual(self.beam("--rerank", mbart, *args), 12)
        found = json.loads(self.good("--json", "-n12", *args))["hypotheses"]
        self.assertIn(self.good("--rerank", mbart, *args).decode().rstrip("\n"), [h["text"] for h in found])
        self.assertEqual(self.beam("--rerank", mbart, "-m", self.ZH_EN, SENTENCE), 12)  # from en to zh

    def test_else_greedy(self):
        text = self.differing()
        line, greedy = text_of([text]), self.good("-b1", text, env=self.PAIR)
        for args in ["--rerank", "off", text], ["--stream", text], ["-b1", "-i", self.file("in", line)]:
            self.assertEqual(self.good(*args, env=self.PAIR), greedy, args)
        self.good("-O", self.folder / "all", self.file("in", line), env=self.PAIR)
        self.assertEqual((self.folder / "all" / "in").read_bytes(), greedy)
        self.assertEqual(self.beam("--exact", text, env=self.PAIR), 1)
        self.assertEqual(self.beam(SENTENCE), 1)  # a named model translates as it is
        self.assertEqual(self.beam(stdin=line), 1)

    def test_pipe_that_goes_on(self):
        with self.started("-v", env=self.PAIR) as p:
            p.stdin.write(SENTENCE.encode() + b"\n")
            p.stdin.flush()
            self.assertTrue(p.stdout.readline())  # before the end is known
            p.stdin.close()
            said = p.stderr.read()
            self.assertNotIn(b"beam 12", said)
            self.assertIn(b"translations are not ranked", said)
            self.assertEqual(p.wait(90), 0)

    def test_slow_pipe_into_a_file(self):
        """Nothing is seen of it before its end, so that is waited for."""
        line, out = text_of([self.differing()]), self.folder / "out"
        with self.started("-o", out, env=self.PAIR) as p:
            for part in line, b"\n":
                p.stdin.write(part)
                p.stdin.flush()
                time.sleep(0.4)
            p.stdin.close()
            self.assertEqual(p.wait(90), 0)
        self.assertEqual(out.read_bytes(), self.good("--rerank", "on", stdin=line + b"\n", env=self.PAIR))
        for args in ("-o", out), ("-o", "-"):
            with self.started(*args, env=self.PAIR) as p:
                p.stdin.write(line)
                p.stdin.flush()
                time.sleep(0.1)
                p.send_signal(signal.SIGINT)
                self.assertIn(p.wait(30), (130, -signal.SIGINT), args)

    def test_terminal(self):
        for args in (), ("-i", "-"):
            terminal = Terminal()
            self.addCleanup(terminal.close)
            with self.started("-v", *args, stdin=terminal.slave, env=self.PAIR) as p:
                os.write(terminal.master, SENTENCE.encode() + b"\n")
                p.stdout.readline()
                os.write(terminal.master, b"\x04")
                self.assertIn(b"translate: beam 12: chosen by --beam auto\n", p.stderr.read(), args)
                self.assertEqual(p.wait(90), 0)

    def test_n_best_takes_its_beam(self):
        self.assertEqual(self.good("--n-best", "4", TWO), self.good("-b4", "-n4", TWO))
        self.assertEqual(self.beam("-n", "3", stdin=text_of([SENTENCE])), 3)

    def test_wrong_usage(self):
        self.bad(2, "-b", "automatic", SENTENCE, says="'automatic' is not a whole number from 1 to 64, or auto")
        self.bad(2, "bench", "-b", "auto", says="'auto' is not a whole number")
        for option in "--sample", "--stream", "--tokens":
            self.bad(2, "--rerank", "on", option, SENTENCE, says=["--rerank on", option])
        self.bad(2, "--rerank", self.EN_ZH, "-b1", SENTENCE, says=["--rerank", "--beam 1"])
        self.bad(1, "--rerank", "on", SENTENCE, says=["--rerank on", "no model that translates back"])
        self.bad(1, "--rerank", "nowhere", SENTENCE, says="nowhere")
        without = self.MODELS.parent / "tests/ctranslate2/fixtures/marian-int8"
        self.bad(1, "--rerank", without, "-m", self.ZH_EN, SENTENCE, says=["marian-int8", "no tokenizer"])
        self.bad(1, "--rerank", self.ZH_EN, SENTENCE, says=["zh-en.gguf", "zh to en"])
        out = self.folder / "copy.gguf"
        out.write_bytes(self.EN_ZH.read_bytes())
        self.bad(1, "--rerank", out, "-m", self.ZH_EN, "-o", out, "-i", self.file("in", b"x"), says="copy.gguf")

    def test_resumes_as_it_began(self):
        lines, out = self.file("in", text_of(LINES)), self.folder / "out"
        run = self.run_of("-i", lines, "-o", out)
        self.assertEqual(self.run_of("-b", "auto", "-i", lines, "-o", out), run)  # greedy
        ranked = self.run_of("-m", self.ZH_EN, "--rerank", self.EN_ZH, "-i", lines, "-o", out)
        self.assertIn(b"\n--rerank: ", ranked)
        (self.folder / "out.part").write_bytes(b"A line.\n")
        (self.folder / "out.part.run").write_bytes(ranked)
        self.bad(1, "--resume", "-m", self.ZH_EN, "-i", lines, "-o", out, says=["another --rerank", "--rerank as before"])


class WrongUsage(CommandTest):
    def test_values(self):
        for option, value in [("--beam", "0"), ("--beam", "10000"), ("-b", "65"), ("--n-best", "0"), ("--n-best", "65"),
                              ("--top-k", "1025"), ("--top-k", "-1"), ("--no-repeat-ngram", "65"),
                              ("--max-length-more", "-1"), ("--seed", "-1"), ("--seed", "1.5"),
                              ("--seed", "18446744073709551616")]:
            self.bad(2, option, value, SENTENCE, says=["whole number", f"'{value}'"])
        for option, value in [("--length-penalty", "11"), ("--length-penalty", "x"), ("--length-penalty", "nan"),
                              ("--patience", "inf"), ("--patience", "0.5"), ("--coverage-penalty", "-1"),
                              ("--coverage-penalty", "11"),
                              ("--temperature", "101"), ("--top-p", "1.5"), ("--top-p", "-0.1"),
                              ("--repetition-penalty", "0.9"), ("--max-length-factor", "-2"),
                              ("--alternatives-min", "2"), ("--temperature", "1e999")]:
            self.bad(2, option, value, SENTENCE, says=["number", f"'{value}'"])
        self.bad(2, "--stopping", "soon", SENTENCE, says=["'soon'", "likely|early|never"])
        self.bad(2, "--prefix", "", SENTENCE, says="empty")
        self.bad(2, "--forbid", "", SENTENCE, says="empty")

    def test_contradictions(self):
        for options, says in [
                (["-b1", "-n", "2"], ["--n-best 2", "--beam 1", "--beam 2"]),
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
        self.bad(2, "--forbid", "zzqq piece", SENTENCE, says=["--forbid", "'zzqq'", "not a token"])
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
        # the number of fields stays the same
        self.assertEqual(self.good("--scores", stdin="你好。\t谢谢。\n".encode()).count(b"\t"), 1)

    def test_json(self):
        field = float(self.good("--scores", TWO).decode().split("\t")[1])
        o = json.loads(self.good("--json", "--scores", TWO))
        self.assertAlmostEqual(o["score"], field, places=5)
        scores = [s for _, s in o["token_scores"]]
        self.assertEqual(len(scores), o["tokens"] + 2)  # two EOS
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
        """With and without the cache, in any batch, a line has the same score."""
        lines = LINES[:6] + LINES[:3]
        expected = self.good("--scores", "--json", stdin=text_of(lines)).decode().split("\n")
        for options in (["-T1"], ["--batch-size", "1"], ["--batch-size", "2", "-T2"]):
            got = self.good("--scores", "--json", *options, stdin=text_of(lines)).decode().split("\n")
            self.assertEqual(got, expected)
        for i in range(3):
            a, b = json.loads(expected[i]), json.loads(expected[6 + i])
            del a["line"], b["line"]
            self.assertEqual(a, b)


class NBest(CommandTest):
    def read(self, out):
        return [line.split("\t") for line in out.decode().split("\n")[:-1]]

    def test_list(self):
        rows = self.read(self.good("-b4", "-n3", stdin=text_of(LINES[:5])))
        best = self.good("-b4", stdin=text_of(LINES[:5])).decode().split("\n")[:-1]
        for n, line in enumerate(best, 1):
            own = [r for r in rows if r[0] == str(n)]
            self.assertEqual([r[1] for r in own], ["1", "2", "3"])
            self.assertEqual(own[0][3], line)
            scores = numbers(r[2] for r in own)
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertEqual(len({r[3] for r in own}), len(own))
        self.assertEqual([int(r[0]) for r in rows], sorted(int(r[0]) for r in rows))

    def test_several_sentences(self):
        rows = self.read(self.good("-b3", "-n3", TWO))
        first, second = (self.read(self.good("-b3", "-n3", s + "。")) for s in TWO.split("。")[:2])
        for r, a, b in zip(rows, first, second):
            self.assertEqual(r[3], a[3] + " " + b[3])
            self.assertAlmostEqual(float(r[2]), float(a[2]) + float(b[2]), places=5)

    def test_json(self):
        o = json.loads(self.good("-b4", "-n4", "--json", "--scores", SENTENCE))
        rows = self.read(self.good("-b4", "-n4", SENTENCE))
        self.assertEqual([h["text"] for h in o["hypotheses"]], [r[3] for r in rows])
        self.assertEqual(o["text"], o["hypotheses"][0]["text"])
        self.assertEqual(o["tokens"], o["hypotheses"][0]["tokens"])
        self.assertAlmostEqual(o["score"], o["hypotheses"][0]["log_probability"], places=5)
        for h, r in zip(o["hypotheses"], rows):
            self.assertAlmostEqual(h["score"], float(r[2]), places=5)
            self.assertAlmostEqual(h["log_probability"] / (h["tokens"] + 1), h["score"], places=4)
        self.assertNotIn("hypotheses", json.loads(self.good("-b4", "--json", SENTENCE)))

    def test_log_probability_after_text(self):
        rows = self.read(self.good("-b3", "-n2", "--scores", SENTENCE))
        self.assertEqual([len(r) for r in rows], [5, 5])
        free = self.read(self.good("-b3", "-n2", "--scores", "--length-penalty", "0", SENTENCE))
        for r in free:
            self.assertAlmostEqual(float(r[2]), float(r[4]), places=5)

    def test_blank_lines(self):
        self.assertEqual(self.read(self.good("-b2", "-n2", stdin=b"\n")), [["1", "1", "0.000000", ""]])

    def test_tokens(self):
        pieces = self.good("tokenize", SENTENCE)
        rows = self.read(self.good("--tokens", "-b3", "-n3", stdin=pieces))
        text = self.read(self.good("-b3", "-n3", SENTENCE))
        self.assertEqual([r[:3] for r in rows], [r[:3] for r in text])
        for r, t in zip(rows, text):
            self.assertEqual(self.good("tokenize", "-d", r[3]).decode().rstrip("\n"), t[3])

    def test_resume(self):
        """A truncated n-best list is written again; no hypothesis is lost or duplicated."""
        lines, out = self.file("in.txt", text_of(LINES[:8])), self.folder / "out.txt"
        options = ["-b3", "-n3", "-i", lines, "-o", out]
        self.good(*options)
        whole, run, part = out.read_bytes(), self.run_of(*options), self.folder / "out.txt.part"
        starts = [i + 1 for i, c in enumerate(whole) if c == 10]
        for size in [0, 5, starts[0], starts[1] + 3, starts[2], starts[7], starts[8] + 1, len(whole)]:
            out.unlink()
            self.leave(part, whole[:size], run)
            self.good(*options, "--resume")
            self.assertEqual(out.read_bytes(), whole, size)
        out.unlink()
        self.leave(part, whole.replace(b"\t1\t", b"\t1\t-"), run)
        self.bad(1, *options, "--resume", says="its last line is not what")


class Search(CommandTest):
    def test_beam_1_is_greedy(self):
        self.assertEqual(self.good("-b1", stdin=text_of(LINES)), self.good(stdin=text_of(LINES)))

    def test_beams_find_better_ones(self):
        """Compared by the score of the default length penalty, which is the mean log-probability."""
        def mean(*options):
            out = self.good(*options, "--scores", "--json", "--split", "never", stdin=text_of(LINES)).decode()
            return sum(json.loads(line)["mean"] for line in out.split("\n")[:-1])
        self.assertGreater(mean("-b5"), mean("-b1"))

    def test_options_reach_the_search(self):
        plain = self.good("-b4", stdin=text_of(LINES))
        for options in (["--length-penalty", "5"], ["--length-penalty=-3"], ["--coverage-penalty", "10"]):
            self.assertNotEqual(self.good("-b4", *options, stdin=text_of(LINES)), plain, options)
        for options in (["--patience", "2"], ["--stopping", "early"], ["--stopping", "never"]):
            self.assertEqual(self.good("-b4", *options, stdin=text_of(LINES)).count(b"\n"), len(LINES), options)

    def test_threads_and_batches_do_not_matter(self):
        for search in (["-b4", "-n4"], ["--sample", "-n3", "--top-k", "20"], ["--alternatives", "-n3", "-b2"]):
            expected = self.good(*search, "-T1", stdin=text_of(LINES))
            for options in (["-T2"], ["--batch-size", "1"], ["--batch-size", "3", "-T2"]):
                self.assertEqual(self.good(*search, *options, stdin=text_of(LINES)), expected, (search, options))

    def test_sampling(self):
        run = ["--sample", "--temperature", "1.5"]
        first = self.good(*run, "--seed", "1", stdin=text_of(LINES))
        self.assertEqual(self.good(*run, "--seed", "1", stdin=text_of(LINES)), first)
        self.assertNotEqual(self.good(*run, "--seed", "2", stdin=text_of(LINES)), first)
        greedy = self.good("--loop-guard", "off", stdin=text_of(LINES))
        self.assertEqual(self.good("--sample", "--top-k", "1", stdin=text_of(LINES)), greedy)
        draws = self.good("--sample", "-n", "5", SENTENCE).decode().split("\n")[:-1]
        self.assertEqual(len(draws), 5)

    def test_forbidden(self):
        out = self.good(SENTENCE).decode()
        piece = "▁today"
        self.assertIn("today", out)
        without = self.good("--forbid", piece, SENTENCE).decode()
        self.assertNotIn("today", without)
        number = json.loads("[" + self.good("tokenize", "--ids", "weather").decode().split()[-1] + "]")[0]
        self.assertIsInstance(number, int)
        twice = self.good("--forbid", piece, "--forbid", "▁good ▁very", SENTENCE).decode()
        self.assertFalse({"today", "good", "very"} & set(twice.rstrip(".\n").split()))
        self.good("--no-unknown", SENTENCE)

    def test_repetition(self):
        def most(*options):
            """The number of occurrences of the most frequent three words in sequence."""
            words = self.good("--loop-guard", "off", *options, "，".join(["我喜欢读书"] * 7)).decode().lower().split()
            return max(collections.Counter(zip(words, words[1:], words[2:])).values())

        without = most()
        self.assertGreater(without, 5)
        for options in (["--no-repeat-ngram", "2"], ["--repetition-penalty", "2"]):
            self.assertLess(most(*options), without / 2, options)

    def test_lengths(self):
        for factor, more in ((1, 0), (0.5, 2)):
            options = ["--max-length-factor", factor] + (["--max-length-more", more] if more else [])
            o = json.loads(self.good(*options, "--json", "--split", "never", TWO))
            source = len(self.good("tokenize", TWO).split())
            self.assertLessEqual(o["tokens"], factor * source + more)

    def test_prefix(self):
        for prefix in ("Today", "It is", "I think"):
            for options in ([], ["-b4"], ["--sample"]):
                out = self.good("--prefix", prefix, *options, stdin=text_of(LINES[:4])).decode()
                for line in out.split("\n")[:-1]:
                    self.assertTrue(line.startswith(prefix), line)
        tokens = self.good("--tokens", "--prefix", "▁It ▁is", stdin=self.good("tokenize", SENTENCE)).decode()
        self.assertTrue(tokens.startswith("▁It ▁is "), tokens)
        self.assertEqual(self.good("--prefix", "It", ""), b"\n")

    def test_prefix_scores(self):
        """The prefix does not count in the quality signals."""
        o = json.loads(self.good("--prefix", "It", "--scores", "--json", SENTENCE))
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

    def test_alternatives(self):
        for prefix in ([], ["--prefix", "Today"]):
            out = self.good("--alternatives", "-n5", *prefix, "--json", SENTENCE)
            texts = [h["text"] for h in json.loads(out)["hypotheses"]]
            self.assertEqual(len(set(texts)), len(texts))
            self.assertGreaterEqual(len(texts), 2)
        pieces = self.good("tokenize", SENTENCE)
        rows = self.good("--alternatives", "-n5", "--tokens", stdin=pieces).decode().split("\n")[:-1]
        firsts = [r.split("\t")[3].split(" ")[0] for r in rows]
        self.assertEqual(len(set(firsts)), 5)
        few = self.good("--alternatives", "-n5", "--alternatives-min", "0.9", SENTENCE).decode().split("\n")[:-1]
        self.assertLess(len(few), 3)

    def test_bench(self):
        for options in (["--beam", "2"], ["--beam", "2", "--parts"], ["--sample"], ["--scores"]):
            o = json.loads(self.good("bench", "--rounds", "1", "--fixed-length", "8", "--json", *options))
            self.assertGreater(o["tokens_per_second"], 0)
            self.assertEqual(o["beam"], 2 if "--beam" in options else 1)
            self.assertTrue(math.isfinite(o["seconds"]))
