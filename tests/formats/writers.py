"""Writes model files with Python's standard library alone, valid or damaged, for tests of the command.

A tensor is (name, shape, data); data yields bytes of f32, or of int8 if the function says so. A whole model is never in
memory here, as tests measure the memory of the program.
"""
import json
import os
import pickle
import shutil
import struct
import sys
import types
import zipfile

# ---------------------------------------------------------------------------------------------------------------- tensors


def elements(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def repeat(block, size):
    """size bytes, which repeat a block."""
    while size > 0:
        yield block[:size]
        size -= len(block)


def layer_names(side, layer):
    """(name without .weight or .bias, outputs, inputs in terms of d and f; None: a norm) of a layer of BART's kind."""
    prefix = f"model.{side}.layers.{layer}."
    attentions = ["self_attn"] + (["encoder_attn"] if side == "decoder" else [])
    for attention in attentions:
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            yield prefix + attention + "." + part, "d", "d"
        yield prefix + attention + "_layer_norm", "d", None
    yield prefix + "fc1", "f", "d"
    yield prefix + "fc2", "d", "f"
    yield prefix + "final_layer_norm", "d", None


def marian_tensors(config):
    """(name, shape) of all tensors of a Marian or M2M100 model with one embedding."""
    size = {"d": config["d_model"], "f": config["encoder_ffn_dim"]}
    yield "model.shared.weight", (config["vocab_size"], size["d"])
    if config["model_type"] == "marian":
        yield "final_logits_bias", (1, config["vocab_size"])
    for side in ("encoder", "decoder"):
        for layer in range(config[side + "_layers"]):
            for name, outputs, inputs in layer_names(side, layer):
                yield name + ".weight", (size[outputs], size[inputs]) if inputs else (size[outputs],)
                yield name + ".bias", (size[outputs],)
        if config["model_type"] == "m2m_100":
            yield f"model.{side}.layer_norm.weight", (size["d"],)
            yield f"model.{side}.layer_norm.bias", (size["d"],)


def ct2_variables(config, aliases=True):
    """(name, shape) as CTranslate2's converter has the same Marian network: queries, keys and values stacked."""
    d, f, rows = config["d_model"], config["encoder_ffn_dim"], config["vocab_size"] - 1
    positions = config["max_position_embeddings"]
    yield "decoder/embeddings/weight", (rows, d)
    yield "decoder/projection/bias", (rows,)
    for side in ("encoder", "decoder"):
        yield f"{side}/position_encodings/encodings", (positions, d)
        for layer in range(config[side + "_layers"]):
            prefix = f"{side}/layer_{layer}/"
            linears = [("self_attention/linear_0", 3 * d, d), ("self_attention/linear_1", d, d), ("ffn/linear_0", f, d),
                       ("ffn/linear_1", d, f)]
            norms = ["self_attention/layer_norm", "ffn/layer_norm"]
            if side == "decoder":
                linears += [("attention/linear_0", d, d), ("attention/linear_1", 2 * d, d), ("attention/linear_2", d, d)]
                norms.append("attention/layer_norm")
            for name, outputs, inputs in linears:
                yield prefix + name + "/weight", (outputs, inputs)
                yield prefix + name + "/bias", (outputs,)
            for name in norms:
                yield prefix + name + "/gamma", (d,)
                yield prefix + name + "/beta", (d,)


# ------------------------------------------------------------------------------------------------------------ safetensors


def safetensors(path, tensors, dtype="F32", size=4):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape, _ in tensors:
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size * elements(shape)]}
        at += size * elements(shape)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for _, _, data in tensors:
            file.writelines(data)


# ---------------------------------------------------------------------------------------------------------------- PyTorch


