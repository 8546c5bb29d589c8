"""Documents: LibreTranslate's files, and /v1/documents."""
import io
import pathlib
import re
import shutil
import threading
import time
import urllib.parse
import zipfile

import support
from support import FIXTURES, ServeTest, Server, multipart

SAMPLES = FIXTURES / "document" / "samples"
LINES = ["今天天气很好。", "我喜欢读书。"]
TEXT = "\n".join(LINES) + "\n"
LONG = "".join(f"第{i}个问题是什么，他们昨天在学校里讨论了很久？\n" for i in range(20000)).encode()


class FilesTest(ServeTest):
    def add(self, name, data, headers=None, server=None, **fields):
        """POST /v1/documents."""
        data = data.encode() if isinstance(data, str) else data
        fields = {"source": "zh", "target": "en", **fields}
        return (server or self.server).upload("/v1/documents", name, data, headers, **fields)

    def wait(self, document, headers=None, server=None):
        """The status of a document that has ended."""
        def ended():
            self.status = (server or self.server).get(f"/v1/documents/{document}", headers).json
            return self.status["status"] in ("done", "failed")
        self.eventually(ended)
        return self.status

    def result(self, document, headers=None, server=None):
        self.assertEqual(self.wait(document, headers, server)["status"], "done")
        answer = (server or self.server).get(f"/v1/documents/{document}/result", headers)
        self.assertEqual(answer.status, 200)
        return answer

    def translate(self, name, data, **fields):
        answer = self.add(name, data, **fields)
        self.assertEqual(answer.status, 202, answer)
        return self.result(answer.json["id"])

    def translated_lines(self):
        return [self.translated(line) for line in LINES]


