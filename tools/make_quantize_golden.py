#!/usr/bin/env python3
"""Writes the golden data of the quantizers' test: rows of weights, and what ggml's own quantizers leave of them.

    make_quantize_golden.py LIBGGML_BASE.so FOLDER        e.g. tests/data/quantize

The library is llama.cpp's libggml-base.so (tools/build_llama_cpp.sh builds it). Rows of four kinds, seeded: normal;
heavy-tailed; shifted, so that most weights have one sign; with a few outliers. rows.f32 has the weights, TYPE.f32 has
them after quantizing and decoding (float32, little-endian). Needs numpy and gguf.
"""
import argparse
import ctypes
import pathlib

import numpy as np

from gguf_file import gguf  # which knows Q2_0
from make_dequantize_golden import decode

TYPES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "Q2_0")
ROW = 512
ROWS = 4  # of each kind


def rows():
    rng = np.random.default_rng(20261125)
    shape = (ROWS, ROW)
    outliers = rng.normal(0, 0.02, shape)
    outliers[rng.random(shape) < 0.01] *= 15
    kinds = [rng.normal(0, 0.02, shape), 0.02 * rng.standard_t(3, shape), rng.normal(0.03, 0.02, shape), outliers]
    return np.concatenate(kinds).astype(np.float32)


def quantized(library, name, weights):
    kind = gguf.GGMLQuantizationType[name]
    per_block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    out = np.zeros(weights.size // per_block * block_bytes, dtype=np.uint8)
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    written = library.ggml_quantize_chunk(
        ctypes.c_int(kind.value), weights.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(0), ctypes.c_int64(len(weights)), ctypes.c_int64(weights.shape[1]), None)
    assert written == out.size
    return decode(name, out.reshape(-1, block_bytes)).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    library = ctypes.CDLL(args.library)
    args.folder.mkdir(parents=True, exist_ok=True)
    weights = rows()
    weights.tofile(args.folder / "rows.f32")
    for name in TYPES:
        quantized(library, name, weights).tofile(args.folder / f"{name}.f32")


if __name__ == "__main__":
    main()
