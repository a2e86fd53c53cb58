#!/usr/bin/env python3
"""Writes a GGUF model with float weights as Hugging Face's tools save one: a folder with config.json and safetensors.

    model_folder.py MODEL.gguf FOLDER [--dtype F32|F16|BF16] [--files N] [--old-form] [--mxfp4]

Undoes what llama.cpp's converter does (original_names.py): names, orders of rows, norms. For every architecture that
Octavo has. With --old-form rotation and experts are written as transformers 4 does, and the tensors of a model with
other parts get the names that it gives them. --mxfp4 is for the experts of gpt-oss. Needs: numpy, gguf. As a module:
`write_folder(model, folder, ...)`.
"""
import argparse
import functools
import json
import pathlib
from typing import NamedTuple

import gguf
import numpy as np

import original_names
import synth_model
import tiny_tower
from gguf_file import GgufFile

MODELS = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM",
          "qwen3moe": "Qwen3MoeForCausalLM", "qwen35": "Qwen3_5ForCausalLM", "qwen35moe": "Qwen3_5MoeForCausalLM",
          "gpt-oss": "GptOssForCausalLM", "mistral3": "Ministral3ForCausalLM", "gemma2": "Gemma2ForCausalLM",
          "gemma3": "Gemma3ForCausalLM", "gemma4": "Gemma4ForCausalLM", "seed_oss": "SeedOssForCausalLM",
          "ernie4_5": "Ernie4_5ForCausalLM", "hunyuan-dense": "HunYuanDenseV1ForCausalLM", "olmo2": "Olmo2ForCausalLM",
          "exaone4": "Exaone4ForCausalLM", "command-r": "CohereForCausalLM", "cohere2": "Cohere2ForCausalLM",
          "glm4": "Glm4ForCausalLM", "granite": "GraniteForCausalLM", "smollm3": "SmolLM3ForCausalLM",
          "arcee": "ArceeForCausalLM", "minicpm": "MiniCPMForCausalLM", "nanbeige": "NanbeigeForCausalLM",
          "qwen2vl": "Qwen2_5_VLForConditionalGeneration", "qwen3vl": "Qwen3VLForConditionalGeneration",
          "muse-glimmer": "MuseGlimmerForConditionalGeneration",
          "phi3": "Phi3ForCausalLM", "starcoder2": "Starcoder2ForCausalLM", "stablelm": "StableLmForCausalLM",
          "apertus": "ApertusForCausalLM", "lfm2": "Lfm2ForCausalLM", "lfm3": "Lfm3ForCausalLM",
          "llama4": "Llama4ForCausalLM", "step35": "Step3p5ForCausalLM",
          "apertus": "ApertusForCausalLM", "lfm2": "Lfm2ForCausalLM", "lfm3": "Lfm3ForCausalLM", "granitehybrid": "GraniteMoeHybridForCausalLM", "nemotron_h": "NemotronHForCausalLM",
          "nemotron_h_moe": "NemotronHForCausalLM", "falcon-h1": "FalconH1ForCausalLM",
          "glm4moe": "Glm4MoeForCausalLM", "mellum": "MellumForCausalLM",
          "ernie4_5-moe": "Ernie4_5_MoeForCausalLM", "hy_v3": "HYV3ForCausalLM", "qwen3next": "Qwen3NextForCausalLM",
          "laguna": "LagunaForCausalLM", "cohere2moe": "Cohere2MoeForCausalLM",
          "bailingmoe2": "BailingMoeV2ForCausalLM", "spark2_5": "Spark2_5ForCausalLM",
          "deepseek2": "DeepseekV2ForCausalLM", "mistral4": "Mistral4ForCausalLM", "minicpm3": "MiniCPM3ForCausalLM"}
SIZES = {"hidden_size": "embedding_length", "num_hidden_layers": "block_count", "vocab_size": "vocab_size",
         "num_attention_heads": "attention.head_count", "num_key_value_heads": "attention.head_count_kv",
         "head_dim": "attention.key_length", "intermediate_size": "feed_forward_length",
         "max_position_embeddings": "context_length", "rms_norm_eps": "attention.layer_norm_rms_epsilon",
         "layer_norm_eps": "attention.layer_norm_epsilon",
         "sliding_window": "attention.sliding_window", "attn_logit_softcapping": "attn_logit_softcapping",
         "final_logit_softcapping": "final_logit_softcapping", "num_experts_per_tok": "expert_used_count"}
