"""The folder of models: opened with the first text, replaced, closed, damaged."""
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import support
from support import ROOT, ServeTest

sys.path.insert(0, str(ROOT / "tests" / "models"))
import chinese_model

TEXT = "今天天气很好。"
WHOLE = "zh-en.gguf"


class Models(ServeTest):
    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def models(self, *names):
        """A folder with the small model as zh-en.gguf, and with "many" also one of many languages."""
        folder = self.folder()
        shutil.copy(support.MODEL, folder / WHOLE)
        if "many" in names:
            shutil.copytree(support.MANY, folder / "many")
        return folder

    def many_as_file(self):
        path = self.folder() / "many.gguf"
        subprocess.run([support.TOOL, "convert", support.MANY, path], env=support.environment(), check=True,
                       capture_output=True)
        return path

    def ask(self, server, text=TEXT, source="zh", target="en"):
        return server.post("/translate", q=text, source=source, target=target)

    @staticmethod
    def open_models(server):
        return [m["name"] for m in server.get("/v1/models").json["models"] if m["open"]]

    @staticmethod
    def targets(server):
        return {entry["code"]: entry["targets"] for entry in server.get("/languages").json}

    def warnings(self, server):
        self.assertEqual(server.end(), 0)
        return [line for line in server.said.decode().splitlines() if "warning" in line]

    def test_a_model_is_opened_when_a_text_comes(self):
        server = self.start("--models", self.models("many"))
        models = server.get("/v1/models").json["models"]
        self.assertEqual([m["name"] for m in models], ["many", WHOLE])
        self.assertEqual((models[1]["sources"], models[1]["targets"]), (["zh-Hans"], ["en"]))
        self.assertGreater(len(models[0]["sources"]), 2)
        self.assertEqual(self.open_models(server), [])
        self.assertEqual(self.ask(server).json["translatedText"], self.translated(TEXT))
        self.assertEqual(self.open_models(server), [WHOLE])
        self.assertEqual(self.ask(server, "mari to", "en", "fr").status, 200)
        self.assertEqual(self.open_models(server), ["many", WHOLE])

    def test_listed_pairs_have_ways(self):
        server = self.start("--models", self.models("many"))
        targets = self.targets(server)
        self.assertEqual(list(targets), sorted(targets))
        for source in ("zh-Hans", "en", "nb"):
            ends = targets[source]
            self.assertEqual(ends, sorted({*targets} - {source}))
            for target in ends[::40]:
                self.assertEqual(self.ask(server, "1", source, target).status, 200, (source, target))
        for target in ("xx", "pt-XX-Latn", "e", ""):
            self.assertEqual(self.ask(server, "1", "en", target).status, 200 if "pt" in target else 400, target)

    @staticmethod
    def streamed(server, text, target):
        """All that comes, token by token."""
        answer = server.post("/v1/translate", text=text, source="en", target=target, stream=True).body.decode()
        events = [event.partition("\ndata: ") for event in answer.split("\n\n")]
        return "".join(json.loads(data)["text"] for name, _, data in events if name == "event: token")

    def test_traditional_characters(self):
        folder = self.folder()
        chinese_model.make(folder / "opus-mt-en-zh")
        server = self.start("--models", folder)
        self.assertEqual(self.targets(server)["en"], ["zh-Hans", "zh-Hant"])
        different = 0
        for text in ("some words", "Good morning", "a b c", "one two three four five six"):
            for _ in range(2):  # from the cache, too
                simple, other = (self.ask(server, text, "en", target).json["translatedText"] for target in ("zh", "zh-TW"))
                self.assertEqual(chinese_model.written(simple), other)
            different += simple != other
            simple, other = (self.streamed(server, text, target) for target in ("zh", "zh-TW"))
            self.assertEqual(chinese_model.written(simple), other)
        self.assertTrue(different)

    SENTENCES = ("试验区的麦子长得比去年好得多。", "他把雨伞忘在了公共汽车上。", "会议推迟到下周三举行。", "医生建议他少喝酒，多运动。")

    def default_pair(self):
        folder = self.folder()
        for name in (WHOLE, "en-zh.gguf"):
            shutil.copy(ROOT / "models" / name, folder / name)
        return folder

    @staticmethod
    def rank(server, text=SENTENCES[0], **more):
        return server.post("/v1/translate", **{"text": text, "source": "zh", "target": "en", "rerank": True, **more})

    def ranked(self, server, text=SENTENCES[0], **more):
        return self.rank(server, text, **more).json["translations"][0]["text"]

    @staticmethod
    def printed(folder, *args):
        return subprocess.run([support.TOOL, "-q", "--models", folder, *args], env=support.environment(), check=True,
                              capture_output=True).stdout.decode().rstrip("\n")

    def test_ranked_by_the_model_of_the_other_direction(self):
        folder, changed = self.default_pair(), 0
        server = self.start("--models", folder)
        for text in self.SENTENCES:
            expected = self.printed(folder, "-s", "zh", "-t", "en", text)
            self.assertEqual(self.ranked(server, text), expected)
            self.assertEqual(self.open_models(server), [WHOLE])  # the other one for this alone
            self.assertEqual(self.ranked(server, f"<b>{text}</b>", format="html"), f"<b>{expected}</b>")
            self.assertEqual(self.rank(server, text, stream=True).body.decode().split("\n")[0], "event: done")
            changed += expected != self.ask(server, text).json["translatedText"]
        self.assertGreater(changed, 0)
        both = [t["text"] for t in self.rank(server, list(self.SENTENCES[:2])).json["translations"]]
        self.assertEqual(both, [self.ranked(server, text) for text in self.SENTENCES[:2]])
        for target in "zh", "zh-Hant":
            text = "The train to the coast leaves at nine."
            self.assertEqual(self.ranked(server, text, source="en", target=target),
                             self.printed(folder, "-s", "en", "-t", target, text))
        for fields, count in ({"beam": 4, "n_best": 4}, 4), ({"n_best": 14}, 14), ({"rerank": False, "n_best": 3}, 3):
            self.assertEqual(len(self.rank(server, **fields).json["translations"][0]["hypotheses"]), count, fields)
        for name, value in ("sample", True), ("alternatives", 2), ("beam", 1), ("rerank", "perhaps"), ("rerank", 0.5):
            answer = self.rank(server, **{name: value})
            self.assertEqual(answer.status, 400, answer)
            self.assertIn(name, answer.json["error"]["message"])

    def test_many_are_ranked_side_by_side(self):
        server, answers = self.start("--models", self.default_pair(), "-T", "2"), {}
        expected = [self.ranked(server, text) for text in self.SENTENCES]

        def work(number):
            answers[number] = [self.ranked(server, text) for text in self.SENTENCES] + \
                [self.ask(server, text).status for text in self.SENTENCES]
        threads = [threading.Thread(target=work, args=[n]) for n in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(answers, {n: expected + [200] * len(self.SENTENCES) for n in range(6)})

    def test_not_ranked_without_the_other_direction(self):
        server = self.start("--models", self.models())
        self.assertEqual(self.ranked(server, TEXT), self.translated(TEXT))
        self.assertIn(b"event: token", self.rank(server, TEXT, stream=True).body)

    def test_the_ranking_model_is_damaged_or_replaced(self):
        folder = self.default_pair()
        server = self.start("--models", folder)
        ranked = self.ranked(server)
        os.truncate(folder / "en-zh.gguf", 1 << 20)  # it is open, as a copy
        self.assertEqual(self.ranked(server), ranked)
        server.signal(signal.SIGHUP)  # now there is no other direction
        self.eventually(lambda: len(server.get("/v1/models").json["models"]) == 1)
        self.assertEqual(self.ranked(server), self.ask(server, self.SENTENCES[0]).json["translatedText"])
        shutil.copy(ROOT / "models" / "en-zh.gguf", folder / "en-zh.gguf")
        server.signal(signal.SIGHUP)
        self.eventually(lambda: len(server.get("/v1/models").json["models"]) == 2)
        os.truncate(folder / "en-zh.gguf", 1 << 20)
        self.assertIn("The", self.ranked(server))
        warnings = self.warnings(server)
        self.assertEqual([str(folder / "en-zh.gguf") in w for w in warnings], [True, True], warnings)
        self.assertIn("it would rank translations", warnings[1])

    def test_an_idle_ranked_model_is_closed(self):
        server = self.start("--models", self.default_pair(), "--idle-close", "4")
        ranked = self.ranked(server)
        self.assertEqual(self.open_models(server), [WHOLE])
        self.eventually(lambda: not self.open_models(server))
        self.assertEqual(self.ranked(server), ranked)

    def test_one_model(self):
        folder = self.models("many")
        server = self.start("-m", folder / WHOLE)
        self.assertEqual(self.targets(server), {"zh-Hans": ["en"], "en": []})
        self.assertEqual(self.ask(server).json["translatedText"], self.translated(TEXT))

    def test_one_model_that_is_replaced(self):
        folder = self.models()
        server = self.start("-m", folder / WHOLE)
        os.replace(self.many_as_file(), folder / WHOLE)
        server.signal(signal.SIGHUP)
        self.eventually(lambda: "fr" in self.targets(server))
        self.assertEqual(self.ask(server, "mari to", "en", "fr").status, 200)

    def test_a_replaced_model(self):
        folder = self.models()
        server = self.start("--models", folder)
        old = self.ask(server).json
        os.replace(self.many_as_file(), folder / WHOLE)
        self.assertEqual(self.ask(server).json, old)
        self.assertEqual(self.targets(server), {"zh-Hans": ["en"], "en": []})
        server.signal(signal.SIGHUP)
        self.eventually(lambda: "fr" in self.targets(server))
        new = self.ask(server)
        self.assertEqual(new.status, 200)
        self.assertNotEqual(new.json, old)  # not from the cache
        shutil.copy(support.MODEL, folder / WHOLE)
        server.signal(signal.SIGHUP)
        self.eventually(lambda: "fr" not in self.targets(server))
        self.assertEqual(self.ask(server).json, old)
        self.assertEqual(self.warnings(server), [])

    def test_an_unchanged_model_goes_on(self):
        folder = self.models()
        server = self.start("--models", folder)
        self.ask(server)
        shutil.copytree(support.MANY, folder / "many")
        server.signal(signal.SIGHUP)
        self.eventually(lambda: "fr" in self.targets(server))
        self.assertEqual(self.open_models(server), [WHOLE])

    def test_texts_of_a_replaced_model_are_finished(self):
        folder = self.models()
        server = self.start("--models", folder, "--cache-size", "0", "--threads", "1")
        texts = [f"第{i}天，" + TEXT * 8 for i in range(100)]
        wanted, answers = self.ask(server, texts).json, []
        other = self.many_as_file()
        thread = threading.Thread(target=lambda: answers.append(self.ask(server, texts).json))
        thread.start()
        self.eventually(lambda: b"translate_texts_waiting 0\n" not in server.get("/metrics").body)
        os.replace(other, folder / WHOLE)
        server.signal(signal.SIGHUP)
        self.eventually(lambda: "fr" in self.targets(server))
        thread.join()
        self.assertEqual(answers, [wanted])

    def test_a_folder_that_is_empty_later(self):
        folder = self.models()
        server = self.start("--models", folder)
        os.remove(folder / WHOLE)
        server.signal(signal.SIGHUP)
        self.assertEqual(self.ask(server).status, 500)  # it was not open yet
        shutil.copy(support.MODEL, folder / WHOLE)
        self.assertEqual(self.ask(server).json["translatedText"], self.translated(TEXT))
        warnings = self.warnings(server)
        self.assertEqual(len(warnings), 2)
        self.assertIn("no model", warnings[0])

    def test_an_idle_model_is_closed(self):
        server = self.start("--models", self.models(), "--idle-close", "4")
        answer = self.ask(server).json
        self.assertEqual(self.open_models(server), [WHOLE])
        self.eventually(lambda: not self.open_models(server))
        self.assertEqual(self.ask(server).json, answer)
        self.assertEqual(self.open_models(server), [])  # from the cache
        self.assertEqual(self.ask(server, "我喜欢读书。").json["translatedText"], self.translated("我喜欢读书。"))
        self.assertEqual(self.open_models(server), [WHOLE])

    def test_idle_models_make_room(self):
        server = self.start("--models", self.models("many"), "--model-memory", "2")  # MiB; the small model has more alone
        self.ask(server)
        self.assertEqual(self.open_models(server), [WHOLE])
        self.assertEqual(server.post("/translate", q="Hello, my friend.", source="en", target="fr").status, 200)
        self.eventually(lambda: self.open_models(server) == ["many"])
        self.assertEqual(self.ask(server, "我喜欢读书。").json["translatedText"], self.translated("我喜欢读书。"))
        self.eventually(lambda: self.open_models(server) == [WHOLE])

    def test_a_model_that_is_damaged_later(self):
        folder = self.models("many")
        server = self.start("--models", folder)
        os.truncate(folder / WHOLE, os.path.getsize(support.MODEL) // 2)
        for _ in range(3):
            answer = self.ask(server)
            self.assertEqual((answer.status, list(answer.json)), (500, ["error"]))
            self.assertIn(WHOLE, answer.json["error"])
            self.assertNotIn(str(folder), answer.json["error"])
            self.assertEqual(self.ask(server, "mari to", "en", "fr").status, 200)
        self.assertEqual(self.open_models(server), ["many"])
        shutil.copy(support.MODEL, folder / WHOLE)
        self.assertEqual(self.ask(server).json["translatedText"], self.translated(TEXT))
        os.truncate(folder / WHOLE, 0)  # it is open, as a copy
        self.assertEqual(self.ask(server, "我喜欢读书。").json["translatedText"], self.translated("我喜欢读书。"))
        warnings = self.warnings(server)
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn(str(folder / WHOLE), warnings[0])

    def test_a_model_that_is_damaged_from_the_beginning(self):
        folder = self.models("many")
        os.truncate(folder / WHOLE, 1000)
        server = self.start("--models", folder)
        self.assertEqual([m["name"] for m in server.get("/v1/models").json["models"]], ["many"])
        self.assertEqual(self.ask(server, "mari to", "en", "fr").status, 200)
        self.assertEqual(len(self.warnings(server)), 1)

    def test_no_models(self):
        empty = self.folder()
        self.refuses("--port", "0", "--models", empty, says=("no model", str(empty)))
        self.refuses("--port", "0", "--models", empty / "none", says=str(empty / "none"))
        self.refuses("--port", "0", "-m", empty / "none.gguf", says="none.gguf")
        self.refuses("--port", "0", "-m", __file__, says="test_models.py")
