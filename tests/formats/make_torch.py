#!/usr/bin/env python3
"""Makes the fixtures of test_pytorch.c, in torch/: one tiny random Marian model in every form that its weights are published
in.

    python3 tests/formats/make_torch.py
    python3 tests/formats/make_torch.py --check [--tool TRANSLATE]    (../engines/engines.py)

Needs what ../reference/make_fixtures.py needs, whose model and sentences these are.
    model/                 the directory without its weights
    expected.json          sources and transformers' greedy tokens
    TYPE.safetensors       as save_pretrained writes it
    zip-TYPE.bin           torch.save of the state dict: four names of the embedding share a storage
    legacy-TYPE.bin        the same before torch 1.6, where storages lie at any address
    views.bin              what else torch.save may do: a dict around the state dict, Parameters, pickle protocol 4, tensors
                           that are parts of one storage, transposed ones
    shards/                several files with an index, of either kind
"""
import json
import os
import shutil
import sys
import tempfile
from collections import OrderedDict

import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "reference"))
import make_fixtures as reference  # noqa: E402  (found by the path above)

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
# Weights that are exact in bf16, so that all types give the same network.
FIXTURE = dict(dtype="bfloat16", config=reference.shape(16, (2, 2), (24, 20), (1, 1), "swish", 113))
INDEX = ".index.json"


def views(state):
    """One storage for all tensors; matrices of the encoder are transposed views of what is stored."""
    flat = torch.cat([tensor.flatten() for tensor in state.values()])
    result, at = OrderedDict(), 0
    for name, tensor in state.items():
        part = flat[at:at + tensor.numel()].view(tensor.shape)
        at += tensor.numel()
        if tensor.dim() == 2 and "encoder.layers" in name:
            part = part.t().contiguous().t()
        result[name] = torch.nn.Parameter(part)
    return {"epoch": 3, "loss": 0.5, "done": True, "note": None, "steps": [1, 2 ** 40, -7], "state_dict": result}


def load(path):
    """The state dict of a file, as torch reads it; of a folder, of all files that its index names."""
    if os.path.isdir(path):
        state = {}
        for name in sorted(os.listdir(path)):
            if name.endswith(".bin"):
                state.update(torch.load(os.path.join(path, name), weights_only=True))
        return state
    state = torch.load(path, weights_only=False)  # views.bin is of pickle protocol 4, which the restricted loader lacks
    return state.get("state_dict", state)


def check(to):
    """torch reads the committed files, transformers decodes with them, and so does this project's program."""
    folder = os.path.join(HERE, "torch")
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    forms = [f"{kind}-{name}.bin" for kind in ("zip", "legacy") for name in TYPES] + ["views.bin", "shards"]
    for form in forms:
        path = os.path.join(folder, form)
        model = reference.make_model(FIXTURE, expected["seed"])
        model.load_state_dict({key: value.float() for key, value in load(path).items()}, strict=False)
        to.each(f"{form}: transformers", expected["targets"],
                [reference.generate(model, source + [0], 0, expected["max_length"]) for source in expected["sources"]])
        with tempfile.TemporaryDirectory() as directory:
            shutil.copytree(os.path.join(folder, "model"), directory, dirs_exist_ok=True)
            parts = [name for name in os.listdir(path) if ".bin" in name] if form == "shards" else [""]
            for part in parts:
                shutil.copy(os.path.join(path, part) if part else path, os.path.join(directory, part or "pytorch_model.bin"))
            full = [i for i, source in enumerate(expected["sources"]) if source]
            to.each(f"{form}: translate", [expected["targets"][i] for i in full],
                    to.translate(directory, [expected["sources"][i] for i in full], "--exact", "--max-length",
                                 expected["max_length"]))


def main():
    reference.prepare()
    reference.engines.check_where_asked(check)
    to = os.path.join(HERE, "torch")
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(os.path.join(to, "shards"))
    seed, model, lines = reference.search(FIXTURE)
    for line in lines:
        if reference.generate(model, line["source"], 0, reference.MAX_LENGTH) != line["target"]:
            sys.exit(f"generate and the loop differ for {line['source']}")
    expected = {"made_with": reference.VERSIONS, "seed": seed, "max_length": reference.MAX_LENGTH,
                "sources": [line["source"][:-1] for line in lines], "targets": [line["target"] for line in lines]}
    with open(os.path.join(to, "expected.json"), "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in expected.items()) + "\n}\n")
    for name, dtype in TYPES.items():
        state = OrderedDict(model.to(dtype).state_dict())
        state._metadata = model.state_dict()._metadata
        own = {key: value for key, value in state.items() if "embed_tokens" not in key and "lm_head" not in key}
        save_file(own, os.path.join(to, name + ".safetensors"), {"format": "pt"})
        torch.save(state, os.path.join(to, f"zip-{name}.bin"))
        torch.save(state, os.path.join(to, f"legacy-{name}.bin"), _use_new_zipfile_serialization=False)
        if name == "f32":
            torch.save(views(own), os.path.join(to, "views.bin"), pickle_protocol=4)
            save_torch_state_dict(own, os.path.join(to, "shards"), max_shard_size="9KB")
            save_torch_state_dict(own, os.path.join(to, "shards"), max_shard_size="9KB", safe_serialization=False)
    reference.save_marian(model, os.path.join(to, "model"), FIXTURE)
    os.remove(os.path.join(to, "model", "model.safetensors"))
    for folder, _, files in os.walk(to):
        for file in files:
            os.chmod(os.path.join(folder, file), 0o644)
    print("seed", seed, "lengths", [len(line["target"]) for line in lines])


if __name__ == "__main__":
    main()
