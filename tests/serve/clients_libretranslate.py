#!/usr/bin/env python3
"""LibreTranslate's client for Python, libretranslatepy, with this server in place of LibreTranslate.

    python3 tests/serve/clients_libretranslate.py --check [--tool build/translate]    (../engines/engines.py)

Prints one line and compares nothing where the client is missing.
"""
import pathlib
import sys
import tempfile
import urllib.error

try:
    import libretranslatepy
except ImportError:
    libretranslatepy = None

import support

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engines"))
import engines  # noqa: E402  (found by the path above)

WEATHER, READING = "今天天气很好。", "我喜欢读书。"


def status_of(call, *arguments):
    try:
        call(*arguments)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def check(to, url):
    client = libretranslatepy.LibreTranslateAPI(url, api_key="key")
    translated = support.ServeTest.translated
    to.same("a text", translated(WEATHER), client.translate(WEATHER, "zh", "en"))
    to.same("a text whose language is detected", translated(READING), client.translate(READING, "auto", "en"))
    to.same("detection", "zh-Hans", client.detect(WEATHER)[0]["language"])
    to.same("languages", ["zh-Hans", "en"], [one["code"] for one in client.languages()])
    to.same("a language without a model", 400, status_of(client.translate, WEATHER, "zh", "de"))
    to.same("wrong key", 403, status_of(libretranslatepy.LibreTranslateAPI(url, api_key="x").translate, WEATHER, "zh", "en"))


def main():
    to = engines.Check()
    if not libretranslatepy:
        print("libretranslatepy is not installed: not compared")
        return
    support.TOOL, support.MODEL = str(to.tool), str(HERE.parent / "small_model" / "zh-en.gguf")
    with tempfile.TemporaryDirectory() as folder:
        keys = pathlib.Path(folder) / "keys"
        keys.write_text("key\n")
        server = support.Server("--api-keys", keys)
        try:
            check(to, "http://{}:{}/".format(*server.address))
        finally:
            to.same("the end of the server", 0, server.end())
    to.finish()


if __name__ == "__main__":
    main()
