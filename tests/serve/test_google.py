"""Google Translate v2, as its clients use it."""
from support import ServeTest

V2 = "/language/translate/v2"
WEATHER = "今天天气很好。"
NICE = "The weather is very good today."
HELLO = "You're nice."


class GoogleTest(ServeTest):
    def post(self, path, fields, form=False, server=None, headers=None):
        server = server or self.server
        answer = server.form(path, headers, **fields) if form else server.post(path, fields, headers)
        return answer.status, answer.json

    def get(self, path, server=None, **query):
        answer = (server or self.server).get(path, **query)
        return answer.status, answer.json


class GoogleTranslations(GoogleTest):
    def translated(self, fields, path=V2, **more):
        status, answer = self.post(path, fields, **more)
        self.assertEqual(status, 200, answer)
        return answer["data"]["translations"]

    def refused(self, fields, says, path=V2, status=400, reason="invalid"):
        found, answer = self.post(path, fields)
        self.assertEqual(found, status, answer)
        self.assertIn(says, answer["error"]["message"])
        first = answer["error"]["errors"][0]
        self.assertEqual(answer["error"]["code"], status)
        self.assertEqual(first, {"message": answer["error"]["message"], "domain": "global", "reason": reason})

    def test_a_text(self):
        fields = {"q": WEATHER, "source": "zh-CN", "target": "en", "format": "text"}
        self.assertEqual(self.translated(fields), [{"translatedText": NICE}])
        self.assertEqual(self.translated(fields, form=True), [{"translatedText": NICE}])

    def test_texts_keep_their_order(self):
        fields = {"q": ["你好", "", WEATHER, " "], "source": "zh", "target": "en", "format": "text"}
        texts = [t["translatedText"] for t in self.translated(fields)]
        self.assertEqual(texts, [HELLO, "", NICE, " "])
        self.assertEqual([t["translatedText"] for t in self.translated(fields, form=True)], texts)
        self.assertEqual(self.translated({**fields, "q": []}), [])

    def test_parameters_of_the_address(self):
        status, answer = self.get(V2, q=["你好", WEATHER], target="en", format="text", key="any", prettyprint="false")
        self.assertEqual(status, 200, answer)
        self.assertEqual([t["translatedText"] for t in answer["data"]["translations"]], [HELLO, NICE])

    def test_a_source_is_detected_where_none_is_given(self):
        for source in {}, {"source": None}, {"source": ""}, {"source": "auto"}:
            fields = {"q": WEATHER, "target": "en", **source}
            self.assertEqual(self.translated(fields), [{"translatedText": NICE, "detectedSourceLanguage": "zh-CN"}])

    def test_codes_in_any_spelling(self):
        for source in "zh", "ZH", "zh-Hans", "zh_cn", "cmn", "zho_Hans":
            fields = {"q": WEATHER, "source": source, "target": "EN"}
            self.assertEqual(self.translated(fields), [{"translatedText": NICE}], source)

    def test_html_is_the_default_and_has_entities(self):
        fields = {"q": "这是“我的”书", "source": "zh", "target": "en"}
        self.assertEqual(self.translated(fields)[0]["translatedText"], "This is &quot;My&quot;.")
        self.assertEqual(self.translated({**fields, "format": "html"})[0]["translatedText"], "This is &quot;My&quot;.")
        self.assertEqual(self.translated({**fields, "format": "text"})[0]["translatedText"], 'This is "My".')

    def test_markup_stays(self):
        for html, expected in (
            ('<p class="it\'s">今天天气很好。</p>', f'<p class="it\'s">{NICE}</p>'),
            ("<!-- it's -->你好", "<!-- it's -->You&#39;re nice."),
            ("<script>if (a && 'b') c()</script>你好", "<script>if (a && 'b') c()</script>You&#39;re nice."),
            ("<p translate=no>Tom & Jerry's</p>", "<p translate=no>Tom &amp; Jerry&#39;s</p>"),
            ("<p translate=no>&amp; &#39; &nope &lt;</p>", "<p translate=no>&amp; &#39; &amp;nope &lt;</p>"),
        ):
            fields = {"q": html, "source": "zh", "target": "en"}
            self.assertEqual(self.translated(fields)[0]["translatedText"], expected)

    def test_unfinished_markup_takes_no_time(self):
        for part in "<a", "<a='", "<!--", "<script>", "&", "'":
            fields = {"q": part * (60000 // len(part)), "source": "zh", "target": "en"}
            self.assertEqual(len(self.translated(fields)), 1, part)

    def test_wrong_fields_are_named(self):
        good = {"q": "你好", "source": "zh", "target": "en"}
        self.refused({k: v for k, v in good.items() if k != "q"}, "q:")
        self.refused({k: v for k, v in good.items() if k != "target"}, "target:")
        for q in 1, None, {}, [1], ["a", None], [["a"]]:
            self.refused({**good, "q": q}, "q:")
        self.refused({**good, "target": ["en"]}, "target:")
        self.refused({**good, "source": 5}, "source:")
        self.refused({**good, "format": "pdf"}, "format:")
        self.refused({**good, "format": []}, "format:")
        self.refused({**good, "target": "火星语"}, "火星语")
        self.refused({**good, "source": "fr"}, "fr")

    def test_other_addresses(self):
        fields = {"q": "你好", "target": "en"}
        self.assertEqual(self.translated(fields, path="/google" + V2)[0]["translatedText"], "You&#39;re nice.")

    def test_the_address_of_web_pages(self):
        wanted = {"client": "gtx", "sl": "auto", "tl": "en", "dt": "t", "q": WEATHER}
        for path in "/translate_a/single", "/google/translate_a/single":
            status, answer = self.get(path, **wanted)
            self.assertEqual((status, answer), (200, [[[NICE, WEATHER, None, None, 1]], None, "zh-CN"]))
        answer = self.get("/translate_a/single", **wanted, dj="1")[1]
        self.assertEqual(answer, {"sentences": [{"trans": NICE, "orig": WEATHER}], "src": "zh-CN"})
        self.assertEqual(self.get("/translate_a/single", sl="zh", tl="en")[0], 400)
        self.assertEqual(self.get("/translate_a/single", sl="zh", q="你好")[0], 400)


class GoogleLanguages(GoogleTest):
    def languages(self, **parameters):
        status, answer = self.get(V2 + "/languages", **parameters)
        self.assertEqual(status, 200, answer)
        return answer["data"]["languages"]

    def test_codes_alone(self):
        self.assertEqual(sorted(x["language"] for x in self.languages()), ["en", "zh-CN"])
        self.assertEqual({tuple(x) for x in self.languages()}, {("language",)})

    def test_names(self):
        self.assertIn({"language": "en", "name": "English"}, self.languages(target="de"))
        self.assertIn({"language": "zh-CN", "name": "Chinese (Simplified)"}, self.languages(target="en"))
        self.assertIn({"language": "en", "name": "英语"}, self.languages(target="zh-CN"))
        status, answer = self.post(V2 + "/languages", {"target": "en"})
        self.assertEqual((status, answer["data"]["languages"]), (200, self.languages(target="en")))

    def test_a_target_that_is_none(self):
        self.assertEqual(self.get(V2 + "/languages", target="火星语")[0], 400)
        self.assertEqual(self.post(V2 + "/languages", {"target": 1})[0], 400)

    def test_detection(self):
        status, answer = self.post(V2 + "/detect", {"q": [WEATHER * 5, "你好" * 20]})
        self.assertEqual(status, 200, answer)
        for found in answer["data"]["detections"]:
            self.assertEqual([f["language"] for f in found], ["zh-CN"])
            self.assertIs(found[0]["isReliable"], True)
            self.assertTrue(0.5 <= found[0]["confidence"] <= 1)
        self.assertEqual(len(self.post(V2 + "/detect", {"q": WEATHER})[1]["data"]["detections"]), 1)
        self.assertEqual(self.post(V2 + "/detect", {"q": {}})[0], 400)
        self.assertEqual(self.post(V2 + "/detect", {})[0], 400)


class GoogleKeys(GoogleTest):
    def test_a_key_in_the_address_or_in_a_header(self):
        keys = self.folder() / "keys"
        keys.write_text("secret\n")
        server = self.start("--api-keys", keys)
        fields = {"q": "你好", "target": "en"}
        self.assertEqual(self.post(V2 + "?key=secret", fields, server=server)[0], 200)
        self.assertEqual(self.post(V2, fields, server=server, headers={"X-goog-api-key": "secret"})[0], 200)
        self.assertEqual(self.get(V2, server, key="secret", **fields)[0], 200)
        status, answer = self.post(V2 + "?key=wrong", fields, server=server)
        self.assertEqual((status, answer["error"]["errors"][0]["reason"]), (403, "forbidden"))
