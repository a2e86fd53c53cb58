#!/usr/bin/env python3
"""Tiny vision encoders with made weights, in files as llama.cpp's converter writes them, and made pictures for them.

A number is made of its tensor's name and its place alone, so that tests/support/tiny_tower.h has the same ones. Vectors
that the original implementations make of the pictures are in tests/data/original_towers.gguf
(tools/original_towers.py).

    tiny_tower.py OUT.gguf SHAPE [--type F32|F16|Q8_0]

Needs: numpy, gguf.
"""
import argparse
from typing import NamedTuple

import gguf
import numpy as np

EPSILON = 1e-6


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


SHAPES = {
    "plain": Shape(2, 64, 4, 96, 16, 2, 48, 32),
    "deepstack": Shape(3, 72, 2, 100, 4, 2, 5, 40, (0, 2)),  # no size of it fills whole vectors
    "threes": Shape(1, 32, 2, 40, 4, 3, 7, 24),  # a token is 3 x 3 patches
}
# Those that a tiny text model of synth_model.py sees by, which is as wide.
SEEING = {
    "tiny-qwen35": Shape(2, 64, 4, 96, 16, 2, 48, 256),
    "tiny-qwen3vl": Shape(4, 64, 4, 96, 16, 2, 48, 256, (0, 1, 2)),
    "qwen3vl-0.6b": Shape(24, 1024, 16, 4096, 16, 2, 48, 1024, (5, 11, 17)),  # for bench/pictures.py
}


# Parts of names here and in the original implementation.
NAMES = (("v.patch_embd.bias", "patch_embed.proj.bias"), ("v.position_embd.", "pos_embed."), ("v.blk.", "blocks."),
         ("ln1", "norm1"), ("ln2", "norm2"), ("attn_qkv", "attn.qkv"), ("attn_out", "attn.proj"),
         ("ffn_up", "mlp.linear_fc1"), ("ffn_down", "mlp.linear_fc2"), ("v.post_ln", "merger.norm"),
         ("mm.0", "merger.linear_fc1"), ("mm.2", "merger.linear_fc2"))


def grids(shape):
    """Patches on the sides of pictures, rows first."""
    return [(rows * shape.merge, columns * shape.merge) for rows, columns in ((1, 1), (3, 5), (12, 10))]


def hashes(name, count):
    """[count] uint32"""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2 ** 32
    x = np.uint32(seed) + np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B9)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def numbers(name, count):
    """[count] float32 from -1 to 1, which have 24 bits"""
    return (hashes(name, count) >> np.uint32(8)).astype(np.float32) * np.float32(2.0 ** -23) - np.float32(1)


def picture(shape, grid):
    """[height, width, 3] uint8"""
    rows, columns = grid[0] * shape.patch, grid[1] * shape.patch
    return (hashes(f"picture {columns}x{rows}", rows * columns * 3) >> np.uint32(24)).astype(np.uint8).reshape(
        rows, columns, 3)


def tensors(shape):
    """{name: float32 array}, dimensions as numpy has them: the last one lies together"""
    made = {}

    def matrix(name, rows, cols, dims=None):
        scale = np.float32(2.0 ** -((cols.bit_length() - 1) // 2))
        made[name] = (numbers(name, rows * cols) * scale).reshape(dims or (rows, cols))

    def vector(name, size, mean, scale):
        made[name] = np.float32(mean) + numbers(name, size) * np.float32(scale)

    def linear(stem, rows, cols):
        matrix(stem + ".weight", rows, cols)
        vector(stem + ".bias", rows, 0, 0.125)

    def norm(stem, size):
        vector(stem + ".weight", size, 1, 0.25)
        vector(stem + ".bias", size, 0, 0.125)

    def merger(norm_stem, norm_width, up, down):
        norm(norm_stem, norm_width)
        linear(up, merged, merged)
        linear(down, shape.text, merged)

    width, merged, side = shape.width, shape.width * shape.merge ** 2, shape.patch
    for name in ("v.patch_embd.weight", "v.patch_embd.weight.1"):
        matrix(name, width, 3 * side * side, (width, 3, side, side))
    vector("v.patch_embd.bias", width, 0, 0.125)
    made["v.position_embd.weight"] = (numbers("v.position_embd.weight", shape.grid ** 2 * width) * np.float32(0.5)
                                      ).reshape(shape.grid ** 2, width)
    for i in range(shape.layers):
        p = f"v.blk.{i}."
        norm(p + "ln1", width)
        linear(p + "attn_qkv", 3 * width, width)
        linear(p + "attn_out", width, width)
        norm(p + "ln2", width)
        linear(p + "ffn_up", shape.ffn, width)
        linear(p + "ffn_down", width, shape.ffn)
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


def original_tensors(shape):
    """The same as the original implementation has them."""
    made = tensors(shape)
    kernels = [made.pop("v.patch_embd.weight"), made.pop("v.patch_embd.weight.1")]
    state = {original_name(name, shape): data for name, data in made.items()}
    state["patch_embed.proj.weight"] = np.stack(kernels, axis=2)
    return state


def write(path, shape, kind=gguf.GGMLQuantizationType.F32):
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "qwen3vl_merger")
    writer.add_bool("clip.use_gelu", True)
    for key, value in (("embedding_length", shape.width), ("feed_forward_length", shape.ffn),
                       ("block_count", shape.layers), ("attention.head_count", shape.heads),
                       ("projection_dim", shape.text), ("image_size", shape.grid * shape.patch),
                       ("patch_size", shape.patch), ("spatial_merge_size", shape.merge)):
        writer.add_uint32("clip.vision." + key, value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", EPSILON)
    writer.add_array("clip.vision.image_mean", [0.5] * 3)
    writer.add_array("clip.vision.image_std", [0.5] * 3)
    if shape.deepstack:
        writer.add_array("clip.vision.is_deepstack_layers", [i in shape.deepstack for i in range(shape.layers)])
    for name, data in tensors(shape).items():
        if data.ndim == 2 and "position" not in name:
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
