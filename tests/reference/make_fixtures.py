#!/usr/bin/env python3
"""Makes the fixtures of test_reference.c: tiny random models, and Hugging Face Transformers' results with them.

    python3 tests/reference/make_fixtures.py [NAME...]
    python3 tests/reference/make_fixtures.py --check [--tool TRANSLATE] [NAME...]    (../engines/engines.py)

Needs torch and transformers in the versions below and sentencepiece; the test itself needs none of them. Each fixture is a
folder fixtures/NAME with
    model/                 the weights, as a Hugging Face directory
    expected.json          sentences and their greedy tokens, and the table of the recorded tensors
    expected.f32           the recorded tensors, little-endian f32, one after the other

All is f32, one sentence at a time, from model.generate(num_beams=1, do_sample=False), and once more by a decoding loop
written here; the two must agree. max_length and min_length in expected.json are the project's: tokens without the start
token and EOS. generate counts the start token as well, and reserves a position for a forced EOS: it gets max_length + 2 and
min_length + 1.

Weights are much larger than trained ones, and LayerNorm gains have either sign, so that each part matters and outputs vary.
The script takes the first seed with a sentence for each length of LENGTHS that has a margin of at least MARGIN between best
and second logit at each step, and four different tokens or more; half of them end with EOS and half at max_length.
"""
import io
import json
import os
import random
import shutil
import sys

import numpy as np
import sentencepiece
import torch
import transformers
from safetensors.torch import save_file
from transformers import (BartConfig, BartForConditionalGeneration, M2M100Config, M2M100ForConditionalGeneration,
                          MarianConfig, MarianMTModel, MBartConfig,
                          MBartForConditionalGeneration, T5Config, T5ForConditionalGeneration)

VERSIONS = {"transformers": "5.23.0", "torch": "2.13.0"}
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "engines"))
import engines  # noqa: E402  (found by the path above)

MARGIN = 2e-3
MAX_LENGTH = 40     # max_length of the main run
TRACED_STEPS = 8    # decoder steps whose tensors are recorded
DECODER_STD = 0.12
POSITIONS = 48      # max_position_embeddings
# Lengths of the sources, EOS included; the first two are traced; 48 fills all positions.
LENGTHS = [4, 1, 7, 12, 2, 48, 23, 30]

MARIAN = dict(dropout=0.0, max_position_embeddings=POSITIONS, pad_token_id=None, forced_eos_token_id=0, eos_token_id=0,
              scale_embedding=True)


def shape(d_model, heads, ffn, layers, activation, vocabulary, **more):
    """heads, ffn, layers: (encoder, decoder)."""
    return dict(d_model=d_model, encoder_attention_heads=heads[0], decoder_attention_heads=heads[1], encoder_ffn_dim=ffn[0],
                decoder_ffn_dim=ffn[1], encoder_layers=layers[0], decoder_layers=layers[1], activation_function=activation,
                vocab_size=vocabulary, **more)


