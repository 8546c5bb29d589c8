#!/usr/bin/env python3
"""Records Hugging Face Transformers' translations of twenty sentences with a default model, for test_default_model.c.

    python3 tests/default_model/make_expected.py NAME DIR
    python3 tests/default_model/make_expected.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

NAME is zh-en or en-zh, and DIR the Marian directory that models/NAME.gguf was made from (models/zh-en/train/export.py). The
network and the tokenizer come from DIR, the weights from the GGUF file. Needs torch 2.13, transformers 5.23, sentencepiece,
gguf. MarianTokenizer and generate, num_beams=1, run one sentence at a time, twice: in f32 on the file's int8 weights,
widened, and with every linear layer in the arithmetic of int8 (docs/architecture.md): exact sums, and the decoder's keys and
values in half precision. Sentences whose best and second logit are closer than a margin at any step are refused, as rounding
could decide them. In int8 a difference in the last bit of an activation may become a whole step of its scale, so the margin
is wider there.
"""
import json
import os
import sys
import tempfile

import torch
import transformers
from transformers import MarianMTModel, MarianTokenizer

FOLDER = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(FOLDER, "..", "..", "models")
sys.path[:0] = [os.path.join(FOLDER, "..", "engines"), os.path.join(MODELS, "zh-en", "train")]
import engines  # noqa: E402  (found by the path above)
from model_file import ModelFile  # noqa: E402

MAX_LENGTH = 200  # the project's maximum: tokens without the start token and EOS
MARGINS = {"f32": 1e-3, "int8": 1e-2}
SENTENCES = {"zh-en": [
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
], "en-zh": [
    "The weather is nice today.",
    "Hello!",
    "I'd like a cup of hot coffee, no sugar, please.",
    "She gets up at half past six every morning and goes running in the park.",
    "How much is this book?",
    "It's raining outside. Let's stay at home and watch a film.",
    "On October 1 he bought five books and three pencils.",
    "My computer runs Windows 11. What about yours?",
    "Please save the file as a PDF and send it to me by email.",
    "\"Why are you crying?\" she asked softly.",
    "Although he was very tired, he still finished the work.",
    "The kitten is lying on the windowsill in the sun.",
    "If you have time, please give me a call.",
    "Don't worry, everything will be fine!",
    "The company plans to open three new stores next year.",
    "There are an old radio and two chairs in my grandfather's room.",
    "The temperature rose to 38.5 degrees, about 10 percent higher than yesterday.",
    "My sister has never been to Shanghai, but she wants to go next month.",
    "The meeting has been moved to three o'clock on Thursday afternoon.",
    "The teacher asked the students to read the text three times.",
]}


class Int8Linear(torch.nn.Module):
    """y = W x + b with integers [outputs, inputs] and a scale per output; rows of x have a scale each. cached: y is kept in
    half precision, as keys and values are in the cache."""

    def __init__(self, whole, scale, bias, cached=False):
        super().__init__()
        self.whole, self.scale, self.bias = whole.double(), scale, bias
        self.cached = cached

    def forward(self, x):
        most = x.abs().amax(-1, keepdim=True)
        rows = torch.round(x * (127 / most)).clamp(-127, 127)
        sums = (rows.double() @ self.whole.T).float()  # exact: below 2^53
        y = sums * (most / 127 * self.scale)
        y = y if self.bias is None else y + self.bias
        return y.half().float() if self.cached else y


def linear_layers(model):
    """Names of the linear layers; the output projection is not among them, as it shares the embedding's matrix."""
    return [name for name, module in model.model.named_modules(prefix="model") if isinstance(module, torch.nn.Linear)]


