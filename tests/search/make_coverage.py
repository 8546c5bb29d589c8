#!/usr/bin/env python3
"""Makes the fixtures of test_coverage.c: CTranslate2's hypotheses with a coverage penalty, on tiny models.

    python3 tests/search/make_coverage.py [NAME...]
    python3 tests/search/make_coverage.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs what ../ctranslate2/make_models.py needs. Each fixture is a folder coverage/NAME with a model as that script makes
them, and expected.json: hypotheses with CTranslate2's tokens and scores. Its attention is that of the layer and the heads
that the model's alignment_layer and alignment_heads name. With return_end_token it counts EOS in lengths and in coverage, as
this project does; without, it leaves out EOS in both. Only sources are kept whose hypotheses differ in score by at least
MARGIN, and only cases whose hypotheses differ from those without the penalty."""
import json
import os
import random
import shutil
import sys

import ctranslate2
import numpy as np
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "ctranslate2"))
import make_models  # noqa: E402  (found by the path above)
from make_models import engines  # noqa: E402  (the same)

SOURCES, MAX_LENGTH, LIMIT = 5, 16, 200_000
SHAPE = make_models.shape(24, (2, 3), (32, 32), (1, 2), "relu", 60)
MARGIN = 2e-4
FIXTURES = {"mean": dict(layer=-1, heads=0), "head": dict(layer=0, heads=1)}  # as in CTranslate2's TransformerSpec
# By the names of tr_search_options; a beam of 1 finds the same tokens, but another score.
CASES = [dict(beam=beam, coverage_penalty=penalty, length_penalty=length)
         for beam in (2, 4, 5) for penalty, length in ((0.2, 1.0), (1.0, 0.0), (3.0, 1.0))] + [
             dict(beam=4, coverage_penalty=0.5, length_penalty=0.6, patience=2.0),
             dict(beam=8, coverage_penalty=10.0, length_penalty=1.0), dict(beam=1, coverage_penalty=0.7, length_penalty=0.0)]


def make_model(directory, fixture, seed):
    spec = make_models.marian_spec({"config": SHAPE}, seed)
    spec.decoder.alignment_layer = np.dtype("int16").type(fixture["layer"])
    spec.decoder.alignment_heads = np.dtype("int16").type(fixture["heads"])
    spec.validate()
    spec.optimize()
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    spec.save(directory)


class Engine:
    def __init__(self, directory):
        self.pieces = make_models.read_vocabulary(directory, "shared")
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.translator = ctranslate2.Translator(directory, intra_threads=1)

    def find(self, source, case):
        """Hypotheses, best first."""
        found = self.translator.translate_batch(
            [[self.pieces[i] for i in source] + ["</s>"]], beam_size=case["beam"], num_hypotheses=case["beam"],
            patience=case.get("patience", 1.0), length_penalty=case["length_penalty"],
            coverage_penalty=case["coverage_penalty"], max_decoding_length=MAX_LENGTH, min_decoding_length=0,
            return_scores=True, return_attention=True, return_end_token=True)[0]
        hypotheses = []
        for pieces, score in zip(found.hypotheses, found.scores):
            finished = pieces[-1] == "</s>"
            hypotheses.append({"ids": [self.ids[piece] for piece in pieces[:len(pieces) - finished]], "finished": finished,
                               "score": round(score, 6)})
        return hypotheses


def is_clear(found):
    scores = [hypothesis["score"] for hypothesis in found]
    return all(a - b > MARGIN for a, b in zip(scores, scores[1:]))


def make_case(engine, case, number):
    chooser = random.Random(number)
    words = [i for i, piece in enumerate(engine.pieces) if not piece.startswith("<")]
    lines, changed = [], 0
    for attempt in range(4000):
        source = [chooser.choice(words) for _ in range(chooser.choice([1, 2, 4, 7, 12, 20]))]
        found, plain = engine.find(source, case), engine.find(source, {**case, "coverage_penalty": 0.0})
        differs = [h["ids"] for h in found] != [h["ids"] for h in plain]
        if not is_clear(found) or (case["beam"] > 1 and not differs and len(lines) - changed > SOURCES // 2):
            continue
        lines.append({"source": source, "hypotheses": found})
        changed += differs
        if len(lines) == SOURCES:
            return {**case, "lines": lines}
    return None


def make(name):
    fixture = FIXTURES[name]
    directory = os.path.join(HERE, "coverage", name)
    for seed in range(1, 40):
        make_model(directory, fixture, seed)
        engine = Engine(directory)
        cases = [make_case(engine, case, number) for number, case in enumerate(CASES)]
        if all(cases):
            break
    else:
        raise SystemExit(f"{name}: no seed gives hypotheses that differ")
    with open(os.path.join(directory, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"made_with": make_models.VERSIONS, "seed": seed, "max_length": MAX_LENGTH, "cases": cases}, file,
                  separators=(",", ":"))
        file.write("\n")
    size = sum(os.path.getsize(os.path.join(directory, entry)) for entry in os.listdir(directory))
    print(f"{name}: seed {seed}, {size} bytes", flush=True)
    assert size <= LIMIT, size


def check(to, name):
    directory = os.path.join(HERE, "coverage", name)
    engine = Engine(directory)
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        for case in json.load(file)["cases"]:
            for line in case.pop("lines"):
                to.same(f"{name}, {case}", line["hypotheses"], engine.find(line["source"], case))


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    ctranslate2.set_log_level(40)
    with torch.no_grad():
        engines.check_or_make(check, make, FIXTURES)
