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


def make_model(shape):
    """The original with the made weights."""
    config = tiny_tower.vision_settings(shape)
    if shape.deepstack:
        model = modeling_qwen3_vl.Qwen3VLVisionModel(
            configuration_qwen3_vl.Qwen3VLVisionConfig(**config))
    else:
        model = modeling_qwen3_5.Qwen3_5VisionModel(configuration_qwen3_5.Qwen3_5VisionConfig(**config))
    state = {name: torch.from_numpy(data) for name, data in tiny_tower.original_tensors(shape).items()}
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
