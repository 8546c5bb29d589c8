#!/usr/bin/env python3
"""Compares `translate --exact` with greedy decoding by Hugging Face Transformers, token for token.

    bench/exactness.py --model DIR [--file FILE.gguf] [--count 500] [--cache FILE.json] [--ctranslate2] TSV...

TSV files (plain or .xz) hold SOURCE TAB ANYTHING a line; COUNT lines are taken at equal distances over all of them. DIR is a
Hugging Face Marian directory, FILE.gguf what the command reads (default: DIR as well). Needs torch, transformers,
sentencepiece.

The reference runs one sentence at a time (no padding, which would change its floating-point sums), weights widened to f32,
num_beams=1, max_length=512: at most 510 tokens between start token and EOS. Its answers are kept in the cache file, with
the source line and a checksum of the weights as keys, since they are slow. Prints each differing line with the first token
that differs, and the reference's margin there: its logit of its own token minus that of the command's. Exit status 1 if
more than --allow lines differ. With --ctranslate2, which needs that package, its greedy search in f32 is compared with the
reference as well.
"""
import argparse
import hashlib
import json
import lzma
import os
import sys
import tempfile

from common import answer_lines

MAX_LENGTH = 512  # Hugging Face's: counts the start token and EOS
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read_lines(paths, count):
    lines = []
    for path in sorted(paths):
        with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8", newline="\n") as file:
            lines += [line.rstrip("\n").split("\t")[0] for line in file]
    lines = list(dict.fromkeys(line for line in lines if line.strip()))
    count = min(count, len(lines))
    return [lines[i * len(lines) // count] for i in range(count)]


class Reference:
    """The model in Hugging Face Transformers, loaded when first needed; its answers are kept in a file."""

    def __init__(self, directory, cache):
        self.directory, self.path, self.loaded = directory, cache, None
        with open(os.path.join(directory, "model.safetensors"), "rb") as file:
            self.checksum = hashlib.sha256(file.read()).hexdigest()
        self.answers = {}
        if cache and os.path.exists(cache):
            with open(cache, encoding="utf-8") as file:
                stored = json.load(file)
            if stored["weights_sha256"] == self.checksum:
                self.answers = {line["source"]: line for line in stored["lines"]}

    def load(self):
        if not self.loaded:
            import torch
            from transformers import MarianMTModel, MarianTokenizer
            torch.set_num_threads(1)
            self.torch = torch
            self.tokenizer = MarianTokenizer.from_pretrained(self.directory)
            self.network = MarianMTModel.from_pretrained(self.directory, dtype=torch.float32).eval()
            self.loaded = True

    def translate(self, source):
        if source not in self.answers:
            self.load()
            inputs = self.tokenizer(source, return_tensors="pt", truncation=True, max_length=MAX_LENGTH)
            with self.torch.no_grad():
                ids = self.network.generate(**inputs, num_beams=1, do_sample=False, max_length=MAX_LENGTH)[0].tolist()
            end = self.network.config.eos_token_id
            ids = ids[1:-1] if ids[-1] == end else ids[1:]
            self.answers[source] = {"source": source, "source_ids": inputs["input_ids"][0].tolist()[:-1], "ids": ids,
                                    "text": self.tokenizer.decode(ids, skip_special_tokens=True)}
        return self.answers[source]

    def save(self):
        if self.path:
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump({"weights_sha256": self.checksum, "lines": list(self.answers.values())}, file,
                          ensure_ascii=False, indent=0)

    def margin(self, answer, ours, step):
        """The reference's logit of its own token at a step, minus that of the command's token."""
        self.load()
        torch, config = self.torch, self.network.config
        inputs = torch.tensor([answer["source_ids"] + [config.eos_token_id]])
        decoder_inputs = torch.tensor([[config.decoder_start_token_id] + answer["ids"][:step]])
        with torch.no_grad():
            logits = self.network(input_ids=inputs, decoder_input_ids=decoder_inputs).logits[0, -1]
        theirs = answer["ids"][step] if step < len(answer["ids"]) else config.eos_token_id
        mine = ours[step] if step < len(ours) else config.eos_token_id
        return float(logits[theirs] - logits[mine])


def run_ctranslate2(reference, answers):
    """Target ids of each answer's source."""
    import ctranslate2
    reference.load()
    tokenizer = reference.tokenizer
    sources = [tokenizer.convert_ids_to_tokens(answer["source_ids"]) + [tokenizer.eos_token] for answer in answers]
    with tempfile.TemporaryDirectory() as out:
        ctranslate2.converters.TransformersConverter(reference.directory).convert(out, force=True)
        translator = ctranslate2.Translator(out, compute_type="float32", intra_threads=1)
        results = translator.translate_batch(sources, beam_size=1, max_batch_size=1, max_decoding_length=MAX_LENGTH - 2)
    return [tokenizer.convert_tokens_to_ids(result.hypotheses[0]) for result in results]


def run_ours(options, lines, directory):
    """Source ids, target ids and text of each line. Target ids come from a second run, from the same source tokens."""
    with open(os.path.join(directory, "vocab.json"), encoding="utf-8") as file:
        ids = json.load(file)
    model = ["-q", "-m", options.file or options.model]
    limits = ["--exact", "--max-length", str(MAX_LENGTH - 2)] + (["-T", str(options.threads)] if options.threads else [])
    pieces = answer_lines([options.tool, "tokenize", *model], lines)
    targets = answer_lines([options.tool, *model, *limits, "--tokens"], pieces)
    texts = answer_lines([options.tool, *model, *limits], lines)
    return [([ids[piece] for piece in source.split(" ")], [ids[piece] for piece in target.split(" ") if piece], text)
            for source, target, text in zip(pieces, targets, texts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tsv", nargs="+")
    parser.add_argument("--model", required=True, help="Hugging Face Marian directory")
    parser.add_argument("--file", help="what the command reads, default: the directory")
    parser.add_argument("--tool", default=os.path.join(ROOT, "build", "translate"))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--allow", type=int, default=1, help="differing lines that are still success")
    parser.add_argument("--cache", help="file that keeps the reference's answers")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--ctranslate2", action="store_true", help="compare CTranslate2 with the reference, too")
    parser.add_argument("--reference-only", action="store_true", help="only fill the cache")
    options = parser.parse_args()

    lines = read_lines(options.tsv, options.count)
    reference = Reference(options.model, options.cache)
    known = len(reference.answers)
    answers = [reference.translate(line) for line in lines]
    if len(reference.answers) > known:
        reference.save()
    if options.reference_only:
        return 0

    equal, differing_source, differing_text = 0, 0, 0
    for number, (answer, (source, ours, text)) in enumerate(zip(answers, run_ours(options, lines, options.model))):
        both = f"  reference  {answer['text']}\n  ours       {text}"
        if source != answer["source_ids"]:
            differing_source += 1
            print(f"line {number}: {answer['source']}\n"
                  f"  other source tokens: reference {answer['source_ids']}, ours {source}")
        elif ours != answer["ids"]:
            pairs = zip(ours, answer["ids"])
            step = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(answer["ids"])))
            margin = reference.margin(answer, ours, step)
            print(f"line {number}: {answer['source']}\n{both}\n  first difference at token {step}, margin {margin:.2e}")
        else:
            equal += 1
            if text != answer["text"]:
                differing_text += 1
                print(f"line {number}: {answer['source']}\n{both}\n  same tokens, other text")
    print(f"{equal} of {len(lines)} lines have the same tokens; {differing_source} other source tokens, "
          f"{differing_text} the same tokens but another text")
    if options.ctranslate2:
        theirs = run_ctranslate2(reference, answers)
        print(f"CTranslate2: {sum(a['ids'] == ids for a, ids in zip(answers, theirs))} of {len(lines)} lines")
    return 0 if len(lines) - equal <= options.allow and not differing_text else 1


if __name__ == "__main__":
    sys.exit(main())
