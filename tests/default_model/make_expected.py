#!/usr/bin/env python3
"""Records what Hugging Face Transformers makes of twenty sentences with the default model, for test_default_model.c.

    python3 tests/default_model/make_expected.py DIR
    python3 tests/default_model/make_expected.py --check [--tool TRANSLATE]    (../engines/engines.py)

DIR is the Marian directory that models/zh-en.gguf was made from (models/zh-en/train/export.py): it gives the network and the
tokenizer, the weights come from the file. Needs torch 2.13, transformers 5.23, sentencepiece, gguf. MarianTokenizer and
generate, num_beams=1, one sentence at a time, twice: in f32 on the file's int8 weights widened, and with every linear layer
in the arithmetic of int8 (docs/architecture.md): exact sums, and the decoder's keys and values in half precision. Sentences
whose best and second logit are ever closer than a margin are refused: rounding could decide them. In int8 a difference in
the last bit of an activation may move a whole step of its scale, so the margin is wider there.
"""
import json
import os
import sys
import tempfile

import gguf
import numpy
import torch
import transformers
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "engines"))
import engines  # noqa: E402  (found by the path above)

MAX_LENGTH = 200  # the project's: tokens without the start and the end mark
MARGINS = {"f32": 1e-3, "int8": 1e-2}
FOLDER = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(FOLDER, "..", "..", "models", "zh-en.gguf")
SENTENCES = [
    "今天天气很好",
    "你好！",
    "我想喝一杯热咖啡，不加糖。",
    "她每天早上六点半起床，然后去公园跑步。",
    "这本书多少钱？",
    "外面下雨了。我们待在家里看电影吧。",
    "10月1日，他买了5本书和3支铅笔。",
    "我的电脑装的是Windows 11，你的呢？",
    "请把文件保存为PDF格式，再用email发给我。",
    "“你为什么哭？”她轻声问道。",
    "虽然他很累，但是他还是坚持把工作做完了。",
    "那只小猫正躺在窗台上晒太阳。",
    "如果你有时间，请给我打电话。",
    "别担心，一切都会好起来的！",
    "他说：“明天早上九点，学校门口见！”",
    "爷爷的房间里有一台旧收音机和两把椅子。",
    "温度升到了38.5℃，比昨天高了10%左右。",
    "我从来没有去过上海，所以这次旅行让我非常兴奋。",
    "使用Python可以很容易地读取一个JSON文件。",
    "老师让学生们把课文读三遍，然后回答后面的问题。",
]


class Int8Linear(torch.nn.Module):
    """y = W x + b with whole numbers [outputs, inputs] and a scale per output; rows of x get a scale each. cached: y is kept
    in half precision, as keys and values are while decoding."""

    def __init__(self, whole, scale, bias, cached=False):
        super().__init__()
        self.whole, self.scale, self.bias = torch.from_numpy(whole).double(), torch.from_numpy(scale), bias
        self.cached = cached

    def forward(self, x):
        most = x.abs().amax(-1, keepdim=True)
        rows = torch.round(x * (127 / most)).clamp(-127, 127)
        sums = (rows.double() @ self.whole.T).float()  # exact: below 2^53
        y = sums * (most / 127 * self.scale)
        y = y if self.bias is None else y + self.bias
        return y.half().float() if self.cached else y


