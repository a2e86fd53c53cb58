"""What each element type of the KV memory costs: logits against those with f32 KV, over an English text.

The models' weights are made float first (tools/dequantize_model.py). With quantized weights, activations are rounded to
int8, where the last bit of anything decides which way: with the very same f32 KV, two instruction sets diverge by about
3e-3 there, and every KV type alike. With float weights they diverge by 3e-11, and what is measured is the KV type.
"""
import unittest

import kv_quality
import support

NUM_IDS = 100 if support.SANITIZED else 300
MIN_AGREEMENT = 0.97


class KvQuality:
    """Tests for one model; the classes below name it."""

    def check(self, model, max_kl, min_agreement):
        ids = support.english_ids(model, NUM_IDS)
        results = kv_quality.measure(support.OCTAVO, model, ids, [("--kv-type", kv_type) for kv_type in max_kl])
        for (kv_type, bound), result in zip(max_kl.items(), results, strict=True):
            print(f"{model.name}, {kv_type}: KL {result['mean_kl']:.2e} (at most {bound:.1e}), 99 % below "
                  f"{result['p99_kl']:.2e}, same top token {100 * result['top1_agreement']:.1f} %")
            with self.subTest(kv_type=kv_type):
                self.assertGreater(result["mean_kl"], 0)  # another type was indeed in use
                self.assertLessEqual(result["mean_kl"], bound)
                self.assertLessEqual(result["nll_relative_difference"], 0.003)
                self.assertGreaterEqual(result["top1_agreement"], min_agreement)

    def test_P15_divergence_from_f32(self):
        self.check(support.float_model(self.model), self.max_kl, MIN_AGREEMENT)


class SmolLm2(KvQuality, unittest.TestCase):
    model = support.SMOLLM2
    max_kl = {"i16": 1.1e-6, "f16": 1.1e-6, "bf16": 7e-5, "q8_0": 1e-3}


class Gemma3(KvQuality, unittest.TestCase):
    model = support.GEMMA3
    max_kl = {"i16": 1e-6, "f16": 1e-6, "bf16": 6e-5, "q8_0": 1e-3}


if __name__ == "__main__":
    unittest.main()
