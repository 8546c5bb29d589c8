"""Attention weights over HTTP."""
import array
import json
import subprocess
import threading
import zipfile

import support
from support import Server, ServeTest, environment

TEXT = "今天天气很好。"
TRANSLATION = "The weather is nice today."


class Attention(ServeTest):
    ARGUMENTS = ("--char-limit", "1000")

    def ask(self, status=200, **fields):
        answer = self.server.post("/v1/attention", **{"text": TEXT, "source": "zh", "target": "en", **fields})
        self.assertEqual(answer.status, status, answer)
        return answer.json if status == 200 else answer.json["error"]["message"]

    def check_tokens(self, tokens, text):
        """Places follow each other; pieces are in their places."""
        at = 0
        for token in tokens:
            if "bytes" not in token:
                self.assertEqual(sorted(token), ["piece"])
                continue
            (begin, end), (first, last) = token["bytes"], token["characters"]
            self.assertLessEqual(at, begin)
            self.assertEqual(text.encode()[begin:end].decode(), text[first:last])
            self.assertEqual(text[first:last].lower(), token["piece"].replace("▁", "").lower())
            at = end
        self.assertEqual(at, len(text.encode()))

    def check_map(self, weights, rows, columns):
        """The sizes, and that each row is a distribution, but for the rounding of its weights."""
        self.assertEqual({len(m) for heads in weights for m in heads}, {rows})
        for row in (row for heads in weights for m in heads for row in m):
            self.assertEqual(len(row), columns)
            self.assertAlmostEqual(sum(row), 1, delta=0.00005 * columns + 1e-9)
            self.assertTrue(all(0 <= w <= 1 for w in row))

    def test_a_translation_is_made(self):
        found = self.ask()
        self.assertEqual(sorted(found), ["cross", "source", "target", "tokens", "translation"])
        self.assertEqual(found["translation"], self.translated(TEXT))
        self.assertEqual((found["source"], found["target"]), ("zh-Hans", "en"))
        source, target = found["tokens"]["source"], found["tokens"]["target"]
        self.check_tokens(source, TEXT)
        self.check_tokens(target, found["translation"])
        self.assertEqual((source[-1]["piece"], target[-1]["piece"]), ("</s>", "</s>"))
        self.check_map(found["cross"], len(target), len(source))

    def test_parts(self):
        found = self.ask(translation=TRANSLATION, parts=["decoder", "encoder"])
        rows, steps = len(found["tokens"]["source"]), len(found["tokens"]["target"])
        self.assertNotIn("cross", found)
        self.check_map(found["encoder"], rows, rows)
        self.check_map(found["decoder"], steps, steps)
        for row, weights in enumerate(found["decoder"][0][0]):
            self.assertFalse(any(weights[row + 1:]))
        self.check_tokens(found["tokens"]["target"], TRANSLATION)
        self.assertEqual(self.ask(parts="cross"), self.ask())

    def test_the_command_has_the_same_weights(self):
        file = self.folder() / "weights.npz"
        subprocess.run([support.TOOL, "attention", "-q", "-o", file, "--translation", TRANSLATION, TEXT], check=True,
                       env=environment(TRANSLATE_MODEL=support.MODEL), timeout=support.START)
        data = zipfile.ZipFile(file).read("cross.npy")
        size = int.from_bytes(data[8:10], "little")
        expected = array.array("f", data[10 + size:])
        found = self.ask(translation=TRANSLATION)["cross"]
        flat = [w for heads in found for m in heads for row in m for w in row]
        self.assertEqual(flat, [round(w, 4) for w in expected])

    def test_a_source_is_detected(self):
        self.assertEqual(self.ask(source="auto")["source"], "zh-Hans")

    def test_what_is_wrong(self):
        for fields, says in (({"text": None}, "text: is missing"), ({"text": [TEXT]}, "text: must be a text"),
                             ({"target": None}, "target: is missing"), ({"translation": 1}, "translation: must be a text"),
                             ({"parts": []}, "parts: "), ({"parts": ["cross", "x"]}, "parts: "), ({"parts": {}}, "parts: "),
                             ({"parts": [1]}, "parts: "), ({"text": ""}, "text: has no tokens"),
                             ({"target": "!"}, "target: "),
                             ({"source": "!"}, "source: "), ({"target": "fr"}, ""), ({"source": "en", "target": "en"}, ""),
                             ({"text": "好天气，" * 100}, "text: has "),
                             ({"translation": "weather " * 100}, "translation: has "),
                             ({"text": "好" * 1001}, "1000")):
            self.assertIn(says, self.ask(400, **fields), fields)

    def test_translations_are_bounded(self):
        """A source at the limit, whose translation may be cut: an answer or a plain refusal."""
        answer = self.server.post("/v1/attention", text="书，" * 60, source="zh", target="en")
        self.assertIn(answer.status, (200, 400))
        self.assertLess(len(answer.body), 8 << 20)

    def test_many_and_some_leave(self):
        body = json.dumps({"text": TEXT * 5, "source": "zh", "target": "en", "parts": ["encoder", "cross"]}).encode()
        request = b"POST /v1/attention HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        left = [self.server.socket() for _ in range(20)]
        for c in left:
            c.sendall(request)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.ask())) for _ in range(4)]
        for t in threads:
            t.start()
        for c in left:
            c.close()
        for t in threads:
            t.join()
        self.assertEqual(answers, [self.ask()] * 4)
        self.eventually(lambda: b"\ntranslate_requests_open 1\n" in self.server.get("/metrics").body)

    def test_documents_do_not_wait(self):
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.ask(text="今天天气很好，" * 15))) for _ in range(30)]
        for t in threads:
            t.start()
        self.eventually(lambda: answers)
        answer = self.server.upload("/translate_file", "a.txt", TEXT.encode(), source="zh", target="en")
        self.assertEqual((answer.status, len(answers) < 30), (200, True), len(answers))
        for t in threads:
            t.join()

    def test_too_many_wait(self):
        """Some dozens may wait; others are told to come again, and later they are served."""
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.server.post(
            "/v1/attention", text="今天天气很好，" * 15, source="zh", target="en"))) for _ in range(100)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        refused = [a for a in answers if a.status != 200]
        self.assertTrue(10 < len(refused) < 70, len(refused))
        for a in refused:
            self.assertEqual((a.status, a.json["error"]["code"], "Retry-After" in a.headers), (503, "unavailable", True), a)
        self.ask()

    def test_the_server_ends(self):
        server = Server("--grace", "0")
        body = json.dumps({"text": TEXT * 5, "source": "zh", "target": "en"}).encode()
        clients = [server.socket() for _ in range(20)]
        for c in clients:
            c.sendall(b"POST /v1/attention HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        self.assertEqual(server.end(), 0, server.said)
        for c in clients:
            c.close()


class Languages(ServeTest):
    """Languages in tens, of which the model needs tokens around each text."""
    ARGUMENTS = ("-m", support.MANY)

    def test_language_tokens(self):
        found = self.server.post("/v1/attention", text="ab", source="fr", target="de").json
        pieces = [[t["piece"] for t in found["tokens"][side]] for side in ("source", "target")]
        self.assertEqual((pieces[0][0], pieces[1][0]), ("__fr__", "__de__"))
        self.assertNotIn("bytes", found["tokens"]["source"][0])
        self.assertEqual([len(row) for row in found["cross"][0][0]], [len(pieces[0])] * len(pieces[1]))
