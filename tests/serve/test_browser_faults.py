"""The page when its server is slow, full, gone, behind a path or a key, and when texts are hostile or scripts do not run."""
import json
import re
import socket
import time

import support
from page import DEFAULT_MODEL, HOSTILE, NICE, WEATHER, PageTest, browser, expect

UNREACHABLE = r"net::ERR_(CONNECTION_\w+|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|FAILED)"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def events(*texts):
    """What /v1/translate streams for one sentence of these tokens."""
    def event(name, data):
        return f"event: {name}\ndata: {json.dumps(data)}\n\n"
    token = {"sentence": 0, "sentences": 1, "restarted": False, "last": False}
    done = {"text": "".join(texts), "source": "zh-Hans", "target": "en", "flags": [], "source_tokens": 1,
            "target_tokens": len(texts)}
    return "".join(event("token", {**token, "text": text}) for text in texts) + event("done", {"translations": [done]})


class Slow(PageTest):
    def setUp(self):
        super().setUp()
        self.proxy = self.proxied()
        self.open(port=self.proxy.port)
        self.page.wait_for_load_state("networkidle")

    def test_work_is_shown_and_the_newest_text_wins(self):
        self.proxy.hold()
        with self.page.expect_request("**/v1/translate"):
            self.page.fill("#source", "你好")
        expect(self.page.locator("#result")).to_have_attribute("aria-busy", "true")
        with self.page.expect_request("**/v1/translate"):
            self.page.fill("#source", WEATHER)
        expect(self.page.locator("#result")).to_have_attribute("aria-busy", "true")
        self.proxy.release()
        self.shows(NICE)
        self.idle()
        self.shows(NICE)

    def test_emptied_while_it_is_translated(self):
        self.proxy.hold()
        with self.page.expect_request("**/v1/translate"):
            self.page.fill("#source", WEATHER)
        self.page.fill("#source", "")
        self.proxy.release()
        self.idle()
        self.shows("")


class Full(PageTest):
    def answer(self, status, times, headers=(), code="unavailable"):
        """The next requests for a translation get this answer."""
        left = [times]

        def handle(route):
            left[0] -= 1
            if left[0] < 0:
                route.continue_()
            else:
                route.fulfill(status=status, headers={"Content-Type": "application/json", **dict(headers)},
                              body=json.dumps({"error": {"code": code, "message": "<b>too much at once</b>"}}))
        self.page.route("**/v1/translate", handle)
        self.expect_complaints(f"status of {status}")

    def test_it_tries_again_by_itself(self):
        for status in (503, 429):
            self.open()
            self.answer(status, 2, {"Retry-After": "1"})
            self.page.fill("#source", WEATHER)
            expect(self.page.locator("#notice")).to_be_visible()
            expect(self.page.locator("#notice b")).to_have_count(0)
            self.shows(NICE)
            expect(self.page.locator("#notice")).to_be_hidden()
            self.assertEqual(self.page.input_value("#source"), WEATHER)

    def test_what_fails_for_good_is_said(self):
        for status, code in ((400, "bad_request"), (413, "too_large"), (500, "internal")):
            self.open()
            self.answer(status, 1, code=code)
            self.page.fill("#source", WEATHER)
            expect(self.page.locator("#notice")).to_be_visible()
            self.idle()
            self.page.click("#notice-close")
            expect(self.page.locator("#notice")).to_be_hidden()
            self.translate(WEATHER + "。", NICE)

    def test_one_block_fails(self):
        """The others are given up."""
        self.open()
        self.expect_complaints("status of 500")
        self.page.select_option("#source-language", "zh-Hans")
        asked, given_up = [], []

        def handle(route):
            asked.append(route)
            if len(asked) == 1:
                route.fulfill(status=500, json={"error": {"code": "internal", "message": "broken"}})
        self.page.route("**/v1/translate", handle)
        with self.page.expect_event("requestfailed", lambda r: given_up.append(r) or len(given_up) == 2):
            self.page.fill("#source", (WEATHER * 80 + "\n") * 9)
        expect(self.page.locator("#notice")).to_contain_text("broken")
        self.idle()
        self.assertEqual(len(asked), 3)
        for route in asked[1:]:
            route.abort()

    def test_too_long_while_another_text_is_asked(self):
        self.open(self.start("--char-limit", "20"))
        expect(self.page.locator("#count")).to_have_text("0 / 20")
        asked = []
        self.page.route("**/v1/translate", lambda route: asked.append(route))
        self.page.fill("#source", WEATHER)
        expect(self.page.locator("#state")).to_have_text(re.compile("Waiting"))
        self.page.fill("#source", WEATHER * 4)
        expect(self.page.locator("#notice")).to_be_visible()
        self.idle()
        expect(self.page.locator("#state")).to_have_text("")
        asked[0].abort()

    def test_limit_of_characters(self):
        self.open(self.start("--char-limit", "20"))
        self.expect_complaints("status of 400")
        self.page.fill("#source", WEATHER * 4)
        expect(self.page.locator("#notice")).to_be_visible()
        self.translate(WEATHER, NICE)
        expect(self.page.locator("#notice")).to_be_hidden()

    def test_limit_of_requests(self):
        self.open(self.start("--rate-limit", "2"))
        self.expect_complaints("status of 429")
        for text in ("你好", "再见", "谢谢", "今天"):
            with self.page.expect_response("**/v1/translate"):
                self.page.fill("#source", text)
        expect(self.page.locator("#notice")).to_be_visible()
        self.assertEqual(self.page.input_value("#source"), "今天")


