"""Logits against the float32 oracle on real models, over an English text and over the oracle's own continuations."""
import unittest

import compare_logits
import numpy as np
import support

LONG = 200 if support.SANITIZED else 1000
SHORT = 200
# All of the first rows, and of those behind them a part: what the rest would add to a mean takes as long as all else.
PLACES = [*range(SHORT), *range(SHORT, LONG, 4)]
MAX_NLL_DIFFERENCE = 0.003
# A step whose best two logits are further apart than this cannot turn over by rounding alone.
CLEAR_GAP = 0.6
MIN_AGREEMENT = 0.9


class RealModel:
    """Tests for one model; the classes below name it."""

    def test_divergence_and_likelihood_over_english_text(self):
        ids = support.english_ids(self.model, LONG)
        ours = support.logits(self.model, ids)
        oracle = compare_logits.oracle_logits(self.model, ids, support.ORACLE_CACHE)
        rows = compare_logits.compare_rows(oracle, ours, ids, PLACES)
        for num_rows, max_kl in ((SHORT, self.max_kl_short), (LONG, self.max_kl_long)):
            result = compare_logits.summary(rows, num_rows)
            print(f"{self.model.name}, {num_rows} tokens: KL {result['mean_kl']:.2e} (at most {max_kl:.1e}), "
                  f"NLL {result['mean_nll']:.4f} against {result['mean_nll_reference']:.4f}, "
                  f"same top token {100 * result['top1_agreement']:.1f} %")
            self.assertLessEqual(result["mean_kl"], max_kl)
            self.assertLessEqual(result["nll_relative_difference"], MAX_NLL_DIFFERENCE)

    def test_top_tokens_along_the_oracles_continuations(self):
        steps, agreed = 0, 0
        for case in support.golden(self.golden)["cases"]:
            fed = case["ids"] + [token for token, _ in case["greedy_token_and_gap"]]
            top = support.logits(self.model, fed[:-1]).argmax(-1)[len(case["ids"]) - 1 :]
            for ours, (token, gap) in zip(top, case["greedy_token_and_gap"], strict=True):
                steps, agreed = steps + 1, agreed + (ours == token)
                if gap > CLEAR_GAP:
                    self.assertEqual(ours, token, f"after {case['text']!r}, with a gap of {gap}")
        print(f"{self.model.name}: {agreed} of {steps} top tokens are the oracle's")
        self.assertGreaterEqual(agreed, MIN_AGREEMENT * steps)

    def test_golden_prompts_give_the_golden_tokens_and_likelihood(self):
        for case in support.golden(self.golden)["cases"]:
            with self.subTest(text=case["text"]):
                self.assertEqual(support.tokenize(self.model, case["text"]), case["ids"])
                result = support.logits_json(self.model, case["ids"])
                self.assertAlmostEqual(result["mean_nll"] / case["mean_nll"], 1, delta=0.03)


class SmolLm2(RealModel, unittest.TestCase):
    model, golden = support.SMOLLM2, "smollm2-135m"
    max_kl_short, max_kl_long = 3.5e-3, 4.6e-3

    def test_json_summarizes_the_logits(self):
        ids = support.english_ids(self.model, 20)
        rows = support.logits(self.model, ids).astype(np.float64)
        logprobs = rows - np.log(np.exp(rows - rows.max(-1, keepdims=True)).sum(-1, keepdims=True)) - rows.max(
            -1, keepdims=True)
        result = support.logits_json(self.model, ids)
        self.assertAlmostEqual(result["mean_nll"], -np.mean([logprobs[i, ids[i + 1]] for i in range(19)]), places=4)
        best = np.argsort(-logprobs[-1])[:20]
        self.assertEqual([token for token, _ in result["top"]], best.tolist())
        np.testing.assert_allclose([logprob for _, logprob in result["top"]], logprobs[-1, best], atol=1e-4)


class Gemma3(RealModel, unittest.TestCase):
    model, golden = support.GEMMA3, "gemma-3-270m"
    max_kl_short, max_kl_long = 5.5e-3, 5.7e-3


if __name__ == "__main__":
    unittest.main()
