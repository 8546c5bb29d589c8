"""Folders of models: --models, two models in sequence, -s auto."""
import html
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

import support
from support import (LINES, CommandTest, Terminal, can_confine, environment, many_lines, process_status, text_of,
                     wait_for)

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "models"))
import chinese_model

SMALL = TESTS / "reference/fixtures/relu-1x1-f32/model"
OTHER = TESTS / "reference/fixtures/gelu-4x2-bf16-untied/model"
NLLB = TESTS / "languages/fixtures/nllb/model"
MANY = TESTS / "languages/fixtures/marian-many/model"

SENTENCES = {
    "zho_Hans": "今天天气很好，我们去公园散步吧。",
    "zho_Hant": "今天天氣很好，我們去公園散步吧。",
    "jpn_Jpan": "今日はいい天気ですね。公園に行きましょう。",
    "kor_Hang": "오늘은 날씨가 좋습니다. 공원에 갑시다.",
    "tha_Thai": "วันนี้อากาศดี ไปเดินเล่นกันเถอะ",
    "ell_Grek": "Ο καιρός είναι ωραίος σήμερα.",
    "fra_Latn": "Il fait beau aujourd'hui, allons nous promener.",
    "deu_Latn": "Das Wetter ist heute schön, gehen wir spazieren.",
    "spa_Latn": "Hoy hace buen tiempo, vamos a pasear.",
    "rus_Cyrl": "Сегодня хорошая погода, пойдём гулять.",
    "ukr_Cyrl": "Сьогодні гарна погода, ходімо гуляти.",
    "arb_Arab": "الطقس جميل اليوم، هيا نتمشى في الحديقة.",
    "heb_Hebr": "מזג האוויר יפה היום, בואו נטייל.",
    "hin_Deva": "आज मौसम अच्छा है, चलो घूमने चलते हैं।",
    "tur_Latn": "Bugün hava çok güzel, hadi yürüyüşe çıkalım.",
    "vie_Latn": "Hôm nay thời tiết đẹp, chúng ta đi dạo nhé.",
}


def detects():
    return os.access(pathlib.Path(support.TOOL).parent / "translate-detect", os.X_OK)


class ModelsTest(CommandTest):
    """A folder: zh to en, the small model; en to fr and de to en, small models that give any text."""

    def setUp(self):
        super().setUp()
        self.models = self.folder / "models"
        self.models.mkdir()
        (self.models / "zh-en.gguf").symlink_to(os.path.abspath(support.MODEL))
        self.add("opus-mt-en-fr", SMALL)
        self.add("opus-mt-de-en", OTHER)

    def add(self, name, model, settings="{}"):
        """A directory with the model's files, but other language settings."""
        path = self.models / name
        path.mkdir()
        for part in model.iterdir():
            if part.name != "tokenizer_config.json":
                (path / part.name).symlink_to(part)
        separate = (model / "tokenizer_config.json").read_text()
        (path / "tokenizer_config.json").write_text(
            re.sub(r'"(source|target)_lang": "\w+", ', "", separate) if settings == "{}" else settings)
        return path

    def route(self, *args, **more):
        """The route that -v prints."""
        r = self.run_tool("--models", self.models, "-v", *args, **more)
        self.assertEqual(r.returncode, 0, r.stderr)
        return re.search(r"^translate: (\S+ to \S.*: .*)$", r.stderr.decode(), re.M)[1].replace(f"{self.models}/", "")

    def by_hand(self, lines, *args):
        """zh to en to fr."""
        between = self.good("-q", stdin=lines)
        return between, self.good("-q", "-m", self.models / "opus-mt-en-fr", *args, stdin=between)


