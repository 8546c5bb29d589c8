#!/usr/bin/env python3
"""The page in a headless Chromium: it opens quickly and without errors, and reacts to pointer and keys.
Usage: test_page.py VIEW_SAMPLE [CLASS[.TEST]]...    Status 77: there is no browser."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "browser"))
try:
    import browser
except unittest.SkipTest as why:
    print(why)
    sys.exit(77)

SAMPLE = ""
READY_MS = 1000

LOOKS = """[...document.querySelectorAll('#%s .token')]
  .map((e) => e.dataset.looks === undefined ? null : +e.dataset.looks)"""
LOOKED = """[...document.querySelectorAll('#%s .token')]
  .map((e) => e.dataset.looked === undefined ? null : +e.dataset.looked)"""
WEIGHTS = """(() => { const {rows, columns} = MAPS.%s; const w = [...plane('%s', %d, %d)];
  return Array.from({length: rows}, (_, r) => w.slice(r * columns, (r + 1) * columns)); })()"""


def colours_of(png):
    """The number of different pixels of a picture of 8 bits a channel, and the number of pixels."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", png[at + 8:at + 18])
        elif kind == b"IDAT":
            data += png[at + 8:at + 8 + size]
        at += 12 + size
    channels = {2: 3, 6: 4}[colour]
    raw = zlib.decompress(data)
    assert len(raw) == height * (1 + width * channels)
    return len({raw[i:i + 8] for i in range(0, len(raw), 8)}), width * height


