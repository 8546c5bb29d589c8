"""attention: the contents of its files, and its errors."""
import json
import math
import os
import pathlib
import sys
import xml.etree.ElementTree

from support import CommandTest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "view"))
from readers import read_npz, read_page  # noqa: E402

TEXT = "动物没有过马路，因为它太累了"
NLLB = TESTS / "languages/fixtures/nllb/model"
NO_TOKENIZER = TESTS / "reference/fixtures/bart-2x1-bf16/model"
PIECES = TESTS / "reference/fixtures/relu-1x1-f32/model"
LONG = TESTS / "marian/fixtures/spm"  # takes more tokens than the small model
RECURRENT = TESTS / "bergamot/fixtures/ssru-two"


class AttentionTest(CommandTest):
    def arrays(self, *args, **more):
        out = self.folder / "arrays.npz"
        self.assertEqual(self.good("attention", *args, "-o", out, **more), b"")
        return read_npz(out.read_bytes())

    def check_maps(self, a):
        """Shapes fit each other, and rows sum to 1."""
        sources, targets = len(a["source_tokens"][1]), len(a["target_tokens"][1])
        self.assertEqual(len(a["decoder_tokens"][1]), targets)
        self.assertEqual((len(a["log_probabilities"][1]), len(a["alignment"][1])), (targets, targets))
        for name, rows, columns in (("encoder", sources, sources), ("decoder", targets, targets),
                                    ("cross", targets, sources)):
            (layers, heads, *shape), weights = a[name]
            self.assertEqual(shape, [rows, columns], name)
            self.assertEqual(len(weights), layers * heads * rows * columns)
            for i in range(0, len(weights), columns):
                self.assertAlmostEqual(sum(weights[i:i + columns]), 1, delta=1e-5)
                self.assertGreaterEqual(min(weights[i:i + columns]), 0)
                step = i // columns % rows
                if name == "decoder":
                    self.assertFalse(any(weights[i + step + 1:i + columns]), "looks at what is not written yet")


class Files(AttentionTest):
    def test_arrays(self):
        a = self.arrays(TEXT)
        self.check_maps(a)
        info = json.loads(self.good("info", "--json"))["shape"]
        self.assertEqual(a["encoder"][0][:2], (info["encoder_layers"], info["encoder_heads"]))
        self.assertEqual(a["cross"][0][:2], (info["decoder_layers"], info["decoder_heads"]))
        self.assertEqual(a["source_tokens"][1], self.good("tokenize", TEXT).decode().split() + ["</s>"])
        self.assertEqual(self.good("tokenize", "--decode", " ".join(a["target_tokens"][1][:-1])), self.good(TEXT))
        self.assertEqual(a["target_tokens"][1][-1], "</s>")
        self.assertEqual(a["decoder_tokens"][1][1:], a["target_tokens"][1][:-1])
        for p in a["log_probabilities"][1]:
            self.assertLess(p, 0)
            self.assertGreater(p, math.log(1e-3))  # found by the search
        self.assertEqual(a["alignment"][1][-1], -1)
        self.assertTrue(all(0 <= i < len(a["source_tokens"][1]) - 1 for i in a["alignment"][1][:-1]))
        # "too" attends to 太
        self.assertEqual(a["source_tokens"][1][a["alignment"][1][a["target_tokens"][1].index("▁too")]], "太")

    def test_page(self):
        out = self.folder / "view.html"
        self.assertEqual(self.good("attention", *TEXT[:4], TEXT[4:], "-o", out), b"")
        page, data = read_page(out.read_bytes())
        self.assertEqual(page.title, " ".join([*TEXT[:4], TEXT[4:]]))
        out.unlink()
        self.good("attention", TEXT, "-o", out)
        page, data = read_page(out.read_bytes())
        a = self.arrays(TEXT)
        self.assertEqual((data["text"], page.title), (TEXT, TEXT))
        self.assertEqual(data["translation"] + "\n", self.good(TEXT).decode())
        self.assertEqual((data["source"], data["target"], data["inputs"]),
                         tuple(a[n][1] for n in ("source_tokens", "target_tokens", "decoder_tokens")))
        self.assertEqual(data["alignment"], a["alignment"][1])
        for p, log in zip(data["probabilities"], a["log_probabilities"][1]):
            self.assertAlmostEqual(p, math.exp(log), delta=1e-3)

    def test_picture(self):
        out = self.folder / "view.svg"
        self.good("attention", TEXT, "-o", out)
        words = [e.text for e in xml.etree.ElementTree.fromstring(out.read_bytes()).iter() if e.tag.endswith("}text")]
        for word in (TEXT, "没有", "never", self.good(TEXT).decode().strip()):
            self.assertIn(word, words)

    def test_same_again(self):
        for form in ("html", "svg", "npz"):
            made = set()
            for threads in (1, 2):
                out = self.folder / f"t{threads}.{form}"
                self.good("attention", TEXT, "-o", out, "-T", threads)
                made.add(out.read_bytes())
            self.assertEqual(len(made), 1, form)

    def test_given_translation(self):
        given = "The animal did not cross the street because it was too wide."
        a, own = self.arrays(TEXT, "--translation", given), self.arrays(TEXT)
        self.check_maps(a)
        self.assertEqual("".join(a["target_tokens"][1][:-1]).replace("▁", " ").strip(), given)
        self.assertEqual(a["encoder"], own["encoder"])
        self.assertLess(sum(a["log_probabilities"][1]), sum(own["log_probabilities"][1]))
        again = self.arrays(TEXT, "--translation", self.good(TEXT).decode().strip())
        self.assertEqual(again, own)
        nothing = self.arrays(TEXT, "--translation", " ")
        self.assertEqual(nothing["target_tokens"][1], ["</s>"])

    def test_hostile_text(self):
        text = "</script><script>alert('1')</script>\"&{{data}}\\\x01 今天\n天气"
        out = self.folder / "view.html"
        self.good("attention", text, "--translation", text, "-o", out)
        page, data = read_page(out.read_bytes())
        self.assertEqual([t for t, _ in page.tags].count("script"), 5)
        self.assertEqual(data["text"], text.replace("\x01", "\ufffd").replace("\n", "\ufffd"))
        self.good("attention", os.fsdecode("今天".encode() + b"\xff\xe4\xbb"), "-o", out)
        self.assertEqual(read_page(out.read_bytes())[1]["text"], "今天\ufffd\ufffd")

    def test_languages(self):
        a = self.arrays("-m", NLLB, "-s", "zh", "-t", "fr", "你好")
        self.check_maps(a)
        self.assertEqual(a["source_tokens"][1][0], "zho_Hans")
        self.assertEqual(a["target_tokens"][1][0], "fra_Latn")
        self.assertAlmostEqual(a["log_probabilities"][1][0], 0, delta=1e-6)  # given by the caller
        given = self.arrays("-m", NLLB, "-s", "zh", "-t", "fr", "你好", "--translation", "a")
        self.assertEqual(given["target_tokens"][1][0], "fra_Latn")
        self.assertEqual(given["target_tokens"][1][-1], "</s>")

    def test_tokens(self):
        a = self.arrays("-m", PIECES, "--tokens", "a b", "--translation", "m a a")
        self.check_maps(a)
        self.assertEqual((a["source_tokens"][1], a["target_tokens"][1]), (["a", "b", "</s>"], ["m", "a", "a", "</s>"]))

    def test_recurrent_decoder(self):
        """Such a model has no self-attention: a map without layers."""
        a = self.arrays("-m", RECURRENT, "hello")
        self.assertEqual(a["decoder"][0][:2], (0, 0))
        self.assertGreater(len(a["cross"][1]), 0)
        for form in ("html", "svg"):
            self.good("attention", "-m", RECURRENT, "hello", "-o", self.folder / f"view.{form}")


