"""DeepL's interface, as its clients use it, and DeepLX's."""
import json
import time

from support import MANY, ServeTest, multipart

WEATHER = "今天天气很好。"
READING = "我喜欢读书。"
V2, V3 = "/v2/glossaries", "/v3/glossaries"
ENTRIES = {"source_lang": "ZH", "target_lang": "EN", "entries": "天气\tclimate", "entries_format": "tsv"}
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


class DeeplTest(ServeTest):
    KEY = "first"

    def ask(self, method, path, fields=None, key=None, status=200, server=None, connection=None):
        """The JSON of the answer, or its text."""
        headers = {"Authorization": f"DeepL-Auth-Key {key or self.KEY}", "Content-Type": "application/json"}
        body = None if fields is None else json.dumps(fields).encode()
        answer = (server or self.server).ask(method, path, body, headers, connection)
        self.assertEqual(answer.status, status, answer)
        return answer.json if answer.headers["Content-Type"] == "application/json" else answer.body.decode()

    def refused(self, fields, says, status=400, method="POST", path="/v2/translate", **more):
        answer = self.ask(method, path, fields, status=status, **more)
        self.assertEqual(list(answer), ["message"])
        self.assertIn(says, answer["message"])

    def texts(self, **fields):
        answer = self.ask("POST", "/v2/translate", {"text": [WEATHER], "target_lang": "EN-US", **fields})
        return [t["text"] for t in answer["translations"]]


