"""The page's documents, glossary, attention and status."""
import io
import json
import re
import zipfile

import support
from page import DEFAULT_MODEL, HOSTILE, ROOT, WEATHER, PageTest, expect

DOCUMENTS = ROOT / "examples" / "documents"
# How many colours the map has, and a sum that is another one for another map.
PIXELS = """(() => { const { width, height } = document.querySelector('#attention-canvas');
  const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  context.drawImage(document.querySelector('#attention-canvas'), 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  return [new Set(pixels).size, pixels.reduce((sum, pixel) => (sum * 31 + pixel) % 1000003, 0)]; })()"""


class Documents(PageTest):
    ARGUMENTS = ("-m", DEFAULT_MODEL)

    def open(self, *arguments, **more):
        super().open(*arguments, **more)
        self.page.click("#tab-documents")
        self.page.select_option("#documents-source", "zh-Hans")
        return self.page

    def line(self, index=-1):
        return self.page.locator("#documents-list li").nth(index)

    def upload(self, file, state="done"):
        count = self.page.locator("#documents-list li").count()
        self.page.set_input_files("#documents-file", file)
        expect(self.line(count)).to_have_attribute("data-state", state)
        return self.line(count)

    def fetch(self, line):
        """Name and content of a translated document."""
        with self.page.expect_download() as d:
            line.locator("button.primary").click()
        return d.value.suggested_filename, d.value.path().read_bytes()

    @staticmethod
    def text_file(name, text):
        return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}

    def test_docx_is_translated(self):
        self.open()
        line = self.upload(DOCUMENTS / "report.docx")
        expect(line.locator("progress")).to_be_hidden()
        name, data = self.fetch(line)
        self.assertRegex(name, r"^report.*\.docx$")
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            self.assertIsNone(z.testzip())
            text = re.sub("<[^>]+>", " ", z.read("word/document.xml").decode())
        self.assertRegex(text, "(?s)report.*computers.*Shanghai")
        self.assertNotRegex(text, "[一-鿿]")
        self.accessible()

    def test_progress_is_shown(self):
        proxy = self.proxied()
        self.open(port=proxy.port)
        self.page.wait_for_load_state("networkidle")
        proxy.hold()
        text = "".join(f"第{i}天我去了{i + 1}家商店。\n\n" for i in range(2000))  # all different: this takes a second
        line = self.upload(self.text_file("a.txt", text), state="sent")
        expect(line.locator("progress")).to_be_visible()
        expect(line.locator(".file-state")).to_have_text(re.compile("Uploading"))
        proxy.release()
        expect(line).to_have_attribute("data-state", "running")
        expect(line.locator(".file-state")).to_have_text(re.compile(r"Translating \d+ ?%"))
        expect(line).to_have_attribute("data-state", "done")

    def test_documents_are_dropped(self):
        self.open()
        self.page.click("#tab-text")  # wherever one is
        data = self.page.evaluate_handle("""(() => { const data = new DataTransfer();
          for (const name of ['one.md', 'two.txt']) data.items.add(new File(['今天天气很好。'], name)); return data; })()""")
        self.page.dispatch_event("body", "dragover", {"dataTransfer": data})
        self.page.dispatch_event("body", "drop", {"dataTransfer": data})
        expect(self.page.locator("#panel-documents")).to_be_visible()
        for index, ending in ((0, ".md"), (1, ".txt")):
            expect(self.line(index)).to_have_attribute("data-state", "done")
            name, data = self.fetch(self.line(index))
            self.assertTrue(name.endswith(ending), name)
            self.assertRegex(data.decode(), "weather")

    def test_source_is_kept(self):
        self.open()
        self.page.check("#documents-bilingual")
        text = self.fetch(self.upload(self.text_file("a.txt", "今天天气很好。")))[1].decode()
        self.assertRegex(text, r"今天天气很好。\s+.*weather")

    def test_what_cannot_be_translated(self):
        self.open(self.start("--upload-limit", "1"))
        self.expect_complaints("status of 4", "ERR_CONNECTION")
        for f in (self.text_file("a.xyz", "a"), {**self.text_file("a.docx", "no zip")},
                  self.text_file("large.txt", "今天天气很好。" * 200000)):
            line = self.upload(f, state="failed")
            expect(line.locator(".file-state")).to_have_text(re.compile(r"\w{3}"))
            line.locator("button.quiet").click()
            expect(self.page.locator("#documents-list li")).to_have_count(0)

    def test_full_server(self):
        self.open()
        self.expect_complaints("status of 503")
        self.page.route("**/v1/documents", lambda route: route.fulfill(
            status=503, headers={"Retry-After": "1", "Content-Type": "application/json"},
            body=json.dumps({"error": {"code": "unavailable", "message": "too much"}})), times=1)
        line = self.upload(self.text_file("a.txt", "今天天气很好。"), state="busy")
        expect(line).to_have_attribute("data-state", "done")

    def test_download_without_the_server(self):
        self.open()
        self.expect_complaints("ERR_FAILED")
        line = self.upload(self.text_file("a.txt", "今天天气很好。"))
        self.page.route("**/result", lambda route: route.abort())
        line.locator("button.primary").click()
        expect(self.page.locator("#notice")).to_have_text(re.compile("does not answer"))

    def test_hostile_names(self):
        self.open()
        for text in HOSTILE:
            name = text.replace("/", "_") + ".txt"
            line = self.upload(self.text_file(name, "今天天气很好。"))
            self.assertIn(re.search(r"\w{5,}", text)[0], line.inner_text())
            self.fetch(line)
            self.unharmed()


