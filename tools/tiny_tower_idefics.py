"""What the family idefics3 has beside SigLIP's encoder (tiny_tower_siglip.py): tiles of one size, and one product."""
import tiny_tower_siglip
from tiny_tower_siglip import DEVIATION, EPSILON, FLAGS, MEAN, flags  # noqa: F401

PREFIXES = ("model.vision_model.",)
LANGUAGE = "model.text_model."  # in front of the names of the text model's weights


def sizes(shape):
    return {"image_size": shape.grid * shape.patch, "projector.scale_factor": shape.merge,
            "preproc_image_size": shape.edge}


def processing(shape):
    """How the folder of a model says that pictures are prepared."""
    return {"size": {"longest_edge": shape.edge}, "max_image_size": {"longest_edge": shape.grid * shape.patch}}


def tensors(shape):
    made = tiny_tower_siglip.encoder_tensors(shape)
    made.linear("mm.model.fc", shape.text, shape.width * shape.merge ** 2, bias=False)
    return made


def vision_settings(shape):
    return tiny_tower_siglip.vision_settings(shape) | {"model_type": "smolvlm_vision",
                                                       "image_size": shape.grid * shape.patch}


def whole_settings(shape):
    return {"scale_factor": shape.merge}


def original_tensors(shape):
    made = tensors(shape)
    made.pop("mm.model.fc.weight")
    return tiny_tower_siglip.original_tensors_of(made)


def other_tensors(shape):
    return {"model.connector.modality_projection.proj.weight": tensors(shape)["mm.model.fc.weight"]}
