#!/usr/bin/env python3
"""`translate convert` needs at most the memory of the largest tensor and 100 MB, whatever the size of the model.

    test_memory.py TRANSLATE FIXTURE    (FIXTURE: a Marian directory with a tokenizer)

A network of 118 MB in f32, its largest tensor 4 MB, is written in each format and converted.
"""
import array
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

import writers

TOOL = FIXTURE = ""
MB = 10**6
SHAPE = dict(d_model=512, encoder_ffn_dim=2048, decoder_ffn_dim=2048, encoder_layers=4, decoder_layers=4,
             encoder_attention_heads=8, decoder_attention_heads=8)
LARGEST = 4 * 2048 * 512
LIMIT = LARGEST + 100 * MB


def run(*arguments):
    """(exit status, peak in bytes) of the program, which has no terminal."""
    pid = os.posix_spawn(TOOL, [TOOL, *map(str, arguments)], os.environ)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024


@unittest.skipUnless(sys.platform.startswith("linux") and os.path.exists("/proc/self/status"), "needs Linux's counters")
class MemoryTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="translate-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        chooser = random.Random(7)
        floats = array.array("f", [chooser.gauss(0, 0.05) for _ in range(5003)])  # no divisor of any row
        self.floats = floats.tobytes() * 20
        self.whole = chooser.randbytes(100003)
        self.model = self.folder / "model"
        self.config = writers.marian_directory(self.model, FIXTURE, **SHAPE)

    def tensors(self):
        return [(name, shape, writers.repeat(self.floats, 4 * writers.elements(shape)))
                for name, shape in writers.marian_tensors(self.config)]

    def convert(self, source, compute, limit=LIMIT):
        out = self.folder / "out.gguf"
        status, peak = run("convert", "-q", "--force", source, out, "--compute", compute)
        self.assertEqual(status, 0)
        self.assertLessEqual(peak, limit, f"{source} to {compute}: {peak / MB:.0f} MB")
        return out

    def test_safetensors_and_gguf(self):
        path = self.model / "model.safetensors"
        writers.safetensors(path, self.tensors())
        self.assertGreater(path.stat().st_size, 115 * MB)
        self.convert(self.model, "int8")
        os.rename(self.convert(self.model, "f32"), self.folder / "in.gguf")
        path.unlink()
        self.convert(self.folder / "in.gguf", "bf16")

    def test_torch(self):
        for write in (writers.torch_zip, writers.torch_legacy):
            with self.subTest(write.__name__):
                write(self.model / "pytorch_model.bin", self.tensors())
                self.convert(self.model, "f16")

    def test_torch_shards(self):
        tensors, names = self.tensors(), {}
        half = len(tensors) // 2
        for number, part in enumerate((tensors[:half], tensors[half:])):
            name = f"pytorch_model-{number}.bin"
            writers.torch_zip(self.model / name, part)
            names.update({tensor[0]: name for tensor in part})
        (self.model / "pytorch_model.bin.index.json").write_text(writers.json.dumps({"weight_map": names}))
        self.convert(self.model, "f16")

    def test_ctranslate2(self):
        # An int8 file is small, but memory that is not released can still be measured.
        for kind, limit in ((writers.F32, LIMIT), (writers.INT16, LARGEST + 60 * MB), (writers.INT8, LARGEST + 50 * MB)):
            with self.subTest(kind=kind):
                folder = self.folder / f"ct2-{kind}"
                folder.mkdir()
                writers.ct2_model(folder / "model.bin", self.config, self.floats, self.whole, kind)
                self.convert(folder, "int8" if kind == writers.INT8 else "f16", limit)
                shutil.rmtree(folder)


if __name__ == "__main__":
    TOOL, FIXTURE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