def widen(model, weights):
    """Replaces the directory's weights by those of the file, widened to f32. Vectors are the same in both."""
    model.model.shared.weight.copy_(weights["model.shared.weight"])  # tied: both embeddings and the output
    for name in linear_layers(model):
        linear = model.get_submodule(name)
        linear.weight.copy_(weights[name + ".weight"])
        assert torch.equal(linear.bias, weights[name + ".bias"]), name
    assert model.lm_head.weight.data_ptr() == model.model.shared.weight.data_ptr()
    assert torch.equal(model.final_logits_bias[0], weights["final_logits_bias"])


def make_int8(model, weights):
    for name in linear_layers(model):
        cached = name.startswith("model.decoder.") and name.endswith(("k_proj", "v_proj"))
        linear = Int8Linear(*weights.int8(name + ".weight"), model.get_submodule(name).bias, cached)
        model.set_submodule(name, linear)
    model.lm_head = Int8Linear(*weights.int8("model.shared.weight"), None)


def from_file(weights):
    """Network and tokenizer with the vectors of the model file; the matrices follow."""
    model = MarianMTModel(weights.config()).eval()
    model.generation_config.bad_words_ids = [[id] for id in weights.fields["forbidden"]]
    model.generation_config.forced_eos_token_id = weights.fields["forced_last_id"]
    model.final_logits_bias.copy_(weights["final_logits_bias"][None])
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # norms and biases
            parameter.copy_(weights[name])
    with tempfile.TemporaryDirectory() as folder:
        pieces, vocabulary = os.path.join(folder, "source.spm"), os.path.join(folder, "vocab.json")
        with open(pieces, "wb") as file:
            file.write(weights.pieces())
        with open(vocabulary, "w", encoding="utf-8") as file:
            json.dump({token: i for i, token in enumerate(weights.fields["tokenizer.ggml.tokens"])}, file)
        return model, MarianTokenizer(pieces, pieces, vocabulary)


def model_path(name):
    return os.path.join(MODELS, name + ".gguf")


def expected_path(name):
    return os.path.join(FOLDER, name + ".json")


def check(to, name):
    """Transformers, and this project's program, on the model file."""
    with open(expected_path(name), encoding="utf-8") as file:
        lines = json.load(file)["lines"]
    path = model_path(name)
    weights = ModelFile(path)
    model, tokenizer = from_file(weights)
    sources = [line["source_ids"] for line in lines]
    to.each("source tokens", sources, [tokenizer(line["source"])["input_ids"][:-1] for line in lines])
    for compute, prepare in (("f32", widen), ("int8", make_int8)):
        prepare(model, weights)
        theirs = [translate(model, tokenizer, compute, line["source"]) for line in lines]
        to.each(f"{compute}: transformers", [line[compute] for line in lines], theirs)
        to.each(f"{compute}: translate", [line[compute]["target_ids"] for line in lines],
                to.translate(path, sources, "--compute", compute, "--max-length", MAX_LENGTH))
        to.each(f"{compute}: text", [line[compute]["text"] for line in lines],
                to.run("-m", path, "--compute", compute, "--split", "never", lines=[line["source"] for line in lines]))


def least_margin(model, inputs, ids):
    """The least difference between best and second logit over all steps, without forbidden tokens."""
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
    engines.check_where_asked(check, [name for name in SENTENCES if os.path.exists(model_path(name))])
    name, directory = sys.argv[1:]
    tokenizer = MarianTokenizer.from_pretrained(directory)
    model = MarianMTModel.from_pretrained(directory, dtype=torch.float32).eval()
    weights = ModelFile(model_path(name))
    lines = [{"source": s, "source_ids": tokenizer(s)["input_ids"][:-1]} for s in SENTENCES[name]]
    for compute, prepare in (("f32", widen), ("int8", make_int8)):
        prepare(model, weights)
        for line in lines:
            line[compute] = translate(model, tokenizer, compute, line["source"])
    made_with = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    with open(expected_path(name), "w", encoding="utf-8") as file:
        file.write('{"made_with": ' + json.dumps(made_with) + f', "max_length": {MAX_LENGTH}, "lines": [\n')
        file.write(",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]}\n")


if __name__ == "__main__":
    main()
