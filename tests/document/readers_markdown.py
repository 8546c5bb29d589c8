#!/usr/bin/env python3
"""readers_markdown.py DOCUMENT_TOOL FILE...: other readers of Markdown find the same tree in a document and its translation.

FILE: spec.txt of CommonMark (https://spec.commonmark.org), whose examples are read each for itself, or Markdown documents.
Each is written with its own words, with longer ones, without spaces beside Chinese ones, and with its words and marks in
reverse order. Needs markdown-it-py and commonmark from PyPI."""
import re
import subprocess
import sys
import tempfile

import commonmark
from markdown_it import MarkdownIt

MARK = re.compile(r"(</?[a-z]\d+>|\{[a-z]\d+\})")

# Examples whose tree differs, and why.
EXPECTED = {
    "*$*alpha.\n\n*£*bravo.\n\n*€*charlie.\n":
        "md4c and GitHub follow CommonMark 0.30, where £ and € are no punctuation: what is emphasis here is none to others",
}


def tool(path, mode, text, lines=None):
    arguments = [path, "markdown", mode]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
        if lines is not None:
            file.write("".join(line + "\n" for line in lines))
            file.flush()
            arguments.append("lines=" + file.name)
        result = subprocess.run(arguments, input=text.encode(), capture_output=True)
    if result.returncode:
        raise SystemExit("%r: %s" % (text, result.stderr.decode()))
    return result.stdout.decode()


def split_nested(pieces):
    """Pieces of a unit as a tree: strings, and lists of a pair of marks with what is inside."""
    stack = [[]]
    for piece in pieces:
        if re.fullmatch(r"<[a-z]\d+>", piece):
            stack.append([piece])
        elif re.fullmatch(r"</[a-z]\d+>", piece):
            inner = stack.pop()
            stack[-1].append(inner + [piece])
        elif piece:
            stack[-1].append(piece)
    return stack[0]


def reverse(tree):
    out = []
    for node in reversed(tree):
        if isinstance(node, list):
            out.append(node[0] + reverse(node[1:-1]) + node[-1])
        else:
            out.append(node if MARK.fullmatch(node) else " ".join(reversed(node.split(" "))))
    return "".join(out)


def translate(unit, how):
    """A translation of a line of document-tool's list."""
    pieces = MARK.split(unit)
    if how == "own":
        return unit
    if how == "reversed":
        return reverse(split_nested(pieces)).strip()
    words = {"longer": lambda m: "long " + m.group(0) + "er words", "chinese": lambda m: "译文：" + m.group(0) + "。"}[how]
    return "".join(piece if MARK.fullmatch(piece) else re.sub(r"[^\W\d_]+", words, piece) for piece in pieces)


def inline_tree(tokens, ordered):
    stack = [[]]
    for token in tokens:
        if token.type in ("text", "softbreak", "text_special"):
            continue
        leaf = [token.type, re.sub(r"\s+", " ", token.content) if token.type in ("code_inline", "html_inline") else "",
                sorted((k, v) for k, v in token.attrs.items() if k != "alt")]
        if token.type == "image":
            leaf.append(inline_tree(token.children, ordered))
        if token.nesting > 0:
            stack.append([leaf])
        elif token.nesting < 0:
            inner = stack.pop()
            stack[-1].append(inner if ordered else [inner[0]] + sorted(inner[1:], key=repr))
        else:
            stack[-1].append(leaf)
    return stack[0] if ordered else sorted(stack[0], key=repr)


def markdown_it_tree(reader, text, ordered):
    tree = []
    for token in reader.parse(text):
        if token.type == "inline":
            tree.append(inline_tree(token.children, ordered))
        else:
            content = token.content if token.type in ("fence", "code_block", "html_block") else ""
            tree.append((token.type, token.tag, token.hidden, token.info, content, sorted(token.attrs.items())))
    return tree


def commonmark_tree(text, ordered):
    """The tree, with the children of what has text sorted if it is not ordered."""
    def node_tree(node):
        children, child = [], node.first_child
        while child:
            if child.t not in ("text", "softbreak"):
                children.append(node_tree(child))
            child = child.nxt
        keep = node.t in ("code", "code_block", "html_inline", "html_block")
        literal = re.sub(r"\s+", " ", node.literal or "") if keep else ""
        inline = node.t in ("paragraph", "heading", "emph", "strong", "link", "image")
        return [node.t, literal, node.destination, node.title, node.info,
                node.level if node.t == "heading" else 0, node.list_data.get("type"), node.list_data.get("tight"),
                children if ordered or not inline else sorted(children, key=repr)]
    return node_tree(commonmark.Parser().parse(text))


def examples(path):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if "\n" + "`" * 32 + " example" not in text:
        return [text]
    found = re.findall(r"^`{32} example[^\n]*\n(.*?)^\.\n.*?^`{32}$", text, re.M | re.S)
    return [example.replace("→", "\t") for example in found]


def check(path, name, text, readers):
    failures = 0
    units = tool(path, "list", text).split("\n")[:-1]
    for how in ("own", "longer", "chinese", "reversed"):
        out = tool(path, "write", text, [translate(unit, how) for unit in units])
        for reader_name, tree in readers:
            ordered = how != "reversed"
            try:
                before = tree(text, ordered)
            except Exception:  # the reader fails on this example
                continue
            after = tree(out, ordered)
            if before != after and text not in EXPECTED:
                failures += 1
                print("%s, %s, %s:\n%s\n--- becomes\n%s\n" % (name, how, reader_name, text, out))
                if "-v" in sys.argv:
                    print(before, after, sep="\n")
    return failures, len(units)


def main():
    path, files = sys.argv[1], [a for a in sys.argv[2:] if a != "-v"]
    plain = MarkdownIt("commonmark")
    github = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    readers = [("markdown-it", lambda text, ordered: markdown_it_tree(plain, text, ordered)),
               ("markdown-it with tables", lambda text, ordered: markdown_it_tree(github, text, ordered)),
               ("commonmark", commonmark_tree)]
    failures = documents = units = 0
    for file in files:
        for number, text in enumerate(examples(file), 1):
            found, count = check(path, "%s %d" % (file.rsplit("/")[-1], number), text, readers)
            failures += found
            units += count
            documents += 1
    print("%d documents, %d units, %d differences" % (documents, units, failures))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
