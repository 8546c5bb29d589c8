#!/usr/bin/env python3
"""XML and XLIFF documents that are written with other texts are the same for readers that others wrote: translate-toolkit
finds the translations and all inline elements in the targets of XLIFF, xml.etree the same elements in XML.

readers_xliff.py TOOL [FILE...]
TOOL    document-tool of a build
FILE    other documents than samples/xml/* and samples/xliff/*; .xlf, .xliff: XLIFF

Needs translate-toolkit from PyPI. By hand."""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as etree

from translate.storage import xliff, xliff2

SAMPLES = pathlib.Path(__file__).parent / "samples"
MARK = re.compile(r"(</?[a-z]\d+>|\{[a-z]\d+\})")


def run(tool, form, command, document, *arguments):
    done = subprocess.run([tool, form, command, "target=en", *arguments], input=document, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    return done.stdout


def translated(unit):
    """Another text with the same marks, the characters of XML among it."""
    return "".join(part if MARK.fullmatch(part) else part and f"&<'{part}\">" for part in MARK.split(unit))


def written(tool, form, document):
    units = run(tool, form, "list", document).decode().split("\n")[:-1]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as lines:
        lines.write("".join(translated(unit) + "\n" for unit in units))
        lines.flush()
        return run(tool, form, "write", document, "lines=" + lines.name), units


def elements(document, skipped=()):
    """Names and attributes of all elements, in their order."""
    return [(node.tag, sorted(item for item in node.attrib.items() if not item[0].endswith("}lang")))
            for node in etree.fromstring(document).iter() if node.tag not in skipped]


def plain(text):
    return re.sub(r"\s+", "", text)


def check_xml(tool, document):
    out, units = written(tool, "xml", document)
    assert sorted(elements(document)) == sorted(elements(out)), "elements differ"
    assert out.count(b"<![CDATA[") >= document.count(b"<![CDATA["), "sections are lost"
    assert out.count(b"<!--") == document.count(b"<!--"), "comments are lost"
    text = plain("".join(etree.fromstring(out).itertext())).replace("\\", "")
    for unit in units:
        for part in MARK.split(unit):
            if part and not MARK.fullmatch(part) and not re.search(r"\\", part):
                assert plain(f"&<'{part}\">") in text, f"{part} is lost"
    return len(units)


def inline(element):
    nodes = [node for node in element.iter() if node is not element]
    return sorted((re.sub(r".*}", "", str(node.tag)), node.get("id") or "") for node in nodes)


def check_xliff(tool, document):
    out, units = written(tool, "xliff", document)
    second = etree.fromstring(document).get("version", "").startswith("2")
    store = (xliff2.Xliff2File if second else xliff.xlifffile).parsestring(out)
    source = (xliff2.Xliff2File if second else xliff.xlifffile).parsestring(document)
    assert [unit.source for unit in store.units] == [unit.source for unit in source.units], "sources differ"
    root = etree.fromstring(out)
    names = "segment" if second else "trans-unit"
    found = 0
    for unit in root.iter():
        if re.sub(r".*}", "", str(unit.tag)) != names or unit.get("approved") == "yes":
            continue
        parts = {re.sub(r".*}", "", str(node.tag)): node for node in unit}
        if "target" not in parts:
            continue
        text = "".join(parts["target"].itertext())
        if "&<'" not in text:
            continue
        assert inline(parts["source"]) == inline(parts["target"]), f"inline elements differ: {text}"
        found += 1
    assert found == len(units), f"{found} targets, {len(units)} units"
    targets = [unit.target for unit in store.units if unit.target and "&<'" in str(unit.target)]
    assert targets or not units, "translate-toolkit sees no target"
    return len(units)


def main():
    tool, *files = sys.argv[1:]
    failed = 0
    for path in [pathlib.Path(file) for file in files] or sorted([*SAMPLES.glob("xml/*"), *SAMPLES.glob("xliff/*")]):
        check = check_xliff if path.suffix in (".xlf", ".xliff") else check_xml
        document = re.sub(rb'(<\?xml[^>]*encoding=")[^"]*', rb"\1UTF-8", path.read_bytes())
        try:
            etree.fromstring(document)
        except etree.ParseError as error:
            print(f"{path.name}: skipped: {error}")
            continue
        try:
            print(f"{path.name}: {check(tool, document)} units")
        except (AssertionError, RuntimeError, etree.ParseError) as error:
            failed += 1
            print(f"{path.name}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
