"""LibreTranslate's interface."""
import json

import support
from support import ServeTest, Server

TEXT = "今天天气很好。"


class Translate(ServeTest):
    def ask(self, **fields):
        return self.server.post("/translate", **{"source": "zh", "target": "en", **fields})

    def test_text(self):
        answer = self.ask(q=TEXT)
        self.assertEqual((answer.status, answer.json), (200, {"translatedText": self.translated(TEXT)}))
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")

    def test_list(self):
        texts = [TEXT, "我喜欢读书。", ""]
        self.assertEqual(self.ask(q=texts).json, {"translatedText": [self.translated(t) for t in texts[:2]] + [""]})
        self.assertEqual(self.ask(q=[]).json, {"translatedText": []})

    def test_forms(self):
        wanted = {"translatedText": self.translated(TEXT)}
        self.assertEqual(self.server.form("/translate", q=TEXT, source="zh", target="en").json, wanted)
        self.assertEqual(self.server.form("/translate?source=zh&target=en", q=TEXT).json, wanted)
        body, kind = support.multipart({"q": TEXT, "source": "zh", "target": "en"})
        self.assertEqual(self.server.ask("POST", "/translate", body, {"Content-Type": kind}).json, wanted)
        body = json.dumps({"q": TEXT, "source": "zh", "target": "en"}).encode()  # as curl -d sends it
        self.assertEqual(self.server.ask("POST", "/translate", body,
                                         {"Content-Type": "application/x-www-form-urlencoded"}).json, wanted)

    def test_codes(self):
        for source in ("zh-Hans", "zh-CN", "ZH", "zho"):
            for target in ("en", "EN", "en-US", "eng"):
                self.assertEqual(self.ask(q=TEXT, source=source, target=target).json["translatedText"],
                                 self.translated(TEXT))

    def test_auto(self):
        answer = self.ask(q=TEXT, source="auto").json
        self.assertEqual(answer["translatedText"], self.translated(TEXT))
        self.assertEqual(answer["detectedLanguage"]["language"], "zh-Hans")
        self.assertGreater(answer["detectedLanguage"]["confidence"], 0)
        answer = self.ask(q=[TEXT, "我喜欢读书。"], source="auto").json
        self.assertEqual([d["language"] for d in answer["detectedLanguage"]], ["zh-Hans"] * 2)

    def test_one_text_in_a_language_without_a_model(self):
        texts = [TEXT, "Bonjour tout le monde, comment allez-vous aujourd'hui ?"]
        self.assertEqual(self.ask(q=texts, source="auto").json["translatedText"], [self.translated(TEXT), texts[1]])
        self.assertEqual(self.ask(q=texts, source="auto", target="fr").status, 400)
        self.assertEqual(self.ask(q=texts[1], source="auto").status, 400)

    def test_what_stays(self):
        for text in ("😀 🎉", " ", "\n", "12"):
            self.assertEqual(self.ask(q=text).json["translatedText"], text)

    def test_alternatives(self):
        answer = self.ask(q=TEXT, alternatives=3).json
        self.assertEqual(len(answer["alternatives"]), 3)
        self.assertEqual(len({*answer["alternatives"], answer["translatedText"]}), 4)
        self.assertEqual(self.ask(q=TEXT, alternatives=3).json, answer)  # from the cache
        self.assertEqual([len(a) for a in self.ask(q=[TEXT, "你好。"], alternatives="2").json["alternatives"]], [2, 2])

    def test_html(self):
        answer = self.ask(q=f"<p>{TEXT}<b>我喜欢读书。</b></p><script>var 今天;</script>", format="html").json["translatedText"]
        self.assertRegex(answer, r"^<p>.*<b>.*</b></p><script>var 今天;</script>$")
        self.assertNotIn("天气", answer)
        self.assertEqual(self.ask(q="", format="html").json["translatedText"], "")

    def test_wrong(self):
        for fields, says in (
                ({}, "q"), ({"q": 5}, "q"), ({"q": ["a", None]}, "q"), ({"q": None}, "q"), ({"q": {}}, "q"),
                ({"q": TEXT, "source": None}, "source"), ({"q": TEXT, "target": None}, "target"),
                ({"q": TEXT, "source": 1}, "source"), ({"q": TEXT, "target": []}, "target"),
                ({"q": TEXT, "target": "xx"}, "xx"), ({"q": "hello", "source": "auto", "target": "fr"}, "fr"),
                ({"q": TEXT, "source": "fr"}, "fr"),
                ({"q": TEXT, "target": "nonsense"}, "nonsense"), ({"q": TEXT, "source": ""}, ""),
                ({"q": TEXT, "format": "pdf"}, "pdf"), ({"q": TEXT, "alternatives": "many"}, "alternatives"),
                ({"q": TEXT, "alternatives": -1}, "alternatives"), ({"q": TEXT, "alternatives": 10**9}, "alternatives")):
            if fields.get("source") == "":
                continue
            answer = self.ask(**fields)
            self.assertEqual(answer.status, 400, (fields, answer))
            self.assertEqual(list(answer.json), ["error"])
            self.assertIn(says, answer.json["error"])

    def test_languages(self):
        self.assertEqual(self.server.get("/languages").json,
                         [{"code": "zh-Hans", "name": "Chinese (Simplified)", "targets": ["en"]},
                          {"code": "en", "name": "English", "targets": []}])

    def test_detect(self):
        answer = self.server.post("/detect", q=TEXT).json
        self.assertEqual(answer[0]["language"], "zh-Hans")
        self.assertIsInstance(answer[0]["confidence"], int)
        self.assertEqual(self.server.post("/detect").status, 400)

    def test_settings(self):
        s = self.server.get("/frontend/settings").json
        self.assertEqual((s["charLimit"], s["apiKeys"], s["keyRequired"], s["suggestions"]), (100000, False, False, False))
        self.assertEqual(s["language"]["target"], {"code": "en", "name": "English"})
        self.assertIn(".docx", s["supportedFilesFormat"])
        self.assertEqual(self.server.get("/health").json, {"status": "ok"})
        self.assertEqual(self.server.post("/suggest", q="a", s="b", source="zh", target="en").status, 403)


