"""The tensors, keys and settings of tiny encoders of the family gemma4v (tiny_tower.py)."""
import numpy as np

from made_numbers import MadeTensors, numbers

NAMES = (("v.position_embd.weight", "patch_embedder.position_embedding_table"), ("v.blk.", "encoder.layers."),
         ("ln1", "input_layernorm"), ("ln2", "pre_feedforward_layernorm"), ("attn_post_norm", "post_attention_layernorm"),
         ("ffn_post_norm", "post_feedforward_layernorm"), ("attn_q_norm", "self_attn.q_norm"),
         ("attn_k_norm", "self_attn.k_norm"), ("v.std_", "std_"))
LINEAR = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
          "attn_out": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
          "ffn_down": "mlp.down_proj"}
CLAMPS = ("input_min", "input_max", "output_min", "output_max")
PREFIXES = ("model.vision_tower.",)
FLAGS = {}
MEAN, DEVIATION = [0.0] * 3, [1.0] * 3
EPSILON = 1e-6


def sizes(shape):
    return {"image_size": 224, "projector.scale_factor": shape.merge}


def processing(_):
    """How the folder of a model says that pictures are prepared."""
    return {"do_normalize": False, "max_soft_tokens": 280}


def flags(_):
    return {}


def tensors(shape):
    made = MadeTensors()
    width, side = shape.width, shape.patch
    made.matrix("v.patch_embd.weight", width, 3 * side * side, (width, 3, side, side))
    made["v.position_embd.weight"] = (numbers("v.position_embd.weight", 2 * shape.grid * width) * np.float32(0.5)
                                      ).reshape(2, shape.grid, width)
    for i in range(shape.layers):
        p = f"v.blk.{i}."
        for name in ("ln1", "ln2", "attn_post_norm", "ffn_post_norm"):
            made.norm(p + name, width, bias=False)
        for name in ("attn_q_norm", "attn_k_norm"):
            made.norm(p + name, width // shape.heads, bias=False)
        for name in LINEAR:
            rows, cols = (width, shape.ffn) if name == "ffn_down" else (shape.ffn if "ffn" in name else width, width)
            made.linear(p + name, rows, cols, bias=False)
            for clamp in CLAMPS if shape.clamps else ():
                made.vector(f"{p}{name}.{clamp}", 1, -0.75 if clamp.endswith("min") else 0.75, 0.125)
    if shape.standardizes:
        made.vector("v.std_bias", width, 0, 0.5)
        made.vector("v.std_scale", width, 1, 0.5)
    made.linear("mm.input_projection", shape.text, width, bias=False)
    return made


def vision_settings(shape):
    return {"model_type": "gemma4_vision", "num_hidden_layers": shape.layers, "hidden_size": shape.width,
            "num_attention_heads": shape.heads, "num_key_value_heads": shape.heads,
            "head_dim": shape.width // shape.heads, "intermediate_size": shape.ffn, "patch_size": shape.patch,
            "pooling_kernel_size": shape.merge, "position_embedding_size": shape.grid, "rms_norm_eps": 1e-6,
            "hidden_activation": "gelu_pytorch_tanh", "use_clipped_linears": shape.clamps,
            "standardize": shape.standardizes}


def whole_settings(_):
    """The settings outside vision_config."""
    return {}


def original_name(name):
    p, _, rest = name.rpartition(".")
    stem = p.rpartition(".")[2]
    if stem in LINEAR:
        rest = "linear.weight" if rest == "weight" else rest
        return p.replace(stem, LINEAR[stem]).replace("v.blk.", "encoder.layers.") + "." + rest
    for ours, theirs in NAMES:
        name = name.replace(ours, theirs)
    return name


def original_tensors(shape):
    """The same as the original implementation has them; the projection is none of the encoder's."""
    made = tensors(shape)
    kernel = made.pop("v.patch_embd.weight")
    state = {original_name(name): data.reshape(()) if name.endswith(CLAMPS) else data for name, data in made.items()
             if name != "mm.input_projection.weight"}
    state["patch_embedder.input_proj.weight"] = kernel.transpose(0, 2, 3, 1).reshape(shape.width, -1)
    return state


def other_tensors(shape):
    """Those that the original has beside its encoder."""
    return {"model.embed_vision.embedding_projection.weight": tensors(shape)["mm.input_projection.weight"]}
