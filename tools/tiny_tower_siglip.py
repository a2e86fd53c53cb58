"""The tensors, keys and settings of tiny encoders of the families idefics3 and lfm2, both SigLIP (tiny_tower.py)."""
import numpy as np

from made_numbers import MadeTensors, numbers

NAMES = (("v.patch_embd.", "embeddings.patch_embedding."), ("v.position_embd.", "embeddings.position_embedding."),
         ("v.blk.", "encoder.layers."), ("ln1", "layer_norm1"), ("ln2", "layer_norm2"), ("attn_q", "self_attn.q_proj"),
         ("attn_k", "self_attn.k_proj"), ("attn_v", "self_attn.v_proj"), ("attn_out", "self_attn.out_proj"),
         ("ffn_up", "mlp.fc1"), ("ffn_down", "mlp.fc2"), ("v.post_ln", "post_layernorm"))
FLAGS = {"clip.use_gelu": True}
MEAN, DEVIATION = [0.5] * 3, [0.5] * 3
EPSILON = 1e-6


def flags(_):
    return {}


def encoder_tensors(shape):
    made = MadeTensors()
    width, side = shape.width, shape.patch
    made.matrix("v.patch_embd.weight", width, 3 * side * side, (width, 3, side, side))
    made.vector("v.patch_embd.bias", width, 0, 0.125)
    made["v.position_embd.weight"] = (numbers("v.position_embd.weight", shape.grid ** 2 * width) * np.float32(0.5)
                                      ).reshape(shape.grid ** 2, width)
    for i in range(shape.layers):
        p = f"v.blk.{i}."
        made.norm(p + "ln1", width)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            made.linear(p + name, width, width)
        made.norm(p + "ln2", width)
        made.linear(p + "ffn_up", shape.ffn, width)
        made.linear(p + "ffn_down", width, shape.ffn)
    made.norm("v.post_ln", width)
    return made


def vision_settings(shape):
    return {"num_hidden_layers": shape.layers, "hidden_size": shape.width, "num_attention_heads": shape.heads,
            "intermediate_size": shape.ffn, "patch_size": shape.patch, "hidden_act": "gelu_pytorch_tanh",
            "layer_norm_eps": EPSILON}


def original_tensors_of(made):
    state = {}
    for name, data in made.items():
        for ours, theirs in NAMES:
            name = name.replace(ours, theirs)
        state[name] = data
    return state
