#!/usr/bin/env python3
"""Records what Hugging Face Transformers makes of twenty sentences with the default model, for test_default_model.c.

    python3 tests/default_model/make_expected.py DIR

DIR is the published directory that models/zh-en.gguf was made from (models/zh-en.md names it). Needs torch 2.13,
transformers 5.23, sentencepiece. MarianTokenizer and generate in f32 on the stored f16 weights, num_beams=1, one sentence at
a time. Sentences whose best and second logit are ever closer than MARGIN are refused: rounding could decide them.
"""
import json
import os
import sys

import torch
import transformers
from transformers import MarianMTModel, MarianTokenizer

MAX_LENGTH = 200  # the project's: tokens without the start and the end mark
MARGIN = 1e-3
SENTENCES = [
    "今天天气很好",
    "你好！",
    "我想喝一杯热咖啡，不加糖。",
    "她每天早上六点半起床，然后去公园跑步。",
    "这本书多少钱？",
    "外面下雨了。我们待在家里看电影吧。",
    "2023年10月1日，他买了15本书和3支铅笔。",
    "我的电脑装的是Windows 11，你的呢？",
    "请把文件保存为PDF格式，再用email发给我。",
    "“你为什么哭？”她轻声问道。",
    "虽然他很累，但是他还是坚持把工作做完了。",
    "那只小猫正躺在窗台上晒太阳。",
    "如果你有时间的话，能不能帮我一个忙？",
    "别担心，一切都会好起来的！",
    "他说：“明天上午九点，我们在学校门口见。”",
    "爷爷的房间里放着一台旧收音机、两把椅子和许多照片。",
    "温度升到了38.5℃，比昨天高了10%左右。",
    "我从来没有去过上海，所以这次旅行让我非常兴奋。",
    "使用Python可以很容易地读取一个JSON文件。",
    "老师让学生们把课文读三遍，然后回答后面的问题；没有人举手。",
]


def margins(model, inputs, ids):
    """The least distance between best and second logit over all steps, forbidden tokens left out."""
    decoder = torch.tensor([[model.config.decoder_start_token_id] + ids])
    logits = model(**inputs, decoder_input_ids=decoder).logits[0]
    for words in model.generation_config.bad_words_ids or []:
        logits[:, words[0]] = -float("inf")
    best = logits.topk(2).values
    return float((best[:, 0] - best[:, 1]).min())


def main():
    directory = sys.argv[1]
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    tokenizer = MarianTokenizer.from_pretrained(directory)
    model = MarianMTModel.from_pretrained(directory, dtype=torch.float32).eval()
    lines = []
    for source in SENTENCES:
        inputs = tokenizer(source, return_tensors="pt")
        ids = model.generate(**inputs, num_beams=1, do_sample=False, max_length=MAX_LENGTH + 2)[0].tolist()[1:]
        if ids[-1] != model.config.eos_token_id or len(ids) > MAX_LENGTH:
            sys.exit(f"{source}: does not end")
        ids.pop()
        margin = margins(model, inputs, ids)
        if margin < MARGIN:
            sys.exit(f"{source}: margin {margin}")
        lines.append({"source": source, "source_ids": inputs["input_ids"][0].tolist()[:-1], "target_ids": ids,
                      "text": tokenizer.decode(ids, skip_special_tokens=True)})
        print(f"{margin:.4f} {lines[-1]['text']}")
    made_with = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.json"), "w", encoding="utf-8") as file:
        file.write('{"made_with": ' + json.dumps(made_with) + f', "max_length": {MAX_LENGTH}, "lines": [\n')
        file.write(",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]}\n")


if __name__ == "__main__":
    main()
