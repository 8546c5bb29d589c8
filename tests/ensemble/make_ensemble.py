#!/usr/bin/env python3
"""Makes the fixtures of test_ensemble.c: two networks with the same tokens, and their translations as an ensemble.

    python3 tests/ensemble/make_ensemble.py
    python3 tests/ensemble/make_ensemble.py --check [--tool TRANSLATE]    (../engines/engines.py)

Needs what ../reference/make_fixtures.py needs. The networks are Hugging Face's, in f64, one source at a time without caches.
The ensemble is written here: at each step the log-probabilities are added, each network's multiplied by its weight, and
greedy decoding and beam search (as in generate, length penalty 1) use the sum. Only sources are kept whose hypotheses differ
in score by at least MARGIN, as otherwise rounding could decide their order."""
import json
import os
import random
import sys

import torch
from transformers import MarianConfig, MarianMTModel

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "reference"))
sys.path.insert(0, os.path.join(HERE, "..", "engines"))
import engines  # noqa: E402  (found by the path above)
import make_fixtures  # noqa: E402  (the same)

TOKENS, END, PAD = 110, 0, 109
MAX_LENGTH = 16
MARGIN = 1e-4
SOURCES = 4
# Heads, layers, widths, types and lengths may differ between the models.
MODELS = {
    "a": dict(seed=7, dtype="float32", positions=48,
              config=make_fixtures.shape(24, (3, 3), (36, 36), (1, 1), "relu", TOKENS)),
    "b": dict(seed=12, dtype="float16", positions=40,
              config=make_fixtures.shape(32, (2, 4), (40, 48), (2, 2), "swish", TOKENS)),
}
CASES = [dict(beam=beam, weights=weights) for weights in ([1, 1], [3, 1]) for beam in (1, 4, 5)]


def make_model(name):
    spec = MODELS[name]
    model = MarianMTModel(MarianConfig(
        dropout=0.0, pad_token_id=PAD, decoder_start_token_id=PAD, eos_token_id=END, forced_eos_token_id=None,
        max_position_embeddings=spec["positions"], scale_embedding=True, **spec["config"])).eval()
    make_fixtures.randomise(model, spec["seed"])
    model.generation_config.bad_words_ids = [[PAD]]
    model.generation_config.forced_eos_token_id = None
    make_fixtures.save_marian(model, os.path.join(HERE, "fixtures", name), spec)


def load(name):
    return MarianMTModel.from_pretrained(os.path.join(HERE, "fixtures", name), dtype=torch.float64).eval()


def step(models, weights, source, tokens):
    """Log-probabilities of the tokens after the given ones."""
    total = torch.zeros(TOKENS, dtype=torch.float64)
    for model, weight in zip(models, weights):
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[PAD] + tokens])).logits[0, -1]
        total += weight / sum(weights) * torch.log_softmax(logits.double(), -1)
    return total.tolist()


def hypothesis(tokens, scores):
    """Log-probabilities of each token, and of EOS if the target ends with it."""
    finished = tokens[-1] == END
    return {"ids": tokens[:-1] if finished else tokens, "finished": finished,
            "score": round(sum(scores) / len(tokens), 7), "log_probabilities": [round(x, 7) for x in scores]}


def greedy(models, weights, source):
    """None if two tokens are about equally likely."""
    tokens, scores = [], []
    while len(tokens) < MAX_LENGTH and END not in tokens:
        order = sorted(((x, i) for i, x in enumerate(step(models, weights, source, tokens)) if i != PAD), reverse=True)
        if order[0][0] - order[1][0] < 10 * MARGIN:
            return None
        scores.append(order[0][0])
        tokens.append(order[0][1])
    return [hypothesis(tokens, scores)]


def beam_search(models, weights, source, beam):
    """None if two hypotheses have about the same score."""
    live, done = [(0.0, [], [])], []
    for length in range(1, MAX_LENGTH + 1):
        found = sorted(((total + x, tokens + [i], scores + [x]) for total, tokens, scores in live
                        for i, x in enumerate(step(models, weights, source, tokens)) if i != PAD), reverse=True)
        if any(a[0] - b[0] < MARGIN for a, b in zip(found[:2 * beam], found[1:])):
            return None
        live = []
        for rank, (total, tokens, scores) in enumerate(found[:2 * beam]):
            if tokens[-1] != END and length < MAX_LENGTH:
                live = (live + [(total, tokens, scores)])[:beam]
            elif rank < beam:
                done = sorted(done + [(total / length, tokens, scores)], reverse=True)[:beam]
        if not live or (len(done) == beam and live[0][0] / length <= done[-1][0]):
            break
    if any(a[0] - b[0] < MARGIN for a, b in zip(done, done[1:])):
        return None
    return [hypothesis(tokens, scores) for _, tokens, scores in done]


def find(models, source, case):
    if case["beam"] == 1:
        return greedy(models, case["weights"], source)
    return beam_search(models, case["weights"], source, case["beam"])


def make_case(models, case, seed):
    chooser = random.Random(seed)
    lines = []
    while len(lines) < SOURCES:
        source = [chooser.randrange(1, PAD) for _ in range(chooser.choice([1, 4, 9, 15, 33]))]
        found = find(models, source + [END], case)
        if found and len(found[0]["ids"]) > 1:
            lines.append({"source": source, "hypotheses": found})
    return {**case, "lines": lines}


def make():
    for name in MODELS:
        make_model(name)
    models = [load(name) for name in MODELS]
    cases = [make_case(models, case, number) for number, case in enumerate(CASES)]
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"made_with": make_fixtures.VERSIONS, "max_length": MAX_LENGTH, "cases": cases}, file,
                  separators=(",", ":"))
        file.write("\n")


def check(to):
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    models = [load(name) for name in MODELS]
    for case in expected["cases"]:
        for line in case["lines"]:
            found = find(models, line["source"] + [END], case)
            to.same(f"beam {case['beam']}, weights {case['weights']}", [h["ids"] for h in line["hypotheses"]],
                    [h["ids"] for h in found or []])


if __name__ == "__main__":
    make_fixtures.prepare()
    engines.check_where_asked(check)
    make()
