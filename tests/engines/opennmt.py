"""A random model as OpenNMT-py's converter makes it: one layer a side, norms before the blocks, no position table, no EOS
after a source. For scripts that have CTranslate2."""
import numpy as np
from ctranslate2.specs import transformer_spec


def random_spec(seed, heads, d, ffn, sources, targets):
    """A specification without vocabularies, which must have `sources` and `targets` tokens."""
    generator = np.random.default_rng(seed)
    spec = transformer_spec.TransformerSpec.from_config((1, 1), heads)

    def normal(deviation, *size):
        return (generator.standard_normal(size) * deviation).astype(np.float32)

    def linear(layer, outputs, inputs, deviation):
        layer.weight, layer.bias = normal(deviation, outputs, inputs), normal(0.1, outputs)

    def norm(layer):
        layer.gamma, layer.beta = 1 + normal(0.3, d), normal(0.1, d)

    for side in (spec.encoder, spec.decoder):
        deviation = 0.4 if side is spec.encoder else 0.5
        norm(side.layer_norm)
        for layer in side.layer:
            for attention in [layer.self_attention] + ([layer.attention] if side is spec.decoder else []):
                norm(attention.layer_norm)
                stacked = [3] if attention is layer.self_attention else [1, 2]
                for part, count in zip(attention.linear, stacked):
                    linear(part, count * d, d, deviation)
                linear(attention.linear[-1], d, d, deviation)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, ffn, d, deviation)
            linear(layer.ffn.linear_1, d, ffn, deviation)
    spec.encoder.embeddings[0].weight = normal(0.5, sources, d)
    spec.decoder.embeddings.weight = normal(0.2, targets, d)  # smaller, as otherwise each token is followed by itself
    spec.decoder.projection.weight = spec.decoder.embeddings.weight
    spec.decoder.projection.bias = normal(0.5, targets)
    return spec
