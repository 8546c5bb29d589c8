#!/usr/bin/env python3
"""Hostile files, given to the command: `info`, `convert` and `-m` must each end within a second and 50 MB, with one line
that names the file.

    test_hostile.py TRANSLATE FIXTURES [--no-limits]    (FIXTURES: the folder tests; a sanitizer has limits of its own)

tests/formats tests the messages of each reader for each kind of damage; this tests the command, its time and its memory.
"""
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import sys
import tempfile
import time
import unittest
import warnings
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats"))
import writers  # noqa: E402  (found by the path above)

TOOL, FIXTURES, LIMITS = "", pathlib.Path(), True
SECONDS, BYTES = 1, 50 * 10**6
HUGE = [2**31 - 1, 2**31, 2**32 - 1, 2**60, 2**62, 2**63 - 1]


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def u64(*values):
    return struct.pack(f"<{len(values)}Q", *values)


class HostileTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="translate-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.marker = self.folder / "harmed"

    # ---- running

    def run_tool(self, *arguments):
        """(status, stdout, stderr, seconds, peak)"""
        outputs = [self.folder / "stdout", self.folder / "stderr"]
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        actions += [(os.POSIX_SPAWN_OPEN, fd, str(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                    for fd, path in enumerate(outputs, 1)]
        start = time.monotonic()  # CPU time of the program; the limit for the clock is far higher, for a busy machine
        pid = os.posix_spawn(TOOL, [TOOL, *map(str, arguments)], os.environ, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        seconds = max(usage.ru_utime + usage.ru_stime, (time.monotonic() - start) / 20)
        return (os.waitstatus_to_exitcode(status), *(path.read_bytes() for path in outputs), seconds, usage.ru_maxrss * 1024)

    def refused(self, what, path, commands=("info", "convert", "-m")):
        out = self.folder / "out.gguf"
        ways = {"info": ("info", path), "convert": ("convert", "-q", path, out), "-m": ("-m", path, "a")}
        for way in commands:
            with self.subTest(what, way=way):
                status, stdout, stderr, seconds, peak = self.run_tool(*ways[way])
                message = stderr.decode("utf-8", "replace")
                self.assertEqual(status, 1, message[:1000])
                self.assertEqual(stdout, b"")
                self.assertRegex(message, r"\Atranslate: [^\n]+\n\Z")
                self.assertIn(str(path), message)
                self.assertLess(len(message), 1000)
                self.assertFalse(self.marker.exists(), "it ran what the file holds")
                self.assertFalse(out.exists())
                if LIMITS:
                    self.assertLessEqual(seconds, SECONDS, message)
                    self.assertLessEqual(peak, BYTES, message)

    # ---- files

    def marian(self, **files):
        """A directory of the fixture, with other files in place of its own: by name, _ for the dot."""
        folder = self.folder / "model"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(FIXTURES / "reference/fixtures/relu-1x1-f32/model", folder)
        for name, data in files.items():
            (folder / name.replace("__", ".")).write_bytes(data)
        if "pytorch_model__bin" in files:
            (folder / "model.safetensors").unlink()
        return folder

    def config(self, **changes):
        folder = FIXTURES / "reference/fixtures/relu-1x1-f32/model"
        return json.dumps({**json.loads((folder / "config.json").read_text()), **changes}).encode()

    def ct2(self, model):
        folder = self.folder / "ct2"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(FIXTURES / "ctranslate2/fixtures/marian-float32", folder)
        (folder / "model.bin").write_bytes(model)
        return folder

    def gguf(self, data):
        path = self.folder / "model.gguf"
        path.write_bytes(data)
        return path

    # ---- YAML

    def test_empty_yaml(self):
        """Empty files, which cannot be mapped: a vocabulary, options, and the settings inside a model."""
        folder = self.folder / "models"
        plain, bergamot, inside = folder / "plain", folder / "bergamot", folder / "inside"
        shutil.copytree(FIXTURES / "marian/fixtures/plain-npz", plain)
        shutil.copytree(FIXTURES / "marian/fixtures/plain-npz", inside)
        shutil.copytree(FIXTURES / "bergamot/fixtures/package", bergamot)
        (plain / "vocab.yml").write_bytes(b"")
        (bergamot / "config.intgemm8bitalpha.yml").write_bytes(b"")
        with zipfile.ZipFile(FIXTURES / "marian/fixtures/plain-npz/model.npz") as old, \
                zipfile.ZipFile(inside / "model.npz", "w") as new:
            for name in old.namelist():
                settings = name == "special:model.yml.npy"
                new.writestr(name, old.read(name) if not settings else self.npy(b"\0"))
        pairs = self.folder / "pairs"
        pairs.write_text("a\tb\n")
        for path, name in ((plain, "vocab.yml"), (bergamot, "config.intgemm8bitalpha.yml"),
                           (inside, "special:model.yml")):
            self.refused(name, path)
            for way in (("score", "-m", path, "-i", pairs), ("tokenize", "-m", path, "a"),
                        ("attention", "-m", path, "-o", self.folder / "a.html", "a")):
                with self.subTest(name, way=way[0]):
                    status, stdout, stderr, *_ = self.run_tool(*way)
                    self.assertEqual((status, stdout), (1, b""), stderr)
                    self.assertIn(f"{name}: is empty", stderr.decode())
        for way in (("info", "--models", folder), ("--models", folder, "-s", "en", "-t", "de", "a")):
            status, _, stderr, *_ = self.run_tool(*way)
            self.assertEqual(status, 1, stderr)
            self.assertIn("config.intgemm8bitalpha.yml: is empty", stderr.decode())

    def npy(self, data):
        header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({len(data)},), }}".ljust(117).encode() + b"\n"
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data

    # ---- pickles

    def torch_file(self, pickled):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("archive/data.pkl", pickled)
            archive.writestr("archive/data/0", bytes(64))
        return out.getvalue()

    def legacy_file(self, pickled):
        return (pickle.dumps(writers.LEGACY_MAGIC,
                             2) + pickle.dumps(1001, 2) + pickle.dumps({"little_endian": True}, 2) + pickled +
                pickle.dumps([], 2))

    def test_pickles(self):
        command = f"touch {self.marker}"

        class Call:
            def __init__(self, function, *arguments):
                self.call = function, arguments

            def __reduce__(self):
                return self.call
        text = command.encode()
        cases = {f"system, protocol {n}": pickle.dumps({"model": Call(os.system, command)}, n) for n in range(6)}
        cases.update({
            "eval": pickle.dumps(Call(eval, f"__import__('os').system('{command}')"), 2),
            "exec in a list": pickle.dumps([1, [Call(exec, f"open('{self.marker}', 'w')")]], 4),
            "inst": b"(S'" + text + b"'\nios\nsystem\n.",
            "obj": b"(cos\nsystem\nS'" + text + b"'\no.",
            "newobj": b"\x80\x02cos\nsystem\n(S'" + text + b"'\nt\x81.",
            "build": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\0\0\0acos\nsystem\nsb.",
            "extension": b"\x80\x02\x82\x01.",
            "marks": b"\x80\x02" + b"(" * 2_000_000 + b".",
            "lists in lists": b"\x80\x02" + b"]" * 1_000_000 + b"a" * 999_999 + b".",
            "doubled again and again": b"\x80\x02]q\0" + b"h\0h\0\x86q\0" * 200_000 + b".",
            "long text": b"\x80\x04\x8d" + u64(2**62) + b"x.",
            "long number": b"\x80\x02\x8b" + u32(2**31 - 1) + b"x.",
            "long bytes": b"\x80\x05\x96" + u64(2**63 - 1) + b"x.",
            "far place": b"\x80\x02Nr" + u32(2**32 - 1) + b".",
            "frame": b"\x80\x04\x95" + u64(2**62) + b"N.",
            "no end": b"\x80\x02}",
            "nothing": b"",
        })
        for name, pickled in cases.items():
            self.refused(f"zip: {name}", self.marian(pytorch_model__bin=self.torch_file(pickled)))
            self.refused(f"before zip: {name}", self.marian(pytorch_model__bin=self.legacy_file(pickled)), ("info",))

    # ---- zip archives

    def archive(self, compression=zipfile.ZIP_DEFLATED, **sizes):
        """The weights, deflated, followed by this number of MB of zeros. Only a part is in memory at a time, since Linux
        counts the peak of this process as that of the program it starts."""
        out = io.BytesIO()
        tensors = [("model.shared.weight", (203, 24), [bytes(4 * 203 * 24)])]
        with zipfile.ZipFile(out, "w", compression) as archive:
            for name, data in (("data.pkl", writers.dump(writers.state_dict(tensors), False)),
                               ("data/0", bytes(4 * 203 * 24))):
                with archive.open("archive/" + name, "w", force_zip64=True) as file:
                    file.write(data)
                    file.writelines(writers.repeat(bytes(1 << 20), sizes.get(name, 0) << 20))
        return out.getvalue()

    def test_zip_bombs(self):
        self.refused("storage", self.marian(pytorch_model__bin=self.archive(**{"data/0": 128})))
        self.refused("pickle", self.marian(pytorch_model__bin=self.archive(**{"data.pkl": 96})))
        small = self.archive()
        for size in (2**31 - 1, 2**32 - 2):  # in the directory, as the uncompressed size of each entry
            data, at = bytearray(small), small.find(b"PK\1\2")
            while at >= 0:
                data[at + 24:at + 28] = u32(size)
                at = small.find(b"PK\1\2", at + 1)
            self.refused(f"claims {size}", self.marian(pytorch_model__bin=bytes(data)))
        out = io.BytesIO()  # many names for the same bytes
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/data.pkl", bytes(1 << 20))
            for number in range(2000):
                again = zipfile.ZipInfo(f"archive/data/{number}")
                for key in ("header_offset", "compress_size", "file_size", "CRC", "compress_type", "flag_bits"):
                    setattr(again, key, getattr(archive.filelist[0], key))
                archive.filelist.append(again)
        self.refused("overlaps", self.marian(pytorch_model__bin=out.getvalue()))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2):
                archive.writestr("archive/data.pkl", b"N.")
        self.refused("twice the same name", self.marian(pytorch_model__bin=out.getvalue()))

    # ---- safetensors and JSON

    def header(self, text, size=None, data=bytes(64)):
        text = text if isinstance(text, bytes) else json.dumps(text).encode()
        return u64(len(text) if size is None else size) + text + data

    def test_safetensors(self):
        tensor = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
        name = "model.shared.weight"
        cases = {f"header of {size}": self.header({name: tensor}, size) for size in (2**31, 2**48 - 1, 2**62, 2**63,
                                                                                     2**64 - 1)}
        for huge in HUGE:
            cases[f"shape of {huge}"] = self.header({name: {**tensor, "shape": [huge, huge]}})
            cases[f"shape of 4 x {huge}"] = self.header({name: {**tensor, "shape": [huge, 4, 4, 4]}})
            cases[f"ends at {huge}"] = self.header({name: {**tensor, "data_offsets": [0, huge]}})
            cases[f"from {huge}"] = self.header({name: {**tensor, "data_offsets": [huge, huge]}})
        cases.update({
            "wraps": self.header({name: {**tensor, "shape": [2**32, 2**32]}}),
            "negative": self.header({name: {**tensor, "shape": [-1, 4]}}),
            "backwards": self.header({name: {**tensor, "data_offsets": [16, 0]}}),
            "twice": self.header(b'{"a": 1, "a": 2}'),
            "deep": self.header(b'{"a":' + b"[" * 1_000_000),
            "deep objects": self.header(b'{"a":' * 200_000),
            "wide": self.header(b'{"a":[' + b"[]," * 150_000 + b"[]]}"),
            "cut number": self.header(b'{"a": 1e'),
            "long number": self.header(b'{"a": ' + b"9" * 1_000_000 + b"}"),
            "no text": self.header(b"{\xff\xfe}"),
        })
        for what, data in cases.items():
            self.refused(what, self.marian(model__safetensors=data), ("info", "convert") if "deep" in what else ("info",))

    def test_settings(self):
        sizes = ("vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_ffn_dim", "decoder_ffn_dim",
                 "encoder_attention_heads", "decoder_attention_heads", "max_position_embeddings")
        for key in sizes:
            for value in [-1, 0, *HUGE, 2**64, 1e308, "many", [1], {}]:
                self.refused(f"{key} {value}", self.marian(config__json=self.config(**{key: value})), ("info",))
        for name in ("config.json", "generation_config.json", "tokenizer_config.json", "vocab.json"):
            for what, data in {"deep": b"[" * 1_000_000, "deep objects": b'{"a":' * 200_000, "nothing": b"",
                               "binary": os.urandom(4096),
                               "twice": b'{"vocab_size": 1, "vocab_size": 2}', "a list": b"[]"}.items():
                self.refused(f"{name}: {what}", self.marian(**{name.replace(".", "__"): data}), ("info",))
        for what, vocabulary in {"huge id": {"a": 2**31}, "negative id": {"a": -1}, "the same id": {"a": 0, "b": 0},
                                 "id beyond": {f"p{i}": i for i in range(400)}, "no id": {"a": "b"}}.items():
            self.refused(what, self.marian(vocab__json=json.dumps(vocabulary).encode()))
        folder = self.folder / "nllb"
        shutil.copytree(FIXTURES / "languages/fixtures/nllb-json/model", folder)
        tokens = json.loads((folder / "tokenizer.json").read_text())
        tokens["added_tokens"] += tokens["added_tokens"][-1:] * 1000
        (folder / "tokenizer.json").write_text(json.dumps(tokens))
        self.refused("a token again and again", folder)  # no file that was made of it would be accepted
        index = {"weight_map": {"a": "../../../etc/passwd"}}
        folder = self.marian(**{"model__safetensors__index__json": json.dumps(index).encode()})
        (folder / "model.safetensors").unlink()
        self.refused("index that leads out", folder)

    def test_pieces(self):
        good = (FIXTURES / "reference/fixtures/relu-1x1-f32/model/source.spm").read_bytes()
        cases = {f"cut at {at}": good[:at] for at in (1, 2, 3, 5, 9, 100, len(good) // 2, len(good) - 1)}
        cases.update({"long piece": b"\x0a\xff\xff\xff\xff\x0f" + good, "very long": b"\x0a" + b"\xff" * 9 + b"\x01" + good,
                      "groups": b"\x0b" * 100_000, "noise": os.urandom(20_000)})
        for what, data in cases.items():
            self.refused(what, self.marian(source__spm=data), ("-m",))  # read when it is used

        folder = self.marian(target__spm=good[:100])  # not needed for translating
        status, _, stderr, _, _ = self.run_tool("score", "-m", folder, "a", "b")
        self.assertEqual(status, 1)
        self.assertIn(f"{folder}: SentencePiece model".encode(), stderr)

    def test_huge_weights(self):
        """Tokens of probability 0 are no hypotheses: the sum of their log-probabilities would not be finite."""
        data = bytearray((FIXTURES / "reference/fixtures/relu-1x1-f32/model/model.safetensors").read_bytes())
        size = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + size])
        first, end = header["final_logits_bias"]["data_offsets"]
        for at in range(8 + size + first + 8, 8 + size + end, 4):  # all but two tokens
            struct.pack_into("<f", data, at, -3e38)
        status, stdout, stderr, _, _ = self.run_tool("-m", self.marian(model__safetensors=bytes(data)), "-b9", "-n9",
                                                     "--max-length", "4", "--json", "a")
        self.assertEqual((status, stderr), (0, b""))
        for hypothesis in json.loads(stdout)["hypotheses"]:
            self.assertIsNotNone(hypothesis["score"])  # JSON's null: it was not finite
            self.assertGreater(hypothesis["score"], -1e6)

    # ---- CTranslate2

    def test_ctranslate2(self):
        head = u32(6) + writers.ct2_string("TransformerSpec") + u32(7)
        one = writers.ct2_variable("a", (2,), 0, 8) + bytes(8)
        cases = {
            "cycle": head + u32(1) + one + u32(2) + b"".join(map(writers.ct2_string, ("b", "c", "c", "b"))),
            "itself": head + u32(1) + one + u32(1) + writers.ct2_string("b") * 2,
            "chain of aliases": head + u32(1) + one + u32(2) + b"".join(map(writers.ct2_string, ("b", "a", "a", "b"))),
            "twice": head + u32(2) + one + one + u32(0),
            "variables": head + u32(2**32 - 1) + one,
            "aliases": head + u32(1) + one + u32(2**32 - 1),
            "many names": head + u32(2**32 - 1) + b"".join(writers.ct2_variable(f"v{i}", (), 1, 1) + b"x"
                                                           for i in range(140_000)),
            "wraps": head + u32(1) + writers.ct2_variable("decoder/embeddings/weight", (2**32 - 1, 2**32 - 1), 0,
                                                          4) + bytes(4),
            "wraps to nothing": head + u32(1) + writers.ct2_variable("decoder/embeddings/weight", (2**31, 2**31, 4), 0, 0),
            "long variable": head + u32(1) + writers.ct2_variable("a", (2**30,), 0, 2**32 - 4) + bytes(4),
            "long name": head + u32(1) + struct.pack("<H", 65535) + b"x",
            "name without end": head + u32(1) + struct.pack("<H", 2) + b"xy",
            "another version": u32(7) + head[4:] + u32(1) + one,
            "dimensions": head + u32(1) + writers.ct2_string("a") + b"\xff",
        }
        for what, data in cases.items():
            self.refused(what, self.ct2(data))
        real = (FIXTURES / "ctranslate2/fixtures/marian-float32/model.bin").read_bytes()
        for name in ("shared_vocabulary.json", "config.json"):
            for what, data in {"deep": b"[" * 1_000_000, "nothing": b"", "long": json.dumps(["a"] * 10_000).encode(),
                               "numbers": b"[1, 2]"}.items():
                folder = self.ct2(real)
                (folder / name).write_bytes(data)
                self.refused(f"{name}: {what}", folder)

    # ---- GGUF

    def test_gguf(self):
        def key(name, kind, value):
            return u64(len(name)) + name.encode() + u32(kind) + value

        def tensor(name, sizes, kind, offset):
            return u64(len(name)) + name.encode() + u32(len(sizes)) + u64(*sizes) + u32(kind) + u64(offset)

        def file(tensors, entries, *parts):
            return b"GGUF" + u32(3) + u64(tensors, entries) + b"".join(parts) + bytes(256)
        cases = {}
        for huge in (2**31, 2**32, 2**60, 2**62, 2**63, 2**64 - 1):
            cases.update({
                f"{huge} tensors": file(huge, 0), f"{huge} entries": file(0, huge), f"{huge} of both": file(huge, huge),
                f"a key of {huge}": file(0, 1, u64(huge)),
                f"text of {huge}": file(0, 1, key("a", 8, u64(huge))),
                f"{huge} elements": file(0, 1, key("a", 9, u32(4) + u64(huge))),
                f"{huge} texts": file(0, 1, key("a", 9, u32(8) + u64(huge))),
                f"{huge} bytes": file(0, 1, key("a", 9, u32(0) + u64(huge))),
                f"a size of {huge}": file(1, 0, tensor("a", (huge,), 0, 0)),
                f"sizes of {huge}": file(1, 0, tensor("a", (huge, huge, huge, huge), 0, 0)),
                f"at {huge}": file(1, 0, tensor("a", (4,), 0, huge)),
            })
        cases.update({
            "lists in lists": file(0, 1, key("a", 9, (u32(9) + u64(1)) * 100_000)),
            "dimensions": file(1, 0, u64(1) + b"a" + u32(2**32 - 1)),
            "wraps": file(1, 0, tensor("a", (2**32, 2**32), 0, 0)),
            "the same key": file(0, 2, key("a", 4, u32(1)) * 2),
            "the same tensor": file(2, 0, tensor("a", (4,), 0, 0) * 2),
            "alignment 0": file(0, 1, key("general.alignment", 4, u32(0))),
            "alignment 2^31": file(0, 1, key("general.alignment", 4, u32(2**31))),
            "many keys": file(0, 2**60, *(key(f"k{i}", 0, b"x") for i in range(100_000))),
            "version": b"GGUF" + u32(2**31) + bytes(64),
        })
        for what, data in cases.items():
            every = str(2**60) in what  # other values give models that the command cannot distinguish from valid ones
            self.refused(what, self.gguf(data), *([] if every else [("info",)]))

    # ---- cut at each boundary

    def boundaries_safetensors(self, data):
        size = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + size])
        ends = [8 + size + end for key, value in header.items() if key != "__metadata__" for end in value["data_offsets"]]
        return [0, 1, 7, 8, 9, 8 + size - 1, 8 + size, *ends]

    def boundaries_ct2(self, data):
        at = [4, 4 + 18, 4 + 18 + 4, 4 + 18 + 8]
        for _ in range(struct.unpack_from("<I", data, 26)[0]):
            start = at[-1]
            name = start + 2 + struct.unpack_from("<H", data, start)[0]
            dimensions = name + 1 + 4 * data[name]
            at += [start + 2, name, dimensions, dimensions + 5,
                   dimensions + 5 + struct.unpack_from("<I", data, dimensions + 1)[0]]
        at.append(at[-1] + 4)
        return at

    def boundaries_zip(self, data):
        at = []
        for mark in (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7"):
            place = data.find(mark)
            while place >= 0:
                at += [place, place + 4, place + 30]
                place = data.find(mark, place + 1)
        return at

    def cut(self, what, data, boundaries, put, most=60):
        boundaries = sorted({at for at in boundaries if 0 <= at < len(data)})
        for at in boundaries[::max(1, len(boundaries) // most)] + [len(data) - 1]:
            self.refused(f"{what} cut at {at} of {len(data)}", put(data[:at]), ("info",))

    def test_cut(self):
        reference, torch = FIXTURES / "reference/fixtures/relu-1x1-f32/model", FIXTURES / "formats/torch"
        data = (reference / "model.safetensors").read_bytes()
        self.assertEqual(self.run_tool("info", self.marian())[0], 0)
        self.cut("safetensors", data, self.boundaries_safetensors(data), lambda part: self.marian(model__safetensors=part))

        def torch_model(part):
            folder = self.folder / "model"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(torch / "model", folder)
            (folder / "pytorch_model.bin").write_bytes(part)
            return folder
        data = (torch / "zip-f32.bin").read_bytes()
        self.assertEqual(self.run_tool("info", torch_model(data))[0], 0)
        self.cut("zip", data, self.boundaries_zip(data), torch_model)
        data = (torch / "legacy-f32.bin").read_bytes()
        stops = [i for i in range(len(data)) if data[i] == ord(".")]
        self.cut("before zip", data, [*range(64), *stops, *range(0, len(data), 997)], torch_model)
        data = (FIXTURES / "ctranslate2/fixtures/marian-float32/model.bin").read_bytes()
        self.assertEqual(self.run_tool("info", self.ct2(data))[0], 0)
        self.cut("CTranslate2", data, self.boundaries_ct2(data), self.ct2)
        path = self.folder / "whole.gguf"
        self.assertEqual(self.run_tool("convert", "-q", self.marian(), path, "--compute", "int8")[0], 0)
        data = path.read_bytes()
        self.cut("GGUF", data, [*range(0, 64), *range(64, len(data), 1009)], self.gguf)


if __name__ == "__main__":
    TOOL, FIXTURES = sys.argv[1], pathlib.Path(sys.argv[2])
    LIMITS = "--no-limits" not in sys.argv
    unittest.main(argv=sys.argv[:1] + [argument for argument in sys.argv[3:] if argument != "--no-limits"])
