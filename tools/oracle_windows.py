"""The families of vision encoders some of whose layers attend within windows, and Qwen2-VL, in plain float32 numpy
(oracle_tower.py). Needs: numpy, gguf."""
import math

import numpy as np

from oracle_encoder import Encoder, layer_norm, rms_norm, rotate_halves
from oracle_model import gelu, gelu_tanh, softmax


def attend(q, k, v, regions):
    """[rows, heads x dim]: each row sees those of its region alone."""
    scores = q @ k.swapaxes(1, 2) / np.float32(math.sqrt(q.shape[-1]))
    scores = np.where(regions[:, None] == regions[None], scores, np.float32(-np.inf))
    return (softmax(scores) @ v).swapaxes(0, 1).reshape(len(regions), -1)


def windows(rows, columns, side):
    """[rows, columns]: the number of the window in which a patch lies."""
    return np.arange(rows)[:, None] // side * (columns + 1) + np.arange(columns) // side


class Windowed(Encoder):
    def __init__(self, reader):
        super().__init__(reader, "spatial_merge_size")

    def norm(self, stem, x):
        bias = self.weights.get(stem + ".bias")
        if bias is None:
            return rms_norm(x, self.weights[stem + ".weight"], self.epsilon)
        return layer_norm(x, self.weights[stem + ".weight"], bias, self.epsilon)

    def heads_of(self, p, x):
        return (self.in_heads(self.linear(p + f"attn_{name}", x)) for name in "qkv")

    def layers_of(self, x, angles, regions_of, feed_forward):
        for i in range(self.layers):
            p = f"v.blk.{i}."
            q, k, v = self.heads_of(p, self.norm(p + "ln1", x))
            q, k = (self.rotated(part, angles) for part in (q, k))
            x = x + self.linear(p + "attn_out", attend(q, k, v, regions_of(i)))
            x = x + feed_forward(p, self.norm(p + "ln2", x))
        return x


