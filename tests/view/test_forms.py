#!/usr/bin/env python3
"""Pages, pictures and arrays, read by other parsers: JSON, XML, zip and numpy's format, with Python's standard library.
Usage: test_forms.py VIEW_SAMPLE [CLASS[.TEST]]..."""
import base64
import io
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from readers import read_npz, read_page

SAMPLE = ""
SIZES = [(0, 0, 1, 1), (1, 1, 1, 1), (5, 4, 2, 3), (12, 14, 6, 8), (3, 40, 1, 16)]
STEPS = 15


def make(form, *sizes, hostile=False):
    return subprocess.run([SAMPLE, form, *map(str, sizes), *(["hostile"] if hostile else [])], check=True, timeout=60,
                          stdout=subprocess.PIPE).stdout


SVG = "{http://www.w3.org/2000/svg}"


def cells_of(group, rows, columns):
    """Steps [rows][columns] of a map, from its paths."""
    steps = [[0] * columns for _ in range(rows)]
    for path in group.iter(SVG + "path"):
        if path.get("class") == "n":
            continue
        step = int(path.get("class")[1:])
        pieces = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path.get("d"))
        assert "".join("M%s %sh%sv1h-%sz" % p for p in pieces) == path.get("d"), path.get("d")
        for column, row, width, back in (map(int, p) for p in pieces):
            assert width == back
            for c in range(column, column + width):
                assert steps[row][c] == 0, "drawn twice"
                steps[row][c] = step
    return steps


class Forms(unittest.TestCase):
    def test_npz(self):
        for sources, targets, layers, heads in SIZES:
            a = read_npz(make("npz", sources, targets, layers, heads))
            self.assertEqual(set(a), {"encoder", "decoder", "cross", "source_tokens", "target_tokens", "decoder_tokens",
                                      "log_probabilities", "alignment"})
            self.assertEqual(a["encoder"][0], (layers, heads, sources, sources))
            self.assertEqual(a["decoder"][0], (layers, heads, targets, targets))
            self.assertEqual(a["cross"][0], (layers, heads, targets, sources))
            for name, count in (("source_tokens", sources), ("target_tokens", targets), ("decoder_tokens", targets),
                                ("log_probabilities", targets), ("alignment", targets)):
                self.assertEqual(a[name][0], (count,))
            for name, columns in (("encoder", sources), ("decoder", targets), ("cross", sources)):
                weights = a[name][1]
                for i in range(0, len(weights), columns or 1):
                    self.assertAlmostEqual(sum(weights[i:i + columns]), 1, delta=1e-5)
            self.assertEqual(a["decoder_tokens"][1][1:], a["target_tokens"][1][:-1])
        self.assertEqual(a["source_tokens"][1], ["▁", "动物", "</s>"])

    def test_numpy_itself(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed; test_npz reads the same")
        for sizes in SIZES:
            data = make("npz", *sizes)
            with numpy.load(io.BytesIO(data), allow_pickle=False) as a:
                for name, (shape, values) in read_npz(data).items():
                    self.assertEqual(a[name].shape, shape)
                    self.assertEqual(a[name].ravel().tolist(), values)

    def test_page(self):
        for sizes in SIZES:
            arrays = read_npz(make("npz", *sizes))
            page, data = read_page(make("html", *sizes))
            self.assertEqual(page.title, data["text"])
            for name, key in (("source_tokens", "source"), ("target_tokens", "target"), ("decoder_tokens", "inputs")):
                self.assertEqual(arrays[name][1], data[key])
            for name in ("encoder", "decoder", "cross"):
                shape, weights = arrays[name]
                got = data["maps"][name]
                self.assertEqual((got["layers"], got["heads"], got["rows"], got["columns"]), shape)
                levels = base64.b64decode(got["weights"], validate=True)
                self.assertEqual(len(levels), len(weights))
                self.assertTrue(all(abs(level - 255 * w ** 0.5) < 0.501 for level, w in zip(levels, weights)))

    def test_page_needs_nothing_else(self):
        page, _ = read_page(make("html", 5, 5, 1, 1))
        for tag, attributes in page.tags:
            self.assertNotIn("src", attributes, tag)
            if "href" in attributes:
                self.assertEqual((tag, attributes["href"]), ("link", "data:,"))

    def test_svg(self):
        for sizes in SIZES[1:]:
            arrays = read_npz(make("npz", *sizes))
            root = xml.etree.ElementTree.fromstring(make("svg", *sizes))
            groups = list(root.iter(SVG + "g"))
            maps = []  # drawn in the order of the sheet
            for name in ("cross", "encoder", "decoder"):
                (layers, heads, rows, columns), weights = arrays[name]
                size = rows * columns
                planes = [weights[i * size:(i + 1) * size] for i in range(layers * heads)]
                mean = lambda some: [sum(x) / len(some) for x in zip(*some)]
                maps.append((rows, columns, mean(planes)))
                for layer in range(layers):
                    some = planes[layer * heads:(layer + 1) * heads]
                    maps += [(rows, columns, mean(some))] + [(rows, columns, p) for p in some]
            self.assertEqual(len(groups), len(maps))
            for group, (rows, columns, weights) in zip(groups, maps):
                drawn = sum(cells_of(group, rows, columns), [])
                for step, w in zip(drawn, weights):
                    self.assertLess(abs(step - STEPS * w ** 0.5), 0.501)
            words = [t.text for t in root.iter(SVG + "text")]
            for token in arrays["source_tokens"][1] + arrays["target_tokens"][1]:
                self.assertIn(token if token == "▁" else token.lstrip("▁"), words)

    def test_hostile(self):
        arrays = read_npz(make("npz", 15, 16, 1, 2, hostile=True))
        clean = lambda s: re.sub("[\0-\x1f\x7f-\x9f\ufffe\uffff]", "\ufffd", s)
        tokens = [clean(t) for t in arrays["source_tokens"][1]]
        page, data = read_page(make("html", 15, 16, 1, 2, hostile=True))
        benign, _ = read_page(make("html", 15, 16, 1, 2))
        self.assertEqual(page.tags, benign.tags)
        self.assertEqual(page.scripts[1:], benign.scripts[1:])
        self.assertEqual(data["source"], tokens)
        self.assertEqual(page.title, data["text"])
        self.assertIn("</title></script><script>alert(1)", page.title)
        root = xml.etree.ElementTree.fromstring(make("svg", 15, 16, 1, 2, hostile=True))
        tags = {e.tag for e in root.iter()}
        self.assertEqual(tags, {SVG + t for t in ("svg", "title", "style", "rect", "text", "g", "path")})
        words = {t.text or "" for t in root.iter(SVG + "text")}
        self.assertLessEqual(set(tokens), words)

    def test_small(self):
        """60 tokens, 6 layers, 8 heads: small enough for a browser and an e-mail."""
        self.assertLess(len(make("html", 60, 60, 6, 8)), 1e6)
        self.assertLess(len(make("svg", 60, 60, 6, 8)), 3e6)


if __name__ == "__main__":
    SAMPLE = sys.argv.pop(1)
    unittest.main()
