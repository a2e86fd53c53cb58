"""The tensors, keys and settings of tiny encoders of the family gemma4uv (tiny_tower.py): Gemma 4 12B's, without layers."""
import numpy as np

from made_numbers import MadeTensors, numbers
from tiny_tower_gemma import DEVIATION, EPSILON, FLAGS, MEAN, flags, processing, sizes, whole_settings  # noqa: F401

PREFIXES = ("model.vision_embedder.",)
NAMES = {"v.patch_norm.1": "patch_ln1", "v.patch_embd": "patch_dense", "v.patch_norm.2": "patch_ln2",
         "v.patch_norm.3": "pos_norm"}
TABLES, PROJECTION = "v.position_embd.weight", "mm.input_projection.weight"


def side_of(shape):
    """The side of a token in pixels."""
    return shape.patch * shape.merge


def tensors(shape):
    made = MadeTensors()
    pixels = 3 * side_of(shape) ** 2
    made.norm("v.patch_norm.1", pixels)
    made.linear("v.patch_embd", shape.width, pixels)
    made.norm("v.patch_norm.2", shape.width)
    made[TABLES] = (numbers(TABLES, 2 * shape.grid * shape.width) * np.float32(0.5)).reshape(2, shape.grid, shape.width)
    made.norm("v.patch_norm.3", shape.width)
    made.matrix(PROJECTION, shape.text, shape.width)
    return made


def vision_settings(shape):
    return {"model_type": "gemma4_unified_vision", "patch_size": shape.patch, "pooling_kernel_size": shape.merge,
            "mm_embed_dim": shape.width, "mm_posemb_size": shape.grid, "rms_norm_eps": EPSILON,
            "output_proj_dims": shape.width}


def pixels_together(data, shape):
    """Rows or a vector over the pixels of channels, one channel behind another, as those of pixels."""
    return data.reshape(-1, 3, side_of(shape) ** 2).swapaxes(1, 2).reshape(data.shape)


def original_tensors(shape):
    """The same as the original implementation has them; the projection is in another part of its checkpoints."""
    state = {}
    for name, data in tensors(shape).items():
        stem, _, end = name.rpartition(".")
        if stem in NAMES:
            state[f"{NAMES[stem]}.{end}"] = pixels_together(data, shape) if data.shape[-1] == 3 * side_of(shape) ** 2 else data
    return state | {"pos_embedding": tensors(shape)[TABLES].swapaxes(0, 1)}


def other_tensors(shape):
    """Those that checkpoints have beside the embedder of patches."""
    return {"model.embed_vision.embedding_projection.weight": tensors(shape)[PROJECTION]}