GRANITE_SCALES = {"embedding_multiplier": "embedding_scale", "residual_multiplier": "residual_scale",
                  "attention_multiplier": "attention.scale", "logits_scaling": "logit_scale"}
MAMBA_SIZES = {"mamba_n_heads": "ssm.time_step_rank", "mamba_n_groups": "ssm.group_count",
               "mamba_d_state": "ssm.state_size", "mamba_d_conv": "ssm.conv_kernel"}
DELTA_SIZES = {"linear_conv_kernel_dim": "ssm.conv_kernel", "linear_key_head_dim": "ssm.state_size",
               "linear_num_key_heads": "ssm.group_count", "linear_num_value_heads": "ssm.time_step_rank"}
PARTS_OF_EXPERT = {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}
PARTS_OF_MIXTRAL = {"gate": "w1", "up": "w3", "down": "w2"}
# Parts of names that checkpoints on the hub have otherwise than the modules of transformers 5.
HUB_NAMES = {**dict.fromkeys(("nemotron_h", "nemotron_h_moe"), {"model.": "backbone."}),
             "granitehybrid": {"block_sparse_moe.experts.gate_up_proj": "block_sparse_moe.input_linear.weight",
                               "block_sparse_moe.experts.down_proj": "block_sparse_moe.output_linear.weight",
                               "block_sparse_moe.router.weight": "block_sparse_moe.router.layer.weight"},
             "ernie4_5-moe": {"mlp.gate.moe_statics": "mlp.moe_statics"},
             "step35": {"mlp.gate.weight": "moe.gate.weight", "mlp.shared_experts": "share_expert",
                        "mlp.gate.e_score_correction_bias": "moe.router_bias"},
             "hy_v3": {"mlp.gate.weight": "mlp.router.gate.weight", "mlp.shared_experts": "mlp.shared_mlp",
                       "mlp.e_score_correction_bias": "mlp.expert_bias"},
             "laguna": {"mlp.gate.e_score_correction": "mlp.experts.e_score_correction",
                        "mlp.shared_experts": "mlp.shared_expert"}}
# The tensor of a layer that predicts a token more, which is left out: {} is the number of the model's layers.
PREDICTING = {"qwen35": "mtp.fc.weight", "qwen35moe": "mtp.fc.weight", "qwen3next": "mtp.fc.weight",
              "mellum": "mtp.layers.0.mlp.gate.weight", "ernie4_5-moe": "model.mtp_block.0.input_layernorm.weight",
              "step35": "model.layers.{}.eh_proj.weight",
              "glm4moe": "model.layers.{}.eh_proj.weight", "hy_v3": "model.layers.{}.eh_proj.weight",
              "cohere2moe": "model.layers.{}.eh_proj.weight", "bailingmoe2": "model.layers.{}.eh_proj.weight"}


class Heads(NamedTuple):
    arch: str
    heads: int
    kv_heads: int


class Keys:
    """The keys of a file. Reading one takes seconds where it has words."""

    @staticmethod
    @functools.lru_cache(maxsize=4)
    def of(path):
        return Keys(path)

    def __init__(self, path):
        self.reader = GgufFile(path)
        self.arch = self.reader.get_field("general.architecture").contents()

    def get(self, suffix):
        field = self.reader.get_field(f"{self.arch}.{suffix}")
        return field.contents() if field else None