class Documents(FilesTest):
    ARGUMENTS = ("--char-limit", "0")

    def test_text(self):
        answer = self.add("notes.txt", TEXT)
        self.assertEqual(answer.status, 202)
        self.assertRegex(answer.json["id"], "^[0-9a-f]{32}$")
        self.assertEqual(answer.json["name"], "notes.en.txt")
        self.assertEqual(answer.json["characters"], sum(map(len, LINES)))
        self.assertEqual(answer.json["texts"], len(LINES))
        status = self.wait(answer.json["id"])
        self.assertEqual((status["status"], status["seconds_left"], status["texts_done"]), ("done", 0, len(LINES)))
        result = self.result(answer.json["id"])
        self.assertEqual(result.body.decode().splitlines(), self.translated_lines())
        self.assertEqual(result.headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertEqual(result.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(result.headers["Content-Disposition"],
                         "attachment; filename=\"notes.en.txt\"; filename*=UTF-8''notes.en.txt")

    def test_ids_differ(self):
        self.assertEqual(len({self.add("a.txt", TEXT).json["id"] for _ in range(4)}), 4)

    def test_html(self):
        page = f'<html lang="zh"><body><p>{LINES[0]}<b>{LINES[1]}</b></p></body></html>'
        body = self.translate("page.html", page).body.decode()
        self.assertRegex(body, '^<html lang="en"><body><p>.+<b>.+</b></p></body></html>$')
        self.assertNotIn("天气", body)

    def test_office(self):
        for path in ("docx/report.docx", "pptx/slides.pptx", "xlsx/prices.xlsx", "odt/manual.odt", "epub/story.epub"):
            data = (SAMPLES / path).read_bytes()
            result = self.translate(path.split("/")[1], data)
            with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(io.BytesIO(result.body)) as after:
                self.assertEqual(before.namelist(), after.namelist())
            self.assertNotEqual(result.body, data)
            self.assertRegex(result.headers["Content-Type"], "^application/(vnd|epub)")

    def test_source_is_detected(self):
        for source in ("auto", ""):
            body = self.translate("page.html", f'<p lang="zh">{TEXT}</p>', source=source).body.decode()
            self.assertRegex(body, '^<p lang="en">')
        self.assertEqual(self.translate("a.txt", TEXT, source="auto").body.decode().splitlines(), self.translated_lines())

    def test_terms(self):
        for source in ("zh", "auto"):
            body = self.translate("a.txt", TEXT, terms="天气\tWEATHERING\n", source=source).body.decode()
            self.assertIn("WEATHERING", body)
        self.assertEqual(self.translate("a.txt", TEXT, terms="").body.decode().splitlines(), self.translated_lines())

    def test_progress(self):
        """The number of translated texts never falls, and lies between none and all while the document is translated."""
        document, seen = self.add("long.txt", LONG).json["id"], []

        def between():
            status = self.server.get(f"/v1/documents/{document}").json
            self.assertEqual(status["texts"], LONG.count(b"\n"))
            seen.append(status["texts_done"])
            return 0 < status["texts_done"] < status["texts"]
        self.eventually(between)
        first = seen[-1]
        self.eventually(lambda: between() and seen[-1] > first)
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(self.server.ask("DELETE", f"/v1/documents/{document}").status, 204)

    def test_more_than_a_chunk(self):
        lines = [f"第{i}个。" for i in range(300)]
        body = self.translate("many.txt", "\n".join(lines)).body.decode()
        self.assertEqual(body.count("\n"), 299)
        for i, line in enumerate(body.split("\n")):
            self.assertIn(str(i), line)

    def test_nothing_to_translate(self):
        self.assertEqual(self.translate("empty.txt", "").body, b"")
        self.assertEqual(self.translate("blank.txt", " \n\n").body, b" \n\n")
        self.assertEqual(self.translate("same.txt", "Hello\n", source="en").body, b"Hello\n")

    def test_bilingual_and_format(self):
        body = self.translate("notes", TEXT, format="text", bilingual="true").body.decode()
        self.assertEqual(body.splitlines()[0::2], LINES)
        self.assertEqual(body.splitlines()[1::2], self.translated_lines())

    def test_names(self):
        for name, wanted in (("报告 1.txt", "报告 1.en.txt"), ("../../etc/passwd.txt", "passwd.en.txt"),
                             ("..\\a:b*.TXT", "a_b_.en.TXT"), ("...txt", "txt.en"), ("a\x01;x.txt", "a?;x.en.txt")):
            answer = self.add(name, TEXT, format="text")
            self.assertEqual(answer.json["name"].replace("?", "_"), wanted.replace("?", "_"))
            disposition = self.result(answer.json["id"]).headers["Content-Disposition"]
            self.assertEqual(urllib.parse.unquote(disposition.split("UTF-8''")[1]), answer.json["name"])
            self.assertRegex(disposition, r"""^attachment; filename="[\w. ()-]+"; filename\*=UTF-8''[\w.%~-]+$""")
        self.assertLess(len(self.add("好" * 200 + ".txt", TEXT).json["name"].encode()), 200)

    def test_wrong(self):
        for name, data, fields, says in (
                ("a.txt", TEXT, {"target": ""}, "target"), ("a.txt", TEXT, {"target": "xx"}, "xx"),
                ("a.txt", TEXT, {"source": "nonsense"}, "nonsense"), ("a.txt", TEXT, {"source": "fr"}, "fr"),
                ("a.txt", TEXT, {"format": "pdf"}, "docx"), ("a.pdf", b"%PDF-1.4", {}, ".docx"),
                ("README", TEXT, {}, ".txt"), ("a.txt", TEXT, {"glossary": "none"}, "none"),
                ("a.txt", TEXT, {"glossary": "none", "source": "auto"}, "glossary"),
                ("a.txt", TEXT, {"glossary": "none", "terms": "天\tsky"}, "glossary"),
                ("a.txt", TEXT, {"terms": "天"}, "terms:1: one field"),
                ("a.docx", b"PK\x03\x04 no archive", {}, "a.docx"), ("a.docx", TEXT, {}, "a.docx"),
                ("a.json", '{"a": ', {}, "a.json: line 1, column"), ("a.json", b'{"a": "\xff"}', {}, "a.json"),
                ("a.xml", "<a><b></a>", {}, "a.xml: line 1")):
            answer = self.add(name, data, **fields)
            self.assertEqual(answer.status, 400, (name, fields, answer))
            self.assertEqual(answer.json["error"]["code"], "bad_request")
            self.assertIn(says, answer.json["error"]["message"])

    def test_wrong_forms(self):
        body, kind = multipart({"source": "zh", "target": "en"})
        answer = self.server.ask("POST", "/v1/documents", body, {"Content-Type": kind})
        self.assertEqual((answer.status, answer.json["error"]["message"]), (400, "file: is missing"))
        self.assertEqual(self.server.post("/v1/documents", file="text", target="en").status, 400)
        self.assertEqual(self.server.post("/v1/documents", target=["en"]).status, 400)

    def test_unknown_ids(self):
        for unknown in ("0" * 32, "x", "%00", "0" * 5000, "..%2f..", "é"):
            for method, end in (("GET", ""), ("GET", "/result"), ("DELETE", "")):
                answer = self.server.ask(method, f"/v1/documents/{urllib.parse.quote(unknown, safe='%')}{end}")
                self.assertIn(answer.status, (404, 405, 414, 431), (unknown, answer))

    def test_delete(self):
        document = self.add("a.txt", TEXT).json["id"]
        self.assertEqual(self.server.ask("DELETE", f"/v1/documents/{document}").status, 204)
        self.assertEqual(self.server.get(f"/v1/documents/{document}").status, 404)
        self.assertEqual(self.server.ask("DELETE", f"/v1/documents/{document}").status, 404)

    def test_delete_while_it_runs(self):
        documents = [self.add("long.txt", LONG).json["id"] for _ in range(6)]
        self.eventually(lambda: self.server.get(f"/v1/documents/{documents[0]}").json.get("seconds_left", 0) > 0)
        states = [self.server.get(f"/v1/documents/{d}").json["status"] for d in documents]
        self.assertEqual(states, ["running"] * 4 + ["waiting"] * 2)
        self.assertEqual(self.server.get(f"/v1/documents/{documents[0]}/result").json["error"]["code"], "not_ready")
        for document in documents:
            self.assertEqual(self.server.ask("DELETE", f"/v1/documents/{document}").status, 204)
        self.translate("a.txt", TEXT)  # there is a place for it

    def test_texts_do_not_wait_for_documents(self):
        document = self.add("long.txt", LONG).json["id"]
        self.eventually(lambda: self.server.get(f"/v1/documents/{document}").json["status"] == "running")
        with self.within(20):
            self.assertEqual(self.server.post("/translate", q=LINES[1], source="zh", target="en").status, 200)
        self.assertEqual(self.server.get(f"/v1/documents/{document}").json["status"], "running")
        self.server.ask("DELETE", f"/v1/documents/{document}")


class LibreTranslate(FilesTest):
    ARGUMENTS = ("--char-limit", "0")

    def path_of(self, answer):
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(list(answer.json), ["translatedFileUrl"])
        host = "http://{}:{}".format(*self.server.address)
        self.assertTrue(answer.json["translatedFileUrl"].startswith(host + "/download_file/"), answer)
        return answer.json["translatedFileUrl"][len(host):]

    def upload(self, name, data, headers=None, server=None, **fields):
        return (server or self.server).upload("/translate_file", name, data, headers,
                                              **{"source": "zh", "target": "en", **fields})

    def test_translate(self):
        path = self.path_of(self.upload("笔记 1.txt", TEXT.encode()))
        self.assertRegex(path, r"^/download_file/[0-9a-f]{32}\.%E7%AC%94%E8%AE%B0%201\.en\.txt$")
        for _ in range(2):
            answer = self.server.get(path)
            self.assertEqual(answer.body.decode().splitlines(), self.translated_lines())
            self.assertTrue(answer.headers["Content-Disposition"].startswith("attachment"))
        self.assertEqual(self.server.get(path.replace("/download_file/", "/download_file/0")).status, 404)

    def test_host(self):
        for host, wanted in (("example.org", "http://example.org/download_file/"), ("a<b", "/download_file/")):
            answer = self.upload("a.txt", TEXT.encode(), {"Host": host, "X-Forwarded-Proto": "https"})
            self.assertTrue(answer.json["translatedFileUrl"].startswith(wanted), answer)

    def test_behind_a_proxy(self):
        server = self.start("--trust-proxy", "--url-prefix", "/tr")
        body, kind = multipart({"source": "zh", "target": "en"}, [("file", "a.txt", TEXT.encode())])
        answer = server.ask("POST", "/tr/translate_file", body, {
            "Content-Type": kind, "X-Forwarded-Proto": "https", "X-Forwarded-Host": "example.org"})
        self.assertTrue(answer.json["translatedFileUrl"].startswith("https://example.org/tr/download_file/"), answer)

    def test_wrong(self):
        for name, data, fields, says in (("a.pdf", b"x", {}, ".docx"), ("a.json", b"{", {}, "a.json: line 1"),
                                         ("a.txt", b"x", {"target": "xx"}, "xx"), ("a.txt", b"x", {"source": "fr"}, "fr")):
            answer = self.upload(name, data, **fields)
            self.assertEqual((answer.status, list(answer.json)), (400, ["error"]))
            self.assertIn(says, answer.json["error"])
        self.assertEqual(self.server.post("/translate_file", source="zh", target="en").status, 400)
        self.assertEqual(self.server.get("/download_file/x").status, 404)

    def test_client_leaves(self):
        body, kind = multipart({"source": "zh", "target": "en"}, [("file", "long.txt", LONG)])
        connections = [self.server.connect() for _ in range(5)]
        for connection in connections:
            connection.request("POST", "/translate_file", body, {"Content-Type": kind})
        time.sleep(0.3)
        for connection in connections:
            connection.close()
        with self.within(30):  # those of the clients that left would take longer
            self.translate("a.txt", TEXT)

    def test_client_leaves_at_once(self):
        body, kind = multipart({"source": "zh", "target": "en"}, [("file", "long.txt", LONG)])
        connection = self.server.connect()
        connection.request("POST", "/translate_file", body, {"Content-Type": kind})
        connection.close()
        self.translate("a.txt", TEXT)


class Keys(FilesTest):
    def setUp(self):
        keys = self.folder() / "keys"
        keys.write_text("one\ntwo\nslow 0 20\n")
        self.one, self.two, self.slow = ({"Authorization": f"Bearer {k}"} for k in ("one", "two", "slow"))
        self.server = self.start("--api-keys", keys)

    def test_other_keys_see_nothing(self):
        document = self.add("a.txt", TEXT, self.one).json["id"]
        self.wait(document, self.one)
        for path in (f"/v1/documents/{document}", f"/v1/documents/{document}/result", f"/download_file/{document}.a.en.txt"):
            self.assertEqual(self.server.get(path, self.one).status, 200, path)
            self.assertEqual(self.server.get(path, self.two).status, 404, path)
            self.assertIn(self.server.get(path).status, (403, 404), path)
        self.assertEqual(self.server.ask("DELETE", f"/v1/documents/{document}", None, self.two).status, 404)
        self.assertEqual(self.server.get(f"/v1/documents/{document}", self.one).status, 200)
        self.assertEqual(self.add("a.txt", TEXT).status, 403)

    def test_libretranslate_fetches_without_a_key(self):
        answer = self.server.upload("/translate_file", "a.txt", TEXT.encode(), source="zh", target="en", api_key="one")
        path = urllib.parse.urlsplit(answer.json["translatedFileUrl"]).path
        self.assertEqual(self.server.get(path).status, 200)

    def test_characters_of_a_key(self):
        self.assertEqual(self.add("a.txt", TEXT, self.slow).status, 202)  # 13 of 20
        answer = self.add("a.txt", TEXT, self.slow)
        self.assertEqual((answer.status, answer.json["error"]["code"]), (429, "too_many"))


class Ways(FilesTest):
    def test_two_models(self):
        """The document has what the texts of its units become."""
        models = self.folder()
        for name in ("bpe-fr-ru", "bpe-ru-en"):
            shutil.copy(FIXTURES / "argos" / "fixtures" / f"{name}.argosmodel", models)
        server = self.start("--models", models)
        lines = [line for end in "abcdefghijklmnopqrstuvwxyz" for line in (f"un chat {end}", f"le chien {end}", f"la {end}")]
        wanted = server.post("/translate", q=lines, source="fr", target="en").json["translatedText"]
        between = server.post("/translate", q=lines, source="fr", target="ru").json["translatedText"]
        self.assertNotIn(wanted, (lines, between))
        document = self.add("a.txt", "\n".join(lines), server=server, source="fr").json["id"]
        self.assertEqual(self.result(document, server=server).body.decode(), "\n".join(wanted))
        answer = self.add("a.txt", TEXT, server=server, source="fr", glossary="none")
        self.assertEqual(answer.status, 400)
        self.assertIn("two models", answer.json["error"]["message"])
        answer = self.add("a.txt", TEXT, server=server, source="fr", terms="a\tb")
        self.assertEqual(answer.status, 400)
        self.assertIn("two models", answer.json["error"]["message"])

    def test_glossary(self):
        glossaries = self.folder()
        (glossaries / "words.tsv").write_text("天气\tWEATHERING\n")
        server = self.start("--glossaries", glossaries)
        document = self.add("a.txt", TEXT, server=server, glossary="words").json["id"]
        self.assertIn("WEATHERING", self.result(document, server=server).body.decode())
        self.assertEqual(server.get("/v1/glossaries").json, {"glossaries": [{"name": "words"}]})


class Limits(FilesTest):
    def test_characters(self):
        server = self.start("--char-limit", "13")
        self.assertEqual(self.add("a.txt", TEXT, server=server).status, 202)
        self.assertEqual(self.add("a.txt", TEXT + "好", server=server).status, 400)

    def test_one_large_document_is_read_at_a_time(self):
        """Reading takes some ten times its size, which comes back to the system; other requests do not wait."""
        server = self.start("--char-limit", "0")
        if re.search(b"__[atm]san_init", pathlib.Path(support.TOOL).with_name("translate-serve").read_bytes()):
            self.skipTest("a sanitizer keeps memory")
        page = b"<p><b></b><i></i></p>" * 100000
        server.post("/translate", q=LINES[0], source="zh", target="en")  # the model is open
        start = self.memory(server, "VmRSS")
        began = time.monotonic()
        first = self.add("a.html", page, server=server)
        reading = time.monotonic() - began
        self.wait(first.json["id"], server=server)
        one, kept = self.memory(server, "VmHWM") - start, self.memory(server, "VmRSS") - start
        self.assertLess(kept, one / 2)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.add("a.html", page, server=server)))
                   for _ in range(4)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            with self.within(max(0.75 * reading, 1)):
                self.assertEqual(server.post("/detect", q=LINES[0], more="x" * 100000).status, 200)  # read in a thread
        self.assertEqual({a.status for a in answers}, {202})
        for a in answers:
            self.wait(a.json["id"], server=server)
        self.assertLess(self.memory(server, "VmHWM") - start, 2 * one)

    @staticmethod
    def memory(server, of):
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        return int(re.search(rf"{of}:\s*(\d+)", status)[1])

    def test_too_much_text_is_refused_early(self):
        """Before a tree is made of it."""
        server = self.start("--char-limit", "1000")
        before = self.memory(server, "VmHWM")
        answer = self.add("a.html", "<p>天 <b>气</b> <i>好</i></p>" * 250000, server=server)
        self.assertEqual(answer.status, 400)
        self.assertIn("a.html: more than 1060576 bytes of text", answer.json["error"]["message"])
        self.assertLess(self.memory(server, "VmHWM") - before, 150 << 10)
        answer = self.add("a.txt", "天" * 1001, server=server)
        self.assertIn("a.txt: has more than 1000 characters", answer.json["error"]["message"])

    def test_memory(self):
        """Of eight times the largest document; those that are finished make room."""
        server = self.start("--upload-limit", "1", "--char-limit", "0")
        blank = b" " * (1000 << 10)
        first = self.add("a.txt", blank, server=server).json["id"]
        self.wait(first, server=server)
        for _ in range(9):
            last = self.add("a.txt", blank, server=server).json["id"]
            self.wait(last, server=server)
        self.assertEqual(server.get(f"/v1/documents/{first}").status, 404)
        self.assertEqual(server.get(f"/v1/documents/{last}").status, 200)

    def test_no_room(self):
        server = self.start("--upload-limit", "1", "--char-limit", "0")
        answers = [self.add("long.txt", LONG[:1000 << 10], server=server) for _ in range(9)]
        self.assertEqual([a.status for a in answers], [202] * 8 + [503])
        self.assertEqual(answers[8].json["error"]["code"], "unavailable")
        self.assertIn("Retry-After", answers[8].headers)

    def test_expiry(self):
        server = self.start("--keep-documents", "4", "--char-limit", "0")  # long enough to read them
        short, long = (self.add(n, d, server=server).json["id"] for n, d in (("a.txt", TEXT.encode()), ("b.txt", LONG)))
        answer = server.upload("/translate_file", "c.txt", LONG, source="zh", target="en")
        self.assertEqual((answer.status, answer.json["error"]), (503, "c.txt: was removed before it was translated"))
        self.eventually(lambda: all(server.get(f"/v1/documents/{d}").status == 404 for d in (short, long)))