class Drafts(PageTest):
    """With answers that come when the test says so."""

    def setUp(self):
        super().setUp()
        self.open()
        self.translate(WEATHER, NICE)
        self.page.evaluate("""{
          const others = window.fetch;
          window.fetch = async (path, options) => path !== "v1/translate" ? others(path, options) :
            new Response(new ReadableStream({ start(stream) {
              window.push = (text) => stream.enqueue(new TextEncoder().encode(text)); } }));
          null; }""")  # Playwright calls what is a function

    def wait_for(self, what):  # Playwright's wait_for_function() needs what the page's policy forbids
        end = time.monotonic() + browser.SECONDS
        while not self.page.evaluate(f"!!({what})"):
            self.assertLess(time.monotonic(), end, what)

    def push(self, text):
        self.wait_for("window.push")
        self.page.evaluate("(text) => push(text)", text)

    def test_failure_after_the_first_words(self):
        expect(self.page.locator("#copy")).to_be_visible()
        self.page.fill("#source", "再见")
        self.push(events("Good").split("event: done")[0])
        self.shows(re.compile("^Good"))
        expect(self.page.locator("#copy")).to_be_hidden()
        expect(self.page.locator("#result")).not_to_have_class("old")
        self.push('event: error\ndata: {"error": {"code": "internal", "message": "broken"}}\n\n')
        expect(self.page.locator("#notice")).to_contain_text("broken")
        self.idle()
        expect(self.page.locator("#result")).to_have_class("old")
        expect(self.page.locator("#copy")).to_be_hidden()

    def test_next_text_before_the_first_words_are_drawn(self):
        self.page.evaluate("""{
          window.waiting = new Map();
          window.requestAnimationFrame = (draw) => { waiting.set(waiting.size + 1, draw); return waiting.size; };
          window.cancelAnimationFrame = (frame) => waiting.delete(frame); }""")
        self.page.fill("#source", "再见")
        self.push(events("Good").split("event: done")[0])
        self.wait_for("waiting.size")
        self.page.evaluate("window.push = null")
        self.page.fill("#source", "再见。")
        self.wait_for("window.push")
        self.page.evaluate("for (const draw of waiting.values()) draw()")
        self.shows(NICE)


class Gone(PageTest):
    def test_gone_while_one_types_and_back(self):
        port = free_port()
        server = support.Server("--port", port)
        self.open(port=port)
        self.expect_complaints(UNREACHABLE)
        self.translate("你好")
        server.end()
        self.page.fill("#source", WEATHER)
        expect(self.page.locator("#notice")).to_be_visible()
        self.assertEqual(self.page.input_value("#source"), WEATHER)
        self.start("--port", port)
        self.shows(NICE)
        expect(self.page.locator("#notice")).to_be_hidden()

    def test_killed_in_the_middle_of_an_answer(self):
        port = free_port()
        server = support.Server("--port", port, "-m", DEFAULT_MODEL)
        self.open(port=port)
        self.expect_complaints(UNREACHABLE)
        with self.page.expect_request("**/v1/translate"):
            self.page.fill("#source", (WEATHER + "，我们去公园散步吧。") * 100)
        server.process.kill()
        server.process.communicate()
        expect(self.page.locator("#notice")).to_be_visible()
        self.start("--port", port)
        expect(self.page.locator("#notice")).to_be_hidden()
        expect(self.page.locator("#result .sentence")).not_to_have_count(0)

    def test_gone_before_all_scripts_came(self):
        self.page = self.context(locale="en-US").new_page()
        self.origin = f"http://127.0.0.1:{self.server.address[1]}"
        self.expect_complaints("ERR_FAILED")
        self.page.route("**/later.js", times=2, handler=lambda route: route.abort())
        self.page.goto(self.origin)
        self.translate(WEATHER, NICE)
        self.page.click("#tab-glossary")
        expect(self.page.locator("#panel-glossary input").first).to_be_visible()


