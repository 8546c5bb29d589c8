#!/usr/bin/env python3
"""readers_data.py DOCUMENT-TOOL [FILE...]: other readers of JSON and YAML see the same structure with translated strings.

Needs PyYAML and ruamel.yaml. Without files, the samples. By hand."""
import json
import pathlib
import subprocess
import sys
import tempfile

import ruamel.yaml
import yaml

SAMPLES = pathlib.Path(__file__).parent / "samples"
NASTY = ["true: [yes] # {no}", "- it's", "\"quoted\" \\ text", "12", "Yes", "one\ntwo",
         "a\n\n  b\nc", "天 <b>😀</b>", "%d & *x"]


def tool(program, kind, data, command, *settings):
    return subprocess.run([program, kind, command, *settings], input=data, capture_output=True, check=True).stdout


def load_json(text):
    """Values of each line, or of the whole; pairs, so that no key is lost."""

    def pairs(members):
        return [[("key", key), value] for key, value in members]

    try:
        return [json.loads(text, object_pairs_hook=pairs)]
    except ValueError:
        return [json.loads(line, object_pairs_hook=pairs) for line in text.splitlines() if line]


def load_pyyaml(text):
    """Nodes, so that keys, tags and styles of all kinds stay."""

    def plain(node):
        if isinstance(node, yaml.ScalarNode):
            return (node.tag, node.value)
        if isinstance(node, yaml.SequenceNode):
            return (node.tag, [plain(item) for item in node.value])
        return (node.tag, [(plain(key), plain(value)) for key, value in node.value])

    return [plain(node) for node in yaml.compose_all(text, yaml.SafeLoader) if node]


def load_ruamel(text):
    reader = ruamel.yaml.YAML(typ="rt")
    reader.allow_duplicate_keys = True
    return list(reader.load_all(text))


def strings(value, found):
    """All strings, in order; keys too."""
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            strings(key, found)
            strings(item, found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            strings(item, found)
    return found


def shape(value):
    """The value with all strings alike, but for tags and keys, which a translation must not change."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return [(str(key), shape(item)) for key, item in value.items()]
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str):
        return value if value[0] != "tag:yaml.org,2002:str" else value[0]
    if isinstance(value, (list, tuple)):
        return [shape(item) for item in value]
    return value if isinstance(value, (int, float, type(None))) else str(value)


def check(program, path):
    kind = "yaml" if path.suffix in (".yaml", ".yml") else "json"
    loads = [load_pyyaml, load_ruamel] if kind == "yaml" else [load_json]
    data = path.read_bytes()
    units = tool(program, kind, data, "list").decode().splitlines()
    same = tool(program, kind, data, "write").decode()
    translated = [NASTY[i % len(NASTY)] if "x1" not in unit and "x2" not in unit else unit for i, unit in enumerate(units)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lines:
        lines.writelines(text.replace("\\", "\\\\").replace("\n", "\\n") + "\n" if text in NASTY else text + "\n"
                         for text in translated)
        lines.flush()
        written = tool(program, kind, data, "write", "lines=" + lines.name).decode()
    text = data.decode("utf-8-sig")
    for load in loads:
        before, anew, after = load(text), load(same), load(written)
        collapsed = [" ".join(s.split()) for s in strings(before, [])], [" ".join(s.split()) for s in strings(anew, [])]
        assert collapsed[0] == collapsed[1], (path, load.__name__, "written anew")
        assert shape(before) == shape(after), (path, load.__name__, "structure")
        found = strings(after, [])
        for unit in translated:
            assert any(unit.strip() in text for text in found) or "{x" in unit, (path, load.__name__, unit)
    print(f"{path}: {len(units)} units")


def main():
    program, files = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    for path in files or sorted([*(SAMPLES / "json").iterdir(), *(SAMPLES / "yaml").iterdir()]):
        check(program, path)


main()
