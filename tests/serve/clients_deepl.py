#!/usr/bin/env python3
"""DeepL's own clients, for Python and Node.js, with this server in place of theirs.

    python3 tests/serve/clients_deepl.py --check [--node] [--tool build/translate]    (../engines/engines.py)

Without --node the client for Python, which this Python must have; with it that for Node.js (NODE_PATH is the folder of its
package). Prints one line and compares nothing where it is missing.
"""
import io
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import deepl
except ImportError:
    deepl = None

import support

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engines"))
import engines  # noqa: E402  (found by the path above)

WEATHER, READING = "今天天气很好。", "我喜欢读书。"
HTML = "<p>今天<b>天气</b>很好。</p>"
NODE = ["node", str(HERE / "clients_deepl.js")]


def error_of(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except deepl.DeepLException as error:
        return type(error).__name__
    return "none"


def check_texts(to, client):
    one = client.translate_text(WEATHER, target_lang="EN-US")
    to.same("a text", (TRANSLATED[WEATHER], "ZH", len(WEATHER)), (one.text, one.detected_source_lang, one.billed_characters))
    many = client.translate_text([READING, WEATHER], source_lang="ZH", target_lang=deepl.Language.ENGLISH_BRITISH)
    to.same("texts", [TRANSLATED[READING], TRANSLATED[WEATHER]], [t.text for t in many])
    html = client.translate_text(HTML, target_lang="EN-US", tag_handling="html", ignore_tags=["code"], splitting_tags="br",
                                 outline_detection=False).text
    to.same("HTML", (True, True), (html.startswith("<p>"), "</b>" in html))
    one = client.translate_text(WEATHER, target_lang="EN-US", formality=deepl.Formality.PREFER_MORE, context="a letter",
                                split_sentences=deepl.SplitSentences.NO_NEWLINES, preserve_formatting=True,
                                model_type=deepl.ModelType.PREFER_QUALITY_OPTIMIZED)
    to.same("options", (TRANSLATED[WEATHER], "quality_optimized"), (one.text, one.model_type_used))


def check_languages(to, client):
    to.same("sources", [("ZH", "Chinese")], [(one.code, one.name) for one in client.get_source_languages()])
    to.same("targets", [("EN-GB", False), ("EN-US", False)],
            [(one.code, one.supports_formality) for one in client.get_target_languages()])
    to.same("pairs", [("zh", "en")], [(one.source_lang, one.target_lang) for one in client.get_glossary_languages()])
    before = client.get_usage().character.count
    client.translate_text(WEATHER, target_lang="EN-US")
    usage = client.get_usage()
    to.same("usage", (before + len(WEATHER), False), (usage.character.count, usage.any_limit_reached))


def check_glossaries(to, client):
    made = client.create_glossary("terms", "ZH", "EN", {"天气": "climate", "# 很": "a,b"})
    to.same("a glossary", ("terms", True, "ZH", "EN", 2),
            (made.name, made.ready, made.source_lang, made.target_lang, made.entry_count))
    to.same("listed", [made.glossary_id], [one.glossary_id for one in client.list_glossaries()])
    to.same("its entries", {"天气": "climate", "# 很": "a,b"}, client.get_glossary_entries(made))
    to.same("its time", made.creation_time, client.get_glossary(made.glossary_id).creation_time)
    to.same("used", True, "climate" in client.translate_text_with_glossary(WEATHER, made).text)
    client.delete_glossary(made)
    to.same("deleted", "GlossaryNotFoundException", error_of(client.get_glossary, made.glossary_id))
    made = client.create_glossary_from_csv("csv", "ZH", "EN", '天气,"climate",zh,en\n'.encode().decode())
    to.same("of CSV", {"天气": "climate"}, client.get_glossary_entries(made))
    client.delete_glossary(made)


def check_multilingual_glossaries(to, client):
    def terms(entries):
        return deepl.api_data.MultilingualGlossaryDictionaryEntries("ZH", "EN-US", entries)
    made = client.create_multilingual_glossary("terms", [terms({"天气": "climate"})])
    to.same("a glossary of version 3", ("terms", [("ZH", "EN", 1)]),
            (made.name, [(d.source_lang, d.target_lang, d.entry_count) for d in made.dictionaries]))
    used = client.translate_text(WEATHER, source_lang="ZH", target_lang="EN-US", glossary=made)
    to.same("used", True, "climate" in used.text)
    to.same("renamed", "other", client.update_multilingual_glossary_name(made, "other").name)
    client.update_multilingual_glossary_dictionary(made, terms({"好": "fine"}))
    entries = client.get_multilingual_glossary_entries(made, "ZH", "EN").dictionaries
    to.same("merged", {"天气": "climate", "好": "fine"}, deepl.util.convert_tsv_to_dict(entries[0].entries))
    to.same("replaced", 1, client.replace_multilingual_glossary_dictionary(made, terms({"好": "fine"})).entry_count)
    to.same("listed", [made.glossary_id], [one.glossary_id for one in client.list_multilingual_glossaries()])
    client.delete_multilingual_glossary_dictionary(made, source_lang="ZH", target_lang="EN")
    to.same("none left", [], client.get_multilingual_glossary(made.glossary_id).dictionaries)
    client.update_multilingual_glossary_dictionary_from_csv(made, "ZH", "EN", "天气,climate")
    client.delete_multilingual_glossary(made)
    to.same("deleted", "GlossaryNotFoundException", error_of(client.get_multilingual_glossary, made.glossary_id))


def check_documents(to, client):
    out = io.BytesIO()
    status = client.translate_document(WEATHER, out, filename="a.txt", target_lang="EN-US")
    to.same("a document", (TRANSLATED[WEATHER], True, len(WEATHER)),
            (out.getvalue().decode(), status.done, status.billed_characters))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "a.html").write_text(HTML)
        client.translate_document_from_filepath(path / "a.html", path / "b.html", source_lang="ZH", target_lang="EN-US")
        to.same("a file", True, (path / "b.html").read_text().startswith("<p>"))
        to.same("another format", "DeepLException", error_of(client.translate_document_from_filepath, path / "a.html",
                                                            path / "b.pdf", target_lang="EN-US"))


