#!/usr/bin/env python3
"""How far an engine's logits are from the oracle's, over one sequence of tokens.

    compare_logits.py MODEL.gguf --ids 1,2,3 --logits ours.npy [--cache FOLDER]

Prints JSON: max_abs_error over all logits, mean_kl and p99_kl (oracle || ours, in nats, mean and 99th percentile over
positions), mean_nll of both and their relative difference, top1_agreement (share of positions with the same most
likely token).
`--cache` keeps the oracle's final hidden rows (small) by content of model and ids, because they take longest.
Needs: numpy, gguf. As a module: `compare(reference, ours, ids)` and `oracle_logits(model_path, ids, cache)`; where
the reference is not the oracle, `SavedLogits(array)`.
"""
import argparse
import hashlib
import json
import os
import pathlib

import numpy as np

import oracle
import oracle_model
from gguf_file import GgufFile

SOURCES = sorted(pathlib.Path(oracle.__file__).parent.glob("oracle*.py"))
ROWS_AT_ONCE = 32  # a row of logits in float64 is 2 MiB for a vocabulary of 262,144


def fingerprint(path):
    """SHA-256 of a whole file: models of one shape and vocabulary can differ in a single metadata value."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class OracleLogits:
    """The oracle's logits of one sequence, made a few rows at a time: rows(begin, end) -> float32 [.., vocab_size]."""

    def __init__(self, hidden, output_matrix, cap=0, bias=0):
        self.hidden, self.output_matrix, self.cap, self.bias = hidden, output_matrix, cap, bias
        self.shape = (len(hidden), len(output_matrix))

    def rows(self, begin, end):
        return oracle_model.logits_of(self.hidden[begin:end], self.output_matrix, self.cap, self.bias)


class SavedLogits:
    """Logits that somebody wrote, as a reference: float32 [num_tokens, vocab_size], perhaps a mapped file."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def rows(self, begin, end):
        return self.array[begin:end]


def load_output(model_path):
    """Only the output matrix, dequantized, the cap of logits and their bias; much cheaper than a whole model."""
    reader = GgufFile(model_path)
    tensors = {t.name: t for t in reader.tensors}
    field = reader.get_field(f"{reader.get_field('general.architecture').contents()}.final_logit_softcapping")
    matrix = oracle_model.dequantize_tensor(tensors.get("output.weight", tensors["token_embd.weight"]))
    bias = oracle_model.dequantize_tensor(tensors["output.bias"]) if "output.bias" in tensors else 0
    return matrix, field.contents() if field else 0, bias


def oracle_logits(model_path, ids, cache=None):
    if cache is None:
        model = oracle.open_model(model_path)
        return OracleLogits(model.hidden(ids), model.output_matrix(), model.logit_cap, model.output_bias())
    source = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()
    key = hashlib.sha256(f"{source} {fingerprint(model_path)} {list(ids)}".encode()).hexdigest()[:32]
    path = pathlib.Path(cache) / f"oracle-{key}.npy"
    if path.exists():
        return OracleLogits(np.load(path), *load_output(model_path))
    model = oracle.open_model(model_path)
    hidden = model.hidden(ids)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.npy")
    np.save(partial, hidden)
    partial.rename(path)  # a run that is cut short leaves no half-written file under the final name
    return OracleLogits(hidden, model.output_matrix(), model.logit_cap, model.output_bias())


def compare(reference, ours, ids, num_rows=None):
    """reference: OracleLogits or SavedLogits; ours: float32 [len(ids), vocab_size]; num_rows: only the first rows."""
    num_rows = num_rows or len(ids)
    if tuple(ours.shape) != (len(ids), reference.shape[1]):
        raise ValueError(f"logits have shape {tuple(ours.shape)}, expected {(len(ids), reference.shape[1])}")
    max_error, kl, agree, nll_reference, nll_ours = 0.0, np.zeros(num_rows), 0, 0.0, 0.0
    for begin in range(0, num_rows, ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, num_rows)
        a, b = reference.rows(begin, end).astype(np.float64), np.asarray(ours[begin:end], np.float64)
        if not np.isfinite(b).all():
            raise ValueError(f"rows {begin} to {end - 1} hold a value that is not finite")
        max_error = max(max_error, float(np.abs(a - b).max()))
        agree += int((a.argmax(-1) == b.argmax(-1)).sum())
        a, b = oracle_model.log_softmax(a), oracle_model.log_softmax(b)
        kl[begin:end] = (np.exp(a) * (a - b)).sum(-1)
        for row in range(begin, min(end, num_rows - 1)):  # the last token has no successor
            nll_reference -= a[row - begin, ids[row + 1]]
            nll_ours -= b[row - begin, ids[row + 1]]
    out = {"max_abs_error": max_error, "mean_kl": float(kl.mean()), "p99_kl": float(np.quantile(kl, 0.99)),
           "top1_agreement": agree / num_rows}
    if num_rows > 1:
        out["mean_nll_reference"] = float(nll_reference / (num_rows - 1))
        out["mean_nll"] = float(nll_ours / (num_rows - 1))
        out["nll_relative_difference"] = abs(out["mean_nll"] / out["mean_nll_reference"] - 1)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True)
    parser.add_argument("--logits", required=True)
    parser.add_argument("--cache")
    args = parser.parse_args()
    ids = [int(i) for i in args.ids.split(",")]
    result = compare(oracle_logits(args.model, ids, args.cache), np.load(args.logits, mmap_mode="r"), ids)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