def fake_torch():
    """The names of torch that pickle must be able to refer to."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})

    def rebuild(*_):
        raise NotImplementedError
    rebuild.__module__, rebuild.__name__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = rebuild
    torch._utils = utils
    sys.modules.setdefault("torch", torch)
    sys.modules.setdefault("torch._utils", utils)
    return sys.modules["torch"]


class Storage:
    def __init__(self, key, count):
        self.key, self.count = key, count


class Tensor:
    def __init__(self, storage, shape):
        self.storage, self.shape = storage, shape

    def __reduce__(self):
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.insert(0, step)
            step *= size
        return fake_torch()._utils._rebuild_tensor_v2, (self.storage, 0, tuple(self.shape), tuple(strides), False, {})


def dump(value, legacy):
    import io
    torch = fake_torch()

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            if isinstance(thing, Storage):
                return ("storage", torch.FloatStorage, thing.key, "cpu", thing.count) + ((None,) if legacy else ())
            return None
    out = io.BytesIO()
    Pickler(out, 2).dump(value)
    return out.getvalue()


def state_dict(tensors):
    return {name: Tensor(Storage(str(i), elements(shape)), shape) for i, (name, shape, _) in enumerate(tensors)}


def torch_zip(path, tensors, compression=zipfile.ZIP_STORED, pickled=None):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", dump(state_dict(tensors), False) if pickled is None else pickled)
        for i, (_, _, data) in enumerate(tensors):
            with archive.open(f"archive/data/{i}", "w", force_zip64=True) as file:
                file.writelines(data)
        archive.writestr("archive/version", "3\n")


LEGACY_MAGIC = 0x1950a86a20f9469cfc6c


def torch_legacy(path, tensors):
    with open(path, "wb") as file:
        for part in (LEGACY_MAGIC, 1001, {"protocol_version": 1001, "little_endian": True,
                                          "type_sizes": {"short": 2, "int": 4, "long": 4}}):
            file.write(pickle.dumps(part, 2))
        file.write(dump(state_dict(tensors), True))
        file.write(pickle.dumps([str(i) for i in range(len(tensors))], 2))
        for _, shape, data in tensors:
            file.write(struct.pack("<q", elements(shape)))
            file.writelines(data)


# ------------------------------------------------------------------------------------------------------------ CTranslate2


def ct2_string(text):
    data = text.encode()
    return struct.pack("<H", len(data) + 1) + data + b"\0"


def ct2_variable(name, shape, kind, size):
    return ct2_string(name) + struct.pack(f"<B{len(shape)}IBI", len(shape), *shape, kind, size)


F32, INT8, INT16 = 0, 1, 2


def ct2_model(path, config, floats, whole=None, kind=F32):
    """kind INT8 or INT16: matrices are integers, with a scale for each row or, in int16, one for all."""
    sizes = {F32: 4, INT8: 1, INT16: 2}
    settings = [(f"{side}/{name}", value) for side in ("encoder", "decoder") for name, value in
                (("num_heads", struct.pack("<h", config["encoder_attention_heads"])), ("pre_norm", b"\0"),
                 ("activation", b"\0"), ("embeddings_merge", b"\0"))]
    settings += [(side + "/scale_embeddings", b"\1") for side in ("encoder", "decoder")]
    settings.append(("decoder/start_from_zero_embedding", b"\1"))
    variables = list(ct2_variables(config))
    packed = [kind != F32 and len(shape) == 2 and "position" not in name for name, shape in variables]
    with open(path, "wb") as file:
        file.write(struct.pack("<I", 6) + ct2_string("TransformerSpec") + struct.pack("<I", 7))
        file.write(struct.pack("<I", len(variables) + sum(packed) + len(settings)))
        for name, value in settings:
            scalar = {2: INT16, 1: INT8}[len(value)]
            file.write(ct2_variable(name, (), scalar, len(value)) + value)
        for (name, shape), whole_numbers in zip(variables, packed):
            stored = kind if whole_numbers else F32
            size = sizes[stored] * elements(shape)
            file.write(ct2_variable(name, shape, stored, size))
            file.writelines(repeat(whole if whole_numbers else floats, size))
            if whole_numbers:
                scales = (shape[0],) if kind == INT8 else ()
                file.write(ct2_variable(name + "_scale", scales, F32, 4 * elements(scales)))
                file.write(struct.pack("<f", 1000.0) * elements(scales))
        aliases = {"encoder/embeddings_0/weight": "decoder/embeddings/weight",
                   "decoder/projection/weight": "decoder/embeddings/weight"}
        file.write(struct.pack("<I", len(aliases)))
        for alias, name in aliases.items():
            file.write(ct2_string(alias) + ct2_string(name))
    tokens = ["</s>", "<unk>"] + [f"t{i}" for i in range(config["vocab_size"] - 3)]
    folder = os.path.dirname(path)
    with open(os.path.join(folder, "shared_vocabulary.json"), "w", encoding="utf-8") as file:
        json.dump(tokens, file)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "decoder_start_token": "</s>",
                   "add_source_bos": False, "add_source_eos": False, "layer_norm_epsilon": None}, file)


# -------------------------------------------------------------------------------------------------------------- directories


def marian_directory(folder, fixture, **changes):
    """The fixture's directory without its weights, and with the shape of another network: the configuration."""
    os.makedirs(folder)
    for name in ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copyfile(os.path.join(fixture, name), os.path.join(folder, name))
    with open(os.path.join(fixture, "config.json"), encoding="utf-8") as file:
        config = {**json.load(file), **changes}
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    return config