class Key(PageTest):
    KEY = "7c41d2e6f0aa81b3"

    def setUp(self):
        super().setUp()
        keys = self.folder() / "keys"
        keys.write_text(self.KEY + "\n")
        self.keyed = self.start("--api-keys", keys)
        self.open(self.keyed)
        self.expect_complaints("status of 40[13]")

    def use(self, key):
        self.page.fill("#key", key)
        self.page.press("#key", "Enter")

    def test_key_is_asked_for_and_kept(self):
        expect(self.page.locator("#key")).to_be_visible()
        self.accessible()
        self.use("wrong")
        self.page.fill("#source", WEATHER)
        expect(self.page.locator("#notice")).to_be_visible()
        self.use(self.KEY)
        self.shows(NICE)
        expect(self.page.locator("#key")).to_be_hidden()
        expect(self.page.locator("#notice")).to_be_hidden()
        self.page.reload()
        self.translate("今天天气很好。", NICE)  # as long as the tab is open
        self.assertNotIn(self.KEY, self.page.url)
        other = self.page.context.new_page()
        other.goto(self.page.url)
        expect(other.locator("#key")).to_be_visible()  # no longer

    def test_documents_ask_for_the_key(self):
        self.use("wrong")
        expect(self.page.locator("#notice")).to_be_visible()  # the line at the foot has asked
        self.page.click("#notice-close")
        self.page.click("#tab-documents")
        self.page.set_input_files("#documents-file", {"name": "a.txt", "mimeType": "text/plain", "buffer": WEATHER.encode()})
        expect(self.page.locator("#documents-list li")).to_have_attribute("data-state", "failed")
        expect(self.page.locator("#key")).to_be_focused()
        expect(self.page.locator("#notice")).to_contain_text("not valid")

    def test_key_is_remembered_if_one_wants(self):
        self.page.check("#key-remember")
        self.use(self.KEY)
        self.translate(WEATHER, NICE)
        other = self.page.context.new_page()
        other.goto(self.page.url)
        other.fill("#source", WEATHER)
        expect(other.locator("#result")).to_have_text(NICE)


class Prefix(PageTest):
    ARGUMENTS = ("--url-prefix", "/tools/translate")

    def test_below_a_path_of_another_site(self):
        self.open(path="/tools/translate/")
        self.translate(WEATHER, NICE)
        self.assertTrue(all("/tools/translate/" in e for e in self.page.evaluate(
            "performance.getEntriesByType('resource').map((e) => e.name)")))

    def test_path_without_its_slash(self):
        self.open(path="/tools/translate")
        self.translate(WEATHER, NICE)

    def test_without_scripts(self):
        self.open(path="/tools/translate/", java_script_enabled=False)
        self.page.fill("#source", WEATHER)
        self.page.click("#form button.plain")
        self.shows(NICE)


