"""Tests of what the recipe's steps rest on: python -m unittest (in this folder, with requirements.txt installed)."""
import random
import unittest

import torch
import torch.nn.functional as F

import corpus
from batches import CHUNK, Batches, make_batch, pack
from decode import greedy_ids
from loss import cross_entropy
from model import Dropout, Marian, Shape
from train import loss_sum

SMALL = Shape(vocabulary=50, d_model=128, ffn=64, encoder_layers=2, decoder_layers=2)


def random_pairs(count: int, rng: random.Random) -> list[tuple[list[int], list[int]]]:
    return [tuple([rng.randrange(1, 49) for _ in range(rng.randrange(1, 20))] + [0] for _ in "st") for _ in range(count)]


class Corpus(unittest.TestCase):
    def test_normalise(self):
        self.assertEqual(corpus.normalise(" ２０２４年\u200b　ﬁn\t。 "), "2024年 fin 。")

    def test_filter(self):
        self.assertTrue(corpus.is_good("你好。", "Hello."))
        for source, target in (("", "Hello."), ("。", "Hello."), ("你好" * 400, "Hello."), ("你", "Hello " * 20)):
            self.assertFalse(corpus.is_good(source, target), (source, target))
        self.assertFalse(corpus.is_good("print(hello_world)", "print(hello_world)"))

    def test_deduplicate_sees_through_marks_and_case(self):
        pairs = [("你好。", "Hello.", "a"), ("你好", "hello", "b"), ("你好", "Hi", "b")]
        self.assertEqual(corpus.deduplicate(pairs), [pairs[0], pairs[2]])

    def test_connected_groups(self):
        pairs = [("一", "x", "a"), ("二", "x", "a"), ("二", "y", "a"), ("三", "z", "a")]
        self.assertEqual(sorted(map(len, corpus.connected_groups(pairs))), [1, 3])

    def test_dev_shares_no_side_with_train(self):
        rng = random.Random(0)
        pairs = [(f"句{rng.randrange(900)}", f"word{rng.randrange(900)}", rng.choice("ab")) for _ in range(800)]
        pairs = corpus.deduplicate(pairs)
        train, dev = corpus.split_off_dev(pairs, 20)
        self.assertEqual(len(train) + len(dev), len(pairs))
        self.assertGreater(len(dev), 20)
        for side in (0, 1):
            self.assertFalse({pair[side] for pair in train} & {pair[side] for pair in dev})

    def test_without_keeps_common_phrases(self):
        pairs = [("你好", "Hello.", "a"), ("今天天气很好。", "Nice.", "a"), ("嗯", "The weather is very good today!", "a")]
        texts = {corpus.key(text) for text in ("你好。", "今天天气很好", "The weather is very good today.")}
        self.assertEqual(corpus.without(pairs, texts), pairs[:1])


class Packing(unittest.TestCase):
    def test_every_pair_comes_once_and_fits(self):
        pairs = random_pairs(500, random.Random(1))
        rows = pack(pairs + [([1] * 70, [1])], length=64)
        self.assertEqual(sorted(pair for row in rows for pair in row), sorted(pairs))
        self.assertTrue(all(sum(len(pair[side]) for pair in row) <= 64 for row in rows for side in (0, 1)))

    def test_packed_loss_is_the_sum_of_each_alone(self):
        torch.manual_seed(0)
        model, pairs = Marian(SMALL), random_pairs(12, random.Random(2))
        packed = loss_sum(model, make_batch(pack(pairs, 64), 64, SMALL.pad), Dropout(), 0.1)
        alone = sum(loss_sum(model, make_batch([[pair]], 32, SMALL.pad), Dropout(), 0.1) for pair in pairs)
        self.assertAlmostEqual(packed.item(), alone.item(), delta=1e-2)


class CharacterSegmenter:
    """Stands in for SentencePiece: a letter an id, and END."""

    def pairs(self, pairs, rng):
        return [tuple([ord(c) % 48 + 1 for c in side] + [0] for side in pair[:2]) for pair in pairs]


class Order(unittest.TestCase):
    def stream(self) -> Batches:
        rng = random.Random(5)
        pairs = [("x" * rng.randrange(1, 14), "y" * rng.randrange(1, 30), "any") for _ in range(2 * CHUNK)]
        return Batches(pairs, CharacterSegmenter(), tokens=128, lengths=[32, 16], pad=49)

    def test_batches_are_full_and_an_epoch_holds_nearly_all(self):
        stream, tokens, lengths = self.stream(), 0, set()
        expected = sum(len(target) + 1 for _, target, _ in stream.all_pairs)
        for batch in stream:
            if stream.epoch == 1:
                break
            self.assertEqual(batch.source.numel(), 128)
            lengths.add(batch.source.shape[1])
            tokens += batch.tokens()
        self.assertEqual(lengths, {16, 32})
        self.assertTrue(expected - 2 * 128 <= tokens <= expected, (tokens, expected))

    def test_seed_and_place_decide_the_batches(self):
        def labels(chunk: int) -> list[list[int]]:
            stream = self.stream()
            stream.chunk = chunk
            return [batch.label.flatten().tolist() for batch, _ in zip(stream, range(30))]

        self.assertEqual(labels(1), labels(1))
        self.assertNotEqual(labels(0), labels(1))


class Loss(unittest.TestCase):
    def test_agrees_with_pytorch(self):
        torch.manual_seed(0)
        x, weight, bias = torch.randn(3, 200, 8), torch.randn(50, 8), torch.randn(50)
        labels = torch.randint(-1, 50, (3, 200))
        results = []
        for ours in (True, False):
            leaves = [t.clone().requires_grad_() for t in (x, weight, bias)]
            if ours:
                loss = cross_entropy(*leaves, labels, 0.1)
            else:
                logits = F.linear(*leaves).flatten(0, 1)
                loss = F.cross_entropy(logits, labels.flatten(), ignore_index=-1, label_smoothing=0.1, reduction="sum")
            results.append([loss, *torch.autograd.grad(loss, leaves)])
        for ours, theirs in zip(*results):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


class Decoding(unittest.TestCase):
    def test_batch_does_not_change_a_translation(self):
        torch.manual_seed(0)
        model = Marian(SMALL).eval()
        sources = [source for source, _ in random_pairs(6, random.Random(3))]
        for source, together in zip(sources, greedy_ids(model, sources, most=15)):
            alone = greedy_ids(model, [source], most=15)[0]
            shorter = min(len(alone), len(together))
            self.assertEqual(together[:shorter], alone[:shorter])


if __name__ == "__main__":
    unittest.main()