class End(FilesTest):
    def test_while_documents_run(self):
        server = Server("--char-limit", "0")
        added = [self.add("long.txt", LONG, server=server) for _ in range(6)]
        self.assertEqual([a.status for a in added], [202] * 6)
        first = added[0].json["id"]
        self.eventually(lambda: "seconds_left" in server.get(f"/v1/documents/{first}").json)  # texts are in the queue
        with self.within(15):  # nobody waits for them
            self.assertEqual(server.end(), 0)
        self.assertNotIn(b"Sanitizer", server.said)

    def test_while_a_client_waits(self):
        server = Server("--char-limit", "0", "--grace", "1")
        body, kind = multipart({"source": "zh", "target": "en"}, [("file", "long.txt", LONG)])
        connection = server.connect()
        connection.request("POST", "/translate_file", body, {"Content-Type": kind})
        time.sleep(0.3)
        with self.within(15):
            self.assertEqual(server.end(), 0)
        connection.close()
        self.assertNotIn(b"Sanitizer", server.said)

    def test_while_a_document_is_read(self):
        """Nobody waits for the reader, which cannot be stopped."""
        server = Server("--char-limit", "0")
        page = "<p>天 <b>气</b> <i>好</i></p>".encode() * 150000
        body, kind = multipart({"source": "zh", "target": "en"}, [("file", "large.html", page)])
        began = time.monotonic()
        self.assertEqual(server.ask("POST", "/v1/documents", body, {"Content-Type": kind}).status, 202)
        reading = time.monotonic() - began
        connection = server.connect()
        connection.request("POST", "/v1/documents", body, {"Content-Type": kind})
        self.eventually(lambda: b"\ntranslate_requests_open 2\n" in server.get("/metrics").body)
        time.sleep(0.2)
        connection.close()
        with self.within(0.75 * reading):
            self.assertEqual(server.end(), 0, server.said)
