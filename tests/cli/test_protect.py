"""--protect, --glossary, --mark-doubtful: what must not change, terms, and translations that are probably wrong."""
import json

import support
from support import LINES, CommandTest

SENTENCE = LINES[0]


class Protect(CommandTest):
    def object(self, *args, **more):
        return json.loads(self.good("-q", "--json", *args, **more))

    def test_on_and_off(self):
        line = "请看https://a.example/x?y=1和{name}。"
        text = self.good(line).decode()
        self.assertIn("https://a.example/x?y=1", text)
        self.assertIn("{name}", text)
        self.assertEqual(self.good("--protect", "on", line).decode(), text)
        self.assertNotEqual(self.good("--protect", "off", line).decode(), text)
        self.assertEqual(self.good("--exact", SENTENCE), self.good("--protect", "off", "--exact", SENTENCE))
        self.bad(2, "--protect", "on", "--tokens", SENTENCE, says=["--protect", "--tokens"])

    def test_stream(self):
        line = "你好。请看`a b`和😀，在2024年5月1日。"
        self.assertEqual(self.good("--stream", line), self.good("--loop-guard", "off", line))

    def test_passed(self):
        done = self.run_tool("Hello, world!")
        self.assertEqual((done.returncode, done.stdout), (0, b"Hello, world!\n"))
        warning = r"\Atranslate: warning: no sentence is in the source language \(zh\)[^\n]*\n\Z"
        self.assertRegex(done.stderr.decode(), warning)
        self.assertEqual(self.object("Hello, world!")["flags"], ["passed_through"])
        self.assertEqual(self.object("東京は日本の首都です。")["flags"], ["passed_through"])
        self.assertNotIn("passed_through", self.object("我喜欢火影の书。")["flags"])
        self.assertEqual(self.run_tool(stdin=f"Hello\n{SENTENCE}\n".encode()).stderr, b"")

    def test_blanks_of_forms(self):
        text = self.good("姓名：____________，电话：____，地址：＿＿＿＿").decode()
        for blank in ("____________", " ____", "＿＿＿＿"):
            self.assertIn(blank, text)
        self.assertEqual(text.replace("____________", "").count("_"), 4)

    def test_numbers(self):
        o = self.object("总投资15.6亿元。")
        self.assertTrue("1.56 billion" in o["text"] or "number" in o["flags"], o)

    def test_doubtful(self):
        text = self.good(SENTENCE)
        self.bad(1, "--mark-doubtful", "[?] ", SENTENCE, says=["--mark-doubtful", "--doubtful-below", "calibrate"])
        self.assertEqual(self.good("--mark-doubtful", "[?] ", "--doubtful-below", "-0.00001", SENTENCE), b"[?] " + text)
        self.assertEqual(self.good("--mark-doubtful", "[?] ", "--doubtful-below", "-50", SENTENCE), text)
        self.assertEqual(self.object("--doubtful-below", "-0.00001", SENTENCE)["flags"], ["doubtful"])
        self.bad(2, "--doubtful-below", "-1", SENTENCE, says=["--doubtful-below", "--mark-doubtful"])
        self.bad(2, "--mark-doubtful", "x", "--json", SENTENCE, says=["--mark-doubtful", "--json"])

    def test_glossary(self):
        path = self.file("g.tsv", "苹果\tQzapple\n".encode())
        self.assertIn("Qzapple", self.good("--glossary", path, "我喜欢吃苹果。").decode())
        self.assertEqual(self.good("--glossary", path, SENTENCE), self.good(SENTENCE))
        self.bad(1, "--glossary", self.folder / "no.tsv", SENTENCE, says=["no.tsv"])
        bad = self.file("bad.tsv", "苹果\tx\n苹果\ty\n".encode())
        self.bad(1, "--glossary", bad, SENTENCE, says=["bad.tsv:2", "another target in line 1"])
        self.bad(2, "--glossary", path, "--protect", "off", SENTENCE, says=["--glossary", "--protect"])
        self.bad(2, "--glossary", path, "--prefix", "I", SENTENCE, says=["--glossary", "--prefix"])

    def test_calibrate(self):
        lines = [f"{line}\tThe weather is nice today." for line in LINES]
        pairs = self.file("pairs.tsv", ("\n".join(lines) + "\n").encode())
        told = self.good("calibrate", "-i", pairs).decode().splitlines()
        self.assertRegex(told[0], r"^20 translations, \d+ with a chrF below 35$")
        self.assertRegex(told[-1], r"^best balance: -\d\.\d\d$")
        rows = [row.split() for row in told[2:-1]]
        self.assertEqual([int(r[1]) for r in rows], sorted(int(r[1]) for r in rows))
        wrong = int(told[0].split()[2])
        for _, doubtful, precision, recall in rows:  # both count the wrong ones among the doubtful
            self.assertAlmostEqual(float(precision) * int(doubtful), float(recall) * wrong, delta=0.02 * wrong)
        self.bad(1, "calibrate", stdin=b"no reference\n", says=["line 1", "TAB"])
        model = self.folder / "doubt.gguf"
        self.good("convert", "-q", "--doubtful-below", "-0.00001", support.MODEL, model)
        self.assertEqual(self.good("-m", model, "--mark-doubtful", "[?] ", SENTENCE)[:4], b"[?] ")

    def test_stand_ins(self):
        model, text = self.folder / "words.gguf", "请看https://example.com/a和{name}。"
        self.good("convert", "-q", "--stand-ins", support.MODEL, model)
        self.assertIn(b"translate.stand_ins", model.read_bytes()[:200000])
        self.assertEqual(self.good("-m", model, text), self.good(text))
        again = self.folder / "again.gguf"  # keeps them
        self.good("convert", "-q", model, again)
        self.assertEqual(again.read_bytes(), model.read_bytes())