class Page(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="translate-view-"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        super().setUp()
        self.pages = {}

    def open(self, *sizes, hostile=False, width=1280, height=900, **profile):
        path = self.folder / f"{'-'.join(map(str, sizes))}{'h' if hostile else ''} é?#.html"
        if not path.exists():
            data = subprocess.run([SAMPLE, "html", *map(str, sizes), *(["hostile"] if hostile else [])], check=True,
                                  stdout=subprocess.PIPE).stdout
            path.write_bytes(data)
        key = tuple(profile.items())
        if key not in self.pages:
            self.pages[key] = self.context(**profile).new_page()
        self.page = self.pages[key]
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(path.resolve().as_uri())
        return self.page

    def weights(self, kind, layer=-1, head=-1):
        return self.page.evaluate(WEIGHTS % (kind, kind, layer, head))

    def near(self, got, expected):
        self.assertEqual([x is None for x in got], [x is None for x in expected])
        for a, b in zip(got, expected):
            if a is not None:
                self.assertAlmostEqual(a, b, delta=1e-4)

    def readout(self):
        return self.page.evaluate("document.querySelector('#readout').textContent")

    def test_opens_in_a_second(self):
        times, work = [], []
        while len(times) < 3 and not any(t < READY_MS for t in times):
            b = self.pages[()] = self.context().new_page()
            devtools = b.context.new_cdp_session(b)
            devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
            self.open(60, 60, 6, 8)
            times.append(b.evaluate("+document.documentElement.dataset.ready"))
            metrics = {m["name"]: m["value"] for m in devtools.send("Performance.getMetrics")["metrics"]}
            work.append(1000 * metrics["TaskDuration"])  # of the page's thread, without waiting
        print(f"60 tokens, 6 layers, 8 heads: ready after {min(times)} ms, {min(work):.0f} ms of work")
        self.assertGreater(min(times), 0)
        self.assertGreater(min(work), 1)
        self.assertLess(min(work), READY_MS)
        if os.getloadavg()[0] <= os.cpu_count():  # otherwise the process waited for others
            self.assertLess(min(times), READY_MS)
        self.assertEqual(b.evaluate("document.querySelectorAll('#source .token').length"), 60)
        self.assertEqual(b.evaluate("document.querySelectorAll('#target .token').length"), 61)  # and the start token
        self.assertEqual(b.evaluate("document.querySelectorAll('#grid button').length"), 1 + 6 * 9)
        self.assertEqual(b.evaluate("MAPS.cross.rows * cell"),
                         b.evaluate("document.querySelector('#canvas').getBoundingClientRect().height"))

    def test_screenshots(self):
        shots = set()
        for dark in (False, True):
            for kind in ("cross", "encoder", "decoder"):
                b = self.open(12, 14, 6, 8, color_scheme="dark" if dark else "light")
                b.click(f"#kind-{kind}")
                shot = b.screenshot()
                colours, pixels = colours_of(shot)
                self.assertEqual(pixels, 1280 * 900)
                self.assertGreater(colours, 200)
                shots.add(shot)
        self.assertEqual(len(shots), 6)

    def test_sharp_on_dense_screens(self):
        b = self.open(12, 14, 2, 2, device_scale_factor=2)
        wide = "(() => { const c = document.querySelector('#canvas'); return c.width / c.getBoundingClientRect().width; })()"
        self.assertAlmostEqual(b.evaluate(wide), 2, delta=0.01)
        b = self.open(12, 14, 2, 2, device_scale_factor=1)
        self.assertAlmostEqual(b.evaluate(wide), 1, delta=0.01)

    def test_colours_of_cells(self):
        """The canvas shows each weight in its colour."""
        b = self.open(5, 6, 2, 2)
        shown = b.evaluate("""(() => { const {rows, columns} = MAPS.cross; const width = columns * cell;
          const {data} = document.querySelector('#canvas').getContext('2d').getImageData(0, 0, width, rows * cell);
          return Array.from({length: rows * columns}, (_, i) => { const x = (i % columns + 0.5) * cell | 0;
            const y = (Math.floor(i / columns) + 0.5) * cell | 0;
            return [...data.slice(4 * (y * width + x)).slice(0, 3)]; }); })()""")
        expected = b.evaluate("[...plane('cross', -1, -1)].map(colourOf)")
        self.assertEqual(shown, expected)
        self.assertGreater(len({tuple(rgb) for rgb in shown}), 10)

    def test_hover_target(self):
        b = self.open(12, 14, 6, 8)
        self.assertIn("Point at a token", self.readout())
        weights = self.weights("cross")
        for row in (0, 9):
            b.hover(f"#target .token:nth-child({row + 2})")
            self.near(b.evaluate(LOOKS % "source"), weights[row])
            self.assertEqual(b.evaluate(LOOKS % "target"), [None] * 15)
            self.assertEqual(b.evaluate(LOOKED % "source"), [None] * 12)
            best = max(range(12), key=lambda c: weights[row][c])
            token = b.evaluate(f"UNITS.source[{best}]")
            self.assertRegex(self.readout(), f"^“.*” looks at “{token}” .*; is aligned with “.+”; .* had a probability of")
            self.assertEqual(b.evaluate("document.querySelector('#row-band').style.display"), "block")
            self.assertEqual(b.evaluate("document.querySelector('#row-band').offsetTop"), b.evaluate(f"{row} * cell - 1"))
            self.assertEqual(b.evaluate("[...document.querySelectorAll('#rows .lit')].map((e) => e.textContent)"),
                             [b.evaluate(f"nameOf({{side: 'target', unit: {row + 1}}})")])
        b.mouse.move(5, 5)
        self.assertEqual(b.evaluate(LOOKS % "source"), [None] * 12)
        self.assertIn("Point at a token", self.readout())

    def test_hover_source(self):
        b = self.open(12, 14, 6, 8)
        weights = self.weights("cross")
        b.hover("#source .token:nth-child(8)")
        self.near(b.evaluate(LOOKED % "target"), [None] + [row[7] for row in weights])
        self.assertIn("“它” is looked at by “", self.readout())
        self.assertEqual(b.evaluate("document.querySelector('#column-band').style.display"), "block")

    def test_hover_within_a_text(self):
        b = self.open(12, 14, 6, 8)
        b.click("#kind-encoder")
        weights = self.weights("encoder")
        b.hover("#source .token:nth-child(8)")
        self.near(b.evaluate(LOOKS % "source"), weights[7])
        self.near(b.evaluate(LOOKED % "source"), [row[7] for row in weights])
        b.hover("#target .token:nth-child(5)")  # takes no part
        self.assertEqual(b.evaluate(LOOKS % "source"), [None] * 12)
        b.click("#kind-decoder")
        weights = self.weights("decoder")
        b.hover("#target .token:nth-child(5)")  # made in step 3, read in step 4
        self.near(b.evaluate(LOOKS % "target"), weights[3] + [None])
        self.near(b.evaluate(LOOKED % "target"), [None] + [row[4] for row in weights])
        self.assertEqual(weights[3][4:], [0] * 10)

    def test_hover_map(self):
        b = self.open(12, 14, 6, 8, height=1200)
        weights = self.weights("cross")
        x, y = b.evaluate("(() => { const r = document.querySelector('#canvas').getBoundingClientRect(); "
                     "return [r.left, r.top]; })()")
        size = b.evaluate("cell")
        b.mouse.move(x + 4.5 * size, y + 6.5 * size)
        self.near(b.evaluate(LOOKS % "source"), weights[6])
        text = b.evaluate("document.querySelector('#cell').textContent")
        self.assertRegex(text, r"^street → 马路: [\d.]+ %$")
        self.assertAlmostEqual(float(text.split()[-2]), 100 * weights[6][4], delta=0.5)
        for band in ("row", "column"):
            self.assertEqual(b.evaluate(f"document.querySelector('#{band}-band').style.display"), "block")

    def test_heads_and_averages(self):
        b = self.open(5, 6, 3, 4)
        single = [[self.weights("cross", layer, head) for head in range(4)] for layer in range(3)]
        for layer in (-1, 2):
            some = sum(single, []) if layer < 0 else single[layer]
            mean = self.weights("cross", layer)
            for r in range(6):
                self.near(mean[r], [sum(m[r][c] for m in some) / len(some) for c in range(5)])
        before = b.screenshot()
        b.click("#grid button[data-layer='2'][data-head='1']")
        self.assertEqual(b.evaluate("document.querySelector('#name').textContent"), "Layer 3, head 2")
        self.assertNotEqual(b.screenshot(), before)
        b.hover("#target .token:nth-child(3)")
        self.near(b.evaluate(LOOKS % "source"), single[2][1][1])
        b.click("#grid button[data-layer='1'][data-head='-1']")
        self.assertEqual(b.evaluate("document.querySelector('#name').textContent"), "Layer 2, mean of 4 heads")
        self.assertEqual(b.evaluate("document.querySelectorAll('#grid [aria-pressed=true]').length"), 1)

    def test_keeping(self):
        b = self.open(12, 14, 2, 2)
        b.click("#target .token:nth-child(4)")
        b.mouse.move(5, 5)
        self.near(b.evaluate(LOOKS % "source"), self.weights("cross")[2])
        b.click("#grid button[data-layer='1'][data-head='1']")
        b.mouse.move(5, 5)
        self.near(b.evaluate(LOOKS % "source"), self.weights("cross", 1, 1)[2])
        b.keyboard.press("Escape")
        self.assertEqual(b.evaluate(LOOKS % "source"), [None] * 12)

    def test_keys(self):
        """Everything can be reached with the keyboard."""
        b = self.open(12, 14, 2, 3)
        seen = []
        for _ in range(9):
            b.keyboard.press("Tab")
            seen.append(b.evaluate("(document.activeElement.closest('[id]') || document.body).id"))
        self.assertEqual(seen[:7], ["language", "theme", "kind-cross", "source", "target", "grid", "help"])
        b.evaluate("document.querySelector('#kind-cross').focus()")
        b.keyboard.press("ArrowRight")
        self.assertEqual(b.evaluate("[view.kind, document.activeElement.id]"), ["encoder", "kind-encoder"])
        b.keyboard.press("Tab")
        b.keyboard.press("ArrowRight")
        b.keyboard.press("ArrowRight")
        self.near(b.evaluate(LOOKS % "source"), self.weights("encoder")[2])
        b.keyboard.press("Enter")
        b.keyboard.press("Tab")
        self.assertTrue(b.evaluate("document.querySelector('#source .token:nth-child(3)').classList.contains('kept')"))
        b.evaluate("document.querySelector('#grid button').focus()")
        b.keyboard.press("ArrowDown")
        self.assertEqual(b.evaluate("[view.layer, view.head]"), [0, -1])
        b.keyboard.press("ArrowRight")
        b.keyboard.press("ArrowDown")
        self.assertEqual(b.evaluate("[view.layer, view.head]"), [1, 0])
        b.keyboard.press("Home")
        self.assertEqual(b.evaluate("[view.layer, view.head]"), [-1, -1])

    def test_languages(self):
        b = self.open(5, 5, 1, 1, locale="zh-CN")
        self.assertEqual(b.evaluate("[document.documentElement.lang, document.querySelector('h1').textContent]"),
                         ["zh-Hans", "注意力"])
        b.hover("#target .token:nth-child(3)")
        self.assertIn("看向", self.readout())
        b.click("#language")
        self.assertEqual(b.evaluate("[document.documentElement.lang, document.querySelector('h1').textContent]"),
                         ["en", "Attention"])
        for lists in b.evaluate("Object.values(WORDS).map((w) => [Object.keys(w).sort(), w.help.length])"):
            self.assertEqual(lists, b.evaluate("[Object.keys(WORDS.en).sort(), WORDS.en.help.length]"))
        for name in ("rows", "columns", "from", "about"):
            self.assertEqual(b.evaluate(f"Object.keys(WORDS.zh.{name})"), b.evaluate(f"Object.keys(WORDS.en.{name})"))

    def test_theme(self):
        b = self.open(5, 5, 1, 1, color_scheme="dark")
        paper = "getComputedStyle(document.body).backgroundColor"
        dark = b.evaluate(paper)
        b.click("#theme")
        self.assertNotEqual(b.evaluate(paper), dark)
        self.assertEqual(b.evaluate("document.documentElement.dataset.theme"), "light")

    def test_hostile(self):
        b = self.open(15, 16, 2, 2, hostile=True)
        self.assertEqual(b.evaluate("document.querySelectorAll('script').length"), 5)
        self.assertEqual(b.evaluate("document.querySelector('#source .token').textContent"), "</script>")
        for side, count in (("source", 15), ("target", 17)):
            for unit in range(count):
                b.hover(f"#{side} .token:nth-child({unit + 1})")
        self.assertTrue(b.evaluate("document.title.includes('<script>alert(1)</script>')"))

    def test_smallest(self):
        for sizes in ((0, 0, 0, 0), (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 1, 1), (1, 1, 0, 3), (2, 1, 3, 1)):
            b = self.open(*sizes)
            for kind in ("encoder", "decoder", "cross"):
                b.click(f"#kind-{kind}")
                if 0 in (sizes[0 if kind != "decoder" else 1], sizes[2]):
                    self.assertIn("no attention to show", self.readout(), (sizes, kind))

    def test_narrow(self):
        """Only the map's own part scrolls sideways."""
        for width in (360, 800, 1280):
            b = self.open(60, 60, 6, 8, width=width)
            self.assertLessEqual(b.evaluate("document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    SAMPLE = sys.argv.pop(1)
    unittest.main()