class Hostile(PageTest):
    def test_what_is_typed(self):
        self.open()
        for text in HOSTILE:
            self.translate(text)
            self.assertEqual(self.page.input_value("#source"), text)
            self.unharmed()

    def test_what_the_server_answers(self):
        """While it comes, and when all of it is there."""
        self.open()
        for text in HOSTILE:
            whole = events(*re.split("(?<=[ >])", text))
            for body in (whole[:whole.index("event: done")], whole):
                self.page.evaluate("""(body) => { const { fetch } = window.others || window; window.others = { fetch };
                  window.fetch = (path, options) => path !== 'v1/translate' ? fetch(path, options) : new Response(
                    new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(body)) })); }""", body)
                self.page.fill("#source", f"{len(body)} {text}。")
                self.shows(re.compile("^" + re.escape(text)))  # perhaps with the end of the former translation
                self.unharmed()

    def test_what_is_kept(self):
        self.open()
        self.page.clock.install()
        self.page.reload()
        for text in HOSTILE:
            self.translate(text)
            self.page.clock.fast_forward(5000)
        self.page.reload()
        self.page.click("#history summary")
        expect(self.page.locator("#history li")).to_have_count(len(HOSTILE))
        self.unharmed()

    def test_what_the_address_holds(self):
        from urllib.parse import quote
        for text in HOSTILE:
            self.open(path="/?" + "&".join(f"{name}={quote(text)}" for name in ("text", "source", "target", "api_key"))
                      + "#" + quote(text))
            expect(self.page.locator("#source")).to_have_value(text)
            self.unharmed()

    def test_scripts_of_others_do_not_run(self):
        """The page's policy stops what would get into it all the same."""
        self.open()
        self.expect_complaints("Content Security Policy")
        self.page.evaluate("""(async () => {
          let left = 3;
          const stopped = new Promise((done) => document.addEventListener('securitypolicyviolation', (event) => {
            if (event.effectiveDirective.startsWith('script-src') && !--left) done(); }));
          const script = document.createElement('script'); script.textContent = "document.title = 'attacked'";
          document.body.append(script);
          document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="document.title = `attacked`">');
          document.body.insertAdjacentHTML('beforeend', '<a id=link href="javascript:document.title = `attacked`">go</a>');
          document.getElementById('link').click();
          await stopped; })()""")
        self.assertNotIn("attacked", self.page.title())
        self.assertIsNone(self.page.evaluate("fetch('http://127.0.0.1:9/').then(() => 1, () => null)"))


class WithoutScripts(PageTest):
    def send(self, text, **profile):
        self.open(java_script_enabled=False, **profile)
        self.page.fill("#source", text)
        self.page.click("#form button.plain")

    def test_form_translates(self):
        for locale, button in (("en-US", "Translate"), ("zh-CN", "翻译")):
            self.send(WEATHER, locale=locale)
            self.shows(NICE)
            expect(self.page.locator("#source")).to_have_value(WEATHER)
            expect(self.page.locator("#form button.plain")).to_have_text(button)
            self.assertEqual(self.page.get_attribute("#result", "lang"), "en")
            for hidden in ("#tabs", "#swap", "#copy", "#theme", "#notice", "#alternatives", "#history"):
                self.assertFalse(self.page.is_visible(hidden), hidden)

    def test_text_of_several_lines(self):
        self.send("\n今天天气很好。\n\n  谢谢 & <再见>。\n")
        expect(self.page.locator("#source")).to_have_value("\n今天天气很好。\n\n  谢谢 & <再见>。\n")
        # The empty line shows once the style sheet is there.
        expect(self.page.locator("#result")).to_have_css("white-space", "pre-wrap")
        self.assertRegex(self.page.inner_text("#result"), r"weather.*\n\n *\S")

    def test_hostile_texts(self):
        for text in HOSTILE:
            self.send(text)
            expect(self.page.locator("#source")).to_have_value(text)
            expect(self.page.locator("#attacked")).to_have_count(0)
            self.assertNotIn("attacked", self.page.title())

    def test_errors(self):
        server = self.start("--char-limit", "20")
        self.expect_complaints("status of 400")
        self.open(server, java_script_enabled=False)
        self.page.fill("#source", WEATHER * 4)
        self.page.click("#form button.plain")
        expect(self.page.locator("#notice")).to_be_visible()
        expect(self.page.locator("#source")).to_have_value(WEATHER * 4)
        self.page.fill("#source", "")
        self.page.click("#form button.plain")
        self.shows("")

    def test_key(self):
        keys = self.folder() / "keys"
        keys.write_text("7c41d2e6f0aa81b3\n")
        self.expect_complaints("status of 403")
        self.open(self.start("--api-keys", keys), java_script_enabled=False)
        self.page.fill("#source", WEATHER)
        self.page.click("#form button.plain")
        expect(self.page.locator("#notice")).to_be_visible()
        expect(self.page.locator("#source")).to_have_value(WEATHER)
        self.page.fill("#key", "7c41d2e6f0aa81b3")
        self.page.click("#form button.plain")
        self.shows(NICE)
