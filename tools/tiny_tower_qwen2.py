"""The tensors, keys and settings of tiny encoders of the families qwen2vl_merger and qwen2.5vl_merger (tiny_tower.py)."""
import numpy as np

from made_numbers import MadeTensors

NAMES = (("v.blk.", "blocks."), ("ln1", "norm1"), ("ln2", "norm2"), ("attn_out", "attn.proj"), ("v.post_ln", "merger.ln_q"),
         ("mm.0", "merger.mlp.0"), ("mm.2", "merger.mlp.2"))
GATED_NAMES = (("ffn_gate", "mlp.gate_proj"), ("ffn_up", "mlp.up_proj"), ("ffn_down", "mlp.down_proj"))
PLAIN_NAMES = (("ffn_up", "mlp.fc1"), ("ffn_down", "mlp.fc2"))
PREFIXES = ("model.visual.", "visual.")  # of the original's names, and of older files
FLAGS = {}
MEAN, DEVIATION = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
EPSILON = 1e-6
WINDOW_PATTERN = 2  # every second layer sees all


def is_gated(shape):
    return shape.family == "qwen2.5vl_merger"


def sizes(shape):
    """Files of Qwen2-VL have the width of the text model as that of the feed-forward."""
    return {"image_size": 560, "spatial_merge_size": shape.merge} | (
        {"n_wa_pattern": WINDOW_PATTERN} if is_gated(shape) else {"feed_forward_length": shape.text})


def processing(_):
    """How the folder of a model says that pictures are prepared."""
    return {"min_pixels": 784, "max_pixels": 2**24}


def flags(_):
    return {}


def tensors(shape):
    made = MadeTensors()
    width, merged, side, gated = shape.width, shape.width * shape.merge ** 2, shape.patch, is_gated(shape)
    for name in ("v.patch_embd.weight", "v.patch_embd.weight.1"):
        made.matrix(name, width, 3 * side * side, (width, 3, side, side))
    for i in range(shape.layers):
        p = f"v.blk.{i}."
        made.norm(p + "ln1", width, bias=not gated)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            made.linear(p + name, width, width)
        made.norm(p + "ln2", width, bias=not gated)
        if gated:
            made.linear(p + "ffn_gate", shape.ffn, width)
        made.linear(p + "ffn_up", shape.ffn, width)
        made.linear(p + "ffn_down", width, shape.ffn)
    made.norm("v.post_ln", width, bias=not gated)
    made.linear("mm.0", merged, merged)
    made.linear("mm.2", shape.text, merged)
    return made


def vision_settings(shape):
    settings = {"depth": shape.layers, "num_heads": shape.heads, "patch_size": shape.patch, "in_channels": 3,
                "spatial_merge_size": shape.merge, "temporal_patch_size": 2}
    if is_gated(shape):
        whole = [i for i in range(shape.layers) if (i + 1) % WINDOW_PATTERN == 0]
        return settings | {"hidden_size": shape.width, "intermediate_size": shape.ffn, "hidden_act": "silu",
                           "out_hidden_size": shape.text, "window_size": 112, "fullatt_block_indexes": whole}
    return settings | {"embed_dim": shape.width, "hidden_size": shape.text, "mlp_ratio": shape.ffn // shape.width,
                       "hidden_act": "quick_gelu"}


def whole_settings(_):
    """The settings outside vision_config."""
    return {}


def original_tensors(shape):
    """The same as the original implementation has them: one tensor of Q, K and V, one kernel of two frames."""
    made = tensors(shape)
    kernels = [made.pop("v.patch_embd.weight"), made.pop("v.patch_embd.weight.1")]
    state = {"patch_embed.proj.weight": np.stack(kernels, axis=2)}
    for i in range(shape.layers):
        for end in ("weight", "bias"):
            parts = [made.pop(f"v.blk.{i}.attn_{part}.{end}") for part in "qkv"]
            state[f"blocks.{i}.attn.qkv.{end}"] = np.concatenate(parts)
    for name, data in made.items():
        for ours, theirs in (*NAMES, *(GATED_NAMES if is_gated(shape) else PLAIN_NAMES)):
            name = name.replace(ours, theirs)
        state[name] = data
    return state


def other_tensors(_):
    return {}
