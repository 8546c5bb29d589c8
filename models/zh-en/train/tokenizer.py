"""Trains one SentencePiece model for both languages: tokenizer.py DATA PIECES [--rules FILE.tsv]. Writes DATA/spm.model
and DATA/spm.vocab.

Unigram, so that training can sample other segmentations; bytes for what no piece covers; digits alone, so that
numbers are copied digit by digit; symbols.py's SYMBOLS whole, and its SIGNS. Piece 0 ends a sentence, as in Marian; <pad>
is no piece, it comes after the last one.
"""
import argparse
import pathlib
import random

import sentencepiece

from corpus import load
from symbols import SIGNS, SYMBOLS
from weights import draw


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("pieces", type=int)
    arguments.add_argument("--rules", help="of normalisation, in SentencePiece's form (simplify.py); else nmt_nfkc")
    options = arguments.parse_args()
    rules = {"normalization_rule_tsv": options.rules} if options.rules else {"normalization_rule_name": "nmt_nfkc"}
    pairs = draw(load(options.data / "train.tsv"), random.Random(0))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(side for source, target, _ in pairs for side in (source, target)),
        model_prefix=str(options.data / "spm"),
        vocab_size=options.pieces,
        model_type="unigram",
        character_coverage=0.9998,
        byte_fallback=True,
        split_digits=True,
        user_defined_symbols=SYMBOLS,
        required_chars=SIGNS,
        **rules,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        max_sentence_length=4000,
        num_threads=2,
        minloglevel=2,
    )


if __name__ == "__main__":
    main()