def rope_of(keys):
    rope = {"rope_type": "default", "rope_theta": keys.get("rope.freq_base")}
    if keys.get("rope.scaling.type") == "yarn":
        rope |= {"rope_type": "yarn", "factor": keys.get("rope.scaling.factor"),
                 "original_max_position_embeddings": keys.get("rope.scaling.original_context_length"),
                 "beta_fast": keys.get("rope.scaling.yarn_beta_fast"),
                 "beta_slow": keys.get("rope.scaling.yarn_beta_slow"), "truncate": False}
    rope = {name: value for name, value in rope.items() if value is not None}
    if keys.arch == "mistral3":
        rope |= {"mscale": 1.0, "mscale_all_dim": keys.get("rope.scaling.yarn_log_multiplier"),
                 "llama_4_scaling_beta": keys.get("attention.temperature_scale")}
    if keys.arch == "qwen2vl":
        rope |= {"rope_type": "mrope", "mrope_section": keys.get("rope.dimension_sections")[:3]}
    if keys.arch == "qwen3vl":
        rope |= {"mrope_section": keys.get("rope.dimension_sections")[:3], "mrope_interleaved": True}
    growth = keys.get("rope.scaling.yarn_log_multiplier")
    if keys.get("attention.kv_lora_rank") and growth:
        rope.pop("truncate", None)
        rope |= {"mscale": 10 * growth, "mscale_all_dim": 10 * growth}
    if keys.arch == "mistral4":
        rope |= {"llama_4_scaling_beta": keys.get("attention.temperature_scale")}
    if keys.arch == "minicpm3":
        rope |= {"original_max_position_embeddings": keys.get("context_length")}
    if keys.arch in ("phi3", "minicpm3"):
        tensors = {t.name: t.data.tolist() for t in keys.reader.tensors if t.name.startswith("rope_factors_")}
        rope |= {"rope_type": "longrope", "attention_factor": keys.get("rope.scaling.attn_factor") or 1.0,
                 **{f"{kind}_factor": tensors[f"rope_factors_{kind}.weight"] for kind in ("short", "long")}}
    if keys.arch in ("glm4", "phi3", "stablelm", "glm4moe", "qwen3next", "laguna", "spark2_5", "bailingmoe2"):
        rope |= {"partial_rotary_factor": keys.get("rope.dimension_count") / keys.get("attention.key_length")}
    if keys.arch.startswith("qwen35"):
        rope |= {"partial_rotary_factor": keys.get("rope.dimension_count") / keys.get("attention.key_length"),
                 "mrope_section": keys.get("rope.dimension_sections")[:3]}
    return rope


