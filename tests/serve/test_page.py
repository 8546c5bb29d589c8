"""The page at /: its files, what the browser may do with it, and the form that it is without JavaScript."""
import base64
import hashlib
import html.parser
import json
import pathlib
import re
import sys
import unittest

import support
from support import ServeTest

SOURCES = pathlib.Path(__file__).parent.parent.parent / "src"
FOLDER = SOURCES / "serve" / "page"
SERVED = {"icon.svg": "image/svg+xml", "later.js": "text/javascript"}  # beside the page
FILES = [*FOLDER.iterdir(), *(SOURCES / "view" / "page" / name for name in ("maps.js", "paint.js"))]
HOSTILE = '"\'></textarea></title><script>alert(1)</script>&lt;<!--{{key}}{{text}}&#0;\u2028'
TEXT = "今天天气很好。"
LIMIT = 150_000  # bytes of all files


class Page(html.parser.HTMLParser):
    """What a page has: tags [(NAME, {ATTRIBUTE: VALUE})], and the text of the elements with an id."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in ("meta", "link", "input", "img"):
            self.open.append((tag, attributes.get("id")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag, (tag, self.open)

    def handle_data(self, data):
        for _, name in self.open:
            if name:
                self.texts[name] = self.texts.get(name, "") + data

    def __getitem__(self, name):
        return next(a for _, a in self.tags if a.get("id") == name)

    def options(self, name):
        """{VALUE: chosen} of a choice."""
        begin = self.tags.index(("select", self[name]))
        found = {}
        for tag, attributes in self.tags[begin + 1:]:
            if tag != "option":
                return found
            found[attributes["value"]] = "selected" in attributes
        return found


class Files(ServeTest):
    def test_page(self):
        answer = self.server.get("/")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        page = Page(answer.body.decode())
        self.assertEqual(page.open, [])
        self.assertNotIn(b"{{", answer.body)
        ids = [a["id"] for _, a in page.tags if "id" in a]
        self.assertEqual(len(ids), len({*ids}))
        for tag, attributes in page.tags:  # whatever it names lies beside it, and nothing of a text is executed
            for name in attributes:
                self.assertFalse(name.startswith("on") or name == "style", attributes)
            address = attributes.get("src") or attributes.get("href") or attributes.get("action") or "./"
            self.assertRegex(address, r"^(\./|page/[a-z]+\.[a-z]+)$")
            if address != "./":
                self.assertEqual(self.server.get("/" + address).status, 200, address)
        policy = answer.headers["Content-Security-Policy"]
        for tag in ("style", "script"):
            [part] = re.findall(f"<{tag}(?: [^>]*)?>(.*?)</{tag}>", answer.body.decode(), re.DOTALL)
            allowed = re.search(f"{tag}-src ([^;]*)", policy)[1]
            self.assertIn(f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'", allowed)
        self.assertEqual(self.server.ask("HEAD", "/").headers["Content-Length"], str(len(answer.body)))

    def test_languages(self):
        for header, language in ((None, "en"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("de, en;q=0.5, zh", "en"), ("", "en"),
                                 ("fr,zh-TW", "zh"), (",,;;", "en"), ("zh" * 100, "zh")):
            answer = self.server.get("/", {"Accept-Language": header} if header is not None else None)
            self.assertIn(f'<html lang="{language}">', answer.body.decode(), header)
            self.assertEqual("翻译" in answer.body.decode().partition("<body>")[2], language == "zh")
            self.assertIn("Accept-Language", answer.headers["Vary"])

    def test_headers(self):
        for path, kind in (("/", "text/html"), *((f"/page/{name}", kind) for name, kind in SERVED.items())):
            for answer in (self.server.get(path), self.server.form(path, text=TEXT, target="en") if path == "/" else None):
                if not answer:
                    continue
                self.assertEqual(answer.headers["Content-Type"], kind + "; charset=utf-8")
                policy = answer.headers["Content-Security-Policy"]
                for rule in ("default-src 'none'", "script-src 'self' 'sha256-", "style-src 'sha256-", "connect-src 'self'",
                             "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
                    self.assertIn(rule, policy)
                self.assertNotIn("unsafe", policy)
                self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
                self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")

    def test_kept_copies(self):
        for path in ("/", "/page/later.js"):
            first = self.server.get(path)
            tag = first.headers["ETag"]
            self.assertEqual(first.headers["Cache-Control"], "no-cache")
            for known in (tag, "W/" + tag, f'"x", {tag}'):
                again = self.server.get(path, {"If-None-Match": known})
                self.assertEqual((again.status, again.body, again.headers["ETag"]), (304, b"", tag))
            self.assertEqual(self.server.get(path, {"If-None-Match": '"x"'}).status, 200)
        tags = [self.server.get("/", {"Accept-Language": language}).headers["ETag"] for language in ("zh", "en")]
        self.assertNotEqual(*tags)
        answer = self.server.get("/", text=TEXT, api_key="secret")
        self.assertEqual((answer.status, answer.headers["Cache-Control"], answer.headers["ETag"]), (200, "no-store", None))
        self.assertEqual(self.server.get("/", {"Accept-Language": "en", "If-None-Match": tags[0]}).status, 200)

    def test_all_files_are_small_and_served(self):
        """What each file holds arrives, in the page or beside it."""
        answers = [self.server.get("/"), *(self.server.get(f"/page/{name}") for name in SERVED)]
        self.assertEqual({answer.status for answer in answers}, {200})
        texts = [answer.body.decode() for answer in answers]
        self.assertLess(sum(len(answer.body) for answer in answers), LIMIT)
        for text in texts:
            self.assertIsNone(re.search(r"(src|href|url|from|import)\W{1,3}(https?:)?//", text))
        for file in (file for file in FILES if file.name != "index.html"):
            text = re.sub(r"(?ms)^ */\*.*?\*/$", "", file.read_text(encoding="utf-8"))
            for line in map(str.strip, text.splitlines()):
                if not re.search(r"^import\b|\bimport\(", line):
                    self.assertTrue(any(re.sub("^export (default )?", "", line) in text for text in texts), line)

    def test_no_other_files(self):
        for name in ("index.html", "index.en.html", "main.js", "style.css", "..", "%2e%2e", "later.js/x", "LATER.JS"):
            self.assertIn(self.server.get("/page/" + name).status, (404, 400), name)
        self.assertEqual(self.server.get("/page/").status, 404)
        self.assertEqual(self.server.ask("POST", "/page/later.js").status, 405)

    def test_messages(self):
        """Each text in both languages, and none that nobody asks for."""
        script = (FOLDER / "messages.js").read_text(encoding="utf-8").partition("export default ")[2].rstrip(";\n")
        messages = json.loads(script, object_pairs_hook=list)
        names = {name for name, _ in messages}
        self.assertEqual(len(messages), len(names))
        for name, (english, chinese) in messages:
            self.assertTrue(english and chinese, name)
            self.assertEqual(*[sorted(re.findall(r"\{\w+\}", text)) for text in (english, chinese)], name)
            self.assertFalse(re.search("[\u4e00-\u9fff]", english), name)
        code = "\n".join(f.read_text(encoding="utf-8") for f in FOLDER.glob("*.js") if f.name != "messages.js")
        asked = {*re.findall(r'data-t(?:-[a-z-]+)?="([^"]+)"', (FOLDER / "index.html").read_text(encoding="utf-8")),
                 *re.findall(r'\bapp\.t\("([^"]+)"', code)}
        self.assertEqual(asked - names, set())
        words = {*re.findall(r'"([^"\n]*)"', code)}
        asked |= {w for w in words if "." in w}  # given to a function that asks
        asked |= {w for call in re.findall(r"\bapp\.t\(([^)]*)", code) for w in re.findall(r'"([^"]+)"', call)}
        for template in re.findall(r"`([\w.]+\$\{[^`]*)`", code):  # the rest of the name is a word of the code, too
            pattern = "([a-z_.]*)".join(re.escape(part) for part in re.split(r"\$\{[^}]*\}", template))
            asked |= {n for n in names if (found := re.fullmatch(pattern, n)) and {*found.groups()} <= words}
        self.assertEqual(names - asked, set())


class Joined(unittest.TestCase):
    """tools/embed.py: modules that become one script."""

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(SOURCES.parent / "tools"))
        cls.embed = __import__("embed")

    def test_order_and_names(self):
        sources = {"main.js": 'import { $, b } from "./b.js";\nimport * as c from "./c.js";\nstart($, b, c);\n',
                   "b.js": 'import d from "./d.js";\nexport const $ = 1;\nexport async function b() {}\nd();\n',
                   "c.js": 'import d from "./d.js";\nexport function f() {}\n', "d.js": "export default { d: 1 };\n"}
        text, order = self.embed.join("main.js", sources)
        self.assertEqual(order, ["d.js", "b.js", "c.js", "main.js"])
        self.assertEqual(text.count('modules["d.js"] = '), 1)
        self.assertNotRegex(text, r"(?m)^\s*(import|export)")
        self.assertIn('const { $, b } = modules["b.js"];', text)
        self.assertIn("return { $, b };", text)
        self.assertNotIn('modules["d.js"] = ', self.embed.join("c.js", sources, ["d.js"])[0])

    def test_refused(self):
        long = "/* a */ b {\n  c;\n  // d\n\n  /* e\n   * f */\n}\n/* g */\n"
        self.assertEqual(self.embed.shorten("a.js", long), "/* a */ b {\nc;\n}\n")
        for text in ("", "import('./later.js');\n"):
            with self.assertRaises(SystemExit):
                self.embed.join_page({"main.js": text, "later.js": ""})
        for sources in ({"a.js": "export const a = 1, b = 2;\n"}, {"a.js": "export const { a } = b;\n"},
                        {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import * as a from "./a.js";\n'},
                        {"a.js": 'import { b } from "./b.js";\n', "b.js": "export const c = 1;\n"},
                        {"a.js": 'import "./b.js";\n', "b.js": ""}, {"a.js": "export let a = 1;\n"},
                        {"a.js": "export { a };\n"}):
            with self.assertRaises(SystemExit):
                self.embed.join("a.js", sources)
        with self.assertRaises(SystemExit):
            self.embed.shorten("a.js", "text = `a\n  b`;\n")
        with self.assertRaises(SystemExit):
            self.embed.put_in('<script src="a.js"></script>', lambda name: 'text = "</SCRIPT>";\n')


class Form(ServeTest):
    def ask(self, headers=None, **fields):
        answer = self.server.form("/", headers, **fields)
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        return answer, Page(answer.body.decode())

    def test_translation(self):
        answer, page = self.ask(text=TEXT, source="auto", target="en")
        self.assertEqual(answer.status, 200)
        self.assertEqual(page.texts["result"], self.translated(TEXT))
        self.assertEqual(page["result"]["lang"], "en")
        self.assertEqual(page.texts["source"].lstrip("\n"), TEXT)
        self.assertIn(": Chinese", page.texts["source-language"])
        self.assertEqual(page.options("source-language"), {"auto": False, "zh-Hans": False})
        _, page = self.ask(text=TEXT, source="zh", target="en")
        self.assertEqual(page.options("source-language"), {"auto": False, "zh-Hans": True})
        self.assertEqual(page.options("target-language"), {"en": True})
        self.assertNotIn(": Chinese", page.texts["source-language"])

    def test_lines(self):
        text = "你好。\r\n\r\n  再见。"  # as browsers send line breaks
        _, page = self.ask(text=text, source="zh", target="en")
        self.assertEqual([line.strip() for line in page.texts["result"].split("\n")],
                         [self.translated("你好。"), "", self.translated("再见。")])

    def test_hostile_texts(self):
        for text in (HOSTILE, HOSTILE + TEXT, "\n\n" + HOSTILE):
            for answer in (self.server.form("/", text=text, source=HOSTILE, target="en"),
                           self.server.form("/", text=text, source="zh", target=HOSTILE),
                           self.server.form("/", text=text, source="zh", target="en", api_key=HOSTILE),
                           self.server.get("/", text=text, source=HOSTILE, target=HOSTILE, api_key=HOSTILE)):
                page = Page(answer.body.decode())
                self.assertEqual([t for t, _ in page.tags], [t for t, _ in Page(self.server.get("/").body.decode()).tags])
                self.assertEqual(page.texts["source"].removeprefix("\n"), text)
                self.assertEqual(page.open, [])

    def test_errors(self):
        long = "好" * 100_001
        for fields, status in (({"text": TEXT, "source": "zh", "target": "xx"}, 400), ({"text": TEXT}, 400),
                               ({"text": TEXT, "source": "en", "target": "zh"}, 400), ({"target": "en"}, 200),
                               ({"text": "", "target": "en"}, 200), ({"text": [TEXT, TEXT], "target": "en"}, 200),
                               ({"text": long, "source": "zh", "target": "en"}, 400)):
            answer, page = self.ask(**fields)
            self.assertEqual(answer.status, status, fields)
            self.assertEqual("hidden" in page["notice"], status == 200)
            self.assertEqual(bool(page.texts["notice-text"] if "notice-text" in page.texts else ""), status != 200)
            self.assertEqual(page.texts.get("result", ""), "")
        for body in (b"{", b"text=%ff", b"%00=" + b"&" * 9000):
            answer = self.server.ask("POST", "/", body, {"Content-Type": "application/x-www-form-urlencoded"})
            self.assertIn(answer.status, (200, 400))
            self.assertTrue(answer.body.startswith(b"<!doctype html>"), answer)

    def test_address_fills_the_form(self):
        page = Page(self.server.get("/", text=TEXT + "\n", source="zh", target="EN").body.decode())
        self.assertEqual(page.texts["source"], "\n" + TEXT + "\n")
        self.assertEqual(page.options("source-language"), {"auto": False, "zh-Hans": True})
        self.assertEqual(page.options("target-language"), {"en": True})
        self.assertEqual(page.texts.get("result", ""), "")

    def test_prefix(self):
        server = self.start("--url-prefix", "/a/b")
        self.assertEqual(server.get("/").status, 404)
        self.assertEqual(server.get("/a/b/").body, self.server.get("/").body)
        self.assertEqual(server.get("/a/b/page/later.js").status, 200)
        answer = server.get("/a/b")
        self.assertEqual((answer.status, answer.headers["Location"]), (308, "b/"))  # relative: a proxy may have another path
        self.assertEqual(server.get("/a/bc").status, 404)
        self.assertIn(self.translated(TEXT), server.form("/a/b/", text=TEXT, target="en").body.decode())

    def test_many_languages(self):
        server = self.start("-m", support.MANY)
        page = Page(server.get("/", {"Accept-Language": "zh"}, source="fr", target="pt").body.decode())
        self.assertGreater(len(page.options("source-language")), 50)
        self.assertEqual([v for v, chosen in page.options("target-language").items() if chosen], ["pt"])
        for language, target in (("zh", "zh-Hans"), ("en", "en")):
            page = Page(server.get("/", {"Accept-Language": language}).body.decode())
            self.assertEqual([v for v, chosen in page.options("target-language").items() if chosen], [target])


class Keys(ServeTest):
    def test_keys(self):
        file = self.folder() / "keys"
        file.write_text("secret 3 1000\n")
        file.chmod(0o600)
        server = self.start("--api-keys", file)
        page = Page(server.get("/").body.decode())
        self.assertNotIn("hidden", page["key-bar"])
        self.assertEqual(server.get("/page/later.js").status, 200)
        self.assertEqual(server.get("/v1/languages").status, 200)
        for key in (None, "wrong", HOSTILE):
            answer = server.form("/", {"Accept-Language": "zh"}, text=TEXT, target="en", **({"api_key": key} if key else {}))
            self.assertEqual(answer.status, 403)
            page = Page(answer.body.decode())
            self.assertIn("密钥", page.texts["notice-text"])
            self.assertEqual(page["key"]["value"], key or "")
            self.assertEqual(page.texts["source"], "\n" + TEXT)
        statuses = []
        for _ in range(4):
            answer = server.form("/", text=TEXT, target="en", api_key="secret")
            statuses.append(answer.status)
        self.assertEqual(statuses, [200, 200, 200, 429])
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertIn("minute", Page(answer.body.decode()).texts["notice-text"])
        self.assertIn("hidden", Page(self.server.get("/").body.decode())["key-bar"])
        self.assertRegex(self.server.get("/metrics").body.decode(), r'route="/"')