# "config" goes to the model's class, "generation" to its generation_config.
FIXTURES = {
    # The smallest; tied tensors and position tables are stored several times, as in older conversions.
    "relu-1x1-f32": dict(dtype="float32", duplicates=True, config=shape(24, (3, 3), (72, 72), (1, 1), "relu", 203)),
    # Three and three layers, head size 20, stored as f16.
    "swish-3x3-f16": dict(dtype="float16", config=shape(40, (2, 2), (100, 100), (3, 3), "swish", 251)),
    # Own vocabularies, three separate matrices, embeddings not scaled, head sizes 12 and 8, several forbidden tokens.
    "gelu-4x2-bf16-untied": dict(dtype="bfloat16", config=shape(
        48, (4, 6), (72, 52), (4, 2), "gelu", 230, decoder_vocab_size=197, share_encoder_decoder_embeddings=False,
        tie_word_embeddings=False, scale_embedding=False), generation=dict(bad_words_ids=[[196], [7], [12], [0]])),
    # Separate vocabularies; the output matrix is the target's embedding. Forced first token, other ids of the special
    # tokens.
    "swish-1x2-f16-forced": dict(dtype="float16", config=shape(
        64, (4, 8), (72, 100), (1, 2), "swish", 150, decoder_vocab_size=211, share_encoder_decoder_embeddings=False,
        tie_word_embeddings=True), generation=dict(forced_bos_token_id=9)),
    # Head size 14, an odd half of d_model in the position table, no forced EOS.
    "relu-2x1-f32-odd": dict(dtype="float32", config=shape(
        42, (3, 3), (33, 65), (2, 1), "relu", 131, forced_eos_token_id=None)),
    # Pre-norm with final norms and embedding norms, learned positions from row 2 on, logits bias.
    "mbart-2x2-f32": dict(dtype="float32", family="mbart", config=shape(
        36, (3, 3), (52, 52), (2, 2), "gelu", 150, scale_embedding=True, decoder_start_token_id=2), generation=dict(
            forced_bos_token_id=149)),
    # Post-norm with embedding norms, learned positions, the activation by tanh.
    "bart-2x1-bf16": dict(dtype="bfloat16", family="bart", config=shape(
        40, (4, 2), (64, 48), (2, 1), "gelu_new", 140, decoder_start_token_id=2, forced_eos_token_id=None)),
    # Pre-norm with final norms only; fairseq's sinusoids from position 2 on; no bias of the logits.
    "m2m100-1x3-f16": dict(dtype="float16", family="m2m100", config=shape(
        32, (4, 2), (60, 72), (1, 3), "relu", 170, scale_embedding=True)),
    # RMSNorm with an epsilon large enough to matter, relative positions, no biases, heads narrower than d_model together,
    # the tied output matrix scaled.
    "t5-2x2-f32": dict(dtype="float32", family="t5", config=dict(
        layer_norm_epsilon=0.02,
        d_model=36, d_kv=10, num_heads=3, d_ff=60, num_layers=2, num_decoder_layers=2, vocab_size=150,
        relative_attention_num_buckets=12, relative_attention_max_distance=20, feed_forward_proj="relu")),
    # Heads wider than d_model together, gated, an output matrix of its own.
    "t5-3x2-bf16-gated": dict(dtype="bfloat16", family="t5", config=dict(
        d_model=32, d_kv=20, num_heads=2, d_ff=72, num_layers=3, num_decoder_layers=2, vocab_size=170,
        relative_attention_num_buckets=32, relative_attention_max_distance=128, feed_forward_proj="gated-gelu",
        tie_word_embeddings=False)),
}


def build(family, config):
    if family == "t5":
        model = T5ForConditionalGeneration(T5Config(dropout_rate=0.0, pad_token_id=0, eos_token_id=1,
                                                    decoder_start_token_id=0, **config))
        if not model.config.scale_decoder_outputs:  # what is left of tie_word_embeddings in this version
            model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
        return model
    common = dict(dropout=0.0, attention_dropout=0.0, max_position_embeddings=POSITIONS)
    if family == "bart":
        return BartForConditionalGeneration(BartConfig(**{**common, **config}))
    if family == "mbart":
        return MBartForConditionalGeneration(MBartConfig(**{**common, **config}))
    if family == "m2m100":
        common.update(encoder_layerdrop=0, decoder_layerdrop=0)
        return M2M100ForConditionalGeneration(M2M100Config(**{**common, **config}))
    target = config.get("decoder_vocab_size", config["vocab_size"])
    pad = min(config["vocab_size"], target) - 1  # the last id that both vocabularies have
    return MarianMTModel(MarianConfig(**{**MARIAN, "pad_token_id": pad, "decoder_start_token_id": pad, **config}))


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(shape, deviation):
        return deviation * torch.randn(shape, generator=generator)

    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if not parameter.requires_grad:
                continue  # position table of Marian
            if "norm" in name and name.endswith("weight"):
                parameter.copy_((1 + normal(parameter.shape, 0.2)) * normal(parameter.shape, 1).sign())
            elif name.endswith("bias"):
                parameter.copy_(normal(parameter.shape, 0.1))
            elif "shared" in name or "embed_tokens" in name or "lm_head" in name:
                parameter.copy_(normal(parameter.shape, 0.6))
            elif "relative_attention_bias" in name:
                parameter.copy_(normal(parameter.shape, 1))
            elif "Attention.q." in name or "Attention.k." in name:  # T5 does not scale its scores
                parameter.copy_(normal(parameter.shape, 0.15))
            elif "q_proj" in name or "k_proj" in name:
                parameter.copy_(normal(parameter.shape, 0.35))
            else:  # smaller in the decoder, as otherwise all steps have the same result after several layers
                parameter.copy_(normal(parameter.shape, DECODER_STD if "decoder" in name else 0.25))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(normal(model.final_logits_bias.shape, 0.5))
            model.final_logits_bias[0, model.config.eos_token_id] += 2 + 1.5 * (seed % 5)


def forbidden_ids(generation):
    """Forbidden single tokens; as in generate, EOS among them is ignored."""
    return [ids[0] for ids in generation.bad_words_ids or [] if ids != [generation.eos_token_id]]


