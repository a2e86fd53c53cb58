#!/usr/bin/env python3
"""The oracle with activations rounded as the engine rounds them, and the rows whose experts that changes.

    rounded_oracle.py MODEL.gguf --ids 1,2,3

Before each quantized matrix a row's values become 8-bit integers with a scale for every 32. The first token's logits are
then the engine's to 1e-5. Behind it they part, because sums in another order round some value the other way: so the
count of rows is that of an engine of this kind, not of one run. Prints JSON: rows (a row of each layer with experts
counts), and how many of them choose other experts than with exact activations. Needs: numpy, gguf.
"""
import argparse
import json

import numpy as np

import oracle
from gguf_file import GgufFile

FLOATS = ("F32", "F16", "BF16")  # weights that meet float activations
BLOCK = 32


def rounded(x):
    """x [.., width] in 8 bits and back. Halves go to the even number, as in the engine."""
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
    top = np.maximum(np.abs(blocks).max(-1, keepdims=True), np.float32(1e-30))
    return (np.rint(blocks * (np.float32(127) / top)) * (top / np.float32(127))).reshape(x.shape)


class RoundedMatrix:
    """A matrix, or experts' matrices, whose products round the other side first."""

    __array_ufunc__ = None  # numpy leaves `x @ matrix` to __rmatmul__

    def __init__(self, weights):
        self.weights = weights

    @property
    def T(self):  # pylint: disable=invalid-name # numpy's
        return RoundedMatrix(self.weights.T)

    def __getitem__(self, number):
        return RoundedMatrix(self.weights[number])

    def __matmul__(self, x):
        return self.weights @ rounded(x)

    def __rmatmul__(self, x):
        return rounded(x) @ self.weights


def open_rounded(path):
    """The oracle of a file whose products with quantized matrices are rounded, that of the output among them."""
    model = oracle.open_model(path)
    quantized = [t.name for t in GgufFile(path).tensors if t.tensor_type.name not in FLOATS]
    output = RoundedMatrix(model.output_matrix()) if {"output.weight", "token_embd.weight"} & {*quantized} else None
    for name in quantized:
        if "token_embd" not in name:
            model.weights[name] = RoundedMatrix(model.weights[name])
    if output:
        model.weights["output.weight"] = output
    return model


def rows_with_other_experts(exact, approximate):
    """Of two oracles that have computed the same tokens: how many rows, and how many of them choose other experts."""
    differ = [(np.sort(a, -1) != np.sort(b, -1)).any(-1) for a, b in zip(exact.choices, approximate.choices, strict=True)]
    return sum(map(len, differ)), int(sum(map(np.sum, differ)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True)
    args = parser.parse_args()
    models = oracle.open_model(args.model), open_rounded(args.model)
    for model in models:
        model.hidden([int(i) for i in args.ids.split(",")])
    rows, differ = rows_with_other_experts(*models)
    print(json.dumps({"rows": rows, "other_experts": differ}))


if __name__ == "__main__":
    main()
