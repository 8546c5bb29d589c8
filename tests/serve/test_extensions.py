"""What browser extensions and MTranServer's clients send."""
from support import ServeTest

WEATHER = "今天天气很好。"
NICE = "The weather is very good today."
HELLO = "You're nice."


class ExtensionTest(ServeTest):
    def good(self, path, fields):
        answer = self.server.post(path, fields)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def refused(self, path, fields, says):
        answer = self.server.post(path, fields)
        self.assertEqual(answer.status, 400, answer)
        self.assertEqual(list(answer.json), ["error"])
        self.assertIn(says, answer.json["error"])

    def with_key(self):
        """A server that wants the key "secret"."""
        keys = self.folder() / "keys"
        keys.write_text("secret\n")
        return self.start("--api-keys", keys)


class Immersive(ExtensionTest):
    def test_texts(self):
        fields = {"source_lang": "auto", "target_lang": "en", "text_list": [WEATHER, "你好"]}
        answer = self.good("/imme", fields)
        self.assertEqual(answer, {"translations": [{"detected_source_lang": "zh-CN", "text": NICE},
                                                   {"detected_source_lang": "zh-CN", "text": HELLO}]})
        self.assertEqual(self.good("/imme/", {"target_lang": "en", "text_list": []}), {"translations": []})

    def test_placeholders_stay(self):
        fields = {"target_lang": "en", "text_list": ["我喜欢<b0>北京</b0>的{0}。"]}
        text = self.good("/imme", fields)["translations"][0]["text"]
        for mark in "<b0>", "</b0>", "{0}":
            self.assertEqual(text.count(mark), 1, text)

    def test_wrong_fields_are_named(self):
        good = {"source_lang": "zh", "target_lang": "en", "text_list": ["你好"]}
        wrong = {"text_list": [None, 1, {}, [None], [[]]], "target_lang": [None, 1, []], "source_lang": [1, []]}
        for name, values in wrong.items():
            for value in values:
                self.refused("/imme", {**good, name: value}, name + ":")
        self.refused("/imme", {**good, "target_lang": "火星语"}, "火星语")


class Kiss(ExtensionTest):
    def test_a_text(self):
        fields = {"text": WEATHER, "from": "zh-CN", "to": "en"}
        self.assertEqual(self.good("/kiss", fields), {"text": NICE, "from": "zh-CN", "to": "en", "src": "zh-CN"})

    def test_languages_are_spelt_as_the_client_does(self):
        for source, to, found in (("auto", "EN", "zh-CN"), ("zh_Hans", "eng", "zh_Hans"), (None, "en", "zh-CN")):
            answer = self.good("/kiss", {"text": WEATHER, "from": source, "to": to})
            self.assertEqual(answer, {"text": NICE, "from": found, "to": to, "src": found})

    def test_the_language_of_the_target(self):
        answer = self.good("/kiss", {"text": WEATHER, "from": "auto", "to": "zh_Hans"})
        self.assertEqual(answer, {"text": WEATHER, "from": "zh_Hans", "to": "zh_Hans", "src": "zh_Hans"})

    def test_texts(self):
        answer = self.good("/kiss", {"texts": [WEATHER, "你好"], "from": "auto", "to": "en"})
        self.assertEqual(answer, {"translations": [{"text": NICE, "src": "zh-CN"}, {"text": HELLO, "src": "zh-CN"}]})
        self.assertEqual(self.good("/kiss", {"texts": [], "to": "en"}), {"translations": []})
        self.assertEqual(self.good("/kiss", {"texts": None, "text": "你好", "to": "en"})["text"], HELLO)

    def test_wrong_fields_are_named(self):
        for fields, name in (({}, "text:"), ({"text": ["你好"]}, "text:"), ({"text": 1}, "text:"), ({"texts": [1]}, "texts:"),
                             ({"texts": {}}, "texts:"), ({"text": "你好", "from": 1}, "from:")):
            self.refused("/kiss", {"to": "en", **fields}, name)
        self.refused("/kiss", {"text": "你好"}, "to:")
        self.refused("/kiss", {"text": "你好", "to": {}}, "to:")


