#!/usr/bin/env python3
"""Messages of `translate info` for incomplete directories and for files of other kinds: one line that names the file and
what to do.

    test_missing.py TRANSLATE FIXTURE CT2    (FIXTURE: a Marian directory; CT2: a directory of CTranslate2)
"""
import bz2
import gzip
import io
import lzma
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import writers

TOOL = FIXTURE = CT2 = ""

POINTER = (b"version https://git-lfs.github.com/spec/v1\n"
           b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 9\n")
PAGE = b"<!DOCTYPE html>\n<html><body>Not found</body></html>\n"
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(64)
ONNX = b"\x08\x07\x12\x07pytorch\x1a\x052.1.0\x22\x00" + bytes(64)
GGML = b"lmgg" + bytes(60)
FLAX = b"\x83\xa5model\x82\xa6shared\x81" + bytes(64)
TFLITE = b"\x1c\0\0\0TFL3" + bytes(64)


def archive(*entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in entries:
            file.writestr(name, data)
    return out.getvalue()


SCRIPT = archive(("net/constants.pkl", b"x"), ("net/data.pkl", b"x"), ("net/code/__torch__.py", b"x"))
KERAS = archive(("metadata.json", "{}"), ("config.json", "{}"), ("model.weights.h5", HDF5))
ARGOS = archive(("translate-en_fr/metadata.json", "{}"), ("translate-en_fr/model/model.bin", b"x"))
ARRAYS = archive(("encoder_Wemb.npy", b"\x93NUMPY\1\0"), ("decoder_Wemb.npy", b"\x93NUMPY\1\0"))


def tar(data):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        entry = tarfile.TarInfo("model.bin")
        entry.size = len(data)
        file.addfile(entry, io.BytesIO(data))
    return out.getvalue()


# Plain files: content, under any name, and the expected message.
FILES = {
    "empty": (b"", "is empty"),
    "safetensors": (b"\x02\0\0\0\0\0\0\0{}" + bytes(8), "is a safetensors file: give its directory"),
    "torch": (archive(("archive/data.pkl", b"x"), ("archive/data/0", b"x")),
              "PyTorch weights (a zip archive): give its directory"),
    "old torch": (pickle.dumps(writers.LEGACY_MAGIC, 2), "PyTorch weights (a Python pickle): give its directory"),
    "torchscript": (SCRIPT, "is a TorchScript program, which is not supported: get the weights"),
    "keras": (KERAS, "is a Keras model, which is not supported: save its weights"),
    "argos": (ARGOS, "sentencepiece.model is missing"),
    "numpy": (ARRAYS, "is arrays of NumPy, but no Marian model"),
    "zip": (archive(("readme.txt", b"x")), "is a zip archive: unpack it first"),
    "hdf5": (HDF5, "is HDF5 (weights of TensorFlow or Keras), which is not supported: get"),
    "onnx": (ONNX, "is an ONNX model, which is not supported: get"),
    "ggml": (GGML, "is a ggml file from before GGUF, which is not supported: convert"),
    "flax": (FLAX, "is weights of Flax (MessagePack), which are not supported: get"),
    "tflite": (TFLITE, "is a TensorFlow Lite model, which is not supported: get"),
    "swapped": (b"FUGG" + bytes(60), "in big-endian order, which is not supported"),
    "gzip": (gzip.compress(b"GGUF"), "is compressed: unpack it first"),
    "bzip2": (bz2.compress(b"GGUF"), "is compressed: unpack it first"),
    "xz": (lzma.compress(b"GGUF"), "is compressed: unpack it first"),
    "tar": (tar(b"x"), "is a tar archive: unpack it first"),
    "pointer": (POINTER, "is a Git LFS pointer, not the file itself: run git lfs pull"),
    "page": (PAGE, "is a web page, not the file itself: download it again"),
    "json": (b'{"model_type": "marian"}', "is a JSON file, not a model file: give its directory"),
    "text": (b"It was a dark and stormy night.\n", "is not a model file: neither GGUF nor"),
}

WHOLE = object()

# Directories: files by name (WHOLE and "ct2": those of a fixture).
DIRECTORIES = {
    "nothing": ({}, "is an empty directory: a model needs config.json"),
    "no weights": ({"config.json": WHOLE, "vocab.json": WHOLE, "source.spm": WHOLE},
                   "config.json is there, but no weights: model.safetensors is missing, and so is pytorch_model.bin"),
    "weights alone": ({"model.safetensors": WHOLE}, "holds weights (model.safetensors), but config.json is missing"),
    "torch alone": ({"x.ckpt": archive(("a/data.pkl", b"x"))}, "holds weights (x.ckpt), but config.json is missing"),
    "no vocabulary": ({"config.json": WHOLE, "model.safetensors": WHOLE, "source.spm": WHOLE},
                      "vocab.json is missing: a model directory needs its tokenizer"),
    "no pieces": ({"config.json": WHOLE, "model.safetensors": WHOLE, "vocab.json": WHOLE},
                  "source.spm is missing: a model directory needs its tokenizer"),
    "pointer for weights": ({"config.json": WHOLE, "vocab.json": WHOLE, "source.spm": WHOLE, "model.safetensors": POINTER},
                            "model.safetensors: is a Git LFS pointer, not the file itself: run git lfs pull"),
    "pointer for pieces": ({"config.json": WHOLE, "model.safetensors": WHOLE, "vocab.json": WHOLE, "source.spm": POINTER},
                           "source.spm: is a Git LFS pointer, not the file itself: run git lfs pull"),
    "pointer under another name": ({"README": b"x", "opus.npz": POINTER}, "opus.npz is a Git LFS pointer"),
    "page for settings": ({"config.json": PAGE, "model.safetensors": WHOLE}, "config.json: is a web page"),
    "misnamed": ({"config.json": WHOLE, "weights.safetensors": b"\x02\0\0\0\0\0\0\0{}" + bytes(8)},
                 "weights.safetensors holds weights, but must be called model.safetensors"),
    "shards without index": ({"config.json": WHOLE, "model-00001-of-00002.safetensors": b"\x02\0\0\0\0\0\0\0{}" + bytes(8)},
                             "model-00001-of-00002.safetensors is a part of the weights: model.safetensors.index.json"),
    "another network": ({"config.json": b'{"model_type": "llama"}', "model.safetensors": WHOLE},
                        "model_type llama is not supported, only marian"),
    "no model_type": ({"config.json": b"{}", "model.safetensors": WHOLE}, "model_type is missing"),
    "another checkpoint": ({"config.json": WHOLE, "vocab.json": WHOLE, "source.spm": WHOLE, "pytorch_model.bin": "fairseq"},
                           "pytorch_model.bin: holds no tensor of such a network"),
    "a pickled program": ({"config.json": WHOLE, "vocab.json": WHOLE, "source.spm": WHOLE,
                           "pytorch_model.bin": pickle.dumps(writers.LEGACY_MAGIC, 2) + pickle.dumps(1001, 2) +
                           pickle.dumps({"little_endian": True}, 2) + pickle.dumps(pathlib.PurePosixPath("x"), 2)},
                          "pathlib.PurePosixPath"),
    "tensorflow alone": ({"config.json": WHOLE, "tf_model.h5": HDF5},
                         "tf_model.h5 is HDF5 (weights of TensorFlow or Keras)"),
    "flax alone": ({"config.json": WHOLE, "flax_model.msgpack": FLAX}, "flax_model.msgpack is weights of Flax"),
    "onnx alone": ({"config.json": WHOLE, "tokenizer.json": b"{}", "encoder_model.onnx": ONNX},
                   "encoder_model.onnx is an ONNX model"),
    "onnx without settings": ({"model.onnx": ONNX}, "model.onnx is an ONNX model"),
    "torchscript alone": ({"traced.pt": SCRIPT}, "traced.pt is a TorchScript program"),
    "compressed": ({"model.enzh.intgemm.alphas.bin.gz": gzip.compress(b"x"), "vocab.enzh.spm.gz": gzip.compress(b"x"),
                    "lex.50.50.enzh.s2t.bin.gz": gzip.compress(b"x")},
                   "model.enzh.intgemm.alphas.bin.gz is compressed: unpack it first"),
    "arrays": ({"arrays.npz": ARRAYS}, "arrays.npz is arrays of NumPy, but no Marian model"),
    "argos": ({"en_fr.argosmodel": ARGOS}, "en_fr.argosmodel is an Argos Translate package: give that file"),
    "tokenizer alone": ({"tokenizer.json": b"{}"}, "holds a tokenizer (tokenizer.json) but no model"),
    "pieces alone": ({"source.spm": WHOLE, "target.spm": WHOLE}, "holds a tokenizer (source.spm) but no model"),
    "one file": ({"zh-en.gguf": b"GGUF" + bytes(60)}, "holds a model file: give "),
    "several files": ({"a.gguf": b"GGUF" + bytes(60), "b.gguf": b"GGUF" + bytes(60)},
                      "holds 2 model files: give one of them, as "),
    "several models": ({"en-fr/config.json": WHOLE, "fr-en/config.json": WHOLE},
                       "is a folder of several models (en-fr, fr-en), not a model itself: give "),
    "a model within": ({"model/config.json": WHOLE}, "is a folder of a model (model), not a model itself: give "),
    "settings of CTranslate2": ({"config.json": b'{"add_source_bos": false, "unk_token": "<unk>"}'},
                                "config.json is that of a CTranslate2 model, whose weights, model.bin, are missing"),
    "CTranslate2 without vocabulary": ({"model.bin": "ct2", "config.json": "ct2"},
                                       "a vocabulary is missing: shared_vocabulary"),
    "something else": ({"notes.txt": b"x"}, "is not a model directory: it has no config.json"),
}


class MissingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="translate-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def says(self, path, text):
        done = subprocess.run([TOOL, "info", str(path)], capture_output=True, timeout=60)
        message = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (1, b""), message)
        self.assertRegex(message, r"\Atranslate: [^\n]+\n\Z")
        self.assertIn(str(path), message)
        self.assertIn(text, message)

    def test_files(self):
        for name, (data, text) in FILES.items():
            with self.subTest(name):
                path = self.folder / "file"  # the name does not tell the format
                path.write_bytes(data)
                self.says(path, text)

    def put(self, path, data):
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is WHOLE:
            shutil.copyfile(pathlib.Path(FIXTURE) / path.name, path)
        elif data == "ct2":
            shutil.copyfile(pathlib.Path(CT2) / path.name, path)
        elif data == "fairseq":
            writers.torch_zip(path, [("encoder.embed_tokens.weight", (4, 2), [bytes(32)])])
        else:
            path.write_bytes(data)

    def test_directories(self):
        for number, (name, (files, text)) in enumerate(DIRECTORIES.items()):
            with self.subTest(name):
                folder = self.folder / str(number)
                folder.mkdir()
                for file, data in files.items():
                    self.put(folder / file, data)
                self.says(folder, text)

    def replace(self, place):
        """Makes a file that cannot be opened, by a link to itself. Root is skipped, as it could do harm."""
        root = os.geteuid() == 0
        if root:
            for path in (self.folder, place.parent, *place.parent.rglob("*")):
                os.lchown(path, 65534, 65534)
            os.seteuid(65534)
        try:
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
            place.symlink_to(place.name)
        finally:
            if root:
                os.seteuid(0)

    def test_unreadable_beside(self):
        """Another file that cannot be read, beside a model's files, changes neither the message nor the choice of the
        model."""
        for name, data in {"config.json": b"{}", "y.npz": ARRAYS}.items():
            folder = self.folder / name.split(".")[0]
            folder.mkdir()
            (folder / name).write_bytes(data)
            self.replace(folder / "about")
            self.says(folder, "model.safetensors is missing" if name == "config.json" else "y.npz is arrays of NumPy")
        model = self.folder / "model"
        shutil.copytree(pathlib.Path(FIXTURE).parents[3] / "marian/fixtures/plain-npz", model)
        (model / "model.npz").rename(model / "y.npz")
        self.replace(model / "x.npz")
        self.replace(model / "z.npz")
        done = subprocess.run([TOOL, "info", model], capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        (model / "y.npz").unlink()
        self.says(model, "z.npz: Too many levels of symbolic links")

    def test_failed_look(self):
        """A link in a cycle is an error wherever a file of that name would be used."""
        tests = pathlib.Path(FIXTURE).parents[3]
        hf = ("config.json", "generation_config.json", "tokenizer_config.json", "model.safetensors", "vocab.json",
              "source.spm", "target.spm", "spiece.model", "tokenizer.json", "model.bin", "metadata.json")
        names = {FIXTURE: hf,
                 CT2: ("config.json", "shared_vocabulary.json", "source.spm", "tokenizer_config.json", "model.bin",
                       "model.safetensors", "metadata.json"),
                 tests / "marian/fixtures/plain-npz": ("model.npz", "config.json", "source.spm", "model.bin",
                                                       "metadata.json"),
                 tests / "argos/fixtures/folder": ("metadata.json", "model", "sentencepiece.model")}
        for number, (source, files) in enumerate(names.items()):
            for name in files:
                with self.subTest(source=str(source), name=name):
                    folder = self.folder / f"{number}-{name}"
                    shutil.copytree(source, folder)
                    self.replace(folder / name)
                    self.says(folder, f"{name}: Too many levels of symbolic links")


if __name__ == "__main__":
    TOOL, FIXTURE, CT2 = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
