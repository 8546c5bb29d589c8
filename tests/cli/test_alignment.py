"""--alignment of translations: fields, JSON, tokens, lists, two models in sequence."""
import json
import unicodedata

import support
from support import LINES, CommandTest, text_of
from test_models import ModelsTest

SENTENCE = "今天天气很好。"
SEVERAL = "  你好！他在学校工作。今天天气很好。 "
OFF = ["--protect", "off"]
MIXED = LINES[:6] + ["", "  ", SEVERAL, "我有\t三本书", "Hello 世界 123", "😀", LINES[0]]


def pairs(field):
    return [[int(n) for n in pair.split("-")] for pair in field.split(" ")] if field else []


class Alignment(CommandTest):
    def objects(self, lines, *options, **more):
        out = self.good(*OFF, "--json", "--alignment", *options, stdin=text_of(lines), **more).decode()
        return [json.loads(line) for line in out.split("\n")[:-1]]

    def check_bytes(self, text, tokens, spans):
        """The texts of spans are those of the tokens; everything but white space is in one of them."""
        data = text.encode()
        self.assertEqual(len(tokens), len(spans))
        for token, (first, last) in zip(tokens, spans):
            if not token.startswith("<0x"):
                self.assertEqual(unicodedata.normalize("NFKC", data[first:last].decode()), token.lstrip("▁"))
        shown = "".join(data[a:b].decode() for i, (a, b) in enumerate(spans) if [a, b] not in spans[:i])
        self.assertEqual(shown, "".join(text.split()))

    def test_field(self):
        """The text is the same as without alignment, and the pairs that follow it are those of JSON."""
        plain = self.good(*OFF, stdin=text_of(MIXED)).decode().replace("\t", " ").split("\n")[:-1]
        fields = [l.split("\t") for l in self.good(*OFF, "--alignment", stdin=text_of(MIXED)).decode().split("\n")[:-1]]
        self.assertEqual([f[0] for f in fields], plain)
        self.assertEqual([pairs(f[1]) for f in fields], [o["alignment"] for o in self.objects(MIXED)])
        lines = text_of(MIXED)
        both = [l.split("\t") for l in self.good(*OFF, "--alignment", "--scores", stdin=lines).decode().split("\n")[:-1]]
        scored = [l.split("\t") for l in self.good(*OFF, "--scores", stdin=lines).decode().split("\n")[:-1]]
        self.assertEqual([b[:2] for b in both], scored)  # in the order of score
        self.assertEqual([b[2:] for b in both], [f[1:] for f in fields])
        self.assertEqual(self.good("--alignment", stdin="你好\r\n\r\n".encode()).count(b"\r\n"), 2)
        self.assertEqual(self.good("--alignment", SENTENCE).decode().rstrip("\n").split("\t")[0],
                         self.good(SENTENCE).decode().rstrip("\n"))

    def test_json(self):
        for line, o in zip(MIXED, self.objects(MIXED)):
            self.assertEqual(o["source"], line)
            self.check_bytes(line, o["source_tokens"], o["source_spans"])
            self.check_bytes(o["text"], o["target_tokens"], o["spans"])
            self.assertEqual(o["tokens"], len(o["target_tokens"]))
            self.assertEqual(sorted(t for _, t in o["alignment"]), list(range(o["tokens"])))
            self.assertEqual(o["alignment"], sorted(o["alignment"]))
        self.assertNotIn("alignment", json.loads(self.good("--json", SENTENCE)))

    def test_means_what_it_says(self):
        o = self.objects(["我们明天去北京。"])[0]
        words = {(o["source_tokens"][s].lstrip("▁"), o["target_tokens"][t].lstrip("▁")) for s, t in o["alignment"]}
        self.assertLessEqual({("我们", "We"), ("明天", "tomorrow"), ("去", "going"), ("北", "Be"), ("。", ".")}, words)

    def test_as_score_says(self):
        """The same network gives the same pair the same alignment."""
        objects = self.objects(LINES)
        scored = self.good("score", "--json", stdin=text_of(f"{o['source']}\t{o['text']}" for o in objects)).decode()
        same = 0
        for o, s in zip(objects, map(json.loads, scored.splitlines())):
            self.assertEqual((o["source_tokens"], o["source_spans"]), (s["source_tokens"], s["source_spans"]))
            if o["target_tokens"] != s["tokens"]:  # the tokenizer may give other tokens than the search found
                continue
            self.assertEqual((o["alignment"], o["spans"]), (s["alignment"], s["spans"]))
            same += 1
        self.assertGreater(same, len(LINES) // 2)

    def test_options(self):
        field = lambda *options: pairs(self.good("--alignment", *options, SENTENCE).decode().rstrip("\n").split("\t")[1])
        plain = field()
        self.assertNotEqual(field("--alignment-layer", "1", "--alignment-head", "2"), plain)
        every = field("--alignment-threshold", "0")
        self.assertEqual(len(every), len(self.good("tokenize", SENTENCE).split()) * len({t for _, t in plain}))
        self.assertLess(len(field("--alignment-threshold", "0.9")), len(plain))
        target = self.good(SENTENCE).decode().rstrip("\n")
        for options in ((), ("--alignment-layer", "1"), ("--alignment-head", "2"), ("--alignment-threshold", "0.1")):
            scored = self.good("score", "--alignment", *options, SENTENCE, target).decode()
            self.assertEqual(field(*options), pairs(scored.rstrip("\n").split("\t")[1]), options)

    def test_wrong_usage(self):
        self.bad(1, "--alignment", "--alignment-layer", "99", SENTENCE, says=["--alignment-layer 99", support.MODEL])
        self.bad(1, "--alignment", "--alignment-head", "99", SENTENCE, says="--alignment-head 99")
        for option, value in (("--alignment-layer", "-1"), ("--alignment-layer", "x"), ("--alignment-head", "1.5"),
                              ("--alignment-threshold", "2"), ("--alignment-threshold", "nan")):
            self.bad(2, "--alignment", option, value, SENTENCE, says=[option, f"'{value}'"])
        for option, value in (("--alignment-layer", "1"), ("--alignment-head", "1"), ("--alignment-threshold", "0.5")):
            self.bad(2, option, value, SENTENCE, says=[option, "--alignment"])

    def test_once_or_again(self):
        """With and without the cache, with any threads and batches."""
        expected = self.good("--alignment", "--json", stdin=text_of(MIXED))
        for options in (["-T1"], ["--batch-size", "1"], ["--batch-size", "2", "-T3"]):
            self.assertEqual(self.good("--alignment", "--json", *options, stdin=text_of(MIXED)), expected, options)
        first, last = (json.loads(expected.split(b"\n")[i]) for i in (0, len(MIXED) - 1))
        self.assertEqual(first["source_spans"], last["source_spans"])
        self.assertEqual(first["alignment"], last["alignment"])

    def test_list(self):
        rows = [l.split("\t") for l in self.good("-b4", "-n3", "--alignment",
                                                 stdin=text_of(LINES[:5])).decode().splitlines()]
        plain = [l.split("\t") for l in self.good("-b4", "-n3", stdin=text_of(LINES[:5])).decode().splitlines()]
        self.assertEqual([r[:4] for r in rows], plain)
        objects = self.objects(LINES[:5], "-b4", "-n3")
        hypotheses = [h for o in objects for h in o["hypotheses"]]
        self.assertEqual([pairs(r[4]) for r in rows], [h["alignment"] for h in hypotheses])
        for o in objects:
            self.assertEqual((o["alignment"], o["spans"]), (o["hypotheses"][0]["alignment"], o["hypotheses"][0]["spans"]))
            for h in o["hypotheses"]:
                self.check_bytes(h["text"], h["target_tokens"], h["spans"])
                self.assertEqual(sorted(t for _, t in h["alignment"]), list(range(h["tokens"])))
        scored = self.good("-b4", "-n3", "--alignment", "--scores", SENTENCE).decode().splitlines()
        self.assertEqual([len(l.split("\t")) for l in scored], [6, 6, 6])

    def test_tokens(self):
        pieces = self.good("tokenize", SENTENCE)
        text = self.objects([SENTENCE])[0]
        field = self.good("--tokens", "--alignment", stdin=pieces + b"\n" + pieces).decode().split("\n")
        self.assertEqual(field, [" ".join(text["target_tokens"]) + "\t" + " ".join(f"{s}-{t}" for s, t in text["alignment"]),
                                 "\t", field[0], ""])
        o = json.loads(self.good("--tokens", "--alignment", "--json", stdin=pieces))
        self.assertEqual(o["source_tokens"], pieces.decode().split())
        self.assertEqual((o["target_tokens"], o["alignment"]), (text["target_tokens"], text["alignment"]))
        self.assertNotIn("spans", o)
        self.assertNotIn("source_spans", o)
        rows = self.good("--tokens", "--alignment", "-b3", "-n3", stdin=pieces).decode().splitlines()
        self.assertEqual([r.split("\t")[4] for r in rows],
                         [r.split("\t")[4] for r in self.good("-b3", "-n3", "--alignment", SENTENCE).decode().splitlines()])
        ids = self.good("tokenize", "--ids", SENTENCE)
        self.assertEqual(self.good("--tokens", "--ids", "--alignment", stdin=ids).decode().split("\t")[1],
                         field[0].split("\t")[1] + "\n")

    def test_prefixes_and_loops(self):
        o = json.loads(self.good("--json", "--alignment", "--prefix", "Outside, the", SENTENCE))
        self.assertEqual(sorted(t for _, t in o["alignment"]), list(range(o["tokens"])))
        self.check_bytes(o["text"], o["target_tokens"], o["spans"])
        o = self.objects(["，".join(["哈哈"] * 8)])[0]
        self.assertEqual(o["flags"], ["loop"])
        self.assertEqual(sorted(t for _, t in o["alignment"]), list(range(o["tokens"])))

    def test_invalid_utf8(self):
        """Bytes are offsets in the line as JSON shows it."""
        r = self.run_tool("--json", "--alignment", stdin=b"\xff" + SENTENCE.encode() + b"\n")
        o = json.loads(r.stdout)
        self.assertEqual(o["source"], "\ufffd" + SENTENCE)
        self.assertEqual(o["source"].encode()[slice(*o["source_spans"][-1])].decode(), "。")

    def test_resume(self):
        lines, out = self.file("in.txt", text_of(MIXED)), self.folder / "out.txt"
        self.good("--alignment", "-i", lines, "-o", out)
        whole = out.read_bytes()
        out.unlink()
        run = self.run_of("--alignment", "-i", lines, "-o", out)
        self.leave(self.folder / "out.txt.part", whole[:whole.index(b"\n") + 5], run)
        self.good("--alignment", "-i", lines, "-o", out, "--resume")
        self.assertEqual(out.read_bytes(), whole)


class TwoModels(ModelsTest):
    def objects(self, lines, *options):
        return [json.loads(l) for l in self.good("-q", "--json", "--alignment", *options, stdin=text_of(lines)).splitlines()]

    def follow(self, first, second):
        """Links between tokens of two models, through the bytes of the pivot text that tokens share."""
        links = set()
        for middle, target in second["alignment"]:
            a, b = second["source_spans"][middle]
            for source, other in first["alignment"]:
                c, d = first["spans"][other]
                if max(a, c) < min(b, d):
                    links.add((source, target))
        return [list(link) for link in sorted(links)]

    def test_composed(self):
        lines = LINES[:8] + ["", SEVERAL]
        first = self.objects(lines)
        second = self.objects([o["text"] for o in first], "-m", self.models / "opus-mt-en-fr")
        both = self.objects(lines, "--models", self.models, "-s", "zh", "-t", "fr")
        for a, b, o in zip(first, second, both):
            self.assertEqual((o["source"], o["pivot"], o["text"]), (a["source"], a["text"], b["text"]))
            self.assertEqual((o["source_tokens"], o["source_spans"]), (a["source_tokens"], a["source_spans"]))
            self.assertEqual((o["target_tokens"], o["spans"]), (b["target_tokens"], b["spans"]))
            self.assertEqual(o["alignment"], self.follow(a, b))
        self.assertGreater(sum(len(o["alignment"]) for o in both), 40)
        plain = self.good("-q", "--alignment", "--models", self.models, "-s", "zh", "-t", "fr",
                          stdin=text_of(lines)).decode()
        self.assertEqual([pairs(l.split("\t")[1]) for l in plain.splitlines()], [o["alignment"] for o in both])

    def test_list(self):
        options = ("-b3", "-n3", "--models", self.models, "-s", "zh", "-t", "fr")
        o = self.objects([SENTENCE], *options)[0]
        first = self.objects([SENTENCE], "-b3")[0]
        second = self.objects([first["text"]], "-b3", "-n3", "-m", self.models / "opus-mt-en-fr")[0]
        for got, of_second in zip(o["hypotheses"], second["hypotheses"]):
            self.assertEqual(got["alignment"], self.follow(first, dict(second, alignment=of_second["alignment"])))

    def test_layers_of_both(self):
        """The small model has one layer."""
        options = ("--alignment", "--alignment-layer", "2", "--models", self.models, "-s", "zh")
        self.good(*options, "-t", "en", SENTENCE)
        self.bad(1, "-q", *options, "-t", "fr", SENTENCE, says=["--alignment-layer 2", "opus-mt-en-fr"])