class Glossary(PageTest):
    def open(self, *arguments, **more):
        super().open(*arguments, **more)
        self.page.select_option("#source-language", "zh-Hans")
        return self.page

    def field(self, row, column):
        return self.page.locator("#glossary-rows tr").nth(row).locator("input").nth(column)

    def term(self, row, source, target):
        self.page.click("#tab-glossary")
        self.field(row, 0).fill(source)
        self.field(row, 1).fill(target)

    def translates(self, text, result):
        self.page.click("#tab-text")
        self.page.fill("#source", "")
        self.page.fill("#source", text)
        self.shows(re.compile(result))

    def test_terms_are_used_and_kept(self):
        self.open()
        self.translates("我们下周去北京", "Beijing")
        self.term(0, "北京", "Peking")
        self.page.click("#tab-text")
        self.shows(re.compile("Peking"))  # by itself
        self.term(1, "下周", "tomorrow")
        self.accessible()
        self.page.reload()
        self.page.click("#tab-glossary")
        expect(self.field(0, 1)).to_have_value("Peking")
        expect(self.field(1, 1)).to_have_value("tomorrow")
        self.translates("我们下周去北京", "Peking.*tomorrow|tomorrow.*Peking")
        self.page.click("#tab-glossary")
        self.page.locator("#glossary-rows button").first.click()
        self.translates("我们下周去北京", "Beijing")
        self.page.click("#tab-glossary")
        self.page.select_option("#glossary-use", "off")
        self.translates("我们下周去北京", "next week")

    def test_browser_that_stores_nothing(self):
        self.open()
        self.page.add_init_script(
            "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError'); } })")
        self.page.reload()
        self.page.select_option("#source-language", "zh-Hans")
        self.term(0, "北京", "Peking")
        self.translates("我们下周去北京", "Peking")
        self.page.click("#tab-glossary")
        expect(self.field(0, 1)).to_have_value("Peking")

    def test_with_the_keyboard(self):
        self.open()
        self.page.click("#tab-glossary")
        self.field(0, 0).focus()
        for text in ("北京", "Peking", "上海", "Shanghai City"):
            self.page.keyboard.insert_text(text)
            self.page.keyboard.press("Enter")
        expect(self.page.locator("#glossary-count")).to_have_text("2 terms")
        expect(self.field(1, 1)).to_have_value("Shanghai City")

    def test_typing_while_the_server_is_slow(self):
        proxy = self.proxied()
        self.open(port=proxy.port)
        self.page.wait_for_load_state("networkidle")
        proxy.hold()
        with self.page.expect_request("**/v1/glossaries"):
            self.page.click("#tab-glossary")
        self.field(0, 0).focus()
        self.page.keyboard.insert_text("北")
        with self.page.expect_response("**/v1/glossaries"):
            proxy.release()
        expect(self.field(0, 0)).to_be_focused()
        self.page.keyboard.insert_text("京")
        expect(self.field(0, 0)).to_have_value("北京")

    def test_same_source_twice(self):
        self.open()
        self.term(0, "北京", "Peking")
        self.term(1, "北京", "Beijing")
        expect(self.field(1, 0)).to_have_attribute("aria-invalid", "true")
        expect(self.page.locator("#glossary-count")).to_have_text("1 term")
        self.accessible()

    def test_files(self):
        self.open()
        self.page.click("#tab-glossary")
        text = "# 城市\n北京\tPeking\n\n上海\tShanghai City\tcase\n# 注释\nonly one\n"
        self.page.set_input_files("#glossary-file", {"name": "a.tsv", "mimeType": "", "buffer": text.encode()})
        expect(self.page.locator("#glossary-count")).to_have_text("2 terms")
        expect(self.page.locator("#notice")).to_contain_text("skipped: 1")
        for button, expected in (("tsv", "北京\tPeking\n上海\tShanghai City\tcase\n"),
                                 ("csv", "北京,Peking\n上海,Shanghai City,case\n")):
            with self.page.expect_download() as d:
                self.page.click(f"#glossary-save-{button}")
            self.assertRegex(d.value.suggested_filename, rf"\.{button}$")
            self.assertEqual(d.value.path().read_text(), expected)
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.page.click("#glossary-empty")
        expect(self.page.locator("#glossary-count")).to_have_text("0 terms")
        text = '"北京","Pe,""k""ing"\r\n'
        self.page.set_input_files("#glossary-file", {"name": "a.csv", "mimeType": "", "buffer": text.encode()})
        expect(self.field(0, 1)).to_have_value('Pe,"k"ing')

    def test_glossaries_of_the_server(self):
        folder = self.folder()
        (folder / "cities.tsv").write_text("北京\tPeking\n")
        self.open(self.start("--glossaries", folder))
        self.page.click("#tab-glossary")
        self.page.select_option("#glossary-use", "server:cities")
        self.translates("我们下周去北京", "Peking")

    def test_terms_in_documents(self):
        self.open()
        self.term(0, "北京", "Peking")
        self.page.click("#tab-documents")
        expect(self.page.locator("#documents-glossary-text")).to_contain_text("1")
        for count, (name, result) in enumerate((("a.txt", "Peking"), ("b.txt", "Beijing"))):
            self.page.set_input_files("#documents-file", Documents.text_file(name, "我们下周去北京。"))
            line = self.page.locator("#documents-list li").nth(count)
            with self.page.expect_download() as d:
                line.locator("button.primary").click()
            self.assertIn(result, d.value.path().read_text())
            self.page.uncheck("#documents-glossary")
        self.page.check("#documents-glossary")
        self.page.select_option("#documents-source", "auto")  # a document may be of any language
        expect(self.page.locator("#documents-glossary")).to_be_disabled()
        self.page.set_input_files("#documents-file", Documents.text_file("c.txt", "我们下周去北京。"))
        with self.page.expect_download() as d:
            self.page.locator("#documents-list li").nth(2).locator("button.primary").click()
        self.assertIn("Beijing", d.value.path().read_text())

    def test_hostile_terms(self):
        self.open()
        for row, text in enumerate(HOSTILE):
            self.term(row, text, text)
        self.translates("再见", r"\w")
        self.page.reload()
        self.page.click("#tab-glossary")
        for row, text in enumerate(HOSTILE):
            expect(self.field(row, 1)).to_have_value(text)
        self.unharmed()