class Qwen2(Windowed):
    """The families qwen2vl_merger and qwen2.5vl_merger."""

    @staticmethod
    def rotated(x, angles):
        return rotate_halves(x, angles)

    def feed_forward(self, p, x):
        up = self.linear(p + "ffn_up", x)
        if p + "ffn_gate.weight" in self.weights:
            gate = self.linear(p + "ffn_gate", x)
            return self.linear(p + "ffn_down", gate / (1 + np.exp(-gate)) * up)
        return self.linear(p + "ffn_down", up / (1 + np.exp(np.float32(-1.702) * up)))

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        x = self.in_tokens(self.patches(rgb))
        dim = x.shape[-1] // self.heads
        frequencies = 10000.0 ** (-np.arange(0, dim // 2, 2) / (dim // 2))
        by_row = np.broadcast_to((np.arange(rows)[:, None] * frequencies)[:, None], (rows, columns, dim // 4))
        by_column = np.broadcast_to(np.arange(columns)[:, None] * frequencies, (rows, columns, dim // 4))
        angles = self.in_tokens(np.concatenate([by_row, by_column], axis=-1))
        pattern, side = self.value("n_wa_pattern"), 112 // (self.patch * self.merge) * self.merge
        of_windows = self.in_tokens(windows(rows, columns, max(side, 1)))
        whole = np.zeros_like(of_windows)
        x = self.layers_of(x, angles, lambda i: whole if pattern is None or (i + 1) % pattern == 0 else of_windows,
                           self.feed_forward)
        joined = self.norm("v.post_ln", x).reshape(len(x) // self.merge ** 2, -1)
        return self.linear("mm.2", gelu(self.linear("mm.0", joined)))[:, None]


def taps_outside_are_lost(count, side):
    """[count, side]: the shares of the two nearest lines of a square in places that are spread over it, edge on edge."""
    centers = (np.arange(count)[:, None] + 0.5) * side / count - 0.5
    return np.maximum(1 - abs(np.arange(side) - centers), 0).astype(np.float32)


class MuseGlimmer(Windowed):
    """The family muse-glimmer."""

    @staticmethod
    def rotated(x, angles):
        """Neighbours are a pair."""
        cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        a, b = x[..., 0::2], x[..., 1::2]
        return np.stack([a * cosines - b * sines, b * cosines + a * sines], axis=-1).reshape(x.shape)

    def places(self, rows, columns, side):
        """Those of a picture whose sides are exchanged, in the order of its patches."""
        learned = self.weights["v.position_embd.weight"].reshape(side, side, -1)
        made = np.einsum("ri,cj,ijw->rcw", taps_outside_are_lost(columns, side), taps_outside_are_lost(rows, side), learned)
        return made.reshape(rows, columns, -1)

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        side = math.isqrt(len(self.weights["v.position_embd.weight"]))
        x = self.in_tokens(self.patches(rgb) + self.places(rows, columns, side))
        dim = x.shape[-1] // self.heads
        frequencies = 10000.0 ** (-np.arange(0, dim // 2, 2) / (dim // 2))
        by_row = np.broadcast_to((np.arange(1, rows + 1)[:, None] * frequencies)[:, None], (rows, columns, dim // 4))
        by_column = np.broadcast_to(np.arange(1, columns + 1)[:, None] * frequencies, (rows, columns, dim // 4))
        angles = self.in_tokens(np.concatenate([by_column, by_row], axis=-1))
        of_windows = self.in_tokens(windows(rows, columns, side))
        whole = np.zeros_like(of_windows)
        x = self.layers_of(self.norm("v.pre_ln", x), angles,
                           lambda i: whole if (i + 1) % 4 == 0 or i + 1 == self.layers else of_windows,
                           lambda p, h: self.linear(p + "ffn_down", gelu(self.linear(p + "ffn_up", h))))
        x = self.norm("v.post_ln", x).reshape(-1, self.merge ** 2, x.shape[-1]).swapaxes(1, 2)
        x = gelu(self.linear("mm.0", x.reshape(len(x), -1)))
        return self.linear("mm.2", gelu(self.linear("mm.1", x)))[:, None]


class MiniCpm(Encoder):
    """The family minicpmv4_6. Rows lie in squares of 2 x 2 patches, those within squares of a token."""

    def __init__(self, reader):
        super().__init__(reader, "projector.scale_factor")
        join = self.value("wa_layer_indexes")
        self.join = join[0] if join is not None and self.merge == 4 else None

    def norm(self, stem, x):
        return layer_norm(x, self.weights[stem + ".weight"], self.weights[stem + ".bias"], self.epsilon)

    def in_squares(self, x):
        """[rows, columns, ..] in the order of rows"""
        for _ in range(2 if self.merge == 4 else 1):
            x = np.stack([x[0::2, 0::2], x[0::2, 1::2], x[1::2, 0::2], x[1::2, 1::2]], axis=2)
        return x.reshape(-1, x.shape[-1])

    def attention(self, p, x, regions):
        h = self.norm(p + "ln1", x)
        q, k, v = (self.in_heads(self.linear(p + f"attn_{name}", h)) for name in "qkv")
        return x + self.linear(p + "attn_out", attend(q, k, v, regions))

    def joined(self, x):
        p = "v.vit_merger."
        x = self.attention(p, x, np.arange(len(x)) // 4)
        flat = x.reshape(len(x) // 4, -1)
        made = self.linear(p + "ds_ffn_down", gelu_tanh(self.linear(p + "ds_ffn_up", self.norm(p + "ds_ln", flat))))
        return made + x.reshape(len(flat), 4, -1).mean(1)

    def vectors(self, rgb):
        rows, columns = self.grid(rgb)
        side = math.isqrt(len(self.weights["v.position_embd.weight"]))
        lines = [np.arange(count) * side // count for count in (rows, columns)]
        learned = self.weights["v.position_embd.weight"].reshape(side, side, -1)
        x = self.in_squares(self.patches(rgb) + learned[lines[0]][:, lines[1]])
        for i in range(self.layers):
            p = f"v.blk.{i}."
            x = self.attention(p, x, np.zeros(len(x)))
            x = x + self.linear(p + "ffn_down", gelu_tanh(self.linear(p + "ffn_up", self.norm(p + "ln2", x))))
            if i == self.join:
                x = self.joined(x)
        x = self.norm("v.post_ln", x).reshape(len(x) // 4, -1)
        x = layer_norm(x, self.weights["mm.input_norm.weight"], self.weights["mm.input_norm.bias"], np.float32(1e-6))
        return self.linear("mm.down", gelu(self.linear("mm.up", x)))[:, None]
