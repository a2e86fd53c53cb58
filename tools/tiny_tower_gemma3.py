"""What the family gemma3 has beside SigLIP's encoder (tiny_tower_siglip.py): pictures of one size, the mean of patches,
and one product, which files have transposed."""
import tiny_tower_siglip
from tiny_tower_siglip import DEVIATION, EPSILON, FLAGS, MEAN, flags  # noqa: F401

PREFIXES = ("model.vision_tower.", "model.vision_tower.vision_model.")


def sizes(shape):
    return {"image_size": shape.grid * shape.patch, "projector.scale_factor": shape.merge}


def processing(shape):
    """How the folder of a model says that pictures are prepared."""
    return {"size": {"height": shape.grid * shape.patch, "width": shape.grid * shape.patch}}


def tensors(shape):
    made = tiny_tower_siglip.encoder_tensors(shape)
    made.vector("mm.soft_emb_norm.weight", shape.width, 1, 0.5)
    made.linear("mm.input_projection", shape.width, shape.text, bias=False)  # as many rows as the encoder is wide
    return made


def vision_settings(shape):
    return tiny_tower_siglip.vision_settings(shape) | {"model_type": "siglip_vision_model", "vision_use_head": False,
                                                       "image_size": shape.grid * shape.patch}


def whole_settings(shape):
    return {"mm_tokens_per_image": (shape.grid // shape.merge) ** 2}


def original_tensors(shape):
    made = {name: data for name, data in tensors(shape).items() if not name.startswith("mm.")}
    return tiny_tower_siglip.original_tensors_of(made)


def other_tensors(shape):
    made = tensors(shape)
    return {"model.multi_modal_projector.mm_input_projection_weight": made["mm.input_projection.weight"],
            "model.multi_modal_projector.mm_soft_emb_norm.weight": made["mm.soft_emb_norm.weight"] - 1}