def rope_members(keys, old):
    rope = rope_of(keys)
    if keys.arch in ("mellum", "laguna", "spark2_5"):
        rope.pop("truncate", None)  # the ends of their ramps are rounded
        windowed = {"rope_type": "default", "rope_theta": keys.get("rope.freq_base_swa") or rope["rope_theta"]}
        if keys.get("rope.dimension_count_swa"):
            windowed["partial_rotary_factor"] = keys.get("rope.dimension_count_swa") / keys.get("attention.key_length")
        return {"rope_parameters": {"full_attention": rope, "sliding_attention": windowed}}
    if keys.arch == "gemma3" and old:
        return {"rope_theta": rope["rope_theta"], "rope_local_base_freq": 10000.0}
    if keys.arch in ("gemma3", "gemma4"):
        if keys.arch == "gemma4":
            factors = next(t.data for t in keys.reader.tensors if t.name == "rope_freqs.weight")
            rope |= {"rope_type": "proportional", "partial_rotary_factor": float((factors == 1).mean())}
        return {"rope_parameters": {"full_attention": rope,
                                    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}
    if not old:
        return {"rope_parameters": rope}
    base = rope.pop("rope_theta")
    return {"rope_theta": base} | ({"rope_scaling": rope} if rope["rope_type"] != "default" else {})


def kinds_of_feed_forwards(keys):
    dense = keys.get("leading_dense_block_count") or 0
    return ["dense" if i < dense else "sparse" for i in range(keys.get("block_count"))]


def experts_members(keys, old):
    width, shared = keys.get("expert_feed_forward_length"), keys.get("expert_shared_feed_forward_length")
    count, chosen = keys.get("expert_count"), keys.get("expert_used_count")
    if keys.arch == "llama":
        return {"architectures": ["MixtralForCausalLM"], "num_local_experts": count}
    if keys.arch == "step35":
        return {}
    if keys.arch == "llama4":
        return {"num_local_experts": count, "intermediate_size": width,
                "intermediate_size_mlp": keys.get("feed_forward_length"),
                "interleave_moe_layer_step": keys.get("interleave_moe_layer_step")}
    if keys.arch == "granitehybrid":
        return {"num_local_experts": count}
    if keys.arch == "nemotron_h_moe":
        return {"n_routed_experts": count, "moe_intermediate_size": width, "moe_shared_expert_intermediate_size": shared,
                "moe_latent_size": keys.get("moe_latent_size"), "norm_topk_prob": keys.get("expert_weights_norm"), "routed_scaling_factor": keys.get("expert_weights_scale")}
    if keys.arch == "gpt-oss":
        return {"num_local_experts": count, "intermediate_size": width}
    if keys.arch == "ernie4_5-moe":
        return {"moe_num_experts": count, "moe_k": chosen, "moe_intermediate_size": width,
                "moe_num_shared_experts": shared // width, "moe_layer_end_index": -1,
                "moe_layer_start_index": keys.get("leading_dense_block_count"),
                "moe_layer_interval": keys.get("interleave_moe_layer_step")}
    if keys.arch == "glm4moe":
        return {"n_routed_experts": count, "moe_intermediate_size": width, "n_group": 1, "topk_group": 1,
                "n_shared_experts": keys.get("expert_shared_count"), "norm_topk_prob": keys.get("expert_weights_norm"),
                "first_k_dense_replace": keys.get("leading_dense_block_count"),
                "routed_scaling_factor": keys.get("expert_weights_scale")}
    if keys.arch in ("deepseek2", "mistral4"):
        groups = keys.get("expert_group_count") or 1
        members = {"n_routed_experts": count, "moe_intermediate_size": width,
                   "n_shared_experts": keys.get("expert_shared_count"),
                   "first_k_dense_replace": keys.get("leading_dense_block_count") or 0,
                   "routed_scaling_factor": keys.get("expert_weights_scale"),
                   "norm_topk_prob": bool(keys.get("expert_weights_norm"))}
        if keys.get("expert_gating_func") == 2:
            return members | {"architectures": ["DeepseekV3ForCausalLM"], "n_group": groups,
                              "topk_group": keys.get("expert_group_used_count") or 1}
        return members
    if keys.arch == "hy_v3":
        return {"num_experts": count, "moe_intermediate_size": width, "num_shared_experts": shared // width,
                "router_scaling_factor": keys.get("expert_weights_scale")}
    if keys.arch == "laguna":
        return {"num_experts": count, "moe_intermediate_size": width, "shared_expert_intermediate_size": shared,
                "moe_routed_scaling_factor": keys.get("expert_weights_scale"), "norm_topk_prob": True,
                "mlp_layer_types": kinds_of_feed_forwards(keys)}
    if keys.arch == "cohere2moe":
        return {"num_experts": count, "intermediate_size": width, "num_shared_experts": (shared or 0) // width,
                "prefix_dense_intermediate_size": keys.get("feed_forward_length"), "expert_selection_fn": "sigmoid",
                "norm_topk_prob": keys.get("expert_weights_norm"), "mlp_layer_types": kinds_of_feed_forwards(keys)}
    if keys.arch == "bailingmoe2":
        return {"num_experts": count, "moe_intermediate_size": width, "num_shared_experts": shared // width,
                "first_k_dense_replace": keys.get("leading_dense_block_count"), "norm_topk_prob": True,
                "n_group": keys.get("expert_group_count"), "topk_group": keys.get("expert_group_used_count"),
                "routed_scaling_factor": keys.get("expert_weights_scale"), "score_function": "sigmoid"}
    if keys.arch == "gemma4":
        return {"enable_moe_block": True, "num_experts": count, "top_k_experts": chosen, "moe_intermediate_size": width}
    counting = "num_local_experts" if not old and keys.arch in ("qwen3moe", "mellum") else "num_experts"
    members = {counting: count, "moe_intermediate_size": width}
    return members | ({"shared_expert_intermediate_size": shared} if shared else {"norm_topk_prob": True})


def gemma4_members(keys, old):
    """Heads of the layers without a window stand by themselves."""
    windowed = keys.get("attention.sliding_window_pattern")
    kv_heads, head = keys.get("attention.head_count_kv"), keys.get("attention.key_length")
    kv_heads = kv_heads if isinstance(kv_heads, list) else [kv_heads] * len(windowed)
    widths = keys.get("feed_forward_length")
    widths = widths if isinstance(widths, list) else [widths]
    of_global = {"head_dim": head, "num_key_value_heads": kv_heads[windowed.index(False)]}
    members = {"layer_types": ["sliding_attention" if w else "full_attention" for w in windowed],
               "head_dim": keys.get("attention.key_length_swa"), "num_key_value_heads": kv_heads[windowed.index(True)],
               "intermediate_size": widths[0], "use_double_wide_mlp": len(set(widths)) > 1,
               "num_kv_shared_layers": keys.get("attention.shared_kv_layers") or 0,
               "hidden_size_per_layer_input": keys.get("embedding_length_per_layer_input") or 0}
    if old:
        return members | {"global_head_dim": head, "num_global_key_value_heads": of_global["num_key_value_heads"]}
    return members | {"per_layer_config": {str(i): of_global for i, w in enumerate(windowed) if not w}}


def latent_members(keys):
    kind = "_mla" if keys.get("attention.key_length_mla") else ""
    rotated = keys.get("rope.dimension_count")
    own = {"scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256} if keys.arch == "minicpm3" else {}
    return own | {"q_lora_rank": keys.get("attention.q_lora_rank"), "kv_lora_rank": keys.get("attention.kv_lora_rank"),
                  "qk_nope_head_dim": keys.get("attention.key_length" + kind) - rotated, "qk_rope_head_dim": rotated,
                  "v_head_dim": keys.get("attention.value_length" + kind), "head_dim": rotated,
                  "num_key_value_heads": keys.get("attention.head_count")}


def kinds_of_layers(keys):
    """Of each four layers the first or the last sees all, and the others where there are no windows."""
    behind = 0 if keys.arch in ("laguna", "cohere2moe") else 1
    windowed = keys.get("attention.sliding_window")
    return {"layer_types": ["sliding_attention" if windowed and (i + behind) % 4 != 0 else "full_attention"
                            for i in range(keys.get("block_count"))]}


def heads_by_layer(keys):
    heads = keys.get("attention.head_count")
    return {"num_attention_heads": heads[0], "num_attention_heads_per_layer": heads} if isinstance(heads, list) else {}


def delta_members(keys):
    interval = keys.get("full_attention_interval")
    kinds = ["full_attention" if (i + 1) % interval == 0 else "linear_attention" for i in range(keys.get("block_count"))]
    own = {} if keys.arch == "qwen3next" else {"attn_output_gate": True, "mtp_num_hidden_layers": 1}
    return {name: keys.get(suffix) for name, suffix in DELTA_SIZES.items()} | own | {
        "linear_value_head_dim": keys.get("ssm.inner_size") // keys.get("ssm.time_step_rank"), "layer_types": kinds}


def lfm_members(keys, epsilon):
    return {"norm_eps": epsilon, "num_key_value_heads": max(keys.get("attention.head_count_kv")), "conv_bias": False,
            "conv_L_cache": keys.get("shortconv.l_cache")}


def lfm2_members(keys):
    """The width of the feed-forward is made of another one, which is half as much more."""
    kinds = ["full_attention" if heads else "conv" for heads in keys.get("attention.head_count_kv")]
    return {"layer_types": kinds, "intermediate_size": keys.get("feed_forward_length") * 3 // 2,
            "block_auto_adjust_ff_dim": True, "block_ffn_dim_multiplier": 1.0, "block_multiple_of": 256}


def lfm3_members(keys):
    windowed = keys.get("attention.sliding_window_pattern")
    of_attention = ["sliding_attention" if one else "full_attention" for one in windowed]
    factors = next(t.data for t in keys.reader.tensors if t.name == "rope_freqs.weight")
    rope = {"sliding_attention": {"rope_type": "default", "rope_theta": keys.get("rope.freq_base_swa")},
            "full_attention": {"rope_type": "proportional", "rope_theta": keys.get("rope.freq_base"),
                               "partial_rotary_factor": float((factors == 1).mean())}}
    return {"layer_types": [kind if heads else "conv" for kind, heads in
                            zip(of_attention, keys.get("attention.head_count_kv"), strict=True)],
            "rope_parameters": rope}


def step35_members(keys, old):
    """As the hub has them (`old`), or as transformers 5 saves them. Lists have an entry for a layer that predicts a
    token more."""
    windowed, heads = keys.get("attention.sliding_window_pattern"), keys.get("attention.head_count")
    of_windowed = heads[windowed.index(True)]
    members = {"layer_types": ["sliding_attention" if one else "full_attention" for one in (*windowed, False)],
               "num_attention_heads": heads[windowed.index(False)],
               "swiglu_limits": [limit or None for limit in keys.get("swiglu_clamp_exp")],
               "swiglu_limits_shared": [*keys.get("swiglu_clamp_shexp"), None],
               "share_expert_dim": keys.get("expert_shared_feed_forward_length"),
               "moe_intermediate_size": keys.get("expert_feed_forward_length"),
               "moe_router_scaling_factor": keys.get("expert_weights_scale")}
    bases = keys.get("rope.freq_base"), keys.get("rope.freq_base_swa")
    if old:
        return members | {"moe_num_experts": keys.get("expert_count"), "moe_top_k": keys.get("expert_used_count"),
                          "num_attention_groups": keys.get("attention.head_count_kv"),
                          "attention_other_setting": {"num_attention_heads": of_windowed},
                          "rope_theta": [bases[one] for one in windowed], "rope_parameters": None,
                          "partial_rotary_factors": [1.0 if one else 0.5 for one in windowed]}
    return members | {"n_routed_experts": keys.get("expert_count"), "num_sliding_attention_heads": of_windowed,
                      "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": bases[0],
                                                             "partial_rotary_factor": 0.5},
                                          "sliding_attention": {"rope_type": "default", "rope_theta": bases[1]}}}


def mamba_members(keys):
    heads = keys.get("attention.head_count_kv")
    if keys.arch == "falcon-h1":
        return {name: keys.get(suffix) for name, suffix in MAMBA_SIZES.items()} | {
            "mamba_d_ssm": keys.get("ssm.inner_size"), "mamba_rms_norm": False, **original_names.FALCON_MULTIPLIERS}
    return {name: keys.get(suffix) for name, suffix in MAMBA_SIZES.items()} | {
        "mamba_d_head": keys.get("ssm.inner_size") // keys.get("ssm.time_step_rank"), "mamba_conv_bias": True,
        "num_key_value_heads": max(heads), "layer_types": ["attention" if one else "mamba" for one in heads]}


def nemotron_members(keys, epsilon, old):
    """The hub has a letter for each layer, transformers 5 a name."""
    heads, widths = keys.get("attention.head_count_kv"), keys.get("feed_forward_length")
    ffn = "E" if keys.get("expert_count") else "-"
    letters = ["*" if h else ffn if width else "M" for h, width in zip(heads, widths, strict=True)]
    names = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}
    pattern = {"hybrid_override_pattern": "".join(letters)} if old else {"layers_block_type": [names[c] for c in letters]}
    return pattern | {
        "mamba_num_heads": keys.get("ssm.time_step_rank"), "n_groups": keys.get("ssm.group_count"),
        "mamba_head_dim": keys.get("ssm.inner_size") // keys.get("ssm.time_step_rank"), "conv_kernel": keys.get("ssm.conv_kernel"),
        "ssm_state_size": keys.get("ssm.state_size"), "num_key_value_heads": max(heads), "layer_norm_epsilon": epsilon,
        "intermediate_size": max(widths), "mlp_hidden_act": "relu2"}