def greedy(model, source, minimum, maximum):
    """Tokens without start token and EOS, whether EOS came, the least margin, and the largest raw logit of each step."""
    generation = model.generation_config
    tokens, margin, maxima = [], float("inf"), []
    encoded = model.get_encoder()(input_ids=torch.tensor([source]))
    while len(tokens) < maximum:
        inputs = torch.tensor([[model.config.decoder_start_token_id] + tokens])
        logits = model(encoder_outputs=encoded, attention_mask=torch.ones(1, len(source)),
                       decoder_input_ids=inputs).logits[0, -1]
        logits[forbidden_ids(generation)] = -float("inf")
        maxima.append(float(logits.max()))
        if len(tokens) < minimum:
            logits[generation.eos_token_id] = -float("inf")
        if not tokens and generation.forced_bos_token_id is not None:
            best = generation.forced_bos_token_id
        else:
            two = logits.topk(2)
            margin, best = min(margin, float(two.values[0] - two.values[1])), int(two.indices[0])
        if best == generation.eos_token_id:
            return tokens, True, margin, maxima
        tokens.append(best)
    return tokens, False, margin, maxima


def generate(model, source, minimum, maximum):
    """The same by the library. A decoder whose position table ends at maximum cannot compute a step for EOS."""
    more = dict(max_length=maximum + 2)
    if maximum == POSITIONS:
        more = dict(max_length=maximum + 1, forced_eos_token_id=None)
    output = model.generate(torch.tensor([source]), attention_mask=torch.ones(1, len(source)), num_beams=1, do_sample=False,
                            min_length=minimum + 1 if minimum else 0, **more)[0].tolist()
    tokens = output[1:]
    if tokens and tokens[-1] == model.config.eos_token_id:
        tokens.pop()
    return tokens[:maximum]


def run(model, source, minimum, maximum):
    """None if a margin is too small."""
    tokens, finished, margin, maxima = greedy(model, source, minimum, maximum)
    if margin < MARGIN:
        return None
    return {"source": source, "target": tokens, "finished": finished, "maxima": [round(value, 5) for value in maxima]}


def choose_lines(model, seed):
    """A sentence of each length, alternately one that ends with EOS and one that does not; None if the model gives none."""
    chooser = random.Random(seed)
    special = {model.config.pad_token_id, model.config.eos_token_id, getattr(model.config, "bos_token_id", None)}
    words = [i for i in range(model.config.vocab_size) if i not in special]
    lines = []
    for number, length in enumerate(LENGTHS):
        for _ in range(30 if length > 1 else 1):
            source = [chooser.choice(words) for _ in range(length - 1)] + [model.config.eos_token_id]
            line = run(model, source, 0, MAX_LENGTH)
            if line and len(set(line["target"])) >= 4 and (length == 1 or line["finished"] == (number % 2 == 0)):
                lines.append(line)
                break
        else:
            return None
    lengths = {len(line["target"]) for line in lines}
    return lines if len(lengths) >= 4 and len({tuple(line["target"]) for line in lines}) == len(lines) else None


