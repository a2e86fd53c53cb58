"""The tensors, keys and settings of tiny encoders of the family pixtral: Pixtral's, and Mistral 3's, which joins patches
(tiny_tower.py)."""
import numpy as np

from made_numbers import MadeTensors

NAMES = (("v.patch_embd.", "patch_conv."), ("v.pre_ln", "ln_pre"), ("v.blk.", "transformer.layers."),
         ("ln1", "attention_norm"), ("ln2", "ffn_norm"), ("attn_q", "attention.q_proj"), ("attn_k", "attention.k_proj"),
         ("attn_v", "attention.v_proj"), ("attn_out", "attention.o_proj"), ("ffn_gate", "feed_forward.gate_proj"),
         ("ffn_up", "feed_forward.up_proj"), ("ffn_down", "feed_forward.down_proj"))
OTHERS = {"mm.input_norm": "norm", "mm.patch_merger": "patch_merger.merging_layer", "mm.1": "linear_1",
          "mm.2": "linear_2"}
PREFIXES = ("model.vision_tower.", "vision_tower.")
FLAGS = {"clip.use_silu": True}
MEAN, DEVIATION = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
EPSILON = 1e-5


def sizes(shape):
    return {"image_size": shape.edge} | ({"spatial_merge_size": shape.merge} if shape.merge > 1 else {})


def flags(_):
    return {}


def processing(shape):
    """How the folder of a model says that pictures are prepared."""
    return {"size": {"longest_edge": shape.edge}, "patch_size": {"height": shape.patch, "width": shape.patch}}


def tensors(shape):
    """Pixtral's projector has biases, Mistral 3's has none."""
    made = MadeTensors()
    width, side, joins = shape.width, shape.patch, shape.merge > 1
    made.matrix("v.patch_embd.weight", width, 3 * side * side, (width, 3, side, side))
    made.norm("v.pre_ln", width, bias=False)
    for i in range(shape.layers):
        p = f"v.blk.{i}."
        made.norm(p + "ln1", width, bias=False)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            made.linear(p + name, width, width, bias=False)
        made.norm(p + "ln2", width, bias=False)
        made.linear(p + "ffn_gate", shape.ffn, width, bias=False)
        made.linear(p + "ffn_up", shape.ffn, width, bias=False)
        made.linear(p + "ffn_down", width, shape.ffn, bias=False)
    if joins:
        made.norm("mm.input_norm", width, bias=False)
        made.linear("mm.patch_merger", width, width * shape.merge ** 2, bias=False)
    made.linear("mm.1", shape.text, width, bias=not joins)
    made.linear("mm.2", shape.text, shape.text, bias=not joins)
    made.vector("v.token_embd.img_break", shape.text, 0, 1)  # which nobody reads
    return made


def vision_settings(shape):
    return {"model_type": "pixtral", "num_hidden_layers": shape.layers, "hidden_size": shape.width,
            "num_attention_heads": shape.heads, "head_dim": shape.width // shape.heads, "intermediate_size": shape.ffn,
            "patch_size": shape.patch, "image_size": shape.edge, "hidden_act": "silu",
            "rope_parameters": {"rope_type": "axial", "rope_theta": 10000.0}}


def whole_settings(shape):
    return {"projector_hidden_act": "gelu", "multimodal_projector_bias": shape.merge == 1, "vision_feature_layer": -1} | (
        {"spatial_merge_size": shape.merge} if shape.merge > 1 else {})


def halves_of_heads(rows, heads):
    """Rows whose neighbours make a pair become rows whose pairs are half a head apart."""
    dim = len(rows) // heads
    return rows.reshape(heads, dim // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def original_tensors(shape):
    state = {}
    for name, data in tensors(shape).items():
        if name.startswith(("mm.", "v.token_embd")):
            continue
        if ".attn_q." in name or ".attn_k." in name:
            data = np.ascontiguousarray(halves_of_heads(data, shape.heads))
        for ours, theirs in NAMES:
            name = name.replace(ours, theirs)
        state[name] = data
    return state


def other_tensors(shape):
    return {f"model.multi_modal_projector.{OTHERS[name.rpartition('.')[0]]}.{name.rpartition('.')[2]}": data
            for name, data in tensors(shape).items() if name.startswith("mm.")}
