#!/usr/bin/env python3
"""Pictures of the page for README.md and docs: pictures.py TOOL FOLDER writes page.png (wide, light, with other
translations) and phone.png (Chinese, dark). It needs tools/browser.sh, and Pillow: build/browser/bin/pip install pillow."""
import io
import pathlib
import sys

import support
from page import DEFAULT_MODEL, browser, expect
from PIL import Image

WIDE = ("今天天气很好，我们一起去公园散步吧。这本书讲述了一个小村庄在五十年里的变化。会议改到下周三下午两点，"
        "请大家提前准备好材料。")
PHONE = "科学家发现，这种植物能在非常干燥的环境里生长。\n如果明天下雨，比赛就推迟到星期天。"


def open_page(server, text, **profile):
    """The page with a translation, in front of a server that has translated already."""
    page = browser.browser().new_context(**profile).new_page()
    page.goto(f"http://127.0.0.1:{server.address[1]}/")
    for typed in (text[:-1], text):
        with page.expect_response("**/v1/translate"):
            page.fill("#source", typed)
        expect(page.locator("#result")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator("#status")).to_contain_text("tokens/s" if profile["locale"] == "en-US" else "词元")
    return page


def save(page, path):
    """With few colours, as the page has them: smaller."""
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    support.TOOL, support.MODEL = sys.argv[1], DEFAULT_MODEL
    folder = pathlib.Path(sys.argv[2])
    server = support.Server()
    page = open_page(server, WIDE, locale="en-US", viewport={"width": 1100, "height": 690})
    page.locator("#result .sentence").nth(1).hover()
    page.locator("#result .sentence").nth(1).locator(".word").nth(3).click()
    expect(page.locator("#alternatives ul.old")).to_have_count(0)
    expect(page.locator("#alternatives ul button").first).to_be_visible()
    save(page, folder / "page.png")
    save(open_page(server, PHONE, locale="zh-CN", viewport={"width": 390, "height": 760}, color_scheme="dark",
                   is_mobile=True, has_touch=True), folder / "phone.png")
    server.end()


if __name__ == "__main__":
    main()