class Hcfy(ExtensionTest):
    def test_a_text_in_the_first_destination_is_translated_into_the_second(self):
        wanted = {"text": WEATHER, "from": "中文(简体)", "to": "英语", "result": [NICE]}
        for fields in {}, {"source": ""}, {"source": "中文(简体)"}, {"source": None}, {"source": "zh"}:
            fields = {"name": "翻译一", "text": WEATHER, "destination": ["中文(简体)", "英语"], **fields}
            self.assertEqual(self.good("/hcfy", fields), wanted)
        self.assertEqual(self.good("/hcfy", {"text": WEATHER, "destination": ["英语", "中文(简体)"]}), wanted)
        self.assertEqual(self.good("/hcfy", {"text": WEATHER, "destination": ["英语"]}), wanted)

    def test_a_result_for_each_line(self):
        text = WEATHER + "\r\n\n你好\n"
        answer = self.good("/hcfy", {"text": text, "destination": ["英语"]})
        self.assertEqual(answer, {"text": text, "from": "中文(简体)", "to": "英语", "result": [NICE, "", HELLO, ""]})

    def test_wrong_fields_are_named(self):
        good = {"text": "你好", "destination": ["英语"]}
        wrong = {"text": [None, 1, ["你好"]], "destination": [None, 1, {}, [], [1]], "source": [1, []]}
        for name, values in wrong.items():
            for value in values:
                self.refused("/hcfy", {**good, name: value}, name + ":")
        self.refused("/hcfy", {**good, "destination": ["火星语"]}, "火星语")


class Mtran(ExtensionTest):
    def test_a_text(self):
        self.assertEqual(self.good("/translate", {"from": "zh-Hans", "to": "en", "text": WEATHER}), {"result": NICE})
        self.assertEqual(self.good("/translate", {"from": "auto", "to": "en", "text": WEATHER}), {"result": NICE})

    def test_html(self):
        fields = {"from": "zh", "to": "en", "text": f"<p title='猫'>{WEATHER}</p><pre>你好</pre>"}
        self.assertEqual(self.good("/translate", {**fields, "html": True})["result"].count(NICE), 1)
        self.assertIn("<pre>你好</pre>", self.good("/translate", {**fields, "html": True})["result"])
        self.assertNotIn("你好", self.good("/translate", {**fields, "html": False})["result"])

    def test_texts(self):
        fields = {"from": "zh", "to": "en", "texts": ["你好", WEATHER]}
        self.assertEqual(self.good("/translate/batch", fields), {"results": [HELLO, NICE]})
        self.assertEqual(self.good("/translate/batch", {**fields, "texts": []}), {"results": []})

    def test_wrong_fields_are_named(self):
        for value in 1, [], ["你好"], {}:
            self.refused("/translate", {"from": "zh", "to": "en", "text": value}, "text:")
        self.refused("/translate", {"from": "zh", "text": "你好"}, "to:")
        self.refused("/translate/batch", {"from": "zh", "to": "en"}, "texts:")
        self.refused("/translate/batch", {"from": "zh", "to": "en", "texts": [1]}, "texts:")
        self.refused("/translate/batch", {"from": {}, "to": "en", "texts": ["你好"]}, "from:")

    def test_languages(self):
        answer = self.server.get("/mt/languages").json
        self.assertEqual(sorted(answer["languages"]), ["en", "zh-Hans"])
        self.assertEqual(sorted((p["from"], p["to"]) for p in answer["pairs"]), [("zh-Hans", "en")])

    def test_a_load_balancer_needs_no_key(self):
        server = self.with_key()
        for path in "/__heartbeat__", "/__lbheartbeat__":
            self.assertEqual(server.get(path).json, {"status": "ok"})
        self.assertRegex(server.get("/version").json["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(server.get("/mt/languages").status, 403)


class ExtensionKeys(ExtensionTest):
    def test_a_key_in_the_address_or_in_a_header(self):
        server = self.with_key()
        fields = {"text": "你好", "to": "en"}
        for path, key, status in (("/kiss", None, 403), ("/kiss?token=wrong", None, 403), ("/kiss?token=secret", None, 200),
                                  ("/kiss", "Bearer secret", 200), ("/kiss", "Bearer ", 403)):
            answer = server.post(path, fields, {"Authorization": key} if key else None)
            self.assertEqual(answer.status, status, (path, key))