def check_errors(to, client, url):
    to.same("wrong key", "AuthorizationException", error_of(deepl.Translator("none", server_url=url).get_usage))
    to.same("wrong language", "DeepLException", error_of(client.translate_text, WEATHER, target_lang="DE"))
    to.same("formality", "DeepLException", error_of(client.translate_text, WEATHER, target_lang="EN-US", formality="more"))
    to.same("no glossary", "DeepLException", error_of(client.translate_text, WEATHER, source_lang="ZH", target_lang="EN-US",
                                                      glossary="none"))
    to.same("too many", "DeepLException", error_of(client.translate_text, [WEATHER] * 51, target_lang="EN-US"))


def check_python(to, url):
    for client in deepl.Translator("key", server_url=url), deepl.DeepLClient("key", server_url=url):
        check_texts(to, client)
        check_languages(to, client)
        check_glossaries(to, client)
        check_documents(to, client)
        check_errors(to, client, url)
    check_multilingual_glossaries(to, client)


def check_node(to, url):
    done = subprocess.run([*NODE, url], capture_output=True, text=True, check=False)
    if done.returncode:
        to.same("node", "", done.stderr)
        return
    found = json.loads(done.stdout)
    html = found.pop("html")
    to.same("HTML", (True, True), (html.startswith("<p>"), "</b>" in html))
    nice, reading = TRANSLATED[WEATHER], TRANSLATED[READING]
    expected = {
        "text": [nice, "zh", len(WEATHER)], "texts": [reading, nice], "options": [nice, "quality_optimized"],
        "sources": ["zh"], "targets": ["en-GB", "en-US"], "pairs": [["zh", "en"]], "usage": len(WEATHER),
        "glossary": ["terms", True, "zh", "en", 1], "entries": {"天气": "climate"}, "listed": True, "used": True,
        "csv": {"天气": "climate"}, "multilingual": ["terms", 1], "multilingualUsed": True, "renamed": "other",
        "merged": {"天气": "climate", "好": "fine"}, "replaced": 1, "multilingualListed": True, "left": 0,
        "document": [nice, "done", len(WEATHER)],
        "errors": ["AuthorizationError", "DeepLError", "DeepLError", "GlossaryNotFoundError", "DeepLError"],
    }
    for name in sorted(expected | found):
        to.same(name, expected.get(name), found.get(name))


def main():
    to = engines.Check("--node")
    node = "--node" in to.given
    missing = subprocess.run([*NODE, "--try"], capture_output=True, check=False).returncode if node else not deepl
    if missing:
        print(f"{'deepl-node' if node else 'deepl'} is not installed: not compared")
        return
    support.TOOL, support.MODEL = str(to.tool), str(HERE.parent / "small_model" / "zh-en.gguf")
    TRANSLATED.update((text, support.ServeTest.translated(text)) for text in (WEATHER, READING))
    with tempfile.TemporaryDirectory() as folder:
        keys = pathlib.Path(folder) / "keys"
        keys.write_text("key\n")
        server = support.Server("--api-keys", keys)
        try:
            (check_node if node else check_python)(to, "http://{}:{}".format(*server.address))
        finally:
            to.same("the end of the server", 0, server.end())
    to.finish()


TRANSLATED = {}

if __name__ == "__main__":
    main()
