"""The mutations of mutate.py: a function for each format, which changes one or a few parts of the format, and `mutate`,
which chooses among the functions by the file's name and content.

Each function takes the file's bytes and a random.Random, and returns other bytes. A checksum is corrected if a wrong one
would keep the reader from reading the rest.
"""
import copy
import io
import json
import pickletools
import re
import struct
import warnings
import zipfile

warnings.filterwarnings("ignore", "Duplicate name", module="zipfile")  # intended

LIMITS = [-1, 0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 2**15 - 1, 2**15, 2**16 - 1, 2**16, 10**6, 2**31 - 1, 2**31,
          2**32 - 1, 2**32, 2**53, 2**60, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
FLOATS = [float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1e38, -1e38, 1e-45, 1e10]
FEW = [1, 1, 1, 2, 3]  # changes at a time


def little(number, size):
    return (number % 256**size).to_bytes(size, "little")


# ------------------------------------------------------------------------------------------------------------- any file


def place(data, chance):
    """An offset: often near the beginning or the end, where sizes and tables are."""
    if not data:
        return 0
    near = chance.choice([64, 256, 4096, len(data), -600])
    offset = chance.randrange(min(abs(near), len(data)))
    return offset if near > 0 else len(data) - 1 - offset


def change_bytes(data, chance):
    for _ in range(chance.choice(FEW)):
        at, size = place(data, chance), chance.choice([1, 2, 4, 8, 16, 100])
        front, rest = data[:at], data[at + size:]
        part = data[at:at + size]
        other = place(data, chance)
        data = chance.choice([
            lambda: front + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:] if data else b"\0",
            lambda: front + chance.randbytes(1) + data[at + 1:],
            lambda: front,  # truncated
            lambda: front + rest,  # bytes removed
            lambda: front + part * chance.choice([2, 3, 50]) + rest,  # bytes repeated
            lambda: front + chance.randbytes(chance.choice([1, 8, 4096])) + data[at:],  # bytes inserted
            lambda: front + bytes([chance.choice([0, 127, 128, 255])]) * len(part) + rest,
            lambda: front + data[other:other + size] + rest,  # copied from another place
            lambda: data[:min(at, other)] + data[max(at, other):] + data[min(at, other):max(at, other)],  # swapped
            lambda: front + little(chance.choice(LIMITS), 4) + data[at + 4:],
            lambda: front + little(chance.choice(LIMITS), 8) + data[at + 8:],
            lambda: front + little(int.from_bytes(data[at:at + 4], "little") + chance.choice([-256, -1, 1, 256]), 4) +
            data[at + 4:],
            lambda: front + struct.pack("<f", chance.choice(FLOATS)) + data[at + 4:],
        ])()
    return data


