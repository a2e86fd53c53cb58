#!/usr/bin/env python3
"""Computes the vectors of tiny vision encoders (tiny_tower.py) by their original implementations, `transformers`.

    original_towers.py [--write tests/data/original_towers.gguf]

A tensor "SHAPE ROWSxCOLUMNS" has the vectors of a picture with so many patches, [tokens, vectors, text width]; a
token's first vector is the merger's. tests/cpu/vision_tower_test.cc and tests/tools/test_oracle_tower.py compare with
the file that this writes. Needs: numpy, gguf, torch, transformers (5.24 wrote the file). No network.
"""
import argparse

import gguf
import numpy as np
import torch
from transformers.models.qwen3_5 import configuration_qwen3_5, modeling_qwen3_5
from transformers.models.qwen3_vl import configuration_qwen3_vl, modeling_qwen3_vl

import tiny_tower

NAMES = (("v.patch_embd.bias", "patch_embed.proj.bias"), ("v.position_embd.", "pos_embed."), ("v.blk.", "blocks."),
         ("ln1", "norm1"), ("ln2", "norm2"), ("attn_qkv", "attn.qkv"), ("attn_out", "attn.proj"),
         ("ffn_up", "mlp.linear_fc1"), ("ffn_down", "mlp.linear_fc2"), ("v.post_ln", "merger.norm"),
         ("mm.0", "merger.linear_fc1"), ("mm.2", "merger.linear_fc2"))


def original_name(name, shape):
    for index, layer in enumerate(shape.deepstack):
        name = name.replace(f"v.deepstack.{layer}.", f"deepstack_merger_list.{index}.")
    name = name.replace("fc1", "linear_fc1").replace("fc2", "linear_fc2") if "deepstack" in name else name
    for ours, theirs in NAMES:
        name = name.replace(ours, theirs)
    return name


def make_model(shape):
    """The original with the made weights."""
    config = {"depth": shape.layers, "hidden_size": shape.width, "num_heads": shape.heads,
              "intermediate_size": shape.ffn, "patch_size": shape.patch, "spatial_merge_size": shape.merge,
              "temporal_patch_size": 2, "in_channels": 3, "num_position_embeddings": shape.grid ** 2,
              "out_hidden_size": shape.text, "hidden_act": "gelu_pytorch_tanh"}
    if shape.deepstack:
        model = modeling_qwen3_vl.Qwen3VLVisionModel(
            configuration_qwen3_vl.Qwen3VLVisionConfig(**config, deepstack_visual_indexes=list(shape.deepstack)))
    else:
        model = modeling_qwen3_5.Qwen3_5VisionModel(configuration_qwen3_5.Qwen3_5VisionConfig(**config))
    made = tiny_tower.tensors(shape)
    kernels = [made.pop("v.patch_embd.weight"), made.pop("v.patch_embd.weight.1")]
    state = {original_name(name, shape): torch.from_numpy(data) for name, data in made.items()}
    state["patch_embed.proj.weight"] = torch.from_numpy(np.stack(kernels, axis=2))
    model.load_state_dict(state)
    return model.float().eval()


def pixel_values(shape, rgb):
    """Two equal frames, cut as the original's processor cuts them."""
    side, merge = shape.patch, shape.merge
    rows, columns = rgb.shape[0] // side, rgb.shape[1] // side
    x = ((rgb.astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)
    x = x.reshape(3, rows // merge, merge, side, columns // merge, merge, side).transpose(1, 4, 2, 5, 0, 3, 6)
    x = x.reshape(rows * columns, 3, 1, side, side).repeat(2, axis=2)
    return torch.from_numpy(np.ascontiguousarray(x.reshape(rows * columns, -1)))


def vectors(shape, model, grid):
    out = model(pixel_values(shape, tiny_tower.picture(shape, grid)), torch.tensor([[1, *grid]]))
    made = [out.pooler_output, *(getattr(out, "deepstack_features", None) or [])]
    return torch.stack(made, dim=1).numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write")
    args = parser.parse_args()
    kept = {}
    with torch.no_grad():
        for name, shape in tiny_tower.SHAPES.items():
            model = make_model(shape)
            for grid in tiny_tower.grids(shape):
                array = kept[f"{name} {grid[0]}x{grid[1]}"] = vectors(shape, model, grid)
                print(f"{name} {grid}: {array.shape}, largest {abs(array).max():.3f}")
    if args.write:
        writer = gguf.GGUFWriter(args.write, "vectors")
        for name, array in kept.items():
            writer.add_tensor(name, np.ascontiguousarray(array, dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


if __name__ == "__main__":
    main()