class DeeplTranslations(DeeplTest):
    def test_texts(self):
        answer = self.ask("POST", "/v2/translate", {"text": [WEATHER, READING], "target_lang": "EN-GB"})
        self.assertEqual(answer, {"translations": [
            {"detected_source_language": "ZH", "text": self.translated(text), "billed_characters": len(text)}
            for text in (WEATHER, READING)]})

    def test_forms_and_addresses(self):
        nice = self.translated(WEATHER)
        for fields in {"text": WEATHER}, {"text": [WEATHER, READING], "source_lang": "zh-hans"}:
            answer = self.server.form("/v2/translate", target_lang="en-US", show_billed_characters="1", **fields).json
            self.assertEqual([t["text"] for t in answer["translations"]], [nice, self.translated(READING)][
                :1 if isinstance(fields["text"], str) else 2])
        answer = self.server.get("/v2/translate", text=WEATHER, target_lang="EN").json
        self.assertEqual(answer["translations"][0]["text"], nice)

    def test_options_of_other_engines(self):
        nice = [self.translated(WEATHER)]
        for fields in ({"split_sentences": "nonewlines"}, {"split_sentences": 0}, {"preserve_formatting": True},
                       {"preserve_formatting": "0"}, {"formality": "prefer_more"}, {"context": "warm"},
                       {"outline_detection": False}, {"non_splitting_tags": ["a"], "splitting_tags": "b,c"},
                       {"custom_instructions": []}, {"style_id": None}, {"glossary_ids": []}, {"source_lang": ""},
                       {"source_lang": None}, {"source_lang": "ZH", "target_lang": "en"}):
            self.assertEqual(self.texts(**fields), nice, fields)
        fields = {"text": WEATHER, "target_lang": "EN", "model_type": "prefer_quality_optimized"}
        answer = self.ask("POST", "/v2/translate", fields)["translations"][0]
        self.assertEqual(answer["model_type_used"], "quality_optimized")

    def test_html(self):
        text = self.texts(text="<p title='a'>今天<b>天气</b>很好。</p><script>今天</script>", tag_handling="html")[0]
        self.assertRegex(text, r"^<p title='a'>.*<b>.*</b>.*</p><script>今天</script>$")
        self.assertEqual(self.texts(text=f"<p><b>{WEATHER}</b></p>", tag_handling="html"),
                         [f"<p><b>{self.translated(WEATHER)}</b></p>"])  # its language is that of its text
        self.assertNotIn("今天", self.texts(text="1 < 2 <br> 今天天气很好。", tag_handling="html")[0])
        text = self.texts(text="<doc><p>今天天气很好。</p></doc>", tag_handling="xml")[0]
        self.assertEqual(text, f"<doc><p>{self.translated(WEATHER)}</p></doc>")

    def test_what_is_refused(self):
        good = {"text": [WEATHER], "target_lang": "EN"}
        self.refused({"text": [WEATHER]}, "'target_lang' not specified")
        self.refused({"target_lang": "EN"}, "'text' not specified")
        self.refused({**good, "text": []}, "'text' not specified")
        self.refused({**good, "text": [WEATHER] * 51}, "more than 50")
        self.assertEqual(len(self.texts(text=["1"] * 50)), 50)
        for text in {"a": 1}, [1], [None], 1, None, [[WEATHER]]:
            self.refused({**good, "text": text}, "'text'")
        for name in "target_lang", "source_lang":
            for value in "XX", "auto!", "DE", "../zh":
                self.refused({**good, name: value}, f"Value for '{name}' not supported.")
            for value in 1, ["EN"], {}, True:
                self.refused({**good, name: value}, f"'{name}'")
        for name, value in (("formality", "more"), ("formality", "less"), ("formality", 1), ("split_sentences", "2"),
                            ("split_sentences", 2), ("tag_handling", "md"), ("tag_handling", ["html"]),
                            ("model_type", "fast"), ("preserve_formatting", "yes"), ("preserve_formatting", 1.0),
                            ("show_billed_characters", {}), ("tag_handling_version", "v3"), ("style_id", "a"),
                            ("custom_instructions", ["be kind"]), ("translation_memory_id", "a")):
            self.refused({**good, name: value}, f"'{name}'")
        for body in [], 1, "text":
            self.refused(body, "'target_lang' not specified")

    def test_usage(self):
        used = self.ask("GET", "/v2/usage")["character_count"]
        self.texts(text=[WEATHER, "1😀"])
        answer = self.ask("POST", "/v2/usage")
        self.assertEqual(answer["character_count"], used + len(WEATHER) + 2)
        self.assertGreater(answer["character_limit"], 10**11)

    def test_languages(self):
        source = [{"language": "ZH", "name": "Chinese"}]
        target = [{"language": "EN-GB", "name": "English (British)", "supports_formality": False},
                  {"language": "EN-US", "name": "English (American)", "supports_formality": False}]
        self.assertEqual(self.ask("GET", "/v2/languages"), source)
        self.assertEqual(self.ask("GET", "/v2/languages?type=source"), source)
        self.assertEqual(self.ask("GET", "/v2/languages?type=target"), target)
        self.assertEqual(self.server.form("/v2/languages", type="target").json, target)
        form = {"Content-Type": "application/x-www-form-urlencoded"}  # as the Python client asks
        self.assertEqual(self.server.ask("GET", "/v2/languages", "type=target", form).json, target)
        self.refused(None, "'type'", method="GET", path="/v2/languages?type=any")
        self.refused({"type": 1}, "'type'", path="/v2/languages")
        self.assertEqual(self.ask("GET", "/v2/glossary-language-pairs"),
                         {"supported_languages": [{"source_lang": "zh", "target_lang": "en"}]})


class DeeplOfManyLanguages(DeeplTest):
    @classmethod
    def setUpClass(cls):
        cls.ARGUMENTS = ("-m", MANY)
        super().setUpClass()

    def test_languages(self):
        sources = [one["language"] for one in self.ask("GET", "/v2/languages")]
        targets = [one["language"] for one in self.ask("GET", "/v2/languages?type=target")]
        self.assertEqual(len(sources), len(set(sources)))
        self.assertEqual(len(targets), len(set(targets)))
        for code in "EN", "ZH", "DE":
            self.assertIn(code, sources)
        for code in "EN-US", "EN-GB", "ZH", "ZH-HANS", "DE":
            self.assertIn(code, targets)
        pairs = self.ask("GET", "/v2/glossary-language-pairs")["supported_languages"]
        self.assertIn({"source_lang": "de", "target_lang": "zh"}, pairs)
        self.assertEqual([p for p in pairs if p["source_lang"] == p["target_lang"]], [])


