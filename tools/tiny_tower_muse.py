"""The tensors, keys and settings of tiny encoders of the family muse-glimmer (tiny_tower.py)."""
import numpy as np

from made_numbers import MadeTensors, numbers
from tiny_tower_pixtral import halves_of_heads

NAMES = (("v.patch_embd.", "patch_embedder.patch_embedding."),
         ("v.position_embd.", "patch_embedder.position_embedding_table."), ("v.pre_ln", "ln_pre"), ("v.post_ln", "ln_post"),
         ("v.blk.", "layers."), ("ln1", "norm1"), ("ln2", "norm2"), ("attn_q", "attn.q_proj"), ("attn_k", "attn.k_proj"),
         ("attn_v", "attn.v_proj"), ("attn_out", "attn.proj"), ("ffn_up", "mlp.fc1"), ("ffn_down", "mlp.fc2"))
OTHERS = {"mm.0": "vision_adapter.fc1", "mm.1": "vision_adapter.fc2", "mm.2": "vision_projection"}
PREFIXES = ("model.vision_tower.", "vision_tower.")
FLAGS = {}
MEAN, DEVIATION = [0.5] * 3, [0.5] * 3
EPSILON = 1e-5


def sizes(shape):
    return {"image_size": shape.grid * shape.patch * shape.merge, "spatial_merge_size": shape.merge}


def flags(_):
    return {}


def processing(shape):
    """How the folder of a model says that pictures are prepared."""
    return {"patch_size": shape.patch, "merge_size": shape.merge, "temporal_patch_size": 2, "max_image_tokens": 4096}


def tensors(shape):
    made = MadeTensors()
    width, side = shape.width, shape.patch
    made.matrix("v.patch_embd.weight", width, 3 * side * side, (width, 3, side, side))
    made["v.position_embd.weight"] = (numbers("v.position_embd.weight", shape.grid ** 2 * width) * np.float32(0.5)
                                      ).reshape(shape.grid ** 2, width)
    made.norm("v.pre_ln", width)
    for i in range(shape.layers):
        p = f"v.blk.{i}."
        made.norm(p + "ln1", width)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            made.linear(p + name, width, width)
        made.norm(p + "ln2", width)
        made.linear(p + "ffn_up", shape.ffn, width)
        made.linear(p + "ffn_down", width, shape.ffn)
    made.norm("v.post_ln", width)
    made.linear("mm.0", shape.hidden, width * shape.merge ** 2, bias=False)
    made.linear("mm.1", shape.hidden, shape.hidden, bias=False)
    made.linear("mm.2", shape.text, shape.hidden, bias=False)
    return made


def vision_settings(shape):
    return {"model_type": "muse_glimmer_vision", "num_hidden_layers": shape.layers, "hidden_size": shape.width,
            "num_attention_heads": shape.heads, "intermediate_size": shape.ffn, "patch_size": shape.patch,
            "pos_emb_height": shape.grid, "pos_emb_width": shape.grid, "merge_size": shape.merge, "patch_temporal": 2,
            "max_position_embeddings": shape.grid ** 2, "hidden_act": "gelu", "layer_norm_eps": EPSILON}


def whole_settings(shape):
    return {"out_hidden_size": shape.width * shape.merge ** 2, "projector_hidden_size": shape.hidden,
            "projector_hidden_act": "gelu"}


def original_tensors(shape):
    """The kernel is that of two frames, each of which has half of it."""
    state = {}
    for name, data in tensors(shape).items():
        if name.startswith("mm."):
            continue
        if name == "v.patch_embd.weight":
            half = data.reshape(shape.width, -1) * np.float32(0.5)
            data = np.concatenate([half, half], axis=1)
        if ".attn_q." in name or ".attn_k." in name:
            data = np.ascontiguousarray(halves_of_heads(data, shape.heads))
        for ours, theirs in NAMES:
            name = name.replace(ours, theirs)
        state[name] = data
    return state


def other_tensors(shape):
    return {f"model.{OTHERS[name.removesuffix('.weight')]}.weight": data
            for name, data in tensors(shape).items() if name.startswith("mm.")}
