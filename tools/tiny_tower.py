#!/usr/bin/env python3
"""Tiny vision encoders with made weights, in files as llama.cpp's converter writes them, and made pictures for them.

Numbers are made_numbers.py's, and each family has a module of its own. Vectors that the original implementations make of
the pictures are in tests/data/original_towers.gguf (tools/original_towers.py).

    tiny_tower.py OUT.gguf SHAPE [--type F32|F16|Q8_0]

Needs: numpy, gguf.
"""
import argparse
from typing import NamedTuple

import gguf
import numpy as np

import tiny_tower_gemma
import tiny_tower_gemma3
import tiny_tower_gemma_unified
import tiny_tower_idefics
import tiny_tower_lfm
import tiny_tower_minicpm
import tiny_tower_muse
import tiny_tower_pixtral
import tiny_tower_qwen
import tiny_tower_qwen2
from made_numbers import hashes


class Shape(NamedTuple):
    layers: int
    width: int
    heads: int
    ffn: int
    patch: int
    merge: int
    grid: int
    text: int
    deepstack: tuple = ()
    family: str = "qwen3vl_merger"
    clamps: bool = False  # products have bounds (gemma4v)
    standardizes: bool = False  # pooled rows are moved and scaled (gemma4v)
    edge: int = 0  # the longest side of a picture in pixels (idefics3, pixtral), or a slice's (minicpmv4_6)
    hidden: int = 0  # the width between the projector's products (lfm2, muse-glimmer)
    norms_joined: bool = False  # the projector's input is normed (lfm2)
    join: int = 0  # the layer behind which rows are joined (minicpmv4_6)


SHAPES = {
    "plain": Shape(2, 64, 4, 96, 16, 2, 48, 32),
    "deepstack": Shape(3, 72, 2, 100, 4, 2, 5, 40, (0, 2)),  # no size of it fills whole vectors
    "threes": Shape(1, 32, 2, 40, 4, 3, 7, 24),  # a token is 3 x 3 patches
    "gemma4v": Shape(2, 64, 4, 96, 16, 3, 40, 32, family="gemma4v"),
    "gemma4v-clamped": Shape(2, 72, 2, 100, 4, 3, 50, 40, family="gemma4v", clamps=True, standardizes=True),
    "gemma4uv": Shape(0, 72, 0, 0, 4, 3, 50, 40, family="gemma4uv"),
    "gemma3": Shape(2, 72, 2, 100, 4, 2, 8, 40, family="gemma3"),
    "idefics3": Shape(2, 64, 4, 96, 16, 2, 6, 32, family="idefics3", edge=192),
    "lfm2": Shape(2, 72, 2, 100, 4, 2, 5, 40, family="lfm2", hidden=56, norms_joined=True),
    "pixtral": Shape(2, 64, 4, 96, 16, 1, 0, 32, family="pixtral", edge=1024),
    "mistral3": Shape(2, 72, 2, 100, 4, 2, 0, 40, family="pixtral", edge=200),
    "qwen2vl": Shape(2, 72, 2, 288, 4, 2, 0, 40, family="qwen2vl_merger"),
    "qwen2.5vl": Shape(3, 72, 2, 100, 14, 2, 0, 40, family="qwen2.5vl_merger"),
    "minicpmv": Shape(3, 72, 2, 100, 4, 4, 5, 40, family="minicpmv4_6", edge=32, join=1),
    "minicpmv-4x": Shape(1, 64, 4, 96, 4, 2, 5, 32, family="minicpmv4_6", edge=32),
    "muse-glimmer": Shape(5, 72, 2, 100, 4, 2, 8, 40, family="muse-glimmer", hidden=56),
}
# Those that a tiny text model of synth_model.py sees by, which is as wide.
SEEING = {
    "tiny-qwen35": Shape(2, 64, 4, 96, 16, 2, 48, 256),
    "tiny-qwen3vl": Shape(4, 64, 4, 96, 16, 2, 48, 256, (0, 1, 2)),
    "tiny-gemma3": Shape(2, 64, 4, 96, 4, 4, 24, 256, family="gemma3"),
    "tiny-gemma4": Shape(2, 64, 4, 96, 16, 3, 60, 256, family="gemma4v", clamps=True),
    "tiny-gemma4-dense": Shape(2, 64, 4, 96, 16, 3, 60, 256, family="gemma4v"),
    "tiny-gemma4-experts": Shape(2, 64, 4, 96, 16, 3, 60, 256, family="gemma4v", standardizes=True),
    "tiny-gemma4-unified": Shape(0, 64, 0, 0, 4, 3, 20, 256, family="gemma4uv"),
    "tiny-llama": Shape(2, 64, 4, 96, 16, 2, 4, 256, family="idefics3", edge=128),
    "tiny-lfm2": Shape(2, 64, 4, 96, 16, 2, 16, 256, family="lfm2", hidden=96),
    "tiny-mistral3": Shape(2, 64, 4, 96, 14, 2, 0, 256, family="pixtral", edge=280),
    "tiny-qwen2vl": Shape(2, 64, 4, 96, 14, 2, 0, 256, family="qwen2.5vl_merger"),
    "tiny-minicpmv": Shape(2, 64, 4, 96, 14, 4, 6, 256, family="minicpmv4_6", edge=112),
    "tiny-muse-glimmer": Shape(2, 64, 4, 96, 14, 2, 4, 256, family="muse-glimmer", hidden=48),
    "qwen3vl-0.6b": Shape(24, 1024, 16, 4096, 16, 2, 48, 1024, (5, 11, 17)),  # for bench/pictures.py
    "qwen3vl-0.6b-768": Shape(12, 768, 12, 3072, 16, 2, 48, 1024, (3, 5, 8)),
    "gemma-3-1b": Shape(12, 768, 12, 3072, 14, 4, 64, 1152, family="gemma3"),
}
FAMILIES = {"qwen3vl_merger": tiny_tower_qwen, "gemma3": tiny_tower_gemma3, "gemma4v": tiny_tower_gemma,
            "gemma4uv": tiny_tower_gemma_unified, "idefics3": tiny_tower_idefics,
            "lfm2": tiny_tower_lfm, "pixtral": tiny_tower_pixtral, "qwen2vl_merger": tiny_tower_qwen2,
            "qwen2.5vl_merger": tiny_tower_qwen2, "minicpmv4_6": tiny_tower_minicpm, "muse-glimmer": tiny_tower_muse}


