"""Logits are the same bits however a prompt is cut into chunks and however many threads compute it."""
import unittest

import numpy as np
import support

NUM_IDS = 40 if support.SANITIZED else 150


class SameBits(unittest.TestCase):
    def check(self, model, *args):
        ids = support.english_ids(model, NUM_IDS)
        whole = support.logits(model, ids, "--threads", 1, *args)
        self.assertTrue(np.isfinite(whole).all())
        for chunk in (1, 7, 64):
            with self.subTest(model=model.name, chunk=chunk, args=args):
                ours = support.logits(model, ids, "--threads", 1, "--chunk", chunk, *args)
                self.assertEqual(whole.tobytes(), ours.tobytes())
        for threads, chunk in ((2, NUM_IDS), (2, 7), (3, 64)):
            with self.subTest(model=model.name, threads=threads, args=args):
                ours = support.logits(model, ids, "--threads", threads, "--chunk", chunk, *args)
                self.assertEqual(whole.tobytes(), ours.tobytes())

    def test_default_model(self):
        self.check(support.SMOLLM2)

    def test_every_kv_type(self):
        for kv_type in ("f32", "bf16", "q8_0"):
            self.check(support.tiny_model("tiny-llama", types=("Q4_1",)), "--kv-type", kv_type)

    def test_every_instruction_set(self):
        model = support.tiny_model("tiny-qwen3", types=("Q4_K", "Q6_K", "Q4_0"))
        for level in support.supported_isa_levels():
            self.check(model, "--isa", level)

    def test_window_shorter_than_the_prompt(self):
        self.check(support.tiny_model("tiny-gemma3", types=("Q8_0", "Q4_K"), window=19))

    def test_biases_and_float_weights(self):
        self.check(support.tiny_model("tiny-qwen2", types=("F16", "F32", "BF16")))

    def test_the_contiguous_layout_changes_nothing(self):
        model = support.tiny_model("tiny-gemma3", types=("Q4_1",))
        ids = support.english_ids(model, NUM_IDS)
        for kv_type in ("f32", "f16", "bf16"):
            with self.subTest(kv_type=kv_type):
                paged = support.logits(model, ids, "--kv-type", kv_type, "--kv-layout", "paged")
                contiguous = support.logits(model, ids, "--kv-type", kv_type, "--kv-layout", "contiguous")
                self.assertEqual(paged.tobytes(), contiguous.tobytes())

    def test_block_size_changes_nothing(self):
        model = support.tiny_model("tiny-llama", types=("Q4_1",))
        ids = support.english_ids(model, NUM_IDS)
        whole = support.logits(model, ids)
        for block_size in (1, 4, 32, 256):
            with self.subTest(block_size=block_size):
                self.assertEqual(whole.tobytes(), support.logits(model, ids, "--block-size", block_size).tobytes())


if __name__ == "__main__":
    unittest.main()
