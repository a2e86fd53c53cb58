#!/usr/bin/env python3
"""The truth for vision encoders: a file beside a text model (mmproj) run in plain float32 numpy, every weight
dequantized first. The family qwen3vl_merger.

    oracle_tower.py MMPROJ.gguf --picture PICTURE.npy --save vectors.npy

The picture is [height, width, 3] uint8, in a size that the encoder reads. Slow and simple on purpose; it shares no code
with the engine. Needs: numpy, gguf. As a module: `Tower(path).vectors(rgb)` -> float32 [tokens, vectors, text width].
"""
import argparse
import math

import numpy as np

from gguf_file import GgufFile
from oracle_model import dequantize_tensor, gelu, gelu_tanh, softmax

ROPE_BASE = 10000.0


def layer_norm(x, weight, bias, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight + bias


def grid_weights(count, side):
    """[count, side]: the shares of a line of the learned positions, whose ends are the picture's."""
    weights = np.zeros((count, side), np.float32)
    for i in range(count):
        at = i * (side - 1) / (count - 1) if count > 1 else 0.0
        low = min(int(at), side - 1)
        weights[i, low] += 1 - (at - low)
        weights[i, min(low + 1, side - 1)] += at - low
    return weights


class Tower:
    """One vision encoder with all its weights as float32."""

    def __init__(self, path):
        reader = GgufFile(path)
        self.weights = {tensor.name: dequantize_tensor(tensor) for tensor in reader.tensors}

        def value(key, otherwise=None):
            field = reader.get_field(key)
            return otherwise if field is None else field.contents()
        family = value("clip.projector_type") or value("clip.vision.projector_type")
        if value("general.architecture") != "clip" or family != "qwen3vl_merger":
            raise ValueError(f"{path}: no vision encoder of the family qwen3vl_merger, but {family}")
        self.layers = value("clip.vision.block_count")
        self.heads = value("clip.vision.attention.head_count")
        self.patch, self.merge = value("clip.vision.patch_size"), value("clip.vision.spatial_merge_size")
        self.grid = value("clip.vision.image_size") // self.patch
        self.epsilon = np.float32(value("clip.vision.attention.layer_norm_epsilon"))
        self.mean = np.array(value("clip.vision.image_mean"), np.float32)
        self.deviation = np.array(value("clip.vision.image_std"), np.float32)
        self.deepstack = [i for i in range(self.layers) if f"v.deepstack.{i}.fc1.weight" in self.weights]

    def linear(self, stem, x):
        bias = self.weights.get(stem + ".bias")
        x = x @ self.weights[stem + ".weight"].T
        return x if bias is None else x + bias

    def norm(self, stem, x):
        bias = self.weights.get(stem + ".bias", np.float32(0))
        return layer_norm(x, self.weights[stem + ".weight"], bias, self.epsilon)

    def in_tokens(self, x):
        """[rows, columns, ..] in the order of tokens: [rows x columns, ..]"""
        rows, columns, m = x.shape[0], x.shape[1], self.merge
        x = x.reshape(rows // m, m, columns // m, m, *x.shape[2:])
        return x.swapaxes(1, 2).reshape(rows * columns, *x.shape[4:])

    def patches(self, rgb):
        rows, columns = rgb.shape[0] // self.patch, rgb.shape[1] // self.patch
        x = (rgb.astype(np.float32) - 255 * self.mean) / (255 * self.deviation)
        x = x.reshape(rows, self.patch, columns, self.patch, 3).transpose(0, 2, 4, 1, 3)
        kernel = sum(self.weights[name] for name in ("v.patch_embd.weight", "v.patch_embd.weight.1")
                     if name in self.weights)
        x = x.reshape(rows, columns, -1) @ kernel.reshape(kernel.shape[0], -1).T
        x = x + self.weights.get("v.patch_embd.bias", 0)
        learned = self.weights["v.position_embd.weight"].reshape(self.grid, self.grid, -1)
        places = np.einsum("ri,cj,ijw->rcw", grid_weights(rows, self.grid), grid_weights(columns, self.grid), learned,
                           optimize=True)
        return self.in_tokens(x + places)

    def angles(self, rows, columns, dim):
        """[patches, dim / 2] float64: half of them by the row, half by the column"""
        frequencies = ROPE_BASE ** (-np.arange(0, dim // 2, 2) / (dim // 2))
        by_row = np.broadcast_to((np.arange(rows)[:, None] * frequencies)[:, None], (rows, columns, dim // 4))
        by_column = np.broadcast_to(np.arange(columns)[:, None] * frequencies, (rows, columns, dim // 4))
        return self.in_tokens(np.concatenate([by_row, by_column], axis=-1))

    def attention(self, p, x, angles):
        if p + "attn_qkv.weight" in self.weights:
            q, k, v = np.split(self.linear(p + "attn_qkv", x), 3, axis=-1)
        else:
            q, k, v = (self.linear(p + f"attn_{name}", x) for name in "qkv")
        q, k, v = (part.reshape(len(x), self.heads, -1).swapaxes(0, 1) for part in (q, k, v))
        cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

        def rotate(part):
            a, b = np.split(part, 2, axis=-1)
            return np.concatenate([a * cosines - b * sines, b * cosines + a * sines], axis=-1)
        scores = rotate(q) @ rotate(k).swapaxes(1, 2) / np.float32(math.sqrt(q.shape[-1]))
        return self.linear(p + "attn_out", (softmax(scores) @ v).swapaxes(0, 1).reshape(len(x), -1))

    def merger(self, x, up, down):
        return self.linear(down, gelu(self.linear(up, x)))

    def vectors(self, rgb):
        x = self.patches(rgb)
        joined = (len(x) // self.merge ** 2, -1)
        rows, columns = rgb.shape[0] // self.patch, rgb.shape[1] // self.patch
        angles = self.angles(rows, columns, x.shape[-1] // self.heads)
        more = []
        for i in range(self.layers):
            p = f"v.blk.{i}."
            x = x + self.attention(p, self.norm(p + "ln1", x), angles)
            x = x + self.linear(p + "ffn_down", gelu_tanh(self.linear(p + "ffn_up", self.norm(p + "ln2", x))))
            if i in self.deepstack:
                d = f"v.deepstack.{i}."
                more.append(self.merger(self.norm(d + "norm", x.reshape(joined)), d + "fc1", d + "fc2"))
        merged = self.merger(self.norm("v.post_ln", x).reshape(joined), "mm.0", "mm.2")
        return np.stack([merged, *more], axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--picture", required=True)
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    np.save(args.save, Tower(args.file).vectors(np.load(args.picture)))


if __name__ == "__main__":
    main()
