"""bench, convert, info and tokenize."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import struct

import support
from support import LINES, CommandTest, Terminal, model_bytes, text_of, wait_for

SMALL = pathlib.Path(__file__).resolve().parent.parent / "reference/fixtures/relu-1x1-f32/model"
BENCH_KEYS = {"tokens_per_second", "sentences_per_second", "source_tokens", "target_tokens", "seconds", "seconds_text",
              "load_ms", "peak_rss_mb", "threads", "batch_size", "compute", "cpu"}
PART_KEYS = {"seconds_encoder", "seconds_self_attention", "seconds_cross_attention", "seconds_feed_forward",
             "seconds_output",
             "seconds_rest"}
LIMIT_KEYS = {"peak_gmacs", "peak_f32_gmacs", "read_gbs", "memory_gbs", "step_mb", "step_rows", "target_token_mmacs",
              "source_token_mmacs", "memory_tokens_per_second", "memory_percent", "arithmetic_tokens_per_second",
              "arithmetic_percent"}


class Bench(CommandTest):
    def setUp(self):
        super().setUp()
        self.lines = self.file("lines", b"\n" + text_of(LINES[:5]) + b"  \n\r\n" + LINES[5].encode())

    def bench(self, *args):
        out = self.good("bench", "--rounds", "1", "--json", *args)
        self.assertEqual(out.count(b"\n"), 1)
        return json.loads(out)

    def test_score(self):
        r = self.bench("-i", self.lines, "--score", "--limits", "-T", "1")
        for key in ("score_seconds", "score_tokens_per_second", "score_speedup", "score_arithmetic_percent"):
            self.assertGreater(r[key], 0, key)
        self.assertAlmostEqual(r["score_speedup"], r["seconds"] / r["score_seconds"], delta=1e-3 * r["score_speedup"])
        self.assertLess(r["score_arithmetic_percent"], 110)
        forced = self.bench("-i", self.lines, "--score", "--fixed-length", "9")
        self.assertEqual(forced["target_tokens"], 9 * 6)
        self.assertNotIn("score_arithmetic_percent", forced)
        self.assertNotIn("score_seconds", self.bench("-i", self.lines))

    def test_json(self):
        r = self.bench("-i", self.lines, "--batch-size", "4", "--threads", "2", "--compute", "bf16")
        self.assertLessEqual(BENCH_KEYS, set(r))
        self.assertEqual((r["sentences"], r["batch_size"], r["threads"], r["compute"]), (6, 4, 2, "bf16"))
        for key in ("tokens_per_second", "sentences_per_second", "seconds", "seconds_text", "load_ms", "peak_rss_mb"):
            self.assertGreater(r[key], 0, key)
        self.assertAlmostEqual(r["tokens_per_second"] * r["seconds"], r["target_tokens"], delta=0.01)
        self.assertAlmostEqual(r["sentences_per_second"] * r["seconds"], 6, delta=0.01)
        ids = self.good("tokenize", "--ids", stdin=text_of(LINES[:6])).split()
        self.assertEqual(r["source_tokens"], len(ids))

    def test_parts(self):
        for batch, threads in ((1, 1), (1, 2), (4, 1), (2, 2)):
            r = self.bench("-i", self.lines, "--batch-size", batch, "-T", threads, "--fixed-length", "20", "--parts")
            self.assertFalse(LIMIT_KEYS & set(r))
            for key in PART_KEYS:
                self.assertGreater(r[key], 0, (key, batch, threads))
            self.assertAlmostEqual(sum(r[key] for key in PART_KEYS), r["seconds_parts"], delta=1e-6)
            # the work of a timed pass, on a machine with other load
            self.assertLess(r["seconds_parts"], 5 * r["seconds"] + 0.5)
        self.assertFalse((PART_KEYS | LIMIT_KEYS) & set(self.bench("-i", self.lines, "--fixed-length", "1")))

    def test_limits(self):
        info = json.loads(self.good("info", "--json", support.MODEL))
        shape = info["shape"]
        for batch, threads in ((1, 1), (6, 1), (1, 2)):
            r = self.bench("-i", self.lines, "--batch-size", batch, "-T", threads, "--fixed-length", "20", "--limits",
                           "--compute", "f32")
            self.assertLessEqual(BENCH_KEYS | PART_KEYS | LIMIT_KEYS, set(r))
            for key in LIMIT_KEYS:
                self.assertGreater(r[key], 0, key)
            # measured under other load: a limit can come out too low, so the bounds are wide
            self.assertLess(r["memory_percent"], 150)
            self.assertLess(r["arithmetic_percent"], 150)
            self.assertAlmostEqual(r["step_rows"], 1 if batch == 1 else 6, delta=0.01)
            self.assertAlmostEqual(r["memory_percent"], 100 * r["tokens_per_second"] / r["memory_tokens_per_second"],
                                   delta=0.01)
            self.assertAlmostEqual(r["peak_gmacs"] / r["peak_f32_gmacs"], 1, delta=0.5)  # f16 is widened
            self.assertLess(r["peak_f32_gmacs"] / threads, 1000)  # the compiler removed no loop
            self.assertGreater(r["read_gbs"], 0.5)
        # a decoding step: four matrices of self-attention, two of cross-attention, two of the feed-forward layer, the
        # output; and 20 tokens' keys and values on both sides are little beside them
        d, ffn = shape["d_model"], shape["decoder_ffn"]
        weights = shape["decoder_layers"] * (6 * d * d + 2 * d * ffn) + d * info["target_vocabulary"]
        self.assertGreater(r["target_token_mmacs"], weights / 1e6)
        self.assertLess(r["target_token_mmacs"], 1.05 * weights / 1e6)

    def test_beams(self):
        """Each hypothesis counts: it is a row of each step, and has its own part of the caches."""
        reports = [self.bench("-i", self.lines, "--batch-size", 6, "-T", 1, "--fixed-length", "20", "--limits", "--beam",
                              beam)
                   for beam in (1, 4)]
        one, four = (r["step_rows"] for r in reports)
        self.assertAlmostEqual(one, 6, delta=0.01)
        self.assertAlmostEqual(four, (6 * 1 + 19 * 24) / 20, delta=0.01)  # a search begins with one hypothesis
        blocks = [r["cache_mb"] for r in reports]  # of 32 positions: one for the source, one for each hypothesis
        self.assertAlmostEqual(blocks[1] / blocks[0], (1 + 4) / (1 + 1), delta=0.01)

    def test_same_tokens_as_translating(self):
        rows = self.good("--exact", "--json", stdin=text_of(LINES[:6])).splitlines()
        self.assertEqual(self.bench("-i", self.lines, "--compute", "f32")["target_tokens"],
                         sum(json.loads(r)["tokens"] for r in rows))

    def test_lengths(self):
        for n in (1, 7, 40):
            for batch in (1, 4):
                r = self.bench("-i", self.lines, "--fixed-length", n, "--batch-size", batch)
                self.assertEqual((r["target_tokens"], r["fixed_length"]), (6 * n, n))
        self.assertLessEqual(self.bench("-i", self.lines, "--max-length", "2")["target_tokens"], 12)
        self.bad(2, "bench", "--fixed-length", "1000000", says="--fixed-length 1000000")

    def test_built_in_lines_and_table(self):
        out = self.good("bench", "--rounds", "2", "--fixed-length", "1").decode()
        table = dict(line.split(None, 1) for line in out.splitlines())
        self.assertLessEqual(BENCH_KEYS, set(table))
        self.assertEqual(int(table["target_tokens"]), int(table["sentences"]))
        self.assertEqual(table["rounds"], "2")

    def test_deviation(self):
        r = self.run_tool("bench", "-v", "--rounds", "4", "-i", self.lines, "--json")
        speeds = [float(x) for x in re.findall(r"pass \d+: [\d.]+ s, ([\d.]+) tokens/s", r.stderr.decode())]
        self.assertEqual(len(speeds), 4)
        self.assertAlmostEqual(json.loads(r.stdout)["tokens_per_second_deviation"], statistics.stdev(speeds),
                               delta=0.01 * max(speeds))
        self.assertEqual(self.bench("-i", self.lines)["tokens_per_second_deviation"], 0)  # of one round

    def rows(self, *args, **more):
        out = self.good("bench", "--rounds", "2", "-i", self.lines, "--fixed-length", "2", *args, **more)
        return out.decode().splitlines()

    def test_every_combination(self):
        settings = [(t, n, b) for t in (1, 2) for n in (1, 32) for b in (1, 3)]
        lists = ["-T", "1,2", "--batch-size", "1,32", "--beam", "1,3"]
        for form in ("--json",), ("--table", "jsonl"), ("--json", "--table", "jsonl"):
            objects = [json.loads(line) for line in self.rows(*lists, *form)]
            self.assertEqual([(o["threads"], o["batch_size"], o["beam"]) for o in objects], settings)
            for o in objects:
                self.assertLessEqual(BENCH_KEYS, set(o))
                self.assertGreater(o["load_ms"], 0)
        for form, default in ("md", []), ("md", ["--table", "md"]), ("csv", ["--table", "csv"]):
            rows = self.rows(*lists, *default)
            self.assertEqual(len(rows), len(settings) + 2 - (form == "csv"))
            fields = [row.strip("| ").split(" | ")[4:7] if form == "md" else row.split(",")[4:7] for row in rows[-8:]]
            self.assertEqual(fields, [[str(n) for n in s] for s in settings])

    def test_tables(self):
        cpu = self.bench("-i", self.lines)["cpu_name"]
        self.assertTrue(cpu)
        name = 'a|b,"c".gguf'
        (self.folder / name).symlink_to(os.path.abspath(support.MODEL))
        head, line, row = self.rows("--table", "md", "-T", "1", "-m", self.folder / name)
        number = r"\d+\.\d"
        self.assertEqual(head, "| CPU | kernels | model | compute | threads | batch | beam | tokens/s | sentences/s | "
                               "load ms | peak MB | version | commit |")
        self.assertEqual(line, "|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|---|")
        self.assertRegex(row, rf"\A\| {re.escape(cpu)} \| \w+ \| a\\\|b,\"c\".gguf \| int8 \| 1 \| 32 \| 1 "
                              rf"\| {number} ± {number} \| {number} \| {number} \| {number} \| [\w.-]+ \| [\w+]+ \|\Z")
        table = list(csv.DictReader(self.rows("--table", "csv", "-T", "1", "-m", self.folder / name)))
        self.assertEqual(len(table), 1)
        self.assertEqual((table[0]["cpu_name"], table[0]["model"], table[0]["threads"], table[0]["batch_size"]),
                         (cpu, str(self.folder / name), "1", "32"))
        for key in ("tokens_per_second", "tokens_per_second_deviation", "sentences_per_second", "load_ms", "peak_rss_mb"):
            self.assertRegex(table[0][key], rf"\A{number}\Z")
        self.assertRegex(self.rows("--table", "jsonl")[0], r'\A\{"tokens_per_second":')

    def test_wrong_lists(self):
        for option, high in ("-T", 1024), ("--batch-size", 4096), ("--beam", 64):
            for value in "1,,2", "0,1", "1,", ",1", "1, 2", "1,x", f"1,{high + 1}", ",", ",".join(["1"] * 65):
                self.bad(2, "bench", option, value, says=[f"'{value}' is not a list", f"from 1 to {high}"])
            self.bad(2, "bench", option, "x", says="is not a whole number")
        ten = ",".join(map(str, range(1, 11)))
        self.bad(2, "bench", "-T", ten, "--beam", ten, says="100 combinations")
        self.bad(2, "bench", "--sample", "-b", "1,2", says="--sample")
        self.bad(2, "bench", "--table", "xml", says="md|csv|jsonl")
        self.bad(2, "bench", "--table", "md", "--json", says=["--json", "--table"])
        self.bad(2, "bench", "-T", "1,2", "--parts", says=["--parts", "jsonl"])
        self.bad(2, "bench", "--table", "csv", "--limits", says="--limits")
        self.bad(2, "-T", "1,2", "x", says="'1,2' is not a whole number")

    def test_verbose_reports_each_pass(self):
        r = self.run_tool("bench", "-v", "--rounds", "3", "-i", self.lines, "--fixed-length", "2")
        self.assertEqual(r.stderr.count(b"\ntranslate: pass "), 3)

    def test_tokens(self):
        pieces = self.file("pieces", self.good("tokenize", stdin=text_of(LINES[:6])))
        a = self.bench("-i", pieces, "--tokens", "--compute", "f32")
        b = self.bench("-i", self.lines, "--compute", "f32")
        self.assertEqual((a["source_tokens"], a["target_tokens"]), (b["source_tokens"], b["target_tokens"]))
        self.bad(2, "bench", "--tokens", says="--input")

    def test_long_lines_are_cut(self):
        long = self.file("long", ("好，" * 4000).encode())
        r = self.run_tool("bench", "--json", "--rounds", "1", "--fixed-length", "1", "-i", long)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stderr.decode(), r"\Atranslate: warning: 1 lines [^\n]+\n\Z")

    def test_errors(self):
        self.bad(1, "bench", "-i", self.folder / "none", says="none")
        self.bad(1, "bench", "-i", self.file("blank", b"\n \n"), says="no lines")
        self.bad(1, "bench", "-m", self.folder / "none", says="none")
        self.bad(2, "bench", "--compute", "int4", says="f32|f16|bf16|int8")


class Info(CommandTest):
    def test_control_characters_in_names(self):
        """Control characters, right-to-left text, and invalid UTF-8."""
        bad, shown = b"a\xc2\x9b31m\x1b[1m\xe2\x80\xaegguf.txt\xe2\x80\xa8\xff\n", b"a?31m?[1m?gguf.txt???"
        folder = os.fsencode(self.folder) + b"/" + bad
        os.mkdir(folder)
        os.symlink(os.fsencode(os.path.abspath(support.MODEL)), folder + b"/" + bad + b".gguf")
        out = self.good("info", os.fsdecode(folder + b"/" + bad + b".gguf"))
        self.assertIn(b"/" + shown + b"/" + shown + b".gguf\n", out)
        for out in (out, self.good("info", os.fsdecode(folder))):
            self.assertIn(shown, out)
            self.assertNotRegex(out.decode(), "[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")
        self.assertIn(shown.decode(), self.bad(1, "info", os.fsdecode(folder + b"/none" + bad)))
        self.assertIn(shown.decode(), self.bad(1, "-m", os.fsdecode(bad), "x"))
        self.assertIn(shown.decode(), self.bad(2, "--" + os.fsdecode(bad)))

    def test_json(self):
        o = json.loads(self.good("info", "--json", support.MODEL))
        self.assertEqual((o["file"], o["format"]), (support.MODEL, "GGUF"))
        self.assertEqual((o["source_language"], o["target_language"]), ("zh", "en"))
        self.assertEqual(o["size"], os.path.getsize(support.MODEL))
        self.assertEqual(o["shape"]["d_model"] % o["shape"]["encoder_heads"], 0)
        self.assertGreater(o["parameters"], o["source_vocabulary"] * o["shape"]["d_model"])
        self.assertGreater(sum(w["bytes"] for w in o["weights"].values()), o["parameters"])
        self.assertEqual((o["compute"], set(o["weights"])), ("int8", {"int8", "f32"}))
        self.assertIn(o["tokens"]["pad"], o["tokens"]["forbidden"])
        self.assertRegex(o["checksum"], r"\A[0-9a-f]{16}\Z")
        self.assertIs(o["verified"], False)

    def test_text(self):
        o = json.loads(self.good("info", "--json", support.MODEL))
        text = self.good("info", support.MODEL).decode()
        for shown in (f"d_model {o['shape']['d_model']}", "zh to en", "SentencePiece", str(o["parameters"]), o["checksum"],
                      str(o["size"]), "</s>", "<pad>", o["shape"]["activation"]):
            self.assertIn(shown, text)
        self.assertNotIn("verified", text)

    def test_licence_date_and_purpose(self):
        """convert writes them, and takes them over; nothing is shown where they are unknown."""
        known = {"license": "cc-by-4.0", "date": "2026-11", "description": "Chinese to English, everyday language"}
        out, again = self.folder / "a.gguf", self.folder / "b.gguf"
        options = [word for name, value in known.items() for word in (f"--{name}", value)]
        self.good("convert", support.MODEL, out, *options)
        self.good("convert", out, again, "--license", "MIT")
        o = json.loads(self.good("info", "--json", out))
        self.assertEqual({name: o[name] for name in known}, known)
        o = json.loads(self.good("info", "--json", again))
        self.assertEqual({name: o[name] for name in known}, {**known, "license": "MIT"})
        text = self.good("info", out).decode()
        for label, value in zip(("licence", "date", "purpose"), known.values()):
            self.assertRegex(text, rf"\n{label} +{value}\n")
        o = json.loads(self.good("info", "--json", support.MODEL))
        self.assertEqual({o[name] for name in known}, {None})
        self.assertNotRegex(self.good("info", support.MODEL).decode(), r"\n(licence|date|purpose) ")
        self.bad(2, "convert", out, again, "--license", "x" * 64, says="longer than 63 bytes")
        self.bad(2, "convert", out, again, "--description", b"\xff".decode("utf-8", "surrogateescape"), says="not UTF-8")

    def test_licence_of_a_model_card(self):
        model = self.folder / "model"
        shutil.copytree(SMALL, model)
        for card, license in (("---\nlanguage:\n- zh\nlicense: apache-2.0\n---\n# x\n---\n", "apache-2.0"),
                              ("---\nlicense: other\nlicense_name: my-own\n---\n", "my-own"), ("---\nlicense: mit\n", None),
                              ("# license: mit\n", None), ("---\nlicense: [a\n---\n", None), ("", None),
                              ("---\nlicense: " + "x" * 64 + "\n---\n", None), ("---\nlicense:\n- mit\n---\n", "mit"),
                              ("\ufeff---\r\ntags: &x [a]\r\nlicense: mit\r\n---\r\n", "mit")):
            (model / "README.md").write_text(card)
            self.assertEqual(json.loads(self.good("info", "--json", model))["license"], license, card)
        (model / "README.md").write_text("---\nlicense: mit\n---\n")
        self.good("convert", model, self.folder / "m.gguf", warnings=True)
        self.assertIn(b"\nlicence       mit\n", self.good("info", self.folder / "m.gguf"))

    def test_control_characters_in_texts(self):
        content = bytearray(model_bytes())
        at = content.index(b"general.name") + len("general.name") + 4
        size = struct.unpack_from("<Q", content, at)[0]
        content[at + 8:at + 8 + size] = "\x1b\x9bx".encode()[:size].ljust(size, b"-")
        piece = content.index(b"</s>")
        content[piece:piece + 4] = b"\x1b[2J"
        file = self.file("a\u202eb.gguf", content)
        text = self.good("info", file).decode()
        self.assertFalse(set(text) & set("\x1b\x9b\u202e"), text)
        self.assertIn("?[2J", text)
        text = self.good("info", "--json", file).decode()
        self.assertFalse(set(text) & set("\x1b\x9b\u202e"), text)
        self.assertEqual(json.loads(text)["file"], str(file))
        self.assertIn("\x1b\x9bx", json.loads(text)["name"])

    def test_verify(self):
        self.assertIn("verified", self.good("info", "--verify", support.MODEL).decode())
        self.assertIs(json.loads(self.good("info", "--verify", "--json", support.MODEL))["verified"], True)
        content = bytearray(model_bytes())
        content[-5000] ^= 1
        self.bad(1, "info", "--verify", self.file("flipped.gguf", content), says=["flipped.gguf", "checksum"])
        self.bad(1, "info", "--verify", self.folder, says="directory")

    def test_errors(self):
        self.bad(1, "info", self.folder / "none", says="none")
        self.bad(1, "info", self.file("foreign", b"text" * 100), says="foreign")
        self.bad(1, "info", self.file("empty"), says="empty")
        self.bad(1, "info", self.folder, says=str(self.folder))


class Convert(CommandTest):
    def names(self):
        return sorted(p.name for p in self.folder.iterdir())

    def convert(self, name, source, *args):
        out = self.folder / name
        self.good("convert", source, out, *args)
        return out

    def test_as_stored(self):
        """Without --compute, the output is the input file, to the byte."""
        self.assertEqual(self.convert("a.gguf", support.MODEL).read_bytes(), model_bytes())
        narrow = self.convert("narrow.gguf", support.MODEL, "--compute", "f16")
        self.assertEqual(self.convert("b.gguf", narrow).read_bytes(), narrow.read_bytes())
        self.assertEqual(self.names(), ["a.gguf", "b.gguf", "narrow.gguf"])

    def test_widened(self):
        """f32 has the values of int8 weights, as with --compute f32; sizes and numbers fit."""
        wide = self.convert("wide.gguf", support.MODEL, "--compute", "f32")
        self.assertGreater(wide.stat().st_size, 2.5 * len(model_bytes()))
        self.assertEqual(self.good("-m", wide, stdin=text_of(LINES)), self.good("--compute", "f32", stdin=text_of(LINES)))
        original = json.loads(self.good("info", "--json", support.MODEL))
        o = json.loads(self.good("info", "--verify", "--json", wide))
        self.assertEqual((original["compute"], o["compute"]), ("int8", "f32"))
        self.assertEqual(list(o["weights"]), ["f32"])
        self.assertEqual(sum(w["tensors"] for w in original["weights"].values()), o["weights"]["f32"]["tensors"])
        for key in ("shape", "tokens", "parameters", "name", "source_language", "target_language", "tokenizer"):
            self.assertEqual(o[key], original[key], key)

    def test_int8(self):
        """Packed in the file or while loading: the same translations."""
        wide = self.convert("wide.gguf", support.MODEL, "--compute", "f32")
        packed = self.convert("packed.gguf", wide, "--compute", "int8")
        counts = [json.loads(self.good("info", "--json", m))["weights"]["int8"]["tensors"] for m in (support.MODEL, packed)]
        self.assertEqual(counts[0], counts[1])
        self.assertLess(packed.stat().st_size, len(model_bytes()))  # which has a 4-bit screen; a new file needs none
        expected = self.good("-m", packed, stdin=text_of(LINES))
        self.assertEqual(self.good("-m", wide, "--compute", "int8", stdin=text_of(LINES)), expected)
        self.assertEqual(self.convert("again.gguf", wide, "--compute=int8").read_bytes(), packed.read_bytes())
        shown = self.good("info", packed).decode()
        self.assertRegex(shown, r"weights +\d+ tensors in f32 \([\d.]+ MB\), \d+ tensors in int8 \([\d.]+ MB\)")
        self.assertRegex(shown, r"compute +int8\n")

    def test_damage_gets_no_good_checksum(self):
        content = bytearray(model_bytes())
        content[-5000] ^= 1
        flipped = self.file("flipped.gguf", content)
        self.bad(1, "convert", flipped, self.folder / "out.gguf", says=["flipped.gguf", "checksum"])
        self.assertEqual(self.names(), ["flipped.gguf"])

    def test_a_weight_that_is_no_number(self):
        wide = self.convert("wide.gguf", support.MODEL, "--compute", "f32")
        content = bytearray(wide.read_bytes().replace(b"translate.checksum", b"translate.nochecks"))
        struct.pack_into("<f", content, len(content) // 2 & ~3, float("nan"))  # the file is matrices, nearly all of it
        wide.write_bytes(content)
        self.bad(1, "convert", wide, self.folder / "packed.gguf", "--compute", "int8", says=["tensor ", "weight", "finite"])
        self.assertEqual(self.names(), ["wide.gguf"])

    def test_bf16(self):
        out = self.folder / "b.gguf"
        self.good("convert", "--compute=bf16", support.MODEL, out)
        self.assertIn("bf16", json.loads(self.good("info", "--json", out))["weights"])
        self.assertEqual(self.good("-m", out, stdin=text_of(LINES)), self.good("--compute", "bf16", stdin=text_of(LINES)))

    def allowed(self, name, how, source=None):
        return json.loads(self.good("info", "--json", self.convert(name, source or support.MODEL, "--allowed", how)))

    def test_allowed_by_script(self):
        """Target English: no Han characters; digits, punctuation and Latin letters stay."""
        info = self.allowed("latin.gguf", "script")
        self.assertTrue(500 < info["allowed_tokens"] < info["target_vocabulary"] / 2)
        named = self.allowed("named.gguf", "script:Latn")
        self.assertEqual(named["allowed_tokens"], info["allowed_tokens"])
        model = self.folder / "latin.gguf"
        self.assertRegex(self.good("info", model).decode(), r"allowed +\d+ of the target tokens\n")
        text = text_of(LINES + ["他在2019年说：“好。”", "我们去北京（3.5公里）。"])
        out = self.good("-m", model, stdin=text).decode()
        self.assertNotRegex(out, "[\u4e00-\u9fff]")
        self.assertRegex(out, r"2019[\s\S]*3\.5")
        self.assertEqual(self.good("-m", model, "--allowed", "off", stdin=text), self.good(stdin=text))
        self.assertIn(b"target tokens are allowed", self.run_tool("-m", model, "-v", "你好").stderr)

    def test_allowed_by_text(self):
        """The tokens of the texts, and all other tokens in their script."""
        text = self.file("en.txt", b"The weather is good today.\n\n\xff It is 25 degrees.\n")
        info = self.allowed("text.gguf", f"text:{text}")
        self.assertTrue(20 < info["allowed_tokens"] < 2000)
        out = self.good("-m", self.folder / "text.gguf", "今天天气很好。")
        self.assertNotRegex(out.decode(), "[\u4e00-\u9fff]")
        kept = self.allowed("kept.gguf", f"text:{text}", self.folder / "text.gguf")
        self.assertEqual({**kept, "file": info["file"]}, info)
        again = json.loads(self.good("info", "--json", self.convert("again.gguf", self.folder / "text.gguf")))
        self.assertEqual(again["allowed_tokens"], info["allowed_tokens"])
        self.assertEqual(self.allowed("none.gguf", "off", self.folder / "text.gguf")["allowed_tokens"], 0)
        self.assertEqual((self.folder / "none.gguf").read_bytes(), model_bytes())

    def test_allowed_refuses(self):
        out = self.folder / "x.gguf"
        empty, blank = self.file("empty", b""), self.file("blank", b"  \n \n")
        for how, status, says in (("latin", 2, "script:NAMES or text:FILE"), ("script:Foo", 2, "ISO 15924"),
                                  ("script:", 2, "script:NAMES"), (f"text:{self.folder / 'none'}", 1, "none"),
                                  (f"text:{empty}", 1, "holds no text"),
                                  (f"text:{blank}", 1, "holds no text")):
            self.bad(status, "convert", support.MODEL, out, "--allowed", how, says=says)
        self.assertFalse(out.exists())

    def test_replaces_a_model_alone(self):
        out = self.file("out.gguf", b"precious")
        self.bad(1, "convert", support.MODEL, out, says=["out.gguf: exists and is not a model", "--force"])
        self.assertEqual(out.read_bytes(), b"precious")
        self.bad(1, "convert", "-f", self.file("bad", b"GGUFxxxx"), out)
        self.assertEqual(out.read_bytes(), b"precious")
        self.good("convert", "-f", support.MODEL, out)
        self.good("info", "--verify", out)
        self.good("convert", "--force", support.MODEL, out)
        self.good("convert", "--compute", "f32", support.MODEL, out)
        self.assertGreater(out.stat().st_size, 2 * len(model_bytes()))
        self.good("convert", support.MODEL, self.file("empty.gguf"))

    def test_errors_leave_nothing(self):
        copy = self.file("copy.gguf", b"")
        shutil.copy(support.MODEL, copy)
        before = self.names()
        self.bad(2, "convert", "-f", copy, copy, says="input and the output")
        self.bad(2, "convert", "-f", copy, self.folder / "." / "copy.gguf", says="input and the output")
        self.bad(1, "convert", self.folder / "none", self.folder / "x.gguf", says="none")
        self.bad(1, "convert", copy, self.folder, says="is a directory")
        self.bad(1, "convert", copy, self.folder / "none" / "x.gguf", says="x.gguf")
        self.bad(1, "convert", copy, "/dev/null", says="regular")
        self.bad(2, "convert", copy, self.folder / "x.gguf", "--compute", "i8", says="f32|f16|bf16|int8")
        self.assertEqual(self.names(), before)
        self.assertEqual(copy.read_bytes(), model_bytes())

    def test_interrupted(self):
        with self.started("convert", "--compute", "f32", support.MODEL, self.folder / "x.gguf") as p:
            wait_for(lambda: self.names() or p.poll() is not None)
            p.send_signal(signal.SIGINT)
            status = p.wait(90)
        if status == 0:  # the run was faster than the signal
            self.assertEqual(self.names(), ["x.gguf"])
            self.good("info", "--verify", self.folder / "x.gguf")
        else:
            self.assertEqual((status, self.names()), (130, []))

    def test_silent_but_for_a_bar_on_a_terminal(self):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        with self.started("convert", "--compute", "f32", support.MODEL, self.folder / "x.gguf", stderr=terminal.slave) as p:
            terminal.close_slave()
            shown = terminal.read()
            self.assertEqual((p.wait(90), p.stdout.read()), (0, b""))
        if shown:  # it may end before the first bar is drawn
            self.assertRegex(shown, rb"\A(\r\[=*>? *\] +\d+%  [\d:-]+ left\x1b\[K)+\r\x1b\[K\Z")


class Tokenize(CommandTest):
    def test_pieces_and_ids_agree(self):
        pieces = self.good("tokenize", stdin=text_of(LINES)).decode().splitlines()
        ids = self.good("tokenize", "--ids", stdin=text_of(LINES)).decode().splitlines()
        self.assertEqual(len(pieces), len(LINES))
        names = {}
        for p, i in zip(pieces, ids):
            p, i = p.split(" "), [int(x) for x in i.split(" ")]
            self.assertEqual(len(p), len(i))
            for piece, number in zip(p, i):
                self.assertEqual(names.setdefault(number, piece), piece)

    def test_pieces_are_the_text(self):
        for line in LINES[:5]:
            joined = self.good("tokenize", line).decode().strip().replace(" ", "").replace("▁", " ").strip()
            self.assertEqual(joined.replace("?", "？").replace(",", "，"), line)

    def test_ways_of_input(self):
        f = self.file("l", text_of(LINES[:2]) + b"\r\n")
        expected = self.good("tokenize", LINES[0]) + self.good("tokenize", LINES[1]) + b"\r\n"
        self.assertEqual(self.good("tokenize", "-i", f), expected)
        self.assertEqual(self.good("tokenize", stdin=f.read_bytes()), expected)
        self.assertEqual(self.good("tokenize", "我", "们"), self.good("tokenize", "我 们"))
        self.assertEqual(self.good("tokenize", ""), b"\n")
        self.assertEqual(self.good("tokenize", stdin=b""), b"")

    def test_decode(self):
        tokens = self.good("--tokens", "--compute", "f32", self.good("tokenize", LINES[0]).decode().strip())
        text = self.good("--exact", LINES[0])
        self.assertEqual(self.good("tokenize", "--decode", stdin=tokens), text)
        self.assertEqual(self.good("tokenize", "-d", tokens.decode().strip()), text)
        self.bad(1, "tokenize", "--decode", "--ids", "99999999", says="99999999")
        self.bad(1, "tokenize", "--decode", "--ids", "0", "x", says="'x'")

    def test_errors(self):
        self.bad(1, "tokenize", "-i", self.folder / "none", says="none")
        self.bad(1, "tokenize", "-m", self.folder / "none", "x", says="none")