def granitehybrid_members(keys):
    """transformers has a dense feed-forward as the expert for every row."""
    shared = keys.get("expert_shared_feed_forward_length") or keys.get("feed_forward_length")
    return {"shared_intermediate_size": shared, "num_local_experts": keys.get("expert_count") or 0,
            "position_embedding_type": "nope" if keys.get("rope.scaling.finetuned") is False else "rope"}


def config_of(keys, is_tied, old):
    config = {name: keys.get(suffix) for name, suffix in SIZES.items()}
    config = {name: value for name, value in config.items() if value is not None}
    config |= {"architectures": [MODELS[keys.arch]], "tie_word_embeddings": is_tied, **rope_members(keys, old)}
    if keys.arch in original_names.NEMOTRONS:
        config |= nemotron_members(keys, config.pop("layer_norm_eps"), old)
    elif keys.arch in original_names.MAMBAS:
        config |= mamba_members(keys)
    elif keys.get("ssm.inner_size"):
        config |= delta_members(keys)
    if keys.arch == "granitehybrid":
        config |= granitehybrid_members(keys)
    if keys.arch in ("mellum", "laguna", "cohere2moe", "spark2_5"):
        config |= kinds_of_layers(keys)
    if keys.arch == "laguna":
        config |= heads_by_layer(keys)
    if keys.arch == "spark2_5":
        config |= {"hidden_act": "gelu", "gate_attn_act_mode": "sigmoid", "headwise_attn_output_gate": True}
    if keys.get("attention.kv_lora_rank"):
        config |= latent_members(keys)
    if keys.arch == "gemma4":
        config |= gemma4_members(keys, old)
    if keys.arch == "olmo2" and keys.get("attention.sliding_window"):
        config |= {"architectures": ["Olmo3ForCausalLM"]}
    if keys.arch == "exaone4":
        config |= {"sliding_window_pattern": "LLLG"}
    if keys.arch in ("command-r", "cohere2", "cohere2moe"):
        config |= {"logit_scale": keys.get("logit_scale")}
    if keys.arch in ("granite", "granitehybrid"):
        config |= {name: keys.get(suffix) for name, suffix in GRANITE_SCALES.items()}
    if keys.arch == "arcee":
        config |= {"hidden_act": "relu2"}
    if keys.arch == "muse-glimmer":
        config |= {"output_multiplier": keys.get("logit_scale"), "qk_scale_factor": synth_model.GLIMMER_QUERY_SCALE}
    if keys.arch == "phi3":
        config |= {"original_max_position_embeddings": keys.get("rope.scaling.original_context_length")}
    if keys.arch == "starcoder2":
        config |= {"norm_epsilon": config.pop("layer_norm_eps"), "hidden_act": "gelu_pytorch_tanh", "use_bias": True}
    if keys.arch == "apertus":
        config |= {"hidden_act": "xielu"}
    if keys.arch in ("lfm2", "lfm3"):
        config |= lfm_members(keys, config.pop("rms_norm_eps"))
    if keys.arch == "lfm2":
        config |= lfm2_members(keys)
    if keys.arch == "lfm3":
        config |= lfm3_members(keys)
    if keys.arch == "smollm3":
        config |= {"no_rope_layers": [int((i + 1) % 4 != 0) for i in range(keys.get("block_count"))]}
    if keys.arch == "step35":
        config |= step35_members(keys, old)
    if keys.arch == "llama4":
        scale = keys.get("attention.temperature_scale")
        config |= {"attention_chunk_size": keys.get("attention.chunk_size"), "no_rope_layers": [],
                   "use_qk_norm": keys.get("use_qk_norm") is not False, "attn_temperature_tuning": 4,
                   "attn_scale": scale or 0.1, "floor_scale": keys.get("attention.temperature_length") or 8192}
    if keys.arch == "nanbeige":
        config |= {name: keys.get(name) for name in ("num_loops", "skip_loop_final_norm")}
    if keys.arch == "minicpm":
        config |= {"scale_emb": keys.get("embedding_scale"),
                   "scale_depth": keys.get("residual_scale") * keys.get("block_count")**0.5,
                   "dim_model_base": keys.get("embedding_length") / keys.get("logit_scale")}
    if keys.arch == "gpt-oss":
        config |= {"attention_bias": True, "swiglu_limit": 7.0}
    if any(t.name.endswith("ffn_gate.bias") for t in keys.reader.tensors):
        config |= {"attention_bias": True, "mlp_bias": True}
    return config | experts_members(keys, old) if keys.get("expert_count") else config


