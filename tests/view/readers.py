"""Readers for the files of `translate attention`, with Python's standard library."""
import ast
import html.parser
import io
import json
import struct
import zipfile


def read_npy(data):
    """Shape, type and elements, by numpy's description of its format."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size, = struct.unpack("<H", data[8:10])
    assert (10 + size) % 64 == 0 and data[9 + size:10 + size] == b"\n"
    header = ast.literal_eval(data[10:10 + size].decode("ascii"))
    assert set(header) == {"descr", "fortran_order", "shape"} and header["fortran_order"] is False
    body, kind = data[10 + size:], header["descr"]
    count = 1
    for n in header["shape"]:
        count *= n
    if kind.startswith("<U"):
        width = 4 * int(kind[2:])
        assert len(body) == count * width
        return header["shape"], [body[i:i + width].decode("utf-32-le").rstrip("\0") for i in range(0, len(body), width)]
    assert len(body) == 4 * count
    return header["shape"], list(struct.unpack(f"<{count}{'f' if kind == '<f4' else 'i'}", body))


def read_npz(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert all(e.compress_type == zipfile.ZIP_STORED for e in archive.infolist())
        return {name[:-4]: read_npy(archive.read(name)) for name in archive.namelist()}


class Page(html.parser.HTMLParser):
    """Tags, and contents of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.title, self.inside = [], [], "", None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside == "title":
            self.title += data


def read_page(data):
    page = Page(data.decode("utf-8"))
    at = [t for t in page.tags if t[0] == "script"].index(("script", {"type": "application/json", "id": "data"}))
    return page, json.loads(page.scripts[at])
