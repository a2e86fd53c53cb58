"""What the families of vision encoders share in plain float32 numpy (oracle_tower.py). Needs: numpy, gguf."""
import numpy as np

from oracle_model import dequantize_tensor


def layer_norm(x, weight, bias, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight + bias


def rms_norm(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def rotate_halves(x, angles):
    """Element i of the last dimension with i + half of it; angles are [.., dim / 2]."""
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cosines - b * sines, b * cosines + a * sines], axis=-1)


class Encoder:
    """One vision encoder with all its weights as float32."""

    def __init__(self, reader, merge):
        """`merge`: the key of the patches along the side of a token."""
        self.weights = {tensor.name: dequantize_tensor(tensor) for tensor in reader.tensors}
        self.reader = reader
        self.layers, self.heads = self.value("block_count"), self.value("attention.head_count")
        self.patch, self.merge = self.value("patch_size"), self.value(merge)
        self.epsilon = np.float32(self.value("attention.layer_norm_epsilon"))
        self.mean = np.array(self.value("image_mean"), np.float32)
        self.deviation = np.array(self.value("image_std"), np.float32)

    def value(self, key):
        field = self.reader.get_field("clip.vision." + key)
        return None if field is None else field.contents()

    def linear(self, stem, x):
        bias = self.weights.get(stem + ".bias")
        x = x @ self.weights[stem + ".weight"].T
        return x if bias is None else x + bias

    def grid(self, rgb):
        return rgb.shape[0] // self.patch, rgb.shape[1] // self.patch

    def in_tokens(self, x):
        """[rows, columns, ..] in the order of tokens: [rows x columns, ..]"""
        rows, columns, m = x.shape[0], x.shape[1], self.merge
        x = x.reshape(rows // m, m, columns // m, m, *x.shape[2:])
        return x.swapaxes(1, 2).reshape(rows * columns, *x.shape[4:])

    def patches(self, rgb):
        """[rows, columns, width]"""
        rows, columns = self.grid(rgb)
        x = (rgb.astype(np.float32) - 255 * self.mean) / (255 * self.deviation)
        x = x.reshape(rows, self.patch, columns, self.patch, 3).transpose(0, 2, 4, 1, 3)
        kernel = sum(self.weights[name] for name in ("v.patch_embd.weight", "v.patch_embd.weight.1")
                     if name in self.weights)
        x = x.reshape(rows, columns, -1) @ kernel.reshape(kernel.shape[0], -1).T
        return x + self.weights.get("v.patch_embd.bias", np.float32(0))

    def in_heads(self, x):
        """[heads, rows, head dim]"""
        return x.reshape(len(x), self.heads, -1).swapaxes(0, 1)
