"""The page's text: typed and translated, its alternatives, what belongs together, what is copied and kept."""
import json
import re

from page import DEFAULT_MODEL, NICE, WEATHER, PageTest, expect
from test_browser_faults import events


BOTH = "今天天气很好。我们下周去北京。"


class Text(PageTest):
    ARGUMENTS = ("-m", DEFAULT_MODEL)

    def sentence(self, index):
        return self.page.locator("#result .sentence").nth(index)

    def word(self, text):
        return self.page.locator("#result .word", has_text=re.compile(f"^{text}$"))

    def marked(self, selector):
        return self.page.locator(selector).all_inner_texts()

    def test_english_appears_while_it_is_decoded(self):
        proxy = self.proxied()
        self.open(port=proxy.port)
        self.page.wait_for_load_state("networkidle")
        proxy.hold(1)
        self.page.fill("#source", WEATHER)
        shown = ""
        for _ in range(3):
            self.shows(re.compile(rf"^{re.escape(shown)}.*\w"))
            expect(self.page.locator("#result")).not_to_have_text(shown)
            expect(self.page.locator("#result")).to_have_attribute("aria-busy", "true")
            shown = self.page.inner_text("#result")
            proxy.hold(1)
        proxy.release()
        self.shows(NICE)
        self.assertTrue(self.page.inner_text("#result").startswith(shown), shown)
        self.idle()

    def test_typed_letter_by_letter(self):
        self.open()
        asked = []
        self.page.on("request", lambda r: asked.append(r.post_data) if "v1/translate" in r.url else None)
        self.page.locator("#source").press_sequentially(BOTH)
        self.shows(re.compile("weather.*Beijing"))
        self.idle()
        self.assertEqual(json.loads(asked[-1])["text"], BOTH)
        self.assertLessEqual(len(asked), len(BOTH))

    def test_text_stays_when_the_page_is_loaded_again(self):
        self.open()
        self.translate(WEATHER, NICE)
        self.page.reload()
        expect(self.page.locator("#source")).to_have_value(WEATHER)
        self.shows(NICE)
        other = self.page.context.new_page()  # another tab has its own
        other.goto(self.origin)
        expect(other.locator("#source")).to_have_value("")
        self.page.fill("#source", "")
        self.page.reload()
        expect(self.page.locator("#source")).to_have_value("")
        self.page.goto(self.origin + "/?text=" + BOTH)
        expect(self.page.locator("#source")).to_have_value(BOTH)

    def test_traditional_characters(self):
        self.open(self.start("--models", DEFAULT_MODEL.parent))
        self.page.select_option("#source-language", "en")
        self.page.select_option("#target-language", "zh-Hant")
        self.page.fill("#source", "I like to read books.")
        self.shows(re.compile("[歡讀書]"))
        self.idle()
        self.page.click("#swap")
        expect(self.page.locator("#source-language")).to_have_value("zh-Hans")
        expect(self.page.locator("#target-language")).to_have_value("en")
        self.page.select_option("#source-language", "auto")
        self.page.select_option("#target-language", "zh-Hant")
        self.page.fill("#source", WEATHER)  # is Chinese already
        expect(self.page.locator("#target-language")).to_have_value("en")
        self.shows(NICE)

    def test_nothing_is_asked_while_an_input_method_composes(self):
        """What an input method shows for now ("jin'tian") is no text yet."""
        self.open()
        self.page.clock.install()
        self.page.reload()
        asked = []
        self.page.on("request", lambda r: asked.append(json.loads(r.post_data)["text"]) if "v1/translate" in r.url else None)
        self.page.focus("#source")
        devtools = self.page.context.new_cdp_session(self.page)
        for text in ("j", "jin", "jin'tian"):
            devtools.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
        self.page.clock.run_for(1000)  # longer than the page waits after a key
        devtools.send("Input.insertText", {"text": WEATHER})
        self.shows(NICE)
        self.assertEqual(asked, [WEATHER])

    def test_lines_stay(self):
        self.open()
        self.page.fill("#source", "今天天气很好。\n\n我们下周去北京。\n谢谢")
        self.shows(re.compile("weather.*Beijing.*[Tt]hank", re.S))
        self.idle()
        self.assertRegex(self.page.inner_text("#result"), r"^.*weather.*\n\n.*Beijing.*\n.*[Tt]hank.*$")

    def test_language_is_detected(self):
        self.open()
        self.translate(WEATHER, NICE)
        expect(self.page.locator("#source-language option").first).to_have_text(re.compile("Chinese.*detected"))
        expect(self.page.locator("#source-language")).to_have_value("auto")
        self.assertEqual(self.page.get_attribute("#result", "lang"), "en")

    def test_clear(self):
        self.open()
        self.translate(WEATHER, NICE)
        self.page.click("#clear")
        expect(self.page.locator("#source")).to_have_value("")
        expect(self.page.locator("#source")).to_be_focused()
        self.shows("")
        expect(self.page.locator("#clear")).to_be_hidden()
        expect(self.page.locator("#copy")).to_be_hidden()

    def test_copy(self):
        self.open(permissions=["clipboard-read", "clipboard-write"])
        self.page.fill("#source", BOTH + "\n谢谢")
        self.shows(re.compile("Beijing.*[Tt]hank", re.S))
        self.idle()
        self.page.click("#copy")
        expect(self.page.locator("#live")).to_have_text("Copied")
        copied = self.page.evaluate("navigator.clipboard.readText()")
        self.assertRegex(copied, r"^.*weather.*Beijing.*\n.*[Tt]hank")
        self.assertEqual(copied.split(), self.page.inner_text("#result").split())

    def test_address_with_a_text(self):
        self.open(path="/?text=%E4%BB%8A%E5%A4%A9%E5%A4%A9%E6%B0%94%E5%BE%88%E5%A5%BD&source=zh&target=en")
        self.shows(NICE)
        expect(self.page.locator("#source-language")).to_have_value("zh-Hans")

    def test_alternatives_of_a_sentence(self):
        self.open()
        self.page.fill("#source", BOTH)
        self.idle()
        expect(self.sentence(1)).to_have_text(re.compile("Beijing"))
        first, second = self.sentence(0).inner_text(), self.sentence(1).inner_text()
        self.page.focus("#result .sentence")
        self.page.keyboard.press("Enter")
        choices = self.page.locator("#alternatives ul button")
        expect(choices.nth(1)).to_be_visible()
        texts = choices.all_inner_texts()
        self.assertEqual(len(set(texts)), len(texts))
        self.assertNotIn(first, texts)
        self.accessible()
        choices.nth(0).click()
        expect(self.page.locator("#alternatives")).to_be_hidden()
        expect(self.sentence(0)).to_have_text(texts[0])
        expect(self.sentence(1)).to_have_text(second)
        expect(self.sentence(0)).to_be_focused()

    def test_alternatives_that_differ_in_half_a_character(self):
        def answer(route):
            if "alternatives" in route.request.post_data_json:
                route.fulfill(json={"translations": [{"text": "Fine 😁"}]})
            else:
                route.fulfill(body=events("Fine 😀"), content_type="text/event-stream")
        self.open()
        self.page.route("**/v1/translate", answer)
        self.page.fill("#source", WEATHER)
        self.sentence(0).click()
        same = self.page.locator("#alternatives ul .same")
        expect(same).to_have_count(1)
        self.assertEqual(same.evaluate("(same) => [same.textContent, same.nextSibling.data]"), ["Fine ", "😁"])

    def test_alternatives_from_a_word_on(self):
        self.open()
        self.page.fill("#source", "我们下周去北京。")
        self.shows(re.compile("Beijing"))
        self.idle()
        whole = self.sentence(0).inner_text()
        self.sentence(0).hover()
        self.word("Beijing").click()
        choices = self.page.locator("#alternatives ul button")
        expect(choices.first).to_be_visible()
        before = whole[:whole.index("Beijing")].strip()
        texts = choices.all_inner_texts()
        self.assertTrue(texts)
        for text in texts:
            self.assertTrue(text.startswith(before), (before, text))
        # Another word of the menu: the choices begin there.
        expect(self.page.locator("#alternatives .from button[aria-pressed=true]")).to_have_text(re.compile("Beijing"))
        self.page.locator("#alternatives .from button").first.click()
        expect(choices.filter(has_not_text=re.compile(f"^{re.escape(before)}"))).not_to_have_count(0)
        self.page.keyboard.press("Escape")
        expect(self.page.locator("#alternatives")).to_be_hidden()
        self.sentence(0).click()
        expect(self.page.locator("#alternatives")).to_be_visible()
        self.page.locator("h1").click()
        expect(self.page.locator("#alternatives")).to_be_hidden()
        self.assertEqual(self.sentence(0).inner_text(), whole)

    def test_alternatives_with_the_keyboard(self):
        self.open()
        expect(self.page.locator("#source")).to_be_focused()  # at the start
        self.page.keyboard.insert_text(BOTH)
        self.shows(re.compile("Beijing"))
        self.idle()
        for _ in range(9):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement.matches('.sentence')"):
                break
        expect(self.sentence(0)).to_be_focused()
        self.page.keyboard.press("ArrowRight")
        expect(self.sentence(1)).to_be_focused()
        self.page.keyboard.press("Enter")
        choices = self.page.locator("#alternatives ul button")
        expect(choices.first).to_be_visible()
        expect(self.page.locator("#alternatives .from button").first).to_be_focused()
        self.page.keyboard.press("ArrowRight")
        expect(self.page.locator("#alternatives .from button").nth(1)).to_have_attribute("aria-pressed", "true")
        expect(self.page.locator("#alternatives ul.old")).to_have_count(0)
        self.page.keyboard.press("ArrowDown")
        expect(choices.first).to_be_focused()
        text = choices.first.inner_text()
        self.page.keyboard.press("Enter")
        expect(self.sentence(1)).to_have_text(text)
        expect(self.sentence(1)).to_be_focused()

    def test_hover_shows_what_belongs_together(self):
        self.open()
        self.page.fill("#source", BOTH)
        self.shows(re.compile("weather.*Beijing"))
        self.idle()
        self.sentence(0).hover()
        self.word("weather").hover()
        expect(self.page.locator("#mirror mark.word")).to_have_text(["天气"])
        expect(self.page.locator("#mirror > mark")).to_have_text("今天天气很好。")
        self.sentence(1).hover()
        self.word("Beijing").hover()
        expect(self.page.locator("#mirror mark.word")).to_have_text(["北京"])
        expect(self.page.locator("#result .sentence.here")).to_have_count(1)
        # And from the source.
        x, y = self.page.evaluate("""(() => { const range = document.createRange();
          const walker = document.createTreeWalker(document.querySelector('#mirror'), NodeFilter.SHOW_TEXT);
          let node; while ((node = walker.nextNode())) { const at = node.data.indexOf('天气');
            if (at >= 0) { range.setStart(node, at); range.setEnd(node, at + 1); break; } }
          const box = range.getBoundingClientRect(); return [box.x + box.width / 4, box.y + box.height / 2]; })()""")
        self.page.mouse.move(x, y)
        expect(self.page.locator("#result .word.here", has_text="weather")).to_have_count(1)
        self.page.mouse.move(5, 5)
        expect(self.page.locator("#mirror mark")).to_have_count(0)
        expect(self.page.locator("#result .here")).to_have_count(0)

    def test_doubtful_sentences_and_changed_figures_are_marked(self):
        def place(begin, end):
            return {"characters": [begin, end], "bytes": [begin, end]}
        body = events("It costs 12.", " Maybe.")
        done = {"translations": [{"text": "It costs 12. Maybe.", "source": "zh-Hans", "target": "en",
                                  "flags": ["number", "doubtful"], "source_tokens": 9, "target_tokens": 9, "sentences": [
                                      {"source": place(0, 6), "target": place(0, 12), "flags": ["number"]},
                                      {"source": place(6, 9), "target": place(13, 19), "flags": ["doubtful"]}]}]}
        body = body[:body.index("event: done")] + f"event: done\ndata: {json.dumps(done)}\n\n"
        self.open()
        self.page.route("**/v1/translate", lambda route: route.fulfill(body=body, content_type="text/event-stream"))
        self.page.fill("#source", "这个要二十元。也许。")
        expect(self.page.locator("#result .sentence.flagged")).to_have_count(2)
        expect(self.page.locator("#flags p")).to_have_count(2)
        self.accessible()
        self.page.select_option("#theme", "dark")
        self.accessible()
        self.page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
        self.page.click("#copy")
        self.assertEqual(self.page.evaluate("window.copied"), "It costs 12. Maybe.")  # without the marks


