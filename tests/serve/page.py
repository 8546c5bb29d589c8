"""Shared by the tests of the page: a browser at a server, what is between the two, and what the page must never do."""
import contextlib
import pathlib
import re
import socket
import sys
import threading

import support
from support import ROOT

sys.path.insert(0, str(ROOT / "tests" / "browser"))
import browser
from playwright.sync_api import expect

AXE = next(pathlib.Path(p) for p in browser.PACKAGES.glob("axe_playwright_python/axe.min.js")).read_text()
DEFAULT_MODEL = ROOT / "models" / "zh-en.gguf"
WEATHER, NICE = "今天天气很好", re.compile(r"weather.*(nice|fine|good|great)|(nice|fine|good|great).*weather", re.I)
HOSTILE = ["<img src=x onerror=document.title='attacked'>", "<script>document.title='attacked'</script>",
           "</textarea><svg onload=document.title='attacked'>", "\"'><b id=attacked>{{text}}", "javascript:alert(1)"]

expect.set_options(timeout=1000 * browser.SECONDS)


class Proxy:
    """Passes connections on to a server. While it holds, no more than some events (texts that end with an empty line) of
    the answers pass it."""

    def __init__(self, address):
        self.address, self.left, self.changed = address, None, threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def hold(self, events=0):
        """From now on only so many events pass."""
        with self.changed:
            self.left = events
            self.changed.notify_all()

    def release(self):
        self.hold(None)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                server = socket.create_connection(self.address)
                threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source, target, held):
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(65536):
                for piece in re.findall(rb".*?\n\n|.+", data, re.S) if held else [data]:
                    with self.changed:
                        self.changed.wait_for(lambda: not held or self.left is None or self.left > 0)
                        if held and self.left is not None and piece.endswith(b"\n\n"):
                            self.left -= 1
                    target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self.release()
        self.listener.close()


class PageTest(browser.BrowserTest, support.ServeTest):
    def open(self, server=None, path="/", port=None, **profile):
        """The page in a new profile; in English, unless `profile` says otherwise."""
        profile = {"locale": "en-US", "viewport": {"width": 1280, "height": 800}, **profile}
        self.page = self.context(**profile).new_page()
        self.origin = f"http://127.0.0.1:{port or (server or self.server).address[1]}"
        self.page.goto(self.origin + path)
        return self.page

    def proxied(self):
        proxy = Proxy(self.server.address)
        self.addCleanup(proxy.close)
        return proxy

    def type(self, text):
        self.page.locator("#source").press_sequentially(text)

    def translate(self, text, result=None):
        """Puts a text into the source, and waits for its translation."""
        with self.page.expect_response("**/v1/translate"):
            self.page.fill("#source", text)
        self.idle()
        self.shows(result or re.compile(r"\S"))

    def shows(self, result):
        expect(self.page.locator("#result")).to_have_text(result)

    def idle(self):
        """Waits until nothing is being translated."""
        expect(self.page.locator("#result")).not_to_have_attribute("aria-busy", "true")

    def accessible(self):
        """axe-core's findings in what the page shows now."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        self.assertEqual([(v["id"], [n["html"] for n in v["nodes"]]) for v in found], [])

    def unharmed(self):
        """Nothing of a hostile text became part of the page."""
        self.assertEqual(self.page.evaluate(
            "[document.title.includes('attacked'),"
            " document.querySelectorAll('#attacked, body svg[onload], img[onerror]').length]"),
            [False, 0])
