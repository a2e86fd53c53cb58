"""What the family lfm2 has beside SigLIP's encoder (tiny_tower_siglip.py): the projector of four patches."""
import tiny_tower_siglip
from tiny_tower_siglip import DEVIATION, EPSILON, FLAGS, MEAN, flags  # noqa: F401

PREFIXES = ("model.vision_tower.", "model.vision_tower.vision_model.")
OTHERS = {"mm.input_norm": "layer_norm", "mm.1": "linear_1", "mm.2": "linear_2"}


def sizes(shape):
    return {"image_size": shape.grid * shape.patch, "projector.scale_factor": shape.merge}


def processing(_):
    """How the folder of a model says that pictures are prepared."""
    return {"max_image_tokens": 256, "min_image_tokens": 64, "size": {"height": 512, "width": 512}}


def tensors(shape):
    made = tiny_tower_siglip.encoder_tensors(shape)
    merged = shape.width * shape.merge ** 2
    if shape.norms_joined:
        made.norm("mm.input_norm", merged)
    made.linear("mm.1", shape.hidden, merged)
    made.linear("mm.2", shape.text, shape.hidden)
    return made


def vision_settings(shape):
    return tiny_tower_siglip.vision_settings(shape) | {"model_type": "siglip2_vision_model",
                                                       "num_patches": shape.grid ** 2, "vision_use_head": False}


def whole_settings(shape):
    return {"downsample_factor": shape.merge, "projector_hidden_size": shape.hidden, "projector_hidden_act": "gelu",
            "projector_bias": True, "projector_use_layernorm": shape.norms_joined}


def original_tensors(shape):
    made = {name: data for name, data in tensors(shape).items() if not name.startswith("mm.")}
    kernel = made["v.patch_embd.weight"]
    made["v.patch_embd.weight"] = kernel.transpose(0, 2, 3, 1).reshape(shape.width, -1)
    return tiny_tower_siglip.original_tensors_of(made)


def other_tensors(shape):
    return {f"model.multi_modal_projector.{OTHERS[name.rpartition('.')[0]]}.{name.rpartition('.')[2]}": data
            for name, data in tensors(shape).items() if name.startswith("mm.")}
