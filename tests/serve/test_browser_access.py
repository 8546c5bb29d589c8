"""The page for everyone: keyboard, screen readers, colours, languages, sizes of screens, directions of writing."""
import re

import support
from page import PageTest, expect

TABS = ("text", "documents", "glossary", "attention")
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
PAPER = "getComputedStyle(document.body).backgroundColor"


class Access(PageTest):
    def test_axe_has_no_findings(self):
        for profile in ({}, {"locale": "zh-CN", "color_scheme": "dark"}, PHONE):
            with self.subTest(**profile):
                self.open(**profile)
                for tab in TABS:
                    self.page.click(f"#tab-{tab}")
                    self.accessible()
                self.page.click("#tab-text")
                self.translate("今天天气很好。")
                self.accessible()

    def test_axe_without_scripts(self):
        # axe-core is a script itself: it looks at the same page while the page's own scripts do not come.
        self.page = self.context().new_page()
        self.origin = f"http://127.0.0.1:{self.server.address[1]}"
        page = re.sub("<script.*?</script>", "", self.server.get("/").body.decode(), flags=re.DOTALL)
        self.page.route(self.origin + "/", lambda route: route.fulfill(body=page, content_type="text/html; charset=utf-8"))
        self.page.goto(self.origin)
        self.accessible()

    def test_parts_have_names(self):
        self.open()
        for role, name in (("textbox", "Source text"), ("group", "Translation"), ("combobox", "Source language"),
                           ("combobox", "Target language"), ("button", "Swap languages"), ("tab", "Glossary"),
                           ("combobox", "Colours"), ("combobox", "Language of this page"), ("tabpanel", "Text")):
            expect(self.page.get_by_role(role, name=name, exact=True)).to_have_count(1)

    def test_tabs_are_chosen_with_the_keyboard(self):
        self.open()
        self.page.focus("#tab-text")
        for key, tab in (("ArrowRight", "documents"), ("ArrowRight", "glossary"), ("End", "attention"),
                         ("ArrowRight", "text"), ("ArrowLeft", "attention"), ("Home", "text")):
            self.page.keyboard.press(key)
            expect(self.page.locator(f"#tab-{tab}")).to_be_focused()
            self.assertEqual([self.page.is_visible(f"#panel-{t}") for t in TABS], [t == tab for t in TABS])
            self.assertEqual([self.page.get_attribute(f"#tab-{t}", "aria-selected") for t in TABS],
                             ["true" if t == tab else "false" for t in TABS])

    def test_focus_is_visible_everywhere(self):
        """Tab reaches what can be used, in the order of the page, and shows where it is."""
        self.open()
        self.translate("今天天气很好。")
        for tab in TABS:
            self.page.click(f"#tab-{tab}")
            self.page.focus(f"#tab-{tab}")
            seen = []
            while True:
                self.page.keyboard.press("Tab")
                at = self.page.evaluate("""(() => { const e = document.activeElement, s = getComputedStyle(e);
                    const box = e.getBoundingClientRect();
                    return e === document.body ? null : { id: e.id || e.outerHTML.slice(0, 80), shown: box.width > 0,
                      marked: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0
                        || getComputedStyle(e.closest('.pane') || e).boxShadow !== 'none' }; })()""")
                if not at or at["id"] in seen:
                    break
                self.assertTrue(at["shown"] and at["marked"], at)
                seen.append(at["id"])
            self.assertGreater(len(seen), 2, tab)

    def test_language_of_the_interface_is_kept(self):
        self.open()
        self.assertEqual((self.page.get_attribute("html", "lang"), self.page.inner_text("#tab-documents")),
                         ("en", "Documents"))
        self.page.select_option("#interface-language", "zh")
        for _ in range(2):
            expect(self.page.locator("#tab-documents")).to_have_text("文档")
            expect(self.page.locator("#interface-language")).to_have_value("zh")
            self.assertEqual(self.page.get_attribute("html", "lang"), "zh")
            self.page.reload()

    def test_language_of_the_browser(self):
        self.open(locale="zh-CN")
        expect(self.page.locator("#tab-attention")).to_have_text("注意力")
        self.assertRegex(self.page.title(), "翻译")

    def test_everything_is_in_both_languages(self):
        """In Chinese no words are left in English, but names."""
        self.open(locale="zh-CN")
        for tab in TABS:
            self.page.click(f"#tab-{tab}")
            words = self.page.evaluate("""[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility())
              .flatMap((e) => [e.title, e.ariaLabel, e.placeholder,
                ...[...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data)])""")
            # Names of languages, formats, units and the model stay.
            english = [w.strip() for w in words if w and re.search(r"[a-z]{3,}", w) and not re.search("[一-鿿]", w)
                       and w.strip() not in ("English", "zh-en.gguf")]
            self.assertEqual(english, [], tab)

    def test_theme_is_kept(self):
        self.open(color_scheme="light")
        light = self.page.evaluate(PAPER)
        self.page.select_option("#theme", "dark")
        for _ in range(2):
            self.assertNotEqual(self.page.evaluate(PAPER), light)
            expect(self.page.locator("#theme")).to_have_value("dark")
            self.page.reload()
        self.page.select_option("#theme", "system")
        self.assertEqual(self.page.evaluate(PAPER), light)
        self.page.emulate_media(color_scheme="dark")
        self.assertNotEqual(self.page.evaluate(PAPER), light)

    def test_nothing_is_wider_than_the_screen(self):
        for width in (320, 360, 768, 1280):
            self.open(viewport={"width": width, "height": 740})
            for text in ("W" * 400, "今天天气很好。" * 20):
                self.translate(text)
                self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), width)
            for tab in TABS:
                self.page.click(f"#tab-{tab}")
                self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), width, tab)

    def test_panes_are_stacked_on_a_phone(self):
        def boxes():
            return self.page.locator("#source").bounding_box(), self.page.locator("#result").bounding_box()
        self.open(**PHONE)
        source, result = boxes()
        self.assertGreaterEqual(result["y"], source["y"] + source["height"])
        self.assertLessEqual(result["y"], 740)  # seen without scrolling
        self.open()
        source, result = boxes()
        self.assertGreaterEqual(result["x"], source["x"] + source["width"])

    def test_targets_are_large_enough_for_a_finger(self):
        self.open(**PHONE)
        self.translate("今天天气很好。")
        for tab in TABS:
            self.page.click(f"#tab-{tab}")
            small = self.page.evaluate("""[...document.querySelectorAll('button, select, input, [role=tab]')]
              .filter((e) => e.checkVisibility())
              .map((e) => [e.id || e.outerHTML, (e.closest('label') || e).getBoundingClientRect()])
              .filter(([, b]) => b.width < 24 || b.height < 24).map(([name]) => name)""")
            self.assertEqual(small, [], tab)

    def test_zoomed_letters(self):
        """At 200 % nothing lies over something else, or beyond the screen (WCAG 1.4.10: 320 pixels)."""
        self.open(viewport={"width": 640, "height": 400}, device_scale_factor=2)
        self.translate("今天天气很好。")
        self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), 640)

    def test_no_motion_for_those_who_want_none(self):
        self.open(reduced_motion="reduce")
        self.translate("今天天气很好。")
        self.assertEqual(self.page.evaluate(
            "document.getAnimations().filter((a) => a.effect.getComputedTiming().duration > 1).length"), 0)


