#!/usr/bin/env python3
"""Makes the expected values of test_scores.c: Hugging Face Transformers' log-probabilities of given targets.

    python3 tests/scores/make_expected.py [NAME...]
    python3 tests/scores/make_expected.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

The models are those of ../reference/fixtures, in the versions of the libraries that its script names; the test itself needs
neither. Each expected/NAME.json has pairs: a source with EOS, a target without, and the log-probabilities of the target's
tokens and of EOS, by a forward pass over the whole target, one pair at a time, in f32. Targets are the model's own
translations, and random ones. One short pair has all attention weights, [layers][heads][rows][columns].
"""
import json
import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "reference"))
import make_fixtures as reference  # noqa: E402
import engines  # noqa: E402

RANDOM_LENGTHS = [5, 0, 33, 12, 46]  # 46 tokens and EOS are one less than the models' maximum
FOLDED = 5  # digits after the point


def load(name):
    folder = os.path.join(HERE, "..", "reference", "fixtures", name)
    kind = reference.CLASSES[reference.FIXTURES[name].get("family")]
    model = kind.from_pretrained(os.path.join(folder, "model"), dtype=torch.float32, attn_implementation="eager").eval()
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        return model, json.load(file)["sentences"]


def numbers(tensor):
    return [[[[round(float(x), FOLDED) for x in row] for row in head] for head in layer[0]] for layer in tensor]


def score(model, source, target, watched):
    inputs = torch.tensor([[model.config.decoder_start_token_id] + target])
    output = model(input_ids=torch.tensor([source]), attention_mask=torch.ones(1, len(source)), decoder_input_ids=inputs,
                   output_attentions=watched)
    given = target + [model.config.eos_token_id]
    all_of_them = torch.log_softmax(output.logits[0].double(), -1)
    pair = {"source": source, "target": target,
            "log_probabilities": [round(float(all_of_them[i, token]), FOLDED) for i, token in enumerate(given)]}
    if watched:
        pair.update(encoder=numbers(output.encoder_attentions), decoder=numbers(output.decoder_attentions),
                    cross=numbers(output.cross_attentions))
    return pair


def pairs(name):
    model, lines = load(name)
    chooser = random.Random(5)
    target_size = model.get_output_embeddings().weight.shape[0]
    result = [score(model, line["source"], line["target"], False) for line in lines[:6]]
    for i, length in enumerate(RANDOM_LENGTHS):
        # padding inside a target would shift M2M100's positions
        target = [chooser.choice([t for t in range(target_size) if t != model.config.pad_token_id]) for _ in range(length)]
        result.append(score(model, lines[i]["source"], target, i == 0))
    return result


def make(name):
    path = os.path.join(HERE, "expected", name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(pair, separators=(",", ":")) for pair in pairs(name)) + "\n]\n")
    print(name, os.path.getsize(path), "bytes", flush=True)


def near(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    return abs(a - b) <= 2e-5


def check(to, name):
    """Transformers again; test_scores.c tests this project's numbers."""
    with open(os.path.join(HERE, "expected", name + ".json"), encoding="utf-8") as file:
        expected = json.load(file)
    for i, (was, found) in enumerate(zip(expected, pairs(name))):
        for key, value in was.items():
            to.same(f"{name}, pair {i}, {key}: transformers", True, near(value, found[key]))


if __name__ == "__main__":
    reference.prepare()
    engines.check_or_make(check, make, reference.FIXTURES)