class Direct(ModelsTest):
    def test_one_model(self):
        lines = text_of(LINES)
        expected = self.good(stdin=lines)
        for source, target in [("zh", "en"), ("zho", "eng"), ("zh-CN", "en-US"), ("zh_Hans", "eng_Latn")]:
            self.assertEqual(self.good("--models", self.models, "-s", source, "-t", target, stdin=lines), expected)
        self.assertEqual(self.good("--models", self.models, "-s", "zh", "-t", "en", LINES[0]), self.good(LINES[0]))
        self.assertEqual(self.route("-s", "zh", "-t", "en", LINES[0]), "zh to en: zh-en.gguf")

    def test_environment(self):
        env = environment(TRANSLATE_MODELS=str(self.models))
        small = self.good("-q", "-m", self.models / "opus-mt-en-fr", "some words")
        self.assertEqual(self.good("-q", "-s", "en", "-t", "fr", "some words", env=env), small)
        self.assertEqual(self.good(LINES[0], env=env), self.good(LINES[0]))
        self.assertEqual(self.good("-q", "-m", self.models / "opus-mt-en-fr", "-t", "fr", "some words", env=env), small)
        self.bad(2, "-t", "fr", "some words", env=env, says="source language")
        nowhere = environment(TRANSLATE_MODELS="/nowhere")
        self.bad(1, "-q", "--models", "/nowhere/else", "-s", "en", "-t", "fr", "x", env=nowhere, says="/nowhere/else: ")
        self.assertEqual(self.good(LINES[0], env=environment(TRANSLATE_MODELS="")), self.good(LINES[0]))

    def test_multilingual_model(self):
        (self.models / "nllb").symlink_to(NLLB)
        expected = self.good("-q", "-m", NLLB, "-s", "ko", "-t", "de", "a b c")
        self.assertEqual(self.good("-q", "--models", self.models, "-s", "ko", "-t", "de", "a b c"), expected)
        self.assertEqual(self.route("-s", "ko", "-t", "de", "a b c"), "kor_Hang to deu_Latn: nllb")
        self.assertEqual(self.route("-s", "zh", "-t", "en", "a b c"), "zh to en: zh-en.gguf")  # not nllb


