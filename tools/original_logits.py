#!/usr/bin/env python3
"""Computes logits of tiny models with random weights by their original implementations, in `transformers`.

    original_logits.py --vocab-from REAL.gguf [--write tests/data/original_logits.npz] [CASE ...]

Each case is a file that synth_model.py writes, float32 weights drawn from a seed. Its tensors are given to the model class
of `transformers` under the names and in the order that the original has: what llama.cpp's converter does, undone. The
file of logits is a truth that neither Octavo nor tools/oracle.py had a hand in; tests/e2e/test_truth_original.py
compares with it. Kept are the logits of every COLUMN_STEP-th token and the logarithm of the sum over all. Where cases are
named, the others of the file stay as they are.
Needs: numpy, gguf, torch, transformers (5.24 wrote the file). No network.
"""
import argparse
import pathlib
import tempfile
from typing import NamedTuple

import numpy as np

import original_names
import synth_latent
import synth_model
from gguf_file import GgufFile

IDS = [1, 4093, 253, 30020, 28, 260, 2240, 216, 33, 9, 17, 48000, 284, 5001, 601, 17, 17, 2, 351, 12, 40077, 3, 999, 64]
COLUMN_STEP = 509  # of 49,152 tokens: 97 columns
WINDOW = 8


class Case(NamedTuple):
    """A file of synth_model.py, and the class and configuration of `transformers` that it is one of."""
    shape: str
    model: str
    config: str
    options: dict  # of write_model()
    settings: dict  # of the configuration, beside those that all have
    other_parts: dict = {}  # configurations of the parts that do not read text, where the text's is one of several


def default_rope(theta, **more):
    return {"rope_type": "default", "rope_theta": theta, **more}


def yarn_rope(shape, factor, **more):
    original = int(synth_model.SHAPES[shape].context / factor)
    return {"rope_type": "yarn", "rope_theta": synth_model.SHAPES[shape].rope_base, "factor": factor,
            "original_max_position_embeddings": original, "beta_fast": 32.0, "beta_slow": 1.0, **more}


def gemma_rope(full):
    return {"rope_parameters": {"sliding_attention": default_rope(10000.0), "full_attention": full}}