class Refused(AttentionTest):
    def test_forms(self):
        for name in ("view.pdf", "view", "view.html.gz", "-", "svg"):
            self.bad(2, "attention", TEXT, "-o", self.folder / name if name != "-" else name, says=(".html", ".svg", ".npz"))
        self.bad(2, "attention", TEXT, says=("--output", ".html", ".svg", ".npz"))
        self.bad(2, "attention", "-o", "view.html", says="too few arguments")
        self.assertEqual(os.listdir(self.folder), [])

    def test_places(self):
        self.bad(1, "attention", TEXT, "-o", self.folder / "none/view.html", says="cannot write")
        (self.folder / "folder.svg").mkdir()
        self.bad(1, "attention", TEXT, "-o", self.folder / "folder.svg", says="is a directory")
        part = self.file("view.npz.part", b"left")
        message = self.bad(1, "attention", TEXT, "-o", self.folder / "view.npz", says=("view.npz.part", "delete it"))
        self.assertNotIn("--resume", message)
        self.assertEqual(part.read_bytes(), b"left")
        self.assertFalse((self.folder / "view.npz").exists())

    def test_replaces_whole(self):
        out = self.file("view.html", b"old")
        self.bad(1, "attention", " ", "-o", out, says="no tokens to show")
        self.assertEqual(out.read_bytes(), b"old")
        self.good("attention", TEXT, "-o", out)
        self.assertTrue(out.read_bytes().startswith(b"<!doctype html>"))
        self.assertEqual(os.listdir(self.folder), ["view.html"])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        link = self.folder / "full.html"
        link.symlink_to("/dev/full")
        self.bad(1, "attention", TEXT, "-o", link, says="cannot write")

    def test_too_large(self):
        """Reported before anything is computed."""
        source, target = " ".join(["▁"] * 500), " ".join(["▁"] * 550)
        message = self.bad(1, "attention", "-m", LONG, "--tokens", source, "--translation", target,
                           "-o", self.folder / "v.svg", says=("too many for a picture", "shorter text", ".npz"))
        self.assertIn("501 by 551 tokens", message)
        self.assertEqual(os.listdir(self.folder), [])

    def test_too_long(self):
        text = " ".join(["▁"] * 5000)
        self.bad(1, "attention", "--tokens", text, "-o", self.folder / "v.html", says="but the model takes")
        self.bad(1, "attention", "--tokens", "▁", "--translation", text, "-o", self.folder / "v.html",
                 says="but the model takes")

    def test_models(self):
        out = self.folder / "view.html"
        self.bad(1, "attention", "-m", NO_TOKENIZER, "a", "-o", out, says="no tokenizer")
        self.bad(2, "attention", "-m", NLLB, "你好", "-o", out, says="name one")
        self.bad(2, "attention", "-m", NLLB, "-s", "zh", "-t", "tlh", "你好", "-o", out, says="tlh")
        self.bad(1, "attention", "-m", self.folder / "none.gguf", "a", "-o", out, says="none.gguf")
        self.assertEqual(os.listdir(self.folder), [])
