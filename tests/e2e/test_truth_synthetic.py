"""Logits against the float32 oracle on models with random weights: every architecture, option and weight type."""
import unittest

import numpy as np

import compare_logits
import oracle
import oracle_model
import rounded_oracle
import support
from gguf_file import GgufFile

NUM_IDS = 24 if support.SANITIZED else 80
F32 = ("F32",)
SCALAR_F32 = ("--isa", "scalar", "--kv-type", "f32")
MAX_LOGIT_ERROR = 2e-3
MAX_KL = 2e-3
# Of random models with recurrent layers, of which llama.cpp's is the same (docs/benchmarks.md): where a query and a key
# are nearly at right angles little is left of their product, and the norm behind it enlarges that with its error; a short
# convolution multiplies three rows that are rounded.
MAX_KL_OF_HYBRIDS = 7e-3
MAX_KL_OF_PASSES = 3e-3  # of layers that run three times, each time with their rounding; llama.cpp's is 4.7e-3
# Of gates behind attention, which multiply what rounding has moved by what it moves; and of random groups of experts, of
# which it chooses others.
MAX_KL_OF_GATES = 3e-3
TYPES = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
         "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "Q1_0", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S",
         "IQ1_S", "IQ1_M", "NVFP4", "Q2_0")


GPT_OSS_FILE = 4 * ("Q8_0",) + 3 * ("MXFP4",)  # the matrices of a layer, as the files of gpt-oss have them


class Truth(unittest.TestCase):
    def compare(self, model, *args):
        ids = support.english_ids(model, NUM_IDS)
        reference = compare_logits.oracle_logits(model, ids, support.ORACLE_CACHE)
        return compare_logits.compare(reference, support.logits(model, ids, *args), ids)

    def check_exact(self, model):
        self.assertLess(self.compare(model, *SCALAR_F32)["max_abs_error"], MAX_LOGIT_ERROR)

    def check_close(self, model, *args, max_kl=MAX_KL):
        result = self.compare(model, *args)
        print(f"{model.name} {' '.join(args)}: KL {result['mean_kl']:.2e}, NLL off by "
              f"{100 * result['nll_relative_difference']:.3f} %")
        self.assertLess(result["mean_kl"], max_kl)
        self.assertLess(result["nll_relative_difference"], 0.003)