def apart(name, data, arch):
    """A tensor of experts as transformers 4 saves them: one for each expert."""
    layer, part = name.split("mlp.experts.")
    if arch == "step35":  # which has them in one tensor all the same
        parts = {"down": data} if part == "down_proj" else dict(zip(("gate", "up"), np.split(data, 2, 1)))
        yield from ((f"{layer}moe.{kind}_proj.weight", matrices) for kind, matrices in parts.items())
        return
    place, names = ("block_sparse_moe", PARTS_OF_MIXTRAL) if arch == "llama" else ("mlp", PARTS_OF_EXPERT)
    parts = {"down": data} if part == "down_proj" else dict(zip(("gate", "up"), np.split(data, 2, 1)))
    for kind, matrices in parts.items():
        yield from ((f"{layer}{place}.experts.{e}.{names[kind]}.weight", matrix) for e, matrix in enumerate(matrices))


def original_tensors(keys, old):
    """(name, array) as the checkpoint has them."""
    shape = Heads(keys.arch, *(int(np.max(keys.get(f"attention.head_count{kind}"))) for kind in ("", "_kv")))
    weights = original_names.original_weights(keys.reader, shape)
    for name, data in weights.items():
        if old and keys.arch not in ("gpt-oss", "gemma4", "qwen35moe") and ".mlp.experts." in name:
            yield from apart(name, data, keys.arch)
        elif old and ".mixer.experts." in name:
            for i, matrix in enumerate(data):
                yield name.replace("model.", "backbone.").replace("experts.", f"experts.{i}.") + ".weight", matrix
        elif old and keys.arch == "llama" and name.endswith(".mlp.gate.weight"):
            yield name.replace("mlp", "block_sparse_moe"), data
        else:
            for part, of_hub in HUB_NAMES.get(keys.arch, {}).items() if old else ():
                name = name.replace(part, of_hub)
            yield name, data
    if keys.arch in PREDICTING:
        yield PREDICTING[keys.arch].format(keys.get("block_count")), np.zeros((1, 1), np.float32)


