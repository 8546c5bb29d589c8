#!/usr/bin/env python3
"""Makes a Bergamot (Firefox Translations) int8 model directory of a given shape with seeded random weights.

    make_bergamot.py OUT_DIR --spm VOCAB.spm [--trg-spm VOCAB.spm] [--arch mini|tiny|base-memory|base]
                     [--shortlist] [...]
    make_bergamot.py --decode OUT_DIR [--logits FILE.npy] < lines      the int8 reference: "ids TAB text" for each line

OUT_DIR gets the files that Firefox downloads, under the same names: model.PAIR.intgemm.alphas.bin, vocab.PAIR.spm (or
srcvocab/trgvocab when the vocabularies differ) and, with --shortlist, lex.50.50.PAIR.s2t.bin. With --float also the weights
before quantisation, as Marian's model.PAIR.npz and model.PAIR.float32.bin. docs/formats.md describes the files.

The text is noise, but a faithful loader gives the same noise: biases, layer norms and activation scales are all non-trivial,
<unk> is practically banned, and </s> ends a line now and then (--eos-rate; --no-eos forces every line to the length cap).
All weights but one a matrix stay within half the int8 range, so that the 16-bit pair sums of AVX2, SSSE3 and WASM kernels
(maddubs) never saturate and every engine computes the same integers; --full-range lifts that.
"""
import argparse
import io
import json
import math
import pathlib
import struct
import sys

import numpy as np
import sentencepiece

ARCHITECTURES = {  # Mozilla's: mozilla/translations, pipeline/train/configs/model/student.*.yml
    "mini": dict(dim=64, ffn=128, enc=2, dec=2, heads=4),  # not theirs: for tests, so small that engines agree to the token
    "tiny": dict(dim=256, ffn=1536, enc=6, dec=2, heads=8),
    "base-memory": dict(dim=384, ffn=1536, enc=6, dec=4, heads=8),
    "base": dict(dim=512, ffn=2048, enc=6, dec=2, heads=8),
}
F32 = np.float32
BANNED = -10000  # an output bias that no logit overcomes

# --- The container: Marian's .bin -----------------------------------------------------------------------------------------
INT8, FLOAT32, INTGEMM8 = 0x0101, 0x0404, 0x4101  # type codes: class in the high byte, element size in the low byte
ALIGN = 256


def padded(data: bytes) -> bytes:
    """Tensor data as Marian's allocator leaves it: filled up to a multiple of 256 bytes."""
    return data + bytes(-len(data) % ALIGN)


def float_item(name: str, value: np.ndarray) -> tuple:
    value = np.atleast_2d(value)
    return name, FLOAT32, value.shape, padded(value.astype("<f4").tobytes())


def quantise(w: np.ndarray) -> tuple[np.ndarray, float]:
    """One scale a tensor: q = round(w * multiplier), multiplier = 127 / max |w|; -128 never occurs."""
    multiplier = F32(127.0) / np.abs(w).max().astype(F32)
    return np.clip(np.rint(w.astype(F32) * multiplier), -127, 127).astype(np.int8), float(multiplier)


def int8_item(name: str, w: np.ndarray) -> tuple:
    """shape says [in, out] but the bytes lie as [out, in]; embeddings stay [vocabulary, dim]. The multiplier follows the
    bytes."""
    q, multiplier = quantise(w)
    data = (q if "Wemb" in name else q.T).tobytes() + struct.pack("<f", multiplier)
    return name, INTGEMM8, w.shape, padded(data)


def write_container(path: pathlib.Path, items: list[tuple]) -> None:
    names = [name.encode() + b"\0" for name, *_ in items]
    head = struct.pack("<QQ", 1, len(items))
    head += b"".join(struct.pack("<4Q", len(n), kind, len(shape), len(data))
                     for n, (_, kind, shape, data) in zip(names, items))
    head += b"".join(names) + b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    # 1 to 256 zero bytes: data starts on the next 256-byte line
    gap = (len(head) + 8) // ALIGN * ALIGN + ALIGN - len(head) - 8
    with open(path, "wb") as f:
        f.write(head + struct.pack("<Q", gap) + bytes(gap))
        for *_, data in items:
            f.write(data)