def change_fields(data, chance, fields):
    """fields: (offset, size) of the format's numbers and texts. Some are replaced by others of the same size."""
    data = bytearray(data)
    for _ in range(chance.choice(FEW)):
        at, size = chance.choice(fields)
        if size > 8:
            changed = change_bytes(bytes(data[at:at + size]), chance)[:size]
            data[at:at + size] = changed + bytes(size - len(changed))
        else:
            old = int.from_bytes(data[at:at + size], "little")
            near = [old + 1, old - 1, old * 2, old // 2, old ^ 1, old + 32, old - 64, chance.randrange(40)]
            data[at:at + size] = little(chance.choice(LIMITS + near), size)
    return bytes(data)


# ----------------------------------------------------------------------------------------------------------------- JSON

VALUES = [-1, 0, 1, 2, 3, 7, 1000, 10**6, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -2**31, -2**63, 1e308, -1e308,
          5e-324, 0.5, -0.0,
          "", "x", "x" * 70000, "\0", "é", "▁", "\x1b[31m", "\u202e", "-1", "NaN", "../../etc/passwd", "relu", "gelu",
          "swish", "<unk>",
          [], {}, [[]], {"a": 1}, [1, 2, 3], None, True, False]
RAW = ["NaN", "-Infinity", "1e999", "9" * 400, "-0", "1e-400", "0x10", "01", "nul", "[" * 3000 + "]" * 3000,
       "[" * 100000, '{"a":' * 2000 + "1" + "}" * 2000, r'"\ud800"', r'"\u0000"', '"' + "a" * 300000 + '"']


def nodes(value, parents=()):
    """(object or array, key or index) of everything in value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from nodes(value[key])


def change_json(data, chance):
    try:
        root = [json.loads(data)]
    except ValueError:
        return change_bytes(data, chance)
    raw = []
    for _ in range(chance.choice(FEW)):
        every = list(nodes(root))
        top = [(holder, key) for holder, key in every if holder is root[0]]  # settings are near the root
        holder, key = chance.choice(top if top and chance.random() < .6 else every)
        other, other_key = chance.choice(every)
        kind = chance.choice(["value", "value", "value", "near", "raw", "delete", "rename", "copy", "swap", "longer"])
        number = isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool)
        if kind == "near" and number:
            holder[key] = chance.choice([holder[key] + 1, holder[key] - 1, holder[key] * 2, -holder[key],
                                         holder[key] / 2])
        elif kind == "raw":
            holder[key] = f"@raw{len(raw)}@"
            raw.append(chance.choice(RAW))
        elif kind == "delete" and holder is not root:
            del holder[key]
        elif kind == "rename" and isinstance(holder, dict):
            holder[chance.choice(["", "x", key + "x", key.upper(), "\0"])] = holder.pop(key)
        elif kind == "copy":
            holder[key] = json.loads(json.dumps(other[other_key]))
        elif kind == "swap" and not any(isinstance(value, (dict, list)) for value in (holder[key], other[other_key])):
            holder[key], other[other_key] = other[other_key], holder[key]
        elif kind == "longer" and isinstance(holder[key], list):
            holder[key] += holder[key][:1] * chance.choice([1, 10, 1000])
        else:
            holder[key] = copy.deepcopy(chance.choice(VALUES))  # so that a later change does not change VALUES
    text = json.dumps(root[0], ensure_ascii=chance.random() < .5)
    for i, value in enumerate(raw):
        text = text.replace(f'"@raw{i}@"', value)
    if chance.random() < .1 and len(text) > 2:  # each key twice
        text = text.replace("{", "{" + text[1:-1] + ",", 1)
    return text.encode("utf-8", "surrogatepass")


# --------------------------------------------------------------------------------------------- safetensors, npy, pickle


def change_safetensors(data, chance):
    size = int.from_bytes(data[:8], "little")
    header = change_json(data[8:8 + size], chance)
    return little(len(header), 8) + header + data[8 + size:]


def change_npy(data, chance):
    size = int.from_bytes(data[8:10], "little")
    header = data[10:10 + size]
    header = chance.choice([
        lambda: change_bytes(header, chance),
        lambda: re.sub(rb"[<|][a-z]\d", chance.choice([b">f4", b"<f8", b"|i1", b"<i4", b"<f2", b"|O8", b"<c8", b"|u1"]),
                       header),
        lambda: header.replace(b"False", b"True"),
        lambda: re.sub(rb"\d+", str(chance.choice(LIMITS)).encode(), header, count=chance.choice([1, 2, 3])),
        lambda: header.replace(b",)", b")").replace(b", ", b",1, ", 1),
    ])()[:65535]
    return data[:8] + little(len(header), 2) + header + data[10 + size:]


OPERATIONS = [b"(", b"t", b"R", b"b", b"s", b"u", b"0", b"1", b"2", b"}", b"]", b")", b"N", b"Q", b"e", b"a", b"l",
              b"d", b"\x81", b"\x85",
              b"\x86", b"\x87", b"\x90", b".", b"K\xff", b"J\xff\xff\xff\xff", b"J\xff\xff\xff\x7f",
              b"\x8a\x08" + b"\xff" * 7 + b"\x7f",
              b"\x8a\x00", b"\x8a\x09" + b"\xff" * 9, b"G\x7f\xf8" + bytes(6), b"I-5\n", b"L" + b"9" * 40 + b"L\n",
              b"F1e999\n", b"h\0", b"h\xff", b"j\xff\xff\xff\xff", b"q\0", b"r\xff\xff\xff\xff"]


def change_pickle(data, chance):
    """Operations of the first pickle in data."""
    try:
        starts = [at for _, _, at in pickletools.genops(data)]
    except ValueError:
        return change_bytes(data, chance)
    end = data.index(b".", starts[-1]) + 1
    parts = [data[start:stop] for start, stop in zip(starts, starts[1:] + [end])]
    for _ in range(chance.choice(FEW)):
        i, j = chance.randrange(len(parts)), chance.randrange(len(parts))
        parts[i:i + 1] = chance.choice([
            lambda: [], lambda: [parts[i], parts[j]], lambda: [parts[j]], lambda: [chance.choice(OPERATIONS)],
            lambda: [chance.choice(OPERATIONS), parts[i]], lambda: parts[i:i + 1] * chance.choice([2, 50]),
            lambda: [parts[i][:1] + change_bytes(parts[i][1:], chance)]])()
    return b"".join(parts) + data[end:]


# ------------------------------------------------------------------------------------------------------------------ zip


def change_zip(data, chance):
    """Members, with good checksums, or their names."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist() if not info.is_dir()]
    small = [i for i, (_, content) in enumerate(members) if 0 < len(content) < 5000]
    chosen = chance.choice(small if small and chance.random() < .6 else range(len(members)))
    name, content = members[chosen]
    kind = chance.choice(["content", "content", "content", "content", "name", "gone", "twice", "link"])
    if kind == "content":
        members[chosen] = name, mutate(name, content, chance)
    elif kind == "name":
        members[chosen] = chance.choice(["../x", "/etc/x", "a/../../b", "..\\x", name.upper(), name + "/", name * 50,
                                         "\u202e" + name, "./" + name, "//" + name, name + "x"]), content
    elif kind == "twice":
        members.insert(chance.randrange(len(members) + 1), (name, change_bytes(content, chance)))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i, (name, content) in enumerate(members):
            info = zipfile.ZipInfo(name)
            info.compress_type = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
            info.external_attr = 0o120777 << 16 if kind == "link" and i == chosen else 0
            if kind != "gone" or i != chosen:
                archive.writestr(info, content)
    return out.getvalue()


# ----------------------------------------------------------------------------------------------------------- text, YAML

NUMBERS = [b"-1", b"0", b"99999999999999999999", b"2147483648", b"1e308", b"nan", b".inf", b"1e-400", b"0x7fffffff",
           b"~", b"''"]
LINES = [b"", b"%YAML 9.9", b"---", b"...", b"- [[[[[[[[[[", b"[" * 20000, b"? a", b"<<: *b", b"&a [&b [*a,*b]]",
         b"a: &a [x,x]\nb: [*a,*a]"]
ENDS = [b": &a [*a]", b"\t", b" #", b'"', b"[", b"{", b"x" * 70000, b": !!binary ====", b": *x", b"\xff\xfe", b"\0",
        b"\x1b[31m", b" 7"]


def change_text(data, chance):
    lines = data.split(b"\n")
    for _ in range(chance.choice(FEW)):
        i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
        lines[i:i + 1] = chance.choice([
            lambda: [change_bytes(lines[i], chance)], lambda: [lines[i], lines[j]], lambda: [lines[j]],
            lambda: [re.sub(rb"-?\d+(\.\d+)?", lambda _: chance.choice(NUMBERS), lines[i])],
            lambda: [lines[i] + chance.choice(ENDS)],
            lambda: [chance.choice(LINES)], lambda: [lines[i].replace(b" ", b"")], lambda: [lines[i][::-1]],
            lambda: [b"  " + lines[i]],
            lambda: lines[i:i + 1] * chance.choice([2, 1000]), lambda: [] if len(lines) > 1 else [b""]])()
    return b"\n".join(lines)


# --------------------------------------------------------------------------------------------------- tables of binaries


def gguf_fields(data):
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    tensors, entries = struct.unpack_from("<QQ", data, 8)
    fields, at = [(0, 4), (4, 4), (8, 8), (16, 8)], 24

    def take(size):
        nonlocal at
        fields.append((at, size))
        at += size
        return int.from_bytes(data[at - size:at], "little")

    def value(kind, few):
        nonlocal at, fields
        if kind == 8:
            take(take(8))
        elif kind == 9:
            kind, count = take(4), take(8)
            kept = len(fields) + 2 * few  # only a vocabulary's first texts, as it has so many
            for _ in range(count):
                value(kind, few)
            fields = fields[:kept]
        else:
            take(sizes[kind])
    for _ in range(entries):
        take(take(8))
        value(take(4), 6)
    for _ in range(tensors):
        take(take(8))
        for _ in range(take(4)):
            take(8)
        take(4), take(8)
    return fields


def ctranslate2_fields(data):
    fields, at = [], 0

    def take(size):
        nonlocal at
        fields.append((at, size))
        at += size
        return int.from_bytes(data[at - size:at], "little")
    take(4)
    take(take(2))
    take(4)
    for _ in range(take(4)):
        take(take(2))
        for _ in range(take(1)):
            take(4)
        take(1)
        at += take(4)
    for _ in range(take(4)):
        take(take(2)), take(take(2))
    return fields


def marian_fields(data):
    items = struct.unpack_from("<Q", data, 8)[0]
    # bytes of name, type, rank, bytes of data
    headers = [struct.unpack_from("<4Q", data, 16 + 32 * i) for i in range(items)]
    fields, at = [(8 * i, 8) for i in range(2 + 4 * items)], 16 + 32 * items
    for size, _, _, _ in headers:
        fields.append((at, size))
        at += size
    for _, _, rank, _ in headers:
        fields += [(at + 4 * i, 4) for i in range(rank)]
        at += 4 * rank
    return fields + [(at, 8)]


LEXICON = little(0xF11A48D5013417F5, 8)


def change_lexicon(data, chance):
    """Fields of Marian's shortlist: magic, checksum, then 64-bit numbers."""
    data = chance.choice([
        lambda: change_bytes(data, chance),
        lambda: change_fields(data, chance, [(at, 8) for at in range(16, 48, 8)]),
        lambda: change_fields(data, chance, [(at, 4) for at in range(48, len(data) - 3, 4)])])()
    seed = 0
    for (number,) in struct.iter_unpack("<Q", data[16:len(data) - len(data) % 8]):
        seed ^= number + 0x9E3779B9 + (seed << 6) + (seed >> 2)
        seed %= 2**64
    return data[:8] + little(seed, 8) + data[16:]


def protobuf_fields(data, start=0, end=None, depth=2):
    """Fields of a SentencePiece model: tags, sizes and values, in nested messages as well."""
    fields, at, end = [], start, len(data) if end is None else end

    def varint():
        nonlocal at
        value, first = 0, at
        while at < end:
            value |= (data[at] & 127) << 7 * (at - first)
            at += 1
            if data[at - 1] < 128:
                break
        fields.append((first, at - first))
        return value
    while at < end:
        kind = varint() & 7
        if kind == 0:
            varint()
        elif kind in (1, 5):
            fields.append((at, 8 if kind == 1 else 4))
            at += 8 if kind == 1 else 4
        elif kind == 2:
            size = varint()
            if depth and at + size <= end:
                fields += protobuf_fields(data, at, at + size, depth - 1)
            if size:
                fields.append((at, min(size, end - at)))
            at += size
        else:
            break
    return [(at, size) for at, size in fields if size and at + size <= len(data)]


# --------------------------------------------------------------------------------------------------------------- choice


def change_of(name, data):
    """The function for a file, or that for its table of fields; neither: only bytes are changed."""
    ending = name.rsplit(".", 1)[-1].lower()
    if data[:4] == b"GGUF":
        return None, gguf_fields
    if data[:4] == b"PK\3\4":
        return change_zip, None
    if data[:8] == LEXICON:
        return change_lexicon, None
    if data[:6] == b"\x93NUMPY":
        return change_npy, None
    if data[:4] == b"\6\0\0\0" and b"TransformerSpec" in data[:40]:
        return None, ctranslate2_fields
    if ending == "pkl" or data[:1] == b"\x80":
        return change_pickle, None
    if ending == "bin" and struct.unpack_from("<Q", data.ljust(8, b"\0"))[0] == 1:
        return None, marian_fields
    if ending in ("spm", "model") and data[:1] == b"\n":
        return None, protobuf_fields
    return {"json": change_json, "safetensors": change_safetensors, "yml": change_text, "txt": change_text,
            "model": change_text}.get(ending), None


def mutate(name, data, chance):
    change, fields = change_of(name, data)
    if data and chance.random() < .75:
        if change:
            return change(data, chance)
        if fields:
            return change_fields(data, chance, fields(data))
    return change_bytes(data, chance)
