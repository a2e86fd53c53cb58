"""The tensors, keys and settings of tiny encoders of the family qwen3vl_merger (tiny_tower.py)."""
import numpy as np

from made_numbers import MadeTensors, numbers

# Parts of names here and in the original implementation.
NAMES = (("v.patch_embd.bias", "patch_embed.proj.bias"), ("v.position_embd.", "pos_embed."), ("v.blk.", "blocks."),
         ("ln1", "norm1"), ("ln2", "norm2"), ("attn_qkv", "attn.qkv"), ("attn_out", "attn.proj"),
         ("ffn_up", "mlp.linear_fc1"), ("ffn_down", "mlp.linear_fc2"), ("v.post_ln", "merger.norm"),
         ("mm.0", "merger.linear_fc1"), ("mm.2", "merger.linear_fc2"))
PREFIXES = ("model.visual.", "visual.")  # of the original's names, and of older files
FLAGS = {"clip.use_gelu": True}
MEAN, DEVIATION = [0.5] * 3, [0.5] * 3
EPSILON = 1e-6


def sizes(shape):
    return {"image_size": shape.grid * shape.patch, "spatial_merge_size": shape.merge}


def processing(_):
    """How the folder of a model says that pictures are prepared."""
    return {"size": {"shortest_edge": 1024, "longest_edge": 2**24}}


def flags(shape):
    """The layers behind which DeepStack mergers stand."""
    return {"is_deepstack_layers": [i in shape.deepstack for i in range(shape.layers)]} if shape.deepstack else {}


def tensors(shape):
    made = MadeTensors()
    width, merged, side = shape.width, shape.width * shape.merge ** 2, shape.patch

    def merger(norm_stem, norm_width, up, down):
        made.norm(norm_stem, norm_width)
        made.linear(up, merged, merged)
        made.linear(down, shape.text, merged)

    for name in ("v.patch_embd.weight", "v.patch_embd.weight.1"):
        made.matrix(name, width, 3 * side * side, (width, 3, side, side))
    made.vector("v.patch_embd.bias", width, 0, 0.125)
    made["v.position_embd.weight"] = (numbers("v.position_embd.weight", shape.grid ** 2 * width) * np.float32(0.5)
                                      ).reshape(shape.grid ** 2, width)
    for i in range(shape.layers):
        p = f"v.blk.{i}."
        made.norm(p + "ln1", width)
        made.linear(p + "attn_qkv", 3 * width, width)
        made.linear(p + "attn_out", width, width)
        made.norm(p + "ln2", width)
        made.linear(p + "ffn_up", shape.ffn, width)
        made.linear(p + "ffn_down", width, shape.ffn)
    for i in shape.deepstack:
        p = f"v.deepstack.{i}."
        merger(p + "norm", merged, p + "fc1", p + "fc2")
    merger("v.post_ln", width, "mm.0", "mm.2")
    return made


def original_name(name, shape):
    for index, layer in enumerate(shape.deepstack):
        name = name.replace(f"v.deepstack.{layer}.", f"deepstack_merger_list.{index}.")
    name = name.replace("fc1", "linear_fc1").replace("fc2", "linear_fc2") if "deepstack" in name else name
    for ours, theirs in NAMES:
        name = name.replace(ours, theirs)
    return name


def vision_settings(shape):
    settings = {"depth": shape.layers, "hidden_size": shape.width, "num_heads": shape.heads,
                "intermediate_size": shape.ffn, "patch_size": shape.patch, "spatial_merge_size": shape.merge,
                "temporal_patch_size": 2, "in_channels": 3, "num_position_embeddings": shape.grid ** 2,
                "out_hidden_size": shape.text, "hidden_act": "gelu_pytorch_tanh"}
    if shape.deepstack:
        settings["deepstack_visual_indexes"] = list(shape.deepstack)
    return settings


def whole_settings(_):
    """The settings outside vision_config."""
    return {}


def original_tensors(shape):
    """The same as the original implementation has them."""
    made = tensors(shape)
    kernels = [made.pop("v.patch_embd.weight"), made.pop("v.patch_embd.weight.1")]
    state = {original_name(name, shape): data for name, data in made.items()}
    state["patch_embed.proj.weight"] = np.stack(kernels, axis=2)
    return state


def other_tensors(_):
    return {}