class FloatWeights(Truth):
    """Scalar kernels and f32 KV: within 2e-3 of the oracle in every logit."""

    def test_llama(self):
        self.check_exact(support.few_words_model("tiny-llama", types=F32))

    def test_llama_with_untied_output(self):
        self.check_exact(support.few_words_model("tiny-llama", types=F32, untied=True))

    def test_llama_with_rope_factors(self):
        self.check_exact(support.few_words_model("tiny-llama", types=F32, rope_freqs=True))

    def test_contexts_stretched_evenly(self):
        for shape in ("tiny-llama", "tiny-gemma3"):  # gemma3: in its global layers alone
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, linear=4.0))

    def test_contexts_stretched_by_yarn_and_heads_rotated_in_part(self):
        for shape in ("tiny-llama", "tiny-qwen3"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, yarn=4.0))

    def test_qwen2(self):
        self.check_exact(support.few_words_model("tiny-qwen2", types=F32))

    def test_qwen2_with_untied_output(self):
        self.check_exact(support.few_words_model("tiny-qwen2", types=F32, untied=True))

    def test_qwen3(self):
        self.check_exact(support.few_words_model("tiny-qwen3", types=F32))

    def test_qwen3moe(self):
        self.check_exact(support.few_words_model("tiny-qwen3moe", types=F32))

    def test_llama_with_experts(self):
        self.check_exact(support.few_words_model("tiny-mixtral", types=F32))

    def test_qwen35(self):
        self.check_exact(support.few_words_model("tiny-qwen35", types=F32))

    def test_mistral3(self):
        self.check_exact(support.few_words_model("tiny-mistral3", types=F32))

    def test_mistral3_with_scores_that_grow_with_the_position(self):
        self.check_exact(support.few_words_model("tiny-mistral3", types=F32, yarn=256.0))  # a step every eight tokens

    def test_mistral3_with_experts(self):
        self.check_exact(support.few_words_model("tiny-mistral3-experts", types=F32))

    def test_mistral3_with_rope_factors(self):
        self.check_exact(support.few_words_model("tiny-mistral3", types=F32, rope_freqs=True))

    def test_deci_whose_layers_may_lack_attention_or_the_feed_forward(self):
        self.check_exact(support.few_words_model("tiny-deci", types=F32))
        self.check_exact(support.few_words_model("tiny-deci", types=F32, rope_freqs=True, biases=True, factors=True))

    def test_seed_oss(self):
        self.check_exact(support.few_words_model("tiny-seed-oss", types=F32))

    def test_ernie4_5(self):
        self.check_exact(support.few_words_model("tiny-ernie", types=F32))
        self.check_exact(support.few_words_model("tiny-ernie", types=F32, biases=True, factors=True))

    def test_hunyuan_whose_heads_are_normed_behind_their_rotation(self):
        self.check_exact(support.few_words_model("tiny-hunyuan", types=F32))

    def test_norms_of_results_alone(self):
        for shape in ("tiny-olmo2", "tiny-exaone4"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, window=0))
                self.check_exact(support.few_words_model(shape, types=F32, window=NUM_IDS // 3))

    def test_olmo_3_with_positions_stretched_beside_windows(self):
        self.check_exact(support.few_words_model("tiny-olmo2", types=F32, window=NUM_IDS // 3, yarn=8.0))

    def test_feed_forwards_that_read_what_attention_reads(self):
        self.check_exact(support.few_words_model("tiny-command-r", types=F32))
        self.check_exact(support.few_words_model("tiny-command-r", types=F32, biases=True, factors=True))
        self.check_exact(support.few_words_model("tiny-command-r-plus", types=F32))
        self.check_exact(support.few_words_model("tiny-cohere2", types=F32, window=NUM_IDS // 3))

    def test_glm4(self):
        self.check_exact(support.few_words_model("tiny-glm4", types=F32, factors=True))

    def test_granite_with_its_scales_and_without_positions(self):
        for shape in ("tiny-granite", "tiny-granite-unrotated"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, biases=True, factors=True))

    def test_granitemoe_with_and_without_an_expert_for_every_row(self):
        for shape in ("tiny-granitemoe", "tiny-granitemoe-shared"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, factors=True))

    def test_smollm3_whose_fourth_layers_have_no_positions(self):
        self.check_exact(support.few_words_model("tiny-smollm3", types=F32))
        self.check_exact(support.few_words_model("tiny-smollm3", types=F32, biases=True, yarn=4.0))

    def test_minicpm_with_the_files_scales_or_its_own_and_with_factors_of_frequencies(self):
        for shape in ("tiny-minicpm", "tiny-minicpm-first", "tiny-minicpm-longrope"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32))

    def test_nanbeige_whose_layers_run_several_times(self):
        for shape in ("tiny-nanbeige", "tiny-nanbeige-unnormed"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, biases=True))

    def test_arcee_whose_feed_forward_squares_what_is_positive(self):
        self.check_exact(support.few_words_model("tiny-arcee", types=F32))
        self.check_exact(support.few_words_model("tiny-arcee", types=F32, rope_freqs=True, biases=True, factors=True))

    def test_text_of_qwen2vl(self):
        self.check_exact(support.few_words_model("tiny-qwen2vl", types=F32))

    def test_muse_glimmer_with_a_gate_behind_attention(self):
        self.check_exact(support.few_words_model("tiny-muse-glimmer", types=F32, window=NUM_IDS // 3))
        self.check_exact(support.few_words_model("tiny-muse-glimmer", types=F32, window=7, biases=True, factors=True))

    def test_phi3_with_the_factors_of_long_and_of_short_contexts(self):
        self.check_exact(support.few_words_model("tiny-phi3", types=F32))
        self.check_exact(support.few_words_model("tiny-phi3-short", types=F32, biases=True, factors=True))

    def test_norms_with_biases(self):
        for shape in ("tiny-starcoder2", "tiny-stablelm", "tiny-stablelm-12b"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32))
                self.check_exact(support.few_words_model(shape, types=F32, biases=True, factors=True))

    def test_apertus_whose_layers_have_numbers_of_their_activation(self):
        self.check_exact(support.few_words_model("tiny-apertus", types=F32))
        self.check_exact(support.few_words_model("tiny-apertus", types=F32, rope_freqs=True, biases=True, factors=True))

    def test_routers_by_sigmoids_with_biases_and_groups(self):
        for shape in ("tiny-glm4moe", "tiny-glm4moe-groups", "tiny-ernie-moe", "tiny-hy-v3"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32))

    def test_llama4_with_chunks_shorter_than_the_text_and_weights_of_what_experts_read(self):
        for shape in ("tiny-llama4", "tiny-llama4-dense"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, window=NUM_IDS // 3))
                self.check_exact(support.few_words_model(shape, types=F32, window=7, rope_freqs=True, biases=True,
                                                         factors=True))

    def test_step35_with_heads_by_layer_and_feed_forwards_with_limits(self):
        self.check_exact(support.few_words_model("tiny-step35", types=F32, window=NUM_IDS // 3))
        self.check_exact(support.few_words_model("tiny-step35", types=F32, window=7, rope_freqs=True, factors=True))

    def test_latent_attention_with_the_products_of_heads_in_two_tensors_and_in_one(self):
        for shape in ("tiny-deepseek2", "tiny-deepseek2-joint", "tiny-deepseek2-v3", "tiny-minicpm3"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32))
        self.check_exact(support.few_words_model("tiny-deepseek2", types=F32, yarn=4.0))
        self.check_exact(support.few_words_model("tiny-mistral4", types=F32, yarn=256.0))  # a step every eight tokens

    def test_mellum_with_positions_stretched_beside_windows(self):
        self.check_exact(support.few_words_model("tiny-mellum", types=F32, window=NUM_IDS // 3))
        self.check_exact(support.few_words_model("tiny-mellum", types=F32, window=NUM_IDS // 3, yarn=8.0))

    def test_qwen3next_whose_value_heads_lie_by_key_head(self):
        self.check_exact(support.few_words_model("tiny-qwen3next", types=F32))
        self.check_exact(support.few_words_model("tiny-qwen3next-early", types=F32))

    def test_lfm2_whose_layers_are_short_convolutions(self):
        self.check_exact(support.few_words_model("tiny-lfm2moe", types=F32, window=0))
        self.check_exact(support.few_words_model("tiny-lfm2", types=F32, window=0))
        self.check_exact(support.few_words_model("tiny-lfm2", types=F32, window=NUM_IDS // 3, biases=True, factors=True))

    def test_lfm3_with_gates_of_heads_and_norms_behind_its_parts(self):
        self.check_exact(support.few_words_model("tiny-lfm3", types=F32, window=NUM_IDS // 3))

    def test_laguna_with_gates_by_softplus_and_more_heads_beside_windows(self):
        self.check_exact(support.few_words_model("tiny-laguna", types=F32, window=NUM_IDS // 3, yarn=8.0))
        self.check_exact(support.few_words_model("tiny-laguna", types=F32, window=7, biases=True, factors=True))
        self.check_exact(support.few_words_model("tiny-laguna-elements", types=F32, window=0))

    def test_spark_with_gates_of_heads_and_rotations_of_its_windowed_layers(self):
        self.check_exact(support.few_words_model("tiny-spark", types=F32, window=NUM_IDS // 3, factors=True))

    def test_cohere2moe_whose_feed_forward_is_the_mean_of_two(self):
        self.check_exact(support.few_words_model("tiny-north", types=F32, window=NUM_IDS // 3, biases=True, factors=True))
        self.check_exact(support.few_words_model("tiny-north-rms", types=F32, window=NUM_IDS // 3))

    def test_bailingmoe2_with_groups_of_experts_and_q_k_and_v_in_one(self):
        self.check_exact(support.few_words_model("tiny-ling", types=F32, factors=True))

    def test_hybrids_with_mamba_2(self):
        for shape in ("tiny-granite-hybrid", "tiny-granite-hybrid-experts", "tiny-nemotron-h", "tiny-nemotron-h-experts",
                      "tiny-nemotron-h-latent", "tiny-falcon-h1", "tiny-falcon-h1-normed"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32))
        for shape in ("tiny-granite-hybrid", "tiny-nemotron-h", "tiny-falcon-h1"):
            with self.subTest(shape=shape, biases=True):
                self.check_exact(support.few_words_model(shape, types=F32, biases=True, factors=True))

    def test_values_that_are_narrower_than_keys(self):
        self.check_exact(support.few_words_model("tiny-llama-values", types=F32))
        self.check_exact(support.few_words_model("tiny-llama-values", types=F32, biases=True, factors=True))

    def test_biases_that_files_may_have(self):
        for shape in ("tiny-llama", "tiny-qwen2"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, biases=True))

    def test_biases_and_factors_beside_matrices(self):
        for shape in ("tiny-llama", "tiny-mixtral", "tiny-mistral3", "tiny-mistral3-experts", "tiny-qwen2", "tiny-qwen3moe",
                      "tiny-qwen35moe", "tiny-gemma3", "tiny-gpt-oss"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, biases=shape != "tiny-gpt-oss", factors=True))

    def test_biases_and_factors_beside_the_matrices_of_routed_mixtures(self):
        for shape in ("tiny-glm4moe", "tiny-ernie-moe", "tiny-hy-v3", "tiny-qwen3next", "tiny-lfm2moe"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, window=0, biases=True, factors=True))

    def test_windows_of_other_layers_than_the_familys(self):
        for shape, pattern in (("tiny-gemma2", [1, 1, 0, 1]), ("tiny-gemma3", 2), ("tiny-gemma3", 0),
                               ("tiny-gpt-oss", [False, True, True, False])):
            with self.subTest(shape=shape, pattern=pattern):
                self.check_exact(support.few_words_model(shape, types=F32, window=NUM_IDS // 3, pattern=pattern))

    def test_gemma2_with_soft_caps(self):
        self.check_exact(support.few_words_model("tiny-gemma2", types=F32))

    def test_gemma2_with_a_window_shorter_than_the_text(self):
        self.check_exact(support.few_words_model("tiny-gemma2", types=F32, window=NUM_IDS // 3))

    def test_gemma3(self):
        self.check_exact(support.few_words_model("tiny-gemma3", types=F32))

    def test_gemma3_with_a_window_shorter_than_the_text(self):
        self.check_exact(support.few_words_model("tiny-gemma3", types=F32, window=NUM_IDS // 3))

    def test_gemma3_with_a_window_that_is_no_multiple_of_a_block(self):
        self.check_exact(support.few_words_model("tiny-gemma3", types=F32, window=7))

    def test_gemma4_with_embeddings_of_layers_and_borrowed_keys_and_values(self):
        self.check_exact(support.few_words_model("tiny-gemma4", types=F32))

    def test_gemma4_with_k_for_v(self):
        self.check_exact(support.few_words_model("tiny-gemma4-dense", types=F32))

    def test_gemma4_with_experts_beside_a_dense_feed_forward(self):
        self.check_exact(support.few_words_model("tiny-gemma4-experts", types=F32))

    def test_gemma4_with_a_window_shorter_than_the_text(self):
        for shape in ("tiny-gemma4", "tiny-gemma4-dense"):
            with self.subTest(shape=shape):
                self.check_exact(support.few_words_model(shape, types=F32, window=NUM_IDS // 3))

    def test_qwen35moe(self):
        self.check_exact(support.few_words_model("tiny-qwen35moe", types=F32))

    def test_gpt_oss(self):
        self.check_exact(support.few_words_model("tiny-gpt-oss", types=F32))

    def test_gpt_oss_with_a_window_shorter_than_the_text_and_yarn(self):
        self.check_exact(support.few_words_model("tiny-gpt-oss", types=F32, window=NUM_IDS // 3, yarn=4.0))


class QuantizedWeights(Truth):
    """The kernels that the processor would be given: mean KL divergence at most 2e-3 nats for every weight type."""

    def test_every_type(self):
        for name in TYPES:
            with self.subTest(type=name):
                self.check_close(support.few_words_model("tiny-qwen3", types=(name,)))

    def test_experts_of_every_type(self):
        for name in TYPES:
            with self.subTest(type=name):
                self.check_close(support.few_words_model("tiny-qwen3moe", types=(name,)))

    def test_types_mixed_within_a_layer(self):
        self.check_close(support.few_words_model("tiny-qwen3", types=("Q4_K", "Q6_K", "Q5_0", "Q8_0", "IQ4_NL")))
        self.check_close(support.few_words_model("tiny-llama", types=("Q2_K", "F16", "Q4_1", "TQ2_0", "Q1_0", "BF16")))

    def test_rows_that_no_block_of_256_divides(self):
        model = support.few_words_model("tiny-gpt-oss", types=("Q4_K", "Q6_K"))
        types = {(t.tensor_type.name, int(t.shape[0])) for t in GgufFile(model).tensors if t.name.endswith("attn_q.weight")}
        self.assertEqual(types, {("Q5_0", 320), ("Q8_0", 320)})
        self.check_close(model)

    def test_hybrids(self):
        for shape in ("tiny-qwen35", "tiny-qwen35moe", "tiny-qwen3next", "tiny-lfm2", "tiny-lfm2moe"):
            for types in (("Q8_0",), ("Q4_K", "Q6_K")):
                with self.subTest(shape=shape, types=types):
                    self.check_close(support.few_words_model(shape, types=types), max_kl=MAX_KL_OF_HYBRIDS)
        self.check_close(support.few_words_model("tiny-lfm3", types=("Q8_0",)), max_kl=MAX_KL_OF_HYBRIDS)
        for shape in ("tiny-granite-hybrid", "tiny-granite-hybrid-experts", "tiny-nemotron-h", "tiny-nemotron-h-experts",
                      "tiny-falcon-h1"):
            with self.subTest(shape=shape):
                self.check_close(support.few_words_model(shape, types=("Q4_K", "Q6_K")), max_kl=MAX_KL_OF_HYBRIDS)
        self.check_close(support.few_words_model("tiny-nemotron-h-latent", types=("Q8_0",)), max_kl=MAX_KL_OF_HYBRIDS)

    def test_gated_results_and_groups_of_experts(self):
        for shape in ("tiny-laguna", "tiny-laguna-elements", "tiny-spark", "tiny-ling"):
            with self.subTest(shape=shape):
                self.check_close(support.few_words_model(shape, types=("Q4_K", "Q6_K")), max_kl=MAX_KL_OF_GATES)

    def test_layers_that_run_several_times(self):
        self.check_close(support.few_words_model("tiny-nanbeige", types=("Q4_K", "Q6_K")), max_kl=MAX_KL_OF_PASSES)

    def test_every_architecture(self):
        for shape in ("tiny-llama", "tiny-mistral3", "tiny-qwen2", "tiny-mixtral", "tiny-gemma2", "tiny-gemma3",
                      "tiny-gemma4", "tiny-gemma4-dense", "tiny-gemma4-experts", "tiny-seed-oss", "tiny-ernie",
                      "tiny-hunyuan", "tiny-olmo2", "tiny-exaone4", "tiny-command-r", "tiny-cohere2", "tiny-glm4",
                      "tiny-granite", "tiny-granitemoe-shared", "tiny-smollm3", "tiny-minicpm", "tiny-arcee",
                      "tiny-qwen2vl", "tiny-muse-glimmer", "tiny-phi3", "tiny-starcoder2", "tiny-stablelm-12b",
                      "tiny-apertus", "tiny-glm4moe", "tiny-mellum", "tiny-ernie-moe", "tiny-hy-v3", "tiny-north",
                      "tiny-deepseek2", "tiny-deepseek2-joint", "tiny-mistral4", "tiny-minicpm3"):
            with self.subTest(shape=shape):
                self.check_close(support.few_words_model(shape, types=("Q4_K", "Q6_K")))

    def test_biases_and_factors_beside_quantized_weights(self):
        for shape in ("tiny-llama", "tiny-mistral3-experts", "tiny-qwen2"):
            with self.subTest(shape=shape):
                self.check_close(support.few_words_model(shape, types=("Q4_K", "Q6_K"), biases=True, factors=True))

    def test_quantized_untied_output(self):
        self.check_close(support.few_words_model("tiny-qwen3", types=("Q8_0",), untied=True, embd_type="Q4_K"))

    def test_every_instruction_set(self):
        model = support.few_words_model("tiny-qwen3", types=("Q4_K", "Q6_K"))
        for level in support.supported_isa_levels():
            with self.subTest(isa=level):
                self.check_close(model, "--isa", level)

    def test_gpt_oss_as_its_files_are_on_every_instruction_set(self):
        model = support.few_words_model("tiny-gpt-oss", types=GPT_OSS_FILE, window=NUM_IDS // 3, yarn=4.0)
        for level in support.supported_isa_levels():
            with self.subTest(isa=level):
                self.check_close(model, "--isa", level)

    def test_rows_whose_experts_differ_from_the_oracles_are_few(self):
        for shape, types in (("tiny-qwen3moe", ("Q4_K", "Q6_K")), ("tiny-qwen35moe", ("Q8_0",)),
                             ("tiny-gpt-oss", GPT_OSS_FILE), ("tiny-gemma4-experts", ("Q4_K", "Q6_K"))):
            with self.subTest(shape=shape):
                model = support.few_words_model(shape, types=types)
                ids = support.english_ids(model, NUM_IDS)
                exact, near = oracle.open_model(model), rounded_oracle.open_rounded(model)
                exact.hidden(ids)
                first = oracle_model.logits_of(near.hidden(ids)[0], near.output_matrix(), near.logit_cap)
                rows, differ = rounded_oracle.rows_with_other_experts(exact, near)
                print(f"{model.name}: {differ} of {rows} rows choose other experts where activations are rounded")
                self.assertLess(differ, 0.1 * rows)
                ours = support.logits(model, ids[:1], *SCALAR_F32)
                self.assertLess(np.abs(first - ours[0]).max(), MAX_LOGIT_ERROR)

    def test_experts_in_the_mapped_file(self):
        self.check_close(support.few_words_model("tiny-qwen3moe", types=("Q4_K", "Q6_K", "Q8_0")), "--no-repack")

    def test_every_kv_type(self):
        for shape in ("tiny-qwen3", "tiny-llama-values", "tiny-minicpm3"):
            model = support.few_words_model(shape, types=("Q8_0",))
            for kv_type in ("f32", "f16", "bf16", "q8_0", "i16"):
                with self.subTest(shape=shape, kv=kv_type):
                    self.check_close(model, "--kv-type", kv_type)


if __name__ == "__main__":
    unittest.main()
