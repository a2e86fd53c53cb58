"""The measures of truth agree with ones worked out by hand."""
import math
import unittest

import numpy as np

import compare_logits


def reference(rows):
    """An oracle whose logits are exactly these rows."""
    rows = np.asarray(rows, np.float32)
    return compare_logits.OracleLogits(rows, np.eye(rows.shape[1], dtype=np.float32))


class Compare(unittest.TestCase):
    def test_equal_logits_differ_by_nothing(self):
        rows = np.random.default_rng(1).standard_normal((70, 11)).astype(np.float32)
        result = compare_logits.compare(reference(rows), rows, [i % 11 for i in range(70)])
        self.assertEqual(result["max_abs_error"], 0)
        self.assertEqual(result["mean_kl"], 0)
        self.assertEqual(result["top1_agreement"], 1)
        self.assertEqual(result["nll_relative_difference"], 0)

    def test_two_coins(self):
        # Oracle: 1/2 and 1/2. Ours: 1/4 and 3/4. KL = ln(2) - ln(3)/2; NLL of token 1 is ln 2 and ln(4/3).
        oracle = reference([[0, 0], [0, 0]])
        ours = np.array([[0, math.log(3)]] * 2, np.float32)
        result = compare_logits.compare(oracle, ours, [0, 1])
        self.assertAlmostEqual(result["mean_kl"], math.log(2) - math.log(3) / 2, places=6)
        self.assertAlmostEqual(result["mean_nll_reference"], math.log(2), places=6)
        self.assertAlmostEqual(result["mean_nll"], math.log(4 / 3), places=6)
        self.assertAlmostEqual(result["max_abs_error"], math.log(3), places=6)

    def test_a_shift_of_all_logits_is_no_divergence(self):
        rows = np.random.default_rng(2).standard_normal((3, 5)).astype(np.float32)
        result = compare_logits.compare(reference(rows), rows + np.float32(1), [0, 1, 2])
        self.assertLess(result["mean_kl"], 1e-6)
        self.assertAlmostEqual(result["max_abs_error"], 1, places=5)

    def test_p99_is_that_of_the_tokens_and_a_saved_reference_is_read(self):
        # One token of 200 diverges as two coins do (above), which the 99th percentile does not see; three are seen.
        rows = np.zeros((200, 2), np.float32)
        ours = rows.copy()
        ours[7] = [0, math.log(3)]
        result = compare_logits.compare(compare_logits.SavedLogits(rows), ours, [0] * 200)
        self.assertEqual(result["p99_kl"], 0)
        self.assertAlmostEqual(result["mean_kl"], (math.log(2) - math.log(3) / 2) / 200, places=8)
        ours[8:10] = ours[7]
        result = compare_logits.compare(compare_logits.SavedLogits(rows), ours, [0] * 200)
        self.assertAlmostEqual(result["p99_kl"], math.log(2) - math.log(3) / 2, places=6)

    def test_only_the_first_rows(self):
        rows = np.zeros((4, 3), np.float32)
        ours = rows.copy()
        ours[2:] = [0, 0, 9]
        compared = compare_logits.compare_rows(reference(rows), ours, [0] * 4)
        self.assertEqual(compare_logits.summary(compared, 2)["mean_kl"], 0)
        self.assertGreater(compare_logits.summary(compared, 4)["mean_kl"], 1)

    def test_only_some_rows(self):
        rows = np.random.default_rng(3).standard_normal((90, 7)).astype(np.float32)
        ours = rows + np.random.default_rng(4).standard_normal((90, 7)).astype(np.float32)
        ids = [i % 7 for i in range(90)]
        whole = compare_logits.compare_rows(reference(rows), ours, ids)
        places = [0, 3, *range(9, 90, 10)]
        part = compare_logits.compare_rows(reference(rows), ours, ids, places)
        for name in ("kl", "max_error", "same_top", "nll", "nll_reference"):
            np.testing.assert_allclose(part[name], whole[name][places], rtol=1e-6)
        self.assertAlmostEqual(compare_logits.summary(part, 20)["mean_kl"], whole["kl"][[0, 3, 9, 19]].mean(), places=9)
        self.assertAlmostEqual(compare_logits.summary(part, 20)["mean_nll"], whole["nll"][[0, 3, 9]].mean(), places=9)
        self.assertAlmostEqual(compare_logits.summary(part, 90)["mean_nll"], whole["nll"][places[:-1]].mean(), places=9)

    def test_nan_and_wrong_shapes_are_refused(self):
        rows = np.zeros((2, 3), np.float32)
        bad = rows.copy()
        bad[1, 1] = np.nan
        with self.assertRaisesRegex(ValueError, "not finite"):
            compare_logits.compare(reference(rows), bad, [0, 1])
        with self.assertRaisesRegex(ValueError, "shape"):
            compare_logits.compare(reference(rows), rows[:, :2], [0, 1])


if __name__ == "__main__":
    unittest.main()
