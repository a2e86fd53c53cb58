#!/usr/bin/env python3
"""The truth for vision encoders: a file beside a text model (mmproj) run in plain float32 numpy, every weight
dequantized first.

    oracle_tower.py MMPROJ.gguf --picture PICTURE.npy --save vectors.npy

The picture is [height, width, 3] uint8, in a size that the encoder reads. Slow and simple on purpose; it shares no code
with the engine. Needs: numpy, gguf. As a module: `tower_of(path).vectors(rgb)` -> float32 [tokens, vectors, text width].
"""
import argparse
import math

import numpy as np

from gguf_file import GgufFile
from oracle_encoder import Encoder, layer_norm, rms_norm, rotate_halves
from oracle_model import gelu, gelu_tanh, softmax
from oracle_windows import MiniCpm, MuseGlimmer, Qwen2


def grid_weights(count, side):
    """[count, side]: the shares of a line of the learned positions, whose ends are the picture's."""
    weights = np.zeros((count, side), np.float32)
    for i in range(count):
        at = i * (side - 1) / (count - 1) if count > 1 else 0.0
        low = min(int(at), side - 1)
        weights[i, low] += 1 - (at - low)
        weights[i, min(low + 1, side - 1)] += at - low
    return weights


class Qwen(Encoder):
    """The family qwen3vl_merger."""

    def __init__(self, reader):
        super().__init__(reader, "spatial_merge_size")
        self.side = self.value("image_size") // self.patch
        self.deepstack = [i for i in range(self.layers) if f"v.deepstack.{i}.fc1.weight" in self.weights]

    def norm(self, stem, x):
        bias = self.weights.get(stem + ".bias", np.float32(0))
        return layer_norm(x, self.weights[stem + ".weight"], bias, self.epsilon)

    def places(self, rows, columns):
        learned = self.weights["v.position_embd.weight"].reshape(self.side, self.side, -1)
        return np.einsum("ri,cj,ijw->rcw", grid_weights(rows, self.side), grid_weights(columns, self.side), learned,
                         optimize=True)

    def angles(self, rows, columns, dim):
        """[patches, dim / 2] float64: half of them by the row, half by the column"""
        frequencies = 10000.0 ** (-np.arange(0, dim // 2, 2) / (dim // 2))
        by_row = np.broadcast_to((np.arange(rows)[:, None] * frequencies)[:, None], (rows, columns, dim // 4))
        by_column = np.broadcast_to(np.arange(columns)[:, None] * frequencies, (rows, columns, dim // 4))
        return self.in_tokens(np.concatenate([by_row, by_column], axis=-1))

    def attention(self, p, x, angles):
        if p + "attn_qkv.weight" in self.weights:
            q, k, v = np.split(self.linear(p + "attn_qkv", x), 3, axis=-1)
        else:
            q, k, v = (self.linear(p + f"attn_{name}", x) for name in "qkv")
        q, k, v = (self.in_heads(part) for part in (q, k, v))
        scores = rotate_halves(q, angles) @ rotate_halves(k, angles).swapaxes(1, 2) / np.float32(math.sqrt(q.shape[-1]))
        return self.linear(p + "attn_out", (softmax(scores) @ v).swapaxes(0, 1).reshape(len(x), -1))

    def merger(self, x, up, down):
        return self.linear(down, gelu(self.linear(up, x)))

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        x = self.in_tokens(self.patches(rgb) + self.places(rows, columns))
        joined = (len(x) // self.merge ** 2, -1)
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


class Gemma4(Encoder):
    """The family gemma4v."""

    def __init__(self, reader):
        super().__init__(reader, "projector.scale_factor")

    def patches(self, rgb):
        x = super().patches(rgb)
        kernel = self.weights["v.patch_embd.weight"]
        x = 2 * x - kernel.reshape(kernel.shape[0], -1).sum(-1)  # it reads 2 p - 1
        by_column, by_row = self.weights["v.position_embd.weight"]
        return x + by_column[:x.shape[1]] + by_row[:x.shape[0], None]

    def norm(self, stem, x):
        return rms_norm(x, self.weights[stem + ".weight"], self.epsilon)

    def clamped(self, stem, x):
        bounds = [self.weights.get(f"{stem}.{end}") for end in ("input_min", "input_max", "output_min", "output_max")]
        if bounds[0] is None:
            return self.linear(stem, x)
        low, high, least, most = (bound.reshape(()) for bound in bounds)
        return np.clip(self.linear(stem, np.clip(x, low, high)), least, most)

    def rotated(self, x, places):
        """The first half of a head by the column, the second by the row."""
        half = x.shape[-1] // 2
        frequencies = 100.0 ** (-np.arange(0, half, 2) / half)
        parts = zip(np.split(x, 2, axis=-1), places, strict=True)
        return np.concatenate([rotate_halves(part, place[:, None] * frequencies) for part, place in parts], axis=-1)

    def attention(self, p, x, places):
        q, k, v = (self.in_heads(self.clamped(p + f"attn_{name}", x)) for name in "qkv")
        q, k = (self.rotated(self.norm(p + f"attn_{name}_norm", part), places) for name, part in (("q", q), ("k", k)))
        mixed = softmax(q @ k.swapaxes(1, 2)) @ rms_norm(v, np.float32(1), self.epsilon)
        return self.clamped(p + "attn_out", mixed.swapaxes(0, 1).reshape(len(x), -1))

    def feed_forward(self, p, x):
        gated = gelu_tanh(self.clamped(p + "ffn_gate", x)) * self.clamped(p + "ffn_up", x)
        return self.clamped(p + "ffn_down", gated)

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        x = self.in_tokens(self.patches(rgb))
        places = [self.in_tokens(np.broadcast_to(line, (rows, columns)))
                  for line in (np.arange(columns), np.arange(rows)[:, None])]
        for i in range(self.layers):
            p = f"v.blk.{i}."
            x = x + self.norm(p + "attn_post_norm", self.attention(p, self.norm(p + "ln1", x), places))
            x = x + self.norm(p + "ffn_post_norm", self.feed_forward(p, self.norm(p + "ln2", x)))
        x = x.reshape(-1, self.merge ** 2, x.shape[-1]).mean(1) * np.float32(math.sqrt(x.shape[-1]))
        if "v.std_bias" in self.weights:
            x = (x - self.weights["v.std_bias"]) * self.weights["v.std_scale"]
        return self.linear("mm.input_projection", rms_norm(x, np.float32(1), self.epsilon))[:, None]


class Gemma4Unified(Encoder):
    """The family gemma4uv: a patch is as large as a token, and there are no layers."""

    def __init__(self, reader):
        super().__init__(reader, "projector.scale_factor")
        self.patch *= self.merge or 3

    def norm(self, stem, x):
        return layer_norm(x, self.weights[stem + ".weight"], self.weights[stem + ".bias"], np.float32(1e-5))

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        x = (rgb.astype(np.float32) / 255 - self.mean) / self.deviation
        x = x.reshape(rows, self.patch, columns, self.patch, 3).transpose(0, 2, 4, 1, 3).reshape(rows, columns, -1)
        x = self.norm("v.patch_norm.2", self.linear("v.patch_embd", self.norm("v.patch_norm.1", x)))
        by_column, by_row = self.weights["v.position_embd.weight"]
        x = self.norm("v.patch_norm.3", x + by_column[:columns] + by_row[:rows, None]).reshape(rows * columns, -1)
        return self.linear("mm.input_projection", rms_norm(x, np.float32(1), self.epsilon))[:, None]


class Siglip(Encoder):
    """What gemma3, idefics3 and lfm2 share: LayerNorm, biases, no rotation."""

    def __init__(self, reader):
        super().__init__(reader, "projector.scale_factor")
        self.side = self.value("image_size") // self.patch

    def norm(self, stem, x):
        return layer_norm(x, self.weights[stem + ".weight"], self.weights[stem + ".bias"], self.epsilon)

    def encode(self, x):
        """Rows of tokens' patches, normed and joined."""
        for i in range(self.layers):
            p = f"v.blk.{i}."
            h = self.norm(p + "ln1", x)
            q, k, v = (self.in_heads(self.linear(p + f"attn_{name}", h)) for name in "qkv")
            mixed = softmax(q @ k.swapaxes(1, 2) / np.float32(math.sqrt(q.shape[-1]))) @ v
            x = x + self.linear(p + "attn_out", mixed.swapaxes(0, 1).reshape(len(x), -1))
            x = x + self.linear(p + "ffn_down", gelu_tanh(self.linear(p + "ffn_up", self.norm(p + "ln2", x))))
        return self.norm("v.post_ln", x).reshape(len(x) // self.merge ** 2, -1)


class Gemma3(Siglip):
    """The family gemma3: pictures of one size."""

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        places = self.weights["v.position_embd.weight"].reshape(rows, columns, -1)
        x = self.encode(self.in_tokens(self.patches(rgb) + places))
        x = x.reshape(len(x), self.merge ** 2, -1).mean(1)
        x = rms_norm(x, self.weights["mm.soft_emb_norm.weight"], self.epsilon)
        return (x @ self.weights["mm.input_projection.weight"])[:, None]


class Idefics3(Siglip):
    """The family idefics3: tiles of one size."""

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        places = self.weights["v.position_embd.weight"].reshape(rows, columns, -1)
        return self.linear("mm.model.fc", self.encode(self.in_tokens(self.patches(rgb) + places)))[:, None]


def spread_weights(count, side):
    """[count, side]: the shares of the lines of a square in places that are spread over it, edge on edge."""
    scale = side / count
    centers = (np.arange(count)[:, None] + 0.5) * scale - 0.5
    weights = np.maximum(1 - abs(np.arange(side) - centers) / max(scale, 1), 0)
    return (weights / weights.sum(1, keepdims=True)).astype(np.float32)


class Lfm2(Siglip):
    """The family lfm2."""

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        learned = self.weights["v.position_embd.weight"].reshape(self.side, self.side, -1)
        places = np.einsum("ri,cj,ijw->rcw", spread_weights(rows, self.side), spread_weights(columns, self.side), learned)
        x = self.encode(self.in_tokens(self.patches(rgb) + places))
        if "mm.input_norm.weight" in self.weights:
            x = layer_norm(x, self.weights["mm.input_norm.weight"], self.weights["mm.input_norm.bias"], np.float32(1e-5))
        return self.linear("mm.2", gelu(self.linear("mm.1", x)))[:, None]


class Pixtral(Encoder):
    """The family pixtral: Pixtral and Mistral 3."""

    def __init__(self, reader):
        super().__init__(reader, "spatial_merge_size")
        self.merge = self.merge or 1

    def norm(self, stem, x):
        return rms_norm(x, self.weights[stem + ".weight"], self.epsilon)

    def angles(self, rows, columns, dim):
        """[patches, dim / 2]: every other frequency turns with the row, those between with the column"""
        frequencies = 10000.0 ** (-np.arange(0, dim, 2) / dim)
        by_row = np.broadcast_to((np.arange(rows)[:, None] * frequencies[0::2])[:, None], (rows, columns, dim // 4))
        by_column = np.broadcast_to(np.arange(columns)[:, None] * frequencies[1::2], (rows, columns, dim // 4))
        return self.in_tokens(np.concatenate([by_row, by_column], axis=-1))

    @staticmethod
    def rotated(x, angles):
        """Neighbours are a pair."""
        cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        a, b = x[..., 0::2], x[..., 1::2]
        return np.stack([a * cosines - b * sines, b * cosines + a * sines], axis=-1).reshape(x.shape)

    def projected(self, x):
        if self.merge > 1:
            x = self.norm("mm.input_norm", x).reshape(-1, self.merge ** 2, x.shape[-1]).swapaxes(1, 2)
            x = self.linear("mm.patch_merger", x.reshape(len(x), -1))
        return self.linear("mm.2", gelu(self.linear("mm.1", x)))

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        x = self.norm("v.pre_ln", self.in_tokens(self.patches(rgb)))
        angles = self.angles(rows, columns, x.shape[-1] // self.heads)
        for i in range(self.layers):
            p = f"v.blk.{i}."
            h = self.norm(p + "ln1", x)
            q, k, v = (self.in_heads(self.linear(p + f"attn_{name}", h)) for name in "qkv")
            scores = self.rotated(q, angles) @ self.rotated(k, angles).swapaxes(1, 2) / np.float32(math.sqrt(q.shape[-1]))
            x = x + self.linear(p + "attn_out", (softmax(scores) @ v).swapaxes(0, 1).reshape(len(x), -1))
            h = self.norm(p + "ln2", x)
            gate = self.linear(p + "ffn_gate", h)
            x = x + self.linear(p + "ffn_down", gate / (1 + np.exp(-gate)) * self.linear(p + "ffn_up", h))
        return self.projected(x)[:, None]


FAMILIES = {"qwen3vl_merger": Qwen, "gemma3": Gemma3, "gemma4v": Gemma4, "gemma4uv": Gemma4Unified, "idefics3": Idefics3,
            "lfm2": Lfm2, "pixtral": Pixtral,
            "qwen2vl_merger": Qwen2, "qwen2.5vl_merger": Qwen2, "minicpmv4_6": MiniCpm, "muse-glimmer": MuseGlimmer}


def tower_of(path):
    """The encoder of a file, of its family."""
    reader = GgufFile(path)
    fields = [reader.get_field(key) for key in ("clip.projector_type", "clip.vision.projector_type")]
    family = next((field.contents() for field in fields if field is not None), None)
    if reader.get_field("general.architecture").contents() != "clip" or family not in FAMILIES:
        raise ValueError(f"{path}: no vision encoder of the families {', '.join(FAMILIES)}, but {family}")
    return FAMILIES[family](reader)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--picture", required=True)
    parser.add_argument("--save", required=True)
    args = parser.parse_args()
    np.save(args.save, tower_of(args.file).vectors(np.load(args.picture)))


if __name__ == "__main__":
    main()
