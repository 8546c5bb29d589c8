#!/usr/bin/env python3
"""Makes expected.json of test_beam.c: hypotheses of beam search by Hugging Face's generate, on models of ../reference.

    python3 tests/search/make_search.py
    python3 tests/search/make_search.py --check [--tool TRANSLATE]    (../engines/engines.py)

Needs what ../reference/make_fixtures.py needs. All is f32, one sentence at a time. max_length and min_length in
expected.json are the project's: tokens without the start token and EOS (see there for generate's own). Scores are generate's
sequences_scores. Only sources are kept whose hypotheses differ in score by at least MARGIN, as otherwise rounding could
decide their order. The script does not see ties within the search, so a seed may have to be changed."""
import json
import os
import random
import sys

import torch
from transformers import MarianMTModel

HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = os.path.join(HERE, "..", "reference")
sys.path.insert(0, REFERENCE)
sys.path.insert(0, os.path.join(HERE, "..", "engines"))
import engines  # noqa: E402  (found by the path above)
import make_fixtures  # noqa: E402  (the same)

MARGIN = 2e-5
SOURCES = 4
MODELS = ["relu-1x1-f32", "swish-3x3-f16", "gelu-4x2-bf16-untied", "swish-1x2-f16-forced", "relu-2x1-f32-odd"]
# Options other than beam 4, length penalty 1, early_stopping False, 0 .. 20 tokens. Names are those of tr_search_options.
CASES = ([dict(beam=beam) for beam in (2, 4, 5)] + [dict(length_penalty=penalty) for penalty in (0.0, 0.6, 2.0, -1.0)] +
         [dict(stopping=stopping, length_penalty=penalty) for stopping in (True, "never") for penalty in (0.0, 1.0, 2.0)] +
         [dict(no_repeat_ngram=n) for n in (1, 2, 3)] + [dict(repetition_penalty=1.5), dict(beam=5, min_length=9),
          dict(max_length=5), dict(min_length=7, max_length=7), dict(prefix=[11, 4, 30]), dict(beam=8, max_length=2),
          dict(forbidden=[5, 17, 40, 41, 42, 43, 44])] +
         [dict(beam=1, no_repeat_ngram=2), dict(beam=1, repetition_penalty=1.4),
          dict(beam=1, forbidden=[5, 17, 40, 41, 42])])


def load(name):
    return MarianMTModel.from_pretrained(os.path.join(REFERENCE, "fixtures", name, "model"), dtype=torch.float32).eval()


def generate(model, source, case):
    """Hypotheses, best first."""
    beam = case.get("beam", 4)
    generation = model.generation_config
    prefix = case.get("prefix", [])
    forced_end = generation.forced_eos_token_id is not None
    bad = list(generation.bad_words_ids or []) + [[id] for id in case.get("forbidden", [])]
    output = model.generate(
        torch.tensor([source]), attention_mask=torch.ones(1, len(source)), do_sample=False, num_beams=beam,
        num_return_sequences=beam, length_penalty=case.get("length_penalty", 1.0) if beam > 1 else None,
        early_stopping=case.get("stopping", False) if beam > 1 else None, output_scores=True, return_dict_in_generate=True,
        max_length=case.get("max_length", 20) + 1 + forced_end, min_length=case["min_length"] + 1 if "min_length" in case
        else 0,
        no_repeat_ngram_size=case.get("no_repeat_ngram", 0), repetition_penalty=case.get("repetition_penalty", 1.0),
        bad_words_ids=bad or None, decoder_input_ids=torch.tensor([[model.config.decoder_start_token_id] + prefix]))
    found = []
    for number, ids in enumerate(output.sequences.tolist()):
        tokens = ids[1:]
        end = model.config.eos_token_id
        finished = end in tokens and (not forced_end or tokens.index(end) < case.get("max_length", 20))
        tokens = tokens[:tokens.index(end)] if end in tokens else tokens
        while tokens and tokens[-1] == model.config.pad_token_id:
            tokens.pop()
        found.append({"ids": tokens, "finished": finished})
        if beam > 1:
            found[-1]["score"] = round(float(output.sequences_scores[number]), 6)
    return found


def is_clear(found):
    scores = [hypothesis["score"] for hypothesis in found if "score" in hypothesis]
    return all(a - b > MARGIN for a, b in zip(scores, scores[1:]))


def sources_of(model, seed):
    chooser = random.Random(seed)
    while True:
        words = [chooser.randrange(1, model.config.vocab_size - 1) for _ in range(chooser.choice([1, 3, 6, 9, 14, 22]))]
        yield [id for id in words if id not in (model.config.eos_token_id,
                                                model.config.pad_token_id)] + [model.config.eos_token_id]


def make_case(model, case, number):
    lines = []
    for source in sources_of(model, number):
        found = generate(model, source, case)
        if is_clear(found):
            lines.append({"source": source, "hypotheses": found})
        if len(lines) == SOURCES:
            return {**case, "lines": lines}


def make():
    models = []
    for name in MODELS:
        model = load(name)
        cases = [case for case in CASES
                 if not ("prefix" in case and model.generation_config.forced_bos_token_id is not None)]
        models.append({"model": name, "cases": [make_case(model, case, number) for number, case in enumerate(cases)]})
        print(name, len(cases), "cases", flush=True)
    with open(os.path.join(HERE, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"made_with": make_fixtures.VERSIONS, "models": models}, file, separators=(",", ":"))
        file.write("\n")


def check(to):
    with open(os.path.join(HERE, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    for entry in expected["models"]:
        model = load(entry["model"])
        for case in entry["cases"]:
            for line in case["lines"]:
                found = generate(model, line["source"], case)
                to.same(f"{entry['model']}, {case}", [h["ids"] for h in line["hypotheses"]], [h["ids"] for h in found])


if __name__ == "__main__":
    make_fixtures.prepare()
    engines.check_where_asked(check)
    make()
