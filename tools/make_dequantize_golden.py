#!/usr/bin/env python3
"""Writes the golden data of the dequantization test: random blocks of every tensor type and what the Python package
`gguf` decodes them to.

    make_dequantize_golden.py FOLDER        e.g. tests/data/dequantize

For each type two files: TYPE.blocks (raw blocks) and TYPE.f32 (the weights, float32, little-endian). The generator is
seeded, so a second run writes the same bytes. Besides random blocks there are blocks of all 0x00, 0xFF, 0x80 and 0x7F
bytes, and scales that are negative, zero, denormal and the largest finite half. Scales are always finite: what a NaN
decodes to is nobody's contract. Needs numpy and gguf.
"""
import argparse
import pathlib

import gguf
import numpy as np
from gguf.quants import dequantize

WEIGHTS = 2048
# type -> offsets of the IEEE halfs in a block; blocks of Q1_0 and Q2_0 are decoded here, as the package does not know them
HALF_OFFSETS = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
    "MXFP4": [], "Q1_0": [0], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0],
    "IQ1_M": [], "NVFP4": [], "Q2_0": [0],
}
BLOCK_SHAPES = {"Q1_0": (128, 18), "Q2_0": (64, 18)}
EXTREME_HALFS = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00]


def finite_halfs(rng, count):
    """Bits of `count` finite halfs, of all exponents; the extreme ones first."""
    bits = rng.integers(0, 1 << 16, count, dtype=np.uint16)
    bits = np.where((bits & 0x7C00) == 0x7C00, bits & 0x83FF | 0x3800, bits).astype(np.uint16)
    bits[: len(EXTREME_HALFS)] = EXTREME_HALFS[: count]
    return bits


def random_blocks(rng, name):
    per_block, block_bytes = BLOCK_SHAPES.get(name) or gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    blocks = rng.integers(0, 256, (WEIGHTS // per_block, block_bytes), dtype=np.uint8)
    for i, byte in enumerate([0x00, 0xFF, 0x80, 0x7F]):
        blocks[i] = byte
    for offset in HALF_OFFSETS[name]:
        halfs = rng.permutation(finite_halfs(rng, blocks.shape[0]))
        blocks[:, offset : offset + 2] = halfs.view(np.uint8).reshape(-1, 2)
    if name == "IQ1_M":  # its half lies in the upper nibbles of four words
        halfs = rng.permutation(finite_halfs(rng, blocks.shape[0]))
        for i in range(4):
            odd = blocks[:, 49 + 2 * i]
            odd[:] = odd & 15 | (halfs >> (4 * i) & 15).astype(np.uint8) << 4
    return blocks


def decode_q1_0(blocks):
    """128 weights in 18 bytes: a half, then sign bits, least significant first; 1 is plus."""
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").astype(np.float32)
    return scale * (2 * bits - 1)


def decode_q2_0(blocks):
    """64 weights in 18 bytes: a half, then pairs of bits, least significant first, each a value plus 1."""
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").astype(np.float32)
    return scale * (bits[:, 0::2] + 2 * bits[:, 1::2] - 1)


def decode(name, blocks):
    if name == "Q1_0":
        return decode_q1_0(blocks)
    if name == "Q2_0":
        return decode_q2_0(blocks)
    return dequantize(blocks, gguf.GGMLQuantizationType[name])


def plain_floats(rng):
    """(name, raw bytes, weights) of the types that are not quantized."""
    f32 = rng.standard_normal(512, dtype=np.float32)
    yield "F32", f32.tobytes(), f32
    halfs = finite_halfs(rng, 512)
    yield "F16", halfs.tobytes(), halfs.view(np.float16).astype(np.float32)
    raw = gguf.quants.quantize(f32, gguf.GGMLQuantizationType.BF16)
    yield "BF16", raw.tobytes(), dequantize(raw, gguf.GGMLQuantizationType.BF16)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(args.seed)
    cases = list(plain_floats(rng))
    for name in HALF_OFFSETS:
        blocks = random_blocks(rng, name)
        cases.append((name, blocks.tobytes(), decode(name, blocks)))
    for name, raw, weights in cases:
        (args.folder / f"{name}.blocks").write_bytes(raw)
        (args.folder / f"{name}.f32").write_bytes(np.ascontiguousarray(weights, dtype="<f4").tobytes())


if __name__ == "__main__":
    main()
