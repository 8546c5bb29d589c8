#!/usr/bin/env python3
"""Makes expected.json for test_recorded.c: PyTorch's results for every kind of attention and every mask.

    python3 tests/attention/make_fixtures.py
    python3 tests/attention/make_fixtures.py --check [--tool TRANSLATE]    (../engines/engines.py)

Needs torch. Everything is computed in f64, from the numbers that fixture.c generates from the same seeds. Softmax attention
is torch.nn.functional.scaled_dot_product_attention; its weights are the same function's result with the identity as values.
Whole layers are torch.nn.MultiheadAttention if it supports the sizes. Linear attention and summaries, which PyTorch lacks,
are written here by the formulas of translate/attention.h; so are the masks of local and block-sparse attention.

Some numbers of each result are kept: SAMPLES of the output and half as many of the weights, or all if there are fewer."""
import itertools
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "engines"))
import engines  # noqa: E402  (found by the path above)

PATH = os.path.join(HERE, "expected.json")
SAMPLES = 48
STRIDE = 7919  # a prime: samples are numbers 0, 7919, ... of the result, modulo its size
STREAMS = ["q", "k", "v", "allowed", "additive", "additive_forbids", "prior", "prior_forbids", "key_projection",
           "value_projection", "lengths", "layer"]
FORBIDDEN = float("-inf")

# ------------------------------------------------------------------------------------------- numbers as fixture.c makes them


def mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def numbers(seed, stream, *shape, scale=1.0):
    """f32: scale times -1 <= x < 1."""
    start = np.array([(seed * 32 + stream + 0x9E3779B97F4A7C15) % 2**64], dtype=np.uint64)
    bits = mix(mix(start) + np.arange(np.prod(shape, dtype=int), dtype=np.uint64))
    x = (bits >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    return torch.from_numpy(np.float32(scale) * x).reshape(shape)


def stored(x, element):
    """In f64, as the element holds it."""
    return (x.bfloat16() if element == "bf16" else x).double()


def stream(name):
    return STREAMS.index(name)


# ------------------------------------------------------------------------------------------------------------------- masks


def dense(case, along):
    """The sizes of a mask that differs along some of b, h and q, and how to broadcast it."""
    batch, heads, queries, keys = case["shape"][:4]
    return [size if axis in along else 1 for axis, size in (("b", batch), ("h", heads), ("q", queries))] + [keys]


def allowed_mask(case, along):
    sizes = dense(case, along)
    mask = numbers(case["seed"], stream("allowed"), *sizes) < np.float32(0.4)
    if "q" in along:
        mask[:, :, 3::5] = False
    return mask


def added_mask(case, along, name, threshold):
    sizes = dense(case, along)
    bias = numbers(case["seed"], stream(name), *sizes, scale=2).double()
    bias[numbers(case["seed"], stream(name + "_forbids"), *sizes) >= np.float32(threshold)] = FORBIDDEN
    return bias


def seen(case):
    """[queries, keys] by the kind alone."""
    queries, keys = case["shape"][2:4]
    at = case["mask"].get("position", 0) + torch.arange(queries)[:, None]
    j = torch.arange(keys)[None]
    if case["kind"] == "local":
        return (at - j).abs() <= case["options"]["window"]
    if case["kind"] == "block-sparse":
        o = case["options"]
        near = (at // o["block"] - j // o["block"]).abs() <= o["local_blocks"]
        return near | (at < o["global_tokens"]) | (j < o["global_tokens"])
    return torch.ones(queries, keys, dtype=torch.bool)


def counted(case):
    """True where a query may attend to a key, without the biases: broadcasts to [batch, heads, queries, keys]."""
    batch, _, queries, keys = case["shape"][:4]
    mask = case["mask"]
    counts = seen(case)[None, None]
    j = torch.arange(keys)
    if "allowed" in mask:
        counts = counts & allowed_mask(case, mask["allowed"])
    if "lengths" in mask:
        lengths = torch.tensor(mask["lengths"]).reshape(batch, 1, -1, 1)
        counts = counts & (j < lengths)
    if mask.get("causal"):
        counts = counts & (j <= mask.get("position", 0) + torch.arange(queries)[:, None])
    return counts


def bias_of(case):
    """[batch, heads, queries, keys]: what is added to scores, -inf where attention is forbidden."""
    batch, heads, queries, keys = case["shape"][:4]
    bias = torch.zeros(batch, heads, queries, keys, dtype=torch.float64)
    for name, threshold in (("additive", 0.7), ("prior", 0.9)):
        if name in case["mask"]:
            bias = bias + added_mask(case, case["mask"][name], name, threshold)
    return bias.masked_fill(~counted(case), FORBIDDEN)


# ------------------------------------------------------------------------------------------------------------------- kinds


def operands(case):
    batch, heads, queries, keys, key_size, value_size = case["shape"]
    seed, element = case["seed"], case.get("element", "f32")
    q = numbers(seed, stream("q"), batch, heads, queries, key_size, scale=case.get("amplitude", 1))
    k = numbers(seed, stream("k"), batch, heads, keys, key_size)
    v = numbers(seed, stream("v"), batch, heads, keys, value_size)
    return [stored(x, element) for x in (q, k, v)]


def softmax_attention(q, k, v, bias, scale):
    """A row that may attend to nothing is zero in PyTorch, too."""
    identity = torch.eye(k.shape[2], dtype=torch.float64).expand(*k.shape[:3], k.shape[2])
    return (F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale),
            F.scaled_dot_product_attention(q, k, identity.contiguous(), attn_mask=bias, scale=scale))


def as_pytorch_says_it(case, q, k, v, scale):
    """The same through PyTorch's own arguments if they can express the mask; else None."""
    mask = case["mask"]
    if case["kind"] != "exact" or set(mask) - {"causal", "allowed"} or len(mask) > 1:
        return None
    if mask.get("causal"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
    allowed = counted(case).expand(*q.shape[:3], k.shape[2]) if mask else None
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, scale=scale)


def linear_attention(case, q, k, v):
    weights = (F.elu(q) + 1) @ (F.elu(k) + 1).transpose(2, 3) * counted(case)
    weights = torch.nan_to_num(weights / weights.sum(-1, keepdim=True))
    return weights @ v, weights


def summaries(case, k, v):
    """Keys and values of the summaries, and which of them are valid: [batch, heads, 1, columns]."""
    batch, heads, _, keys = case["shape"][:4]
    counts = counted(case)[:, :, :1].expand(batch, heads, 1, keys).transpose(2, 3)
    k, v = k.where(counts, 0), v.where(counts, 0)
    if rank := case["options"].get("rank"):
        e, f = (numbers(case["seed"], stream(name), rank, keys, scale=0.5).double()
                for name in ("key_projection", "value_projection"))
        return e @ k, f @ v, counts.any(2, keepdim=True).expand(batch, heads, 1, rank)
    pool = case["options"]["pool"]
    columns = -(-keys // pool)

    def sums(x):
        x = F.pad(x.double(), (0, 0, 0, columns * pool - keys))
        return x.reshape(batch, heads, columns, pool, -1).sum(3)

    number = sums(counts)
    return sums(k) / number.clamp(min=1), sums(v) / number.clamp(min=1), (number > 0).transpose(2, 3)


def attention(case):
    q, k, v = operands(case)
    scale = case["options"].get("scale")
    if case["kind"] == "linear":
        return linear_attention(case, q, k, v)
    if case["kind"] != "low-rank":
        out, weights = softmax_attention(q, k, v, bias_of(case), scale)
        other = as_pytorch_says_it(case, q, k, v, scale)
        assert other is None or (out - other).abs().max() < 1e-12
        return out, weights
    k, v, stand = summaries(case, k, v)
    bias = torch.zeros(stand.shape).double().masked_fill(~stand, FORBIDDEN)
    return softmax_attention(q, k, v, bias.expand(*q.shape[:3], k.shape[2]), scale)


# -------------------------------------------------------------------------------------------------------------- whole layers


def layer_of(case):
    """Weight and bias (or None) of query, key, value and output."""
    sizes, element = case["layer"], case["layer"].get("element", "f32")
    hiddens = sizes["num_hiddens"]
    made = []
    for number, inputs in enumerate([sizes["query_size"], sizes["key_size"], sizes["value_size"], hiddens]):
        at = stream("layer") + 2 * number
        weight = stored(numbers(case["seed"], at, hiddens, inputs, scale=0.25), element)
        bias = stored(numbers(case["seed"], at + 1, hiddens), element) if sizes["biases"] else None
        made.append((weight, bias))
    return made


def by_pytorchs_layer(case, q, k, v, bias):
    """nn.MultiheadAttention's output and weights; its queries have the layer's size."""
    sizes = case["layer"]
    hiddens, heads = sizes["num_hiddens"], sizes["num_heads"]
    layer = torch.nn.MultiheadAttention(hiddens, heads, bias=sizes["biases"], kdim=sizes["key_size"],
                                        vdim=sizes["value_size"], batch_first=True).double().eval()
    made = layer_of(case)
    with torch.no_grad():
        if layer.in_proj_weight is None:
            for parameter, (weight, _) in zip((layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight), made):
                parameter.copy_(weight)
        else:
            layer.in_proj_weight.copy_(torch.cat([weight for weight, _ in made[:3]]))
        layer.out_proj.weight.copy_(made[3][0])
        if sizes["biases"]:
            layer.in_proj_bias.copy_(torch.cat([b for _, b in made[:3]]))
            layer.out_proj.bias.copy_(made[3][1])
        return layer(q, k, v, attn_mask=bias.flatten(0, 1), average_attn_weights=False)


def multi_head(case):
    batch, heads, queries, keys = case["shape"][:4]
    sizes, element = case["layer"], case.get("element", "f32")
    q, k, v = (stored(numbers(case["seed"], stream(name), batch, length, sizes[size]), element)
               for name, length, size in (("q", queries, "query_size"), ("k", keys, "key_size"), ("v", keys, "value_size")))
    made, bias = layer_of(case), bias_of(case)
    split = [F.linear(x, w, b).unflatten(2, (heads, -1)).transpose(1, 2) for x, (w, b) in zip((q, k, v), made)]
    if case["kind"] == "linear":
        out, weights = linear_attention(case, *split)
    else:
        out, weights = softmax_attention(*split, bias, case["options"].get("scale"))
    out = F.linear(out.transpose(1, 2).flatten(2), *made[3])
    if case["kind"] == "exact" and sizes["query_size"] == sizes["num_hiddens"] and bias.isfinite().any(-1).all():
        for ours, theirs in zip((out, weights), by_pytorchs_layer(case, q, k, v, bias)):
            assert (ours - theirs).abs().max() < 1e-12
    return out, weights


# ------------------------------------------------------------------------------------------------------------------- cases

SHAPES = {  # batch, heads, queries, keys, key_size, value_size
    "small": [1, 1, 3, 5, 4, 4],
    "odd": [2, 3, 7, 45, 5, 19],
    "square": [1, 2, 70, 70, 16, 16],
    "heads": [2, 2, 33, 65, 64, 48],
    "one": [1, 1, 1, 1, 1, 1],
    "long": [1, 1, 5, 300, 8, 33],
}
LENGTHS = {"odd": [45, 9], "square": [70], "heads": [0, 33], "small": [4], "long": [257]}


def by_query(name):
    """Lengths by row, some of them zero."""
    batch, _, queries, keys = SHAPES[name][:4]
    return [(11 * i) % (keys + 1) for i in range(batch * queries)]


def masks(name):
    everything = {"allowed": "bhq", "additive": "hq", "prior": "q", "lengths": LENGTHS[name], "causal": True, "position": 9}
    return [{}, {"lengths": LENGTHS[name]}, {"lengths": by_query(name), "by_query": True}, {"allowed": "q"},
            {"allowed": "bhq"}, {"allowed": "b"}, {"additive": "bhq"}, {"additive": ""}, {"prior": "hq"},
            {"prior": "h", "additive": "bq"}, {"causal": True}, {"causal": True, "position": 20}, everything]


def masks_for_all(name):
    return [{}, {"lengths": LENGTHS[name]}, {"allowed": "bh"}, {"allowed": "", "lengths": LENGTHS[name]}]


def with_each(kind, names, options, the_masks, **more):
    return [{"kind": kind, "shape": SHAPES[name], "options": o, "mask": mask, **more}
            for name, o in itertools.product(names, options) for mask in the_masks(name)]


def plain(kind, names, options, **more):
    return with_each(kind, names, options, lambda name: [{}], **more)


def cases():
    windows = [{"window": window} for window in (0, 1, 7, 40, 1000)]
    blocks = [{"block": 16, "local_blocks": 1, "global_tokens": 5}, {"block": 7, "local_blocks": 0, "global_tokens": 0},
              {"block": 1, "local_blocks": 3, "global_tokens": 1}, {"block": 100, "local_blocks": 0, "global_tokens": 0}]
    low_ranks = [{"rank": 8}, {"pool": 4}]
    near, sparse = {"causal": True, "position": 20}, {"random_blocks": 0, **blocks[0]}
    mixed = {"allowed": "q", "prior": "h", "lengths": LENGTHS["odd"]}
    return [
        *plain("exact", ["small", "square", "heads", "one", "long"], [{}]),
        *with_each("exact", ["odd"], [{}], masks),
        *with_each("exact", ["heads"], [{}], lambda name: masks(name)[1:4] + masks(name)[-1:]),
        *plain("exact", ["odd"], [{"scale": 0.75}, {"scale": -0.5}]),
        *plain("exact", ["odd", "square"], [{}], amplitude=16),
        *plain("exact", ["odd"], [{}], amplitude=4096),
        *plain("local", ["square"], windows),
        *with_each("local", ["odd"], [{"window": 7}], masks),
        *with_each("local", ["square"], [{"window": 1}], lambda name: [{"causal": True}, {"position": 30}, near]),
        *plain("block-sparse", ["square", "long"], [{"random_blocks": 0, **o} for o in blocks]),
        *with_each("block-sparse", ["odd"], [sparse], lambda name: [near, mixed] + masks(name)[-1:]),
        *plain("linear", ["small", "square", "heads", "one", "long"], [{}]),
        *with_each("linear", ["odd", "heads"], [{}], masks_for_all),
        *with_each("linear", ["odd", "square", "heads"], [{}],
                   lambda name: [{"causal": True}, {**masks_for_all(name)[3], **near}]),
        *plain("low-rank", ["small", "square", "long", "one"], low_ranks + [{"rank": 1}, {"pool": 70}]),
        *with_each("low-rank", ["odd", "heads"], low_ranks, masks_for_all),
        *with_each("exact", ["odd"], [{}], lambda name: [{}] + masks(name)[-1:], element="bf16"),
        *with_each("local", ["odd"], [{"window": 7}], lambda name: [near], element="bf16"),
        *plain("block-sparse", ["long"], [sparse], element="bf16"),
        *with_each("linear", ["odd"], [{}], lambda name: [{}, near], element="bf16"),
        *with_each("low-rank", ["odd"], low_ranks, lambda name: masks_for_all(name)[3:], element="bf16"),
        *layers(),
    ]


def layer(shape, sizes, biases, mask, kind="exact", **more):
    """shape: batch, queries, keys; sizes: of query, key, value, hidden, and the number of heads."""
    query, key, value, hiddens, heads = sizes
    batch, queries, keys = shape
    return {"kind": kind, "shape": [batch, heads, queries, keys, hiddens // heads, hiddens // heads], "mask": mask,
            "layer": {"query_size": query, "key_size": key, "value_size": value, "num_hiddens": hiddens, "num_heads": heads,
                      "biases": biases}, "options": {}, **more}


def layers():
    lengths, forbidden = {"lengths": [3, 2]}, {"allowed": "hq", "lengths": [9, 2]}
    rounded = layer((2, 7, 11), (20, 24, 36, 20, 2), True, forbidden, element="bf16")
    rounded["layer"]["element"] = "bf16"
    return [
        layer((2, 4, 6), (100, 100, 100, 100, 5), False, lengths),
        layer((2, 4, 6), (100, 100, 100, 100, 5), True, {}),
        layer((1, 60, 60), (64, 64, 64, 64, 8), True, {"causal": True}),
        layer((2, 5, 10), (64, 24, 37, 64, 8), True, {"additive": "b"}),
        layer((2, 5, 10), (64, 24, 37, 64, 8), False, {"prior": "h", "additive": "b"}),
        layer((1, 9, 33), (17, 24, 37, 30, 3), True, {}),
        layer((2, 7, 11), (20, 24, 36, 20, 2), True, forbidden),
        layer((2, 40, 40), (24, 24, 24, 24, 2), True, {}, "local", options={"window": 5}),
        layer((2, 40, 40), (24, 24, 24, 24, 2), True, {"causal": True}, "linear"),
        layer((2, 7, 11), (20, 24, 36, 20, 2), True, forbidden, element="bf16"),
        rounded,
    ]


# --------------------------------------------------------------------------------------------------------------- the fixture


def samples(x, most):
    flat = x.flatten()
    count = min(most, len(flat))
    picked = flat[(torch.arange(count) * STRIDE) % len(flat)] if len(flat) > most else flat
    return [round(value, 7) + 0.0 for value in picked.tolist()]


def compute(case):
    out, weights = (multi_head if "layer" in case else attention)(case)
    return {"out": samples(out, SAMPLES), "weights": samples(weights, SAMPLES // 2)}


def make():
    made = []
    for number, case in enumerate(cases()):
        case = {"seed": number + 1, **case}
        made.append({**case, **compute(case)})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in made)
    head = f'"made_with":"torch {torch.__version__}","samples":{SAMPLES},"stride":{STRIDE}'
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(f'{{{head},"cases":[\n{lines}\n]}}\n')


def check(to):
    with open(PATH, encoding="utf-8") as file:
        expected = json.load(file)
    for case in expected["cases"]:
        found = compute(case)
        for key in ("out", "weights"):
            far = [(a, b) for a, b in zip(case[key], found[key]) if not abs(a - b) <= 1e-6]
            to.same(f"{case['kind']}, seed {case['seed']}, {key}", (len(case[key]), []), (len(found[key]), far))


if __name__ == "__main__":
    engines.check_where_asked(check)
    make()