class Attention(PageTest):
    def test_maps_are_drawn(self):
        self.open()
        self.page.click("#tab-attention")
        expect(self.page.locator("#attention-none")).to_be_visible()
        self.page.click("#tab-text")
        self.translate("今天天气很好。我们下周去北京。", re.compile("weather.*Beijing"))
        self.page.click("#tab-attention")
        expect(self.page.locator("#attention-none")).to_be_hidden()
        seen = set()
        for sentence in ("今天天气很好。", "我们下周去北京。"):
            self.page.select_option("#attention-sentence", sentence)
            for part in ("cross", "encoder", "decoder"):
                self.page.select_option("#attention-part", part)
                expect(self.page.locator("#attention-body")).not_to_have_attribute("aria-busy", "true")
                expect(self.page.locator("#attention-canvas")).to_be_visible()
                for select, value in (("layer", "0"), ("head", "1")):
                    self.page.select_option(f"#attention-{select}", value)
                    drawn = tuple(self.page.evaluate(PIXELS))
                    self.assertGreater(drawn[0], 20)
                    self.assertNotIn(drawn, seen)
                    seen.add(drawn)
        self.accessible()
        light = self.page.evaluate(PIXELS)
        self.page.select_option("#theme", "dark")
        self.assertNotEqual(self.page.evaluate(PIXELS), light)
        self.accessible()

    def test_failure_is_not_for_good(self):
        self.open()
        self.expect_complaints("status of 500")
        self.translate(WEATHER)
        self.page.route("**/v1/attention", times=1, handler=lambda route: route.fulfill(
            status=500, json={"error": {"code": "internal", "message": "broken"}}))
        self.page.click("#tab-attention")
        expect(self.page.locator("#attention-fault")).to_have_text("broken")
        self.page.click("#tab-text")
        self.page.click("#tab-attention")
        expect(self.page.locator("#attention-canvas")).to_be_visible()

    def test_cells_are_read(self):
        self.open()
        self.translate(WEATHER)
        self.page.click("#tab-attention")
        canvas = self.page.locator("#attention-canvas")
        expect(canvas).to_be_visible()
        self.page.focus("#attention-map")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            self.page.keyboard.press(key)
        readout = self.page.locator("#attention-readout")
        expect(readout).to_have_text(re.compile(r"^.+ → .+: [\d.]+ ?%$"))
        before = readout.inner_text()
        box = canvas.bounding_box()
        self.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.9)
        expect(readout).not_to_have_text(before)
        self.page.click("#attention-table summary")
        expect(self.page.locator("#attention-lines tr").first).to_be_visible()
        self.assertRegex(self.page.inner_text("#attention-lines"), r"\d ?%")

    def test_hostile_texts(self):
        self.open()
        self.expect_complaints("status of 400")  # what is passed through has no attention
        for text in HOSTILE[:2]:
            self.page.click("#tab-text")
            self.translate(text)
            self.page.click("#tab-attention")
            expect(self.page.locator("#attention-body")).not_to_have_attribute("aria-busy", "true")
            self.unharmed()


class Status(PageTest):
    ARGUMENTS = ("-m", DEFAULT_MODEL)

    def test_model_speed_and_memory(self):
        self.open()
        status = self.page.locator("#status")
        expect(status).to_contain_text("zh-en.gguf")
        self.translate(WEATHER)
        expect(status).to_contain_text(re.compile(r"[\d,]+ tokens/s"))
        expect(status).to_contain_text(re.compile(r"Server memory \d+ MiB"))
        self.page.select_option("#interface-language", "zh")
        expect(status).to_contain_text(re.compile(r"每秒 [\d,]+ 个词元"))