class Recorder:
    """Collects the outputs of the network's parts, under the names of decoding.h."""

    def __init__(self, model):
        self.model, self.table, self.data = model, [], io.BytesIO()

    def add(self, sentence, step, where, layer, rows):
        rows = np.ascontiguousarray(rows.detach().numpy().reshape(-1, rows.shape[-1]), dtype="<f4")
        self.table.append({"sentence": sentence, "step": step, "where": where, "layer": layer, "rows": rows.shape[0],
                           "width": rows.shape[1], "offset": self.data.tell() // 4})
        self.data.write(rows.tobytes())

    def side(self, stack, names, take):
        """Hooks for one stack of layers; names: of its embedding, its layers and its final norm."""
        embedding, layer_name, final = names
        t5 = hasattr(stack, "block")
        layers = stack.block if t5 else stack.layers
        last = stack.final_layer_norm if t5 else getattr(stack, "layer_norm", None)
        # the project has T5's factor in front of the tied output matrix in this norm
        scale = stack.config.d_model ** -0.5 if t5 and stack.is_decoder and self.model.config.scale_decoder_outputs else 1
        hooks = [layers[0].register_forward_pre_hook(
            lambda module, args, kwargs: take(embedding, 0, args[0] if args else kwargs["hidden_states"]), with_kwargs=True)]
        for i, layer in enumerate(layers):
            hooks.append(layer.register_forward_hook(lambda module, args, output, i=i: take(
                layer_name, i, output if torch.is_tensor(output) else output[0])))
        if last:
            hooks.append(last.register_forward_hook(lambda module, args, output: take(final, 0, scale * output)))
        return hooks

    def record(self, number, line):
        model = self.model
        hooks = self.side(model.get_encoder(), ("source.embedding", "encoder", "encoder.output"),
                          lambda where, layer, rows: self.add(number, -1, where, layer, rows))
        encoded = model.get_encoder()(input_ids=torch.tensor([line["source"]]))
        for hook in hooks:
            hook.remove()
        inputs = [model.config.decoder_start_token_id] + line["target"]
        for step in range(min(TRACED_STEPS, len(inputs))):
            hooks = self.side(model.get_decoder(), ("target.embedding", "decoder", "decoder.output"),
                              lambda where, layer, rows, step=step: self.add(number, step, where, layer, rows[:, -1]))
            output = model(encoder_outputs=encoded, attention_mask=torch.ones(1, len(line["source"])),
                           decoder_input_ids=torch.tensor([inputs[:step + 1]]))
            for hook in hooks:
                hook.remove()
            self.add(number, step, "logits", 0, output.logits[:, -1])


def train_pieces(path, size, **special):
    """A tiny SentencePiece model over made-up words."""
    chooser = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(chooser.choice(syllables) for _ in range(chooser.randint(1, 3))) for _ in range(300)]
    text = [" ".join(chooser.choice(words) for _ in range(8)) + "." for _ in range(400)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model, vocab_size=size, num_threads=1, minloglevel=2,
        **{"normalization_rule_name": "identity", "bos_id": -1, "eos_id": 0, "unk_id": 1, **special})
    with open(path, "wb") as file:
        file.write(model.getvalue())
    loaded = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [loaded.IdToPiece(i) for i in range(size)]


def write_vocabulary(path, pieces, size, pad):
    names = pieces + [f"<unused{i}>" for i in range(size - len(pieces))]
    names.insert(pad, "<pad>")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({piece: i for i, piece in enumerate(names[:size])}, file, ensure_ascii=False, indent=0)


def save_marian(model, directory, fixture):
    """Saves the model as save_pretrained does, and the files of a tokenizer."""
    stored = model.to(getattr(torch, fixture["dtype"]))
    stored.save_pretrained(directory)
    if fixture.get("duplicates"):
        save_file({name: tensor.clone().contiguous() for name, tensor in stored.state_dict().items()},
                  os.path.join(directory, "model.safetensors"), {"format": "pt"})
    os.chmod(os.path.join(directory, "model.safetensors"), 0o644)
    config = model.config
    separate = not config.share_encoder_decoder_embeddings
    pieces = train_pieces(os.path.join(directory, "source.spm"), 100)
    shutil.copy(os.path.join(directory, "source.spm"), os.path.join(directory, "target.spm"))
    write_vocabulary(os.path.join(directory, "vocab.json"), pieces, config.vocab_size, config.pad_token_id)
    if separate:
        path = os.path.join(directory, "target_vocab.json")
        write_vocabulary(path, pieces, config.decoder_vocab_size, config.pad_token_id)
    with open(os.path.join(directory, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"source_lang": "xx", "target_lang": "yy", "model_max_length": POSITIONS, "separate_vocabs": separate},
                  file)


def save_family(model, directory, fixture):
    """Saves it as save_pretrained does, with pieces for the ids."""
    model.to(getattr(torch, fixture["dtype"])).save_pretrained(directory)
    os.chmod(os.path.join(directory, "model.safetensors"), 0o644)
    if fixture["family"] == "t5":
        train_pieces(os.path.join(directory, "spiece.model"), 100, pad_id=0, eos_id=1, unk_id=2)
    else:
        with open(os.path.join(directory, "vocab.json"), "w", encoding="utf-8") as file:
            json.dump({f"piece{i}": i for i in range(model.config.vocab_size)}, file, indent=0)


def make_model(fixture, seed):
    """The model with its weights rounded as they are stored, in f32."""
    model = build(fixture.get("family"), fixture["config"]).eval()
    randomise(model, seed)
    for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
        if tensor.requires_grad or "final_logits_bias" in name:
            tensor.data = tensor.data.to(getattr(torch, fixture["dtype"])).float()
    generation = model.generation_config
    if "family" not in fixture:
        generation.bad_words_ids = [[model.config.pad_token_id]]
        generation.forced_eos_token_id = model.config.to_dict().get("forced_eos_token_id", generation.forced_eos_token_id)
    for name, value in fixture.get("generation", {}).items():
        setattr(generation, name, value)
    generation.max_length = POSITIONS
    return model


def search(fixture):
    for seed in range(1, 200):
        model = make_model(fixture, seed)
        lines = choose_lines(model, seed)
        if lines:
            return seed, model, lines
    sys.exit("no seed gives varied outputs")


def cases(model, lines):
    """Runs with other limits: name, min_length, max_length, and the tokens of each sentence (null: margin too small)."""
    limits = [("shortest", 0, 1), ("cut", 0, 5), ("at least", 12, MAX_LENGTH), ("exactly", 9, 9), ("exactly one", 1, 1),
              ("all positions", 0, POSITIONS)]
    result = []
    for name, minimum, maximum in limits:
        targets = []
        for line in lines:
            done = run(model, line["source"], minimum, maximum)
            if done and generate(model, line["source"], minimum, maximum) != done["target"]:
                sys.exit(f"{name}: generate and the loop differ for {line['source']}")
            targets.append({"target": done["target"], "finished": done["finished"]} if done else None)
        if sum(target is not None for target in targets) < 4:
            sys.exit(f"{name}: too few sentences with a clear margin")
        result.append({"name": name, "min_length": minimum, "max_length": maximum, "sentences": targets})
    return result


def make(name):
    fixture = FIXTURES[name]
    directory = os.path.join(HERE, "fixtures", name)
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    seed, model, lines = search(fixture)
    for line in lines:
        if generate(model, line["source"], 0, MAX_LENGTH) != line["target"]:
            sys.exit(f"{name}: generate and the loop differ for {line['source']}")
    recorder = Recorder(model)
    for number in range(2):
        recorder.record(number, lines[number])
    other = cases(model, lines)
    (save_family if "family" in fixture else save_marian)(model, os.path.join(directory, "model"), fixture)
    again = type(model).from_pretrained(os.path.join(directory, "model"), dtype=torch.float32).eval()
    for line in lines:
        if generate(again, line["source"], 0, MAX_LENGTH) != line["target"]:
            sys.exit(f"{name}: the stored model gives other tokens")
    with open(os.path.join(directory, "expected.f32"), "wb") as file:
        file.write(recorder.data.getvalue())
    expected = {"made_with": VERSIONS, "seed": seed, "max_length": MAX_LENGTH, "sentences": lines, "cases": other,
                "tensors": recorder.table}
    with open(os.path.join(directory, "expected.json"), "w", encoding="utf-8") as file:
        rows = {key: "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]" if isinstance(value, list) and value and
                isinstance(value[0], dict) else json.dumps(value) for key, value in expected.items()}
        file.write("{\n" + ",\n".join(f'"{key}": {value}' for key, value in rows.items()) + "\n}\n")
    print(name, "seed", seed, "lengths", [len(line["target"]) for line in lines],
          "different", [len(set(line["target"])) for line in lines], flush=True)


def prepare():
    """Checks the versions of the libraries; makes them quiet and deterministic."""
    for module, version in VERSIONS.items():
        if sys.modules[module].__version__.split("+")[0] != version:
            sys.exit(f"{module} is {sys.modules[module].__version__}; the fixtures are made with {version}")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


CLASSES = {None: MarianMTModel, "bart": BartForConditionalGeneration, "mbart": MBartForConditionalGeneration,
           "m2m100": M2M100ForConditionalGeneration, "t5": T5ForConditionalGeneration}


def check(to, name):
    """Transformers, and this project's program, on the committed model."""
    directory = os.path.join(HERE, "fixtures", name)
    with open(os.path.join(directory, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    path = os.path.join(directory, "model")
    model = CLASSES[FIXTURES[name].get("family")].from_pretrained(path, dtype=torch.float32).eval()
    lines = expected["sentences"]
    sources = [line["source"] for line in lines]
    runs = [("all", 0, expected["max_length"], lines)]
    runs += [(case["name"], case["min_length"], case["max_length"], case["sentences"]) for case in expected["cases"]]
    for what, minimum, maximum, targets in runs:
        clear = [i for i, target in enumerate(targets) if target]
        to.each(f"{name}, {what}: transformers", [targets[i]["target"] for i in clear],
                [generate(model, sources[i], minimum, maximum) for i in clear])
        long = [i for i in clear if len(sources[i]) > 1]
        to.each(f"{name}, {what}: translate", [targets[i]["target"] for i in long],
                to.translate(path, [sources[i][:-1] for i in long], "--exact", "--max-length", maximum, "--min-length",
                             minimum))


def main():
    prepare()
    engines.check_or_make(check, make, FIXTURES)


if __name__ == "__main__":
    main()