class Weights:
    """The file's tensors by name; int8 matrices as whole numbers and scales."""

    def __init__(self, path):
        self.tensors = {t.name: numpy.array(t.data) for t in gguf.GGUFReader(path).tensors}

    def int8(self, name, inputs):
        scale = self.tensors[name + ".scale"]
        panels = self.tensors[name + ".k4n16"].reshape(-1, (inputs + 3) // 4, 16, 4)
        whole = panels.transpose(0, 2, 1, 3).reshape(-1, 4 * panels.shape[1])[:len(scale), :inputs]
        return whole.astype(numpy.float32), scale

    def vector(self, name):
        return torch.from_numpy(self.tensors[name])


def linear_layers(model):
    """(module that holds it, attribute, name in the file) of every linear layer."""
    for side, stack in (("enc", model.model.encoder), ("dec", model.model.decoder)):
        for n, layer in enumerate(stack.layers):
            attentions = [("attn", layer.self_attn)] + ([("cross_attn", layer.encoder_attn)] if side == "dec" else [])
            for kind, attention in attentions:
                for part in "qkv":
                    yield attention, part + "_proj", f"{side}.blk.{n}.{kind}_{part}"
                yield attention, "out_proj", f"{side}.blk.{n}.{kind}_o"
            yield layer, "fc1", f"{side}.blk.{n}.ffn_up"
            yield layer, "fc2", f"{side}.blk.{n}.ffn_down"


def widen(model, weights):
    """Puts the file's weights, widened to f32, in the place of the directory's. Vectors are the same in both."""
    whole, scale = weights.int8("token_embd.weight", model.config.d_model)
    model.model.shared.weight.copy_(torch.from_numpy(whole * scale[:, None]))  # tied: both embeddings and the output
    for holder, attribute, name in linear_layers(model):
        linear = getattr(holder, attribute)
        whole, scale = weights.int8(name + ".weight", linear.in_features)
        linear.weight.copy_(torch.from_numpy(whole * scale[:, None]))
        assert torch.equal(linear.bias, weights.vector(name + ".bias")), name
    assert model.lm_head.weight.data_ptr() == model.model.shared.weight.data_ptr()
    assert torch.equal(model.final_logits_bias[0], weights.vector("output.bias"))


def make_int8(model, weights):
    for holder, attribute, name in list(linear_layers(model)):
        linear = getattr(holder, attribute)
        cached = name.startswith("dec.") and name.endswith(("attn_k", "attn_v"))
        setattr(holder, attribute, Int8Linear(*weights.int8(name + ".weight", linear.in_features), linear.bias, cached))
    model.lm_head = Int8Linear(*weights.int8("token_embd.weight", model.config.d_model), None)


def vectors(model):
    """(parameter, name in the file) of all norms and biases of the layers."""
    for holder, attribute, name in linear_layers(model):
        yield getattr(holder, attribute).bias, name + ".bias"
    for side, stack in (("enc", model.model.encoder), ("dec", model.model.decoder)):
        for n, layer in enumerate(stack.layers):
            norms = [("attn_norm", layer.self_attn_layer_norm), ("ffn_norm", layer.final_layer_norm)]
            for kind, norm in norms + ([("cross_attn_norm", layer.encoder_attn_layer_norm)] if side == "dec" else []):
                yield norm.weight, f"{side}.blk.{n}.{kind}.weight"
                yield norm.bias, f"{side}.blk.{n}.{kind}.bias"


def from_file(weights):
    """Network and tokenizer as the model file alone has them, its matrices still to be put in place."""
    field = {key: value.contents() for key, value in gguf.GGUFReader(MODEL).fields.items() if not key.startswith("GGUF.")}
    tokens = field["tokenizer.ggml.tokens"]
    config = {"d_model": field["translate.d_model"], "vocab_size": len(tokens), "decoder_vocab_size": len(tokens),
              "activation_function": field["translate.activation"], "max_position_embeddings": field["translate.max_positions"],
              "pad_token_id": field["translate.pad_id"], "eos_token_id": field["translate.end_id"],
              "decoder_start_token_id": field["translate.start_id"], "forced_eos_token_id": field["translate.forced_last_id"],
              "scale_embedding": True, "tie_word_embeddings": True, "share_encoder_decoder_embeddings": True}
    for side in ("encoder", "decoder"):
        config.update({f"{side}_layers": field[f"translate.{side}_layers"], f"{side}_ffn_dim": field[f"translate.{side}_ffn"],
                       f"{side}_attention_heads": field[f"translate.{side}_heads"]})
    model = MarianMTModel(MarianConfig(**config)).eval()
    model.generation_config.bad_words_ids = [[id] for id in field["translate.forbidden"]]
    model.generation_config.forced_eos_token_id = field["translate.forced_last_id"]
    model.final_logits_bias.copy_(weights.vector("output.bias")[None])
    for parameter, name in vectors(model):
        parameter.copy_(weights.vector(name))
    with tempfile.TemporaryDirectory() as folder:
        pieces, vocabulary = os.path.join(folder, "source.spm"), os.path.join(folder, "vocab.json")
        weights.tensors["translate.source.spm"].tofile(pieces)
        with open(vocabulary, "w", encoding="utf-8") as file:
            json.dump({token: i for i, token in enumerate(tokens)}, file)
        return model, MarianTokenizer(pieces, pieces, vocabulary)


def check(to):
    """Transformers, and this project's program, on the model file."""
    with open(os.path.join(FOLDER, "expected.json"), encoding="utf-8") as file:
        lines = json.load(file)["lines"]
    weights = Weights(MODEL)
    model, tokenizer = from_file(weights)
    sources = [line["source_ids"] for line in lines]
    to.each("source tokens", sources, [tokenizer(line["source"])["input_ids"][:-1] for line in lines])
    for compute, prepare in (("f32", widen), ("int8", make_int8)):
        prepare(model, weights)
        theirs = [translate(model, tokenizer, compute, line["source"]) for line in lines]
        to.each(f"{compute}: transformers", [line[compute] for line in lines], theirs)
        to.each(f"{compute}: translate", [line[compute]["target_ids"] for line in lines],
                to.translate(MODEL, sources, "--compute", compute, "--max-length", MAX_LENGTH))
        to.each(f"{compute}: text", [line[compute]["text"] for line in lines],
                to.run("-m", MODEL, "--compute", compute, "--split", "never", lines=[line["source"] for line in lines]))


def least_margin(model, inputs, ids):
    """The least distance between best and second logit over all steps, forbidden tokens left out."""
    decoder = torch.tensor([[model.config.decoder_start_token_id] + ids])
    logits = model(**inputs, decoder_input_ids=decoder).logits[0]
    for words in model.generation_config.bad_words_ids or []:
        logits[:, words[0]] = -float("inf")
    best = logits.topk(2).values
    return float((best[:, 0] - best[:, 1]).min())


def translate(model, tokenizer, compute, source):
    inputs = tokenizer(source, return_tensors="pt")
    ids = model.generate(**inputs, num_beams=1, do_sample=False, max_length=MAX_LENGTH + 2)[0].tolist()[1:]
    if ids[-1] != model.config.eos_token_id or len(ids) > MAX_LENGTH:
        sys.exit(f"{source}: does not end")
    margin = least_margin(model, inputs, ids[:-1])
    text = tokenizer.decode(ids[:-1], skip_special_tokens=True)
    print(f"{compute} {margin:.4f} {text}")
    if margin < MARGINS[compute]:
        sys.exit(f"{source}: margin {margin}")
    return {"target_ids": ids[:-1], "text": text}


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    engines.check_where_asked(check)
    directory = sys.argv[1]
    tokenizer = MarianTokenizer.from_pretrained(directory)
    model = MarianMTModel.from_pretrained(directory, dtype=torch.float32).eval()
    weights = Weights(MODEL)
    lines = [{"source": s, "source_ids": tokenizer(s)["input_ids"][:-1]} for s in SENTENCES]
    for compute, prepare in (("f32", widen), ("int8", make_int8)):
        prepare(model, weights)
        for line in lines:
            line[compute] = translate(model, tokenizer, compute, line["source"])
    made_with = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    with open(os.path.join(FOLDER, "expected.json"), "w", encoding="utf-8") as file:
        file.write('{"made_with": ' + json.dumps(made_with) + f', "max_length": {MAX_LENGTH}, "lines": [\n')
        file.write(",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]}\n")


if __name__ == "__main__":
    main()
