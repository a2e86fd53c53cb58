"""Numbers of made tensors: each follows from its tensor's name and its place alone, so that tests/support/tiny_tower.h
has the same ones. Needs: numpy."""
import numpy as np


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


class MadeTensors(dict):
    """{name: float32 array}, dimensions as numpy has them: the last one lies together."""

    def matrix(self, name, rows, cols, dims=None):
        scale = np.float32(2.0 ** -((cols.bit_length() - 1) // 2))
        self[name] = (numbers(name, rows * cols) * scale).reshape(dims or (rows, cols))

    def vector(self, name, size, mean, scale):
        self[name] = np.float32(mean) + numbers(name, size) * np.float32(scale)

    def linear(self, stem, rows, cols, bias=True):
        self.matrix(stem + ".weight", rows, cols)
        if bias:
            self.vector(stem + ".bias", rows, 0, 0.125)

    def norm(self, stem, size, bias=True):
        self.vector(stem + ".weight", size, 1, 0.25)
        if bias:
            self.vector(stem + ".bias", size, 0, 0.125)
