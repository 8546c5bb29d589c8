#!/usr/bin/env python3
"""Records what Hugging Face Transformers makes of twenty sentences with the default model, for test_default_model.c.

    python3 tests/default_model/make_expected.py DIR

DIR is the published directory that models/zh-en.gguf was made from (models/zh-en.md names it): it gives the network and the
tokenizer, the weights come from the file. Needs torch 2.13, transformers 5.23, sentencepiece, gguf. MarianTokenizer and
generate, num_beams=1, one sentence at a time, twice: in f32 on the file's int8 weights widened, and with every linear layer
in the arithmetic of int8 (docs/architecture.md): exact sums, and the decoder's keys and values in half precision. Sentences
whose best and second logit are ever closer than a margin are refused: rounding could decide them. In int8 a difference in
the last bit of an activation may move a whole step of its scale, so the margin is wider there.
"""
import json
import os
import sys

import gguf
import numpy
import torch
import transformers
from transformers import MarianMTModel, MarianTokenizer

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
    "他说：“明天上午九点，我们在学校门口见。”",
    "爷爷的房间里放着一台旧收音机、两把椅子和许多照片。",
    "温度升到了38.5℃，比昨天高了10%左右。",
    "我从来没有去过上海，所以这次旅行让我非常兴奋。",
    "使用Python可以很容易地读取一个JSON文件。",
    "老师让学生们把课文读三遍，然后回答后面的问题；没有人举手。",
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
    directory = sys.argv[1]
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
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