class Both(ModelsTest):
    """The program with both of its models beside it: no option names one."""

    def setUp(self):
        super().setUp()
        directory = self.add("opus-mt-en-zh", SMALL)
        self.good("convert", directory, self.models / "en-zh.gguf", warnings=True)
        shutil.rmtree(directory)
        program = self.folder / "bin" / "translate"
        program.parent.mkdir()
        shutil.copy(support.TOOL, program)
        for module in pathlib.Path(support.TOOL).parent.glob("translate-*"):
            if module.is_file():
                (program.parent / module.name).symlink_to(module.resolve())
        self.alone = {"env": environment(TRANSLATE_MODEL=None), "executable": program}

    def chosen(self, *args, **more):
        """The name of the model, and whether something was said of the choice."""
        r = self.run_tool("-v", *args, **{**self.alone, **more})
        self.assertEqual(r.returncode, 0, r.stderr)
        said = r.stderr.decode()
        return re.search(r"^translate: model .*/([^/:]*): ", said, re.M)[1], "English to Chinese" in said

    def test_script_of_the_text(self):
        english = ("Good morning", "Hi", "OK!", "I am", "cat", "Please write the single word for tea in Chinese as 茶.",
                   "Let's meet at 人民广场 at 7", "How do you say 我爱你 in English?")
        other = ("早上好", "用 React 的 useState 管理组件的状态", "12:30", "", "おはようございます", "Доброе утро", "https://a.org/b",
                 "今天 https://github.com/some/very/long/path/with/letters.html 更新", '{"id":"abcdefghijklmn","text":"今天天气"}',
                 "安装 npm install some more packages here", "他说 OK", "我喜欢 The Lord of the Rings", "iPhone 15 Pro 的价格")
        for text, name in (*((text, "en-zh.gguf") for text in english), *((text, "zh-en.gguf") for text in other)):
            expected = (name, name == "en-zh.gguf")
            self.assertEqual(self.chosen(text), expected)
            self.assertEqual(self.chosen(stdin=(text + "\n").encode()), expected)
            page = self.folder / "a.html"
            page.write_text(f"<p lang=en class=letters>{html.escape(text)}</p>\n", encoding="utf-8")
            self.assertEqual(self.chosen("-i", page), expected)

    def test_lines_without_letters_decide_nothing(self):
        """Those that come alone stay as they are; the first with a letter chooses."""
        for lines, code in ((("12345", "😀", "Good morning", "早上好"), "en-zh"), (("--", "早上好", "Good morning"), "zh-en")):
            with subprocess.Popen([self.alone["executable"], "-q"], env=self.alone["env"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, encoding="utf-8") as p:
                out = []
                for line in lines:
                    print(line, file=p.stdin, flush=True)
                    out.append(p.stdout.readline().rstrip("\n"))
                p.stdin.close()
            expected = self.good("-q", "-m", self.models / f"{code}.gguf", stdin=text_of(lines)).decode().splitlines()
            self.assertEqual(out, expected)

    def test_each_file_has_its_own(self):
        lines = {"a": "Good morning\n", "b": f"{LINES[0]}\n", "c": f"{LINES[1]}\n", "d": "Some words.\n"}
        for name, text in lines.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        self.good("-q", "-O", self.folder / "out", *(self.folder / name for name in lines), **self.alone)
        for name, model in (("a", "en-zh"), ("b", "zh-en"), ("c", "zh-en"), ("d", "en-zh")):
            self.assertEqual((self.folder / "out" / name).read_bytes(),
                             self.good("-q", "-m", self.models / f"{model}.gguf", stdin=lines[name].encode()), name)

    def test_output_is_that_of_the_model(self):
        for name, lines in (("zh-en.gguf", LINES), ("en-zh.gguf", ["Good morning", "Some words."])):
            expected = self.good("-q", "-m", self.models / name, stdin=text_of(lines))
            args = "--rerank", "off"
            self.assertEqual(self.good(*args, stdin=text_of(lines), **self.alone, warnings=True), expected)
            self.assertEqual(self.good("-q", *args, stdin=text_of(lines), **self.alone), expected)
        self.good(LINES[0], **self.alone)  # which says nothing

    def test_languages(self):
        for options, name in (("-t zh", "en-zh.gguf"), ("-s en", "en-zh.gguf"), ("-s en -t zh", "en-zh.gguf"),
                              ("-s zh", "zh-en.gguf"), ("-t en", "zh-en.gguf"), ("-s zh-Hant -t en", "zh-en.gguf")):
            self.assertEqual(self.chosen(*options.split(), "早上好 Good morning"), (name, False), options)
        self.bad(2, "-s", "en", "-t", "fr", "some words", **self.alone, says="another model may do")  # not what lies beside
        self.bad(2, "-s", "fr", "x", **self.alone, says="source language fr")

    def test_other_commands(self):
        pair = ("Good morning", "早上好")
        expected = self.good("score", "-m", self.models / "en-zh.gguf", *pair)
        for language in (("-s", "en"), ("-t", "zh")):
            self.assertEqual(self.good("score", *language, *pair, **self.alone), expected)
        self.assertNotEqual(self.good("score", *pair, **self.alone), expected)

    @unittest.skipUnless(detects(), "this build cannot detect languages")
    def test_detected_language(self):
        for text, name in (("今天天气很好，我们去公园散步吧。", "zh-en.gguf"),
                           ("The weather is fine today, let us go for a walk.", "en-zh.gguf")):
            for target in ((), ("-t", "en" if name == "zh-en.gguf" else "zh")):
                self.assertEqual(self.chosen("-s", "auto", *target, text), (name, False))
        self.bad(2, "-s", "auto", SENTENCES["rus_Cyrl"], **self.alone, says="ru")

    def test_other_choices_come_first(self):
        zh_en = str(self.models / "zh-en.gguf")
        self.assertEqual(self.chosen("Good morning", env=environment(TRANSLATE_MODEL=zh_en))[0], "zh-en.gguf")
        self.assertEqual(self.chosen("-m", zh_en, "Good morning")[0], "zh-en.gguf")
        self.assertEqual(self.chosen("--ensemble", zh_en, "Good morning")[0], "zh-en.gguf")
        self.assertEqual(self.chosen("--tokens", stdin=b"a b\n")[0], "zh-en.gguf")
        self.bad(2, "-t", "zh", "-m", zh_en, "x", **self.alone, says="target language zh")
        (self.models / "en-zh.gguf").unlink()
        self.assertEqual(self.chosen("Good morning")[0], "zh-en.gguf")
        self.bad(2, "-t", "zh", "x", **self.alone, says="target language zh")

    def test_damaged_model(self):
        (self.models / "en-zh.gguf").write_bytes(b"GGUF")
        self.bad(1, "Good morning", **self.alone, says="en-zh.gguf")
        shown = self.run_tool(LINES[0], **self.alone)  # it would only choose among translations
        self.assertEqual(shown.stdout, self.good("-b1", LINES[0], **self.alone))
        self.assertRegex(shown.stderr.decode(), r"^translate: warning: .*en-zh.gguf: .*--rerank off\)\n$")
        self.bad(1, "--rerank", "on", LINES[0], **self.alone, says="en-zh.gguf")


class IntoChinese(ModelsTest):
    """A model into simplified Chinese that has rules for traditional characters."""
    WORDS = ["some words", "other words, and more.", "Good morning", "a b c", "one two three four five six"]

    def setUp(self):
        super().setUp()
        self.model = self.models / "opus-mt-en-zh"
        chinese_model.make(self.model)

    def test_text(self):
        lines = text_of(self.WORDS)
        packed = self.models / "en-zh.gguf"
        self.good("convert", self.model, packed, warnings=True)
        self.assertIn(b"traditional   -t zh-Hant", self.good("info", packed))
        for model in (self.model, packed):
            for options in ((), ("-b4",), ("--stream",), ("-b3", "-n3"), ("--sample", "--seed", "5")):
                simple = self.good("-q", "-m", model, "-t", "zh", *options, stdin=lines).decode()
                for code in ("zh-Hant", "zh_TW", "zho-Hant-HK"):
                    text = self.good("-q", "-m", model, "-t", code, *options, stdin=lines).decode()
                    self.assertEqual(text, chinese_model.written(simple))
                self.assertEqual(self.good("-q", "-m", model, "-t", "zh-Hans", *options, stdin=lines).decode(), simple)
            self.assertNotEqual(simple, chinese_model.written(simple))

    def test_no_space_between_sentences(self):
        def translated(text, *options):
            return self.good("-q", "-m", self.model, "-t", "zh", *options, text).decode().rstrip("\n")
        for options in ((), ("--stream",), ("-b3",)):
            first, second = translated("Good morning.", *options), translated("Some words.", *options)
            for between, kept in (" ", ""), ("  ", ""), ("   ", "   "), ("\u3000", "\u3000"), ("\t", "\t"):
                self.assertEqual(translated(f"Good morning.{between}Some words.", *options), first + kept + second)

    def test_chinese_sentences(self):
        """They are not translated, but get traditional characters as well."""
        for options in ((), ("--stream",)):
            said = self.run_tool("-m", self.model, "-s", "en", "-t", "zh-Hant", *options, "头发发展。")
            self.assertEqual((said.stdout.decode(), said.stderr), ("頭髮發展。\n", b""))
            for code, sentence in (("zh", "皇后发展。"), ("zh-Hant", "皇后發展。")):
                text = self.good("-q", "-m", self.model, "-s", "en", "-t", code, *options, "皇后发展。a b").decode()
                self.assertIn(sentence, text)

    def test_places_stay(self):
        simple, other = ([json.loads(line) for line in self.good("-q", "-m", self.model, "-t", code, "--json", "--alignment",
                                                                 stdin=text_of(self.WORDS)).splitlines()]
                         for code in ("zh", "zh-Hant"))
        for a, b in zip(simple, other):
            self.assertEqual(a.pop("alignment"), b.pop("alignment"))
            self.assertEqual(chinese_model.written(a["text"]), b["text"])

    def test_folder_offers_it(self):
        self.assertEqual(self.route("-s", "en", "-t", "zh-Hant", "some words"), "en to zh-Hant: opus-mt-en-zh")
        self.assertEqual(self.route("-s", "en", "-t", "zh", "some words"), "en to zh: opus-mt-en-zh")
        self.assertIn("zh-Hant", self.good("info", self.models).decode())

    def test_bad_rules(self):
        for rules, says in (({"发": "發發"}, "line 1"), ({"a": "b"}, "line 1"), ({"": ""}, "line 1")):
            chinese_model.write_rules(self.model, rules)
            self.bad(1, "-m", self.model, "x", says=["traditional.tsv", says])


class Pivot(ModelsTest):
    TO_FRENCH = ("-s", "zh", "-t", "fr")

    def pivot(self, *args, **more):
        return self.good("-q", "--models", self.models, *self.TO_FRENCH, *args, **more)

    def test_is_two_steps(self):
        lines = text_of(LINES + ["", "  ", "第一句。第二句！第三句？"])
        _, expected = self.by_hand(lines)
        self.assertEqual(self.pivot(stdin=lines), expected)
        self.assertEqual(self.pivot("-i", self.file("in", lines)), expected)
        self.assertEqual(self.pivot("--batch-size", "1", "-T", "2", stdin=lines), expected)
        self.assertEqual(self.route(*self.TO_FRENCH, LINES[0]), "zh to en to fr: zh-en.gguf, then opus-mt-en-fr")

    def test_several_chunks(self):
        lines = text_of(many_lines(1100))
        _, expected = self.by_hand(lines, "--max-length", "4")
        # --max-length applies to the first model as well
        between = self.good("-q", "--max-length", "4", stdin=lines)
        expected = self.good("-q", "-m", self.models / "opus-mt-en-fr", "--max-length", "4", stdin=between)
        self.assertEqual(self.pivot("--max-length", "4", stdin=lines), expected)

    def test_line_ends(self):
        lines = b"\r\n".join(line.encode() for line in LINES[:3]) + b"\r\n\r\n" + LINES[3].encode()
        out = self.pivot(stdin=lines)
        self.assertEqual(out, self.by_hand(lines)[1])
        self.assertEqual(out.count(b"\r\n"), 4)

    def test_text_arguments(self):
        between = self.good(LINES[0]).decode()
        expected = self.good("-q", "-m", self.models / "opus-mt-en-fr", between.rstrip("\n"))
        self.assertEqual(self.pivot(LINES[0]), expected)
        self.assertEqual(self.pivot(f"{LINES[0]}\n{LINES[1]}").count(b"\n"), 2)
        self.bad(2, "-q", "--models", self.models, *self.TO_FRENCH, "--rerank", "on", LINES[0],
                 says=["--rerank on", "two models"])

    def test_json(self):
        lines = text_of(LINES[:5])
        between, expected = self.by_hand(lines)
        objects = [json.loads(line) for line in self.pivot("--json", stdin=lines).splitlines()]
        self.assertEqual([o["source"] for o in objects], LINES[:5])
        self.assertEqual([o["pivot"] for o in objects], between.decode().splitlines())
        self.assertEqual([o["text"] for o in objects], expected.decode().splitlines())
        self.assertEqual([o["line"] for o in objects], [1, 2, 3, 4, 5])
        direct = json.loads(self.good("--models", self.models, "-s", "zh", "-t", "en", "--json", LINES[0]))
        self.assertNotIn("pivot", direct)

    def test_flags_of_both(self):
        """Flags of the first model appear in the result."""
        o = json.loads(self.pivot("--json", stdin=LINES[0].encode() + b"\xff\n"))
        self.assertIn("invalid_utf8", o["flags"])
        r = self.run_tool("--models", self.models, *self.TO_FRENCH, stdin=LINES[0].encode() + b"\xff\n")
        self.assertIn(b"line 1: invalid UTF-8", r.stderr)

    def test_stats(self):
        r = self.run_tool("-q", "--models", self.models, *self.TO_FRENCH, "--stats", stdin=text_of(LINES[:4]))
        self.assertRegex(r.stderr.decode(), r"\Atranslate: 4 sentences, \d+ tokens, .* load [\d.]+ ms, peak [\d.]+ MB\n\Z")

    def test_each_line_as_it_comes(self):
        expected = self.by_hand(text_of(LINES[:3]))[1].splitlines(keepends=True)
        with self.started("-q", "--models", self.models, *self.TO_FRENCH) as p:
            for line, wanted in zip(LINES, expected):
                p.stdin.write(line.encode() + b"\n")
                p.stdin.flush()
                self.assertTrue(select.select([p.stdout], [], [], 60)[0])
                self.assertEqual(p.stdout.readline(), wanted)

    def test_resume(self):
        lines = text_of(LINES)
        expected = self.by_hand(lines)[1]
        source, out = self.file("in", lines), self.folder / "out"
        args = ("-q", "--models", self.models, *self.TO_FRENCH, "-i", source, "-o", out)
        run = self.run_of(*args)
        self.assertIn(b"\nsecond model: ", run)
        part = self.leave(self.folder / "out.part", b"".join(expected.splitlines(keepends=True)[:7]) + b"half a li",
                          run)
        self.pivot("-i", source, "-o", out, "--resume")
        self.assertEqual(out.read_bytes(), expected)
        self.assertFalse(part.exists())
        self.leave(part, b"something else\n", run)
        self.bad(1, *args, "--resume", says="last line")

    def test_progress(self):
        terminal = Terminal()
        self.addCleanup(terminal.close)
        source = self.file("in", text_of(many_lines(400)))
        with self.started("--models", self.models, *self.TO_FRENCH, "-i", source, "-o", self.folder / "out", "--max-length",
                          "8",
                          stderr=terminal.slave, env=environment(TRANSLATE_CPU=support.slowest_level())) as p:
            terminal.close_slave()
            shown = terminal.read()
            self.assertEqual(p.wait(60), 0)
        percents = [int(n) for n in re.findall(rb"\] +(\d+)%", shown)]
        self.assertTrue(percents, shown)
        self.assertEqual(percents, sorted(percents))

    def test_second_model_has_many_languages(self):
        (self.models / "opus-mt-en-ROMANCE").symlink_to(MANY)
        lines = text_of(LINES[:4])
        between = self.good(stdin=lines)
        expected = self.good("-q", "-m", MANY, "-t", "de", stdin=between)
        self.assertEqual(self.good("-q", "--models", self.models, "-s", "zh", "-t", "de", stdin=lines), expected)
        self.assertNotEqual(expected, self.good("-q", "-m", MANY, "-t", "fr", stdin=between))
        self.assertEqual(self.route("-s", "zh", "-t", "de", "a"), "zh to en to deu: zh-en.gguf, then opus-mt-en-ROMANCE")

    def test_over_another_language(self):
        self.add("fr-it", OTHER)
        self.assertEqual(self.route("-s", "en", "-t", "it", "a b"), "en to fr to it: opus-mt-en-fr, then fr-it")
        self.bad(1, "--models", self.models, "-s", "zh", "-t", "it", "x", says=["zh to it", "to it from: fr"])

    def test_memory_is_both_models(self):
        """Both models are opened, each once."""
        with self.started("--models", self.models, *self.TO_FRENCH) as p:
            p.stdin.write(LINES[0].encode() + b"\n")
            p.stdin.flush()
            p.stdout.readline()
            maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text()
        self.assertIn(os.path.basename(os.path.realpath(support.MODEL)), maps)
        self.assertIn(str(SMALL / "model.safetensors"), maps)


class Errors(ModelsTest):
    def test_usage(self):
        self.bad(2, "--models", self.models, "-m", support.MODEL, "x", says=["--models", "--model", "only one"])
        self.bad(2, "--models", self.models, "-s", "zh", "x", says="-t LANG")
        self.bad(2, "--models", self.models, "-t", "en", "x", says=["-s LANG", "-s auto"])
        self.bad(2, "--models", self.models, "--tokens", "-s", "zh", "-t", "en", "x", says="--tokens")
        self.bad(2, "--tokens", "-s", "auto", "x", says="-s auto")
        self.bad(2, "info", "--models", self.models, "x", says="only one")
        self.bad(2, "info", "--models", self.models, "--verify", says="--verify")

    def test_no_such_pair(self):
        message = self.bad(1, "--models", self.models, "-s", "fr", "-t", "zh", "x", says="fr to zh: no model")
        self.assertIn("from fr to: none", message)
        self.assertIn("to zh from: none", message)
        self.bad(1, "--models", self.models, "-s", "de", "-t", "ja", "x", says="from de to: en")
        self.bad(1, "--models", self.models, "-s", "en", "-t", "eng", "x", says="one language")
        self.bad(1, "--models", self.models, "-s", "nonsense", "-t", "en", "x", says="nonsense to en")

    def test_folders(self):
        empty = self.folder / "empty"
        empty.mkdir()
        pair = ("-s", "zh", "-t", "en", "x")
        self.bad(1, "--models", empty, *pair, says=f"{empty}: there is no model in it")
        self.bad(1, "info", empty, says=f"{empty}: is an empty directory")
        os.unlink(self.models / "zh-en.gguf")
        self.bad(1, "-m", self.models, "x", says=[f"{self.models}: is a folder of several models", "--models"])
        self.bad(1, "--models", self.folder / "nowhere", *pair, says="is not a folder")
        self.bad(1, "--models", support.MODEL, *pair, says="is not a folder")
        self.bad(1, "--models", SMALL, *pair, says="use -m")

    def test_damaged_models(self):
        (self.models / "cut.gguf").write_bytes(support.model_bytes()[:100000])
        (self.models / "empty.gguf").write_bytes(b"")
        (self.models / "no-weights-en-ja").mkdir()
        (self.models / "no-weights-en-ja/config.json").write_text("{}")
        (self.models / "gone").symlink_to("nowhere")
        (self.models / "loop").symlink_to(".")
        (self.models / "notes.txt").write_text("not a model\n")
        args = ("--models", self.models, "-s", "zh", "-t", "en", LINES[0])
        r = self.run_tool(*args)
        self.assertEqual((r.returncode, r.stdout), (0, self.good(LINES[0])))
        said = sorted(r.stderr.decode().splitlines())
        self.assertEqual(len(said), 4, said)
        for line, name in zip(said, ["cut.gguf", "empty.gguf", "gone", "no-weights-en-ja"]):
            self.assertTrue(line.startswith(f"translate: warning: {self.models}/{name}: "), line)
        self.good("-q", *args)

    def test_damage_seen_later(self):
        """A damaged model whose settings are valid fails when it is used, not before."""
        path = self.add("ru-en", SMALL)
        (path / "model.safetensors").unlink()
        (path / "model.safetensors").write_bytes((SMALL / "model.safetensors").read_bytes()[:5000])
        self.good("--models", self.models, "-s", "zh", "-t", "en", LINES[0])
        self.bad(1, "--models", self.models, "-s", "ru", "-t", "en", "x", says=str(path))


class Listing(ModelsTest):
    def test_text(self):
        (self.models / "nllb").symlink_to(NLLB)
        (self.models / "opus-mt-en-ROMANCE").symlink_to(MANY)
        out = self.good("info", self.models).decode()
        self.assertEqual(out, self.good("info", "--models", self.models).decode())
        lines = out.splitlines()
        self.assertEqual(lines[0].split(), ["folder", str(self.models)])
        self.assertEqual([line[:14].strip() + "|" + line[14:].split(" ")[0] for line in lines[1:5]],
                         ["de to en|opus-mt-de-en", "en to fr|opus-mt-en-fr", "zh to en|zh-en.gguf", "202 to 202|nllb"])
        self.assertIn("en to 4       opus-mt-en-ROMANCE", out)
        self.assertIn("to: fra deu cmn_Hans cmn_Hant", out)
        self.assertIn("between: ace_Arab", out)
        self.assertTrue(all(len(line) <= 100 for line in lines))

    def test_json(self):
        (self.models / "opus-mt-en-ROMANCE").symlink_to(MANY)
        (self.models / "bad.gguf").write_bytes(b"x")
        o = json.loads(self.good("info", "--json", "-q", "--models", self.models))
        self.assertEqual(o["folder"], str(self.models))
        self.assertEqual([(m["name"], m["sources"], m["targets"]) for m in o["models"]],
                         [("opus-mt-de-en", ["de"], ["en"]),
                          ("opus-mt-en-ROMANCE", ["en"], ["fra", "deu", "cmn_Hans", "cmn_Hant"]),
                          ("opus-mt-en-fr", ["en"], ["fr"]), ("zh-en.gguf", ["zh"], ["en"])])
        for m in o["models"]:
            self.assertEqual(m["file"], f"{self.models}/{m['name']}")
            self.assertGreater(m["file_size"], 0)
            self.assertTrue(m["format"])
        self.assertEqual(len(o["warnings"]), 1)
        self.assertIn("bad.gguf", o["warnings"][0])

    def test_a_model_is_no_folder(self):
        self.assertIn("tokenizer", self.good("info", SMALL).decode())
        self.assertEqual(json.loads(self.good("info", "--json", SMALL))["format"], "Hugging Face Marian directory")


class Auto(ModelsTest):
    def setUp(self):
        super().setUp()
        if not detects():
            self.skipTest("this build detects no languages")

    def test_many_languages(self):
        self.models = self.folder / "one"
        self.models.mkdir()
        (self.models / "nllb").symlink_to(NLLB)
        for code, text in SENTENCES.items():
            self.assertEqual(self.route("-s", "auto", "-t", "en", text), f"{code} to eng_Latn: nllb", text)

    def test_one_multilingual_model(self):
        for code in ("zho_Hans", "fra_Latn", "rus_Cyrl"):
            lines = text_of([SENTENCES[code]] * 3)
            self.assertEqual(self.good("-m", NLLB, "-s", "auto", "-t", "en", stdin=lines),
                             self.good("-m", NLLB, "-s", code, "-t", "en", stdin=lines))

    def test_one_pair(self):
        self.assertEqual(self.good("-s", "auto", LINES[0]), self.good(LINES[0]))
        self.bad(2, "-s", "auto", SENTENCES["fra_Latn"], says=["source language fr", "zh to en"])

    def test_among_what_is_there(self):
        """The sources with a route to the target: German and Chinese have one to French, over English."""
        german = SENTENCES["deu_Latn"]
        self.assertEqual(self.route("-s", "auto", "-t", "fr", german), "de to en to fr: opus-mt-de-en, then opus-mt-en-fr")
        self.assertEqual(self.route("-s", "auto", "-t", "fr", "你好"), "zh to en to fr: zh-en.gguf, then opus-mt-en-fr")
        self.assertEqual(self.good("-q", "--models", self.models, "-s", "auto", "-t", "fr", german),
                         self.good("-q", "--models", self.models, "-s", "de", "-t", "fr", german))

    def test_says(self):
        r = self.run_tool("--models", self.models, "-s", "auto", "-t", "en", "-v", LINES[0])
        self.assertIn(b"-s auto: the language is zh\n", r.stderr)
        self.good("--models", self.models, "-s", "auto", "-t", "en", LINES[0])

    def test_a_guess_is_warned_of(self):
        args = ("--models", self.models, "-s", "auto", "-t", "en", "Tag")
        r = self.run_tool(*args)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stderr.decode(), r"\Atranslate: warning: -s auto: [^\n]* probably de;")
        self.good("-q", *args)

    def test_errors(self):
        args = ("--models", self.models, "-s", "auto", "-t", "en")
        self.bad(1, *args, "123 456", says=["-s auto", "-s LANG"])
        self.bad(1, *args, stdin=b"\n \n", says="-s LANG")
        self.bad(1, *args, stdin=b"", says="-s LANG")
        self.bad(1, *args, SENTENCES["kor_Hang"], says="ko to en: no model")
        self.bad(1, *args, SENTENCES["fra_Latn"], says="fr to en: no model")
        self.bad(1, "--models", self.models, "-s", "auto", "-t", "ja", "x", says="ja: no model translates into it")

    def test_pipe_is_read_as_far_as_it_goes(self):
        """The first line with text decides; it and the blank lines before it are translated, too."""
        lines = ["", " ", *LINES[:4]]
        expected = self.good(stdin=text_of(lines)).splitlines(keepends=True)
        with self.started("--models", self.models, "-s", "auto", "-t", "en") as p:
            p.stdin.write(text_of(lines[:2]))
            p.stdin.flush()
            time.sleep(0.2)
            for line, wanted in zip(lines[2:], [b"".join(expected[:3]), *expected[3:]]):
                p.stdin.write(line.encode() + b"\n")
                p.stdin.flush()
                got = b""
                while len(got) < len(wanted):  # os.read: p.stdout.read would buffer what select waits for
                    self.assertTrue(select.select([p.stdout], [], [], 60)[0])
                    got += os.read(p.stdout.fileno(), len(wanted) - len(got)) or b"(end)"
                self.assertEqual(got, wanted)
            p.stdin.write(LINES[4].encode())  # no line end
            p.stdin.close()
            self.assertEqual(p.stdout.read(), self.good(LINES[4]))
            self.assertEqual(p.wait(60), 0)

    def test_nothing_of_a_large_input_is_lost(self):
        lines = text_of(LINES * 250)  # more than detection reads
        self.assertGreater(len(lines), 1 << 16)
        expected = self.good(stdin=lines)
        args = ("--models", self.models, "-s", "auto", "-t", "en")
        self.assertEqual(self.good(*args, stdin=lines), expected)
        self.assertEqual(self.good(*args, "-i", self.file("in", lines)), expected)

    def test_line_without_line_end(self):
        line = (LINES[0] * 5000).encode()  # more than detection reads, and no line end
        args = ("--max-length", "2", "-q")
        self.assertEqual(self.good(*args, "--models", self.models, "-s", "auto", "-t", "en", stdin=line),
                         self.good(*args, stdin=line))

    def test_resume(self):
        lines = text_of(LINES)
        expected = self.good(stdin=lines)
        args = ("--models", self.models, "-s", "auto", "-t", "en", "-i", self.file("in", lines), "-o",
                self.folder / "out")
        self.leave(self.folder / "out.part", b"".join(expected.splitlines(keepends=True)[:7]), self.run_of(*args))
        self.good(*args, "--resume")
        self.assertEqual((self.folder / "out").read_bytes(), expected)