def grids(shape):
    """Patches on the sides of pictures, rows first. Gemma 3 sees pictures of one size, Idefics3 tiles."""
    if shape.family in ("gemma3", "idefics3"):
        return [(shape.grid, shape.grid)]
    return [(rows * shape.merge, columns * shape.merge) for rows, columns in ((1, 1), (3, 5), (12, 10))]


def picture(shape, grid):
    """[height, width, 3] uint8"""
    rows, columns = grid[0] * shape.patch, grid[1] * shape.patch
    return (hashes(f"picture {columns}x{rows}", rows * columns * 3) >> np.uint32(24)).astype(np.uint8).reshape(
        rows, columns, 3)


def pictures(shape, all_grids):
    """One of each grid; the second of a grid stands on its head."""
    seen = set()
    made = []
    for grid in all_grids:
        made.append(picture(shape, grid)[::-1 if grid in seen else 1])
        seen.add(grid)
    return made


def family_of(shape):
    return FAMILIES[shape.family]


def tensors(shape):
    """{name: float32 array}, dimensions as numpy has them: the last one lies together"""
    return family_of(shape).tensors(shape)


def vision_settings(shape):
    """The vision_config of the original implementation."""
    return family_of(shape).vision_settings(shape)


def original_tensors(shape):
    """The same as the original implementation has them."""
    return family_of(shape).original_tensors(shape)


def other_tensors(shape):
    """Those of the encoder's file that the original has beside its encoder, by their whole names."""
    return family_of(shape).other_tensors(shape)


def write(path, shape, kind=gguf.GGMLQuantizationType.F32):
    family = family_of(shape)
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", shape.family)
    for key, value in family.FLAGS.items():
        writer.add_bool(key, value)
    for key, value in {"embedding_length": shape.width, "feed_forward_length": shape.ffn, "block_count": shape.layers,
                       "attention.head_count": shape.heads, "projection_dim": shape.text, "patch_size": shape.patch,
                       **family.sizes(shape)}.items():
        writer.add_uint32("clip.vision." + key, value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", family.EPSILON)
    writer.add_array("clip.vision.image_mean", family.MEAN)
    writer.add_array("clip.vision.image_std", family.DEVIATION)
    for key, value in family.flags(shape).items():
        writer.add_array("clip.vision." + key, value)
    for name, data in tensors(shape).items():
        if data.ndim == 2 and "position" not in name and "patch_embd" not in name:
            stored = gguf.quants.quantize(data, kind)
            writer.add_tensor(name, stored, raw_dtype=kind)
        else:
            writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out")
    parser.add_argument("shape", choices=SHAPES | SEEING)
    parser.add_argument("--type", default="F32")
    args = parser.parse_args()
    write(args.out, (SHAPES | SEEING)[args.shape], gguf.GGMLQuantizationType[args.type])


if __name__ == "__main__":
    main()
