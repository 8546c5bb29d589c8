"""The description of the interfaces: it is whole, and says what the server does."""
import json
import pathlib
import re
import subprocess

import support
from support import ServeTest, multipart

SOURCES = pathlib.Path(__file__).parent.parent.parent / "src" / "serve"
TABLES = ("attention_api.c", "documents_api.c", "libretranslate_api.c", "openapi_api.c", "v1_api.c")
TEXT = "今天天气很好。"
BODIES = {
    "/v1/translate": {"text": [TEXT, "12"], "source": "zh", "target": "en", "scores": True, "align": True, "beam": 2,
                      "n_best": 2, "sentences": True},
    "/v1/attention": {"text": TEXT, "source": "zh", "target": "en", "parts": ["encoder", "decoder", "cross"]},
    "/translate": {"q": [TEXT], "source": "auto", "target": "en", "alternatives": 1},
    "/detect": {"q": TEXT},
    "/suggest": {},
}


def routes():
    """{(METHOD, PATH): whether it needs no key} of the tables that are described."""
    found = {}
    for name in TABLES:
        table = (SOURCES / name).read_text(encoding="utf-8").split("_routes[] = {")[1]
        for method, path, flags in re.findall(r'\{"([A-Z]+)", "([^"]+)", ([^}]+)\}', table):
            found[method, path] = "ROUTE_OPEN" in flags
    return found


class Description(ServeTest):
    def setUp(self):
        self.described = self.server.get("/openapi.json").json
        self.operations = {(method.upper(), path): operation for path, item in self.described["paths"].items()
                           for method, operation in item.items() if method != "parameters"}

    def find(self, reference):
        value = self.described
        for part in reference.removeprefix("#/").split("/"):
            value = value[part]
        return value

    def check(self, value, schema, place):
        """What is in an answer is described."""
        if "$ref" in schema:
            schema = self.find(schema["$ref"])
        if "oneOf" in schema:
            errors = []
            for option in schema["oneOf"]:
                try:
                    return self.check(value, option, place)
                except AssertionError as e:
                    errors.append(e)
            raise AssertionError(f"{place}: {errors}")
        types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
                 "null": type(None)}
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        self.assertTrue(any(isinstance(value, types[n]) for n in names), (place, value))
        if "enum" in schema:
            self.assertIn(value, schema["enum"], place)
        if isinstance(value, dict) and "properties" in schema:
            self.assertLessEqual(set(schema.get("required", ())), set(value), place)
            for name, inner in value.items():
                self.assertIn(name, schema["properties"], place)
                self.check(inner, schema["properties"][name], f"{place}.{name}")
        if isinstance(value, list) and "items" in schema:
            for i, inner in enumerate(value):
                self.check(inner, schema["items"], f"{place}[{i}]")

    def test_it_is_whole(self):
        version = subprocess.run([support.TOOL, "--version"], capture_output=True, check=True, text=True).stdout
        self.assertEqual(self.described["openapi"], "3.1.0")
        self.assertIn(self.described["info"]["version"], version.split())
        self.assertEqual(self.server.get("/spec").json, self.described)
        ids = [operation["operationId"] for operation in self.operations.values()]
        self.assertEqual(len(set(ids)), len(ids))
        for reference in re.findall(r'"\$ref": "([^"]+)"', json.dumps(self.described)):
            self.find(reference)
        for kind, named in self.described["components"].items():
            for name in named:
                used = f'"#/components/{kind}/{name}"' in json.dumps(self.described)
                self.assertTrue(used or kind == "securitySchemes" or name == "TokenEvent", name)

    def test_all_routes_are_described(self):
        described = {(method, re.sub(r"\{\w+\}", "*", path)): operation.get("security") == []
                     for (method, path), operation in self.operations.items()}
        self.assertEqual(described, routes())

    def test_all_fields_are_described(self):
        numbers = (SOURCES / "v1_api.c").read_text(encoding="utf-8").split("} numbers[] = {")[1].split("};")[0]
        schema = self.find("#/components/schemas/TranslateRequest")["properties"]
        for name, real, low, high in re.findall(r'\{"(\w+)", (true|false), ([^,]+), ([^}]+)\}', numbers):
            kind = schema[name]["type"]
            self.assertEqual(kind == "number", real == "true", name)
            if kind != "boolean":
                self.assertEqual((schema[name]["minimum"], schema[name]["maximum"]), (float(low), float(high)), name)

    def ask(self, method, path, document):
        path = path.replace("{id}", document).replace("{name}", document + ".a.txt")
        if path in ("/v1/documents", "/translate_file"):
            body, kind = multipart({"source": "zh", "target": "en"}, [("file", "a.txt", TEXT.encode())])
            return self.server.ask(method, path, body, {"Content-Type": kind})
        return self.server.post(path, BODIES[path]) if method == "POST" else self.server.ask(method, path)

    def test_all_that_is_described_is_there(self):
        document = self.server.upload("/v1/documents", "a.txt", TEXT.encode(), source="zh", target="en").json["id"]
        self.eventually(lambda: self.server.get("/v1/documents/" + document).json["status"] == "done")
        for (method, path), operation in sorted(self.operations.items(), reverse=True):  # DELETE comes after GET
            if method == "DELETE":
                continue
            answer = self.ask(method, path, document)
            self.assertIn(str(answer.status), operation["responses"], (method, path, answer))
            response = operation["responses"][str(answer.status)]
            response = self.find(response["$ref"]) if "$ref" in response else response
            kind = answer.headers["Content-Type"].split(";")[0]
            content = response["content"].get(kind, response["content"].get("*/*"))
            self.assertIsNotNone(content, (path, kind))
            if kind == "application/json":
                self.check(answer.json, content["schema"], path)
        self.assertEqual(self.ask("DELETE", "/v1/documents/{id}", document).status, 204)
        self.check(self.server.get("/v1/documents/x").json, self.find("#/components/schemas/Error"), "error")
        self.check(self.server.post("/translate", q=1).json, self.find("#/components/schemas/LibreError"), "error")
