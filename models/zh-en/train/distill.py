"""Translates the training text with a trained model: more pairs to train another one on.

    distill.py DATA CHECKPOINT OUT.tsv [--back] [--beam N] [--minutes M] [--device D]

Forward, a teacher's translations of the sources are easier to learn than people's (sequence-level distillation, Kim and
Rush 2016). With --back, a model of the other direction (train.py --reverse) translates the targets into new sources
(back-translation, Sennrich et al. 2016). Both together, beside the original pairs, are data diversification (Nguyen et
al. 2020). OUT.tsv has source, target, origin: append it to a train.tsv. What a model makes up passes the filters of
corpus.py again, and nothing is kept that stands in the held-out texts. Origins that an epoch sees in part are
translated in part.
"""
import argparse
import pathlib
import random
import time

import sentencepiece

from batches import END
from corpus import Pair, deduplicate, is_good, load, load_held_out, normalise, without, write
from decode import MAX_SOURCE, ROWS, batches_by_length, beam_ids, load_checkpoint
from weights import weight


def to_translate(pairs: list[Pair], back: bool) -> list[tuple[str, str]]:
    """Each text once, with its origin."""
    rng, texts = random.Random(0), {}
    for source, target, origin in pairs:
        if rng.random() < weight(origin):
            texts.setdefault(target if back else source, origin)
    return list(texts.items())


def checked(pairs: list[Pair], data: pathlib.Path) -> list[Pair]:
    """The pairs that are new, good, and share no side with a held-out text."""
    old = load(data / "train.tsv")
    new = deduplicate(old + [pair for pair in pairs if is_good(*pair[:2])])[len(old) :]
    return without(new, *load_held_out(data))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("checkpoint", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--back", action="store_true", help="the checkpoint is of the other direction")
    arguments.add_argument("--beam", type=int, default=4)
    arguments.add_argument("--minutes", type=float, default=1e9, help="stop after so long: what is done is a fair sample")
    arguments.add_argument("--device", default="cpu")
    options = arguments.parse_args()

    end = time.monotonic() + 60 * options.minutes
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(options.data / "spm.model"))
    model = load_checkpoint(options.checkpoint, device=options.device)
    texts = to_translate(load(options.data / "train.tsv"), options.back)
    ids = [sentence[:MAX_SOURCE] + [END] for sentence in pieces.encode([text for text, _ in texts])]
    batches = batches_by_length(ids, ROWS[options.device] // options.beam)
    random.Random(1).shuffle(batches)
    pairs: list[Pair] = []
    for done, batch in enumerate(batches):
        if time.monotonic() > end:
            print(f"time is up after {done} of {len(batches)} batches")
            break
        for i, result in zip(batch, beam_ids(model, [ids[i] for i in batch], options.beam)):
            (text, origin), made = texts[i], normalise(pieces.decode(result))
            pairs.append((made, text, origin) if options.back else (text, made, origin))
    kept = checked(pairs, options.data)
    write(options.out, kept)
    print(f"{len(texts)} texts, {len(pairs)} translated, {len(kept)} pairs kept", flush=True)


if __name__ == "__main__":
    main()