QWEN35 = {"rope_parameters": default_rope(1e7, partial_rotary_factor=0.25, mrope_section=[3, 3, 2]),
          "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 64,
          "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4}
PROPORTIONAL = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
GEMMA4 = {**gemma_rope(PROPORTIONAL), "sliding_window": WINDOW, "final_logit_softcapping": 3.0}


def global_layers(count, **shape):
    """Every third layer of gemma4 has heads of another shape."""
    return {"per_layer_config": {i: shape for i in range(2, count, 3)},
            "layer_types": ["full_attention" if (i + 1) % 3 == 0 else "sliding_attention" for i in range(count)]}


def granite(shape, **more):
    """The scales that synth_model.py gives a shape, by their names in the configuration."""
    return {**dict(zip(("embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"),
                       synth_model.SCALES[shape], strict=True)), **more}


def mamba(shape):
    """The Mamba-2 of a shape, by the names that hybrids have for it."""
    layers = ["attention" if i in synth_model.MAMBAS[shape].attends else "mamba"
              for i in range(synth_model.SHAPES[shape].layers)]
    of = synth_model.MAMBAS[shape]
    return {"mamba_n_heads": of.heads, "mamba_d_head": of.head_dim, "mamba_n_groups": of.groups, "mamba_d_state": of.state,
            "mamba_d_conv": of.taps, "layer_types": layers}


def nemotron(shape):
    """A step has no lower bound to speak of, as in llama.cpp and in single steps of transformers."""
    of, dims = synth_model.MAMBAS[shape], synth_model.SHAPES[shape]
    ffn = "moe" if dims.experts else "mlp"
    kinds = {**dict.fromkeys(of.attends, "full_attention"), **dict.fromkeys(of.ffns, ffn)}
    return {"mamba_num_heads": of.heads, "mamba_head_dim": of.head_dim, "n_groups": of.groups, "ssm_state_size": of.state,
            "conv_kernel": of.taps, "time_step_min": 1e-30, "layer_norm_epsilon": 1e-6,
            "layers_block_type": [kinds.get(i, "linear_attention") for i in range(dims.layers)]}


def long_rope(shape):
    """The lists of factors that synth_model.py gives a shape, and the context that they begin at."""
    original, magnitude = synth_model.LONG_ROPES[shape]
    count = int(synth_model.SHAPES[shape].head_dim * synth_model.PARTLY_ROTATED["phi3"]) // 2
    lists = {f"{kind}_factor": synth_model.long_rope_factors(kind, count).tolist() for kind in ("short", "long")}
    return {"original_max_position_embeddings": original,
            "rope_parameters": {"rope_type": "longrope", "rope_theta": synth_model.SHAPES[shape].rope_base,
                                "partial_rotary_factor": synth_model.PARTLY_ROTATED["phi3"],
                                "original_max_position_embeddings": original, "attention_factor": magnitude, **lists}}


def experts(shape, **names):
    dims = synth_model.SHAPES[shape]
    return {key: {"count": dims.experts, "chosen": dims.chosen, "width": dims.ffn, "shared": dims.shared}[value]
            for key, value in names.items()}


def mlp_layer_types(shape):
    dense = synth_model.ROUTERS[shape].dense
    return ["dense" if i in dense else "sparse" for i in range(synth_model.SHAPES[shape].layers)]


def kinds_of_layers(shape, windowed):
    """The first of each four layers sees all, and the others where there are no windows."""
    return ["sliding_attention" if windowed and i % 4 != 0 else "full_attention"
            for i in range(synth_model.SHAPES[shape].layers)]


def laguna(shape, full_rope, window, gating):
    dims = synth_model.SHAPES[shape]
    base, part = synth_model.WINDOWED_ROPES["laguna"]
    heads = [synth_model.shape_of_layer(dims, i).heads for i in range(dims.layers)]
    return {"rope_parameters": {"full_attention": full_rope,
                                "sliding_attention": default_rope(base, partial_rotary_factor=part)},
            "sliding_window": window, "layer_types": kinds_of_layers(shape, window > 0), "gating": gating,
            "num_attention_heads_per_layer": heads, "mlp_layer_types": mlp_layer_types(shape),
            "moe_routed_scaling_factor": synth_model.ROUTERS[shape].scale,
            "intermediate_size": synth_model.ROUTERS[shape].dense_width,
            **experts(shape, num_experts="count", num_experts_per_tok="chosen", moe_intermediate_size="width",
                      shared_expert_intermediate_size="shared")}


def north(shape, **more):
    dims = synth_model.SHAPES[shape]
    return {"logit_scale": 0.75, "sliding_window": WINDOW, "expert_selection_fn": "sigmoid",
            "layer_types": kinds_of_layers(shape, True), "mlp_layer_types": mlp_layer_types(shape),
            "prefix_dense_intermediate_size": synth_model.ROUTERS[shape].dense_width,
            "num_shared_experts": dims.shared // dims.ffn,
            **experts(shape, num_experts="count", num_experts_per_tok="chosen"), **more}


def llama4(shape):
    return {"attention_chunk_size": WINDOW, "intermediate_size_mlp": 512,
            **experts(shape, num_local_experts="count", num_experts_per_tok="chosen", intermediate_size="width")}


def latent(shape, **more):
    """The dimensions that synth_latent.py gives a shape, by their names in the configuration."""
    dims = synth_latent.LATENTS[shape]
    return {"num_key_value_heads": synth_model.SHAPES[shape].heads, "head_dim": dims.rotated,
            "q_lora_rank": dims.q_rank or None, "kv_lora_rank": dims.rank, "qk_nope_head_dim": dims.plain,
            "qk_rope_head_dim": dims.rotated, "v_head_dim": dims.value, **more}


def latent_long_rope(shape):
    """The lists of factors of frequencies, of a model whose context was not stretched."""
    dims, original = synth_latent.LATENTS[shape], synth_model.SHAPES[shape]
    lists = {f"{kind}_factor": synth_model.long_rope_factors(kind, dims.rotated // 2).tolist()
             for kind in ("short", "long")}
    return {"rope_type": "longrope", "rope_theta": original.rope_base,
            "original_max_position_embeddings": original.context, **lists}


def latent_mixture(shape, **more):
    """The same with experts; the expert for every row is as wide as several."""
    router = synth_model.ROUTERS[shape]
    return latent(shape, **experts(shape, n_routed_experts="count", num_experts_per_tok="chosen",
                                   moe_intermediate_size="width"),
                  routed_scaling_factor=router.scale, n_shared_experts=router.shared_count,
                  first_k_dense_replace=router.leading, intermediate_size=router.dense_width, **more)


CASES = {
    "llama": Case("tiny-llama", "LlamaForCausalLM", "LlamaConfig", {}, {}),
    "llama with experts": Case("tiny-mixtral", "MixtralForCausalLM", "MixtralConfig", {},
                               experts("tiny-mixtral", num_local_experts="count", num_experts_per_tok="chosen")),
    "qwen2": Case("tiny-qwen2", "Qwen2ForCausalLM", "Qwen2Config", {}, {}),
    "qwen3": Case("tiny-qwen3", "Qwen3ForCausalLM", "Qwen3Config", {}, {}),
    "qwen3moe": Case("tiny-qwen3moe", "Qwen3MoeForCausalLM", "Qwen3MoeConfig", {},
                     {"norm_topk_prob": True, **experts("tiny-qwen3moe", num_experts="count",
                                                        num_experts_per_tok="chosen", moe_intermediate_size="width")}),
    "mistral3": Case("tiny-mistral3", "Ministral3ForCausalLM", "Ministral3Config", {"yarn": 256.0},
                     {"rope_parameters": yarn_rope("tiny-mistral3", 256.0, mscale=1.0, mscale_all_dim=1.0,
                                                   llama_4_scaling_beta=0.5)}),
    "gemma2": Case("tiny-gemma2", "Gemma2ForCausalLM", "Gemma2Config", {"window": WINDOW},
                   {"sliding_window": WINDOW, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
                    "query_pre_attn_scalar": 128}),
    "gemma3": Case("tiny-gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", {"window": WINDOW},
                   {**gemma_rope(default_rope(1e6)), "sliding_window": WINDOW, "query_pre_attn_scalar": 256}),
    "gemma4": Case("tiny-gemma4", "Gemma4ForCausalLM", "Gemma4TextConfig", {"window": WINDOW},
                   {**GEMMA4, **global_layers(6, head_dim=512, num_key_value_heads=1), "num_kv_shared_layers": 3,
                    "use_double_wide_mlp": True, "hidden_size_per_layer_input": 64}),
    "gemma4 dense": Case("tiny-gemma4-dense", "Gemma4ForCausalLM", "Gemma4TextConfig", {"window": WINDOW},
                         {**GEMMA4, **global_layers(3, head_dim=512, num_key_value_heads=1), "attention_k_eq_v": True,
                          "hidden_size_per_layer_input": 0}),
    "gemma4 with experts": Case(
        "tiny-gemma4-experts", "Gemma4ForCausalLM", "Gemma4TextConfig", {"window": WINDOW},
        {**GEMMA4, **global_layers(3, head_dim=512, num_key_value_heads=1), "attention_k_eq_v": True,
         "hidden_size_per_layer_input": 0, "enable_moe_block": True, "intermediate_size": 512,
         **experts("tiny-gemma4-experts", num_experts="count", top_k_experts="chosen",
                   moe_intermediate_size="width")}),
    "qwen35": Case("tiny-qwen35", "Qwen3_5ForCausalLM", "Qwen3_5TextConfig", {}, QWEN35),
    "qwen35moe": Case("tiny-qwen35moe", "Qwen3_5MoeForCausalLM", "Qwen3_5MoeTextConfig", {},
                      {**QWEN35, **experts("tiny-qwen35moe", num_experts="count", num_experts_per_tok="chosen",
                                           moe_intermediate_size="width",
                                           shared_expert_intermediate_size="shared")}),
    "seed_oss": Case("tiny-seed-oss", "SeedOssForCausalLM", "SeedOssConfig", {},
                     {"attention_bias": True, "attention_out_bias": False}),
    "ernie4_5": Case("tiny-ernie", "Ernie4_5ForCausalLM", "Ernie4_5Config", {"biases": True}, {"use_bias": True}),
    "hunyuan-dense": Case("tiny-hunyuan", "HunYuanDenseV1ForCausalLM", "HunYuanDenseV1Config", {}, {}),
    "olmo2": Case("tiny-olmo2", "Olmo2ForCausalLM", "Olmo2Config", {"window": 0}, {}),
    "olmo3": Case("tiny-olmo2", "Olmo3ForCausalLM", "Olmo3Config", {"window": WINDOW}, {"sliding_window": WINDOW}),
    "exaone4": Case("tiny-exaone4", "Exaone4ForCausalLM", "Exaone4Config", {"window": WINDOW},
                    {"sliding_window": WINDOW, "sliding_window_pattern": 4}),
    "exaone4 without windows": Case("tiny-exaone4", "Exaone4ForCausalLM", "Exaone4Config", {"window": 0},
                                    {"sliding_window": None, "layer_types": 4 * ["full_attention"]}),
    "command-r": Case("tiny-command-r", "CohereForCausalLM", "CohereConfig", {},
                      {"layer_norm_eps": 1e-6, "logit_scale": 0.75}),
    "command-r with norms of heads": Case("tiny-command-r-plus", "CohereForCausalLM", "CohereConfig", {},
                                          {"layer_norm_eps": 1e-6, "logit_scale": 0.75, "use_qk_norm": True}),
    "cohere2": Case("tiny-cohere2", "Cohere2ForCausalLM", "Cohere2Config", {"window": WINDOW},
                    {"layer_norm_eps": 1e-6, "logit_scale": 0.75, "sliding_window": WINDOW}),
    "glm4": Case("tiny-glm4", "Glm4ForCausalLM", "Glm4Config", {},
                 {"rope_parameters": default_rope(10000.0, partial_rotary_factor=0.5), "attention_bias": False}),
    "granite": Case("tiny-granite", "GraniteForCausalLM", "GraniteConfig", {}, granite("tiny-granite")),
    "granitemoe": Case("tiny-granitemoe", "GraniteMoeForCausalLM", "GraniteMoeConfig", {},
                       granite("tiny-granitemoe", **experts("tiny-granitemoe", num_local_experts="count",
                                                            num_experts_per_tok="chosen"))),
    "granitemoe with a shared expert": Case(
        "tiny-granitemoe-shared", "GraniteMoeSharedForCausalLM", "GraniteMoeSharedConfig", {},
        granite("tiny-granitemoe-shared", **experts("tiny-granitemoe-shared", num_local_experts="count",
                                                    num_experts_per_tok="chosen",
                                                    shared_intermediate_size="shared"))),
    "granitehybrid": Case("tiny-granite-hybrid", "GraniteMoeHybridForCausalLM", "GraniteMoeHybridConfig", {},
                          granite("tiny-granite-hybrid", **mamba("tiny-granite-hybrid"), num_local_experts=0,
                                  shared_intermediate_size=512, position_embedding_type=None)),
    "granitehybrid with experts": Case(
        "tiny-granite-hybrid-experts", "GraniteMoeHybridForCausalLM", "GraniteMoeHybridConfig", {},
        granite("tiny-granite-hybrid-experts", **mamba("tiny-granite-hybrid-experts"), position_embedding_type="rope",
                **experts("tiny-granite-hybrid-experts", num_local_experts="count", num_experts_per_tok="chosen",
                          shared_intermediate_size="shared"))),
    "nemotron_h": Case("tiny-nemotron-h", "NemotronHForCausalLM", "NemotronHConfig", {}, nemotron("tiny-nemotron-h")),
    "nemotron_h_moe": Case(
        "tiny-nemotron-h-experts", "NemotronHForCausalLM", "NemotronHConfig", {},
        {**nemotron("tiny-nemotron-h-experts"), "norm_topk_prob": True, "routed_scaling_factor": 2.5,
         **experts("tiny-nemotron-h-experts", n_routed_experts="count", num_experts_per_tok="chosen",
                   moe_intermediate_size="width", moe_shared_expert_intermediate_size="shared")}),
    "nemotron_h_moe with latent experts": Case(
        "tiny-nemotron-h-latent", "NemotronHForCausalLM", "NemotronHConfig", {},
        {**nemotron("tiny-nemotron-h-latent"), "norm_topk_prob": True, "routed_scaling_factor": 2.5,
         "moe_latent_size": synth_model.ROUTERS["tiny-nemotron-h-latent"].latent,
         **experts("tiny-nemotron-h-latent", n_routed_experts="count", num_experts_per_tok="chosen",
                   moe_intermediate_size="width", moe_shared_expert_intermediate_size="shared")}),
    "falcon-h1": Case("tiny-falcon-h1", "FalconH1ForCausalLM", "FalconH1Config", {},
                      {**{k: v for k, v in mamba("tiny-falcon-h1").items() if k != "layer_types"}, **original_names.FALCON_MULTIPLIERS, "mamba_d_ssm": 768,
                       "mamba_rms_norm": False, "mamba_norm_before_gate": False}),
    "smollm3": Case("tiny-smollm3", "SmolLM3ForCausalLM", "SmolLM3Config", {}, {}),
    "arcee": Case("tiny-arcee", "ArceeForCausalLM", "ArceeConfig", {}, {}),
    "qwen2vl": Case("tiny-qwen2vl", "Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLConfig", {},
                    {"rope_parameters": default_rope(1e6, mrope_section=[8, 12, 12])},
                    {"vision_config": {"depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 32,
                                       "out_hidden_size": 256, "fullatt_block_indexes": [0]}}),
    "muse-glimmer": Case("tiny-muse-glimmer", "MuseGlimmerForConditionalGeneration", "MuseGlimmerConfig",
                         {"window": WINDOW},
                         {"sliding_window": WINDOW, "final_logit_softcapping": 3.0, "output_multiplier": 0.75,
                          "qk_scale_factor": synth_model.GLIMMER_QUERY_SCALE},
                         {"vision_config": {"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 2,
                                            "intermediate_size": 32},
                          "out_hidden_size": 128, "projector_hidden_size": 32}),
    "phi3": Case("tiny-phi3", "Phi3ForCausalLM", "Phi3Config", {}, long_rope("tiny-phi3")),
    "phi3 within the original context": Case("tiny-phi3-short", "Phi3ForCausalLM", "Phi3Config", {},
                                             long_rope("tiny-phi3-short")),
    "starcoder2": Case("tiny-starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", {},
                       {"norm_epsilon": 1e-6, "use_bias": True, "sliding_window": None}),
    "stablelm": Case("tiny-stablelm", "StableLmForCausalLM", "StableLmConfig", {"biases": True},
                     {"layer_norm_eps": 1e-6, "use_qkv_bias": True,
                      "rope_parameters": default_rope(10000.0, partial_rotary_factor=0.25)}),
    "stablelm 12B": Case("tiny-stablelm-12b", "StableLmForCausalLM", "StableLmConfig", {},
                         {"layer_norm_eps": 1e-6, "use_parallel_residual": True, "qk_layernorm": True,
                          "rope_parameters": default_rope(10000.0, partial_rotary_factor=0.25)}),
    "lfm2": Case("tiny-lfm2", "Lfm2ForCausalLM", "Lfm2Config", {"window": 0},
                 {"norm_eps": 1e-6, "conv_L_cache": synth_model.LFM_TAPS["lfm2"], "block_auto_adjust_ff_dim": False,
                  "layer_types": ["full_attention" if i in synth_model.LFM2_ATTENDS else "conv" for i in range(4)]}),
    "lfm2moe": Case("tiny-lfm2moe", "Lfm2MoeForCausalLM", "Lfm2MoeConfig", {"window": 0},
                    {"norm_eps": 1e-6, "conv_L_cache": synth_model.LFM_TAPS["lfm2moe"], "num_dense_layers": 1,
                     "intermediate_size": 512,
                     "layer_types": ["full_attention" if i in synth_model.LFM2_ATTENDS else "conv" for i in range(4)],
                     **experts("tiny-lfm2moe", num_experts="count", num_experts_per_tok="chosen",
                               moe_intermediate_size="width")}),
    "lfm3": Case("tiny-lfm3", "Lfm3ForCausalLM", "Lfm3Config", {"window": WINDOW},
                 {"norm_eps": 1e-6, "conv_L_cache": synth_model.LFM_TAPS["lfm3"], "sliding_window": WINDOW,
                  "rope_parameters": {"sliding_attention": default_rope(synth_model.LFM3_WINDOWED_BASE),
                                      "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5,
                                                         "rope_theta": 1e6}}}),
    "apertus": Case("tiny-apertus", "ApertusForCausalLM", "ApertusConfig", {}, {}),
    "qwen3next": Case("tiny-qwen3next", "Qwen3NextForCausalLM", "Qwen3NextConfig", {},
                      {**{key: value for key, value in QWEN35.items() if key != "rope_parameters"},
                       "rope_parameters": default_rope(1e7, partial_rotary_factor=0.25), "norm_topk_prob": True,
                       **experts("tiny-qwen3next", num_experts="count", num_experts_per_tok="chosen",
                                 moe_intermediate_size="width", shared_expert_intermediate_size="shared")}),
    "glm4moe": Case("tiny-glm4moe", "Glm4MoeForCausalLM", "Glm4MoeConfig", {},
                    {"rope_parameters": default_rope(1e6, partial_rotary_factor=0.5), "attention_bias": True,
                     "use_qk_norm": True, "norm_topk_prob": True, "routed_scaling_factor": 1.5, "n_shared_experts": 1,
                     "first_k_dense_replace": 1, "intermediate_size": 512, "num_mtp_layers": 0,
                     **experts("tiny-glm4moe", n_routed_experts="count", num_experts_per_tok="chosen",
                               moe_intermediate_size="width")}),
    "mellum": Case("tiny-mellum", "MellumForCausalLM", "MellumConfig", {"window": WINDOW, "yarn": 4.0},
                   {"rope_parameters": {"sliding_attention": default_rope(5e5),
                                        "full_attention": yarn_rope("tiny-mellum", 4.0)},
                    "sliding_window": WINDOW, "norm_topk_prob": True,
                    "layer_types": 3 * ["sliding_attention"] + ["full_attention"],
                    **experts("tiny-mellum", num_experts="count", num_experts_per_tok="chosen",
                              moe_intermediate_size="width")}),
    "ernie4_5-moe": Case("tiny-ernie-moe", "Ernie4_5_MoeForCausalLM", "Ernie4_5_MoeConfig", {},
                         {"moe_layer_start_index": 1, "moe_layer_interval": 2, "moe_num_shared_experts": 2,
                          "intermediate_size": 512,
                          **experts("tiny-ernie-moe", moe_num_experts="count", moe_k="chosen",
                                    moe_intermediate_size="width")}),
    "hy_v3": Case("tiny-hy-v3", "HYV3ForCausalLM", "HYV3Config", {},
                  {"router_scaling_factor": 2.0, "num_shared_experts": 1, "intermediate_size": 512,
                   **experts("tiny-hy-v3", num_experts="count", num_experts_per_tok="chosen",
                             moe_intermediate_size="width")}),
    "laguna": Case("tiny-laguna", "LagunaForCausalLM", "LagunaConfig", {"window": WINDOW, "yarn": 4.0},
                   laguna("tiny-laguna", yarn_rope("tiny-laguna", 4.0, partial_rotary_factor=0.5), WINDOW, "per-head")),
    "laguna with gates of elements": Case(
        "tiny-laguna-elements", "LagunaForCausalLM", "LagunaConfig", {"window": 0},
        laguna("tiny-laguna-elements", default_rope(5e5, partial_rotary_factor=0.5), 0, "per-element")),
    "cohere2moe": Case("tiny-north", "Cohere2MoeForCausalLM", "Cohere2MoeConfig", {"window": WINDOW},
                       {"rms_norm_eps": None, "layer_norm_eps": 1e-6, **north("tiny-north", norm_topk_prob=True)}),
    "cohere2moe with RMSNorm": Case(
        "tiny-north-rms", "Cohere2MoeForCausalLM", "Cohere2MoeConfig", {"window": WINDOW},
        north("tiny-north-rms", norm_topk_prob=False)),
    "llama4": Case("tiny-llama4", "Llama4ForCausalLM", "Llama4TextConfig", {"window": WINDOW}, llama4("tiny-llama4")),
    "llama4 with dense layers": Case(
        "tiny-llama4-dense", "Llama4ForCausalLM", "Llama4TextConfig", {"window": WINDOW},
        {**llama4("tiny-llama4-dense"), "interleave_moe_layer_step": 2, "use_qk_norm": False, "attn_scale": 0.5,
         "floor_scale": synth_model.LLAMA4_FLOOR}),
    "step35": Case("tiny-step35", "Step3p7ForConditionalGeneration", "Step3p7Config", {"window": WINDOW},
                   {"rope_parameters": {"full_attention": default_rope(5e6, partial_rotary_factor=0.5),
                                        "sliding_attention": default_rope(synth_model.STEP_BASE)},
                    "layer_types": [f"{'sliding' if i % 4 else 'full'}_attention" for i in range(5)],
                    "mlp_layer_types": ["dense", *4 * ["sparse"]], "sliding_window": WINDOW, "pad_token_id": 0,
                    "num_sliding_attention_heads": synth_model.STEP_HEADS, "moe_router_scaling_factor": 1.5,
                    "swiglu_limits": list(synth_model.STEP_LIMITS), "intermediate_size": 512,
                    "swiglu_limits_shared": list(synth_model.STEP_SHARED_LIMITS),
                    **experts("tiny-step35", n_routed_experts="count", num_experts_per_tok="chosen",
                              moe_intermediate_size="width", share_expert_dim="shared")},
                   {"vision_config": {"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 2,
                                      "intermediate_size": 32}}),
    "deepseek_v2": Case("tiny-deepseek2", "DeepseekV2ForCausalLM", "DeepseekV2Config", {"yarn": 4.0},
                        latent_mixture("tiny-deepseek2", topk_method="greedy", norm_topk_prob=False,
                                       rope_parameters=yarn_rope("tiny-deepseek2", 4.0, mscale=0.707,
                                                                 mscale_all_dim=0.707))),
    "deepseek_v3": Case("tiny-deepseek2-v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", {"yarn": 4.0},
                        latent_mixture("tiny-deepseek2-v3", n_group=4, topk_group=2, norm_topk_prob=True,
                                       rope_parameters=yarn_rope("tiny-deepseek2-v3", 4.0, mscale=1.0,
                                                                 mscale_all_dim=1.0))),
    "glm4_moe_lite": Case("tiny-deepseek2-v3", "Glm4MoeLiteForCausalLM", "Glm4MoeLiteConfig", {},
                          latent_mixture("tiny-deepseek2-v3", n_group=4, topk_group=2, norm_topk_prob=True)),
    "mistral4": Case("tiny-mistral4", "Mistral4ForCausalLM", "Mistral4Config", {"yarn": 256.0},
                     latent_mixture("tiny-mistral4", n_group=1, topk_group=1, norm_topk_prob=True,
                                    head_dim=synth_latent.LATENTS["tiny-mistral4"].head(),
                                    rope_parameters=yarn_rope("tiny-mistral4", 256.0, mscale=1.0, mscale_all_dim=1.0,
                                                              llama_4_scaling_beta=0.5))),
    "minicpm3": Case("tiny-minicpm3", "MiniCPM3ForCausalLM", "MiniCPM3Config", {},
                     latent("tiny-minicpm3", scale_emb=12, scale_depth=1.4, dim_model_base=256,
                            rope_parameters=latent_long_rope("tiny-minicpm3"))),
    "gpt-oss": Case("tiny-gpt-oss", "GptOssForCausalLM", "GptOssConfig", {"window": WINDOW, "yarn": 4.0},
                    {"rope_parameters": yarn_rope("tiny-gpt-oss", 4.0, truncate=False), "sliding_window": WINDOW,
                     **experts("tiny-gpt-oss", num_local_experts="count", num_experts_per_tok="chosen")}),
}


# Guesses of an assistant, behind IDS and then behind each of GUESSED: the case that it drafts for, its shape, and
# settings of its layers.
GUESSED = [17, 2240, 5001]
ASSISTED = {"gemma4-assistant": ("gemma4", "tiny-gemma4-assistant",
                                 {**GEMMA4, **global_layers(3, head_dim=512, num_key_value_heads=1),
                                  "num_kv_shared_layers": 3, "hidden_size_per_layer_input": 0,
                                  "vocab_size_per_layer_input": 0})}


def configuration(case, num_tokens):
    import transformers
    shape = synth_model.SHAPES[case.shape]
    settings = {"vocab_size": num_tokens, "hidden_size": shape.width, "num_hidden_layers": shape.layers,
                "num_attention_heads": shape.heads, "num_key_value_heads": shape.kv_heads, "head_dim": shape.head_dim,
                "intermediate_size": shape.ffn, "max_position_embeddings": shape.context, "rms_norm_eps": 1e-6,
                "tie_word_embeddings": shape.tied, "rope_parameters": default_rope(shape.rope_base),
                "pad_token_id": None, "bos_token_id": None, "eos_token_id": None, **case.settings}
    if shape.arch == "gemma4":
        settings["vocab_size_per_layer_input"] = num_tokens
    if case.other_parts:
        return getattr(transformers, case.config)(text_config=settings, **case.other_parts, attn_implementation="eager",
                                                  tie_word_embeddings=shape.tied)
    return getattr(transformers, case.config)(**settings, attn_implementation="eager")


def original_model(case, vocab_from, config_of=configuration):
    import torch
    import transformers
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.gguf")
        synth_model.write_model(path, case.shape, vocab_from, ("F32",), **case.options)
        weights = original_names.original_weights(GgufFile(path), synth_model.SHAPES[case.shape])
    embedding = "model.embed_tokens.weight" if "model.embed_tokens.weight" in weights else "model.embeddings.weight"
    config = config_of(case, len(weights[embedding]))
    model = getattr(transformers, case.model)(config).to(torch.float32).eval()
    if case.other_parts:
        weights = {name.replace("model.", "model.language_model.", 1): data for name, data in weights.items()}
    given = {name: torch.from_numpy(np.array(data, np.float32)) for name, data in weights.items()}
    lacking, unknown = model.load_state_dict(given, strict=False)
    if case.other_parts:
        lacking = [name for name in lacking if name.startswith(("model.language_model.", "lm_head."))]
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    if set(lacking) - tied or unknown:
        raise SystemExit(f"{case.shape}: lacking {sorted(set(lacking) - tied)}, unknown {unknown}")
    model.tie_weights()
    return model


def original_logits(case, vocab_from, ids):
    """float32 [len(ids), vocab_size]"""
    import torch
    with torch.no_grad():
        return original_model(case, vocab_from)(torch.tensor([ids])).logits[0].numpy()


def assistant_logits(name, vocab_from):
    """float32 [1 + len(GUESSED), vocab_size], in the way of SinglePositionMultiTokenCandidateGenerator. It gives windows as
    many keys as its cache has, one or two more; here they have those that the model's own row would see."""
    import torch
    import transformers
    of_model, shape, settings = ASSISTED[name]

    def config_of(case, num_tokens):
        return transformers.Gemma4AssistantConfig(
            text_config=configuration(case, num_tokens), attn_implementation="eager",
            backbone_hidden_size=synth_model.SHAPES[CASES[of_model].shape].width)

    case = Case(shape, "Gemma4AssistantForCausalLM", "Gemma4TextConfig", {"window": WINDOW}, settings)
    model, assistant = original_model(CASES[of_model], vocab_from), original_model(case, vocab_from, config_of)
    with torch.no_grad():
        out = model(torch.tensor([IDS[:-1]]), output_hidden_states=True, return_shared_kv_states=True)
        hidden, keys = out.hidden_states[-1][:, -1:], dict(out.shared_kv_states)
        keys["sliding_attention"] = tuple(x[:, :, -(WINDOW - 1):] for x in keys["sliding_attention"])
        rows = []
        for token in (IDS[-1], *GUESSED):
            pair = torch.cat([model.get_input_embeddings()(torch.tensor([[token]])), hidden], -1)
            guess = assistant(inputs_embeds=pair, position_ids=torch.tensor([[len(IDS) - 1]]), shared_kv_states=keys,
                              use_cache=False)
            hidden = guess.last_hidden_state
            rows.append(guess.logits[0, 0].numpy())
    return np.stack(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", choices=[*CASES, *ASSISTED, []])
    parser.add_argument("--vocab-from", required=True)
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()
    kept = dict(np.load(args.write)) if args.cases and args.write and args.write.exists() else {}
    kept |= {"ids": np.array(IDS, np.int32), "column_step": np.array(COLUMN_STEP)}
    for name in args.cases or [*CASES, *ASSISTED]:
        if name in ASSISTED:
            logits = assistant_logits(name, args.vocab_from).astype(np.float64)
        else:
            logits = original_logits(CASES[name], args.vocab_from, IDS).astype(np.float64)
        top = logits.max(1)
        kept[f"{name}: logits"] = logits[:, ::COLUMN_STEP].astype(np.float32)
        kept[f"{name}: log_sum"] = top + np.log(np.exp(logits - top[:, None]).sum(1))
        print(f"{name}: standard deviation {logits.std():.2f}, first {logits[-1, :3]}")
    if args.write:
        args.write.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(args.write, **kept)


if __name__ == "__main__":
    main()