class History(PageTest):
    def open(self, *arguments, **more):
        """A text is kept when it has stood for a while: tests do not wait for it."""
        super().open(*arguments, **more)
        self.page.clock.install()
        self.page.reload()
        return self.page

    def entries(self):
        return self.page.locator("#history li button")

    def keep(self, text):
        self.translate(text)
        self.page.clock.fast_forward(3000)

    def test_texts_are_kept_in_the_browser(self):
        self.open()
        for text in (WEATHER, "我们下周去北京"):
            self.keep(text)
        self.page.reload()
        self.page.click("#history summary")
        expect(self.entries()).to_have_count(2)
        expect(self.entries().first).to_contain_text("Beijing")
        self.accessible()
        self.entries().nth(1).click()
        expect(self.page.locator("#source")).to_have_value(WEATHER)
        self.shows(NICE)

    def test_it_is_cleared(self):
        self.open()
        self.keep(WEATHER)
        self.page.click("#history summary")
        expect(self.entries()).to_have_count(1)
        self.page.click("#history-clear")
        expect(self.entries()).to_have_count(0)
        self.assertNotIn(WEATHER, self.page.evaluate("JSON.stringify({ ...localStorage })"))

    def test_last_text_is_forgotten_too(self):
        """A text that would have been kept soon."""
        self.open()
        self.keep(WEATHER)
        self.page.click("#history summary")
        for forget, text in ((lambda: self.page.click("#history-clear"), "我们下周去北京"),
                             (lambda: self.page.uncheck("#history-keep"), "他们下周去北京")):
            self.translate(text)
            forget()
            self.page.clock.fast_forward(3000)
            expect(self.entries()).to_have_count(0)
            self.assertNotRegex(self.page.evaluate("JSON.stringify({ ...localStorage })"), "北京|天气")

    def test_it_is_switched_off(self):
        self.open()
        self.keep(WEATHER)
        self.page.click("#history summary")
        self.page.uncheck("#history-keep")
        expect(self.entries()).to_have_count(0)
        self.keep("我们下周去北京")
        self.page.reload()
        self.page.click("#history summary")
        expect(self.page.locator("#history-keep")).not_to_be_checked()
        expect(self.entries()).to_have_count(0)
        self.assertNotRegex(self.page.evaluate("JSON.stringify({ ...localStorage })"), "北京|天气")
