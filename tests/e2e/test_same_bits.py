"""Logits are the same bits however a prompt is cut into chunks and however many threads compute it; choices are the same
in whatever memory and company."""
import itertools
import json
import unittest

import numpy as np
import support

NUM_IDS = 40 if support.SANITIZED else 150


class SameBits(unittest.TestCase):
    def check(self, model, *args, count=NUM_IDS):
        ids = support.english_ids(model, count)
        whole = support.logits(model, ids, "--threads", 1, *args)
        self.assertTrue(np.isfinite(whole).all())
        # Single rows; a number of them that no tile has; two whole chunks and a part of one; threads alone.
        for threads, chunk in ((1, 1), (2, 7), (3, 64), (2, count)):
            with self.subTest(model=model.name, threads=threads, chunk=chunk, args=args):
                ours = support.logits(model, ids, "--threads", threads, "--chunk", chunk, *args)
                self.assertEqual(whole.tobytes(), ours.tobytes())

    def test_default_model(self):
        self.check(support.SMOLLM2, count=NUM_IDS // 2)  # a chunk of 64 and a part of one

    def test_every_kv_type(self):
        for kv_type in ("i16", "f32", "f16", "bf16", "q8_0"):
            self.check(support.few_words_model("tiny-llama", types=("Q4_1",)), "--kv-type", kv_type)

    def test_every_instruction_set(self):
        model = support.few_words_model("tiny-qwen3", types=("Q4_K", "Q6_K", "Q4_0"))
        for level in support.supported_isa_levels():
            self.check(model, "--isa", level)

    def test_rows_that_are_read_in_two_forms(self):  # amxbf16 multiplies Q4_K and Q8_0 in bf16, Q2_K in int8
        for level in set(support.supported_isa_levels()) & {"amxbf16"}:
            for shape in ("tiny-qwen3", "tiny-qwen3moe", "tiny-qwen35moe"):
                model = support.few_words_model(shape, types=("Q4_K", "Q2_K", "Q8_0"))
                self.check(model, "--isa", level)
                self.check(model, "--isa", level, "--no-repack")

    def test_window_shorter_than_the_prompt(self):
        self.check(support.few_words_model("tiny-gemma3", types=("Q8_0", "Q4_K"), window=19))

    def test_borrowed_keys_and_values_and_heads_of_two_shapes(self):
        self.check(support.few_words_model("tiny-gemma4", types=("Q8_0", "Q4_K"), window=19))
        self.check(support.few_words_model("tiny-gemma4-dense", types=("Q4_K", "Q6_K"), window=19), "--no-repack")

    def test_experts(self):
        self.check(support.few_words_model("tiny-qwen3moe", types=("Q8_0", "Q4_K", "F16")))
        self.check(support.few_words_model("tiny-mixtral", types=("Q4_K", "Q6_K")), "--no-repack")

    def test_experts_beside_a_dense_feed_forward(self):
        model = support.few_words_model("tiny-gemma4-experts", types=("Q8_0", "Q4_K"), window=19)
        self.check(model)
        self.check(model, "--no-repack")

    def test_a_shared_expert(self):
        self.check(support.few_words_model("tiny-qwen35moe", types=("Q8_0", "Q4_K", "F16")))

    def test_sinks_and_biases_of_experts(self):
        model = support.few_words_model("tiny-gpt-oss", types=("Q8_0", "MXFP4"), window=19, yarn=4.0)
        for level in support.supported_isa_levels():
            self.check(model, "--isa", level)
        self.check(model, "--no-repack")

    def test_weights_by_the_number_of_their_group(self):
        model = support.few_words_model("tiny-qwen3", types=("IQ2_XXS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_M"))
        for level in support.supported_isa_levels():
            self.check(model, "--isa", level)

    def test_soft_caps(self):
        self.check(support.few_words_model("tiny-gemma2", types=("Q8_0", "Q4_K"), window=19))

    def test_scores_that_grow_with_the_position(self):
        self.check(support.few_words_model("tiny-mistral3", types=("Q4_K",), yarn=256.0))

    def test_values_that_are_narrower_than_keys(self):
        model = support.few_words_model("tiny-llama-values", types=("Q4_K", "Q6_K"))
        for kv_type in ("i16", "f16", "q8_0"):
            self.check(model, "--kv-type", kv_type)

    def test_layers_without_attention_or_feed_forward(self):
        self.check(support.few_words_model("tiny-deci", types=("Q4_K", "Q6_K")))

    def test_norms_of_results_alone(self):
        self.check(support.few_words_model("tiny-olmo2", types=("Q4_K", "Q6_K"), window=19))
        self.check(support.few_words_model("tiny-exaone4", types=("Q8_0", "F16"), window=19))

    def test_norms_behind_the_rotation(self):
        self.check(support.few_words_model("tiny-hunyuan", types=("Q4_K", "Q6_K")))

    def test_feed_forwards_that_read_what_attention_reads(self):
        self.check(support.few_words_model("tiny-cohere2", types=("Q4_K", "Q6_K"), window=19))
        self.check(support.few_words_model("tiny-command-r-plus", types=("F16", "F32")), "--no-repack")

    def test_scaled_results_and_logits(self):
        self.check(support.few_words_model("tiny-granite", types=("Q4_K", "Q6_K")))
        self.check(support.few_words_model("tiny-granitemoe-shared", types=("Q8_0", "Q4_K")))
        self.check(support.few_words_model("tiny-minicpm-longrope", types=("Q8_0",)))

    def test_routers_by_sigmoids_with_biases_and_groups(self):
        for shape in ("tiny-glm4moe", "tiny-glm4moe-groups", "tiny-ernie-moe", "tiny-hy-v3", "tiny-ling"):
            self.check(support.few_words_model(shape, types=("Q4_K", "Q8_0")))

    def test_chunks_and_heads_by_layer(self):
        for shape in ("tiny-llama4", "tiny-llama4-dense", "tiny-step35"):
            self.check(support.few_words_model(shape, types=("Q4_K", "Q8_0"), window=19))

    def test_mixtures_with_windows(self):
        self.check(support.few_words_model("tiny-mellum", types=("Q4_K", "Q8_0"), window=19))

    def test_value_heads_by_key_head(self):
        self.check(support.few_words_model("tiny-qwen3next", types=("Q8_0", "Q4_K", "F16")))

    def test_latent_attention(self):
        for shape in ("tiny-deepseek2", "tiny-minicpm3"):
            model = support.few_words_model(shape, types=("Q4_K", "Q8_0", "F16"))
            self.check(model)
            ids = support.english_ids(model, NUM_IDS // 2)
            packed = support.logits(model, ids)
            for args in ((), ("--threads", 3, "--chunk", 7), ("--threads", 1, "--chunk", 1)):
                with self.subTest(model=model.name, args=args):
                    self.assertEqual(packed.tobytes(), support.logits(model, ids, "--no-repack", *args).tobytes())
        for kv_type in ("f16", "q8_0"):
            self.check(support.few_words_model("tiny-deepseek2-v3", types=("Q8_0", "Q4_K")), "--kv-type", kv_type)

    def test_products_of_heads_in_one_tensor_are_those_in_two(self):
        """Of float weights: blocks of quantized ones lie along the other dimension."""
        for weights in ("F32", "F16"):
            apart, joint = (support.few_words_model("tiny-deepseek2" + form, types=(weights,)) for form in ("", "-joint"))
            ids = support.english_ids(apart, NUM_IDS // 2)
            for args in ((), ("--no-repack",)):
                with self.subTest(weights=weights, args=args):
                    self.assertEqual(support.logits(apart, ids, *args).tobytes(),
                                     support.logits(joint, ids, *args).tobytes())

    def test_squares_of_what_is_positive(self):
        self.check(support.few_words_model("tiny-arcee", types=("Q4_K", "Q6_K")))

    def test_a_gate_behind_attention(self):
        model = support.few_words_model("tiny-muse-glimmer", types=("Q4_K", "Q6_K"), window=19)
        self.check(model)
        self.check(model, "--no-repack")

    def test_gates_by_softplus_and_heads_that_differ_by_layer(self):
        self.check(support.few_words_model("tiny-laguna", types=("Q4_K", "Q8_0"), window=19, yarn=4.0))
        self.check(support.few_words_model("tiny-laguna-elements", types=("Q8_0",), window=0))

    def test_a_mean_of_two_feed_forwards(self):
        self.check(support.few_words_model("tiny-north", types=("Q4_K", "Q8_0"), window=19))

    def test_rotations_of_windowed_layers(self):
        self.check(support.few_words_model("tiny-spark", types=("Q4_K", "Q6_K"), window=19))

    def test_norms_with_biases(self):
        self.check(support.few_words_model("tiny-starcoder2", types=("Q4_K", "Q6_K")))
        self.check(support.few_words_model("tiny-stablelm-12b", types=("Q8_0",)))

    def test_factors_of_long_contexts(self):
        self.check(support.few_words_model("tiny-phi3", types=("Q4_K", "Q6_K")))

    def test_the_served_context_chooses_the_factors_and_is_told_by_the_fingerprint(self):
        """Prefixes on disk lie under the fingerprint, so that none is read with other factors than it was written with."""
        model = support.few_words_model("tiny-phi3", types=("Q8_0",))  # its context was 16 tokens before it was stretched

        def said(context):
            answer = json.loads(support.octavo_ok("run", "-m", model, "--raw", "-p", "Once upon a time", "-n", 4, "--temp", 0,
                                                  "--json", "--max-context", context))
            return answer["system_fingerprint"], answer["logprobs"]

        short, longer, whole = said(16), said(17), said(2048)
        self.assertEqual(longer, whole)
        self.assertNotEqual(short[0], whole[0])
        self.assertNotEqual(short[1], whole[1])

    def test_an_activation_with_numbers_of_its_layer(self):
        self.check(support.few_words_model("tiny-apertus", types=("Q4_K", "Q6_K")))

    def test_layers_that_run_several_times(self):
        self.check(support.few_words_model("tiny-nanbeige", types=("Q4_K", "Q6_K")))

    def test_short_convolutions(self):
        model = support.few_words_model("tiny-lfm2", types=("Q4_K", "Q6_K", "F16"), window=19)
        self.check(model)
        self.check(model, "--no-repack")
        self.check(support.few_words_model("tiny-lfm3", types=("Q8_0",), window=19))
        self.check(support.few_words_model("tiny-lfm2moe", types=("Q8_0", "Q4_K", "Q6_K"), window=0))

    def test_mamba_2(self):
        model = support.few_words_model("tiny-granite-hybrid", types=("Q4_K", "Q6_K", "F16"))
        self.check(model)
        self.check(model, "--no-repack")
        self.check(support.few_words_model("tiny-granite-hybrid-experts", types=("Q8_0", "Q4_K")))
        self.check(support.few_words_model("tiny-nemotron-h", types=("Q4_K", "Q6_K")))
        self.check(support.few_words_model("tiny-nemotron-h-experts", types=("Q8_0",)))
        self.check(support.few_words_model("tiny-nemotron-h-latent", types=("Q8_0",)))

    def test_mamba_2_beside_attention(self):
        self.check(support.few_words_model("tiny-falcon-h1", types=("Q4_K", "Q8_0", "F16")))

    def test_layers_without_positions(self):
        self.check(support.few_words_model("tiny-smollm3", types=("Q4_K", "Q6_K")))

    def test_biases_and_float_weights(self):
        self.check(support.few_words_model("tiny-qwen2", types=("F16", "F32", "BF16")))

    def test_weights_left_in_the_file_change_nothing(self):
        every_type = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
                      "IQ4_XS", "TQ1_0", "TQ2_0", "Q1_0", "F16", "BF16", "F32", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS",
                      "IQ3_S", "IQ1_S", "IQ1_M", "NVFP4", "Q2_0")
        models = [support.few_words_model("tiny-llama", types=every_type[i : i + 7]) for i in (0, 7, 14, 21)]
        for model in (*models, support.few_words_model("tiny-gemma3", types=("Q4_K", "Q6_K")),
                      support.few_words_model("tiny-qwen3moe", types=("Q4_K", "Q6_K", "F32")),
                      support.few_words_model("tiny-gpt-oss", types=("MXFP4", "F16")), support.SMOLLM2):
            ids = support.english_ids(model, NUM_IDS // 2)
            packed = support.logits(model, ids)
            for args in ((), ("--threads", 3, "--chunk", 7), ("--threads", 1, "--chunk", 1)):
                with self.subTest(model=model.name, args=args):
                    self.assertEqual(packed.tobytes(), support.logits(model, ids, "--no-repack", *args).tobytes())

    def test_the_contiguous_layout_changes_nothing(self):
        for shape, kv_type in itertools.product(("tiny-gemma3", "tiny-gemma4"), ("f32", "f16", "bf16", "i16")):
            model = support.few_words_model(shape, types=("Q4_1",))
            ids = support.english_ids(model, NUM_IDS)
            with self.subTest(shape=shape, kv_type=kv_type):
                paged = support.logits(model, ids, "--kv-type", kv_type, "--kv-layout", "paged")
                contiguous = support.logits(model, ids, "--kv-type", kv_type, "--kv-layout", "contiguous")
                self.assertEqual(paged.tobytes(), contiguous.tobytes())

    def choices(self, model, *args):
        """Tokens and log-probabilities of every choice."""
        out = json.loads(support.octavo_ok("run", "-m", model, "--raw", "-p", "Once upon a time there was", "-n", 40,
                                           "--seed", 5, "--temp", 8, "--json", *args))
        return [(choice["tokens"], choice["logprobs"]) for choice in (out if isinstance(out, list) else [out])]

    def test_choices_are_the_same_in_any_memory(self):
        """Two of the ways to compute them for each shape and type: each shape and each type meets all four."""
        shapes = (("tiny-llama", {}), ("tiny-gemma3", {"window": 19}), ("tiny-gemma4", {"window": 19}),
                  ("tiny-olmo2", {"window": 19}), ("tiny-cohere2", {"window": 19}),
                  ("tiny-muse-glimmer", {"window": 19}), ("tiny-laguna", {"window": 19}))
        for (i, (shape, window)), (j, kv_type) in itertools.product(enumerate(shapes),
                                                                    enumerate(("f32", "f16", "bf16", "q8_0", "i16"))):
            with self.subTest(shape=shape, kv_type=kv_type):
                model = support.few_words_model(shape, types=("Q4_1",), **window)
                args = ("--kv-type", kv_type, "--max-context", 128)
                expected = self.choices(model, "--choices", 4, *args)
                self.assertEqual(len(expected), 4)
                self.assertEqual(len({tuple(tokens) for tokens, _ in expected}), 4)
                self.assertTrue(self.choices(model, *args) == expected[:1])
                info = json.loads(support.octavo_ok("info", model, "--context", 128, "--kv-type", kv_type, "--json"))
                tight = info["memory"]["kv_bytes"]  # one sequence of 128 tokens: four of 60 do not fit
                ways = (("--kv-memory", tight), ("--no-prefix-cache", "--kv-memory", tight),
                        ("--threads", 1, "--chunk", 5), ("--block-size", 4))
                for more in (ways[(i + j) % 4], ways[(i + j + 2) % 4]):
                    self.assertTrue(self.choices(model, "--choices", 4, *args, *more) == expected, more)

    def test_block_size_changes_nothing(self):
        model = support.few_words_model("tiny-llama", types=("Q4_1",))
        ids = support.english_ids(model, NUM_IDS)
        whole = support.logits(model, ids)
        for block_size in (1, 4, 32, 256):
            with self.subTest(block_size=block_size):
                self.assertEqual(whole.tobytes(), support.logits(model, ids, "--block-size", block_size).tobytes())


if __name__ == "__main__":
    unittest.main()