def read_container(path: pathlib.Path) -> dict[str, tuple]:
    raw = path.read_bytes()
    version, count = struct.unpack_from("<QQ", raw)
    assert version == 1, version
    headers = [struct.unpack_from("<4Q", raw, 16 + 32 * i) for i in range(count)]
    at = 16 + 32 * count
    names, shapes, items = [], [], {}
    for length, *_ in headers:
        names.append(raw[at:at + length - 1].decode())
        at += length
    for _, _, rank, _ in headers:
        shapes.append(struct.unpack_from(f"<{rank}i", raw, at))
        at += 4 * rank
    at += 8 + struct.unpack_from("<Q", raw, at)[0]
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers):
        items[name] = kind, shape, raw[at:at + size]
        at += size
    assert at == len(raw), "bytes are left over"
    return items


def int8_values(shape: tuple, data: bytes) -> tuple[np.ndarray, float]:
    n = math.prod(shape)
    return np.frombuffer(data, np.int8, n), struct.unpack_from("<f", data, n)[0]


# --- The shortlist: which target ids each source id allows ----------------------------------------------------------------
SHORTLIST_MAGIC = 0xF11A48D5013417F5


def checksum(payload: bytes) -> int:
    """boost-style hash_combine over 64-bit words; four bytes left over at the end are not covered."""
    seed, mask = 0, 2**64 - 1
    for word in np.frombuffer(payload, "<u8", len(payload) // 8).tolist():
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & mask
    return seed


def write_shortlist(path: pathlib.Path, lists: list[np.ndarray], first: int, best: int) -> None:
    """first: the ids below it are always allowed. best: how long a list may be. Lists are sorted; the last may not be
    empty."""
    offsets = np.concatenate([[0], np.cumsum([len(l) for l in lists])]).astype("<u8")
    words = np.concatenate(lists).astype("<u4")
    payload = struct.pack("<4Q", first, best, len(offsets), len(words)) + offsets.tobytes() + words.tobytes()
    path.write_bytes(struct.pack("<QQ", SHORTLIST_MAGIC, checksum(payload)) + payload)


class Shortlist:
    def __init__(self, path: pathlib.Path):
        raw = path.read_bytes()
        magic, self.checksum, self.first, _, offsets, words = struct.unpack_from("<6Q", raw)
        assert magic == SHORTLIST_MAGIC and len(raw) == 48 + 8 * offsets + 4 * words and self.checksum == checksum(raw[16:])
        self.offsets = np.frombuffer(raw, "<u8", offsets, 48)
        self.words = np.frombuffer(raw, "<u4", words, 48 + 8 * offsets)

    def candidates(self, source: list[int], shared: bool, vocabulary: int) -> np.ndarray:
        """The frequent ids, each source id's list, the source ids themselves if shared, filled up to a multiple of 8;
        sorted."""
        allowed = set(range(min(self.first, vocabulary))) | (set(source) if shared else set())
        for s in source:
            allowed.update(self.words[int(self.offsets[s]):int(self.offsets[s + 1])].tolist())
        spare = (i for i in range(self.first, vocabulary) if i not in allowed)
        while len(allowed) % 8 and (extra := next(spare, None)) is not None:
            allowed.add(extra)
        return np.array(sorted(allowed))


# --- The parameters -------------------------------------------------------------------------------------------------------
def random_weights(o: argparse.Namespace, src_size: int, trg_size: int, split: bool) -> dict[str, np.ndarray]:
    """Every parameter by Marian's name, in float32, [in, out] for matrices; the gain keeps the noise lively."""
    rng = np.random.default_rng(o.seed)
    w: dict[str, np.ndarray] = {}

    def matrix(name: str, rows: int, columns: int, gain: float = 0.5) -> None:
        w[name] = rng.standard_normal((rows, columns), F32) * F32(gain / math.sqrt(rows))

    def bias(name: str, n: int, scale: float = 0.1) -> None:
        w[name] = rng.standard_normal((1, n), F32) * F32(scale)

    def norm(name: str) -> None:
        bias(name + "_ln_scale", o.dim)
        w[name + "_ln_scale"] += 1
        bias(name + "_ln_bias", o.dim)

    def attention(name: str) -> None:
        for letter in "qkvo":
            matrix(f"{name}_W{letter}", o.dim, o.dim, 2.0 if letter in "qk" else 0.6)
            bias(f"{name}_b{letter}", o.dim)
        norm(name + "_Wo")

    def feed_forward(name: str) -> None:
        matrix(name + "_W1", o.dim, o.ffn)
        bias(name + "_b1", o.ffn)
        matrix(name + "_W2", o.ffn, o.dim)
        bias(name + "_b2", o.dim)
        norm(name + "_ffn")

    for name, size in (("encoder_Wemb", src_size), ("decoder_Wemb", trg_size)) if split else (("Wemb", trg_size),):
        w[name] = rng.standard_normal((size, o.dim), F32) / F32(math.sqrt(o.dim))  # rows of about unit length
    for i in range(1, o.enc + 1):
        attention(f"encoder_l{i}_self")
        feed_forward(f"encoder_l{i}_ffn")
    for i in range(1, o.dec + 1):
        if o.decoder == "ssru":
            matrix(f"decoder_l{i}_rnn_W", o.dim, o.dim)
            matrix(f"decoder_l{i}_rnn_Wf", o.dim, o.dim)
            bias(f"decoder_l{i}_rnn_bf", o.dim)
            norm(f"decoder_l{i}_rnn_ffn")
        else:
            attention(f"decoder_l{i}_self")
        attention(f"decoder_l{i}_context")
        feed_forward(f"decoder_l{i}_ffn")
    bias("decoder_ff_logit_out_b", trg_size)
    # Random signs, or tied embeddings would only echo the last token.
    w[f"decoder_l{o.dec}_ffn_ffn_ln_scale"] *= rng.choice([F32(-1), F32(1)], (1, o.dim))
    if not o.full_range:
        for name in filter(is_matrix, w):
            # a view whose rows run along the inner dimension
            pairs = w[name].reshape(-1, 2) if "Wemb" in name else w[name].T
            pairs[0, :2] = 2 * np.abs(w[name]).max(), 0  # 127 beside 0; all others are within 64
    return w


def is_matrix(name: str) -> bool:
    """What Marian quantises: names ending in _W or _W and one letter, and embeddings."""
    return "Wemb" in name or name.rsplit("_", 1)[-1] in ("W", "Wf", "W1", "W2", "Wq", "Wk", "Wv", "Wo")


def model_yml(o: argparse.Namespace, src_size: int, trg_size: int, split: bool) -> str:
    """The options that Marian reads from a model; those beyond shape and tying are its defaults. JSON scalars are YAML."""
    options = {
        "type": "transformer", "version": "v1.9.56 make_bergamot", "dim-vocabs": [src_size, trg_size], "dim-emb": o.dim,
        "enc-depth": o.enc, "dec-depth": o.dec, "transformer-heads": o.heads, "transformer-dim-ffn": o.ffn,
        "transformer-ffn-depth": 2, "transformer-ffn-activation": "relu", "transformer-preprocess": "",
        "transformer-postprocess": "dan", "transformer-postprocess-emb": "d", "transformer-postprocess-top": "",
        "transformer-decoder-autoreg": "rnn" if o.decoder == "ssru" else "self-attention", "dec-cell": "ssru",
        "dec-cell-base-depth": 2, "dec-cell-high-depth": 1, "enc-cell": "gru", "enc-cell-depth": 1,
        "enc-type": "bidirectional",
        "dim-rnn": 1024, "layer-normalization": False, "tied-embeddings": split, "tied-embeddings-all": not split,
        "tied-embeddings-src": False, "transformer-no-projection": False, "transformer-pool": False,
        "transformer-tied-layers": [], "transformer-train-position-embeddings": False, "transformer-depth-scaling": False,
        "transformer-guided-alignment-layer": "last", "transformer-dim-aan": 2048, "transformer-aan-depth": 2,
        "transformer-aan-activation": "swish", "transformer-aan-nogate": False, "input-types": [], "lemma-dim-emb": 0,
        "right-left": False, "skip": False, "ulr": False, "ulr-dim-emb": 0, "ulr-trainable-transformation": False,
        "bert-train-type-embeddings": True, "bert-type-vocab-size": 2,
    }
    lines = []
    for key, value in sorted(options.items()):
        if isinstance(value, list):
            lines += [f"{key}:", *(f"  - {v}" for v in value)] if value else [f"{key}:", "  []"]
        else:
            lines.append(f"{key}: {json.dumps(value) if value == '' or not isinstance(value, str) else value}")
    return "\n".join(lines) + "\n"


# --- The network, as Marian computes it, one sentence at a time ------------------------------------------------------------
class FloatAffine:
    """x W + b in float32, noting the largest |x| that each matrix sees."""

    def __init__(self, weights: dict[str, np.ndarray]):
        self.weights, self.seen = weights, {name: [] for name in weights if is_matrix(name)}

    def __call__(self, name: str, x: np.ndarray, bias: str | None) -> np.ndarray:
        self.seen[name].append(float(np.abs(x).max()))
        w = self.weights[name]
        return x @ (w.T if "Wemb" in name else w) + (self.weights[bias] if bias else F32(0))


class Int8Affine:
    """y = (round(x * alpha) . q) / (alpha * multiplier) + b: exact integers inside, float32 outside.

    A model without alphas takes 127 / max |x| of each activation matrix instead (Marian's int8shiftAll).
    Engines add 127 to the activations to make them unsigned, and take 127 * sum(q) off again through the bias. The sums here
    are written the same way, so that they round as theirs do.
    """

    def __init__(self, items: dict[str, tuple], floats: dict[str, np.ndarray]):
        self.floats, self.matrices, self.alphas = floats, {}, {}
        for name, (kind, shape, data) in items.items():
            if name.endswith("_QuantMultA"):
                q, multiplier = int8_values(shape, data) if kind == INTGEMM8 else (floats[name][0], 1)
                self.alphas[name[:-11]] = F32(q[0]) / F32(multiplier)
            elif kind == INTGEMM8:
                q, multiplier = int8_values(shape, data)
                q = q.reshape(shape if "Wemb" in name else shape[::-1])  # [out, in] in both cases
                exact = np.float32 if q.shape[1] * 127 * 127 < 2**24 else np.float64
                self.matrices[name] = q.astype(exact).T, q.sum(1, dtype=exact) * 127, F32(multiplier)
        if "none" in self.alphas:
            self.alphas["Wemb"] = self.alphas["none"]

    def __call__(self, name: str, x: np.ndarray, bias: str | None) -> np.ndarray:
        w, shift, multiplier = self.matrices[name]
        alpha = self.alphas[name] if self.alphas else F32(127) / np.abs(x).max()
        a = np.clip(np.rint(x * alpha), -127, 127).astype(w.dtype)
        unquantise = F32(1) / (alpha * multiplier)
        b = (self.floats[bias] if bias else F32(0)) - unquantise * shift.astype(F32)
        return (a @ w + shift).astype(F32) * unquantise + b


class Network:
    def __init__(self, o: argparse.Namespace, floats: dict[str, np.ndarray], affine):
        self.o, self.w, self.affine = o, floats, affine
        self.src = "Wemb" if "Wemb" in floats else "encoder_Wemb"
        self.trg = "Wemb" if "Wemb" in floats else "decoder_Wemb"

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        sigma = np.sqrt((centred**2).mean(-1, keepdims=True) + F32(1e-6))
        return self.w[name + "_ln_scale"] * (centred / sigma) + self.w[name + "_ln_bias"]

    def attend(self, name: str, x: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """x [n, dim] looks at keys and values [m, dim]; post-norm residual around it."""
        def heads(t: np.ndarray) -> np.ndarray:
            return t.reshape(len(t), self.o.heads, -1).transpose(1, 0, 2)
        q = heads(self.affine(name + "_Wq", x, name + "_bq"))
        scores = q @ heads(keys).transpose(0, 2, 1) * F32(1 / math.sqrt(q.shape[-1]))
        p = np.exp(scores - scores.max(-1, keepdims=True))
        joined = (p / p.sum(-1, keepdims=True) @ heads(values)).transpose(1, 0, 2).reshape(x.shape)
        return self.norm(name + "_Wo", self.affine(name + "_Wo", joined, name + "_bo") + x)

    def keys_values(self, name: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.affine(name + "_Wk", x, name + "_bk"), self.affine(name + "_Wv", x, name + "_bv")

    def feed_forward(self, name: str, x: np.ndarray) -> np.ndarray:
        hidden = np.maximum(self.affine(name + "_W1", x, name + "_b1"), 0)
        return self.norm(name + "_ffn", self.affine(name + "_W2", hidden, name + "_b2") + x)

    def positions(self, start: int, n: int) -> np.ndarray:
        half = self.o.dim // 2
        frequency = np.exp(np.arange(half, dtype=F32) * F32(-math.log(10000) / (half - 1)))
        angle = np.arange(start, start + n, dtype=F32)[:, None] * frequency
        return np.concatenate([np.sin(angle), np.cos(angle)], -1)

    def encode(self, ids: list[int]) -> np.ndarray:
        x = self.w[self.src][ids] * F32(math.sqrt(self.o.dim)) + self.positions(0, len(ids))
        for i in range(1, self.o.enc + 1):
            x = self.attend(f"encoder_l{i}_self", x, *self.keys_values(f"encoder_l{i}_self", x))
            x = self.feed_forward(f"encoder_l{i}_ffn", x)
        return x

    def start(self, ids: list[int]) -> dict:
        context = self.encode(ids)
        cross = [self.keys_values(f"decoder_l{i}_context", context) for i in range(1, self.o.dec + 1)]
        return {"cross": cross, "cells": [np.zeros((1, self.o.dim), F32)] * self.o.dec, "cache": [None] * self.o.dec}

    def step(self, state: dict, previous: int | None, position: int) -> np.ndarray:
        """Logits [1, vocabulary] after one more target token; at position 0 there is none, and its embedding is zero."""
        x = np.zeros((1, self.o.dim), F32) if previous is None else self.w[self.trg][[previous]]
        x = x * F32(math.sqrt(self.o.dim)) + self.positions(position, 1)
        for i in range(self.o.dec):
            name = f"decoder_l{i + 1}"
            if self.o.decoder == "ssru":
                forget = 1 / (1 + np.exp(-self.affine(name + "_rnn_Wf", x, name + "_rnn_bf")))
                state["cells"][i] = forget * state["cells"][i] + (1 - forget) * self.affine(name + "_rnn_W", x, None)
                x = self.norm(name + "_rnn_ffn", np.maximum(state["cells"][i], 0) + x)
            else:
                old, new = state["cache"][i], self.keys_values(name + "_self", x)
                state["cache"][i] = new if old is None else tuple(np.concatenate(pair) for pair in zip(old, new))
                x = self.attend(name + "_self", x, *state["cache"][i])
            x = self.attend(name + "_context", x, *state["cross"][i])
            x = self.feed_forward(name + "_ffn", x)
        return self.affine(self.trg, x, "decoder_ff_logit_out_b")

    def greedy(self, ids: list[int], eos: int, limit: int,
               allowed: np.ndarray | None = None) -> tuple[list[int], list[np.ndarray]]:
        """Target ids without EOS, and each step's logits; allowed is a shortlist's sorted candidate ids."""
        state, out, logits = self.start(ids), [], []
        for position in range(limit):
            logits.append(self.step(state, out[-1] if out else None, position)[0])
            best = int(logits[-1].argmax()) if allowed is None else int(allowed[logits[-1][allowed].argmax()])
            if best == eos:
                break
            out.append(best)
        return out, logits


def calibrate(o: argparse.Namespace, weights: dict[str, np.ndarray], source: range, eos: tuple[int, int],
              shortlist: Shortlist | None) -> dict[str, np.ndarray]:
    """Decodes sample sentences in float32. Returns the activation scales as Marian's extract_stats.py makes them,
    127 / (mean + 1.1 sigma of max |x|), and sets the bias of </s> so that it wins --eos-rate of the steps. Both are rounded,
    so that machines whose sums differ in the last bit still write the same file."""
    rng, affine, margins = np.random.default_rng(o.seed + 1), FloatAffine(weights), []
    network, bias = Network(o, weights, affine), weights["decoder_ff_logit_out_b"][0]
    bias[eos[1]] = BANNED
    for length in (3, 5, 8, 13, 21, 34):
        ids = rng.choice(source, length).tolist() + [eos[0]]
        allowed = shortlist.candidates(ids, "Wemb" in weights, len(bias)) if shortlist else np.arange(len(bias))
        for logits in network.greedy(ids, -1, 12, allowed)[1]:
            margins.append(logits[allowed].max() - (logits[eos[1]] - BANNED))
    if not o.no_eos:
        bias[eos[1]] = np.round(np.quantile(margins, o.eos_rate), 2)
    return {name + "_QuantMultA": np.full((1, 1), round(127 / (np.mean(seen) + 1.1 * np.std(seen)), 2), F32)
            for name, seen in affine.seen.items() if seen}


# --- Making and reading a directory ---------------------------------------------------------------------------------------
def make(o: argparse.Namespace) -> None:
    source = sentencepiece.SentencePieceProcessor(model_file=o.spm)
    target = sentencepiece.SentencePieceProcessor(model_file=o.trg_spm or o.spm)
    split = bool(o.trg_spm) and pathlib.Path(o.trg_spm).read_bytes() != pathlib.Path(o.spm).read_bytes()
    src_size, trg_size = source.get_piece_size(), target.get_piece_size()
    if trg_size % 8 or o.dim % 64 or o.ffn % 64 or o.dim % o.heads:
        sys.exit("make_bergamot: the target vocabulary must be a multiple of 8, dim and ffn of 64: Marian's int8 kernels "
                 "need it")
    out = pathlib.Path(o.out)
    out.mkdir(parents=True, exist_ok=True)
    for pattern in ("model.*.bin", "model.*.npz", "lex.*.s2t.bin", "*vocab.*.spm"):  # left by an earlier run
        for old in out.glob(pattern):
            if old.resolve() not in [pathlib.Path(f).resolve() for f in (o.spm, o.trg_spm) if f]:
                old.unlink()
    shortlist = None
    if o.shortlist:
        rng = np.random.default_rng(o.seed + 2)
        sizes = rng.integers(0, 51, src_size)
        sizes[-1] = 50
        lex = out / f"lex.50.50.{o.pair}.s2t.bin"
        write_shortlist(lex, [np.unique(rng.integers(0, trg_size, n)) for n in sizes], 50, 50)
        shortlist = Shortlist(lex)
    weights = random_weights(o, src_size, trg_size, split)
    weights["decoder_ff_logit_out_b"][0, target.unk_id()] = BANNED  # Marian never emits <unk>; other engines may
    alphas = calibrate(o, weights, range(3, src_size), (source.eos_id(), target.eos_id()), shortlist)

    items = [(int8_item if is_matrix(name) else float_item)(name, value) for name, value in weights.items()]
    output = "decoder_Wemb_QuantMultA" if split else "Wemb_QuantMultA"
    if not o.no_alphas:
        items += [float_item(name, value) for name, value in alphas.items() if name != output]
        # its name says Wemb, so marian-conv turns this number into int8, too
        items.append(int8_item(output, alphas[output]))
        if not split:
            items.append(float_item("none_QuantMultA", alphas[output]))  # fxtranslate reads this one, Marian the other
    meta = (model_yml(o, src_size, trg_size, split) + "\0").encode()
    config = ("special:model.yml", INT8, (len(meta),), meta)

    write_container(out / f"model.{o.pair}.{'intgemm8' if o.no_alphas else 'intgemm.alphas'}.bin", sorted(items) + [config])
    vocabularies = {"srcvocab": o.spm, "trgvocab": o.trg_spm} if split else {"vocab": o.spm}
    for name, spm in vocabularies.items():
        (out / f"{name}.{o.pair}.spm").write_bytes(pathlib.Path(spm).read_bytes())
    if o.float:
        write_container(out / f"model.{o.pair}.float32.bin", sorted(float_item(n, v) for n, v in weights.items()) + [config])
        np.savez(out / f"model.{o.pair}.npz", **weights, **{"special:model.yml": np.frombuffer(meta, np.int8)})
    for path in sorted(out.iterdir()):
        print(f"{path}: {path.stat().st_size:,} bytes")


def one(directory: pathlib.Path, pattern: str) -> pathlib.Path | None:
    return next(iter(sorted(directory.glob(pattern))), None)


def decode(o: argparse.Namespace) -> None:
    directory = pathlib.Path(o.decode)
    items = read_container(one(directory, "model.*.intgemm*.bin"))
    options = dict(line.split(": ", 1) for line in items["special:model.yml"][2].decode().rstrip("\0").splitlines()
                   if ": " in line)
    o.dim, o.ffn, o.heads = (int(options[k]) for k in ("dim-emb", "transformer-dim-ffn", "transformer-heads"))
    o.enc, o.dec = int(options["enc-depth"]), int(options["dec-depth"])
    o.decoder = "ssru" if options["transformer-decoder-autoreg"] == "rnn" else "self-attention"
    floats = {}
    for name, (kind, shape, data) in items.items():
        if kind == FLOAT32:
            floats[name] = np.frombuffer(data, "<f4", math.prod(shape)).reshape(shape)
        elif kind == INTGEMM8 and name.endswith("Wemb"):  # rows are looked up as floats
            q, multiplier = int8_values(shape, data)
            floats[name] = q.reshape(shape).astype(F32) * (F32(1) / F32(multiplier))
    network = Network(o, floats, Int8Affine(items, floats))
    source, target = (sentencepiece.SentencePieceProcessor(model_file=str(one(directory, p)
                                                                          or one(directory, "vocab.*.spm")))
                      for p in ("srcvocab.*.spm", "trgvocab.*.spm"))
    lex = one(directory, "lex.*.s2t.bin")
    shortlist = Shortlist(lex) if lex and not o.no_shortlist else None
    kept = []
    for line in io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8"):
        ids = source.encode(line.rstrip("\n")) + [source.eos_id()]
        allowed = shortlist.candidates(ids, "Wemb" in floats, target.get_piece_size()) if shortlist else None
        out, logits = network.greedy(ids, target.eos_id(), o.max_length or 2 * len(ids), allowed)
        kept += logits
        print(" ".join(map(str, out)), target.decode(out), sep="\t", flush=True)
    if o.logits:
        np.save(o.logits, np.array(kept))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", nargs="?")
    p.add_argument("--spm", help="SentencePiece model; its size must be a multiple of 8")
    p.add_argument("--trg-spm",
                   help="another target vocabulary: encoder_Wemb and decoder_Wemb, no Wemb (as Firefox's CJK models)")
    p.add_argument("--arch", choices=ARCHITECTURES, default="tiny")
    for name in ("dim", "ffn", "enc", "dec", "heads"):
        p.add_argument("--" + name, type=int, help=f"overrides the architecture's {name}")
    p.add_argument("--decoder", choices=("ssru", "self-attention"), default="ssru",
                   help="Marian runs both, fxtranslate only ssru")
    p.add_argument("--pair", default="zhen", help="the language pair in the file names")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--shortlist", action="store_true")
    p.add_argument("--float", action="store_true", help="also the unquantised weights as .npz and .float32.bin")
    p.add_argument("--eos-rate", type=float, default=0.05, help="the share of steps that </s> wins")
    p.add_argument("--no-eos", action="store_true", help="never end before the length cap")
    p.add_argument("--full-range", action="store_true", help="weights over the whole int8 range: AVX2 kernels may saturate")
    p.add_argument("--no-alphas", action="store_true", help="leave out the activation scales: Marian's older intgemm8 files")
    p.add_argument("--decode", metavar="DIR")
    p.add_argument("--max-length", type=int, help="with --decode: tokens a line at most (default, as Marian: 2 x source)")
    p.add_argument("--no-shortlist", action="store_true", help="with --decode: leave a shortlist that is there unused")
    p.add_argument("--logits", help="with --decode: save every step's logits, [steps, vocabulary]")
    o = p.parse_args()
    if o.decode:
        return decode(o)
    if not o.out or not o.spm:
        p.error("OUT_DIR and --spm are needed")
    for key, value in ARCHITECTURES[o.arch].items():
        setattr(o, key, getattr(o, key) or value)
    make(o)


if __name__ == "__main__":
    main()