def mxfp4_tensors(keys):
    """{name: (dtype, shape, bytes)} of gpt-oss's experts in MXFP4: codes and scales apart, neighbours in a byte."""
    layers = {}
    for tensor in keys.reader.tensors:
        if tensor.name.endswith("_exps.weight"):
            _, layer, name = tensor.name.split(".", 2)
            rows = gguf.quants.quantize(np.array(tensor.data), gguf.GGMLQuantizationType.MXFP4)
            layers.setdefault(layer, {})[name.split("_")[1]] = rows
    result = {}
    for layer, parts in layers.items():
        gate_up = np.stack([parts["gate"], parts["up"]], 2)
        both = {"gate_up_proj": gate_up.reshape(len(gate_up), -1, gate_up.shape[-1]), "down_proj": parts["down"]}
        for name, rows in both.items():
            blocks = rows.reshape(*rows.shape[:2], -1, 17)
            halves = blocks[..., 1:]
            codes = np.concatenate([halves & 15, halves >> 4], -1)
            packed = np.ascontiguousarray(codes[..., 0::2] | codes[..., 1::2] << 4)
            scales = np.ascontiguousarray(blocks[..., 0])
            place = f"model.layers.{layer}.mlp.experts.{name}"
            result[f"{place}_blocks"] = ("U8", packed.shape, packed.tobytes())
            result[f"{place}_scales"] = ("U8", scales.shape, scales.tobytes())
    return result