class Confined(unittest.TestCase):
    def test_detection(self):
        program = pathlib.Path(support.TOOL).resolve().parent / "translate-detect"
        if not (detects() and can_confine(program)):
            self.skipTest("there is no sandbox here")
        with subprocess.Popen([program, "zh", "en"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
            wait_for(lambda: process_status(p.pid)["Seccomp"] == "2", 20)
            self.assertEqual(process_status(p.pid)["NoNewPrivs"], "1")
            self.assertEqual(p.communicate(text_of(LINES)), (b"zh\tsure\n", None))
            self.assertEqual(p.returncode, 0)


class WithoutDetection(ModelsTest):
    def test_program_is_missing(self):
        tool = self.folder / "translate"
        tool.write_bytes(pathlib.Path(support.TOOL).read_bytes())
        tool.chmod(0o755)
        r = self.run_tool("--models", self.models, "-s", "auto", "-t", "en", LINES[0]) if not detects() else None
        if r:  # the program was built without detection
            self.assertEqual(r.returncode, 1)
            self.assertRegex(r.stderr.decode(),
                             r"\Atranslate: -s auto: this build cannot detect languages: .*; name it with -s")
            return
        old, support.TOOL = support.TOOL, str(tool)
        try:
            r = self.run_tool("--models", self.models, "-s", "auto", "-t", "en", LINES[0])
        finally:
            support.TOOL = old
        if r.returncode:  # nor installed on this machine
            self.assertRegex(r.stderr.decode(), r"\Atranslate: -s auto: translate-detect is neither beside [^\n]*\n\Z")