class DeeplKeys(DeeplTest):
    def setUp(self):
        path = self.folder() / "keys"
        path.write_text("first\nsecond\n")
        self.keyed = self.start("--api-keys", path)

    def test_keys(self):
        fields = {"text": WEATHER, "target_lang": "EN"}
        self.ask("POST", "/v2/translate", fields, server=self.keyed)
        self.refused(fields, "", status=403, key="third", server=self.keyed)
        answer = self.keyed.post("/v2/translate", fields)
        self.assertEqual((answer.status, list(answer.json)), (403, ["message"]))
        self.assertEqual(self.ask("GET", "/v2/usage", server=self.keyed)["character_count"], len(WEATHER))
        self.assertEqual(self.ask("GET", "/v2/usage", server=self.keyed, key="second")["character_count"], 0)


class DeeplGlossaries(DeeplTest):
    def make(self, key=None, **fields):
        made = self.ask("POST", V2, {"name": "a", **ENTRIES, **fields}, status=201, key=key)
        self.addCleanup(lambda: self.server.ask("DELETE", f"{V2}/{made['glossary_id']}", None, {
            "Authorization": f"DeepL-Auth-Key {key or self.KEY}"}))
        return made

    def test_a_glossary(self):
        made = self.make()
        self.assertRegex(made["glossary_id"], f"^{UUID}$")
        self.assertRegex(made["creation_time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual({**made, "glossary_id": 0, "creation_time": 0},
                         {"glossary_id": 0, "name": "a", "ready": True, "source_lang": "zh", "target_lang": "en",
                          "creation_time": 0, "entry_count": 1})
        path = f"{V2}/{made['glossary_id']}"
        self.assertEqual(self.ask("GET", path), made)
        self.assertEqual(self.ask("GET", V2), {"glossaries": [made]})
        self.assertEqual(self.ask("GET", f"{path}/entries"), "天气\tclimate")
        self.assertIn("climate", self.texts(glossary_id=made["glossary_id"], source_lang="ZH")[0])
        self.assertIn("climate", self.texts(glossary_ids=[made["glossary_id"]], source_lang="zh-Hans")[0])
        self.assertNotIn("climate", self.texts()[0])
        self.assertEqual(self.ask("DELETE", path, status=204), "")
        self.assertEqual(self.ask("GET", V2), {"glossaries": []})
        for method, end in ("GET", ""), ("DELETE", ""), ("GET", "/entries"):
            self.refused(None, "Glossary not found", status=404, method=method, path=path + end)
        self.refused({"text": WEATHER, "target_lang": "EN", "source_lang": "ZH", "glossary_id": made["glossary_id"]},
                     "Glossary not found", status=404)

    def test_forms_and_csv(self):
        made = self.server.form(V2, {"Authorization": "DeepL-Auth-Key first"}, name="b", **{
            **ENTRIES, "entries": '天气,"climate, ""x"""\n气,a,de,en\n', "entries_format": "csv"}).json
        path = f"{V2}/{made['glossary_id']}"
        self.assertEqual(made["entry_count"], 1)
        self.assertEqual(self.ask("GET", f"{path}/entries"), '天气\tclimate, "x"')
        self.ask("DELETE", path, status=204)

    def test_they_belong_to_their_key(self):
        made = self.make()
        path = f"{V2}/{made['glossary_id']}"
        for method, end in ("GET", ""), ("DELETE", ""), ("GET", "/entries"):
            self.refused(None, "Glossary not found", status=404, method=method, path=path + end, key="second")
        self.assertEqual(self.ask("GET", V2, key="second"), {"glossaries": []})
        fields = {"text": WEATHER, "target_lang": "EN", "source_lang": "ZH", "glossary_id": made["glossary_id"]}
        self.refused(fields, "Glossary not found", status=404, key="second")
        self.assertEqual(self.server.get(path).status, 404)
        self.assertEqual(self.server.post("/v2/translate", fields).status, 404)
        self.ask("GET", path)

    def test_what_is_refused(self):
        for name, values in {"name": (None, "", 1, "x" * 1025), "source_lang": ("", 1, "XX"),
                             "target_lang": (None, "DE", "ZH"),
                             "entries": ("", None, 1, ["a\tb"], "a", "a\tb\tc", "a\tb\na\tc", " \n", "\tb"),
                             "entries_format": ("xml", "", None, 1)}.items():
            for value in values:
                answer = self.ask("POST", V2, {"name": "a", **ENTRIES, name: value}, status=400)
                self.assertEqual(list(answer), ["message"])
        self.refused({"name": "a", **ENTRIES, "entries": "a\tb\nc"}, "line 2", path=V2)
        made = self.make()
        good = {"text": WEATHER, "target_lang": "EN", "glossary_id": made["glossary_id"]}
        self.refused(good, "source_lang")
        self.refused({**good, "source_lang": "ZH", "glossary_ids": [made["glossary_id"]]}, "glossary_ids")
        for ids in ["a", "b"], "a,b", [1], {"a": 1}, 1:
            self.refused({"text": WEATHER, "target_lang": "EN", "source_lang": "ZH", "glossary_ids": ids}, "glossary_ids")
        for given in "../a", "a" * 1000, "\n", "%00":
            self.refused({**good, "source_lang": "ZH", "glossary_id": given}, "Glossary not found", status=404)
        self.assertEqual(self.ask("GET", V2), {"glossaries": [made]})

    def test_how_many_there_may_be(self):
        connection = self.server.connect()
        ids = [self.ask("POST", V2, {"name": "a", **ENTRIES}, status=201, connection=connection)["glossary_id"]
               for _ in range(1000)]
        self.refused({"name": "a", **ENTRIES}, "1000", status=456, path=V2, key="second")
        self.assertEqual(len(set(ids)), 1000)
        for one in ids:
            self.ask("DELETE", f"{V2}/{one}", status=204, connection=connection)
        connection.close()

    def test_several_languages(self):
        made = self.ask("POST", V3, {"name": "a", "dictionaries": [ENTRIES]}, status=201)
        path = f"{V3}/{made['glossary_id']}"
        one = {"source_lang": "zh", "target_lang": "en", "entry_count": 1}
        self.assertEqual(made["dictionaries"], [one])
        self.assertEqual(self.ask("GET", path), made)
        self.assertEqual(self.ask("GET", V3), {"glossaries": [made]})
        self.assertIn("climate", self.texts(glossary_id=made["glossary_id"], source_lang="ZH")[0])

        changed = self.ask("PATCH", path, {"name": "b", "dictionaries": [{**ENTRIES, "entries": "好\tfine"}]})
        self.assertEqual(changed, {**made, "name": "b", "dictionaries": [{**one, "entry_count": 2}]})
        entries = f"{path}/entries?source_lang=ZH&target_lang=EN"
        self.assertEqual(self.ask("GET", entries), {"dictionaries": [
            {"source_lang": "zh", "target_lang": "en", "entries": "天气\tclimate\n好\tfine", "entries_format": "tsv"}]})
        self.assertEqual(self.ask("PATCH", path, {"name": "c"}), {**changed, "name": "c"})

        self.assertEqual(self.ask("PUT", f"{path}/dictionaries", {**ENTRIES, "entries": "好\tnice"}), one)
        self.assertEqual(self.ask("GET", entries)["dictionaries"][0]["entries"], "好\tnice")
        dictionary = f"{path}/dictionaries?source_lang=ZH&target_lang=EN"
        self.refused(None, "Missing", method="DELETE", path=f"{path}/dictionaries")
        self.ask("DELETE", dictionary, status=204)
        for method, where in ("DELETE", dictionary), ("GET", entries):
            self.refused(None, "Dictionary not found", status=404, method=method, path=where)
        self.assertEqual(self.ask("GET", path)["dictionaries"], [])
        self.refused(None, "", status=404, method="GET", path=f"{V2}/{made['glossary_id']}")
        self.ask("PUT", f"{path}/dictionaries", ENTRIES)
        self.ask("DELETE", path, status=204)
        self.refused(None, "", status=404, method="GET", path=path)
        self.refused({"name": "a"}, "", status=404, method="PATCH", path=path)

    def test_dictionaries_of_forms(self):
        """As the client for Node.js sends them."""
        fields = {f"dictionaries[0].{name}": value for name, value in ENTRIES.items()}
        made = self.server.form(V3, name="a", **fields).json
        self.assertEqual(made["dictionaries"], [{"source_lang": "zh", "target_lang": "en", "entry_count": 1}])
        self.assertEqual(self.server.ask("DELETE", f"{V3}/{made['glossary_id']}").status, 204)
        answer = self.server.form(V3, name="a", **{"dictionaries[0].entries": "a\tb"})
        self.assertEqual((answer.status, answer.json), (400, {"message": "Missing or invalid argument: source_lang"}))

    def test_what_version_3_refuses(self):
        for dictionaries in None, [], "a", {}, 1, [1], [None], [ENTRIES] * 101, [{**ENTRIES, "entries": "a"}], [
                ENTRIES, {**ENTRIES, "target_lang": "XX"}]:
            self.ask("POST", V3, {"name": "a", "dictionaries": dictionaries}, status=400)
        self.ask("POST", V3, {"dictionaries": [ENTRIES]}, status=400)
        made = self.make()
        path = f"{V3}/{made['glossary_id']}"
        self.refused({"name": "b", "dictionaries": [{**ENTRIES, "entries": "a"}]}, "line 1", method="PATCH", path=path)
        self.refused({"name": ""}, "name", method="PATCH", path=path)
        self.refused({**ENTRIES, "entries": ""}, "entries", method="PUT", path=f"{path}/dictionaries")
        self.refused(None, "source_lang", method="GET", path=f"{path}/entries")
        self.assertEqual(self.ask("GET", f"{V2}/{made['glossary_id']}"), made)

    def test_it_may_go_while_it_is_used(self):
        for leaves in False, True:
            made = self.make()
            fields = {"text": [WEATHER + READING * 8] * 50, "target_lang": "EN", "source_lang": "ZH",
                      "glossary_id": made["glossary_id"]}
            used = self.ask("GET", "/v2/usage")["character_count"]
            connection = self.server.connect()
            connection.request("POST", "/v2/translate", json.dumps(fields).encode(), {
                "Authorization": "DeepL-Auth-Key first", "Content-Type": "application/json"})
            self.eventually(lambda: self.ask("GET", "/v2/usage")["character_count"] > used)  # it has begun
            self.ask("DELETE", f"{V2}/{made['glossary_id']}", status=204)
            if not leaves:
                for translation in json.loads(connection.getresponse().read())["translations"]:
                    self.assertIn("climate", translation["text"])
            connection.close()
        self.assertEqual(self.texts(), [self.translated(WEATHER)])


class DeeplGlossaryFiles(DeeplTest):
    def test_they_are_for_everybody(self):
        folder = self.folder()
        (folder / "terms.tsv").write_text("天气\tclimate\n")
        (folder / "more.csv").write_text("天气,skies\n")
        (folder / "notes.txt").write_text("no glossary")
        server = self.start("--glossaries", folder)
        fields = {"text": WEATHER, "source_lang": "ZH", "target_lang": "EN"}

        def text(name):
            answer = self.ask("POST", "/v2/translate", {**fields, "glossary_id": name}, server=server)
            return answer["translations"][0]["text"]
        self.assertIn("climate", text("terms"))
        self.assertIn("skies", text("more"))
        for name in "notes", "terms.tsv", "", "../terms":
            if name:
                self.refused({**fields, "glossary_id": name}, "", status=404, server=server)
        (folder / "terms.tsv").write_text("天气\train\n")
        server.signal(1)
        self.eventually(lambda: "rain" in text("terms"))
        (folder / "terms.tsv").write_text("damaged")
        (folder / "more.csv").unlink()
        server.signal(1)
        time.sleep(0.1)
        self.assertIn("rain", text("terms"))

    def test_damage_is_told_at_the_start(self):
        folder = self.folder()
        (folder / "a.tsv").write_text("x\ty\ndamaged\n")
        self.refuses("--port", "0", "--glossaries", folder, says="a.tsv:2")
        (folder / "a.tsv").write_text("x\ty\n")
        (folder / "a.csv").write_text("x,y\n")
        self.refuses("--port", "0", "--glossaries", folder, says="another glossary has this name")


class DeeplDocuments(DeeplTest):
    def upload(self, name="a.txt", data=WEATHER.encode(), status=200, **fields):
        body, kind = multipart({"target_lang": "EN-US", **fields}, [("file", name, data)])
        answer = self.server.ask("POST", "/v2/document", body, {
            "Content-Type": kind, "Authorization": "DeepL-Auth-Key first"})
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def wait(self, handle):
        """The state when it is over."""
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        states = []

        def ended():
            states.append(self.ask("POST", path, key))
            return states[-1]["status"] not in ("queued", "translating")
        self.eventually(ended)
        return states[-1]

    def test_a_document(self):
        handle = self.upload()
        self.assertEqual(sorted(handle), ["document_id", "document_key"])
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        state = self.wait(handle)
        self.assertEqual((state["status"], state["billed_characters"]), ("done", len(WEATHER)))
        for fields in {}, {"document_key": "other"}, {"document_key": ""}:
            self.refused(fields, "not found", status=404, path=path)
            self.refused(fields, "not found", status=404, path=f"{path}/result")
        self.refused(key, "not found", status=404, path=path, key="second")
        self.refused({"document_key": 1}, "document_key", path=path)
        self.assertEqual(self.ask("POST", f"{path}/result", key), self.translated(WEATHER))
        self.refused(key, "not found", status=404, path=f"{path}/result")  # it can be fetched once

    def test_a_glossary(self):
        made = self.ask("POST", V2, {"name": "a", **ENTRIES}, status=201)
        handle = self.upload(source_lang="ZH", glossary_id=made["glossary_id"])
        self.ask("DELETE", f"{V2}/{made['glossary_id']}", status=204)
        self.assertEqual(self.wait(handle)["status"], "done")
        answer = self.ask("POST", f"/v2/document/{handle['document_id']}/result", {"document_key": handle["document_key"]})
        self.assertIn("climate", answer)

    def test_what_is_refused(self):
        self.refused({"target_lang": "EN"}, "file", path="/v2/document")
        self.assertIn("target_lang", self.upload(status=400, target_lang="DE")["message"])
        self.assertIn("formality", self.upload(status=400, formality="more")["message"])
        self.assertIn("output_format", self.upload(status=400, output_format="pdf")["message"])
        self.upload(output_format="txt", formality="default")
        self.upload("a.xyz", status=400)
        self.upload("a.docx", b"no zip", status=400)


class DeepLX(DeeplTest):
    def test_a_text(self):
        for path in "/deeplx", "/deeplx/translate":
            for source in {}, {"source_lang": "auto"}, {"source_lang": "ZH"}, {"source_lang": ""}:
                answer = self.server.post(path, text=WEATHER, target_lang="EN", **source).json
                self.assertIsInstance(answer.pop("id"), int)
                self.assertEqual(answer, {"code": 200, "data": self.translated(WEATHER), "alternatives": [],
                                          "source_lang": "ZH", "target_lang": "EN", "method": "Free"})
        answer = self.server.post("/deeplx", text="<p>今天天气很好。</p>", target_lang="EN", tag_handling="html").json
        self.assertEqual(answer["data"], f"<p>{self.translated(WEATHER)}</p>")

    def test_what_is_refused(self):
        for fields, status in (({"target_lang": "EN"}, 404), ({"text": WEATHER}, 404),
                               ({"text": WEATHER, "target_lang": "XX"}, 400),
                               ({"text": [WEATHER], "target_lang": "EN"}, 400),
                               ({"text": WEATHER, "target_lang": "EN", "tag_handling": "md"}, 400)):
            answer = self.server.post("/deeplx", fields)
            self.assertEqual((answer.status, answer.json), (status, {"code": status, "message": answer.json["message"]}))
