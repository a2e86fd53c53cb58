#!/usr/bin/env python3
"""The oracle with activations rounded as the engine rounds them, and the rows whose experts that changes.

    rounded_oracle.py MODEL.gguf --ids 1,2,3 [--logits FILE.npy]

Before each quantized matrix a row's values become 8-bit integers with a scale for every 32. The first token's logits are
then the engine's to 1e-5. Behind it they part, because sums in another order round some value the other way: so the
count of rows is that of an engine of this kind, not of one run. Prints JSON: rows (a row of each layer with experts
counts), and how many of them choose other experts than with exact activations; the mean divergence of the next token's
distribution from that of exact activations, in nats, with routers that choose freely and with routers that are held to
the choices of exact activations. FILE has an engine's logits of the same ids (`octavo logits --out`): its divergence,
and that of the tokens for which some layer's free router chooses other experts, and of the others. Needs: numpy, gguf.
"""
import argparse
import json

import numpy as np

import oracle
import oracle_model
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


def tokens_with_other_experts(exact, approximate):
    """Of two oracles that have computed the same tokens: [layers with experts, tokens]."""
    return np.array([(np.sort(a, -1) != np.sort(b, -1)).any(-1)
                     for a, b in zip(exact.choices, approximate.choices, strict=True)])


def rows_with_other_experts(exact, approximate):
    """How many rows there are, and how many of them choose other experts."""
    differ = tokens_with_other_experts(exact, approximate)
    return differ.size, int(differ.sum())


def hold(model, choices):
    """Has routers choose what those of another oracle chose."""
    left = iter(choices)
    model.choose = lambda scores: next(left)
    return model


def divergences(exact, logits):
    """Of each token's distribution of the next one, in nats."""
    p, q = (oracle_model.log_softmax(of.astype(np.float64)) for of in (exact, logits))
    return (np.exp(p) * (p - q)).sum(-1)


def measure(path, ids, engine):
    exact, free = oracle.open_model(path), open_rounded(path)
    truth = exact.logits(ids)
    kl = {"kl_free": divergences(truth, free.logits(ids)),
          "kl_held": divergences(truth, hold(open_rounded(path), exact.choices).logits(ids))}
    if engine is not None:
        of_engine, tipped = divergences(truth, engine), tokens_with_other_experts(exact, free).any(0)
        kl |= {"kl_engine": of_engine, "kl_engine_tipped": of_engine[tipped], "kl_engine_others": of_engine[~tipped]}
    rows, differ = rows_with_other_experts(exact, free)
    return {"rows": rows, "other_experts": differ, **{name: float(f"{of.mean():.2e}") for name, of in kl.items() if of.size}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True)
    parser.add_argument("--logits", metavar="FILE.npy")
    args = parser.parse_args()
    engine = np.load(args.logits) if args.logits else None
    print(json.dumps(measure(args.model, [int(i) for i in args.ids.split(",")], engine)))


if __name__ == "__main__":
    main()
