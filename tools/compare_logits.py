#!/usr/bin/env python3
"""How far an engine's logits are from the oracle's, over one sequence of tokens.

    compare_logits.py MODEL.gguf --ids 1,2,3 --logits ours.npy [--cache FOLDER]

Prints JSON: max_abs_error over all logits, mean_kl and p99_kl (oracle || ours, in nats, mean and 99th percentile over
positions), mean_nll of both and their relative difference, top1_agreement (share of positions with the same most
likely token).
`--cache` keeps the oracle's final hidden rows (small) by content of model and ids, because they take longest.
Needs: numpy, gguf. As a module: `compare(reference, ours, ids)`, or `compare_rows()` and `summary()` of its first rows, and
`oracle_logits(model_path, ids, cache)`; where the reference is not the oracle, `SavedLogits(array)`.
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
ROWS_AT_ONCE = 64  # that meet the oracle's output matrix: a row of logits is 1 MiB for a vocabulary of 262,144


def fingerprint(path):
    """SHA-256 of a whole file: models of one shape and vocabulary can differ in a single metadata value."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class OracleLogits:
    """The oracle's logits of one sequence, made a few rows at a time: rows(places) -> float32 [len(places), vocab_size]."""

    def __init__(self, hidden, output_matrix, cap=0, bias=0):
        self.hidden, self.output_matrix, self.cap, self.bias = hidden, output_matrix, cap, bias
        self.shape = (len(hidden), len(output_matrix))

    def rows(self, places):
        return oracle_model.logits_of(self.hidden[places], self.output_matrix, self.cap, self.bias)


class SavedLogits:
    """Logits that somebody wrote, as a reference: float32 [num_tokens, vocab_size], perhaps a mapped file."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def rows(self, places):
        return self.array[places]


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
        os.utime(path)  # when it was last used (made_models.py)
        return OracleLogits(np.load(path), *load_output(model_path))
    model = oracle.open_model(model_path)
    hidden = model.hidden(ids)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.npy")
    np.save(partial, hidden)
    partial.rename(path)  # a run that is cut short leaves no half-written file under the final name
    return OracleLogits(hidden, model.output_matrix(), model.logit_cap, model.output_bias())


def compare_row(reference, ours):
    """Of two rows of logits: the greatest difference, KL(reference || ours), whether the same token is the likeliest, and
    the logarithms of both sums. A row at a time stays in the processor's cache, whatever the vocabulary."""
    same = reference.argmax() == ours.argmax()
    a, b = reference.astype(np.float64), ours.astype(np.float64)
    top_a, top_b = a.max(), b.max()
    difference = a - b
    weights = np.exp(np.subtract(a, top_a, out=a), out=a)
    log_sum_a, log_sum_b = np.log(weights.sum()) + top_a, np.log(np.exp(np.subtract(b, top_b, out=b), out=b).sum()) + top_b
    kl = weights @ difference / weights.sum() - (log_sum_a - log_sum_b)
    return max(difference.max(), -difference.min()), kl, same, log_sum_a, log_sum_b


def compare_rows(reference, ours, ids, places=None):
    """A dict of one number for each row, or for those at `places`, which ascend. reference: OracleLogits or SavedLogits;
    ours: float32 [len(ids), vocab_size]."""
    if tuple(ours.shape) != (len(ids), reference.shape[1]):
        raise ValueError(f"logits have shape {tuple(ours.shape)}, expected {(len(ids), reference.shape[1])}")
    places = np.arange(len(ids)) if places is None else np.asarray(places)
    rows = {name: np.zeros(len(places)) for name in ("max_error", "kl", "same_top", "nll_reference", "nll")}
    rows["place"] = places
    for begin in range(0, len(places), ROWS_AT_ONCE):
        at = places[begin:begin + ROWS_AT_ONCE]
        for row, (place, a) in enumerate(zip(at, reference.rows(at)), begin):
            b = ours[place]
            if not np.isfinite(b).all():
                raise ValueError(f"row {place} holds a value that is not finite")
            max_error, kl, same, log_sum_a, log_sum_b = compare_row(a, b)
            rows["max_error"][row], rows["kl"][row], rows["same_top"][row] = max_error, kl, same
            if place + 1 < len(ids):  # the last token has no successor
                rows["nll_reference"][row] = log_sum_a - a[ids[place + 1]]
                rows["nll"][row] = log_sum_b - b[ids[place + 1]]
    return rows


def summary(rows, num_rows):
    """What those rows of compare_rows() amount to that are among a sequence's first."""
    count = int(np.searchsorted(rows["place"], num_rows))
    kl = rows["kl"][:count]
    out = {"max_abs_error": float(rows["max_error"][:count].max()), "mean_kl": float(kl.mean()),
           "p99_kl": float(np.quantile(kl, 0.99)), "top1_agreement": float(rows["same_top"][:count].mean())}
    with_successor = int(np.searchsorted(rows["place"], num_rows - 1))
    if with_successor > 0:
        out["mean_nll_reference"] = float(rows["nll_reference"][:with_successor].mean())
        out["mean_nll"] = float(rows["nll"][:with_successor].mean())
        out["nll_relative_difference"] = abs(out["mean_nll"] / out["mean_nll_reference"] - 1)
    return out


def compare(reference, ours, ids):
    """The summary of all rows."""
    return summary(compare_rows(reference, ours, ids), len(ids))


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
