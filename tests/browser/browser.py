"""Shared by the tests of pages in a browser: Debian's Chromium, driven by Playwright (tools/browser.sh installs both)."""
import atexit
import pathlib
import re
import shutil
import site
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build" / "browser" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS = 30  # that a state may take to come

site.addsitedir(str(PACKAGES))
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None
if not PROGRAM or not sync_playwright:
    raise unittest.SkipTest("no Chromium or Playwright: tools/browser.sh installs them")

_running = []


def browser():
    """The browser of this process."""
    if not _running:
        playwright = sync_playwright().start()
        _running.append(playwright.chromium.launch(executable_path=PROGRAM))
        atexit.register(playwright.stop)
        atexit.register(_running[0].close)
    return _running[0]


class BrowserTest(unittest.TestCase):
    """Fails if a page says something on its console, or asks for what is not at `origin`."""
    origin = "file:"
    maxDiff = 2000

    def setUp(self):
        self.complaints, self.expected = [], []

    def context(self, **options):
        """A new profile: languages, colours and storage of its own. Options are those of Playwright's new_context()."""
        context = browser().new_context(**options)
        self.addCleanup(context.close)
        context.set_default_timeout(1000 * SECONDS)
        context.on("console", lambda m: m.type in ("warning", "error") and self.complaints.append(f"{m.type}: {m.text}"))
        context.on("weberror", lambda e: self.complaints.append(f"exception: {e.error}"))
        context.on("request", lambda r: self.note_request(r.url))
        return context

    def note_request(self, url):
        if not url.startswith((self.origin, "data:", "blob:", "about:")):
            self.complaints.append(f"request: {url}")

    def expect_complaints(self, *patterns):
        """What a test provokes."""
        self.expected += patterns

    def tearDown(self):
        for context in browser().contexts:
            for page in context.pages:
                page.evaluate("0")  # what it has said has come here
        self.assertEqual([c for c in self.complaints if not any(re.search(e, c) for e in self.expected)], [])