class Limits(ServeTest):
    ARGUMENTS = ("--char-limit", "10", "--batch-limit", "2", "--cache-size", "0")

    def test_limits(self):
        def status(q):
            return self.server.post("/translate", q=q, source="zh", target="en").status
        self.assertEqual(status("好" * 10), 200)
        self.assertEqual(status("好" * 11), 400)
        self.assertEqual(status(["好", "好"]), 200)
        self.assertEqual(status(["好", "好", "好"]), 400)
        self.assertEqual(status(["好" * 6, "好" * 5]), 400)
        self.assertEqual(self.server.get("/frontend/settings").json["charLimit"], 10)


class TwoModels(ServeTest):
    """By way of English, and languages of a model that has many."""

    @classmethod
    def setUpClass(cls):
        import pathlib
        import shutil
        import tempfile
        cls.models = pathlib.Path(tempfile.mkdtemp(prefix="translate-test-"))
        shutil.copy(support.MODEL, cls.models / "zh-en.gguf")
        shutil.copytree(support.MANY, cls.models / "many")
        cls.server = Server("--models", cls.models)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        import shutil
        shutil.rmtree(cls.models)

    def test_languages(self):
        targets = {entry["code"]: entry["targets"] for entry in self.server.get("/languages").json}
        self.assertIn("en", targets["zh-Hans"])
        self.assertIn("fr", targets["zh-Hans"])
        self.assertIn("zh-Hans", targets["en"])

    def test_each_text_has_its_language(self):
        answer = self.server.post("/translate", q=["今天天气很好，我们去公园。", "The weather is nice today, is it not?"], source="auto",
                                  target="fr").json
        self.assertEqual([d["language"] for d in answer["detectedLanguage"]], ["zh-Hans", "en"])
        self.assertEqual(len(answer["translatedText"]), 2)
