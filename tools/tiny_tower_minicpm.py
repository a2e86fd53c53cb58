"""What the family minicpmv4_6 has beside SigLIP's encoder (tiny_tower_siglip.py): the joining of rows behind a layer, and
two products."""
import tiny_tower_siglip
from tiny_tower_siglip import DEVIATION, EPSILON, FLAGS, MEAN  # noqa: F401

NAMES = (("v.vit_merger.ln1", "vit_merger.layer_norm1"), ("v.vit_merger.ds_ln", "vit_merger.pre_norm"),
         ("v.vit_merger.ds_ffn_up", "vit_merger.linear_1"), ("v.vit_merger.ds_ffn_down", "vit_merger.linear_2"),
         ("v.vit_merger.attn_q", "vit_merger.self_attn.q_proj"), ("v.vit_merger.attn_k", "vit_merger.self_attn.k_proj"),
         ("v.vit_merger.attn_v", "vit_merger.self_attn.v_proj"), ("v.vit_merger.attn_out", "vit_merger.self_attn.out_proj"))
OTHERS = {"mm.input_norm": "pre_norm", "mm.up": "linear_1", "mm.down": "linear_2"}
PREFIXES = ("model.vision_tower.", "vision_tower.")


def sizes(shape):
    return {"image_size": shape.edge, "projector.scale_factor": shape.merge}


def flags(shape):
    """The layer behind which rows are joined."""
    return {"wa_layer_indexes": [shape.join]} if shape.merge == 4 else {}


def processing(shape):
    """How the folder of a model says that pictures are prepared."""
    return {"scale_resolution": shape.edge, "max_slice_nums": 9, "slice_mode": True, "patch_size": shape.patch}


def tensors(shape):
    made = tiny_tower_siglip.encoder_tensors(shape)
    width, joined = shape.width, 4 * shape.width
    if shape.merge == 4:
        p = "v.vit_merger."
        made.norm(p + "ln1", width)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            made.linear(p + name, width, width)
        made.norm(p + "ds_ln", joined)
        made.linear(p + "ds_ffn_up", 4 * shape.ffn, joined)
        made.linear(p + "ds_ffn_down", width, 4 * shape.ffn)
    made.norm("mm.input_norm", joined)
    made.linear("mm.up", joined, joined)
    made.linear("mm.down", shape.text, joined)
    return made


def vision_settings(shape):
    return tiny_tower_siglip.vision_settings(shape) | {"model_type": "minicpmv4_6_vision", "insert_layer_id": shape.join,
                                                       "image_size": shape.grid * shape.patch}


def whole_settings(shape):
    return {"insert_layer_id": shape.join, "image_size": shape.edge,
            "downsample_mode": "16x" if shape.merge == 4 else "4x"}


def original_tensors(shape):
    state = {}
    for name, data in tiny_tower_siglip.original_tensors_of(
            {name: data for name, data in tensors(shape).items() if not name.startswith(("mm.", "v.vit_merger."))}).items():
        state[name] = data
    for name, data in tensors(shape).items():
        for ours, theirs in NAMES:
            if name.startswith(ours + "."):
                state[theirs + name.removeprefix(ours)] = data
    return state


def other_tensors(shape):
    return {f"model.merger.mlp.0.{OTHERS[name.rpartition('.')[0]]}.{name.rpartition('.')[2]}": data
            for name, data in tensors(shape).items() if name.startswith("mm.")}