class ManyLanguages(PageTest):
    """With a model of a hundred languages; its translations mean nothing."""
    ARGUMENTS = ("-m", support.MANY)

    def direction(self, name):
        return self.page.evaluate(f"document.querySelector('{name}').matches(':dir(rtl)') ? 'rtl' : 'ltr'")

    def test_text_from_right_to_left(self):
        self.open()
        self.page.select_option("#source-language", "ar")
        self.page.select_option("#target-language", "he")
        self.page.fill("#source", "مرحبا بالعالم")
        self.shows(re.compile(r"\S"))
        self.assertEqual(self.direction("#source"), "rtl")
        self.assertEqual(self.direction("#result"), "rtl")
        self.assertEqual(self.page.get_attribute("#result", "lang"), "he")
        self.page.fill("#source", "hello world")
        self.assertEqual(self.direction("#source"), "ltr")
        self.accessible()

    def test_languages_are_swapped(self):
        self.open()
        self.page.select_option("#source-language", "zh-Hans")
        self.page.select_option("#target-language", "en")
        self.translate("你好")
        result = self.page.inner_text("#result")
        self.page.click("#swap")
        expect(self.page.locator("#source-language")).to_have_value("en")
        expect(self.page.locator("#target-language")).to_have_value("zh-Hans")
        expect(self.page.locator("#source")).to_have_value(result)
        self.page.click("#swap")
        expect(self.page.locator("#source-language")).to_have_value("zh-Hans")

    def test_pair_is_kept(self):
        self.open()
        self.page.select_option("#source-language", "zh-Hans")
        self.page.select_option("#target-language", "fr")
        self.page.reload()
        expect(self.page.locator("#source-language")).to_have_value("zh-Hans")
        expect(self.page.locator("#target-language")).to_have_value("fr")

    def test_names_of_languages_follow_the_interface(self):
        self.open()
        for language, name in (("en", "French"), ("zh", "法语"), ("en", "French")):
            self.page.select_option("#interface-language", language)
            expect(self.page.locator("#target-language option[value=fr]")).to_have_text(name)
