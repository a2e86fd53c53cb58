"""Logits against the original implementations in `transformers`, as tools/original_logits.py wrote them down."""
import unittest

import numpy as np

import oracle
import oracle_gemma4
import original_logits
import support

MAX_LOGIT_ERROR = 2e-3


class Originals(unittest.TestCase):
    """Scalar kernels and f32 KV on float32 weights: within 2e-3 in every logit that is kept, and in the sum of all."""

    @classmethod
    def setUpClass(cls):
        cls.kept = np.load(support.SOURCE_DATA / "original_logits.npz")

    def check(self, name):
        case = original_logits.CASES[name]
        model = support.tiny_model(case.shape, types=("F32",), **case.options)
        logits = support.logits(model, self.kept["ids"].tolist(), "--isa", "scalar", "--kv-type", "f32")
        expected = self.kept[f"{name}: logits"]
        error = np.abs(logits[:, ::int(self.kept["column_step"])] - expected).max()
        sums = np.logaddexp.reduce(logits.astype(np.float64), axis=1) - self.kept[f"{name}: log_sum"]
        print(f"{name}: logits off by {error:.1e}, logarithms of sums by {np.abs(sums).max():.1e}")
        self.assertGreater(expected.std(), 0.5)
        self.assertLess(error, MAX_LOGIT_ERROR)
        self.assertLess(np.abs(sums).max(), MAX_LOGIT_ERROR)

    def test_every_family(self):
        for name in original_logits.CASES:
            with self.subTest(name=name):
                self.check(name)

    def test_guesses_of_assistants(self):
        """The logits of the oracle, whose guesses tests/cpu/transformer_test.cc compares with."""
        for name, (of_model, shape, _) in original_logits.ASSISTED.items():
            case = original_logits.CASES[of_model]
            model = oracle.open_model(support.tiny_model(case.shape, types=("F32",), **case.options))
            model.assist(oracle_gemma4.Assistant(support.tiny_model(shape, types=("F32",), **case.options)))
            logits = model.head_logits(self.kept["ids"].tolist(), original_logits.GUESSED)
            expected = self.kept[f"{name}: logits"]
            error = np.abs(logits[:, ::int(self.kept["column_step"])] - expected).max()
            sums = np.logaddexp.reduce(logits.astype(np.float64), axis=1) - self.kept[f"{name}: log_sum"]
            print(f"{name}: logits off by {error:.1e}, logarithms of sums by {np.abs(sums).max():.1e}")
            self.assertGreater(expected.std(), 0.5)
            self.assertLess(error, MAX_LOGIT_ERROR)
            self.assertLess(np.abs(sums).max(), MAX_LOGIT_ERROR)

    def test_all_that_is_kept_is_compared(self):
        names = {key.removesuffix(": logits") for key in self.kept if key.endswith(": logits")}
        self.assertEqual(names, {*original_logits.CASES, *original_logits.ASSISTED})


if __name__ == "__main__":
    unittest.main()