def encoded(array, dtype):
    array = np.ascontiguousarray(array)
    if dtype == "BF16":
        return gguf.quants.quantize(array.astype(np.float32), gguf.GGMLQuantizationType.BF16).tobytes()
    return array.astype({"F32": np.float32, "F16": np.float16}[dtype]).tobytes()


def write_safetensors(path, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for _, _, data in tensors.values():
            out.write(data)


def write_folder(model, folder, dtype="F32", files=1, old_form=False, other_parts=None, mxfp4=False, tower=None):
    """`other_parts`: the name of a model that has this one as its part of language; `tower`: the shape (tiny_tower.py) of
    its encoder of pictures."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    keys = Keys.of(model)
    tensors = {name: (dtype, data.shape, encoded(data, dtype)) for name, data in original_tensors(keys, old_form)}
    config = config_of(keys, "lm_head.weight" not in tensors, old_form)
    if mxfp4:
        tensors = {name: data for name, data in tensors.items() if not name.endswith(("gate_up_proj", "experts.down_proj"))}
        tensors |= mxfp4_tensors(keys)
        config["quantization_config"] = {"quant_method": "mxfp4"}
    if other_parts:
        tied = config.pop("tie_word_embeddings")
        config = {"architectures": [other_parts], "tie_word_embeddings": tied, "text_config": config}
        prefix = "language_model.model." if old_form else getattr(tower and tiny_tower.family_of(tower), "LANGUAGE",
                                                                  "model.language_model.")
        tensors = {name.replace("model.", prefix, 1) if name.startswith("model.") else name: data
                   for name, data in tensors.items()}
        tensors["model.other_tower.patch.weight"] = ("F32", (1,), b"1234")
    if tower:
        family = tiny_tower.family_of(tower)
        config["vision_config"] = tiny_tower.vision_settings(tower)
        config |= family.whole_settings(tower)
        prefix = family.PREFIXES[-1 if old_form else 0]
        of_tower = {prefix + name: data for name, data in tiny_tower.original_tensors(tower).items()}
        tensors |= {name: (dtype, data.shape, encoded(data, dtype))
                    for name, data in (of_tower | tiny_tower.other_tensors(tower)).items()}
        (folder / "preprocessor_config.json").write_text(json.dumps(
            {"image_mean": family.MEAN, "image_std": family.DEVIATION, **family.processing(tower)}))
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if files == 1:
        write_safetensors(folder / "model.safetensors", tensors)
        return
    names, weight_map = list(tensors), {}
    for i in range(files):
        part = names[i::files]
        file = f"model-{i + 1:05}-of-{files:05}.safetensors"
        write_safetensors(folder / file, {name: tensors[name] for name in part})
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--dtype", choices=["F32", "F16", "BF16"], default="F32")
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--old-form", action="store_true")
    parser.add_argument("--mxfp4", action="store_true")
    args = parser.parse_args()
    write_folder(args.model, args.folder, args.dtype, args.files, args.old_form, mxfp4=args.mxfp4)


if __name__ == "__main__":
    main()
